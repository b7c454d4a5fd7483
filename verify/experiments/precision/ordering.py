"""Bits, averages, overflow and growth: the claims about the order of additions bound to the simulation."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.dense.messages import core_size
from commbounds.collectives.precision.simulation import rounded
from commbounds.theory import claims
from commbounds.theory.precision.formats import FORMATS, Format
from commbounds.theory.precision.ordering_terms import HALVED
from commbounds.theory.precision.roundings import roundings
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.precision.sums import (
    PAIRS,
    bits,
    by_hand,
    drawn,
    exact_columns,
    family,
    result,
    result_of,
    summed,
    wire_of,
)
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study, shared

Trial = Callable[[Any, Case], Outcome]
_SUBJECT = "simulated_allreduce"
_FEW = (
    ("bfloat16", "bfloat16"),
    ("float32", "bfloat16"),
    ("float32", "float32"),
    ("float64", "float32"),
    ("float16", "float8_e4m3fn"),
)
"""Formats of the cases by hand, where it is the order that counts; all are drawn."""
_BOTH = ["as sent", "unrounded"]

# --- bits on all ranks ------------------------------------------------------------------------------------------------


def _differing(implementation: Any, case: Case) -> Outcome:
    held = bits(case.once(result_of, implementation))
    return Outcome(int((held != held[0]).sum()), {}, active=len(held) > 1)


def _bits_study(name: str, **fixed: Any) -> Study:
    return Study(
        f"precision.bits.{name}",
        _SUBJECT,
        _differing,
        corpus=partial(by_hand, formats=list(_FEW), **fixed),
        cases=partial(drawn, **fixed),
    )


_BITS = (
    _bits_study("agreement", rounding=["nearest", "stochastic"], per_hop=[True, False]),
    _bits_study("owner_keeps", own=_BOTH, kept="unrounded"),
    _bits_study("own_unrounded", schedule="recursive_doubling", own="unrounded"),
    _bits_study("own_draws", schedule="recursive_doubling", rounding="stochastic"),
)

# --- fused and split buffers ------------------------------------------------------------------------------------------


def _blocks(case: Case) -> int:
    """Blocks that the schedule cuts a vector in."""
    P = len(case.array)
    return core_size(P) if case.settings["schedule"] == "rabenseifner" else P


def _moved(implementation: Any, case: Case) -> Outcome:
    """Two buffers, cut at `cut`, in one all-reduce and in two."""
    x, P, cut = case.array, case.settings["P"], case.settings["cut"]
    split = np.hstack([result(implementation, part, case) for part in (x[:, :cut], x[:, cut:])])
    order = np.arange(x.shape[1])
    if case.settings["layout"] == "in blocks":
        count = _blocks(case)
        first, second = np.array_split(order[:cut], count), np.array_split(order[cut:], count)
        order = np.concatenate([part for pair in zip(first, second, strict=True) for part in pair])
    fused = np.empty_like(split)
    fused[:, order] = result(implementation, x[:, order], case)
    return Outcome(int((bits(fused) != bits(split)).sum()), {"P": P}, active=P > 1)


def _fused_by_hand(budget: Budget, /, layout: str, **fixed: Any) -> Iterator[Case]:
    for case in by_hand(budget, **fixed):
        x, n = case.array, case.settings["n"]
        if layout == "in blocks":
            count = _blocks(case)
            x = np.hstack([x, x, x])[:, : 3 * count]
            yield Case({**case.settings, "n": 3 * count, "cut": count, "layout": layout}, x)
        elif n > 1:
            yield Case({**case.settings, "cut": n // 3 + 1, "layout": layout}, x)


def _fused_drawn(layout: str, **fixed: Any) -> Any:
    def cut(case: Case) -> Case:
        x, (P, n) = case.array, case.array.shape
        if layout == "in blocks":
            count = _blocks(case)
            return Case({**case.settings, "n": 2 * count, "cut": count, "layout": layout}, np.resize(x, (P, 2 * count)))
        return Case({**case.settings, "n": 2 * n, "cut": n, "layout": layout}, np.hstack([x, x]))

    return drawn(**fixed).map(cut)


def _fused_study(name: str, layout: str = "one behind the other", **fixed: Any) -> Study:
    return Study(
        f"precision.fused.{name}",
        _SUBJECT,
        _moved,
        corpus=partial(_fused_by_hand, layout=layout, formats=list(_FEW), **fixed),
        cases=partial(_fused_drawn, layout, **fixed),
    )


_PLACELESS = ["recursive_doubling", "binomial", "in_rank_order", "rabenseifner"]
_FUSED = (
    _fused_study("anywhere", schedule=_PLACELESS, own=_BOTH),
    _fused_study("ring", schedule=["ring", "direct", "hierarchical"]),
    _fused_study("rabenseifner_unrounded", schedule="rabenseifner", own="unrounded"),
    _fused_study("same_block", "in blocks", own="unrounded", kept=_BOTH),
    _fused_study("two_ranks", own=_BOTH),
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


def _by_ranks(implementation: Any, case: Case, P: int) -> Array:
    """What P ranks make of all terms."""
    x, form, in_turn = case.array, case.settings["wire"], case.settings["deal"] == "in turn"
    shares = [x[p::P] for p in range(P)] if in_turn else np.array_split(x, P)
    own = np.array([_own_sum(share, form, in_turn) for share in shares])
    nodes = 2 if case.settings["schedule"] == "hierarchical" and P > 1 else 1
    return np.asarray(result(implementation, own, case, nodes=nodes)[0])


def _resharded(implementation: Any, case: Case) -> Outcome:
    P = case.settings["P"]
    many, one = (bits(_by_ranks(implementation, case, ranks)) for ranks in (P, 1))
    return Outcome(int((many != one).sum()), {}, active=P > 1)


def _shards_by_hand(budget: Budget, /, **fixed: Any) -> Iterator[Case]:
    for case in by_hand(budget, **fixed):
        terms = len(case.array)
        for P in (P for P in range(2, terms + 1) if terms % P == 0):
            yield Case({**case.settings, "P": P, "terms": terms}, case.array)


def _shards_drawn(**fixed: Any) -> Any:
    def dealt(case: Case) -> Case:
        P = len(case.array)
        return Case({**case.settings, "terms": 2 * P}, np.vstack([case.array, case.array[:, ::-1]]))

    return drawn(**fixed).map(dealt)


def _shards_study(name: str, deal: str, **fixed: Any) -> Study:
    # in one format, and without infinities of both signs that a share of the terms may meet or not
    pairs = [pair for pair in PAIRS if pair[0] == pair[1]]
    return Study(
        f"precision.shards.{name}",
        _SUBJECT,
        _resharded,
        corpus=partial(_shards_by_hand, formats=pairs, deal=deal, **fixed),
        cases=partial(_shards_drawn, formats=pairs, deal=deal, **fixed),
    )


_SHARDS = (
    _shards_study("doubling", "in a row", schedule="recursive_doubling"),
    _shards_study("ring", "in a row", schedule=["ring", "direct", "hierarchical"]),
    _shards_study("rabenseifner", "in a row", schedule="rabenseifner"),
    _shards_study("rabenseifner_in_turn", "in turn", schedule="rabenseifner"),
    _shards_study("any_ranks", "in a row", schedule="recursive_doubling"),
)

# --- averages ---------------------------------------------------------------------------------------------------------


def _of_moments(implementation: Any, case: Case) -> Outcome:
    """Against the average of terms that are divided before."""
    return Outcome(case.once(_moved_by_moments, implementation), {}, active=case.settings["P"] > 1)


def _moved_by_moments(implementation: Any, case: Case) -> int:
    P, first = case.settings["P"], bits(case.once(result_of, implementation)[0])
    moments = ["after", "halving"] if core_size(P) == P and case.settings["schedule"] in HALVED else ["after"]
    others = (bits(result(implementation, case.array, case, average=when)[0]) for when in moments)
    return sum(int((first != other).sum()) for other in others)


@cache
def _depth(schedule: str, P: int, nodes: int) -> int:
    """Additions that a term passes through."""
    counted = roundings("direct" if schedule == "in_rank_order" else schedule)
    numbers = {"P": P, "nodes": nodes}
    return int(counted.additions.xreplace({s: numbers[s.name] for s in counted.additions.free_symbols}).doit())


def _values(case: Case) -> dict[str, Any]:
    form, P = wire_of(case), case.settings["P"]
    return {
        "P": P,
        "add_depth": _depth(case.settings["schedule"], P, case.settings["nodes"]),
        "wire_unit": form.unit,
        "wire_digits": form.digits,
        "least": form.smallest,
        "wire_largest": form.largest,
    }


def _average_errors(implementation: Any, case: Case) -> list[tuple[Fraction, Fraction]]:
    """P times the error of every entry, and the sum of the magnitudes."""
    held, P = case.once(result_of, implementation), case.settings["P"]
    found = []
    for column, (total, magnitudes) in zip(held.T.tolist(), exact_columns(case.array), strict=True):
        values = (P * (Fraction(v) if math.isfinite(v) else 2**1100) for v in set(column))
        found.append((max(abs(value - total) for value in values), magnitudes))
    return found


def _average_error(implementation: Any, case: Case) -> Outcome:
    errors = case.once(_average_errors, implementation)
    share = max((error / size if size else Fraction(error > 0) for error, size in errors), default=Fraction(0))
    return Outcome(share, _values(case))


def _average_loss(implementation: Any, case: Case) -> Outcome:
    errors = case.once(_average_errors, implementation)
    return Outcome(max(error for error, _ in errors) / case.settings["P"], _values(case))


def _not_finite(implementation: Any, case: Case) -> Outcome:
    held = case.once(result_of, implementation)
    return Outcome(int((~np.isfinite(held[0])).sum()), _values(case))


def _at_scales(budget: Budget, /, **fixed: Any) -> Iterator[Case]:
    """As `by_hand`, about one, and next to the largest and the smallest number of the wire's format."""
    for case in by_hand(budget, **fixed):
        form, size = wire_of(case), float(np.abs(case.array).max())
        yield case
        if 0 < size < np.inf:
            how = {name: value for name, value in case.settings.items() if name not in ("P", "n")}
            x = case.array / 2.0 ** np.floor(np.log2(size))  # below two
            for scale in (float(form.largest) / 2, float(form.largest) / 64, 16 * float(form.smallest)):
                yield summed(x * scale, **how)


