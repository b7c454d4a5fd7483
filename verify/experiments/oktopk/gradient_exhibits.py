"""Ok-Topk on recorded gradients and on a quadratic: figures about reuse, words by phase, and the assumption on xi."""

import numpy as np

from commbounds.collectives import OkTopkSGD
from commbounds.verify.exhibit import Exhibit, Panel, law, line
from commbounds.verify.experiments.oktopk.reuse import reused
from commbounds.verify.experiments.oktopk.runs import DATA
from commbounds.verify.experiments.oktopk.sweep import published
from commbounds.verify.gradients import KINDS

_OVER = "words / published bound 6k(P - 1)/P"
_STEPS = [0.0, 1.0, 2.0, 3.0]


def reuse(_budget: str, _seed: int) -> Exhibit:
    """Entries and words with thresholds that are reused."""
    panels = []
    for k in (24, 241):
        share, words = [], []
        for kind in KINDS:
            steps = reused(kind, k, 4)
            middle, low, high = ([of(s.selected) for s in steps] for of in (np.mean, np.min, np.max))
            share.append(line(kind, _STEPS, middle, "measured", low, high))
            received = [sum(s.received[name] for name in DATA) / published(8, k) for s in steps]
            words.append(line(kind, _STEPS, received))
        one = line("k", _STEPS, 1, "printed")
        panels.append(Panel(f"k = {k} of 2410: selected", "step", "entries a rank / k", (*share, one), yscale="log"))
        one = line("published bound", _STEPS, 1, "printed")
        panels.append(Panel(f"k = {k} of 2410: words", "step", f"received: {_OVER}", (*words, one), yscale="log"))
    return Exhibit(
        "oktopk.reuse",
        "On real gradients thresholds found in the first step select several times k entries in the three after it",
        "Ok-Topk with error feedback on four consecutive recorded steps of a network, 8 ranks; thresholds and "
        "boundaries found in step 0, where there is no residual yet, and reused without a controller. Bands: least and "
        "most of the ranks. Words: largest received in split, balancing and all-gather, summed.",
        tuple(panels),
    )


def phases(_budget: str, _seed: int) -> Exhibit:
    """Words by phase, thresholds found in every step or once."""
    panels = []
    for period in (1, 4):
        for k in (24, 241):
            lines = []
            for phase in ("split", "reevaluation", "balance", "allgather"):
                values = np.array([[s.received[phase] for s in reused(kind, k, period)] for kind in KINDS])
                values = values / published(8, k)
                lines.append(
                    line(phase, _STEPS, values.mean(axis=0), "measured", values.min(axis=0), values.max(axis=0))
                )
            kept = "found in every step" if period == 1 else "found in step 0"
            one = line("published bound, all phases", _STEPS, 1, "printed")
            panels.append(Panel(f"k = {k}, thresholds {kept}", "step", f"received: {_OVER}", (*lines, one)))
    return Exhibit(
        "oktopk.phases",
        "Finding the thresholds anew costs more words than the iteration that it serves",
        "Words received by the busiest of 8 ranks, by phase, on four consecutive recorded steps; mean, least and most "
        "over the four kinds of gradients. The published volume leaves the re-evaluation out.",
        tuple(panels),
    )


def assumption(budget: str, seed: int) -> Exhibit:
    """Mean residual and realised xi."""
    panels = []
    for label, what in (("Mean residual", "residual"), ("Realised xi", "xi")):
        lines = [
            line(f"{kind}, k = {k}", _STEPS, [getattr(s, what) for s in reused(kind, k, 1)])
            for k in (24, 241)
            for kind in KINDS
        ]
        panels.append(Panel(f"{label} on real gradients", "step", "over the norm of the step", tuple(lines)))
    steps = {"quick": 60, "standard": 200, "thorough": 1000}[budget]
    lines = [line(f"k = {k} of 100", range(steps), _quadratic_xi(k, steps, seed)) for k in (2, 10, 50)]
    lines.append(law("pair that stalls", range(1, steps + 1), "oktopk.sgd.stall", "horizon"))
    panels.append(Panel("Realised xi on a quadratic", "step", "over the norm of the step", tuple(lines), yscale="log"))
    return Exhibit(
        "oktopk.assumption",
        "The ratio that the published assumption bounds by a constant grows with the residual, and need not be bounded",
        "Distance of the mean update from the k largest entries of the mean accumulated gradient, over the norm of the "
        "step of plain averaging; thresholds found in every step. Recorded gradients: four consecutive steps of a "
        "network. Quadratic: full-batch descent on one of 4 ranks, and the pair of ranks on which the ratio is t.",
        tuple(panels),
    )


def _quadratic_xi(k: int, steps: int, seed: int) -> list[float]:
    P, n = 4, 100
    rng = np.random.default_rng([seed, k])
    curvature, centre = np.exp(rng.standard_normal((P, n))), rng.standard_normal((P, n))
    eta = 0.1 / float(curvature.mean(axis=0).max())
    sgd = OkTopkSGD(k, eta, options={"tau_prime": 1})
    state, found = sgd.start(np.zeros(n), P), []
    for _ in range(steps):
        gradients = curvature * (state.weights - centre)
        acc = (state.residuals + eta * gradients).mean(axis=0)
        best = np.zeros(n)
        top = np.argsort(-np.abs(acc), kind="stable")[:k]
        best[top] = acc[top]
        state, result, _ = sgd.step(gradients, state)
        found.append(float(np.linalg.norm(best - result.update / P) / np.linalg.norm(eta * gradients.mean(axis=0))))
    return found
