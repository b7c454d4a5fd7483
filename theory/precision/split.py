"""Computations that are split over ranks: the claims, whose bounds `parallel` puts numbers in."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.theory.claim import Claim, Hypothesis, Le, for_one_reason
from commbounds.theory.dense.terms import unit
from commbounds.theory.functions import ExactFunction
from commbounds.theory.precision.bounds import any_order, any_tree, followed, one_rounding
from commbounds.theory.precision.formats import format_named
from commbounds.theory.precision.terms import on_the_wire, wire_unit
from commbounds.theory.quantities import P, Quantity
from commbounds.theory.sources import derived
from commbounds.theory.symbols import Symbol, expression

TF32_DIGITS = 11
"""Of tf32, which has float32's exponents."""

terms = Symbol("terms", "K", 5, integer=True, positive=True)
"""Products of the rank that has most; entries of a norm."""
batches = Symbol("batches", "M", 3, integer=True, positive=True)
"""Micro-batches of a rank."""
replicas = Symbol("replicas", "R", 2, integer=True, positive=True)
"""Of HSDP: ranks are reduced in groups of P/R, then over the groups."""
classes = Symbol("classes", "V", 12, integer=True, positive=True)
"""Of all ranks together."""
own_classes = Symbol("own_classes", "V_p", 4, integer=True, positive=True)
"""Of the rank that has most."""
operand_unit = Symbol("operand_unit", "t", Fraction(1, 2**11), nonnegative=True)
"""Unit roundoff of the format that operands are rounded to first; 0 where they are not."""
cast_unit = Symbol("cast_unit", "c", Fraction(1, 16), nonnegative=True)
"""Unit roundoff of the wire, where it does not hold the accumulator's numbers; 0 where it does."""
division_unit = Symbol("division_unit", "q", Fraction(1, 16), nonnegative=True)
"""Unit roundoff of the format in which a sum is divided; 0 where it is not."""
ulps = Symbol("ulps", "f", 1, positive=True)
"""Units in the last place that exp, log and roots may be off."""
shift = Symbol("logit_shift", r"\lvert x_t-\max x\rvert", Fraction(3, 2), nonnegative=True)
"""Of the target's logit."""
loss = Symbol("token_loss", r"\ell", Fraction(7, 2), nonnegative=True)
"""The exact one."""
moved = Symbol("moved_by", r"\delta", Fraction(1, 3), nonnegative=True)
"""Root mean square of what entries are moved by; of one gradient, what it is off."""
root = Symbol("root_of_squares", "r", Fraction(5, 2), positive=True)
"""Of the mean square and eps."""
gradient = Symbol("gradient_size", r"\lvert g\rvert", Fraction(5, 4), positive=True)
"""Magnitude of the exact one."""
eps = Symbol("step_eps", r"\varepsilon", Fraction(1, 16), positive=True)
"""Added to the magnitude of a gradient."""


class softmax_distance(ExactFunction):
    """W((V - 1)/e), Lambert's, rounded up: the root of y exp(1 + y) = V - 1."""

    nargs = 1

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """The value for V classes, at least 1, to 30 digits."""
        if arguments[0] == 1:
            return Fraction(0)
        found = Fraction(str(sp.LambertW((sp.Integer(arguments[0]) - 1) / sp.E).evalf(40)))
        return found * (1 + Fraction(1, 10**30))

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"W\left(\frac{{{printer.doprint(self.args[0])}-1}}{{e}}\right)"


# --- bounds -----------------------------------------------------------------------------------------------------------


def product_error(operand: Any, product: Any, added: Any) -> Any:
    """Of a sum of products, relative to the magnitudes: both operands are rounded, the product, and the sum."""
    return followed(followed(followed(operand, operand), product), added)


def reduced(own: Any, cast: Any, across: Any) -> Any:
    """What a rank's part is off, then its rounding to the wire, then the sum over ranks."""
    return followed(own, followed(cast, across))


def log_sum_error(distance: Any, unit: Any, sums: Any) -> Any:
    """Of the log of a sum of exponentials, but for its own rounding: by rounded differences, and by `sums`."""
    return -distance * sp.log(1 - unit) - sp.log(1 - sums)


def loss_error(log_sum: Any, unit: Any, function: Any, classes: Any, shift: Any, loss: Any) -> Any:
    """Of a loss, by the log of the sum, its own rounding, the target's difference and their sum."""
    log = (1 + function) * log_sum + function * sp.log(expression("classes", classes))
    return (1 + unit) * (log + unit * shift) + unit * loss


def mean_square_error(unit: Any, sums: Any) -> Any:
    """Of a mean square: every square, the sum, 1/n, the product with it and the sum with eps are rounded."""
    twice = followed(unit, unit)
    return followed(followed(twice, twice), sums)


