"""Symbols, quantities, hypotheses and works of the column arctopk."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis
from commbounds.theory.quantities import P, Quantity, k, m, n, r
from commbounds.theory.sources import Work
from commbounds.theory.symbols import Symbol

square = Symbol("odd_square", "w", Fraction(3, 5), positive=True)
"""Squared norm of the odd row out, beside parallel rows of norm one."""
eps = Symbol("epsilon", example=Fraction(1, 2), positive=True)
"""Relative distortion of a squared norm by the sketch."""
delta = Symbol("delta", example=Fraction(1, 10), positive=True)
"""Probability of failure."""


class retained(sp.Function):  # type: ignore[misc]
    """rho(m, r) = integral over u in [0, 1] of F^-1(u) / F^-1(1 - (1 - u)/m), F the chi-square law of r degrees."""

    nargs = 2
    is_positive = True

    def _eval_evalf(self, prec: int) -> Any:
        rows, rank = (float(v) for v in self.args)
        return sp.Float(_retained(rows, rank), 15)

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"\rho\left({printer.doprint(self.args[0])},{printer.doprint(self.args[1])}\right)"

    @staticmethod
    def _imp_(rows: Any, rank: Any) -> Any:
        import numpy as np

        return np.vectorize(_retained, otypes=[float])(rows, rank)


@lru_cache(maxsize=4096)
def _retained(rows: float, rank: float) -> float:
    """By adaptive quadrature, to 1e-10."""
    from scipy.integrate import quad
    from scipy.special import gammaincinv

    def quantile(u: float) -> float:
        return float(gammaincinv(rank / 2, u))  # half of it

    value, _ = quad(lambda u: quantile(u) / quantile(1 - (1 - u) / rows), 0.0, 1.0, epsabs=1e-10, epsrel=0.0, limit=200)
    return float(value)


ROW_ERROR = Quantity(
    "row_error",
    r"\frac{\mathbb{E}\,\lVert \frac1P\sum_p C(G_p)-\bar G\rVert_F^2}{\lVert\bar G\rVert_F^2}",
    "squared error of the average of the ranks' compressed gradients over the squared norm of their average, expected "
    "over the sketch; the average is not zero",
)
COMMUTATION = Quantity(
    "commutation",
    r"\left\lVert \frac1P\sum_p C(G_p)-C(\bar G)\right\rVert_\infty",
    "largest difference between the average of the compressed gradients and the compressed average",
)
FAILURE = Quantity(
    "failure_rate",
    r"\Pr\left[\lVert C(\bar G)\rVert^2<\tfrac{1-\epsilon}{1+\epsilon}\max_{|S|=k}\lVert\bar G_S\rVert^2\right]",
    "probability that less than (1 - eps)/(1 + eps) of the k largest rows' squared norm is kept",
)
MASKS = Quantity("masks", r"\#\{p: S_p\neq S_1\}", "ranks that select different rows from rank 1")
WORDS_RATIO = Quantity(
    "words_ratio",
    r"\frac{\mathrm{received}_{\mathrm{TopkA}}}{\mathrm{received}_{\mathrm{ARC}}}",
    "words that a rank receives when Top-K of k n entries is gathered, over those of ARC-Top-K of k rows",
)


def _averages_exactly(x: Any) -> bool:
    """Whether the ranks' entries are integers below 2^20 and every sum over the ranks a multiple of P's odd part."""
    ranks = len(x)
    odd = ranks // (ranks & -ranks)
    return bool((x == x.round()).all() and (abs(x) < 2**20).all() and (x.sum(axis=0) % odd == 0).all())


def _orthogonal(x: Any) -> bool:
    """Whether different rows of a matrix have inner product zero."""
    return not any((x[i + 1 :] @ x[i]).any() for i in range(len(x) - 1))


def _parallel_and_one(x: Any, k: int, r: int) -> bool:
    """Whether all rows but the last are one vector of norm 1, orthogonal to it; and K = r = 1."""
    first, last = x[0], x[-1]
    return len(x) >= 2 and k == r == 1 and bool((x[:-1] == first).all() and first @ first == 1 and first @ last == 0)


def _one_row_cancels(x: Any) -> bool:
    """Whether a row of one rank is the other's negative, and larger than any other row."""
    if len(x) != 2:
        return False
    sizes = (x * x).sum(axis=(0, 2))
    largest = int(sizes.argmax())
    return bool((x[0, largest] == -x[1, largest]).all() and (sizes < sizes[largest]).sum() == len(sizes) - 1)


