"""Computations that are split over ranks: the claims, whose bounds `parallel` puts numbers in."""

from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.theory.claim import Claim, Hypothesis, Le, for_one_reason
from commbounds.theory.dense.terms import unit
from commbounds.theory.functions import ExactFunction
from commbounds.theory.precision.bounds import any_order, any_tree, one_after_another, one_rounding
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
    return one_after_another(operand, operand, product, added)


def log_sum_error(distance: Any, rounded: Any, *stages: Any) -> Any:
    """Of the log of a sum of exponentials, but for its own rounding: by rounded differences, and stage after stage."""
    return -distance * sp.log(1 - rounded) - sp.Add(*(sp.log(1 - stage) for stage in stages))


def loss_error(log_sum: Any, rounded: Any, function: Any, classes: Any, shift: Any, loss: Any) -> Any:
    """Of a loss, by the log of the sum, its own rounding, the target's difference and their sum."""
    log = (1 + function) * log_sum + function * sp.log(expression("classes", classes))
    return (1 + rounded) * (log + rounded * shift) + rounded * loss


def reciprocal_root(unit: Any, function: Any, sums: Any) -> tuple[Any, ...]:
    """By how much of itself 1/root grows at most: squares, 1/n, the product and the sum with eps; `sums`; the root.

    Where a mean is e too small, 1/sqrt(1 - e) <= 1 + e/(2 (1 - e)), which of one rounding is 1 + u/2.
    """
    return (*[unit / 2] * 4, sums / (2 * (1 - sums)), function / (1 - function))


def root_moved(moved: Any, root: Any) -> Any:
    """How far 1/root moves, times root, where entries move by a vector of that root mean square."""
    return moved / (root - moved)


def step_moved(moved: Any, size: Any, eps: Any) -> Any:
    """How far g/(|g| + eps) moves with g."""
    return eps * moved / ((size + eps) * (size - moved + eps))


# --- claims -----------------------------------------------------------------------------------------------------------

_V = one_rounding(unit)
_FUNCTION = 2 * unit * ulps
_ACROSS = one_rounding(cast_unit), any_order(P, wire_unit)
_SUMS = any_order(own_classes, unit), *_ACROSS

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
    "root_moved", r"\lvert r/r'-1\rvert", "relative change of the reciprocal of a root when its entries move"
)
STEP_MOVED = Quantity("step_moved", r"\lvert h(g')-h(g)\rvert", "change of a first step of Adam, in units of the rate")

HALF_THE_DIGITS = Hypothesis(
    "half_the_digits",
    "Operands, rounded to tf32 or not, have at most half the accumulator's digits: products are exact.",
    lambda accumulate, digits: 2 * digits <= format_named(accumulate).digits,
)
FAR_FROM_ENDS = Hypothesis(
    "far_from_ends",
    "Numbers are zero or between 2^-20 and 2^20, so that nothing overflows, and no rounding underflows.",
    lambda x, accumulate, wire: _between(x) and min(map(_exponents, (accumulate, wire))) >= 8,
)
FEW_TERMS = Hypothesis(
    "few_terms", "There are fewer than 1/u + 2 terms, so that no sum loses all.", (terms - 1) * unit < 1 + unit
)
SURELY_SIGNED = Hypothesis("surely_signed", "The gradient is larger than its error.", Le(moved, gradient))
ROOT_LEFT = Hypothesis("root_left", "The root is larger than the change of its entries.", moved < root)
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


_SECOND_ORDER = for_one_reason(
    "a share u of a share: to nearest the largest errors u/(1 + u) are downwards, and one after another such ones are "
    "less than the product of all 1 + error",
    "exponent -2 of unit + 1", "10/9 times the term unit", "exponent -2 of wire_unit + 1",
    "10/9 times the term wire_unit",
)  # fmt: skip
_OF_LOSSES = (
    *for_one_reason(
        "a share u of a share: the factors 1 + u of what is rounded again",
        "without the factor unit/(unit + 1) + 1", "0.9 times the term unit/(unit + 1)",
        "without the factor 2*ulps*unit + 1", "0.9 times the term 2*ulps*unit",
    ),
    *for_one_reason(
        "differences, exponentials and their log are rounded in the format of the V_p - 1 additions, one unit each: no "
        "input has the largest errors of all of them, and one way, so that the loss of one share is not seen",
        "*softmax_distance(classes)", "*log(-2*ulps*unit + 1)", "*2*ulps*unit*log(classes)", "*factor log(classes)",
        "0.9 times the term -2*ulps*unit", "0.9 times the term -unit/(unit + 1)", "10/9 times the term 1",
        "10/9 times the term -1", "without the term 1", "classes - 1 for classes", "own_classes - 1 for own_classes",
    ),
    *for_one_reason(
        "differences and losses of 16 to 30 are rounded by one unit of 16 at most, 32 in all, beside which the log of "
        "the sum has three: more than a tenth of either",
        "0.9 times the term token_loss*unit/(unit + 1)", "0.9 times the term logit_shift*unit/(unit + 1)",
    ),
)  # fmt: skip
_OF_NORMS = (
    *for_one_reason(
        "for few entries seven roundings count, of which 1/n and the product with it are exact or upwards where the "
        "others are largest: 3.06 units of 5.05 were found, and of many entries these seven are nothing",
        "without the factor unit/(unit + 1) + 1", "without the factor 2*ulps*unit/(-2*ulps*unit + 1) + 1",
        "exponent 3 of unit/2 + 1", "0.9 times the term unit/2", "0.9 times the term unit/(unit + 1)",
        "10/9 times the term 1", "0.9 times the term 2*ulps*unit/(-2*ulps*unit + 1)", "terms - 1 for terms",
    ),
    *for_one_reason(
        "what e/(1 - e) is more than e, and 1/(1 - 2 u f) more than 1: a share of a share",
        "without the factor 1/(-2*ulps*unit + 1)", "0.9 times the term -2*ulps*unit", "*-2*unit*(terms - 1)/(unit + 1)",
        "without the factor terms - 1", "10/9 times the term -1", "without the term terms", "0.9 times the term terms",
    ),
)  # fmt: skip


