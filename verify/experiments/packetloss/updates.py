"""Packet loss: drift under given, correlated and bounded updates, after every history of losses."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify.experiments.packetloss.gaps import (
    SIGMA,
    Histories,
    Trial,
    base,
    bernoulli,
    expectation,
    histories,
    table,
)
from commbounds.verify.study import Case, Outcome

Floats = NDArray[np.float64]


def two_updates(broadcast: Any, case: Case) -> Outcome:
    """Probability that the updates of ages a and b both lie between two receivers' versions."""
    h, s = table(broadcast, case), case.settings
    there = h.gap[:, ::-1] != 0
    hit = there[:, s["age"]] & there[:, s["older"]]
    return Outcome(expectation(h, bernoulli(s["p"]), hit), {**base(case), "age": s["age"], "older": s["older"]})


def _updates(case: Case) -> NDArray[np.int64]:
    """(t, 2) small integers, a function of the case's seed."""
    s = case.settings
    return np.random.default_rng([s["seed"], s["t"]]).integers(-3, 4, (s["t"], 2))


def _squared(gap: Floats, updates: Any) -> Floats:
    """Squared norm of every history's gap under the given updates."""
    return np.asarray(((gap @ updates) ** 2).sum(axis=1))


def given_updates(broadcast: Any, case: Case) -> Outcome:
    """Expected squared gap under given integer vectors."""
    h, s, updates = table(broadcast, case), case.settings, _updates(case)
    measured = expectation(h, bernoulli(s["p"]), _squared(h.gap, updates))
    p, newest_first = s["p"], updates[::-1].tolist()
    products = {
        (a, b): sum(x * y for x, y in zip(u, v, strict=True))
        for a, u in enumerate(newest_first)
        for b, v in enumerate(newest_first)
    }
    lagged = sum((p ** (max(pair) + 1) * product for pair, product in products.items()), Fraction(0))
    discounted = sum((p ** (a + b + 2) * product for (a, b), product in products.items()), Fraction(0))
    return Outcome(measured, {**base(case), "lagged": lagged, "discounted": discounted})


def one_step(broadcast: Any, case: Case) -> Outcome:
    """The gap after t steps, beside the one before and the one given that just one of the two receives, if it can."""
    s, updates = case.settings, _updates(case)
    h, p = table(broadcast, case), s["p"]
    measured = expectation(h, bernoulli(p), _squared(h.gap, updates))
    before = Fraction(0)
    if s["t"] > 1:
        shorter = histories(broadcast, s["receivers"], s["t"] - 1, 1, s["last"])
        before = expectation(shorter, bernoulli(p), _squared(shorter.gap, updates[:-1]))
    one = h.lost[:, -1, 0, 0] != h.lost[:, -1, 1, 0]
    chance = 2 * p * (1 - p)
    onesided = expectation(h, bernoulli(p), _squared(h.gap, updates) * one) / chance if chance else Fraction(0)
    return Outcome(measured, {**base(case), "driftbefore": before, "onesided": onesided})


def _lags(h: Histories, p: Fraction) -> list[Fraction]:
    """E of the sum over s of D_s D_(s+h), for h = 0, 1, ..."""
    gap, steps = h.gap, h.gap.shape[1]
    return [expectation(h, bernoulli(p), (gap[:, : steps - lag] * gap[:, lag:]).sum(axis=1)) for lag in range(steps)]


def correlated(broadcast: Any, case: Case) -> Outcome:
    """Updates of autocovariance sigma^2 rho^h; where the case has no rho, the one of the reported constant."""
    s = case.settings
    p, rho = s["p"], s.get("rho", -1 / (2 - s["p"]))
    lags = _lags(table(broadcast, case), p)
    total = lags[0] + 2 * sum((rho**lag * value for lag, value in enumerate(lags) if lag), Fraction(0))
    return Outcome(SIGMA**2 * total, {**base(case), "rho": rho})


def autocovariance(broadcast: Any, case: Case) -> Outcome:
    """Updates that are sums of the last few of independent ones: r(h) = the overlap of their windows."""
    s = case.settings
    p, window = s["p"], s["window"]
    r = [window - lag for lag in range(window)]
    lags = _lags(table(broadcast, case), p)
    total = sum((r[lag] * value * (2 if lag else 1) for lag, value in enumerate(lags) if lag < window), Fraction(0))
    weighted = r[0] + 2 * sum((p**lag * r[lag] for lag in range(1, window)), Fraction(0))
    return Outcome(total, {**base(case), "autocov": weighted})


def _answering(broadcast: Any, case: Case, of: Callable[[Histories], Floats], sense: int) -> Floats:
    """(h,) gaps if every update, 1 or -1, has the sign of the gap before it, times `sense`: updates that know "
    "the losses.

    The histories of fewer steps come in the same order, each in place of all its continuations.
    """
    s = case.settings
    whole = table(broadcast, case)
    updates, gap = np.ones((len(whole.lost), s["t"])), np.zeros(len(whole.lost))
    for steps in range(1, s["t"] + 1):
        updates[:, steps - 1] = np.where(sense * gap < 0, -1.0, 1.0)
        past = histories(broadcast, s["receivers"], steps, 1, s["last"])
        each = np.repeat(of(past), len(whole.lost) // len(past.lost), axis=0)
        gap = (each * updates[:, :steps]).sum(axis=1)
    return gap


def bounded(of: Callable[[Histories], Floats], power: int) -> Trial:
    """Mean gap, or squared gap, under the case's updates: -1, 0 or 1 times G in every step, or an answer to the gap."""

    def trial(broadcast: Any, case: Case) -> Outcome:
        h, s = table(broadcast, case), case.settings
        if s["signs"] in ("with the gap", "against the gap"):
            gap = _answering(broadcast, case, of, 1 if s["signs"] == "with the gap" else -1)
        else:
            gap = of(h) @ np.array(s["signs"], np.float64)
        G = Fraction(2)
        measured = G**power * expectation(h, bernoulli(s["p"]), np.abs(gap) ** power)
        return Outcome(measured, {**base(case), "G": G})

    return trial