def _losing(_budget: Budget) -> Iterator[Case]:
    """One divided by P is rounded as far as can be, and every further term is lost in the sum."""
    for wire, P in (("float32", 17), ("bfloat16", 17), ("float16", 33), ("float64", 9), ("bfloat16", 5)):
        u = 2.0 ** -FORMATS[wire].digits
        q = 1.0 + 2.0 * u * np.arange(4 * P)
        first = rounded(P * q, wire)
        for fall in (1 - 2 * P * u, 0.5):
            column = np.repeat((P * u * fall * np.ones(P))[:, None], first.size, axis=1)
            column[0] = first
            for schedule in ("in_rank_order", "ring", "binomial", "recursive_doubling"):
                for average in ("before", "after"):
                    how = {"schedule": schedule, "accumulate": wire, "wire": wire, "average": average}
                    yield summed(column, family="lost one by one", **how)


def _average_corpus(budget: Budget) -> Iterator[Case]:
    yield from _losing(budget)
    yield from by_hand(budget, average=["before", "after"])


def _tiny(when: str) -> Callable[[Budget], Iterator[Case]]:
    """Entries of so many smallest numbers."""

    def extremal(_budget: Budget) -> Iterator[Case]:
        for (accumulate, wire), P in itertools.product((("float16", "float16"), ("bfloat16", "bfloat16")), (2, 4, 6)):
            s = float(FORMATS[wire].smallest)
            column = np.full((P, 2), s * P / 2) if when == "before" else np.full((P, 2), 0.0)
            if when == "after":
                column[0] = s * P / 2
            how = {"schedule": "ring", "accumulate": accumulate, "wire": wire, "average": when}
            yield summed(column, family="smallest numbers", **how)

    return extremal


