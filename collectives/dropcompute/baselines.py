"""What DropCompute is compared with: backup workers, and periods of local steps."""

import math

import numpy as np
from numpy.typing import ArrayLike

from commbounds.collectives.dropcompute.step_law import checked_overhead
from commbounds.collectives.dropcompute.steps import DropStep, checked_latencies


def backup_step(latencies: ArrayLike, spare: int, overhead: float = 0.0) -> DropStep:
    """One step that waits for the N - spare fastest workers and discards what the others did.

    Parameters
    ----------
    latencies : (N, M) array
        Seconds.
    spare : int
        Backup workers, 0 <= spare < N.
    overhead : float
        T_c.

    Examples
    --------
    >>> backup_step([[1, 1], [1, 2], [5, 1]], spare=1).time
    3.0
    """
    t, T_c = checked_latencies(latencies), checked_overhead(overhead)
    if isinstance(spare, bool) or not isinstance(spare, int | np.integer):
        raise TypeError(f"spare must be an integer, got {spare!r}")
    if not 0 <= spare < len(t):
        raise ValueError(f"spare must be in [0, {len(t) - 1}], got {spare}")
    totals = np.cumsum(t, axis=1)[:, -1]
    waited = np.argsort(totals, kind="stable")[: len(t) - spare]
    completed = np.zeros(len(t), np.int64)
    completed[waited] = t.shape[1]
    last = float(totals[waited[-1]])
    return DropStep(last + T_c, float(totals.max()) + T_c, completed, np.minimum(totals, last))


def local_sgd_period(latencies: ArrayLike, overhead: float = 0.0) -> float:
    """Seconds that a period of local SGD takes: every worker makes its steps by itself, then all meet once.

    The sum of a worker's latencies is rounded once.

    Parameters
    ----------
    latencies : (steps, N, M) array
        Of the period's local steps.
    overhead : float
        T_c, paid once a period.

    Examples
    --------
    >>> local_sgd_period([[[1], [3]], [[3], [1]]], overhead=0.5)
    4.5
    """
    t, T_c = checked_latencies(latencies, 3), checked_overhead(overhead)
    return float(max(map(math.fsum, t.swapaxes(0, 1).reshape(t.shape[1], -1).tolist()))) + T_c
