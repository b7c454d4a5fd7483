"""How far a correct all-reduce may be off, for the test that wants to know: `tolerance`, `Tolerance`."""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Rational
from types import MappingProxyType
from typing import Any

import sympy as sp

from commbounds.theory.precision.bounds import (
    any_order,
    any_tree,
    followed,
    fraction,
    one_rounding,
    probable,
    running_sum,
    sure,
    upwards,
)
from commbounds.theory.precision.codes import QUANTISED, CodedBound, coded_bound
from commbounds.theory.precision.formats import FORMATS, Format, format_named, innocuous
from commbounds.theory.precision.roundings import HALVED, IN_A_SWITCH, SCHEDULE_NAMES, Roundings, one_name, roundings

OPERATIONS: Mapping[str, str] = MappingProxyType(
    {"allreduce": "all-reduce", "reduce_scatter": "reduce-scatter", "reduce": "reduce"}
)
"""What adds vectors: the copies that an all-reduce makes of its sums are not rounded again."""
AVERAGES = ("before", "after", "halving", "any")
"""When an average is divided by P: before the additions, after them, by two at every addition, or before or after, by a
rounded 1/P too."""
SUBNORMALS = ("kept", "flushed")
_IN_NODES = ("hierarchical", "double_binary_tree", "collnet")
_MOST = 2**63 - 1
"""Of ranks and entries."""
_SUM_ABS = "sum over ranks of |x|"


@dataclass(frozen=True)
class Tolerance:
    """|result - exact| <= sure * reference + absolute, at every entry of every rank.

    Parameters
    ----------
    op : str
        One of `OPERATIONS`.
    P, n : int
        Ranks, and entries of a vector.
    dtype, accumulate : str
        Formats of what is sent, and of what is added in.
    schedule : str
        In which order is added.
    average : str or None
        When a mean is divided; None for a sum.
    rounding : str
        How all roundings go.
    reference : str
        What `sure` and `probable` are relative to: a sum over the ranks, entry by entry; of a mean as well.
    sure : Fraction
        What holds always.
    probable : Fraction
        What all n entries keep to, except for `probability`, where roundings have mean zero; at most `sure`.
    probability : Fraction
        Of all n entries together.
    absolute : Fraction
        What underflow may add.
    last, rest : Fraction
        |result - exact| <= last * |exact| + rest * reference + absolute, too: the last rounding goes by what it rounds.
    largest : Fraction or None
        The reference up to which no sum overflows; None where that is not derived.
    reason : (str, str)
        How often is rounded, and which part dominates.
    claims : tuple of str
        What it rests on, in the book.
    """

    op: str
    P: int
    n: int
    dtype: str
    accumulate: str
    schedule: str
    average: str | None
    rounding: str
    reference: str
    sure: Fraction
    probable: Fraction
    probability: Fraction
    absolute: Fraction
    last: Fraction
    rest: Fraction
    largest: Fraction | None
    reason: tuple[str, str]
    claims: tuple[str, ...]

    @property
    def relative_to_sum_abs(self) -> dict[str, Any]:
        """The bounds as floats, rounded up: None where they are relative to something else."""
        relative = self.reference == _SUM_ABS
        return {
            "sure": rounded_up(self.sure) if relative else None,
            "probable": rounded_up(self.probable) if relative else None,
            "probability": float(self.probability),
            "entries": self.n,
        }

    @property
    def vacuous(self) -> bool:
        """Whether even a sum of terms of one sign may lose everything: the bound says nothing."""
        return self.reference == _SUM_ABS and self.sure * (self.P if self.average else 1) >= 1

    @property
    def lines(self) -> dict[str, str]:
        """Lines for a test that has ``result`` and the ranks' ``inputs``, by library; none if vacuous.

        The exact sums are taken in float64, whose own rounding is allowed for.
        """
        return _lines(self)


