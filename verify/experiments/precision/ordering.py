"""Bits, averages, overflow and growth: the claims about the order of additions bound to the simulation."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.dense.messages import core_size
from commbounds.collectives.precision.simulation import rounded
from commbounds.theory.precision.formats import FORMATS, Format
from commbounds.theory.precision.ordering_terms import HALVED
from commbounds.theory.precision.roundings import roundings
from commbounds.verify.experiments.precision.sums import PAIRS, SPACE, bits, exact_columns, late_curve, result, stack
from commbounds.verify.family import Family, FamilyStudy, Rounded
from commbounds.verify.space import RANKS, Of, Settings, Space
from commbounds.verify.study import Outcome, Study

_MIXED = "bfloat16, added in float32"
_FEW = ("bfloat16", _MIXED, "float32", "float32, added in float64", "float8_e4m3fn, added in float16")
"""Formats of the rows where it is the order that counts; all are drawn."""
_BOTH = ("as sent", "unrounded")


@cache
def _depth(schedule: str, P: int, nodes: int) -> int:
    """Additions that a term passes through."""
    counted = roundings("direct" if schedule == "in_rank_order" else schedule)
    numbers = {"P": P, "nodes": nodes}
    return int(counted.additions.xreplace({s: numbers[s.name] for s in counted.additions.free_symbols}).doit())


def _facts(P: int, schedule: str, nodes: int, wire: str) -> dict[str, Any]:
    form = FORMATS[wire]
    return {
        "add_depth": _depth(schedule, P, nodes),
        "wire_unit": form.unit,
        "wire_digits": form.digits,
        "least": form.smallest,
        "wire_largest": form.largest,
    }


def _family(space: Space = SPACE, /, **axes: Sequence[Any]) -> Family:
    """Claims about the simulation where these are other axes of the space."""

    def run(implementation: Any, x: Array, settings: Settings) -> Array:
        return result(implementation, x, settings)

    return Family("precision", "simulated_allreduce", space.replaced(**axes), _facts, run, exact=False, arrays=5)


# --- bits on all ranks ------------------------------------------------------------------------------------------------


def _bits(claim: str, **axes: Sequence[Any]) -> tuple[FamilyStudy, ...]:
    def differing(found: Array) -> Outcome:
        held = bits(found)
        return Outcome(int((held != held[0]).sum()), {}, active=len(held) > 1)

    family = _family(SPACE.search(formats=tuple(PAIRS)), formats=_FEW, **axes)
    return family.studies(differing, f"bits.{claim}")


_BITS = (
    *_bits("agreement", rounding=("nearest", "stochastic"), per_hop=(True, False)),
    *_bits("owner_keeps", own=_BOTH, kept=("unrounded",)),
    *_bits("own_unrounded", schedule=("recursive_doubling",), own=("unrounded",)),
    *_bits("own_draws", schedule=("recursive_doubling",), rounding=("stochastic",)),
)

# --- fused and split buffers ------------------------------------------------------------------------------------------


def _blocks(P: int, schedule: str) -> int:
    """Blocks that the schedule cuts a vector in."""
    return core_size(P) if schedule == "rabenseifner" else P


def _moved(implementation: Any, x: Array, P: int, schedule: str, cut: int, layout: str, settings: Settings) -> Outcome:
    """Two buffers, cut at `cut`, in one all-reduce and in two."""
    split = np.hstack([result(implementation, part, settings) for part in (x[:, :cut], x[:, cut:])])
    order = np.arange(x.shape[1])
    if layout == "in blocks":
        count = _blocks(P, schedule)
        first, second = np.array_split(order[:cut], count), np.array_split(order[cut:], count)
        order = np.concatenate([part for pair in zip(first, second, strict=True) for part in pair])
    fused = np.empty_like(split)
    fused[:, order] = result(implementation, x[:, order], settings)
    return Outcome(int((bits(fused) != bits(split)).sum()), {}, active=P > 1)


_BEHIND = SPACE.replaced(
    layout=("one behind the other",),
    formats=_FEW,
    n=(Of("P + 1", lambda P: P + 1), 2, Of("2 P, at least 2", lambda P: max(2 * P, 2))),
    cut=(Of("n // 3 + 1", lambda n: n // 3 + 1), Of("n // 2", lambda n: n // 2)),
).search(formats=tuple(PAIRS), n=(2, 60))
_IN_BLOCKS = _BEHIND.replaced(
    layout=("in blocks",),
    n=(Of("three blocks", lambda P, schedule: 3 * _blocks(P, schedule)),),
    cut=(Of("a block", _blocks),),
).search(n=())


def _fused(claim: str, space: Space = _BEHIND, **axes: Sequence[Any]) -> tuple[FamilyStudy, ...]:
    return _family(space, **axes).studies(_moved, f"fused.{claim}")


_FUSED = (
    *_fused("anywhere", schedule=("recursive_doubling", "binomial", "in_rank_order", "rabenseifner"), own=_BOTH),
    *_fused("ring", schedule=("ring", "direct", "hierarchical")),
    *_fused("rabenseifner_unrounded", schedule=("rabenseifner",), own=("unrounded",)),
    *_fused("same_block", _IN_BLOCKS, own=("unrounded",), kept=_BOTH),
    *_fused("two_ranks", _BEHIND.search(P=()).without("Three ranks and more.", lambda P: P > 2), P=(1, 2), own=_BOTH),
)

# --- the same terms at any number of ranks ----------------------------------------------------------------------------


def _own_sum(terms: Array, form: str, farthest: bool) -> Array:
    """A rank's own terms, neighbours or the farthest first, two by two, in that format."""
    rows = list(terms)
    while len(rows) > 1:
        half = len(rows) // 2
        first, second = (rows[:half], rows[half:]) if farthest else (rows[::2], rows[1::2])
        with np.errstate(all="ignore"):
            rows = [*(rounded(a + b, form) for a, b in zip(first, second, strict=False)), *rows[2 * half :]]
    return np.asarray(rows[0])


