"""Sketches: the claims bound to their implementations."""

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Array
from commbounds.compressors.sketched import count_sketch, sketch_estimates
from commbounds.verify.experiments.sketched.feedback import FEEDBACK
from commbounds.verify.experiments.sketched.hashings import drawn_hashes, row_hashings, side_by_side
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import Of, Settings, Space, nothing
from commbounds.verify.study import Curve, Outcome, over, studies

# --- hashes ----------------------------------------------------------------------------------------------------------


def _coefficients(p: int, part: slice) -> Array:
    """All coefficients of one polynomial, those of the other zero."""
    chosen = np.array(list(itertools.product(range(p), repeat=part.stop - part.start)), np.int64)
    found = np.zeros((len(chosen), 6), np.int64)
    found[:, part] = chosen
    return found


def _collision(implementation: Any, hash_prime: int, sketch_cells: int) -> Fraction:
    """The largest share of coefficients with which two entries collide."""
    p, n = hash_prime, min(hash_prime, 4)
    buckets = implementation(_coefficients(p, slice(0, 2)), n, sketch_cells, p)[0]
    most = max(int((buckets[:, i] == buckets[:, j]).sum()) for i, j in itertools.combinations(range(n), 2))
    return Fraction(most, p**2)


def _signs(together: int, implementation: Any, hash_prime: int) -> Fraction:
    """The largest magnitude of a mean sign, or of the mean product of two."""
    p, n = hash_prime, min(hash_prime, 4)
    signs = implementation(_coefficients(p, slice(2, 6)), n, 2, p)[1].astype(np.int64)
    sums = [signs[:, list(some)].prod(axis=1).sum() for some in itertools.combinations(range(n), together)]
    return Fraction(max(abs(int(s)) for s in sums), p**4)


_HASHES = Family(
    "sketched",
    "polynomial_hashes",
    Space(nothing, {"hash_prime": (2, 3, 5, 7), "sketch_cells": (2,)}),
    searched=False,
)


def _of_hashes(measure: Any, curve: tuple[str, Sequence[int]], *claims: str, **cells: Any) -> tuple[FamilyStudy, ...]:
    return _HASHES.studies(
        measure,
        *(f"hashes.{claim}" for claim in claims),
        grid=_HASHES.every(hash_prime=(2, 3, 5, 7), **cells),
        corpus=None,
        enumerated="primes up to 7, all coefficients",
        curves=[_HASHES.over(*curve, "all coefficients", hash_prime=7)],
    )


def _studied(
    family: Family,
    enumerated: str,
    claim: str,
    measure: Any,
    grid: Iterable[Settings],
    curve: Curve,
    extremal: Iterable[Settings] = (),
) -> tuple[FamilyStudy, ...]:
    """A claim on these rows, and what the theory calls extremal."""
    return family.studies(
        measure, claim, grid=family.of(grid), corpus=None, enumerated=enumerated, curves=[curve],
        extremal=family.of(extremal) if extremal else None,
    )  # fmt: skip


# --- tables and estimates --------------------------------------------------------------------------------------------

_SPACE = Space(
    lambda data: np.array(data, float),
    {
        "data": ((1,), (2, 1), (0, 1), (-1, 3), (1, 1, 1), (0, 2, -1), (3, 0, 0), (2, -1, 3)),
        "n": (Of("as many entries", lambda data: len(data)),),
        "sketch_rows": (1,),
        "sketch_cells": (1,),
        "hashing": ("independent",),
        "middle": ("mean",),
        "tolerance": ("1",),
        "k": (1,),
    },
)
_ROWS = _SPACE.axes["data"]


def _row(data: Sequence[int], rows: int = 1, cells: int = 1, **more: Any) -> Settings:
    return _SPACE.at(data=tuple(data), sketch_rows=rows, sketch_cells=cells, **more)


def _symbols(x: Array, settings: Settings) -> dict[str, Any]:
    entries = [int(v) for v in x]
    known = {
        "nonzero": bool(x.any()),
        "flat": bool((x == 1).all()),
        "norm2": sp.sqrt(sum(v * v for v in entries)),
        "sketched_entry": abs(entries[0]),
        "sketch_tolerance": Fraction(settings["tolerance"]),
    }
    return {**known, **({"other_entry": abs(entries[1])} if len(entries) > 1 else {})}


def _exact(value: Any) -> Fraction:
    """A sum of floats that are small multiples of a power of two, of which none is rounded."""
    return Fraction(float(value))


def _estimates(
    implementation: Any, x: Array, n: int, sketch_rows: int, sketch_cells: int, hashing: str, middle: str
) -> Array:
    """The errors of the estimates under every hashing: (t, n)."""
    whole = sketch_rows == 1 and n < 5
    buckets, signs, count = side_by_side(n, sketch_rows, sketch_cells, hashing, whole)
    table = count_sketch(np.tile(x, count), buckets, signs, count * sketch_cells)
    return np.asarray(implementation(table, buckets, signs, middle)).reshape(count, -1) - x


