"""Many seeded inputs at once: Top-K's contraction, measured on a stack of rows in one go.

An input drawn entry by entry costs Hypothesis far more than it costs Top-K. A `Batch` is drawn by structure and seed
instead, and holds as many sub-cases as it has rows; a row is a function of family, length, exponent and seed, so that
one that breaks a claim can be made again on its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray

from commbounds.array_types import Array
from commbounds.compressors import ChunkTopK
from commbounds.compressors._random import fill_uniforms
from commbounds.theory import claims
from commbounds.verify.experiment import bound_at

SUBCASES = 256
"""Rows of a drawn batch."""
_KEY = np.uint64(0x5EED)

FAMILIES: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "uniform": lambda v: v,
        "signs": lambda v: np.copysign(np.float32(1.0), v),
        "nearly constant": lambda v: np.float32(1.0) + v * np.float32(2.0**-10),
        "small integers": lambda v: np.rint(v * np.float32(3.0)),
        "heavy tails": lambda v: v / (np.float32(1.0 + 2.0**-12) - np.abs(v)),
        "sparse": lambda v: np.where(np.abs(v) > np.float32(0.9), v, np.float32(0.0)),
        "even powers of two": lambda v: np.exp2(np.rint(v * np.float32(3.0)) * np.float32(2.0)),
    }
)
"""Random vectors by name, as functions of entries that are uniform on [-1, 1)."""


@dataclass(frozen=True)
class Batch:
    """Seeded float32 vectors of one family: row b is the sub-case of seed ``seed + b``.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    n : int
        Entries of a row; >= 1.
    seed : int
        Seed of the first row; >= 0.
    exponent : int
        Rows are multiplied by 2^exponent.
    count : int
        Number of rows; 1 to make a single sub-case again.
    """

    family: str
    n: int
    seed: int
    exponent: int = 0
    count: int = SUBCASES

    def rows(self) -> NDArray[np.float32]:
        """The vectors, (count, n)."""
        flat = np.empty(self.count * self.n, np.float32)
        fill_uniforms(_KEY, self.seed * self.n, flat)
        entries = FAMILIES[self.family](np.float32(2.0) * flat - np.float32(1.0))
        return (entries * np.float32(2.0**self.exponent)).reshape(self.count, self.n)


def batches(n: int | None = None, count: int = SUBCASES) -> st.SearchStrategy[Batch]:
    """Batches of any family, scale and seed; of `count` rows of `n` entries, or of 1 to 100."""
    return st.builds(
        Batch,
        st.sampled_from(sorted(FAMILIES)),
        st.integers(1, 100) if n is None else st.just(n),
        st.integers(0, 2**32),
        st.integers(-100, 100),
        st.just(count),
    )


@njit(cache=True, nogil=True)
def _largest_error(x, y):  # type: ignore[no-untyped-def]
    # the largest ||y_b - x_b||^2 / ||x_b||^2 over rows b, and that b; a row of zeros has error 0 or inf
    largest, worst = -1.0, 0
    for b in range(x.shape[0]):
        error, square = 0.0, 0.0
        for i in range(x.shape[1]):
            entry = np.float64(x[b, i])
            gap = np.float64(y[b, i]) - entry
            error += gap * gap
            square += entry * entry
        share = error / square if square > 0.0 else (0.0 if error == 0.0 else np.inf)
        if not share <= largest:
            largest, worst = share, b
            if np.isnan(share):
                break
    return largest, worst


def largest_error(x: NDArray[np.float32], y: NDArray[np.float32]) -> tuple[float, int]:
    """The largest relative error of a row, ``||y_b - x_b||^2 / ||x_b||^2``, and the row's number.

    Parameters
    ----------
    x, y : (count, n) float32
        Inputs and outputs. A row of zeros has error 0 if its output is zero, else infinity; NaN is larger than all.
    """
    error, row = _largest_error(np.ascontiguousarray(x), np.ascontiguousarray(y))
    return float(error), int(row)


def _top_k_of_rows(rows: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    kept: NDArray[np.float32] = ChunkTopK(k, rows.shape[1])(rows.ravel())
    return kept.reshape(rows.shape)


def violating_subcase(
    batch: Batch, k: int, compressed: Callable[[NDArray[np.float32], int], NDArray[np.float32]] = _top_k_of_rows
) -> Batch | None:
    """The worst sub-case of `batch` as a batch of its own, if it breaks Top-K's contraction; else None.

    Parameters
    ----------
    batch : Batch
        The inputs.
    k : int
        Entries kept of each row; 1 <= k <= batch.n.
    compressed : callable (rows, k) -> rows
        Top-K of every row; by default the project's `ChunkTopK`, whose chunks are the rows.
    """
    rows = batch.rows()
    error, row = largest_error(rows, compressed(rows, k))
    bound = float(bound_at(claims()["sparsifiers.topk.contraction"], {"n": batch.n, "k": k}))
    # differences of float32 are rounded once in float64 at most, squares once, sums of n terms n - 1 times
    slack = 2.0 * (batch.n + 2) * float(np.finfo(np.float64).eps) * bound
    if error <= bound + slack:
        return None
    return Batch(batch.family, batch.n, batch.seed + row, batch.exponent, count=1)
