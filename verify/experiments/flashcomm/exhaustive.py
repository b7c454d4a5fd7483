"""Runs of Flash Communication's kernels: rounding of metadata, codes of the group quantiser, bit planes."""

from collections.abc import Callable
from typing import Any

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


def _rounded(patterns: Patterns, form: str, largest: int, kept: int, least: int) -> int:
    # of the magnitudes up to the format's largest, whose bits as a float32 are `largest`
    x = patterns[(patterns & np.uint32(0x7FFFFFFF)) <= np.uint32(largest)]
    if not x.size:
        return 0
    wrong = 0
    with np.errstate(over="ignore"):  # nextafter's, of numbers that are then not taken
        for way, kernel in ((0, metadata.stored), (-1, metadata.stored_below), (1, metadata.stored_above)):
            out = kernel(x.view(np.float32), form, "value").view(np.uint16)
            wrong += int(_not_rounded(x, kept, least, way, out))
    return wrong


def _to_bfloat16(patterns: Patterns) -> int:
    return _rounded(patterns, "bfloat16", 0x7F7F0000, 7, 1)


def _to_float16(patterns: Patterns) -> int:
    return _rounded(patterns, "float16", 0x477FE000, 10, 113)


@njit(cache=True, nogil=True)
def _quotients(values, scale, floors, parts, more):  # type: ignore[no-untyped-def]
    # value and scale are +-S 2^(E - 25). Their quotient, exactly: floor, the first 24 bits of what is left of it, and
    # whether anything is left of that.
    other = np.int64(scale)
    second = (other >> 10) & 31
    whole = (other & 0x3FF) | ((second > 0) << 10)
    for i in range(values.size):
        word, below = np.int64(values[i]), whole
        first = (word >> 10) & 31
        above = (word & 0x3FF) | ((first > 0) << 10)
        apart = first + (first == 0) - second - (second == 0)
        if apart > 0:
            above <<= apart
        else:
            below <<= -apart
        if word >> 15 == 1:
            above = -above
        floors[i], rest = above // below, above % below
        high, rest = (rest << 12) // below, (rest << 12) % below
        parts[i], more[i] = (high << 12) + (rest << 12) // below, (rest << 12) % below > 0


@njit(cache=True, nogil=True)
def _not_nearest_code(floors, parts, more, point, top, got):  # type: ignore[no-untyped-def]
    # the nearest integer to the quotient, halves to even, plus `point`, in [0, top]
    wrong = 0
    for i in range(floors.size):
        up = parts[i] > 2**23 or (parts[i] == 2**23 and (more[i] or floors[i] & 1 == 1))
        wrong += np.int64(got[i]) != min(max(floors[i] + up + point, 0), top)
    return wrong


@njit(cache=True, nogil=True)
def _not_stochastic_code(floors, parts, more, counts, top, got):  # type: ignore[no-untyped-def]
    # the uniform is counts/2^24: up iff it is below what is left of the quotient; in [0, top]
    wrong = 0
    for i in range(floors.size):
        up = counts[i] < parts[i] or (counts[i] == parts[i] and more[i])
        wrong += np.int64(got[i]) != min(max(floors[i] + up, 0), top)
    return wrong


_TOP = 255
_VALUES = np.array([v for v in range(2**16) if v & 0x7C00 != 0x7C00], np.uint16)
_FLOATS = _VALUES.view(np.float16).astype(np.float32)


def _per_scale(scales: Patterns, differences: Callable[..., int]) -> int:
    """What differs at all values, summed over the scales that are positive finite float16."""
    n, wrong = _VALUES.size, 0
    exact = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.bool_)
    for scale in scales[(scales > 0) & (scales < 0x7C00)].astype(np.uint16):
        _quotients(_VALUES, int(scale), *exact)
        wrong += differences(np.array([scale]).view(np.float16).astype(np.float32), exact, np.empty(n, np.uint8))
    return wrong


def _codes(scales: Patterns) -> int:
    def differences(step: Any, exact: Any, codes: Any) -> int:
        _kernels.nearest(_FLOATS, _FLOATS.size, np.zeros(1, np.float32), step, _TOP, codes)
        return int(_not_nearest_code(*exact, 0, _TOP, codes))

    return _per_scale(scales, differences)


def _codes_around_points(scales: Patterns) -> int:
    def differences(step: Any, exact: Any, codes: Any) -> int:
        wrong = 0
        for point in (0, 128, _TOP):
            _kernels.nearest_integer(_FLOATS, _FLOATS.size, np.array([float(point)]), step, _TOP, codes)
            wrong += int(_not_nearest_code(*exact, point, _TOP, codes))
        return wrong

    return _per_scale(scales, differences)


def _stochastic_codes(scales: Patterns) -> int:
    def differences(step: Any, exact: Any, codes: Any) -> int:
        _, parts, more = exact
        at = np.minimum(parts + more, 2**24 - 1)  # the first uniform that is not below, in units of 2^-24
        wrong = 0
        for counts in (np.maximum(at, 1) - 1, at):
            uniforms = counts.astype(np.float32) * np.float32(2**-24)
            _kernels.stochastic(_FLOATS, _FLOATS.size, np.zeros(1, np.float32), step, _TOP, uniforms, codes)
            wrong += int(_not_stochastic_code(*exact, counts, _TOP, codes))
        return wrong

    return _per_scale(scales, differences)


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


_ROUNDING = (
    metadata.stored,
    metadata.stored_below,
    metadata.stored_above,
    metadata._without_tiny,
    metadata._checked,
    metadata._refuse_overflow,
)
_PAIRS = "of every finite float16 at every positive finite float16 scale, 8 bits; a number is a scale, with all values"

RUNS: dict[str, Run] = {
    **{
        f"metadata.{form}": Run(
            f"stored, stored_below and stored_above of every float32 of at most {form}'s largest magnitude",
            2**32,
            differences,
            _ROUNDING,
            (differences, _rounded, _not_rounded),
        )
        for form, differences in (("bfloat16", _to_bfloat16), ("float16", _to_float16))
    },
    **{
        f"groupquant.{name}": Run(
            f"{words} {_PAIRS}",
            2**16,
            differences,
            (kernel,),
            (differences, _per_scale, _quotients, definition),
            each=2**16,
        )
        for name, words, differences, kernel, definition in (
            ("float16", "the code, zero point 0,", _codes, _kernels.nearest, _not_nearest_code),
            (
                "points.float16",
                "the code with integer zero points 0, 128 and 255",
                _codes_around_points,
                _kernels.nearest_integer,
                _not_nearest_code,
            ),
            (
                "stochastic.float16",
                "the code, zero point 0, at the two uniforms between which the definition stops rounding up,",
                _stochastic_codes,
                _kernels.stochastic,
                _not_stochastic_code,
            ),
        )
    },
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
