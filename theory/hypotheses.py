"""The conditions under which claims are made, under stable names that experiments look up."""

from __future__ import annotations

from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Hypothesis
from commbounds.theory.quantities import P, alpha, k, m, mu, n, r, s


def adds_exactly(x: Any) -> bool:
    """Whether all entries are whole and no sum of the rows needs more bits than a number of their dtype has."""
    largest = 2.0 ** (24 if x.dtype.itemsize == 4 else 53)
    return bool((x == x.round()).all() and abs(x).astype("float64").sum(axis=0).max() <= largest)


# Inputs
NO_ZERO_ENTRIES = Hypothesis("no_zero_entries", "No entry is zero.")
ONE_SPARSE = Hypothesis("one_sparse", "Exactly one entry is not zero.")
NORMAL_ENTRIES = Hypothesis(
    "normal_entries", "Every entry is zero or, in magnitude, at least the smallest normal number of the dtype."
)
WITHIN_LARGEST_POWER = Hypothesis(
    "within_largest_power", "No entry exceeds the largest power of two of the dtype (2^127, 2^1023) in magnitude."
)
WITHIN_LEVELS = Hypothesis(
    "within_levels",
    "Every entry is zero or, in magnitude, between the smallest and the largest level of the compressor's table.",
)
POWER_ENTRIES = Hypothesis(
    "power_entries", "Every entry is zero or plus or minus a power of two that is a normal number of the dtype."
)
SPECTRAL_GAP = Hypothesis(
    "spectral_gap", "The r-th singular value is larger than the next, so that the best rank-r matrix is unique."
)
TWO_SINGULAR_VALUES = Hypothesis(
    "two_singular_values",
    "The smaller side of the matrix is 2 and the rank is 1.",
    Eq(sp.Min(m, n), 2) & Eq(r, 1),
)

# Variants of a compressor
UNSCALED = Hypothesis("unscaled", "Kept values are sent as they are: RandK(k, scaled=False).")
SCALED = Hypothesis("scaled", "Kept values are multiplied by n/k: RandK(k, scaled=True).")
ZERO_IS_PLUS_ONE = Hypothesis("zero_is_plus_one", "The sign of zero is +1: Sign(zero=1), ScaledSign(zero=1).")
ZERO_IS_ZERO = Hypothesis("zero_is_zero", "The sign of zero is 0: Sign(zero=0), ScaledSign(zero=0).")
KEEPS_FLOOR = Hypothesis(
    "keeps_floor", "The compressor keeps max(1, floor(mu n)) entries.", Eq(k, sp.Max(1, sp.floor(mu * n)))
)
KEEPS_CEILING = Hypothesis("keeps_ceiling", "The compressor keeps ceil(mu n) entries.", Eq(k, sp.ceiling(mu * n)))
FRESH_GAUSSIAN_SKETCH = Hypothesis(
    "fresh_gaussian_sketch", "The sketch is drawn anew for every call, its entries independent standard Gaussians."
)
ANY_SKETCH = Hypothesis(
    "any_sketch", "The sketch is whatever the previous step left (warm start): for the matrix at hand, anything."
)
LEVELS_SQUARED = Hypothesis("levels_squared", "QSGD has s = sqrt(n) levels.", Eq(s**2, n))
SOME_ALPHA = Hypothesis("some_alpha", "alpha is some fixed number between 0 and 1.", sp.Lt(alpha, 1))

# What the claim compares
ANY_FACTOR = Hypothesis(
    "any_factor",
    "The factor is any c > 0 in exact arithmetic; in floating point a power of two that neither over- nor underflows, "
    "since other products round.",
)
FACTOR_POWER_OF_TWO = Hypothesis(
    "factor_power_of_two", "The factor is a power of two that takes no entry out of the normal range."
)
FACTOR_POWER_OF_BASE = Hypothesis(
    "factor_power_of_base",
    "The factor is an integer power of the base that takes no entry out of the table's range; in floating point, "
    "the base is a power of two besides, since other levels round.",
)
EXACT_ARITHMETIC = Hypothesis(
    "exact_arithmetic",
    "Arithmetic is exact: a kernel meets the claim up to the rounding of its scale, factors or levels.",
)

# Several workers
EXACT_SUMS = Hypothesis(
    "exact_sums", "All entries are whole numbers, and so small that sums over the workers are exact.", adds_exactly
)
NONZERO_AVERAGE = Hypothesis("nonzero_average", "The average of the workers' vectors is not zero.")
SHARED_SUPPORT = Hypothesis("shared_support", "All workers keep the same random set of entries.")
INDEPENDENT_SUPPORTS = Hypothesis("independent_supports", "Every worker draws its own set of entries, independently.")
TWO_WORKERS = Hypothesis(
    "two_workers",
    "Two workers hold (1 + e, -1) and (-1, 1 + e) with e > 0, and each keeps its largest entry.",
    Eq(P, 2) & Eq(n, 2) & Eq(k, 1),
)