def _largest(_budget: Budget) -> Iterator[Case]:
    """The largest number from every rank, and with either sign."""
    for (accumulate, wire), P in itertools.product(PAIRS, range(1, 9)):
        top = float(FORMATS[wire].largest)
        for signs in (np.ones(P), np.where(np.arange(P) == P - 1, -1.0, 1.0), np.where(np.arange(P) % 2, -1.0, 1.0)):
            for schedule in ("ring", "direct", "binomial", "recursive_doubling", "rabenseifner"):
                how = {"schedule": schedule, "accumulate": accumulate, "wire": wire, "family": "largest"}
                yield summed(np.repeat(top * signs[:, None], 2 * P, axis=1), **how)


@shared
def _largest_averaged(average: str) -> Callable[[Budget], Iterator[Case]]:
    def corpus(budget: Budget) -> Iterator[Case]:
        fixed: dict[str, Any] = {"average": average}
        if average == "halving":
            fixed["schedule"] = list(HALVED)
        for case in (*_largest(budget), *_at_scales(budget, **fixed)):
            settings = {**case.settings, "average": average}
            if average != "halving" or (
                core_size(len(case.array)) == len(case.array) and settings["schedule"] in HALVED
            ):
                yield Case(settings, case.array)

    return corpus


_AVERAGED = {when: partial(_at_scales, average=when) for when in ("before", "after")}
_MOMENTS: dict[str, Any] = {"corpus": _AVERAGED["before"], "cases": partial(drawn, average="before")}
_AVERAGES = (
    Study("precision.average.power_of_two", _SUBJECT, _of_moments, **_MOMENTS),
    Study("precision.average.any_ranks", _SUBJECT, _of_moments, **_MOMENTS),
    Study(
        "precision.average.error",
        _SUBJECT,
        _average_error,
        corpus=_average_corpus,
        cases=partial(drawn, average=["before", "after"]),
    ),
    *(
        Study(
            f"precision.average.underflow_{when}",
            _SUBJECT,
            _average_loss,
            corpus=corpus,
            extremal=_tiny(when),
        )
        for when, corpus in _AVERAGED.items()
    ),
    *(
        Study(f"precision.average.{name}", _SUBJECT, _not_finite, corpus=_largest_averaged(when))
        for name, when in (
            ("before_in_range", "before"),
            ("before_with_room", "before"),
            ("halving_in_range", "halving"),
        )
    ),
)

