import math
import warnings
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commbounds.collectives import (
    Exponential,
    Gamma,
    Histogram,
    Lattice,
    Lognormal,
    Normal,
    StepLaw,
    Uniform,
    backup_step,
    bernoulli,
    best_threshold,
    drop_gradient,
    drop_step,
    drop_trials,
    gaussian_maximum,
    random_batch_sgd,
    released_noise,
    released_threshold,
    trial_latencies,
)
from commbounds.collectives.dropcompute import latency_draws as draws
from commbounds.collectives.dropcompute.steps import _step
from commbounds.verify.definitions import dropcompute as naive

pytestmark = pytest.mark.kernels

LAWS = {
    "normal": Normal(1.0, 0.2),
    "lognormal": Lognormal(0.0, 0.5),
    "lognormal from 0.3": Lognormal(-1.0, 1.0, 0.3),
    "gamma, 4": Gamma(4.0, 0.25),
    "gamma, 1/4": Gamma(0.25, 4.0),
    "exponential": Exponential(1.0),
    "exponential from 0.45": Exponential(0.225, 0.45),
    "uniform": Uniform(0.5, 1.5),
    "Bernoulli": bernoulli(0.45, 0.9, 0.5),
    "released": released_noise(),
    "histogram": Histogram(1.0, 0.1, [1, 2, 3, 0, 4]),
    "constant": Lattice(2.0, 1.0, [1.0]),
}
LAW = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
JIT = not numba.config.DISABLE_JIT


def rationals(t):
    return [[Fraction(v) for v in row] for row in np.asarray(t, dtype=float).tolist()]


# --- the slow twin -----------------------------------------------------------------------------------------------


def test_a_step_that_takes_no_time_has_no_gain():
    for choose in (best_threshold, released_threshold):
        with pytest.raises(ValueError, match="latencies of a step without overhead must not all be zero"):
            choose([[[1.0] * 7], [[0.0] * 7]])
    assert best_threshold([[[1.0] * 7], [[0.0] * 7]], [0.0, 1.0]).gain >= 1


def test_without_time_for_the_first_micro_batch_no_elapsed_time_is_best():
    """What `dropcompute.threshold.optimal` needs its hypothesis for: the smaller tau, the larger the gain."""
    steps = np.array([[[0, 7, 5, 8, 8, 9, 4, 9]]])
    found = best_threshold(steps, 0.5)
    gains = [naive.objective([rationals(steps[0])], Fraction(1, j), Fraction(1, 2)) for j in (4, 8, 16)]
    assert found.gain < gains[0] < gains[1] < gains[2]


# --- draws -------------------------------------------------------------------------------------------------------


@LAW
@pytest.mark.parametrize(("N", "M"), [(1, 1), (2, 3), (7, 2), (1025, 1)])
def test_trials_are_steps_of_their_latencies(law, N, M):
    if not JIT and N > 7:
        pytest.skip("slow without the JIT")
    tau = 0.9 * M * law.mean
    for preemption, at in (("A", False), ("A", True), ("B", False), ("C", False)):
        options = {"preemption": preemption, "at_threshold": at}
        trials = drop_trials(law, N, M, tau, 0.5, trials=3, seed=4, first=10, **options)
        for i in range(3):
            t = trial_latencies(law, N, M, 4, 10 + i)
            assert t.shape == (N, M)
            step = drop_step(np.abs(t), tau, 0.5, **options)
            assert (trials.time[i], trials.slowest[i]) == (step.time, step.slowest)
            assert trials.completed[i] == step.completed.sum()


@LAW
def test_one_thread_and_two_give_the_same_bits(law):
    N, M, trials = (2000, 12, 60) if JIT else (3, 2, 4)
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            f = drop_trials(law, N, M, 10.0, trials=trials, seed=2**64 - 1, first=2**61)
            found.append(f.time.tobytes() + f.slowest.tobytes() + f.completed.tobytes())
    finally:
        numba.set_num_threads(before)
    assert found[0] == found[1]


def test_seeds_and_trials_have_their_own_draws():
    law = Exponential(1.0)
    firsts = {float(trial_latencies(law, 1, 1, seed, trial)[0, 0]) for seed in range(20) for trial in range(20)}
    assert len(firsts) == 400
    t = trial_latencies(law, 31, 6, 0, 0)
    assert len(np.unique(t)) == t.size


@pytest.mark.skipif(not JIT, reason="compares compiled kernels with their source")
def test_compiled_kernels_are_their_source():
    t = np.random.default_rng(0).random((5, 4))
    for rule in (0, 1, 2):
        counts, times = (np.empty(5, np.int64), np.empty(5, np.int64)), (np.empty(5), np.empty(5))
        slowest = [f(t, 1.1, rule, 0.3, counts[i], times[i]) for i, f in enumerate((_step, _step.py_func))]
        assert slowest[0] == slowest[1]
        assert (counts[0] == counts[1]).all()
        assert (times[0] == times[1]).all()