def normed_error(unit: Any, function: Any, mean: Any) -> Any:
    """Of an entry over its root, and of its product with a weight."""
    root = sp.sqrt(1 - mean)
    above = followed(followed(unit, unit), function)
    below = function + (1 - function) * mean / (1 + root)
    return (above + below) / ((1 - function) * root)


def root_moved(moved: Any, root: Any) -> Any:
    """How far 1/root moves, times root, where entries move by a vector of that root mean square."""
    return moved / (root - moved)


def step_moved(moved: Any, size: Any, eps: Any) -> Any:
    """How far g/(|g| + eps) moves with g."""
    return eps * moved / ((size + eps) * (size - moved + eps))


# --- claims -----------------------------------------------------------------------------------------------------------

_V = one_rounding(unit)
_FUNCTION = 2 * unit * ulps
_ACROSS = followed(one_rounding(cast_unit), any_order(P, wire_unit))
_SUMS = followed(_FUNCTION, followed(any_order(own_classes, unit), _ACROSS))
_GRADIENT = reduced(any_order(batches, unit), one_rounding(cast_unit), any_order(P / replicas, wire_unit))

PRODUCT_ERROR = Quantity(
    "split_product_error", r"\frac{\lvert y-\sum_k a_k b_k\rvert}{\sum_k\lvert a_k b_k\rvert}",
    "error of a product over the sum of its terms' magnitudes",
)  # fmt: skip
GRADIENT_ERROR = Quantity(
    "split_gradient_error", r"\max_i\frac{\lvert y_i-g_i\rvert}{\sum\lvert g_{p,m,i}\rvert/D}",
    "largest error of an entry of the gradient, over the magnitudes of all micro-batches, divided as it is",
)  # fmt: skip
LOSS_ERROR = Quantity("token_loss_error", r"\lvert y-\ell\rvert", "error of a token's loss")
DISTANCE = Quantity(
    "softmax_mean_distance", r"\sum_i p_i(\max x-x_i)", "mean distance of a logit to the largest, by the softmax"
)
NORM_ERROR = Quantity(
    "split_norm_error",
    r"\max_i\frac{\lvert y_i-e_i\rvert}{\lvert e_i\rvert}",
    "largest relative error of a normalised entry",
)
ROOT_MOVED = Quantity(
    "root_moved", r"\lvert r/r'-1\rvert", "by how much of itself the reciprocal of a root moves, with its entries"
)
STEP_MOVED = Quantity(
    "step_moved", r"\lvert h(g')-h(g)\rvert", "how far a first step of Adam moves, in units of the rate"
)

HALF_THE_DIGITS = Hypothesis(
    "half_the_digits",
    "Operands, rounded to tf32 or as they are, have half the accumulator's digits at most: products are exact.",
    lambda accumulate, digits: 2 * digits <= format_named(accumulate).digits,
)
FAR_FROM_ENDS = Hypothesis(
    "far_from_ends",
    "Numbers are zero or between 2^-20 and 2^20, so that nothing overflows, and no rounding underflows.",
    lambda x, accumulate, wire: _between(x) and min(map(_exponents, (accumulate, wire))) >= 8,
)
SURELY_SIGNED = Hypothesis("surely_signed", "The gradient is larger than what it is off.", Le(moved, gradient))
ROOT_LEFT = Hypothesis("root_left", "The root is larger than what its entries are moved by.", moved < root)
LOGITS_FIT = Hypothesis(
    "logits_fit", "Logits are numbers of the accumulator's format within 30 of the largest.",
    lambda x, accumulate: float(x.max() - x.min()) <= 30.0 and on_the_wire(x, accumulate),
)  # fmt: skip


def _between(x: Any) -> bool:
    import numpy as np

    size = np.abs(x[x != 0])
    return bool(size.size == 0 or (size.min() >= 2.0**-20 and size.max() <= 2.0**20))


def _exponents(name: str) -> int:
    """Bits of the exponent, about."""
    return int(format_named(name).largest).bit_length().bit_length()


_LOOSE = for_one_reason(
    "loose by nature: a stage attains its rounding alone, but those of several do not all go one way at once",
    "*",
)


def _claim(
    name: str, title: str, quantity: Quantity, bound: Any, proof: str, *assumes: Hypothesis, **more: Any
) -> Claim:
    return Claim(
        f"precision.split.{name}", title, Le(quantity, bound), derived(proof), assumes=assumes, **{"axis": "P", **more}
    )


