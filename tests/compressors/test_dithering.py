import math
from fractions import Fraction

import numba
import numpy as np
import pytest
import sympy as sp
from hostile_vectors import hostile_uniforms, hostile_vectors
from hypothesis import given
from hypothesis import strategies as st
from strategies import vectors
from switching import grid_bits, marginals, rounded_up, switching_points

from commbounds.compressors import QSGD, MaxDithering, TernGrad, _blocks
from commbounds.compressors._random import fill_uniforms, key_from
from commbounds.compressors.quantizers.dithering import _dither32, _dither64
from commbounds.verify.definitions import quantizers as naive

pytestmark = pytest.mark.kernels

COMPRESSORS = [
    QSGD(1), QSGD(2), QSGD(3), QSGD(7), QSGD(127), QSGD(128), QSGD(2**15 - 1),
    MaxDithering(1), MaxDithering(3), MaxDithering(100), MaxDithering(2**15 - 1),
    TernGrad(),
]  # fmt: skip
DTYPES = [np.float32, np.float64]
VECTORS = [(dtype, name) for dtype in DTYPES for name in hostile_vectors(dtype)]


def levels_of(compressor):
    return getattr(compressor, "levels", 1)


@pytest.mark.parametrize(("dtype", "name"), VECTORS)
@pytest.mark.parametrize("compressor", COMPRESSORS, ids=str)
def test_agrees_with_the_naive_twin_given_the_same_uniforms(compressor, dtype, name):
    x, levels = hostile_vectors(dtype)[name], levels_of(compressor)
    for uniforms in hostile_uniforms(dtype, x.size).values():
        message = compressor.compress_with(x, uniforms)
        assert message.codes.tolist() == naive.dithered(x, message.norm, levels, uniforms)
        expected = naive.undithered(message.codes.tolist(), message.norm, levels, dtype)
        assert compressor.decompress(message).tolist() == expected
        assert abs(message.codes.astype(int)).max() <= levels


@given(x=vectors(np.float32), levels=st.integers(1, 15), count=st.integers(0, 2**24 - 1), most=st.booleans())
def test_agrees_with_the_naive_twin_on_drawn_vectors(x, levels, count, most):
    # for fewer than 16 levels the float64 quotient of two float32 tells every multiple of 2^-24 apart
    compressor, uniforms = (MaxDithering if most else QSGD)(levels), np.full(x.size, count * 2.0**-24, np.float32)
    message = compressor.compress_with(x, uniforms)
    assert message.codes.tolist() == naive.dithered(x, message.norm, levels, uniforms)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("levels", [1, 5, 127, 2**15 - 1])
def test_the_kernels_agree_with_their_own_source(levels, dtype):
    kernel = _dither32 if dtype == np.float32 else _dither64
    for x in hostile_vectors(dtype).values():
        x = x / dtype(abs(x).max() or 1)
        for uniforms in hostile_uniforms(dtype, x.size).values():
            compiled, plain = np.zeros((2, x.size), np.int16)
            kernel(x, uniforms, float(levels), 1.0, compiled)
            getattr(kernel, "py_func", kernel)(x, uniforms, float(levels), 1.0, plain)
            assert compiled.tolist() == plain.tolist()


@pytest.mark.parametrize(("dtype", "name"), VECTORS)
def test_the_l2_norm_is_rounded_as_promised_and_no_entry_exceeds_it(dtype, name):
    x = hostile_vectors(dtype)[name]
    norm, square = QSGD(3).compress_with(x, np.zeros_like(x)).norm, naive.squared_norm(x)
    assert norm.dtype == dtype
    assert norm >= abs(x).max()
    # the sum of squares is off by n / 64 + n / 65536 + 9 units of 2^-53, the norm by half of that and one more
    sums = 1 + (Fraction(x.size, 64) + Fraction(x.size, 65536) + 9) * Fraction(1, 2**53)
    root = 1 + Fraction(1, 2**53)
    unit = Fraction(float(norm)) - Fraction(float(np.nextafter(norm, dtype(0))))
    slack = unit if dtype == np.float32 or norm < 1e-290 else 0
    assert (norm == 0) == (square == 0)
    assert (max(Fraction(float(norm)) - slack, 0) / root) ** 2 <= square * sums
    assert ((Fraction(float(norm)) + slack) * root) ** 2 * sums >= square


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_vector_whose_norm_leaves_the_dtype_is_refused_by_qsgd_only(dtype):
    x = np.full(4, np.finfo(dtype).max)
    with pytest.raises(ValueError, match="l2 norm of x must not exceed the largest finite"):
        QSGD(4).compress_with(x, np.zeros_like(x))
    assert MaxDithering(4)(x, np.random.default_rng(0)).tolist() == x.tolist()


