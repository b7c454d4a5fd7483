"""What a rank does in Ok-Topk SGD: the twin of `OkTopkSGD.start` and `OkTopkSGD.step`."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._peers import checked_step_size
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.oktopk.allreduce import oktopk_allreduce
from commbounds.collectives.oktopk.sgd import OkTopkSGD
from commbounds.collectives.oktopk.state import OkTopkRankResult, OkTopkRankState
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.compressors.base import as_array


@dataclass(frozen=True, eq=False)
class OkTopkSGDRankState:
    """Where the descent is, as one rank sees it.

    Parameters
    ----------
    weights : (n,) float32 or float64
        The same on all ranks.
    residual : (n,) dtype of the weights
        What this rank has not sent yet.
    allreduce : OkTopkRankState or None
        None before the first step.
    """

    weights: Array
    residual: Array
    allreduce: OkTopkRankState | None = None


def oktopk_sgd_start(comm: Communicator, sgd: OkTopkSGD, weights: ArrayLike) -> OkTopkSGDRankState:
    """The state of this rank before the first step.

    Parameters
    ----------
    comm : Communicator
        This rank's end.
    sgd : OkTopkSGD
        The same on all ranks.
    weights : (n,) float32 or float64
        Finite, the same on all ranks; copied.

    Raises
    ------
    TypeError, ValueError
        As `OkTopkSGD.start` raises, or the weights differ; on all ranks.
    """

    def request(row: Array) -> dict[str, Any]:
        sgd.start(row[0], 1)
        return {"weights (by their digest)": sha256(row.tobytes()).hexdigest()}

    row = agreed_row(comm, weights, request, "weights")
    alone = sgd.start(row[0], 1)
    return OkTopkSGDRankState(alone.weights, alone.residuals[0])


def oktopk_sgd_step(
    comm: Communicator, sgd: OkTopkSGD, gradient: ArrayLike, state: OkTopkSGDRankState, step_size: float | None = None
) -> tuple[OkTopkSGDRankState, OkTopkRankResult]:
    """One step of this rank, from its gradient at ``state.weights``.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases of Ok-Topk.
    sgd : OkTopkSGD
        The same on all ranks.
    gradient : (n,) float32 or float64
        This rank's, in the dtype of the weights; finite.
    state : OkTopkSGDRankState
        Not mutated.
    step_size : float or None
        As in `OkTopkSGD.step`; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `OkTopkSGD.step` raises, and as `agreed_row`; on all ranks.
    """

    def request(row: Array) -> dict[str, Any]:
        held = checked_stack(as_array(state.residual, "residual")[np.newaxis], "residual")
        for name, array in (("gradient", row), ("residual", held)):
            if array.shape[1:] != state.weights.shape:
                raise ValueError(f"{name} must be (n,) = {state.weights.shape}, as the weights, got {array.shape[1:]}")
            if array.dtype != state.weights.dtype:
                raise TypeError(f"{name} must be {state.weights.dtype}, as the weights, got {array.dtype}")
        chosen = checked_step_size(sgd.step_size if step_size is None else step_size)
        return {"step_size": chosen, "accumulate": sgd.accumulate}

    (given,) = agreed_row(comm, gradient, request, "gradient")
    eta = given.dtype.type(sgd.step_size if step_size is None else step_size)
    acc = sgd._accumulated(state.residual, given, eta)
    result, reduced = oktopk_allreduce.on_rank(comm, acc, sgd.k, state.allreduce, **sgd.options)
    acc[result.selected] = 0
    weights = sgd._descended(state.weights, result.update, eta, comm.size)
    return OkTopkSGDRankState(weights, acc, reduced), result
