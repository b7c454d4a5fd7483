"""What ARC-Top-K keeps of an average gradient, in expectation over its sketch: by angles and by quadrature."""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Floats
from commbounds.compressors.base import MAX_ENTRIES, as_numbers, checked_count, shown

_EXPONENT = 400
"""Of two: rows between this and its inverse have squares, and sums of them, that are floats."""
_ACCURACY = 1e-9
_TOUCHING = 1.0 - 1e-12
"""Two scores whose largest and smallest difference are this close in size are taken to touch."""


def sectors(w: Floats, z: NDArray[np.complex128], a: float) -> tuple[Floats, Floats]:
    """Middles and widths of the intervals of psi in [0, 2 pi] on which scores w + a Re(z exp(-i psi)) keep their order.

    Two scores cross where |z_i - z_j| cos(psi - arg(z_i - z_j)) = (w_j - w_i) / a; where they only touch (up to
    rounding) an interval ends as well, so that no middle is there.

    Parameters
    ----------
    w : (m,) float64
        Squared norms of planar rows.
    z : (m,) complex128
        Rows as complex numbers, squared: rank-one scores along (cos phi, sin phi) are half of w + Re(z exp(-2 i phi)).
    a : float
        In [0, 1].
    """
    i, j = np.triu_indices(w.size, 1)
    gap, level = z[i] - z[j], w[j] - w[i]
    size = a * np.abs(gap)
    crossing = (size > 0.0) & (size >= _TOUCHING * np.abs(level))
    spread, centre = np.arccos(np.clip(level[crossing] / size[crossing], -1.0, 1.0)), np.angle(gap[crossing])
    ends: list[Any] = [[0.0, 2 * math.pi], (centre + spread) % (2 * math.pi), (centre - spread) % (2 * math.pi)]
    psi = np.sort(np.concatenate(ends))
    return (psi[1:] + psi[:-1]) / 2, np.diff(psi)


@njit(cache=True, nogil=True)
def _kept_at(w, x, y, K, a, ends, scores):  # type: ignore[no-untyped-def]
    # Mean energy kept over the direction psi: the sectors of `sectors`, for z = x + iy, and in each the K largest
    # scores w + a (x cos psi + y sin psi) at its middle, ties to the lowest index. `ends` holds m (m - 1) + 2 numbers.
    m, full = w.size, 2.0 * math.pi
    ends[0], ends[1], count = 0.0, full, 2
    for i in range(m):
        for j in range(i + 1, m):
            real, imaginary, level = x[i] - x[j], y[i] - y[j], w[j] - w[i]
            size = a * math.hypot(real, imaginary)
            if size > 0.0 and size >= _TOUCHING * abs(level):
                spread, centre = math.acos(min(max(level / size, -1.0), 1.0)), math.atan2(imaginary, real)
                ends[count], ends[count + 1] = (centre + spread) % full, (centre - spread) % full
                count += 2
    for i in range(1, count):  # few numbers: by insertion
        value, j = ends[i], i
        while j > 0 and ends[j - 1] > value:
            ends[j] = ends[j - 1]
            j -= 1
        ends[j] = value
    total = 0.0
    for i in range(count - 1):
        width, middle = ends[i + 1] - ends[i], (ends[i + 1] + ends[i]) / 2.0
        if width > 0.0:
            cosine, sine = math.cos(middle), math.sin(middle)
            for j in range(m):
                scores[j] = w[j] + a * (x[j] * cosine + y[j] * sine)
            kept = 0.0
            for _ in range(K):
                best = 0
                for j in range(1, m):
                    if scores[j] > scores[best]:
                        best = j
                kept += w[best]
                scores[best] = -np.inf
            total += kept * width
    return total / full