@pytest.mark.parametrize("compressor", COMPRESSORS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_sparse_vectors_and_zeros_are_reproduced_whatever_the_uniforms(compressor, dtype):
    for name in ("zeros", "one entry", "one sparse", "one sparse, largest", "one sparse, least"):
        x = hostile_vectors(dtype)[name]
        for uniforms in hostile_uniforms(dtype, x.size).values():
            assert compressor.decompress(compressor.compress_with(x, uniforms)).tolist() == x.tolist()


@pytest.mark.parametrize("compressor", [c for c in COMPRESSORS if not isinstance(c, QSGD)], ids=str)
@pytest.mark.parametrize(("dtype", "name"), VECTORS)
def test_entries_of_the_largest_magnitude_are_reproduced_by_the_max_norm(compressor, dtype, name):
    x = hostile_vectors(dtype)[name]
    top = abs(x) == abs(x).max()
    for uniforms in hostile_uniforms(dtype, x.size).values():
        assert compressor.decompress(compressor.compress_with(x, uniforms))[top].tolist() == x[top].tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_entries_on_a_level_stay_whatever_the_uniforms(dtype):
    for levels in (2, 4, 10, 100, 127, 2**14):
        x = (np.arange(levels + 1) * 3).astype(dtype)
        for uniforms in hostile_uniforms(dtype, x.size).values():
            assert MaxDithering(levels).compress_with(x, uniforms).codes.tolist() == list(range(levels + 1))


@pytest.mark.parametrize(
    ("compressor", "bits"),
    [(QSGD(1), 2), (QSGD(3), 3), (QSGD(4), 4), (QSGD(127), 8), (QSGD(128), 9), (TernGrad(), 2), (MaxDithering(7), 4)],
    ids=str,
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_wire_size(compressor, bits, dtype):
    x = np.ones(11, dtype)
    message = compressor.compress(x, np.random.default_rng(0))
    assert message.bits == 8 * x.itemsize + 11 * bits
    assert message.codes.itemsize == (1 if levels_of(compressor) <= 127 else 2)


RATIONAL = [[3, -4, 12, 0], [1, 1, 1, -1], [Fraction(3, 2), -2, 0, 6], [2, 3, 6], [-7]]
IRRATIONAL = [[1, 2], [1, -1, 3], [5, 0, 1], [Fraction(1, 2), 2, -1, 1, Fraction(-1, 2), 0]]
FEW_LEVELS = [c for c in COMPRESSORS if levels_of(c) <= 128]


def as_vector(x, dtype):
    return np.array(x, np.float64).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compressor", FEW_LEVELS, ids=str)
@pytest.mark.parametrize("x", RATIONAL, ids=str)
def test_the_kernel_switches_exactly_where_its_law_says(compressor, x, dtype):
    points, lower, upper = switching_points(compressor, as_vector(x, dtype))
    norm = Fraction(float(compressor.compress_with(as_vector(x, dtype), np.zeros(len(x), dtype)).norm))
    for i, pairs in enumerate(marginals(compressor.law(x), len(x))):
        assert [norm * Fraction(int(level), levels_of(compressor)) for level in (lower[i], upper[i])][: len(pairs)] == [
            value for _, value in pairs
        ]
        count = 0 if len(pairs) == 1 else rounded_up(pairs[1][0], grid_bits(dtype))
        # float64: both sides of the comparison are rounded once, which moves p by at most 2^-52 p, two uniforms
        assert abs(points[i] - count) <= (0 if dtype == np.float32 else 2)
        assert len(pairs) == 2 or lower[i] == upper[i]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compressor", [c for c in FEW_LEVELS if isinstance(c, QSGD)], ids=str)
@pytest.mark.parametrize("x", IRRATIONAL, ids=str)
def test_with_an_irrational_norm_the_kernel_switches_at_the_law_of_the_rounded_norm(compressor, x, dtype):
    points, lower, upper = switching_points(compressor, as_vector(x, dtype))
    norm = Fraction(float(compressor.compress_with(as_vector(x, dtype), np.zeros(len(x), dtype)).norm))
    # the norm is off by one part in 2^24 (2^51 for float64: a sum of up to six squares), and so is a
    moved = Fraction(1, 2**24 if dtype == np.float32 else 2**51)
    for i, pairs in enumerate(marginals(compressor.law(x), len(x))):
        a = compressor.levels * abs(Fraction(x[i])) / norm
        count = rounded_up(a - math.floor(a), grid_bits(dtype))
        assert (lower[i], upper[i]) == (math.floor(a), math.ceil(a))
        assert abs(points[i] - count) <= (0 if dtype == np.float32 else 2)
        if len(pairs) == 2 and moved * a < min(pairs[0][0], pairs[1][0]):
            assert abs(a - math.floor(a) - pairs[1][0]) <= moved * a


@pytest.mark.parametrize("dtype", DTYPES)
def test_just_below_at_and_just_above_a_threshold(dtype):
    # a = 4 (1, 3, 5, 7, 8)/8 has the fractions 1/2, 1/2, 1/2, 1/2, 0: up iff u < 1/2
    x = np.array([1, 3, -5, 7, 8], dtype)
    half = dtype(0.5)
    for u, codes in [
        (np.nextafter(half, dtype(0)), [1, 2, -3, 4, 4]),
        (half, [0, 1, -2, 3, 4]),
        (np.nextafter(half, dtype(1)), [0, 1, -2, 3, 4]),
    ]:
        assert MaxDithering(4).compress_with(x, np.full(5, u)).codes.tolist() == codes


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_smallest_probability_still_happens(dtype):
    x = np.array([1.0, 1e-30], dtype)
    assert MaxDithering(3).compress_with(x, np.zeros(2, dtype)).codes.tolist() == [3, 1]
    assert MaxDithering(3).compress_with(x, np.full(2, 2.0**-24, dtype)).codes.tolist() == [3, 0]


def test_one_unit_below_and_above_a_level():
    largest = 1 - 2.0**-53
    x = np.array([1, np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1), np.nextafter(1, 0)])
    # a = 2 x: 1 - 2^-53, 1, 1 + 2^-52, 2 - 2^-52
    assert MaxDithering(2).compress_with(x, np.zeros(5)).codes.tolist() == [2, 1, 1, 2, 2]
    assert MaxDithering(2).compress_with(x, np.full(5, 1 - 2.0**-52)).codes.tolist() == [2, 1, 1, 1, 1]
    assert MaxDithering(2).compress_with(x, np.full(5, largest)).codes.tolist() == [2, 0, 1, 1, 1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_uniforms_are_checked(dtype):
    x, other = np.ones(3, dtype), np.float64 if dtype == np.float32 else np.float32
    with pytest.raises(TypeError, match="uniforms must have the dtype of x"):
        TernGrad().compress_with(x, np.zeros(3, other))
    with pytest.raises(ValueError, match=r"uniforms must have the shape of x, \(3,\), got \(2,\)"):
        TernGrad().compress_with(x, np.zeros(2, dtype))
    for bad in (1.0, -0.5, np.nan):
        with pytest.raises(ValueError, match=r"uniforms must be in \[0, 1\)"):
            TernGrad().compress_with(x, np.array([0, bad, 0], dtype))


@pytest.mark.parametrize("compressor", [QSGD(1), QSGD(4), MaxDithering(3), TernGrad()], ids=str)
@pytest.mark.parametrize("x", [[3, -4, 0], [1, 2, 2], [Fraction(-2, 3), Fraction(1, 3), Fraction(2, 3)]], ids=str)
def test_the_law_is_rational_sums_to_one_and_is_unbiased(compressor, x):
    law = compressor.law(x)
    assert all(type(p) is Fraction and all(type(v) is Fraction for v in output) for p, output in law)
    assert all(p > 0 for p, _ in law)
    assert len({output for _, output in law}) == len(law)
    assert sum(p for p, _ in law) == 1
    assert [sum(p * output[i] for p, output in law) for i in range(len(x))] == x


@pytest.mark.parametrize("levels", [1, 3, 8])
@pytest.mark.parametrize("x", [[1, 2], [-1, 0, 1], [Fraction(1, 3), 5]], ids=str)
def test_the_law_with_an_irrational_norm_is_exact(levels, x):
    law = QSGD(levels).law(x)
    assert sum(p for p, _ in law) == 1
    assert all(p.is_positive if isinstance(p, sp.Expr) else p > 0 for p, _ in law)
    for i, v in enumerate(x):
        assert sp.expand(sum(p * output[i] for p, output in law) - sp.Rational(v)) == 0


def test_the_law_takes_floats_at_their_binary_value_and_zeros_to_zeros():
    assert QSGD(2).law([0.1]) == [(1, (Fraction(0.1),))]
    assert QSGD(2).law([0, 0.0]) == [(1, (0, 0))]
    assert TernGrad().law(np.array([1.0, 0.5], np.float32)) == MaxDithering(1).law([1, Fraction(1, 2)])


def test_terngrad_is_max_dithering_with_one_level():
    x = np.random.default_rng(1).standard_normal(1000)
    assert (TernGrad()(x, np.random.default_rng(2)) == MaxDithering(1)(x, np.random.default_rng(2))).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compressor", [QSGD(127), MaxDithering(300)], ids=str)
def test_compress_feeds_the_kernel_with_the_counter_generator(compressor, dtype, monkeypatch):
    n = 2 * _blocks.BLOCK + 4321 if not numba.config.DISABLE_JIT else 3000
    x = np.random.default_rng(3).standard_normal(n).astype(dtype)
    uniforms = np.empty_like(x)
    fill_uniforms(key_from(np.random.default_rng(5)), 0, uniforms)
    expected = compressor.compress_with(x, uniforms)
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 1)
    threads = numba.get_num_threads()
    try:
        for count in range(1, threads + 1):
            numba.set_num_threads(count)
            message = compressor.compress(x, np.random.default_rng(5))
            assert message.norm == expected.norm
            assert (message.codes == expected.codes).all()
    finally:
        numba.set_num_threads(threads)


@pytest.mark.parametrize("levels", [0, -1, 2**15])
@pytest.mark.parametrize("kind", [QSGD, MaxDithering])
def test_levels_out_of_range(kind, levels):
    with pytest.raises(ValueError, match=r"levels must be in \[1, 32767\]"):
        kind(levels)


@pytest.mark.parametrize("levels", [2.0, True, "3", None])
def test_levels_of_another_type(levels):
    with pytest.raises(TypeError, match="levels must be an integer"):
        QSGD(levels)
