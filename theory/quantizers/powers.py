"""Claims about quantisers that round to powers: natural compression and dithering, base-b and nearest powers."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.hypotheses import (
    BINARY64,
    EXACT_ARITHMETIC,
    FACTOR_POWER_OF_BASE,
    FACTOR_POWER_OF_TWO,
    MIDDLE_RANGE,
    NONZERO,
    NORM_FITS,
    NORMAL_ENTRIES,
    OTHER_FACTOR,
    POWER_ENTRIES,
    WITHIN_LARGEST_POWER,
    WITHIN_LEVELS,
)
from commbounds.theory.quantities import BITS, RELATIVE_ERROR, b, index_bits, itembits, levels, n, s
from commbounds.theory.sources import BEZNOSIKOV_2020, HORVATH_2019, derived

_naturalcompression = CompressorClaims("quantizers.naturalcompression", "natural compression", randomised=True)
_naturaldithering = CompressorClaims("quantizers.naturaldithering", "natural dithering", randomised=True)
_stochasticpower = CompressorClaims(
    "quantizers.stochasticpower", "stochastic rounding to powers of a base", randomised=True
)
_nearestpower = CompressorClaims("quantizers.nearestpower", "rounding to the nearest power of two")

_MEAN = "The probability of rounding up makes the mean of a value between two levels the value itself."
_ODD = "Levels are drawn from magnitudes, and signs are restored afterwards."
_SHIFT = "Multiplying with a power of two maps levels to levels and keeps the position between two of them."
_FIXED = "All entries of an output are levels, and a level is rounded to itself."
_IN_RANGE = (NORMAL_ENTRIES, WITHIN_LARGEST_POWER)
_POWER_BITS = sp.Piecewise((9 * n, sp.Eq(itembits, 32)), (12 * n, True))
_POWER_COUNT = (
    "a sign and an exponent per entry, 9 bits for float32 (254 normal powers of two, two signs, zero) and 12 for "
    "float64 (2046 of them)"
)

NATURAL_OMEGA = sp.Rational(1, 8)
BASE_OMEGA = (b - 1) ** 2 / (4 * b)

# A, the only way in which the variance of natural dithering depends on n and s.
A = sp.sqrt(n) * 2 ** (1 - s)
NATURAL_DITHERING_OMEGA = sp.Piecewise(
    (A - 1, sp.Ge(64 * n, 81 * 4**s)),  # A >= 9/4, squared
    (sp.Rational(1, 8) + 8 * n / (9 * 4**s), True),  # 1/8 + 2 A^2/9
)
NATURAL_DITHERING_PRINTED = sp.Rational(1, 8) + A * sp.Min(1, A)

NATURALCOMPRESSION: tuple[Claim, ...] = (
    _naturalcompression.unbiased(_MEAN, (WITHIN_LARGEST_POWER,)),
    Claim(
        name="quantizers.naturalcompression.variance",
        title="Natural compression has variance at most 1/8",
        relation=Le(RELATIVE_ERROR, NATURAL_OMEGA),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, *_IN_RANGE),
        source=HORVATH_2019.transcribed(
            "Theorem 3",
            "For |x_i| = t 2^a, 1 <= t <= 2, the relative variance (t - 1)(2 - t)/t^2 is largest at t = 4/3: 1/8.",
        ),
        tightness=1,
        extremal="every entry 4/3 of a power of two",
    ),
    Claim(
        name="quantizers.naturalcompression.variance_every_float",
        title="Natural compression has variance at most 1/8 on every finite vector",
        relation=Le(RELATIVE_ERROR, NATURAL_OMEGA),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=HORVATH_2019.transcribed(
            "Theorem 3: for real numbers",
            "A subnormal value y lies between 0 and the smallest normal power u, where no code is: its relative "
            "variance is u/y - 1.",
            reading="It is read for every finite float; it is stated for real numbers.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="quantizers.naturalcompression.variance",
        extremal="x = (u/2), u the smallest normal number: relative variance 1",
        note="It holds for real numbers; in floating point the powers end at the smallest normal number.",
    ),
    Claim(
        name="quantizers.naturalcompression.fixed_points",
        title="Natural compression does not change powers of two",
        relation=Eq(RELATIVE_ERROR, 0),
        assumes=(NONZERO, POWER_ENTRIES),
        source=derived("The probability of going up is the mantissa's fraction, which is 0."),
    ),
    _naturalcompression.biased(
        "x = (1.5 u), u the largest power of two of the dtype: the output is (u)", statement="unbiased_every_float"
    ),
    _naturalcompression.shrunk_contraction(NATURAL_OMEGA, _IN_RANGE, extremal="every entry 4/3 of a power of two"),
    _naturalcompression.wire(_POWER_BITS, _POWER_COUNT),
    Claim(
        name="quantizers.naturalcompression.ratio_of_doubles",
        title="Natural compression makes messages of binary64 numbers 5.82 times smaller",
        relation=Le(BITS, 64 * n / sp.Rational(582, 100)),
        assumes=(BINARY64,),
        source=HORVATH_2019.transcribed(
            "the list of contributions, and the text on bits: 12 for binary64, a factor of 5.82",
            "A sign and an exponent of 11 bits are 12 bits, and 64/12 = 5.33; 64/11 = 5.82 leaves out the sign.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="quantizers.naturalcompression.wire",
        tightness=sp.Rational(12 * 582, 64 * 100),
        extremal="any vector of binary64 numbers: 12 bits an entry",
        note="The number is off by a factor of 1.09, next to the right count of bits; 3.56 for binary32 is right. This "
        "is quoted from a transcript; the paper's own pages were not seen.",
    ),
    _naturalcompression.sign_symmetry(_ODD),
    _naturalcompression.scale_equivariance(_SHIFT, (*_IN_RANGE, FACTOR_POWER_OF_TWO)),
    _naturalcompression.no_scale_equivariance(
        "x = (1), factor 3/2: C(3/2) is 1 or 2, but 3/2 C(1) = 3/2",
        assumes=(OTHER_FACTOR, MIDDLE_RANGE),
        statement="scale_equivariance_any",
    ),
    _naturalcompression.idempotence(_FIXED),
)

NATURALDITHERING: tuple[Claim, ...] = (
    _naturaldithering.unbiased(_MEAN, (NORM_FITS,)),
    Claim(
        name="quantizers.naturaldithering.variance",
        title="The variance factor of natural dithering, from its Lagrangian dual",
        relation=Le(RELATIVE_ERROR, NATURAL_DITHERING_OMEGA),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, NORM_FITS),
        source=derived(
            "Let y_i = |x_i|/||x||, sum y_i^2 = 1, u = 2^(1-s) the smallest level, A = sqrt(n) u. Above u an entry "
            "contributes at most y^2/8 (natural compression), below it y (u - y). For w >= 1/8 no contribution exceeds "
            "w y^2 + u^2/(4 (1 + w)), so the sum is at most w + A^2/(4 (1 + w)), smallest at 1 + w = A/2 if that is "
            "at least 9/8, value A - 1, else at w = 1/8, value 1/8 + 2 A^2/9. If A >= 9/4 equal magnitudes attain it; "
            "else entries of 4/9 u, n of them in the limit, and the rest of the norm in entries of 4/3 of a level."
        ),
        tightness=1,
        extremal="2^(1-s) sqrt(n) >= 9/4: equal magnitudes; else approached as n grows: nearly all entries 4/9 of the "
        "smallest level, a few 4/3 of a level",
        axis="s",
        note="It is sharper than the printed factor everywhere, by up to 81/25 at 2^(1-s) sqrt(n) = 1.",
    ),
    Claim(
        name="quantizers.naturaldithering.variance_printed",
        title="Natural dithering has variance at most 1/8 + A min(1, A), A = 2^(1-s) sqrt(n)",
        relation=Le(RELATIVE_ERROR, NATURAL_DITHERING_PRINTED),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, NORM_FITS),
        source=HORVATH_2019.transcribed(
            "Theorem 7, with the Euclidean norm",
            "Above the smallest level u an entry contributes at most y^2/8; below it y (u - y) <= y u, in sum at most "
            "sqrt(n) u = A, and y (u - y) <= u^2/4, in sum at most A^2/4.",
        ),
        tightness=NATURAL_DITHERING_OMEGA / NATURAL_DITHERING_PRINTED,
        extremal="as for quantizers.naturaldithering.variance",
        axis="s",
        unpinned=(
            (
                "n - 1 for n",
                "still true: a single entry has no error; for n >= 2, A is at least 1/sqrt 2 of its value, and at most "
                "1 less, and quantizers.naturaldithering.variance stays below",
            ),
        ),
        note="It is approached for large and small A; in between it is up to 81/25 too large.",
    ),
    _naturaldithering.shrunk_contraction(
        NATURAL_DITHERING_OMEGA, (NORM_FITS,), axis="s", extremal="as for quantizers.naturaldithering.variance"
    ),
    _naturaldithering.wire(
        itembits + n * index_bits(2 * s + 1), "a norm, and n codes of ceil(log2(2 s + 1)) bits", (NORM_FITS,), axis="s"
    ),
    _naturaldithering.sign_symmetry(_ODD, (NORM_FITS,)),
    _naturaldithering.scale_equivariance(
        "Levels depend only on the ratios |x_i|/norm, which scaling does not change; the norm scales."
    ),
    _naturaldithering.no_idempotence(
        "x = (3, 4), s = 1: the output (5, 5) has norm 5 sqrt(2) and not 5, so it is rounded again", (MIDDLE_RANGE,)
    ),
)

STOCHASTICPOWER: tuple[Claim, ...] = (
    _stochasticpower.unbiased(_MEAN, (WITHIN_LEVELS,)),
    Claim(
        name="quantizers.stochasticpower.variance",
        title="Stochastic rounding to the powers of b has variance at most (b - 1)^2/(4 b)",
        relation=Le(RELATIVE_ERROR, BASE_OMEGA),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, WITHIN_LEVELS, EXACT_ARITHMETIC),
        source=BEZNOSIKOV_2020.recalled(
            "unbiased rounding to exponential levels, second moment (b + 1/b + 2)/4",
            "For |x_i| = t b^a, 1 <= t <= b, the relative variance (t - 1)(b - t)/t^2 is largest at t = 2 b/(b + 1): "
            "(b - 1)^2/(4 b).",
        ),
        tightness=1,
        extremal="every entry 2 b/(b + 1) times a power of b",
        axis="b",
    ),
    _stochasticpower.shrunk_contraction(
        BASE_OMEGA, (WITHIN_LEVELS, EXACT_ARITHMETIC), axis="b", extremal="every entry 2 b/(b + 1) times a power of b"
    ),
    _stochasticpower.wire(
        n * index_bits(2 * levels + 1), "per entry a code for the levels of the table, two signs and zero"
    ),
    _stochasticpower.sign_symmetry(_ODD),
    _stochasticpower.scale_equivariance(
        "Multiplying with a power of the base maps levels to levels.", (WITHIN_LEVELS, FACTOR_POWER_OF_BASE)
    ),
    _stochasticpower.no_scale_equivariance(
        "x = (1), b = 2, factor 3/2: C(3/2) is 1 or 2, but 3/2 C(1) = 3/2",
        assumes=(OTHER_FACTOR, MIDDLE_RANGE),
        statement="scale_equivariance_any",
    ),
    _stochasticpower.idempotence(_FIXED),
)

NEARESTPOWER: tuple[Claim, ...] = (
    Claim(
        name="quantizers.nearestpower.contraction",
        title="Rounding to the nearest power of two is contractive with 1 - alpha = 1/9",
        relation=Le(RELATIVE_ERROR, sp.Rational(1, 9)),
        assumes=(NONZERO, *_IN_RANGE),
        source=BEZNOSIKOV_2020.recalled(
            "rounding to the nearest power of two",
            "For |x_i| = t 2^a, 1 <= t <= 2, the error min(t - 1, 2 - t)/t is largest at t = 3/2: 1/3, squared 1/9.",
        ),
        tightness=1,
        extremal="every entry 3/2 of a power of two",
    ),
    _nearestpower.biased("x = (1.5): the output is (1)"),
    _nearestpower.wire(_POWER_BITS, _POWER_COUNT),
    _nearestpower.sign_symmetry(_ODD),
    _nearestpower.scale_equivariance(_SHIFT, (*_IN_RANGE, FACTOR_POWER_OF_TWO)),
    _nearestpower.no_scale_equivariance(
        "x = (1), factor 3/2: C(3/2) = 1, but 3/2 C(1) = 3/2",
        assumes=(OTHER_FACTOR, MIDDLE_RANGE),
        statement="scale_equivariance_any",
    ),
    _nearestpower.idempotence(_FIXED),
)
