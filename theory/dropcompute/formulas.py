"""DropCompute: the published formulas for normal workers and for E[T], and how close they are."""

import math

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Hypothesis, Kind, Le, Standing
from commbounds.theory.dropcompute.terms import (
    GAP,
    GILADI_2023,
    INDEPENDENT,
    KAMATH_2015,
    MEAN_TIME,
    NORMAL_TIMES,
    SOME_WORKERS,
    TOP,
    TWO_WORKERS,
    VAN_ZWET_1964,
    M,
    N,
    bracket,
    claim,
    jitter,
    latency,
    outer,
    skewness,
    square_top,
    top,
    upper,
    upper_normal,
)
from commbounds.theory.functions import harmonic_number

_MEAN = M * latency

_SPREAD = jitter * sp.sqrt(M)


def _time_close(
    family: str, shape: float, logwidth: float, shortest: float, latency: float, jitter: float, M: int
) -> bool:
    """Whether the law and M are on the 1 % map of E[T]."""
    if family == "normal":
        return True
    if family == "lognormal":
        return logwidth == 1 / 10 and M >= 12
    return M >= 64 and (
        (family == "gamma" and shape == 16)
        or (family == "uniform" and shortest == 0)
        or (family == "two, alike" and math.isclose(3 * jitter, latency))
    )


def _time_near(
    family: str, shape: float, logwidth: float, shortest: float, latency: float, jitter: float, M: int
) -> bool:
    """Whether the law and M are on the 5 % map of E[T]."""
    if family == "released":
        return M >= 64
    if family == "gamma":
        return (shape == 16 and M >= 4) or (shape in (1, 4) and M >= 64)
    if family == "lognormal":
        return (logwidth == 1 / 10 and M >= 4) or (logwidth == 1 / 2 and M >= 64)
    if family == "uniform":
        return shortest == 0 and M >= 12
    if family == "two, alike":
        return 2 * shortest >= latency and M >= 12
    return _time_close(family, shape, logwidth, shortest, latency, jitter, M)


def _skew_close(family: str, shape: float, logwidth: float, N: int, M: int) -> bool:
    """Whether the law, N and M are on the 1 % map of the formula that is corrected for skewness."""
    known = (
        family in ("normal", "released")
        or (family == "gamma" and (shape == 1 or shape >= 4))
        or (family == "lognormal" and logwidth == 1 / 10)
    )
    return known and M >= 12 and 2 <= N <= 10**4


def _quantile_close(family: str, logwidth: float, N: int, M: int) -> bool:
    """Whether the law, N and M are on the 1 % map of the bracket with true quantiles."""
    known = family in ("normal", "uniform", "gamma", "released") or (family == "lognormal" and logwidth <= 1 / 2)
    return known and M >= 4 and 32 <= N <= 10**4


WORKERS = Hypothesis("up_to_ten_thousand", "2 <= N <= 10^4.", Ge(N, 2) & Le(N, 10**4))
TIME_CLOSE = Hypothesis(
    "time_map_1",
    "Latencies are normal; lognormal of width 1/10 with M >= 12; or, with M >= 64, gamma of shape 16, uniform on "
    "[0, 2 mu], or mu (2/3) and mu (4/3) with equal chances.",
    _time_close,
)
NARROW = Hypothesis(
    "narrow_times",
    "A worker's time has a standard deviation of at most a quarter of its mean: sigma <= mu sqrt(M)/4.",
    Le(4 * jitter, latency * sp.sqrt(M)),
)
TIME_NEAR = Hypothesis(
    "time_map_5",
    "The same; lognormal of width 1/10 or gamma of shape 16 with M >= 4; uniform on [0, 2 mu], or two equally likely "
    "values of mu/2 or more, with M >= 12; or, with M >= 64, exponential, gamma of shape 4, lognormal of width 1/2, or "
    "the released delay.",
    _time_near,
)
RELEASED_TWELVE = Hypothesis(
    "released_delay_at_12",
    "M = 12, and the delay is the one that the released code injects.",
    lambda family, M: family == "released" and M == 12,
)
SKEW_CLOSE = Hypothesis(
    "skew_map_1",
    "M >= 12, 2 <= N <= 10^4, and latencies are normal, exponential, gamma of shape >= 4, lognormal of width 1/10, or "
    "the released delay.",
    _skew_close,
)
QUANTILE_CLOSE = Hypothesis(
    "quantile_map_1",
    "Latencies are normal, uniform, exponential, gamma, lognormal of width <= 1/2, or the released delay; M >= 4 and "
    "32 <= N <= 10^4.",
    _quantile_close,
)
LITTLE_SKEW = Hypothesis(
    "little_skew",
    "A worker's time has a skewness of at most 2, that of an exponential one: gamma_3 <= 2 sqrt(M).",
    Le(skewness, 2 * sp.sqrt(M)),
)

