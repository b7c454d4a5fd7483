"""The formulas of DropCompute against numbers that were computed by another program."""

import math
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from printed import printed

from commbounds.collectives import (
    Exponential,
    Gamma,
    Histogram,
    Lattice,
    Lognormal,
    Normal,
    StepLaw,
    bernoulli,
    gaussian_maximum,
    released_noise,
)
from commbounds.theory import claims

LAWS = {
    "normal": Normal(1.0, 0.2),
    "gamma 4": Gamma(4.0, 0.25),
    "exponential": Exponential(1.0),
    "lognormal 0.5": Lognormal(0.0, 0.5),
    "lognormal 1": Lognormal(0.0, 1.0),
    "released": released_noise(),
}
WORKERS = (2, 8, 32, 128, 512, 2048, 10_000)
# error of the published E[T], per cent, over WORKERS, as it was printed: -3 has no digit behind the point, -3.0 has one
TABLE = {
    ("normal", 1): (-0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.1),
    ("gamma 4", 1): (-1.1, -4.3, -11, -17, -22, -26, -29),
    ("gamma 4", 12): (-0.6, -0.3, -1.5, -2.7, -3.8, -4.8, -5.9),
    ("exponential", 1): (1.3, -9.5, -24, -33, -40, -46, -50),
    ("exponential", 12): (-1, -2, -5, -8, -11, -13, -16),
    ("exponential", 64): (-0.5, -0.2, -1.1, -2.1, -3.0, -3.8, -4.7),
    ("lognormal 0.5", 12): (-0.6, -0.9, -3, -5, -8, -10, -12),
    ("lognormal 1", 12): (0, -4, -14, -25, -35, -45, -55),
    ("released", 1): (3, -6, -22, -35, -42, -45, -43),
    ("released", 12): (-0.3, -1.4, -4.2, -6.9, -9.3, -12, -14),
    ("released", 64): (-0.2, -0.2, -0.9, -1.6, -2.2, -2.9, -3.6),
}


def printed_time(law, N, M):
    values = {"N": float(N), "M": float(M), "latency": law.mean, "jitter": math.sqrt(law.variance)}
    return float(claims()["dropcompute.time.formula"].bound(**values))


@pytest.mark.parametrize(("name", "M"), TABLE, ids=str)
def test_errors_of_the_published_time(name, M):
    for N, expected in zip(WORKERS, TABLE[name, M], strict=True):
        error = 100 * (printed_time(LAWS[name], N, M) / StepLaw(LAWS[name], N, M).mean_time() - 1)
        assert error == printed(str(expected)), N


@pytest.mark.parametrize(
    ("N", "expected"),
    [(2, "-7.9"), (3, "0.8"), (5, "2.5"), (32, "1.5"), (112, "0.9"), (200, "0.7"), (2048, "0.35"), (10**4, "0.23")],
)
def test_errors_of_the_published_bracket(N, expected):
    bracket = float(claims()["dropcompute.maximum.bracket_above"].bound(N=float(N)))
    assert 100 * (bracket / gaussian_maximum(N) - 1) == printed(expected)


def best_near(step, overhead, expected, unit=1.0):
    """The best threshold in `unit`, of ten units of the last digit of `expected` on either side, and its gain.

    `StepLaw.best` compares candidates that are further apart. It must gain as much as the worst threshold that is no
    further from the best one than candidates are from each other, and none outside these twenty units gains more.
    """
    last, candidates = 10.0 ** -len(expected.partition(".")[2]), step.times.candidates(step.N)
    near = unit * (float(expected) + last * np.linspace(-10, 10, 2001))
    if isinstance(step.law, Lattice):  # gains jump up where a sum of latencies is waited for, and fall in between
        sums = [m * step.law.base + step.law.unit * np.arange(m * step.law.weights.size) for m in range(1, step.M + 1)]
        candidates = np.union1d(candidates, np.concatenate(sums) * (1 + 1e-9))
    near = np.union1d(near, candidates[(near[0] <= candidates) & (candidates <= near[-1])])
    gains = step.speedup(near, overhead)
    best = near[gains.argmax()]
    apart = np.diff(step.times.candidates(step.N)).max()
    assert gains[abs(near - best) <= apart].min() <= step.best(overhead)[1] <= gains.max()
    return float(best / unit), float(gains.max())


