"""DropCompute: micro-batches that are completed before the threshold, in expectation."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Hypothesis, Kind, Le, Standing
from commbounds.theory.dropcompute.terms import (
    AFTER_BACKWARD,
    AT_THE_MEAN,
    BEYOND_MEAN,
    COMPLETED,
    CONTINUOUS,
    EXPONENTIAL,
    GAP,
    GILADI_2023,
    INDEPENDENT,
    LORDEN_1970,
    NBUE,
    NWUE,
    ONE_MICRO_BATCH,
    PASSED,
    STEP_TIME,
    WORK,
    M,
    begun,
    below,
    capped,
    claim,
    cv,
    expected_ends,
    jitter,
    late,
    latency,
    tau,
)

_EDGE = 1e-9
"""Relative rounding of a threshold that is meant to be on an end of its range."""


def _little_tail(family: str, shape: float, logwidth: float) -> bool:
    """Normal, uniform, gamma of shape >= 4, lognormal of width <= 1/2, or the released delay."""
    return (
        family in ("normal", "uniform", "released")
        or (family == "gamma" and shape >= 4)
        or (family == "lognormal" and logwidth <= 1 / 2)
    )


def _near_the_mean(share: float, least: float) -> bool:
    return least * (1 - _EDGE) <= share <= 3 / 2 * (1 + _EDGE)


def _ends_close(family: str, shape: float, logwidth: float, M: int, tau: float, latency: float) -> bool:
    """Whether the law, M and tau are on the 1 % map of completed micro-batches."""
    return M >= 12 and _near_the_mean(tau / (M * latency), 3 / 4) and _little_tail(family, shape, logwidth)


def _ends_near(family: str, shape: float, logwidth: float, M: int, tau: float, latency: float) -> bool:
    """The same for the 5 % map."""
    more = (family == "gamma" and shape == 1) or (family == "lognormal" and logwidth <= 1)
    return M >= 12 and _near_the_mean(tau / (M * latency), 1 / 2) and (more or _little_tail(family, shape, logwidth))


ENDS_CLOSE = Hypothesis(
    "ends_map_1",
    "M >= 12, 3/4 <= tau/(M mu) <= 3/2, and the latency is normal, uniform, gamma of shape >= 4, lognormal of width "
    "<= 1/2, or the delay that the released code injects.",
    _ends_close,
)
ENDS_NEAR = Hypothesis(
    "ends_map_5",
    "M >= 12, 1/2 <= tau/(M mu) <= 3/2, and the latency is one of those, exponential, or lognormal of width <= 1.",
    _ends_near,
)

COMPLETIONS: tuple[Claim, ...] = (
    claim(
        "completed.exact",
        "The expected number of completed micro-batches is the sum of the probabilities that each ends in time",
        Eq(COMPLETED, below),
        "Linearity of expectation.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT),
        axis="M",
    ),
    claim(
        "trials.completed",
        "Simulated steps complete as many micro-batches as the law of the elapsed times gives",
        Eq(COMPLETED, below),
        "Linearity of expectation; the probabilities by closed form, exact convolution or FFT.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT),
        axis="M",
    ),
    claim(
        "trials.time",
        "Simulated steps take the time that the law of the elapsed times gives",
        Eq(STEP_TIME, capped),
        "E[min(tau, T)] is the integral of 1 - F^N up to tau.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT),
    ),
    claim(
        "completed.work",
        "A worker that tests after each micro-batch works on average the mean latency for each one begun",
        Eq(WORK, latency * begun),
        "Wald's identity: the number of micro-batches begun is a stopping time.",
        kind=Kind.EXPECTED,
        assumes=(AFTER_BACKWARD, INDEPENDENT),
        axis="M",
    ),
    claim(
        "completed.accounting",
        "A worker begins the micro-batches that it completes and, if it is late, one more",
        Eq(COMPLETED, begun - late),
        "min(#{S_m < tau} + 1, M) is #{S_m < tau} + 1 if T_n >= tau, and M = #{S_m < tau} otherwise.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT),
        axis="M",
    ),
    claim(
        "completed.at_least",
        "A worker completes its time over the mean latency, minus at most the probability of being stopped",
        Ge(COMPLETED, sp.Max(0, capped / latency - late)),
        "Wald: mu E[B] = E[S_B] >= E[min(tau, T_n)], and E[B] = E[completed] + P(T_n >= tau).",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT),
        tightness=1,
        extremal="constant latency that divides the threshold",
        axis="M",
    ),
    claim(
        "completed.at_most",
        "A worker completes at most the threshold over the mean latency plus the squared coefficient of variation",
        Le(COMPLETED, sp.Min(M, tau / latency + jitter**2 / latency**2)),
        LORDEN_1970.second_hand(
            "the bound E[t^2]/mu on the expected overshoot",
            "In an endless run the first micro-batch that ends at tau or later ends in expectation by tau + E[t^2]/mu; "
            "Wald's identity, and one micro-batch less.",
        ),
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT),
        tightness=1,
        extremal="a threshold beyond every elapsed time",
        axis="M",
    ),
    claim(
        "completed.new_better",
        "New better than used latencies complete at most their time over the mean latency",
        Le(COMPLETED, capped / latency),
        "The rest of the micro-batch that is under way at tau is at most mu in expectation: mu E[B] <= E[min(tau, "
        "T_n)] + mu P(T_n >= tau).",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, NBUE),
        tightness=1,
        extremal="a threshold beyond every elapsed time",
        axis="M",
    ),
    claim(
        "completed.new_worse",
        "New worse than used latencies complete at least their time over the mean latency",
        Ge(COMPLETED, capped / latency),
        "The same with the inequality reversed.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, NWUE),
        axis="M",
    ),
    claim(
        "completed.exponential",
        "Exponential latencies complete exactly their time over the mean latency",
        Eq(COMPLETED, capped / latency),
        "The exponential law is both new better and new worse than used.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, EXPONENTIAL),
        axis="M",
    ),
    claim(
        "completed.at_the_mean",
        "At a threshold of M mu, at most 1 + sqrt(M) sigma/(2 mu) micro-batches are dropped",
        Ge(COMPLETED, sp.Max(0, M - cv * sp.sqrt(M) / 2 - 1)),
        "completed >= E[min(M mu, T_n)]/mu - 1 = M - E(T_n - M mu)^+/mu - 1, and E(X)^+ = E|X|/2 <= sd/2 for centred "
        "X.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, AT_THE_MEAN),
        tightness=1,
        extremal="constant latency",
        axis="M",
        unpinned=(
            (
                "0.9 times the term -sqrt(M)*jitter/(2*latency)",
                "Loose by nature: E|X| is the standard deviation for two equally likely values only, which a sum of "
                "several latencies does not have, and for M = 1 the bound is 0. For many micro-batches E|X|/2 is "
                "0.40 of the 0.50 standard deviations; and 1 stands for the chance to be stopped, about a half.",
            ),
        ),
    ),
    claim(
        "completed.one_sided",
        "A worker finishes in time with at least the probability of Cantelli's inequality",
        Ge(PASSED, 1 - M * jitter**2 / (M * jitter**2 + (tau - M * latency) ** 2)),
        "Cantelli's inequality for S_M, whose variance is M sigma^2.",
        kind=Kind.EXPECTED,
        assumes=(INDEPENDENT, BEYOND_MEAN),
        tightness=1,
        extremal="M = 1 and two latencies, the larger of them the threshold",
        axis="M",
    ),
    claim(
        "completed.formula",
        "Completed micro-batches: the published formula, of normal elapsed times, is exact",
        Eq(COMPLETED, expected_ends(M, tau, latency, jitter)),
        GILADI_2023.recalled(
            "the expected number of completed micro-batches",
            "The central limit theorem for every S_m; an equality for normal latencies only.",
            reading="It is tested as an equality; the paper prints an approximation.",
        ),
        kind=Kind.APPROXIMATE,
        assumes=(CONTINUOUS, INDEPENDENT),
        stands=Standing.REFUTED,
        extremal="one micro-batch of exponential latency: too small by 20 % at the mean",
        axis="tau",
        note="It is an equality for normal latencies only; other claims bound its error for other laws.",
    ),
    claim(
        "completed.formula_within_1",
        "Completed micro-batches: the published formula, of normal elapsed times, is within 1 %",
        Le(GAP, sp.Rational(1, 100)),
        "Measured against the exact law on the cells of the map; no proof.",
        kind=Kind.APPROXIMATE,
        assumes=ENDS_CLOSE,
        axis="M",
        unpinned=(("0.9 times the bound", "A round figure: the largest that was seen on the map is 0.42 %."),),
    ),
    claim(
        "completed.formula_within_5",
        "Completed micro-batches: the published formula, of normal elapsed times, is within 5 %",
        Le(GAP, sp.Rational(1, 20)),
        "Measured against the exact law on the cells of the map; no proof.",
        kind=Kind.APPROXIMATE,
        assumes=ENDS_NEAR,
        axis="M",
        unpinned=(("0.9 times the bound", "A round figure: the largest that was seen on the map is 1.33 %."),),
    ),
    claim(
        "completed.formula_at_one",
        "Completed micro-batches: the published formula is within 5 % for a single micro-batch",
        Le(GAP, sp.Rational(1, 20)),
        "Refuted: for M = 1 and exponential latency at its mean the formula gives 1/2, the exact value is 1 - 1/e.",
        kind=Kind.APPROXIMATE,
        assumes=ONE_MICRO_BATCH,
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="one micro-batch, with a threshold below its smallest latency",
        axis="M",
        note="For one micro-batch its error is a fifth at the mean, and unbounded below the support.",
    ),
)
