"""Claims about quantisers with equidistant levels, stochastically rounded: QSGD, max-norm dithering, TernGrad."""

from typing import Any

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.hypotheses import (
    EXACT_ARITHMETIC,
    FEW_LEVELS,
    LEVELS_SQUARED,
    MIDDLE_RANGE,
    NONZERO,
    NORM_FITS,
    SEVERAL_LEVELS,
)
from commbounds.theory.quantities import (
    CODE_ENTROPY,
    ELIAS_BITS,
    LEVEL,
    RELATIVE_ERROR,
    SECOND_MOMENT,
    SUPPORT,
    index_bits,
    itembits,
    n,
    norm1,
    norm2,
    norminf,
    s,
)
from commbounds.theory.sources import ALISTARH_2017, FOLKLORE, WEN_2017, derived

_qsgd = CompressorClaims("quantizers.qsgd", "QSGD", randomised=True)
_maxdithering = CompressorClaims("quantizers.maxdithering", "max-norm dithering", randomised=True)
_terngrad = CompressorClaims("quantizers.terngrad", "TernGrad", randomised=True)

_MEAN = "The probability of rounding up makes the mean of a value between two levels the value itself."
_ODD = "Levels are drawn from magnitudes, and signs are restored afterwards."
_RATIOS = "Levels depend only on the ratios |x_i|/norm, which scaling does not change; the norm scales."
_CODES = "a norm, and n codes of ceil(log2(2 s + 1)) bits"

# Variance factors. With a_i = s |x_i|/norm and f its fractional part, entry i contributes (norm/s)^2 f (1 - f).
QSGD_OMEGA = sp.Piecewise((sp.sqrt(n) / s - 1, sp.Ge(n, 4 * s**2)), (n / (4 * s**2), True))
QSGD_PRINTED = sp.Min(n / s**2, sp.sqrt(n) / s)
MAX_OMEGA = (sp.sqrt(1 + (n - 1) / s**2) - 1) / 2
TERN_OMEGA = (sp.sqrt(n) - 1) / 2


def _coins(p: Any) -> Any:
    """Entropy in bits of n coins of probability p."""
    return n * (-p * sp.log(p, 2) - (1 - p) * sp.log(1 - p, 2))


def _sparse_bits(entries: Any) -> Any:
    """Bits that a sparse code takes for so many nonzero entries, and a norm, less an o(1)."""
    return itembits + (3 + sp.Rational(3, 2) * sp.log(2 * (s**2 + n) / entries, 2)) * entries


_QSGD_PROOF = (
    "Let a_i = s |x_i|/||x|| and g(a) = f (1 - f), f the fractional part of a: the relative error is sum g(a_i)/s^2, "
    "and sum a_i^2 = s^2. If n >= 4 s^2 put t = s/sqrt(n) <= 1/2: g(a) <= t/2 + a^2 (1 - 2 t)/(2 t), since for a < 1 "
    "the difference is (a - t)^2/(2 t), and for larger a the right side has only grown past its value at f. "
    "Summing, n t (1 - t)/s^2 = sqrt(n)/s - 1, attained at a_i = t: equal magnitudes. If n < 4 s^2 use g <= 1/4: "
    "n/(4 s^2), attained iff every a_i is half an odd integer, that is iff 4 s^2 is a sum of n odd squares. An odd "
    "square is 1 plus 8 times a triangular number, so that needs n = 4 s^2 modulo 8; n is then a multiple of 4, and "
    "three triangular numbers sum to any number (Gauss): it suffices. For other n < 4 s^2 the bound is not attained."
)
_QSGD_EXTREMAL = (
    "n >= 4 s^2: equal magnitudes; n < 4 s^2: entries proportional to odd integers whose squares sum to 4 s^2, which "
    "exist iff n = 4 s^2 modulo 8"
)
_MAX_PROOF = (
    "Let a_i = s |x_i|/max|x| and g(a) = f (1 - f), f the fractional part of a: the relative error is "
    "sum g(a_i)/sum a_i^2, and the largest a_i is s, where g = 0. For w > 0 the largest g(a) - w a^2 is "
    "1/(4 (1 + w)), at a = 1/(2 (1 + w)) < 1. So sum g(a_i) - w sum a_i^2 <= (n - 1)/(4 (1 + w)) - w s^2, which is 0 "
    "where w (1 + w) = (n - 1)/(4 s^2): that w is the supremum."
)

