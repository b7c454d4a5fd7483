"""One mutant before the claims: a fork of a process that has everything imported, with one change put in.

No file is edited, and kernels run in plain Python, so that nothing of a mutant is kept: neither bytecode nor kernels.
What definitions say is worked out once, for all mutants; so is what holds without any.
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
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from multiprocessing import util
from pathlib import Path

from .operators import mutated
from .preloaded import Called, Calls, Functions, by_case, cases

Killers = dict[str, str]
Found = tuple[Killers, str]
Groups = tuple[tuple[str, ...], ...]

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
    most : float
        Seconds of processor time after which it survives without meeting the rest of the cases.
    traced : bool
        Whether all cases are run without a mutant first, to learn what they call; else those alone that kill one:
        quicker where mutants are few.
    """

    mutant: str
    path: str
    file: str
    groups: Groups
    limit: float = 120.0
    until: float = float("inf")
    most: float = float("inf")
    traced: bool = True

    @property
    def source(self) -> str:
        """The module's text."""
        return Path(self.file).read_text(encoding="utf-8")

    @property
    def module(self) -> str:
        """The module's name."""
        return "commbounds." + self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


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
        Of processor time that it took.
    """

    judged: tuple[str, ...]
    killers: Killers = field(default_factory=dict)
    how: str = ""
    seconds: float = 0.0

    @property
    def controls(self) -> tuple[str, ...]:
        """What must be as the book says without any mutant: each killing claim, or all that took too long together.

        Of definitions and pairings only cases that hold without one have killed.
        """
        whole = [claim for claim in self.killers if not by_case((claim,))]
        return (" ".join(whole),) if whole and self.how == "time-out" else tuple(whole)


_HOST: list[tuple[object, object]] = []
"""The process that mutants of this one are forked from, and the pipe to it."""


def judged(trial: Trial) -> Verdict | None:
    """What the claims say of a mutant, in a process of its own; None where it was given up.

    Raises
    ------
    RuntimeError
        The mutant could not be put in place.
    """
    if not _HOST:
        os.environ |= {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        context = multiprocessing.get_context("spawn")
        ours, its = context.Pipe()
        process = context.Process(target=_serve, args=(its,), daemon=False)
        process.start()
        its.close()
        util.Finalize(None, ours.close, exitpriority=1)  # before this process waits for its own: then that one ends
        _HOST.append((process, ours))
    _, pipe = _HOST[0]
    pipe.send(trial)
    try:
        found = pipe.recv()
    except EOFError:
        raise RuntimeError("the process that mutants are forked from has ended: see above") from None
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


# --- the process that mutants are forked from --------------------------------------------------------------------


def _serve(pipe) -> None:
    warnings.simplefilter("ignore")
    host = Host()
    while True:
        try:
            trial = pipe.recv()
        except EOFError:  # whoever asks has ended
            return
        pipe.send(host.judged(trial))


@dataclass(frozen=True, eq=False)
class Unit:
    """What a mutant meets in one go: one case of a claim, or claims whole.

    Parameters
    ----------
    claims : tuple of str
        Their names.
    run : callable () -> (killers, how)
        See `Verdict`.
    """

    claims: tuple[str, ...]
    run: Callable[[], Found]


class Host:
    """Everything imported once, and what no mutant changes: the cases of definitions, and what they say of them."""

    def __init__(self) -> None:
        self._functions = Functions()
        self._cases: dict[str, tuple[list[Unit], set[int]]] = {}
        self._kills: Counter[Unit] = Counter()
        self._seconds: dict[Unit, float] = {}
        self._calls: dict[Unit, frozenset[Called]] = {}
        self._known: dict[Called, Called] = {}
        self._holds: dict[Unit, bool] = {}

    def judged(self, trial: Trial) -> Verdict | str | None:
        """See `judged`; a string says why the mutant could not be put in place."""
        begun, met = _processor_time(), []
        try:
            tree = mutated(trial.path, trial.source, trial.mutant) if trial.mutant else None
        except ValueError as error:
            return str(error)
        changed = None if tree is None else self._functions.changed(trial.module, tree)
        quick, put = changed is not None, _nothing
        if trial.mutant:
            put = partial(self._functions.put if quick else _imported_anew, trial.module, tree)
        for groups in self._batches(trial.groups, quick):
            of_all = [unit for group in groups for unit in self._units(group, quick, trial.traced)]
            units = sorted((unit for unit in of_all if self._may_notice(unit, changed)), key=self._rank)
            unit, killers, how = self._killed(units, put, trial)
            if how == "failed":
                return f"{trial.mutant}: {killers}"
            if how == "given up":
                return None
            if how:
                self._kills[unit] += 1
                met += dict.fromkeys(c for u in units[: units.index(unit) + 1] for c in u.claims)
                return Verdict(tuple(met), killers, how, round(_processor_time() - begun, 2))
            met += [claim for group in groups for claim in group]
        return Verdict(tuple(met), {}, "", round(_processor_time() - begun, 2))

    def _killed(self, units: list[Unit], put: Callable[[], None], trial: Trial) -> tuple[Unit | None, Killers, str]:
        """As `_forked`; cases that do not hold without the mutant kill none."""
        begin = 0
        while begin < len(units):
            unit, killers, how = self._forked(units[begin:], put, trial)
            if trial.traced or not how or how in ("failed", "given up") or not by_case(unit.claims):
                return unit, killers, how
            if unit not in self._holds:
                self._holds[unit] = not self._forked([unit], self._functions.forget, replace(trial, mutant=""))[2]
            if self._holds[unit]:
                return unit, killers, how
            begin = units.index(unit) + 1
        return None, {}, ""

    def _may_notice(self, unit: Unit, changed: frozenset[Called] | None) -> bool:
        """Whether a unit may say something else where these functions are changed: a case that calls none cannot."""
        return changed is None or unit not in self._calls or not changed.isdisjoint(self._calls[unit])

    def _rank(self, unit: Unit) -> float:
        """Smaller where a unit is to be met earlier: by how often it has killed, for the time that it takes."""
        return -(self._kills[unit] + 0.1) / (self._seconds.get(unit, 0.0) + 0.001)

    def _batches(self, groups: Groups, quick: bool) -> Iterator[Groups]:
        """Groups that one fork judges: cases of the nearest column, those of others, and claims whole."""

        def kind(group: tuple[str, ...]) -> tuple[bool, bool]:
            apart = by_case(group)
            return apart, apart and group[0].split(".")[0] == groups[0][0].split(".")[0]

        return (tuple(batch) for _, batch in groupby(groups, kind))

    def _units(self, group: tuple[str, ...], quick: bool, traced: bool) -> list[Unit]:
        if not by_case(group):
            return [Unit(group, partial(_findings, group))]
        (claim,) = group
        if claim not in self._cases:
            units = [Unit(group, partial(_told, claim, case)) for case in cases(claim)]
            self._cases[claim] = self._holding(units) if traced else (units, set())
        if quick:
            return self._cases[claim][0]
        return [Unit(group, partial(_made_anew, claim, self._cases[claim][1]))]

    def _measured(self, unit: Unit, seconds: float, calls: frozenset[Called]) -> None:
        self._seconds[unit] = seconds
        self._calls[unit] = frozenset(self._known.setdefault(called, called) for called in calls)

    def _holding(self, units: list[Unit]) -> tuple[list[Unit], set[int]]:
        """The cases that hold without a mutant, and the numbers of the others: they kill none."""
        failing, begin = set(), 0
        while begin < len(units):
            unit, _, how = self._forked(units[begin:], self._functions.forget, Trial("", "", "", ()), self._measured)
            if not how:
                break
            begin = units.index(unit, begin) + 1
            failing.add(begin - 1)
        return [unit for number, unit in enumerate(units) if number not in failing], failing

    def _forked(
        self,
        units: list[Unit],
        put: Callable[[], None],
        trial: Trial,
        measured: Callable[[Unit, float, frozenset[Called]], None] | None = None,
    ) -> tuple[Unit | None, Killers, str]:
        """The unit that kills the mutant, and `Verdict`'s killers and how; all empty where it survives.

        Where `measured` is given, it is told the processor time of each unit, and what it calls.
        """
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_judge, args=(units, put, trial, sender, measured is not None))
        process.start()
        sender.close()
        killers, how = {}, ""
        for unit in units:
            try:
                if receiver.poll(max(0.0, min(10 * trial.limit, trial.until - time.time()))):
                    (killers, how), *about = receiver.recv()
                    if measured:
                        measured(unit, *about)
                elif time.time() >= trial.until:
                    how = "given up"
                else:
                    killers, how = dict.fromkeys(unit.claims, f"more than {trial.limit:g} s"), "time-out"
            except EOFError:
                process.join()
                killers, how = dict.fromkeys(unit.claims, f"the process ended with {process.exitcode}"), "died"
                if process.exitcode == -signal.SIGXCPU:
                    killers, how = dict.fromkeys(unit.claims, f"more than {trial.limit:g} s"), "time-out"
            if how:
                break
        process.kill()
        process.join()
        return (unit if how else None), killers, how


def _processor_time() -> float:
    return sum(
        r.ru_utime + r.ru_stime for r in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _judge(units: list[Unit], put: Callable[[], None], trial: Trial, sender, measured: bool) -> None:
    """Put the mutant in place, and send for every unit what it says, its time and calls, until one kills."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    try:
        put()
    except SyntaxError as error:
        sender.send(((str(error), "failed"),))
        return
    except Exception as error:
        sender.send(((dict.fromkeys(units[0].claims, f"{type(error).__name__}: {error}"[:200]), "error"),))
        return
    calls = Calls() if measured else None
    first = time.process_time()
    for unit in units:
        if time.process_time() > first + trial.most:
            sender.send((({}, ""),))
            continue
        if calls:
            put()  # a case calls what others have worked out, too
        begun = time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(begun + trial.limit), resource.RLIM_INFINITY))
        try:
            found = unit.run()
        except Exception as error:  # `verify` ends with it, or says so of the claim
            found = dict.fromkeys(unit.claims, f"{type(error).__name__}: {error}"[:200]), "error"
        sender.send((found, time.process_time() - begun, calls.taken()) if calls else (found,))
        if found[1]:
            return


