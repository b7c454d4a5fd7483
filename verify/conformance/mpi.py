"""Programs of MPI, judged under ``mpirun``: `mpi_allreduce`; and what the command does there."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.base import shown
from commbounds.verify.conformance.bench import Bench, Unusable
from commbounds.verify.conformance.budgets import BUDGETS, FALSE_ALARM
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.check import chosen
from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.conformance.job import this_job
from commbounds.verify.conformance.on_rank import Act, OwnAnswer
from commbounds.verify.conformance.rank_program import InThreads, OnWorld
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict, Report
from commbounds.verify.conformance.subject import AllReduce, AllReduceResult, Subject, checked_limit
from commbounds.verify.conformance.universal import UNIVERSAL
from commbounds.verify.confront import versions


def mpi_allreduce(
    run: Callable[[Any, Array, int], Any],
    claims: Sequence[SubjectClaim] = (),
    *,
    ranks: Sequence[int] | None = None,
    time_limit: float = 30.0,
    **options: Any,
) -> AllReduce:
    """An all-reduce that processes of MPI carry out, as a subject.

    Parameters
    ----------
    run : callable (comm, x, seed) -> array, (array, sent, received), or AllReduceResult
        Called on every rank of an mpi4py communicator of exactly P processes, with that rank's own row; what it
        returns is that rank's alone: its array, and the words that it sent and received.
    claims : sequence of SubjectClaim
        About an `AllReduce`.
    ranks : sequence of int, or None
        Numbers of ranks that it is tried with; all from 1 to the number of processes if None.
    time_limit : float
        Seconds that a call may take before the job is ended.
    **options
        As of `AllReduce`; ``effort`` is 0.2 unless given.

    Raises
    ------
    ModuleNotFoundError
        mpi4py, or the MPI library that it needs, is not installed.

    Notes
    -----
    Judge it by ``mpirun -n P commbounds check --mpi module:subject``, or by `check` in a script that all processes run.
    A process of MPI that hangs cannot be brought back: the first call that takes too long is the last one of the job.
    One that is killed takes the job with it, and there is no report.
    """
    if not callable(run):
        raise TypeError(f"run must be callable, got {shown(run)}")
    time_limit = checked_limit(time_limit)
    sizes = tuple(range(1, this_job().size + 1)) if ranks is None else tuple(ranks)
    ensemble = _Ensemble(run, time_limit, f"mpirun -n {max(sizes, default=1)} python this_file.py")
    options = {"effort": 0.2, "name": str(getattr(run, "__name__", "all-reduce")), **options}
    return AllReduce(ensemble.run, claims, ranks=sizes, time_limit=float("inf"), outside=ensemble, **options)


class _Ensemble:
    """A program that has joined the job; for a subject the process that it runs in."""

    def __init__(self, act: Act, time_limit: float, launch: str = "") -> None:
        self._number, self._limit = this_job().join(act), time_limit
        self.launch = launch
        """How a program that shows a failure is started; nothing if by Python alone."""
        self.watch = 0
        """If not 0: the state that global generators are put in before a call; `touched` then tells which were used."""
        self.touched: list[str] = []
        self.process = self  # what a Remote has
        self._last: Array | None = None

    def started(self) -> dict[str, Any]:
        """What tells that the processes watch their generators and their rows."""
        return {"name": "mpi"}

    def resident_bytes(self) -> int:
        """Memory that all processes have in use."""
        return this_job().resident_bytes()

    def run(self, stack: Array, seed: int) -> AllReduceResult:
        """As of `AllReduce`."""
        answers = this_job().ask(self._number, stack, seed, self.watch, self._limit)
        self.touched = sorted({name for own in answers for name in own.touched})
        for rank, own in enumerate(answers):
            if own.row is not None:
                stack[rank] = own.row
            if own.earlier is not None and self._last is not None and self._last.shape == stack.shape:
                self._last[rank] = own.earlier
        outcomes = _all_answered(answers)
        self._last = np.stack([own.result for own in outcomes])
        sent, received, residual = (
            _of_all_ranks(name, [getattr(own, name) for own in outcomes]) for name in ("sent", "received", "residual")
        )
        return AllReduceResult(self._last, sent, received, residual)


def _all_answered(answers: Sequence[OwnAnswer]) -> list[AllReduceResult]:
    """The outcomes, if all ranks have one.

    Raises
    ------
    Unusable, Unanswered
        The lowest rank without one says why.
    """
    errors = [own.error for own in answers]
    for rank, own in enumerate(answers):
        if own.outcome is None:
            who = "every rank: " if len(set(errors)) == 1 and len(errors) > 1 else f"rank {rank}: "
            if own.error.startswith("rank "):  # one told the others
                who = ""
            raise (Unusable if own.unusable else Unanswered)(f"{who}{own.error}")
    return [own.outcome for own in answers if own.outcome is not None]


def _of_all_ranks(name: str, values: Sequence[Any]) -> Array | None:
    silent = [rank for rank, value in enumerate(values) if value is None]
    if len(silent) == len(values):
        return None
    if silent:
        raise Unanswered(f"rank {silent[0]} does not tell {name}, other ranks do")
    return np.stack([np.asarray(value) for value in values])


# --- the command --------------------------------------------------------------------------------------------------


def needs_mpi(subject: Subject) -> bool:
    """Whether a subject runs under ``mpirun`` alone."""
    return isinstance(subject.outside, _Ensemble)


def on_processes(subjects: Sequence[Subject]) -> tuple[list[Subject], list[str]]:
    """Subjects on the processes of this job, and what is left out of them; to be called on all processes alike.

    Raises
    ------
    ValueError
        One is not carried out by ranks, or needs more of them than there are.
    """
    found: list[Subject] = []
    left_out = []
    size = this_job().size
    for subject in subjects:
        if not isinstance(subject, AllReduce) or not (needs_mpi(subject) or isinstance(subject.run, InThreads)):
            raise ValueError(f"{subject.name} is no program of ranks: check it without --mpi")
        fitting = tuple(P for P in subject.ranks if size >= P)
        if not fitting:
            raise ValueError(f"{subject.name} needs {min(subject.ranks)} ranks, there are {size} processes")
        if fitting != subject.ranks:
            missing = ", ".join(str(P) for P in subject.ranks if size < P)
            left_out.append(f"{subject.name}: left out, as there are {size} processes: {missing} ranks")
        if isinstance(subject.run, InThreads):
            ensemble = _Ensemble(OnWorld(subject.run.program), subject.time_limit)
            subject = replace(subject, run=ensemble.run, outside=ensemble, time_limit=float("inf"))
        found.append(replace(subject, ranks=fitting))
    return found, left_out


def cut_short(
    subject: Subject,
    found: Sequence[CheckFinding],
    hung: tuple[str, Array, int],
    budget: str,
    seed: int,
    only: Collection[str] | None,
) -> Report:
    """The report on a subject whose job has to end: what was found, the call that hung, and the rest not judged.

    Parameters
    ----------
    subject : Subject
        As given to `check`, like `budget`, `seed` and `only`.
    found : sequence of CheckFinding
        What was known by then.
    hung : (str, array, int)
        What `Job.on_hang` is called with.
    """
    message, stack, at = hung
    answers, case = UNIVERSAL[0], CheckCase(stack, at)
    bench = Bench(subject, BUDGETS[budget], seed, FALSE_ALARM)
    hang = CheckFinding(
        str(answers),
        CheckVerdict.FAIL,
        "the job ended with this call",
        message,
        stack.astype(np.float64).tolist(),
        at,
        bench.reproduction(answers, case),
    )
    findings = [hang, *(f for f in found if f.claim != hang.claim)]
    known = {f.claim for f in findings}
    for claim in chosen([*UNIVERSAL, *subject.claims], only):
        if str(claim) not in known:
            findings.append(CheckFinding(str(claim), CheckVerdict.NOT_JUDGED, message="the job ended, as a call hung"))
    return Report(subject.name, tuple(findings), budget, seed, versions())
