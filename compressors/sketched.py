"""Sketches: tables that hashed entries are added to, or that keep least levels, and what is read from them."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array, Integers
from commbounds.compressors._blocks import quiet
from commbounds.compressors.base import as_numbers, checked_array, checked_choice, checked_count

MIDDLES = ("mean", "lower")
"""What the median of an even number of rows is: the mean of the middle two, or the lower one as in torch.median."""
_MOST_CELLS = 2**31 - 1


class Hashes(NamedTuple):
    """Where every entry goes in every row, and with which sign.

    Parameters
    ----------
    buckets : (r, n) int64
        In [0, cells).
    signs : (r, n) int8
        -1 or 1.
    """

    buckets: Integers
    signs: NDArray[np.int8]


@njit(cache=True, nogil=True)
def _accumulate(x, buckets, signs, table):  # type: ignore[no-untyped-def]
    # row by row, from the first entry to the last, in the dtype
    for row in range(table.shape[0]):
        for i in range(x.size):
            value = x[i] if signs[row, i] > 0 else -x[i]
            table[row, buckets[row, i]] += value


@njit(cache=True, nogil=True)
def _middles(table, buckets, signs, lower, held, out):  # type: ignore[no-untyped-def]
    # the median over the rows, sorted by insertion
    rows = table.shape[0]
    for i in range(out.size):
        for row in range(rows):
            value = table[row, buckets[row, i]]
            if signs[row, i] < 0:
                value = -value
            at = row
            while at > 0 and held[at - 1] > value:
                held[at] = held[at - 1]
                at -= 1
            held[at] = value
        high = rows // 2
        if rows % 2 == 1:
            out[i] = held[high]
        elif lower:
            out[i] = held[high - 1]
        else:
            out[i] = held[high - 1] / 2 + held[high] / 2


def polynomial_hashes(coefficients: ArrayLike, n: int, cells: int, prime: int) -> Hashes:
    """Buckets by polynomials of degree one, and signs by polynomials of degree three, over the integers modulo a prime.

    Entry i goes to bucket ``(a0 i + a1 mod p) mod cells`` with the sign ``2 (((a2 i + a3) i + a4) i + a5 mod p mod 2) -
    1``, as in the authors' code of FetchSGD, but with every step modulo p, where that code's 64-bit products wrap.

    Parameters
    ----------
    coefficients : (r, 6) integers
        For every row, in [0, prime).
    n : int
        Entries; at most `prime`.
    cells : int
        Counters of a row.
    prime : int
        In [2, 2^31 - 1]. That it is prime is not looked at.

    Returns
    -------
    Hashes
        Buckets are pairwise and signs 4-wise independent before the last step; taken modulo `cells` and 2 neither is
        uniform, as a prime has no other divisors.

    Raises
    ------
    TypeError, ValueError
        Something is no integer, or outside its range; coefficients of another shape.

    Examples
    --------
    >>> buckets, signs = polynomial_hashes([[1, 0, 0, 0, 1, 0]], 5, 3, 5)
    >>> buckets.tolist(), signs.tolist()
    ([[0, 1, 2, 0, 1]], [[-1, 1, -1, 1, -1]])
    """
    p = checked_count("prime", prime, 2, _MOST_CELLS)
    count, width = checked_count("n", n, 1, p), checked_count("cells", cells, 1, _MOST_CELLS)
    given = as_numbers(coefficients, "coefficients", kinds="iu")
    if given.ndim != 2 or given.shape[1] != 6 or not len(given):
        raise ValueError(f"coefficients must be (r, 6) with r at least 1, got shape {given.shape}")
    if given.min() < 0 or given.max() >= p:
        raise ValueError(f"coefficients must be in [0, {p}), got {given.min()} to {given.max()}")
    a = given.astype(np.int64)[:, :, np.newaxis]
    i = np.arange(count, dtype=np.int64)
    sign = a[:, 2]
    for power in (3, 4, 5):
        sign = (sign * i + a[:, power]) % p
    return Hashes((a[:, 0] * i + a[:, 1]) % p % width, (2 * (sign % 2) - 1).astype(np.int8))


def checked_hashes(buckets: ArrayLike, signs: ArrayLike, n: int | None, cells: int) -> Hashes:
    """The hashes of n entries in rows of `cells` counters, refused where they are not; n is theirs if it is None.

    Raises
    ------
    TypeError, ValueError
        No integers; shapes other than (r, n) with r and n at least 1; buckets outside [0, cells); signs other than 1
        and -1.
    """
    places = as_numbers(buckets, "buckets", kinds="iu")
    factors = as_numbers(signs, "signs", kinds="iu")
    if places.ndim != 2 or 0 in places.shape or (n is not None and places.shape[1] != n):
        raise ValueError(f"buckets must be (r, {'n' if n is None else n}), r at least 1, got shape {places.shape}")
    if factors.shape != places.shape:
        raise ValueError(f"signs must have the shape of buckets, {places.shape}, got {factors.shape}")
    if places.min() < 0 or places.max() >= cells:
        raise ValueError(f"buckets must be in [0, {cells}), got {places.min()} to {places.max()}")
    if not (np.abs(factors) == 1).all():
        raise ValueError("signs must be 1 or -1, got another number")
    return Hashes(np.array(places, np.int64, order="C"), np.array(factors, np.int8, order="C"))


def count_sketch(x: ArrayLike, buckets: ArrayLike, signs: ArrayLike, cells: int) -> Array:
    """The count sketch of x: in row j, cell c the sum of the entries that are hashed there, with their signs.

    ``table[j, c] = sum of signs[j, i] x[i] over buckets[j, i] = c`` (Charikar, Chen, Farach-Colton 2002).

    Parameters
    ----------
    x : (n,) float32 or float64
        Finite.
    buckets, signs : (r, n) integers
        See `Hashes`.
    cells : int
        Counters of a row.

    Returns
    -------
    table : (r, cells) dtype of x
        Linear in x. Sums beyond the dtype's range are infinite.

    Raises
    ------
    TypeError, ValueError
        As `checked_hashes` says; x is no vector, empty, not finite or of another dtype.

    Examples
    --------
    >>> count_sketch([3.0, 1.0, -2.0], [[0, 1, 0]], [[1, -1, -1]], 2).tolist()
    [[5.0, -1.0]]
    """
    array = checked_array(x)
    width = checked_count("cells", cells, 1, _MOST_CELLS)
    places, factors = checked_hashes(buckets, signs, array.size, width)
    table = np.zeros((len(places), width), array.dtype)
    with quiet():
        _accumulate(array, places, factors, table)
    return table


def sketch_estimates(table: ArrayLike, buckets: ArrayLike, signs: ArrayLike, middle: str = "mean") -> Array:
    """What a sketch says of every entry: the median over the rows of its counter, times its sign.

    Parameters
    ----------
    table : (r, cells) float32 or float64
        No NaN.
    buckets, signs : (r, n) integers
        Those of the sketch.
    middle : {"mean", "lower"}
        Of an even number of rows, see `MIDDLES`.

    Returns
    -------
    estimates : (n,) dtype of table

    Raises
    ------
    TypeError, ValueError
        As `checked_hashes` says; the table is no matrix of floats, has other rows, or a NaN; an unknown middle.

    Examples
    --------
    >>> sketch_estimates([[5.0, -1.0]], [[0, 1, 0]], [[1, -1, -1]]).tolist()
    [5.0, 1.0, -5.0]
    """
    counters = checked_array(table, 2, finite=False, name="table")
    if np.isnan(counters).any():
        raise ValueError("table must have no NaN, got one")
    places, factors = checked_hashes(buckets, signs, None, counters.shape[1])
    if len(places) != len(counters):
        raise ValueError(f"table must have {len(places)} rows, one for every row of buckets, got {len(counters)}")
    lower = checked_choice("middle", middle, MIDDLES) == "lower"
    out = np.empty(places.shape[1], counters.dtype)
    with quiet():
        _middles(counters, places, factors, lower, np.empty(len(counters), counters.dtype), out)
    if np.isnan(out).any():
        raise ValueError("table must not have infinities of both signs, whose mean is NaN")
    return out


def largest(estimates: Array, k: int) -> Integers:
    """Indices of the k largest magnitudes, ascending; ties go to the lowest index."""
    order = np.argsort(-np.abs(estimates), kind="stable")
    return np.sort(order[:k])


def unsketch(table: ArrayLike, buckets: ArrayLike, signs: ArrayLike, k: int, middle: str = "mean") -> Array:
    """The k largest of the estimates of a sketch, and zero elsewhere: what FetchSGD updates with.

    Parameters
    ----------
    table, buckets, signs, middle
        As for `sketch_estimates`.
    k : int
        Entries to recover, in [1, n]; ties go to the lowest index.

    Returns
    -------
    update : (n,) dtype of table

    Raises
    ------
    TypeError, ValueError
        As `sketch_estimates` says; k outside [1, n].

    Examples
    --------
    >>> unsketch([[5.0, -1.0]], [[0, 1, 0]], [[1, -1, -1]], 1).tolist()
    [5.0, 0.0, 0.0]
    """
    estimates = sketch_estimates(table, buckets, signs, middle)
    kept = largest(estimates, checked_count("k", k, 1, estimates.size))
    update = np.zeros_like(estimates)
    update[kept] = estimates[kept]
    return update


def min_max_sketch(levels: ArrayLike, buckets: ArrayLike, cells: int) -> Integers:
    """What SketchML's MinMaxSketch recovers: of every row the least level in an entry's cell, and the largest of those.

    Parameters
    ----------
    levels : (n,) integers
        Levels of magnitudes, >= 0.
    buckets : (r, n) integers
        In [0, cells).
    cells : int
        Cells of a row.

    Returns
    -------
    recovered : (n,) int64
        At most the levels.

    Raises
    ------
    TypeError, ValueError
        Levels are no vector of integers, empty or negative; as `checked_hashes` says.

    Examples
    --------
    >>> min_max_sketch([4, 1, 7], [[0, 0, 1], [0, 1, 0]], 2).tolist()
    [4, 1, 7]
    """
    given = as_numbers(levels, "levels", kinds="iu")
    if given.ndim != 1 or not given.size:
        raise ValueError(f"levels must be (n,) with n at least 1, got shape {given.shape}")
    if given.min() < 0 or given.max() > np.iinfo(np.int64).max:
        raise ValueError(f"levels must be in [0, 2^63), got {given.min()} to {given.max()}")
    width = checked_count("cells", cells, 1, _MOST_CELLS)
    places = as_numbers(buckets, "buckets", kinds="iu")
    places, _ = checked_hashes(places, np.ones(places.shape, np.int8), given.size, width)
    wanted = given.astype(np.int64)
    recovered = np.zeros(wanted.size, np.int64)
    for row in places:
        least = np.full(width, np.iinfo(np.int64).max)
        np.minimum.at(least, row, wanted)
        recovered = np.maximum(recovered, least[row])
    return recovered


MECHANISMS: dict[str, Any] = {
    "polynomial_hashes": polynomial_hashes,
    "count_sketch": count_sketch,
    "sketch_estimates": sketch_estimates,
    "unsketch": unsketch,
    "min_max_sketch": min_max_sketch,
}
"""What one worker does, by name."""
