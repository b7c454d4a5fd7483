"""What a rank's program speaks through: it sends and receives in steps, and every word is counted where it passes.

A program is a function of a `Communicator` and the rank's own data that every rank runs. It knows its rank, the number
of ranks and what arrived, and nothing else. The same program runs in threads of one process, or under ``mpirun``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from commbounds.array_types import Array, Integers
from commbounds.collectives.traffic import Traffic

Form = Array | tuple[DTypeLike, tuple[int | None, ...]]
"""What an array is to be like: in dtype and shape; None is any length."""
T = TypeVar("T")
Record = list[tuple[str, int, int, int, int]]
"""A row for every step of one rank: phase, words sent, words received, messages sent, words sent that got lost."""


Counted = tuple[str | None, Integers]
"""Steps of one phase: its name, and (3, steps, P) words sent, words received and messages of every rank."""


class Parcel(NamedTuple):
    """What one rank sends to another in one step: one message, unless it says otherwise.

    Parameters
    ----------
    arrays : tuple of arrays
        What it holds.
    words : int
        What it counts: one for every value, index or count; for quantised messages bytes, as the collective says.
    messages : int
        How many messages it is.
    lost : int
        Words of it that get lost: they count as sent, not as received.
    """

    arrays: tuple[Array, ...]
    words: int
    messages: int = 1
    lost: int = 0

    @property
    def arriving(self) -> int:
        """Words of it that do not get lost."""
        return self.words - self.lost


def parcel(*arrays: Array) -> Parcel:
    """A message of `arrays` that counts one word for every entry."""
    return Parcel(arrays, sum([array.size for array in arrays]))


def packets(arrays: Sequence[Array], lost: Sequence[bool] | None = None) -> Parcel:
    """Messages to one rank in one step, one for each of `arrays`; those that are `lost` arrive empty."""
    words = [array.size for array in arrays]
    if lost is None or not any(lost):
        return Parcel(tuple(arrays), sum(words), len(words))
    arriving = tuple(array[:0] if away else array for array, away in zip(arrays, lost, strict=True))
    return Parcel(arriving, sum(words), len(words), sum(size for size, away in zip(words, lost, strict=True) if away))


class Turn(IntEnum):
    """What a rank does next; all ranks must do the same, which a world sees to, so that none waits for ever."""

    STEP = 0
    GATHER = 1
    END = 2
    FAIL = 3

    def __str__(self) -> str:
        return ("is in a step", "gathers objects", "has ended", "has failed")[self]


def in_turn(turns: Iterable[int]) -> None:
    """Raise ValueError unless all ranks do the same."""
    listed = [Turn(turn) for turn in turns]
    if len(set(listed)) > 1:
        shown = ", ".join(f"rank {rank} {turn}" for rank, turn in enumerate(listed))
        raise ValueError(f"the ranks must go through the same steps, but {shown}")


_NOTHING: Mapping[int, Parcel] = MappingProxyType({})


class Communicator(ABC):
    """One rank's end of the wire, with its counters.

    Attributes
    ----------
    rank, size : int
        This rank and how many there are; 0 <= rank < size.
    one_caller : bool
        Whether one caller gives all ranks their arguments: then settings are the same on all ranks, rows are good and
        fit together, and neither is looked at again.
    """

    one_caller: bool = False

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._phase, self._record = "", list[tuple[str, int, int, int, int]]()
        self._named: list[str] = []
        self._around = ""

    def phase(self, name: str) -> None:
        """What follows belongs to the phase of that name, which exists even if nothing follows."""
        self._phase = self._around + name
        if self._phase not in self._named:
            self._named.append(self._phase)

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Phases that are named in this context are parts of the phase of that name: ``name/part``."""
        around = self._around
        self.phase(name)
        self._around += f"{name}/"
        try:
            yield
        finally:
            self._around = around

    def step(self, outgoing: Mapping[int, Parcel] = _NOTHING, sources: Collection[int] = ()) -> dict[int, Parcel]:
        """What arrives in one step, in which this rank sends `outgoing` and then waits for all `sources`.

        Parameters
        ----------
        outgoing : mapping of rank to Parcel
            An empty parcel is a message all the same. Never to this rank itself.
        sources : collection of int
            Who sends to this rank in this step.

        Returns
        -------
        dict of rank to Parcel
            In the order of `sources`, their words those that arrive. The arrays belong to the receiver.

        Notes
        -----
        All ranks call this for every step, those with nothing to send or receive too: steps are counted by calls.

        Raises
        ------
        TypeError
            What is sent is no parcel.
        ValueError
            A target is no other rank; this rank waits for others than those that send to it; the other ranks do
            something else.
        """
        sent = received = messages = lost = 0
        given: Mapping[int, Any] = outgoing
        for target, message in given.items():
            if not 0 <= target < self.size or target == self.rank:
                raise ValueError(f"rank {self.rank} must send to other ranks below {self.size}, got {target}")
            if not isinstance(message, Parcel):
                shown = type(message).__name__
                raise TypeError(f"rank {self.rank} must send parcels, such as parcel(array), got {shown} for {target}")
            sent, messages, lost = sent + message.words, messages + message.messages, lost + message.lost
        arrived = self._swap(outgoing, sources)
        for _, words, _, _ in arrived.values():
            received += words
        self._record.append((self._phase, sent, received, messages, lost))
        return arrived

    def rank_of(self, source: int) -> int:
        """The number that `source` has among all ranks: that of a team is another."""
        return source

    def fitting(self, source: int, sent: Parcel | Sequence[Array], *forms: Form) -> Sequence[Array]:
        """The arrays that `source` sent, each of its form: what is altered on its way is found before it is read.

        Raises
        ------
        ValueError
            There are more or less of them, or one is of another dtype or shape.
        """
        arrays: Sequence[Array] = sent.arrays if isinstance(sent, Parcel) else sent
        if self.one_caller:  # nothing was on its way
            return arrays
        if len(arrays) != len(forms) or not all(map(_fits, arrays, forms)):
            wanted = [(np.dtype(f[0]), f[1]) if isinstance(f, tuple) else (f.dtype, f.shape) for f in forms]
            got, expected = (
                ", ".join(f"{d} {s}" for d, s in all_) for all_ in ([(a.dtype, a.shape) for a in arrays], wanted)
            )
            raise ValueError(f"rank {self.rank_of(source)} must send {expected}, got {got}")
        return arrays

    def agreed(self, check: Callable[[], T]) -> T:
        """What `check` returns on this rank; if it raises on any rank, the lowest such rank's error is raised on all.

        For input that only one rank can see is bad: the others must not wait for it. Not counted.
        """
        if self.one_caller:  # what is raised on a rank is raised by the run
            return check()
        result, error = None, None
        try:
            result = check()
        except (TypeError, ValueError) as raised:
            error = raised
        first = next((e for e in self.allgather_object(error) if e is not None), None)
        if first is not None:
            raise first
        return result  # type: ignore[return-value]

    def common(self, compute: Callable[[], T]) -> T:
        """As `agreed`, of settings alone, which are the same on all ranks: what `compute` draws is drawn once."""
        return self.agreed(lambda: self.shared(compute))

    def shared(self, compute: Callable[[], T]) -> T:
        """What `compute` makes of what is the same on all ranks; once for all that have one caller: none changes it."""
        return self.shared_by(None, compute)

    def shared_by(self, _members: tuple[int, ...] | None, compute: Callable[[], T]) -> T:
        """As `shared`, of what is the same on these ranks, of which this is one; None stands for all."""
        return compute()

    def fused(self, value: Any, carry_out: Callable[[list[Any]], tuple[Any, list[Counted]]]) -> Any:
        """What this rank ends with where the steps of all ranks are carried out at once; they must have one caller.

        Parameters
        ----------
        value : object
            What this rank begins with.
        carry_out : callable (list of P values) -> (P results, list of (phase, counts))
            What every rank ends with.
            Counts are (3, steps, P): words sent, words received and messages. A phase of None is the present one.
        """
        values = self.allgather_object(value)
        results, counted = self.shared(lambda: carry_out(values))
        for name, counts in counted:
            if name is not None:
                self.phase(name)
            self._count(counts[:, :, self.rank].T.tolist())
        return results[self.rank]

    def _count(self, steps: Sequence[Sequence[int]]) -> None:
        """Steps of this rank that were carried out otherwise: words sent, words received and messages of each."""
        self._record += [(self._phase, sent, received, messages, 0) for sent, received, messages in steps]

    @abstractmethod
    def allgather_object(self, value: Any) -> list[Any]:
        """Every rank's `value`, in the order of the ranks: for control and inspection, not counted."""

    @abstractmethod
    def _swap(self, outgoing: Mapping[int, Parcel], sources: Collection[int]) -> dict[int, Parcel]:
        """Deliver and collect; targets are other ranks. Parcels count the words that arrive."""

    def _all_expected(self, sending: Iterable[int], sources: Collection[int]) -> None:
        """Raise ValueError unless those that send to this rank are those that it waits for."""
        awaited = sorted(sending)
        if awaited != sorted(sources):
            raise ValueError(f"rank {self.rank} waits for {sorted(sources)}, but {awaited} send to it")

    @property
    def record(self) -> tuple[Record, list[str]]:
        """What this rank counted, step by step, and the names of its phases in their order."""
        return list(self._record), list(self._named)


