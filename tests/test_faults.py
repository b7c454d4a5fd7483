"""Full disks, quotas, no locks, I/O errors and signals: one sentence, a status that judges nothing, nothing lost."""

import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.verify import engine, run
from commbounds.verify.conformance.offspring import relatives, running
from commbounds.verify.trials import run_trials
from commbounds.verify.writing import exclusive_lock

CLAIMS = ("quantizers.sign.unbiased",)
DRAWN = "quantizers.sign.contraction"
SUBJECT = """
import numpy as np
from commbounds.verify.conformance import Codec
sub = Codec(lambda x, seed: x.copy(), [], name="same")
def total(x):
    return x.sum(0)
"""
FAULTS = {"full": errno.ENOSPC, "quota": errno.EDQUOT, "input/output": errno.EIO, "no locks": errno.ENOLCK}
CALLS = [(os, "replace"), (os, "fsync"), (fcntl, "flock"), (tempfile, "mkstemp"), (tempfile, "TemporaryFile")]
"""What commands write and lock with."""


class Faults:
    """Makes one of the calls fail, and all after it: what is full stays full."""

    def __init__(self, monkeypatch, place, code):
        self.count, self._place, self._code = 0, place, code
        for module, name in CALLS:
            monkeypatch.setattr(module, name, self._failing(getattr(module, name), name))

    def _failing(self, real, name):
        def call(*arguments, **options):
            # a system without locks fails nowhere else
            if (name == "flock") == (self._code == errno.ENOLCK):
                self.count += 1
                if self.count > self._place:
                    raise OSError(self._code, os.strerror(self._code))
            return real(*arguments, **options)

        return call


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    path = tmp_path_factory.mktemp("given") / "findings.jsonl"
    run([DRAWN], out=path)
    return path


@pytest.fixture
def there(cache, findings, tmp_path, monkeypatch):
    """A folder with everything that the commands start from."""
    for variable in ("COMMBOUNDS_CACHE", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY"):
        monkeypatch.setenv(variable, str(cache / variable.lower()))
    shutil.copy(findings, tmp_path / "given.jsonl")
    (tmp_path / "mine.py").write_text(SUBJECT)
    (tmp_path / "watched").mkdir()
    run_line = {"claims": {}, "alarm": 0.1, "seed": 0, "rank": 0, "ranks": 1}
    (tmp_path / "watched" / "rank-00000.jsonl").write_text(json.dumps({"run": run_line}) + "\n")
    board = tmp_path / "scoreboard"
    shutil.copytree(Path(__file__).parents[1] / "docs" / "scoreboard", board)
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = {
    "verify": ("verify", *CLAIMS, "--jobs", "1", "--out", "out/f.jsonl", "--fresh"),
    "report": ("report", DRAWN, "--findings", "given.jsonl", "--jobs", "1", "--out", "out"),
    "figures": ("figures", DRAWN, "--findings", "given.jsonl", "--jobs", "1", "--out", "out"),
    "check": ("check", "mine.py:sub", "--here", "--only", "same seed, same output", "--out", "out/r.jsonl"),
    "vectors": ("vectors", "Identity", "--out", "out"),
    "scoreboard": ("scoreboard", "--page", "--folder", "scoreboard"),
    "watch report": ("watch", "report", "watched", "--out", "out/page.html"),
    "plan": ("plan", "--P", "4", "--n", "64", "--picture", "out/plan.svg"),
    "dossier": ("dossier", "quantizers.sign", "--out", "out/page.html"),
    "fingerprint": (
        "fingerprint",
        "mine.py:total",
        "--P",
        "3",
        "--sizes",
        "2",
        "--dtypes",
        "float32",
        "--out",
        "out/f.json",
    ),
    "demo": ("demo", "--out", "out"),
    "certificates": ("certificates", "quantizers.sign.*", "--coq", "out"),
    "certify": ("certify", "quantizers.sign.unbiased", "--seconds", "1", "--out", "out"),
    "new-column": ("new-column", "planets"),
}


def called(name):
    if name == "verify":  # which makes no folder
        Path("out").mkdir(exist_ok=True)
    env = {"COMMBOUNDS_COLUMNS": "out"} if name == "new-column" else {}  # else to this checkout
    return CliRunner().invoke(main, COMMANDS[name], env=env)


def files(folder):
    """Contents of all files but the caches'."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


PAIRS = [
    pytest.param(
        command, fault, marks=() if fault == "full" or (command, fault) == ("verify", "no locks") else pytest.mark.wide
    )
    for command in COMMANDS
    for fault in FAULTS
]


@pytest.mark.parametrize(("command", "fault"), PAIRS)
def test_a_fault_is_one_sentence_and_status_3(command, fault, there, monkeypatch):
    with monkeypatch.context() as patched:
        counted = Faults(patched, 10**9, FAULTS[fault])
        result = called(command)
        assert result.exit_code in (0, 1), result.output
    places = range(counted.count)
    after = files(there)
    for place in places if len(places) < 4 else (0, 1, len(places) // 2, len(places) - 1):
        shutil.rmtree(there / "out", ignore_errors=True)
        before = files(there)
        with monkeypatch.context() as patched:
            faults = Faults(patched, place, FAULTS[fault])
            failed = called(command)
        said = " ".join(failed.stderr.split())
        if faults.count <= place:  # kernels need not be compiled any more
            assert failed.exit_code == result.exit_code
            continue
        if failed.exit_code in (0, 1):  # what can be made again, such as what is kept for the next run
            assert failed.exit_code == result.exit_code
            assert os.strerror(FAULTS[fault]) in said
            continue
        assert failed.exit_code == 3, failed.output
        assert isinstance(failed.exception, SystemExit)
        assert said.count("Error: the system failed: ") == 1
        assert os.strerror(FAULTS[fault]) in said
        assert "Traceback" not in failed.output
        for name, content in files(there).items():
            if name.endswith("f.jsonl"):
                found = engine.load_whole(there / name)
                assert not found[1]
                assert {finding.claim for finding in found[0]} <= set(CLAIMS)
            elif name == "out/index.json" and command == "vectors":
                assert content == after[name] or json.loads(content)["files"] == []
            else:
                assert content in (before.get(name), after.get(name)), name
    if places:
        assert called(command).exit_code == result.exit_code  # and it goes on from there


def test_a_line_that_does_not_fit_is_not_begun(tmp_path):
    """The real thing: the system takes a part of the line, and then no more."""
    program = (
        "import resource, signal, sys; from commbounds.folders import appended\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "with open(sys.argv[1], 'ab', buffering=0) as file:\n"
        "    appended(file, b'x' * 599 + b'\\n')\n"
        "    try: appended(file, b'y' * 599 + b'\\n')\n"
        "    except OSError as error: print(error.filename)\n"
    )
    path = tmp_path / "lines"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout == f"{path}\n"
    assert path.read_bytes() == b"x" * 599 + b"\n"


def test_trials_that_do_not_fit_leave_the_file_whole(tmp_path, monkeypatch):
    def simulated(first, count):
        return [[float(first + i)] for i in range(count)]

    path, real, calls = tmp_path / "t", os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        run_trials(simulated, 40, path, {}, chunk=8)
    assert path.read_bytes().endswith(b"\n")
    assert run_trials(simulated, 40, path, {}, chunk=8)[:, 0].tolist() == list(range(40))


def test_a_full_screen_is_told_of():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "commbounds", "claims"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 3
    assert done.stderr.count("\n") <= 2
    assert "No space left on device" in " ".join(done.stderr.split())


def test_a_second_report_into_the_same_folder_is_refused(there):
    (there / "out").mkdir()
    for command, file in (("report", "index.html"), ("vectors", "index.json"), ("verify", "f.jsonl")):
        with exclusive_lock(there / "out" / file):
            refused = called(command)
            assert refused.exit_code == 2
            assert "another run is writing to" in refused.stderr
            assert [p.name for p in (there / "out").iterdir()] == [f".{file}.lock"]


# --- signals ----------------------------------------------------------------------------------------------------------

WAITS = """
import signal, sys, time
for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)  # a process in the background may have been told to ignore them
signal.signal(signal.SIGINT, signal.default_int_handler)
from commbounds.verify import engine
from commbounds.cli import main
def slow(*arguments):
    print("begun", flush=True)
    time.sleep(600)