def _resharded(implementation: Any, x: Array, P: int, nodes: int, wire: str, deal: str, settings: Settings) -> Outcome:
    """P ranks, and one, that make their share of all terms a sum first."""

    def made(ranks: int) -> Array:
        shares = [x[p::ranks] for p in range(ranks)] if deal == "in turn" else np.array_split(x, ranks)
        own = np.array([_own_sum(share, wire, deal == "in turn") for share in shares])
        return bits(result(implementation, own, settings, nodes=min(nodes, ranks))[0])

    return Outcome(int((made(P) != made(1)).sum()), {}, active=P > 1)


def _terms(terms: int, n: int, data: str, wire: str, scale: float | None, seed: int) -> Array:
    return stack(terms, n, data, wire, scale, seed)


def _times(count: int) -> Of:
    return Of(f"{count} P", lambda P: count * P)


# in one format, and without infinities of both signs that a share of the terms may meet or not
_SHARED = replace(SPACE, make=_terms).replaced(formats=tuple(FORMATS), terms=tuple(map(_times, (1, 2, 3, 4))))


def _shards(claim: str, *schedules: str, deal: str = "in a row") -> tuple[FamilyStudy, ...]:
    return _family(_SHARED, schedule=schedules, deal=(deal,)).studies(_resharded, f"shards.{claim}")


_SHARDS = (
    *_shards("doubling", "recursive_doubling"),
    *_shards("ring", "ring", "direct", "hierarchical"),
    *_shards("rabenseifner", "rabenseifner"),
    *_shards("rabenseifner_in_turn", "rabenseifner", deal="in turn"),
    *_shards("any_ranks", "recursive_doubling"),
)

# --- averages and overflow --------------------------------------------------------------------------------------------


def _moments(implementation: Any, found: Array, x: Array, P: int, schedule: str, settings: Settings) -> Outcome:
    """Against the average of terms that are divided before."""
    moments = ["after", "halving"] if core_size(P) == P and schedule in HALVED else ["after"]
    others = (bits(result(implementation, x, settings, average=when)[0]) for when in moments)
    return Outcome(sum(int((bits(found[0]) != other).sum()) for other in others), {}, active=P > 1)


def _errors(found: Array, x: Array, P: int) -> Iterator[tuple[Fraction, Fraction]]:
    """P times the error of every entry, and the sum of the magnitudes."""
    for column, (total, magnitudes) in zip(found.T.tolist(), exact_columns(x), strict=True):
        values = (P * (Fraction(v) if math.isfinite(v) else 2**1100) for v in set(column))
        yield max(abs(value - total) for value in values), magnitudes


def _average_error(found: Array, x: Array, P: int) -> Fraction:
    return max(error / size if size else Fraction(error > 0) for error, size in _errors(found, x, P))


