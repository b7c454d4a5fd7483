"""Some of the ranks as ranks of their own: a program for all of them runs within a team."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from commbounds.collectives.ranks.communicator import Communicator, Parcel

T = TypeVar("T")
_NOTHING: Mapping[int, Parcel] = MappingProxyType({})


class Team(Communicator):
    """One rank's end of the wire to its team, through that to all ranks, which does the counting.

    Parameters
    ----------
    whole : Communicator
        To all ranks.
    members : sequence of int
        The team's ranks, this one among them; the first is rank 0 of the team. All ranks are in a team, and all teams
        go through the same steps.
    """

    def __init__(self, whole: Communicator, members: Sequence[int]) -> None:
        super().__init__(list(members).index(whole.rank), len(members))
        self._whole, self._members = whole, tuple(members)
        self.one_caller = whole.one_caller

    def rank_of(self, source: int) -> int:
        return self._whole.rank_of(self._members[source])

    def phase(self, name: str) -> None:
        self._whole.phase(name)

    def allgather_object(self, value: Any) -> list[Any]:
        gathered = self._whole.allgather_object(value)
        return [gathered[member] for member in self._members]

    def step(self, outgoing: Mapping[int, Parcel] = _NOTHING, sources: Collection[int] = ()) -> dict[int, Parcel]:
        outward = {self._members[target]: message for target, message in outgoing.items()}
        arrived = self._whole.step(outward, [self._members[source] for source in sources])
        return {source: arrived[self._members[source]] for source in sources}

    def shared_by(self, members: tuple[int, ...] | None, compute: Callable[[], T]) -> T:
        own = self._members if members is None else tuple(self._members[member] for member in members)
        return self._whole.shared_by(own, compute)

    def _count(self, steps: Sequence[Sequence[int]]) -> None:
        self._whole._count(steps)

    def _swap(self, outgoing: Mapping[int, Parcel], sources: Collection[int]) -> dict[int, Parcel]:
        return self.step(outgoing, sources)
