"""All-reduce by four classical algorithms, reduce-scatter and all-gather by three, every word counted.

Sums, not means. A vector is cut in P blocks as by `numpy.array_split`: the first n mod P are one word longer, and where
n < P, some are empty; their messages are sent all the same. Sums that leave the dtype's range become infinite or NaN.

In all four all-reduces the ranks agree bit for bit: a block is added up once and copied, or, in recursive doubling,
both partners add the same two numbers, and a + b and b + a are the same bits. The algorithms add in different orders,
so the bits differ between them.
"""

from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.fused import FUSED, fused
from commbounds.collectives.dense.message_by_message import (
    ALLREDUCE,
    Part,
    allreduced,
    by_part,
    carried_out,
    counted,
    phased,
)
from commbounds.collectives.dense.messages import gather_messages, scatter_messages
from commbounds.collectives.dense.on_rank import carried_out_on_rank, gathered
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row
from commbounds.collectives.ranks.communicator import Communicator, Counted
from commbounds.collectives.ranks.one_program import fused_program
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import as_array, is_finite, shown


def _fused(stack: Array, *, algorithm: str) -> tuple[Array, Traffic]:
    result, counts = fused(stack, algorithm)
    # NaN or infinity anywhere in a column makes its sum one, so most stacks need no pass of their own
    if not is_finite(result[0]):
        checked_stack(stack)
    return result, phased(counts, ALLREDUCE[algorithm][0](len(stack)))


def _of_rank(comm: Communicator, vector: ArrayLike, algorithm: str) -> Array:
    (row,) = agreed_row(comm, vector, lambda _: {})
    if comm.one_caller:
        joined: Array = comm.fused(row, lambda rows: _of_ranks(np.stack(rows), algorithm))
        return joined
    held: Array = row.copy()
    parts, blocks = ALLREDUCE[algorithm]
    carried_out_on_rank(comm, held, even_cuts(held.size, blocks(comm.size)), parts(comm.size))
    return held


def _of_ranks(stack: Array, algorithm: str) -> tuple[Array, list[Counted]]:
    """What every rank holds at the end, carried out at once; by a fused kernel where there is one."""
    parts, blocks = ALLREDUCE[algorithm]
    made = parts(len(stack))
    if algorithm in FUSED:
        held, counts = fused(stack, algorithm)
    else:
        held, counts = stack, counted(stack, even_cuts(stack.shape[1], blocks(len(stack))), made)
    return held, list(by_part(counts, made))


@fused_program(partial(_fused, algorithm="ring"), checked=partial(checked_stack, finite=False))
def ring_allreduce(comm: Communicator, vector: ArrayLike) -> Array:
    """What every rank holds after a ring all-reduce, and the traffic.

    In 2 (P - 1) steps every block goes round twice, from rank to rank + 1: first adding up, then as the sum.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite, P >= 1, n >= 1.

    Returns
    -------
    result : (P, n) dtype of stack
        Rows are equal bit for bit. Block b is (...((x_{b+1} + x_{b+2}) + x_{b+3}) + ...) + x_b, ranks modulo P.
    traffic : Traffic
        Phases ``reduce-scatter`` and ``all-gather``.

    Raises
    ------
    TypeError, ValueError
        `stack` is ragged, empty, not finite, or of another dtype.

    Examples
    --------
    >>> result, traffic = ring_allreduce([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    >>> result
    array([[11., 22., 33.],
           [11., 22., 33.]])
    >>> traffic.steps, traffic.critical_path, traffic.sent.tolist()
    (2, 4, [3, 3])
    """
    return _of_rank(comm, vector, "ring")


@fused_program(partial(_fused, algorithm="recursive-doubling"), checked=partial(checked_stack, finite=False))
def recursive_doubling_allreduce(comm: Communicator, vector: ArrayLike) -> Array:
    """What every rank holds after an all-reduce by recursive doubling, and the traffic.

    In step j = 0, 1, ..., log2 P - 1, ranks r and r xor 2^j exchange their whole vectors and add.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite, P >= 1, n >= 1.

    Returns
    -------
    result : (P, n) dtype of stack
        Rows are equal bit for bit: the balanced binary tree of sums over the ranks in their order.
    traffic : Traffic
        Phases ``exchange``, and ``fold`` before and ``unfold`` behind it where P is no power of two.

    Raises
    ------
    TypeError, ValueError
        `stack` is ragged, empty, not finite, or of another dtype.

    Notes
    -----
    Where P is no power of two, P' the largest below it: of the first 2 (P - P') ranks every odd one sends its vector to
    the even one before it, which adds it, takes part for both, and sends the result back.

    Examples
    --------
    >>> result, traffic = recursive_doubling_allreduce([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    >>> result[2]
    array([111., 222.])
    >>> traffic.steps, traffic.critical_path, list(traffic.phases)
    (3, 6, ['fold', 'exchange', 'unfold'])
    """
    return _of_rank(comm, vector, "recursive-doubling")


