"""The conditions on inputs and compressors draw their lines where they say."""

from fractions import Fraction

import numpy as np
import pytest

from commbounds.compressors import LowRank, RandK, StochasticPower, TopK
from commbounds.theory import hypotheses as h

FLOATS = (np.float32, np.float64)


@pytest.mark.parametrize("dtype", FLOATS)
def test_ranges_end_where_the_dtype_says(dtype):
    kind = np.finfo(dtype)
    power = dtype(2.0) ** (kind.maxexp - 1)
    ends = {
        h.NORMAL_ENTRIES: (kind.tiny, kind.max),
        h.WITHIN_LARGEST_POWER: (kind.smallest_subnormal, power),
        h.FACTOR_POWER_OF_TWO: (4 * kind.tiny, power / 2),
    }
    for hypothesis, (low, high) in ends.items():
        assert hypothesis.admits(x=np.array([0.0, low, -high], dtype))
        assert hypothesis.admits(x=np.zeros(2, dtype))
    assert not h.NORMAL_ENTRIES.admits(x=np.array([1.0, kind.tiny / 2], dtype))
    assert not h.WITHIN_LARGEST_POWER.admits(x=np.array([-1.5 * power], dtype))
    assert not h.FACTOR_POWER_OF_TWO.admits(x=np.array([2 * kind.tiny], dtype))
    assert not h.FACTOR_POWER_OF_TWO.admits(x=np.array([power], dtype))


@pytest.mark.parametrize(("dtype", "top"), [(np.float32, 1e19), (np.float64, 1e154)])
def test_squares_of_the_middle_range_are_normal_numbers(dtype, top):
    assert h.MIDDLE_RANGE.admits(x=np.array([top, -10 / top, 0.0], dtype))
    assert not h.MIDDLE_RANGE.admits(x=np.array([10 * top], dtype))
    assert not h.MIDDLE_RANGE.admits(x=np.array([0.1 / top], dtype))


def test_zeros():
    zero, one, two = np.zeros(3), np.eye(3)[0], np.array([1.0, 0.0, 2.0])
    assert [h.NONZERO.admits(x=x) for x in (zero, one, two)] == [False, True, True]
    assert [h.ONE_SPARSE.admits(x=x) for x in (zero, one, two)] == [False, True, False]
    assert [h.NO_ZERO_ENTRIES.admits(x=x) for x in (zero, two, two + 1)] == [False, False, True]


def test_powers_of_two():
    assert h.POWER_ENTRIES.admits(x=np.array([0.5, -4.0, 0.0]))
    assert not h.POWER_ENTRIES.admits(x=np.array([0.5, 3.0]))
    assert not h.POWER_ENTRIES.admits(x=np.array([2.0**-130], np.float32))  # subnormal


def test_a_norm_fits_up_to_the_largest_number():
    largest = float(np.finfo(np.float32).max)
    assert h.NORM_FITS.admits(x=np.zeros(2, np.float32))
    assert h.NORM_FITS.admits(x=np.array([0.6 * largest, 0.7 * largest], np.float32))
    assert not h.NORM_FITS.admits(x=np.array([0.8 * largest, 0.8 * largest], np.float32))
    assert h.NORM_FITS.admits(x=np.array([1e308, 1e308]))
    assert not h.NORM_FITS.admits(x=np.array([1.5e308, 1.5e308]))


def test_a_gain_fits_where_there_is_none_or_its_product_is_a_number():
    x = np.full(4, 1e38, np.float32)
    assert h.GAIN_FITS.admits(compressor=RandK(2), x=x)
    assert not h.GAIN_FITS.admits(compressor=RandK(1), x=x)
    assert h.GAIN_FITS.admits(compressor=RandK(1, scaled=False), x=x)
    with pytest.raises(ValueError, match="must not exceed the largest float32"):
        RandK(1)(x, np.random.default_rng(0))


@pytest.mark.parametrize("dtype", FLOATS)
def test_levels_on_either_side(dtype):
    kind, c = np.finfo(dtype), StochasticPower(3)
    assert h.WITHIN_LEVELS.admits(compressor=c, x=np.array([3.1 * kind.tiny, kind.max / 3.1, 0.0], dtype))
    assert not h.WITHIN_LEVELS.admits(compressor=c, x=np.array([kind.tiny], dtype))
    assert not h.WITHIN_LEVELS.admits(compressor=c, x=np.array([kind.max], dtype))
    up = np.array([kind.max / 5], dtype)
    for base, exact, admitted in ((2, False, True), (4, False, False), (3, False, False), (Fraction(3, 2), True, True)):
        assert h.FACTOR_POWER_OF_BASE.admits(compressor=StochasticPower(base), x=up, exact=exact) is admitted


def test_a_spectral_gap_is_one_per_cent():
    gaps = {ratio: np.diag([1.0, 1.0 / ratio]) for ratio in (1.0, 1.005, 1.02)}
    assert [h.SPECTRAL_GAP.admits(compressor=LowRank(1), x=x) for x in gaps.values()] == [False, False, True]
    assert h.SPECTRAL_GAP.admits(compressor=LowRank(2), x=gaps[1.0])
    assert h.SPECTRAL_GAP.admits(compressor=LowRank(1), x=np.zeros((2, 2)))


def test_an_average_is_zero_only_where_it_is():
    assert not h.NONZERO_AVERAGE.admits(x=np.array([[1.0, -2.0], [-1.0, 2.0]]))
    assert h.NONZERO_AVERAGE.admits(x=np.array([[1e16, 1.0], [1.0, -1.0], [-1e16, 0.0]]))  # lost in a sum of floats


def test_the_two_workers():
    x = np.array([[1.25, -1.0], [-1.0, 1.25]])
    assert h.TWO_WORKERS.admits(compressor=TopK(1), x=x)
    assert not h.TWO_WORKERS.admits(compressor=TopK(2), x=x)
    assert not h.TWO_WORKERS.admits(compressor=TopK(1), x=x - 0.25)
    assert not h.TWO_WORKERS.admits(compressor=TopK(1), x=np.ones((3, 2)))