QSGD: tuple[Claim, ...] = (
    _qsgd.unbiased(_MEAN, (NORM_FITS,)),
    Claim(
        name="quantizers.qsgd.variance",
        title="The exact variance factor of QSGD",
        relation=Le(RELATIVE_ERROR, QSGD_OMEGA),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, NORM_FITS),
        source=derived(_QSGD_PROOF),
        tightness=1,
        extremal=_QSGD_EXTREMAL,
        note="The usually printed factor, min(n/s^2, sqrt(n)/s), is up to four times as large.",
    ),
    Claim(
        name="quantizers.qsgd.variance_printed",
        title="QSGD has variance at most min(n/s^2, sqrt(n)/s)",
        relation=Le(RELATIVE_ERROR, QSGD_PRINTED),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, NORM_FITS),
        source=ALISTARH_2017.transcribed(
            "Lemma 3.1 (ii)", "Implied by quantizers.qsgd.variance, which is never larger."
        ),
        tightness=sp.Piecewise(
            (1 - s / sp.sqrt(n), sp.Ge(n, 4 * s**2)), (sp.sqrt(n) / (4 * s), sp.Ge(n, s**2)), (sp.Rational(1, 4), True)
        ),
        extremal=_QSGD_EXTREMAL,
        unpinned=(
            (
                "n - 1 for n",
                "still true: a single entry has no error, and for n >= 2, (n - 1)/s^2 and sqrt(n - 1)/s exceed "
                "quantizers.qsgd.variance, as sqrt(n) - sqrt(n - 1) < s",
            ),
        ),
        note="Valid: four times too large for n <= s^2, twice for n = 4 s^2, exact in the limit of large n/s^2.",
    ),
    Claim(
        name="quantizers.qsgd.second_moment",
        title="QSGD multiplies the expected squared norm by at most 1 + omega",
        relation=Le(SECOND_MOMENT, sp.piecewise_fold(1 + QSGD_OMEGA)),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, NORM_FITS),
        source=derived("Unbiased: the second moment is the squared norm plus the variance."),
        tightness=1,
        extremal=_QSGD_EXTREMAL,
    ),
    Claim(
        name="quantizers.qsgd.second_moment_common",
        title="QSGD multiplies the expected squared norm by at most min(n/s^2, sqrt(n)/s)",
        relation=Le(SECOND_MOMENT, QSGD_PRINTED),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, NORM_FITS),
        source=FOLKLORE.recalled(
            "the variance factor, used as a bound on the second moment",
            "The second moment of an unbiased quantiser is at least 1: for n < s^2 the bound n/s^2 is below it.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="quantizers.qsgd.second_moment",
        extremal="any x, n < s^2: measured >= 1, bound n/s^2 < 1",
        note="The printed factor bounds the variance; the second moment is larger by one.",
    ),
    _qsgd.shrunk_contraction(QSGD_OMEGA, (NORM_FITS,), extremal=_QSGD_EXTREMAL),
    Claim(
        name="quantizers.qsgd.level",
        title="No level of QSGD exceeds s",
        relation=Le(LEVEL, s),
        assumes=(NORM_FITS,),
        source=derived(
            "|x_i| <= ||x||, also after rounding the norm to the dtype, which is monotone: s |x_i|/||x|| <= s."
        ),
        tightness=1,
        extremal="a vector with one nonzero entry",
        axis="s",
        note="An implementation that adds the random bit before clamping can reach s + 1 and overflow its code.",
    ),
    Claim(
        name="quantizers.qsgd.support",
        title="QSGD sends at most min(n, s sqrt(n)) nonzero entries in expectation",
        relation=Le(SUPPORT, sp.Min(n, s * sp.sqrt(n))),
        kind=Kind.EXPECTED,
        assumes=(NORM_FITS,),
        source=derived(
            "Entry i survives with probability min(1, a_i), a_i = s |x_i|/||x||, and sum a_i = s ||x||_1/||x||_2 <= "
            "s sqrt(n)."
        ),
        tightness=1,
        extremal="all entries equal in magnitude",
    ),
    Claim(
        name="quantizers.qsgd.support_printed",
        title="QSGD sends at most s (s + sqrt(n)) nonzero entries in expectation",
        relation=Le(SUPPORT, s * (s + sp.sqrt(n))),
        kind=Kind.EXPECTED,
        assumes=(NORM_FITS,),
        source=ALISTARH_2017.transcribed("Lemma 3.1 (iii)", "Implied by quantizers.qsgd.support, which is smaller."),
        tightness=sp.Min(n, s * sp.sqrt(n)) / (s * (s + sp.sqrt(n))),
        extremal="all entries equal in magnitude",
    ),
    _qsgd.wire(itembits + n * index_bits(2 * s + 1), _CODES, (NORM_FITS,)),
    Claim(
        name="quantizers.qsgd.elias",
        title="Elias-coded, QSGD takes at most n (2 + 2 log2(1 + s/sqrt(n))) bits and a norm in expectation",
        relation=Le(ELIAS_BITS, itembits + n * (2 + 2 * sp.log(1 + s / sp.sqrt(n), 2))),
        kind=Kind.EXPECTED,
        assumes=(NORM_FITS,),
        source=derived(
            "Level l takes a sign and 2 floor(log2(l + 1)) + 1 bits, at most 2 + 2 log2(l + 1). The logarithm is "
            "concave: the mean over draws and entries is at most that at the mean level, s ||x||_1/(n ||x||_2) <= "
            "s/sqrt(n)."
        ),
        tightness=1,
        extremal="equal magnitudes, where 1 + s/sqrt(n) is a power of two",
    ),
    Claim(
        name="quantizers.qsgd.elias_any_n",
        title="With s = sqrt(n) levels, Elias-coded QSGD takes at most 2.8 n + 32 bits in expectation",
        relation=Le(ELIAS_BITS, itembits + sp.Rational(14, 5) * n),
        kind=Kind.EXPECTED,
        assumes=(NORM_FITS, LEVELS_SQUARED),
        source=ALISTARH_2017.transcribed(
            "Corollary 3.3, about an encoding in the full version",
            "Equal magnitudes all have level one, which takes a sign and three bits: 4 n + 32.",
            reading="It is read for this encoding, and without the o(1) in its code lengths.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="quantizers.qsgd.elias",
        extremal="equal magnitudes: 4 n + 32 bits, also with Elias omega codes",
        note="With s = sqrt(n) a message takes at most 4 n + 32 bits in expectation; equal magnitudes attain it.",
    ),
    Claim(
        name="quantizers.qsgd.entropy",
        title="With s <= sqrt(n)/2 levels, QSGD's output has at most the entropy of n coins of probability s/sqrt(n)",
        relation=Le(CODE_ENTROPY, _coins(s / sp.sqrt(n))),
        kind=Kind.EXPECTED,
        assumes=(NORM_FITS, FEW_LEVELS),
        source=derived(
            "Entry i goes up with probability f_i, the fractional part of a_i = s |x_i|/||x||, on its own: the entropy "
            "is the sum of h(f_i), with h(p) = -p log2 p - (1 - p) log2(1 - p). It is concave, and the mean of f_i is "
            "at most that of a_i, which is at most s/sqrt(n) <= 1/2, up to where h grows."
        ),
        tightness=1,
        extremal="equal magnitudes",
        axis="s",
    ),
    Claim(
        name="quantizers.qsgd.sparse_bits",
        title="QSGD's output has at most the entropy of s (s + sqrt(n)) entries in the sparse code",
        relation=Le(CODE_ENTROPY, _sparse_bits(s * (s + sp.sqrt(n)))),
        kind=Kind.EXPECTED,
        assumes=(NORM_FITS, SEVERAL_LEVELS, FEW_LEVELS),
        source=ALISTARH_2017.transcribed(
            "Theorem 3.2, the bits of a sparse code for two levels and more",
            "By quantizers.qsgd.entropy it is at most n h(p), p = s/sqrt(n) <= 1/2, and n h(p) <= s sqrt(n) "
            "(log2(sqrt(n)/s) + 1.45). The count is at least s sqrt(n) (3 + 3/2 log2(sqrt(n)/s)).",
            reading="It is read for the entropy, a lower bound for every code, and without the o(1) of the count.",
        ),
        tightness=_coins(sp.Min(s / sp.sqrt(n), sp.Rational(1, 2))) / _sparse_bits(s * (s + sp.sqrt(n))),
        extremal="equal magnitudes",
        axis="s",
        note="The entropy is at most 2/3 of the count, which is that of one code; up to 20000 entries it is 0.55.",
    ),
    Claim(
        name="quantizers.qsgd.sparse_bits_of_fewer",
        title="QSGD's output has at most the entropy of s^2 + sqrt(n) entries in the sparse code",
        relation=Le(CODE_ENTROPY, _sparse_bits(s**2 + sp.sqrt(n))),
        kind=Kind.EXPECTED,
        assumes=(NORM_FITS, SEVERAL_LEVELS),
        source=ALISTARH_2017.transcribed(
            "Theorem 3.4: s^2 + sqrt(n) where Theorem 3.2, with the same proof, has s^2 + s sqrt(n)",
            "n equal entries have the entropy n h(s/sqrt(n)), about (s/2) sqrt(n) log2 n for long vectors, where this "
            "count grows like 3/4 sqrt(n) log2 n: for two levels and more no code is that short, for any o(1). At s = "
            "1, for which Theorem 3.2 is not stated, the two agree.",
            reading="It is read for the entropy, a lower bound for every code, and without the o(1) of the count.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="quantizers.qsgd.sparse_bits",
        tightness=sp.oo,
        extremal="1066 equal entries and five levels: 658.4 bits of entropy, not 658.3; two levels from 62466 entries "
        "on, three from 1735 on",
        axis="s",
        note="For long vectors it fails by a factor of 2 s/3. We guess that the factor s was lost in copying the "
        "count: the sum in the theorem's first part has it.",
    ),
    _qsgd.sign_symmetry(_ODD, (NORM_FITS,)),
    _qsgd.scale_equivariance(_RATIOS),
    _qsgd.no_idempotence(
        "x = (3, 4), s = 1: the output (5, 5) has norm 5 sqrt(2) and not 5, so it is rounded again", (MIDDLE_RANGE,)
    ),
)

MAXDITHERING: tuple[Claim, ...] = (
    _maxdithering.unbiased(_MEAN),
    Claim(
        name="quantizers.maxdithering.variance",
        title="The exact variance factor of dithering relative to the largest entry",
        relation=Le(RELATIVE_ERROR, MAX_OMEGA),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=derived(_MAX_PROOF),
        tightness=1,
        extremal="one entry 1, all others 1/(s + sqrt(s^2 + n - 1))",
        note="The factor is not QSGD's: relative to the largest entry the variance grows like sqrt(n)/(2 s).",
    ),
    _maxdithering.shrunk_contraction(MAX_OMEGA, extremal="one entry 1, all others 1/(s + sqrt(s^2 + n - 1))"),
    Claim(
        name="quantizers.maxdithering.level",
        title="No level of max-norm dithering exceeds s",
        relation=Le(LEVEL, s),
        source=derived("|x_i| <= max|x|, and the rounded quotient of the two is at most 1."),
        tightness=1,
        extremal="every x but zero: its largest entry has level s",
        axis="s",
    ),
    _maxdithering.wire(itembits + n * index_bits(2 * s + 1), _CODES),
    _maxdithering.sign_symmetry(_ODD),
    _maxdithering.scale_equivariance(_RATIOS),
    _maxdithering.idempotence(
        "The largest entry is always at level s, so the output has the same largest entry, and all of its entries are "
        "levels, which do not move.",
        (EXACT_ARITHMETIC, MIDDLE_RANGE),
    ),
)

TERNGRAD: tuple[Claim, ...] = (
    _terngrad.unbiased(_MEAN),
    Claim(
        name="quantizers.terngrad.error",
        title="The exact variance of TernGrad",
        relation=Eq(RELATIVE_ERROR, (norminf * norm1 - norm2**2) / norm2**2),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=WEN_2017.second_hand(
            "the ternarisation, without clipping and layers, and the second moment max|g| |g_i| of an entry",
            "An entry is max|x| with probability p = |x_i|/max|x|, else 0: variance max|x|^2 p (1 - p) = "
            "max|x| |x_i| - x_i^2.",
        ),
    ),
    Claim(
        name="quantizers.terngrad.variance",
        title="The exact variance factor of TernGrad",
        relation=Le(RELATIVE_ERROR, TERN_OMEGA),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=derived("Max-norm dithering with one level. " + _MAX_PROOF),
        tightness=1,
        extremal="one entry 1, all others 1/(1 + sqrt(n))",
    ),
    _terngrad.shrunk_contraction(TERN_OMEGA, extremal="one entry 1, all others 1/(1 + sqrt(n))"),
    _terngrad.wire(itembits + 2 * n, "a norm, and n codes of 2 bits for the three levels"),
    _terngrad.sign_symmetry(_ODD),
    _terngrad.scale_equivariance(_RATIOS),
    _terngrad.idempotence("The output's entries are 0 and plus or minus its largest, which do not move."),
)
