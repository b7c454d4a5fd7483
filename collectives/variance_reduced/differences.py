"""Steps whose ranks compress what has changed: DIANA, MARINA, DASHA and lazy aggregation (LAG, CLAG).

Numbers that leave the dtype's range become infinite or NaN: divide beforehand.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._stack import checked_state
from commbounds.collectives.dense.allreduce import ring_allreduce
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.sparse.entries import dense_sum, gathered_entries
from commbounds.collectives.variance_reduced.state import (
    Indices,
    Lagged,
    Shifted,
    Tracked,
    agreed_states,
    checked_factor,
    checked_weight,
    chosen_entries,
    stacked,
)
from commbounds.compressors.base import checked_choice, checked_flag


def _largest(x: Array, k: int) -> Indices:
    """The k largest entries in magnitude, ascending; ties go to the lowest index."""
    return np.sort(np.argsort(-np.abs(x), kind="stable")[:k])


def _message(difference: Array, k: int, mine: Indices | None) -> tuple[Array, Array]:
    """Which entries a rank sends, and their values: n/k times its own where they are random."""
    with np.errstate(over="ignore", invalid="ignore"):
        if mine is None:
            where = _largest(difference, k)
            return where, difference[where].copy()
        return mine, difference[mine] * difference.dtype.type(difference.size / k)


def _scattered(message: tuple[Array, ...], n: int, dtype: np.dtype[Any]) -> Array:
    dense = np.zeros(n, dtype)
    where, values = message
    dense[where] = values
    return dense


def _mean(comm: Communicator, message: tuple[Array, Array], n: int, dtype: np.dtype[Any]) -> Array:
    """The ranks' messages, added up in the order of the ranks, and divided once."""
    messages = gathered_entries(comm, message, n)

    def mean() -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(dense_sum(messages, n, dtype) / dtype.type(len(messages)))

    return comm.shared(mean)


