"""The ranks of the collectives beside the collectives in one process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives.ranks import Communicator
from commbounds.collectives.rotations import rotated_mean, rotated_sum
from commbounds.collectives.rotations.means import SEEDS
from commbounds.collectives.traffic import Traffic
from commbounds.verify import pairing

Array = NDArray[Any]


def _stacks(P: int) -> dict[str, Array]:
    """Both dtypes, zeros, equal entries, padding and none, fewer entries than ranks."""
    rng = np.random.default_rng([P, 17])
    return {
        "normal": rng.standard_normal((P, 11)),
        "equal": np.ones((P, 8), np.float32),
        "sparse": np.eye(P, 5, dtype=np.float32) * 3,
        "zeros": np.zeros((P, 4)),
        "fewer entries than ranks": rng.standard_normal((P, max(1, P - 1))),
    }


def _means(P: int) -> Iterator[pairing.RankCase]:
    for (name, stack), seeds, width in itertools.product(_stacks(P).items(), SEEDS, (1, 3)):
        yield pairing.RankCase({"input": name, "n": stack.shape[1], "seeds": seeds, "width": width}, stack)


def _sums(P: int) -> Iterator[pairing.RankCase]:
    for (name, stack), levels in itertools.product(_stacks(P).items(), (1, 7)):
        yield pairing.RankCase({"input": name, "n": stack.shape[1], "levels": levels}, stack)


def _mean_given(case: pairing.RankCase) -> dict[str, Any]:
    return {key: case.settings[key] for key in ("width", "seeds")} | {"rng": np.random.default_rng(3)}


def _sum_given(case: pairing.RankCase) -> dict[str, Any]:
    return {"levels": case.settings["levels"], "rng": np.random.default_rng(3)}


def _mean_in_one(case: pairing.RankCase) -> tuple[list[pairing.RankResult], Traffic]:
    rows, traffic = rotated_mean(case.stack, **_mean_given(case))
    return [{"mean": row} for row in rows], traffic


def _mean_on_rank(comm: Communicator, case: pairing.RankCase) -> pairing.RankResult:
    return {"mean": rotated_mean.on_rank(comm, case.stack[comm.rank], **_mean_given(case))}


def _sum_in_one(case: pairing.RankCase) -> tuple[list[pairing.RankResult], Traffic]:
    rows, traffic = rotated_sum(case.stack, **_sum_given(case))
    return [{"total": row} for row in rows], traffic


def _sum_on_rank(comm: Communicator, case: pairing.RankCase) -> pairing.RankResult:
    return {"total": rotated_sum.on_rank(comm, case.stack[comm.rank], **_sum_given(case))}


PAIRINGS = (
    pairing.Pairing("rotated_mean", _means, _mean_in_one, _mean_on_rank),
    pairing.Pairing("rotated_sum", _sums, _sum_in_one, _sum_on_rank),
)
