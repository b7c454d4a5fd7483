"""How far the results of a computation that is split over ranks may be off: products, losses, norms, gradients.

Bounds are in exact fractions where they are rational, and floats rounded up elsewhere. Two plans that are both right
differ by no more than both their bounds together. `reduce` is the sum over the ranks: `Reduction`, of any all-reduce.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.theory.precision.bounds import (
    ROUNDING,
    any_order,
    any_tree,
    followed,
    fraction,
    one_rounding,
    upwards,
)
from commbounds.theory.precision.formats import Format, format_named
from commbounds.theory.precision.tolerance import rounded_up, tolerance

TF32_UNIT = Fraction(1, 2**11)
"""Unit roundoff of tf32, which has float32's exponents."""


@dataclass(frozen=True)
class Bound:
    """|result - exact| <= relative * reference + absolute, and what it is made of.

    Parameters
    ----------
    relative, absolute : float
        Rounded up.
    reference : str
        What `relative` is times.
    stages : sequence of (str, float)
        The relative errors of the stages, in their order, in words.
    """

    relative: float
    absolute: float
    reference: str
    stages: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Reduction:
    """How the ranks' parts are added.

    Parameters
    ----------
    parts : int
        Ranks, or parts of a split product, at least 1.
    wire : str
        Format of what is sent.
    accumulate : str or None
        Format of the additions; None for `wire`.
    schedule : str
        As for `tolerance`.
    """

    parts: int
    wire: str
    accumulate: str | None = None
    schedule: str = "any"

    def errors(self, wider: bool, rounding: str = "nearest") -> tuple[Fraction, Fraction]:
        """Relative to the magnitudes of the parts, and absolute; `wider`: parts are rounded to the wire's first."""
        found = tolerance(
            P=self.parts,
            dtype=self.wire,
            accumulate=self.accumulate,
            schedule=self.schedule,
            wider_input=wider,
            rounding=rounding,
        )
        return found.sure, found.absolute


def added(terms: int, unit: Any, additions: int | None = None, rounding: str = "nearest") -> Any:
    """Of a sum of `terms` numbers of a format, in any order, or by a tree with so many additions on its longest way."""
    if rounding not in ROUNDING:
        raise ValueError(f"rounding must be one of {', '.join(ROUNDING)}, got {rounding!r}")
    if additions is not None and not 0 <= additions < max(terms, 1):
        raise ValueError(f"additions must be in [0, {terms - 1}], as there are {terms} terms, got {additions}")
    if rounding == "nearest" and additions is None:
        return any_order(terms, unit)
    return any_tree(terms - 1 if additions is None else additions, unit, rounding)


def products(
    terms: int,
    unit: Any,
    *,
    operands: Any = 0,
    exact: bool = False,
    rounding: str = "nearest",
    additions: int | None = None,
) -> Any:
    """Of a sum of `terms` products, in any order and by any tree, relative to the sum of their magnitudes.

    Every operand is rounded by `operands` of itself at most, every product by one rounding, unless it is `exact`, a
    number of the accumulator's format, and then the sum. Products that are fused into additions are rounded no more
    often than that: a term passes as many roundings.
    """
    rounded = one_rounding(unit, rounding)
    term = followed(followed(operands, operands), 0 if exact else rounded)
    # what is fused into an addition is no number of the format, and a rounding is then by more than it, maybe
    most = terms - 1 if additions is None and not exact else additions
    return followed(term, added(terms, unit, most, rounding))


