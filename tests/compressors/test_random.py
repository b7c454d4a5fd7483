import numba
import numpy as np
import pytest
from chi_square import ChiSquare

from commbounds.compressors import _random
from commbounds.compressors._random import fill_bounded, fill_uniforms, key_from

pytestmark = pytest.mark.kernels
statistical = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="millions of draws need compiled kernels")

WORD = 2**64
GOLDEN, MIX1, MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
DTYPES = [(np.float32, 24), (np.float64, 53)]
KEYS = [0, 1, 0x0123456789ABCDEF, WORD - 1]


def splitmix64(key, counter):
    """Output `counter` of the generator of Steele, Lea and Flood (2014) that starts at `key`."""
    z = (key + (counter + 1) * GOLDEN) % WORD
    z = (z ^ z >> 30) * MIX1 % WORD
    z = (z ^ z >> 27) * MIX2 % WORD
    return z ^ z >> 31


def uniform(key, counter, bits):
    """Draw `counter` over 2^bits: 53 bits from the top of one output, or 24 from its top (even) or bottom (odd)."""
    if bits == 53:
        return (splitmix64(key, counter) >> 11) / 2**53
    return (splitmix64(key, counter // 2) >> (0 if counter % 2 else 40)) % 2**24 / 2**24


def unmixed(output):
    """The state whose output this is: every step of the generator is a bijection."""

    def unshifted(z, shift):
        whole = z
        for _ in range(64 // shift):
            whole = z ^ whole >> shift
        return whole

    z = unshifted(output, 31) * pow(MIX2, -1, WORD) % WORD
    z = unshifted(z, 27) * pow(MIX1, -1, WORD) % WORD
    return unshifted(z, 30)


def uniforms(key, n, dtype, start=0):
    out = np.empty(n, dtype)
    fill_uniforms(np.uint64(key % WORD), start, out)
    return out


def cells(u, count):
    return np.bincount((u * count).astype(np.int64), minlength=count)


def test_the_published_outputs_come_out():
    # the first outputs for seed 1234567, as listed with the reference implementations
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [splitmix64(1234567, i) for i in range(5)] == published
    assert uniforms(1234567, 5, np.float64).tolist() == [(p >> 11) / 2**53 for p in published]


@pytest.mark.parametrize(("dtype", "bits"), DTYPES)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("start", [0, 1, 10**9, 2**40])
def test_agrees_with_plain_splitmix64(key, start, dtype, bits):
    for n in (1, 2, 99):
        assert uniforms(key, n, dtype, start).tolist() == [uniform(key, start + i, bits) for i in range(n)]


@pytest.mark.parametrize(("dtype", "bits"), DTYPES)
def test_the_extremes_occur_and_stay_in_range(dtype, bits):
    for output, extreme in ((0, 0.0), (WORD - 1, 1 - 2.0**-bits)):
        for counter in (0, 1, 12345):
            key = unmixed(output) - (counter // (2 if bits == 24 else 1) + 1) * GOLDEN
            assert uniforms(key, 1, dtype, counter).tolist() == [extreme]


@pytest.mark.parametrize(("dtype", "bits"), DTYPES)
def test_does_not_depend_on_the_split_into_blocks(dtype, bits):
    whole = uniforms(7, 1000, dtype)
    for block in (1, 3, 64, 999):
        parts = [uniforms(7, min(block, 1000 - start), dtype, start) for start in range(0, 1000, block)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_a_key_is_one_draw_of_the_generator():
    keys = [key_from(np.random.default_rng(3)) for _ in range(2)]
    assert keys[0] == keys[1]
    assert keys[0] == np.random.default_rng(3).integers(0, 2**64, dtype=np.uint64)
    assert isinstance(keys[0], np.uint64)


# Every test below raises a false alarm with probability 1e-9; its key is fixed, so it does so always or never.


@statistical
@pytest.mark.parametrize(("dtype", "bits"), DTYPES)
@pytest.mark.parametrize("key", KEYS)
def test_uniform_in_its_leading_and_its_trailing_bits(key, dtype, bits):
    test = ChiSquare(cells=256, effect=1e-4)
    u = uniforms(key, test.draws, dtype)
    assert u.min() >= 0
    assert u.max() < 1
    assert not test.rejects(cells(u, 256))
    assert not test.rejects(cells(u * 2.0 ** (bits - 8) % 1, 256))


@statistical
@pytest.mark.parametrize("lag", [1, 2, 3, 64, 65536])
@pytest.mark.parametrize("key", KEYS)
def test_neighbours_are_independent(key, lag):
    # pairs u_i, u_(i + lag) in 16 x 16 cells, with no draw in two pairs
    test = ChiSquare(cells=256, effect=1e-4)
    u = uniforms(key, -(-2 * test.draws // (2 * lag)) * 2 * lag, np.float32).reshape(-1, 2, lag)
    first, second = (u * 16).astype(np.int64).transpose(1, 0, 2).reshape(2, -1)
    assert not test.rejects(np.bincount(16 * first + second, minlength=256))


@statistical
@pytest.mark.parametrize("other", [1, 2, 1 << 31, 1 << 32, 1 << 63, WORD - 1])
@pytest.mark.parametrize("key", KEYS)
def test_streams_of_related_keys_are_independent(key, other):
    test = ChiSquare(cells=256, effect=1e-4)
    first, second = ((uniforms(k, test.draws, np.float32) * 16).astype(np.int64) for k in (key, key ^ other))
    assert not test.rejects(np.bincount(16 * first + second, minlength=256))


@statistical
def test_consecutive_keys_make_independent_trials():
    # one draw for each of many keys, as a Monte Carlo loop takes them
    test = ChiSquare(cells=16, effect=0.02)
    u = np.array([uniforms(key, 1, np.float32)[0] for key in range(test.draws)])
    assert not test.rejects(cells(u, 16))


@statistical
@pytest.mark.parametrize("power", [8, 12, 16, 20])
@pytest.mark.parametrize(("dtype", "bits"), DTYPES)
def test_tails_have_their_weight(dtype, bits, power):
    # Chernoff: P(count / mean outside 1 -+ e) <= 2 exp(-mean e^2 / 3) for e <= 1, here 1e-9
    n = 1 << 25
    u, mean = uniforms(99, n, dtype), n / 2**power
    e = np.sqrt(3 * np.log(2e9) / mean)
    for count in ((u < 2.0**-power).sum(), (u >= 1 - 2.0**-power).sum()):
        assert abs(count - mean) <= e * mean if e <= 1 else count <= mean + e**2 * mean


@statistical
def test_the_mean_and_the_serial_correlation_vanish():
    # Hoeffding for the mean, and for products of centred uniforms in [-1/4, 1/4]: 1e-9 in all
    n = 1 << 25
    for key in KEYS:
        u = uniforms(key, n, np.float64) - 0.5
        slack = np.sqrt(np.log(4e9) / (2 * n))
        assert abs(u.mean()) <= slack
        assert abs((u[0::2] * u[1::2]).mean()) <= 0.5 * slack * np.sqrt(2)


# Bounded integers


def lemire(key, counter, size):
    """Lemire's bounded integer from the top 32 bits of outputs counter, counter + 2^32, ..."""
    while True:
        product = (splitmix64(key, counter) >> 32) * size
        if product % 2**32 >= 2**32 % size:
            return product >> 32
        counter += 2**32


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("start", "low"), [(0, 1), (5, 1), (0, 2**31 + 1), (1000, 3 * 2**30), (0, 2**32 - 200)])
def test_bounded_integers_agree_with_plain_python(key, start, low):
    out = np.empty(200, np.int64)
    fill_bounded(np.uint64(key), start, low, out)
    assert out.tolist() == [lemire(key, start + i, low + start + i) for i in range(200)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 100, 2**16 + 1, 2**31 - 1, 2**31, 2**31 + 1, 3 * 2**30, 2**32 - 1])
def test_lemire_accepts_every_result_equally_often(size):
    # result r comes from the 32-bit words w with r 2^32 <= w size < (r + 1) 2^32, less the first of them if rejected
    for r in {*range(min(size, 50)), size // 3, size // 2, size - 1}:
        first, last = -(-r * 2**32 // size), -(-(r + 1) * 2**32 // size)
        rejected = first * size - r * 2**32 < 2**32 % size
        assert (first + 1) * size - r * 2**32 >= 2**32 % size
        assert last - first - rejected == 2**32 // size


@pytest.mark.parametrize("source", [np.random.PCG64, np.random.PCG64DXSM, np.random.SFC64, np.random.Philox])
def test_a_key_is_what_integers_would_draw(source):
    one, other = np.random.Generator(source(3)), np.random.Generator(source(3))
    for generator in (one, other):
        generator.integers(10, dtype=np.uint32)  # half of a word is left over
    for _ in range(5):
        assert key_from(one) == other.integers(0, 2**64, dtype=np.uint64)
    assert one.random(dtype=np.float32) == other.random(dtype=np.float32)


def test_a_key_of_a_generator_of_shorter_words_has_64_bits():
    keys = [int(key_from(np.random.Generator(np.random.MT19937(seed)))) for seed in range(20)]
    assert max(keys) >= 2**63


@statistical
def test_bounded_integers_are_uniform():
    test = ChiSquare(cells=100, effect=2e-3)
    out = np.empty(1, np.int64)
    draws = np.empty(test.draws, np.int64)
    for i in range(test.draws):
        fill_bounded(np.uint64(5), i, 1_000_000 - i, out)  # the same range at every counter
        draws[i] = out[0]
    assert not test.rejects(np.bincount(draws // 10_000, minlength=100))


def test_kernels_agree_with_their_own_source():
    with np.errstate(over="ignore"):
        for kernel, dtype in (
            (_random._uniforms32, np.float32),
            (_random._uniforms64, np.float64),
            (_random._bounded, np.uint64),
        ):
            compiled, plain = np.empty((2, 200), dtype)
            more = (2**31 + 1,) if dtype == np.uint64 else ()
            kernel(np.uint64(9), 3, *more, compiled)
            getattr(kernel, "py_func", kernel)(np.uint64(9), 3, *more, plain)
            assert compiled.tobytes() == plain.tobytes()
