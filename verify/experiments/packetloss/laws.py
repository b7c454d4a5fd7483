"""Packet loss: staleness and drift after every history of losses, exactly."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Floats, Integers
from commbounds.verify.experiments.packetloss.gaps import (
    SIGMA,
    Histories,
    Weights,
    bernoulli,
    bursts,
    expectation,
    histories,
    shared,
    varying,
)
from commbounds.verify.study import Outcome

Measure = Callable[..., Fraction | Outcome]


def _mean(h: Histories, p: Fraction, values: Any) -> Fraction:
    """Expected value where every packet is lost with probability `p`, independently."""
    return expectation(h, bernoulli(p), values)


def _squares(gap: Floats) -> Floats:
    return np.asarray((gap**2).reshape(len(gap), -1).sum(axis=1))


# --- versions ----------------------------------------------------------------------------------------------------


def staleness(found: Histories, p: Fraction, t: int, stale: int, receiver: int) -> Fraction:
    """Probability that a receiver lacks the last l updates, and nothing else."""
    pattern = np.arange(t) >= t - stale
    return _mean(found, p, (found.lacks[:, receiver, 0] == pattern).all(axis=1))


def differ(found: Histories, p: Fraction) -> Fraction:
    """Probability that two copies differ."""
    return _mean(found, p, found.gap.any(axis=1))


def _apart(h: Histories) -> Floats:
    return np.asarray(np.abs(h.staleness[:, 0] - h.staleness[:, 1]))


def version_gap(found: Histories, p: Fraction, apart: int) -> Fraction:
    """Probability that two receivers are m versions apart."""
    return _mean(found, p, _apart(found) == apart)


def version_moment(power: int) -> Measure:
    """Mean, or mean square, of the versions between two receivers."""
    return lambda found, p: _mean(found, p, _apart(found) ** power)


def staleness_range(found: Histories, p: Fraction) -> Fraction:
    """Largest less smallest staleness among all receivers."""
    return _mean(found, p, found.staleness.max(axis=1) - found.staleness.min(axis=1))


# --- fresh updates -----------------------------------------------------------------------------------------------


def pair_gap(h: Histories) -> Floats:
    """Of the first two receivers."""
    return h.gap


def owner_gap(h: Histories) -> Floats:
    """Of the last receiver and the owner."""
    return np.asarray(h.lacks[:, -1, 0])


def _every_copy(h: Histories) -> Floats:
    """(h, N, steps) all copies, the owner's among them, less the owner's."""
    copies = -h.lacks[:, :, 0]
    return np.concatenate([np.zeros_like(copies[:, :1]), copies], axis=1)


def _white(of: Callable[[Histories], Floats], found: Histories, weights: Weights) -> Fraction:
    """sigma^2 times the mean number of updates in a gap."""
    return SIGMA**2 * expectation(found, weights, _squares(of(found)))


def white(of: Callable[[Histories], Floats]) -> Measure:
    """Drift of fresh updates where losses are independent."""
    return lambda found, p: _white(of, found, bernoulli(p))


def in_bursts(of: Callable[[Histories], Floats]) -> Measure:
    """Drift where they come in bursts."""
    return lambda found, lossrate, recovery: _white(of, found, bursts(lossrate, recovery))


def shared_owner(found: Histories, p: Fraction) -> Fraction:
    """Drift from the owner where all receivers share a packet's fate."""
    return _white(owner_gap, found, shared(p))


def shared_pair(found: Histories) -> Fraction:
    """Largest squared gap over all histories in which all receivers fare alike."""
    chances, numbers = shared(Fraction(1, 2))(found)
    possible = np.array([chance > 0 for chance in chances])[numbers]
    return Fraction(float(_squares(found.gap[possible]).max()))


def relaxation(found: Histories, p: Fraction) -> Fraction:
    """What the gap lacks of its limit, as a share."""
    return 1 - _mean(found, p, _squares(found.gap)) * (1 - p**2) / (2 * p)


def consensus(found: Histories, p: Fraction, N: int) -> Fraction:
    """Mean squared distance to the mean copy: N times the sum of squares less the square of the sum, over N^2."""
    copies = _every_copy(found)
    spread = N * (copies**2).sum(axis=(1, 2)) - (copies.sum(axis=1) ** 2).sum(axis=1)
    return SIGMA**2 * _mean(found, p, spread) / N**2


def whole_vector(implementation: Any, found: Histories, receivers: int, t: int, p: Fraction, N: int) -> Fraction:
    """The pair of the first and the last worker over all shards: each owns one, the others' shards are alike."""
    total = (N - 2) * _mean(found, p, _squares(found.gap)) if N > 2 else Fraction(0)
    for last in (False, True):
        h = histories(implementation, receivers, t, 1, last)
        # the pair's other member is the last receiver of the first shard, the first receiver of the last one
        total += _mean(h, p, _squares(h.lacks[:, 0 if last else -1, 0]))
    return total / N


def any_losses(found: Histories, t: int, draw: int) -> Outcome:
    """Loss probabilities that change from step to step."""
    losses = [Fraction(int(v), 8) for v in np.random.default_rng([draw, t]).integers(0, 9, t)]
    fates, beyond = Fraction(0), Fraction(1)
    for p in reversed(losses):
        beyond *= p
        fates += beyond * (1 - beyond)
    return Outcome(_white(pair_gap, found, varying(losses)), {"fates": fates})


