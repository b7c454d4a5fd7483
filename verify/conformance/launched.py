"""All-reduces of programs that a launcher starts with a number of ranks: ``mpirun -n 3 ./ring``."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from commbounds.array_types import Array
from commbounds.compressors.base import shown
from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.conformance.process import Process, Remote
from commbounds.verify.conformance.subject import AllReduce, checked_limit


def launched(
    launch: Callable[[int], Sequence[str]],
    claims: Sequence[SubjectClaim] = (),
    *,
    ranks: Sequence[int] = (1, 2, 3),
    time_limit: float = 30.0,
    **options: Any,
) -> AllReduce:
    """An all-reduce between processes that a launcher starts, whose first rank speaks the protocol.

    Parameters
    ----------
    launch : callable (P) -> sequence of str
        The command for P ranks: ``lambda P: ["mpirun", "-n", str(P), "./ring"]``. Its standard input and output are the
        first rank's, which hands the rows on, and gathers what the ranks end with.
    claims : sequence of SubjectClaim
        About an `AllReduce`.
    ranks : sequence of int
        Numbers of ranks; each is started once, when it is first needed, and again if it hung or died.
    time_limit : float
        Seconds that a call may take before the launcher is killed.
    **options
        As of `AllReduce`; ``effort`` is 0.1 unless given.

    Raises
    ------
    TypeError, ValueError
        `launch` is not callable, or gives no command; `ranks` or `time_limit` is not positive.
    """
    if not callable(launch):
        raise TypeError(f"launch must be callable, got {shown(launch)}")
    jobs = _Jobs(launch, checked_limit(time_limit))
    common: dict[str, Any] = {"effort": 0.1, "name": str(getattr(launch, "__name__", "all-reduce")), **options}
    subject = AllReduce(jobs.run, claims, ranks=ranks, time_limit=float("inf"), outside=jobs, **common)
    for P in subject.ranks:
        jobs.command(P)  # what is wrong with it shows now
    return subject


class _Jobs:
    """One job for each number of ranks."""

    def __init__(self, launch: Callable[[int], Sequence[str]], time_limit: float) -> None:
        self._launch, self._limit = launch, time_limit
        self._remotes: dict[int, Remote] = {}
        weakref.finalize(self, _stopped, self._remotes)

    def command(self, P: int) -> list[str]:
        """What starts P ranks."""
        command = self._launch(P)
        if isinstance(command, str) or not command:
            raise TypeError(f"launch must give a sequence of program and arguments, got {command!r} for {P} ranks")
        return [str(part) for part in command]

    @property
    def process(self) -> _Jobs:
        """What a Remote has: whom to ask about memory."""
        return self

    def started(self) -> dict[str, Any]:
        """Nothing is told of the processes' generators."""
        return {}

    def resident_bytes(self) -> int:
        """Memory of the launchers: of the ranks, which are their children, nothing is known."""
        return 0

    def stop(self) -> None:
        """End all jobs; the next call starts new ones."""
        _stopped(self._remotes)

    def run(self, stack: Array, seed: int) -> Any:
        """As of `AllReduce`."""
        P = len(stack)
        if P not in self._remotes:
            self._remotes[P] = Remote(Process(self.command(P), self._limit))
        return self._remotes[P].run(stack, seed)


def _stopped(remotes: dict[int, Remote]) -> None:
    while remotes:
        remotes.popitem()[1].process.stop()
