"""Packet loss: what the reduce-scatter estimates, with every pattern of losses enumerated.

All gradients are multiples of 2520 and all divisors that occur divide them exactly, so that the kernel's floating-point
results are the rational numbers themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from commbounds.collectives import layout
from commbounds.verify.study import Case, Outcome

UNIT = 2520
"""Divisible by every K and every (1-p) N of the grids, quarters included."""
EXACT_LOSSES = tuple(Fraction(i, 8) for i in range(9))
QUARTERS = tuple(Fraction(i, 4) for i in range(4))
"""Loss probabilities whose divisors (1-p) N are exact."""


def patterns(workers: int) -> np.ndarray[Any, Any]:
    """(N, N + 4) gradients in units of `UNIT`: the unit vectors, a ramp, signs, one outlier, and equal ones."""
    ramp = np.arange(workers)
    columns = [*np.eye(workers, dtype=int), ramp, (-1) ** ramp, 7 * (ramp == workers - 1) - 2, np.full(workers, 3)]
    return np.array(columns).T


@lru_cache(maxsize=64)
def _table(reduce: Any, estimator: str, workers: int, p: Fraction | None) -> tuple[Any, ...]:
    """Estimates (2^N, N owners, patterns), arrivals (2^N, N) and the sets of workers that get through (2^N, N).

    All owners meet the same set at once. N does not divide the number of coordinates: the first N/2 shards are longer.
    """
    shown = patterns(workers)
    width = shown.shape[1]
    owner = layout(workers * width + workers // 2, workers).owner
    starts = np.searchsorted(owner, np.arange(workers))
    stack = float(UNIT) * shown[:, (np.arange(owner.size) - starts[owner]) % width]
    results, counts = [], []
    for there in itertools.product((False, True), repeat=workers):
        arrived = np.repeat(np.array(there)[:, None, None], workers, axis=1)
        reduced, _ = reduce(stack, arrived, estimator, p=None if p is None else float(p))
        results.append(reduced.estimate[starts[:, None] + np.arange(width)])
        counts.append(reduced.arrivals[starts])
    sets = np.array(list(itertools.product((False, True), repeat=workers)))
    return np.array(results), np.array(counts), sets


def _weights(sets: Any, p: Fraction) -> list[Fraction]:
    """Probability of every set of workers that gets through."""
    return [p ** int((~row).sum()) * (1 - p) ** int(row.sum()) for row in sets]


def _mean(values: Any, weights: list[Fraction], power: int = 1) -> Fraction:
    """Weighted sum of powers, exactly: floats are taken for the rational numbers that they are, in units."""
    exact = ((Fraction(float(v)) / UNIT) ** power for v in values)
    return sum((v * w for v, w in zip(exact, weights, strict=True)), Fraction(0))


def _gradients(case: Case) -> list[Fraction]:
    return [Fraction(int(g)) for g in patterns(case.settings["N"])[:, case.settings["pattern"]]]


def known(_reduce: Any, case: Case) -> dict[str, Any]:
    """What hypotheses ask about the gradients of a case."""
    return {"gradients": _gradients(case)}


def _readings(reduce: Any, case: Case, estimator: str) -> tuple[Any, Any, list[Fraction]]:
    """The case's estimates and arrivals by set, and the sets' probabilities."""
    s = case.settings
    divided = s["p"] if estimator == "expected" else None
    estimates, arrivals, sets = _table(reduce, estimator, s["N"], divided)
    weights = _weights(sets, s["p"])
    return estimates[:, s["owner"], s["pattern"]], arrivals[:, s["owner"]], weights


def given_arrivals(moment: int) -> Callable[[Any, Case], Outcome]:
    """The moment of ghat given K = k, about the mean for the second; sets of one size are equally likely."""

    def trial(reduce: Any, case: Case) -> Outcome:
        s = case.settings
        estimates, _, sets = _table(reduce, "arrivals", s["N"], None)
        chosen = estimates[sets.sum(axis=1) == s["arrived"], s["owner"], s["pattern"]]
        g = _gradients(case)
        mean, share = sum(g, Fraction(0)) / s["N"], [Fraction(1, len(chosen))] * len(chosen)
        first = _mean(chosen, share)
        if moment == 1:
            # of equal gradients, or of all, there is one estimate
            return Outcome(first - mean, {}, active=len(set(g)) > 1 and s["arrived"] < s["N"])
        squares = sum(((v - mean) ** 2 for v in g), Fraction(0)) / max(1, s["N"] - 1)
        return Outcome(_mean(chosen, share, 2) - first**2, {"N": s["N"], "arrived": s["arrived"], "S": _root(squares)})

    return trial


def _root(value: Fraction) -> Any:
    """The exact square root, as a sympy number."""
    return sp.sqrt(sp.Rational(value.numerator, value.denominator))


def variance(reduce: Any, case: Case) -> Outcome:
    """Variance of the mean of what arrives, given that something does."""
    s = case.settings
    values, arrivals, weights = _readings(reduce, case, "arrivals")
    weights = [w * (k > 0) / (1 - s["p"] ** s["N"]) for w, k in zip(weights, arrivals, strict=True)]
    g = _gradients(case)
    mean = sum(g, Fraction(0)) / s["N"]
    squares = sum(((v - mean) ** 2 for v in g), Fraction(0)) / max(1, s["N"] - 1)
    first = _mean(values, weights)
    return Outcome(_mean(values, weights, 2) - first**2, {"N": s["N"], "p": s["p"], "S": _root(squares)})


def mean_inverse(reduce: Any, case: Case) -> Outcome:
    """N E ghat^2 where worker 0 has 1 and the others 0."""
    one = Case({**case.settings, "pattern": 0})
    values, _, weights = _readings(reduce, one, "arrivals")
    s = case.settings
    return Outcome(s["N"] * _mean(values, weights, 2), {"N": s["N"], "p": s["p"]})


def recurrence(reduce: Any, case: Case) -> Outcome:
    """As `mean_inverse`, and among the values what it is with one worker fewer."""
    outcome, s = mean_inverse(reduce, case), case.settings
    fewer = {**s, "N": s["N"] - 1, "owner": 0}
    before = mean_inverse(reduce, Case(fewer)).measured if s["N"] > 1 else Fraction(0)
    return Outcome(outcome.measured, {**outcome.values, "onefewer": before})


def empty(reduce: Any, case: Case) -> Outcome:
    """Probability that nothing arrives."""
    _, arrivals, weights = _readings(reduce, case, "arrivals")
    nothing = sum((w for w, k in zip(weights, arrivals, strict=True) if k == 0), Fraction(0))
    return Outcome(nothing, {"N": case.settings["N"], "p": case.settings["p"]})


def zero_fill(reduce: Any, case: Case) -> Outcome:
    """Mean of the estimate that is zero where nothing arrives, relative to the mean of the gradients."""
    values, _, weights = _readings(reduce, case, "arrivals")
    mean = sum(_gradients(case), Fraction(0)) / case.settings["N"]
    return Outcome(_mean(values, weights) / mean, {"N": case.settings["N"], "p": case.settings["p"]})


def weight_sum(reduce: Any, case: Case) -> Outcome:
    """Sum of the weights that the owner's estimate gives to the gradients."""
    estimates, _, _ = _table(reduce, "owner", case.settings["N"], None)
    return Outcome(Fraction(float(estimates[case.settings["set"], case.settings["owner"], -1])) / (3 * UNIT), {})


