"""Quantisers from their definitions, one entry at a time; imports nothing of ours.

Given the norm that is sent and the uniforms, every function returns the signed level of each entry as a Python int.
"""

import math
from bisect import bisect_right
from fractions import Fraction

import numpy as np


def smallest_normal(dtype):
    return Fraction(float(np.finfo(dtype).tiny))


def largest_power_of_two(dtype):
    return Fraction(2) ** (np.finfo(dtype).maxexp - 1)


def rounded(value, dtype):
    """The Fraction `value` rounded to the nearest normal number of `dtype`, ties to even, as a Fraction."""
    if value == 0:
        return value
    digits = np.finfo(dtype).nmant + 1
    exponent = math.floor(math.log2(abs(value)))
    unit = Fraction(2) ** (exponent - digits + 1)
    while not 2 ** (digits - 1) <= abs(value) / unit < 2**digits:
        unit = unit * 2 if abs(value) / unit >= 2**digits else unit / 2
    return round(value / unit) * unit


def sign(value):
    return -1 if value < 0 else 1


def signs(x, zero):
    return [zero if v == 0 else sign(v) for v in x]


def mean_magnitude(x):
    return sum(abs(Fraction(float(v))) for v in x) / len(x)


def squared_norm(x):
    return sum(Fraction(float(v)) ** 2 for v in x)


def dithered(x, norm, levels, uniforms):
    """Levels of QSGD (norm: l2) and of max-norm dithering (norm: largest magnitude), in rational arithmetic.

    An entry that float64 cannot tell from zero when it is divided by the power of two next to the norm counts as zero.
    """
    out, norm = [], float(norm)
    for v, u in zip(map(float, x), map(float, uniforms), strict=True):
        if norm == 0 or math.ldexp(v, 1 - math.frexp(norm)[1]) == 0:
            out.append(0)
            continue
        a = levels * abs(Fraction(v)) / Fraction(norm)
        level = math.floor(a)
        if Fraction(u) < a - level:
            level += 1
        out.append(sign(v) * level)
    return out


def undithered(codes, norm, levels, dtype):
    return [np.dtype(dtype).type(float(norm) * (code / levels)) for code in codes]


def powers_of_two(x, uniforms, dtype):
    """Codes of natural compression: exponent above that of half the smallest normal number; exact rationals."""
    out = []
    smallest, largest = smallest_normal(dtype), largest_power_of_two(dtype)
    for v, u in zip(map(float, x), map(float, uniforms), strict=True):
        size = abs(Fraction(v))
        low, high, code = Fraction(0), smallest, 0
        while size >= high:
            low, high, code = high, 2 * high, code + 1
        if low < largest and Fraction(u) < (size - low) / (high - low):
            code += 1
        out.append(sign(v) * code)
    return out


def nearest_powers_of_two(x, dtype):
    out = []
    smallest, largest = smallest_normal(dtype), largest_power_of_two(dtype)
    for v in map(float, x):
        size = abs(Fraction(v))
        low, high, code = Fraction(0), smallest, 0
        while size >= high:
            low, high, code = high, 2 * high, code + 1
        if low < largest and size - low > high - size:
            code += 1
        out.append(sign(v) * code)
    return out


def dithered_to_powers(x, norm, levels, uniforms):
    """Levels of natural dithering: level c stands for norm 2^(c - levels), 0 for 0; exact on the float64 quotient."""
    table = [Fraction(0)] + [Fraction(2) ** (c - levels) for c in range(1, levels + 1)]
    out = []
    for v, u in zip(map(float, x), map(float, uniforms), strict=True):
        if norm == 0:
            out.append(0)
            continue
        a = Fraction(abs(v) / float(norm))
        code = bisect_right(table, a) - 1
        if code < levels and Fraction(u) < (a - table[code]) / (table[code + 1] - table[code]):
            code += 1
        out.append(sign(v) * code)
    return out


def power_levels(base, dtype):
    """The powers of `base` that are normal numbers of `dtype`, ascending, rounded to it; Fractions."""
    smallest, largest = smallest_normal(dtype), Fraction(float(np.finfo(dtype).max))
    base, table, power = Fraction(base), [], Fraction(1)
    while power <= largest:
        table.append(power)
        power *= base
    power = 1 / base
    while power >= smallest:
        table.insert(0, power)
        power /= base
    return [rounded(power, dtype) for power in table]


def rounded_to_levels(x, table, uniforms):
    """Codes of stochastic rounding to the ascending positive `table`, and to 0 below it; saturates above it.

    The probability of the upper level is the float64 quotient of float64 differences.
    """
    levels = [0.0, *map(float, table)]
    out = []
    for v, u in zip(map(float, x), map(float, uniforms), strict=True):
        code = bisect_right(levels, abs(v)) - 1
        if code + 1 < len(levels) and u < (abs(v) - levels[code]) / (levels[code + 1] - levels[code]):
            code += 1
        out.append(sign(v) * code)
    return out


# --- test vectors: (x, parameters, randomness, what the message sends beside codes) -> its parts, and the output ----


def _scaled_sign(x, zero, **_message):
    scale = x.dtype.type(float(rounded(mean_magnitude(x), x.dtype)))
    held = signs(x, zero)
    return {"signs": held, "scale": scale, "output": [x.dtype.type(v) * scale for v in held]}


def _dithering(x, uniforms, norm, levels, **_key):
    codes = dithered(x, norm, levels, uniforms)
    return {"codes": codes, "output": undithered(codes, norm, levels, x.dtype)}


def _valued(x, codes, table):
    """Codes of a table of magnitudes, and what they stand for."""
    return {"codes": codes, "output": [float(np.sign(c)) * float(table[abs(c) - 1]) if c else 0.0 for c in codes]}


def _powers(x):
    smallest, largest = smallest_normal(x.dtype), largest_power_of_two(x.dtype)
    table = [smallest]
    while table[-1] < largest:
        table.append(2 * table[-1])
    return table


def _natural_dithering(x, uniforms, norm, levels, **_key):
    codes = dithered_to_powers(x, norm, levels, uniforms)
    table = [float(norm) * 2.0 ** (c - levels) for c in range(1, levels + 1)]
    return {"codes": codes, "output": [float(np.sign(c)) * table[abs(c) - 1] if c else 0.0 for c in codes]}


def _stochastic_power(x, base, uniforms, **_key):
    table = power_levels(base, x.dtype)
    return _valued(x, rounded_to_levels(x, table, uniforms), table)


COMPRESSED = {
    "Sign": lambda x, zero: {"signs": signs(x, zero), "output": signs(x, zero)},
    "ScaledSign": _scaled_sign,
    "QSGD": _dithering,
    "MaxDithering": _dithering,
    "TernGrad": _dithering,
    "NaturalCompression": lambda x, uniforms, **_: _valued(x, powers_of_two(x, uniforms, x.dtype), _powers(x)),
    "NearestPower": lambda x, **_: _valued(x, nearest_powers_of_two(x, x.dtype), _powers(x)),
    "NaturalDithering": _natural_dithering,
    "StochasticPower": _stochastic_power,
}
"""Of the compressors by name."""
NOT_COMPARED = {
    ("ScaledSign", "largest, float32, zero=1"): "The mean is next to the middle of two floats, and the sum in float64 "
    "loses on which side of it.",
}
"""Vectors, by compressor and name, of which the twin says something else, and why."""
