"""All hashings of a few entries, and many sketches of the same vector in one: what laws are enumerated by."""

import itertools
from functools import cache
from typing import Any

import numpy as np

from commbounds.array_types import Array


@cache
def row_hashings(n: int, cells: int, hashing: str, whole: bool) -> tuple[Array, Array]:
    """Buckets and signs of a row, equally likely: (t, n) each.

    Parameters
    ----------
    n, cells : int
        Entries, and counters of the row.
    hashing : {"independent", "three", "five"}
        Independent; or in one counter, signs whose product is one, of which three or five of n = 4 or 6 are
        independent.
    whole : bool
        All of them; otherwise those in which the first entry goes to the first counter with the sign +1, which by
        symmetry give its estimate the same law.
    """
    places = list(itertools.product(range(cells), repeat=n))
    signs = [s for s in itertools.product((1, -1), repeat=n) if hashing == "independent" or np.prod(s) == 1]
    pairs = [(b, s) for b in places for s in signs if whole or (b[0] == 0 and s[0] == 1)]
    return np.array([b for b, _ in pairs], np.int64), np.array([s for _, s in pairs], np.int8)


@cache
def side_by_side(n: int, rows: int, cells: int, hashing: str = "independent", whole: bool = False) -> tuple[Any, ...]:
    """Every choice of hashings for all rows, as one sketch of as many copies of a vector.

    Returns
    -------
    buckets, signs : (rows, t n)
        Each copy in counters of its own, `cells` for each.
    count : int
        t, the number of choices.
    """
    places, signs = row_hashings(n, cells, hashing, whole)
    chosen = np.array(list(itertools.product(range(len(places)), repeat=rows)), np.int64)
    offsets = (np.arange(len(chosen)) * cells)[:, np.newaxis]
    buckets = np.stack([(places[chosen[:, row]] + offsets).ravel() for row in range(rows)])
    return buckets, np.stack([signs[chosen[:, row]].ravel() for row in range(rows)]), len(chosen)


def drawn_hashes(n: int, rows: int, cells: int, seed: int) -> tuple[Array, Array]:
    """Buckets and signs from a seed."""
    rng = np.random.default_rng([seed, n, rows, cells])
    return rng.integers(0, cells, (rows, n)), rng.integers(0, 2, (rows, n)) * 2 - 1
