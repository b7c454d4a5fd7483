"""DropCompute: the slowest of N workers, in expectation."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Kind, Le, Standing
from commbounds.theory.dropcompute.terms import (
    BOUNDED,
    CONTINUOUS,
    DFR,
    GAMMA,
    HARTLEY_1954,
    IDENTICAL,
    IFR,
    INDEPENDENT,
    LOGNORMAL,
    MEAN_TIME,
    NARROW_LOGNORMAL,
    ONE_MICRO_BATCH,
    TIME_VARIANCE,
    UNCORRELATED,
    M,
    N,
    claim,
    evenness,
    fewer,
    gammascale,
    jitter,
    latency,
    location,
    logwidth,
    longest,
    shape,
    shortest,
    slowest,
    slowestvariance,
)

_MEAN = M * latency
_SPREAD = jitter * sp.sqrt(M)


TIMES: tuple[Claim, ...] = (
    claim(
        "time.exact",
        "The slowest worker's expected time is the integral of 1 - F^N",
        Eq(MEAN_TIME, slowest),
        "P(T <= x) = F(x)^N for independent workers, and E[T] is the integral of P(T > x).",
        kind=Kind.EXPECTED,
        assumes=INDEPENDENT,
    ),
    claim(
        "time.at_least_mean",
        "The slowest worker takes at least the mean time of a worker",
        Ge(MEAN_TIME, _MEAN),
        "T >= T_1.",
        kind=Kind.EXPECTED,
        assumes=INDEPENDENT,
        tightness=1,
        extremal="one worker",
    ),
    claim(
        "time.universal",
        "For any law, the slowest worker's time exceeds the mean by at most about sqrt(N/2) standard deviations",
        Le(MEAN_TIME, _MEAN + _SPREAD * (N - 1) / sp.sqrt(2 * N - 1)),
        HARTLEY_1954.second_hand(
            "the largest of N independent observations",
            "E[max] - m = int (x(u) - m)(N u^(N-1) - 1) du; Cauchy and Schwarz, with int (N u^(N-1) - 1)^2 du = "
            "(N-1)^2/(2N-1).",
        ),
        kind=Kind.EXPECTED,
        assumes=INDEPENDENT,
        tightness=1,
        extremal="M = 1, and the latency t = u^(N-1) of a uniform u: for N = 2 the uniform law",
    ),
    claim(
        "time.dependent",
        "Workers that depend on one another exceed the mean by at most sqrt(N - 1) standard deviations",
        Le(MEAN_TIME, _MEAN + _SPREAD * sp.sqrt(N - 1)),
        "With X_n = T_n - m: max X <= mean X + sqrt((N-1)/N sum (X_n - mean X)^2), and Jensen with sum E X_n^2 = N "
        "Var T_n <= N M sigma^2.",
        kind=Kind.EXPECTED,
        assumes=(IDENTICAL, UNCORRELATED),
        tightness=1,
        extremal="M = 1, and one worker, any of them with equal chances, that is slow while all others are not",
        note="Workers may depend on one another, a worker's own latencies may not: if one of two workers takes 2 s for "
        "each of two micro-batches and the other no time, E T = 4 s, and this bound would be 2 + sqrt(2) s.",
    ),
    claim(
        "time.dependent_within",
        "For any dependence, the slowest exceeds the mean by at most M sqrt(N - 1) standard deviations",
        Le(MEAN_TIME, _MEAN + M * jitter * sp.sqrt(N - 1)),
        "The same, with the standard deviation of a sum at most the sum of the standard deviations: Var T_n <= M^2 "
        "sigma^2.",
        kind=Kind.EXPECTED,
        assumes=IDENTICAL,
        tightness=1,
        extremal="one worker, any of them with equal chances, that is slow in every micro-batch, all others in none",
    ),
    claim(
        "time.variance",
        "The variance of the step time is no larger with a threshold than without",
        Le(TIME_VARIANCE, slowestvariance),
        "Var X = E (X - X')^2/2 for an independent copy X', and |min(tau, T) - min(tau, T')| <= |T - T'|: taking the "
        "smaller of T and tau brings no two times further apart. The overhead, a constant, drops out.",
        kind=Kind.EXPECTED,
        assumes=CONTINUOUS,
        tightness=1,
        extremal="a threshold beyond every elapsed time",
        note="Latencies need be neither independent nor of one law.",
    ),
    claim(
        "time.increasing",
        "One more worker never makes the slowest worker faster",
        Ge(MEAN_TIME, fewer),
        "The maximum is over more workers.",
        kind=Kind.EXPECTED,
        assumes=INDEPENDENT,
        tightness=1,
        extremal="constant latency",
    ),
    claim(
        "time.concave",
        "Every further worker adds no more to the slowest worker's time than the one before",
        Le(MEAN_TIME, 2 * slowest - fewer),
        "The second difference of the integral of 1 - F^N is minus the integral of F^(N-1) (1 - F)^2. The measured "
        "value is of N + 1, `slowest` of N, `fewer` of N - 1 workers.",
        kind=Kind.EXPECTED,
        assumes=INDEPENDENT,
        tightness=1,
        extremal="constant latency",
    ),
    claim(
        "time.increasing_rate",
        "With an increasing failure rate, the slowest of N is at most the worker's quantile at 1 - exp(-H_N)",
        Le(MEAN_TIME, evenness),
        "T_n = G(E_n) with E_n exponential and G concave; E max E_n = H_N, and Jensen.",
        kind=Kind.EXPECTED,
        assumes=(INDEPENDENT, IFR),
        tightness=1,
        extremal="exponential latency and M = 1",
    ),
    claim(
        "time.decreasing_rate",
        "With a decreasing failure rate, the slowest of N is at least the worker's quantile at 1 - exp(-H_N)",
        Ge(MEAN_TIME, evenness),
        "The same with G convex; sums need not keep a decreasing failure rate, hence M = 1.",
        kind=Kind.EXPECTED,
        assumes=(INDEPENDENT, ONE_MICRO_BATCH, DFR),
        tightness=1,
        extremal="exponential latency and M = 1",
    ),
    claim(
        "time.gamma",
        "Gamma latencies: the slowest worker's excess over the mean grows like log N",
        Le(MEAN_TIME, _MEAN + gammascale * (sp.sqrt(2 * M * shape * sp.log(N)) + sp.log(N))),
        "log E exp(l (T_n - m)) <= v l^2/(2 (1 - c l)) with v = M k theta^2 and c = theta; so E max <= sqrt(2 v log N) "
        "+ c log N.",
        kind=Kind.EXPECTED,
        assumes=(INDEPENDENT, GAMMA),
        tightness=1,
        extremal="one worker",
        unpinned=(
            (
                "exponent 3/2 of log(N)",
                "It is smaller at N = 2 alone, 0.69 of the term: the larger of two normal times needs 0.48 of it.",
            ),
            (
                "0.9 times the term log(N)",
                "Loose by nature: log N, the exponential rate, is added to the Gaussian one. Where M k is so small "
                "that the latter is little, the excess falls short of theta log N itself by about theta times log "
                "Gamma(M k) + (1 - M k) log log N.",
            ),
        ),
    ),
    claim(
        "time.bounded",
        "Bounded latencies: the slowest worker exceeds the mean by at most Hoeffding's bound",
        Le(MEAN_TIME, _MEAN + (longest - shortest) * sp.sqrt(M * sp.log(N) / 2)),
        "T_n - M mu is sub-Gaussian with proxy M (b - a)^2/4.",
        kind=Kind.EXPECTED,
        assumes=(INDEPENDENT, BOUNDED),
        tightness=1,
        extremal="one worker",
        unpinned=(
            (
                "exponent 3/2 of log(N)",
                "It is smaller at N = 2 alone, 0.69 of the term: the larger of two normal times needs 0.48 of it.",
            ),
        ),
    ),
    claim(
        "time.ceiling",
        "Bounded latencies: no step exceeds M times the longest latency",
        Le(MEAN_TIME, M * longest),
        "Every T_n is at most M times the longest latency.",
        kind=Kind.EXPECTED,
        assumes=BOUNDED,
        tightness=1,
        extremal="constant latency",
    ),
    claim(
        "time.lognormal",
        "One lognormal micro-batch: the slowest grows like exp(s sqrt(2 log N))",
        Le(MEAN_TIME, sp.exp(location + logwidth * sp.sqrt(2 * sp.log(N)))),
        "E max <= (N E t^p)^(1/p) with p = sqrt(2 log N)/s >= 1.",
        kind=Kind.EXPECTED,
        assumes=(INDEPENDENT, ONE_MICRO_BATCH, LOGNORMAL, NARROW_LOGNORMAL),
    ),
    claim(
        "time.variance_as_proxy",
        "The slowest exceeds the mean by at most sqrt(2 log N) standard deviations",
        Le(MEAN_TIME, _MEAN + _SPREAD * sp.sqrt(2 * sp.log(N))),
        "True of normal times; for others it takes the variance for a sub-Gaussian proxy. Refuted: exponential latency "
        "and M = 1 have E[T] = mu H_N, of the order log N.",
        kind=Kind.EXPECTED,
        assumes=INDEPENDENT,
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="exponential latency and M = 1, from N = 16 on",
        note="For N = 32 exponential workers the excess is 3.06 standard deviations, sqrt(2 log 32) is 2.63.",
    ),
)