def rounded_up(value: Fraction) -> float:
    """The smallest float that is not below `value`; infinite where none is."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def tolerance(
    op: str = "allreduce",
    *,
    P: int,
    n: int = 1,
    dtype: str = "float32",
    accumulate: str | None = None,
    schedule: str = "ring",
    nodes: int | None = None,
    between: str | None = None,
    average: str | None = None,
    bits: int | None = None,
    group: int | None = None,
    codes: str = "asymmetric",
    scale: str | None = None,
    rounding: str = "nearest",
    probability: Fraction | float = Fraction(1, 10**9),
    per_hop: bool = True,
    wider_input: bool = False,
    subnormals: str = "kept",
) -> Tolerance:
    """How far the result of a correct all-reduce may be off the exact sum, or mean, of its inputs.

    Parameters
    ----------
    op : str
        allreduce, reduce_scatter or reduce, of sums.
    P : int
        Ranks, at least 1.
    n : int
        Entries of a vector, at least 1, which share `probability`.
    dtype : str
        Format of what is sent, and of the result: a name in `theory.precision.formats.FORMATS`.
    accumulate : str or None
        Format of the additions, which holds all numbers of `dtype`; None for `dtype`.
    schedule : str
        ring, recursive_doubling, rabenseifner, butterfly, direct (every rank has all P terms of its block, and adds
        them one after another), binomial, hierarchical, chain, in_rank_order, pat; double_binary_tree (NCCL's, with a
        chain in every node); nvls (a switch adds the terms of all ranks) and collnet (the sums of all nodes, each made
        by a chain), in any order, in float32 unless `accumulate` says otherwise; any (any order). With `bits`,
        two_step, one_shot or ring.
    nodes : int or None
        Of the hierarchical schedule, collnet, and the double binary tree, where None is a rank a node; divides P.
    between : str or None
        Of the hierarchical schedule, the format that is sent between nodes, where it is another than `dtype`.
    average : {None, "before", "after", "halving", "any"}
        None for a sum; a mean is divided by P before the additions, after them, or at either place, by P or times a
        rounded 1/P. halving: both operands of every addition are halved, of a power of two of ranks.
    bits : int or None
        Of the codes of a quantised all-reduce, in [1, 16]; None where none is.
    group : int or None
        Entries that share a scale, with `bits`; the bound is the same for every size.
    codes : str
        With `bits`: asymmetric, steps above the group's smallest entry, whose bounds are relative to group ranges
        where scales are exact; symmetric, steps around zero, signed, of which one more is on one side, or
        float8_e4m3fn or float8_e5m2, scaled numbers, relative to the groups' largest magnitudes.
    scale : str or None
        With codes: the format of scales and smallest entries, a float, or e8m0, powers of two upwards; None for
        exact ones.
    rounding : {"nearest", "stochastic", "either neighbour"}
        How all roundings go; by truncation to either neighbour.
    probability : Fraction or float
        In (0, 1): of a false alarm of the probable bound, for all n entries together.
    per_hop : bool
        Whether what is sent on the way is rounded to `dtype`, where the accumulator is wider; else only the result.
    wider_input : bool
        Whether the ranks hold wider numbers, rounded to `dtype` first.
    subnormals : {"kept", "flushed"}
        Whether numbers below the normal range may be taken for zero, as many devices do.

    Returns
    -------
    Tolerance

    Raises
    ------
    ValueError
        A value is out of its range, or nothing is derived for the combination; it says which.
    TypeError
        P, n, nodes, bits or group is no integer.

    Notes
    -----
    Nothing may overflow: see `Tolerance.largest`. The sure bound holds for every input. The probable one takes
    roundings to have mean zero, given those before: true of stochastic rounding; an assumption of nearest, which holds
    of drawn data in effect, and which the same number on every rank breaks. To either neighbour it is the sure one.

    Examples
    --------
    >>> tolerance(P=3).sure == Fraction(2, 2**24 + 1)
    True
    >>> tolerance(P=1024, dtype="bfloat16").sure
    Fraction(1, 1)
    """
    for name, value in (("P", P), ("n", n), ("nodes", nodes), ("bits", bits), ("group", group)):
        if value is None and name not in ("P", "n"):
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an integer, got {value!r}")
        if not 1 <= value <= _MOST:
            raise ValueError(f"{name} must be {'at least 1' if value < 1 else 'below 2^63'}, got {value}")
    if not isinstance(op, str) or op not in OPERATIONS:
        raise ValueError(f"op must be one of {', '.join(OPERATIONS)}, got {op!r}: bounds are derived for sums alone")
    if not (average is None or isinstance(average, str)) or average not in (None, *AVERAGES):
        raise ValueError(f"average must be None, {', '.join(AVERAGES[:-1])} or {AVERAGES[-1]}, got {average!r}")
    if isinstance(probability, bool) or not isinstance(probability, Rational | float):
        raise TypeError(f"probability must be a number, got {probability!r}")
    for name, flag in (("per_hop", per_hop), ("wider_input", wider_input)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} must be True or False, got {flag!r}")
    for name, word in (
        ("schedule", schedule),
        ("rounding", rounding),
        ("dtype", dtype),
        ("accumulate", accumulate),
        ("subnormals", subnormals),
        ("codes", codes),
        ("between", between),
        ("scale", scale),
    ):
        if not isinstance(word, str) and not (name in ("accumulate", "between", "scale") and word is None):
            raise TypeError(f"{name} must be a string, got {word!r}")
    if not 0 < probability < 1:
        raise ValueError(f"probability must be between 0 and 1, got {probability}")
    if subnormals not in SUBNORMALS:
        raise ValueError(f"subnormals must be {' or '.join(SUBNORMALS)}, got {subnormals!r}")
    rounding = rounding.replace("_", " ").replace("-", " ")
    schedule = one_name(schedule)
    if bits is not None:
        plain = (
            accumulate is None
            and rounding == "nearest"
            and subnormals == "kept"
            and per_hop
            and not wider_input
            and nodes is None
        )
        if average is not None or between is not None or not plain:
            raise ValueError(
                "of codes of a few bits only sums are derived, with exact arithmetic besides the codes, to nearest: "
                "leave out accumulate, average, nodes, between, rounding, subnormals, per_hop and wider_input"
            )
        return _quantised(op, P, n, coded_bound(P, schedule, bits, codes, scale), Fraction(probability))
    if codes != "asymmetric" or scale is not None:
        raise ValueError(f"codes and scale must be left out without bits, got {codes!r} and {scale!r}")
    if group is not None:
        raise ValueError(f"group must be None, got {group}: a group shares the scale of codes, and asks for bits")
    if schedule in QUANTISED and schedule not in SCHEDULE_NAMES:
        raise ValueError(f"{schedule} sends codes of a few bits, and asks for bits")
    if nodes is not None and schedule not in _IN_NODES:
        raise ValueError(f"nodes are of {', '.join(_IN_NODES)}, and must be None, got {nodes} for {schedule!r}")
    if schedule == "double_binary_tree":
        nodes = nodes or P
    wire = _format("dtype", dtype)
    wide = wire if accumulate is None else _format("accumulate", accumulate)
    if accumulate is None and schedule in IN_A_SWITCH and FORMATS["float32"].holds(wire):
        wide = FORMATS["float32"]
    if average == "any" and Fraction(1, P) < wire.normal:
        raise ValueError(f"average must be before or after for P = {P}: 1/P is below the normal range of {dtype}")
    if average == "halving" and (schedule not in HALVED or P & (P - 1)):
        raise ValueError(f"average by halving is of {', '.join(HALVED)}, and a power of two of ranks, got P = {P}")
    if between is not None:
        plain = schedule == "hierarchical" and average is None and not wider_input and subnormals == "kept"
        if not plain or nodes is None or P % nodes:
            raise ValueError(
                f"between must be given with the hierarchical schedule and nodes that divide P, got {between!r:.40}"
            )
        return _in_stages(op, wide, wire, _format("between", between), P, n, nodes, rounding, per_hop, probability)
    counted = _counted(schedule, per_hop, average, wider_input)
    return _of_sums(op, counted, wide, wire, P, n, nodes, average, rounding, Fraction(probability), subnormals)


# --- sums in floating point --------------------------------------------------------------------------------------


def _format(name: str, called: str) -> Format:
    try:
        return format_named(called)
    except ValueError as error:
        raise ValueError(str(error).replace("the format", name, 1)) from None


def _counted(schedule: str, per_hop: bool, average: str | None, wider_input: bool) -> Roundings:
    if average != "any":
        return roundings(schedule, per_hop=per_hop, average=average, wider_input=wider_input)
    # a product with a rounded 1/P is off twice; what may underflow, most where every term is scaled
    before = roundings(schedule, per_hop=per_hop, average="before", wider_input=wider_input)
    return replace(before, scalings=2)


def _of_sums(
    op: str,
    counted: Roundings,
    accumulate: Format,
    wire: Format,
    P: int,
    n: int,
    nodes: int | None,
    average: str | None,
    rounding: str,
    probability: Fraction,
    subnormals: str,
) -> Tolerance:
    _require_bounded(counted, accumulate, wire, P, nodes)
    how: dict[str, Any] = {"nodes": nodes, "rounding": rounding, "flushed": subnormals == "flushed"}
    surely = sure(counted, accumulate, wire, P, **how)
    likely = probable(counted, accumulate, wire, P, entries=n, probability=probability, **how)
    share = Fraction(1, P if average else 1)
    relative, absolute = fraction(surely.relative), fraction(surely.absolute)
    last, rest = _by_last(counted, accumulate, wire, P, nodes, rounding)
    return Tolerance(
        op=op,
        P=P,
        n=n,
        dtype=wire.name,
        accumulate=accumulate.name,
        schedule=counted.schedule,
        average=average,
        rounding=rounding,
        reference=_SUM_ABS,
        sure=relative * share,
        probable=min(upwards(likely.relative), relative) * share,
        probability=probability,
        absolute=absolute,
        last=last,
        rest=rest * share,
        largest=max(Fraction(0), min(accumulate.largest, wire.largest) - P * absolute) / (1 + relative),
        reason=_reason(counted, accumulate, wire, P, nodes, relative, rounding),
        claims=_claims(counted, accumulate, wire, P, nodes, rounding),
    )


def _in_stages(
    op: str,
    accumulate: Format,
    wire: Format,
    between: Format,
    P: int,
    n: int,
    nodes: int,
    rounding: str,
    per_hop: bool,
    probability: Fraction | float,
) -> Tolerance:
    """Rings within nodes in one format, rings between them in another, and the result back in the first."""
    wide = accumulate if accumulate.holds(between) else between
    casts = not between.holds(wire if per_hop else accumulate)
    near = sure(roundings("ring", per_hop=per_hop), accumulate, wire, P // nodes, rounding=rounding)
    far = sure(roundings("ring", per_hop=per_hop, wider_input=casts), wide, between, nodes, rounding=rounding)
    last = one_rounding(sp.Rational(wire.unit), rounding) if not wire.holds(between) else 0
    relative = fraction(followed(followed(near.relative, far.relative), last))
    # what a node's sum, a sum between nodes and the result may lose below the normal range
    smallest = sp.Rational(wire.smallest) * (0 if wire.holds(between) else 1)
    absolute = fraction((nodes * near.absolute * (1 + far.relative) + far.absolute + smallest) * (1 + last))
    largest = min(form.largest for form in (accumulate, wire, between))
    return Tolerance(
        op=op,
        P=P,
        n=n,
        dtype=wire.name,
        accumulate=accumulate.name,
        schedule=f"hierarchical, {between.name} between nodes",
        average=None,
        rounding=rounding,
        reference=_SUM_ABS,
        sure=relative,
        probable=relative,
        probability=Fraction(probability),
        absolute=absolute,
        last=Fraction(0),
        rest=relative,
        largest=max(Fraction(0), largest - P * absolute) / (1 + relative),
        reason=(
            f"Within nodes a term passes {P // nodes - 1} additions, sent as {wire.name}; between them {nodes - 1}, "
            f"sent as {between.name}.",
            f"Within: {float(near.relative):.3g} of the sum of |x|; between: {float(far.relative):.3g}; at the end: "
            f"{float(last):.3g}.",
        ),
        claims=_ALONE["ring"],
    )


def _require_bounded(counted: Roundings, accumulate: Format, wire: Format, P: int, nodes: int | None) -> None:
    """That roundings to both formats, of which the bound is a power, do not take it beyond every float."""
    if counted.schedule in _IN_NODES and (nodes is None or P % nodes):
        raise ValueError(f"nodes of the {counted.schedule} schedule must divide P = {P}, got {nodes}")
    times = _at(counted.hops, P, nodes)
    if accumulate != wire and times * wire.unit > 512 and not innocuous(accumulate, wire):
        raise ValueError(
            f"no bound is derived for {times} roundings to {wire.name} of sums in {accumulate.name}, with which a sum "
            "may lose everything: give per_hop=False, another schedule, or an accumulator of more digits"
        )


def _by_last(
    counted: Roundings, accumulate: Format, wire: Format, P: int, nodes: int | None, rounding: str
) -> tuple[Fraction, Fraction]:
    """The pair v, (1 + v) b, where the last rounding is by v, and what it rounds is off by b.

    Then |result - exact| <= v |exact| + (1 + v) b reference. Of one format the last addition is that rounding, and one
    term fewer was added before; where sums are rounded to the wire behind, it is that; of a mean that is divided in the
    end, the division.
    """
    u, w = sp.Rational(accumulate.unit), sp.Rational(wire.unit)
    last = one_rounding(w, rounding)
    additions, hops = _at(counted.additions, P, nodes), _at(counted.hops, P, nodes)
    if P == 1:
        return Fraction(0), fraction(followed(last, 0) if counted.first else 0)
    if _rounds_once(counted, accumulate, wire, P, nodes, rounding):
        before = _one_fewer(counted, additions, P, w, rounding)
    elif hops == 1:
        before = _one_fewer(counted, additions + 1, P + 1, u, rounding)
    else:
        before = followed(any_tree(additions, u, rounding), any_tree(hops - 1, w, rounding))
    for _ in range(counted.first + counted.scalings):
        before = followed(before, last)
    return fraction(last), fraction((1 + last) * before)


def _rounds_once(
    counted: Roundings, accumulate: Format, wire: Format, P: int, nodes: int | None, rounding: str
) -> bool:
    """Whether every addition is rounded to the wire's format, in effect, and nothing else is."""
    additions, hops = _at(counted.additions, P, nodes), _at(counted.hops, P, nodes)
    return accumulate == wire or (rounding == "nearest" and hops == additions and innocuous(accumulate, wire))


