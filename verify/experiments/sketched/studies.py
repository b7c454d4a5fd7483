"""Sketches: the claims bound to their implementations."""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Array
from commbounds.compressors.sketched import count_sketch, sketch_estimates
from commbounds.verify.experiments.sketched.feedback import FEEDBACK
from commbounds.verify.experiments.sketched.hashings import drawn_hashes, row_hashings, side_by_side
from commbounds.verify.study import Case, Outcome, Study, over, studies

# --- hashes ----------------------------------------------------------------------------------------------------------


def _coefficients(p: int, part: slice) -> Array:
    """All coefficients of one polynomial, those of the other zero."""
    chosen = np.array(list(itertools.product(range(p), repeat=part.stop - part.start)), np.int64)
    found = np.zeros((len(chosen), 6), np.int64)
    found[:, part] = chosen
    return found


def _collision(hashes: Any, case: Case) -> Outcome:
    """The largest share of coefficients with which two entries collide."""
    p, c = case.settings["hash_prime"], case.settings["sketch_cells"]
    n = min(p, 4)
    buckets = hashes(_coefficients(p, slice(0, 2)), n, c, p)[0]
    most = max(int((buckets[:, i] == buckets[:, j]).sum()) for i, j in itertools.combinations(range(n), 2))
    return Outcome(Fraction(most, p**2), {"hash_prime": p, "sketch_cells": c})


def _signs(which: str, hashes: Any, case: Case) -> Outcome:
    """The largest magnitude of a mean sign, or of the mean product of two."""
    p = case.settings["hash_prime"]
    n = min(p, 4)
    signs = hashes(_coefficients(p, slice(2, 6)), n, 2, p)[1].astype(np.int64)
    sums = [signs[:, i] for i in range(n)] if which == "mean" else [
        signs[:, i] * signs[:, j] for i, j in itertools.combinations(range(n), 2)
    ]  # fmt: skip
    return Outcome(Fraction(max(abs(int(s.sum())) for s in sums), p**4), {"hash_prime": p})


def _prime(p: int, c: int = 2) -> Case:
    return Case({"hash_prime": p, "sketch_cells": c})


def _primes(level: int) -> Iterator[Case]:
    for p in (2, 3, 5, 7):
        for c in range(1, 9 + level):
            yield _prime(p, c)


def _small_primes(_level: int) -> Iterator[Case]:
    for p in (2, 3, 5, 7):
        yield _prime(p)


def _of_hashes(name: str, trial: Any, axis: str) -> Study:
    grid: Any = _primes
    cases = [_prime(7, c) for c in range(1, 8)]
    if axis == "hash_prime":
        grid, cases = _small_primes, [_prime(p) for p in (3, 5, 7)]
    return Study(
        f"sketched.hashes.{name}", "polynomial_hashes", trial, grid=grid, enumerated="primes up to 7, all coefficients",
        curves=[over(axis, "all coefficients", cases)],
    )  # fmt: skip


# --- tables and estimates --------------------------------------------------------------------------------------------


def _case(
    x: Sequence[int],
    rows: int = 1,
    cells: int = 1,
    hashing: str = "independent",
    middle: str = "mean",
    tolerance: str = "1",
    k: int = 1,
) -> Case:
    given = {
        "n": len(x), "sketch_rows": rows, "sketch_cells": cells, "hashing": hashing, "middle": middle,
        "tolerance": tolerance, "k": k,
    }  # fmt: skip
    return Case(given, np.array(x, float))


def _known(_implementation: Any, case: Case) -> dict[str, Any]:
    return {"nonzero": bool(case.array.any()), "flat": bool((case.array == 1).all())}


def _symbols(case: Case) -> dict[str, Any]:
    s, x = case.settings, [int(v) for v in case.array]
    known = {
        "n": s["n"], "k": s["k"], "sketch_rows": s["sketch_rows"], "sketch_cells": s["sketch_cells"],
        "norm2": sp.sqrt(sum(v * v for v in x)), "sketched_entry": abs(x[0]),
        "sketch_tolerance": Fraction(s["tolerance"]),
    }  # fmt: skip
    return {**known, **({"other_entry": abs(x[1])} if len(x) > 1 else {})}


def _exact(value: Any) -> Fraction:
    """A sum of floats that are small multiples of a power of two, of which none is rounded."""
    return Fraction(float(value))


