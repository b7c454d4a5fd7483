"""Packet loss: the figure about a network that is trained over links that lose packets."""

from __future__ import annotations

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives import Bernoulli, layout
from commbounds.theory import claims
from commbounds.verify.exhibit import Exhibit, Line, Panel
from commbounds.verify.experiments.packetloss.digits import lossy_run, predicted_drift

_WORKERS = 8
_SETS = {"quick": (100, 2), "standard": (300, 5), "thorough": (400, 20)}
"""Steps and seeds."""
_LOSSES = (0.0, 0.1, 0.2, 0.4)


def _largest(updates: Floats) -> Floats:
    """(steps,) sums over the shards of the largest squared norm so far of a shard's update."""
    starts = np.flatnonzero(np.diff(layout(updates.shape[1], _WORKERS).owner, prepend=-1))
    by_shard = np.add.reduceat(np.square(updates), starts, axis=1)
    return np.asarray(np.maximum.accumulate(by_shard, axis=0).sum(axis=1))


def training(budget: str, seed: int) -> Exhibit:
    """Training on the digits: drift at every step beside the laws, and accuracy."""
    steps, seeds = _SETS[budget]
    x = [float(s) for s in range(1, steps + 1)]
    others = (_WORKERS - 2) / _WORKERS  # the share of the shards that neither of a pair owns
    panels: list[Panel] = []
    accuracy: list[Line] = []
    shares: list[float] = []
    # squared distances averaged over the steps: measured, by law, by the reported constant, by the corrected one
    means: list[list[float]] = []
    book = claims()
    for p in _LOSSES:
        runs = [lossy_run(Bernoulli(p), _WORKERS, steps, sharding="by label", seed=seed + i) for i in range(seeds)]
        accuracy.append(Line(f"p = {p}", x, np.mean([run.accuracy for run in runs], axis=0).tolist()))
        if p == 0.0:
            continue
        drift = np.mean([run.drift for run in runs], axis=0)
        expected = np.mean([predicted_drift(run.updates, p)[0] for run in runs], axis=0) * others
        # E||D||^2 <= 2p/(1-p)^2 G^2 shard by shard, G the largest update of the shard so far
        largest = np.mean([_largest(run.updates) for run in runs], axis=0) * others
        square = float(np.mean([np.square(run.updates).sum(axis=1) for run in runs])) * others
        sure = book["packetloss.drift.sure_norm"].bound(p=p, G=1.0)
        published = book["packetloss.drift.as_reviewed"].bound(p=p, sigma=1.0)
        corrected = book["packetloss.drift.pair_limit"].bound(p=p, sigma=1.0)
        panels.append(
            Panel(
                f"p = {p}",
                "step",
                "squared distance of two replicas",
                (
                    Line("measured", x, drift.tolist()),
                    Line("law of the updates made", x, expected.tolist(), "exact"),
                    Line("2p/(1−p)² × largest update² so far", x, (sure * largest).tolist(), "bound"),
                ),
                yscale="log",
            )
        )
        shares.append(float(np.mean([run.differ for run in runs])))
        means.append([float(drift.mean()), float(expected.mean()), published * square, corrected * square])
    lossy = list(_LOSSES[1:])
    limits = [float(book["packetloss.versions.as_reviewed"].bound(p=p)) for p in lossy]
    measured, law, printed, white = (list(values) for values in zip(*means, strict=True))
    panels += [
        Panel(
            "mean over the steps",
            "loss probability p",
            "squared distance of two replicas",
            (
                Line("measured", lossy, measured),
                Line("law of the updates made", lossy, law, "exact"),
                Line("2p/(1+p) × mean update²", lossy, printed, "printed"),
                Line("2p/(1−p²) × mean update²", lossy, white, "corrected"),
            ),
        ),
        Panel(
            "versions",
            "loss probability p",
            "share of pairs and shards that differ",
            (Line("measured", lossy, shares), Line("2p/(1+p)", lossy, limits, "exact")),
        ),
        Panel("mean replica", "step", "test images recognised", tuple(accuracy)),
    ]
    return Exhibit(
        "packetloss.training",
        "Real updates drift by the law of their autocovariance, above 2p/(1+p) of their variance, "
        "and training bears it",
        f"A perceptron of 2410 parameters, {_WORKERS} workers with images sorted by label, {steps} steps, mean of "
        f"{seeds} seeds, both halves lossy, mean of what arrives; distances over the shards that neither of a pair "
        "owns, averaged over all pairs. The law takes the updates that were made as given; in fact they depend on the "
        "losses, through stale replicas. Accuracy is that of the workers' mean on 357 images, every tenth step.",
        tuple(panels),
        seed,
        budget,
    )
