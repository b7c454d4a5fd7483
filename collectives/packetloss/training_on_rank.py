"""What a worker does in training whose broadcasts get lost: its replica drifts from the others'."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers, Mask
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.packetloss.links import broadcast, checksum, layout, lossy_reduce_scatter, shard_of
from commbounds.collectives.packetloss.loss_processes import Loss, checked_count
from commbounds.collectives.packetloss.training import checked_address, checked_missed, fates
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.compressors.base import as_array, checked_real

Gradient = Callable[[int, Array], Array]
"""(step, (n,) replica) -> (n,): this worker's gradient at its own replica."""
Observer = Callable[["Replica", Array], None]
"""(state after a step, update that this worker made of its shard) -> nothing."""


@dataclass(frozen=True, eq=False)
class Replica:
    """The state of one worker's run; a row of `commbounds.collectives.Replicas`.

    Parameters
    ----------
    parameters : (n,) float32 or float64
        This worker's replica.
    missed : (n,) int64
        Steps since it last received a coordinate.
    step : int
        Steps made.
    reduce_state, broadcast_state : (links,) bool or None
        Which links are bad, of all links: every worker draws all losses.
    """

    parameters: Array
    missed: Integers
    step: int = 0
    reduce_state: Mask | None = None
    broadcast_state: Mask | None = None


def lossy_step(
    comm: Communicator,
    state: Replica,
    gradient: ArrayLike,
    rate: float,
    reduce_arrived: ArrayLike,
    broadcast_arrived: ArrayLike,
    *,
    estimator: str = "arrivals",
    p: float | None = None,
    packet: int | None = None,
) -> tuple[Replica, Array]:
    """The state of this rank after a step, and its shard's update; the twin of `commbounds.collectives.lossy_step`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases ``reduce-scatter`` and ``broadcast``.
    state : Replica
        This rank's.
    gradient : (n,) dtype of the replica
        This rank's.
    rate, reduce_arrived, broadcast_arrived, estimator, p, packet
        As for the twin; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
    """
    parameters = state.parameters

    def fitting(row: Array) -> dict[str, Any]:
        if row[0].shape != parameters.shape or row.dtype != parameters.dtype:
            wanted = f"{parameters.shape} {parameters.dtype}"
            raise ValueError(f"gradient must be {wanted} as the replica is, got {row[0].shape} {row.dtype}")
        checked_stack(as_array(parameters, "parameters")[np.newaxis], "parameters")
        checked_missed(state.missed, parameters.shape)
        size = checked_real("rate", rate)
        if not np.isfinite(size):
            raise ValueError(f"rate must be finite, got {rate}")
        return {"rate": size}

    (own,) = agreed_row(comm, gradient, fitting, "gradient")
    comm.phase("reduce-scatter")
    reduced = lossy_reduce_scatter.on_rank(comm, own, reduce_arrived, estimator, p=p, packet=packet)
    update = -float(rate) * reduced.estimate
    comm.phase("broadcast")
    owned = parameters[shard_of(comm, parameters.size)] + update
    received, fresh = broadcast(comm, parameters, owned, broadcast_arrived, packet)
    missed = np.where(fresh, 0, state.missed + 1)
    return replace(state, parameters=received, missed=missed, step=state.step + 1), update


def lossy_training(
    comm: Communicator,
    state: Replica,
    gradient: Gradient,
    loss: Loss,
    steps: int,
    rate: float,
    *,
    estimator: str = "arrivals",
    packet: int | None = None,
    seed: int = 0,
    trial: int = 0,
    broadcast_only: bool = False,
    observe: Observer | None = None,
) -> Replica:
    """The state of this rank after `steps` steps; the twin of `commbounds.collectives.packetloss.training`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases ``reduce-scatter`` and ``broadcast``.
    state, gradient, observe
        This rank's.
    loss, steps, rate, estimator, packet, seed, trial, broadcast_only
        As for the twin; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
    """

    def fitting(row: Array) -> dict[str, Any]:
        checked_count(steps, "steps", 0)
        bad = (checksum(state.reduce_state), checksum(state.broadcast_state))
        addresses = {"seed and trial": checked_address(seed, trial), "step": state.step, "bad links": bad}
        return {"steps": steps, "loss": loss, "broadcast_only": broadcast_only, "estimator": estimator, **addresses}

    n = agreed_row(comm, state.parameters, fitting, "parameters").size
    sizes = comm.size, layout(n, comm.size, packet).packets
    p = loss.rate if estimator == "expected" else None
    for name in ("reduce-scatter", "broadcast"):
        comm.phase(name)
    for _ in range(steps):
        bad = state.reduce_state, state.broadcast_state
        (there, heard), bad = fates(loss, (seed, trial), state.step, sizes, bad, broadcast_only)
        slope = gradient(state.step, state.parameters)
        state, update = lossy_step(comm, state, slope, rate, there, heard, estimator=estimator, p=p, packet=packet)
        state = replace(state, reduce_state=bad[0], broadcast_state=bad[1])
        if observe is not None:
            observe(state, update)
    return state
