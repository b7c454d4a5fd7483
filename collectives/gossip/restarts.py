"""All-reduce among unreliable peers that starts again whenever one of them fails."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._peers import checked_count, checked_mask, checked_rate, checked_rng
from commbounds.collectives.moshpit.group_average import group_average
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import fused_program
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import as_array


def _fused(array: Array, *arguments: Any, **options: Any) -> tuple[tuple[Array, int, bool], Traffic]:
    N = len(array)
    attempts, done = attempts_made(N, *arguments, **options)
    result, traffic = group_average(array, np.zeros(N, np.int64)) if done else (array.copy(), Traffic.none(N))
    return (result, attempts, done), traffic


@fused_program(_fused)
def allreduce_with_restarts(
    comm: Communicator,
    vector: ArrayLike,
    p: float = 0.0,
    cap: int = 1000,
    rng: np.random.Generator | None = None,
    *,
    alive: ArrayLike | None = None,
) -> tuple[Array, int, bool]:
    """What butterfly all-reduce among all peers ends with, started again until an attempt meets no failure.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors; finite.
    p : float
        Probability that a peer fails in an attempt, independently.
    cap : int
        Most attempts, >= 1.
    rng : numpy.random.Generator or None
        Required where 0 < p < 1 and `alive` is not given.
    alive : (attempts, N) bool or None
        Who is there in which attempt, in place of drawing; `attempts` is then the cap.

    Returns
    -------
    (result, attempts, done) : (N, n) dtype of stack, int, bool
        The mean for everybody, or the stack where no attempt succeeds; attempts made, the successful one included.
    traffic : Traffic
        Of the attempt that succeeds: failures are noticed before anything is sent.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; p outside [0, 1]; cap < 1; alive of another shape.

    Examples
    --------
    >>> (result, attempts, done), _ = allreduce_with_restarts([[1.0], [3.0]], alive=[[True, False], [True, True]])
    >>> result.ravel().tolist(), attempts, done
    ([2.0, 2.0], 2, True)
    """
    attempts, done = comm.agreed(lambda: attempts_made(comm.size, p, cap, rng, alive=alive))
    settings = {"the number of attempts": attempts, "the success of the last": done}
    own: Array = agreed_row(comm, vector, lambda _: settings)[0].copy()
    if done:
        own = group_average.on_rank(comm, own, np.zeros(comm.size, np.int64))
    return own, attempts, done


def attempts_made(
    N: int, p: float = 0.0, cap: int = 1000, rng: np.random.Generator | None = None, *, alive: ArrayLike | None = None
) -> tuple[int, bool]:
    """How many attempts `N` peers make, and whether the last one succeeds."""
    p, cap = checked_rate(p, "p"), checked_count(cap, "cap")
    if alive is not None:
        given = as_array(alive, "alive")
        cap = checked_count(len(given) if given.ndim else 0, "attempts in alive")
        present = checked_mask(given, (cap, N), "alive")
    for attempt in range(cap):
        if alive is not None:
            there = bool(present[attempt].all())
        elif p in (0.0, 1.0):
            there = p == 0.0
        else:
            there = bool((checked_rng(rng, "failures").random(N) >= p).all())
        if there:
            return attempt + 1, True
    return cap, False
