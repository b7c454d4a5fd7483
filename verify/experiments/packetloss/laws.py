"""Packet loss: staleness and drift after every history of losses, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify.experiments.packetloss.gaps import (
    SIGMA,
    Histories,
    Trial,
    Weights,
    base,
    bernoulli,
    bursts,
    expectation,
    histories,
    shared,
    table,
    varying,
)
from commbounds.verify.experiments.packetloss.updates import (
    autocovariance,
    bounded,
    correlated,
    given_updates,
    one_step,
    two_updates,
)
from commbounds.verify.study import Case, Outcome

Floats = NDArray[np.float64]
_BELOW_ONE = tuple(Fraction(*pair) for pair in ((0, 1), (1, 20), (1, 10), (1, 5), (2, 5), (1, 2), (2, 3), (9, 10)))


def grid(
    sizes: tuple[tuple[int, int, int, int], ...] = ((2, 4, 5, 5),),
    losses: Sequence[Fraction] = _BELOW_ONE,
    varied: Callable[[int, int], Iterator[dict[str, Any]]] = lambda _receivers, _steps: iter([{}]),
) -> Callable[[int], Iterator[Case]]:
    """Cases by receivers, steps, loss probability and owner, small first.

    Parameters
    ----------
    sizes : tuple of (receivers, most steps at level 0, 1, 2)
        Every number of steps up to the most.
    losses : sequence of Fraction
        Loss probabilities.
    varied : callable (receivers, steps) -> iterator of dict
        Further settings.
    """

    def cases(level: int) -> Iterator[Case]:
        for receivers, *most in sizes:
            for steps in range(1, most[level] + 1):
                for more in varied(receivers, steps):
                    for p in losses:
                        for last in (False, True):
                            yield Case({"receivers": receivers, "t": steps, "p": p, "last": last, **more})

    return cases


def staleness(broadcast: Any, case: Case) -> Outcome:
    """Probability that a receiver lacks the last l updates, and nothing else."""
    h, s = table(broadcast, case), case.settings
    pattern = np.arange(s["t"]) >= s["t"] - s["stale"]
    hit = (h.lacks[:, s["receiver"], 0] == pattern).all(axis=1)
    return Outcome(expectation(h, bernoulli(s["p"]), hit), {**base(case), "stale": s["stale"]})


def differ(broadcast: Any, case: Case) -> Outcome:
    """Probability that two copies differ."""
    h = table(broadcast, case)
    return Outcome(expectation(h, bernoulli(case.settings["p"]), h.gap.any(axis=1)), base(case))


def version_gap(broadcast: Any, case: Case) -> Outcome:
    """Probability that two receivers are m versions apart."""
    h, s = table(broadcast, case), case.settings
    hit = np.abs(h.staleness[:, 0] - h.staleness[:, 1]) == s["apart"]
    return Outcome(expectation(h, bernoulli(s["p"]), hit), {**base(case), "apart": s["apart"]})


def version_moment(power: int) -> Trial:
    """Mean, or mean square, of the versions between two receivers."""

    def trial(broadcast: Any, case: Case) -> Outcome:
        h = table(broadcast, case)
        gaps = np.abs(h.staleness[:, 0] - h.staleness[:, 1])
        return Outcome(expectation(h, bernoulli(case.settings["p"]), gaps**power), base(case))

    return trial


def white(of: Callable[[Histories], Floats], weights: Callable[[Case], Weights], **fixed: str) -> Trial:
    """sigma^2 times the mean number of updates in a gap, which `of` gives; `fixed` are more values, by setting."""

    def trial(broadcast: Any, case: Case) -> Outcome:
        h = table(broadcast, case)
        squares = (of(h) ** 2).reshape(len(h.lost), -1).sum(axis=1)
        values = {name: case.settings[setting] for name, setting in fixed.items()}
        return Outcome(SIGMA**2 * expectation(h, weights(case), squares), {**base(case), **values})

    return trial


def _independent(case: Case) -> Weights:
    return bernoulli(case.settings["p"])


def _in_bursts(case: Case) -> Weights:
    return bursts(case.settings["lossrate"], case.settings["recovery"])


def _shared_fate(case: Case) -> Weights:
    return shared(case.settings["p"])


def _pair_gap(h: Histories) -> Floats:
    return h.gap


def _owner_gap(h: Histories) -> Floats:
    return h.lacks[:, -1, 0]


def relaxation(broadcast: Any, case: Case) -> Outcome:
    """What the gap lacks of its limit, as a share."""
    p, h = case.settings["p"], table(broadcast, case)
    measured = expectation(h, bernoulli(p), (h.gap**2).sum(axis=1))
    return Outcome(1 - measured * (1 - p**2) / (2 * p), base(case))


def _every_copy(h: Histories) -> Floats:
    """(h, N, steps) all copies, the owner's among them, less the owner's."""
    copies = -h.lacks[:, :, 0]
    return np.concatenate([np.zeros_like(copies[:, :1]), copies], axis=1)


def consensus(broadcast: Any, case: Case) -> Outcome:
    """Mean squared distance to the mean copy: N times the sum of squares less the square of the sum, over N^2."""
    h, workers = table(broadcast, case), case.settings["receivers"] + 1
    copies = _every_copy(h)
    spread = workers * (copies**2).sum(axis=(1, 2)) - (copies.sum(axis=1) ** 2).sum(axis=1)
    measured = SIGMA**2 * expectation(h, bernoulli(case.settings["p"]), spread) / workers**2
    return Outcome(measured, {**base(case), "N": workers})


def whole_vector(broadcast: Any, case: Case) -> Outcome:
    """The pair of the first and the last worker over all shards: each owns one, the others' shards are alike."""
    s = case.settings
    workers, p, total = s["receivers"] + 1, s["p"], Fraction(0)
    for last in (False, True):
        h = histories(broadcast, s["receivers"], s["t"], 1, last)
        # the pair's other member is the last receiver of the first shard, the first receiver of the last one
        other = h.lacks[:, 0 if last else -1, 0]
        total += expectation(h, bernoulli(p), (other**2).sum(axis=1))
    if workers > 2:
        h = table(broadcast, case)
        total += (workers - 2) * expectation(h, bernoulli(p), (h.gap**2).sum(axis=1))
    return Outcome(total / workers, {**base(case), "N": workers})


