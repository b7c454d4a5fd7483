"""Programs that answer badly, and what they leave behind: a line in the report, and nothing after it."""

import json
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from commbounds.verify import conformance as cf
from commbounds.verify.conformance import process as processes
from commbounds.verify.conformance.calls import Died, Hopeless, TimedOut, Unanswered
from commbounds.verify.conformance.offspring import relatives
from commbounds.verify.conformance.process import Process, Remote
from commbounds.verify.conformance.protocol import BadMessage, header_of, read_message
from commbounds.verify.conformance.surroundings import Surroundings

HELLO = """
import json, os, subprocess, sys, time
def line():
    request = json.loads(sys.stdin.buffer.readline())
    for form in request["arrays"]:
        count = {"float32": 4, "float64": 8}[form["dtype"]]
        for size in form["shape"]:
            count *= size
        sys.stdin.buffer.read(count)
    return request
def say(header, data=b""):
    sys.stdout.buffer.write((header if isinstance(header, bytes) else json.dumps(header).encode()) + b"\\n" + data)
    sys.stdout.buffer.flush()
line()
say({"protocol": 1, "arrays": []})
"""
X = np.ones(2, np.float32)


@pytest.fixture
def program(tmp_path):
    """A program from its text, as a process that the test ends; ``program.count()`` tells how often it was started."""
    started = []

    def make(text, limit=20.0):
        file = tmp_path / f"program{len(started)}.py"
        starts = tmp_path / f"starts{len(started)}"
        count = f"open({str(starts)!r}, 'a').write('.')\n"
        file.write_text(count + textwrap.dedent(text))
        started.append((Process([sys.executable, "-S", str(file)], limit), starts))
        return started[-1][0]

    make.count = lambda: len(started[-1][1].read_text())
    yield make
    for process, _ in started:
        process.stop()