@one_program(partial(stacked, Shifted, shared=("mean",)))
def diana_step(
    comm: Communicator,
    vector: ArrayLike,
    shifts: ArrayLike,
    mean: ArrayLike,
    k: int,
    weight: float,
    rng: np.random.Generator | None = None,
    *,
    keep: str = "random",
    kept: ArrayLike | None = None,
) -> Shifted:
    """DIANA: what a gradient differs from its shift by is compressed, and moves the shift.

    m_p = C(g_p - h_p); the estimate is mean h + mean m; h_p <- h_p + weight m_p (Mishchenko et al. 2019,
    arXiv:1901.09269).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients; finite.
    shifts : (P, n)
        In row p what rank p has as its shift h_p; it reads no other.
    mean : (n,)
        The average shift, which all ranks know.
    k : int
        Entries that a rank sends; 1 <= k <= n.
    weight : float
        Of the message in the new shift, in [0, 1]. 0 is compressed gradient descent with fixed shifts.
    rng : numpy.random.Generator or None
        Required for random entries, where they are not given.
    keep : {"random", "largest"}
        Rand-K, times n/k; or Top-K.
    kept : (P, k) integers or None
        In place of `rng`: in row p the entries that rank p sends, ascending.

    Returns
    -------
    state : Shifted
        Messages are added up in the order of the ranks, and divided once.
    traffic : Traffic
        In words: an index and a value an entry; messages go round a ring.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; a state of another shape or dtype; k, weight or entries out of range.

    Examples
    --------
    >>> zero = np.zeros((2, 2))
    >>> state, traffic = diana_step([[4.0, 2.0], [8.0, 6.0]], zero, zero[0], 1, 0.5, kept=[[0], [1]])
    >>> state.estimate[0].tolist(), state.shifts.tolist(), traffic.sent.tolist()
    ([4.0, 6.0], [[4.0, 0.0], [0.0, 6.0]], [2, 2])
    """
    (x,) = agreed_row(comm, vector, lambda _: {"k": k, "weight": weight, "keep": keep})
    P, n, dtype = comm.size, x.size, x.dtype
    given = comm.common(
        lambda: (
            checked_state(shifts, "shifts", (P, n), dtype),
            checked_state(mean, "mean", (n,), dtype),
            dtype.type(checked_weight(weight, "weight")),
            chosen_entries(P, n, k, keep, rng, kept),
        )
    )
    held, centre, part, chosen = given
    agreed_states(comm, mean=centre, kept=chosen)
    own = held[comm.rank]
    with np.errstate(over="ignore", invalid="ignore"):
        difference = x - own
    message = _message(difference, k, None if chosen is None else chosen[comm.rank])
    average = _mean(comm, message, n, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return Shifted(centre + average, own + part * _scattered(message, n, dtype), centre + part * average)


@one_program(np.stack)
def marina_step(
    comm: Communicator,
    vector: ArrayLike,
    previous: ArrayLike,
    estimate: ArrayLike,
    k: int,
    full: bool,
    rng: np.random.Generator | None = None,
    *,
    keep: str = "random",
    kept: ArrayLike | None = None,
) -> Array:
    """MARINA: all ranks send whole gradients, or all send what theirs have changed by, compressed.

    g <- mean grad+, where the coin that all share says so, else g + mean C(grad+ - grad) (Gorbunov, Burlachenko, Li,
    Richtarik 2021, arXiv:2102.07845).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients; finite.
    previous : (P, n)
        In row p the gradient of rank p in the step before; it reads no other.
    estimate : (n,)
        What all ranks have of the average gradient.
    k : int
        Entries that a rank sends; 1 <= k <= n.
    full : bool
        The coin: whether whole gradients are sent. It is tossed by the caller, so that its cases can be gone through.
    rng, keep, kept
        As in `diana_step`.

    Returns
    -------
    estimate : (P, n)
        The same on every rank.
    traffic : Traffic
        In words. A full step is a ring all-reduce; else a message has an index and a value an entry, and goes round a
        ring.

    Raises
    ------
    TypeError, ValueError
        As in `diana_step`; `full` is no bool.

    Examples
    --------
    >>> grad, before = np.array([[4.0, 2.0], [8.0, 6.0]]), np.zeros((2, 2))
    >>> marina_step(grad, before, before[0], 1, True)[0][0].tolist()
    [6.0, 4.0]
    >>> marina_step(grad, before, before[0], 1, False, kept=[[0], [1]])[0][0].tolist()
    [4.0, 6.0]
    """
    (x,) = agreed_row(comm, vector, lambda _: {"k": k, "full": full, "keep": keep})
    P, n, dtype = comm.size, x.size, x.dtype
    whole = comm.common(lambda: checked_flag("full", full))
    before, now, chosen = comm.common(
        lambda: (
            checked_state(previous, "previous", (P, n), dtype),
            checked_state(estimate, "estimate", (n,), dtype),
            None if whole else chosen_entries(P, n, k, keep, rng, kept),
        )
    )
    agreed_states(comm, estimate=now, kept=chosen)
    if whole:
        total = ring_allreduce.on_rank(comm, x)
        return np.asarray(total / dtype.type(P))
    with np.errstate(over="ignore", invalid="ignore"):
        difference = x - before[comm.rank]
    average = _mean(comm, _message(difference, k, None if chosen is None else chosen[comm.rank]), n, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(now + average)


@one_program(partial(stacked, Tracked))
def dasha_step(
    comm: Communicator,
    vector: ArrayLike,
    previous: ArrayLike,
    own: ArrayLike,
    estimate: ArrayLike,
    k: int,
    weight: float,
    rng: np.random.Generator | None = None,
    *,
    keep: str = "random",
    kept: ArrayLike | None = None,
) -> Tracked:
    """DASHA: MARINA without whole gradients; messages also bring back a part of what an estimate is off by.

    m_p = C(grad+ - grad - weight (g_p - grad)); g_p <- g_p + m_p; g <- g + mean m (Tyurin, Richtarik 2022,
    arXiv:2202.01268, without noise).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients; finite.
    previous, own : (P, n)
        In row p the gradient of rank p in the step before, and its g_p; it reads no other.
    estimate : (n,)
        What all ranks have of the average gradient: the average of the g_p.
    k : int
        Entries that a rank sends; 1 <= k <= n.
    weight : float
        Of what the estimate is off by, in [0, 1].
    rng, keep, kept
        As in `diana_step`.

    Returns
    -------
    state : Tracked
        Messages are added up in the order of the ranks, and divided once.
    traffic : Traffic
        As in `diana_step`.

    Raises
    ------
    TypeError, ValueError
        As in `diana_step`.

    Examples
    --------
    >>> zero = np.zeros((2, 2))
    >>> state, _ = dasha_step([[4.0, 2.0], [8.0, 6.0]], zero, zero, zero[0], 1, 0.5, kept=[[0], [1]])
    >>> state.estimate[0].tolist(), state.own.tolist()
    ([4.0, 6.0], [[8.0, 0.0], [0.0, 12.0]])
    """
    (x,) = agreed_row(comm, vector, lambda _: {"k": k, "weight": weight, "keep": keep})
    P, n, dtype = comm.size, x.size, x.dtype
    before, held, now, part, chosen = comm.common(
        lambda: (
            checked_state(previous, "previous", (P, n), dtype),
            checked_state(own, "own", (P, n), dtype),
            checked_state(estimate, "estimate", (n,), dtype),
            dtype.type(checked_weight(weight, "weight")),
            chosen_entries(P, n, k, keep, rng, kept),
        )
    )
    agreed_states(comm, estimate=now, kept=chosen)
    last, mine = before[comm.rank], held[comm.rank]
    with np.errstate(over="ignore", invalid="ignore"):
        difference = x - last - part * (mine - last)
    message = _message(difference, k, None if chosen is None else chosen[comm.rank])
    average = _mean(comm, message, n, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return Tracked(now + average, mine + _scattered(message, n, dtype))


@one_program(partial(stacked, Lagged))
def lazy_step(
    comm: Communicator,
    vector: ArrayLike,
    previous: ArrayLike,
    own: ArrayLike,
    estimate: ArrayLike,
    k: int,
    trigger: float,
    *,
    keep: str = "largest",
    rng: np.random.Generator | None = None,
    kept: ArrayLike | None = None,
) -> Lagged:
    """CLAG: a rank sends a correction only if its estimate is off by more than its gradient has changed; LAG for k = n.

    m_p = C(grad+ - g_p) if ||grad+ - g_p||^2 > trigger ||grad+ - grad||^2, else nothing; g_p <- g_p + m_p; g <- g +
    mean m (Chen, Giannakis, Sun, Yin 2018; Richtarik et al. 2022, arXiv:2202.00998).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients; finite.
    previous, own : (P, n)
        In row p the gradient of rank p in the step before, and its g_p; it reads no other.
    estimate : (n,)
        What all ranks have of the average gradient: the average of the g_p.
    k : int
        Entries that a rank sends, if any; 1 <= k <= n.
    trigger : float
        Finite, not negative; 0 is EF21.
    keep, rng, kept
        As in `diana_step`; the largest entries by default.

    Returns
    -------
    state : Lagged
        Messages are added up in the order of the ranks, and divided once. Norms are those of sums in float64, entry by
        entry.
    traffic : Traffic
        As in `diana_step`; a message without entries is one all the same.

    Raises
    ------
    TypeError, ValueError
        As in `diana_step`; a trigger that is negative or not finite.

    Examples
    --------
    >>> before = np.array([[4.0, 2.0], [8.0, 6.0]])
    >>> grad = before + np.array([[0.0, 1.0], [4.0, 0.0]])
    >>> own = np.array([[4.0, 2.0], [5.0, 6.0]])
    >>> state, traffic = lazy_step(grad, before, own, own.mean(axis=0), 2, 1.0)
    >>> state.sent.tolist(), state.own.tolist(), traffic.sent.tolist()
    ([False, True], [[4.0, 2.0], [12.0, 6.0]], [0, 4])
    """
    (x,) = agreed_row(comm, vector, lambda _: {"k": k, "trigger": trigger, "keep": keep})
    P, n, dtype = comm.size, x.size, x.dtype
    before, held, now, limit, chosen = comm.common(
        lambda: (
            checked_state(previous, "previous", (P, n), dtype),
            checked_state(own, "own", (P, n), dtype),
            checked_state(estimate, "estimate", (n,), dtype),
            checked_factor(trigger, "trigger"),
            chosen_entries(P, n, k, checked_choice("keep", keep, ("random", "largest")), rng, kept),
        )
    )
    agreed_states(comm, estimate=now, kept=chosen)
    mine = held[comm.rank]
    with np.errstate(over="ignore", invalid="ignore"):
        difference = x - mine
        speaks = bool(_square(difference) > limit * _square(x - before[comm.rank]))
    empty = np.zeros(0, np.int64), np.zeros(0, dtype)
    message = _message(difference, k, None if chosen is None else chosen[comm.rank]) if speaks else empty
    average = _mean(comm, message, n, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return Lagged(now + average, mine + _scattered(message, n, dtype), np.asarray(speaks, np.bool_))


def _square(x: Array) -> float:
    """Squared norm, summed in float64 from the first entry to the last."""
    total = 0.0
    for value in x.tolist():
        total += value * value
    return total