def _entry(found: Array) -> Fraction:
    """The mean error of the first entry."""
    return abs(_exact(found[:, 0].sum())) / len(found)


def _bias(found: Array, x: Array) -> Fraction:
    top = max(abs(int(v)) for v in x) or 1
    return max(abs(_exact(e)) for e in found.sum(axis=0)) / len(found) / top


def _variance(found: Array) -> Fraction:
    return _exact(np.square(found[:, 0]).sum()) / len(found)


def _error(found: Array, x: Array) -> Fraction:
    return _exact(np.square(found).sum()) / len(found) / int(np.square(x).sum())


def _share_off(errors: Array, x: Array, tolerance: Fraction) -> Fraction:
    least = tolerance.numerator**2 * np.square(x).sum()
    off = np.square(errors) * tolerance.denominator**2 >= least
    return Fraction(int(off.sum()), off.size)


def _off(found: Array, x: Array, n: int, sketch_cells: int, sketch_tolerance: Fraction) -> Outcome:
    """How often the first entry is off, and how often one row of it would be."""
    places, signs = row_hashings(n, sketch_cells, "independent", False)
    alone = ((places == 0) * signs * x)[:, 1:].sum(axis=1)
    return Outcome(_share_off(found[:, 0], x, sketch_tolerance), {"row_off": _share_off(alone, x, sketch_tolerance)})


_SINGLE = [
    *_SPACE.every(data=(*_ROWS, (0, 0)), sketch_cells=(1, 2, 3)),
    _row((1, -2, 3, 1), 1, 2),
    *(_row(x, 3, 2) for x in ((1, 2), (1, 2, 2))),
    *(_row(x, middle="lower") for x in ((1, 2), (1, 2, 2))),
]
_FEW: dict[str, Any] = {
    "data": ((2, 1), (0, 1), (1, 1, 1), (1, 2, -3), (-1, 0, 2)),
    "sketch_rows": range(1, 6),
    "sketch_cells": lambda data, sketch_rows: [c for c in (1, 2) if (2 * c) ** ((len(data) - 1) * sketch_rows) <= 5000],
}
_MEDIANS = [
    *_SPACE.every(**_FEW, middle=("mean", "lower")),
    _row((0, 3), 3, 3),
    _row((2, 1), 3, 4),
    _row((0, 3), 2, 3, middle="lower"),
    _row((5, -2), 2, 4, middle="lower"),
    *(_row((1,) * n, rows, hashing=name) for n, name in ((4, "three"), (6, "five")) for rows in (3, 1)),
    _row((1,) * 5, 3, hashing="five"),
    _row((1, 2, 1, 1), 3, hashing="three"),
]
_TAILS = [
    *_SPACE.every(**_FEW, tolerance=("1/3", "4/5", "1", "3/2", "2")),
    *(_row(x, rows, 4, tolerance=t) for t in ("1/2", "1") for x, rows in (((0, 1), 1), ((1, 1, 1), 1), ((0, 1), 3))),
    _row((0, 1), 5, 4),
    _row((0, 1, 1, 1, 1), 1, 4, tolerance="1/2"),
    _row((0, 1, 1), tolerance="7/5"),
]
_ONE_OTHER = [_row((0, 1), 1, cells) for cells in (1, 2, 3)]
_OF_ESTIMATES = Family("sketched", "sketch_estimates", _SPACE, _symbols, _estimates, searched=False)


def _first(*entries: int) -> list[tuple[int, ...]]:
    """The first entry, the first two, and so on."""
    return [entries[:n] for n in range(1, len(entries) + 1)]


# --- the table -------------------------------------------------------------------------------------------------------


def _norm(implementation: Any, x: Array, n: int, sketch_cells: int) -> Fraction:
    """Expected squared norm of a row, over all hashings."""
    buckets, signs, count = side_by_side(n, 1, sketch_cells, whole=True)
    table = implementation(np.tile(x, count), buckets, signs, count * sketch_cells)
    return _exact(np.square(table).sum()) / int(count)


def _combined(implementation: Any, x: Array, n: int, sketch_rows: int, sketch_cells: int) -> Fraction:
    """What the sketch of a combination differs by."""
    hashes = drawn_hashes(n, sketch_rows, sketch_cells, 3)
    y = np.roll(x, 1) + 1
    first, second, both = (implementation(v, *hashes, sketch_cells) for v in (x, y, 3 * x - 2 * y))
    return _exact(np.abs(3 * first - 2 * second - both).sum())


_TABLES = Family("sketched", "count_sketch", _SPACE, _symbols, searched=False)