def packets_drift(implementation: Any, receivers: int, t: int, last: bool, p: Fraction) -> Fraction:
    """Drift of a shard in two packets that carry the same updates: the mean of the two."""
    h = histories(implementation, receivers, t, 2, last)
    return SIGMA**2 * _mean(h, p, _squares(h.lacks[:, 0] - h.lacks[:, 1])) / 2


def packets_all_lost(implementation: Any, receivers: int, t: int, last: bool, p: Fraction, packets: int) -> Fraction:
    """Probability that a receiver gets nothing of a shard in q packets."""
    h = histories(implementation, receivers, t, packets, last)
    return _mean(h, p, (h.lacks[:, -1] == 1).all(axis=(1, 2)))


# --- given, correlated and bounded updates -----------------------------------------------------------------------


def two_updates(found: Histories, p: Fraction, age: int, older: int) -> Fraction:
    """Probability that the updates of ages a and b both lie between two receivers' versions."""
    there = found.gap[:, ::-1] != 0
    return _mean(found, p, there[:, age] & there[:, older])


def _updates(draw: int, t: int) -> Integers:
    """(t, 2) small integers."""
    return np.random.default_rng([draw, t]).integers(-3, 4, (t, 2))


def given_updates(found: Histories, p: Fraction, t: int, draw: int) -> Outcome:
    """Expected squared gap under given integer vectors."""
    updates = _updates(draw, t)
    newest_first = updates[::-1].tolist()
    products = {
        (a, b): sum(x * y for x, y in zip(u, v, strict=True))
        for a, u in enumerate(newest_first)
        for b, v in enumerate(newest_first)
    }
    lagged = sum((p ** (max(pair) + 1) * product for pair, product in products.items()), Fraction(0))
    discounted = sum((p ** (a + b + 2) * product for (a, b), product in products.items()), Fraction(0))
    measured = _mean(found, p, _squares(found.gap @ updates))
    return Outcome(measured, {"lagged": lagged, "discounted": discounted})


def one_step(
    implementation: Any, found: Histories, receivers: int, t: int, last: bool, p: Fraction, draw: int
) -> Outcome:
    """The gap after t steps, beside the one before and the one given that just one of the two receives, if it can."""
    updates, before = _updates(draw, t), Fraction(0)
    squares = _squares(found.gap @ updates)
    if t > 1:
        shorter = histories(implementation, receivers, t - 1, 1, last)
        before = _mean(shorter, p, _squares(shorter.gap @ updates[:-1]))
    one = found.lost[:, -1, 0, 0] != found.lost[:, -1, 1, 0]
    chance = 2 * p * (1 - p)
    onesided = _mean(found, p, squares * one) / chance if chance else Fraction(0)
    return Outcome(_mean(found, p, squares), {"driftbefore": before, "onesided": onesided})


def _lags(h: Histories, p: Fraction) -> list[Fraction]:
    """E of the sum over s of D_s D_(s+h), for h = 0, 1, ..."""
    gap, steps = h.gap, h.gap.shape[1]
    return [_mean(h, p, (gap[:, : steps - lag] * gap[:, lag:]).sum(axis=1)) for lag in range(steps)]


def correlated(found: Histories, p: Fraction, rho: Fraction) -> Fraction:
    """Updates of autocovariance sigma^2 rho^h."""
    lags = _lags(found, p)
    return SIGMA**2 * (lags[0] + 2 * sum((rho**lag * value for lag, value in enumerate(lags) if lag), Fraction(0)))


def autocovariance(found: Histories, p: Fraction, window: int) -> Outcome:
    """Updates that are sums of the last few of independent ones: r(h) = the overlap of their windows."""
    r = [window - lag for lag in range(window)]
    lags = _lags(found, p)[:window]
    total = sum((r[lag] * value * (2 if lag else 1) for lag, value in enumerate(lags)), Fraction(0))
    weighted = r[0] + 2 * sum((p**lag * r[lag] for lag in range(1, window)), Fraction(0))
    return Outcome(total, {"autocov": weighted})


def _answering(of: Callable[[Histories], Floats], past: list[Histories], sense: int) -> Floats:
    """(h,) gaps if every update, 1 or -1, has the sign of the gap before it, times `sense`.

    Such updates know the losses. The histories of fewer steps come in the same order, each in place of all its
    continuations.
    """
    count = len(past[-1].lost)
    updates, gap = np.ones((count, len(past))), np.zeros(count)
    for steps, h in enumerate(past, 1):
        updates[:, steps - 1] = np.where(sense * gap < 0, -1.0, 1.0)
        each = np.repeat(of(h), count // len(h.lost), axis=0)
        gap = (each * updates[:, :steps]).sum(axis=1)
    return gap


def _bounded(
    of: Callable[[Histories], Floats], power: int, implementation: Any, receivers: int, t: int, last: bool,
    p: Fraction, signs: str | tuple[int, ...],
) -> Outcome:  # fmt: skip
    """Mean gap, or squared gap, under updates -1, 0 or 1 times G in every step, or an answer to the gap."""
    past = [histories(implementation, receivers, steps, 1, last) for steps in range(1, t + 1)]
    if isinstance(signs, str):
        gap = _answering(of, past, 1 if signs == "with the gap" else -1)
    else:
        gap = of(past[-1]) @ np.array(signs, np.float64)
    G = Fraction(2)
    return Outcome(G**power * _mean(past[-1], p, np.abs(gap) ** power), {"G": G})


def bounded(of: Callable[[Histories], Floats], power: int) -> Measure:
    """See `_bounded`."""
    return partial(_bounded, of, power)
