import math
from fractions import Fraction

import numpy as np
import pytest
from hostile_vectors import hostile_uniforms, hostile_vectors
from switching import exact_fraction, grid_bits, marginals, rounded_up, switching_points

from commbounds.compressors import NaturalCompression, NaturalDithering, NearestPower, StochasticPower
from commbounds.compressors.quantizers.natural_dithering import _dither_to_powers
from commbounds.compressors.quantizers.powers import _nearest_codes, _stochastic_codes, floor_power
from commbounds.compressors.quantizers.stochastic_power import _round_to_table, power_table
from commbounds.verify.definitions import quantizers as naive

pytestmark = pytest.mark.kernels

DTYPES = [np.float32, np.float64]
VECTORS = [(dtype, name) for dtype in DTYPES for name in hostile_vectors(dtype)]
BASES = [2, 3, 1.5, Fraction(5, 4), Fraction(4, 3), 10]


def source(kernel):
    return getattr(kernel, "py_func", kernel)


def value_of(code, dtype):
    # code 1 is the smallest normal power of two
    return 0.0 if code == 0 else math.copysign(math.ldexp(1.0, abs(code) - 1 + np.finfo(dtype).minexp), code)


_TABLES = {}


def naive_table(base, dtype):
    if (base, dtype) not in _TABLES:
        exact, dt = Fraction(base), np.dtype(dtype)
        _TABLES[base, dtype] = [naive.power_level(exact, j, dt) for j in naive.power_exponents(exact, dt)]
    return _TABLES[base, dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("base", [*BASES, 1.25, 7, 2**40, 1e30, 2**128 - 1, 2**1024 - 1, 10**400], ids=str)
def test_the_table_of_powers_is_correctly_rounded(base, dtype):
    assert power_table(Fraction(base), np.dtype(dtype)).tolist() == naive_table(base, dtype)


@pytest.mark.parametrize("base", [Fraction(1025, 1024), 1.001])
def test_a_fine_table_ascends_and_follows_its_ratio(base):
    table = power_table(Fraction(base), np.dtype(np.float32))
    assert (np.diff(table) > 0).all()
    # two roundings to float32, relatively 2^-24 each
    assert np.allclose(table[1:] / table[:-1], float(base), rtol=2.0**-23, atol=0)
    assert table[0] < np.finfo(np.float32).tiny * float(base)
    assert table[-1] * float(base) > np.finfo(np.float32).max
    assert 1.0 in table


@pytest.mark.parametrize("levels", [1, 2, 4, 30, 200, 1023])
@pytest.mark.parametrize(("dtype", "name"), VECTORS)
def test_natural_dithering_agrees_with_its_naive_twin(levels, dtype, name):
    x = hostile_vectors(dtype)[name]
    for uniforms in hostile_uniforms(dtype, x.size).values():
        message = NaturalDithering(levels).compress_with(x, uniforms)
        assert message.codes.tolist() == naive.dithered_to_powers(x, message.norm, levels, uniforms)
        expected = [dtype(math.copysign(math.ldexp(float(message.norm), abs(c) - levels), c) if c else 0.0)
                    for c in message.codes.tolist()]  # fmt: skip
        assert NaturalDithering(levels).decompress(message).tolist() == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_kernels_agree_with_their_own_source(dtype):
    integer, mantissa, top = (np.int32, 23, 254) if dtype == np.float32 else (np.int64, 52, 2046)
    table = np.array(naive_table(3, dtype))
    for x in hostile_vectors(dtype).values():
        norm = float(abs(x).max()) or 1.0
        for uniforms in hostile_uniforms(dtype, x.size).values():
            for kernel, arguments in [
                (_stochastic_codes, (x.view(integer), uniforms, mantissa, top)),
                (_nearest_codes, (x.view(integer), mantissa, top)),
                (_round_to_table, (x, uniforms, table)),
                (_dither_to_powers, (x, uniforms, 9, norm)),
            ]:
                compiled, plain = np.zeros((2, x.size), np.int32)
                kernel(*arguments, compiled)
                source(kernel)(*arguments, plain)
                assert compiled.tolist() == plain.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_normal_powers_of_two_are_fixed_points_and_so_are_the_powers_of_every_base(dtype):
    info = np.finfo(dtype)
    powers = np.ldexp(dtype(1), np.arange(info.minexp, info.maxexp)).astype(dtype)
    x = np.concatenate([powers, -powers])
    assert NearestPower()(x).tolist() == x.tolist()
    for uniforms in hostile_uniforms(dtype, x.size).values():
        for compressor in (NaturalCompression(), StochasticPower(2)):
            assert compressor.decompress(compressor.compress_with(x, uniforms)).tolist() == x.tolist()
    table = np.array(naive_table(Fraction(5, 4), dtype), dtype)
    for uniforms in hostile_uniforms(dtype, table.size).values():
        message = StochasticPower(Fraction(5, 4)).compress_with(table, uniforms)
        assert message.codes.tolist() == list(range(1, table.size + 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_base_two_is_natural_compression_code_for_code(dtype):
    for x in hostile_vectors(dtype).values():
        for uniforms in hostile_uniforms(dtype, x.size).values():
            expected = NaturalCompression().compress_with(x, uniforms)
            message = StochasticPower(2).compress_with(x, uniforms)
            assert (message.codes.tolist(), message.bits) == (expected.codes.tolist(), expected.bits)


@pytest.mark.parametrize("dtype", DTYPES)
def test_entries_above_the_largest_power_saturate_and_subnormal_ones_round_to_zero_or_the_smallest(dtype):
    info = np.finfo(dtype)
    x = np.array([info.max, -info.max, info.smallest_subnormal, -info.smallest_subnormal], dtype)
    top, least = np.ldexp(1.0, info.maxexp - 1), float(info.tiny)
    for compressor in (NaturalCompression(), StochasticPower(2)):
        up = compressor.decompress(compressor.compress_with(x, np.zeros(4, dtype)))
        assert up.tolist() == [top, -top, least, -least]
        down = compressor.decompress(compressor.compress_with(x, np.full(4, 1 - 2.0**-24, dtype)))
        assert down.tolist() == [top, -top, 0, 0]
    assert NearestPower()(x).tolist() == [top, -top, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_natural_compression_switches_exactly_at_the_mantissa(dtype):
    info = np.finfo(dtype)
    x = np.array([1.0, 1.25, -1.5, 4 / 3, 6.999, info.tiny * 1.75, info.tiny / 4, info.smallest_subnormal], dtype)
    points, lower, upper = switching_points(NaturalCompression(), x)
    for i, v in enumerate(map(Fraction, map(float, abs(x)))):
        low = floor_power(v) if v >= Fraction(float(info.tiny)) else Fraction(0)
        step = low or Fraction(float(info.tiny))
        assert points[i] == (v - low) / step * 2 ** grid_bits(dtype)
        assert upper[i] == lower[i] + (v != low)
        assert value_of(int(lower[i]), dtype) == low


LAWS = [[1, 3, -5], [Fraction(4, 3), Fraction(-1, 7), 0], [8, 100, Fraction(1, 64)]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("x", [[1, 3, -5, 0], [Fraction(5, 8), Fraction(-3, 16)], [100, 7]], ids=str)
@pytest.mark.parametrize("compressor", [NaturalCompression(), StochasticPower(2), StochasticPower(3)], ids=str)
def test_rounding_to_powers_switches_exactly_where_its_law_says(compressor, x, dtype):
    points, lower, upper = switching_points(compressor, np.array(x, np.float64).astype(dtype))
    for i, pairs in enumerate(marginals(compressor.law(x), len(x))):
        # powers of three are not exact below one: the levels move by 2^-24 (2^-53) of themselves, and p with them
        inexact = compressor == StochasticPower(3) and abs(x[i]) < 1
        count = 0 if len(pairs) == 1 else rounded_up(pairs[1][0], grid_bits(dtype))
        assert abs(points[i] - count) <= (4 if inexact else 0 if dtype == np.float32 else 1)
        assert upper[i] == lower[i] + len(pairs) - 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("levels", [1, 2, 3, 6])
@pytest.mark.parametrize("x", [[3, -4, 12, 0], [2, 3, 6], [1, 1, 1, 1], [-5]], ids=str)
def test_natural_dithering_switches_where_its_law_says(levels, x, dtype):
    points, lower, upper = switching_points(NaturalDithering(levels), np.array(x, dtype))
    for i, pairs in enumerate(marginals(NaturalDithering(levels).law(x), len(x))):
        count = 0 if len(pairs) == 1 else rounded_up(pairs[1][0], grid_bits(dtype))
        # |x| / norm is rounded to float64, which moves p = 2^j |x| / norm - 1 by at most two uniforms of float64
        assert abs(points[i] - count) <= (0 if dtype == np.float32 else 2)
        assert upper[i] == lower[i] + len(pairs) - 1
        norm = Fraction(math.isqrt(sum(v * v for v in x)))
        assert pairs[0][1] == (norm * Fraction(2) ** (int(lower[i]) - levels) if lower[i] else 0)


@pytest.mark.parametrize("x", LAWS, ids=str)
@pytest.mark.parametrize(
    "compressor",
    [NaturalCompression(), StochasticPower(3), StochasticPower(Fraction(3, 2)), NaturalDithering(2)],
    ids=str,
)
def test_laws_sum_to_one_and_are_unbiased(compressor, x):
    law = compressor.law(x)
    assert sum(p for p, _ in law) == 1
    assert all(p > 0 for p, _ in law)
    assert len({output for _, output in law}) == len(law)
    for i, v in enumerate(x):
        assert abs(sum(exact_fraction(p) * exact_fraction(output[i]) for p, output in law) - v) < Fraction(1, 2**150)


def test_rational_laws_hold_fractions_only():
    laws = [
        NaturalCompression().law([1, 0.3]),
        StochasticPower(1.5).law([1, 0.3]),
        NaturalDithering(3).law([3, -4]),
        NearestPower().law([1, 0.3]),
    ]
    for law in laws:
        assert all(type(p) is Fraction and all(type(v) is Fraction for v in output) for p, output in law)


def test_laws_by_hand():
    half = Fraction(1, 2)
    assert NaturalCompression().law([-3]) == [(half, (-2,)), (half, (-4,))]
    assert StochasticPower(3).law([5]) == [(Fraction(2, 3), (3,)), (Fraction(1, 3), (9,))]
    assert NearestPower().law([3, Fraction(25, 8), 5, 7, 0]) == [(1, (2, 4, 4, 8, 0))]
    # norm 5: 3/5 lies 1/5 of the way from 1/2 to 1, 4/5 lies 3/5 of the way
    assert NaturalDithering(2).law([3, 4]) == [
        (Fraction(8, 25), (Fraction(5, 2), Fraction(5, 2))),
        (Fraction(12, 25), (Fraction(5, 2), 5)),
        (Fraction(2, 25), (5, Fraction(5, 2))),
        (Fraction(3, 25), (5, 5)),
    ]
    for compressor in (NaturalCompression(), StochasticPower(3), NaturalDithering(2), NearestPower()):
        assert compressor.law([0, 0]) == [(1, (0, 0))]


@pytest.mark.parametrize("value", [1, 2, 3, Fraction(1, 3), Fraction(1, 4), 2**500 + 1, Fraction(1, 2**500 + 1)])
@pytest.mark.parametrize("base", [2, 3, Fraction(3, 2)])
def test_floor_power(value, base):
    power = floor_power(Fraction(value), Fraction(base))
    assert power <= value < power * base
    exponent = round(math.log(power.numerator, base) - math.log(power.denominator, base))
    assert power == Fraction(base) ** exponent


@pytest.mark.parametrize(
    ("compressor", "float32", "float64"),
    [
        (NaturalCompression(), 9 * 5, 12 * 5),
        (NearestPower(), 9 * 5, 12 * 5),
        (StochasticPower(2), 9 * 5, 12 * 5),
        (StochasticPower(3), 9 * 5, 12 * 5),  # 160 and 1291 levels
        (StochasticPower(10), 8 * 5, 11 * 5),  # 76 and 616 levels
        (NaturalDithering(3), 32 + 3 * 5, 64 + 3 * 5),
        (NaturalDithering(8), 32 + 5 * 5, 64 + 5 * 5),
    ],
    ids=str,
)
def test_wire_size(compressor, float32, float64):
    for dtype, bits in ((np.float32, float32), (np.float64, float64)):
        assert compressor.compress(np.ones(5, dtype), np.random.default_rng(0)).bits == bits


@pytest.mark.parametrize("base", [1, 1.0009, 0.5, -2, math.inf, math.nan])
def test_a_base_out_of_range(base):
    with pytest.raises(ValueError, match=r"base must be finite and at least 1 \+ 2\*\*-10"):
        StochasticPower(base)


@pytest.mark.parametrize("base", [True, "2", None, np.True_])
def test_a_base_of_another_type(base):
    with pytest.raises(TypeError, match="base must be an int, float or Fraction"):
        StochasticPower(base)


@pytest.mark.parametrize("base", [np.float32(2), np.int8(2)])
def test_a_base_of_numpys_types_is_the_number(base):
    assert type(StochasticPower(base).base) in (int, float)
    assert StochasticPower(base) == StochasticPower(2)


@pytest.mark.parametrize("levels", [0, 1024])
def test_natural_dithering_levels_out_of_range(levels):
    with pytest.raises(ValueError, match=r"levels must be in \[1, 1023\]"):
        NaturalDithering(levels)