_SKETCHED = [*_SPACE.every(data=_ROWS, sketch_rows=(1, 3), sketch_cells=(1, 2)), _row((4, -1, 0, 3, 2), 2, 3)]

# --- what is recovered -----------------------------------------------------------------------------------------------


def _top_error(implementation: Any, x: Array, n: int, sketch_cells: int, k: int) -> Fraction:
    places, signs = row_hashings(n, sketch_cells, "independent", True)
    total = 0.0
    for buckets, sign in zip(places[:, None], signs[:, None], strict=True):
        table = count_sketch(x, buckets, sign, sketch_cells)
        total += float(np.square(implementation(table, buckets, sign, k) - x).sum())
    return _exact(total) / len(places) / int(np.square(x).sum())


_KEPT = [
    *_SPACE.every(data=(*_ROWS, (0, 0, 1)), sketch_cells=(1, 2), k=lambda data: range(1, len(data) + 1)),
    *(
        _row(x, 1, cells)
        for x, cells in (((0, 1), 3), ((0, 2), 4), ((0, 0, -1), 3), ((0, 0, 0, 1), 1), ((0, 0, 0, 1), 2))
    ),
]
_TOPS = Family("sketched", "unsketch", _SPACE, _symbols, searched=False)


def _spiked(n: int, k: int, seed: int) -> Array:
    """A few large integers among small ones."""
    rng = np.random.default_rng([n, seed])
    x = rng.integers(-3, 4, n).astype(float)
    x[rng.permutation(n)[:k]] += rng.choice((-40.0, 40.0), k)
    return x


def _separation(x: Array, n: int, sketch_rows: int, sketch_cells: int, k: int, seed: int) -> dict[str, Any]:
    hashes = buckets, signs = drawn_hashes(n, sketch_rows, sketch_cells, seed)
    worst = np.abs(sketch_estimates(count_sketch(x, buckets, signs, sketch_cells), buckets, signs) - x).max()
    sizes = np.append(np.sort(np.abs(x))[::-1], 0.0)
    return {"worst": float(worst), "gap": float(sizes[k - 1] - sizes[k]), "hashes": hashes}


def _missed(implementation: Any, x: Array, k: int, sketch_cells: int, hashes: Any) -> int:
    buckets, signs = hashes
    update = implementation(count_sketch(x, buckets, signs, sketch_cells), buckets, signs, k)
    top = np.argsort(-np.abs(x), kind="stable")[:k]
    return int((np.asarray(update)[top] == 0).sum())


_SPIKED = Family(
    "sketched",
    "unsketch",
    Space(_spiked, {"n": (20, 6), "sketch_rows": (5, 1, 3), "sketch_cells": (40, 16), "k": (1, 2, 4)}),
    _separation,
    exact=False,
    searched=False,
)

# --- levels ----------------------------------------------------------------------------------------------------------


def _levels(implementation: Any, x: Array, n: int, sketch_rows: int, sketch_cells: int) -> Outcome:
    levels = x.astype(np.int64)
    buckets, _, count = side_by_side(n, sketch_rows, sketch_cells)
    # the signs are of no use here: every second pair of hashings is one
    found = np.asarray(implementation(np.tile(levels, count), buckets, count * sketch_cells)).reshape(count, -1)
    share = Fraction(int((found[:, 0] == levels[0]).sum()), count)
    return Outcome(share, {"smaller_levels": int((levels < levels[0]).sum())})


def _under(implementation: Any, x: Array, n: int, sketch_rows: int, sketch_cells: int, hash_seed: int) -> Outcome:
    levels = x.astype(np.int64)
    buckets, _ = drawn_hashes(n, sketch_rows, sketch_cells, hash_seed)
    found = implementation(levels, buckets, sketch_cells)
    worst = max(range(n), key=lambda i: (int(found[i]) - int(levels[i]), int(levels[i])))
    return Outcome(int(found[worst]), {"sketched_level": int(levels[worst])})


_LEVELS = Family("sketched", "min_max_sketch", _SPACE.replaced(hash_seed=(1,)), searched=False)
_FEW_LEVELS = [
    *_LEVELS.space.every(
        data=((2,), (1, 5), (5, 1), (3, 3), (5, 1, 2), (2, 1, 9), (4, 4, 1)), sketch_rows=(1, 2), sketch_cells=(1, 2, 3)
    ),
    _LEVELS.space.at(data=(5, 1), sketch_rows=3, sketch_cells=2),
    _LEVELS.space.at(data=(9, 1, 2, 3), sketch_cells=2),
]

# --- all -------------------------------------------------------------------------------------------------------------

