"""Tasks for workers that import them: what ran is known from files, since those who die cannot tell."""

import os
import signal
import time
from pathlib import Path

import numpy as np
from given_evidence import evidence_for

from commbounds.verify.confront import versions
from commbounds.verify.finding import Finding, Verdict


def started(folder, name):
    """How often a task has been started, this time included."""
    path = Path(folder) / name
    with path.open("a") as file:
        file.write(f"{os.getpid()}\n")
    return len(path.read_text().splitlines())


def proved(names, budget, seed, **more):
    """Findings of one case."""
    known = {"budget": budget, "seed": seed, "versions": versions(), **more}
    return [Finding(name, Verdict.ENUMERATED, True, evidence_for(Verdict.ENUMERATED), **known) for name in names]


def confront_together(folder, killers, deaths, names, budget, seed):
    """Findings; tasks with one of the names in `killers` kill their process the first `deaths` times."""
    times = max(started(folder, name) for name in names)
    time.sleep(0.02)
    if set(names) & set(killers) and times <= deaths:
        os.kill(os.getpid(), signal.SIGKILL)
    return proved(names, budget, seed)


def kills_later(folder, out, victim, names, budget, seed):
    """As these; the victim's task kills its process once, when `out` holds three findings, and notes what they are."""
    times = max(started(folder, name) for name in names)
    time.sleep(0.02)
    if victim in names and times == 1:
        while Path(out).read_bytes().count(b"\n") < 3 if Path(out).exists() else True:
            time.sleep(0.01)
        (Path(folder) / "collected").write_bytes(Path(out).read_bytes())
        let_go()
        os.kill(os.getpid(), signal.SIGKILL)
    return proved(names, budget, seed)


def let_go():
    """Wait until Dask's worker holds no result any more: what was collected is let go of a moment later."""
    from distributed import get_worker

    until = time.monotonic() + 60.0
    while get_worker().data and time.monotonic() < until:
        time.sleep(0.01)


def other_versions(names, budget, seed):
    return proved(names, budget, seed, versions={**versions(), "numpy": "1.0"})


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
