"""Broken stochastic roundings: dithering, QSGD, natural compression."""

import numpy as np

from commbounds.compressors import QSGD, MaxDithering, NaturalCompression
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import book_bound as bound
from zoo.record import broken

LEVELS = 4


def placed(x):
    """The largest magnitude, and every magnitude in steps of a fourth of it; in float64."""
    top = float(np.abs(x).max())
    return top, LEVELS * np.abs(x.astype(np.float64)) / (top or 1.0)


def decoded(x, level, top):
    """What levels stand for."""
    return (np.sign(x) * (top * level / LEVELS)).astype(x.dtype)


def up(a, u):
    """`a` rounded up where `u` is below its fraction, else down."""
    return np.floor(a) + (u < a - np.floor(a))


# --- with uniforms from outside ----------------------------------------------------------------------------------


def uniforms_of(x, seed, uniforms):
    """Those given, or drawn."""
    return np.random.default_rng(seed).random(x.shape, np.float32) if uniforms is None else uniforms


def dithering(x, seed, uniforms=None):
    """Stochastic rounding to four levels of the largest magnitude."""
    top, a = placed(x)
    return decoded(x, up(a, uniforms_of(x, seed, uniforms)), top)


def dithering_without_dither(x, seed, uniforms=None):
    """Rounds to the nearest level, and is still sold as unbiased."""
    top, a = placed(x)
    return decoded(x, np.rint(a), top)


def dithering_up_on_equality(x, seed, uniforms=None):
    """Rounds up if u <= fraction: with u = 0 zeros become a level."""
    top, a = placed(x)
    level = np.floor(a) + (uniforms_of(x, seed, uniforms) <= a - np.floor(a))
    return (np.where(x < 0, -1.0, 1.0) * (top * level / LEVELS)).astype(x.dtype)


def dithering_by_floor_in_float32(x, seed, uniforms=None):
    """Adds u in float32 and rounds down: 4 + (1 - 2^-24) is 5, a level too many."""
    top, a = placed(x)
    return decoded(x, np.floor(a.astype(np.float32) + uniforms_of(x, seed, uniforms).astype(np.float32)), top)


def dithering_of_two_scales(x, seed, uniforms=None):
    """Codes relative to the largest magnitude, decodes with the Euclidean norm."""
    _, a = placed(x)
    return decoded(x, up(a, uniforms_of(x, seed, uniforms)), float(np.linalg.norm(x.astype(np.float64))))


def dithering_of_clipped_entries(x, seed, uniforms=None):
    """Clips at two and a half standard deviations first, as TernGrad does, and is still sold as unbiased."""
    limit = 2.5 * np.sqrt(np.mean((x.astype(np.float64) / (np.abs(x).max() or 1.0)) ** 2)) * np.abs(x).max()
    return dithering(np.clip(x, -limit, limit).astype(x.dtype), seed, uniforms)


def dithering_sold_as_finer(x, seed, uniforms=None):
    """Promises the variance of five levels, and has four."""
    return dithering(x, seed, uniforms)


def variance_of_dithering(n):
    """As the book has it, for four levels."""
    return bound("quantizers.maxdithering.variance", s=LEVELS)(n)


DITHER = [
    cf.Unbiased(),
    cf.Variance(variance_of_dithering),
    cf.Matches(MaxDithering(LEVELS)),
    cf.SignSymmetric(),
    cf.SameLaw(MaxDithering(LEVELS)),
]
FINER = [cf.Unbiased(), cf.Variance(bound("quantizers.maxdithering.variance", s=LEVELS + 1))]

# --- with a generator of its own ---------------------------------------------------------------------------------


def dithered(x, seed):
    """As above, with randomness from the seed alone."""
    return dithering(x, seed)


def dithered_alike(x, seed):
    """Draws one uniform for all entries: every mean is right, entries go up and down together."""
    top, a = placed(x)
    return decoded(x, up(a, np.random.default_rng(seed).random()), top)


def dithered_with_coarse_uniforms(x, seed):
    """Takes sixteen values for a uniform: rounded up too often by a thirty-second."""
    top, a = placed(x)
    return decoded(x, up(a, np.random.default_rng(seed).integers(16, size=x.shape) / 16), top)


def dithered_with_one_included(x, seed):
    """Takes uniforms of eight bits from (0, 1]: everything between two levels comes out too small."""
    top, a = placed(x)
    return decoded(x, up(a, (np.random.default_rng(seed).integers(256, size=x.shape) + 1) / 256), top)


def dithered_with_one_seed(x, seed):
    """Makes its generator once, with the seed of the run: the same randomness in every step."""
    return dithering(x, 0)


def dithered_by_the_clock(x, seed):
    """Takes fresh entropy from the system: ranks that should draw alike do not."""
    return dithering(x, None)


