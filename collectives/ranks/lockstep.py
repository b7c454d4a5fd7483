"""Ranks in one thread: every rank runs until it speaks, then the next one does; so the order is always the same."""

from collections.abc import Callable, Collection, Mapping
from contextvars import copy_context
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from commbounds.collectives.ranks.communicator import Communicator, Parcel, Program, Turn, World, assembled, in_turn
from commbounds.collectives.traffic import Traffic

T = TypeVar("T")
Arriving = Callable[[int, dict[int, Parcel]], dict[int, Parcel]]


class _Shared:
    """What has been computed for some of the ranks, until each of them has it."""

    def __init__(self, members: int) -> None:
        self.members = members
        self.computed: dict[int, tuple[Any, int]] = {}

    def value(self, number: int, compute: Callable[[], T]) -> T:
        """Computation `number`, carried out for the first rank that asks."""
        value, asked = self.computed.pop(number) if number in self.computed else (compute(), 0)
        if asked + 1 < self.members:
            self.computed[number] = (value, asked + 1)
        return value


_OfRanks = dict[tuple[int, ...] | None, _Shared]
"""By the ranks that share it; None stands for all."""


class _LockstepCommunicator(Communicator):
    def __init__(
        self, rank: int, size: int, world: greenlet, shared: _OfRanks | None, arriving: Arriving | None
    ) -> None:
        super().__init__(rank, size)
        self._arriving = arriving
        self.world, self._shared, self._computations = world, shared, dict[tuple[int, ...] | None, int]()
        self.one_caller = shared is not None
        self.ended: Any = None  # what the program returned or raised

    def allgather_object(self, value: Any) -> list[Any]:
        return list(self.world.switch((Turn.GATHER, value)))

    def shared_by(self, members: tuple[int, ...] | None, compute: Callable[[], T]) -> T:
        if self._shared is None:
            return compute()
        number = self._computations[members] = self._computations.get(members, 0) + 1
        if members not in self._shared:
            self._shared[members] = _Shared(self.size if members is None else len(members))
        return self._shared[members].value(number, compute)

    def _swap(self, outgoing: Mapping[int, Parcel], sources: Collection[int]) -> dict[int, Parcel]:
        copies = {}
        for target, (arrays, words, _, lost) in outgoing.items():
            copies[target] = Parcel(tuple([array.copy() for array in arrays]), words - lost)
        arrived: dict[int, Parcel] = self.world.switch((Turn.STEP, copies))
        if self._arriving is not None:
            arrived = self._arriving(self.rank, arrived)
        if list(arrived) == list(sources):
            return arrived
        self._all_expected(arrived, sources)
        return {source: arrived[source] for source in sources}


class LockstepWorld(World):
    """Runs programs in the caller's thread, rank after rank from step to step: the same way every time.

    Parameters
    ----------
    one_caller : bool
        Whether one caller gives all ranks their arguments, and has checked them: see `Communicator.one_caller`.
    arriving : callable (rank, parcels by source) -> parcels, or None
        What a rank hears in place of what was sent to it in a step: for trials of what is altered on its way.

    Notes
    -----
    All ranks speak before any of them hears, so there is nothing to wait for: where some are in a step and others have
    ended, all are told so, as in the other worlds. The others go no further than the turn in which a rank raises.
    """

    def __init__(self, *, one_caller: bool = False, arriving: Arriving | None = None) -> None:
        self._one_caller, self._arriving = one_caller, arriving

    def run(self, program: Program, P: int) -> tuple[list[Any], Traffic]:
        if P < 1:
            raise ValueError(f"P must be at least 1, got {P}")
        shared = _OfRanks() if self._one_caller else None
        ends = [_LockstepCommunicator(rank, P, getcurrent(), shared, self._arriving) for rank in range(P)]
        # made anew for every run: one that is kept would keep the state of tracing, which changes in between
        ranks = [greenlet(_run_program) for _ in range(P)]
        for rank in ranks:
            rank.gr_context = copy_context()  # numpy's errors are treated as the caller wants
        results = _carried_out(ranks, program, ends)
        return results, assembled([end.record for end in ends])


def _run_program(job: tuple[Program, _LockstepCommunicator]) -> tuple[Turn, None]:
    """Runs the program; how it ended is left with the communicator."""
    program, end = job
    try:
        end.ended = program(end)
    except Exception as error:
        end.ended = error
        return Turn.FAIL, None
    return Turn.END, None


def _carried_out(ranks: list[greenlet], program: Program, ends: list[_LockstepCommunicator]) -> list[Any]:
    """The ranks' results. If one raises, so does this, and none goes on."""
    heard: list[Any] = [(program, end) for end in ends]
    try:
        while True:
            said: list[tuple[Turn, Any]] = [
                rank.throw(own) if isinstance(own, ValueError) else rank.switch(own)
                for rank, own in zip(ranks, heard, strict=True)
            ]
            turns = {turn for turn, _ in said}
            if Turn.FAIL in turns:
                raise next(end.ended for end, (turn, _) in zip(ends, said, strict=True) if turn is Turn.FAIL)
            if len(turns) > 1:
                heard = _refusals([turn for turn, _ in said])
            elif Turn.STEP in turns:
                inboxes: list[dict[int, Parcel]] = [{} for _ in ranks]
                for source, (_, outgoing) in enumerate(said):
                    for target, part in outgoing.items():
                        inboxes[target][source] = part
                heard = inboxes
            elif Turn.GATHER in turns:
                heard = [[value for _, value in said]] * len(ranks)
            else:
                return [end.ended for end in ends]
    except BaseException:
        for rank in ranks:
            while rank:  # as long as it lives: its context managers are left
                rank.throw()
        raise


def _refusals(turns: list[Turn]) -> list[ValueError]:
    """What the ranks hear where they do different things. Raises where one has ended: it cannot hear."""
    refusals = []
    for turn in turns:
        try:
            in_turn(turns)
        except ValueError as error:
            if turn is Turn.END:
                raise
            refusals.append(error)
    return refusals


def in_one_process(program: Program, P: int) -> tuple[list[Any], Traffic]:
    """What `P` ranks end with that one caller gives their arguments, which have been checked; and the traffic.

    Parameters
    ----------
    program : callable (Communicator)
        What a rank does, with its part of the caller's arguments.
    P : int
        At least 1.

    Raises
    ------
    Exception
        What the lowest rank raises.
    """
    return LockstepWorld(one_caller=True).run(program, P)
