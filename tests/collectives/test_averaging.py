"""The mean of the workers' compressed vectors."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import stacks

from commbounds.collectives import gossip, group_average, mean_of_compressed
from commbounds.compressors import QSGD, Identity, PowerSGD, RandK, TopK

pytestmark = pytest.mark.kernels


@given(stacks(), st.data())
def test_a_deterministic_compressor_is_averaged_exactly(stack, data):
    c = TopK(data.draw(st.integers(1, stack.shape[1])))
    exact = [sum(Fraction(v) for v in column) / len(stack) for column in zip(*(c(x) for x in stack), strict=True)]
    assert mean_of_compressed(stack, c).tolist() == [float(v) for v in exact]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_identity_gives_the_mean_in_the_dtype_of_the_stack(dtype):
    stack = np.random.default_rng(0).standard_normal((5, 7)).astype(dtype)
    mean = mean_of_compressed(stack, Identity())
    assert mean.dtype == dtype
    # summed in float64 in the order of the ranks, rounded once
    total = np.zeros(7)
    for x in stack:
        total += x
    assert (mean == (total / 5).astype(dtype)).all()


def test_one_worker_is_the_compressor_itself():
    x = np.array([[1.0, -3.0, 2.0]])
    assert mean_of_compressed(x, TopK(1)).tolist() == [0.0, -3.0, 0.0]


def test_two_workers_that_cancel_lose_their_average():
    assert mean_of_compressed(np.array([[1.5, -1.0], [-1.0, 1.5]]), TopK(1)).tolist() == [0.75, 0.75]


def test_shared_randomness_keeps_one_support_and_own_randomness_several():
    stack, c = np.ones((16, 64)), RandK(4, scaled=False)
    shared = mean_of_compressed(stack, c, np.random.default_rng(0), shared=True)
    own = mean_of_compressed(stack, c, np.random.default_rng(0))
    assert np.count_nonzero(shared) == 4
    assert set(shared) == {0.0, 1.0}
    assert np.count_nonzero(own) > 4
    assert own.sum() == 4.0  # sixteenths, which are exact


@pytest.mark.parametrize("seed", range(5))
def test_shared_randomness_is_that_of_a_seed_below_two_to_the_63(seed):
    stack, c = np.random.default_rng(9).standard_normal((3, 20)), RandK(3)
    found = mean_of_compressed(stack, c, rng := np.random.default_rng(seed), shared=True)
    common = (drawn := np.random.default_rng(seed)).integers(0, 2**63)
    outputs = [c(x, np.random.default_rng(common)) for x in stack]
    assert found.tolist() == ((outputs[0] + outputs[1] + outputs[2]) / 3).tolist()
    assert rng.random() == drawn.random()


def test_the_generator_decides_and_nothing_else():
    stack, c = np.random.default_rng(1).standard_normal((3, 50)), QSGD(2)
    first, again, other = (mean_of_compressed(stack, c, np.random.default_rng(s)) for s in (2, 2, 3))
    assert (first == again).all()
    assert (first != other).any()
    before = stack.copy()
    mean_of_compressed(stack, TopK(1))
    assert (stack == before).all()


def test_workers_draw_independently():
    """The mean of P copies of a scaled Rand-1 of ones has P uniform places: all equal with probability n^(1-P)."""
    c, rng = RandK(1), np.random.default_rng(4)
    supports = [np.count_nonzero(mean_of_compressed(np.ones((2, 2)), c, rng)) for _ in range(60)]
    # each kind is missing with probability 2^-60
    assert set(supports) == {1, 2}


@pytest.mark.parametrize(
    ("stack", "c", "rng", "error", "message"),
    [
        (np.ones(3), TopK(1), None, ValueError, "stack must have 2 dimensions, got shape"),
        (np.ones((2, 3, 1)), TopK(1), None, ValueError, "stack must have 2 dimensions"),
        (np.empty((0, 3)), TopK(1), None, ValueError, "must not be empty"),
        (np.ones((2, 3), np.float16), TopK(1), None, TypeError, "float32 or float64"),
        (np.ones((2, 3), np.int64), TopK(1), None, TypeError, "float32 or float64"),
        (np.array([[1.0, np.nan]]), TopK(1), None, ValueError, "finite"),
        (np.ones((2, 3)), TopK(4), None, ValueError, "k must be in"),
        (np.ones((2, 3)), RandK(1), None, TypeError, r"rng must be a numpy.random.Generator"),
        (np.ones((2, 3)), RandK(1), 7, TypeError, r"rng must be a numpy.random.Generator"),
        (np.ones((2, 3)), PowerSGD(1), np.random.default_rng(0), ValueError, "x must have 2 dimensions"),
    ],
    ids=str,
)
def test_what_is_refused(stack, c, rng, error, message):
    with pytest.raises(error, match=message):
        mean_of_compressed(stack, c, rng)


@pytest.mark.parametrize(
    "average",
    [
        lambda stack: mean_of_compressed(stack, Identity())[None],
        lambda stack: group_average(stack, [0] * len(stack))[0],
    ],
    ids=("mean of compressed", "group"),
)
@pytest.mark.parametrize("P", range(2, 10))
def test_means_of_sums_that_overflow_are_means(average, P):
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        found = average(np.full((P, 3), largest))
    # scaled by powers of two: additions and a division
    assert (abs(found / 2 - largest / 2) <= P * 2.0**-53 * largest).all()


def test_gossip_whose_sums_overflow_is_infinite_and_halves_are_not():
    with np.errstate(over="ignore"):
        assert np.isinf(gossip(np.full((2, 3), 1.5e308), "ring")[0][0]).all()
    # two additions, of which a doubling is exact, and a division
    found = gossip(np.full((2, 3), 0.5e308), "ring")[0][0]
    assert (abs(found - 0.5e308) <= 3 * 2.0**-53 * 0.5e308).all()
