"""Ranks as processes under ``mpirun``; what they send one another goes through MPI."""

import pickle
import sys
import time
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import numpy as np

from commbounds.array_types import Array, Bytes, Integers
from commbounds.collectives.ranks.communicator import (
    Communicator,
    Parcel,
    Program,
    Record,
    Turn,
    World,
    assembled,
    in_turn,
)
from commbounds.collectives.traffic import Traffic

_LONGEST_PAUSE = 2e-4
"""Seconds between two looks at what has arrived."""


class _OtherRankFailed(Exception):
    """Another rank raised; that is the error to show."""


@contextmanager
def _whole_or_no_job(wire: Any) -> Iterator[None]:
    """Whatever goes wrong inside ends all processes: the others wait, and cannot be told otherwise."""
    try:
        yield
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        wire.Abort(1)
        raise


def _bytes(array: Array) -> Bytes:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _pieces(content: Bytes, longest: int) -> list[Bytes]:
    return [content[begin : begin + longest] for begin in range(0, content.size, longest)]


def _finish(requests: list[Any]) -> None:
    """Wait for all, asleep: on fewer processors than processes, whoever spins keeps the others from answering."""
    pause = 0.0
    while requests and not type(requests[0]).Testall(requests):
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE, 2 * pause + 1e-6)


def _of_all(wire: Any, value: bytes, lengths: Sequence[int], longest: int) -> list[bytes]:
    """What each of the first ranks of `wire` gives as `value`; how long that is, all know."""
    contents = [np.empty(length, np.uint8) for length in lengths]
    if wire.rank < len(contents):
        contents[wire.rank][:] = np.frombuffer(value, np.uint8)
    _finish([wire.Ibcast(piece, root) for root, own in enumerate(contents) for piece in _pieces(own, longest)])
    return [content.tobytes() for content in contents]


class _MpiCommunicator(Communicator):
    """A step begins with a turn, in which all ranks say what they do and to whom they send; then the messages go.

    A message is a header (dtypes, shapes, words), then the bytes of its arrays, all non-blocking. The length of the
    header is said in the turn, so that every rank receives what is sent to it, expected or not, before it complains.
    """

    def __init__(self, wire: Any, longest: int) -> None:
        super().__init__(wire.rank, wire.size)
        self._wire, self._longest = wire, longest

    def allgather_object(self, value: Any) -> list[Any]:
        content = pickle.dumps(value)
        lengths = self._announced(Turn.GATHER, {rank: len(content) for rank in range(self.size)})
        with _whole_or_no_job(self._wire):
            contents = _of_all(self._wire, content, list(lengths.values()), self._longest)
            return [pickle.loads(own) for own in contents]

    def left(self, turn: Turn) -> None:
        """Take turns, as one that does nothing more, until all ranks do the same."""
        while any(other < Turn.END for other in self._turns(turn, {})[:, 0]):
            pass

    def _turns(self, turn: Turn, lengths: Mapping[int, int]) -> Integers:
        """For every rank what it does, and how long what it has for this one is; -1 for nothing."""
        mine, theirs = np.full((2, self.size, 2), -1, np.int64)
        mine[:, 0] = turn
        for target, length in lengths.items():
            mine[target, 1] = length
        with _whole_or_no_job(self._wire):
            _finish([self._wire.Ialltoall(mine, theirs)])
        return theirs

    def _announced(self, turn: Turn, lengths: Mapping[int, int]) -> dict[int, int]:
        """Who has something for this rank, in the order of the ranks, and how long it is."""
        theirs = self._turns(turn, lengths)
        if Turn.FAIL in theirs[:, 0]:
            raise _OtherRankFailed
        in_turn(theirs[:, 0])
        return {rank: length for rank, length in enumerate(theirs[:, 1].tolist()) if length >= 0}

    def _swap(self, outgoing: Mapping[int, Parcel], sources: Collection[int]) -> dict[int, Parcel]:
        headers = {
            target: np.frombuffer(pickle.dumps(([(a.dtype, a.shape) for a in part.arrays], part.arriving)), np.uint8)
            for target, part in outgoing.items()
        }
        contents = {target: [_bytes(array) for array in part.arrays] for target, part in outgoing.items()}
        lengths = self._announced(Turn.STEP, {target: header.size for target, header in headers.items()})
        with _whole_or_no_job(self._wire):
            arrived = self._moved(headers, contents, lengths)
        self._all_expected(arrived, sources)
        return {source: arrived[source] for source in sources}

    def _moved(
        self, headers: Mapping[int, Bytes], contents: Mapping[int, list[Bytes]], lengths: Mapping[int, int]
    ) -> dict[int, Parcel]:
        """Between two ranks messages do not overtake one another, so one tag serves header and content."""
        pending = []
        for target, header in headers.items():
            pieces = [piece for content in contents[target] for piece in _pieces(content, self._longest)]
            pending += [self._wire.Isend(piece, target) for piece in (header, *pieces)]
        theirs = {source: np.empty(length, np.uint8) for source, length in lengths.items()}
        _finish([self._wire.Irecv(header, source) for source, header in theirs.items()])
        arrived = {}
        for source, header in theirs.items():
            kinds, words = pickle.loads(header.tobytes())
            arrays = tuple(np.empty(shape, dtype) for dtype, shape in kinds)
            pieces = [piece for array in arrays for piece in _pieces(_bytes(array), self._longest)]
            pending += [self._wire.Irecv(piece, source) for piece in pieces]
            arrived[source] = Parcel(arrays, words)
        _finish(pending)
        return arrived


