"""A value for every symbol in the book, at which bounds are evaluated."""

from fractions import Fraction

import sympy as sp

__all__ = ["VALUES"]

VALUES = {
    # compressors
    "n": 7, "k": 3, "m": 5, "r": 2, "s": 2, "b": Fraction(3, 2), "levels": 255, "mu": Fraction(1, 5),
    "alpha": Fraction(1, 10), "block": 2, "chunk": 3, "threshold": Fraction(1, 2), "itembits": 32, "entries": 4,
    "norm1": Fraction(3), "norm2": sp.sqrt(5), "norm3": sp.cbrt(9), "norminf": 2, "absdet": Fraction(2), "P": 3,
    "norm2bar": sp.sqrt(2), "sumsq": Fraction(17), "e": Fraction(1, 3),
    # collectives
}  # fmt: skip