def matmul(
    terms: int,
    reduction: Reduction,
    *,
    inputs: str,
    accumulate: str = "float32",
    result: str | None = None,
    tf32: bool = False,
    bias: str | None = None,
    rounding: str = "nearest",
    longest: int | None = None,
    additions: int | None = None,
) -> Bound:
    """Of an entry of a product whose inner dimension is split over ranks, or over parts that are added afterwards.

    Parameters
    ----------
    terms : int
        The inner dimension K, of all parts together.
    reduction : Reduction
        Of the parts: row-parallel layers, split-K and stream-K; of one part, column-parallel layers.
    inputs, accumulate, result : str
        Formats of the operands, of the sums within a part, and of the result; None for the reduction's wire.
    tf32 : bool
        Whether operands are rounded to tf32 first.
    bias : str or None
        The format of a bias that is added to the result, once, behind the reduction; None for none.
    rounding : str
        How sums within a part, and operands to tf32, are rounded. Either neighbour is for tensor cores that truncate,
        as long as they keep all digits of the accumulator where they align three and more terms.
    longest : int or None
        The inner dimension of the longest part; None where they are as even as can be.
    additions : int or None
        That a product passes within a part at most; None for any order.

    Notes
    -----
    Relative to the sum of |a| |b|, and of |bias|.
    """
    acc, wire, held = format_named(accumulate), format_named(reduction.wire), format_named(inputs)
    digits = min(held.digits, 11) if tf32 else held.digits
    exact = 2 * digits <= acc.digits
    unit = sp.Rational(acc.unit)
    operand = one_rounding(sp.Rational(TF32_UNIT), rounding) if tf32 else sp.Integer(0)
    narrow = not wire.holds(acc)
    own = -(-terms // reduction.parts) if longest is None else longest
    how: dict[str, Any] = {"operands": operand, "exact": exact, "rounding": rounding, "additions": additions}
    per_part = upwards(sp.sympify(products(own, unit, **how), strict=True))
    stages = [(f"{own} products in {accumulate}" + (", operands in tf32" if tf32 else ""), per_part)]
    total, absolute = per_part, Fraction(2 * terms) * acc.smallest
    if reduction.parts > 1 or narrow:
        across, under = reduction.errors(narrow)
        stages.append((f"{reduction.parts} parts added in {reduction.accumulate or reduction.wire}", across))
        total, absolute = _both(total, across), absolute * (1 + across) + under
    more: list[tuple[str, Format]] = []
    if bias is not None:  # which is rounded itself, where the wire does not hold it
        more += [("the bias", wire)] * (1 if wire.holds(format_named(bias)) else 2)
    if result is not None and not format_named(result).holds(wire):
        more.append((f"the result in {result}", format_named(result)))
    for words, form in more:
        last = fraction(one_rounding(sp.Rational(form.unit)))
        stages.append((words, last))
        total, absolute = _both(total, last), absolute * (1 + last) + form.smallest
    reference = "sum over the inner dimension of |a| |b|" + (", and |bias|" if bias else "")
    return _bound(total, absolute, reference, stages)


def lambert(vocabulary: int) -> float:
    """The largest sum of p |x - max x| over `vocabulary` logits, p their softmax: W((V - 1)/e), Lambert's.

    Notes
    -----
    With z = max x - x the sum is N/S, N = sum z exp(-z) and S = sum exp(-z), of which one z is zero. Where N/S has its
    largest value lambda, N - lambda S has its own, zero: every other z maximises (z - lambda) exp(-z), and is
    1 + lambda. So (V - 1) exp(-1 - lambda) = lambda.
    """
    return float(sp.LambertW((vocabulary - 1) / sp.E).evalf(30)) * (1 + 2.0**-50) if vocabulary > 1 else 0.0


def log_sum(vocabulary: int, unit: float, function: float, sums: float) -> float:
    """What the log of a sum of exponentials of rounded differences to the maximum may be off, but for its own rounding.

    Notes
    -----
    Every difference -z becomes -z (1 + d), |d| <= unit. log sum exp(-z (1 + t)) has the slope -sum p z in t, p its own
    softmax, and (1 + t) sum p z <= W((V - 1)/e) as for `lambert`: so it moves by at most W times -log(1 - unit).
    Exponentials are off by `function` each, and their sum by `sums`, relatively, and all are positive.
    """
    off = (1.0 + function) * (1.0 + sums) - 1.0
    if off >= 1.0:
        return math.inf
    return (lambert(vocabulary) * -math.log1p(-unit) - math.log1p(-off)) * (1 + 2.0**-40)


def cross_entropy(
    vocabulary: int,
    reduction: Reduction,
    *,
    accumulate: str = "float32",
    function: float = 2.0,
    longest: int | None = None,
    additions: int | None = None,
) -> tuple[float, float, float]:
    """Of a token's loss log sum exp(x - max) - (x_t - max), from logits that are taken as exact.

    Parameters
    ----------
    vocabulary : int
        Entries of all ranks together.
    reduction : Reduction
        Of the ranks' sums of exponentials. Their maxima are exact.
    accumulate : str
        Format of all else.
    function : float
        Units in the last place that exp and log may be off: 2 for CUDA's.
    longest : int or None
        The most entries of a rank; None where they are as even as can be.
    additions : int or None
        That an exponential passes at its rank at most; None for any order.

    Returns
    -------
    (absolute, of_shift, of_loss)
        The loss is off by at most absolute + of_shift |x_t - max| + of_loss |loss|.
    """
    form = format_named(accumulate)
    unit = float(form.unit)
    own = 2.0 * unit * function  # a unit in the last place is twice the unit roundoff, relatively
    across, under = reduction.errors(not format_named(reduction.wire).holds(form))
    own_entries = -(-vocabulary // reduction.parts) if longest is None else longest
    any_of_them = rounded_up(upwards(sp.sympify(added(own_entries, sp.Rational(form.unit), additions), strict=True)))
    sums = (1.0 + any_of_them) * (1.0 + rounded_up(across)) - 1.0
    off = log_sum(vocabulary, unit, own, sums)
    # exponentials below the normal range may be lost, and parts of the sum on the wire, beside a sum of at least 1
    off += 2.0 * (vocabulary * float(form.normal) + rounded_up(under))
    log = (1.0 + own) * off + own * math.log(vocabulary)
    of_loss = unit
    return (1.0 + of_loss) * log * (1 + 2.0**-40), (1.0 + of_loss) * unit * (1 + 2.0**-40), of_loss


def root_mean_square(
    n: int, accumulate: str = "float32", function: float = 2.0, additions: int | None = None
) -> tuple[float, float]:
    """Of sqrt(mean x^2 + eps), and of x over it times a weight, relatively, from n exact entries.

    Notes
    -----
    All squares are positive: the mean is off by a rounding of each, n - 1 additions, the product with a rounded 1/n,
    and the sum with eps. The root halves that, and is rounded itself; so are the quotient and the product.
    """
    form: Format = format_named(accumulate)
    unit, own = float(form.unit), 2.0 * float(form.unit) * function
    mean = (1.0 + unit) ** 4 * (
        1.0 + rounded_up(upwards(sp.sympify(added(n, sp.Rational(form.unit), additions), strict=True)))
    ) - 1.0
    if mean >= 1.0:
        return math.inf, math.inf
    root = (1.0 + own) / math.sqrt(1.0 - mean) - 1.0
    return root * (1 + 2.0**-40), ((1.0 + unit) ** 2 * (1.0 + root) / (1.0 - own) - 1.0) * (1 + 2.0**-40)


def moved(delta: Any, root: Any) -> Any:
    """How far 1/root moves, times root, where entries move by a vector of root mean square `delta` at most.

    sqrt(mean x^2 + eps) is the length of (x/sqrt n, sqrt eps): it moves by delta at most, and 1/r - 1/(r - delta) is
    delta/(r (r - delta)).
    """
    return delta / (root - delta)


def accumulated(
    batches: int,
    reductions: Sequence[Reduction],
    *,
    accumulate: str = "float32",
    divisions: int = 1,
    inputs: str = "float32",
) -> Bound:
    """Of a gradient: micro-batches are added at every rank, and the ranks' sums by one reduction after another.

    Parameters
    ----------
    batches : int
        Micro-batches of a rank, at least 1.
    reductions : sequence of Reduction
        One of FSDP, two of HSDP: within shards, then over replicas.
    accumulate, inputs : str
        Formats of the sums over micro-batches, and of their gradients.
    divisions : int
        Into how many the division is split, wherever they are: a factor before, the rest behind. A product with a
        rounded reciprocal counts as two.

    Notes
    -----
    Relative to the sum of the magnitudes of all micro-batches' gradients, divided as they are.
    """
    form = format_named(accumulate)
    own = fraction(any_order(batches, sp.Rational(form.unit)))
    stages, absolute = [(f"{batches} micro-batches in {accumulate}", own)], Fraction(0)
    if not form.holds(format_named(inputs)):
        first = fraction(one_rounding(sp.Rational(form.unit)))
        own, absolute = _both(own, first), Fraction(batches) * form.smallest
    total, held, ranks = own, form, 1
    for reduction in reductions:
        wire = format_named(reduction.wire)
        across, under = reduction.errors(not wire.holds(held))
        stages.append((f"{reduction.parts} ranks, sent in {reduction.wire}", across))
        total, absolute = _both(total, across), absolute * reduction.parts * (1 + across) + under
        held, ranks = wire, ranks * reduction.parts
    if divisions < 0:
        raise ValueError(f"divisions must be at least 0, got {divisions}")
    coarser = min(form, held, key=lambda either: either.digits)  # one may be before the reduction
    last = fraction(one_rounding(sp.Rational(coarser.unit)))
    for _ in range(divisions):
        total, absolute = _both(total, last), absolute * (1 + last) + ranks * max(form.smallest, held.smallest)
    if divisions:
        stages.append((f"{divisions} division{'s' * (divisions > 1)} in {coarser.name}", divisions * last))
    return _bound(total, absolute, "sum over ranks and micro-batches of |gradient|, divided as it is", stages)


def _both(first: Fraction, then: Fraction) -> Fraction:
    return fraction(followed(sp.Rational(first), sp.Rational(then)))


def _bound(total: Fraction, absolute: Fraction, reference: str, stages: Sequence[tuple[str, Any]]) -> Bound:
    return Bound(
        rounded_up(total),
        rounded_up(absolute),
        reference,
        tuple((words, rounded_up(Fraction(e))) for words, e in stages),
    )