@fused_program(partial(allreduced, algorithm="rabenseifner"))
def rabenseifner_allreduce(comm: Communicator, vector: ArrayLike) -> Array:
    """What every rank holds after Rabenseifner's all-reduce, and the traffic.

    A reduce-scatter by recursive halving (n/2 words, n/4, ..., n/P), then an all-gather by recursive doubling.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite, P >= 1, n >= 1.

    Returns
    -------
    result : (P, n) dtype of stack
        Rows are equal bit for bit.
    traffic : Traffic
        Phases ``reduce-scatter`` and ``all-gather``, and ``fold`` before and ``unfold`` behind them where P is no power
        of two, of whole vectors as in `recursive_doubling_allreduce`; blocks are then one for each of the P' ranks.

    Raises
    ------
    TypeError, ValueError
        `stack` is ragged, empty, not finite, or of another dtype.

    Examples
    --------
    >>> _, traffic = rabenseifner_allreduce([[1.0] * 8] * 4)
    >>> traffic.steps, traffic.critical_path
    (4, 12)
    """
    return _of_rank(comm, vector, "rabenseifner")


@fused_program(partial(allreduced, algorithm="butterfly"))
def butterfly_allreduce(comm: Communicator, vector: ArrayLike) -> Array:
    """What every rank holds after a direct reduce-scatter and a direct all-gather, and the traffic.

    In step s = 1, ..., P - 1, rank r sends block r + s to its rank; in P - 1 more, its sum to rank r + s.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite, P >= 1, n >= 1.

    Returns
    -------
    result : (P, n) dtype of stack
        Rows are equal bit for bit. Block b is ((x_b + x_{b-1}) + x_{b-2}) + ..., ranks modulo P.
    traffic : Traffic
        Phases ``reduce-scatter`` and ``all-gather``.

    Raises
    ------
    TypeError, ValueError
        `stack` is ragged, empty, not finite, or of another dtype.

    Examples
    --------
    >>> _, traffic = butterfly_allreduce([[1.0] * 6] * 3)
    >>> traffic.steps, traffic.critical_path, traffic.messages.tolist()
    (4, 8, [4, 4, 4])
    """
    return _of_rank(comm, vector, "butterfly")


def _scattered(stack: Array, algorithm: str = "ring") -> tuple[list[Array], Traffic]:
    P, n = stack.shape
    messages = scatter_messages(P, algorithm)
    edges, held = even_cuts(n, P), stack.copy()
    traffic = carried_out(held, edges, [Part("reduce-scatter", messages, True)])
    return [held[r, edges[r] : edges[r + 1]].copy() for r in range(P)], traffic


@fused_program(_scattered)
def reduce_scatter(comm: Communicator, vector: ArrayLike, algorithm: str = "ring") -> Array:
    """Every rank's block of the sum, and the traffic.

    Each algorithm is the all-gather of that name run backwards, who received sends, what was copied is added; the ring
    goes the same way round, and is the first half of `ring_allreduce`.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite, P >= 1, n >= 1.
    algorithm : {"ring", "recursive-doubling", "bruck"}
        Recursive doubling run backwards is recursive halving. P may be any number, as in `gather_blocks`.

    Returns
    -------
    blocks : list of P vectors of the dtype of stack
        Rank r's is block r. The order of its sum depends on the algorithm.
    traffic : Traffic
        Of one phase, ``reduce-scatter``.

    Raises
    ------
    TypeError, ValueError
        `stack` is ragged, empty, not finite, or of another dtype; there is no such algorithm.

    Examples
    --------
    >>> blocks, traffic = reduce_scatter([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    >>> blocks
    [array([11., 22.]), array([33.])]
    >>> traffic.sent.tolist()
    [1, 2]
    """

    def request(_: Array) -> dict[str, Any]:
        scatter_messages(comm.size, algorithm)
        return {"algorithm": algorithm}

    held: Array = agreed_row(comm, vector, request)[0].copy()
    edges = even_cuts(held.size, comm.size)
    carried_out_on_rank(comm, held, edges, [Part("reduce-scatter", scatter_messages(comm.size, algorithm), True)])
    return held[edges[comm.rank] : edges[comm.rank + 1]].copy()


