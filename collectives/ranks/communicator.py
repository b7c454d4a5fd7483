"""What a rank's program speaks through: it sends and receives in steps, and every word is counted where it passes.

A program is a function of a `Communicator` and the rank's own data that every rank runs. It knows its rank, the number
of ranks and what arrived, and nothing else. The same program runs in threads of one process, or under ``mpirun``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives.traffic import Traffic

__all__ = ["Communicator", "Parcel", "Program", "Record", "World", "assembled", "parcel"]

Array = NDArray[Any]
T = TypeVar("T")
Record = list[tuple[str, int, int, int]]
"""A row for every step of one rank: phase, words sent, words received, messages sent."""


class Parcel(NamedTuple):
    """One message.

    Parameters
    ----------
    arrays : tuple of arrays
        What it holds.
    words : int
        What it counts: one for every value, index or count; for quantised messages bytes, as the collective says.
    """

    arrays: tuple[Array, ...]
    words: int


def parcel(*arrays: Array) -> Parcel:
    """A message of `arrays` that counts one word for every entry."""
    return Parcel(arrays, sum(array.size for array in arrays))


_NOTHING: Mapping[int, Parcel] = MappingProxyType({})


class Communicator(ABC):
    """One rank's end of the wire, with its counters.

    Attributes
    ----------
    rank, size : int
        This rank and how many there are; 0 <= rank < size.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._phase, self._record = "", list[tuple[str, int, int, int]]()
        self._named: list[str] = []

    def phase(self, name: str) -> None:
        """What follows belongs to the phase of that name, which exists even if nothing follows."""
        self._phase = name
        if name not in self._named:
            self._named.append(name)

    def step(self, outgoing: Mapping[int, Parcel] = _NOTHING, sources: Collection[int] = ()) -> dict[int, Parcel]:
        """What arrives in one step, in which this rank sends `outgoing` and then waits for all `sources`.

        Parameters
        ----------
        outgoing : mapping of rank to Parcel
            One message for each; an empty parcel is a message all the same. Never to this rank itself.
        sources : collection of int
            Who sends to this rank in this step.

        Returns
        -------
        dict of rank to Parcel
            In the order of `sources`. The arrays belong to the receiver.

        Notes
        -----
        All ranks call this for every step, those with nothing to send or receive too: steps are counted by calls.
        """
        arrived = self._swap(outgoing, tuple(sources))
        sent = sum(message.words for message in outgoing.values())
        received = sum(message.words for message in arrived.values())
        self._record.append((self._phase, sent, received, len(outgoing)))
        return arrived

    def agreed(self, check: Callable[[], T]) -> T:
        """What `check` returns on this rank; if it raises on any rank, the lowest such rank's error is raised on all.

        For input that only one rank can see is bad: the others must not wait for it. Not counted.
        """
        result, error = None, None
        try:
            result = check()
        except (TypeError, ValueError) as raised:
            error = raised
        first = next((e for e in self.told(error) if e is not None), None)
        if first is not None:
            raise first
        return result  # type: ignore[return-value]

    @abstractmethod
    def told(self, value: Any) -> list[Any]:
        """Every rank's `value`, in the order of the ranks: for control and inspection, not counted."""

    @abstractmethod
    def _swap(self, outgoing: Mapping[int, Parcel], sources: tuple[int, ...]) -> dict[int, Parcel]:
        """Deliver and collect."""

    @property
    def record(self) -> tuple[Record, list[str]]:
        """What this rank counted, step by step, and the names of its phases in their order."""
        return list(self._record), list(self._named)


Program = Callable[[Communicator], Any]
"""What every rank runs; what it returns is the rank's result."""


class World(ABC):
    """Somewhere to run programs."""

    @abstractmethod
    def run(self, program: Program, P: int) -> tuple[list[Any], Traffic]:
        """Every rank's result, in the order of the ranks, and the traffic.

        Parameters
        ----------
        program : callable (Communicator)
            Run once by each of `P` ranks.
        P : int
            At least 1.

        Raises
        ------
        Exception
            What the lowest rank raised.
        """


def assembled(records: Sequence[tuple[Record, list[str]]]) -> Traffic:
    """The traffic of all ranks from what each of them counted.

    Parameters
    ----------
    records : sequence of `Communicator.record`
        One a rank. All must have gone through the same steps and phases.

    Returns
    -------
    Traffic
        With phases, if the programs named any.

    Raises
    ------
    ValueError
        The ranks went through different steps, or words were lost.
    """
    steps = [[row[0] for row in record] for record, _ in records]
    if any(own != steps[0] for own in steps) or any(names != records[0][1] for _, names in records):
        raise ValueError(f"the ranks went through different steps: {[len(own) for own in steps]}")
    counts = np.array([[row[1:] for row in record] for record, _ in records], np.int64)
    counts = counts.reshape(len(records), len(steps[0]), 3).transpose(2, 1, 0)
    names = records[0][1]
    if not names:
        return Traffic.of_steps(*counts)
    phases = {}
    for name in names:
        mine = np.array([own == name for own in steps[0]], dtype=bool)
        phases[name] = Traffic.of_steps(*counts[:, mine])
    return Traffic.of_phases(phases)
