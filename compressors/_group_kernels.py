"""Kernels of the group quantisers: codes from entries, and entries from codes."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["nearest", "nearest_integer", "stochastic", "values", "values_integer"]


@njit(cache=True, nogil=True)
def nearest(x, group, lows, scales, top, codes):  # type: ignore[no-untyped-def]
    # code = rint((x - low) / scale), halves to even, clamped to [0, top]; a scale of zero codes a constant group
    for g in range(scales.size):
        part, out = x[g * group : (g + 1) * group], codes[g * group : (g + 1) * group]
        low, scale = lows[g], scales[g]
        if scale > 0:
            for i in range(part.size):
                out[i] = np.uint8(min(max(np.int32(np.rint((part[i] - low) / scale)), np.int32(0)), np.int32(top)))
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
