"""Sums in block formats: against the twin, ranks that agree, refusals."""

import itertools

import numpy as np
import pytest

from commbounds.collectives.blockformats import (
    UNEVEN_TABLE,
    Thinned,
    homomorphic_allreduce,
    multihop_allreduce,
    requantised_allreduce,
    table_allreduce,
)
from commbounds.compressors.blockformats import NVFP4, Microscaling, StochasticMicroscaling
from commbounds.theory.blockformats.terms import SUMS_FIT

pytestmark = pytest.mark.kernels


def stacks():
    for P, n in ((1, 5), (2, 8), (3, 13), (5, 3), (4, 33)):
        yield np.random.default_rng([P, n]).standard_normal((P, n)).astype(np.float32)


def test_sums_beyond_the_exponents_of_e8m0_are_cut_off_or_lost():
    tiny, huge = [[2.0**-140], [0.0]], [[2.0**200], [0.0]]
    for x, admitted in ((tiny, False), (huge, False), ([[1.0], [2.0**-99]], True), ([[0.0]], True)):
        assert SUMS_FIT.admits(x=np.array(x)) is admitted
    for collective, way in ((requantised_allreduce, "direct"), (multihop_allreduce, "butterfly")):
        assert collective(tiny, Microscaling(block=1), way)[0][0].tolist() == [0.0]
    rounded = requantised_allreduce(huge, StochasticMicroscaling("e2m1", 1, "rceil"), "ring", np.random.default_rng(0))
    assert rounded[0][0].tolist() == [6 * 2.0**127]


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


# --- tables and hops ---------------------------------------------------------------------------------------------


def test_a_level_on_the_authors_table_is_rounded_past_it_by_hand():
    # level 10 of 30 is step 333 1/3 of 1000: 333 is level 9.99, a share 0.995 above 8; 334 is 10.02, 0.01 above 10
    read = {}
    for first, second in itertools.product((0.1, 0.9), (0.001, 0.994, 0.999)):
        drawn = np.array([first, second]).reshape(2, 1, 1)
        sums, _ = table_allreduce([[-5.0]], UNEVEN_TABLE, rotated=False, reach=15.0, fine=1000, uniforms=drawn)
        read[first, second] = float(sums[0, 0]) + 15
    assert read == {(0.1, 0.001): 12.0, (0.1, 0.994): 10.0, (0.1, 0.999): 10.0,
                    (0.9, 0.001): 10.0, (0.9, 0.994): 10.0, (0.9, 0.999): 8.0}  # fmt: skip


def test_ranges_of_vectors_at_the_ends_of_the_dtype_and_of_zeros():
    for x in (np.zeros((2, 4)), np.full((2, 4), 1e300), np.full((2, 4), 1e-310), np.full((2, 4), 1e38, np.float32)):
        sums, _ = table_allreduce(x, rng=np.random.default_rng(1))
        assert np.isfinite(sums).all()
    with pytest.raises(ValueError, match="stay finite when rotated"):
        table_allreduce(np.full((1, 4), 1.7e308), signs=[1] * 4, uniforms=np.zeros((1, 1, 4)))


def test_what_thinned_messages_hold():
    x, u = np.array([1.5, -2.0, 0.0, 3.0]), np.array([0.2, 0.5, 0.1, 0.49])
    sent = Thinned(0.5).sent(x, u)
    assert sent.size == 1 + 3 * 8
    assert Thinned(0.5).read(sent, 4, np.float64).tolist() == [3.0, 0.0, 0.0, 6.0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: table_allreduce(x, (0, 2, 2), rotated=False), ValueError, "table must ascend"),
        (lambda x: table_allreduce(x, (0.0, 1.0)), TypeError, "table must be whole"),
        (lambda x: table_allreduce(x, (0,)), ValueError, "table must be 2 to"),
        (lambda x: table_allreduce(x, top=0), ValueError, "top must be positive"),
        (lambda x: table_allreduce(x, reach=np.inf), ValueError, "reach must be"),
        (lambda x: table_allreduce(x, fine=0), ValueError, "fine must be in"),
        (lambda x: table_allreduce(x, sum_bits=0), ValueError, "sum_bits must be in"),
        (lambda x: table_allreduce(x, rotated=1), TypeError, "rotated must be"),
        (lambda x: table_allreduce(x), TypeError, "rng must be"),
        (lambda x: table_allreduce(x, rotated=False, signs=[1, 1, 1]), ValueError, "signs must be None"),
        (lambda x: table_allreduce(x, signs=[1, 2, 1]), ValueError, "signs must be"),
        (lambda x: table_allreduce(x, rotated=False, uniforms=np.ones((1, 2, 3))), ValueError, "uniforms must be"),
        (lambda x: multihop_allreduce(x, 4), TypeError, "quantiser must be"),
        (lambda x: multihop_allreduce(x, NVFP4(), "tree"), ValueError, "topology must be one of"),
        (lambda x: multihop_allreduce(np.ones((3, 2)), NVFP4()), ValueError, "power of two of ranks"),
        (lambda x: multihop_allreduce(x, NVFP4(), uniforms=np.zeros(3)), ValueError, "uniforms must be None"),
        (lambda x: multihop_allreduce(x, Thinned()), TypeError, "rng must be"),
        (lambda x: multihop_allreduce(x, Thinned(), uniforms=np.zeros((1, 2, 3))), ValueError, "of shape"),
        (lambda x: multihop_allreduce(x, Thinned(), uniforms=np.ones((2, 2, 3))), ValueError, r"in \[0, 1\)"),
        (lambda x: Thinned(0.0), ValueError, "keep must be"),
        (lambda x: Thinned("half"), TypeError, "keep must be"),
    ],
)
def test_what_tables_and_hops_refuse(call, error, words):
    with pytest.raises(error, match=words):
        call(np.array([[1.0, 1.5, -1.0], [1.0, 0.5, 1.0]]))
