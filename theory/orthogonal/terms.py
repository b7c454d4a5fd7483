"""Symbols, quantities, hypotheses and works of the column orthogonal."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis
from commbounds.theory.quantities import P, Quantity, m, n, r
from commbounds.theory.sources import Work
from commbounds.theory.symbols import Symbol

MUON_2024 = Work(
    "K. Jordan, Y. Jin, V. Boza, J. You, F. Cesista, L. Newhouse, J. Bernstein, 2024, Muon: an optimizer for hidden "
    "layers in neural networks"
)
DION_2025 = Work(
    "K. Ahn, B. Xu, N. Abreu, J. Langford, 2025, Dion: distributed orthonormalized updates, arXiv:2504.05295"
)
HIGHAM_2008 = Work("N. J. Higham, 2008, Functions of matrices: theory and computation")

singular = Symbol("singular", r"\sigma", Fraction(1, 5), nonnegative=True)
"""A singular value of the average gradient over its Frobenius norm; in [0, 1]."""
iterations = Symbol("schulz_steps", "T", 3, integer=True, nonnegative=True)
"""Newton-Schulz iterations."""
square_before = Symbol("square_before", r"\lVert B\rVert_F^2", Fraction(9), nonnegative=True)
"""Squared Frobenius norm of momentum and gradient."""
square_taken = Symbol("square_taken", r"\lVert U^TB\rVert_F^2", Fraction(4), nonnegative=True)
"""That of what is taken of it."""
keeps = Symbol("keeps", r"\mu", Fraction(3, 4), nonnegative=True)
"""mu of Dion, in [0, 1]."""

A, B, C = sp.Rational(34445, 10000), sp.Rational(-4775, 1000), sp.Rational(20315, 10000)
_root = sp.sqrt(9 * B**2 - 20 * A * C)
_low, _high = ((-3 * B - sign * _root) / (10 * C) for sign in (1, -1))


def quintic(x: sp.Expr) -> sp.Expr:
    """What one iteration makes of a singular value."""
    return A * x + B * x**3 + C * x**5


TOP = sp.sqrt(_low) * (A + B * _low + C * _low**2)
"""The local maximum of the quintic, 1.20237."""
BOTTOM = sp.sqrt(_high) * (A + B * _high + C * _high**2)
"""Its local minimum, 0.68183."""


def of_one(steps: int) -> sp.Rational:
    """What the iterations make of the singular value 1: a rational number."""
    value = sp.Integer(1)
    for _ in range(steps):
        value = quintic(value)
    return value


VALUE = Quantity("singular_after", r"\sigma_T", "the singular value that a singular value becomes")
SQUARE_GAP = Quantity("square_gap", r"1-\sigma_T^2", "one less the square of what a singular value becomes")
ONE_GAP = Quantity("one_gap", r"1-\sigma_1", "one less what a singular value becomes in one iteration")
KEPT_SQUARE = Quantity("kept_square", r"\lVert M^+\rVert_F^2", "squared Frobenius norm of what Dion keeps of one rank")
UPDATE_SQUARE = Quantity("update_square", r"\lVert UQ^T\rVert_F^2", "squared Frobenius norm of Dion's update")
UPDATE_SPECTRAL = Quantity("update_spectral", r"\lVert UQ^T\rVert_2", "largest singular value of Dion's update")

MUON = Hypothesis("muon_iteration", "The quintic with the coefficients 3.4445, -4.7750, 2.0315.",
                  lambda iteration: iteration == "muon")  # fmt: skip
CUBIC = Hypothesis("cubic_iteration", "The cubic 3/2 x - x^3/2.", lambda iteration: iteration == "cubic")
FIVE = Hypothesis("five_iterations", "There are five iterations.", Eq(iterations, 5))
ONCE = Hypothesis("one_iteration", "There is one iteration.", Eq(iterations, 1))
ALONE = Hypothesis("rank_one_gradient", "The average gradient has rank one.", Eq(singular, 1))
NOT_TINY = Hypothesis("not_tiny", "The singular value is at least 1/660 of the norm.", Ge(660 * singular, 1))
WHOLE_BLOCKS = Hypothesis(
    "whole_blocks_of_factors", "The number of ranks divides m r and n r.",
    Eq(sp.Mod(m * r, P), 0) & Eq(sp.Mod(n * r, P), 0),
)  # fmt: skip
ONE_WORKER = Hypothesis("one_dion_worker", "There is one worker.", Eq(P, 1))
FULL_COLUMNS = Hypothesis(
    "full_columns",
    "The columns of B Q are independent, and no column of B^T U is zero.",
    lambda full: full,
)