def _one_fewer(counted: Roundings, additions: Any, P: Any, unit: Any, rounding: str) -> Any:
    """The bound of a sum in one format without its last addition."""
    if rounding != "nearest":
        return any_tree(additions - 1, unit, rounding)
    if counted.one_by_one:
        return running_sum(sp.Integer(P - 1), unit)
    return sp.Min(any_order(sp.Integer(P - 1), unit), any_tree(additions - 1, unit))


def _at(expression: Any, P: int, nodes: int | None) -> Any:
    numbers = {"P": P, "nodes": nodes}
    return expression.xreplace({s: sp.Integer(numbers[s.name]) for s in expression.free_symbols}).doit()


def _reason(
    counted: Roundings, accumulate: Format, wire: Format, P: int, nodes: int | None, relative: Fraction, rounding: str
) -> tuple[str, str]:
    additions, hops = int(_at(counted.additions, P, nodes)), int(_at(counted.hops, P, nodes))
    single = _rounds_once(counted, accumulate, wire, P, nodes, rounding)
    adding = wire if single else accumulate
    each = "1 addition, rounded" if additions == 1 else f"{additions} additions, each rounded"
    parts = [f"{each} to {adding.name} (u = 2^-{adding.digits})"]
    if not single and P > 1:
        times = {1: "once at the end", additions: "behind each of them"}.get(hops, f"up to {hops} times")
        parts.append(f"rounded to {wire.name} (2^-{wire.digits}) {times}")
    if counted.first:
        parts.append(f"each term to {wire.name} before")
    if counted.scalings:
        parts.append("divided by P" if counted.scalings == 1 else "divided by P, or times a rounded 1/P")
    if P == 1:
        return (
            "One rank: nothing is added.",
            "The input is rounded once." if counted.first else "The result is the input.",
        )
    first = f"On its longest way a term passes {'; '.join(parts)}."
    terms = {
        "the addition" if additions == 1 else f"the {additions} additions": additions * adding.unit,
        f"rounding to {wire.name}": (0 if single else hops * wire.unit)
        + (counted.first + counted.scalings) * wire.unit,
    }
    dominant = max(terms, key=lambda name: terms[name])
    second = f"What dominates: {dominant}, {float(terms[dominant]):.3g} of the sum of |x|."
    if accumulate != wire and single:
        second += f" Adding in {accumulate.name} changes no bit: two {wire.name} numbers are rounded once all the same."
    if relative >= 1:
        second += " The bound says nothing: a correct sum may lose everything."
    return first, second