def test_logarithm_and_exponential_are_precise():
    u = np.concatenate([np.logspace(-12.6, -1e-9, 500), 1 - np.logspace(-16, -1, 100)])
    got = np.array([draws._log(v) for v in u])
    # the series is cut below 5e-13, relative to a result that is not near zero
    assert np.abs(got - np.log(u)).max() <= 1e-12 * np.maximum(1, np.abs(np.log(u))).max()
    y = np.linspace(-30, 30, 601)
    assert np.abs(np.array([draws._exp(v) for v in y]) / np.exp(y) - 1).max() <= 1e-11


# --- exact laws --------------------------------------------------------------------------------------------------


def test_order_statistics_have_their_closed_forms():
    root = math.sqrt(math.pi)
    known = {
        1: 0.0,
        2: 1 / root,
        3: 1.5 / root,
        4: 1.5 / root * (1 + 2 / math.pi * math.asin(1 / 3)),
        5: 1.25 / root * (1 + 6 / math.pi * math.asin(1 / 3)),
    }
    for N, value in known.items():
        assert gaussian_maximum(N) == pytest.approx(value, abs=1e-13)
    assert gaussian_maximum(1000) == pytest.approx(3.2414358, abs=5e-8)
    # Phi^-1(1 - e^-H) is 3e-4 above at 1e4 and falls towards it
    assert 5.9 < gaussian_maximum(10**9) < 6.12


@pytest.mark.parametrize("N", [1, 2, 7, 100, 10_000])
def test_one_exponential_micro_batch_takes_a_harmonic_number(N):
    assert StepLaw(Exponential(2.0), N, 1).mean_time() == pytest.approx(2 * sum(1 / np.arange(1, N + 1)), rel=1e-13)


def test_uniform_workers_have_their_closed_form():
    for N in (1, 2, 9, 100):
        step = StepLaw(Uniform(0.0, 1.0), N, 1)
        assert step.mean_time() == pytest.approx(N / (N + 1), abs=step.error)


@LAW
def test_the_exact_law_is_that_of_the_draws(law):
    # a million draws of (N, M) = (1, 1): every empirical probability within 6 standard deviations, false alarm < 1e-7
    if not JIT:
        pytest.skip("slow without the JIT")
    trials = drop_trials(law, 1, 1, law.mean, trials=200_000, seed=8)
    for q in (0.02, 0.3, 0.5, 0.9, 0.99, 0.9999):
        x = float(np.quantile(trials.slowest[:1000], min(q, 0.999))) if q < 0.999 else law.mean + 4 * law.variance**0.5
        p = float(law.cdf(x * (1 + 1e-12)))
        seen = float((trials.slowest <= x).mean())
        assert abs(seen - p) <= 6 * math.sqrt(p * (1 - p) / trials.slowest.size) + 1e-9
    assert abs(trials.slowest.mean() - law.mean) <= 6 * math.sqrt(law.variance / trials.slowest.size) + 1e-12


@LAW
def test_a_distribution_function_is_asked_for_at_numbers(law):
    assert law.cdf([-np.inf, np.inf]).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="x must be numbers, got"):
        law.cdf([1.0, np.nan])


@pytest.mark.parametrize("made", [Lattice, Histogram])
@given(weights=st.lists(st.floats(0, 60_000, width=16), min_size=1, max_size=40).filter(any))
def test_shares_add_up_to_one_exactly(made, weights):
    """Sums of shares end next to 1, on either side: by processors, even, as their exponentials differ."""
    law = made(0.1, 0.7, weights)
    chances = law.cdf([-np.inf, *np.linspace(0.0, law.high, 50), law.high, law.high + 1, np.inf])
    assert chances[0] == 0
    assert (chances[-3:] == 1).all()
    assert (np.diff(chances) >= 0).all()


@LAW
def test_moments_are_those_of_the_distribution_function(law):
    high = law.high if math.isfinite(law.high) else law.mean + 600 * law.variance**0.5
    x = np.linspace(min(law.low, 0.0) if math.isfinite(law.low) else -2.0, high, 2_000_001)
    survival = 1 - law.cdf(x)
    h = x[1] - x[0]
    mean = x[0] + float(((survival[1:] + survival[:-1]) / 2).sum() * h)
    assert mean == pytest.approx(law.mean, abs=2 * h + 1e-6 * law.mean)
    if law.variance:
        centred = survival * (x - law.mean)
        square = (x[0] - law.mean) ** 2 + 2 * float(((centred[1:] + centred[:-1]) / 2).sum() * h)
        assert square == pytest.approx(law.variance, rel=1e-3, abs=1e-4)


