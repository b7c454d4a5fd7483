"""Compressors that packages ship: single facts by hand, what they refuse, their sizes, and their twins."""

from fractions import Fraction

import numpy as np
import pytest

from commbounds.compressors import ScaledSign, TernGrad
from commbounds.compressors.base import index_bits
from commbounds.compressors.shipped import (
    Atomic,
    BernoulliLazy,
    ClippedTernGrad,
    QuantileBuckets,
    ReplacementRandK,
    ThreeLC,
    TwoMeans,
    UniformBuckets,
)
from commbounds.compressors.shipped.buckets import bucket_means
from commbounds.compressors.shipped.threelc import _pack, _shorten, _unpack
from commbounds.theory import claims
from commbounds.verify.definitions import shipped as naive

pytestmark = pytest.mark.kernels
DTYPES = [np.float32, np.float64]


def mean_of(law):
    n = len(law[0][1])
    return [sum(p * y[i] for p, y in law) for i in range(n)]


class TestReplacement:
    @pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 2), (4, 4), (2, 5)])
    def test_the_expected_share_is_one_minus_all_misses(self, n, k):
        # by the law, and by hand: a place is missed by every draw with probability (1 - 1/n)^k
        share = Fraction(n, k) * (1 - Fraction(n - 1, n) ** k)
        assert mean_of(ReplacementRandK(k).law(range(1, n + 1))) == [share * v for v in range(1, n + 1)]
        assert claims()["shipped.replacementrandk.bias"].bound(n=n, k=k) == 1 - share

    def test_adding_up_is_unbiased_and_overwriting_is_not(self):
        x = [3, -1, 2]
        assert mean_of(ReplacementRandK(2, added=True).law(x)) == x
        assert mean_of(ReplacementRandK(2).law(x)) == [Fraction(5, 6) * v for v in x]

    def test_a_message_holds_every_place_once(self):
        message = ReplacementRandK(4, added=True).compress_with(np.arange(1.0, 5.0), np.array([2, 0, 2, 2]))
        assert message.indices.tolist() == [0, 2]
        assert message.values.tolist() == [1.0, 9.0]
        assert message.bits == index_bits(5) + 2 * (index_bits(4) + 64)

    @pytest.mark.parametrize(
        ("picks", "error", "text"),
        [
            ([0, 1], ValueError, r"shape \(3,\)"),
            ([0, 1, 4], ValueError, r"in \[0, 3\]"),
            ([0, 1, -1], ValueError, r"in \[0, 3\]"),
            ([0.0, 1.0, 2.0], TypeError, "integers"),
        ],
    )
    def test_picks_that_are_refused(self, picks, error, text):
        with pytest.raises(error, match=text):
            ReplacementRandK(3).compress_with(np.ones(4), np.array(picks))

    def test_bad_parameters_are_refused(self):
        with pytest.raises(ValueError, match="k must be in"):
            ReplacementRandK(0)
        with pytest.raises(TypeError, match="added must be True or False"):
            ReplacementRandK(1, added=1)
        with pytest.raises(ValueError, match="must not exceed the largest float32"):
            ReplacementRandK(1)(np.full(2, 3e38, np.float32), np.random.default_rng(0))

    def test_draws_are_spread_over_all_blocks(self):
        n, k = 5, 3 * 2**16
        kept = ReplacementRandK(k, added=True).compress(np.ones(n), np.random.default_rng(1))
        times = kept.values * k / n
        assert times.sum() == pytest.approx(k)  # every draw is one place: n products and quotients of doubles
        # of a binomial with mean k/n: eight standard deviations, missed with probability below 1e-14 each
        assert np.abs(times - k / n).max() < 8 * np.sqrt(k / n)


