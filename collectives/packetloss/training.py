"""Training whose workers hold replicas that lossy broadcasts let drift apart."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers, Mask
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.packetloss.links import (
    ESTIMATORS,
    checked_arrivals,
    layout,
    lossy_broadcast,
    reduced_at_once,
)
from commbounds.collectives.packetloss.loss_processes import Loss, checked_count, checked_loss
from commbounds.collectives.traffic import Traffic, summed
from commbounds.compressors.base import (
    as_array,
    as_numbers,
    checked_choice,
    checked_flag,
    checked_kind,
    checked_real,
    is_finite,
    shown,
)

Gradient = Callable[[int, Array], Array]
"""(step, (N, n) replicas) -> (N, n): worker i's gradient at its own replica."""
Observer = Callable[["Replicas", Array], None]
"""(state after a step, (n,) update that the owners made) -> nothing."""


@dataclass(frozen=True, eq=False)
class Replicas:
    """The state of a run: what every worker holds, and where the losses stand.

    Parameters
    ----------
    parameters : (N, n) float32 or float64
        Row i is worker i's replica.
    missed : (N, n) int64
        Steps since worker i last received coordinate c: its staleness L.
    step : int
        Steps made.
    reduce_state, broadcast_state : (links,) bool or None
        Which links are bad, for losses in bursts.
    """

    parameters: Array
    missed: Integers
    step: int = 0
    reduce_state: Mask | None = None
    broadcast_state: Mask | None = None


def fresh_replicas(parameters: ArrayLike, workers: int) -> Replicas:
    """`workers` equal replicas of the (n,) `parameters`, none of them stale.

    Examples
    --------
    >>> fresh_replicas(np.zeros(4), 3).parameters.shape
    (3, 4)
    """
    row = checked_stack(as_array(parameters, "parameters")[None], "parameters")
    count = checked_count(workers, "workers")
    return Replicas(np.repeat(row, count, axis=0), np.zeros((count, row.shape[1]), np.int64))


def checked_missed(missed: ArrayLike, shape: tuple[int, ...]) -> Integers:
    """Steps since entries were heard of, of that shape; a TypeError or ValueError for anything else."""
    counts = as_numbers(missed, "missed", kinds="iu")
    if counts.shape != shape or (counts < 0).any():
        raise ValueError(f"missed must be counts of the shape of the parameters, {shape}, got {shown(missed)}")
    return counts


def lossy_step(
    state: Replicas,
    gradients: ArrayLike,
    rate: float,
    reduce_arrived: ArrayLike,
    broadcast_arrived: ArrayLike,
    *,
    estimator: str = "arrivals",
    p: float | None = None,
    packet: int | None = None,
) -> tuple[Replicas, Array, Traffic]:
    """One step of gradient descent whose packets fare as the two masks say.

    Parameters
    ----------
    state : Replicas
        Before the step.
    gradients : (N, n) dtype of the replicas
        Worker i's gradient.
    rate : float
        Step size, finite, which is rounded to the dtype of the replicas. Owners whose shard got no contribution leave
        it as it is.
    reduce_arrived, broadcast_arrived : (N, N, packets) bool
        As in `lossy_reduce_scatter` and `lossy_broadcast`.
    estimator, p, packet
        As in `lossy_reduce_scatter`.

    Returns
    -------
    Replicas, (n,) array, Traffic
        After the step; the update that the owners made, minus `rate` times the estimate; phases "reduce-scatter" and
        "broadcast".

    Examples
    --------
    >>> all_there = np.ones((2, 2, 1), bool)
    >>> state, update, _ = lossy_step(fresh_replicas(np.zeros(2), 2), np.ones((2, 2)), 0.5, all_there, all_there)
    >>> state.parameters
    array([[-0.5, -0.5],
           [-0.5, -0.5]])
    """
    checked_kind("state", state, Replicas)
    stack = checked_stack(gradients, "gradients")
    parameters = checked_stack(state.parameters, "parameters")
    if stack.shape != parameters.shape or stack.dtype != parameters.dtype:
        raise ValueError(
            f"gradients must be {parameters.shape} {parameters.dtype} as the replicas are, "
            f"got {stack.shape} {stack.dtype}"
        )
    missed = checked_missed(state.missed, parameters.shape)
    size = checked_real("rate", rate)
    if not np.isfinite(size):
        raise ValueError(f"rate must be finite, got {rate}")
    workers, n = parameters.shape
    cut = layout(n, workers, packet)
    there = checked_arrivals(reduce_arrived, workers, cut, "reduce_arrived")
    heard = checked_arrivals(broadcast_arrived, workers, cut, "broadcast_arrived")
    reduced, first = reduced_at_once(stack, there, estimator, p=p, packet=packet)
    update = -size * reduced.estimate
    owned = parameters[cut.owner, np.arange(n)] + update
    if not is_finite(owned):
        raise ValueError(f"rate and gradients must keep the parameters finite, got an overflow at rate {rate}")
    received, second = lossy_broadcast(parameters, owned, heard, packet=packet)
    new = heard[cut.owner, :, cut.packet].T | (cut.owner == np.arange(workers)[:, None])
    after = replace(state, parameters=received, missed=np.where(new, 0, missed + 1), step=state.step + 1)
    return after, update, Traffic.of_phases({"reduce-scatter": first, "broadcast": second})


