"""Block formats: tables, kernels against the twin and their laws, ties, edges, refusals."""

import itertools
import pickle
from dataclasses import replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from commbounds.collectives.blockformats import bytes_of, message_of
from commbounds.compressors._blocks import PLAIN
from commbounds.compressors.blockformats import (
    ELEMENTS,
    MECHANISMS,
    NVFP4,
    FourOverSix,
    Microscaling,
    MSEden,
    SharedMicroexponents,
    StochasticFourOverSix,
    StochasticMicroscaling,
    StochasticNVFP4,
)
from commbounds.verify.definitions import blockformats as naive

pytestmark = pytest.mark.kernels

DTYPES = {
    "e2m1": "float4_e2m1fn",
    "e2m3": "float6_e2m3fn",
    "e3m2": "float6_e3m2fn",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
}


def hostile(dtype):
    rng = np.random.default_rng(7)
    tiny, top = float(np.finfo(dtype).smallest_subnormal), float(np.finfo(dtype).max)
    yield rng.standard_normal(37)
    yield rng.integers(-8, 9, 40) / 4
    yield np.array([1.0, -0.0, 0.0, 1e-30, -1e30])
    yield np.zeros(5)
    yield np.array([-3.25])
    yield np.arange(-4, 5) * tiny
    yield np.array([top, -top, top / 2, 1.0])
    yield np.concatenate([rng.standard_normal(16) * 1e-12, rng.standard_normal(16)])


def vectors():
    return [x.astype(dtype) for dtype in (np.float32, np.float64) for x in hostile(dtype)]


# --- tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ELEMENTS)
def test_the_table_of_an_element_is_the_twins(name):
    assert list(ELEMENTS[name].magnitudes) == naive.ELEMENTS[name][0]
    assert ELEMENTS[name].emax == naive.ELEMENTS[name][1]
    assert ELEMENTS[name].width == naive.WIDTHS[name]


@pytest.mark.parametrize("name", DTYPES)
def test_every_code_is_that_of_ml_dtypes(name):
    if not hasattr(ml_dtypes, DTYPES[name]):
        pytest.skip("this ml_dtypes has no such format")
    numbers = ELEMENTS[name].table
    read = np.arange(numbers.size, dtype=np.uint8).view(getattr(ml_dtypes, DTYPES[name])).astype(np.float64)
    assert (read == numbers).all()
    following = np.array([numbers.size], np.uint8).view(getattr(ml_dtypes, DTYPES[name])).astype(np.float64)[0]
    assert not np.isfinite(following) or following <= 0


@pytest.mark.parametrize("name", DTYPES)
def test_rounding_to_nearest_is_that_of_ml_dtypes(name):
    if not hasattr(ml_dtypes, DTYPES[name]):
        pytest.skip("this ml_dtypes has no such format")
    numbers = ELEMENTS[name].table
    halves = (numbers[1:] + numbers[:-1]) / 2
    near = np.concatenate([numbers, halves, np.nextafter(halves, 0), np.nextafter(halves, np.inf)])
    # a block that holds the largest element is not scaled
    x = np.concatenate([numbers[-1:], near[near <= numbers[-1]]])
    expected = x.astype(np.float32).astype(getattr(ml_dtypes, DTYPES[name])).astype(np.float64)
    single = x.astype(np.float32).astype(np.float64)
    assert (Microscaling(name, x.size)(single) == expected).all()


# --- kernels -----------------------------------------------------------------------------------------------------


def test_choosing_after_drawing_is_biased_by_hand():
    # with 6: 128 or 256 with chances 3/4 and 1/4; with 4: 0 or 192 with 1/6 and 5/6; 192 beats 256 by 32 to 96
    mean = Fraction(3, 4) * 128 + Fraction(1, 4) * (Fraction(5, 6) * 192 + Fraction(1, 6) * 256)
    assert mean == Fraction(440, 3)
    law = StochasticFourOverSix(2, "up").law([1536, 160])
    assert sum(p * y[1] for p, y in law) == mean
    before = StochasticFourOverSix(2, "up", "expected").law([1536, 160])
    assert sum(p * y[1] for p, y in before) == 160


def test_four_over_six_is_worse_than_nvfp4_by_hand():
    x = np.array([2688.0, 6.0])
    assert NVFP4(1)(x).tolist() == x.tolist()
    # 6 is 4/7 of 6 scales, and 6/7 of 4: 9/16 and 7/8 are nearest, 6 * 9/16 * 7/4 = 189/32 and 4 * 7/8 * 7/4 = 49/8
    assert FourOverSix(1)(x).tolist() == [2688.0, 189 / 32]


