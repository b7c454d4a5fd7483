"""What a peer does in Moshpit all-reduce and SGD, on its grid, and in an all-reduce that starts again.

Who meets whom depends on no vector: on keys, on who is there, and on draws. All ranks are given these alike, as from a
shared seed and a table that all can read, and each works out all meetings by itself; this is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives.gossip.restarts import attempts_made
from commbounds.collectives.moshpit.allreduce import lines, meetings
from commbounds.collectives.moshpit.group_average import distortion
from commbounds.collectives.moshpit.group_average_on_rank import group_average
from commbounds.collectives.moshpit.random_groups_on_rank import averaged_in_rounds
from commbounds.collectives.moshpit.sgd import Trajectory, checked_run
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator

__all__ = ["allreduce_with_restarts", "grid_average", "moshpit", "moshpit_sgd"]

Array = NDArray[Any]
Labels = NDArray[np.int64]


def moshpit(
    comm: Communicator,
    vector: ArrayLike,
    keys: ArrayLike,
    M: int,
    rounds: int,
    rng: np.random.Generator | None = None,
    *,
    slots: Any = "sample",
    alive: ArrayLike | None = None,
    rule: str = "skip",
) -> tuple[Array, Labels]:
    """The vector of this rank and all keys after some rounds; the twin of `commbounds.collectives.moshpit.allreduce`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets a phase for every round.
    vector : (n,) float32 or float64
        This rank's; finite, n >= 1, and as long as the others'.
    keys, M, rounds, rng, slots, alive, rule
        As for the twin; the same on all ranks, generators of their own in the same state.

    Returns
    -------
    (n,) dtype of vector, (P, d - 1) int64

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
    """
    P = comm.size
    groups, digits = comm.agreed(lambda: meetings(P, keys, M, rounds, rng, slots=slots, alive=alive, rule=rule))
    return averaged_in_rounds(comm, vector, groups), digits


def grid_average(
    comm: Communicator,
    vector: ArrayLike,
    cells: ArrayLike,
    M: int,
    rounds: int,
    *,
    start: int = 0,
    alive: ArrayLike | None = None,
    rule: str = "skip",
) -> Array:
    """The vector of this rank after averaging along axes; the twin of `commbounds.collectives.grid_average`.

    Parameters
    ----------
    comm, vector
        As for `moshpit`.
    cells, M, rounds, start, alive, rule
        As for the twin; the same on all ranks.

    Returns
    -------
    (n,) dtype of vector

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
    """
    P = comm.size
    groups = comm.agreed(lambda: lines(P, cells, M, rounds, start=start, alive=alive, rule=rule))
    return averaged_in_rounds(comm, vector, groups)


def moshpit_sgd(
    comm: Communicator,
    point: ArrayLike,
    gradient: Callable[[Array], Array],
    gamma: float,
    noise: ArrayLike,
    period: int = 1,
    groups: Sequence[Sequence[ArrayLike]] = (),
) -> Trajectory:
    """What this rank goes through, and what all do on the mean; the twin of `commbounds.collectives.moshpit.sgd`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets a phase for every round of every average.
    point : (n,) float32 or float64
        Where this rank starts; finite.
    gradient : callable (n,) -> (n,)
        The gradient at this rank's point.
    gamma, period, groups
        As for the twin; the same on all ranks.
    noise : (steps, n) floats
        This rank's.

    Returns
    -------
    Trajectory
        `points` is (n,), this rank's end; the others are seen from outside, by what ranks tell: not counted.

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
    """
    noises: list[Array] = []

    def fitting(row: Array) -> dict[str, Any]:
        mine = np.asarray(noise)
        if mine.ndim != 2:
            raise ValueError(f"noise must have shape (steps, {row.size}), got {mine.shape}")
        noises.append(checked_run(row, gamma, mine[:, np.newaxis], period, groups)[:, 0])
        return {"steps": len(mine), "gamma": gamma, "period": period}

    own: Array = agreed_row(comm, point, fitting, "point")[0].copy()
    (added,) = noises
    means, spreads = np.empty((len(added) + 1, own.size)), np.empty(len(added) + 1)
    for step in range(len(added) + 1):
        if step > 0:
            slope = np.asarray(gradient(own), dtype=own.dtype)
            own = own - own.dtype.type(gamma) * (slope + added[step - 1])
        if step > 0 and step % period == 0:
            for j, labels in enumerate(groups[step // period - 1]):
                comm.phase(f"step {step}, round {j + 1}")
                own = group_average(comm, own, labels)
        everyone = np.array(comm.allgather_object(own))
        means[step], spreads[step] = everyone.mean(axis=0, dtype=np.float64), distortion(everyone)
    return Trajectory(own, means, spreads)


def allreduce_with_restarts(
    comm: Communicator,
    vector: ArrayLike,
    p: float = 0.0,
    cap: int = 1000,
    rng: np.random.Generator | None = None,
    *,
    alive: ArrayLike | None = None,
) -> tuple[Array, int, bool]:
    """What this rank holds, the attempts and the success; the twin of `commbounds.collectives.allreduce_with_restarts`.

    Parameters
    ----------
    comm : Communicator
        This rank's end. No phase is named.
    vector : (n,) float32 or float64
        This rank's; finite, n >= 1, and as long as the others'.
    p, cap, rng, alive
        As for the twin; the same on all ranks, generators of their own in the same state.

    Returns
    -------
    (n,) dtype of vector, int, bool

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
    """
    attempts, done = comm.agreed(lambda: attempts_made(comm.size, p, cap, rng, alive))
    settings = {"the number of attempts": attempts, "the success of the last": done}
    own: Array = agreed_row(comm, vector, lambda _: settings)[0].copy()
    if done:
        own = group_average(comm, own, np.zeros(comm.size, np.int64))
    return own, attempts, done