# --- overflow ---------------------------------------------------------------------------------------------------------


def _top(form: Format) -> int:
    """The largest numbers' power of two."""
    return int(form.largest).bit_length() - 1


def _equal(level: int) -> Iterator[Case]:
    """One entry on all ranks: of few digits and of all, next to the largest number and far below."""
    for (accumulate, wire), schedule in itertools.product(PAIRS, ("recursive_doubling", "binomial", "rabenseifner")):
        form = FORMATS[wire]
        for mantissa in (1.0, 1.25, 1.5, 1.75, 2.0 - 2.0 ** (1 - form.digits)):
            for down in (0, 1, 2, 5, *((8, 10) if level else ())):
                entry = float(rounded([mantissa * 2.0 ** (_top(form) - down)], wire)[0])
                if np.isfinite(entry):
                    yield summed(
                        np.array([[entry]]), schedule=schedule, accumulate=accumulate, wire=wire, family="equal"
                    )


def _most_ranks(implementation: Any, case: Case) -> Outcome:
    """Doubled until the sum is none, or twice too many."""
    values = _entry(implementation, case)
    P, enough = 1, 2 * values["wire_largest"] / values["equal_entry"]
    while enough >= P and np.isfinite(result(implementation, np.repeat(case.array, 2 * P, axis=0), case)[0]).all():
        P *= 2
    return Outcome(P, values)


