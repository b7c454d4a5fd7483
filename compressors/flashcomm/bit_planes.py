"""Bit splitting: codes of any width as planes of 4, 2 and 1 bits, each packed densely into bytes."""

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np
from numba import njit

from commbounds.array_types import Bytes
from commbounds.compressors.base import as_array, checked_count, shown

PLANES = MappingProxyType({1: (1,), 2: (2,), 3: (2, 1), 4: (4,), 5: (4, 1), 6: (4, 2), 7: (4, 2, 1), 8: (8,)})
"""Widths of the planes of a code, the highest bits first, by the code's width. The order is this project's choice."""


@njit(cache=True, nogil=True)
def _pack(codes, shift, width, out):  # type: ignore[no-untyped-def]
    # out[j] holds codes j c .. j c + c - 1, c = 8 / width, the first in the lowest bits; the last byte may be part full
    per = 8 // width
    mask = np.uint8(2**width - 1)
    whole = codes.size // per
    for j in range(whole):
        byte = np.uint8(0)
        for i in range(per):
            byte |= np.uint8(((codes[j * per + i] >> shift) & mask) << np.uint8(i * width))
        out[j] = byte
    if whole < out.size:
        byte = np.uint8(0)
        for i in range(codes.size - whole * per):
            byte |= np.uint8(((codes[whole * per + i] >> shift) & mask) << np.uint8(i * width))
        out[whole] = byte


@njit(cache=True, nogil=True)
def _unpack(plane, shift, width, codes):  # type: ignore[no-untyped-def]
    # adds the plane's bits to codes
    per = 8 // width
    mask = np.uint8(2**width - 1)
    for i in range(codes.size):
        codes[i] |= np.uint8(((plane[i // per] >> np.uint8((i % per) * width)) & mask) << shift)


def packed_bytes(n: int, bits: int) -> int:
    """Bytes that `n` codes of `bits` bits take: every plane is rounded up to whole bytes; n bits/8 where 8 divides n.

    Examples
    --------
    >>> packed_bytes(16, 3), packed_bytes(5, 3)
    (6, 3)
    """
    count = checked_count("n", n)
    return sum([-(-count * width // 8) for width in PLANES[checked_count("bits", bits, 1, 8)]])


def packed(codes: Bytes, bits: int) -> tuple[Bytes, ...]:
    """The planes of `codes`, highest bits first.

    Parameters
    ----------
    codes : (n,) uint8
        Each below 2^bits; n >= 1.
    bits : int
        In [1, 8].

    Returns
    -------
    tuple of (ceil(n width / 8),) uint8
        One for every width in ``PLANES[bits]``; the first code of a byte lies in its lowest bits.

    Raises
    ------
    TypeError, ValueError
        Codes that are no uint8 vector, that are empty, or that need more than `bits` bits.

    Examples
    --------
    >>> [plane.tolist() for plane in packed(np.array([5, 2, 7], np.uint8), 3)]
    [[54], [5]]
    """
    width = checked_count("bits", bits, 1, 8)
    given = _checked_codes(codes)
    if int(given.max()) >> width:
        raise ValueError(f"codes must be below 2^{width}, got {int(given.max())}")
    planes, left = [], width
    for part in PLANES[width]:
        left -= part
        plane = np.empty(-(-given.size * part // 8), np.uint8)
        _pack(given, np.uint8(left), part, plane)
        planes.append(plane)
    return tuple(planes)


def unpacked(planes: Sequence[Bytes], bits: int, n: int) -> Bytes:
    """The `n` codes that `packed` made `planes` of.

    Parameters
    ----------
    planes : sequence of uint8 vectors
        As `packed` returns them.
    bits : int
        In [1, 8].
    n : int
        Number of codes.

    Raises
    ------
    ValueError
        The planes are not those of `n` codes of `bits` bits.

    Examples
    --------
    >>> unpacked(packed(np.array([5, 2, 7], np.uint8), 3), 3, 3).tolist()
    [5, 2, 7]
    """
    width, count = checked_count("bits", bits, 1, 8), checked_count("n", n)
    expected = [-(-count * part // 8) for part in PLANES[width]]
    if not isinstance(planes, list | tuple):
        raise TypeError(f"planes must be a sequence of vectors, got {shown(planes)}")
    checked = [_checked_codes(plane, "planes") for plane in planes]
    if [plane.size for plane in checked] != expected:
        raise ValueError(f"planes must have {expected} bytes, got {[plane.size for plane in checked]}")
    codes, left = np.zeros(count, np.uint8), width
    for part, plane in zip(PLANES[width], checked, strict=True):
        left -= part
        _unpack(plane, np.uint8(left), part, codes)
    return codes


def _checked_codes(codes: Bytes, name: str = "codes") -> Bytes:
    array = as_array(codes, name)
    if array.dtype != np.uint8:
        raise TypeError(f"{name} must be uint8, got {array.dtype}")
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a vector with at least one entry, got shape {array.shape}")
    return np.ascontiguousarray(array)