def test_convolution_agrees_with_closed_sums():
    """A gamma law whose sums are known, convolved on the grid as if they were not."""
    from commbounds.collectives.dropcompute.worker_times import ClosedTimes, GridTimes

    class Unknown(Gamma):
        def excess(self, x):
            from scipy.special import gammaincc

            k, theta = self.shape, self.scale
            return k * theta * gammaincc(k + 1, x / theta) - x * gammaincc(k, x / theta)

    for k in (1.0, 4.0):
        grid, closed = GridTimes(Unknown(k, 1 / k), 12, 1000), ClosedTimes(Gamma(k, 1 / k), 12)
        x = np.linspace(4.0, 30.0, 50)
        assert np.abs(grid.at_most(x) - closed.at_most(x)).max() <= 1e-4 * grid.error
        assert np.abs(grid.completed(x) - closed.completed(x)).max() <= 1e-3 * grid.error
        top = np.array([closed.top(1000)])
        times = [float((top - t.power_integral(top, 1000))[0]) for t in (grid, closed)]
        assert abs(times[0] - times[1]) <= grid.error


def test_the_released_delay_has_its_moments():
    law = released_noise()
    assert law.mean == pytest.approx(1.5, abs=1e-14)
    assert law.variance == pytest.approx(0.33750, abs=5e-6)
    assert law.skewness == pytest.approx(3.22, abs=5e-3)
    assert law.high == pytest.approx(6.6998, abs=1e-4)


# --- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0, -1, float("nan")])
def test_thresholds_must_be_positive(tau):
    for call in (
        lambda: drop_step([[1.0]], tau),
        lambda: drop_trials(Exponential(1.0), 1, 1, tau, trials=1, seed=0),
        lambda: StepLaw(Exponential(1.0), 1, 1).completed(tau),
    ):
        with pytest.raises(ValueError, match="tau must be positive"):
            call()


@pytest.mark.parametrize("name", ["N", "M", "trials"])
def test_there_is_at_least_one_of_everything(name):
    given = {"N": 2, "M": 2, "trials": 2}
    for value, error in ((0, ValueError), (-3, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match=f"{name} must be"):
            drop_trials(Exponential(1.0), tau=1.0, seed=0, **{**given, name: value})


@pytest.mark.parametrize(
    ("latencies", "message"),
    [
        ([], "with no empty axis"),
        ([1.0], "with no empty axis"),
        (np.zeros((0, 3)), "with no empty axis"),
        ([[1.0, -0.5]], "must not be negative, got -0.5"),
        ([[1.0, float("nan")]], "must be finite"),
        ([[1.0, float("inf")]], "must be finite"),
    ],
)
def test_latencies_are_checked(latencies, message):
    for call in (lambda: drop_step(latencies, 1.0), lambda: backup_step(latencies, 0)):
        with pytest.raises(ValueError, match=message):
            call()


def test_arguments_are_left_alone_and_may_be_read_only_strided_or_integer():
    t = np.arange(24, dtype=np.float64).reshape(4, 6)[:, ::2]
    t.flags.writeable = False
    kept = t.copy()
    expected = drop_step(t.copy(), 30.0)
    for latencies in (t, t.astype(np.int32), t.astype(np.float32), t.tolist()):
        step = drop_step(latencies, 30.0)
        assert step.completed.tolist() == expected.completed.tolist()
    best_threshold(t[None], 1.0)
    assert (t == kept).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal(1.0, 0.5), "at most a third of average"),
        (lambda: Normal(-1.0, 0.1), "average must be positive"),
        (lambda: Gamma(0.0, 1.0), "shape must be positive"),
        (lambda: Gamma(1.0, float("inf")), "scale must be finite"),
        (lambda: Exponential(1.0, -0.1), "base must not be negative"),
        (lambda: Lognormal(float("nan"), 1.0), "location must be finite"),
        (lambda: Uniform(1.0, 1.0), "high must be larger than low"),
        (lambda: Uniform(-1.0, 1.0), "low must not be negative"),
        (lambda: bernoulli(0.0, 1.0, 1.5), r"probability must be in \[0, 1\]"),
        (lambda: bernoulli(1.0, 0.5, 0.5), "with 0 <= low < high, got 1.0 and 0.5"),
        (lambda: Lattice(0.0, 1.0, [0.0, 0.0]), "not all zero"),
        (lambda: Lattice(0.0, 1.0, [1.0, -1.0]), "not negative"),
        (lambda: Histogram(0.0, 0.0, [1.0]), "width must be positive"),
        (lambda: Histogram(0.0, 1.0, [float("inf")]), "must be finite"),
    ],
)
def test_laws_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_infinite_variance_is_refused():
    class Heavy(Gamma):
        variance = math.inf

    with pytest.raises(ValueError, match="finite variance, got inf"):
        StepLaw(Heavy(1.0, 1.0), 2, 2)


