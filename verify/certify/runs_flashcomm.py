"""Runs of Flash Communication's kernels: rounding of metadata, codes of the group quantiser, bit planes."""

from __future__ import annotations

import numpy as np
from numba import njit

from commbounds.compressors.flashcomm import _kernels, bit_planes, metadata
from commbounds.verify.certify.run import Patterns, Run


@njit(cache=True, nogil=True)
def _not_rounded(patterns, kept, least, way, got):  # type: ignore[no-untyped-def]
    # x = +-S 2^(E - 150), S < 2^24 and E >= 1 its exponent. The format keeps `kept` bits after the leading one, and its
    # normal numbers begin at exponent `least`: codes count its magnitudes. way: 0 to the nearest, ties to even; -1 to
    # the largest that is not larger than x, 1 to the smallest that is not smaller. Zeros have no sign here.
    wrong = 0
    for i in range(patterns.size):
        word = np.int64(patterns[i])
        exponent, significand = max((word >> 23) & 255, 1), word & 0x7FFFFF
        if word & 0x7F800000:
            significand |= 0x800000
        shift = min(23 - kept + max(least - exponent, 0), 30)
        code, rest = significand >> shift, significand & ((1 << shift) - 1)
        code += max(exponent - least, 0) << kept
        half = 1 << (shift - 1)
        negative = word >> 31 == 1
        nearer = rest > half or (rest == half and code & 1 == 1)
        code += nearer if way == 0 else (rest > 0 and negative == (way < 0))
        if negative and code > 0:
            code |= 0x8000
        seen = np.int64(got[i])
        wrong += (0 if seen == 0x8000 else seen) != code
    return wrong


_LARGEST = np.uint32(0x7F7F0000)
"""Of bfloat16, as a float32."""


def _to_bfloat16(patterns: Patterns) -> int:
    x = patterns[(patterns & np.uint32(0x7FFFFFFF)) <= _LARGEST]
    if not x.size:
        return 0
    wrong = 0
    with np.errstate(over="ignore"):  # nextafter's, of numbers that are then not taken
        for way, kernel in ((0, metadata.stored), (-1, metadata.stored_below), (1, metadata.stored_above)):
            out = kernel(x.view(np.float32), "bfloat16", "value").view(np.uint16)
            wrong += int(_not_rounded(x, 7, 1, way, out))
    return wrong


@njit(cache=True, nogil=True)
def _not_nearest_code(values, scale, top, got):  # type: ignore[no-untyped-def]
    # value and scale are +-S 2^(E - 25); the nearest integer to their quotient, halves to even, in [0, top]
    wrong = 0
    for i in range(values.size):
        word, other = np.int64(values[i]), np.int64(scale)
        first, second = (word >> 10) & 31, (other >> 10) & 31
        above, below = word & 0x3FF, other & 0x3FF
        if first:
            above |= 0x400
        if second:
            below |= 0x400
        apart = first + (first == 0) - second - (second == 0)
        if apart > 0:
            above <<= apart
        else:
            below <<= -apart
        code, rest = above // below, above % below
        if 2 * rest > below or (2 * rest == below and code & 1 == 1):
            code += 1
        expected = 0 if word >> 15 == 1 else min(code, top)
        wrong += np.int64(got[i]) != expected
    return wrong


_TOP = 255
_VALUES = np.array([v for v in range(2**16) if v & 0x7C00 != 0x7C00], np.uint16)


def _codes(scales: Patterns) -> int:
    wrong, values = 0, _VALUES.view(np.float16).astype(np.float32)
    for scale in scales[(scales > 0) & (scales < 0x7C00)].astype(np.uint16):
        step = np.array([scale]).view(np.float16).astype(np.float32)
        near = np.abs(values) < step * np.float32(2**20)
        x, codes = values[near], np.empty(np.count_nonzero(near), np.uint8)
        _kernels.nearest(x, x.size, np.zeros(1, np.float32), step, _TOP, codes)
        wrong += int(_not_nearest_code(_VALUES[near], int(scale), _TOP, codes))
    return wrong


def _planes(numbers: Patterns) -> int:
    # number w 2^20 + i 2^16 + a 2^8 + b: nine codes of w + 1 bits, all of them b but the one at place i < 9, which is a
    width, place, one, others = (numbers >> 20) + 1, (numbers >> 16) & 15, (numbers >> 8) & 255, numbers & 255
    chosen = (place < 9) & (np.maximum(one, others) >> width == 0)
    wrong = 0
    for w, i, a, b in zip(*(v[chosen].tolist() for v in (width, place, one, others)), strict=True):
        codes = np.full(9, b, np.uint8)
        codes[i] = a
        wrong += bool((bit_planes.unpacked(bit_planes.packed(codes, w), w, 9) != codes).any())
    return wrong


FLASHCOMM: dict[str, Run] = {
    "metadata.bfloat16": Run(
        "stored, stored_below and stored_above of every float32 of at most bfloat16's largest magnitude",
        2**32,
        _to_bfloat16,
        (metadata.stored, metadata.stored_below, metadata.stored_above, metadata._checked, metadata._refuse_overflow),
        (_to_bfloat16, _not_rounded),
    ),
    "groupquant.float16": Run(
        "the code of every finite float16 at every positive finite float16 scale, zero point 0, 8 bits, for quotients "
        "below 2^20; a number is a scale, with all values",
        2**16,
        _codes,
        (_kernels.nearest,),
        (_codes, _not_nearest_code),
        each=2**16,
        share=1021,
    ),
    "bitplanes": Run(
        "unpacked(packed(codes)) of nine codes of 1 to 8 bits, one of which is anything at any place, the others any "
        "other number",
        2**23,
        _planes,
        (bit_planes.packed, bit_planes.unpacked, bit_planes._pack, bit_planes._unpack),
        (_planes,),
    ),
}
"""Runs by name."""
