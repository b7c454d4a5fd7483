"""Test vectors of sketches."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.sketched import fetchsgd_step, sketched_sum, sketched_topk
from commbounds.compressors.sketched import count_sketch, min_max_sketch, polynomial_hashes, sketch_estimates, unsketch
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, called, case_of, collective, ranks
from commbounds.verify.vectors.compressor_cases import mechanism
from commbounds.verify.vectors.inputs import array, flags_of, ordinary, uniforms


def _hashes(n: int, rows: int, cells: int, key: int) -> dict[str, Array]:
    drawn = uniforms(700 + key, 2 * rows * n, "float64").reshape(2, rows, n)
    return {
        "buckets": np.floor(drawn[0] * cells).astype(np.int64),
        "signs": np.where(drawn[1] < 0.5, 1, -1).astype(np.int8),
    }


def _polynomials() -> Iterator[VectorCase]:
    for why, rows, n, cells, prime in (
        ("The smallest prime: both entries, in two buckets.", [[1, 0, 0, 0, 1, 1]], 2, 2, 2),
        ("Five of a prime's residues in three buckets, of which two are fuller.", [[1, 2, 1, 0, 3, 4]], 5, 3, 5),
        ("Two rows.", [[3, 1, 2, 5, 0, 6], [0, 0, 0, 0, 0, 0]], 7, 4, 7),
        ("More buckets than residues.", [[2, 1, 1, 1, 1, 1]], 3, 8, 3),
        ("A prime whose products need 62 bits.", [[2**31 - 2] * 6], 6, 5, 2**31 - 1),
    ):
        given = {"n": n, "cells": cells, "prime": prime}
        yield VectorCase(why, why, {"coefficients": np.array(rows, np.int64)}, given, {}, ())
    large = {"coefficients": np.array([[0, 0, 5, 0, 0, 0]], np.int64)}
    yield VectorCase("too large", "A coefficient as large as the prime is refused.", large,
                     {"n": 2, "cells": 2, "prime": 5}, {}, (), refused=True)  # fmt: skip


def _polynomial(case: VectorCase) -> Mapping[str, Any]:
    return dict(polynomial_hashes(**case.inputs, **case.parameters)._asdict())


_SKETCHES = (
    (1, 1, 1, "float64", "One entry, one counter."),
    (4, 1, 2, "float32", "One row."),
    (6, 3, 4, "float32", "Three rows."),
    (5, 2, 3, "float64", "Two rows, whose median is between them."),
    (9, 5, 2, "float32", "Few counters: everything collides."),
)


def _sketches() -> Iterator[VectorCase]:
    for number, (n, rows, cells, dtype, why) in enumerate(_SKETCHES):
        x = ordinary(810 + number, n, dtype)
        yield VectorCase(why, why, {"x": x, **_hashes(n, rows, cells, number)}, {"cells": cells}, {}, flags_of(x))
    bad = array([1.0, np.nan], "float32")
    yield VectorCase("NaN", "A NaN is refused.", {"x": bad, **_hashes(2, 1, 2, 9)}, {"cells": 2}, {}, flags_of(bad),
                     refused=True)  # fmt: skip


def _tables() -> Iterator[tuple[str, dict[str, Array]]]:
    for number, (n, rows, cells, dtype, why) in enumerate(_SKETCHES):
        hashes = _hashes(n, rows, cells, number)
        yield why, {"table": count_sketch(ordinary(810 + number, n, dtype), **hashes, cells=cells), **hashes}
    # two rows of one counter, which disagree
    yield "Rows that disagree, an even number of them.", {
        "table": array([[3], [-1]], "float64"), "buckets": np.zeros((2, 2), np.int64),
        "signs": np.array([[1, 1], [1, -1]], np.int8),
    }  # fmt: skip


def _estimates() -> Iterator[VectorCase]:
    for (why, given), middle in ((case, middle) for case in _tables() for middle in ("mean", "lower")):
        name = f"{why[:-1]}, {middle}"
        yield VectorCase(name, why, given, {"middle": middle}, {}, ())
    why, given = next(_tables())
    yield VectorCase("middle", "There is no such median.", given, {"middle": "upper"}, {}, (), refused=True)


def _unsketched() -> Iterator[VectorCase]:
    for why, given in _tables():
        n = given["buckets"].shape[1]
        for k in sorted({1, n}):
            yield VectorCase(f"{why[:-1]}, k={k}", why, given, {"k": k, "middle": "mean"}, {}, ())
    why, given = next(_tables())
    yield VectorCase("none", "No entry is too few.", given, {"k": 0, "middle": "mean"}, {}, (), refused=True)


def _minima() -> Iterator[VectorCase]:
    for number, (why, levels, rows, cells) in enumerate(
        (
            ("One level.", [3], 1, 1),
            ("One cell: all get the least.", [4, 1, 7], 2, 1),
            ("Two rows: the larger of two minima.", [4, 1, 7, 0, 2], 2, 3),
            ("Equal levels are exact.", [5, 5, 5], 1, 2),
            ("Four rows.", [9, 8, 7, 6, 5, 4, 3, 2], 4, 4),
        )
    ):
        given = {
            "levels": np.array(levels, np.int64),
            "buckets": _hashes(len(levels), rows, cells, 20 + number)["buckets"],
        }
        yield VectorCase(why, why, given, {"cells": cells}, {}, ())
    bad = {"levels": np.array([1, -1], np.int64), "buckets": np.zeros((1, 2), np.int64)}
    yield VectorCase("negative", "A negative level is refused.", bad, {"cells": 1}, {}, (), refused=True)


def _stacks(key: int) -> Iterator[tuple[str, dict[str, Array], int]]:
    for number, (P, n, dtype, why) in enumerate(SIZES):
        rows, cells = ((1, 4), (3, 2), (2, 3))[number % 3]
        yield why, {"stack": ranks(P, n, dtype, key), **_hashes(n, rows, cells, 40 + number)}, cells


def _sums() -> Iterator[VectorCase]:
    for why, given, cells in _stacks(121):
        for k, middle in ((1, "mean"), (2, "lower")):
            yield case_of(why, given, {"cells": cells, "k": k, "middle": middle})
    stack = {"stack": array([[1, 1], [2, -2]], "float32"), **_hashes(2, 1, 2, 60)}
    yield case_of("There is no third entry.", stack, {"cells": 2, "k": 3, "middle": "mean"}, about="k", refused=True)


def _rounds() -> Iterator[VectorCase]:
    for why, given, cells in _stacks(122):
        for candidates in (2, 3):
            yield case_of(why, given, {"cells": cells, "k": 2, "candidates": candidates})
    stack = {"stack": array([[1, 1], [2, -2]], "float32"), **_hashes(2, 1, 2, 60)}
    yield case_of("Fewer candidates than entries.", stack, {"cells": 2, "k": 2, "candidates": 1}, about="candidates",
                  refused=True)  # fmt: skip


def _steps() -> Iterator[VectorCase]:
    for number, (why, given, cells) in enumerate(_stacks(123)):
        shape = (len(given["buckets"]), cells)
        state = {
            name: ordinary(900 + 2 * number + i, shape[0] * cells, given["stack"].dtype.name).reshape(shape)
            for i, name in enumerate(("momentum", "error"))
        }
        stack = given.pop("stack")
        for forget, rho in (("zero", 0.5), ("subtract", 0.75)):
            yield case_of(why, {"stack": stack, **state, **given}, {"k": 2, "rho": rho, "forget": forget})
    table = array([[2.0]], "float64")
    one = {"stack": array([[1, 1, 1]], "float64"), "momentum": 0 * table, "error": table,
           "buckets": np.zeros((1, 3), np.int64), "signs": np.ones((1, 3), np.int8)}  # fmt: skip
    options = {"k": 3, "rho": 0.0, "forget": "subtract"}
    yield case_of(
        "Three recovered entries of one counter: it is doubled, with the other sign.", one, options, about="growth"
    )
    yield case_of("rho above one is refused.", one, {**options, "rho": 1.5}, about="rho", refused=True)


def _step(case: VectorCase) -> Mapping[str, Any]:
    state, traffic = fetchsgd_step(**case.inputs, **case.parameters)
    return {**state._asdict(), "traffic": traffic}


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return [
        mechanism("polynomial_hashes", _polynomials, _polynomial),
        mechanism("count_sketch", _sketches, called(count_sketch, "table")),
        mechanism("sketch_estimates", _estimates, called(sketch_estimates, "estimates")),
        mechanism("unsketch", _unsketched, called(unsketch, "update")),
        mechanism("min_max_sketch", _minima, called(min_max_sketch, "recovered")),
        collective("sketched_sum", _sums, called(sketched_sum, "total", "traffic")),
        collective("sketched_topk", _rounds, called(sketched_topk, "total", "traffic")),
        collective("fetchsgd_step", _steps, _step),
    ]
