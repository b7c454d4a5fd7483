"""The conditions under which claims are made, under stable names that experiments look up."""

import math
from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis, Le
from commbounds.theory.quantities import alpha, block, itembits, k, m, mu, n, r, s


def signs_survive(x: Any, scales: Any) -> bool:
    """Whether the factors are positive, and the products finite and zero only where `x` is."""
    import numpy as np

    with np.errstate(all="ignore"):
        scaled = scales * x
    return bool((scales > 0).all() and np.isfinite(scaled).all() and ((scaled == 0) == (x == 0)).all())


def _sizes_between(x: Any, low: float, high: float) -> bool:
    """Whether every entry of x is zero or has a magnitude in [low, high]."""
    sizes = abs(x[x != 0])
    return bool(sizes.size == 0 or (low <= float(sizes.min()) and float(sizes.max()) <= high))


def _finfo(x: Any) -> Any:
    """What numpy knows of the dtype of x."""
    import numpy as np

    return np.finfo(x.dtype)


def _largest_power(x: Any) -> float:
    """The largest power of two of the dtype of x."""
    return 2.0 ** (int(_finfo(x).maxexp) - 1)


def _normal(x: Any) -> bool:
    return _sizes_between(x, float(_finfo(x).tiny), math.inf)


def _middle(x: Any) -> bool:
    return _sizes_between(x, float(_finfo(x).tiny) ** 0.5, float(_finfo(x).max) ** 0.5)


def _is_power_of_two(value: float) -> bool:
    return math.frexp(value)[0] == 0.5


def _powers_of_two(x: Any) -> bool:
    import numpy as np

    return _normal(x) and bool((np.frexp(abs(x[x != 0]))[0] == 0.5).all())


def _norm_fits(x: Any) -> bool:
    import numpy as np

    top = float(abs(x).max())
    return top == 0.0 or top * float(np.linalg.norm(x.astype(np.float64) / top)) <= float(_finfo(x).max)


def _gain_fits(compressor: Any, x: Any) -> bool:
    gain = x.shape[-1] / compressor.k if compressor.scaled else 1.0
    return float(abs(x).max()) * gain <= float(_finfo(x).max)


def _spectral_gap(compressor: Any, x: Any) -> bool:
    import numpy as np

    top = float(abs(x).max())
    if top == 0.0:
        return True
    sigma = np.linalg.svd(x.astype(np.float64) / top, compute_uv=False)
    return bool(compressor.rank >= sigma.size or sigma[compressor.rank - 1] > 1.01 * sigma[compressor.rank])


def _average(x: Any) -> bool:
    return any(math.fsum(column) != 0.0 for column in x.T.tolist())


def _two_workers(compressor: Any, x: Any) -> bool:
    return bool(x.shape == (2, 2) and compressor.k == 1 and x[0, 0] == x[1, 1] > 1.0 and x[0, 1] == x[1, 0] == -1.0)


def adds_exactly(x: Any) -> bool:
    """Whether all entries are whole and no sum of the rows needs more bits than a number of their dtype has."""
    largest = 2.0 ** (24 if x.dtype.itemsize == 4 else 53)
    return bool((x == x.round()).all() and abs(x).astype("float64").sum(axis=0).max() <= largest)


# Inputs
NONZERO = Hypothesis("nonzero", "Not all entries are zero.", lambda x: x.any())
NO_ZERO_ENTRIES = Hypothesis("no_zero_entries", "No entry is zero.", lambda x: (x != 0).all())
ONE_SPARSE = Hypothesis("one_sparse", "Exactly one entry is not zero.", lambda x: (x != 0).sum() == 1)
NORMAL_ENTRIES = Hypothesis(
    "normal_entries", "Every entry is zero or, in magnitude, at least the smallest normal number of the dtype.", _normal
)
WITHIN_LARGEST_POWER = Hypothesis(
    "within_largest_power",
    "No entry exceeds the largest power of two of the dtype (2^127, 2^1023) in magnitude.",
    lambda x: _sizes_between(x, 0.0, _largest_power(x)),
)
MIDDLE_RANGE = Hypothesis(
    "middle_range",
    "In floating point, every entry is zero or, in magnitude, between the square roots of the smallest normal and of "
    "the largest number of the dtype, so that no intermediate result under- or overflows.",
    _middle,
)
NORM_FITS = Hypothesis(
    "norm_fits", "The Euclidean norm does not exceed the largest number of the dtype: it is sent.", _norm_fits
)
GAIN_FITS = Hypothesis(
    "gain_fits",
    "Where kept values are multiplied by n/k, none of them exceeds the largest number of the dtype.",
    _gain_fits,
)
WITHIN_LEVELS = Hypothesis(
    "within_levels",
    "Every entry is zero or, in magnitude, at least b times the smallest normal number and at most the largest number "
    "over b: the compressor's table has a level on either side of it.",
    lambda compressor, x: _sizes_between(
        x, float(compressor.base) * float(_finfo(x).tiny), float(_finfo(x).max) / float(compressor.base)
    ),
)
POWER_ENTRIES = Hypothesis(
    "power_entries",
    "Every entry is zero or plus or minus a power of two that is a normal number of the dtype.",
    _powers_of_two,
)
SPECTRAL_GAP = Hypothesis(
    "spectral_gap",
    "The r-th singular value is larger than the next, by more than 1 % of it, so that the best rank-r matrix is unique "
    "and rounding does not choose another.",
    _spectral_gap,
)
TWO_SINGULAR_VALUES = Hypothesis(
    "two_singular_values", "The smaller side of the matrix is 2 and the rank is 1.", Eq(sp.Min(m, n), 2) & Eq(r, 1)
)