def _average_loss(found: Array, x: Array, P: int) -> Fraction:
    return max(error for error, _ in _errors(found, x, P)) / P


def _not_finite(found: Array) -> int:
    return int((~np.isfinite(found[0])).sum())


def _not_numbers(found: Array) -> int:
    return int(np.isnan(found[0]).sum())


def _of_wire(label: str, function: Any) -> Of:
    return Of(label, lambda wire: float(function(FORMATS[wire])))


_LARGEST = ("largest", "largest, the last negative", "largest, signs in turn")
_SCALED = SPACE.replaced(
    data=("normal", *_LARGEST, *SPACE.axes["data"][1:]),
    scale=(
        None,
        _of_wire("largest / 2", lambda form: form.largest / 2),
        _of_wire("largest / 64", lambda form: form.largest / 64),
        _of_wire("16 smallest", lambda form: form.smallest * 16),
    ),
)


def _halving(P: int, schedule: str) -> str:
    return "halving" if core_size(P) == P and schedule in HALVED else "before"


_DIVIDED = _SCALED.replaced(average=("before", "after", Of("halving, where sums are of two, else before", _halving)))
_AT_THE_END = _DIVIDED.every(
    P=RANKS,
    formats=FORMATS,
    schedule=("ring", "direct", "binomial", "recursive_doubling", "rabenseifner"),
    average=["before"],
    data=["largest"],
)
_LOSING = itertools.chain.from_iterable(
    _DIVIDED.every(
        P=[P],
        formats=[wire],
        n=[4 * P],
        schedule=("in_rank_order", "ring", "binomial", "recursive_doubling"),
        average=("before", "after"),
        data=["lost one by one"],
        seed=range(4),
    )
    for wire, P in (("float32", 17), ("bfloat16", 17), ("float16", 33), ("float64", 9), ("bfloat16", 5))
)
_AVERAGED = _family(_DIVIDED.including(*_AT_THE_END, *_LOSING))


def _tiny(data: str, average: str) -> Any:
    return _AVERAGED.every(formats=("float16", "bfloat16"), P=(2, 4, 6), n=[2], data=[data], average=[average])


_AVERAGES = (
    *_AVERAGED.studies(_moments, "average.power_of_two", "average.any_ranks"),
    *_AVERAGED.studies(_average_error, "average.error"),
    *_AVERAGED.studies(_average_loss, "average.underflow_before", extremal=_tiny("P/2 smallest", "before")),
    *_AVERAGED.studies(_average_loss, "average.underflow_after", extremal=_tiny("P/2 smallest on one rank", "after")),
    *_AVERAGED.studies(_not_finite, "average.before_in_range", "average.before_with_room", "average.halving_in_range"),
)

# --- overflow of one entry on all ranks -------------------------------------------------------------------------------


def _top(form: Format) -> int:
    """The largest numbers' power of two."""
    return int(form.largest).bit_length() - 1


def _equal(formats: str, level: int) -> Iterator[float]:
    """Of few digits and of all, next to the largest number and far below."""
    form = FORMATS[PAIRS[formats][1]]
    for mantissa in (1.0, 1.25, 1.5, 1.75, 2.0 - 2.0 ** (1 - form.digits)):
        for down in (0, 1, 2, 5, *((8, 10) if level else ())):
            entry = float(rounded([mantissa * 2.0 ** (_top(form) - down)], form.name)[0])
            if np.isfinite(entry):
                yield entry


def _powers(formats: str) -> tuple[float, ...]:
    form = FORMATS[PAIRS[formats][1]]
    return (1.0, float(form.smallest), 2.0**-3, 2.0 ** (_top(form) - 3))


