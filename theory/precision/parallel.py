"""How far the results of a computation that is split over ranks may be off: products, losses, norms, gradients.

Bounds are in exact fractions where they are rational, and floats rounded up elsewhere. Two plans that are both right
differ by no more than both their bounds together. `reduce` is the sum over the ranks: `Reduction`, of any all-reduce.
"""

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
    fraction,
    one_after_another,
    one_rounding,
    upwards,
)
from commbounds.theory.precision.formats import Format, format_named
from commbounds.theory.precision.split import (
    TF32_DIGITS,
    log_sum_error,
    loss_error,
    product_error,
    reciprocal_root,
    softmax_distance,
)
from commbounds.theory.precision.tolerance import rounded_up, tolerance


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
    # what is fused into an addition is no number of the format, and a rounding is then by more than it, maybe
    most = terms - 1 if additions is None and not exact else additions
    return product_error(operands, 0 if exact else rounded, added(terms, unit, most, rounding))


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
    digits = min(held.digits, TF32_DIGITS) if tf32 else held.digits
    exact = 2 * digits <= acc.digits
    unit = sp.Rational(acc.unit)
    operand = one_rounding(sp.Rational(1, 2**TF32_DIGITS), rounding) if tf32 else sp.Integer(0)
    narrow = not wire.holds(acc)
    own = -(-terms // reduction.parts) if longest is None else longest
    how: dict[str, Any] = {"operands": operand, "exact": exact, "rounding": rounding, "additions": additions}
    per_part = upwards(sp.sympify(products(own, unit, **how), strict=True))
    stages = [(f"{own} products in {accumulate}" + (", operands in tf32" if tf32 else ""), per_part)]
    absolute = Fraction(2 * terms) * acc.smallest
    if reduction.parts > 1 or narrow:
        across, under = reduction.errors(narrow)
        stages.append((f"{reduction.parts} parts added in {reduction.accumulate or reduction.wire}", across))
        absolute = absolute * (1 + across) + under
    more: list[tuple[str, Format]] = []
    if bias is not None:  # which is rounded itself, where the wire does not hold it
        more += [("the bias", wire)] * (1 if wire.holds(format_named(bias)) else 2)
    if result is not None and not format_named(result).holds(wire):
        more.append((f"the result in {result}", format_named(result)))
    for words, form in more:
        last = fraction(one_rounding(sp.Rational(form.unit)))
        stages.append((words, last))
        absolute = absolute * (1 + last) + form.smallest
    reference = "sum over the inner dimension of |a| |b|" + (", and |bias|" if bias else "")
    return _bound(absolute, reference, stages)


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
    unit, own = _unit_and_function(form, function)
    across, under = reduction.errors(not format_named(reduction.wire).holds(form))
    own_entries = -(-vocabulary // reduction.parts) if longest is None else longest
    stages = own, sp.sympify(added(own_entries, unit, additions), strict=True), sp.Rational(across)
    if max(stages) >= 1:
        return math.inf, math.inf, float(unit)
    rounded = one_rounding(unit)
    off = log_sum_error(softmax_distance(vocabulary), rounded, *stages)
    # exponentials below the normal range may be lost, and parts of the sum on the wire, beside a sum of at least 1
    off += 2 * (vocabulary * sp.Rational(form.normal) + sp.Rational(under))
    return (
        _number(loss_error(off, rounded, own, vocabulary, 0, 0)),
        _number(loss_error(0, rounded, 0, 1, 1, 0)),
        _number(loss_error(0, rounded, 0, 1, 0, 1)),
    )


def root_mean_square(
    n: int, accumulate: str = "float32", function: float = 2.0, additions: int | None = None
) -> tuple[float, float]:
    """Of sqrt(mean x^2 + eps), and of x over it times a weight, relatively, from n exact entries."""
    unit, own = _unit_and_function(format_named(accumulate), function)
    sums = sp.sympify(added(n, unit, additions), strict=True)
    if max(sums, own) >= 1:
        return math.inf, math.inf
    stages, rounded = reciprocal_root(unit, own, sums), one_rounding(unit)
    return _number(one_after_another(*stages)), _number(one_after_another(*stages, rounded, rounded))


def _unit_and_function(form: Format, function: float) -> tuple[Any, Any]:
    """A unit in the last place is twice the unit roundoff, relatively."""
    unit = sp.Rational(form.unit)
    return unit, 2 * unit * sp.Rational(Fraction(function))


def _number(value: Any) -> float:
    return rounded_up(upwards(sp.sympify(value, strict=True)))


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
    unit = sp.Rational(form.unit)
    stages, absolute = [(f"{batches} micro-batches in {accumulate}", fraction(any_order(batches, unit)))], Fraction(0)
    if not form.holds(format_named(inputs)):
        stages.append((f"gradients to {accumulate}", fraction(one_rounding(unit))))
        absolute = Fraction(batches) * form.smallest
    held, ranks = form, 1
    for reduction in reductions:
        wire = format_named(reduction.wire)
        across, under = reduction.errors(not wire.holds(held))
        stages.append((f"{reduction.parts} ranks, sent in {reduction.wire}", across))
        absolute = absolute * reduction.parts * (1 + across) + under
        held, ranks = wire, ranks * reduction.parts
    if divisions < 0:
        raise ValueError(f"divisions must be at least 0, got {divisions}")
    coarser = min(form, held, key=lambda either: either.digits)  # one may be before the reduction
    last = fraction(one_rounding(sp.Rational(coarser.unit)))
    for _ in range(divisions):
        absolute = absolute * (1 + last) + ranks * max(form.smallest, held.smallest)
    if divisions:
        divided = fraction(one_after_another(*[last] * divisions))
        stages.append((f"{divisions} division{'s' * (divisions > 1)} in {coarser.name}", divided))
    return _bound(absolute, "sum over ranks and micro-batches of |gradient|, divided as it is", stages)


def _bound(absolute: Fraction, reference: str, stages: Sequence[tuple[str, Any]]) -> Bound:
    return Bound(
        rounded_up(fraction(one_after_another(*(error for _, error in stages)))),
        rounded_up(absolute),
        reference,
        tuple((words, rounded_up(Fraction(e))) for words, e in stages),
    )
