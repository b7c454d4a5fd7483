"""Ranks as threads of one process."""

import threading
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from commbounds.collectives.ranks.communicator import Communicator, Parcel, Program, Turn, World, assembled, in_turn
from commbounds.collectives.traffic import Traffic


class _Post:
    """What the ranks hand to one another: P slots, and a barrier that all pass before and behind a look at them."""

    def __init__(self, P: int) -> None:
        self.slots: list[tuple[Turn, Any]] = [(Turn.STEP, None)] * P
        self.barrier = threading.Barrier(P)

    def exchanged(self, rank: int, turn: Turn, value: Any = None) -> list[Any]:
        """Every rank's `value` of this turn."""
        self.slots[rank] = (turn, value)
        self.barrier.wait()
        slots = list(self.slots)
        self.barrier.wait()
        in_turn(turn for turn, _ in slots)
        return [value for _, value in slots]


class _ThreadCommunicator(Communicator):
    def __init__(self, rank: int, size: int, post: _Post) -> None:
        super().__init__(rank, size)
        self._post = post

    def allgather_object(self, value: Any) -> list[Any]:
        return self._post.exchanged(self.rank, Turn.GATHER, value)

    def _swap(self, outgoing: Mapping[int, Parcel], sources: Collection[int]) -> dict[int, Parcel]:
        copies = {
            target: Parcel(tuple(array.copy() for array in message.arrays), message.arriving)
            for target, message in outgoing.items()
        }
        everything = self._post.exchanged(self.rank, Turn.STEP, copies)
        self._all_expected((rank for rank, messages in enumerate(everything) if self.rank in messages), sources)
        return {source: everything[source][self.rank] for source in sources}


class ThreadWorld(World):
    """Runs programs in threads: for machines without MPI, and for tests."""

    def run(self, program: Program, P: int) -> tuple[list[Any], Traffic]:
        if P < 1:
            raise ValueError(f"P must be at least 1, got {P}")
        post = _Post(P)
        ends = [_ThreadCommunicator(rank, P, post) for rank in range(P)]

        def on_rank(end: _ThreadCommunicator) -> Any:
            try:
                result = program(end)
                post.exchanged(end.rank, Turn.END)
            except BaseException:
                post.barrier.abort()  # nobody shall wait for this rank
                raise
            return result

        with ThreadPoolExecutor(P) as pool:
            futures = [pool.submit(on_rank, end) for end in ends]
            errors = [future.exception() for future in futures]
        own = [error for error in errors if error is not None and not isinstance(error, threading.BrokenBarrierError)]
        if own:
            raise own[0]
        return [future.result() for future in futures], assembled([end.record for end in ends])
