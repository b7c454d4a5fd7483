"""What "split at random into groups" can mean, and the draws that it takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from commbounds.array_types import Integers
from commbounds.collectives._peers import checked_count, checked_entries, checked_rng
from commbounds.compressors.base import shown

Labels = Integers


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
class PartitionReading:
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
        "cut": PartitionReading(
            "a random permutation cut into groups of prescribed sizes, none empty",
            lambda N, _r: (*range(N, 0, -1),),
            _cut,
        ),
        "blocks": PartitionReading(
            "a set partition into exactly r blocks, all equally likely",
            lambda N, r: (_ways(N, 0, r),),
            lambda sizes, choices: _unranked(sum(sizes), len(sizes), choices[0]),
        ),
        "occupied": PartitionReading(
            "independent uniform labels, drawn again until no group is empty", lambda N, r: (r,) * N, _occupied
        ),
        "labels": PartitionReading(
            "independent uniform labels, empty groups allowed",
            lambda N, r: (r,) * N,
            lambda _sizes, choices: np.array(choices, np.int64),
        ),
        "partitions": PartitionReading(
            "a set partition, all equally likely whatever their number of blocks",
            lambda N, _r: (_ways(N, 0, 0),),
            lambda sizes, choices: _unranked(sum(sizes), 0, choices[0]),
        ),
        "slots": PartitionReading(
            "slots filled with replacement: no partition, a peer may be drawn twice or not at all",
            lambda N, _r: (N,) * N,
            lambda sizes, _choices: _blocks(sizes),
        ),
    }
)
"""Every reading under its name."""


def _all_drawn(rng: np.random.Generator, sizes: Sequence[int]) -> tuple[int, ...]:
    """Integers, uniform on range(size) for each of the sizes, of any length."""
    if max(sizes) > 1 << 62:
        return tuple(_drawn(rng, size) for size in sizes)
    return tuple(rng.integers(sizes).tolist())


def _drawn(rng: np.random.Generator, size: int) -> int:
    """The same of one size."""
    if size <= 1 << 62:
        return int(rng.integers(size))
    length = (size - 1).bit_length()
    while True:
        drawn = int.from_bytes(rng.bytes((length + 7) // 8), "little") & ((1 << length) - 1)
        if drawn < size:
            return drawn


def checked_sizes(N: int, r: int, sizes: Sequence[int] | None) -> tuple[int, ...]:
    """The sizes of `r` groups of `N` peers: those given, or such that differ by at most one."""
    if sizes is None:
        return tuple(N // r + (g < N % r) for g in range(r))
    checked_entries(sizes, "sizes", r, "groups")
    sizes = [checked_count(size, "sizes", 1, N) for size in sizes]
    if sum(sizes) != N:
        raise ValueError(f"sizes must be {r} positive numbers with sum {N}, got {list(sizes)}")
    return tuple(int(size) for size in sizes)


def _listed_choices(given: Any) -> list[Any]:
    listed = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(listed, list | tuple):
        raise TypeError(f"choices of a round must be a sequence of integers, got {shown(given)}")
    for choice in listed:
        if isinstance(choice, bool) or not isinstance(choice, int | np.integer):  # of any length
            raise TypeError(f"choices of a round must be integers, got {shown(choice)}")
    return list(listed)


def choices_of_round(
    reading: PartitionReading, sizes: tuple[int, ...], given: Any, rng: Any
) -> tuple[Labels, Sequence[int]]:
    """The groups of a round, and the choices that made them."""
    ranges = reading.ranges(sum(sizes), len(sizes))
    if given is not None:
        choices = tuple(int(choice) for choice in _listed_choices(given))
        fits = len(choices) == len(ranges) and all(0 <= c < size for c, size in zip(choices, ranges, strict=True))
        labels = reading.labels(sizes, choices) if fits else None
        if labels is None:
            raise ValueError(f"choices of a round must be below {ranges}, and admitted, got {choices}")
        return labels, choices
    while True:
        choices = _all_drawn(checked_rng(rng, "drawing groups"), ranges)
        labels = reading.labels(sizes, choices)
        if labels is not None:
            return labels, choices