def _gathered(blocks: Sequence[Array], algorithm: str = "ring") -> tuple[Array, Traffic]:
    P = len(blocks)
    messages = gather_messages(P, algorithm)
    edges = np.concatenate([[0], np.cumsum([block.size for block in blocks], dtype=np.int64)])
    held = np.zeros((P, int(edges[-1])), blocks[0].dtype.newbyteorder("="))
    for r, block in enumerate(blocks):
        held[r, edges[r] : edges[r + 1]] = block
    return held, carried_out(held, edges, [Part("all-gather", messages, False)])


def _joined(comm: Communicator, own: Array, algorithm: str, length: int | None = None) -> Array:
    """All blocks, each of that length, or of any."""
    comm.phase("all-gather")
    return np.concatenate(
        [array for (array,) in gathered(comm, (own,), algorithm, forms=lambda _: [(own.dtype, (length,))])]
    )


@fused_program(_gathered, stack="blocks")
def allgather(comm: Communicator, block: ArrayLike, algorithm: str = "ring") -> Array:
    """What every rank holds once all have the blocks of all, which are equally long, and the traffic.

    Parameters
    ----------
    blocks : (P, m) float32 or float64
        A block from every rank; finite, P >= 1, m >= 1.
    algorithm : {"ring", "recursive-doubling", "bruck"}
        As in `gather_blocks`.

    Returns
    -------
    result : (P, P m) dtype of blocks
        Rows are equal: the blocks in the order of their ranks.
    traffic : Traffic
        Of one phase, ``all-gather``.

    Raises
    ------
    TypeError, ValueError
        `blocks` are ragged, empty, not finite, or of another dtype; there is no such algorithm.

    Examples
    --------
    >>> result, traffic = allgather([[1.0], [2.0], [3.0]], "bruck")
    >>> result[1]
    array([1., 2., 3.])
    >>> traffic.steps, traffic.critical_path
    (2, 2)
    """

    def request(_: Array) -> dict[str, Any]:
        gather_messages(comm.size, algorithm)
        return {"algorithm": algorithm}

    (own,) = agreed_row(comm, block, request, "block")
    return _joined(comm, own, algorithm, own.size)


def _checked_blocks(blocks: Sequence[ArrayLike]) -> list[Array]:
    """Vectors of any lengths, all finite and of one dtype; at least one."""
    if isinstance(blocks, str | bytes | Set | Mapping) or not hasattr(blocks, "__len__") or isinstance(blocks, type):
        raise TypeError(f"blocks must be a sequence of vectors, one for every rank, got {shown(blocks)}")
    if getattr(blocks, "ndim", 1) == 0 or len(blocks) == 0:
        raise ValueError("blocks must hold one vector for every rank, got none")
    vectors = [as_array(block, "blocks") for block in blocks]
    if any(vector.ndim != 1 for vector in vectors):
        raise ValueError(f"blocks must be vectors, got shapes {', '.join(str(v.shape) for v in vectors)}")
    kinds = {vector.dtype for vector in vectors}
    if len(kinds) > 1:
        raise TypeError(f"blocks must be of one dtype, got {', '.join(sorted(map(str, kinds)))}")
    joined = np.concatenate(vectors)
    if joined.size:
        checked_stack(joined[None], "blocks")
    elif joined.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"blocks must be float32 or float64, got {joined.dtype}")
    return vectors


@fused_program(_gathered, stack="blocks", checked=_checked_blocks)
def allgatherv(comm: Communicator, block: ArrayLike, algorithm: str = "ring") -> Array:
    """As `allgather`, of blocks of any lengths.

    Parameters
    ----------
    blocks : sequence of P vectors, all float32 or all float64
        A block from every rank, which may be empty; finite, P >= 1.
    algorithm : {"ring", "recursive-doubling", "bruck"}
        As in `gather_blocks`.

    Returns
    -------
    result : (P, n) dtype of blocks
        Rows are equal: the blocks in the order of their ranks, n words together.
    traffic : Traffic
        Of one phase, ``all-gather``. An empty block is sent all the same.

    Raises
    ------
    TypeError, ValueError
        There is no block, or one is no vector, not finite, or of another dtype; there is no such algorithm.

    Examples
    --------
    >>> result, traffic = allgatherv([[1.0, 2.0], [], [3.0]])
    >>> result[1], traffic.received.tolist()
    (array([1., 2., 3.]), [1, 3, 2])
    """

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
