"""Statistical quality of the latencies' draws, tails included.

Every test states its false-alarm rate, 1e-7 or less; seeds are fixed, so that a pass is repeated.
"""

import math

import numba
import numpy as np
import pytest
from scipy import stats

from commbounds.collectives import Exponential, Lognormal, Normal, Uniform, drop_trials, released_noise, trial_latencies

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(numba.config.DISABLE_JIT, reason="millions of draws need the JIT"),
]
ALARM = 1e-8
"""False-alarm rate of one comparison."""


def below(law, tau, draws, seed=1):
    """How many of so many latencies are below tau, counted by the simulation itself."""
    N = 1 << 18
    found = drop_trials(law, N, 1, tau, trials=draws // N, seed=seed)
    return int(found.completed.sum()), N * (draws // N)


def agrees(count, draws, probability):
    """Two-sided exact binomial test."""
    low, high = stats.binom.cdf(count, draws, probability), stats.binom.sf(count - 1, draws, probability)
    return min(low, high) >= ALARM / 2


@pytest.mark.parametrize("z", [-5.0, -4.0, -3.0, -1.0, 0.0, 1.0, 2.0, 3.5, 4.5, 5.0])
def test_normal_tails(z):
    law = Normal(1.0, 0.125)  # 1 + z/8 is a float
    count, draws = below(law, 1.0 + z / 8, 1 << 24)
    if z > 0:
        assert agrees(draws - count, draws, stats.norm.sf(z))
    else:
        assert agrees(count, draws, stats.norm.cdf(z))


@pytest.mark.long
@pytest.mark.parametrize("z", [5.5, 5.9])
def test_normal_tails_beyond_24_bits(z):
    # uniforms of 24 bits would end at 5.77: nothing would be seen beyond 5.9, where 16 are expected
    law, draws = Normal(1.0, 0.125), 1 << 33
    count, draws = below(law, 1.0 + z / 8, draws)
    assert draws - count > 0
    assert agrees(draws - count, draws, stats.norm.sf(z))


def test_the_largest_radius_of_40_bits():
    # the smallest uniform of the radius is half a unit of 2^-40
    assert math.sqrt(-2 * math.log(0.5 * 2.0**-40)) > 7.5


@pytest.mark.parametrize("x", [1e-6, 0.01, 1.0, 5.0, 12.0, 14.0])
def test_exponential_tails(x):
    count, draws = below(Exponential(1.0), x, 1 << 24)
    if x > 1:
        assert agrees(draws - count, draws, math.exp(-x))
    else:
        assert agrees(count, draws, -math.expm1(-x))


@pytest.mark.parametrize("law", [Normal(1.0, 0.2), Lognormal(0.0, 0.5), Exponential(1.0), Uniform(0.0, 1.0)], ids=str)
@pytest.mark.parametrize("N", [3, 4096])
def test_the_slowest_of_many_follows_the_power_of_the_law(law, N):
    trials = 2000 if N > 100 else 20_000
    slowest = drop_trials(law, N, 1, 1.0, trials=trials, seed=3).slowest
    u = np.exp(N * np.log(law.cdf(slowest)))
    assert stats.kstest(u, "uniform").pvalue >= ALARM


@pytest.mark.parametrize("law", [Normal(1.0, 0.2), Exponential(1.0), Uniform(0.0, 1.0), released_noise()], ids=str)
def test_draws_are_uncorrelated(law):
    """Partners of a pair, neighbours, micro-batches, trials: correlations of 2^16 centred draws are normal(0, 2^-8)."""
    N = 1 << 16
    t = np.stack([trial_latencies(law, N, 2, 7, trial) for trial in range(2)])
    z = (t - law.mean) / math.sqrt(law.variance)
    half = N // 2
    pairs = {
        "partners": (z[0, :half, 0], z[0, half:, 0]),
        "squares of partners": (z[0, :half, 0] ** 2, z[0, half:, 0] ** 2),
        "neighbours": (z[0, :-1, 0], z[0, 1:, 0]),
        "micro-batches": (z[0, :, 0], z[0, :, 1]),
        "trials": (z[0, :, 0], z[1, :, 0]),
        "seeds": (z[0, :, 0], (trial_latencies(law, N, 1, 8, 0)[:, 0] - law.mean)),
    }
    for name, (a, b) in pairs.items():
        r = float(np.corrcoef(a, b)[0, 1])
        # Fisher: sqrt(n) r is nearly normal; heavy squares need room, 8 sd have a false-alarm rate below 1e-14
        assert abs(r) * math.sqrt(a.size) <= 8, name


def test_trials_are_independent_of_one_another():
    # 20000 sums over a step: the variance of their mean is that of independent ones
    found = drop_trials(Exponential(1.0), 8, 4, 1e9, trials=20_000, seed=5).slowest
    z = (found - found.mean()) / found.std()
    for lag in (1, 2, 64):
        assert abs(float(np.mean(z[lag:] * z[:-lag]))) * math.sqrt(z.size - lag) <= 6


def test_philox_as_a_second_opinion():
    """The same statistics from numpy's Philox: two-sample Kolmogorov and Smirnov on steps of the released delay."""
    law, N, M, trials = released_noise(), 40, 12, 3000
    ours = drop_trials(law, N, M, 16.0, trials=trials, seed=11)
    rng = np.random.Generator(np.random.Philox(12))
    t = law.base + law.unit * rng.choice(law.weights.size, (trials, N, M), p=law.weights)
    sums = t.cumsum(axis=2)
    assert stats.ks_2samp(ours.slowest, sums[:, :, -1].max(axis=1)).pvalue >= ALARM
    assert stats.ks_2samp(ours.completed, (sums < 16.0).sum(axis=(1, 2))).pvalue >= ALARM


def test_what_would_fail():
    """The tests above see one part in a thousand of bias: their power, shown on draws that are off by that much."""
    count, draws = below(Normal(1.0, 0.125), 1.0, 1 << 24)
    assert agrees(count, draws, 0.5)
    assert not agrees(count + draws // 1000, draws, 0.5)
    assert not agrees(0, 1 << 32, stats.norm.sf(5.5))  # nothing beyond 5.5 in 2^32 draws
