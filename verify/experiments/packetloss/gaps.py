"""Packet loss: every history of lossy broadcasts from equal replicas, and exact expectations over them.

The owner adds a unit vector of its own to its shard in every step. What a receiver lacks then shows which updates it
has missed; the gaps under any other updates follow by linearity, exactly.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Floats, Mask
from commbounds.collectives import layout

Weights = Callable[["Histories"], list[Fraction]]
"""Probability of every history."""
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

    def weights(h: Histories) -> list[Fraction]:
        flags = h.lost.reshape(len(h.lost), -1)
        size = flags.shape[1]
        chances = [p**k * (1 - p) ** (size - k) for k in range(size + 1)]
        return [chances[k] for k in flags.sum(axis=1)]

    return weights


def varying(losses: Sequence[Fraction]) -> Weights:
    """Lost with probability ``losses[s]`` in step s, independently."""

    def weights(h: Histories) -> list[Fraction]:
        result = [Fraction(1)] * len(h.lost)
        for s, p in enumerate(losses):
            counts, size = h.lost[:, s].reshape(len(h.lost), -1).sum(axis=1), h.lost[0, s].size
            chances = [p**k * (1 - p) ** (size - k) for k in range(size + 1)]
            result = [w * chances[k] for w, k in zip(result, counts, strict=True)]
        return result

    return weights


def bursts(lossrate: Fraction, recovery: Fraction) -> Weights:
    """Links good or bad from the stationary law on, receivers independent; bad ones lose everything."""
    fail = recovery * lossrate / (1 - lossrate)

    def path(flags: Mask) -> Fraction:
        chance = lossrate if flags[0] else 1 - lossrate
        for before, now in itertools.pairwise(flags):
            change = recovery if before else fail
            chance *= change if before != now else 1 - change
        return chance

    def weights(h: Histories) -> list[Fraction]:
        steps, receivers = h.lost.shape[1:3]
        known = {flags: path(np.array(flags)) for flags in itertools.product((False, True), repeat=steps)}
        result = []
        for lost in h.lost[:, :, :, 0]:
            chance = Fraction(1)
            for i in range(receivers):
                chance *= known[tuple(lost[:, i].tolist())]
            result.append(chance)
        return result

    return weights


def shared(p: Fraction) -> Weights:
    """All receivers share a packet's fate, and the fate is loss with probability `p`."""

    def weights(h: Histories) -> list[Fraction]:
        flags = h.lost[:, :, :, 0]
        alike = (flags == flags[:, :, :1]).all(axis=(1, 2))
        lost, steps = flags[:, :, 0].sum(axis=1), flags.shape[1]
        chances = [p**k * (1 - p) ** (steps - k) for k in range(steps + 1)]
        return [chances[k] if same else Fraction(0) for k, same in zip(lost, alike, strict=True)]

    return weights


def expectation(h: Histories, weights: Weights, values: Any) -> Fraction:
    """The mean of `values`, one for every history, exactly: floats are taken for the rational numbers that they are."""
    totals: dict[Fraction, float] = {}
    for weight, value in zip(weights(h), np.asarray(values, np.float64).tolist(), strict=True):
        # values of one weight are added first; small multiples of 1/2 in fact, so that sums in floats are exact
        totals[weight] = totals.get(weight, 0.0) + value
    return sum((weight * Fraction(total) for weight, total in totals.items()), Fraction(0))
