"""Tasks for workers that import them: what ran is known from files, since those who die cannot tell."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from commbounds.verify.confront import versions
from commbounds.verify.finding import Finding, Verdict


def started(folder, name):
    """How often a task has been started, this time included."""
    path = Path(folder) / name
    with path.open("a") as file:
        file.write(f"{os.getpid()}\n")
    return len(path.read_text().splitlines())


def confront(folder, killers, deaths, name, budget, seed):
    """A finding; the tasks of the names in `killers` kill their process the first `deaths` times."""
    times = started(folder, name)
    time.sleep(0.02)
    if name in killers and times <= deaths:
        os.kill(os.getpid(), signal.SIGKILL)
    return Finding(name, Verdict.PROVED, True, (), budget=budget, seed=seed, versions=versions())


def kills_later(folder, out, victim, name, budget, seed):
    """As `confront`; the victim kills its process once, when `out` holds three findings, and notes what they are."""
    times = started(folder, name)
    time.sleep(0.02)
    if name == victim and times == 1:
        while Path(out).read_bytes().count(b"\n") < 3 if Path(out).exists() else True:
            time.sleep(0.01)
        (Path(folder) / "collected").write_bytes(Path(out).read_bytes())
        time.sleep(1.0)  # what was collected is let go of a moment later
        os.kill(os.getpid(), signal.SIGKILL)
    return Finding(name, Verdict.PROVED, True, (), budget=budget, seed=seed, versions=versions())


def other_versions(name, budget, seed):
    return Finding(name, Verdict.PROVED, True, (), budget=budget, seed=seed, versions={**versions(), "numpy": "1.0"})


def squares(folder, killer, first, count):
    """Trials; those from `killer` on kill their process the first time."""
    if started(folder, f"from {first}") == 1 and first == killer:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.arange(first, first + count, dtype=float)[:, None] ** 2


def dies(*_arguments, **_options):
    os.kill(os.getpid(), signal.SIGKILL)


def fails():
    raise KeyError("no such key")


def waits(folder, name):
    """Started; goes on when the file ``go`` is there."""
    started(folder, name)
    while not (Path(folder) / "go").exists():
        time.sleep(0.01)
    return os.getpid()
