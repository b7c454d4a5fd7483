"""The simulated formats of pychop in numpy: float16 and bfloat16 in six of its rounding modes, and fixed point."""

import math

import ml_dtypes
import numpy as np
from pychop import Chop, Chopf

from commbounds.verify import conformance as cf

HALF, BRAIN = (5, 10), (8, 7)
LARGEST = 65504.0


def chopped(bits, mode):
    """A new chop for every seed: its generator is its own."""

    def roundtrip(x, seed):
        return np.asarray(Chop(*bits, rmode=mode, random_state=seed)(x), dtype=x.dtype)

    return roundtrip


def neighbours(value):
    """The numbers of float16 below and above a magnitude, and whether it is nearer to the first (-1, 0 or 1)."""
    below = np.float16(value)
    if float(below) > value:
        below = np.nextafter(below, np.float16(0))
    above = below if float(below) == value else np.nextafter(below, np.float16(np.inf))
    return float(below), float(above), np.sign((value - float(below)) - (float(above) - value))


def by_magnitude(rule):
    """What float16 makes of every entry, when `rule` chooses between its two neighbours in magnitude."""

    def reference(x):
        return np.array([math.copysign(rule(*neighbours(abs(v))), v) for v in x.astype(np.float64)], dtype=x.dtype)

    return reference


@by_magnitude
def ties_to_zero(below, above, side):
    """The nearest; of two the smaller magnitude."""
    return above if side > 0 else below


@by_magnitude
def ties_away(below, above, side):
    """The nearest; of two the larger magnitude."""
    return above if side >= 0 else below


@by_magnitude
def to_odd(below, above, side):
    """The number itself where float16 has it, else the neighbour whose last bit is set."""
    return below if np.float16(below).view(np.uint16) & 1 or below == above else above


def nearest(dtype):
    """Round to nearest, ties to even, as the type itself does it."""
    return lambda x: x.astype(dtype).astype(x.dtype)


def with_ties(function):
    """A function of entries that are cut to twelve significant bits, one more than float16 has: half are ties."""

    def of_cut(x, *seed):
        return function((x.view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32), *seed)

    return of_cut


def fixed(x, seed):
    """Four bits before the point and four behind it."""
    return np.asarray(Chopf(ibits=4, fbits=4, rmode=1)(x), dtype=x.dtype)


def tied(mode, reference, name):
    """A rounding mode, on ties among others."""
    claims = [cf.Matches(with_ties(reference), **exact)]
    return cf.Codec(with_ties(chopped(HALF, mode)), claims, name=name, **NORMAL, effort=0.2)


NORMAL = {"magnitudes": (2.0**-14, LARGEST)}
exact = {"operations": 0}
subjects = [
    tied(1, nearest(np.float16), "float16, nearest"),
    cf.Codec(
        chopped(HALF, 1),
        [cf.Matches(nearest(np.float16), **exact)],
        name="float16, nearest, up to 2^17",
        magnitudes=(2.0**-14, 2.0**17 - 1),
        effort=0.2,
    ),
    cf.Codec(
        chopped(BRAIN, 1),
        [cf.Matches(nearest(ml_dtypes.bfloat16), **exact)],
        name="bfloat16, nearest",
        magnitudes=(1e-30, 1e30),
        effort=0.2,
    ),
    cf.Codec(
        chopped(HALF, 5),
        [cf.Unbiased(), cf.ExactOn([[1.0, -1.5, 0.25]])],
        name="float16, stochastic",
        magnitudes=(2.0**-14, LARGEST / 2),
        effort=0.2,
    ),
    tied(7, ties_to_zero, "float16, ties to zero"),
    tied(8, ties_away, "float16, ties away"),
    cf.Codec(chopped(HALF, 9), [cf.Matches(to_odd, **exact)], name="float16, to odd", **NORMAL, effort=0.2),
    cf.Codec(
        fixed,
        [cf.AbsoluteError(2.0**-5), cf.SignSymmetric()],
        name="fixed point, 4 + 4",
        magnitudes=(0.0, 7.0),
        effort=0.2,
    ),
]
