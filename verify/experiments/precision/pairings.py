"""The ranks of an all-reduce in two formats beside all of them in one process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from commbounds.collectives.precision import SCHEDULES, mixed_precision_allreduce
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify import pairing

_OPTIONS: tuple[dict[str, Any], ...] = (
    {"wire": "bfloat16"},
    {"wire": "bfloat16", "accumulate": "float32", "rounds_own": False},
    {"wire": "float8_e5m2", "accumulate": "float16", "per_hop": False},
    {"wire": "float8_e4m3fn", "average": "before"},
    {"wire": "float16", "average": "after"},
    {"wire": "float8_e4m3fn", "seed": 3},
)


def _telling(P: int) -> Iterator[pairing.RankCase]:
    """Entries of several sizes, fewer and more than ranks; every schedule, to nearest and stochastic."""
    rng = np.random.default_rng([P, 9])
    for number, schedule in enumerate(SCHEDULES):
        nodes = {} if schedule != "hierarchical" else {"nodes": max(k for k in (1, 2, 3) if P % k == 0)}
        for i, options in enumerate(_OPTIONS):
            n = (1, 5, max(1, P - 1), 3 * P + 1)[(number + i) % 4]
            stack = rng.standard_normal((P, n)) * 2.0 ** rng.integers(-4, 4, (P, n))
            dtype = (np.float32, np.float64)[(number + i) % 2]
            settings = {"n": n, "dtype": np.dtype(dtype).name, "schedule": schedule, **nodes, **options}
            yield pairing.RankCase(settings, stack.astype(dtype))


def _given(case: pairing.RankCase) -> dict[str, Any]:
    given = {key: value for key, value in case.settings.items() if key not in ("n", "dtype", "seed")}
    return given | ({"rng": np.random.default_rng(case.settings["seed"])} if "seed" in case.settings else {})


def _in_one_process(case: pairing.RankCase) -> tuple[list[pairing.RankResult], Traffic]:
    result, traffic = mixed_precision_allreduce(case.stack, **_given(case))
    return [{"result": row} for row in result], traffic


def _on_rank(comm: Communicator, case: pairing.RankCase) -> pairing.RankResult:
    return {"result": mixed_precision_allreduce.on_rank(comm, case.stack[comm.rank], **_given(case))}


PAIRINGS = (pairing.Pairing("mixed_precision_allreduce", _telling, _in_one_process, _on_rank),)
