"""The betting tests: exact on small laws, and by simulation at stated error rates."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from strategies import finite_laws

from commbounds.verify.sequential import SecondMomentTest, SequentialTest, WeightedSum, detectable_violation

META = 1e-6
"""Rate at which each simulation below raises an alarm about a test that is right."""


def mean(law):
    return sum((p * v for p, v in law), Fraction(0))


def centred(law, low, high):
    """The law shifted to mean zero, with the range that [low, high] becomes."""
    m = mean(law)
    return [(p, v - m) for p, v in law], low - m, high - m


def wealth_paths(test, law, length):
    """(probability, wealth after every step) of every path, in exact arithmetic with the bets that the test makes."""
    bets = [Fraction(float(b)) for b in test._bets]
    for path in itertools.product(law, repeat=length):
        wealth, run = [Fraction(1)] * len(bets), []
        for _, value in path:
            wealth = [w * (1 + b * value) for w, b in zip(wealth, bets, strict=True)]
            assert min(wealth) > 0
            run.append(sum(wealth) / len(bets))
        yield math.prod((p for p, _ in path), start=Fraction(1)), run


@settings(max_examples=20)
@given(finite_laws(), st.booleans())
def test_wealth_is_a_martingale_under_mean_zero_and_passes_no_level_too_often(law, two_sided):
    law, low, high = centred(law, -1, 2)
    assume(low < 0 < high)
    test = SequentialTest(float(low), float(high) if two_sided else math.inf, two_sided)
    paths = list(wealth_paths(test, law, 3))
    for step in range(3):
        assert sum(p * run[step] for p, run in paths) == 1
    for level in (Fraction(21, 20), Fraction(3, 2), Fraction(2), Fraction(4)):
        assert sum(p for p, run in paths if max(run) >= level) * level <= 1


@settings(max_examples=20)
@given(finite_laws(), st.fractions(min_value=0, max_value=1, max_denominator=8))
def test_wealth_of_the_one_sided_test_falls_where_the_mean_does(law, drop):
    law, low, _ = centred(law, -1, 2)
    law = [(p, v - drop) for p, v in law]
    assume(low - drop < 0)
    test = SequentialTest(float(low - drop), math.inf)
    previous = Fraction(1)
    for length in (1, 2):
        expected = sum(p * run[-1] for p, run in wealth_paths(test, law, length))
        assert expected <= previous
        assert (expected < previous) == (drop > 0)
        previous = expected


@settings(max_examples=20)
@given(finite_laws(), st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_the_kernel_follows_the_exact_wealth(law, choices):
    law, low, high = centred(law, -1, 2)
    assume(low < 0 < high)
    test = SequentialTest(float(low), float(high), two_sided=True)
    values = [law[i % len(law)][1] for i in choices]
    test.feed(np.array([float(v) for v in values]))
    wealth, peak = [Fraction(1)] * len(test._bets), Fraction(1)
    for value in values:
        wealth = [w * (1 + Fraction(float(b)) * value) for w, b in zip(wealth, test._bets, strict=True)]
        peak = max(peak, sum(wealth) / len(wealth))
    # a rounding in each logarithm, product and sum of 30 steps
    assert math.isclose(test.log_e, math.log(peak), abs_tol=30 * 32 * 2.0**-50)


def test_batches_do_not_matter():
    deviations = np.random.default_rng(0).uniform(-1, 1, 1000)
    whole, parts = (SequentialTest(-1.0, 1.0, two_sided=True) for _ in range(2))
    whole.feed(deviations)
    for part in np.split(deviations, [1, 2, 400]):
        parts.feed(part)
    assert parts.log_e == whole.log_e
    assert parts.count == whole.count == 1000
    assert math.isclose(parts.deviation, deviations.std(), rel_tol=1e-12)


def draw(kind, rng, shape, shift):
    """Deviations in [-1, 1] with mean `shift`."""
    if kind == "signs":
        return np.where(rng.random(shape) < (1 + shift) / 2, 1.0, -1.0)
    if kind == "uniform":
        return rng.uniform(-0.58, 0.58, shape) + shift
    # rare and large: 0.54 with probability 1/10, else -0.06
    return np.where(rng.random(shape) < 0.1, 0.54, -0.06) + shift


SD = {"signs": 1.0, "uniform": 0.58 / math.sqrt(3), "skewed": 0.18}


def alarms(kind, seed, runs, count, alpha, shift, two_sided):
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(runs):
        test = SequentialTest(-1.0, 1.0 if two_sided else math.inf, two_sided)
        test.feed(draw(kind, rng, count, shift))
        found += test.refutes(alpha)
    return found


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("kind", SD)
def test_false_alarms_are_as_rare_as_declared(kind, two_sided):
    alpha = 0.02
    # Runs until a test with alarms three times too often is found out with probability 0.99, at the rate META.
    runs = next(
        r for r in range(100, 10_000, 50) if stats.binom.sf(stats.binom.isf(META, r, alpha), r, 3 * alpha) >= 0.99
    )
    most = stats.binom.isf(META, runs, alpha)
    assert alarms(kind, 1, runs, 400, alpha, 0.0, two_sided) <= most


@pytest.mark.parametrize("count", [800, 3000])
@pytest.mark.parametrize("kind", SD)
def test_the_detectable_violation_is_detected(kind, count):
    alpha, runs = 1e-8, 300
    shift = detectable_violation(SD[kind], count, alpha, 1.0)
    assert 0 < shift < 0.42  # where the draws stay in [-1, 1]
    missed = runs - alarms(kind, 2, runs, count, alpha, shift, two_sided=True)
    # Where each run detects it with probability 0.99, more misses than this come with probability META at most.
    assert missed <= stats.binom.isf(META, runs, 0.01)
    # and the number says something: a third of it is missed more often than not
    assert alarms(kind, 3, runs, count, alpha, shift / 3, two_sided=True) < runs / 2


def test_both_sides_are_seen_by_the_two_sided_test_alone():
    below = np.full(400, -0.3)
    one, two = SequentialTest(-1.0, 1.0), SequentialTest(-1.0, 1.0, two_sided=True)
    one.feed(below)
    two.feed(below)
    assert not one.refutes(0.5)
    assert two.refutes(1e-6)
    above = SequentialTest(-1.0, math.inf)
    above.feed(-below)
    assert above.refutes(1e-6)
    assert above.e_value == math.exp(above.log_e)


def test_an_alarm_stays():
    test = SequentialTest(-1.0, math.inf)
    test.feed(np.full(200, 0.5))
    peak = test.log_e
    test.feed(np.full(2000, -0.5))
    assert test.log_e == peak
    assert test.refutes(1e-6)


def test_wealth_too_large_for_a_float_is_capped():
    test = SequentialTest(-1.0, math.inf)
    test.feed(np.full(100, 1e30))
    assert test.log_e > 700
    assert test.e_value == math.exp(math.log(1e300))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 0.0), (1.0, 2.0), (math.nan, 1.0), (-1.0, -2.0)])
def test_ranges_without_zero_inside_are_refused(low, high):
    with pytest.raises(ValueError, match="the range must contain zero inside"):
        SequentialTest(low, high)


def test_a_two_sided_test_needs_a_finite_range():
    with pytest.raises(ValueError, match="needs a finite high"):
        SequentialTest(-1.0, math.inf, two_sided=True)


@pytest.mark.parametrize("value", [-1.01, 2.01])
def test_observations_outside_the_range_are_refused(value):
    test = SequentialTest(-1.0, 2.0, two_sided=True)
    with pytest.raises(ValueError, match=r"outside its sure range \[-1, 2\]"):
        test.feed(np.array([0.0, value]))
    assert test.count == 0


def test_nothing_is_known_before_the_first_observation():
    test = SequentialTest(-1.0, 1.0)
    test.feed(np.empty(0))
    assert (test.count, test.deviation, test.log_e, test.e_value) == (0, 0.0, 0.0, 1.0)
    assert detectable_violation(1.0, 0, 1e-6, 1.0) == math.inf


def test_more_observations_detect_less_and_no_noise_the_least():
    shifts = [detectable_violation(1.0, count, 1e-8, 1.0) for count in (10, 100, 1000, 10**6)]
    assert shifts == sorted(shifts, reverse=True)
    assert detectable_violation(0.0, 1000, 1e-8, 1.0) < shifts[2]
    assert detectable_violation(1.0, 1000, 1e-4, 1.0) < shifts[2]


def test_a_bet_without_a_range_has_mean_at_most_one():
    """Where the mean is zero and the mean square one, whatever the range: exactly, on two points."""
    bets = np.concatenate([0.5 ** np.arange(12), -(0.5 ** np.arange(12))])
    allowance = (bets.size + 12) * 2.0**-52  # 24 terms are added, of a dozen operations each
    for far in (1.0, 3.0, 1e3):  # far with probability 1/(1 + far^2), else -1/far
        values, odds = np.array([far, -1 / far]), np.array([1.0, far**2]) / (1 + far**2)
        wealth = []
        for value in values:
            test = SecondMomentTest()
            test.feed(value)
            stakes = bets * value
            wealth.append(((1 + stakes + stakes**2 / 2) / (1 + bets**2 / 2)).mean())
            assert test.log_e == pytest.approx(max(math.log(wealth[-1]), 0.0), rel=allowance, abs=allowance)
        assert odds @ wealth == pytest.approx(1.0, rel=allowance, abs=0)


@pytest.mark.parametrize("shift", [-0.3, 0.0, 0.3])
def test_a_bet_without_a_range_sees_a_shifted_mean(shift):
    """Without a shift a test at 1e-6 refutes for one seed of a million, at most."""
    test = SecondMomentTest()
    for value in np.random.default_rng(0).standard_t(5, 2000) / math.sqrt(5 / 3) + shift:
        test.feed(value)
    assert test.refutes(1e-6) == (shift != 0)


def test_a_weighted_sum_needs_no_independence():
    never, first = WeightedSum(), WeightedSum()
    for _ in range(10_000):
        never.feed(1.0)
    assert not never.refutes(1 - 1e-4)
    first.feed(2e6)
    assert first.refutes(1e-6)
    assert not first.refutes(1e-7)