# Variants of a compressor
UNSCALED = Hypothesis(
    "unscaled", "Kept values are not scaled: RandK(k, scaled=False).", lambda compressor: not compressor.scaled
)
SCALED = Hypothesis(
    "scaled", "Kept values are multiplied by n/k: RandK(k, scaled=True).", lambda compressor: compressor.scaled
)
ZERO_IS_PLUS_ONE = Hypothesis(
    "zero_is_plus_one",
    "The sign of zero is +1: Sign(zero=1), ScaledSign(zero=1).",
    lambda compressor: compressor.zero == 1,
)
ZERO_IS_ZERO = Hypothesis(
    "zero_is_zero", "The sign of zero is 0: Sign(zero=0), ScaledSign(zero=0).", lambda compressor: compressor.zero == 0
)
KEEPS_FLOOR = Hypothesis(
    "keeps_floor", "The compressor keeps max(1, floor(mu n)) entries.", Eq(k, sp.Max(1, sp.floor(mu * n)))
)
KEEPS_CEILING = Hypothesis("keeps_ceiling", "The compressor keeps ceil(mu n) entries.", Eq(k, sp.ceiling(mu * n)))
SHARE_AT_MOST_ONE = Hypothesis(
    "share_at_most_one",
    "The blocks kept would have at most n entries if all were full: the share is one.",
    Le(k * block, n),
)
FRESH_GAUSSIAN_SKETCH = Hypothesis(
    "fresh_gaussian_sketch",
    "Every call draws a new sketch, with independent standard Gaussian entries.",
    ensured="Draws are the compressor's own; where the law is integrated, it is over the angle of a Gaussian column.",
)
ANY_SKETCH = Hypothesis(
    "any_sketch",
    "The sketch is that of the previous step (warm start): for the current matrix, any one.",
    ensured="Every matrix gets the worst sketch, along its last right singular vectors.",
)
LEVELS_SQUARED = Hypothesis("levels_squared", "QSGD has s = sqrt(n) levels.", Eq(s**2, n))
BINARY64 = Hypothesis("binary64", "Entries are binary64 numbers.", Eq(itembits, 64))
FEW_LEVELS = Hypothesis("few_levels", "QSGD has at most sqrt(n)/2 levels.", Le(4 * s**2, n))
SEVERAL_LEVELS = Hypothesis("several_levels", "QSGD has two levels or more.", Ge(s, 2))
SOME_ALPHA = Hypothesis("some_alpha", "alpha is some fixed number between 0 and 1.", sp.Lt(alpha, 1))

# What the claim compares
ANY_FACTOR = Hypothesis(
    "any_factor",
    "The factor is any c > 0 in exact arithmetic; in floating point a power of two, since other products round.",
    ensured="Kernels get inputs times 2 and 1/4, exact inputs are multiplied by 3 and 1/2.",
)
OTHER_FACTOR = Hypothesis(
    "other_factor",
    "The factor is any c > 0, not only one that takes the compressor's levels to levels.",
    ensured="Inputs are multiplied by 3/2 (7/4 where the base may be 3/2), which is no power of a base tried.",
)
FACTOR_POWER_OF_TWO = Hypothesis(
    "factor_power_of_two",
    "The factor is a power of two that takes no entry out of the normal range or past the largest power of two.",
    lambda x: _sizes_between(x, 4.0 * float(_finfo(x).tiny), _largest_power(x) / 2.0),
)
FACTOR_POWER_OF_BASE = Hypothesis(
    "factor_power_of_base",
    "The factor is an integer power of the base that takes no entry out of the table's range; in floating point, the "
    "base is also a power of two, since other levels round.",
    lambda compressor, x, exact: (
        (exact or _is_power_of_two(float(compressor.base)))
        and _sizes_between(
            x, float(compressor.base) * float(_finfo(x).tiny), float(_finfo(x).max) / float(compressor.base) ** 2
        )
    ),
)
EXACT_ARITHMETIC = Hypothesis(
    "exact_arithmetic",
    "Arithmetic is exact: a kernel meets the claim up to the rounding of its scale, factors or levels.",
    ensured="Grids are exact; kernels are held to the claim up to the rounding that their operations explain.",
)

# Several workers
EXACT_SUMS = Hypothesis(
    "exact_sums", "All entries are whole numbers, and so small that sums over the workers are exact.", adds_exactly
)
NONZERO_AVERAGE = Hypothesis("nonzero_average", "The average of the workers' vectors is not zero.", _average)
SHARED_SUPPORT = Hypothesis(
    "shared_support",
    "All workers keep the same random set of entries.",
    ensured="One generator state, or one subset of the enumeration, serves all workers.",
)
INDEPENDENT_SUPPORTS = Hypothesis(
    "independent_supports",
    "Every worker draws its own set of entries, independently.",
    ensured="The workers' laws are multiplied; where sets are drawn, every worker draws its own.",
)
TWO_WORKERS = Hypothesis(
    "two_workers",
    "Two workers hold (1 + e, -1) and (-1, 1 + e) with e > 0, and each keeps its largest entry.",
    _two_workers,
)