@pytest.mark.parametrize(
    "c",
    [
        Microscaling("e2m1", 2),
        Microscaling("e3m2", 3, "even"),
        StochasticMicroscaling("e2m1", 2, "rceil"),
        NVFP4(2),
        StochasticNVFP4(2, "up"),
        MSEden(4),
        FourOverSix(2),
        StochasticFourOverSix(2, "up"),
        StochasticFourOverSix(4, "up", "expected"),
        SharedMicroexponents(4, 2),
    ],
    ids=str,
)
def test_the_law_is_a_distribution_around_what_comes_out(c):
    x = [Fraction(5, 2), Fraction(-7, 4), Fraction(0), Fraction(1, 8)]
    law = c.law(x)
    assert sum(p for p, _ in law) == 1
    array = np.array([float(v) for v in x])
    outputs = {tuple(float(v) for v in y) for _, y in law}
    for seed in range(8):
        found = tuple(c(array, np.random.default_rng(seed)).tolist())
        assert any(np.allclose(found, y, rtol=2.0**-50, atol=0) for y in outputs)


@pytest.mark.parametrize("name", MECHANISMS)
def test_messages_travel_and_inputs_stay(name):
    c = MECHANISMS[name]()
    for x in vectors():
        before = x.tobytes()
        x.flags.writeable = False
        message = c.compress(x, np.random.default_rng(1))
        assert x.tobytes() == before
        assert (message.shape, message.dtype) == (x.shape, x.dtype)
        again = pickle.loads(pickle.dumps(message))
        y = c.decompress(again)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        assert np.isfinite(y).all()
        if name not in ("MSEden", "SharedMicroexponents"):
            read = message_of(bytes_of(message), c, x.size, x.dtype)
            assert c.decompress(read).tobytes() == y.tobytes()
    assert pickle.loads(pickle.dumps(c)) == c


def test_long_vectors_are_cut_at_whole_blocks():
    # in plain Python one of the compiled code's parts: it is slow, and whole blocks are asked for there too
    x = np.random.default_rng(3).standard_normal(50_000 if PLAIN else 200_000).astype(np.float32)
    for c in (Microscaling("e2m1", 48), NVFP4(48)):
        whole, first = c(x), c.compress(x)
        for start in range(0, x.size, 48 * 1000):
            part = x[start : start + 480]
            if isinstance(c, Microscaling):
                assert (c(part) == whole[start : start + 480]).all()
        assert c.decompress(first).tobytes() == whole.tobytes()


# --- edges of E8M0 and E4M3 --------------------------------------------------------------------------------------


def test_exponents_are_clamped_to_those_of_e8m0():
    huge, small = np.array([1e200]), np.array([1e-200])
    assert Microscaling().compress(huge).exponents.tolist() == [127]
    assert Microscaling()(huge)[0] == 6 * 2.0**127
    assert Microscaling().compress(small).exponents.tolist() == [-127]
    assert Microscaling()(small)[0] == 0.0
    zero = Microscaling().compress(np.zeros(3))
    assert zero.exponents.tolist() == [-127]
    assert not Microscaling().decompress(zero).any()


def test_a_block_far_below_the_largest_becomes_zeros_in_nvfp4_and_not_in_mxfp4():
    x = np.array([458752.0, 1.0])
    assert NVFP4(1)(x)[1] == 0.0
    assert Microscaling(block=1)(x)[1] == 1.0
    assert NVFP4(1)(np.array([458752.0, 1.001]))[1] > 0.0


def test_the_rounding_of_the_tensors_scale_moves_what_is_lost_and_what_is_clipped():
    # by hand: a largest entry of 1 + 2^-24 + 2^-40 times 1536 or 2688 is rounded to 1 + 2^-23 of it
    more, up = 1 + 2.0**-24 + 2.0**-40, 1 + 2.0**-23
    assert FourOverSix(1)(np.array([1536 * more, up / 256]))[1] == 0.0
    assert Fraction(up / 256) / Fraction(1536 * more) > Fraction(1, 393216)
    assert NVFP4(1)(np.array([2688 * more, 3 * up / 512]))[1] == 0.0
    assert Fraction(3 * up / 512) / Fraction(2688 * more) > Fraction(1, 458752)
    read = StochasticNVFP4(1)(np.array([2688 * more, 1632 * up]), np.random.default_rng(0))[1]
    assert read == 1536 * up
    assert Fraction(96 * up) / Fraction(2688 * more) > Fraction(1, 28)


def test_a_second_pass_can_wipe_out_a_block():
    c, x = NVFP4(1), np.array([2688.0, 0.0065])
    once = c(x)
    assert once[1] == 3 / 512
    assert c(once)[1] == 0.0
    d = Microscaling("e2m1", 2, "double")
    once = d(np.array([3.75, 0.5]))
    assert once.tolist() == [4.0, 0.5]
    assert d(once).tolist() == [4.0, 0.0]


