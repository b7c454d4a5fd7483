"""Rand-K with one seed for all workers: values alone, added up by an all-reduce."""

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers
from commbounds.collectives._peers import checked_rng
from commbounds.collectives.dense.allreduce import ring_allreduce
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import as_array, checked_count


@one_program(np.stack)
def shared_randk_mean(
    comm: Communicator,
    vector: ArrayLike,
    k: int,
    rng: np.random.Generator | None = None,
    *,
    places: ArrayLike | None = None,
) -> Array:
    """The workers' mean by scaled Rand-K with one set of k entries for all of them.

    Entries in the set are (n/k) times the mean of the workers' entries there, the others zero: what GRACE's random-k
    does with the same seed on all workers, scaled.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    k : int
        Entries kept; 1 <= k <= n.
    rng : numpy.random.Generator or None
        Draws the set, the same on all ranks. Required where `places` are not given.
    places : (k,) int or None
        In place of `rng`: the entries kept, ascending.

    Returns
    -------
    mean : (P, n) dtype of stack
        The same on every rank. Values are summed by the ring, multiplied by n/(k P), and rounded to the dtype; sums
        that leave its range are infinite.
    traffic : Traffic
        In words: those of a ring all-reduce of k values. No index is sent.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; k outside [1, n]; no generator where one is needed; places that are no ascending
        entries, or not k of them.

    Examples
    --------
    >>> mean, traffic = shared_randk_mean([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], 1, places=[1])
    >>> mean[0].tolist(), traffic.sent.tolist()
    ([0.0, 33.0, 0.0], [1, 1])
    """
    (x,) = agreed_row(comm, vector, lambda row: {"k": checked_count("k", k, 1, row.size)})
    chosen = comm.common(lambda: _places(x.size, int(k), rng, places))
    if not comm.one_caller:
        agreed_alike(comm, {"the checksum of the places": checksum(chosen)})
    total = ring_allreduce.on_rank(comm, x[chosen])
    mean: Array = np.zeros_like(x)
    with np.errstate(over="ignore", invalid="ignore"):
        mean[chosen] = (total.astype(np.float64) * (x.size / (k * comm.size))).astype(x.dtype)
    return mean


def _places(n: int, k: int, rng: np.random.Generator | None, places: ArrayLike | None) -> Integers:
    if places is not None:
        given = as_array(places, "places")
        if given.dtype.kind not in "iu":
            raise TypeError(f"places must be integers, got {given.dtype}")
        if given.shape != (k,) or given.min() < 0 or given.max() >= n or (np.diff(given.astype(np.int64)) <= 0).any():
            raise ValueError(f"places must be {k} ascending entries in [0, {n - 1}], got {given.tolist()}")
        named: Integers = given.astype(np.int64)
        return named
    drawn: Integers = np.sort(checked_rng(rng, "drawing entries").choice(n, k, replace=False))
    return drawn
