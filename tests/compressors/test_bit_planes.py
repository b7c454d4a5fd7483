"""Bit splitting is lossless and dense."""

import numpy as np
import pytest

from commbounds.compressors.flashcomm.bit_planes import PLANES, packed, packed_bytes, unpacked

pytestmark = pytest.mark.kernels
WIDTHS = pytest.mark.parametrize("bits", range(1, 9))


@WIDTHS
def test_every_code_comes_back(bits):
    codes = np.arange(2**bits, dtype=np.uint8)
    assert unpacked(packed(codes, bits), bits, codes.size).tolist() == codes.tolist()


@WIDTHS
def test_widths_add_up_and_bytes_are_full(bits):
    assert sum(PLANES[bits]) == bits
    assert list(PLANES[bits]) == sorted(PLANES[bits], reverse=True)
    assert packed_bytes(64, bits) == 8 * bits
    for n in (1, 3, 7, 9, 1001):
        planes = packed(np.zeros(n, np.uint8), bits)
        assert sum(plane.nbytes for plane in planes) == packed_bytes(n, bits)
        # every plane loses less than a byte
        assert 0 <= 8 * packed_bytes(n, bits) - n * bits < 8 * len(planes)


def test_codes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"below 2\^2, got 4"):
        packed(np.array([4], np.uint8), 2)
    with pytest.raises(TypeError, match="must be uint8"):
        packed(np.array([1]), 2)
    with pytest.raises(ValueError, match="at least one entry"):
        packed(np.zeros(0, np.uint8), 2)
    with pytest.raises(ValueError, match=r"bits must be in \[1, 8\]"):
        packed(np.zeros(1, np.uint8), 9)
    with pytest.raises(ValueError, match="planes must have"):
        unpacked((np.zeros(2, np.uint8),), 2, 3)
    with pytest.raises(ValueError, match=r"n must be in"):
        packed_bytes(0, 3)


def test_other_memory_layouts():
    codes = np.arange(16, dtype=np.uint8)[::2]
    assert unpacked(packed(codes, 4), 4, 8).tolist() == codes.tolist()