def test_the_reference_of_transformer_engine_clips_a_scale_that_is_rounded_down():
    # by hand: 102/2688 of 448 is 17, half-way between 16 and 18, and even is 16: 6 * 16 = 96
    assert NVFP4(1)(np.array([2688.0, 102.0]))[1] == 96.0
    assert {StochasticNVFP4(1)(np.array([2688.0, 102.0]), np.random.default_rng(s))[1] for s in range(64)} == {96.0}
    up = {StochasticNVFP4(1, "up")(np.array([2688.0, 102.0]), np.random.default_rng(s))[1] for s in range(64)}
    assert up == {72.0, 108.0}


def test_eden_under_random_signs_is_biased_by_hand():
    # H (5, 2, 1, 0)/2 is (4, 2, 3, 1), up to order and signs, or with other signs (3, 1, 4, 2), ...: 16 patterns
    c, mean = MSEden(4), np.zeros(4)
    for signs in itertools.product((1, -1), repeat=4):
        mean += c.decompress(c.compress_with(np.array([5.0, 2.0, 1.0, 0.0]), signs)) / 16
    assert np.allclose(mean, [5, 55 / 29, 35 / 29, 0], rtol=0, atol=1e-14)
    by_formula = np.mean(
        [naive.eden(np.array([5.0, 2.0, 1.0, 0.0]), 4, s)[2] for s in itertools.product((1, -1), repeat=4)], axis=0
    )
    assert np.allclose(mean, by_formula, rtol=0, atol=1e-14)


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Microscaling("e9m9"), ValueError, "element must be one of"),
        (lambda: Microscaling(element=4), TypeError, "element must be a string"),
        (lambda: Microscaling(block=0), ValueError, "block must be in"),
        (lambda: Microscaling(block=2.0), TypeError, "block must be an integer"),
        (lambda: Microscaling(scale="round"), ValueError, "scale must be one of"),
        (lambda: NVFP4(block=-1), ValueError, "block must be in"),
        (lambda: NVFP4(scale="down"), ValueError, "scale must be one of"),
        (lambda: MSEden(3), ValueError, "dim must be one of"),
        (lambda: MSEden(True), TypeError, "dim must be an integer"),
        (lambda: MSEden(4).compress_with(np.ones(4), [1, 1, 1]), ValueError, "signs must be 4 numbers"),
        (lambda: MSEden(4).compress_with(np.ones(4), [1, 1, 1, 0]), ValueError, "signs must be 4 numbers"),
        (lambda: MSEden(64).law([1] * 17), ValueError, "a dim of at most 16"),
        (lambda: StochasticMicroscaling().compress(np.ones(3)), TypeError, "rng must be"),
        (lambda: StochasticMicroscaling().compress_with(np.ones(3), np.ones(3)), ValueError, "uniforms must be in"),
        (lambda: StochasticNVFP4().compress_with(np.ones(3), np.zeros(2)), ValueError, "uniforms must have the shape"),
        (lambda: Microscaling().decompress(NVFP4().compress(np.ones(2))), TypeError, "message must be a Blocks"),
        (lambda: NVFP4().decompress(3), TypeError, "message must be a ScaledBlocks"),
        (lambda: StochasticFourOverSix(choice="later"), ValueError, "choice must be one of"),
        (lambda: FourOverSix(block=0), ValueError, "block must be in"),
        (lambda: StochasticFourOverSix().compress(np.ones(3)), TypeError, "rng must be"),
        (lambda: StochasticFourOverSix().compress_with(np.ones(3), np.zeros(3)), ValueError, "pairs must have shape"),
        (lambda: StochasticFourOverSix().compress_with(np.ones(3), np.ones((2, 3))), ValueError, "pairs must be in"),
        (
            lambda: StochasticFourOverSix().compress_with(np.ones(3), np.zeros((2, 3), "f4")),
            TypeError,
            "pairs must have the dtype",
        ),
        (lambda: SharedMicroexponents(0), ValueError, "digits must be in"),
        (lambda: SharedMicroexponents(4.0), TypeError, "digits must be an integer"),
        (lambda: SharedMicroexponents(4, 0), ValueError, "block must be in"),
        (lambda: SharedMicroexponents().decompress(3), TypeError, "message must be a ShiftedBlocks"),
    ],
)
def test_what_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    ("x", "error"),
    [
        (np.array([1.0, np.nan]), ValueError),
        (np.array([np.inf]), ValueError),
        (np.zeros(0), ValueError),
        (np.ones((2, 2)), ValueError),
        (np.ones(3, np.float16), TypeError),
        (np.ones(3, np.int64), TypeError),
    ],
)
def test_vectors_that_are_none_are_refused(name, x, error):
    with pytest.raises(error):
        MECHANISMS[name]().compress(x, np.random.default_rng(0))


def test_a_wrong_code_is_another_vector():
    c = Microscaling()
    message = c.compress(np.array([1.0, 2.0, 4.0]))
    other = replace(message, codes=message.codes + np.int8(1))
    assert (c.decompress(other) != c.decompress(message)).all()
