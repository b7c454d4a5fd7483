"""Moshpit SGD: local steps, and every `period` steps an average in random groups that need not be exact."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._peers import checked_count, checked_entries, checked_step_size
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.moshpit.group_average import about_the_mean, group_average
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import as_numbers, shown


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What Moshpit SGD went through.

    Parameters
    ----------
    points : (N, n) floats
        The peers' parameters at the end.
    means : (steps + 1, n) float64
        The mean of the peers' parameters before every step, and at the end.
    spreads : (steps + 1,) float64
        Their distortion V at the same times: after averaging, where a step ends with it.
    """

    points: Array
    means: Array
    spreads: Array


def moshpit_sgd(
    points: ArrayLike,
    gradient: Callable[[Array], Array],
    gamma: float,
    noise: ArrayLike,
    period: int = 1,
    groups: Sequence[Sequence[ArrayLike]] = (),
) -> tuple[Trajectory, Traffic]:
    """The trajectory of SGD on every peer, with averages in groups after every `period` steps.

    A descent that diverges ends at infinity, or NaN.

    Parameters
    ----------
    points : (N, n) float32 or float64
        Where the peers start; finite.
    gradient : callable (N, n) -> (N, n)
        The gradient at every peer's point.
    gamma : float
        Step size, positive.
    noise : (steps, N, n) floats
        What is added to the gradients: independent with mean zero, where theory is to apply.
    period : int
        Steps from one average to the next, tau in the paper.
    groups : sequence of sequences of (N,) integers
        For every average the groups of each of its rounds; as many as steps // period.

    Returns
    -------
    trajectory : Trajectory
        End, means and distortions.
    traffic : Traffic
        Of all averages.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; gamma not positive; noise or groups that do not fit; period < 1.

    Examples
    --------
    >>> import numpy as np
    >>> still = np.zeros((2, 2, 1))
    >>> path, _ = moshpit_sgd([[4.0], [0.0]], lambda x: x, 0.5, still, 2, [[[0, 0]]])
    >>> path.points.ravel().tolist(), path.spreads.tolist()
    ([0.5, 0.5], [4.0, 1.0, 0.0])
    """
    array = checked_stack(points, "points")
    N, n = array.shape
    added = checked_run(array, gradient, gamma, noise, period, groups)
    steps = len(added)
    means, spreads = np.empty((steps + 1, n)), np.empty(steps + 1)
    means[0], spreads[0] = about_the_mean(array.astype(np.float64))
    phases = {}
    for step in range(steps):
        array = array - array.dtype.type(gamma) * (np.asarray(gradient(array), dtype=array.dtype) + added[step])
        if (step + 1) % period == 0:
            for j, labels in enumerate(groups[(step + 1) // period - 1]):
                array, phases[f"step {step + 1}, round {j + 1}"] = group_average(array, labels)
        means[step + 1], spreads[step + 1] = about_the_mean(array.astype(np.float64))
    traffic = Traffic.of_phases(phases) if phases else Traffic.none(N)
    return Trajectory(array.copy() if steps == 0 else array, means, spreads), traffic


def checked_run(
    array: Array, gradient: Any, gamma: float, noise: ArrayLike, period: int, groups: Sequence[Any]
) -> Array:
    """`noise` in the dtype of the points `array`, where it and everything else fits them."""
    period = checked_count(period, "period")
    checked_step_size(gamma, "gamma")
    if not callable(gradient):
        raise TypeError(f"gradient must be callable, got {shown(gradient)}")
    added = as_numbers(noise, "noise", array.dtype)
    if added.ndim != 3 or added.shape[1:] != array.shape:
        raise ValueError(f"noise must have shape (steps, {array.shape[0]}, {array.shape[1]}), got {added.shape}")
    if not np.isfinite(added).all():
        raise ValueError("noise must be finite, got NaN or infinity")
    averages = len(added) // period
    checked_entries(groups, "groups", averages, "averages")
    for rounds in groups:
        if not isinstance(rounds, list | tuple | np.ndarray) or getattr(rounds, "ndim", 1) == 0:
            raise TypeError(f"groups must hold a sequence, an entry a round, for every average, got {shown(rounds)}")
    return added


def moshpit_sgd_on_rank(
    comm: Communicator,
    point: ArrayLike,
    gradient: Callable[[Array], Array],
    gamma: float,
    noise: ArrayLike,
    period: int = 1,
    groups: Sequence[Sequence[ArrayLike]] = (),
) -> Trajectory:
    """What this rank goes through, and what all do on the mean; a rank's part in `moshpit_sgd`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets a phase for every round of every average.
    point : (n,) float32 or float64
        Where this rank starts; finite.
    gradient : callable (n,) -> (n,)
        The gradient at this rank's point.
    gamma, period, groups
        As there; the same on all ranks.
    noise : (steps, n) floats
        This rank's.

    Returns
    -------
    Trajectory
        `points` is (n,), this rank's end; the others are seen from outside, by what ranks tell: not counted.

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as there. On all ranks.
    """

    def checked(row: Array) -> Array:
        mine = np.asarray(noise)
        if mine.ndim != 2:
            raise ValueError(f"noise must have shape (steps, {row.size}), got {mine.shape}")
        fitting: Array = checked_run(row, gradient, gamma, mine[:, np.newaxis], period, groups)[:, 0]
        return fitting

    def settings(row: Array) -> dict[str, Any]:
        return {"steps": len(checked(row)), "gamma": gamma, "period": period}

    own: Array = agreed_row(comm, point, settings, "point")[0].copy()
    added = checked(own[np.newaxis])  # every rank has noise of its own, also where one caller is asked once
    means, spreads = np.empty((len(added) + 1, own.size)), np.empty(len(added) + 1)
    for step in range(len(added) + 1):
        if step > 0:
            slope = np.asarray(gradient(own), dtype=own.dtype)
            own = own - own.dtype.type(gamma) * (slope + added[step - 1])
        if step > 0 and step % period == 0:
            for j, labels in enumerate(groups[step // period - 1]):
                comm.phase(f"step {step}, round {j + 1}")
                own = group_average.on_rank(comm, own, labels)
        everyone = np.array(comm.allgather_object(own), dtype=np.float64)
        means[step], spreads[step] = about_the_mean(everyone)
    return Trajectory(own, means, spreads)