def _claim(
    name: str, title: str, quantity: Quantity, bound: Any, proof: str, *assumes: Hypothesis, **more: Any
) -> Claim:
    return Claim(
        f"precision.split.{name}", title, Le(quantity, bound), derived(proof), assumes=assumes, **{"axis": "P", **more}
    )


CLAIMS = (
    _claim(
        "product",
        "Split products of exact terms: roundings of operands, sums at a rank, the wire and the sum over ranks",
        PRODUCT_ERROR,
        one_after_another(product_error(one_rounding(operand_unit), 0, any_order(terms, unit)), *_ACROSS),
        "An operand is rounded by t/(1 + t) of itself at most, and so twice in a product, which is exact. A rank's "
        "sum is off by (K - 1) u/(1 + u) of its terms' magnitudes (precision.any.sure), its rounding to the wire by "
        "c/(1 + c), and the sum over ranks by (P - 1) w/(1 + w) of the parts' magnitudes. Relative errors compound.",
        FAR_FROM_ENDS, HALF_THE_DIGITS,
        tightness=1,
        extremal="one rank, terms 1 and u",
        note="Split-K and stream-K are the same, with parts for ranks; a rank that has nothing adds nothing.",
    ),
    _claim(
        "rounded_product",
        "Split products of rounded terms: one more rounding, fused into an addition or not",
        PRODUCT_ERROR,
        one_after_another(product_error(one_rounding(operand_unit), _V, any_tree(terms - 1, unit)), *_ACROSS),
        "As precision.split.product, but a product is rounded by u/(1 + u), and passes K - 1 additions at most, each "
        "of which multiplies it by 1 + d, |d| <= u/(1 + u). What is fused into an addition is rounded once less.",
        FAR_FROM_ENDS,
        unpinned=_SECOND_ORDER,
        tightness=1,
        extremal="one rank, a product half-way between two numbers",
    ),
    _claim(
        "gradient",
        "Gradients of micro-batches, reduced within shards and over replicas, then divided",
        GRADIENT_ERROR,
        one_after_another(any_order(batches, unit), one_rounding(cast_unit), any_order(P / replicas, wire_unit),
                          any_order(replicas, wire_unit), one_rounding(division_unit)),
        "M micro-batches are added at a rank (precision.any.sure), the sum is rounded to the wire, then added over P/R "
        "ranks, then over R replicas, and divided: relative errors compound.",
        FAR_FROM_ENDS,
        tightness=1,
        extremal="one rank of two micro-batches, 1 and u",
        note="FSDP is R = 1. A division in two steps, before the reduction and after it, is rounded twice.",
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
        note="It is about log V - log log V: 8.6 for 128,256 classes. So roundings of differences matter.",
    ),
    _claim(
        "loss",
        "Losses of logits split by classes: roundings of differences, exponentials, sums, log and target",
        LOSS_ERROR,
        loss_error(
            log_sum_error(softmax_distance(classes), _V, _FUNCTION, *_SUMS), _V, _FUNCTION, classes, shift, loss
        ),
        "Let v = u/(1 + u). Every difference -z becomes -z (1 + d), |d| <= v: log sum exp(-z (1 + t)) has the slope "
        "-sum p z in t, and (1 + t) sum p z <= W((V - 1)/e) (precision.split.distance), so it moves by W log 1/(1 - v) "
        "at most. Exponentials are off by 2 u f of themselves, their sums at a rank, on the wire and over ranks as in "
        "precision.split.product: all are positive, and so the log moves by log 1/(1 - e) at most in each stage. The "
        "log, at most log V, is rounded by 2 u f of itself, the target's difference by v, and the loss by v.",
        FAR_FROM_ENDS, LOGITS_FIT,
        unpinned=(*_SECOND_ORDER, *_OF_LOSSES),
        tightness=1,
        extremal="sums of exponentials, at a rank and over ranks, half-way between numbers of a coarser wire",
        axis="classes",
    ),
    _claim(
        "norm",
        "Entries over their root mean square: roundings of squares, mean, root and quotient",
        NORM_ERROR,
        one_after_another(*reciprocal_root(unit, _FUNCTION, any_order(terms, unit)), _V),
        "All squares are positive: their mean is 1 - e of itself at least after each stage, their roundings, n - 1 "
        "additions, 1/n, the product with it and eps. 1/sqrt(1 - e) <= 1 + e/(2 (1 - e)), by (1 - r)^2 >= 0 with "
        "r = sqrt(1 - e). The root is off by 2 u f, which 1/(1 - 2 u f) divides by, and the quotient by u/(1 + u).",
        FAR_FROM_ENDS, FEW_TERMS,
        unpinned=(*_SECOND_ORDER, *_OF_NORMS),
        note="One entry 1 and n - 1 entries sqrt u reach 1 - 8/n of it if 8/n is small and n u smaller.",
        axis="terms",
    ),
    _claim(
        "root",
        "The reciprocal of a root mean square moves by at most d/(r - d) if entries move by d",
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
        note="If d is above |g| the sign is undetermined, and the step may move by twice the rate.",
    ),
)  # fmt: skip
"""In the order of the book."""