@pytest.mark.parametrize("law", [Exponential(1.0), Gamma(0.25, 4.0), Lognormal(0.0, 1.0)], ids=str)
def test_no_overhead_and_much_variation_is_degenerate(law):
    t = np.array([trial_latencies(law, 4, 12, 1, i) for i in range(5)])
    t *= 1 + np.arange(t.size).reshape(t.shape) / t.size  # surely beyond a coefficient of 1
    t[0, 0, 0] = 40 * t.mean()
    for call in (lambda: StepLaw(law, 4, 12).best(0.0), lambda: best_threshold(t), lambda: released_threshold(t)):
        with pytest.warns(RuntimeWarning, match="drop nearly every micro-batch; give the overhead"):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StepLaw(law, 4, 12).best(1.0)
        best_threshold(t, 1.0)


def test_a_cap_on_the_drop_rate_is_kept():
    t = np.array([trial_latencies(Gamma(0.25, 4.0), 8, 12, 1, i) for i in range(20)])
    for cap in (0.0, 0.02, 0.1, 0.5):
        found = best_threshold(t, 0.5, drop_rate=cap)
        assert (np.cumsum(t, axis=2) > found.tau).mean() <= cap
    assert best_threshold(t, 0.5, drop_rate=0.0).gain == pytest.approx(1.0, rel=1e-14)
    with pytest.raises(ValueError, match=r"drop_rate must be in \[0, 1\], got 1.5"):
        best_threshold(t, 0.5, drop_rate=1.5)


@pytest.mark.parametrize(("cap", "dropped"), [(0.3, 3), (np.nextafter(0.3, 0), 2), (0.7, 7), (0.69, 6), (1.0, 9)])
def test_a_share_of_ten_is_what_it_says(cap, dropped):
    t = 10.0 ** np.arange(10).reshape(1, 1, 10)
    assert (np.cumsum(t, axis=2) > best_threshold(t, 1.0, drop_rate=cap).tau).sum() == dropped


def test_other_arguments_are_checked():
    t = [[1.0, 2.0]]
    for call, error, message in (
        (lambda: drop_step(t, 1.0, -0.5), ValueError, "overhead must be finite and not negative"),
        (lambda: drop_step(t, "soon"), TypeError, "tau must be a number"),
        (lambda: drop_step(t, 1.0, preemption="D"), ValueError, "preemption must be one of A, B, C, got 'D'"),
        (lambda: drop_step(t, 1.0, preemption="C", forward=1.5), ValueError, r"forward must be in \[0, 1\]"),
        (lambda: backup_step(t, 1), ValueError, r"spare must be in \[0, 0\], got 1"),
        (lambda: backup_step(t, 0.5), TypeError, "spare must be an integer"),
        (lambda: released_threshold([t]), ValueError, "M must be at least 7, got 2"),
        (lambda: best_threshold(np.zeros((1, 2, 2)), 1.0), ValueError, "must not all be zero"),
        (lambda: drop_trials(Exponential(1.0), 1, 1, 1.0, trials=1, seed=-1), ValueError, "seed must be in"),
        (lambda: drop_trials(Exponential(1.0), 1, 1, 1.0, trials=1, seed=0.5), TypeError, "seed must be an integer"),
        (lambda: drop_trials(Exponential(1.0), 1, 1, 1.0, trials=1, seed=0, first=-1), ValueError, "first must be in"),
        (lambda: drop_trials("exponential", 1, 1, 1.0, trials=1, seed=0), TypeError, "law must be a LatencyLaw"),
        (lambda: StepLaw(Exponential(1.0), 2, 2).quantile(1.0), ValueError, "strictly between 0 and 1"),
        (lambda: gaussian_maximum(0), ValueError, "N must be at least 1"),
        (lambda: drop_gradient(np.zeros((2, 2, 1)), [3, 0]), ValueError, r"completed must be in \[0, 2\]"),
        (lambda: drop_gradient(np.zeros((2, 2, 1)), [1, 0], "none"), ValueError, "normalisation must be"),
        (lambda: random_batch_sgd([0.0], abs, np.zeros((1, 1, 1)), [2], 0.1), ValueError, "batches must be 1 integers"),
        (lambda: random_batch_sgd([0.0], abs, np.zeros((1, 1, 1)), [1], 0.0), ValueError, "learning_rate must be"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_an_infinite_threshold_is_none():
    step = drop_step([[1, 2], [3, 4]], math.inf, 0.5)
    assert (step.time, step.completed.tolist()) == (7.5, [2, 2])
