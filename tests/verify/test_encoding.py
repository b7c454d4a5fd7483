"""Encodings of messages are read back, and are as long as messages count themselves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commbounds.compressors import COMPRESSORS, QSGD, Coded, PowerSGD, StochasticPower, TopK
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.encoding import bit_count, decoded, elias_gamma, encoded, read_gamma
from commbounds.verify.experiments.setups import SETUPS
from commbounds.verify.measures import MessageBits

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", COMPRESSORS)
def test_every_message_is_read_back_and_as_long_as_it_counts(name, dtype):
    cls, rng, sizes = COMPRESSORS[name], np.random.default_rng(3), (1, 2, 5, 33)
    for n in sizes:
        shape = (n, n + 1) if cls.ndim == 2 else (n,)
        x = (rng.standard_normal(shape) * (rng.random(shape) < 0.7)).astype(dtype)
        for c in SETUPS[name](cls, n):
            message = c.compress(x, rng)
            sent = encoded(c, message)
            assert set(np.unique(sent)) <= {0, 1}
            assert sent.size == bit_count(c, message) == message.bits, (c, n)
            assert c.decompress(decoded(c, message, sent)).tobytes() == c.decompress(message).tobytes()


def test_every_bit_matters():
    c, x = QSGD(3), np.array([1.0, -2.0, 3.0], np.float32)
    message = c.compress(x, np.random.default_rng(0))
    sent = encoded(c, message)
    refused = 0
    for i in range(sent.size):
        other = sent.copy()
        other[i] ^= 1
        try:
            read = c.decompress(decoded(c, message, other))
        except ValueError:  # no code has these bits
            refused += 1
            continue
        assert read.tobytes() != c.decompress(message).tobytes(), i
    assert refused < sent.size / 4


def test_a_number_beyond_its_range_is_refused_and_has_no_size():
    c = QSGD(1)
    message = Coded((2,), np.dtype(np.float32), np.array([2, 0], np.int8), 1, np.float32(1))
    with pytest.raises(ValueError, match=r"numbers must be in \[0, 3\), got \[1, 3\]"):
        bit_count(c, message)


def test_a_message_that_counts_itself_otherwise_has_no_size():
    class Cheap(TopK):
        def compress(self, x, rng=None):
            return replace(super().compress(x), position_bits=0)

    run = CompressorRun(Cheap(1), np.ones(4, np.float32))
    assert MessageBits().read(run).value == -1
    assert MessageBits().read(CompressorRun(TopK(1), np.ones(4, np.float32))).value == 2 + 32


def test_positions_that_are_stated_take_no_bits_if_they_are_those_that_are_sent():
    class Stated(TopK):
        def positions(self, n):
            return np.arange(self.k)

    falling, rising = np.float32([3, 2, 1]), np.float32([1, 2, 3])
    assert bit_count(Stated(2), TopK(2).compress(falling)) == 2 * 32
    with pytest.raises(ValueError, match="reads as another vector"):
        bit_count(Stated(2), TopK(2).compress(rising))


def test_another_vector_is_told():
    class Restless(TopK):
        def decompress(self, message):
            return super().decompress(message) + next(turns)

    turns, c = iter((1, 2)), Restless(1)
    with pytest.raises(ValueError, match="reads as another vector"):
        bit_count(c, c.compress(np.ones(3, np.float32)))


def test_an_unknown_message_is_refused():
    with pytest.raises(TypeError, match="no encoding is known for int"):
        encoded(TopK(1), 3)


def test_levels_of_a_table_and_factors_take_what_they_need():
    x = np.ones((2, 3))
    assert bit_count(PowerSGD(1), PowerSGD(1).compress(x, np.random.default_rng(0))) == 5 * 64
    c = StochasticPower(2)
    message = c.compress(np.ones(3, np.float32), np.random.default_rng(0))
    assert bit_count(c, message) == 3 * 9  # 254 powers of two, either sign, and zero


@given(st.lists(st.integers(1, 10**9)))
def test_elias_codes_are_read_back_and_as_long_as_their_formula(numbers):
    sent = elias_gamma(numbers)
    assert read_gamma(sent) == numbers
    assert len(sent) == sum(2 * (v.bit_length() - 1) + 1 for v in numbers)