# base 0.45 s, M = 12, overhead 0.5 s: E[T], published E[T], best threshold, its gain, share dropped, at N = 200; its
# gain at N = 2048. The other program printed 1.207 for Bernoulli's gain, whose exact value is 1.207554.., and 7.38 and
# 12.7 for the released noise: its thresholds were too far apart to meet the best one, 7.3975, which gains 1.32875 where
# 7.38 gains 1.32866.
SHAPE = math.sqrt(math.log(2.0))
SWEEP = {
    "lognormal": (
        Lognormal(math.log(0.225) - SHAPE**2 / 2, SHAPE, 0.45),
        ("11.39", "10.26", "7.57", "1.318", "10.5", "1.521"),
    ),
    "normal": (Normal(0.675, 0.225), ("10.24", "10.26", "7.43", "1.186", "12.4", "1.246")),
    "Bernoulli": (bernoulli(0.45, 0.9, 0.5), ("10.12", "10.26", "7.20", "1.208", "12.5", "1.253")),
    "exponential": (Exponential(0.225, 0.45), ("10.74", "10.26", "7.49", "1.245", "11.5", "1.343")),
    "released": (released_noise(0.45), ("11.49", "10.60", "7.40", "1.329", "12.5", "1.462")),
}


@pytest.mark.parametrize("noise", SWEEP)
def test_noise_sweep(noise):
    law, (time, published, tau, gain, dropped, gain_at_2048) = SWEEP[noise]
    step = StepLaw(law, 200, 12)
    found, best = best_near(step, 0.5, tau)
    assert step.mean_time() == printed(time)
    assert printed_time(law, 200, 12) == printed(published)
    assert found == printed(tau)
    assert best == printed(gain)
    assert 100 * (1 - step.completed(found) / 12) == printed(dropped)
    assert StepLaw(law, 2048, 12).best(0.5)[1] == printed(gain_at_2048)


# for the released noise the other program printed 0.944, for the same reason: among 64, that gains 1.2128, 0.946 1.2129
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("normal", "0.996"),
        ("gamma 4", "0.918"),
        ("exponential", "0.781"),
        ("lognormal 0.5", "0.909"),
        ("released", "0.946"),
    ],
)
def test_thresholds_for_many_workers(name, expected):
    law = LAWS[name]
    mean = 12 * law.mean
    for N in (64, 1000):
        assert best_near(StepLaw(law, N, 12), 0.2 * mean, expected, mean)[0] == printed(expected)


def test_scale_graph():
    mean = 12 * 0.675
    for N, efficiency in ((8, "85.5"), (32, "78.6"), (112, "73.7"), (200, "71.7"), (2048, "65.2")):
        step = StepLaw(released_noise(0.45), N, 12)
        without = (mean + 0.5) / (step.mean_time() + 0.5)
        assert 100 * without == printed(efficiency)
        assert 100 * without * step.best(0.5)[1] == printed("95.3")


def test_local_sgd():
    law = released_noise()
    for steps, expected in ((1, "3.36"), (4, "1.86"), (16, "1.35"), (64, "1.15")):
        assert StepLaw(law, 200, steps).mean_time() / steps / law.mean == printed(expected)


def test_a_law_without_atoms_is_the_limit_of_its_histogram():
    """The error falls with the square of the width."""
    law = Gamma(4.0, 0.25)
    limit, errors = StepLaw(law, 32, 4).mean_time(), []
    for bins in (16, 64):  # per unit of time; beyond 8 comes with probability 8e-11
        edges = [i / bins for i in range(bins * 8 + 1)]
        counts = [float(law.cdf(b) - law.cdf(a)) for a, b in pairwise(edges)]
        errors.append(StepLaw(Histogram(0.0, 1 / bins, counts), 32, 4).mean_time() - limit)
    assert math.log(errors[0] / errors[1], 4) == pytest.approx(2, abs=1 / 4)  # neither 3/2 nor 5/2


def formula_values(law, N, M):
    step = StepLaw(law, N, M)
    return {
        "family": {Gamma: "gamma", Normal: "normal"}.get(type(law), "two, alike"),
        "shape": getattr(law, "shape", 0.0),
        "logwidth": 0.0,
        "shortest": max(law.low, 0.0),
        "N": float(N),
        "M": float(M),
        "latency": law.mean,
        "jitter": math.sqrt(law.variance),
        "skewness": law.skewness,
        "upper": step.quantile(1 - 1 / N),
        "outer": step.quantile(1 - 1 / (math.e * N)),
    }


