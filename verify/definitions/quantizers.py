"""Quantisers from their definitions, one entry at a time; imports nothing of ours.

Given the norm that is sent and the uniforms, every function returns the signed level of each entry as a Python int.
"""

import math
from bisect import bisect_right
from fractions import Fraction
from functools import cache

import numpy as np

from commbounds.verify.definitions import counter
from commbounds.verify.definitions.sparsifiers import as_fraction, bits_of_one_of, of_vectors


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
    share = levels / Fraction(norm) if norm else 0
    for v, u in zip(map(float, x), map(float, uniforms), strict=True):
        if norm == 0 or math.ldexp(v, 1 - math.frexp(norm)[1]) == 0:
            out.append(0)
            continue
        a = abs(Fraction(v)) * share
        level = math.floor(a)
        if Fraction(u) < a - level:
            level += 1
        out.append(sign(v) * level)
    return out


def undithered(codes, norm, levels, dtype):
    return [np.dtype(dtype).type(float(norm) * (code / levels)) for code in codes]


def neighbours(size, dtype):
    """The code of the last level that is not above `size`, that level, and the next: zero, or a normal power of two."""
    smallest = smallest_normal(dtype)
    if size < smallest:
        return 0, Fraction(0), smallest
    low = Fraction(2) ** (math.frexp(size)[1] - 1)
    return 1 + math.frexp(low)[1] - math.frexp(smallest)[1], low, 2 * low


def powers_of_two(x, uniforms, dtype):
    """Codes of natural compression: exponent above that of half the smallest normal number; exact rationals."""
    out = []
    for v, u in zip(map(float, x), map(float, uniforms), strict=True):
        size = abs(Fraction(v))
        code, low, high = neighbours(size, dtype)
        if low < largest_power_of_two(dtype) and Fraction(u) < (size - low) / (high - low):
            code += 1
        out.append(sign(v) * code)
    return out


def nearest_powers_of_two(x, dtype):
    out = []
    for v in map(float, x):
        size = abs(Fraction(v))
        code, low, high = neighbours(size, dtype)
        if low < largest_power_of_two(dtype) and size - low > high - size:
            code += 1
        out.append(sign(v) * code)
    return out


@cache
def powers_below_one(levels):
    """Zero, and the powers of two from 2^(1 - levels) to one."""
    return [Fraction(0)] + [Fraction(2) ** (c - levels) for c in range(1, levels + 1)]


def dithered_to_powers(x, norm, levels, uniforms):
    """Levels of natural dithering: level c stands for norm 2^(c - levels), 0 for 0; exact on the float64 quotient."""
    table, out = powers_below_one(levels), []
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


@cache
def power_exponents(base, dtype):
    """The exponents j of the powers base^j that are normal numbers of `dtype`, a range."""
    growth = math.log(base.numerator) - math.log(base.denominator)  # of bases beyond all floats too

    def last(limit):
        j = round(math.log(limit) / growth)  # next to it
        while base ** (j + 1) <= limit:
            j += 1
        while base**j > limit:
            j -= 1
        return j

    return range(-last(1 / smallest_normal(dtype)), last(Fraction(float(np.finfo(dtype).max))) + 1)


@cache
def power_level(base, exponent, dtype):
    """A power of the Fraction `base`, rounded to `dtype`, as a float."""
    return float(rounded(base**exponent, dtype))


def rounded_to_powers(x, base, uniforms):
    """Stochastic rounding to powers of the Fraction `base`, and to 0 below all: codes, values, and number of levels.

    Code c stands for the c-th power that is a normal number, rounded to the dtype of `x`, and 0 for 0; the last
    one is where all above it are. The probability of the upper level is the float64 quotient of float64 differences.
    """
    exponents, out = power_exponents(base, x.dtype), []

    def level(code):
        return power_level(base, exponents[code - 1], x.dtype) if code else 0.0

    for v, u in zip(map(float, x), map(float, uniforms), strict=True):
        code = bisect_right(range(1, len(exponents) + 1), abs(v), key=level)
        if code < len(exponents) and u < (abs(v) - level(code)) / (level(code + 1) - level(code)):
            code += 1
        out.append(sign(v) * code)
    return out, [math.copysign(level(abs(c)), c) if c else 0.0 for c in out], len(exponents)


# --- what is known of sums that are taken in float64, in an order that no definition names -------------------------