SHARED_SKETCH = Hypothesis(
    "shared_sketch",
    "All ranks use one sketch, a new one for every call.",
    ensured="A call has one sketch: it draws it from its generator, or, where all directions of a sketch are gone "
    "through, it is given each.",
)
EXACT_SUMS = Hypothesis(
    "exact_averages",
    "Sums and averages are exact: entries are integers whose average is a binary fraction.",
    _averages_exactly,
)
NONZERO_ROWS = Hypothesis("nonzero_rows", "The average gradient is not zero.", lambda x: bool(x.any()))
ORTHOGONAL_ROWS = Hypothesis(
    "orthogonal_rows", "The rows of the average gradient are mutually orthogonal.", _orthogonal
)
ONE_KEPT_OF_TWO = Hypothesis("one_kept_of_two", "One of two rows is kept.", Eq(m, 2) & Eq(k, 1))
PARALLEL_AND_ONE = Hypothesis(
    "parallel_and_one",
    "m - 1 rows are one vector of norm 1, the last is orthogonal to them; one row is kept, the sketch has rank 1.",
    _parallel_and_one,
)
FLOOR_ROWS = Hypothesis(
    "floor_rows", "max(1, floor(mu m)) rows are kept, as in published hooks.", lambda rule: rule == "floor"
)
CEILING_ROWS = Hypothesis("ceiling_rows", "ceil(mu m) rows are kept.", lambda rule: rule == "ceil")
LARGE_RANK = Hypothesis(
    "large_rank",
    "The sketch has rank r >= 4 ln(2 m/delta)/(eps^2 - eps^3).",
    Ge(r, 4 * sp.log(2 * m / delta) / (eps**2 - eps**3)),
)
ONE_ROW_CANCELS = Hypothesis(
    "one_row_cancels", "Two ranks hold a row that is large and cancels in the average.", _one_row_cancels
)
SAME_BITS = Hypothesis(
    "same_bits", "Every rank ends the sketch's all-reduce with the same bits.", lambda sums: sums == "one order"
)
OWN_ORDERS = Hypothesis(
    "own_orders",
    "Every rank gathers the sketches and adds them up beginning with its own.",
    lambda sums: sums == "own orders",
)
TWO_RINGS = Hypothesis(
    "two_rings", "Sketches and rows are added up by ring all-reduces.", lambda allreduce: allreduce == "ring"
)
TWO_DOUBLINGS = Hypothesis(
    "two_doublings", "Sketches and rows are added up by recursive doubling.", lambda allreduce: allreduce == "doubling"
)
SEVERAL_RANKS = Hypothesis("arc_several_ranks", "There are at least two ranks: one alone moves no words.", Ge(P, 2))
BLOCKS_OF_BOTH = Hypothesis(
    "blocks_of_both", "P divides m r and k n.", Eq(sp.Mod(m * r, P), 0) & Eq(sp.Mod(k * n, P), 0)
)

ARC_2025 = Work(
    "C. Chen, C. Ma, Z. Li, Y. He, Y. Dong, K. Yuan, 2025, An all-reduce compatible Top-K compressor for "
    "communication-efficient distributed learning, arXiv:2510.26709",
    "Algorithm 1 and notation from a public study, the rest from the authors' README; the theorem on contraction was "
    "not read.",
)
