"""Distributed training under packet loss: figures about more than one claim."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives import Bernoulli, GilbertElliott, drift_trials, lossy_reduce_scatter, staleness_trials
from commbounds.verify.exhibit import Exhibit, Line, Maker, Panel, bound_of, line
from commbounds.verify.experiments.packetloss.digits_exhibits import training

_SCALE = {"quick": 1, "standard": 4, "thorough": 16}
_GAP = "squared gap / variance of an update"
_LOSSES = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]


def _book(name: str, **values: Any) -> float:
    """The book's right-hand side, with updates of size 1."""
    return bound_of(f"packetloss.{name}", **{"sigma": 1.0, "G": 1.0, **values})


def _law(label: str, role: str, x: Sequence[float], name: str, axis: str, **values: Any) -> Line:
    """The book's right-hand side over the parameter `axis`."""
    return line(label, x, lambda v: _book(name, **{axis: v}, **values), role)


def _band(label: str, x: Sequence[float], samples: Sequence[Floats]) -> Line:
    """Means with a band of two standard errors."""
    means = np.array([s.mean() for s in samples])
    errors = np.array([2.0 * s.std() / np.sqrt(s.size) for s in samples])
    return line(label, x, means, "measured", means - errors, means + errors)


def _at_steps(steps: Sequence[int], p: float, trials: int, seed: int, rho: float) -> list[Floats]:
    """Squared pair gaps (trials,) after each number of steps, from averages over t and over t - 1 of the same runs."""

    def added_up(t: int) -> Floats:
        return t * drift_trials(17, t, Bernoulli(p), trials, seed, rho=rho).pair if t else np.zeros(trials)

    return [added_up(t) - added_up(t - 1) for t in steps]


def drift_by_step(budget: str, seed: int) -> Exhibit:
    """Drift against the step, from equal replicas on."""
    trials, steps = 1500 * _SCALE[budget], [1, 2, 3, 4, 6, 8, 11, 15, 20, 26, 33, 40]
    panels = []
    for p in (0.1, 0.4):
        lines = (
            _band("uncorrelated updates", steps, _at_steps(steps, p, trials, seed, 0.0)),
            _law("exact", "exact", steps, "drift.pair", "elapsed", p=p),
            _law("2p/(1+p), as reported", "printed", steps, "drift.as_reviewed", "elapsed", p=p),
            _law("2p/(1−p²)", "corrected", steps, "drift.pair_limit", "elapsed", p=p),
            _band("constant updates", steps, _at_steps(steps, p, trials, seed, 1.0)),
            _law("2p/(1−p)², any updates", "bound", steps, "drift.sure_norm", "elapsed", p=p),
        )
        panels.append(Panel(f"two receivers, p = {p}", "steps since the replicas were equal", _GAP, lines))
    return Exhibit(
        "packetloss.drift_by_step",
        "Drift of fresh updates stays bounded at all times, above the constant that a review reports",
        f"{trials} trials with 16 receivers; bands are two standard errors. Uncorrelated updates settle at 2p/(1−p²); "
        "2p/(1+p) is the reported constant; its sigma² was not read, and other readings make it right. Constant "
        "updates of the same size come arbitrarily close to the bound for any updates.",
        tuple(panels),
    )


def drift_by_loss(budget: str, seed: int) -> Exhibit:
    """Drift in the long run against the loss probability."""
    trials, steps = 40 * _SCALE[budget], 2000

    def pairs(rho: Callable[[float], float]) -> list[Floats]:
        return [drift_trials(33, steps, Bernoulli(p), trials, seed, rho=rho(p)).pair for p in _LOSSES]

    owner = [drift_trials(33, steps, Bernoulli(p), trials, seed).owner for p in _LOSSES]
    white = Panel(
        "uncorrelated updates",
        "loss probability p",
        _GAP,
        (
            _band("two receivers", _LOSSES, pairs(lambda _p: 0.0)),
            _law("2p/(1−p²)", "corrected", _LOSSES, "drift.pair_limit", "p"),
            _law("2p/(1+p), as reported", "printed", _LOSSES, "drift.as_reviewed", "p"),
            _band("receiver and owner", _LOSSES, owner),
            _law("p/(1−p)", "exact", _LOSSES, "drift.owner_limit", "p"),
        ),
        yscale="log",
    )
    related = Panel(
        "correlated updates, two receivers",
        "loss probability p",
        _GAP,
        (
            _band("constant updates", _LOSSES, pairs(lambda _p: 1.0)),
            _law("2p/(1−p)², any updates", "bound", _LOSSES, "drift.sure_norm", "p"),
            _band("correlation 0.5", _LOSSES, pairs(lambda _p: 0.5)),
            _law("law at 0.5", "exact", _LOSSES, "drift.autoregressive", "p", rho=0.5),
            _band("correlation −1/(2−p)", _LOSSES, pairs(lambda p: -1 / (2 - p))),
            _law("2p/(1+p), as reported", "printed", _LOSSES, "drift.as_reviewed", "p"),
        ),
        yscale="log",
    )
    return Exhibit(
        "packetloss.drift_by_loss",
        "2p/(1+p) is the drift of updates with correlation −1/(2−p), and 1−p times that of fresh ones",
        f"A review reports 2p/(1+p) σ²; what σ² is was not read. Here it is the variance of an update. Means over "
        f"{steps} steps of {trials} trials with 32 receivers; bands are two standard errors.",
        (white, related),
    )


