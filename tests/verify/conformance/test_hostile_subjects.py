"""Subjects that start processes and threads, leave the session, fork without end or write without end: named, ended."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from commbounds.verify.conformance import CheckVerdict, process
from commbounds.verify.conformance.calls import Died, TimedOut
from commbounds.verify.conformance.report import reports_from

SUBJECTS = """
import atexit, os, subprocess, sys, tempfile, threading, time
import numpy as np
from commbounds.verify import conformance as cf

COUNT, KEPT = [0], []

def sleeps():
    time.sleep(300)
    os._exit(0)

def forks(x, seed):
    if os.fork() == 0:
        sleeps()
    return x / 2

def starts(x, seed):
    subprocess.Popen(["sleep", "300"])
    return x / 2

def session(x, seed):
    subprocess.Popen(["sleep", "300"], start_new_session=True)
    return x / 2

def daemon(x, seed):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            sleeps()
        os._exit(0)
    os.wait()
    return x / 2

def clean_daemon(x, seed):  # forgets who started it
    COUNT[0] += 1
    if COUNT[0] == 3:
        subprocess.Popen(["sh", "-c", "sleep 300 &"], start_new_session=True, env={}).wait()
    return x / 2

def dies_with_a_daemon(x, seed):
    daemon(x, seed)
    os._exit(3)

def unwaited(x, seed):
    KEPT.append(subprocess.Popen(["true"]))
    os.waitid(os.P_PID, KEPT[-1].pid, os.WEXITED | os.WNOWAIT)  # it has ended, however slow the machine is
    return x / 2

def in_a_thread(x, seed):
    started = threading.Thread(target=lambda: KEPT.append(subprocess.Popen(["sleep", "300"])))
    started.start()
    started.join()
    return x / 2

def fails_slowly(x, seed):
    time.sleep(2.0)
    raise ValueError("no")

def returns_slowly(x, seed):
    time.sleep(14.0)
    return "no array"

def bomb(x, seed):  # stops by itself: at most 2^8 processes, or four a processor
    for _ in range(max(8, 1 + os.cpu_count().bit_length())):
        if os.fork() == 0:
            os.setsid()
    if os.getpid() != PID[0]:
        sleeps()
    time.sleep(200)  # the others need their time to start each other
    return x / 2

def threads(x, seed):
    for _ in range(3):
        threading.Thread(target=time.sleep, args=(300,), daemon=True).start()
    return x / 2

def folder(x, seed):
    os.chdir(tempfile.mkdtemp())
    return x / 2

def stderr(x, seed):
    for _ in range(64):
        sys.stderr.write("x" * (1 << 17))
    return x / 2

def pool(x, seed):  # one for all calls, as is right
    if not POOL:
        from concurrent.futures import ProcessPoolExecutor
        import multiprocessing
        POOL.append(ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("fork")))
    return POOL[0].submit(half, x).result()

def waits(x, seed):
    subprocess.run(["true"], check=True)
    return x / 2

def thread_for_ever(x, seed):
    if not KEPT:
        KEPT.append(threading.Thread(target=time.sleep, args=(300,), name="for ever"))
        KEPT[0].start()
    return x / 2

def exit_handler(x, seed):
    if not KEPT:
        KEPT.append(atexit.register(time.sleep, 300))
    return x / 2

def starts_at_exit(x, seed):
    if not KEPT:
        KEPT.append(atexit.register(subprocess.Popen, ["sleep", "300"], start_new_session=True))
    return x / 2

def ends_at_exit(x, seed):
    if not KEPT:
        KEPT.append(atexit.register(os._exit, 9))
    return x / 2

def half(x):
    return x / 2

