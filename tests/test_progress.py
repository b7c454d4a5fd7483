"""How far a command is: estimates, lines on a pipe, a bar on a terminal, and what is said during compilation."""

import os
import pty
import subprocess
import sys
import time

import numpy as np
import pytest
from numba import njit

from commbounds._progress import Estimate, Progress, lasting, progress
from commbounds.verify.compilation import listening


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def shown(total, weight=None, workers=1):
    clock = Clock()
    made = Progress("claims", clock)
    made.expect(total, weight, workers)
    return clock, made


# --- estimates --------------------------------------------------------------------------------------------------------


def test_at_a_constant_pace_the_estimate_is_right():
    estimate = Estimate(100.0)
    assert estimate.left(5.0) is None
    for second in range(1, 51):
        estimate.advance(2.0, float(second))
        assert estimate.left(float(second)) == pytest.approx(50.0 - second)
    assert estimate.left(60.0) == 0.0


def test_between_two_things_done_the_estimate_counts_down():
    estimate = Estimate(10.0)
    estimate.advance(5.0, 10.0)
    assert [estimate.left(t) for t in (10.0, 12.0, 25.0)] == [10.0, 8.0, 0.0]


def test_an_expected_pace_is_there_at_once_and_is_outweighed():
    estimate = Estimate(120.0, pace=2.0)
    assert estimate.left(0.0) == 60.0
    # half the expected pace, for much longer than the ten seconds that are counted in
    estimate.advance(60.0, 60.0)
    assert estimate.left(60.0) == pytest.approx(60.0 * 70.0 / 80.0)


def test_one_cheap_thing_does_not_decide():
    expected, blind = Estimate(1000.0, pace=2.0), Estimate(1000.0)
    for estimate in (expected, blind):
        estimate.advance(0.1, 5.0)  # workers started in this time
    assert blind.left(5.0) > 40_000.0
    assert 500.0 < expected.left(5.0) < 800.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min"), (80, "1 min 20 s"), (900, "15 min"), (7500, "2 h 5 min")],
)
def test_durations_are_said_as_people_say_them(seconds, words):
    assert lasting(seconds) == words


# --- the line ---------------------------------------------------------------------------------------------------------


def test_the_line_says_how_many_and_how_long():
    clock, made = shown(4)
    assert made.line() == "0 of 4 claims, 0 s"
    clock.now = 10.0
    made.advance("dense.ring.steps: proved")
    assert made.line() == "1 of 4 claims, 10 s, about 30 s left, dense.ring.steps: proved"
    assert made.share == 0.25


def test_an_estimate_waits_for_the_first_seconds():
    clock, made = shown(4, weight=8.0, workers=2)
    clock.now = 1.0
    assert "left" not in made.line()
    clock.now = 4.0
    assert made.line() == "0 of 4 claims, 4 s, longer than expected"
    made.advance(count=4, weight=8.0)
    assert "about 0 s left" in made.line()


def test_compilation_is_said_while_it_goes_on():
    _, made = shown(4)
    made.watch(lambda: True)
    assert "compiling kernels (first run only)" in made.line()
    made.watch(lambda: False)
    assert "compiling" not in made.line()


def test_on_a_pipe_a_line_comes_every_so_often_and_none_after_the_end(capsys):
    with progress("claims", every=0.02) as made:
        made.expect(2)
        made.advance("first")
        deadline = time.monotonic() + 60.0
        while "1 of 2 claims" not in (seen := capsys.readouterr().err) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "1 of 2 claims" in seen
    capsys.readouterr()
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_what_is_quiet_prints_nothing(capsys):
    with progress("claims", quiet=True, every=0.01) as made:
        made.expect(2)
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


_ON_A_TERMINAL = """
import time
from commbounds._progress import progress
with progress("claims") as shown:
    shown.expect(2)
    shown.say("a line that stays")
    shown.advance("first")
    time.sleep(0.6)
    with shown.paused():
        print("printed")
"""


def test_on_a_terminal_a_bar_is_drawn_and_taken_away():
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-c", _ON_A_TERMINAL], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # how Linux says that nobody has the other end
            break
        if not part:
            break
        seen += part
    assert process.wait() == 0
    text = seen.decode()
    assert "1 of 2 claims" in text
    assert text.count("a line that stays\r\n") == 1
    assert text.count("printed\r\n") == 1
    assert text.rstrip().endswith("\x1b[2K") or "\x1b[2K" in text.rpartition("printed")[2]  # the bar's line is erased


# --- compilation ------------------------------------------------------------------------------------------------------


def test_a_compilation_is_heard_of_while_it_goes_on():
    going = []
    listener = listening(going.append)

    @njit
    def doubled(x):
        return x + x

    assert not listener.running()
    doubled(np.ones(2))
    assert going[0] == 1
    assert going[-1] == 0
    assert listener.finished >= 1
    before = len(going)
    doubled(np.ones(3))  # of the same type: there is nothing to compile
    assert len(going) == before