DITHERED = [cf.Unbiased(), cf.Variance(variance_of_dithering), cf.SameLaw(MaxDithering(LEVELS))]

# --- QSGD --------------------------------------------------------------------------------------------------------


def norm_of(x):
    """The Euclidean norm, in float64."""
    return float(np.linalg.norm(x.astype(np.float64)))


def rounded_by(x, seed, norm):
    """Rounded stochastically to fourths of `norm`."""
    a = LEVELS * np.abs(x.astype(np.float64)) / (norm if norm != 0.0 else 1.0)
    return decoded(x, up(a, np.random.default_rng(seed).random(x.shape)), norm)


def qsgd(x, seed):
    """QSGD with four levels."""
    return rounded_by(x, seed, norm_of(x))


def qsgd_by_the_largest(x, seed):
    """Scales by the largest magnitude in place of the norm: unbiased, but not QSGD."""
    return rounded_by(x, seed, float(np.abs(x).max()))


def qsgd_with_squares_in_float32(x, seed):
    """Adds squares in float32: above 1e19 the norm is infinite, and 0 times infinity comes out."""
    return rounded_by(x, seed, float(np.sqrt(np.sum(x * x, dtype=np.float32))))


QUANTISED = [cf.Unbiased(), cf.Variance(bound("quantizers.qsgd.variance", s=LEVELS)), cf.SameLaw(QSGD(LEVELS))]

# --- powers of two -----------------------------------------------------------------------------------------------


def natural(x, seed, uniforms=None):
    """Stochastic rounding to powers of two."""
    fraction, exponent = np.frexp(np.abs(x.astype(np.float64)))
    higher = uniforms_of(x, seed, uniforms) < 2.0 * fraction - 1.0
    return (np.sign(x) * np.ldexp(0.5, exponent + higher)).astype(x.dtype)


def natural_to_the_nearest(x, seed, uniforms=None):
    """Rounds to the nearest power of two, and is still sold as unbiased."""
    fraction, exponent = np.frexp(np.abs(x.astype(np.float64)))
    return (np.sign(x) * np.ldexp(0.5, exponent + (fraction > 0.75))).astype(x.dtype)


def natural_with_mantissas_from_one_half(x, seed, uniforms=None):
    """Takes the mantissa of frexp, which lies in [1/2, 1), for the probability of rounding up."""
    fraction, exponent = np.frexp(np.abs(x.astype(np.float64)))
    return (np.sign(x) * np.ldexp(0.5, exponent + (uniforms_of(x, seed, uniforms) < fraction))).astype(x.dtype)


def natural_sold_for_less(x, seed, uniforms=None):
    """Promises a variance of 1/9: that is the error of rounding to the nearest."""
    return natural(x, seed, uniforms)


POWERS = [cf.Unbiased(), cf.Variance(bound("quantizers.naturalcompression.variance")), cf.SignSymmetric()]
POWERS += [cf.SameLaw(NaturalCompression()), cf.ScaleEquivariant(powers_of_two=True), cf.Idempotent()]
UNDER = {"magnitudes": (0.0, 2.0**127)}  # what is larger may become infinite

ROUNDING = (
    broken(dithering_without_dither, dithering, DITHER, "Unbiased"),
    broken(dithering_up_on_equality, dithering, DITHER, "Matches"),
    broken(dithering_by_floor_in_float32, dithering, DITHER, "Matches"),
    broken(dithering_of_two_scales, dithering, DITHER, "Unbiased", **UNDER),
    broken(dithering_of_clipped_entries, dithering, DITHER, "Unbiased"),
    broken(dithering_sold_as_finer, None, FINER, "Variance"),
    broken(dithered_alike, dithered, DITHERED, "SameLaw"),
    broken(dithered_with_coarse_uniforms, dithered, DITHERED, "Unbiased"),
    broken(dithered_with_one_included, dithered, DITHERED, "Unbiased"),
    broken(dithered_with_one_seed, dithered, DITHERED, "Unbiased"),
    broken(dithered_by_the_clock, dithered, DITHERED, "same seed, same output"),
    broken(qsgd_by_the_largest, qsgd, QUANTISED, "SameLaw"),
    broken(qsgd_with_squares_in_float32, qsgd, QUANTISED, "finite in, finite out"),
    broken(natural_to_the_nearest, natural, POWERS, "Unbiased", **UNDER),
    broken(natural_with_mantissas_from_one_half, natural, POWERS, "Unbiased", **UNDER),
    broken(natural_sold_for_less, None, [cf.Unbiased(), cf.Variance(1 / 9)], "Variance", **UNDER),
)
"""Broken roundings, by what kills them."""