class TestLazy:
    def test_everything_or_nothing(self):
        x = np.array([1.0, -2.0, 0.0])
        assert BernoulliLazy(Fraction(1, 4))(x, np.random.default_rng(1)).tolist() in ([0, 0, 0], [4, -8, 0])
        assert BernoulliLazy(1).compress_with(x, 1 - 2.0**-53).values.tolist() == x.tolist()
        assert BernoulliLazy(0.5).compress_with(x, 0.5).bits == 1
        assert BernoulliLazy(0.5).compress_with(x, 0.25).bits == 1 + 3 * 64

    @pytest.mark.parametrize("keep", [0, -1, 1.5, float("nan"), float("inf")])
    def test_probabilities_that_are_none_are_refused(self, keep):
        with pytest.raises(ValueError, match=r"keep must be in \(0, 1\]"):
            BernoulliLazy(keep)

    def test_what_is_no_number_is_refused(self):
        with pytest.raises(TypeError, match="keep must be a number"):
            BernoulliLazy("half")
        with pytest.raises(ValueError, match=r"u must be in \[0, 1\)"):
            BernoulliLazy(0.5).compress_with(np.ones(2), 1.0)
        with pytest.raises(ValueError, match="when divided by keep"):
            BernoulliLazy(0.25)(np.full(2, 2e38, np.float32), np.random.default_rng(0))


class TestAtomic:
    @pytest.mark.parametrize("budget", [Fraction(1, 2), 1, Fraction(3, 2), 2, 3, 10])
    @pytest.mark.parametrize("x", [(1, 1, 1), (5, 1, 0, -1), (4, -3, 2, 1), (7,)])
    def test_probabilities_add_up_to_the_budget_or_are_all_one(self, budget, x):
        law = Atomic(budget).law(x)
        assert mean_of(law) == list(x)
        support = sum(p * sum(v != 0 for v in y) for p, y in law)
        assert support == min(Fraction(budget), sum(v != 0 for v in x))

    @pytest.mark.parametrize("x", [(3, -1, 2), (4, 1, 1)])
    def test_no_other_probabilities_of_a_grid_vary_less(self, x):
        # exact second moments of all triples of twelfths that add up to the budget
        budget, twelfths = Fraction(3, 2), [Fraction(i, 12) for i in range(1, 13)]
        own = sum(p * sum(v * v for v in y) for p, y in Atomic(budget).law(x))
        for first in twelfths:
            for second in twelfths:
                third = budget - first - second
                if 0 < third <= 1:
                    chances = (first, second, third)
                    assert own <= sum(Fraction(v * v) / p for v, p in zip(x, chances, strict=True))

    def test_terngrad_is_the_budget_norm1_over_norminf(self):
        x = (4, -1, 2, 0)
        assert sorted(Atomic(Fraction(7, 4)).law(x)) == sorted(TernGrad().law(x))

    @pytest.mark.parametrize("budget", [0, -2, float("inf"), float("nan")])
    def test_budgets_that_are_refused(self, budget):
        with pytest.raises(ValueError, match="budget must be positive and finite"):
            Atomic(budget)


class TestClipped:
    def test_equal_entries_vanish_whatever_they_are(self):
        for value in (1.0, -3e38, 1e-40):
            x = np.full(5, value, np.float32)
            assert not ClippedTernGrad()(x, np.random.default_rng(0)).any()
            assert not ClippedTernGrad(1e300)(x, np.random.default_rng(0)).any()
        assert ClippedTernGrad().law([2, 2]) == [(1, (0, 0))]

    def test_one_entry_among_many_is_lost(self):
        x = np.zeros(100)
        x[3] = 1.0
        assert ClippedTernGrad()(x, np.random.default_rng(0))[3] == pytest.approx(2.5 * np.sqrt(99) / 100, rel=1e-12)
        assert TernGrad()(x, np.random.default_rng(0))[3] == 1.0

    @pytest.mark.parametrize("clip", [0, -1, float("nan"), float("inf")])
    def test_bounds_that_are_refused(self, clip):
        with pytest.raises(ValueError, match="clip must be positive and finite"):
            ClippedTernGrad(clip)


class TestOneBit:
    def test_means_of_both_signs(self):
        assert TwoMeans()(np.array([1.0, -2.0, 3.0, 0.0])).tolist() == pytest.approx([4 / 3, -2, 4 / 3, 4 / 3])
        assert TwoMeans()(np.array([-1.0, -3.0])).tolist() == [-2, -2]

    @pytest.mark.parametrize("seed", range(5))
    def test_it_is_never_farther_than_scaled_signs(self, seed):
        x = np.random.default_rng(seed).standard_normal(50) + seed
        assert np.linalg.norm(TwoMeans()(x) - x) <= np.linalg.norm(ScaledSign()(x) - x)


