"""Packet loss: every history of lossy broadcasts from equal replicas, and exact expectations over them.

The owner adds a unit vector of its own to its shard in every step. What a receiver lacks then shows which updates it
has missed; the gaps under any other updates follow by linearity, exactly.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Floats, Integers, Mask
from commbounds.collectives import layout

Weights = Callable[["Histories"], tuple[Sequence[Fraction], Integers]]
"""Probabilities that histories have, and which of them each has, by its place."""
SIGMA = Fraction(3, 2)
"""Standard deviation of an update."""


@dataclass(frozen=True, eq=False)
class Histories:
    """All patterns of losses, and what receivers lack after them.

    Parameters
    ----------
    lost : (h, steps, receivers, packets) bool
        Which packets got lost.
    lacks : (h, receivers, packets, steps) float64
        What the owner's copy has and the receiver's has not, of the update of each step, oldest first.
    """

    lost: Mask
    lacks: Floats

    @cached_property
    def losses(self) -> Integers:
        """(h, steps) packets that got lost."""
        return np.asarray(self.lost.sum(axis=(2, 3)))

    @property
    def staleness(self) -> Floats:
        """(h, receivers) updates that a receiver lacks in the first packet."""
        return np.asarray(self.lacks[:, :, 0].sum(axis=2))

    @property
    def gap(self) -> Floats:
        """(h, steps) first receiver's copy minus the second's, in the first packet."""
        return np.asarray(self.lacks[:, 1, 0] - self.lacks[:, 0, 0])


@lru_cache(maxsize=128)
def histories(broadcast: Any, receivers: int, steps: int, packets: int = 1, last: bool = False) -> Histories:
    """Run `broadcast` through every pattern of losses of one shard; everybody gets all other shards.

    Parameters
    ----------
    broadcast : callable
        `lossy_broadcast`, or what stands in for it.
    receivers, steps, packets : int
        2^(receivers * steps * packets) histories. `packets` of `steps` words each hold the same updates.
    last : bool
        Whether the shard is the last worker's, else the first's.

    Notes
    -----
    For even `steps` the number of workers does not divide the number of coordinates: the others' shards are shorter by
    one entry than the first's, or longer than the last's.
    """
    workers, shard = receivers + 1, packets * steps
    owner = workers - 1 if last else 0
    others = [i for i in range(workers) if i != owner]
    n = workers * shard + (receivers if last else -receivers) * (steps % 2 == 0)
    cut, places = layout(n, workers, steps), np.arange(n)
    where = slice(n - shard, n) if last else slice(0, shard)
    fates = list(itertools.product((True, False), repeat=receivers * packets))
    states: list[tuple[tuple[int, ...], Floats]] = [((), np.zeros((workers, n)))]
    for step in range(steps):
        following = []
        for past, replicas in states:
            owned = replicas[cut.owner, places]
            owned[where.start + step : where.stop : steps] += 1.0
            for number, fate in enumerate(fates):
                arrived = np.ones((workers, workers, cut.packets), bool)
                arrived[owner, others, :packets] = np.reshape(fate, (receivers, packets))
                after, _ = broadcast(replicas, owned, arrived, packet=steps)
                following.append(((*past, number), after))
        states = following
    flags = ~np.array(fates).reshape(-1, receivers, packets)
    lost = flags[np.array([past for past, _ in states])]
    ends = np.array([replicas[:, where] for _, replicas in states])
    lacks = ends[:, owner, None] - ends[:, others]
    return Histories(lost, lacks.reshape(len(states), receivers, packets, steps))


def bernoulli(p: Fraction) -> Weights:
    """Every packet lost with probability `p`, independently."""

    def weights(h: Histories) -> tuple[Sequence[Fraction], Integers]:
        return _chances(p, h.lost[0].size), h.losses.sum(axis=1)

    return weights


@cache
def _chances(p: Fraction, packets: int) -> list[Fraction]:
    """By the number of the packets that are lost, each with probability `p`: that these are, and the others are not."""
    return [p**k * (1 - p) ** (packets - k) for k in range(packets + 1)]


def varying(losses: Sequence[Fraction]) -> Weights:
    """Lost with probability ``losses[s]`` in step s, independently."""

    def weights(h: Histories) -> tuple[Sequence[Fraction], Integers]:
        return _all_of([(_chances(p, h.lost[0, s].size), h.losses[:, s]) for s, p in enumerate(losses)])

    return weights


def bursts(lossrate: Fraction, recovery: Fraction) -> Weights:
    """Links good or bad from the stationary law on, receivers independent; bad ones lose everything."""
    fail = recovery * lossrate / (1 - lossrate)

    def path(flags: tuple[bool, ...]) -> Fraction:
        chance = lossrate if flags[0] else 1 - lossrate
        for before, now in itertools.pairwise(flags):
            change = recovery if before else fail
            chance *= change if before != now else 1 - change
        return chance

    def weights(h: Histories) -> tuple[Sequence[Fraction], Integers]:
        steps, receivers = h.lost.shape[1:3]
        chances = [path(flags) for flags in itertools.product((False, True), repeat=steps)]
        kinds = list(dict.fromkeys(chances))
        place = np.array([kinds.index(chance) for chance in chances])
        numbers = place[np.tensordot(1 << np.arange(steps)[::-1], h.lost[:, :, :, 0], (0, 1))]
        return _all_of([(kinds, numbers[:, i]) for i in range(receivers)])

    return weights


def shared(p: Fraction) -> Weights:
    """All receivers share a packet's fate, and the fate is loss with probability `p`."""

    def weights(h: Histories) -> tuple[Sequence[Fraction], Integers]:
        flags = h.lost[:, :, :, 0]
        alike = (flags == flags[:, :, :1]).all(axis=(1, 2))
        steps = flags.shape[1]
        return [*_chances(p, steps), Fraction(0)], np.where(alike, flags[:, :, 0].sum(axis=1), steps + 1)

    return weights


def _all_of(independent: Sequence[tuple[Sequence[Fraction], Integers]]) -> tuple[Sequence[Fraction], Integers]:
    """Of independent parts of a history all at once."""
    chances, numbers = [Fraction(1)], np.zeros(len(independent[0][1]), np.int64)
    for own, places in independent:
        chances = [before * chance for before in chances for chance in own]
        numbers = numbers * len(own) + places
    return chances, numbers


def expectation(h: Histories, weights: Weights, values: Any) -> Fraction:
    """The mean of `values`, one for every history, exactly: floats are taken for the rational numbers that they are."""
    chances, numbers = weights(h)
    # values of one weight are added first; small multiples of 1/2 in fact, so that sums in floats are exact
    totals = np.bincount(numbers, np.asarray(values, np.float64), len(chances)).tolist()
    return sum((chance * Fraction(total) for chance, total in zip(chances, totals, strict=True) if total), Fraction(0))
