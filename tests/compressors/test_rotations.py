"""Rotation-based compressors, the transform and the quantiser: by hand, and what they refuse."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from commbounds.compressors.rotations import (
    DRIVE,
    EDEN,
    HadamardSketch,
    RotatedDithering,
    lloyd_max,
    randomised_hadamard,
)
from commbounds.verify.definitions import rotations as naive

pytestmark = pytest.mark.kernels


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
        for signs in itertools.product((1, -1), repeat=len(x)):
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
    (lambda: DRIVE().compress_with(np.ones(65), [2**64 - 1] * 65), ValueError, "signs must be -1 or 1"),
    (lambda: DRIVE().compress_with(np.ones(3), [1.0, 1.0, 1.0]), TypeError, "signs must be"),
    (lambda: DRIVE().compress_with(np.full(4, 3e38, np.float32), [1, 1, 1, 1]), ValueError, "scale x down"),
    (lambda: EDEN(3).compress_with(np.array([1.7e308]), [1]), ValueError, "scale x down"),
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
