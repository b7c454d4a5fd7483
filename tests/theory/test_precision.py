"""Formats against those who know them, roundings against counted additions, bounds against sums carried out."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import sympy as sp

from commbounds.collectives.dense.message_by_message import ALLREDUCE
from commbounds.theory.precision import bounds
from commbounds.theory.precision.formats import FORMATS, Format, format_named, innocuous
from commbounds.theory.precision.roundings import SCHEDULE_NAMES, roundings

SMALL = tuple(name for name, known in FORMATS.items() if known.bits <= 16)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def every_number(name):
    """All finite numbers of a format of at most 16 bits, as its dtype has them."""
    known = FORMATS[name]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        patterns = np.arange(2**known.bits, dtype=f"u{known.bytes}").view(dtype_of(name)).astype(np.float64)
    return np.unique(patterns[np.isfinite(patterns)])


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_what_their_dtypes_are(name):
    known, info = FORMATS[name], ml_dtypes.finfo(dtype_of(name))
    assert known.digits == info.nmant + 1
    assert known.smallest == Fraction(float(info.smallest_subnormal))
    assert known.normal == Fraction(float(info.smallest_normal))
    assert known.largest == Fraction(float(info.max))
    assert (known.bits, known.bytes) == (info.bits, dtype_of(name).itemsize)
    assert known.unit == Fraction(float(info.eps)) / 2
    with np.errstate(over="ignore"):
        beyond = np.float64(2.0**1000).astype(dtype_of(name)) if name != "float64" else np.float64(2.0**1023) * 4
    assert known.overflow == ("nan" if np.isnan(beyond) else "infinity")
    assert format_named(name) is known


@pytest.mark.parametrize("name", SMALL)
def test_rounding_is_what_the_dtype_does_at_every_number_halfway_and_beside(name):
    known, numbers = FORMATS[name], every_number(name)
    # in float32: ml_dtypes rounds float64 to float32 first, and then once more
    halfway = ((numbers[1:] + numbers[:-1]) / 2).astype(np.float32)
    tried = np.concatenate(
        [
            numbers.astype(np.float32),
            halfway,
            np.nextafter(halfway, np.float32(np.inf)),
            np.nextafter(halfway, np.float32(-np.inf)),
        ]
    )
    tried = tried if len(tried) < 5000 else np.random.default_rng(1).choice(tried, 5000, replace=False)
    rounded = tried.astype(dtype_of(name)).astype(np.float64)
    assert [known.rounded(Fraction(v)) for v in tried.tolist()] == [Fraction(v) for v in rounded.tolist()]
    for value in map(Fraction, tried[:500].tolist()):
        below, above = known.around(value)
        assert known.rounded(value) in (below, above)
        assert below <= value <= above
        assert above - below in (0, known.gap(value))


@pytest.mark.parametrize("name", FORMATS)
def test_rounding_stops_at_the_largest_number(name):
    known = FORMATS[name]
    half = known.gap(known.largest) / 2
    assert known.rounded(known.largest + half * Fraction(99, 100)) == known.largest
    with pytest.raises(OverflowError, match="is rounded beyond the largest number"):
        known.rounded(-known.largest - 2 * half)


@pytest.mark.parametrize(
    "change", [{"digits": 0}, {"normal": Fraction(3)}, {"largest": Fraction(1, 3)}, {"overflow": "wraps"}]
)
def test_a_format_that_does_not_fit_together_is_refused(change):
    fields = {name: getattr(FORMATS["float16"], name) for name in Format.__dataclass_fields__}
    with pytest.raises(ValueError, match=f"{next(iter(change))} of float16 must"):
        Format(**{**fields, **change})


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match=r"the format must be one of float64, .* got 'int8'"):
        format_named("int8")


@pytest.mark.parametrize(
    ("accumulate", "wire"), [("float16", "float8_e4m3fn"), ("float16", "float8_e5m2"), ("bfloat16", "float8_e5m2")]
)
def test_a_sum_rounded_twice_is_rounded_once_where_the_accumulator_has_twice_the_digits_and_two(accumulate, wire):
    wide, narrow = FORMATS[accumulate], FORMATS[wire]
    assert innocuous(wide, narrow)
    numbers = every_number(wire)
    sums = (numbers[:, None] + numbers).ravel()  # exact in float64
    sums = sums[abs(sums) <= float(narrow.largest)]
    once = sums.astype(dtype_of(wire))
    twice = sums.astype(dtype_of(accumulate)).astype(dtype_of(wire))
    assert (once.astype(np.float64) == twice.astype(np.float64)).all()


def test_one_digit_fewer_and_some_sums_are_rounded_twice():
    wide, narrow = FORMATS["bfloat16"], FORMATS["float8_e4m3fn"]
    assert not innocuous(wide, narrow)
    numbers = every_number(narrow.name)
    sums = np.unique(numbers[:, None] + numbers)
    sums = sums[abs(sums) <= float(narrow.largest)]
    differ = sums[[narrow.rounded(wide.rounded(Fraction(s))) != narrow.rounded(Fraction(s)) for s in sums.tolist()]]
    assert differ.size > 0
    assert not innocuous(FORMATS["float16"], FORMATS["bfloat16"])
    assert all(innocuous(same, same) for same in FORMATS.values())


# --- roundings --------------------------------------------------------------------------------------------------------


def longest_way(parts, blocks, P):
    """The most additions that a term passes through, messages of the collective carried out one by one."""
    depth = np.zeros((P, blocks), int)
    for part in parts:
        for step in range(part.steps):
            sent = [
                (target, (first + i) % blocks, depth[source, (first + i) % blocks])
                for at, source, target, first, count in part.messages.tolist()
                if at == step
                for i in range(count)
            ]
            for target, block, deep in sent:
                depth[target, block] = max(depth[target, block], deep) + 1 if part.adds else deep
    return int(depth.max())


@pytest.mark.parametrize("name", ALLREDUCE)
def test_additions_are_those_of_the_collective(name):
    parts, blocks = ALLREDUCE[name]
    counted = roundings(name.replace("-", "_"))
    for P in range(1, 35):
        assert at(counted.additions, P=P) == longest_way(parts(P), blocks(P), P)
        assert at(counted.hops, P=P) == (1 if name == "butterfly" else at(counted.additions, P=P))


def at(expression, **numbers):
    """An expression's value at these numbers of ranks and nodes."""
    return sp.sympify(expression).xreplace({s: sp.Integer(numbers[s.name]) for s in expression.free_symbols}).doit()


