"""The gradient of a step that drops work beside its rank-by-rank twin."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from commbounds import collectives
from commbounds.collectives.dropcompute import on_rank as programs
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition import Given
from commbounds.verify.experiments.dropcompute.definitions import GRADIENTS
from commbounds.verify.pairing import Pairing, RankCase, RankResult, on_rows


def _cases(P: int) -> Iterator[RankCase]:
    """Workers that drop some, nothing, or all of their micro-batches; gradients longer than P, and of one entry."""
    rng = np.random.default_rng([P, 51])
    M = 3
    completed = ([r % (M + 1) for r in range(P)], [M] * P, [0] * P)
    for d, dtype in ((2 * P + 1, np.float64), (1, np.float32)):
        stack = (rng.standard_normal((P, M, d)) * 10.0 ** rng.integers(-6, 7, (P, M, d))).astype(dtype)
        for counts in completed:
            for normalisation in ("fixed", "computed", "worker"):
                yield RankCase(
                    {"dtype": stack.dtype.name, "d": d, "completed": counts, "normalisation": normalisation}, stack
                )


def _in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
    """`drop_gradient` counts nothing: the traffic is that of an average, in one process, of vectors as long."""
    P, _, d = case.stack.shape
    normalisation = case.settings["normalisation"]
    result = collectives.drop_gradient(case.stack, case.settings["completed"], normalisation)
    words = d + (normalisation == "computed")
    _, traffic = collectives.group_average(np.zeros((P, words)), np.zeros(P, np.int64))
    return [{"result": result}] * P, traffic


def _on_rank(comm: Communicator, case: RankCase) -> RankResult:
    count = case.settings["completed"][comm.rank]
    return {"result": programs.drop_gradient(comm, case.stack[comm.rank], count, case.settings["normalisation"])}


def _together(given: Given) -> tuple[list[RankResult], Traffic]:
    (P, _, d), computed = given.inputs["gradients"].shape, given.parameters.get("normalisation") == "computed"
    result = collectives.drop_gradient(**given.inputs, **given.parameters)
    _, traffic = collectives.group_average(np.zeros((P, d + computed)), np.zeros(P, np.int64))
    return [{"result": result}] * P, traffic


def _apart(comm: Communicator, given: Given) -> RankResult:
    mine, count = given.inputs["gradients"][comm.rank], int(given.inputs["completed"][comm.rank])
    return {"result": programs.drop_gradient(comm, mine, count, **given.parameters)}


PAIRINGS: tuple[Pairing, ...] = (
    on_rows(Pairing("drop_gradient", _cases, _in_one_process, _on_rank), GRADIENTS, _together, _apart),
)