def differing(budget: str, seed: int) -> Exhibit:
    """How many replicas differ, and how stale the stalest is."""
    trials = 100 * _SCALE[budget]
    shares = [drift_trials(65, 1000, Bernoulli(p), trials // 4, seed).differ for p in _LOSSES]
    counts = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384]
    lines = []
    for p in (0.1, 0.4):
        largest = [staleness_trials(count, 80, Bernoulli(p), trials, seed)[0].astype(np.float64) for count in counts]
        lines += [
            _band(f"p = {p}", counts, largest),
            _law(f"H/ln(1/p), p = {p}", "bound", counts, "workers.log_upper", "receivers", p=p),
            _law(f"less one, p = {p}", "lower", counts, "workers.log_lower", "receivers", p=p, elapsed=80),
        ]
    return Exhibit(
        "packetloss.differing",
        "The reported constant is the share of pairs that differ; the largest staleness grows like the log of the "
        "receivers",
        f"Left: 64 receivers, 1000 steps, {trials // 4} trials. Right: staleness after 80 steps, {trials} trials. "
        "Bands are two standard errors. A pair's drift does not depend on the number of workers; the worst pair's "
        "does.",
        (
            Panel(
                "pairs that hold different versions",
                "loss probability p",
                "share of pairs",
                (_band("measured", _LOSSES, shares), _law("2p/(1+p)", "exact", _LOSSES, "versions.as_reviewed", "p")),
            ),
            Panel("the stalest receiver", "receivers", "steps since its last update", tuple(lines), xscale="log"),
        ),
    )


def estimators(budget: str, seed: int) -> Exhibit:
    """What lost contributions do to the mean: variance and bias of the three estimators."""
    rounds, workers = 60 * _SCALE[budget], 64
    rng = np.random.default_rng(seed)
    losses = _LOSSES
    heights = np.linspace(-1.0, 1.0, workers)
    # every worker owns one coordinate; worker i's value of shard j is heights[i - j], the owner's is the smallest
    fixed = heights[(np.arange(workers)[:, None] - np.arange(workers)) % workers]

    def drawn(p: float, estimator: str, stack: Floats) -> Floats:
        there = rng.random((workers, workers, 1)) >= p
        return lossy_reduce_scatter(stack, there, estimator, p=p if estimator == "expected" else None)[0].estimate

    inflation, pull = [], []
    for estimator, label in (
        ("arrivals", "by arrivals"),
        ("owner", "owner always there"),
        ("expected", "by expectation"),
    ):
        samples = [
            np.concatenate(
                [workers * drawn(p, estimator, rng.standard_normal(fixed.shape)) ** 2 for _ in range(rounds)]
            )
            for p in losses
        ]
        inflation.append(_band(label, losses, samples))
        pulls = [
            np.concatenate([drawn(p, estimator, fixed) / (fixed[0, 0] - heights.mean()) for _ in range(rounds)])
            for p in losses
        ]
        pull.append(_band(label, losses, pulls))
    by_owner = [workers * _book("owner.variance_iid", p=p, N=workers) for p in losses]
    by_arrivals = [workers * _book("arrivals.mean_inverse", p=p, N=workers) / (1 - p**workers) for p in losses]
    inflation.append(line("owner: (1−p^N)/(1−p)", losses, by_owner, "exact"))
    inflation.append(line("arrivals: N E[1/K | K ≥ 1]", losses, by_arrivals, "exact"))
    pull.append(_law("owner: (p−p^N)/((1−p)(N−1))", "exact", losses, "owner.bias", "p", N=workers))
    return Exhibit(
        "packetloss.estimators",
        "All three estimators inflate the variance by about 1/(1−p); only the one that never loses the owner is biased",
        f"{workers} workers, {rounds * workers} estimates a point; bands are two standard errors. Left: independent "
        "standard normal gradients. Right: given gradients, bias divided by the owner's distance to their mean.",
        (
            Panel("variance", "loss probability p", "N × variance, relative", tuple(inflation), yscale="log"),
            Panel("bias", "loss probability p", "(E ĝ − mean) / (owner's − mean)", tuple(pull)),
        ),
    )


def bursts(budget: str, seed: int) -> Exhibit:
    """Drift against the length of bursts at one loss rate."""
    trials, steps, lengths = 30 * _SCALE[budget], 4000, [1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0]
    panels = []
    for rate in (0.02, 0.1):
        chains = [GilbertElliott(rate / (1 - rate) / length, 1 / length) for length in lengths]
        samples = [drift_trials(17, steps, chain, trials, seed).pair for chain in chains]
        law = [_book("bursts.pair_limit", recovery=chain.recover, lossrate=rate) for chain in chains]
        lines = (
            _band("measured", lengths, samples),
            line("law of bursts", lengths, law, "exact"),
            line("as if independent", lengths, _book("bursts.as_if_independent", lossrate=rate), "printed"),
        )
        panels.append(Panel(f"{rate:.0%} loss", "mean length of a burst / steps", _GAP, lines, yscale="log"))
    return Exhibit(
        "packetloss.bursts",
        "At one loss rate, drift grows with the length of the bursts",
        f"Two-state links, means over {steps} steps of {trials} trials, 16 receivers; bands are two standard errors.",
        tuple(panels),
    )


EXHIBITS: dict[str, Maker] = {
    "packetloss.drift_by_step": drift_by_step,
    "packetloss.drift_by_loss": drift_by_loss,
    "packetloss.differing": differing,
    "packetloss.estimators": estimators,
    "packetloss.bursts": bursts,
    "packetloss.training": training,
}