def kept_of_planar_rows(rows: ArrayLike, K: int, rank: int) -> tuple[float, float]:
    """Expected squared norm that Top-K by sketched scores keeps of rows in a plane, and its numerical error.

    Parameters
    ----------
    rows : (m, 2) array_like
        The average gradient's rows.
    K, rank : int
        Rows kept, 1 <= K <= m; columns of the sketch, >= 1.

    Returns
    -------
    kept, error : float
        For rank 1 exact up to rounding; else by adaptive quadrature over one variable. Infinite where what is kept is
        beyond all floats.

    Notes
    -----
    V V^T is a Wishart matrix of the plane: up to a factor it is 1 + a (cos psi, sin psi) with psi uniform, independent
    of a, and (1 - a^2)^((rank - 1)/2) uniform; for rank 1, a = 1.
    """
    x = as_numbers(rows, "rows", np.float64)
    if x.ndim != 2 or x.shape[1] != 2 or not np.isfinite(x).all():
        raise ValueError(f"rows must be a finite (m, 2) array, got shape {x.shape}")
    kept, columns = checked_count("K", K, 1, len(x)), checked_count("rank", rank, 1, MAX_ENTRIES)
    exponent = int(np.frexp(np.abs(x).max(initial=0.0))[1])
    if abs(exponent) > _EXPONENT:  # squares would over- or underflow: of rows of another unit
        scaled = kept_of_planar_rows(np.ldexp(x, -exponent), kept, columns)
        value, error = (float(np.ldexp(v, 2 * exponent)) for v in scaled)
        return value, error
    z = (x[:, 0] + 1j * x[:, 1]) ** 2
    w, real, imaginary = np.abs(z), np.ascontiguousarray(z.real), np.ascontiguousarray(z.imag)
    ends, scores = np.empty(len(x) * (len(x) - 1) + 2), np.empty(len(x))
    if columns == 1:
        return float(_kept_at(w, real, imaginary, kept, 1.0, ends, scores)), 4.0 * len(x) ** 2 * float(
            np.finfo(float).eps
        ) * float(w.sum())
    from scipy.integrate import quad

    power = 2.0 / (columns - 1)
    # kinks: where a pair of scores begins to cross, a |z_i - z_j| = |w_i - w_j|
    i, j = np.triu_indices(w.size, 1)
    gap, level = np.abs(z[i] - z[j]), np.abs(w[i] - w[j])
    begins = level[(level > 0) & (level < gap)] / gap[(level > 0) & (level < gap)]
    kinks = np.unique((1.0 - begins**2) ** (1.0 / power))
    value, error, *_ = quad(
        lambda u: _kept_at(w, real, imaginary, kept, math.sqrt(max(0.0, 1.0 - u**power)), ends, scores),
        0.0,
        1.0,
        epsabs=_ACCURACY,
        limit=200 + kinks.size,
        points=kinks if kinks.size else None,
        full_output=1,
    )
    return float(value), float(error)


def kept_of_orthogonal_rows(squares: ArrayLike, K: int, rank: int) -> tuple[float, float]:
    """Expected squared norm kept of mutually orthogonal rows, and its numerical error.

    Parameters
    ----------
    squares : (m,) array_like
        Squared norms of the rows; nonnegative, finite.
    K, rank : int
        Rows kept, 1 <= K <= m; columns of the sketch, >= 1.

    Returns
    -------
    kept, error : float
        By adaptive quadrature: scores are independent, row j's is its square times a chi-square of `rank` degrees.
        Infinite where what is kept is beyond all floats.
    """
    from scipy.integrate import quad
    from scipy.special import chdtrc, gammaincinv

    w = as_numbers(squares, "squares", np.float64)
    if w.ndim != 1 or not np.isfinite(w).all() or (w < 0).any():
        raise ValueError(f"squares must be a finite nonnegative vector, got {shown(squares)}")
    kept, columns = checked_count("K", K, 1, len(w)), checked_count("rank", rank, 1, MAX_ENTRIES)
    exponent = int(np.frexp(w.max(initial=0.0))[1])
    if abs(exponent) > 2 * _EXPONENT:  # sums would over- or underflow: of squares in another unit
        scaled = kept_of_orthogonal_rows(np.ldexp(w, -exponent), kept, columns)
        value, error = (float(np.ldexp(v, exponent)) for v in scaled)
        return value, error
    live = w[w > 0]
    if kept >= live.size:
        return float(w.sum()), 0.0
    total, allowance = 0.0, 0.0
    for j, square in enumerate(live):
        others = np.delete(live, j)

        def selected(u: float, square: float = float(square), others: Floats = others) -> float:
            above = chdtrc(columns, 2.0 * gammaincinv(columns / 2.0, u) * square / others)
            # chances of 0, 1, .. kept - 1 larger scores
            chances = np.zeros(kept)
            chances[0] = 1.0
            for p in above:
                chances[1:] = chances[1:] * (1 - p) + chances[:-1] * p
                chances[0] *= 1 - p
            return float(chances.sum())

        value, error = quad(selected, 0.0, 1.0, epsabs=_ACCURACY, limit=200)
        total, allowance = total + float(square) * value, allowance + float(square) * error
    return total, allowance
