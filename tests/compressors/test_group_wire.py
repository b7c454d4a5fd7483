"""Messages of group quantisers as bytes: exactly as many as they claim, and read back to the same bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer, TopK, message_from_bytes, wire_bytes

pytestmark = pytest.mark.kernels
# float16 and log2 scales with their largest exponent hold all of these
ENTRIES = st.one_of(
    st.integers(-4, 4).map(float), st.floats(-1000, 1000, width=16), st.sampled_from((-0.0, 0.1, 1e-7, -1e-30))
)
FORMATS = ("float64", "float32", "float16", "bfloat16")
KINDS = [
    {"zero": zero, "scale": scale, "spikes": spikes}
    for zero in ("float", "integer", "clamped")
    for scale in ("float", "log2")
    for spikes in (False, True)
]


@st.composite
def vectors(draw, dtype):
    """Vectors with their last group whole, ragged, or the only one; constant ones among them."""
    return np.array(draw(st.lists(ENTRIES, min_size=1, max_size=20)), dtype)


def there_and_back(quantiser, x, rng=None):
    """The message of `x`, and what is read of its bytes."""
    message = quantiser.compress(x, rng)
    sent = wire_bytes(message)
    assert sent.dtype == np.uint8
    assert sent.shape == (-(-message.bits // 8),)
    return message, message_from_bytes(sent, quantiser, x.size, x.dtype)


def same(a, b):
    return (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())


@pytest.mark.parametrize("metadata", FORMATS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data(), width=st.integers(1, 8), group=st.integers(1, 9), kind=st.sampled_from(KINDS))
def test_bytes_are_as_many_as_claimed_and_read_back(metadata, dtype, data, width, group, kind):
    x = data.draw(vectors(dtype))
    quantiser = GroupQuantizer(width, group, metadata, **kind)
    try:
        message, read = there_and_back(quantiser, x)
    except ValueError as refused:  # an offset too large for an integer zero point of its group's range
        assert kind["zero"] == "integer"
        assert "does not fit 32 bits" in str(refused)  # noqa: PT017 (the others must not raise)
        return
    assert read.bits == message.bits
    assert same(quantiser.decompress(read), quantiser.decompress(message))
    assert same(read.codes, message.codes)
    assert same(wire_bytes(read), wire_bytes(message))


@pytest.mark.parametrize("width", range(2, 9))
@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 1000])
def test_sizes_of_the_usual_group(width, n):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    for options in ({}, {"repaired": True}, {"quantise_with": "exact"}, {"spikes": True}, {"scale": "log2"}):
        quantiser = GroupQuantizer(width, 128, "bfloat16", **options)
        message, read = there_and_back(quantiser, x)
        assert same(quantiser.decompress(read), quantiser.decompress(message))


def test_stochastic_messages_are_read_back():
    quantiser, x = StochasticGroupQuantizer(5, 7, "float16", spikes=True), np.linspace(-3, 5, 30)
    message, read = there_and_back(quantiser, x, np.random.default_rng(0))
    assert same(quantiser.decompress(read), quantiser.decompress(message))


def test_bytes_one_by_one():
    # codes 0 3 1 2 0 of 2 bits, scales 1 and 0, zero points 0 and 5 as float16
    sent = wire_bytes(GroupQuantizer(2, 4, "float16").compress(np.array([0.0, 3.0, 1.0, 2.0, 5.0])))
    assert sent.tolist() == [0b10_01_11_00, 0, 0x00, 0x3C, 0, 0, 0, 0, 0x00, 0x45]
    # groups of 3: spikes at 1 and 0, at 0 and 0, each place 2 bits; the code left over is a 0
    sent = wire_bytes(
        GroupQuantizer(8, 3, "float16", zero="clamped", spikes=True).compress(np.array([2.0, -1.0, 0, 1]))
    )
    spikes = [0x00, 0xBC, 0x00, 0x40, 0x00, 0x3C, 0x00, 0x3C]
    assert sent[4 + 4 + 2 :].tolist() == [*spikes, 0b00_00_00_01]


def test_every_byte_is_read():
    quantiser, x = GroupQuantizer(3, 5, "float16", spikes=True), np.linspace(-3, 7, 12)
    sent = wire_bytes(quantiser.compress(x))
    unread = []
    for i in range(sent.size):
        other = sent.copy()
        other[i] ^= 1
        try:
            changed = wire_bytes(message_from_bytes(other, quantiser, x.size, x.dtype))
        except ValueError as refused:
            assert "lie in their groups" in str(refused)  # noqa: PT017 (only some changes are refused)
            continue
        if same(changed, sent):
            unread.append(i)
    assert unread == []


def test_what_is_refused():
    quantiser = GroupQuantizer(3, 5, spikes=True)
    sent = wire_bytes(quantiser.compress(np.arange(7.0)))
    with pytest.raises(ValueError, match=r"sent must have shape \(\d+,\) for 7 entries, got"):
        message_from_bytes(sent[:-1], quantiser, 7, np.float64)
    with pytest.raises(ValueError, match="sent must have shape"):
        message_from_bytes(sent.reshape(1, -1), quantiser, 7, np.float64)
    with pytest.raises(ValueError, match=r"positions of the message must lie in their groups of 5"):
        message_from_bytes(np.full_like(sent, 255), quantiser, 7, np.float64)
    with pytest.raises(TypeError, match="sent must be uint8, got int64"):
        message_from_bytes(sent.astype(np.int64), quantiser, 7, np.float64)
    with pytest.raises(TypeError, match="dtype must be float32 or float64, got float16"):
        message_from_bytes(sent, quantiser, 7, np.float16)
    with pytest.raises(TypeError, match="quantiser must be a GroupQuantizer"):
        message_from_bytes(sent, TopK(1), 7, np.float64)
    with pytest.raises(ValueError, match="n must be in"):
        message_from_bytes(sent, quantiser, 0, np.float64)
    with pytest.raises(TypeError, match="message must be a GroupCodes"):
        wire_bytes(sent)