def _whole(case: Case) -> tuple[Any, ...]:
    s = case.settings
    return side_by_side(s["n"], s["sketch_rows"], s["sketch_cells"], s["hashing"], s["sketch_rows"] == 1 and s["n"] < 5)


def _estimates(estimate: Any, case: Case) -> Array:
    """The estimates under every hashing: (t, n)."""
    buckets, signs, count = _whole(case)
    table = count_sketch(np.tile(case.array, count), buckets, signs, count * case.settings["sketch_cells"])
    found = estimate(table, buckets, signs, case.settings["middle"])
    return np.asarray(found).reshape(count, -1)


def _estimated(what: str, estimate: Any, case: Case) -> Outcome:
    """Moments of the estimates."""
    errors = case.once(_estimates, estimate) - case.array
    values = case.once(_symbols)
    count = len(errors)
    if what == "entry":
        return Outcome(abs(_exact(errors[:, 0].sum())) / count, values)
    if what == "bias":
        top = max(abs(int(v)) for v in case.array) or 1
        return Outcome(max(abs(_exact(e)) for e in errors.sum(axis=0)) / count / top, values)
    square = np.square(errors)
    if what == "variance":
        return Outcome(_exact(square[:, 0].sum()) / count, values)
    return Outcome(_exact(square.sum()) / count / int(np.square(case.array).sum()), values)


def _share_off(errors: Array, case: Case) -> Fraction:
    tolerance = Fraction(case.settings["tolerance"])
    least = tolerance.numerator**2 * np.square(case.array).sum()
    off = np.square(errors) * tolerance.denominator**2 >= least
    return Fraction(int(off.sum()), off.size)


def _off(estimate: Any, case: Case) -> Outcome:
    """How often the first entry is off, and how often one row of it would be."""
    errors = (case.once(_estimates, estimate) - case.array)[:, 0]
    places, signs = row_hashings(case.settings["n"], case.settings["sketch_cells"], "independent", False)
    alone = ((places == 0) * signs * case.array)[:, 1:].sum(axis=1)
    return Outcome(_share_off(errors, case), {**case.once(_symbols), "row_off": _share_off(alone, case)})


_ROWS: tuple[tuple[int, ...], ...] = ((1,), (2, 1), (0, 1), (-1, 3), (1, 1, 1), (0, 2, -1), (3, 0, 0), (2, -1, 3))


def _single(_level: int) -> Iterator[Case]:
    for x, cells in itertools.product((*_ROWS, (0, 0)), (1, 2, 3)):
        yield _case(x, 1, cells)
    yield _case((1, -2, 3, 1), 1, 2)
    for x in ((1, 2), (1, 2, 2)):
        yield _case(x, 3, 2)
        yield _case(x, 1, 1, middle="lower")


_MEDIANS = tuple(
    (x, rows, cells)
    for x in ((2, 1), (0, 1), (1, 1, 1), (1, 2, -3), (-1, 0, 2))
    for rows, cells in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (5, 1), (5, 2))
    if (2 * cells) ** ((len(x) - 1) * rows) <= 5000
)


def _medians(_level: int) -> Iterator[Case]:
    for (x, rows, cells), middle in itertools.product(_MEDIANS, ("mean", "lower")):
        yield _case(x, rows, cells, middle=middle)
    for x, cells in (((0, 3), 3), ((2, 1), 4)):
        yield _case(x, 3, cells)
    yield _case((0, 3), 2, 3, middle="lower")
    yield _case((5, -2), 2, 4, middle="lower")
    for n, hashing in ((4, "three"), (6, "five")):
        yield _case((1,) * n, 3, 1, hashing)
        yield _case((1,) * n, 1, 1, hashing)
    yield _case((1,) * 5, 3, 1, "five")
    yield _case((1, 2, 1, 1), 3, 1, "three")


def _tails(_level: int) -> Iterator[Case]:
    for (x, rows, cells), tolerance in itertools.product(_MEDIANS, ("1/3", "4/5", "1", "3/2", "2")):
        yield _case(x, rows, cells, tolerance=tolerance)
    for tolerance in ("1/2", "1"):
        yield _case((0, 1), 1, 4, tolerance=tolerance)
        yield _case((1, 1, 1), 1, 4, tolerance=tolerance)
        yield _case((0, 1), 3, 4, tolerance=tolerance)
    yield _case((0, 1), 5, 4)
    yield _case((0, 1, 1, 1, 1), 1, 4, tolerance="1/2")
    yield _case((0, 1, 1), 1, 1, tolerance="7/5")


