"""Packet loss: the figure about a network that is trained over links that lose packets."""

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives import Bernoulli, layout
from commbounds.verify.exhibit import Exhibit, Line, Panel, bound_of, law, line
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
    x = range(1, steps + 1)
    others = (_WORKERS - 2) / _WORKERS  # the share of the shards that neither of a pair owns
    panels: list[Panel] = []
    accuracy: list[Line] = []
    shares: list[float] = []
    # squared distances averaged over the steps: measured, by law, by the reported constant, by the corrected one
    means: list[list[float]] = []
    for p in _LOSSES:
        runs = [lossy_run(Bernoulli(p), _WORKERS, steps, sharding="by label", seed=seed + i) for i in range(seeds)]
        accuracy.append(line(f"p = {p}", x, np.mean([run.accuracy for run in runs], axis=0)))
        if p == 0.0:
            continue
        drift = np.mean([run.drift for run in runs], axis=0)
        expected = np.mean([predicted_drift(run.updates, p)[0] for run in runs], axis=0) * others
        # E||D||^2 <= 2p/(1-p)^2 G^2 shard by shard, G the largest update of the shard so far
        largest = np.mean([_largest(run.updates) for run in runs], axis=0) * others
        square = float(np.mean([np.square(run.updates).sum(axis=1) for run in runs])) * others
        sure = bound_of("packetloss.drift.sure_norm", p=p, G=1.0)
        published = bound_of("packetloss.drift.as_reviewed", p=p, sigma=1.0)
        corrected = bound_of("packetloss.drift.pair_limit", p=p, sigma=1.0)
        lines = (
            line("measured", x, drift),
            line("law of the updates made", x, expected, "exact"),
            line("2p/(1−p)² × largest update² so far", x, sure * largest, "bound"),
        )
        panels.append(Panel(f"p = {p}", "step", "squared distance of two replicas", lines, yscale="log"))
        shares.append(float(np.mean([run.differ for run in runs])))
        means.append([float(drift.mean()), float(expected.mean()), published * square, corrected * square])
    lossy = list(_LOSSES[1:])
    measured, expected_law, printed, white = (list(values) for values in zip(*means, strict=True))
    panels += [
        Panel(
            "mean over the steps",
            "loss probability p",
            "squared distance of two replicas",
            (
                Line("measured", lossy, measured),
                Line("law of the updates made", lossy, expected_law, "exact"),
                Line("2p/(1+p) × mean update²", lossy, printed, "printed"),
                Line("2p/(1−p²) × mean update²", lossy, white, "corrected"),
            ),
        ),
        Panel(
            "versions",
            "loss probability p",
            "share of pairs and shards that differ",
            (Line("measured", lossy, shares), law("2p/(1+p)", lossy, "packetloss.versions.as_reviewed", "p")),
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
    )
