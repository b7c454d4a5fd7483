"""Symbols, quantities, hypotheses and works of the column orthogonal."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis
from commbounds.theory.quantities import P, Quantity, m, n, r
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

MUON_AT = Repository("KellerJordan/Muon", "857d1adc159e098212f828d927460782d3da59e9")
DION_AT = Repository("microsoft/dion", "0a059a4542e5aa74b40dcd1dce363836c7afcd48")
MUON_2024 = Work(
    "K. Jordan, Y. Jin, V. Boza, J. You, F. Cesista, L. Newhouse, J. Bernstein, 2024, Muon: an optimizer for hidden "
    "layers in neural networks"
)
DION_2025 = Work(
    "K. Ahn, B. Xu, N. Abreu, J. Langford, 2025, Dion: distributed orthonormalized updates, arXiv:2504.05295"
)
AMSEL_2025 = Work(
    "N. Amsel, D. Persson, C. Musco, R. M. Gower, 2025, The Polar Express: optimal matrix sign methods and their "
    "application to the Muon algorithm, arXiv:2505.16932",
    "The abstract, section 1.2 and algorithm 1 were read.",
)
ORTH_DION_2026 = Work(
    "T. Nakamori and others, 2026, Orth-Dion: eliminating geometric mismatch in distributed low-rank spectral "
    "optimization, arXiv:2605.16341"
)
EF21_MUON_2025 = Work(
    "K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtárik, 2025, Error feedback for Muon and friends, "
    "arXiv:2510.00643"
)
HIGHAM_2008 = Work("N. J. Higham, 2008, Functions of matrices: theory and computation, doi:10.1137/1.9780898717778")

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
nuclear_taken = Symbol("nuclear_taken", r"\lVert U^TB\rVert_*", Fraction(5), nonnegative=True)
"""Sum of the singular values of what Dion takes."""
dion_steps = Symbol("dion_steps", "T", 3, integer=True, positive=True)
"""Steps of Dion, from no momentum on."""
largest_gradient = Symbol("largest_gradient", r"\max_t\lVert G_t\rVert_F", Fraction(2), nonnegative=True)
"""Frobenius norm of the largest gradient of a run."""

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


def _decimal(number: str, power: int) -> sp.Rational:
    return sp.Rational(number) / sp.Rational(101, 100) ** power


POLAR = tuple(
    tuple(_decimal(number, power) for number, power in zip(row, powers, strict=True))
    for row, powers in (
        (("8.28721201814563", "-23.595886519098837", "17.300387312530933"), (2, 6, 10)),
        (("4.107059111542203", "-2.9478499167379106", "0.5448431082926601"), (1, 3, 5)),
        (("3.9486908534822946", "-2.908902115962949", "0.5518191394370137"), (1, 3, 5)),
        (("3.3184196573706015", "-2.488488024314874", "0.51004894012372"), (1, 3, 5)),
        (("2.300652019954817", "-1.6689039845747493", "0.4188073119525673"), (1, 3, 5)),
        (("1.891301407787398", "-1.2679958271945868", "0.37680408948524835"), (1, 3, 5)),
    )
)
"""Coefficients of the first six iterations of Polar Express, with its safety factor; the first is about the matrix over
its norm, which is divided by 1.01 as well."""


def polar_of(value: sp.Rational, steps: int) -> sp.Rational:
    """What up to six iterations of Polar Express make of a rational singular value: a rational number."""
    for a, b, c in POLAR[:steps]:
        value = a * value + b * value**3 + c * value**5
    return value


def _local_maximum(a: sp.Rational, b: sp.Rational, c: sp.Rational) -> sp.Expr:
    square = (-3 * b - sp.sqrt(9 * b**2 - 20 * a * c)) / (10 * c)
    return sp.sqrt(square) * (a + b * square + c * square**2)


_DIGITS = 10**12
POLAR_TOP = sp.Rational(sp.ceiling(_local_maximum(*POLAR[4]) * _DIGITS), _DIGITS)
"""The local maximum of the fifth polynomial of Polar Express, rounded up to twelve digits: 1.123559."""
POLAR_LEAST = {
    # the rational numbers themselves have hundreds of thousands of digits
    steps: sp.Rational(sp.floor(polar_of(sp.Float("1e-3", 80), steps) * _DIGITS), _DIGITS)
    for steps in (5, 6)
}
"""What 1/1000 becomes, rounded down to twelve digits: 0.840145 after five iterations and 0.993479 after six."""

VALUE = Quantity("singular_after", r"\sigma_T", "result of a singular value")
SQUARE_GAP = Quantity("square_gap", r"1-\sigma_T^2", "one less the square of a singular value's result")
ONE_GAP = Quantity("one_gap", r"1-\sigma_1", "one less the result of a singular value in one iteration")
VALUE_ERROR = Quantity("value_error", r"|1-\sigma_T|", "distance of a singular value's result from one")
ONES = Quantity("singular_ones", r"\#\{\sigma:\sigma_T=1\}", "how many singular values become one exactly")
OFF_SHARE = Quantity(
    "off_share",
    r"1-\frac{\langle X_T,G\rangle^2}{\lVert X_T\rVert_F^2\lVert G\rVert_F^2}",
    "share of the update's squared norm that is not along the average gradient",
)
MEAN_OFF_SHARE = Quantity(
    "mean_off_share",
    r"\mathbb{E}\left[1-\frac{\langle X_T,G\rangle^2}{\lVert X_T\rVert_F^2\lVert G\rVert_F^2}\right]",
    "mean share of the update's squared norm that is not along the average gradient",
)
ALIGNED = Quantity(
    "aligned", r"\langle UQ^T,B\rangle", "inner product of Dion's update with the momentum and gradient of all ranks"
)
DION_DEFECT = Quantity(
    "dion_defect",
    r"\left\lVert \tfrac1P\sum_pM_p^T+(1-\mu)\sum_tU_tR_t^T-\sum_t\bar G_t\right\rVert_\infty",
    "largest entry of the ranks' mean buffer, plus 1 - mu times all parts taken, less all average gradients",
)
BUFFER = Quantity("dion_buffer", r"\lVert M^T\rVert_F", "Frobenius norm of Dion's buffer after T steps")
SPECTRAL_SHARE = Quantity(
    "spectral_share",
    r"\frac{\lVert C(X)-X\rVert_2^2}{\lVert X\rVert_2^2}",
    "squared largest singular value of a compressor's error, over that of the matrix, which is not zero",
)
NUCLEAR_SHARE = Quantity(
    "nuclear_share",
    r"\frac{\lVert C(X)-X\rVert_*^2}{\lVert X\rVert_*^2}",
    "squared sum of the singular values of a compressor's error, over that of the matrix, which is not zero",
)
KEPT_SQUARE = Quantity("kept_square", r"\lVert M^+\rVert_F^2", "squared Frobenius norm of one rank's buffer of Dion")
UPDATE_SQUARE = Quantity("update_square", r"\lVert UQ^T\rVert_F^2", "squared Frobenius norm of Dion's update")
UPDATE_SPECTRAL = Quantity("update_spectral", r"\lVert UQ^T\rVert_2", "largest singular value of Dion's update")

MUON = Hypothesis("muon_iteration", "The quintic with the coefficients 3.4445, -4.7750, 2.0315.",
                  lambda iteration: iteration == "muon")  # fmt: skip
IN_DTYPE = Hypothesis(
    "in_its_dtype",
    "The iterations are computed in float32 or float64, and the claim is about exact arithmetic.",
    lambda arithmetic: arithmetic == "dtype",
)
IN_BFLOAT16 = Hypothesis(
    "in_bfloat16",
    "The iterations are computed as the code runs: in bfloat16, products of matrices summed in float32.",
    lambda arithmetic: arithmetic == "bfloat16",
)
DIAGONAL = Hypothesis(
    "diagonal_gradient", "The singular vectors of the average gradient are axes.", lambda turned: not turned
)
GAUSSIAN_PRODUCT = Hypothesis(
    "gaussian_product",
    "The average gradient is the product of two independent Gaussian vectors of 32 to 64 entries.",
    ensured="All draws are.",
)
CUBIC = Hypothesis("cubic_iteration", "The cubic 3/2 x - x^3/2.", lambda iteration: iteration == "cubic")
QUINTIC = Hypothesis(
    "quintic_schulz", "Newton-Schulz of degree 5, (15 x - 10 x^3 + 3 x^5)/8.", lambda iteration: iteration == "quintic"
)
EXPRESS = Hypothesis(
    "polar_express_iteration",
    "Polar Express with its safety factor, and the coefficients that are optimal from 1/1000 on.",
    lambda iteration: iteration == "polar_express",
)
SIX = Hypothesis("six_iterations", "There are six iterations.", Eq(iterations, 6))
THOUSANDTH = Hypothesis(
    "from_a_thousandth", "The singular value is at least 1/1000 of the norm.", Ge(1000 * singular, 1)
)
COLUMNS_NORMED = Hypothesis(
    "columns_normed", "Columns of the right factor are divided by their norms.", lambda right: right == "columns"
)
RIGHT_ORTHONORMAL = Hypothesis(
    "right_orthonormal",
    "The right factor is made orthonormal, by Gram and Schmidt.",
    lambda right: right == "orthonormal",
)
MU_BELOW_ONE = Hypothesis("mu_below_one", "mu is below 1.", sp.Lt(keeps, 1))
LEFT_OUT = Hypothesis("matrix_not_zero", "The matrix is not zero.", lambda x: bool(x.any()))
FIVE = Hypothesis("five_iterations", "There are five iterations.", Eq(iterations, 5))
ONCE = Hypothesis("one_iteration", "There is one iteration.", Eq(iterations, 1))
ALONE = Hypothesis("rank_one_gradient", "The average gradient has rank one.", Eq(singular, 1))
TINY = Hypothesis("tiny", "The singular value is at most 1/665 of the norm.", sp.Le(665 * singular, 1))
NOT_TINY = Hypothesis("not_tiny", "The singular value is at least 1/660 of the norm.", Ge(660 * singular, 1))
WHOLE_BLOCKS = Hypothesis(
    "whole_blocks_of_factors", "The number of ranks divides m r and n r.",
    Eq(sp.Mod(m * r, P), 0) & Eq(sp.Mod(n * r, P), 0),
)  # fmt: skip
ONE_WORKER = Hypothesis("one_dion_worker", "There is one worker.", Eq(P, 1))
FULL_COLUMNS = Hypothesis(
    "full_columns", "The columns of B Q are independent, and no column of B^T U is zero.", lambda full: full
)