def _one_other(_budget: Any) -> Iterator[Case]:
    for cells in (1, 2, 3):
        yield _case((0, 1), 1, cells)


_ENUMERATED = "up to six entries and five rows, all hashings of which no two are alike by symmetry"


def _of_estimates(name: str, trial: Any, grid: Any, axis: str, cases: Sequence[Case], **options: Any) -> Study:
    return Study(
        f"sketched.{name}", "sketch_estimates", trial, grid=grid, known=_known, enumerated=_ENUMERATED,
        curves=[over(axis, "all hashings", cases)], **options,
    )  # fmt: skip


def _by_cells(*x: int, rows: int = 1, middle: str = "mean") -> list[Case]:
    return [_case(x, rows, cells, middle=middle) for cells in range(1, 7)]


def _by_rows(*x: int, middle: str = "mean", tolerance: str = "1", cells: int = 1) -> list[Case]:
    return [_case(x, rows, cells, middle=middle, tolerance=tolerance) for rows in (1, 2, 3, 4, 5)]


def _table(what: str, sketch: Any, case: Case) -> Outcome:
    """Expected squared norm of a row, over all hashings; or what a combination differs by."""
    s, x = case.settings, case.array
    if what == "norm":
        buckets, signs, count = side_by_side(s["n"], 1, s["sketch_cells"], whole=True)
        table = sketch(np.tile(x, count), buckets, signs, count * s["sketch_cells"])
        return Outcome(_exact(np.square(table).sum()) / count, case.once(_symbols))
    buckets, signs = drawn_hashes(s["n"], s["sketch_rows"], s["sketch_cells"], 3)
    y = np.roll(x, 1) + 1
    first, second, both = (sketch(v, buckets, signs, s["sketch_cells"]) for v in (x, y, 3 * x - 2 * y))
    return Outcome(_exact(np.abs(3 * first - 2 * second - both).sum()), case.once(_symbols))


def _tables(_level: int) -> Iterator[Case]:
    for x, rows, cells in itertools.product(_ROWS, (1, 3), (1, 2)):
        yield _case(x, rows, cells)
    yield _case((4, -1, 0, 3, 2), 2, 3)


def _of_table(name: str, what: str, axis: str, cases: Sequence[Case]) -> Study:
    return Study(
        f"sketched.table.{name}", "count_sketch", partial(_table, what), grid=_tables, known=_known,
        enumerated="up to five entries" + (", all hashings" if what == "norm" else ""),
        curves=[over(axis, "up to three entries", cases)],
    )  # fmt: skip


# --- what is recovered -----------------------------------------------------------------------------------------------


def _top_error(recover: Any, case: Case) -> Outcome:
    s, x = case.settings, case.array
    places, signs = row_hashings(s["n"], s["sketch_cells"], "independent", True)
    total = 0.0
    for buckets, sign in zip(places[:, None], signs[:, None], strict=True):
        table = count_sketch(x, buckets, sign, s["sketch_cells"])
        total += float(np.square(recover(table, buckets, sign, s["k"]) - x).sum())
    return Outcome(_exact(total) / len(places) / int(np.square(x).sum()), case.once(_symbols))


def _tops(_level: int) -> Iterator[Case]:
    for x, cells in itertools.product((*_ROWS, (0, 0, 1)), (1, 2)):
        for k in range(1, len(x) + 1):
            yield _case(x, 1, cells, k=k)
    for x, cells in (((0, 1), 3), ((0, 2), 4), ((0, 0, -1), 3), ((0, 0, 0, 1), 1), ((0, 0, 0, 1), 2)):
        yield _case(x, 1, cells)


def _two_in_one(_budget: Any) -> Iterator[Case]:
    yield _case((1, 2), 3, 1)


def _first_zero(_budget: Any) -> Iterator[Case]:
    for k in (1, 2, 3):
        yield _case((*(0,) * k, 1), 1, 1, k=k)


def _all_kept(_budget: Any) -> Iterator[Case]:
    yield _case((1, 1, 1), 1, 1, k=3)