engine.confront_together = slow
sys.argv = ["commbounds", "verify", *sys.argv[2:], "--jobs", "1", "--fresh", "--out", sys.argv[1]]
main()
"""


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(n, marks=pytest.mark.wide) for n in (signal.SIGINT, signal.SIGHUP))]
)
def test_signals_end_a_run_and_leave_nothing(number, tmp_path):
    out = tmp_path / "out" / "f.jsonl"
    out.parent.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(out), *CLAIMS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    process.send_signal(number)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 128 + number
    assert f"the same command goes on from {out}" in said
    assert "Traceback" not in said
    assert [path.name for path in out.parent.iterdir()] in ([], ["f.jsonl"])


@pytest.mark.wide
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_to_the_command_alone_end_its_workers_too(number, tmp_path, cache):
    out = tmp_path / "f.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "commbounds", "verify", "sparsifiers.*", "--jobs", "2", "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "COMMBOUNDS_CACHE": str(cache / "own")},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it may have been told to ignore it
    )
    started = time.monotonic()
    while not (out.exists() and out.stat().st_size):
        time.sleep(0.1)
        assert process.poll() is None
    begun = time.monotonic()
    process.send_signal(number)
    quickly = max(20.0, begun - started)  # a task takes longer; beside other programs all takes longer
    _, said = process.communicate(timeout=300)
    assert time.monotonic() - begun < quickly
    assert process.returncode == 128 + number
    assert "leaked" not in said
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["f.jsonl"]
    while running(relatives(process.pid)):  # what forked the workers ends when it sees that no one is left
        time.sleep(0.1)
        assert time.monotonic() - begun < 10.0 + 2.0 * quickly


MORE = {"tolerance": ("--P", "2"), "recheck": ("given.jsonl",), "check-column": ("gossip",)}
"""Arguments of commands that need some, and write nothing."""


@pytest.mark.parametrize("command", [name for name, one in main.commands.items() if not hasattr(one, "commands")])
def test_every_command_that_is_interrupted_ends_with_130(command, there, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(main.commands[command], "callback", interrupted)
    result = CliRunner().invoke(main, COMMANDS.get(command, (command, *MORE.get(command, ()))))
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")
