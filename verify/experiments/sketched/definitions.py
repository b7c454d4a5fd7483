"""Sketches, and their sums, beside their definitions: the spaces of their cases."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.data import EDGES, KINDS, stack_of, vector_of
from commbounds.verify.definition import Definition, Given, called, chosen, in_rounds
from commbounds.verify.definitions import sketched
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes

DATA = tuple(kind for kind in (*KINDS, *EDGES) if kind not in ("huge", "over", "NaN"))
LENGTHS = (1, 2, 3, 7, 8, 16, 64, *TILES)
COUNTS = (1, Of("ceil(n / 2)", lambda n: -(-n // 2)), Of("n", lambda n: n))
MIDDLE = ("default", "mean", "lower")
TABLES = {"rows": (1, 2, 3, 4, 5, 6), "cells": (3, 1, 2, 8, 17), "hashes": ("int64", "int32", "uint8", "one counter")}
"""Rows and counters; the dtype of hashes, or all entries in the last counter."""


def _hashes(n: int, rows: int, cells: int, hashes: str, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    one = hashes == "one counter"
    buckets = np.full((rows, n), cells - 1) if one else rng.integers(0, cells, (rows, n)).astype(hashes)
    return {"buckets": buckets, "signs": rng.choice((1, -1), (rows, n)).astype("int64" if one else "int8")}


def _coefficients(rows: int, n: Any, cells: int, prime: int, data: str, seed: int) -> Given:
    rng = np.random.default_rng(seed)
    made = {"drawn": rng.integers(0, prime, (rows, 6)), "largest": np.full((rows, 6), prime - 1)}
    return Given({"coefficients": made[data]}, {"n": n, "cells": cells, "prime": prime})


def _ending(rows: int, last: int) -> Array:
    coefficients = np.zeros((rows, 6), np.int64)
    coefficients[-1, -1] = last
    return coefficients


def _vector(n: int, data: str, dtype: str, seed: int, **table: Any) -> Given:
    return Given({"x": vector_of(data, n, dtype, seed), **_hashes(n, **table, seed=seed)}, {"cells": table["cells"]})


def _table(
    n: int, data: str, dtype: str, rows: int, cells: int, hashes: str, seed: int, **options: Any
) -> Given:  # fmt: skip
    counters = stack_of(data, rows, cells, dtype, seed)
    return Given({"table": counters, **_hashes(n, rows, cells, hashes, seed)}, chosen("default", **options))


def _levels(n: int, most: int, rows: int, cells: int, hashes: str, seed: int) -> Given:
    levels = np.random.default_rng(seed).integers(0, most, n, endpoint=True)
    buckets = _hashes(n, rows, cells, hashes, seed)["buckets"]
    return Given({"levels": levels, "buckets": buckets}, {"cells": cells})


def _stack(
    P: int, n: int, data: str, dtype: str, rows: int, cells: int, hashes: str, seed: int, **options: Any
) -> Given:  # fmt: skip
    stack = stack_of(data, P, n, dtype, seed)
    return Given(
        {"stack": stack, **_hashes(n, rows, cells, hashes, seed)}, {"cells": cells, **chosen("default", **options)}
    )


def _rounds(
    P: int, n: int, data: str, dtype: str, rows: int, cells: int, hashes: str, rounds: int, state: str, seed: int,
    **options: Any,
) -> Given:  # fmt: skip
    stacks = [stack_of(data, P, n, dtype, seed + t) for t in range(rounds)]
    momentum, error = (stack_of("zeros" if state == "zero" else "normal", rows, cells, dtype, seed + t) for t in (7, 8))
    given = {"stacks": stacks, "momentum": momentum, "error": error, **_hashes(n, rows, cells, hashes, seed)}
    return Given(given, chosen("default", **options))


def _hashed(hashes: Callable[..., Any], given: Given) -> Mapping[str, Any]:
    return dict(hashes(**given.inputs, **given.parameters)._asdict())


VECTORS = {"n": LENGTHS, "data": DATA, "dtype": ("float32", "float64"), **TABLES}
STACKS = {
    "P": RANKS,
    "n": sizes(16, *TILES),
    "data": tuple(KINDS),
    "dtype": ("float32", "float64"),
    **TABLES,
    "rows": (1, 2, 3, 4),
}
FEW = ("dtype", "cells")
"""Of options of all of them, those that are tried in every two with every number of ranks."""


BEYOND: dict[str, Sequence[Any]] = {
    "cells": (0, 2**31),
    "k": (0, Of("n + 1", lambda n: n + 1)),
    "candidates": (0, Of("n + 1", lambda n: n + 1), Of("k - 1", lambda k: k - 1)),
    "middle": ("upper",),
    "rho": (-5e-324, np.nextafter(1.0, 2.0)),
    "forget": ("never",),
    "buckets": (
        Of("cells", lambda rows, n, cells: np.full((rows, n), cells)),
        Of("-1", lambda rows, n: np.full((rows, n), -1)),
    ),
    "signs": (Of("0", lambda rows, n: np.full((rows, n), 0)), Of("2", lambda rows, n: np.full((rows, n), 2))),
}
"""What is refused of whatever sketch takes it."""


def _beyond(*names: str) -> dict[str, Sequence[Any]]:
    return {name: BEYOND[name] for name in names}


def _sums_beyond() -> list[Given]:
    """Entries that cancel in a table, whose own sums overflow."""
    hashes = {"buckets": np.zeros((1, 2), np.int64), "signs": np.array([[1, -1]], np.int8)}
    given = {"stack": np.full((2, 2), 3e38, np.float32), **hashes}
    return [Given(given, {"cells": 1, "candidates": 2, "k": 1})]


def _tables_beyond() -> list[Given]:
    """Sums that have overflown are estimates like all others."""
    hashes = {"buckets": np.array([[0, 1, 1]]), "signs": np.array([[1, 1, -1]], np.int8)}
    return [Given({"table": np.array([[1.0, np.inf]]), **hashes})]


DEFINITIONS = {
    "polynomial_hashes": Definition(
        Space(
            _coefficients,
            {
                "prime": (2, 3, 5, 7, 65_537, 2**31 - 1),
                "n": (
                    1,
                    2,
                    Of("min(prime, 17)", lambda prime: min(prime, 17)),
                    Of("min(prime, 70)", lambda prime: min(prime, 70)),
                ),
                "cells": (1, 2, 3, 8, 1000),
                "rows": (1, 2, 3, 5),
                "data": ("drawn", "largest"),
            },
        ),
        _hashed,
        sketched.hashes_said,
        refused={
            "n": (0, Of("prime + 1", lambda prime: prime + 1)),
            "prime": (1, 2**31),
            "cells": (0, 2**31),
            "coefficients": (
                Of("-1 among them", lambda rows: _ending(rows, -1)),
                Of("prime among them", lambda rows, prime: _ending(rows, prime)),
            ),
        },
    ),
    "count_sketch": Definition(
        Space(_vector, VECTORS).search(n=(1, 70)),
        called("table"),
        sketched.table_said,
        refused=_beyond("cells", "buckets", "signs"),
    ),
    "sketch_estimates": Definition(
        Space(_table, {**VECTORS, "middle": MIDDLE}).search(n=(1, 70)),
        called("estimates"),
        sketched.estimates_said,
        examples=_tables_beyond,
        refused=_beyond("middle", "buckets", "signs"),
    ),
    "unsketch": Definition(
        Space(_table, {**VECTORS, "middle": MIDDLE, "k": COUNTS}),
        called("update"),
        sketched.update_said,
        refused=_beyond("k", "middle", "buckets", "signs"),
    ),
    "min_max_sketch": Definition(
        Space(_levels, {"n": LENGTHS, "most": (3, 0, 2**40), **TABLES}).search(n=(1, 70)),
        called("recovered"),
        sketched.minima_said,
        refused=_beyond("cells", "buckets"),
    ),
    "sketched_sum": Definition(
        Space(_stack, {**STACKS, "k": COUNTS, "middle": MIDDLE}, (*FEW, "rows", "middle")),
        called("total", "traffic"),
        sketched.summed,
        refused=_beyond("cells", "k", "middle", "buckets", "signs"),
    ),
    "sketched_topk": Definition(
        Space(
            _stack,
            {
                **STACKS,
                "candidates": (*COUNTS, Of("min(n, 2)", lambda n: min(n, 2))),
                "k": (1, Of("candidates", lambda candidates: candidates)),
            },
            (*FEW, "k", "candidates"),
        ),
        called("total", "traffic"),
        sketched.asked_again,
        examples=_sums_beyond,
        refused={
            **_beyond("cells", "candidates", "buckets", "signs"),
            "k": (0, Of("candidates + 1", lambda candidates: candidates + 1)),
        },
    ),
    "fetchsgd_step": Definition(
        Space(
            _rounds,
            {
                **STACKS,
                "k": COUNTS,
                "rho": ("default", 0.0, 0.5, 1.0),
                "forget": ("default", "zero", "subtract"),
                "rounds": (3, 1, 4),
                "state": ("normal", "zero"),
            },
            (*FEW, "rho", "forget"),
        ),
        in_rounds("state", lambda inputs, said: {**inputs, **{name: said[name] for name in ("momentum", "error")}}),
        sketched.stepped,
        refused=_beyond("k", "rho", "forget", "buckets", "signs"),
    ),
}
