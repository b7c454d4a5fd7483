"""What a rank does in the classical collectives: the same messages as in one process, sent for real.

`gathered` and `carried_out_apart` are what other collectives are made of: the twins of `gather_blocks` and of
`carried_out`. They move a rank's own data, follow the schedules of `_messages`, and count as their twins do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives._stack import checked_stack
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.fused import FUSED, fused
from commbounds.collectives.dense.gathering import gather_counts
from commbounds.collectives.dense.message_by_message import ALLREDUCE, Part, by_part, counted
from commbounds.collectives.dense.messages import gather_messages, gather_steps, of_ranks, scatter_messages
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row
from commbounds.collectives.ranks.communicator import Communicator, Counted, Parcel

__all__ = [
    "Block",
    "allgather",
    "allgatherv",
    "butterfly_allreduce",
    "carried_out_on_rank",
    "gathered",
    "rabenseifner_allreduce",
    "recursive_doubling_allreduce",
    "reduce_scatter",
    "ring_allreduce",
]

Array = NDArray[Any]
Block = tuple[Array, ...]
"""What a rank brings to an all-gather: arrays of any dtypes and shapes."""


def _entries(block: Block) -> int:
    return sum(array.size for array in block)


def gathered(
    comm: Communicator, block: Block, algorithm: str = "ring", words: Callable[[Block], int] = _entries
) -> list[Block]:
    """Every rank's block, in the order of the ranks: the twin of `gather_blocks`.

    Parameters
    ----------
    comm : Communicator
        This rank's end. No phase is named: the steps belong to the phase that the caller is in.
    block : tuple of arrays
        This rank's. All ranks bring equally many arrays; their sizes, shapes and dtypes need not agree, and no rank
        knows another's beforehand: they travel with the arrays and count nothing.
    algorithm : {"ring", "recursive-doubling", "bruck"}
        As in `gather_blocks`.
    words : callable (block) -> int
        What a block counts; one for every entry if not given. A rank applies it to blocks that it passes on as well.

    Returns
    -------
    list of P tuples of arrays
        This rank's own is `block` itself; none may be changed.

    Raises
    ------
    ValueError
        There is no such algorithm.
    """
    if comm.one_caller:
        found: list[Block] = comm.fused(tuple(block), lambda blocks: _all_gathered(blocks, algorithm, words))
        return found
    have: dict[int, Block] = {comm.rank: tuple(block)}
    width = len(block)
    for sends, receives in gather_steps(comm.size, algorithm)[comm.rank]:
        outgoing = {}
        for _, _, target, first, count in sends:
            passed = [have[(first + i) % comm.size] for i in range(count)]
            outgoing[target] = Parcel(tuple(a for b in passed for a in b), sum(map(words, passed)))
        arrived = comm.step(outgoing, [source for _, source, *_ in receives])
        for _, source, _, first, count in receives:
            arrays = arrived[source].arrays
            for i in range(count):
                have[(first + i) % comm.size] = arrays[i * width : (i + 1) * width]
    return [have[rank] for rank in range(comm.size)]


def _all_gathered(
    blocks: list[Block], algorithm: str, words: Callable[[Block], int]
) -> tuple[list[list[Block]], list[Counted]]:
    """Every block on every rank at once, as `gathered` brings it there."""
    counts = gather_counts(np.array([words(block) for block in blocks], np.int64), algorithm)
    return [blocks] * len(blocks), [(None, counts)]


def carried_out_on_rank(comm: Communicator, held: Array, edges: NDArray[np.int64], parts: Sequence[Part]) -> None:
    """Carry out `parts`, one after another, each a phase of its name: the twin of `carried_out`.

    Parameters
    ----------
    comm : Communicator
        This rank's end.
    held : (n,) array
        This rank's vector, which changes; block b is held[edges[b] : edges[b + 1]].
    edges : (blocks + 1,) int64
        The same on all ranks.
    parts : sequence of Part
        The same on all ranks.

    Notes
    -----
    A message is one array, whatever number of blocks it carries. Sums may leave the range of the dtype.
    """
    for part in parts:
        comm.phase(part.name)
        for sends, receives in of_ranks(part.messages, comm.size)[comm.rank]:
            outgoing = {}
            for _, _, target, first, count in sends:
                pieces = [held[place] for place in _places(edges, first, count)]
                message = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
                outgoing[target] = Parcel((message,), message.size)
            arrived = comm.step(outgoing, [source for _, source, *_ in receives])
            for _, source, _, first, count in receives:
                (message,) = arrived[source].arrays
                _take(held, _places(edges, first, count), message, part.adds)


def _take(held: Array, places: list[slice], message: Array, adds: bool) -> None:
    begin = 0
    for place in places:
        piece = message[begin : begin + place.stop - place.start]
        begin += piece.size
        if adds:
            with np.errstate(over="ignore", invalid="ignore"):
                held[place] += piece
        else:
            held[place] = piece


def _places(edges: NDArray[np.int64], first: int, count: int) -> list[slice]:
    """Where the blocks first, first + 1, ..., counted modulo their number, lie: one range, or two round the end."""
    blocks = edges.size - 1
    ahead = min(count, blocks - first)
    ranges = [(first, first + ahead), (0, count - ahead)]
    return [slice(int(edges[lo]), int(edges[hi])) for lo, hi in ranges[: 1 + (count > ahead)]]


def ring_allreduce(comm: Communicator, vector: ArrayLike) -> Array:
    """The sum of the ranks' vectors; the twin of `commbounds.collectives.ring_allreduce`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases that the twin's traffic has.
    vector : (n,) float32 or float64
        This rank's; finite, n >= 1, and as long as the others'.

    Returns
    -------
    (n,) dtype of vector
        The same bits on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, on all ranks.
    """
    return _allreduced(comm, vector, "ring")


def recursive_doubling_allreduce(comm: Communicator, vector: ArrayLike) -> Array:
    """As `ring_allreduce`; the twin of `commbounds.collectives.recursive_doubling_allreduce`."""
    return _allreduced(comm, vector, "recursive-doubling")


def rabenseifner_allreduce(comm: Communicator, vector: ArrayLike) -> Array:
    """As `ring_allreduce`; the twin of `commbounds.collectives.rabenseifner_allreduce`."""
    return _allreduced(comm, vector, "rabenseifner")


def butterfly_allreduce(comm: Communicator, vector: ArrayLike) -> Array:
    """As `ring_allreduce`; the twin of `commbounds.collectives.butterfly_allreduce`."""
    return _allreduced(comm, vector, "butterfly")


def _allreduced(comm: Communicator, vector: ArrayLike, algorithm: str) -> Array:
    (row,) = agreed_row(comm, vector, lambda _: {})
    if comm.one_caller:
        totals: Array = comm.fused(row, lambda rows: _all_reduced(np.stack(rows), algorithm))
        return totals
    held: Array = row.copy()
    parts, blocks = ALLREDUCE[algorithm]
    carried_out_on_rank(comm, held, even_cuts(held.size, blocks(comm.size)), parts(comm.size))
    return held


def _all_reduced(stack: Array, algorithm: str) -> tuple[Array, list[Counted]]:
    """What every rank holds at the end, carried out at once; by a fused kernel where there is one."""
    parts, blocks = ALLREDUCE[algorithm]
    made = parts(len(stack))
    if algorithm in FUSED:
        held, counts = fused(stack, algorithm)
    else:
        held, counts = stack, counted(stack, even_cuts(stack.shape[1], blocks(len(stack))), made)
    return held, list(by_part(counts, made))


def reduce_scatter(comm: Communicator, vector: ArrayLike, algorithm: str = "ring") -> Array:
    """The block of the sum that belongs to this rank; the twin of `commbounds.collectives.reduce_scatter`.

    Parameters
    ----------
    comm, vector
        As for `ring_allreduce`; the phase is ``reduce-scatter``.
    algorithm : {"ring", "recursive-doubling", "bruck"}
        The same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`; there is no such algorithm. On all ranks.
    """

    def request(_: Array) -> dict[str, Any]:
        scatter_messages(comm.size, algorithm)
        return {"algorithm": algorithm}

    held: Array = agreed_row(comm, vector, request)[0].copy()
    edges = even_cuts(held.size, comm.size)
    carried_out_on_rank(comm, held, edges, [Part("reduce-scatter", scatter_messages(comm.size, algorithm), True)])
    return held[edges[comm.rank] : edges[comm.rank + 1]].copy()


def allgather(comm: Communicator, block: ArrayLike, algorithm: str = "ring") -> Array:
    """All ranks' blocks, which are equally long, in their order; the twin of `commbounds.collectives.allgather`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; the phase is ``all-gather``.
    block : (m,) float32 or float64
        This rank's; finite, m >= 1, and as long as the others'.
    algorithm : {"ring", "recursive-doubling", "bruck"}
        The same on all ranks.

    Returns
    -------
    (P m,) dtype of block

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`; there is no such algorithm. On all ranks.
    """

    def request(_: Array) -> dict[str, Any]:
        gather_messages(comm.size, algorithm)
        return {"algorithm": algorithm}

    return _joined(comm, agreed_row(comm, block, request, "block")[0], algorithm)


def allgatherv(comm: Communicator, block: ArrayLike, algorithm: str = "ring") -> Array:
    """As `allgather`, of blocks of any lengths, 0 too; the twin of `commbounds.collectives.allgatherv`."""

    def checked() -> Array:
        gather_messages(comm.size, algorithm)
        array = np.asarray(block)
        if array.ndim != 1:
            raise ValueError(f"block must be a vector, got shape {array.shape}")
        # one entry more, as an empty block is welcome
        return checked_stack(np.append(array, array.dtype.type(0))[np.newaxis], "block")[0, :-1]

    own = comm.agreed(checked)
    agreed_alike(comm, {"dtype of block": own.dtype.name, "algorithm": algorithm})
    return _joined(comm, own, algorithm)


def _joined(comm: Communicator, own: Array, algorithm: str) -> Array:
    comm.phase("all-gather")
    return np.concatenate([array for (array,) in gathered(comm, (own,), algorithm)])
