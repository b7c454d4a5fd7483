"""Which hyper-parameters to try on an input of n entries, and each compressor's natural parameter."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from commbounds.verify.compressor_study import Setups, Sweep
from commbounds.verify.experiments.sweeps import densities, values


def _draws(n: int) -> list[int]:
    """Few and many draws; their sequences are enumerated for up to three entries."""
    return {1: [1, 2], 2: [1, 2, 3], 3: [1, 2, 3]}.get(n, [1, 2, 2 * n])


def _budgets(n: int) -> list[Any]:
    return sorted({Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(n, 2), Fraction(n)})


SETUPS: Mapping[str, Setups] = {
    "ReplacementRandK": lambda cls, n: [cls(k) for k in _draws(n)],
    "ReplacementRandK added": lambda cls, n: [cls(k, added=True) for k in _draws(n)],
    "BernoulliLazy": lambda cls, n: [cls(keep) for keep in (Fraction(1, 2), Fraction(1, 3), Fraction(1))],
    "Atomic": lambda cls, n: [cls(budget) for budget in _budgets(n)],
    "ClippedTernGrad": lambda cls, n: [
        cls(clip) for clip in (Fraction(5, 2), Fraction(1), Fraction(1, 2), Fraction(8))
    ],
    "TwoMeans": lambda cls, n: [cls()],
    "ThreeLC": lambda cls, n: [cls(sparsity) for sparsity in (Fraction(1), Fraction(3, 2), Fraction(7, 4))],
    "ThreeLC plain": lambda cls, n: [cls(sparsity, zero_run=False) for sparsity in (Fraction(1), Fraction(7, 4))],
    "UniformBuckets": lambda cls, n: [cls(2, 6), cls(4, 1), cls(3, 2)],
    "QuantileBuckets": lambda cls, n: [cls(2), cls(3), cls(8)],
}
"""Instances by compressor; a second word names a variant of it."""

SWEEPS: Mapping[str, Sweep] = {
    "ReplacementRandK": densities(lambda cls, k: cls(k)),
    "ReplacementRandK added": densities(lambda cls, k: cls(k, added=True)),
    "BernoulliLazy": values(
        "keep", (Fraction(1, 5), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), 1)
    ),
    "Atomic": densities(lambda cls, k: cls(k)),
    "ClippedTernGrad": values("clip", (0.25, 0.5, 1.0, 2.0, 2.5, 4.0, 8.0, 16.0)),
    "ThreeLC": values("sparsity", (1.0, 1.25, 1.5, 1.75, 1.875, 1.9375)),
    "UniformBuckets": values("buckets", (2, 4, 16, 64, 256, 1024)),
    "QuantileBuckets": values("buckets", (2, 4, 16, 64, 256, 1024)),
}
"""Natural parameter by compressor (and variant); the others are drawn over the number of entries."""
