"""Where a randomised quantiser changes its mind, seen from outside: every entry's switching point."""

import math
from fractions import Fraction

import numpy as np
import sympy as sp


def grid_bits(dtype):
    return 24 if np.dtype(dtype) == np.float32 else 53


def switching_points(compressor, x):
    """For every entry the number of grid uniforms that send it to the upper level.

    Bisects over all entries at once, and checks that the code never comes down in magnitude before that point and
    never goes up after it, at the points visited.
    """
    bits = grid_bits(x.dtype)

    def codes(counts):
        uniforms = np.ldexp(counts.astype(np.float64), -bits).astype(x.dtype)
        return np.abs(compressor.compress_with(x, uniforms).codes.astype(np.int64))

    upper = codes(np.zeros(x.size, np.int64))
    lower = codes(np.full(x.size, 2**bits - 1))
    low, high = np.zeros(x.size, np.int64), np.full(x.size, 2**bits)
    # invariant: uniforms below low go up, those from high on stay down
    while (high - low > 0).any():
        middle = np.minimum((low + high) // 2, 2**bits - 1)
        seen = codes(middle)
        assert ((seen == upper) | (seen == lower)).all()
        up = (seen == upper) & (upper != lower)
        active = high > low
        low = np.where(active & up, middle + 1, low)
        high = np.where(active & ~up, middle, high)
    return np.where((upper == lower), 0, low), lower, upper


def exact_fraction(value):
    """A rational within 2^-200 of `value`, a Fraction or an exact sympy number."""
    if isinstance(value, Fraction | int):
        return Fraction(value)
    digits = sp.N(value, 80)
    return Fraction(str(digits))


def marginals(law, n):
    """For every entry the (probability, |value|) pairs of its marginal, ascending in |value|; exact."""
    out = []
    for i in range(n):
        found = {}
        for probability, output in law:
            found[output[i]] = found.get(output[i], 0) + probability
        pairs = [(exact_fraction(p), abs(exact_fraction(v))) for v, p in found.items()]
        out.append(sorted(pairs, key=lambda pair: pair[1]))
    return out


def rounded_up(probability, bits):
    """How many of the 2^bits grid uniforms lie below `probability`."""
    return math.ceil(probability * 2**bits)
