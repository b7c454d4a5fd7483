"""The processes of an ``mpirun``: each is a rank, the first asks, the others answer; and the job ends if they hang."""

import os
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from commbounds.array_types import Array
from commbounds.verify.conformance.memory import resident_bytes
from commbounds.verify.conformance.on_rank import Act, Actor, OwnAnswer, doing
from commbounds.verify.conformance.watchdog import Watchdog

_LONGEST_PAUSE = 2e-4
"""Seconds between two looks at what has arrived."""
_GRACE = 1.0
"""Seconds that ranks have to say where they are, when a call takes too long."""
_PATIENCE = 30.0
"""Seconds after which another rank ends a job that its first rank should have ended."""
_RENEWALS = 4096
_REQUEST, _ANSWER, _LATE, _SHARED = range(1, 5)


class _Call(NamedTuple):
    """What a rank is asked to do."""

    number: int
    P: int
    seed: int
    watch: int
    limit: float
    fresh: bool


class Job:
    """All processes of the job. They make it, and have programs join it, in the same order.

    In a script that all processes run, all call `ask` alike, and get the same. In `leading`, the first process alone
    asks, while the others `serve`.

    Attributes
    ----------
    rank, size : int
        This process, and how many there are.
    on_hang : callable (message, stack, seed)
        Called on the first process, in another thread, before a job that hangs is ended with status 1.

    Raises
    ------
    ModuleNotFoundError
        mpi4py, or the MPI library that it needs, is not installed.
    """

    def __init__(self) -> None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:  # RuntimeError: the wheel of mpi4py finds no MPI library
            raise ModuleNotFoundError(
                f"programs under mpirun need an MPI library and mpi4py, pip install 'commbounds[mpi]': {error}"
            ) from error
        self._comm = MPI.COMM_WORLD.Dup()
        self._threads = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        self.rank, self.size = int(self._comm.rank), int(self._comm.size)
        self.on_hang: Callable[[str, Array, int], None] = lambda message, _stack, _seed: print(message, file=sys.stderr)
        self._leads = False
        self._actors: list[Actor] = []
        self._wires: dict[int, Any] = {}
        self._renewed, self._soiled = Counter[int](), set[int]()
        self._watchdog, self._lock = Watchdog(self._overdue), threading.Lock()
        self._asked: tuple[Array, int] | None = None
        self._answers: dict[int, OwnAnswer] = {}

    def join(self, act: Act) -> int:
        """The number by which `ask` knows a program."""
        self._actors.append(Actor(act))
        return len(self._actors) - 1

    def ask(self, number: int, stack: Array, seed: int, watch: int, limit: float) -> list[OwnAnswer]:
        """Every rank's answer to a call of program `number` with its row of `stack`, within `limit` seconds.

        Raises
        ------
        RuntimeError
            There are fewer processes than rows.
        """
        P = len(stack)
        if self.size < P:
            there = f"there {'is' if self.size == 1 else 'are'} {self.size}"
            raise RuntimeError(f"{P} ranks need as many processes, {there}: mpirun -n {P} ...")
        call = _Call(number, P, seed, watch, limit, P in self._soiled)
        self._asked, self._answers = (stack, seed), {}
        if self._leads:
            self._post(_REQUEST, [(rank, (call, stack[rank])) for rank in range(1, P)])
        with self._watchdog.limit(limit):
            if self.rank < P:
                mine = self._acted(call, stack[self.rank].copy())
                self._answers[self.rank] = mine
                if self.rank:
                    self._post(_ANSWER, [(0, mine)])
            if self.rank == 0:
                for rank in range(1, P):
                    self._answers[rank] = self._received(rank, _ANSWER)
        answers: list[OwnAnswer] = self._shared([self._answers[rank] for rank in range(P)] if self.rank == 0 else None)
        (self._soiled.add if any(own.error for own in answers) else self._soiled.discard)(P)
        return answers

    def resident_bytes(self) -> int:
        """Memory that all processes have in use; 0 if one cannot tell."""
        if self._leads:
            self._post(_REQUEST, [(rank, None) for rank in range(1, self.size)])
        if self.rank:
            self._post(_ANSWER, [(0, resident_bytes())])
            return int(self._shared(None))
        sizes = [resident_bytes(), *(self._received(rank, _ANSWER) for rank in range(1, self.size))]
        return int(self._shared(sum(sizes) if all(sizes) else 0))

    def agreed(self, error: str) -> str:
        """The first error that a process found, with its rank; empty if none did. Called by all."""
        if self.rank:
            self._post(_ANSWER, [(0, error)])
            return str(self._shared(None))
        errors = [error, *(self._received(rank, _ANSWER) for rank in range(1, self.size))]
        first = next((f"rank {rank}: {said}" for rank, said in enumerate(errors) if said), "")
        return str(self._shared(errors[0] if len(set(errors)) == 1 else first))

    @contextmanager
    def leading(self) -> Iterator[Callable[[int], None]]:
        """On the first process: it alone asks, and what it is given ends the others' `serve` with an exit code.

        An exception that leaves this context ends the job.
        """

        def end(code: int) -> None:
            self._leads = False
            self._post(_REQUEST, [(rank, code) for rank in range(1, self.size)])

        self._leads = True
        try:
            yield end
        except BaseException:
            if self._leads:
                traceback.print_exc()
                self._abort()
            raise

    def serve(self) -> int:
        """On the other processes: answer until the first one says with which code to exit."""
        while True:
            asked = self._received(0, _REQUEST)
            if isinstance(asked, int):
                return asked
            if asked is None:
                self._post(_ANSWER, [(0, resident_bytes())])
                continue
            call, row = asked
            with self._watchdog.limit(call.limit):
                answer = self._acted(call, row)
            self._post(_ANSWER, [(0, answer)])

    # --- inside --------------------------------------------------------------------------------------------------

    def _acted(self, call: _Call, row: Array) -> OwnAnswer:
        wire = self._wires.get(call.P)
        # a call that failed may have left messages behind; MPI has some ten thousand communicators
        if wire is None or (call.fresh and self._renewed[call.P] < _RENEWALS):
            self._renewed[call.P] += 1
            group = self._comm.Get_group().Incl(range(call.P))
            wire = self._wires[call.P] = self._comm.Create_group(group, call.P)
        return self._actors[call.number].answer(wire, row, call.seed, call.watch)

    def _post(self, tag: int, messages: Sequence[tuple[int, Any]]) -> None:
        """Send to other ranks, asleep until it is done."""
        pending = [self._comm.isend(message, rank, tag) for rank, message in messages]
        pause = 0.0
        while not all(request.Test() for request in pending):
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause + 1e-6)

    def _received(self, rank: int, tag: int) -> Any:
        """What comes from a rank, waited for asleep: who spins keeps the others from answering."""
        pause = 0.0
        while not (found := self._arrived(rank, tag)):
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause + 1e-6)
        return found[0]

    def _arrived(self, rank: int, tag: int) -> list[Any]:
        """What has come from a rank: one message, or none."""
        with self._lock:  # the watchdog's thread looks too
            return [self._comm.recv(None, rank, tag)] if self._comm.iprobe(rank, tag) else []

    def _shared(self, value: Any) -> Any:
        """The first rank's value, where all ranks ask alike."""
        if self._leads:
            return value
        if self.rank:
            return self._received(0, _SHARED)
        self._post(_SHARED, [(rank, value) for rank in range(1, self.size)])
        return value

    def _overdue(self, limit: float) -> None:
        """In another thread: the program does not come back; say so, and end the job."""
        try:
            if self.rank:
                if self._threads:
                    self._comm.isend(doing(), 0, _LATE)
                time.sleep(_PATIENCE)
                print(f"rank {self.rank} hangs, and so does rank 0: the job ends", file=sys.stderr)
            elif self._asked is not None:
                stack, seed = self._asked
                self.on_hang(self._complaint(limit, len(stack)), stack, seed)
        except BaseException:
            traceback.print_exc()
        finally:
            self._abort()

    def _complaint(self, limit: float, P: int) -> str:
        """Who did not answer, and where it is; and who raised, for whom the others may wait."""
        late = {} if 0 in self._answers else {0: doing()}
        until = time.monotonic() + _GRACE
        while self._threads and time.monotonic() < until and len({*self._answers, *late}) < P:
            for rank in set(range(1, P)) - {*self._answers, *late}:
                for answer in self._arrived(rank, _ANSWER):
                    self._answers[rank] = answer
                for place in self._arrived(rank, _LATE):
                    late[rank] = place
            time.sleep(1e-3)
        answers = dict(self._answers)
        raised = [f"rank {rank}: {answers[rank].error}; " for rank in sorted(answers) if answers[rank].error]
        missing = sorted(set(range(P)) - set(answers))
        shown = ", ".join(f"rank {rank}" + (f" ({late[rank]})" if late.get(rank) else "") for rank in missing)
        return f"{''.join(raised)}no answer within {limit:g} s" + (f" from {shown}" if self._threads and shown else "")

    def _abort(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._comm.Abort(1)
        os._exit(1)  # should that come back


@cache
def this_job() -> Job:
    """The processes of this job."""
    return Job()