def test_roundings_of_the_other_schedules():
    for P in range(1, 35):
        assert at(roundings("tree").additions, P=P) == math.ceil(math.log2(P))
        assert at(roundings("any").additions, P=P) == P - 1
        assert at(roundings("direct").additions, P=P) == P - 1
        for nodes in (nodes for nodes in range(1, P + 1) if P % nodes == 0):
            assert at(roundings("hierarchical").additions, P=P, nodes=nodes) == P // nodes - 1 + nodes - 1
    for name in SCHEDULE_NAMES:
        assert roundings(name, per_hop=False).hops == 1
        assert roundings(name).casts == roundings(name).scalings == roundings(name).first == 0
    divided = roundings("ring", average="before", wider_input=True)
    assert (divided.scalings, at(divided.casts, P=5), divided.first) == (1, 10, 1)
    assert at(roundings("ring", average="after", wider_input=True).casts, P=5) == 6


def test_an_unknown_schedule_or_average_is_refused():
    with pytest.raises(ValueError, match=r"schedule must be one of ring, .* got 'star'"):
        roundings("star")
    with pytest.raises(ValueError, match="average must be None, before, after or halving, got 'between'"):
        roundings("ring", average="between")


# --- bounds -----------------------------------------------------------------------------------------------------------


def added(terms, known, schedule):
    """One entry's terms added in a format: one after another, or by halves."""
    if len(terms) == 1:
        return terms[0]
    cut = len(terms) - 1 if schedule == "ring" else 1 << (len(terms) - 1).bit_length() - 1
    return known.rounded(added(terms[:cut], known, schedule) + added(terms[cut:], known, schedule))


def relative(terms, result):
    return abs(result - sum(terms)) / sum(map(abs, terms))