POOL = []
PID = [os.getpid()]
made = {
    f.__name__: cf.Codec(f, [cf.Contraction(0.75)], shape=(2,), time_limit=300.0, effort=0.01, name=f.__name__)
    for f in (forks, starts, session, daemon, clean_daemon, dies_with_a_daemon, bomb, threads, folder, stderr)
    + (unwaited, in_a_thread, fails_slowly, returns_slowly, pool, waits, thread_for_ever, exit_handler, starts_at_exit)
    + (ends_at_exit,)
}
"""
HOSTILE = {
    "forks": r"1 process \(python",
    "starts": r"1 process \(sleep\)",
    "session": r"1 process \(sleep\)",
    "daemon": r"1 process \(python",
    "clean_daemon": r"1 process \((sh|sleep)\)",  # forked, and perhaps not yet what it becomes
    "dies_with_a_daemon": "ended with status 3",
    "unwaited": r"not waited for when ended: 1 process \(true\)",
    "in_a_thread": r"1 process \(sleep\)",
    "fails_slowly": "raised ValueError: no.*calls without an answer took [1-9][0-9]+ s",
    "returns_slowly": "returned str, not an array|no answer within",
    "bomb": "had started [0-9]+ processes",
    "threads": "[0-9]+ threads",
    "folder": "the working folder: ",
    "stderr": "[0-9]+ bytes on stderr",
    "thread_for_ever": "did not end 10 s after its last call: the thread 'for ever' is no daemon",
    "exit_handler": "did not end 10 s after its last call: an exit handler runs",
    "ends_at_exit": "ended with status 9 after its last call",
    "starts_at_exit": r"started when it ended: 1 process \((python3?|sleep)\)",
}
DEFAULT = ("daemon",)


def alive(mark):
    """Processes that have it on their command line or in their environment, but this one."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            said = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
            state = (place / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in said and state not in "ZX" and int(place.name) != os.getpid():
            found.append(int(place.name))
    return found


def sleepers():
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (place / "cmdline").read_bytes() == b"sleep\x00300\x00":
                found.add(int(place.name))
        except OSError:
            continue
    return found


def judged(name, folder):
    (folder / "hostile.py").write_text(SUBJECTS)
    mark = f"COMMBOUNDS_TEST_MARK={folder.name}"
    before, begun = sleepers(), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "commbounds", "check", f"{folder}/hostile.py:made[{name!r}]"],
        capture_output=True,
        text=True,
        check=False,
        timeout=580,
        env={**os.environ, "COMMBOUNDS_TEST_MARK": folder.name, "COLUMNS": "400"},
    )
    return done, time.monotonic() - begun, alive(mark), sleepers() - before


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in DEFAULT else pytest.mark.wide) for name in HOSTILE]
)
def test_what_a_hostile_subject_leaves_is_named_and_ended(name, tmp_path):
    done, seconds, left, sleeping = judged(name, tmp_path)
    said = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(HOSTILE[name], said), said
    # beside many other programs a right subject takes long as well: ten seconds of one are a minute of a hostile one
    assert seconds < 60.0 or seconds < 6.0 * judged("waits", tmp_path)[1]
    assert not left
    assert not sleeping


