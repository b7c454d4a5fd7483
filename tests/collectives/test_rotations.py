"""The mean and the sum of rotated vectors: beside their programs, from their definitions, and what they refuse."""

import math

import numpy as np
import pytest

from commbounds.collectives.ranks import ThreadWorld
from commbounds.collectives.rotations import rotated_mean, rotated_sum
from commbounds.verify.definitions import rotations as naive
from commbounds.verify.experiments.rotations.pairings import PAIRINGS
from commbounds.verify.pairing import compared

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("pairing", PAIRINGS, ids=lambda p: p.name)
@pytest.mark.parametrize("P", [1, 2, 3, 5])
def test_ranks_apart_end_with_the_bits_and_the_traffic_of_one_process(pairing, P):
    found = compared(pairing, P, ThreadWorld())
    assert len(found) >= 10
    assert [agreement for agreement in found if agreement.difference] == []


def test_more_ranks_do_not_bring_back_what_all_of_them_lose():
    for P in (1, 2, 16):
        mean, _ = rotated_mean(np.tile([3.0, 1.0, 0.0], (P, 1)), rng=np.random.default_rng(P))
        assert np.allclose(mean, [10 / 3, 0.0, 0.0], rtol=0, atol=1e-15)


def test_the_sum_keeps_its_mean_and_stays_within_a_step_an_entry():
    rng = np.random.default_rng(6)
    stack, signs = rng.standard_normal((3, 8)), rng.choice((-1, 1), 8)
    draws = [rotated_sum(stack, 4, rng, signs=signs)[0][0] for _ in range(400)]
    y = np.array([[float(v) for v in naive.rotated(x, signs.tolist())] for x in stack.tolist()])
    step = np.abs(y).max() / 4
    for total in draws:  # d rotated entries of a rank move by less than a step each, and D H/d averages them
        assert np.abs(total - stack.sum(axis=0)).max() < 3 * step
    # Hoeffding's inequality: the mean of 400 sums of 24 independent roundings, each in a range of step/8
    allowance = step / 8 / 400 * math.sqrt(400 * 24 * math.log(2 * 8 / 1e-9) / 2)
    assert np.abs(np.mean(draws, axis=0) - stack.sum(axis=0)).max() < allowance


def test_zeros_sum_to_zeros_and_a_rank_alone_sends_nothing():
    total, _ = rotated_sum(np.zeros((3, 5)), 2, np.random.default_rng(0))
    assert not total.any()
    assert rotated_sum(np.ones((1, 5)), 2, np.random.default_rng(0))[1].sent.tolist() == [0]
    assert rotated_mean(np.ones((1, 5)), rng=np.random.default_rng(0))[1].sent.tolist() == [0]


WRONG = [
    (lambda: rotated_mean([[1.0, 2.0]]), TypeError, "rng must be"),
    (lambda: rotated_mean([[1.0, 2.0]], 0, signs=[[1, 1]]), ValueError, "width must be in"),
    (lambda: rotated_mean([[1.0, 2.0]], 1, "public", signs=[[1, 1]]), ValueError, "seeds must be one of"),
    (lambda: rotated_mean([[1.0, 2.0]], 1, signs=[1, 1]), ValueError, "signs must have shape"),
    (lambda: rotated_mean([[1.0, 2.0]], 1, signs=[[1, 0]]), ValueError, "signs must be -1 or 1"),
    (lambda: rotated_mean([[1.0, math.nan]], 1, signs=[[1, 1]]), ValueError, "stack must be finite"),
    (lambda: rotated_mean([[3e38] * 4] * 2, 1, signs=[[1] * 4] * 2, seeds=1), TypeError, "seeds must be a string"),
    (lambda: rotated_mean([[1.7e308, 0.0]] * 2, 4, signs=[[1, 1]] * 2), ValueError, "scale it down"),
    (lambda: rotated_sum([[1.0, 2.0]], 0, signs=[1, 1]), ValueError, "levels must be in"),
    (lambda: rotated_sum([[1.0, 2.0]], 1.5, signs=[1, 1]), TypeError, "levels must be an integer"),
    (lambda: rotated_sum([[1.0, 2.0]], 1), TypeError, "rng must be"),
    (lambda: rotated_sum([[1.0, 2.0]], 1, signs=[1, 2], dither=[[0, 0]]), ValueError, "signs must be -1 or 1"),
    (lambda: rotated_sum([[1.0, 2.0]], 1, signs=[1, 1], dither=[[0.0]]), ValueError, "dither must have shape"),
    (lambda: rotated_sum([[1.0, 2.0]], 1, signs=[1, 1], dither=[[0.0, 1.0]]), ValueError, "dither must be in"),
    (lambda: rotated_sum([[1e308] * 4], 1, signs=[1] * 4, dither=[[0.0] * 4]), ValueError, "scale it down"),
    (lambda: rotated_sum(np.ones((2, 2), np.int64), 1, signs=[1, 1]), TypeError, "stack must be float32"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_arguments_are_refused(number):
    call, error, words = WRONG[number]
    with pytest.raises(error, match=words):
        call()
