"""One mutant before the claims: a process of its own, in which one module is imported with one change.

No file is edited, and kernels run in plain Python, so that nothing of a mutant is kept: neither bytecode nor kernels.
"""

import ast
import importlib.abc
import importlib.machinery
import math
import multiprocessing
import os
import resource
import signal
import sys
import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

from .operators import mutated

MEMORY = 16 << 30
"""Bytes of addresses that a mutant may ask for."""
OUTCOMES = ("refuted", "error", "time-out", "died")
"""How a mutant is killed: a claim is not as the book says; it raises; it takes too long; its process ends."""


@dataclass(frozen=True)
class Trial:
    """What is asked of a process.

    Parameters
    ----------
    mutant : str
        Its name; empty for the modules as they are.
    path, file : str
        The module, from the folder of the rooms, and where it lies.
    groups : tuple of tuple of str
        Claims that are judged together, in turn, until some are not as the book says.
    limit : float
        Seconds of processor time for each group; ten times as many that pass are a time-out too.
    until : float
        When it is given up, of the clock of `time.time`.
    """

    mutant: str
    path: str
    file: str
    groups: tuple[tuple[str, ...], ...]
    limit: float = 120.0
    until: float = float("inf")


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Parameters
    ----------
    judged : tuple of str
        Claims that it has met.
    killers : dict of str to str
        Claims that kill it, with what they say.
    how : str
        One of `OUTCOMES`; empty where it survives.
    seconds : float
        That it took.
    """

    judged: tuple[str, ...]
    killers: dict[str, str] = field(default_factory=dict)
    how: str = ""
    seconds: float = 0.0

    @property
    def controls(self) -> tuple[str, ...]:
        """What must be as the book says without any mutant: each killing claim, or all that took too long together."""
        return (" ".join(self.killers),) if self.how == "time-out" else tuple(self.killers)


def judged(trial: Trial) -> Verdict | None:
    """What the claims say of a mutant, in a process of its own; None where it was given up.

    Raises
    ------
    RuntimeError
        The mutant could not be put in place.
    """
    begun, met = time.monotonic(), []
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"{__package__}.preloaded"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_judge, args=(trial, sender))
    process.start()
    sender.close()
    killers, how = {}, ""
    for group in trial.groups:
        met += group
        try:
            if receiver.poll(max(0.0, min(10 * trial.limit, trial.until - time.time()))):
                killers, how = receiver.recv()
            elif time.time() >= trial.until:
                how = "given up"
            else:
                killers, how = dict.fromkeys(group, f"more than {trial.limit:g} s"), "time-out"
        except EOFError:
            process.join()
            killers, how = dict.fromkeys(group, f"the process ended with {process.exitcode}"), "died"
            if process.exitcode == -signal.SIGXCPU:
                killers, how = dict.fromkeys(group, f"more than {trial.limit:g} s"), "time-out"
        if how:
            break
    process.kill()
    process.join()
    if how == "failed":
        raise RuntimeError(killers)
    return None if how == "given up" else Verdict(tuple(met), killers, how, round(time.monotonic() - begun, 1))


class _Changed(importlib.machinery.SourceFileLoader):
    """A loader that compiles a tree in place of its file, and keeps nothing."""

    def __init__(self, name: str, file: str, tree: ast.Module) -> None:
        super().__init__(name, file)
        self._tree = tree

    def get_code(self, fullname: str) -> object:
        return compile(self._tree, self.get_filename(fullname), "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, tree: ast.Module) -> None:
        self._name, self._tree = name, tree

    def find_spec(self, fullname: str, path: object, target: object = None) -> object:
        if fullname != self._name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        spec.loader = _Changed(fullname, spec.origin, self._tree)
        return spec


def _judge(trial: Trial, sender) -> None:
    """Put the mutant in place, import everything, and send for every group (its killers, how), until there are any."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    warnings.simplefilter("ignore")
    module = "commbounds." + trial.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if trial.mutant:
        try:
            if module in sys.modules:
                raise RuntimeError(f"{module} is imported already")
            tree = mutated(trial.path, Path(trial.file).read_text(encoding="utf-8"), trial.mutant)
            sys.meta_path.insert(0, _Finder(module, tree))
        except Exception as error:
            sender.send((f"{trial.mutant}: {type(error).__name__}: {error}", "failed"))
            return
    for group in trial.groups:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + trial.limit), resource.RLIM_INFINITY))
        killers, how = _findings(group)
        if trial.mutant and not how and module not in sys.modules:
            killers, how = f"{trial.mutant}: its module was not imported", "failed"
        sender.send((killers, how))


def _findings(group: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """The claims that are not as the book says, and whether they are refuted or cannot be judged."""
    try:
        from commbounds.verify.confront import confront_together
        from commbounds.verify.experiment import budgets
        from commbounds.verify.finding import Verdict as Found

        budgets["quick"] = replace(budgets["quick"], first=True)  # a counterexample need not be small
        findings = [f for f in confront_together(group, drawn=False) if not f.as_stated]
    except Exception as error:  # `verify` ends with it
        return dict.fromkeys(group, f"{type(error).__name__}: {error}"[:200]), "error"
    raised = findings and all(f.verdict is Found.ERROR for f in findings)
    return {f.claim: f.message[:200] for f in findings}, "error" if raised else "refuted" if findings else ""
