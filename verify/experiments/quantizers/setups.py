"""Which hyper-parameters to try on an input of n entries, and each compressor's natural parameter."""

from collections.abc import Mapping
from fractions import Fraction

from commbounds.verify.compressor_study import Setups, Sweep
from commbounds.verify.experiments.sweeps import values

SETUPS: Mapping[str, Setups] = {
    "Sign": lambda cls, n: [cls()],
    "Sign zero": lambda cls, n: [cls(zero=0)],
    "ScaledSign": lambda cls, n: [cls()],
    "ScaledSign zero": lambda cls, n: [cls(zero=0)],
    "QSGD": lambda cls, n: [cls(levels) for levels in (1, 2, 4, 127)],
    "MaxDithering": lambda cls, n: [cls(levels) for levels in (1, 3, 8)],
    "TernGrad": lambda cls, n: [cls()],
    "NaturalCompression": lambda cls, n: [cls()],
    "NaturalDithering": lambda cls, n: [cls(levels) for levels in (1, 3, 8)],
    "StochasticPower": lambda cls, n: [cls(base) for base in (2, Fraction(3, 2), 3)],
    "NearestPower": lambda cls, n: [cls()],
}
"""Instances by compressor; a second word names a variant of it."""

SWEEPS: Mapping[str, Sweep] = {
    "QSGD": values("levels", (1, 2, 4, 8, 16, 24, 32, 64, 127)),
    "MaxDithering": values("levels", (1, 2, 4, 8, 16, 32, 64, 127)),
    "NaturalDithering": values("levels", (1, 2, 3, 4, 6, 8, 12)),
    "StochasticPower": values("base", (Fraction(9, 8), Fraction(5, 4), Fraction(3, 2), 2, 3, 4, 8)),
}
"""Natural parameter by compressor (and variant); the others are drawn over the number of entries."""
