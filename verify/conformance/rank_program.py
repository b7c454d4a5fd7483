"""Programs of ranks that speak through a `Communicator`, as subjects: in threads, or under ``mpirun``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.ranks import Communicator, LockstepWorld, MpiWorld, ThreadWorld
from commbounds.verify.conformance.bench import Unusable
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.conformance.on_rank import own_outcome
from commbounds.verify.conformance.random_words import given
from commbounds.verify.conformance.subject import AllReduce, AllReduceResult

RankProgram = Callable[[Communicator, Array, int], Any]


def rank_program(program: RankProgram, claims: Sequence[SubjectClaim] = (), **options: Any) -> AllReduce:
    """A program that every rank runs, as a subject whose words are counted where they pass.

    Parameters
    ----------
    program : callable (comm, x, seed) -> array, or AllReduceResult
        `comm` is a `commbounds.collectives.ranks.Communicator`, `x` the rank's own row. It returns what the rank ends
        with, and as an `AllReduceResult` its residual too; not what it sent: that is counted.
    claims : sequence of SubjectClaim
        About an `AllReduce`.
    **options
        As of `AllReduce`.

    Notes
    -----
    Ranks are threads of one process; by ``mpirun -n P commbounds check --mpi`` they are processes.
    """
    if not callable(program):
        raise TypeError(f"program must be callable, got {program!r}")
    options = {"effort": 0.5, "name": str(getattr(program, "__name__", "all-reduce")), **options}
    return AllReduce(InThreads(program), claims, **options)


def _own(program: RankProgram, comm: Communicator, row: Array, seed: int) -> AllReduceResult:
    """What the program leaves on one rank; errors are marked with the rank."""
    try:
        outcome = own_outcome(program(comm, row, seed), row)
        if outcome.sent is not None or outcome.received is not None:
            raise TypeError("words are counted by the communicator: an outcome must not tell them")
    except Exception as error:
        error.add_note(f"rank {comm.rank}")
        raise
    return outcome


def _raised(error: Exception) -> Unanswered:
    """An error of a program as what a check understands, with the rank that it comes from."""
    who = next((note for note in getattr(error, "__notes__", ()) if note.startswith("rank ")), "")
    said = str(error) if isinstance(error, Unanswered) else f"raised {type(error).__name__}: {error}"
    return (Unusable if isinstance(error, Unusable) else Unanswered)(f"{who}: {said}" if who else said)


class InThreads:
    """A program run by threads, one a rank.

    Parameters
    ----------
    program : callable
        See `rank_program`.
    """

    def __init__(self, program: RankProgram) -> None:
        self.program = program

    def __call__(self, stack: Array, seed: int) -> AllReduceResult:
        try:
            # words are given in the order of the draws, which is to be the same in every call
            results, traffic = (LockstepWorld() if given() else ThreadWorld()).run(
                lambda comm: _own(self.program, comm, stack[comm.rank], seed), len(stack)
            )
        except Exception as error:
            raise _raised(error) from error
        kept = [own.residual for own in results]
        if 0 < sum(residual is None for residual in kept) < len(kept):
            raise Unanswered("some ranks show a residual, others do not")
        residuals = None if kept[0] is None else np.stack(kept)
        return AllReduceResult(np.stack([own.result for own in results]), traffic.sent, traffic.received, residuals)


class OnWorld:
    """The same on a process of MPI: called with its communicator, its row, and the seed.

    Parameters
    ----------
    program : callable
        See `rank_program`.
    """

    def __init__(self, program: RankProgram) -> None:
        self._program = program
        self._worlds: dict[int, tuple[Any, MpiWorld]] = {}

    def __call__(self, wire: Any, row: Array, seed: int) -> AllReduceResult:
        if id(wire) not in self._worlds:
            self._worlds[id(wire)] = wire, MpiWorld(wire)
        world = self._worlds[id(wire)][1]
        try:
            results, traffic = world.run(lambda comm: _own(self._program, comm, row, seed), world.size)
        except Exception as error:
            raise _raised(error) from error
        own = results[world.rank]
        sent, received = int(traffic.sent[world.rank]), int(traffic.received[world.rank])
        return AllReduceResult(own.result, sent, received, own.residual)