_ALONE = {
    "any": ("precision.any.sure",),
    "hierarchical": ("precision.any.sure", "precision.hierarchical.sure"),
    "binomial": ("precision.any.sure", "precision.tree.sure"),
    "pat": ("precision.any.sure", "precision.tree.sure"),
    **dict.fromkeys(("double_binary_tree", "nvls", "collnet"), ("precision.any.sure",)),
    "chain": ("precision.running.sure",),
    "in_rank_order": ("precision.running.sure",),
    "recursive_doubling": ("dense.recursive_doubling.rounding", "precision.any.sure", "precision.tree.sure"),
    "rabenseifner": ("dense.rabenseifner.rounding", "precision.any.sure", "precision.tree.sure"),
    "ring": ("dense.ring.rounding", "precision.running.sure"),
    "butterfly": ("dense.butterfly.rounding", "precision.running.sure"),
    "direct": ("precision.running.sure",),
}
"""Schedule -> claims about sums in one format."""


def _claims(
    counted: Roundings, accumulate: Format, wire: Format, P: int, nodes: int | None, rounding: str
) -> tuple[str, ...]:
    stochastic = ("precision.stochastic.running_sure", "precision.stochastic.likely")
    found: tuple[str, ...] = _ALONE[counted.schedule] if rounding == "nearest" else stochastic
    if not _rounds_once(counted, accumulate, wire, P, nodes, rounding):
        found += ("precision.once.sure",) if _at(counted.hops, P, nodes) == 1 else ("precision.tree.sure",)
    elif accumulate != wire:
        found += ("precision.per_hop.like_one_format",)
    if counted.scalings:
        found += ("precision.average.error", "precision.average.underflow_before", "precision.average.underflow_after")
    found += ("precision.underflow.wider_input" if counted.first else "precision.underflow.sums_are_exact",)
    return tuple(dict.fromkeys(found))


