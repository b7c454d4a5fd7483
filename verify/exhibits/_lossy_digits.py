"""Packet loss: the figure about a network that is trained over links that lose packets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives import Bernoulli, layout
from commbounds.theory import claims
from commbounds.verify.exhibit import Exhibit, Line, Panel
from commbounds.verify.lossy_digits import lossy_run, predicted_drift

__all__ = ["training"]

_WORKERS = 8
_SETS = {"quick": (120, 1), "standard": (300, 3), "thorough": (400, 10)}
"""Steps and seeds."""
_LOSSES = (0.0, 0.1, 0.2, 0.4)


def _largest(updates: NDArray[np.float64]) -> NDArray[np.float64]:
    """(steps,) sums over the shards of the largest squared norm so far of a shard's update."""
    starts = np.flatnonzero(np.diff(layout(updates.shape[1], _WORKERS).owner, prepend=-1))
    by_shard = np.add.reduceat(np.square(updates), starts, axis=1)
    return np.asarray(np.maximum.accumulate(by_shard, axis=0).sum(axis=1))


def training(budget: str, seed: int) -> Exhibit:
    """Training on the digits: drift at every step beside the laws, and accuracy."""
    steps, seeds = _SETS[budget]
    x = [float(s) for s in range(1, steps + 1)]
    others = (_WORKERS - 2) / _WORKERS  # the share of the shards that neither of a pair owns
    panels, accuracy, differing = [], [], []
    for p in _LOSSES:
        runs = [lossy_run(Bernoulli(p), _WORKERS, steps, sharding="by label", seed=seed + i) for i in range(seeds)]
        accuracy.append(Line(f"p = {p}", x, np.mean([run.accuracy for run in runs], axis=0).tolist()))
        if p == 0.0:
            continue
        squares = [np.square(run.updates).sum(axis=1) for run in runs]
        expected = np.mean([predicted_drift(run.updates, p)[0] for run in runs], axis=0) * others
        largest = np.mean([_largest(run.updates) for run in runs], axis=0) * others
        recent = np.mean(squares, axis=0) * others
        sure = claims()["packetloss.drift.sure_norm"].bound(p=p, G=1.0)
        published = claims()["packetloss.drift.published"].bound(p=p, sigma=1.0)
        panels.append(
            Panel(
                f"p = {p}",
                "step",
                "squared distance of two replicas, foreign shards",
                (
                    Line("measured", x, np.mean([run.drift for run in runs], axis=0).tolist()),
                    Line("law of the updates made", x, expected.tolist(), "exact"),
                    Line("2p/(1+p) × this step's update²", x, (published * recent).tolist(), "printed"),
                    Line("2p/(1−p)² × largest update² so far", x, (sure * largest).tolist(), "bound"),
                ),
                yscale="log",
            )
        )
        differing.append(Line(f"p = {p}", x, np.mean([run.differ for run in runs], axis=0).tolist()))
        constant = claims()["packetloss.versions.published"].bound(p=p)
        differing.append(Line(f"2p/(1+p), p = {p}", x, [float(constant)] * steps, "exact"))
    panels.append(Panel("mean replica", "step", "share of 357 test images recognised", tuple(accuracy)))
    panels.append(Panel("versions", "step", "share of pairs and shards that differ", tuple(differing)))
    return Exhibit(
        "packetloss.training",
        "Real updates drift by the law of their autocovariance, and training bears it",
        f"A perceptron of 2410 parameters, {_WORKERS} workers with images sorted by label, {steps} steps, "
        f"{'one seed' if seeds == 1 else f'mean of {seeds} seeds'}, both halves lossy, mean of what arrives. "
        f"The law takes "
        "the updates that were made as given; in fact they depend on the losses, through stale replicas.",
        tuple(panels),
        seed,
        budget,
    )