CLAIMS = (
    _claim(
        "product",
        "Split products of exact terms: operands, sums at a rank, the wire and the sum over ranks",
        PRODUCT_ERROR,
        reduced(product_error(one_rounding(operand_unit), 0, any_order(terms, unit)), one_rounding(cast_unit),
                any_order(P, wire_unit)),
        "An operand is rounded by t/(1 + t) of itself at most, and so twice in a product, which is exact. A rank's "
        "sum is off by (K - 1) u/(1 + u) of its terms' magnitudes (precision.any.sure), its rounding to the wire by "
        "c/(1 + c), and the sum over ranks by (P - 1) w/(1 + w) of the parts' magnitudes. Relative errors compound.",
        FAR_FROM_ENDS, HALF_THE_DIGITS,
        unpinned=_LOOSE,
        tightness=1,
        extremal="one rank, terms 1 and u",
        note="Split-K and stream-K are the same, with parts for ranks; a rank that has nothing adds nothing.",
    ),
    _claim(
        "rounded_product",
        "Split products of rounded terms: a rounding more, fused into an addition or not",
        PRODUCT_ERROR,
        reduced(product_error(one_rounding(operand_unit), _V, any_tree(terms - 1, unit)), one_rounding(cast_unit),
                any_order(P, wire_unit)),
        "As precision.split.product, but a product is rounded by u/(1 + u), and passes K - 1 additions at most, each "
        "of which multiplies it by 1 + d, |d| <= u/(1 + u). What is fused into an addition is rounded once less.",
        FAR_FROM_ENDS,
        unpinned=_LOOSE,
    ),
    _claim(
        "gradient",
        "Gradients of micro-batches, reduced within shards and over replicas, and divided",
        GRADIENT_ERROR,
        followed(followed(_GRADIENT, any_order(replicas, wire_unit)), one_rounding(division_unit)),
        "M micro-batches are added at a rank (precision.any.sure), the sum is rounded to the wire, then added over P/R "
        "ranks, then over R replicas, and divided: relative errors compound.",
        FAR_FROM_ENDS,
        unpinned=_LOOSE,
        tightness=1,
        extremal="one rank of two micro-batches, 1 and u",
        note="FSDP is R = 1. A division in two, before the reduction and behind, is rounded twice.",
    ),
    _claim(
        "distance",
        "The mean distance of logits to the largest, by the softmax: W((V - 1)/e)",
        DISTANCE,
        softmax_distance(classes),
        "With z = max x - x, one z is zero. Let y exp(1 + y) = V - 1. The tangent of exp at 0 gives (z - y) exp(-z) <= "
        "exp(-1 - y) for every z. Summed over V - 1 others that is at most y, so that sum z exp(-z) <= y sum exp(-z).",
        tightness=1,
        extremal="all logits but one are 1 + W below the largest",
        axis="classes",
        note="About log V - log log V: 8.6 of 128,256 classes. So roundings of differences count.",
    ),
    _claim(
        "loss",
        "Losses of logits split by classes: differences, exponentials, sums over ranks, log and target",
        LOSS_ERROR,
        loss_error(
            log_sum_error(softmax_distance(classes), unit, _SUMS), unit, _FUNCTION, classes, shift, loss
        ),
        "Every difference -z becomes -z (1 + d), |d| <= u: log sum exp(-z (1 + t)) has the slope -sum p z in t, and "
        "(1 + t) sum p z <= W((V - 1)/e) (precision.split.distance), so it moves by W log 1/(1 - u) at most. "
        "Exponentials are off by 2 u f of themselves, their sums at a rank, on the wire and over ranks as in "
        "precision.split.product, and all are positive. The log, at most log V, is rounded by 2 u f of itself, the "
        "target's difference by u, and the loss by u.",
        FAR_FROM_ENDS, LOGITS_FIT,
        unpinned=_LOOSE,
        axis="classes",
    ),
    _claim(
        "norm",
        "Entries over their root mean square: squares, their mean, the root and the quotient",
        NORM_ERROR,
        normed_error(unit, _FUNCTION, mean_square_error(unit, any_order(terms, unit))),
        "All squares are positive: their mean is off by a rounding of each, n - 1 additions, 1/n, the product with it"
        " and eps. The root is off by the root of that, and by 2 u f; quotient and product by u each.",
        FAR_FROM_ENDS,
        unpinned=_LOOSE,
        axis="terms",
    ),
    _claim(
        "root",
        "The reciprocal of a root of a mean square moves by d/(r - d) where entries move by d",
        ROOT_MOVED,
        root_moved(moved, root),
        "r is the length of (x/sqrt n, sqrt eps), and moves by the length of the change at most: |r' - r| <= d. Then "
        "|r/r' - 1| = |r - r'|/r' <= d/(r - d).",
        ROOT_LEFT,
        tightness=1,
        extremal="one entry, without eps, that shrinks",
    ),
    _claim(
        "step",
        "A first step of Adam moves by eps d/((|g| + eps) (|g| - d + eps)) where the gradient moves by d below |g|",
        STEP_MOVED,
        step_moved(moved, gradient, eps),
        "h(g) = g/(|g| + eps) grows, and of numbers of one sign h(g) - h(g - d) = eps d/((g + eps) (g - d + eps)), "
        "which is more than h(g + d) - h(g).",
        SURELY_SIGNED,
        tightness=1,
        extremal="a gradient that shrinks",
        note="Where d is above |g| the sign is open, and the step may move by twice the rate.",
    ),
)  # fmt: skip
"""In the order of the book."""