# --- codes of a few bits -----------------------------------------------------------------------------------------


def _quantised(op: str, P: int, n: int, coded: CodedBound, probability: Fraction) -> Tolerance:
    return Tolerance(
        op=op,
        P=P,
        n=n,
        dtype=coded.dtype,
        accumulate="exact",
        schedule=coded.schedule,
        average=None,
        rounding="nearest",
        reference=coded.reference,
        sure=coded.bound,
        probable=coded.bound,
        probability=probability,
        absolute=Fraction(0),
        last=Fraction(0),
        rest=coded.bound,
        largest=None,
        reason=coded.reason,
        claims=coded.claims,
    )


# --- lines for tests ---------------------------------------------------------------------------------------------


def _lines(of: Tolerance) -> dict[str, str]:
    if of.reference != _SUM_ABS or of.vacuous:
        return {}
    # the reference sums are off by (P - 1) u of the same, sums of magnitudes too, and two more operations round
    room = rounded_up((of.sure + Fraction(of.P - 1, 2**53)) * (1 + Fraction(of.P + 3, 2**53)))
    offset = rounded_up(of.absolute / Fraction(room)) if of.absolute else 2.0**-1022
    divisor = f" / {of.P}" if of.average else ""
    return {
        "torch": (
            f"x = torch.stack(inputs).double()\nexact, scale = x.sum(0){divisor}, x.abs().sum(0) + "
            f"{offset!r}\ntorch.testing.assert_close((result.double() - exact) / scale, torch.zeros_like(exact), "
            f"rtol=0, atol={room!r})"
        ),
        "numpy": (
            f"x = numpy.stack(inputs).astype(float)\nexact, scale = x.sum(0){divisor}, abs(x).sum(0) + "
            f"{offset!r}\nnumpy.testing.assert_allclose((result.astype(float) - exact) / scale, 0, rtol=0, "
            f"atol={room!r})"
        ),
    }
