"""The conversions of ml_dtypes: to the nearest, ties to even."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np

from commbounds.verify import conformance as cf


def converted(dtype):
    """There and back."""
    return lambda x, seed: x.astype(dtype).astype(x.dtype)


def nearest(dtype):
    """The nearest by rational arithmetic: the last place is found from the exponent, ties are even."""
    info = ml_dtypes.finfo(dtype)
    places, lowest = info.nmant, info.minexp

    def one(value):
        if value == 0.0:
            return value
        exponent = max(math.frexp(value)[1] - 1, lowest) - places
        return math.copysign(float(round(Fraction(value) / Fraction(2) ** exponent) * Fraction(2) ** exponent), value)

    return lambda x: np.array([one(float(v)) for v in x], dtype=x.dtype)


def subject(dtype):
    """Entries up to its largest number."""
    largest = float(ml_dtypes.finfo(dtype).max)
    claims = [cf.Matches(nearest(dtype), operations=0), cf.SignSymmetric(), cf.Idempotent()]
    return cf.Codec(converted(dtype), claims, name=np.dtype(dtype).name, magnitudes=(0.0, largest), effort=0.2)


subjects = [
    subject(t) for t in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn)
]