def pull(reduce: Any, case: Case) -> Outcome:
    """How far the owner's estimate is pulled from the mean towards its own gradient, in expectation."""
    s, g = case.settings, _gradients(case)
    mean = sum(g, Fraction(0)) / s["N"]
    values, _, weights = _readings(reduce, case, "owner")
    return Outcome((_mean(values, weights) - mean) / (g[s["owner"]] - mean), {"N": s["N"], "p": s["p"]})


def iid_variance(reduce: Any, case: Case) -> Outcome:
    """sigma^2 times the expected sum of the squared weights, which the unit vectors show."""
    s = case.settings
    estimates, _, sets = _table(reduce, "owner", s["N"], None)
    weights = _weights(sets, s["p"])
    measured = sum((_mean(estimates[:, s["owner"], i], weights, 2) for i in range(s["N"])), Fraction(0))
    sigma = Fraction(3, 2)
    return Outcome(sigma**2 * measured, {"N": s["N"], "p": s["p"], "sigma": sigma})


def expected_bias(reduce: Any, case: Case) -> Outcome:
    """Bias of the estimate that divides by what arrives on average."""
    values, _, weights = _readings(reduce, case, "expected")
    g = _gradients(case)
    lossy = case.settings["p"] > 0 and any(g)  # else there is one estimate, the mean itself
    return Outcome(_mean(values, weights) - sum(g, Fraction(0)) / len(g), {}, active=lossy)


def expected_variance(reduce: Any, case: Case) -> Outcome:
    """Variance of the estimate that divides by what arrives on average."""
    s = case.settings
    values, _, weights = _readings(reduce, case, "expected")
    squares = sum((g**2 for g in _gradients(case)), Fraction(0))
    first = _mean(values, weights)
    return Outcome(_mean(values, weights, 2) - first**2, {"N": s["N"], "p": s["p"], "squares": squares})
