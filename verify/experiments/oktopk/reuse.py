"""Ok-Topk on recorded gradients: consecutive steps with error feedback, with thresholds that are reused."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives import OkTopkSGD
from commbounds.verify import gradients


@dataclass(frozen=True)
class Reused:
    """One step.

    Parameters
    ----------
    evaluated : bool
        Whether the thresholds were found in this very step.
    selected : (P,) float64
        Entries that every rank selected, over k.
    winners : float
        Entries of the result, over k.
    sent, received : dict of str to int
        Words of the rank that sends, or receives, most, by phase.
    residual : float
        Norm of the mean residual after the step, over that of the step size times the mean gradient.
    xi : float
        Realised ratio of the published assumption: distance of the mean update from the k largest entries of the
        mean accumulated gradient, over the norm of the step size times the mean gradient.
    """

    evaluated: bool
    selected: Floats
    winners: float
    sent: dict[str, int]
    received: dict[str, int]
    residual: float
    xi: float


def reused(
    kind: str, k: int, tau_prime: int, *, balance: str = "always", boundaries: str = "mean-of-quantiles", **options: Any
) -> list[Reused]:
    """What Ok-Topk SGD does on the four recorded steps of a kind of gradients.

    Parameters
    ----------
    kind : str
        One of `gradients.KINDS`.
    k : int
        Entries aimed at.
    tau_prime : int
        Period of the thresholds; 4 reuses those of the first step in the three others.
    balance, boundaries, **options
        As of `oktopk_allreduce`.

    Returns
    -------
    list of Reused
        One a step. Gradients are those of the recorded run, whatever the update: this is no training.
    """
    recorded = gradients.trace().vectors[kind].astype(np.float64)
    P, n = recorded.shape[1:]
    eta = 0.125
    chosen = {"tau_prime": tau_prime, "balance": balance, "boundaries": boundaries, **options}
    sgd = OkTopkSGD(k, eta, options=chosen)
    state = sgd.start(np.zeros(n), P)
    steps = []
    for t, now in enumerate(recorded):
        acc = (state.residuals + eta * now).mean(axis=0)
        state, result, traffic = sgd.step(now, state)
        unit = float(np.linalg.norm(eta * now.mean(axis=0)))
        best = np.zeros(n)
        top = np.argsort(-np.abs(acc), kind="stable")[:k]
        best[top] = acc[top]
        steps.append(
            Reused(
                evaluated=t % tau_prime == 0,
                selected=np.asarray(result.local_counts) / k,
                winners=int(np.count_nonzero(result.update)) / k,
                sent={name: int(phase.sent.max()) for name, phase in traffic.phases.items()},
                received={name: int(phase.received.max()) for name, phase in traffic.phases.items()},
                residual=float(np.linalg.norm(state.residuals.mean(axis=0))) / unit,
                xi=float(np.linalg.norm(best - result.update / P)) / unit,
            )
        )
    return steps