FORMULAS: tuple[Claim, ...] = (
    claim(
        "maximum.logarithm",
        "The largest of N normal times is at least sqrt(log N/(pi log 2)) standard deviations above the mean",
        Ge(TOP, sp.sqrt(sp.log(N) / (sp.pi * sp.log(2)))),
        KAMATH_2015.recalled(
            "the lower bound on the expected maximum",
            "Equality at N = 2, where E max = 1/sqrt(pi); checked for all N to 400 and on a logarithmic grid to 1e9, "
            "the general proof is the source's.",
        ),
        kind=Kind.EXPECTED,
        assumes=NORMAL_TIMES,
        tightness=1,
        extremal="two workers",
    ),
    claim(
        "maximum.rank",
        "The largest of N normal times is at least the quantile at N/(N + 1)",
        Ge(TOP, upper_normal(1 / (N + 1))),
        VAN_ZWET_1964.recalled(
            "order statistics and convex transformations",
            "U_(N) = Phi(Z_(N)) has mean N/(N+1), and Phi^-1 is convex above 1/2 and odd about it: van Zwet's "
            "inequality for symmetric laws of this kind.",
        ),
        kind=Kind.EXPECTED,
        assumes=NORMAL_TIMES,
    ),
    claim(
        "maximum.harmonic",
        "The largest of N normal times is at most the quantile at 1 - exp(-H_N)",
        Le(TOP, upper_normal(sp.exp(-harmonic_number(N)))),
        "The normal law has an increasing failure rate: Z = G(E), E exponential, G concave; E max E = H_N, Jensen.",
        kind=Kind.EXPECTED,
        assumes=NORMAL_TIMES,
    ),
    claim(
        "maximum.simple",
        "The largest of N normal times is at most the quantile at 1 - 1/(e N)",
        Le(TOP, upper_normal(1 / (sp.E * N))),
        "H_N <= 1 + log N, in the bound with H_N.",
        kind=Kind.EXPECTED,
        assumes=NORMAL_TIMES,
    ),
    claim(
        "maximum.root",
        "The largest of N normal times is at most sqrt(2 log N) standard deviations above the mean",
        Le(TOP, sp.sqrt(2 * sp.log(N))),
        "E max <= log(N E exp(l Z))/l = log(N)/l + l/2, at l = sqrt(2 log N).",
        kind=Kind.EXPECTED,
        assumes=NORMAL_TIMES,
        unpinned=(
            (
                "exponent 3/2 of log(N)",
                "It is smaller at N = 2 alone, 0.82 where the bound is 1.18: the largest of two is 0.56.",
            ),
        ),
    ),
    claim(
        "maximum.bracket_above",
        "For N >= 3 the published bracket is never below the largest of N normal times",
        Le(TOP, bracket),
        "Computed for every N from 3 to 400 and on a logarithmic grid to 1e9; no proof.",
        kind=Kind.APPROXIMATE,
        assumes=(NORMAL_TIMES, SOME_WORKERS),
    ),
    claim(
        "maximum.bracket_close",
        "For N >= 3 the published bracket exceeds the largest of N normal times by at most 2.6 %",
        Ge(TOP, bracket / sp.Rational(1026, 1000)),
        "Computed for every N from 3 to 400 and on a logarithmic grid to 1e9: the excess is largest at N = 6, "
        "2.599 %; no proof.",
        kind=Kind.APPROXIMATE,
        assumes=(NORMAL_TIMES, SOME_WORKERS),
        tightness=1,
        extremal="six workers",
    ),
    claim(
        "maximum.bracket_at_two",
        "For N >= 2 the published bracket is never below the largest of N normal times",
        Le(TOP, bracket),
        "Refuted at N = 2: E max = 1/sqrt(pi) = 0.5642, the bracket is 0.5197.",
        kind=Kind.APPROXIMATE,
        assumes=(NORMAL_TIMES, TWO_WORKERS),
        stands=Standing.REFUTED,
        extremal="two workers",
        note="At N = 2 the bracket is 7.9 % too small; at every larger N tried it is too large.",
    ),
    claim(
        "time.formula",
        "The slowest worker's time: the published formula, of normal times and a Gumbel maximum, is exact",
        Eq(MEAN_TIME, _MEAN + _SPREAD * bracket),
        GILADI_2023.recalled(
            "the expected time of the slowest worker",
            "The central limit theorem for T_n and the Gumbel limit of the largest; no law has equality.",
            reading="It is tested as an equality; the paper prints an approximation.",
        ),
        kind=Kind.APPROXIMATE,
        assumes=(INDEPENDENT, TWO_WORKERS),
        stands=Standing.REFUTED,
        extremal="exponential latency and M = 1: half of the truth at N = 10^4",
        note="As an equality it never holds. It is too small for right-skewed latencies, so predicted gains are "
        "conservative: for M = 12 and the released delay by 4 % at N = 32, 14 % at N = 10^4.",
    ),
    claim(
        "time.formula_within_1",
        "The slowest worker's time: the published formula is within 1 %",
        Le(GAP, sp.Rational(1, 100)),
        "Measured against the exact law on the cells of the map; no proof.",
        kind=Kind.APPROXIMATE,
        assumes=(WORKERS, NARROW, TIME_CLOSE),
        note="For normal latencies the bracket is too small by 0.0444 standard deviations at N = 2, and never more: "
        "relative to E T it is 1.25 % for M = 1 and sigma = mu/3, and below 1 % up to sigma = 0.257 mu sqrt(M).",
    ),
    claim(
        "time.formula_within_5",
        "The slowest worker's time: the published formula is within 5 %",
        Le(GAP, sp.Rational(1, 20)),
        "Measured against the exact law on the cells of the map; no proof.",
        kind=Kind.APPROXIMATE,
        assumes=(WORKERS, TIME_NEAR),
        note="Two equally likely values have a largest time, M times the larger, which many workers reach: for M = 12 "
        "and N = 10^4 the formula is 6.5 % too large if they are 0 and 2 mu, 4.3 % if they are mu/2 and 3 mu/2.",
    ),
    claim(
        "time.formula_at_twelve",
        "The slowest worker's time: the published formula is within 5 % for the published experiment's delay and 12 "
        "micro-batches",
        Le(GAP, sp.Rational(1, 20)),
        "Refuted: 6.9 % at N = 128, 13.8 % at N = 10^4.",
        kind=Kind.APPROXIMATE,
        assumes=RELEASED_TWELVE,
        stands=Standing.REFUTED,
        extremal="the released delay with M = 12 and N = 128",
        note="At N = 128 it misses a quarter of the excess over M mu.",
    ),
    claim(
        "time.skewed",
        "The slowest worker's time: the formula corrected for skewness is exact",
        Eq(MEAN_TIME, _MEAN + _SPREAD * (top + skewness / (6 * sp.sqrt(M)) * (square_top - 1))),
        "Cornish and Fisher's expansion of the quantile of T_n to first order in its skewness, skewness/sqrt(M); an "
        "equality for normal latencies.",
        kind=Kind.APPROXIMATE,
        assumes=(INDEPENDENT, TWO_WORKERS),
        stands=Standing.REFUTED,
        extremal="one lognormal micro-batch of width 1",
        note="It is an approximation, better than the printed one where skewness/sqrt(M) is small.",
    ),
    claim(
        "time.skewed_within_1",
        "The slowest worker's time: the formula corrected for skewness is within 1 %",
        Le(GAP, sp.Rational(1, 100)),
        "Measured against the exact law on the cells of the map; no proof.",
        kind=Kind.APPROXIMATE,
        assumes=SKEW_CLOSE,
        unpinned=(("0.9 times the bound", "A round figure: the largest that was seen on the map is 0.64 %."),),
    ),
    claim(
        "time.generalised",
        "The slowest worker's time: the published bracket with the true quantiles of T_n is exact",
        Eq(MEAN_TIME, (1 - sp.EulerGamma) * upper + sp.EulerGamma * outer),
        "By the Gumbel limit alone the largest of N is about q(1-1/N) + gamma (q(1-1/(eN)) - q(1-1/N)).",
        kind=Kind.APPROXIMATE,
        assumes=(INDEPENDENT, TWO_WORKERS),
        stands=Standing.REFUTED,
        extremal="one worker's law with a bounded support, N = 2",
        note="It is an approximation that keeps the tail of the law.",
    ),
    claim(
        "time.generalised_within_1",
        "The slowest worker's time: the published bracket with the true quantiles of T_n is within 1 %",
        Le(GAP, sp.Rational(1, 100)),
        "Measured against the exact law on the cells of the map; no proof.",
        kind=Kind.APPROXIMATE,
        assumes=(QUANTILE_CLOSE, LITTLE_SKEW),
        unpinned=(("0.9 times the bound", "A round figure: the largest that was seen on the map is 0.61 %."),),
        note="For gamma times the error depends on N and on M times the shape alone: at N = 32 it is 0.4 % for 1, the "
        "exponential law, 1.1 % for 1/2 and 2.8 % for 1/5, as with M = 4 and latencies of shape 1/20.",
    ),
)