def _around(formats: str, level: int) -> list[int]:
    """Up to where the sum of one power of two on all ranks stays, and beyond."""
    digits = FORMATS[PAIRS[formats][1]].digits
    about = 2**digits if digits <= 11 + level else 16
    return sorted({1, 2, 3, 5, 8, about // 2, about - 1, about, about + 1, about + 2, 2 * about})


def _entry(settings: Settings, x: Array) -> dict[str, Any]:
    s = settings
    return {**_facts(s["P"], s["schedule"], s["nodes"], s["wire"]), "equal_entry": Fraction(float(x[0, 0]))}


def _most_ranks(
    implementation: Any, x: Array, wire_largest: Fraction, equal_entry: Fraction, settings: Settings
) -> int:
    """Doubled until the sum is none, or twice too many."""
    P, enough = 1, 2 * wire_largest / equal_entry
    while enough >= P and np.isfinite(result(implementation, np.repeat(x, 2 * P, axis=0), settings)[0]).all():
        P *= 2
    return P


def _equal_sum(found: Array, equal_entry: Fraction) -> Fraction:
    least, most = (Fraction(v) / equal_entry for v in (float(found.min()), float(found.max())))
    return least if least != most else most


_EQUAL = replace(
    _family(replace(SPACE, make=lambda P, n, wire, entry: rounded(np.full((P, n), entry), wire)), n=(2,), entry=(1.0,)),
    facts=_entry,
    searched=False,
)
_ALL_FINITE = _family(_SCALED)
_OVERFLOW = (
    *_EQUAL.studies(
        _most_ranks,
        "overflow.tree",
        grid=_EQUAL.every(P=[1], n=[1], formats=PAIRS, schedule=HALVED, entry=_equal),
        corpus=None,
        enumerated="entries of few digits and of all, 1 to 32 times below the largest number, in all formats and trees",
    ),
    *_EQUAL.studies(
        _equal_sum,
        "overflow.stagnation",
        grid=_EQUAL.every(formats=PAIRS, schedule=("ring", "direct", "in_rank_order"), P=_around, entry=_powers),
        corpus=None,
        enumerated="ranks up to twice 2^t and next to it, in formats of up to 11 digits; up to 32 ranks in wider ones",
        curves=[
            late_curve(_EQUAL, "P", [2**power for power in range(13)], f"ones, ring in {wire}", formats=wire)
            for wire in ("float8_e4m3fn", "bfloat16", "float16")
        ],
    ),
    *_ALL_FINITE.studies(_not_finite, "overflow.in_range", "overflow.exact_sum"),
    *_ALL_FINITE.studies(_not_numbers, "overflow.infinite", "overflow.nan"),
)

# --- growth -----------------------------------------------------------------------------------------------------------

_WITHIN = 0.1
"""How far an approximate law may be off: a sum of two numbers of as many digits falls half-way between two of these
more often than uniform errors do, which adds up to 9 %. Over 2^12 entries the measured values scatter by 1 %."""


def _grown(found: Array, x: Array, wire_unit: Fraction) -> Rounded:
    """Root mean square error over that of the sums, in units of the wire's unit roundoff."""
    exact = x.sum(axis=0)  # of at most 11 digits and 2^10 terms: exact up to 2^-40 of the largest
    error = found[0] - exact
    measured = float(np.sqrt(np.square(error).sum() / np.square(exact).sum()) / float(wire_unit))
    return Rounded(measured, _WITHIN * measured)


_GROWING = replace(_family(n=(1 << 12,), data=("normal",)), searched=False)


def _growth(claim: str, ranks: Sequence[int], ways: dict[str, tuple[str, ...]]) -> tuple[FamilyStudy, ...]:
    """Claims about schedules in formats."""
    drawn = [(schedule, formats) for schedule in ways for formats in ways[schedule]][:2]
    curves = []
    for schedule, formats in drawn:
        label = "{}, sums in {}, wire in {}".format(schedule, *PAIRS[formats])
        curves.append(
            late_curve(_GROWING, "P", [2**power for power in range(2, 11)], label, schedule=schedule, formats=formats)
        )
    corpus = _GROWING.every(
        P=ranks, schedule=ways, formats=lambda schedule: ways[schedule], seed=lambda level: range(1 + level)
    )
    return _GROWING.studies(_grown, f"growth.{claim}", corpus=corpus, grid=None, curves=curves)


_IN_TURN = {"ring": ("bfloat16", _MIXED), "direct": ("float16",)}
_GROWTH = (
    *_growth("ring", (3, 4, 8, 16, 64, 256), _IN_TURN),
    *_growth("tree", (4, 8, 16, 64, 256), dict.fromkeys(HALVED, ("bfloat16", _MIXED))),
    *_growth("wide_owner", (2, 3, 8, 64, 256), dict.fromkeys(("direct", "in_rank_order"), (_MIXED,))),
    *_growth("all_to_all", (2, 3, 8, 64, 256), _IN_TURN),
)
ORDERING: Sequence[Study] = (*_BITS, *_FUSED, *_SHARDS, *_AVERAGES, *_OVERFLOW, *_GROWTH)
"""In the order of the book."""
