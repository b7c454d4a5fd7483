"""Rotation-based compressors against their naive twins, the transform and the quantiser, and what they refuse."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commbounds.compressors.rotations import (
    DRIVE,
    EDEN,
    HadamardSketch,
    RotatedDithering,
    lloyd_max,
    padded_size,
    randomised_hadamard,
)
from commbounds.verify.definitions import rotations as naive

pytestmark = pytest.mark.kernels

ENTRIES = st.lists(st.integers(-9, 9), min_size=1, max_size=9)


def signs_for(x, seed=0):
    return np.random.default_rng([seed, len(x)]).choice((-1, 1), len(x))


def close(found, expected, operations=8):
    """Equal but for so many roundings to float64, relative to the largest entry."""
    expected = np.array([float(v) for v in expected])
    room = operations * len(expected) * np.finfo(np.float64).eps * (np.abs(expected).max() + 1e-300)
    return bool((np.abs(np.asarray(found) - expected) <= room).all())


@given(ENTRIES, st.integers(0, 99))
def test_the_transform_of_integers_is_that_of_the_matrix(x, seed):
    signs = signs_for(x, seed)
    expected = [int(v) for v in naive.rotated(x, signs.tolist())]
    assert randomised_hadamard(np.array(x), signs).tolist() == expected
    assert randomised_hadamard(np.array(x, np.float32), signs).tolist() == expected


@given(ENTRIES, st.integers(0, 99), st.sampled_from(("unbiased", "biased")))
def test_drive_does_what_its_twin_does(x, seed, scale):
    signs = signs_for(x, seed)
    c, array = DRIVE(scale), np.array(x, np.float64)
    message = c.compress_with(array, signs)
    codes, factor, estimate = naive.drive(x, signs.tolist(), scale)
    assert message.codes.tolist() == codes
    assert close(message.numbers, [factor])
    assert close(c.decompress(message), estimate)


@given(ENTRIES, st.integers(0, 99), st.integers(1, 4), st.sampled_from(("unbiased", "biased", "norm")))
def test_eden_does_what_its_twin_does(x, seed, width, scale):
    signs, quantiser = signs_for(x, seed), lloyd_max(width)
    c = EDEN(width, scale)
    message = c.compress_with(np.array(x, np.float64), signs)
    codes, factor, estimate = naive.eden(x, signs.tolist(), quantiser.centroids, quantiser.boundaries, scale)
    assert message.codes.tolist() == codes
    assert close(message.numbers, [factor])
    assert close(c.decompress(message), estimate)


@given(ENTRIES, st.integers(0, 99), st.data())
def test_the_sketch_does_what_its_twin_does(x, seed, data):
    signs, d = signs_for(x, seed), padded_size(len(x))
    kept = sorted(data.draw(st.sets(st.integers(0, d - 1), min_size=1, max_size=d)))
    c = HadamardSketch(len(kept))
    message = c.compress_with(np.array(x, np.float64), kept, signs)
    # sums of integers are exact; they are divided by k, and added up
    assert np.allclose(c.decompress(message), [float(v) for v in naive.sketch(x, kept, signs.tolist())],
                       rtol=0, atol=2 * d * 2.0**-52 * (1 + sum(map(abs, x))))  # fmt: skip


@given(ENTRIES, st.integers(0, 99), st.sampled_from((1, 2, 3, 8)))
def test_stochastic_rotated_quantisation_does_what_its_twin_does(x, seed, levels):
    signs = signs_for(x, seed)
    dither = np.random.default_rng([seed, 7]).integers(0, 64, padded_size(len(x))) / 64 + 1 / 128
    c = RotatedDithering(levels)
    message = c.compress_with(np.array(x, np.float64), dither, signs)
    codes, low, high, estimate = naive.levels(x, dither.tolist(), signs.tolist(), levels)
    assert close(message.numbers, [low, high])
    # a uniform next to its switch may be on either side of it after rounding
    y = [float(v) for v in naive.rotated(x, signs.tolist())]
    span = max(y) - min(y)
    for j, (mine, twin) in enumerate(zip(message.codes.tolist(), codes, strict=True)):
        gap = abs(((y[j] - min(y)) / span * levels) % 1 - dither[j]) if span else 1
        assert mine == twin or gap < 1e-12
    if message.codes.tolist() == codes:
        assert np.allclose(
            c.decompress(message), [float(v) for v in estimate], rtol=0, atol=1e-13 * (1 + sum(map(abs, x)))
        )


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_the_quantiser_is_that_of_many_digits(bits):
    found, (c, boundaries, distortion) = lloyd_max(bits), naive.normal_quantiser(bits)
    half = 2 ** (bits - 1)
    assert np.allclose(found.centroids[half:], [float(v) for v in c], rtol=1e-14, atol=0)
    assert np.allclose(found.boundaries[half - 1 :], [float(v) for v in boundaries], rtol=1e-14, atol=0)
    assert math.isclose(found.distortion, float(distortion), rel_tol=1e-13)
    assert found.centroids == tuple(-v for v in reversed(found.centroids))


@pytest.mark.parametrize("zeros", [0, 1, 2, 6, 30, 1022])
def test_three_and_one_are_estimated_as_ten_thirds_and_nothing_at_every_length(zeros):
    x = np.array([3.0, 1.0, *[0.0] * zeros])
    for seed in range(8):
        y = DRIVE()(x, np.random.default_rng(seed))
        assert math.isclose(y[0], 10 / 3, rel_tol=1e-15)
        assert not y[1:].any()


def test_many_estimates_of_three_and_one_err_as_much_as_one():
    x, rng = np.array([3.0, 1.0]), np.random.default_rng(0)
    mean = np.mean([DRIVE()(x, rng) for _ in range(100)], axis=0)
    assert math.isclose(float(np.square(mean - x).sum() / np.square(x).sum()), 1 / 9, rel_tol=1e-12)


def test_a_coin_for_the_signs_of_zeros_changes_no_mean():
    for x in ((1, 1), (1, 1, 1, 1), (2, 1, 1, 0), (3, 1, -2, 2)):
        d = naive.padded(len(x))
        means = {1: [Fraction(0)] * len(x), 0: [Fraction(0)] * len(x)}
        for signs in naive.patterns(len(x)):
            y = naive.rotated(x, signs)
            scale = sum(Fraction(v) ** 2 for v in x) / sum(abs(v) for v in y) / 2 ** len(x)
            for of_zero, mean in means.items():  # 0 is the mean of a coin
                codes = [of_zero if v == 0 else (1 if v > 0 else -1) for v in y]
                for i, v in enumerate(naive.rotated_back(codes, signs)):
                    mean[i] += scale * v
        assert means[0] == means[1]
        assert d in (2, 4)


WRONG = [
    (lambda: DRIVE("best"), ValueError, "scale must be one of"),
    (lambda: DRIVE(1), TypeError, "scale must be a string"),
    (lambda: EDEN(0), ValueError, "width must be in"),
    (lambda: EDEN(9), ValueError, "width must be in"),
    (lambda: EDEN(2.0), TypeError, "width must be an integer"),
    (lambda: EDEN(2, "unit"), ValueError, "scale must be one of"),
    (lambda: RotatedDithering(0), ValueError, "levels must be in"),
    (lambda: RotatedDithering(2**14 + 1), ValueError, "levels must be in"),
    (lambda: HadamardSketch(0), ValueError, "k must be in"),
    (lambda: HadamardSketch(5)(np.ones(3), np.random.default_rng(0)), ValueError, "k must be in"),
    (lambda: HadamardSketch(1).compress_with(np.ones(3), [4], [1, 1, 1]), ValueError, "kept must be in"),
    (lambda: HadamardSketch(2).compress_with(np.ones(3), [1, 1], [1, 1, 1]), ValueError, "kept must be 2 ascending"),
    (lambda: HadamardSketch(1).compress_with(np.ones(3), [0.5], [1, 1, 1]), TypeError, "kept must be"),
    (lambda: DRIVE().compress_with(np.ones(3), [1, 1]), ValueError, "signs must have the shape"),
    (lambda: DRIVE().compress_with(np.ones(3), [1, 0, 1]), ValueError, "signs must be -1 or 1"),
    (lambda: DRIVE().compress_with(np.ones(3), [1.0, 1.0, 1.0]), TypeError, "signs must be"),
    (lambda: DRIVE().compress_with(np.full(4, 3e38, np.float32), [1, 1, 1, 1]), ValueError, "scale x down"),
    (lambda: DRIVE().decompress("message"), TypeError, "message must be a Rotated"),
    (lambda: RotatedDithering(1).compress_with(np.ones(3), [0.5] * 3, [1, 1, 1]), ValueError, "dither must have"),
    (lambda: RotatedDithering(1).compress_with(np.ones(3), [1.0] * 4, [1, 1, 1]), ValueError, "dither must be in"),
    (lambda: RotatedDithering(1).compress_with(np.ones(3), [np.nan] * 4, [1, 1, 1]), ValueError, "dither must be in"),
    (lambda: DRIVE().law([1] * 17), ValueError, "more than 2"),
    (lambda: HadamardSketch(4).law([1] * 9), ValueError, "more than 2"),
    (lambda: RotatedDithering(1).law([1, 2, 4, 8, 16, 32, 64, 127, 5, 7, 11, 13]), ValueError, "more than 2"),
    (lambda: lloyd_max(0), ValueError, "bits must be in"),
    (lambda: lloyd_max(13), ValueError, "bits must be in"),
    (lambda: lloyd_max(True), TypeError, "bits must be an integer"),
    (lambda: randomised_hadamard(np.ones(3, np.float16), [1, 1, 1]), TypeError, "x must be float32"),
    (lambda: randomised_hadamard([], []), ValueError, "x must be a vector"),
    (lambda: randomised_hadamard([[1, 2]], [1, 1]), ValueError, "x must be a vector"),
    (lambda: randomised_hadamard([1.0, math.inf], [1, 1]), ValueError, "x must be finite"),
    (lambda: randomised_hadamard([2**62, 2**62], [1, 1]), ValueError, "sum of magnitudes below"),
    (lambda: randomised_hadamard([1, 2, 3], [1, 1, 1], inverse=True), ValueError, "power of two"),
    (lambda: randomised_hadamard([1, 2], [1, 1], inverse=2), TypeError, "inverse must be True or False"),
    (lambda: randomised_hadamard(["a"], [1]), TypeError, "x must be an array of numbers"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_input_is_refused_with_its_name_and_rule(number):
    call, error, words = WRONG[number]
    with pytest.raises(error, match=words):
        call()