STRANGE = """
import builtins, ctypes, decimal, gc, locale, logging, math, os, random, resource, signal, sys, threading, time
import numpy as np
from commbounds.verify import conformance as cf

KEPT, SHARED = [], {}

def closes_stdout(x, seed):
    os.close(1)
    os.closerange(3, 64)
    return x / 2

def closes_everything(x, seed):
    os.closerange(0, 256)
    return x / 2

def exits(x, seed):
    os._exit(0)

def signals_the_judge(x, seed):
    os.kill(os.getppid(), signal.SIGTERM)
    return x / 2

def signals_everybody(x, seed):
    sys.audit("os.kill", -1, signal.SIGTERM)  # what os.kill does first
    return x / 2

def signals_the_group(x, seed):
    sys.audit("os.killpg", os.getpgid(os.getppid()), signal.SIGTERM)
    return x / 2

def limits_the_judge(x, seed):
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))
    return x / 2

def many_threads(x, seed):
    try:
        while len(KEPT) < 5000:
            KEPT.append(threading.Thread(target=time.sleep, args=(300,), daemon=True))
            KEPT[-1].start()
    except RuntimeError:  # where the user may have no more
        pass
    return x / 2

def umask(x, seed):
    os.umask(0o123)
    return x / 2

def limits(x, seed):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (199, hard))
    return x / 2

def environment(x, seed):
    os.environ["PATH"] = "/nowhere"
    return x / 2

def language(x, seed):
    locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")
    return x / 2

def error_state(x, seed):
    np.seterr(all="raise")
    return x / 2

def printing(x, seed):
    np.set_printoptions(precision=1)
    return x / 2

def random_state(x, seed):
    np.random.seed(0)
    random.seed(0)
    return x / 2

def handlers(x, seed):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return x / 2

def recursion_limit(x, seed):
    sys.setrecursionlimit(12345)
    return x / 2

def opens(x, seed):
    try:
        while len(KEPT) < 5000:  # where there is no limit, millions would take longer than a call may
            KEPT.append(open("/dev/null"))
    except OSError:
        pass
    return x / 2

def writes(x, seed):
    with open("results", "w") as file:
        file.write("x")
    return x / 2

def patches(x, seed):
    np.isfinite = lambda *a, **k: np.bool_(True)
    return x / 2

def recurses(x, seed):
    return recurses(x, seed)

def overflows_the_stack(x, seed):
    ctypes.string_at(0)

def interrupts(x, seed):
    raise KeyboardInterrupt

def leaves(x, seed):
    sys.exit("x" * 10**6)

def ends_generators(x, seed):
    raise GeneratorExit

def endless(x, seed):
    return iter(int, 1)

class Endless:
    def __array__(self, *a, **k):
        while True:
            pass

def endless_array(x, seed):
    return Endless()

class Strange(np.ndarray):
    def tobytes(self, *a):
        raise RuntimeError("no bytes")

def subclass(x, seed):
    return (x / 2).view(Strange)

def shared(x, seed):
    out = SHARED.setdefault(x.shape, np.empty_like(x))
    out[...] = x / 2
    return out

def alters(x, seed):
    x *= 0.5
    return x

class Wordless(Exception):
    def __str__(self):
        raise RuntimeError

def wordless(x, seed):
    raise Wordless

def endless_words(x, seed):
    raise ValueError("x" * (1 << 24))

def coloured_words(x, seed):
    raise type("\\x1b[31mError[bold]", (Exception,), {})("\\x1b]0;title\\x07[red]\\r\\nover\\u202e")

def executes(x, seed):
    os.execvp("sleep", ["sleep", "300"])

def stops(x, seed):
    os.kill(os.getpid(), signal.SIGSTOP)

def alarms(x, seed):
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while True:
        pass

def sleeps(x, seed):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    while True:
        pass

def builtin(x, seed):
    builtins.sorted = lambda *a, **k: []
    return x / 2

def collector(x, seed):
    gc.disable()
    return x / 2

def traces(x, seed):
    sys.setprofile(lambda *a: None)
    return x / 2

def priority(x, seed):
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    return x / 2

def masked(x, seed):
    return np.ma.masked_array(x / 2, np.ones(x.shape, bool))

def turns(x, seed):
    sys.setswitchinterval(0.001)
    return x / 2

def hook(x, seed):
    sys.excepthook = print
    return x / 2

def finders(x, seed):
    sys.meta_path.clear()
    return x / 2

def clock(x, seed):
    time.monotonic = lambda: 0.0
    return x / 2

def rounding(x, seed):
    ctypes.CDLL(None).fesetround(0x400000 if os.uname().machine == "aarch64" else 0x800)  # upward
    return x / 2

def rarely_collects(x, seed):
    gc.set_threshold(0)
    return x / 2

def digits(x, seed):
    sys.set_int_max_str_digits(640)
    return x / 2

def decimals(x, seed):
    decimal.getcontext().prec = 1
    return x / 2

def path(x, seed):
    sys.path.insert(0, "/nowhere")
    return x / 2

def silences(x, seed):
    logging.disable(100)
    return x / 2

def roots(x, seed):
    math.sqrt = lambda x: 0.0
    return x / 2

def dies_late(x, seed):
    KEPT.append(x)
    if len(KEPT) > 20:
        os._exit(3)
    return x / 2

def fails_slowly_at_some_seeds(x, seed):
    if seed % 2:
        time.sleep(2.0)
        raise RuntimeError("odd")
    return x / 2

def view(x, seed):
    return x[:]

made = [
    cf.Codec(f, [cf.Contraction(0.75)], shape=(2,), time_limit=3.0, effort=0.01, name=f.__name__)
    for f in list(globals().values())
    if getattr(f, "__name__", "") in NAMES
]
"""
SAID = {
    "closes_stdout": "ended with status|no valid reply",
    "closes_everything": "ended with status",
    "exits": "ended with status 0",
    "signals_the_judge": "must not send signals to process [0-9]+",
    "signals_everybody": "must not send signals to process -1",
    "signals_the_group": "must not send signals to process -[0-9]+",
    "limits_the_judge": "must not set limits of process [0-9]+",
    "many_threads": "[0-9]+ threads",
    "umask": "the umask: 0123, which was",
    "limits": "limits of the process, RLIMIT_NOFILE: .199,",
    "environment": "the environment, PATH: /nowhere",
    "language": "the locale",
    "error_state": "numpy's error state, divide: raise",
    "printing": "how numpy prints, precision: 1",
    "random_state": "the global generator of numpy and random was used",
    "handlers": "handlers of signals, SIGTERM",
    "recursion_limit": "the limit of recursion: 12345",
    "opens": "more than [0-9]+ open files",
    "writes": "the file 'results' in the working folder",
    "patches": "numpy.isfinite, which was replaced",
    "recurses": "raised RecursionError",
    "overflows_the_stack": "killed by SIGSEGV",
    "interrupts": "raised KeyboardInterrupt",
    "leaves": "called sys.exit",
    "ends_generators": "raised GeneratorExit",
    "endless": "returned callable_iterator, not an array",
    "endless_array": "returned Endless, not an array",
    "subclass": "raised RuntimeError: no bytes",
    "shared": "changed during a later call",
    "alters": "of the input was",
    "wordless": "its text raised RuntimeError",
    "endless_words": "raised ValueError: x{100}",
    "coloured_words": "raised .*Error",
    "executes": "no answer within|killed by SIGKILL",
    "stops": "no answer within",
    "alarms": "killed by SIGALRM",
    "sleeps": "no answer within",
    "builtin": "builtins.sorted, which was replaced",
    "collector": "whether garbage is collected: False",
    "traces": r"whether calls are traced and profiled: \(False, True\)",
    "priority": "the priority of the process: 19" if os.nice(0) < 19 else "",
    "masked": "returned MaskedArray, not an array",
    "turns": "how often threads take turns: 0.001",
    "hook": "what is called for errors: .*print",
    "finders": r"what finds modules: \[\]",
    "clock": "time.monotonic, which was replaced",
    "rounding": "how floats are rounded: .1.0000000000000002, -1.0, 1e-323.",
    "rarely_collects": r"when garbage is collected: \(0,",
    "digits": "how many digits integers are written with: 640",
    "decimals": "precision of decimal: 1",
    "path": "where modules are found: ../nowhere",
    "silences": "which messages are logged: 100",
    "roots": "math.sqrt, which was replaced",
    "dies_late": "a later call: the process ended with status 3",
    "fails_slowly_at_some_seeds": "raised RuntimeError: odd",
    "view": "",  # the right one
}
"""What is said of each."""


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(
            ("umask", "patches", "writes", "signals_the_group", "dies_late", "rounding", "path", "many_threads"),
            id="sample",
            marks=pytest.mark.wide,
        ),
        pytest.param(tuple(SAID), id="all", marks=pytest.mark.long),
    ],
)
def test_what_strange_subjects_do_is_named_and_nothing_is_left(names, tmp_path):
    (tmp_path / "strange.py").write_text(f"NAMES = {names!r}\n{STRANGE}")
    (tmp_path / "empty").mkdir()
    before = sleepers()
    done = subprocess.run(
        [sys.executable, "-m", "commbounds", "check", f"{tmp_path}/strange.py:made", "--out", f"{tmp_path}/r.jsonl"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240 * len(names),
        cwd=tmp_path / "empty",
        env={**os.environ, "COMMBOUNDS_TEST_MARK": tmp_path.name},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", done.stdout + done.stderr)
    reports = reports_from(tmp_path / "r.jsonl")
    assert {report.subject for report in reports} == set(names)
    for report in reports:
        name, said = report.subject, SAID[report.subject]
        failed = [f.message for f in report.findings if f.verdict is CheckVerdict.FAIL]
        assert bool(failed) == bool(said), (name, failed)
        assert not said or re.search(said, " ".join(failed)), (name, failed)
        assert len(" ".join(failed)) < 10_000
    assert [path.name for path in (tmp_path / "empty").iterdir()] == ["results"]
    assert not alive(tmp_path.name)
    assert not sleepers() - before


def test_a_subject_that_takes_all_memory_is_ended(tmp_path, monkeypatch):
    program = tmp_path / "hungry.py"
    program.write_text(HUNGRY)
    monkeypatch.setattr(process, "available_bytes", lambda: 1 << 28)
    hungry = process.Process([sys.executable, str(program)], 60.0)
    with pytest.raises(Died, match="GiB of memory in use, and was ended"):
        hungry.call({"op": "roundtrip"}, [np.ones(2)])
    assert not hungry.left_behind()


SHARES_TOLD = Path("/proc/self/smaps_rollup")


@pytest.mark.skipif(
    not (SHARES_TOLD.exists() and "Pss_Anon:" in SHARES_TOLD.read_text()), reason="the system tells of no shared pages"
)
def test_memory_that_forked_processes_share_is_counted_once(tmp_path, monkeypatch):
    program = tmp_path / "shares.py"
    program.write_text(SHARES)
    monkeypatch.setattr(process, "available_bytes", lambda: 1 << 28)
    shares = process.Process([sys.executable, str(program)], 60.0)
    reply, _ = shares.call({"op": "roundtrip"}, [np.ones(2)])
    assert reply["held"] == 1 << 26
    shares.stop()


SHARES = """
import json, os, sys, time
def answer(**more):
    print(json.dumps({"arrays": [], **more}), flush=True)
answer(protocol=1, kind="compressor")
sys.stdin.buffer.readline()
held = os.urandom(1 << 26)
for _ in range(8):
    if os.fork() == 0:
        time.sleep(1.0)
        os._exit(0)
time.sleep(1.0)
answer(held=len(held))
"""
HUNGRY = """
import sys, time
sys.stdin.buffer.readline()
print('{"arrays": [], "protocol": 1, "kind": "compressor"}', flush=True)
held = []
while True:
    held.append(b"x" * (1 << 24))
    time.sleep(0.01)
"""


def test_after_a_call_that_hung_the_next_ones_are_not_waited_for_as_long(tmp_path):
    program = tmp_path / "slow.py"
    program.write_text(HUNGRY.replace('held.append(b"x" * (1 << 24))', "pass"))
    slow, took = process.Process([sys.executable, str(program)], 3.0), []
    for _ in range(2):
        begun = time.monotonic()
        with pytest.raises(TimedOut) as found:
            slow.call({"op": "roundtrip"}, [np.ones(2)])
        took.append((str(found.value), time.monotonic() - begun))
    assert [said for said, _ in took] == ["no answer within 3 s", "no answer within 1 s"]


@pytest.mark.wide
@pytest.mark.parametrize("name", ["pool", "waits"])
def test_what_a_subject_needs_for_its_calls_is_left_to_it(name, tmp_path):
    done, _, left, _ = judged(name, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not left


@pytest.mark.long
def test_two_dozen_checks_at_once_find_the_same(tmp_path, record_property):
    (tmp_path / "hostile.py").write_text(SUBJECTS)
    command = [sys.executable, "-m", "commbounds", "check", "hostile.py:made['waits']", "--out"]
    given = {**os.environ, "COMMBOUNDS_TEST_MARK": tmp_path.name}
    outputs = [tmp_path / f"{number}.jsonl" for number in range(24)]
    started = [
        subprocess.Popen([*command, out], cwd=tmp_path, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for out in outputs
    ]
    said = [process.communicate(timeout=3000)[0] for process in started]
    record_property("tried", len(started))
    assert [process.returncode for process in started] == [0] * 24, said
    assert len({out.read_bytes() for out in outputs}) == 1
    assert not alive(tmp_path.name)