class _Outcome(NamedTuple):
    """How a program ended on one rank."""

    result: Any = None
    record: tuple[Record, list[str]] = ([], [])
    error: Exception | None = None
    where: str = ""


class MpiWorld(World):
    """Runs programs on the processes of an ``mpirun``, each of which makes a world and calls `run` alike.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or None
        Whose processes; MPI.COMM_WORLD if None. It is duplicated: other traffic on it is not disturbed.
    longest : int
        Bytes of one MPI message, in [1, 2^31 - 1]; larger arrays are sent in several. Not seen in the counts.

    Attributes
    ----------
    rank, size : int
        This process, and how many there are.

    Raises
    ------
    ImportError
        mpi4py, or the MPI library that it needs, is not installed.
    ValueError
        `longest` is out of range.

    Notes
    -----
    Where a program raises on some rank, `run` raises the lowest such rank's error on all processes. What a program
    cannot raise from, such as a fault in MPI, prints its traceback and ends all processes with status 1.
    """

    def __init__(self, comm: Any = None, *, longest: int = 1 << 30) -> None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:  # RuntimeError: the wheel of mpi4py finds no MPI library
            raise ImportError(
                f"ranks under mpirun need an MPI library and mpi4py, pip install 'commbounds[mpi]': {error}"
            ) from error
        if not 1 <= longest < 2**31:
            raise ValueError(f"longest must be in [1, 2^31 - 1], got {longest}")
        self._comm = (MPI.COMM_WORLD if comm is None else comm).Dup()
        self._nobody = MPI.UNDEFINED
        self._longest = longest
        self._groups: dict[int, Any] = {}
        self.rank, self.size = int(self._comm.rank), int(self._comm.size)

    def run(self, program: Program, P: int) -> tuple[list[Any], Traffic]:
        """As `World.run`, for P <= size; the processes behind the first `P` wait for the others, and get the same.

        Raises
        ------
        ValueError
            `P` is not in [1, size].
        """
        if not 1 <= P <= self.size:
            raise ValueError(f"P must be in [1, {self.size}], the number of processes, got {P}")
        with _whole_or_no_job(self._comm):
            wire = self._group(P)
            mine, packed = self._carried_out(program, wire) if self.rank < P else (_Outcome(), b"")
            lengths = np.empty(self.size, np.int64)
            _finish([self._comm.Iallgather(np.array([len(packed)], np.int64), lengths)])
            everybody = _of_all(self._comm, packed, lengths[:P].tolist(), self._longest)
            outcomes = [_Outcome(*pickle.loads(own)) for own in everybody]
        failed = [rank for rank, outcome in enumerate(outcomes) if outcome.error is not None]
        for rank in failed:
            error = mine.error if rank == self.rank else outcomes[rank].error
            if error is not None and not isinstance(error, _OtherRankFailed):
                if rank != self.rank:
                    error.add_note(f"raised on rank {rank}:\n{outcomes[rank].where}")
                raise error
        return [outcome.result for outcome in outcomes], assembled([outcome.record for outcome in outcomes])

    def guarded(self) -> AbstractContextManager[None]:
        """In a ``with``: an exception that leaves it on one process is printed, and ends all with status 1."""
        return _whole_or_no_job(self._comm)

    def _carried_out(self, program: Program, wire: Any) -> tuple[_Outcome, bytes]:
        """How the program ended on this rank, and that as others can read it."""
        end = _MpiCommunicator(wire, self._longest)
        try:
            mine = _Outcome(program(end), end.record)
            packed = pickle.dumps(tuple(mine))
        except Exception as error:
            mine = _Outcome(error=error, where=traceback.format_exc())
            packed = _readable(mine)
        end.left(Turn.END if mine.error is None else Turn.FAIL)
        return mine, packed

    def _group(self, P: int) -> Any:
        """The first `P` processes; something else on the others. MPI has few communicators, so each is made once."""
        if P not in self._groups:
            self._groups[P] = self._comm.Split(0 if self.rank < P else self._nobody, self.rank)
        return self._groups[P]


def _readable(outcome: _Outcome) -> bytes:
    """A failed outcome; with a plain error where its own does not survive the way."""
    try:
        packed = pickle.dumps(tuple(outcome))
        pickle.loads(packed)
    except Exception as reason:
        plain = RuntimeError(f"{type(outcome.error).__name__}: {outcome.error} (cannot be sent: {reason})")
        return pickle.dumps(tuple(outcome._replace(error=plain)))
    return packed