def any_losses(broadcast: Any, case: Case) -> Outcome:
    """Loss probabilities that change from step to step."""
    h, s = table(broadcast, case), case.settings
    losses = [Fraction(int(v), 8) for v in np.random.default_rng([s["seed"], s["t"]]).integers(0, 9, s["t"])]
    measured = SIGMA**2 * expectation(h, varying(losses), (h.gap**2).sum(axis=1))
    fates, beyond = Fraction(0), Fraction(1)
    for p in reversed(losses):
        beyond *= p
        fates += beyond * (1 - beyond)
    return Outcome(measured, {**base(case), "fates": fates})


def staleness_range(broadcast: Any, case: Case) -> Outcome:
    """Largest less smallest staleness among all receivers."""
    h, s = table(broadcast, case), case.settings
    spread = h.staleness.max(axis=1) - h.staleness.min(axis=1)
    return Outcome(expectation(h, bernoulli(s["p"]), spread), {**base(case), "receivers": s["receivers"]})


def shared_pair(broadcast: Any, case: Case) -> Outcome:
    """Largest squared gap over all histories in which all receivers fare alike."""
    h = table(broadcast, case)
    possible = np.array([w > 0 for w in shared(Fraction(1, 2))(h)])
    return Outcome(Fraction(float((h.gap[possible] ** 2).sum(axis=1).max())), base(case))


def packets_drift(broadcast: Any, case: Case) -> Outcome:
    """Drift of a shard in two packets that carry the same updates: the mean of the two."""
    h = table(broadcast, case, packets=2)
    squares = ((h.lacks[:, 0] - h.lacks[:, 1]) ** 2).sum(axis=(1, 2))
    return Outcome(SIGMA**2 * expectation(h, bernoulli(case.settings["p"]), squares) / 2, base(case))


def packets_all_lost(broadcast: Any, case: Case) -> Outcome:
    """Probability that a receiver gets nothing of a shard in q packets."""
    s = case.settings
    h = table(broadcast, case, packets=s["packets"])
    hit = (h.lacks[:, -1] == 1).all(axis=(1, 2))
    return Outcome(expectation(h, bernoulli(s["p"]), hit), {**base(case), "packets": s["packets"]})


trials: dict[str, Trial] = {
    "staleness.law": staleness,
    "staleness.never_updated": staleness,
    "versions.differ": differ,
    "versions.as_reviewed": differ,
    "versions.gap": version_gap,
    "versions.mean_gap": version_moment(1),
    "versions.mean_square_gap": version_moment(2),
    "drift.pair": white(_pair_gap, _independent),
    "drift.pair_limit": white(_pair_gap, _independent),
    "drift.as_reviewed": white(_pair_gap, _independent),
    "drift.owner": white(_owner_gap, _independent),
    "drift.owner_limit": white(_owner_gap, _independent),
    "drift.two_updates": two_updates,
    "drift.given_updates": given_updates,
    "drift.one_step": one_step,
    "drift.relaxation": relaxation,
    "drift.whole_vector": whole_vector,
    "drift.whole_vector_limit": whole_vector,
    "drift.consensus": consensus,
    "drift.consensus_limit": consensus,
    "drift.any_losses": any_losses,
    "drift.as_reviewed_with_correlated_updates": correlated,
    "drift.autoregressive": correlated,
    "drift.autocovariance": autocovariance,
    "drift.sure_norm": bounded(_pair_gap, 2),
    "drift.mean_norm": bounded(_pair_gap, 1),
    "drift.owner_sure_norm": bounded(_owner_gap, 2),
    "workers.range": staleness_range,
    "bursts.pair": white(_pair_gap, _in_bursts, lossrate="lossrate", recovery="recovery"),
    "bursts.owner": white(_owner_gap, _in_bursts, lossrate="lossrate", recovery="recovery"),
    "bursts.pair_limit": white(_pair_gap, _in_bursts, lossrate="lossrate", recovery="recovery"),
    "bursts.as_if_independent": white(_pair_gap, _in_bursts, lossrate="lossrate", recovery="recovery"),
    "shared.pair": shared_pair,
    "shared.owner": white(_owner_gap, _shared_fate),
    "corners.no_loss": white(_pair_gap, _independent),
    "corners.pair_at_certain_loss": white(_pair_gap, _independent),
    "corners.owner_at_certain_loss": white(_owner_gap, _independent),
    "packets.drift": packets_drift,
    "packets.all_lost": packets_all_lost,
}
"""What each claim about histories measures."""