def _fits(array: Array, form: Form) -> bool:
    dtype, shape = form if isinstance(form, tuple) else (form.dtype, form.shape)
    if array.dtype != dtype or array.ndim != len(shape):
        return False
    return array.shape == tuple([a if b is None else b for a, b in zip(array.shape, shape, strict=True)])


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
        The ranks went through different steps, a step is of no phase though there are some, or not all words arrived
        that were not to get lost.
    """
    if len(records) == 0:
        raise ValueError("records must hold one a rank, got none")
    steps = [[row[0] for row in record] for record, _ in records]
    for rank, (own, (_, named)) in enumerate(zip(steps, records, strict=True)):
        if len(own) != len(steps[0]):
            raise ValueError(f"the ranks must go through as many steps, got {[len(s) for s in steps]}")
        if own != steps[0]:
            step = next(i for i, (first, name) in enumerate(zip(steps[0], own, strict=True)) if first != name)
            shown = f"{steps[0][step]!r} on rank 0, {own[step]!r} on rank {rank}"
            raise ValueError(f"step {step} must be of one phase, got {shown}")
        if named != records[0][1]:
            raise ValueError(f"the phases must be the same, got {records[0][1]} on rank 0, {named} on rank {rank}")
    counts = np.array([count for record, _ in records for row in record for count in row[1:]], np.int64)
    counts = counts.reshape(len(records), len(steps[0]), 4).transpose(2, 1, 0)
    return _of_phase("", records[0][1], steps[0], counts)


def _of_phase(name: str, names: Sequence[str], steps: Sequence[str], counts: Integers) -> Traffic:
    """The traffic of the phase of that name; of everything for no name."""
    before = f"{name}/" if name else ""
    parts = [part for part in names if part.startswith(before) and "/" not in part[len(before) :]]
    mine = np.array([own == name for own in steps], dtype=bool)
    if not parts:
        return Traffic.of_steps(*counts[:, mine])
    if mine.any():
        raise ValueError(f"every step must be of a phase, once there are phases, got {mine.sum()} of {name or 'none'}")
    return Traffic.of_phases({part[len(before) :]: _of_phase(part, names, steps, counts) for part in parts})
