"""Sequential tests with a learnt range, and with a claimed variance."""

import math

import numpy as np
import pytest

from commbounds.verify.conformance.streams import SEEN, Catoni, LearntRangeTest, Range
from commbounds.verify.sequential import BETS

ALARM = math.log(1e6)
ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Of fewer than sixteen operations."""


def rare(rng, count, p):
    return np.where(rng.random(count) < p, 1 / p - 1, -1.0)


RIGHT = {
    "normal": lambda rng, count: rng.standard_normal(count),
    "square of a normal": lambda rng, count: rng.standard_normal(count) ** 2 - 1,
    "1 in 50": lambda rng, count: rare(rng, count, 1 / 50),
    "1 in 500": lambda rng, count: rare(rng, count, 1 / 500),
    "infinite third moment": lambda rng, count: rng.pareto(2.5, count) - 1 / 1.5,
    "infinite variance": lambda rng, count: rng.pareto(1.5, count) - 2,
    "lognormal": lambda rng, count: np.exp(2 * rng.standard_normal(count)) - math.exp(2),
}
"""Laws with mean zero."""


@pytest.mark.parametrize("name", RIGHT)
def test_right_means_raise_no_alarm_however_heavy_the_tails(name):
    """Under the assumption a right law raises one of these hundred with probability at most 1e-4 (Ville)."""
    rng = np.random.default_rng(7)
    largest = 0.0
    for _ in range(100):
        stream = LearntRangeTest(150)
        for _ in range(4):
            stream.feed(RIGHT[name](rng, 500))
        largest = max(largest, stream.log_e)
    assert largest < ALARM


@pytest.mark.parametrize("name", ["normal", "square of a normal", "1 in 50"])
def test_what_it_says_it_detects_is_detected(name):
    rng = np.random.default_rng(8)
    plain = LearntRangeTest(600)
    plain.feed(RIGHT[name](rng, 4000))
    shift = plain.detects(1e-6)
    missed = 0
    for _ in range(60):
        stream = LearntRangeTest(600)
        stream.feed(RIGHT[name](rng, 4000) + shift)
        missed += stream.log_e < ALARM
    assert missed <= 6  # with misses at the rate 0.01, more come with probability 1e-6


def test_a_range_is_known_once_both_halves_were_visited():
    assert not Range(np.zeros(100)).known
    assert not Range(np.r_[np.zeros(100), np.ones(SEEN - 1)]).known
    edged = Range(np.r_[np.zeros(100), np.ones(SEEN)])
    assert edged.known
    assert edged.ends == pytest.approx((-0.05, 1.05), rel=ROUNDING)
    spread = Range(np.linspace(0, 1, 100))
    assert spread.ends == (-0.5, 1.5)


def test_a_mean_out_of_sight_may_come_back_seldom():
    assert Range(np.r_[np.full(50, -3.0), np.full(50, -2.0)]).ends == pytest.approx((-3.05, 100.0), rel=ROUNDING)
    assert Range(np.r_[np.full(50, 3.0), np.full(50, 2.0)]).ends == pytest.approx((-100.0, 3.05), rel=ROUNDING)


def test_a_deviation_beyond_the_range_ends_a_test_and_begins_another():
    stream = LearntRangeTest(40)
    stream.feed(np.tile([-1.0, 1.0], 50))
    assert stream.epochs == 1
    stream.feed(np.array([1000.0]))
    assert stream.epochs == 1
    stream.feed(np.tile([-1000.0, 1000.0], 50))
    assert stream.epochs == 2
    assert stream.detects(1e-6) > 100
    assert stream.count == 201


def test_rounding_is_no_violation():
    strict, roomy = LearntRangeTest(50), LearntRangeTest(50, allowance=0.02)
    draws = 0.02 + 0.1 * np.tile([-1.0, 1.0], 5000)
    strict.feed(draws)
    roomy.feed(draws)
    assert strict.log_e > ALARM > roomy.log_e


def test_nothing_is_judged_before_the_range_is_known():
    stream = LearntRangeTest(10)
    stream.feed(np.full(1000, -1.0))
    assert (stream.epochs, stream.log_e, stream.detects(1e-6)) == (0, 0.0, math.inf)
    given = LearntRangeTest(10, ends=(-2.0, 2.0))
    given.feed(np.full(1000, -1.0))
    assert given.log_e > ALARM


def test_the_wealth_of_catoni_is_a_supermartingale_for_every_law_of_that_variance():
    # exactly: E exp(phi(l D)) <= exp(l^2 v / 2), for two-point laws of mean zero and variance 1 up to extreme skew
    bets = 4.0 * 0.5 ** np.arange(BETS)
    for p in (0.5, 0.1, 1e-2, 1e-4, 1e-8):
        high, low = math.sqrt((1 - p) / p), -math.sqrt(p / (1 - p))
        for sign in (1.0, -1.0):
            z = np.outer([high, low], bets) * sign
            grown = np.exp(np.copysign(np.log1p(np.abs(z) + z**2 / 2), z))
            assert (
                p * grown[0] + (1 - p) * grown[1] <= np.exp(bets**2 / 2) * (1 + 4 * ROUNDING)
            ).all()  # some thirty roundings


def test_catoni_finds_what_it_says_and_keeps_still_otherwise():
    rng = np.random.default_rng(9)
    shift = 0.0
    for name in ("normal", "square of a normal", "1 in 50"):
        variance = {"normal": 1.0, "square of a normal": 2.0, "1 in 50": 49.0}[name]
        still, moved = Catoni(variance), Catoni(variance)
        still.feed(RIGHT[name](rng, 4000))
        shift = still.detects(1e-6)
        moved.feed(RIGHT[name](rng, 4000) - shift)
        assert still.log_e < ALARM < moved.log_e
        # six standard errors: a normal mean is farther off with probability 2e-9
        assert abs(moved.mean + shift) <= 6.0 * math.sqrt(variance / 4000)


def test_batches_do_not_matter_once_the_range_is_known():
    draws = np.random.default_rng(11).standard_normal(3000)
    whole, parts = LearntRangeTest(300), LearntRangeTest(300)
    whole.feed(draws)
    for part in np.split(draws, [300, 301, 1000]):
        parts.feed(part)
    assert parts.log_e == whole.log_e
    assert parts.count == whole.count == 3000


def test_what_is_not_finite_has_no_range():
    with pytest.raises(ValueError, match="draws must be finite"):
        Range(np.array([0.0, np.nan]))