def _seeded(n: int, rows: int, cells: int, k: int, seed: int) -> Case:
    """A few large integers among small ones."""
    rng = np.random.default_rng([n, seed])
    x = rng.integers(-3, 4, n).astype(float)
    x[rng.permutation(n)[:k]] += rng.choice((-40.0, 40.0), k)
    return Case({"n": n, "sketch_rows": rows, "sketch_cells": cells, "k": k, "hash_seed": seed}, x)


def _separation(_implementation: Any, case: Case) -> dict[str, Any]:
    s, x = case.settings, case.array
    hashes = drawn_hashes(s["n"], s["sketch_rows"], s["sketch_cells"], s["hash_seed"])
    worst = np.abs(sketch_estimates(count_sketch(x, *hashes, s["sketch_cells"]), *hashes) - x).max()
    sizes = np.append(np.sort(np.abs(x))[::-1], 0.0)
    return {"worst": float(worst), "gap": float(sizes[s["k"] - 1] - sizes[s["k"]])}


def _missed(recover: Any, case: Case) -> Outcome:
    s, x = case.settings, case.array
    hashes = drawn_hashes(s["n"], s["sketch_rows"], s["sketch_cells"], s["hash_seed"])
    update = recover(count_sketch(x, *hashes, s["sketch_cells"]), *hashes, s["k"])
    top = np.argsort(-np.abs(x), kind="stable")[: s["k"]]
    return Outcome(int((np.asarray(update)[top] == 0).sum()), {"k": s["k"], "n": s["n"]})


def _spiked(_budget: Any) -> Iterator[Case]:
    for n, rows, cells, k, seed in itertools.product((6, 20), (1, 3, 5), (16, 40), (1, 2, 4), range(3)):
        yield _seeded(n, rows, cells, k, seed)


# --- levels ----------------------------------------------------------------------------------------------------------


def _levels(recover: Any, case: Case) -> Outcome:
    s = case.settings
    levels = case.array.astype(np.int64)
    buckets, _, count = side_by_side(s["n"], s["sketch_rows"], s["sketch_cells"])
    # the signs are of no use here: every second pair of hashings is one
    found = np.asarray(recover(np.tile(levels, count), buckets, count * s["sketch_cells"])).reshape(count, -1)
    values = {
        "sketch_rows": s["sketch_rows"], "sketch_cells": s["sketch_cells"],
        "smaller_levels": int((levels < levels[0]).sum()),
    }  # fmt: skip
    return Outcome(Fraction(int((found[:, 0] == levels[0]).sum()), count), values)


def _under(recover: Any, case: Case) -> Outcome:
    s = case.settings
    levels = case.array.astype(np.int64)
    buckets, _ = drawn_hashes(s["n"], s["sketch_rows"], s["sketch_cells"], s["hash_seed"])
    found = recover(levels, buckets, s["sketch_cells"])
    worst = max(range(s["n"]), key=lambda i: (int(found[i]) - int(levels[i]), int(levels[i])))
    return Outcome(int(found[worst]), {"sketched_level": int(levels[worst])})


def _level_case(levels: Sequence[int], rows: int, cells: int) -> Case:
    given = {"n": len(levels), "sketch_rows": rows, "sketch_cells": cells, "hashing": "independent", "hash_seed": 1}
    return Case(given, np.array(levels, float))


def _level_grid(_level: int) -> Iterator[Case]:
    for levels, rows, cells in itertools.product(
        ((2,), (1, 5), (5, 1), (3, 3), (5, 1, 2), (2, 1, 9), (4, 4, 1)), (1, 2), (1, 2, 3)
    ):
        yield _level_case(levels, rows, cells)
    yield _level_case((5, 1), 3, 2)
    yield _level_case((9, 1, 2, 3), 1, 2)


def _of_levels(name: str, trial: Any, axis: str, cases: Sequence[Case], **options: Any) -> Study:
    return Study(
        f"sketched.minmax.{name}", "min_max_sketch", trial, grid=_level_grid, enumerated="up to four levels",
        curves=[over(axis, "largest of three levels", cases)], **options,
    )  # fmt: skip


def _alone(_budget: Any) -> Iterator[Case]:
    yield _level_case((7,), 1, 2)