def _chains(level: int) -> Iterator[Case]:
    """One power of two on all ranks, up to where the sum stays and beyond."""
    for accumulate, wire in PAIRS:
        form = FORMATS[wire]
        for schedule in ("ring", "direct", "in_rank_order"):
            about = 2**form.digits if form.digits <= 11 + level else 16
            for P in sorted({1, 2, 3, 5, 8, about // 2, about - 1, about, about + 1, about + 2, 2 * about}):
                for entry in (1.0, float(form.smallest), 2.0**-3, 2.0 ** (_top(form) - 3)):
                    how = {"schedule": schedule, "accumulate": accumulate, "wire": wire, "family": "equal"}
                    yield summed(np.full((P, 2), entry), **how)


def _entry(_implementation: Any, case: Case) -> dict[str, Any]:
    return {**_values(case), "equal_entry": Fraction(float(case.array[0, 0]))}


def _equal_sum(implementation: Any, case: Case) -> Outcome:
    held = case.once(result_of, implementation)
    values = _entry(implementation, case)
    least, most = (Fraction(v) / values["equal_entry"] for v in (float(held.min()), float(held.max())))
    return Outcome(least if least != most else most, values)


def _not_numbers(implementation: Any, case: Case) -> Outcome:
    held = case.once(result_of, implementation)
    return Outcome(int(np.isnan(held[0]).sum()), {})


def _overflowing(budget: Budget) -> Iterator[Case]:
    yield from _largest(budget)
    yield from _at_scales(budget)


def _stagnation_curves(implementation: Any, _seed: int) -> list[Series]:
    ranks, series = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096], []
    for wire in ("float8_e4m3fn", "bfloat16", "float16"):
        cases = [summed(np.ones((P, 1)), accumulate=wire, wire=wire, schedule="ring") for P in ranks]
        outcomes = [_equal_sum(implementation, case) for case in cases]
        bound = [float(claims()["precision.overflow.stagnation"].bound(**outcome.values)) for outcome in outcomes]
        measured = [float(outcome.measured) for outcome in outcomes]
        series.append(Series(f"ones, ring in {wire}", "P", [float(P) for P in ranks], bound, measured))
    return series


_OVERFLOW = (
    Study(
        "precision.overflow.tree",
        _SUBJECT,
        _most_ranks,
        grid=_equal,
        known=_entry,
        enumerated="entries of few digits and of all, 1 to 32 times below the largest number, in all formats and trees",
    ),
    Study(
        "precision.overflow.stagnation",
        _SUBJECT,
        _equal_sum,
        grid=_chains,
        known=_entry,
        enumerated="ranks up to twice 2^t and next to it, in formats of up to 11 digits; up to 32 ranks in wider ones",
        curves=_stagnation_curves,
    ),
    Study("precision.overflow.in_range", _SUBJECT, _not_finite, corpus=_overflowing, cases=drawn),
    Study("precision.overflow.exact_sum", _SUBJECT, _not_finite, corpus=_overflowing),
    Study("precision.overflow.infinite", _SUBJECT, _not_numbers, corpus=_overflowing, cases=drawn),
    Study("precision.overflow.nan", _SUBJECT, _not_numbers, corpus=_overflowing),
)

# --- growth -----------------------------------------------------------------------------------------------------------

_WITHIN = 0.1
"""How far an approximate law may be off: a sum of two numbers of as many digits falls half-way between two of these
more often than uniform errors do, which adds up to 9 %. Over 2^12 entries the measured values scatter by 1 %."""
_ENTRIES = 1 << 12


def growth(implementation: Any, case: Case) -> float:
    """Root mean square error over that of the sums, in units of the wire's unit roundoff."""
    exact = case.array.sum(axis=0)  # of at most 11 digits and 2^10 terms: exact up to 2^-40 of the largest
    error = result_of(implementation, case)[0] - exact
    return float(np.sqrt(np.square(error).sum() / np.square(exact).sum()) / float(wire_of(case).unit))


def _grown(name: str, implementation: Any, case: Case) -> Outcome:
    measured = case.once(growth, implementation)
    return Outcome(measured, {"P": case.settings["P"]}, _WITHIN * measured)


def _normal(P: int, seed: int, **how: Any) -> Case:
    entries = _ENTRIES
    return summed(family("normal", P, entries, seed), family="normal", seed=seed, **how)


def _hows(name: str) -> list[dict[str, Any]]:
    narrow = {"accumulate": "bfloat16", "wire": "bfloat16"}
    mixed = {"accumulate": "float32", "wire": "bfloat16"}
    if name == "tree":
        return [{"schedule": s, **formats} for s in HALVED for formats in (narrow, mixed)]
    if name == "wide_owner":
        return [{"schedule": "direct", **mixed}, {"schedule": "in_rank_order", **mixed}]
    half = {"accumulate": "float16", "wire": "float16"}
    return [{"schedule": "ring", **narrow}, {"schedule": "ring", **mixed}, {"schedule": "direct", **half}]


def _growing(name: str, budget: Budget) -> Iterator[Case]:
    for P in {"ring": (3, 4, 8, 16, 64, 256), "tree": (4, 8, 16, 64, 256)}.get(name, (2, 3, 8, 64, 256)):
        for how, seed in itertools.product(_hows(name), range(1 + budget.level)):
            yield _normal(P, seed, **how)


def _growth_curves(name: str, implementation: Any, seed: int) -> list[Series]:
    ranks, hows, series = [4, 8, 16, 32, 64, 128, 256, 512, 1024], _hows(name)[:2], []
    rows = []
    for P in ranks:
        case = _normal(P, seed % 1000, **hows[0])  # the wire's format is one
        rows.append([growth(implementation, Case({**case.settings, **how}, case.array)) for how in hows])
    bound = [float(claims()[f"precision.growth.{name}"].bound(P=P)) for P in ranks]
    for how, measured in zip(hows, map(list, zip(*rows, strict=True)), strict=True):
        label = f"{how['schedule']}, sums in {how['accumulate']}, wire in {how['wire']}"
        series.append(Series(label, "P", [float(P) for P in ranks], bound, measured))
    return series


_GROWTH = tuple(
    Study(
        f"precision.growth.{name}",
        _SUBJECT,
        partial(_grown, name),
        corpus=partial(_growing, name),
        curves=partial(_growth_curves, name),
    )
    for name in ("ring", "tree", "wide_owner", "all_to_all")
)

ORDERING: Sequence[Study] = (*_BITS, *_FUSED, *_SHARDS, *_AVERAGES, *_OVERFLOW, *_GROWTH)
"""In the order of the book."""
