"""A test of draws against a finite law, outcome by outcome: what no test of single entries can see."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array

Outcomes = Sequence[tuple[Any, Sequence[Any]]]
"""(probability, output) pairs, as `Compressor.law` gives them."""

_FLOAT32 = float(np.finfo(np.float32).eps)
_ROUNDINGS = 16.0


def outcome_table(law: Outcomes, eps: float = _FLOAT32) -> tuple[Array, Array, float]:
    """The probabilities (T,), the outputs (T, n), and how far a draw may lie from its outcome by rounding alone.

    Parameters
    ----------
    law : sequence of (probability, output)
        T outcomes, exact or float.
    eps : float
        Spacing at 1 of the dtype that draws come in. An entry may be off by 16 times that, relative to the largest.
    """
    values = np.array([[float(v) for v in np.ravel(np.asarray(y, dtype=object))] for _, y in law])
    p = np.array([float(q) for q, _ in law])
    return p, values, _ROUNDINGS * eps * float(np.abs(values).max())


def joint_log_e(law: Outcomes, outputs: Iterable[Array], eps: float = _FLOAT32) -> float:
    """The largest log-wealth of a bettor against draws from the finite `law`, outputs and all.

    The bettor predicts outcome j with probability (count_j + 1/2)/(t + T/2) (Krichevsky and Trofimov) and is paid
    prediction / probability: under the law the wealth is a martingale from 1, which passes 1/alpha with probability at
    most alpha. Draws that diverge from the law by D (Kullback-Leibler) earn D each, less log T + (T - 1)/2 log t in
    all.

    Parameters
    ----------
    law : sequence of (probability, output)
        T outcomes, as `Compressor.law` gives them.
    outputs : iterable of arrays
        Draws. One that is no outcome up to rounding, NaN among them, makes the wealth infinite.
    eps : float
        Spacing at 1 of their dtype.

    Returns
    -------
    float
        Natural logarithm of the wealth; 0 before the first draw.
    """
    p, values, allowance = outcome_table(law, eps)
    counts = np.full(len(p), 0.5)
    wealth = peak = 0.0
    for y in outputs:
        distances = np.abs(values - np.ravel(y).astype(np.float64)).max(axis=1)
        outcome = int(np.argmin(distances))
        if not distances[outcome] <= allowance:
            return math.inf
        wealth += math.log(counts[outcome] / counts.sum() / p[outcome])
        counts[outcome] += 1.0
        peak = max(peak, wealth)
    return peak


def detectable_divergence(outcomes: int, count: int, alpha: float) -> float:
    """Smallest divergence D (Kullback-Leibler, in nats) from the law that `count` draws show with probability 0.99.

    Parameters
    ----------
    outcomes : int
        T, their number.
    count : int
        Draws.
    alpha : float
        False-alarm rate.

    Returns
    -------
    float
        D; infinite without draws. A law at total variation distance v diverges by 2 v^2 at least (Pinsker).

    Notes
    -----
    Draws earn count D, with a standard deviation of sqrt(2 D count): that is the one of a log-likelihood ratio between
    laws that are close. They have to earn log(1/alpha), and log T + (T - 1)/2 log(count) for not knowing the law.
    """
    if count < 1:
        return math.inf
    needed, z = -math.log(alpha) + math.log(outcomes) + (outcomes - 1) / 2.0 * math.log(count), 2.3263478740408408
    # count D - z sqrt(2 count) sqrt(D) - needed = 0 for sqrt(D)
    root = (z * math.sqrt(2.0 * count) + math.sqrt(2.0 * z**2 * count + 4.0 * count * needed)) / (2.0 * count)
    return root**2