def gone(pid, seconds=60.0):
    """Whether a process ends, or is one that only waits to be reaped, within some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


def codec(process):
    return cf.Codec(Remote(process).roundtrip, [cf.Contraction(0.5)], time_limit=float("inf"), outside=Remote(process))


@pytest.mark.parametrize("end", ["sys.exit(3)", "print('hello', flush=True)", "print('[' * 100000, flush=True)"])
def test_a_program_that_fails_at_hello_is_started_twice_and_no_more(program, end):
    process = program(f"import sys\nprint('no such file', file=sys.stderr)\n{end}\n")
    report = cf.check(codec(process))
    assert program.count() == 2
    assert [finding.claim for finding in report.failures] == ["answers"]
    unjudged = [f for f in report.findings if f.verdict is cf.CheckVerdict.NOT_JUDGED]
    assert len(unjudged) >= len(report.findings) - 2
    assert "was started 2 times, and never answered hello" in report["Contraction(alpha=0.5)"].message


def test_a_program_that_sleeps_at_hello_is_started_once(program, monkeypatch):
    monkeypatch.setattr(processes, "START_LIMIT", 0.3)
    process = program("import time\ntime.sleep(60)\n", limit=0.3)
    with pytest.raises(TimedOut, match=r"no answer within 0\.3 s"):
        process.started()
    for _ in range(3):
        with pytest.raises(Hopeless, match="started 1 time, and"):
            process.started()
    assert program.count() <= 1  # it may have been ended before it could count


KILLED = "import os, signal\nif {when}:\n    os.kill(os.getpid(), signal.SIGKILL)\n"


def test_a_program_that_is_killed_before_hello_is_started_again(program, tmp_path):
    once = (
        f"not os.path.exists({str(tmp_path / 'was here')!r}) and not open({str(tmp_path / 'was here')!r}, 'w').close()"
    )
    process = program(KILLED.format(when=once) + HELLO + "line()\nsay({'arrays': []})\nline()\n")
    process.call({"op": "roundtrip"}, [X])
    assert program.count() == 2
    process = program(KILLED.format(when="True"))
    with pytest.raises(Died, match="was killed by SIGKILL"):
        process.started()
    assert program.count() == 2


def test_waiting_for_a_processor_is_no_answering_late_up_to_a_limit(program, monkeypatch):
    monkeypatch.setattr(processes, "_WAIT", 60.0)
    monkeypatch.setattr(processes, "seconds_waited", lambda _pid: 0.999 * time.monotonic())  # hardly ever runs
    process = program(HELLO + "while True:\n    time.sleep(line()['seconds'])\n    say({'arrays': []})\n")
    process.started()
    process.time_limit = 0.3
    process.call({"op": "roundtrip", "seconds": 0.6}, [X])
    monkeypatch.setattr(processes, "_WAIT", 1.5)
    begun = time.monotonic()
    with pytest.raises(TimedOut, match=r"no answer within 0\.3 s"):
        process.call({"op": "roundtrip", "seconds": 600.0}, [X])
    assert 1.7 < time.monotonic() - begun < 300.0


def test_a_program_that_answers_hello_in_the_end_may_die_again_and_again(program):
    process = program(HELLO + "line()\nsys.exit(7)\n")
    for _ in range(4):
        with pytest.raises(Died, match="ended with status 7"):
            process.call({"op": "roundtrip"}, [X])
    assert program.count() == 4


def test_what_is_kept_of_stderr_is_bounded_and_does_not_block(program):
    text = "for _ in range(2000):\n    os.write(2, b'x' * 16384 + b'\\n')\nprint('the last line', file=sys.stderr)\n"
    process = program(HELLO + "line()\n" + text + "sys.exit(1)\n")
    with pytest.raises(Died, match=r"ended with status 1: the last line$"):
        process.call({"op": "roundtrip"}, [X])
    process = program(HELLO + "line()\n" + text + "say({'arrays': []})\nline()\n")
    process.call({"op": "roundtrip"}, [X])
    assert len(process._said._last) <= 4096


REPLIES = {
    "30,000 arrays": json.dumps({"arrays": [{"dtype": "float32", "shape": [0]}] * 30_000}),
    "65 arrays": json.dumps({"arrays": [{"dtype": "float32", "shape": [0]}] * 65}),
    "an endless shape": '{"arrays": [{"dtype": "float32", "shape": [1e400]}]}',
    "a shape that is NaN": '{"arrays": [{"dtype": "float32", "shape": [NaN]}]}',
    "half an entry": '{"arrays": [{"dtype": "float32", "shape": [0.5]}]}',
    "a true size": '{"arrays": [{"dtype": "float32", "shape": [true]}]}',
    "a huge shape without entries": json.dumps({"arrays": [{"dtype": "float32", "shape": [2**62, 2**62, 0]}]}),
    "a thousand axes": json.dumps({"arrays": [{"dtype": "float32", "shape": [1] * 1000}]}),
    "100,000 nested brackets": "[" * 100_000,
    "100,000 nested objects": '{"a":' * 100_000,
    "a long number": '{"arrays": [], "bits": ' + "9" * 10_000 + "}",
    "arrays of another kind": '{"arrays": 7}',
    "no object": "[1, 2]",
    "no text": "\x80\xff",
}


@pytest.mark.parametrize("name", REPLIES)
def test_headers_that_announce_what_cannot_be_are_none(name):
    with pytest.raises(BadMessage, match=r"no header|a header that announces"):
        header_of(REPLIES[name].encode("latin-1"))


def test_shapes_without_entries_are_shapes():
    lines = [b'{"arrays": [{"dtype": "float32", "shape": [3, 0]}]}\n']
    header, (array,) = read_message(lambda _: lines.pop(), lambda count: b"x" * count)
    assert header["arrays"] == [{"dtype": "float32", "shape": [3, 0]}]
    assert array.shape == (3, 0)


@pytest.mark.parametrize(
    "name", ["a huge shape without entries", pytest.param("100,000 nested brackets", marks=pytest.mark.wide)]
)
def test_a_reply_that_is_none_ends_the_process_with_a_sentence(program, name):
    process = program(HELLO + f"line()\nsay({REPLIES[name].encode('latin-1')!r})\nline()\n")
    with pytest.raises(Died, match="wrote to stdout what is no valid reply: "):
        Remote(process).roundtrip(X, 0)
    assert process._child is None


FORM = '"arrays": [{"dtype": "float32", "shape": [2]}]'


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ('"touched": 5', "'touched' must be a list of names"),
        ('"touched": [[1]]', "'touched' must be a list of names"),
        ('"sent": [[1, 2], [3]]', "'sent' must be a list of integers"),
        ('"sent": [1e400]', "'sent' must be a list of integers"),
        ('"received": [99999999999999999999]', "'received' must be a list of integers"),
    ],
)
def test_members_of_another_kind_are_no_valid_reply(program, members, said):
    process = program(HELLO + f"line()\nsay({f'{{{members}, {FORM}}}'!r}.encode(), b'\\0' * 8)\nline()\n")
    with pytest.raises(Unanswered, match=f"^no valid reply: {said}"):
        Remote(process).run(X, 0)


def test_the_whole_session_ends_with_the_process_and_is_named(program):
    text = "line()\nchild = subprocess.Popen(['sleep', '300'])\nsay({'arrays': [], 'pid': child.pid})\nline()\n"
    process = program(HELLO + text)
    reply, _ = process.call({"op": "roundtrip"}, [X])
    assert process.left_behind() == ("1 process (sleep)",)
    assert {number: one.name for number, one in relatives(process._child.pid).items()} == {reply["pid"]: "sleep"}
    process.stop()
    assert gone(reply["pid"])
    assert process.left_behind() == ()


def test_children_of_a_program_that_dies_end_with_it(program):
    text = "line()\nchild = subprocess.Popen(['sleep', '300'])\nprint(child.pid, file=sys.stderr)\nsys.exit(2)\n"
    process = program(HELLO + text)
    with pytest.raises(Died) as error:
        process.call({"op": "roundtrip"}, [X])
    assert gone(int(str(error.value).rsplit(" ", 1)[1]))


SUBJECTS = """
import os, subprocess, tempfile, threading, time
import numpy as np
from commbounds.verify import conformance as cf