class TestBuckets:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_sums_are_compensated(self, dtype):
        x = np.array([1e30, 1.0, -1e30, 1.0], dtype)
        assert bucket_means(x, np.zeros(4, np.int16), 1).tolist() == [0.5]

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_means_at_both_ends_of_the_range(self, dtype):
        top, small = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
        codes = np.zeros(3, np.int16)
        assert bucket_means(np.full(3, top, dtype), codes, 2).tolist() == [top, 0]
        assert bucket_means(np.full(3, small, dtype), codes, 2).tolist() == [small, 0]

    @pytest.mark.parametrize("make", [UniformBuckets, QuantileBuckets])
    def test_equal_entries_and_one_alone_are_reproduced(self, make):
        for x in ([5.0], [0.0, 0.0], [-2.5] * 7):
            assert make()(np.array(x)).tolist() == x

    def test_up_to_as_many_entries_as_buckets_are_reproduced(self):
        x = np.random.default_rng(3).standard_normal(256).astype(np.float32)
        assert QuantileBuckets()(x).tolist() == x.tolist()
        y = np.arange(257.0)
        assert QuantileBuckets()(y)[:3].tolist() == [0.5, 0.5, 2.0]

    def test_two_outliers_share_a_bucket_and_one_is_reproduced(self):
        x = np.zeros(100)
        x[0] = 3.0
        assert UniformBuckets()(x)[0] == 3.0
        x[1] = 1.0
        assert UniformBuckets()(x)[:2].tolist() == [2.0, 2.0]

    @pytest.mark.parametrize("make", [UniformBuckets, QuantileBuckets])
    @pytest.mark.parametrize("buckets", [1, 0, 2**15])
    def test_numbers_of_buckets_that_are_refused(self, make, buckets):
        with pytest.raises(ValueError, match="buckets must be in"):
            make(buckets)


class TestThreeLC:
    def test_halves_round_away_from_zero(self):
        assert ThreeLC(1)(np.array([4.0, 2.0, -2.0, 1.9])).tolist() == [4, 4, -4, 0]
        assert ThreeLC(1.5)(np.array([4.0, 3.0, 2.9])).tolist() == [6, 6, 0]

    @pytest.mark.parametrize("count", [1, 4, 5, 6, 10, 69, 70, 71, 75, 140, 145, 350])
    def test_bytes_of_zeros(self, count):
        message = ThreeLC().compress(np.zeros(count, np.float32))
        assert message.bits == claims()["shipped.threelc.zeros"].bound(n=count, itembits=32)
        assert message.packed.tolist() == naive.with_runs([121] * -(-count // 5))

    @pytest.mark.parametrize("sparsity", [0.5, 2, 2.5, float("nan")])
    def test_multipliers_that_are_refused(self, sparsity):
        with pytest.raises(ValueError, match=r"sparsity must be in \[1, 2\)"):
            ThreeLC(sparsity)

    def test_a_scale_that_would_overflow_is_refused(self):
        with pytest.raises(ValueError, match=r"when multiplied by 1\.5"):
            ThreeLC(1.5).compress(np.full(2, 3e38, np.float32))

    def test_the_kernels_agree_with_their_own_source(self):
        x, plain = np.array([1.0, 0.0, -0.5, 0.4, 0.0] + [0.0] * 30 + [1.0]), np.empty((2, 8), np.uint8)
        for kernel, out in zip((_pack, getattr(_pack, "py_func", _pack)), plain, strict=True):
            kernel(x, 1.0, out)
        assert plain[0].tolist() == plain[1].tolist()
        short = np.zeros((2, 8), np.uint8)
        sizes = {
            int(kernel(plain[0], out))
            for kernel, out in zip((_shorten, getattr(_shorten, "py_func", _shorten)), short, strict=True)
        }
        assert len(sizes) == 1
        read = np.empty((2, x.size))
        for kernel, out in zip((_unpack, getattr(_unpack, "py_func", _unpack)), read, strict=True):
            kernel(short[0, : sizes.copy().pop()], 1.0, out)
        assert read[0].tolist() == read[1].tolist() == ThreeLC(1)(x).tolist()
