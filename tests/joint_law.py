"""A test of draws against a finite law, outcome by outcome: what no test of single entries can see."""

import math

import numpy as np

__all__ = ["joint_log_e"]


def joint_log_e(law, outputs):
    """The largest log-wealth of a bettor against draws from the finite `law`, outputs and all.

    The bettor predicts outcome j with probability (count_j + 1/2)/(t + T/2) (Krichevsky and Trofimov) and is paid
    prediction / probability: under the law the wealth is a martingale from 1, which passes 1/alpha with probability at
    most alpha. Draws that diverge from the law by D (Kullback-Leibler) earn D each, less log T + (T - 1)/2 log t in
    all.

    Parameters
    ----------
    law : list of (probability, output)
        T outcomes, as `Compressor.law` gives them.
    outputs : iterable of arrays
        Draws. One that is no outcome up to rounding makes the wealth infinite.
    """
    values = np.array([[float(v) for v in y] for _, y in law])
    p = np.array([float(q) for q, _ in law])
    room = 16.0 * float(np.finfo(np.float32).eps) * float(np.abs(values).max())
    counts = np.full(len(law), 0.5)
    wealth = peak = 0.0
    for y in outputs:
        near = np.flatnonzero(np.abs(values - np.ravel(y)).max(axis=1) <= room)
        if near.size == 0:
            return math.inf
        outcome = near[0]
        wealth += math.log(counts[outcome] / counts.sum() / p[outcome])
        counts[outcome] += 1.0
        peak = max(peak, wealth)
    return peak