def _made_anew(claim: str, left_out: set[int]) -> Found:
    """The same of all cases of a claim but for some, which are made where everything was imported anew."""
    for number, differences in enumerate(cases(claim)):
        if number not in left_out and (found := _told(claim, differences))[1]:
            return found
    return {}, ""


def _told(claim: str, differences: Callable[[], list[str]]) -> Found:
    lines = differences()
    return ({claim: lines[0][:200]}, "refuted") if lines else ({}, "")


def _nothing() -> None:
    """No mutant."""


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module, whose code is that of a tree in place of its file's."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self._name, self._tree = name, tree

    def find_spec(self, fullname: str, path: object, target: object = None) -> object:
        if fullname != self._name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        spec.loader.get_code = lambda name: compile(self._tree, spec.origin, "exec", dont_inherit=True)
        return spec


def _imported_anew(module: str, tree: ast.Module) -> None:
    """Forget all modules that may have used it, so that they are imported anew, with the mutant."""
    sys.meta_path.insert(0, _Finder(module, tree))
    for name in list(sys.modules):
        if name.startswith(("commbounds.compressors", "commbounds.collectives", "commbounds.verify")):
            del sys.modules[name]
    importlib.import_module(module)


def _findings(group: tuple[str, ...]) -> Found:
    """The claims that are not as the book says, and whether they are refuted or cannot be judged."""
    from commbounds.verify.confront import confront_together
    from commbounds.verify.experiment import budgets
    from commbounds.verify.finding import Verdict as Result

    budgets["quick"] = replace(budgets["quick"], first=True)  # a counterexample need not be small
    findings = [f for f in confront_together(group, drawn=False) if not f.as_stated]
    raised = findings and all(f.verdict is Result.ERROR for f in findings)
    return {f.claim: f.message[:200] for f in findings}, "error" if raised else "refuted" if findings else ""
