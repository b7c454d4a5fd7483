"""Averaging in groups that are drawn at random, under every reading of "random groups"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives._peers import checked_count, checked_mask, checked_rng
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.group_average import group_average
from commbounds.collectives.traffic import Traffic

__all__ = ["READINGS", "Reading", "random_groups", "regrouping"]

Labels = NDArray[np.int64]


def _permutation(choices: Sequence[int]) -> Labels:
    """The permutation of range(N) that N choices make, choice i in range(N - i) (Fisher and Yates)."""
    order = np.arange(len(choices))
    for i, choice in enumerate(choices):
        order[i], order[i + choice] = order[i + choice], order[i]
    return order


def _blocks(sizes: Sequence[int]) -> Labels:
    return np.repeat(np.arange(len(sizes)), sizes)


def _cut(sizes: Sequence[int], choices: Sequence[int]) -> Labels:
    labels = np.empty(len(choices), np.int64)
    labels[_permutation(choices)] = _blocks(sizes)
    return labels


@cache
def _ways(left: int, used: int, r: int) -> int:
    """How many ways there are to put `left` more peers into blocks, `used` of them begun, so that r exist (0: any)."""
    if left == 0:
        return int(r in (0, used))
    new = _ways(left - 1, used + 1, r) if r == 0 or used < r else 0
    return used * _ways(left - 1, used, r) + new


def _unranked(N: int, r: int, rank: int) -> Labels:
    """The set partition of N peers into r blocks (0: any number) that comes at place `rank`."""
    labels, used = np.zeros(N, np.int64), 0
    for i in range(N):
        into_each = _ways(N - 1 - i, used, r)
        if rank < used * into_each:
            labels[i], rank = rank // into_each, rank % into_each
        else:
            rank -= used * into_each
            labels[i], used = used, used + 1
    return labels


@dataclass(frozen=True)
class Reading:
    """What "split at random into r groups" can mean.

    Parameters
    ----------
    title : str
        The reading in words.
    ranges : callable (N, r) -> tuple of int
        The independent uniform choices that one round takes: choice j is in range(ranges[j]).
    labels : callable (sizes, choices) -> (N,) int64 or None
        The groups that they make; None where the reading rejects them, and all are drawn again. `sizes` are the
        prescribed sizes of r groups.
    """

    title: str
    ranges: Callable[[int, int], tuple[int, ...]]
    labels: Callable[[Sequence[int], Sequence[int]], Labels | None]


def _occupied(sizes: Sequence[int], choices: Sequence[int]) -> Labels | None:
    return np.array(choices, np.int64) if len(set(choices)) == len(sizes) else None


READINGS = MappingProxyType(
    {
        "cut": Reading(
            "a random permutation cut into groups of prescribed sizes, none empty",
            lambda N, _r: (*range(N, 0, -1),),
            _cut,
        ),
        "blocks": Reading(
            "a set partition into exactly r blocks, all equally likely",
            lambda N, r: (_ways(N, 0, r),),
            lambda sizes, choices: _unranked(sum(sizes), len(sizes), choices[0]),
        ),
        "occupied": Reading(
            "independent uniform labels, drawn again until no group is empty", lambda N, r: (r,) * N, _occupied
        ),
        "labels": Reading(
            "independent uniform labels, empty groups allowed",
            lambda N, r: (r,) * N,
            lambda _sizes, choices: np.array(choices, np.int64),
        ),
        "partitions": Reading(
            "a set partition, all equally likely whatever their number of blocks",
            lambda N, _r: (_ways(N, 0, 0),),
            lambda sizes, choices: _unranked(sum(sizes), 0, choices[0]),
        ),
        "slots": Reading(
            "slots filled with replacement: no partition, a peer may be drawn twice or not at all",
            lambda N, _r: (N,) * N,
            lambda sizes, _choices: _blocks(sizes),
        ),
    }
)
"""Every reading under its name."""


def _drawn(rng: np.random.Generator, size: int) -> int:
    """An integer, uniform on range(size), of any length."""
    if size <= 1 << 62:
        return int(rng.integers(size))
    length = (size - 1).bit_length()
    while True:
        drawn = int.from_bytes(rng.bytes((length + 7) // 8), "little") & ((1 << length) - 1)
        if drawn < size:
            return drawn


def _checked_sizes(N: int, r: int, sizes: Sequence[int] | None) -> tuple[int, ...]:
    if sizes is None:
        return tuple(N // r + (g < N % r) for g in range(r))
    if len(sizes) != r or sum(sizes) != N or min(sizes) < 1:
        raise ValueError(f"sizes must be {r} positive numbers with sum {N}, got {list(sizes)}")
    return tuple(int(size) for size in sizes)


def _choices(reading: Reading, sizes: tuple[int, ...], given: Any, rng: Any) -> tuple[Labels, Sequence[int]]:
    """The groups of a round, and the choices that made them."""
    ranges = reading.ranges(sum(sizes), len(sizes))
    if given is not None:
        choices = tuple(int(choice) for choice in given)
        fits = len(choices) == len(ranges) and all(0 <= c < size for c, size in zip(choices, ranges, strict=True))
        labels = reading.labels(sizes, choices) if fits else None
        if labels is None:
            raise ValueError(f"choices of a round must be below {ranges}, and admitted, got {choices}")
        return labels, choices
    while True:
        choices = tuple(_drawn(checked_rng(rng, "drawing groups"), size) for size in ranges)
        labels = reading.labels(sizes, choices)
        if labels is not None:
            return labels, choices


def random_groups(
    stack: ArrayLike,
    r: int,
    rounds: int = 1,
    rng: np.random.Generator | None = None,
    *,
    reading: str = "cut",
    sizes: Sequence[int] | None = None,
    choices: Sequence[Sequence[int]] | None = None,
    alive: ArrayLike | None = None,
    rule: str = "skip",
    receives: ArrayLike | None = None,
) -> tuple[NDArray[Any], Traffic]:
    """The peers' vectors after some rounds of averaging in random groups.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors; finite.
    r : int
        Number of groups, 1 <= r <= N.
    rounds : int
        Rounds, >= 0.
    rng : numpy.random.Generator or None
        Required where groups are drawn.
    reading : str
        What random groups are: a name in `READINGS`.
    sizes : sequence of r integers or None
        Sizes of the groups, where the reading prescribes them; None for sizes that differ by at most one.
    choices : sequence of sequences of int or None
        For every round the choices in place of random ones; see `Reading.ranges`.
    alive : (rounds, N) bool or None
        Who takes part in which round.
    rule : "skip" or "abort"
        Whether a group goes on without its failed members, or does nothing in that round.
    receives : (rounds, N) bool or None
        Peers that get their group's average; the others only give.

    Returns
    -------
    result : (N, n) dtype of stack
        The vectors after the last round.
    traffic : Traffic
        With a phase for every round; under "slots" without what it takes to fill the slots.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; r outside [1, N]; sizes, choices, alive or receives that do not fit; unknown names.

    Examples
    --------
    >>> import numpy as np
    >>> result, traffic = random_groups(np.eye(4), 2, 3, np.random.default_rng(0))
    >>> result.sum(axis=0).tolist(), traffic.steps
    ([1.0, 1.0, 1.0, 1.0], 6)
    """
    array = checked_stack(stack)
    N, rounds = len(array), checked_count(rounds, "rounds", 0)
    r = checked_count(r, "r", 1, N)
    if reading not in READINGS:
        raise ValueError(f"reading must be one of {', '.join(READINGS)}, got {reading!r}")
    if rule not in ("skip", "abort"):
        raise ValueError(f"rule must be 'skip' or 'abort', got {rule!r}")
    if choices is not None and len(choices) != rounds:
        raise ValueError(f"choices must hold one entry for each of {rounds} rounds, got {len(choices)}")
    prescribed = _checked_sizes(N, r, sizes)
    part, gets = checked_mask(alive, (rounds, N), "alive"), checked_mask(receives, (rounds, N), "receives")
    phases = {}
    for t in range(rounds):
        labels, made = _choices(READINGS[reading], prescribed, None if choices is None else choices[t], rng)
        groups = np.where(part[t], labels, -1)
        if rule == "abort":
            groups[np.isin(labels, labels[~part[t]])] = -1
        if reading == "slots":
            array = array[np.asarray(made)]
        array, phases[f"round {t + 1}"] = group_average(array, groups, receives=gets[t])
    return (array, Traffic.of_phases(phases)) if phases else (array.copy(), Traffic.none(N))


def regrouping(
    stack: ArrayLike,
    M: int,
    rounds: int = 1,
    rng: np.random.Generator | None = None,
    *,
    orders: Sequence[Sequence[int]] | None = None,
    alive: ArrayLike | None = None,
) -> tuple[NDArray[Any], Traffic]:
    """The peers' vectors after some rounds in which those that are there form random groups of M among themselves.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors; finite.
    M : int
        Members of a group, >= 1.
    rounds : int
        Rounds, >= 0.
    rng : numpy.random.Generator or None
        Required where orders are drawn.
    orders : sequence of sequences of int or None
        For every round an order of those that are there, in place of a random one.
    alive : (rounds, N) bool or None
        Who takes part in which round.

    Returns
    -------
    result : (N, n) dtype of stack
        The vectors after the last round.
    traffic : Traffic
        With a phase for every round.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; M < 1; orders or alive that do not fit.

    Notes
    -----
    The random-group baseline of the authors' notebook: of A peers that are there, the first M floor(A/M) in the order
    form groups of M consecutive ones, and the rest are dealt out to the groups in turn. With A < M nobody averages.

    Examples
    --------
    >>> regrouping([[1.0], [3.0], [5.0]], 2, orders=[[0, 1, 2]])[0].ravel().tolist()
    [3.0, 3.0, 3.0]
    """
    array = checked_stack(stack)
    N, M, rounds = len(array), checked_count(M, "M"), checked_count(rounds, "rounds", 0)
    part = checked_mask(alive, (rounds, N), "alive")
    if orders is not None and len(orders) != rounds:
        raise ValueError(f"orders must hold one entry for each of {rounds} rounds, got {len(orders)}")
    phases = {}
    for t in range(rounds):
        there = np.flatnonzero(part[t])
        if orders is None:
            order = checked_rng(rng, "drawing orders").permutation(there)
        else:
            order = np.asarray(orders[t], np.int64)
            if not np.array_equal(np.sort(order), there):
                raise ValueError(f"orders of a round must be a permutation of {there.tolist()}, got {order.tolist()}")
        whole = order.size // M
        groups = np.full(N, -1)
        if whole:
            places = np.arange(order.size)
            groups[order] = np.where(places < whole * M, places // M, (places - whole * M) % whole)
        array, phases[f"round {t + 1}"] = group_average(array, groups)
    return (array, Traffic.of_phases(phases)) if phases else (array.copy(), Traffic.none(N))