def added(terms):
    """The sum of nonnegative Fractions, and the most by which a sum in floats misses it, relatively.

    Where all are multiples of a power of two, and the sum is below 2^53 of it, every partial sum is exact. Else n - 1
    additions and the rounding of each term are off by half a unit in the last place each, n u / (1 - n u) together;
    terms that underflow after a scaling that brings the largest near one add less than n 2^-960.
    """
    denominator, n = max(t.denominator for t in terms), len(terms)
    units = [t.numerator * (denominator // t.denominator) for t in terms]
    common, total = math.gcd(*units), Fraction(sum(units), denominator)
    if total == 0 or sum(units) // (common & -common) < 2**53:
        return total, Fraction(0)
    return total, Fraction(n, 2**53 - n) + Fraction(n, 2**960)


def root(square):
    """The float64 root of a Fraction that is rounded to float64 first, and the exponent of two that it goes with."""
    exponent = math.ceil((square.numerator.bit_length() - square.denominator.bit_length()) / 2)
    return math.sqrt(float(square / Fraction(4) ** exponent)), exponent


def norm2(x):
    """The least and the largest number that the l2 norm may be rounded to; rounding is monotone, and so is the root."""
    total, allowance = added([Fraction(float(v)) ** 2 for v in x])
    if total == 0:
        return x.dtype.type(0), x.dtype.type(0)
    ends = [root(total * (1 - allowance)), root(total * (1 + allowance))]
    low, high = (x.dtype.type(np.ldexp(value, exponent)) for value, exponent in ends)
    return max(low, max(abs(x))), high


def mean(x):
    """The same of the mean magnitude, which is at most the largest one; the quotient is rounded in float64 first."""
    total, allowance = added([abs(Fraction(float(v))) for v in x])
    ends = [min(float(total * (1 + way * allowance) / len(x)), float(max(abs(x)))) for way in (-1, 1)]
    return tuple(x.dtype.type(end) for end in ends)


def near(low, high):
    """The array, where both ends are the same in all bits, else what is within them; of every entry."""
    if np.array_equal(low, high) and np.array_equal(np.signbit(low), np.signbit(high)):
        return np.array(low)
    pairs = list(zip(np.ravel(low).tolist(), np.ravel(high).tolist(), strict=True))
    middles = [a if a == b else (Fraction(a) + Fraction(b)) / 2 for a, b in pairs]
    halves = [0 if a == b else abs(Fraction(b) - Fraction(a)) / 2 for a, b in pairs]
    return {"near": middles, "allowance": halves}


# --- what is given -> parts of the message, its size, and what is read of it ----------------------------------------


def uniforms_of(x, drawn):
    """Those that are given, or those of the counter whose key the seed makes."""
    return (
        drawn["uniforms"] if "seed" not in drawn else counter.uniforms(counter.key_of(drawn["seed"]), x.size, x.dtype)
    )


def _sign(x, given, _drawn):
    zero = given.get("zero", 1)
    held = signs(x, zero)
    message = {"signs": np.array(held, np.int8), "zero": zero, "scale": None}
    return {"message": message, "bits": x.size * (2 - zero), "output": np.array(held, x.dtype)}


def _scaled_sign(x, given, _drawn):
    zero = given.get("zero", 1)
    held, ends = np.array(signs(x, zero), np.int8), mean(x)
    message = {"signs": held, "zero": zero, "scale": near(*ends)}
    bits = x.size * (2 - zero) + 8 * x.itemsize
    return {"message": message, "bits": bits, "output": near(*(held.astype(x.dtype) * end for end in ends))}


def _code_dtype(levels):
    """The smallest that holds the levels of both signs."""
    return next(kind for kind in (np.int8, np.int16, np.int32) if levels <= np.iinfo(kind).max)


def _coded(x, codes, levels, output, norm=None):
    """Codes of one length for every entry, one of -levels .. levels; and the norm, if there is one."""
    bits = x.size * bits_of_one_of(2 * levels + 1) + (norm is not None) * 8 * x.itemsize
    return {"message": {"codes": codes, "levels": levels, "norm": norm}, "bits": bits, "output": output}


def _relative(x, levels, ends, code, value):
    """Codes relative to a norm, of which the ends are known: `code` of all entries, `value` of one code."""
    if not np.isfinite(ends).all():
        return {"refused": "ValueError"}
    code, value = cache(code), cache(value)
    found = [code(norm) for norm in ends]
    read = [
        np.array([value(float(norm), c) for c in codes]).astype(x.dtype)
        for norm, codes in zip(ends, found, strict=True)
    ]
    kind, norm = _code_dtype(levels), near(*ends)
    return _coded(x, near(*(np.array(codes, kind) for codes in found)), levels, near(*read), norm)


def _dithering(norm_of, levels_of):
    def twin(x, given, drawn):
        levels, uniforms = levels_of(given), uniforms_of(x, drawn)
        return _relative(
            x, levels, norm_of(x), lambda norm: dithered(x, norm, levels, uniforms), lambda norm, c: norm * (c / levels)
        )

    return twin


def _largest(x):
    return (max(abs(x)),) * 2


def _natural_dithering(x, given, drawn):
    levels, uniforms = given["levels"], uniforms_of(x, drawn)
    return _relative(
        x,
        levels,
        norm2(x),
        lambda norm: dithered_to_powers(x, norm, levels, uniforms),
        lambda norm, c: float(np.sign(c)) * norm * 2.0 ** (abs(c) - levels) if c else 0.0,
    )


def _powers(code):
    def twin(x, _given, drawn):
        codes = code(x, drawn)
        smallest = float(smallest_normal(x.dtype))
        levels = 1 + math.frexp(largest_power_of_two(x.dtype))[1] - math.frexp(smallest)[1]
        output = [math.copysign(math.ldexp(smallest, abs(c) - 1), c) if c else 0.0 for c in codes]
        return _coded(x, np.array(codes, np.int16), levels, np.array(output, x.dtype))

    return twin


def _stochastic_power(x, given, drawn):
    codes, output, levels = rounded_to_powers(x, as_fraction(given["base"]), uniforms_of(x, drawn))
    return _coded(x, np.array(codes, _code_dtype(levels)), levels, np.array(output, x.dtype))


def _levels(levels):
    return 1 <= levels < 2**15


Sign, ScaledSign = of_vectors(_sign), of_vectors(_scaled_sign)
QSGD = of_vectors(_dithering(norm2, lambda given: given["levels"]), _levels)
MaxDithering = of_vectors(_dithering(_largest, lambda given: given["levels"]), _levels)
TernGrad = of_vectors(_dithering(_largest, lambda _given: 1))
NaturalCompression = of_vectors(_powers(lambda x, drawn: powers_of_two(x, uniforms_of(x, drawn), x.dtype)))
NearestPower = of_vectors(_powers(lambda x, _drawn: nearest_powers_of_two(x, x.dtype)))
NaturalDithering = of_vectors(_natural_dithering, lambda levels: 1 <= levels < 2**10)
StochasticPower = of_vectors(_stochastic_power, lambda base: base >= 1 + Fraction(1, 2**10))
