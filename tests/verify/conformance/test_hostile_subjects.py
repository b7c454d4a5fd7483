"""Subjects that start processes and threads, leave the session, fork without end or write without end: named, ended."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

SUBJECTS = """
import os, subprocess, sys, tempfile, threading, time
import numpy as np
from commbounds.verify import conformance as cf

COUNT = [0]

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

def bomb(x, seed):  # stops by itself: at most 2^8 processes
    for _ in range(8):
        if os.fork() == 0:
            os.setsid()
    if os.getpid() != PID[0]:
        sleeps()
    time.sleep(5)
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
        POOL.append(ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")))
    return POOL[0].submit(half, x).result()

def waits(x, seed):
    subprocess.run(["true"], check=True)
    return x / 2

def half(x):
    return x / 2

POOL = []
PID = [os.getpid()]
made = {
    f.__name__: cf.Codec(f, [cf.Contraction(0.75)], shape=(2,), time_limit=20.0, effort=0.01, name=f.__name__)
    for f in (forks, starts, session, daemon, clean_daemon, dies_with_a_daemon, bomb, threads, folder, stderr)
    + (pool, waits)
}
"""
HOSTILE = {
    "forks": r"1 process \(python",
    "starts": r"1 process \(sleep\)",
    "session": r"1 process \(sleep\)",
    "daemon": r"1 process \(python",
    "clean_daemon": r"1 process \(sleep\)",
    "dies_with_a_daemon": "ended with status 3",
    "bomb": "had started [0-9]+ processes",
    "threads": "[0-9]+ threads",
    "folder": "the working folder",
    "stderr": "[0-9]+ bytes on stderr",
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
        timeout=300,
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
    assert seconds < 60.0
    assert not left
    assert not sleeping


@pytest.mark.wide
@pytest.mark.parametrize("name", ["pool", "waits"])
def test_what_a_subject_needs_for_its_calls_is_left_to_it(name, tmp_path):
    done, _, left, _ = judged(name, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not left
