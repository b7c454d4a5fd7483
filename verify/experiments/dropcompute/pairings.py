"""The gradient of a step that drops work beside its rank-by-rank twin."""

import numpy as np

from commbounds import collectives
from commbounds.collectives.dropcompute import on_rank as programs
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition import Given
from commbounds.verify.experiments.dropcompute.definitions import GRADIENTS
from commbounds.verify.pairing import Pairing, RankResult, on_rows


def _together(given: Given) -> tuple[list[RankResult], Traffic]:
    """`drop_gradient` counts nothing: the traffic is that of an average, in one process, of vectors as long."""
    (P, _, d), computed = given.inputs["gradients"].shape, given.parameters.get("normalisation") == "computed"
    result = collectives.drop_gradient(**given.inputs, **given.parameters)
    _, traffic = collectives.group_average(np.zeros((P, d + computed)), np.zeros(P, np.int64))
    return [{"result": result}] * P, traffic


def _apart(comm: Communicator, given: Given) -> RankResult:
    mine, count = given.inputs["gradients"][comm.rank], int(given.inputs["completed"][comm.rank])
    return {"result": programs.drop_gradient(comm, mine, count, **given.parameters)}


PAIRINGS: tuple[Pairing, ...] = (on_rows("drop_gradient", GRADIENTS, _together, _apart),)