EXPERIMENTS = {
    **studies(
        _of_hashes("collision", _collision, "sketch_cells"),
        _of_hashes("universal", _collision, "sketch_cells"),
        _of_hashes("sign_mean", partial(_signs, "mean"), "hash_prime"),
        _of_hashes("sign_pair", partial(_signs, "pair"), "hash_prime"),
        _of_hashes("balanced", partial(_signs, "pair"), "hash_prime"),
        _of_table("linear", "linear", "n", [_case((1, 2, 3, 4)[:n], 2, 2) for n in (1, 2, 3, 4)]),
        _of_table("norm", "norm", "norm2", [_case((top, 1), 1, 2) for top in range(1, 7)]),
        _of_estimates("row.unbiased", partial(_estimated, "bias"), _single, "n",
                      [_case((1, 2, 3)[:n], 1, 2) for n in (1, 2, 3)]),
        _of_estimates("row.variance", partial(_estimated, "variance"), _single, "sketch_cells", _by_cells(1, 2, 2)),
        _of_estimates("row.variance_bound", partial(_estimated, "variance"), _single, "sketch_cells",
                      _by_cells(1, 2, 2), extremal=_one_other),
        _of_estimates("row.error", partial(_estimated, "error"), _single, "n",
                      [_case((1, 2, 3, 4)[:n], 1, 2) for n in (1, 2, 3, 4)]),
        _of_estimates("median.unbiased", partial(_estimated, "entry"), _medians, "sketch_rows", _by_rows(2, 1, 3)),
        _of_estimates("median.fourwise", partial(_estimated, "entry"), _medians, "sketch_rows",
                      [_case((1,) * 6, rows, 1, "five") for rows in (1, 3)]),
        _of_estimates("median.parity", partial(_estimated, "entry"), _medians, "n",
                      [_case((1,) * n, 3, 1, h) for n, h in ((4, "three"), (6, "five"))]),
        _of_estimates("median.lower", partial(_estimated, "entry"), _medians, "sketch_rows",
                      _by_rows(2, 1, middle="lower")),
        _of_estimates("median.lower_bias", partial(_estimated, "entry"), _medians, "sketch_cells",
                      _by_cells(2, 1, rows=2, middle="lower")),
        _of_estimates("median.variance", partial(_estimated, "variance"), _medians, "sketch_cells",
                      _by_cells(2, 1, rows=3), extremal=_two_in_one),
        _of_estimates("median.of_three", partial(_estimated, "variance"), _medians, "sketch_cells",
                      _by_cells(2, 1, rows=3)),
        _of_estimates("row.tail", _off, _tails, "sketch_cells", _by_cells(0, 1), extremal=_one_other),
        _of_estimates("median.tail", _off, _tails, "row_off",
                      [_case((0, 1), 3, cells, tolerance="1") for cells in (6, 5, 4, 3, 2, 1)]),
        _of_estimates("median.exponential", _off, _tails, "sketch_rows",
                      _by_rows(0, 1, tolerance="1", cells=4)[::2][:2]),
        Study("sketched.recovery.contraction", "unsketch", _top_error, grid=_tops, known=_known, extremal=_all_kept,
              enumerated="up to three entries, all hashings", curves=[over("k", "three ones, one counter",
              [_case((1, 1, 1), 1, 1, k=k) for k in (1, 2, 3)])]),
        Study("sketched.recovery.one_cell", "unsketch", _top_error, grid=_tops, known=_known, extremal=_first_zero,
              enumerated="up to three entries, all hashings", curves=[over("k", "three ones",
              [_case((1, 1, 1), 1, 1, k=k) for k in (1, 2, 3)])]),
        Study("sketched.recovery.one_entry", "unsketch", _top_error, grid=_tops, known=_known,
              enumerated="up to four entries, all hashings", curves=[over("sketch_cells", "two zeros and an entry",
              [_case((0, 0, 1), 1, c) for c in (1, 2, 3, 4)])]),
        Study("sketched.recovery.largest", "unsketch", _missed, corpus=_spiked, known=_separation,
              curves=[over("k", "20 entries, 5 rows of 40", [_seeded(20, 5, 40, k, 1) for k in (1, 2, 3, 4)])]),
        _of_levels("under", _under, "sketched_level", [_level_case((v, 1, 2), 2, 2) for v in range(1, 7)],
                   extremal=_alone),
        _of_levels("exact", _levels, "sketch_cells", [_level_case((3, 1, 2), 2, c) for c in range(1, 6)]),
    ),
    **studies(*FEEDBACK),
}  # fmt: skip
