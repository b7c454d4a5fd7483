"""The test of draws against a whole law: exact on small laws, and it sees what single entries hide."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtri

from commbounds.compressors import QSGD, RandK
from commbounds.verify.joint_law import detectable_divergence, joint_log_e

HALF = Fraction(1, 2)
COINS = [(HALF, (0,)), (HALF, (1,))]
LOADED = [(Fraction(1, 6), (0, 1)), (Fraction(1, 3), (1, 0)), (HALF, (1, 1))]


def exact_wealths(law, path):
    """The bettor's wealth after every draw of the path of outcomes, as Fractions."""
    counts, wealth, run = [HALF] * len(law), Fraction(1), []
    for j in path:
        wealth *= counts[j] / sum(counts) / law[j][0]
        counts[j] += 1
        run.append(wealth)
    return run


@pytest.mark.parametrize("law", [COINS, LOADED], ids=["coins", "loaded"])
def test_the_wealth_is_a_martingale_and_the_code_follows_it(law):
    expected = Fraction(0)
    for path in itertools.product(range(len(law)), repeat=5):
        run = exact_wealths(law, path)
        expected += math.prod((law[j][0] for j in path), start=Fraction(1)) * run[-1]
        log_e = joint_log_e(law, [np.array(law[j][1], float) for j in path])
        # five times five operations, on logarithms below 8
        assert log_e == pytest.approx(max(0.0, math.log(max(run))), abs=25 * 8 * 2.0**-53)
    assert expected == 1


def test_an_output_that_the_law_does_not_know_is_impossible():
    assert joint_log_e(COINS, [np.array([0.0]), np.array([2.0])]) == math.inf
    assert joint_log_e(COINS, [np.array([1.0 + 1e-7])]) < math.inf  # rounding


def test_right_draws_earn_nothing_and_loaded_ones_their_divergence():
    rng = np.random.default_rng(0)
    fair, loaded = (rng.random(2000) < p for p in (0.5, 0.6))
    assert joint_log_e(COINS, fair.astype(float)[:, None]) < math.log(1e9)
    divergence = 0.6 * math.log(1.2) + 0.4 * math.log(0.8)
    log_e = joint_log_e(COINS, loaded.astype(float)[:, None])
    # earned on average, give or take five standard deviations, less the price of not knowing the bias
    spread = 5 * math.sqrt(2000 * 0.6 * 0.4) * math.log(1.5)
    assert abs(log_e - 2000 * divergence) < spread + math.log(2) + math.log(2000) / 2 + 1


def test_entries_with_the_right_laws_and_the_wrong_joint_one_are_found_out():
    x = np.array([1.0, -4.0, 3.0, 7.0, 5.0])
    c, rng = QSGD(1), np.random.default_rng(1)
    law = c.law([1, -4, 3, 7, 5])
    own = [c.decompress(c.compress_with(x, rng.random(5))) for _ in range(1500)]
    shared = [c.decompress(c.compress_with(x, np.full(5, rng.random()))) for _ in range(1500)]
    assert joint_log_e(law, own) < math.log(1e9) < joint_log_e(law, shared)
    for draws in (own, shared):  # both have the right mean, entry by entry
        assert np.abs(np.mean(draws, axis=0) - x).max() < 10 * 10 / math.sqrt(1500)


def test_neighbours_are_no_uniform_subset():
    x, rng = np.arange(1.0, 6.0), np.random.default_rng(2)
    law = RandK(2).law([1, 2, 3, 4, 5])
    windows = []
    for start in rng.integers(5, size=500):
        y = np.zeros(5)
        y[[start, (start + 1) % 5]] = 2.5 * x[[start, (start + 1) % 5]]
        windows.append(y)
    # Half of the subsets never come: log 2 a draw, less what the code of ten letters pays for not knowing their
    # probabilities. The draws' own divergence from evenness, twice of which is chi-square, adds to it once in 10^9.
    earned = joint_log_e(law, windows) - 500 * math.log(2)
    assert -9 / 2 * math.log(500) - math.log(10) <= earned <= float(chdtri(4, 1e-9)) / 2


def test_what_is_no_number_is_no_outcome():
    assert joint_log_e(COINS, [np.array([np.nan])]) == math.inf


@pytest.mark.wide  # five seconds and more
def test_the_detectable_divergence_is_detected_and_a_tenth_of_it_is_not():
    count, alpha = 2000, 1e-8
    divergence = detectable_divergence(2, count, alpha)
    # 1/2 + v has divergence 2 v^2 + O(v^4) from 1/2; the rate of misses among 100 runs is at most 0.01 each
    rng = np.random.default_rng(3)

    def found(d):
        v = math.sqrt(d / 2)
        draws = (rng.random((100, count)) < 0.5 + v).astype(float)
        return sum(joint_log_e(COINS, run[:, None]) >= -math.log(alpha) for run in draws)

    assert found(divergence) >= 100 - 8  # more than 8 misses: probability 1e-6
    assert found(divergence / 10) <= 50
    assert detectable_divergence(2, 0, alpha) == math.inf
    assert detectable_divergence(2, 100 * count, alpha) < divergence / 50
