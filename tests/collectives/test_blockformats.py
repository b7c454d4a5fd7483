"""Sums in block formats: against the twin, ranks that agree, refusals."""

import itertools

import numpy as np
import pytest
from naive import blockformats as naive

from commbounds.collectives.blockformats import (
    ROUNDINGS,
    SCHEDULES,
    homomorphic_allreduce,
    requantised_allreduce,
    rounding_stages,
)
from commbounds.compressors.blockformats import NVFP4, Microscaling, StochasticMicroscaling

pytestmark = pytest.mark.kernels


def stacks():
    for P, n in ((1, 5), (2, 8), (3, 13), (5, 3), (4, 33)):
        yield np.random.default_rng([P, n]).standard_normal((P, n)).astype(np.float32)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sums_and_bytes_are_the_twins(schedule):
    formats = [Microscaling(block=4), Microscaling("e4m3", 3, "rceil"), NVFP4(4), StochasticMicroscaling("e2m1", 4)]
    for x, quantiser in itertools.product(stacks(), formats):
        drawn = None
        if quantiser.randomised:
            shape = (rounding_stages(schedule, len(x)), *x.shape)
            drawn = np.random.default_rng(4).random(shape, np.float32)
        sums, traffic = requantised_allreduce(x, quantiser, schedule, uniforms=drawn)
        row, sent = naive.requantised(x, vars(quantiser), schedule, drawn)
        assert (sums == sums[0]).all()
        assert sums[0].tobytes() == row.tobytes()
        assert traffic.sent.tolist() == sent


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_sums_of_codes_are_the_twins(rounding):
    for x, (width, block) in itertools.product(stacks(), ((4, 4), (2, 3), (8, 32))):
        rng, given = np.random.default_rng(5), {}
        if rounding != "nearest":
            given["uniforms"] = rng.random(x.shape)
        if rounding == "correlated":
            given["orders"] = np.argsort(rng.random(x.shape), axis=0)
        sums, traffic = homomorphic_allreduce(x, width, block, rounding, **given)
        row, sent = naive.homomorphic(x, width, block, rounding, **given)
        assert (sums == sums[0]).all()
        assert sums[0].tobytes() == row.tobytes()
        assert traffic.sent.tolist() == sent


def test_sums_that_do_not_fit_wrap_around():
    assert homomorphic_allreduce([[3.0], [3.0]], 3, 1, sum_width=3)[0][0].tolist() == [-2.0]
    assert homomorphic_allreduce([[3.0], [3.0]], 3, 1)[0][0].tolist() == [6.0]


def test_drawn_orders_are_permutations_and_rounding_is_reproducible():
    x = np.random.default_rng(1).standard_normal((5, 40))
    first, again = (homomorphic_allreduce(x, 4, 8, "correlated", np.random.default_rng(3))[0] for _ in range(2))
    assert first.tobytes() == again.tobytes()
    # ranks that hold the same have a sum within one of P times what they hold
    alike = np.repeat(x[:1], 5, axis=0)
    alike[:, 0] = 7.0
    found = homomorphic_allreduce(alike, 4, 40, "correlated", np.random.default_rng(3))[0][0]
    assert np.abs(found - 5 * alike[0]).max() < 1.0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: requantised_allreduce(x, 4), TypeError, "quantiser must be"),
        (lambda x: requantised_allreduce(x, NVFP4(), "tree"), ValueError, "schedule must be one of"),
        (lambda x: requantised_allreduce(x, NVFP4(), uniforms=np.zeros(3)), ValueError, "uniforms must be None"),
        (lambda x: requantised_allreduce(x, StochasticMicroscaling()), TypeError, "rng must be"),
        (
            lambda x: requantised_allreduce(x, StochasticMicroscaling(), uniforms=np.zeros((1, 2, 3))),
            ValueError,
            "uniforms must be float64 of shape",
        ),
        (
            lambda x: requantised_allreduce((2e38 * x).astype(np.float32), Microscaling("int8")),
            ValueError,
            "finite sums",
        ),
        (lambda x: requantised_allreduce(x * np.nan, NVFP4()), ValueError, "finite"),
        (lambda x: homomorphic_allreduce(x, 1), ValueError, "width must be in"),
        (lambda x: homomorphic_allreduce(x, 4, 0), ValueError, "block must be in"),
        (lambda x: homomorphic_allreduce(x, rounding="up"), ValueError, "rounding must be one of"),
        (lambda x: homomorphic_allreduce(x, rounding="independent"), TypeError, "rng must be"),
        (lambda x: homomorphic_allreduce(x, uniforms=np.zeros((2, 3))), ValueError, "uniforms must be None"),
        (lambda x: homomorphic_allreduce(x, sum_width=1), ValueError, "sum_width must be in"),
        (
            lambda x: homomorphic_allreduce(
                x, rounding="correlated", uniforms=np.zeros((2, 3)), orders=np.ones((2, 3), int)
            ),
            ValueError,
            "orders must be permutations",
        ),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(np.array([[1.0, 1.5, -1.0], [1.0, 0.5, 1.0]]))