def lossy_training(
    state: Replicas,
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
) -> tuple[Replicas, Traffic]:
    """`steps` steps of gradient descent over links that lose packets, in both halves of every step.

    Parameters
    ----------
    state : Replicas
        Where to go on: `fresh_replicas`, or what an earlier call returned.
    gradient : callable (step, (N, n) replicas) -> (N, n)
        Worker i's gradient at its own replica, in the dtype of the replicas.
    loss : Bernoulli or GilbertElliott
        The same for both halves. With ``shared`` all receivers of a broadcast packet share its fate; contributions to
        the first half, each with a receiver of its own, stay independent.
    steps : int
        >= 0.
    rate : float
        Step size.
    estimator, packet
        As in `lossy_reduce_scatter`; "expected" divides by what `loss` lets through on average.
    seed, trial : int
        >= 0; all losses are a function of them, of the step and of the link.
    broadcast_only : bool
        Whether the first half is spared.
    observe : callable (state, update) or None
        Sees the state after every step, and the update. Nothing else of a step is kept: memory does not grow with
        `steps`.

    Returns
    -------
    Replicas, Traffic
        A run in two parts has the same bits as in one.

    Examples
    --------
    >>> from commbounds.collectives import Bernoulli
    >>> start = fresh_replicas(np.ones(6), 3)
    >>> state, traffic = lossy_training(start, lambda step, x: x, Bernoulli(0.2), 50, 0.1, seed=1)
    >>> bool(np.abs(state.parameters).max() < 0.1), traffic.steps
    (True, 200)
    """
    checked_kind("state", state, Replicas)
    checked_loss(loss)
    checked_count(steps, "steps", 0)
    checked_flag("broadcast_only", broadcast_only)
    checked_choice("estimator", estimator, tuple(ESTIMATORS))
    for name, given in (("gradient", gradient), ("observe", observe)):
        if not callable(given) and not (name == "observe" and given is None):
            raise TypeError(f"{name} must be callable, got {shown(given)}")
    address = checked_address(seed, trial)
    workers, n = state.parameters.shape
    packets = layout(n, workers, packet).packets
    p = loss.rate if estimator == "expected" else None
    whole = {"reduce-scatter": Traffic.none(workers), "broadcast": Traffic.none(workers)}
    for _ in range(steps):
        bad = state.reduce_state, state.broadcast_state
        (there, heard), bad = fates(loss, address, state.step, (workers, packets), bad, broadcast_only)
        stack = gradient(state.step, state.parameters)
        state, update, traffic = lossy_step(state, stack, rate, there, heard, estimator=estimator, p=p, packet=packet)
        state = replace(state, reduce_state=bad[0], broadcast_state=bad[1])
        whole = {name: summed([whole[name], phase]) for name, phase in traffic.phases.items()}
        if observe is not None:
            observe(state, update)
    return state, Traffic.of_phases(whole)


def checked_address(seed: int, trial: int) -> tuple[int, int]:
    """Where the draws of a run are found."""
    return checked_count(seed, "seed", 0, 2**64 - 1), checked_count(trial, "trial", 0, 2**64 - 1)


def fates(
    loss: Loss,
    address: tuple[int, int],
    step: int,
    sizes: tuple[int, int],
    bad: tuple[Mask | None, Mask | None],
    broadcast_only: bool,
) -> tuple[tuple[Mask, Mask], tuple[Mask | None, Mask | None]]:
    """Which packets of a step arrive, in its first and in its second half, and which links are bad after it.

    `sizes` are workers and packets a shard, `bad` the links that were bad before; whoever has the arguments can tell.
    """
    workers, packets = sizes
    there, reduce_state = np.ones((workers, workers, packets), np.bool_), bad[0]
    if not broadcast_only:
        lost, reduce_state = loss.lost((*address, 0), step, there.size, reduce_state)
        there = ~lost.reshape(there.shape)
    receivers = 1 if loss.shared else workers
    lost, broadcast_state = loss.lost((*address, 1), step, workers * receivers * packets, bad[1])
    heard = np.broadcast_to(~lost.reshape(workers, receivers, packets), there.shape)
    return (there, heard), (reduce_state, broadcast_state)
