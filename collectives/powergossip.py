"""PowerGossip: neighbours draw their matrices together by low-rank approximations of their difference."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._peers import checked_count, checked_rng
from commbounds.collectives.ranks import Communicator, parcel
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import as_array, checked_choice, checked_flag, checked_real

GRAPHS = ("ring", "complete", "path")


def edges(graph: str, P: int) -> list[tuple[int, int, float]]:
    """The edges of a graph of P ranks as (lower end, upper end, weight), by their ends.

    Parameters
    ----------
    graph : {"ring", "complete", "path"}
        Weights are 1/3 on a ring (2/3 on that of two, whose neighbours come twice), 1/P on a complete graph, and
        1/3 on a path (1/2 on that of two).
    P : int
        Ranks.
    """
    checked_choice("graph", graph, GRAPHS)
    if graph == "complete":
        return [(i, j, 1 / P) for i in range(P) for j in range(i + 1, P)]
    along = [(i, i + 1) for i in range(P - 1)]
    if P == 2:
        return [(0, 1, 2 / 3 if graph == "ring" else 1 / 2)]
    return [(i, j, 1 / 3) for i, j in sorted([*along, *([(0, P - 1)] if graph == "ring" and P > 2 else [])])]


def _ended(ranks: list[tuple[Array, dict[int, Array]]]) -> tuple[Array, list[Array]]:
    """What all ranks end with: both ends of an edge hold the same factors."""
    held = {number: factors for _, own in ranks for number, factors in own.items()}
    return np.stack([row for row, _ in ranks]), [held[number] for number in sorted(held)]


@one_program(_ended)
def powergossip_rounds(
    comm: Communicator,
    vector: ArrayLike,
    rows: int,
    rank: int = 1,
    rounds: int = 1,
    rng: np.random.Generator | None = None,
    *,
    graph: str = "ring",
    start: int = 1,
    warm: bool = True,
    epsilon: float = 1e-8,
    factors: ArrayLike | None = None,
) -> tuple[Array, dict[int, Array]]:
    """The ranks' matrices after rounds of PowerGossip, and the factors that every edge goes on with.

    Of an edge between ranks i < j, both ends hold a left factor of `rows` rows and a right one. In an odd round the
    columns of the right one are made orthonormal, B; the ends exchange X_i B and X_j B, and the left factor becomes
    L = (X_j - X_i) B; X_i moves by w L B^T, X_j by -w L B^T. In an even round left and right, and X and its transpose,
    change places. That is one multiplication of a power iteration on X_j - X_i a round (Vogels, Karimireddy and Jaggi
    2020, arXiv:2008.01425).

    Parameters
    ----------
    stack : (P, rows columns) float32 or float64
        The ranks' matrices, row by row; finite.
    rows : int
        Of a matrix; it divides the number of entries.
    rank : int
        Columns of a factor, at most as many as the matrix's smaller side has entries.
    rounds : int
        Rounds, >= 0.
    rng : numpy.random.Generator or None
        Draws normal factors, where none are given.
    graph : {"ring", "complete", "path"}
        See `edges`.
    start : int
        Number of the first round, >= 0. In round 0 nothing happens.
    warm : bool
        Whether a round starts from the factor of the last; else the factor that is multiplied by is drawn anew.
    epsilon : float
        Added to the norm that a column is divided by, >= 0; a column without norm stays zero.
    factors : (edges, rows + columns, rank) array, or (rounds, edges, rows + columns, rank), or None
        In place of `rng`: left factors above right ones, edge by edge; round by round where not `warm`.

    Returns
    -------
    (result, factors) : (P, rows columns) dtype of stack, list of (rows + columns, rank) arrays
        Everything is added up in the dtype of the stack, in the order of indices; neighbours in the order of ranks.
    traffic : Traffic
        A step a round; rows rank words to every neighbour in an odd round, columns rank in an even one.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; counts, numbers, graphs or factors that do not fit; no generator where one is needed.

    Examples
    --------
    >>> moved, traffic = powergossip_rounds([[2.0, 0.0], [0.0, 0.0]], 1, graph="path", factors=[[[0.0], [1.0], [0.0]]])
    >>> moved[0].round(6).tolist(), traffic.sent.tolist()
    ([[1.0, 0.0], [1.0, 0.0]], [1, 1])
    """

    def settings(row: Array) -> dict[str, Any]:
        checked_count(rows, "rows")
        if row.size % rows:
            raise ValueError(f"rows must divide the {row.size} entries of a matrix, got {rows}")
        for value, name, low in ((rank, "rank", 1), (rounds, "rounds", 0), (start, "start", 0)):
            checked_count(value, name, low)
        if not 0 <= checked_real("epsilon", epsilon) < float("inf"):
            raise ValueError(f"epsilon must be finite and not negative, got {epsilon}")
        checked_flag("warm", warm)
        checked_choice("graph", graph, GRAPHS)
        return {"rows": rows, "rank": rank, "rounds": rounds, "start": start, "epsilon": epsilon, "graph": graph}

    (x,) = agreed_row(comm, vector, settings)
    links, matrix = edges(graph, comm.size), np.array(x).reshape(rows, -1)
    of_one = (len(links), sum(matrix.shape), min(rank, *matrix.shape))
    shape = of_one if warm else (rounds, *of_one)
    drawn = comm.common(lambda: _drawn(shape, factors, rng)).astype(x.dtype)
    if not comm.one_caller:
        agreed_alike(comm, {"warm": warm, "the checksum of the factors": checksum(drawn)})
    own = {number: link for number, link in enumerate(links) if comm.rank in link[:2]}
    held = {number: drawn[number].copy() for number in own} if warm else {}
    for turn in range(rounds):
        if not warm:
            held = {number: drawn[turn, number].copy() for number in own}
        if start + turn and links:
            matrix = _round(comm, matrix, own, held, left=(start + turn) % 2 == 1, epsilon=epsilon)
    return matrix.ravel(), held


def _drawn(shape: tuple[int, ...], factors: ArrayLike | None, rng: np.random.Generator | None) -> Array:
    if factors is None:
        return checked_rng(rng, "drawing factors").standard_normal(shape)
    array = as_array(factors, "factors")
    if array.dtype.kind not in "fiu":
        raise TypeError(f"factors must be numbers, got {array.dtype}")
    if array.size == np.prod(shape) == 0:
        return np.zeros(shape)
    if array.shape != shape:
        raise ValueError(f"factors must have the shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("factors must be finite, got NaN or infinity")
    return array


def _round(
    comm: Communicator,
    matrix: Array,
    own: dict[int, tuple[int, int, float]],
    held: dict[int, Array],
    *,
    left: bool,
    epsilon: float,
) -> Array:
    """The matrix after a round; `held` are the factors of the edges of this rank, which change."""
    m = len(matrix)
    peers = {i + j - comm.rank: number for number, (i, j, _) in own.items()}
    products = {}
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for peer in sorted(peers):
            above, below = held[peers[peer]][:m], held[peers[peer]][m:]
            old, new = (below, above) if left else (above, below)
            _orthonormalise(old, epsilon)
            new[:] = products[peer] = _product(matrix if left else matrix.T, old)
        arrived = comm.step({peer: parcel(product) for peer, product in products.items()}, sorted(peers))
        matrix = matrix.copy()
        for peer in sorted(peers):
            (theirs,), factors = comm.fitting(peer, arrived[peer], products[peer]), held[peers[peer]]
            new = factors[:m] if left else factors[m:]
            new[:] = products[peer] - theirs if comm.rank > peer else theirs - products[peer]
            moved = _product(factors[:m], factors[m:].T)
            weight = matrix.dtype.type(own[peers[peer]][2])
            matrix += (-weight if comm.rank > peer else weight) * moved
    return matrix


def _product(a: Array, b: Array) -> Array:
    """The product of two matrices, whose terms are added up in their order."""
    total = np.zeros((len(a), b.shape[1]), a.dtype)
    for k in range(len(b)):
        total += a[:, k, np.newaxis] * b[k]
    return total


def _orthonormalise(columns: Array, epsilon: float) -> None:
    """Gram-Schmidt in place, column by column, as the authors' code has it: norms are epsilon more than they are."""
    for k in range(columns.shape[1]):
        column = columns[:, k]
        norm = np.sqrt(np.add.accumulate(column * column)[-1]) + columns.dtype.type(epsilon)
        column /= norm if norm else columns.dtype.type(1)
        for other in columns.T[k + 1 :]:
            other -= np.add.accumulate(column * other)[-1] * column


COLLECTIVES = {"powergossip_rounds": powergossip_rounds}
"""What is run and counted here, by name."""