@pytest.mark.parametrize("schedule", ["ring", "tree"])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_sums_in_one_format_keep_to_the_sure_bound(name, schedule):
    known, rng = FORMATS[name], np.random.default_rng([3, len(name)])
    for P in (1, 2, 3, 5, 8, 17):
        bound = bounds.sure(roundings(schedule), known, known, P)
        assert bound.absolute == 0
        worst = Fraction(0)
        for _ in range(60):
            sizes = rng.integers(-2, 3) + 2.0 ** rng.integers(-6, 3, P) * rng.choice((1.0, -1.0, 0.5), P)
            terms = [known.rounded(Fraction(v) / 16) for v in sizes.tolist()]
            if any(terms):
                worst = max(worst, relative(terms, added(terms, known, schedule)))
        assert worst <= bound.relative
    lost = [Fraction(1)] + [known.unit] * 4
    five = bounds.sure(roundings("ring"), known, known, 5)
    assert relative(lost, added(lost, known, "ring")) == 4 * known.unit / (1 + 4 * known.unit) <= five.relative


def test_a_term_that_underflows_costs_half_a_smallest_number_each():
    wire, wide = FORMATS["float8_e4m3fn"], FORMATS["float32"]
    bound = bounds.sure(roundings("direct", wider_input=True), wide, wire, 4)
    terms = [wire.smallest / 2] * 4
    assert sum(map(wire.rounded, terms)) == 0
    assert sum(terms) <= bound.relative * sum(terms) + bound.absolute
    assert sum(terms) > bound.relative * sum(terms)
    assert bounds.sure(roundings("direct"), wide, wire, 4).absolute == 0


def test_stochastic_bounds_allow_twice_the_error_and_twice_the_underflow():
    known = FORMATS["bfloat16"]
    assert bounds.one_rounding(known.unit, "stochastic") == 2 * known.unit
    assert (
        bounds.sure(roundings("tree"), known, known, 4, rounding="stochastic").relative == (1 + 2 * known.unit) ** 2 - 1
    )
    near, either, truncated = (
        bounds.sure(roundings("ring", average="after"), known, known, 2, rounding=way) for way in bounds.ROUNDING
    )
    assert truncated == either
    assert near.absolute / (1 + near.relative) * 2 == either.absolute / (1 + either.relative) == known.smallest


def test_probable_bounds_are_below_the_sure_ones_and_grow_with_what_they_cover():
    narrow, wide = FORMATS["bfloat16"], FORMATS["float32"]
    for schedule in ("ring", "tree", "any", "direct"):
        for P in (1, 2, 16, 300):
            surely = bounds.sure(roundings(schedule), wide, narrow, P).relative
            tight, loose = (
                bounds.probable(roundings(schedule), wide, narrow, P, entries=n, probability=Fraction(1, 100))
                for n in (1, 1000)
            )
            assert 0 <= tight.relative <= loose.relative <= surely
    # in float32 the square root of the additions shows: 9999 of them are 100 roundings, not 9999
    many = bounds.probable(roundings("ring"), wide, wide, 10000, probability=Fraction(1, 100)).relative
    q = float(wide.unit) * math.sqrt(2 * 9999 * math.log(200))
    assert float(many) == pytest.approx(q / (1 - q), rel=8 * 2.0**-53)  # eight roundings here


def test_the_bound_of_a_running_sum_is_infinite_where_errors_may_feed_themselves():
    assert bounds.probable_chain(sp.Rational(1, 3)) == sp.Rational(1, 2)
    assert bounds.probable_chain(sp.Integer(1)) == sp.oo


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"P": 0}, "P must be at least 1, got 0"),
        ({"rounding": "up"}, "rounding must be one of nearest, stochastic, either neighbour, got 'up'"),
        ({"accumulate": FORMATS["float16"]}, "accumulate must hold all numbers of the wire's format bfloat16"),
        ({"counted": roundings("hierarchical")}, "nodes of the hierarchical all-reduce must divide 6 ranks, got None"),
        ({"counted": roundings("hierarchical"), "nodes": 4}, "must divide 6 ranks, got 4"),
        ({"entries": 0}, "entries must be at least 1, got 0"),
        ({"probability": 1}, "probability must be between 0 and 1, got 1"),
    ],
)
def test_what_cannot_be_bounded_is_refused(changed, message):
    given = {"counted": roundings("ring"), "accumulate": FORMATS["float32"], "wire": FORMATS["bfloat16"], "P": 6}
    with pytest.raises(ValueError, match=message):
        bounds.probable(**{**given, **changed})
