import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from commbounds.collectives import Exponential, drop_trials
from commbounds.verify.trials import read_trials, run_trials

SETTINGS = {"law": "exponential", "N": 5, "M": 3, "seed": 9}


def steps(first, count):
    found = drop_trials(Exponential(1.0), 5, 3, 3.0, trials=count, seed=9, first=first)
    return np.column_stack([found.time, found.slowest, found.completed])


def numbered(first, count):
    return np.arange(first, first + count, dtype=float)[:, None]


def test_chunks_make_one_run(tmp_path):
    whole = steps(0, 103)
    done = run_trials(steps, 103, tmp_path / "t", SETTINGS, chunk=10)
    assert np.array_equal(done, whole)
    settings, read = read_trials(tmp_path / "t")
    assert settings == SETTINGS
    assert np.array_equal(read, whole)


@pytest.mark.wide
def test_threads_and_processes_give_the_same_bits(tmp_path):
    whole = steps(0, 40)
    with ThreadPoolExecutor(3) as pool:
        assert np.array_equal(run_trials(steps, 40, tmp_path / "a", SETTINGS, executor=pool, chunk=3), whole)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert np.array_equal(run_trials(steps, 40, tmp_path / "b", SETTINGS, executor=pool, chunk=11), whole)


def test_progress_ends_with_all(tmp_path):
    seen = []
    run_trials(numbered, 10, tmp_path / "t", {}, chunk=4, progress=lambda *pair: seen.append(pair))
    assert seen == [(0, 10), (4, 10), (8, 10), (10, 10)]
    seen.clear()
    run_trials(numbered, 10, tmp_path / "t", {}, chunk=4, progress=lambda *pair: seen.append(pair))
    assert seen == [(10, 10)]


def test_no_trial_is_run_again(tmp_path):
    calls = []

    def simulate(first, count):
        calls.append(first)
        if len(calls) == 3:
            raise RuntimeError("power cut")
        return numbered(first, count)

    with pytest.raises(RuntimeError, match="power cut"):
        run_trials(simulate, 50, tmp_path / "t", {}, chunk=10)
    assert np.array_equal(run_trials(simulate, 50, tmp_path / "t", {}, chunk=10)[:, 0], np.arange(50.0))
    assert calls == [0, 10, 20, 20, 30, 40]


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_line_cut_short_is_written_again(tmp_path, cut):
    path = tmp_path / "t"
    run_trials(numbered, 30, path, {}, chunk=10)
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    assert np.array_equal(run_trials(numbered, 30, path, {}, chunk=10)[:, 0], np.arange(30.0))
    assert path.read_bytes() == content


def test_damage_before_the_end_is_refused(tmp_path):
    path = tmp_path / "t"
    run_trials(numbered, 30, path, {}, chunk=10)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="damaged"):
        run_trials(numbered, 30, path, {}, chunk=10)


def test_a_file_of_other_settings_is_refused(tmp_path):
    run_trials(numbered, 30, tmp_path / "t", {"seed": 1}, chunk=10)
    for options in ({"settings": {"seed": 2}}, {"trials": 31}, {"chunk": 11}):
        with pytest.raises(ValueError, match="another run"):
            run_trials(
                numbered, **{"trials": 30, "path": tmp_path / "t", "settings": {"seed": 1}, "chunk": 10, **options}
            )


def test_two_runs_cannot_share_a_file(tmp_path):
    def nested(first, count):
        run_trials(numbered, 3, tmp_path / "t", {})
        return numbered(first, count)

    with pytest.raises(BlockingIOError):
        run_trials(nested, 3, tmp_path / "t", {})


@pytest.mark.parametrize("name", ["trials", "chunk", "window"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_numbers_below_one_are_refused(tmp_path, name, value):
    with pytest.raises(ValueError, match=f"{name} must be an integer that is at least 1"):
        run_trials(numbered, **{"trials": 3, "path": tmp_path / "t", "settings": {}, name: value})


def test_wrong_shapes_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must return a \(3, k\) array, got shape \(3,\)"):
        run_trials(lambda first, count: np.zeros(count), 3, tmp_path / "t", {})


def test_interruption_cancels_what_has_not_begun(tmp_path):
    begun, stop = [], threading.Event()

    def simulate(first, count):
        begun.append(first)
        stop.wait(0.2)
        return numbered(first, count)

    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        run_trials(simulate, 100, tmp_path / "t", {}, executor=pool, chunk=1, window=8, progress=interrupt)
    assert len(begun) <= 4
    _, read = read_trials(tmp_path / "t")
    assert read[:, 0].tolist() == [0.0, 1.0]


_VICTIM = """
import sys, time
import numpy as np
from commbounds.verify.trials import run_trials
def simulate(first, count):
    time.sleep(0.01)
    return np.arange(first, first + count, dtype=float)[:, None] ** 2
run_trials(simulate, 400, sys.argv[1], {"seed": 3}, chunk=2)
"""


@pytest.mark.wide
def test_a_killed_run_resumes_without_a_lost_or_repeated_trial(tmp_path):
    path = tmp_path / "t"
    for kills in range(2):
        victim = subprocess.Popen([sys.executable, "-c", _VICTIM, str(path)])
        before = path.stat().st_size if path.exists() else 0
        deadline = time.monotonic() + 300
        while (not path.exists() or path.stat().st_size < before + 600) and time.monotonic() < deadline:
            time.sleep(0.005)
        os.kill(victim.pid, signal.SIGKILL)
        assert victim.wait() == -signal.SIGKILL, kills
    calls = []

    def simulate(first, count):
        calls.append(first)
        return numbered(first, count) ** 2

    _, kept = read_trials(path)
    assert 0 < len(kept) < 400
    found = run_trials(simulate, 400, path, {"seed": 3}, chunk=2)
    assert np.array_equal(found[:, 0], np.arange(400.0) ** 2)
    assert calls == list(range(len(kept), 400, 2))