def error_and_hypotheses(statement, law, N, M):
    """Error of a formula for E[T], per cent, and whether its claim of 1 % admits the case."""
    values, book = formula_values(law, N, M), claims()
    error = 100 * (float(book[f"dropcompute.time.{statement}"].bound(**values)) / StepLaw(law, N, M).mean_time() - 1)
    return error, all(h.admits(**values) for h in book[f"dropcompute.time.{statement}_within_1"].assumes)


def test_gamma_times_need_little_skew():
    error, admitted = error_and_hypotheses("generalised", Gamma(0.05, 20.0), 32, 4)
    assert error == printed("-2.78")
    assert not admitted
    for shape, expected in (
        (1.0, "0.38"),
        (0.5, "1.08"),
        (0.2, "2.78"),
    ):  # the exponential law is the last that is good
        error, admitted = error_and_hypotheses("generalised", Gamma(shape / 4, 4 / shape), 32, 4)
        assert abs(error) == printed(expected)
        assert admitted == (abs(error) <= 1)


def test_normal_times_need_a_small_spread():
    error, admitted = error_and_hypotheses("formula", Normal(1.0, 1 / 3), 2, 1)
    assert error == printed("-1.25")
    assert not admitted
    assert error_and_hypotheses("formula", Normal(1.0, 1 / 3), 2, 2)[1]
    error, admitted = error_and_hypotheses("formula", Normal(1.0, 0.25), 2, 1)
    assert -1 < error < -0.97
    assert admitted


def test_two_latencies_need_to_be_near_each_other():
    for low, expected in ((0.0, "6.50"), (0.5, "4.32")):
        law = bernoulli(low, 2 - low, 0.5)
        error, _ = error_and_hypotheses("formula", law, 10_000, 12)
        assert error == printed(expected)
        near = claims()["dropcompute.time.formula_within_5"]
        values = formula_values(law, 10_000, 12)
        assert all(h.admits(**{name: values[name] for name in h.needs}) for h in near.assumes) == (error <= 5)


def test_the_published_bracket_is_furthest_off_at_six_workers():
    claim = claims()["dropcompute.maximum.bracket_above"]
    excess = {N: float(claim.bound(N=float(N))) / gaussian_maximum(N) - 1 for N in range(3, 401)}
    assert max(excess, key=excess.get) == 6
    assert 100 * excess[6] == printed("2.599")


def test_workers_whose_own_latencies_go_together():
    """One of two workers takes 2 s for both of its micro-batches, the other no time: E T = 4 s."""
    values = {"N": 2, "M": 2, "latency": 1, "jitter": 1, "timejitter": 2}
    uncorrelated, any_way = (claims()[f"dropcompute.time.{name}"] for name in ("dependent", "dependent_within"))
    assert uncorrelated.bound(**values) == 2 + sp.sqrt(2)
    assert not all(h.admits(**values) for h in uncorrelated.assumes)
    assert any_way.bound(**values) == 4
    assert all(h.admits(**values) for h in any_way.assumes)


def test_the_convex_bound_is_attained_on_a_tangent():
    """From T, one unit a step at eta = 1/L: f is x - 1/2 at T, T - 1, .., 1, whose mean is T/2."""
    for T in (1, 2, 7):
        values = {"largest_batch": 1, "distance": T, "stepsize": 1, "samples": T, "noise": 0, "smoothness": 1}
        assert sum(x - 0.5 for x in range(1, T + 1)) / T == claims()["dropcompute.sgd.convex"].bound(**values)
        assert claims()["dropcompute.sgd.convex_tuned"].bound(**values) == T / 2


def test_the_proxy_fails_from_sixteen_workers_on():
    claim = claims()["dropcompute.time.variance_as_proxy"]
    values = {"M": 1.0, "latency": 1.0, "jitter": 1.0}
    broken = [StepLaw(Exponential(1.0), N, 1).mean_time() > claim.bound(N=float(N), **values) for N in range(1, 40)]
    assert broken.index(True) == 15
    assert all(broken[15:])
