"""Kernels of the group quantisers: codes from entries, and entries from codes."""

import numpy as np
from numba import njit

_REST32, _REST64 = np.int32(0x7FFFFFFF), np.int64(0x7FFFFFFFFFFFFFFF)
_TOP32, _TOP64 = np.int32(31), np.int64(63)


@njit(cache=True, nogil=True)
def nearest(x, group, lows, scales, top, codes):  # type: ignore[no-untyped-def]
    # code = rint((x - low) / scale), halves to even, clamped to [0, top]; a scale of zero codes a constant group
    for g in range(scales.size):
        part, out = x[g * group : (g + 1) * group], codes[g * group : (g + 1) * group]
        low, scale = lows[g], scales[g]
        if scale > 0:
            for i in range(part.size):
                code = np.float64(np.rint((part[i] - low) / scale))
                out[i] = np.uint8(min(max(code, 0.0), np.float64(top)))
        else:
            out[:] = 0


@njit(cache=True, nogil=True)
def nearest_integer(x, group, points, scales, top, codes):  # type: ignore[no-untyped-def]
    # code = rint(x / scale) + point, clamped to [0, top]
    for g in range(scales.size):
        part, out = x[g * group : (g + 1) * group], codes[g * group : (g + 1) * group]
        scale, point = scales[g], points[g]
        if scale > 0:
            for i in range(part.size):
                out[i] = np.uint8(min(max(np.rint(part[i] / scale) + point, 0.0), np.float64(top)))
        else:
            out[:] = 0


@njit(cache=True, nogil=True)
def stochastic(x, group, lows, scales, top, uniforms, codes):  # type: ignore[no-untyped-def]
    # code = floor(a) + [u < a - floor(a)] = ceil(a - u) with a = (x - low) / scale in float64, clamped to [0, top]
    for g in range(scales.size):
        part, out = x[g * group : (g + 1) * group], codes[g * group : (g + 1) * group]
        drawn = uniforms[g * group : (g + 1) * group]
        low, scale = np.float64(lows[g]), np.float64(scales[g])
        if scale > 0:
            for i in range(part.size):
                code = np.ceil((np.float64(part[i]) - low) / scale - np.float64(drawn[i]))
                out[i] = np.uint8(min(max(code, 0.0), np.float64(top)))
        else:
            out[:] = 0


@njit(cache=True, nogil=True)
def values(codes, group, lows, scales, out):  # type: ignore[no-untyped-def]
    # value = code scale + low
    for g in range(scales.size):
        part, to = codes[g * group : (g + 1) * group], out[g * group : (g + 1) * group]
        low, scale = lows[g], scales[g]
        for i in range(part.size):
            to[i] = part[i] * scale + low


@njit(cache=True, nogil=True)
def values_integer(codes, group, points, scales, out):  # type: ignore[no-untyped-def]
    # value = (code - point) scale
    for g in range(scales.size):
        part, to = codes[g * group : (g + 1) * group], out[g * group : (g + 1) * group]
        point, scale = points[g], scales[g]
        for i in range(part.size):
            to[i] = (np.float64(part[i]) - point) * scale


@njit(cache=True, nogil=True)
def there_and_back32(x, words, group, top, out):  # type: ignore[no-untyped-def]
    # value = rint((x - low) / scale) scale + low in one pass. words are the bits of x: with all but the sign turned in
    # negative ones they are ordered as the floats are, and the search for the ends vectorises. False if a range is not
    # finite, as NaN and infinities are at its ends.
    bits = np.empty(2, np.int32)
    ends = bits.view(np.float32)
    for g in range((x.size + group - 1) // group):
        part, to = x[g * group : (g + 1) * group], out[g * group : (g + 1) * group]
        keys = words[g * group : (g + 1) * group]
        low_key, high_key = _REST32, ~_REST32
        for i in range(keys.size):
            key = np.int32(keys[i] ^ ((keys[i] >> _TOP32) & _REST32))
            low_key, high_key = min(low_key, key), max(high_key, key)
        bits[0] = low_key ^ ((low_key >> _TOP32) & _REST32)
        bits[1] = high_key ^ ((high_key >> _TOP32) & _REST32)
        low = ends[0]
        scale = np.float32((ends[1] - low) / np.float32(top))
        if not np.isfinite(scale):
            return False
        if scale > 0:
            for i in range(part.size):
                to[i] = np.rint((part[i] - low) / scale) * scale + low
        else:
            to[:] = np.float32(0) * scale + low
    return True


@njit(cache=True, nogil=True)
def there_and_back64(x, words, group, top, out):  # type: ignore[no-untyped-def]
    # the same for float64
    bits = np.empty(2, np.int64)
    ends = bits.view(np.float64)
    for g in range((x.size + group - 1) // group):
        part, to = x[g * group : (g + 1) * group], out[g * group : (g + 1) * group]
        keys = words[g * group : (g + 1) * group]
        low_key, high_key = _REST64, ~_REST64
        for i in range(keys.size):
            key = keys[i] ^ ((keys[i] >> _TOP64) & _REST64)
            low_key, high_key = min(low_key, key), max(high_key, key)
        bits[0] = low_key ^ ((low_key >> _TOP64) & _REST64)
        bits[1] = high_key ^ ((high_key >> _TOP64) & _REST64)
        low = ends[0]
        scale = (ends[1] - low) / np.float64(top)
        if not np.isfinite(scale):
            return False
        if scale > 0:
            for i in range(part.size):
                to[i] = np.rint((part[i] - low) / scale) * scale + low
        else:
            to[:] = 0.0 * scale + low
    return True
