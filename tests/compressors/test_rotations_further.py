"""Kashin's representation, subtractive dithering, signs after any rotation and rounding with feedback."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commbounds.compressors.rotations import dithered_hadamard, from_kashin, kashin, ldl, ldlq, rotated_signs
from commbounds.verify.definitions import rotations as naive

pytestmark = pytest.mark.kernels

EPS = float(np.finfo(np.float64).eps)
ENTRIES = st.lists(st.integers(-9, 9), min_size=1, max_size=6)


def signs_for(x, seed):
    return np.random.default_rng([seed, len(x)]).choice((-1, 1), len(x))


@given(ENTRIES, st.integers(0, 9), st.integers(1, 4))
def test_exact_coefficients_give_the_vector_back(x, seed, rounds):
    signs, array = signs_for(x, seed), np.array(x, np.float64)
    a = kashin(array, signs, rounds, 0.5, 0.5)
    assert np.allclose(from_kashin(a, signs), array, rtol=0, atol=64 * a.size * rounds * EPS * np.abs(array).max())


def test_eleven_entries_get_a_larger_range_than_by_the_hadamard_transform():
    x = [-1, 1, -1, 1, 0, 1, -1, -1, -1, 0, 1]
    plain = max(abs(v) for v in naive.rotated(x, [1] * 11)) / 4
    found = np.abs(kashin(np.array(x, float), [1] * 11, 3, 0.9, 11 / 16)).max()
    assert 1.0345 < found / float(plain) < 1.0346


def test_the_default_level_leaves_more_than_nine_tenths():
    x, signs = np.array([1.0] * 256 + [0.0] * 44), np.ones(300, int)
    left = x - from_kashin(kashin(x, signs, 1, 0.9, 300 / 512, exact=False), signs)
    # two coefficients of 256/sqrt(512), clipped at 16/sqrt(300), and both images are the ones
    assert math.isclose(np.linalg.norm(left) / 16, 1 - math.sqrt(2 / 300), rel_tol=1e-12)


def test_one_offset_gathers_its_errors_at_the_first_entry_exactly():
    """By hand: four rotated entries of 1/2, whose errors are 1/4 each for the offset 1/4: the first has twice that."""
    _, estimate = dithered_hadamard(np.array([1.0, 0, 0, 0]), [1, 1, 1, 1], 0.25, 1.0)
    assert estimate.tolist() == [1.5, 0.0, 0.0, 0.0]


def test_the_errors_of_two_and_three_entries_are_those_of_the_integral():
    """Another way: n (n - 2) times the integral of t erfcx(t/sqrt 2)^n, less one; two entries by their angle."""
    from scipy.integrate import quad
    from scipy.special import erfcx

    three = 3 * quad(lambda t: t * erfcx(t / math.sqrt(2)) ** 3, 0, math.inf)[0] - 1
    assert math.isclose(three, 6 * math.sqrt(2) * math.log(1 + math.sqrt(2)) / math.pi - 2, rel_tol=1e-8)
    two = 2 * quad(lambda t: 1 / (1 + math.sin(t)), 0, math.pi / 2)[0] * 2 / math.pi - 1
    assert math.isclose(two, 4 / math.pi - 1, rel_tol=1e-12)


@given(st.lists(st.integers(-4, 4), min_size=3, max_size=3))
def test_elimination_finds_the_factors(below):
    L = [[1, 0, 0], [below[0], 1, 0], [below[1], below[2], 1]]
    H = np.array(L, float) @ np.diag([4.0, 2.0, 1.0]) @ np.array(L, float).T
    found, pivots = ldl(H)
    assert found.tolist() == L
    assert pivots.tolist() == [4.0, 2.0, 1.0]


def test_three_quarters_fare_worse_with_feedback():
    half = Fraction(1, 2)
    # r = (1/2, 1/2, -1/4) at the pivots 64, 1, 1; to nearest, r = (0, -1/2, -1/4)
    assert 64 * half**2 + half**2 + Fraction(1, 16) == Fraction(261, 16)
    L = np.array([[1, 0, 0], [-0.5, 1, 0], [-0.5, 1, 1]])
    assert ldlq(np.full(3, 0.25), L @ np.diag([64.0, 1, 1]) @ L.T).tolist() == [1, 1, 0]


EYE, QUARTER = np.eye(2), np.array([0.25, 0.25])
WRONG = [
    (lambda: kashin([1, 2], [1, 1]), TypeError, "x must be float"),
    (lambda: kashin(np.array([1.0, np.nan]), [1, 1]), ValueError, "x must be finite"),
    (lambda: kashin(np.ones(2), [1, 0]), ValueError, "signs must be -1 or 1"),
    (lambda: kashin(np.ones(2), [1, 1], 0), ValueError, "rounds must be in"),
    (lambda: kashin(np.ones(2), [1, 1], 1, 1.0), ValueError, "eta must be in"),
    (lambda: kashin(np.ones(2), [1, 1], 1, 0.5, 0.0), ValueError, "delta must be in"),
    (lambda: kashin(np.ones(2), [1, 1], 1, 0.5, math.nan), ValueError, "delta must be in"),
    (lambda: kashin(np.ones(2), [1, 1], 1, 0.5, exact=1), TypeError, "exact must be"),
    (lambda: kashin(np.ones(3), [1, 1, 1], length=2), ValueError, "length must be in"),
    (lambda: kashin(np.ones(3), [1, 1, 1], length=6), ValueError, "length must be a power of two"),
    (lambda: kashin(np.full(4, 1.7e308), [1] * 4), ValueError, "scale x down"),
    (lambda: from_kashin(np.ones(3), [1]), ValueError, "as many as a power of two"),
    (lambda: from_kashin(np.ones(2), [1] * 3), ValueError, "signs must be 1 to 2"),
    (lambda: dithered_hadamard(np.ones(2), [1, 1], [0.1] * 3, 1.0), ValueError, "offsets must be one number"),
    (lambda: dithered_hadamard(np.ones(2), [1, 1], 0.5, 1.0), ValueError, "offsets must be in"),
    (lambda: dithered_hadamard(np.ones(2), [1, 1], 0.0, 0.0), ValueError, "step must be positive"),
    (lambda: dithered_hadamard(np.ones(2), [1, 1], 0.0, math.inf), ValueError, "step must be positive"),
    (lambda: dithered_hadamard(np.ones(2), [1, 1], 0.0, 1e-300), ValueError, "step must be above"),
    (lambda: dithered_hadamard(np.ones(2), [1, 1], 0.0, 1.0, -1), ValueError, "reach must be in"),
    (lambda: dithered_hadamard(np.array([1.7e308, 0, 0, 0]), [1] * 4, 0.0, 1e300), ValueError, "scale x down"),
    (lambda: rotated_signs(np.ones(2), np.ones((2, 2))), ValueError, "rotation must have orthonormal"),
    (lambda: rotated_signs(np.ones(2), np.eye(3)), ValueError, "rotation must have shape"),
    (lambda: rotated_signs(np.ones(2), np.full((2, 2), np.nan)), ValueError, "rotation must have orthonormal"),
    (lambda: rotated_signs(np.ones(2), EYE, "norm"), ValueError, "scale must be one of"),
    (lambda: rotated_signs(np.array([1.0, math.inf]), EYE), ValueError, "x must be finite"),
    (lambda: ldlq(QUARTER, -EYE), ValueError, "positive definite"),
    (lambda: ldlq(QUARTER, np.array([[1.0, 0.5], [0.0, 1.0]])), ValueError, "finite and symmetric"),
    (lambda: ldlq(QUARTER, np.eye(3)), ValueError, "hessian must have shape"),
    (lambda: ldlq(QUARTER, EYE, 0), ValueError, "levels must be in"),
    (lambda: ldlq(1e300 * QUARTER, EYE), ValueError, "weights must be at most"),
    (lambda: ldlq(np.zeros(0), np.zeros((0, 0))), ValueError, "weights must not be empty"),
    (lambda: ldlq(QUARTER.astype(np.float16), EYE), TypeError, "weights must be float"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_input_to_these_is_refused_with_its_name_and_rule(number):
    call, error, words = WRONG[number]
    with pytest.raises(error, match=words):
        call()


def test_views_and_read_only_arrays_are_taken_and_left_as_they_are():
    x = np.arange(8.0)[::2]
    x.flags.writeable = False
    before = x.copy()
    assert np.array_equal(kashin(x, [1] * 4), kashin(before, [1] * 4))
    assert np.array_equal(dithered_hadamard(x, [1] * 4, 0.0, 1.0)[1], dithered_hadamard(before, [1] * 4, 0.0, 1.0)[1])
    assert np.array_equal(rotated_signs(x, np.eye(4)), rotated_signs(before, np.eye(4)))
    assert np.array_equal(ldlq(x, np.eye(4)), before)
    assert np.array_equal(x, before)