def forks(x, seed):
    os.fork()
    return x / 2

def forks_and_sleeps(x, seed):
    if os.fork() == 0:
        time.sleep(300)
    return x / 2

def litters(x, seed):
    threading.Thread(target=time.sleep, args=(300,), daemon=True, name="a watcher").start()
    subprocess.Popen(["sleep", "300"])
    os.chdir(tempfile.gettempdir())
    return x / 2

def clean(x, seed):
    return x / 2

made = {
    f.__name__: cf.Codec(f, [cf.Contraction(0.75)], shape=(2,), time_limit=20.0, effort=0.01)
    for f in (forks, forks_and_sleeps, litters, clean)
}
"""


@pytest.fixture
def subject(tmp_path):
    """A subject of `SUBJECTS` in a process of its own."""
    (tmp_path / "littering.py").write_text(SUBJECTS)
    made = []

    def make(name):
        (loaded,) = cf.loaded(f"{tmp_path}/littering.py:made[{name!r}]")
        made.append(cf.isolated(loaded))
        return made[-1]

    yield make
    for one in made:
        one.outside.process.stop()


def test_threads_and_the_working_folder_are_looked_at(tmp_path, monkeypatch):
    surroundings = Surroundings()
    assert surroundings.left() == []
    monkeypatch.chdir(tmp_path)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="a watcher")
    thread.start()
    assert [what.split(",")[0] for what in surroundings.left()] == [
        "the thread 'a watcher'",
        f"the working folder: {tmp_path}",
    ]
    stop.set()
    thread.join()


@pytest.mark.wide
def test_what_calls_leave_behind_is_said_in_the_report(subject):
    report = cf.check(subject("litters"), only=["answers"])
    assert not report.passed
    assert "left something behind" in report.findings[0].message
    said = report.findings[0].evidence
    assert "left behind: " in said
    assert "the thread 'a watcher'" in said
    assert "the working folder: " in said
    assert "(sleep)" in said


@pytest.mark.wide
def test_nothing_is_said_of_what_leaves_nothing(subject):
    report = cf.check(subject("clean"), only=["answers", "Contraction"])
    assert report.passed
    assert not any("left behind" in finding.evidence for finding in report.findings)


@pytest.mark.wide
def test_a_bare_fork_answers_once_and_what_it_leaves_is_named(subject):
    forking, x = subject("forks"), np.ones(2, np.float32)
    for _ in range(3):
        assert (forking.roundtrip(x, 0) == x / 2).all()
    report = cf.check(subject("forks"), only=["answers", "Contraction"])
    assert "not waited for when ended: 1 process (python)" in report.findings[0].message


@pytest.mark.wide
def test_a_fork_that_never_returns_ends_with_the_process(subject):
    sleeper = subject("forks_and_sleeps")
    x = np.ones(2, np.float32)
    assert (sleeper.roundtrip(x, 0) == x / 2).all()
    members = relatives(sleeper.outside.process._child.pid)
    assert len(members) == 1
    sleeper.outside.process.stop()
    assert all(gone(pid) for pid in members)
