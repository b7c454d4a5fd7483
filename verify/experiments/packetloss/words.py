"""Packet loss: draws of the reduce-scatter's estimates, and counts of words."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.collectives import Bernoulli, fresh_replicas
from commbounds.collectives.traffic import Traffic
from commbounds.theory import claims
from commbounds.verify.study import Stream

_DRAWN = 16
"""Workers of a drawn step; every one of them owns a shard, so that one call gives as many independent estimates."""


def _drawn(reduce: Any, estimator: str, p: float, rng: np.random.Generator, count: int, heights: Any) -> Any:
    """`count` estimates of the mean of `heights`, the owner's at place 0, and their arrivals."""
    # worker i's value of shard j is heights[i - j]: its owner has heights[0] everywhere
    stack = np.array([[heights[(i - j) % _DRAWN] for j in range(_DRAWN)] for i in range(_DRAWN)])
    loss, seed, values, arrivals = Bernoulli(p), int(rng.integers(2**63)), [], []
    for step in range(-(-count // _DRAWN)):
        lost, _ = loss.lost((seed, 0, 0), step, _DRAWN**2, None)
        there = ~lost.reshape(_DRAWN, _DRAWN, 1)
        reduced, _ = reduce(stack, there, estimator, p=p if estimator == "expected" else None)
        values.append(reduced.estimate)
        arrivals.append(reduced.arrivals)
    return np.concatenate(values)[:count], np.concatenate(arrivals)[:count]


def means(estimator: str, target: Callable[[float, Any], float], losses: tuple[float, ...]) -> Any:
    """Streams whose mean is `target`(p, heights); draws stay within the range of what is averaged."""
    heights = np.linspace(-1.0, 2.0, _DRAWN)[::-1]

    def streams(reduce: Any) -> list[Stream]:
        def stream(p: float) -> Stream:
            mean = target(p, heights)
            scale = 1.0 / (1.0 - p) if estimator == "expected" else 1.0
            low, high = np.minimum(heights, 0).sum(), np.maximum(heights, 0).sum()
            if estimator != "expected":
                low, high = heights.min(), heights.max()
            else:
                low, high = low * scale / _DRAWN, high * scale / _DRAWN

            def draw(rng: np.random.Generator, count: int) -> Any:
                return _drawn(reduce, estimator, p, rng, count, heights)[0] - mean

            return Stream(f"p = {p}", draw, 1.001 * (low - mean), 1.001 * (high - mean), unit=high - low)

        return [stream(p) for p in losses]

    return streams


def bias_target(p: float, heights: Any) -> float:
    """Mean of the owner's estimate of gradients of these heights."""
    pull = claims()["packetloss.owner.bias"].bound(N=_DRAWN, p=p)
    return float(heights.mean() + pull * (heights[0] - heights.mean()))


def fill_target(p: float, heights: Any) -> float:
    """Mean of the estimate that is zero where nothing arrives."""
    return float(claims()["packetloss.arrivals.zero_fill"].bound(N=_DRAWN, p=p) * heights.mean())


# --- words -------------------------------------------------------------------------------------------------------


def _traffic(implementation: Any, N: int, n: int, fates: Any) -> Traffic:
    """Of a step where the packets of both halves between different workers meet these fates."""
    masks = np.ones((2, N, N), bool)
    masks[:, ~np.eye(N, dtype=bool)] = np.array(fates, bool).reshape(2, N * (N - 1))
    start = fresh_replicas(np.zeros(n), N)
    traffic: Traffic = implementation(start, np.ones((N, n)), 0.5, masks[0, :, :, None], masks[1, :, :, None])[2]
    return traffic


def sent(implementation: Any, N: int, n: int, draw: int) -> int:
    """Words of both halves of a step that a worker sends at most under the case's masks."""
    fates = np.random.default_rng(draw).random(2 * N * (N - 1)) < 0.5
    return int(_traffic(implementation, N, n, fates).sent.max())


def received(implementation: Any, N: int, n: int, p: Fraction) -> Fraction:
    """Words of both halves that a worker receives, in the mean over all masks."""
    links, total = 2 * N * (N - 1), Fraction(0)
    for fates in itertools.product((False, True), repeat=links):
        kept = sum(fates)
        total += (1 - p) ** kept * p ** (links - kept) * int(_traffic(implementation, N, n, fates).received.sum())
    return total / N


def received_streams(step: Any) -> list[Stream]:
    """Draws of the words that a worker receives in a step, for several probabilities of loss."""
    workers, n = 8, 16
    start, ones = fresh_replicas(np.zeros(n), workers), np.ones((workers, n))

    def stream(p: float) -> Stream:
        mean = claims()["packetloss.volume.received"].bound(N=workers, coordinates=n, p=p)
        most = claims()["packetloss.volume.sent"].bound(N=workers, coordinates=n)

        def draw(rng: np.random.Generator, count: int) -> Any:
            loss, seed, words = Bernoulli(p), int(rng.integers(2**63)), np.empty(count)
            for i in range(count):
                lost = loss.lost((seed, i, 0), 0, 2 * workers**2, None)[0].reshape(2, workers, workers, 1)
                words[i] = step(start, ones, 0.5, ~lost[0], ~lost[1])[2].received.mean()
            return words - mean

        return Stream(f"p = {p}", draw, -mean - 1e-9, float(most) - mean + 1e-9, unit=mean, cost=100)

    return [stream(0.1), stream(0.4)]