_estimated = partial(
    _studied, _OF_ESTIMATES, "up to six entries and five rows, all hashings of which no two are alike by symmetry"
)
_estimates_over = partial(_OF_ESTIMATES.over, label="all hashings")
_by_entries, _by_cells, _by_rows = (
    partial(_estimates_over, "n", by="data", sketch_cells=2),
    partial(_estimates_over, "sketch_cells", range(1, 7)),
    partial(_estimates_over, "sketch_rows"),
)
_leveled = partial(_studied, _LEVELS, "up to four levels")
_levels_over = partial(_LEVELS.over, label="largest of three levels", sketch_rows=2)
_kept = partial(_studied, _TOPS, "up to four entries, all hashings")
_ONES = partial(_TOPS.over, "k", (1, 2, 3), data=(1, 1, 1))
_PARITY = [_OF_ESTIMATES.case(_row((1,) * n, 3, hashing=name)) for n, name in ((4, "three"), (6, "five"))]
_PRIMES = "hash_prime", (3, 5, 7)
EXPERIMENTS = {
    **studies(
        *_of_hashes(_collision, ("sketch_cells", range(1, 8)), "collision", "universal",
                    sketch_cells=lambda level: range(1, 9 + level)),
        *_of_hashes(partial(_signs, 1), _PRIMES, "sign_mean"),
        *_of_hashes(partial(_signs, 2), _PRIMES, "sign_pair", "balanced"),
        *_studied(_TABLES, "up to five entries", "table.linear", _combined, _SKETCHED,
                  _TABLES.over("n", _first(1, 2, 3, 4), "up to three entries", "data", sketch_rows=2, sketch_cells=2)),
        *_studied(_TABLES, "up to five entries, all hashings", "table.norm", _norm, _SKETCHED,
                  _TABLES.over("norm2", [(top, 1) for top in range(1, 7)], "up to three entries", "data",
                               sketch_cells=2)),
        *_estimated("row.unbiased", _bias, _SINGLE, _by_entries(_first(1, 2, 3))),
        *_estimated("row.variance", _variance, _SINGLE, _by_cells(data=(1, 2, 2))),
        *_estimated("row.variance_bound", _variance, _SINGLE, _by_cells(data=(1, 2, 2)), _ONE_OTHER),
        *_estimated("row.error", _error, _SINGLE, _by_entries(_first(1, 2, 3, 4))),
        *_estimated("median.unbiased", _entry, _MEDIANS, _by_rows(range(1, 6), data=(2, 1, 3))),
        *_estimated("median.fourwise", _entry, _MEDIANS, _by_rows((1, 3), data=(1,) * 6, hashing="five")),
        *_estimated("median.parity", _entry, _MEDIANS, over("n", "all hashings", _PARITY)),
        *_estimated("median.lower", _entry, _MEDIANS, _by_rows(range(1, 6), data=(2, 1), middle="lower")),
        *_estimated("median.lower_bias", _entry, _MEDIANS, _by_cells(data=(2, 1), sketch_rows=2, middle="lower")),
        *_estimated("median.variance", _variance, _MEDIANS, _by_cells(data=(2, 1), sketch_rows=3), [_row((1, 2), 3)]),
        *_estimated("median.of_three", _variance, _MEDIANS, _by_cells(data=(2, 1), sketch_rows=3)),
        *_estimated("row.tail", _off, _TAILS, _by_cells(data=(0, 1)), _ONE_OTHER),
        *_estimated("median.tail", _off, _TAILS,
                    _estimates_over("row_off", range(6, 0, -1), by="sketch_cells", data=(0, 1), sketch_rows=3)),
        *_estimated("median.exponential", _off, _TAILS, _by_rows((1, 3), data=(0, 1), sketch_cells=4)),
        *_kept("recovery.contraction", _top_error, _KEPT, _ONES(label="three ones, one counter"),
               [_row((1, 1, 1), k=3)]),
        *_kept("recovery.one_cell", _top_error, _KEPT, _ONES(label="three ones"),
               [_row((*(0,) * k, 1), k=k) for k in (1, 2, 3)]),
        *_kept("recovery.one_entry", _top_error, _KEPT,
               _TOPS.over("sketch_cells", (1, 2, 3, 4), "two zeros and an entry", data=(0, 0, 1))),
        *_SPIKED.studies(
            _missed, "recovery.largest", curves=[_SPIKED.over("k", (1, 2, 3, 4), "20 entries, 5 rows of 40", seed=1)],
            corpus=_SPIKED.every(n=(6, 20), sketch_rows=(1, 3, 5), sketch_cells=(16, 40), k=(1, 2, 4), seed=range(3)),
        ),
        *_leveled("minmax.under", _under, _FEW_LEVELS,
                  _levels_over("sketched_level", [(v, 1, 2) for v in range(1, 7)], by="data", sketch_cells=2),
                  [_LEVELS.space.at(data=(7,), sketch_cells=2)]),
        *_leveled("minmax.exact", _levels, _FEW_LEVELS, _levels_over("sketch_cells", range(1, 6), data=(3, 1, 2))),
    ),
    **studies(*FEEDBACK),
}  # fmt: skip
