"""One mutant before the claims: a process of its own, in which one module is imported with one change.

No file is edited, and kernels run in plain Python, so that nothing of a mutant is kept: neither bytecode nor kernels.
"""

import ast
import faulthandler
import importlib.abc
import importlib.machinery
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from .operators import mutated

MEMORY = 8 << 30
"""Bytes of addresses that a mutant may ask for."""
OUTCOMES = ("refuted", "error", "time-out", "died")
"""How a mutant is killed: a claim is not as the book says; it raises; it takes too long; its process ends."""


@dataclass(frozen=True)
class Trial:
    """What is asked of a process.

    Parameters
    ----------
    mutant : str
        Its name; empty for the module as it is.
    path, file : str
        The module, from the folder of the rooms, and where it lies.
    groups : tuple of tuple of str
        Claims that are judged together, in turn, until some are not as the book says.
    limit : float
        Seconds for each group.
    """

    mutant: str
    path: str
    file: str
    groups: tuple[tuple[str, ...], ...]
    limit: float = 120.0


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


def judged(trial: Trial) -> Verdict:
    """What the claims say of a mutant, in a process of its own."""
    begun = time.monotonic()
    given = {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    most = (len(trial.groups) + 2) * trial.limit
    command = [sys.executable, "-m", f"{__package__}.judging"]
    done = subprocess.run(
        command, input=json.dumps(trial.__dict__), capture_output=True, text=True, check=False, timeout=most,
        env={**os.environ, **given}, cwd=Path(__file__).resolve().parents[3],
    )  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines()]
    if not events or "said" in events[-1]:
        raise RuntimeError(f"{trial.mutant or 'the modules as they are'}: {done.stderr[-2000:]}{events}")
    met, last = [claim for event in events for claim in event.get("met", ())], events[-1]
    verdict = Verdict(tuple(met), last.get("killers", {}), last.get("how", ""))
    if last.get("doing"):  # it ended in the middle
        how = "time-out" if time.monotonic() - last["at"] >= trial.limit else "died"
        why = f"{how}, after {trial.limit:g} s" if how == "time-out" else f"the process ended with {done.returncode}"
        verdict = Verdict((*met, *last["doing"]), dict.fromkeys(last["doing"], why), how)
    return replace(verdict, seconds=round(time.monotonic() - begun, 1))


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


def put_in_place(trial: Trial) -> None:
    """Have the module imported with the mutant in it, from now on."""
    if _module(trial.path) in sys.modules:
        raise RuntimeError(f"{trial.path} is imported already")
    tree = mutated(trial.path, Path(trial.file).read_text(encoding="utf-8"), trial.mutant)
    sys.meta_path.insert(0, _Finder(_module(trial.path), tree))


def _module(path: str) -> str:
    return "commbounds." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def main() -> None:
    trial = Trial(**json.load(sys.stdin))
    events = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a mutant prints is no event
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))

    def say(**event: object) -> None:
        print(json.dumps(event), file=events, flush=True)

    def begin(doing: tuple[str, ...]) -> None:
        say(doing=doing, at=time.monotonic())
        faulthandler.dump_traceback_later(trial.limit, exit=True)

    if trial.mutant:
        put_in_place(trial)
    begin(tuple(trial.groups[0]))
    try:
        from commbounds.verify.confront import confront_together
        from commbounds.verify.experiment import budgets
        from commbounds.verify.experiments import EXPERIMENTS
        from commbounds.verify.finding import Verdict as Found

        budgets["quick"] = replace(budgets["quick"], first=True)  # a counterexample need not be small
        len(EXPERIMENTS)
    except Exception as error:
        if not trial.mutant:
            raise
        say(killers=dict.fromkeys(trial.groups[0], f"{type(error).__name__}: {error}"), how="error")
        return
    for group in trial.groups:
        begin(tuple(group))
        try:
            findings = confront_together(group, drawn=False)
        except Exception as error:  # raised outside of a trial: the command itself fails
            say(met=group, killers=dict.fromkeys(group, f"{type(error).__name__}: {error}"), how="error")
            return
        killers = {f.claim: f.message[:200] for f in findings if not f.as_stated}
        errors = [f for f in findings if f.verdict is Found.ERROR]
        how = "" if not killers else "error" if len(errors) == len(killers) else "refuted"
        say(met=group, killers=killers, how=how)
        if killers and trial.mutant:
            return
    if trial.mutant and _module(trial.path) not in sys.modules:
        say(said=f"{trial.path} was not imported, so that nothing was judged")


if __name__ == "__main__":
    try:
        main()
    finally:
        faulthandler.cancel_dump_traceback_later()
