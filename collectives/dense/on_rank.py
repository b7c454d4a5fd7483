"""What rank programs are made of: all-gathers of anything, and schedules of messages, sent for real.

`gathered` and `carried_out_on_rank` do on a rank what `gather_blocks` and `carried_out` do for all: they move its own
data, follow the schedules of `messages`, and count alike.
"""

from collections.abc import Callable, Sequence

import numpy as np

from commbounds.array_types import Array, Integers
from commbounds.collectives.dense.gathering import gather_counts
from commbounds.collectives.dense.message_by_message import Part
from commbounds.collectives.dense.messages import gather_steps, of_rank
from commbounds.collectives.ranks.communicator import Communicator, Counted, Form, Parcel

Block = tuple[Array, ...]
"""What a rank brings to an all-gather: arrays of any dtypes and shapes."""


def _entries(block: Block) -> int:
    return sum([array.size for array in block])


def gathered(
    comm: Communicator,
    block: Block,
    algorithm: str = "ring",
    words: Callable[[Block], int] = _entries,
    forms: Callable[[int], Sequence[Form]] | None = None,
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
    forms : callable (rank) -> forms
        What that rank's arrays must be like; anything if not given.

    Returns
    -------
    list of P tuples of arrays
        This rank's own is `block` itself; none may be changed.

    Raises
    ------
    ValueError
        There is no such algorithm, or a block is of another form.
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
            outgoing[target] = Parcel(tuple([a for b in passed for a in b]), sum(map(words, passed)))
        arrived = comm.step(outgoing, [source for _, source, *_ in receives])
        for _, source, _, first, count in receives:
            arrays = arrived[source].arrays
            for i in range(count):
                owner, part = (first + i) % comm.size, arrays[i * width : (i + 1) * width]
                have[owner] = part if forms is None else tuple(comm.fitting(owner, part, *forms(owner)))
    return [have[rank] for rank in range(comm.size)]


def _all_gathered(
    blocks: list[Block], algorithm: str, words: Callable[[Block], int]
) -> tuple[list[list[Block]], list[Counted]]:
    """Every block on every rank at once, as `gathered` brings it there."""
    counts = gather_counts(np.array([words(block) for block in blocks], np.int64), algorithm)
    return [blocks] * len(blocks), [(None, counts)]


def carried_out_on_rank(comm: Communicator, held: Array, edges: Integers, parts: Sequence[Part]) -> None:
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
        for sends, receives in of_rank(part.messages, comm.rank):
            outgoing = {}
            for _, _, target, first, count in sends:
                pieces = [held[place] for place in _places(edges, first, count)]
                message = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
                outgoing[target] = Parcel((message,), message.size)
            arrived = comm.step(outgoing, [source for _, source, *_ in receives])
            for _, source, _, first, count in receives:
                places = _places(edges, first, count)
                form = held.dtype, (sum(place.stop - place.start for place in places),)
                (message,) = comm.fitting(source, arrived[source], form)
                _take(held, places, message, part.adds)


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


def _places(edges: Integers, first: int, count: int) -> list[slice]:
    """Where the blocks first, first + 1, ..., counted modulo their number, lie: one range, or two round the end."""
    blocks = edges.size - 1
    ahead = min(count, blocks - first)
    ranges = [(first, first + ahead), (0, count - ahead)]
    return [slice(int(edges[lo]), int(edges[hi])) for lo, hi in ranges[: 1 + (count > ahead)]]
