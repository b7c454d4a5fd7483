"""Claims about compressors that draw: with replacement, everything or nothing, ATOMO, and a clipped TernGrad."""

import sympy as sp

from commbounds.theory.claim import Claim, Code, Eq, Kind, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.hypotheses import ANY_FACTOR, MIDDLE_RANGE, NO_ZERO_ENTRIES, NONZERO, ONE_SPARSE, SOME_ALPHA
from commbounds.theory.quantities import (
    BIAS,
    RELATIVE_ERROR,
    SECOND_MOMENT,
    SHRUNK_ERROR,
    SUPPORT,
    alpha,
    entries,
    index_bits,
    itembits,
    k,
    n,
    norm1,
    norm2,
    norminf,
)
from commbounds.theory.shipped.terms import (
    ADDED,
    ALL_EQUAL,
    AT_MOST_ALL,
    BALANCED,
    FLPYTORCH,
    FLPYTORCH_AT,
    FOLLOWS,
    GRACE,
    GRACE_AT,
    NO_MORE_DRAWS,
    OVERWRITTEN,
    PRODUCTS_FIT,
    UNCLIPPED,
    WANG_2018,
    budget,
    clip,
    deviation,
    keep,
)
from commbounds.theory.sources import FOLKLORE, WEN_2017, derived

_replaced = CompressorClaims("shipped.replacementrandk", "Rand-K with replacement", randomised=True)
_lazy = CompressorClaims("shipped.bernoullilazy", "the lazy compressor", randomised=True)
_atomic = CompressorClaims("shipped.atomic", "entry-wise ATOMO", randomised=True)
_clipped = CompressorClaims("shipped.clippedterngrad", "TernGrad with clipping", randomised=True)

_drawn = 1 - (1 - 1 / n) ** k
"""Probability that a place is among k draws."""
_LINEAR = "The draw does not depend on x, and the message is a multiple of x."

REPLACED: tuple[Claim, ...] = (
    Claim(
        name="shipped.replacementrandk.unbiased",
        title="Rand-K with replacement, times n/k, is unbiased if a second draw of a place overwrites the first",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, OVERWRITTEN, PRODUCTS_FIT),
        source=derived(
            "One would expect it of a factor n/k. Refuted: a place is sent with probability 1 - (1 - 1/n)^k, which is "
            "less than k/n for k > 1 and n > 1."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.replacementrandk.bias",
        extremal="every x, from two draws on: one entry is halved by two; for k = n -> infinity the bias is 1/e",
        axis="k",
        note="Every entry shrinks by (n/k)(1 - (1 - 1/n)^k), below one. Adding up draws of a place would be unbiased.",
    ),
    Claim(
        name="shipped.replacementrandk.bias",
        title="The exact bias of Rand-K with replacement if draws are overwritten",
        relation=Eq(BIAS, 1 - n * _drawn / k),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, OVERWRITTEN, PRODUCTS_FIT),
        source=derived("A place is among the draws with probability 1 - (1 - 1/n)^k, and then multiplied by n/k."),
        axis="k",
    ),
    Claim(
        name="shipped.replacementrandk.error",
        title="The exact error of Rand-K with replacement if draws are overwritten",
        relation=Eq(RELATIVE_ERROR, 1 - 2 * n * _drawn / k + n**2 * _drawn / k**2),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, OVERWRITTEN, PRODUCTS_FIT),
        source=derived("E (g B - 1)^2 with B the indicator that a place is drawn, and g = n/k."),
        axis="k",
        note="At k = n it is not zero: draws with replacement may miss entries.",
    ),
    Claim(
        name="shipped.replacementrandk.variance_randk",
        title="Rand-K with replacement has Rand-K's error n/k - 1",
        relation=Le(RELATIVE_ERROR, n / k - 1),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, OVERWRITTEN, NO_MORE_DRAWS, PRODUCTS_FIT),
        source=FOLKLORE.recalled(
            "omega of Rand-K, for any way to draw indices",
            "n = k = 2: each place is missed with probability 1/4, and lost then, and otherwise exact: 1/4.",
            reading="It is read for draws with replacement.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.replacementrandk.error",
        tightness=sp.oo,
        extremal="k = n: the bound is zero, the error is not",
        axis="k",
        note="The error less the bound is (g - 2)(p g - 1), with g = n/k and p the probability that a place is drawn: "
        "for k >= 2 it fails for k > n/2, and holds up to there.",
    ),
    Claim(
        name="shipped.replacementrandk.unbiased_added",
        title="Rand-K with replacement is unbiased if draws of one place add up",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(ADDED, PRODUCTS_FIT),
        source=derived("A place is drawn k/n times in expectation, and multiplied by n/k each time."),
    ),
    Claim(
        name="shipped.replacementrandk.variance",
        title="Rand-K with replacement and adding has variance exactly (n - 1)/k",
        relation=Eq(RELATIVE_ERROR, (n - 1) / k),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, ADDED, PRODUCTS_FIT),
        source=derived("The times a place is drawn are binomial: (n/k)^2 k (1/n)(1 - 1/n)."),
        axis="k",
        note="Rand-K without replacement has (n - k)/k: replacement costs the difference, (k - 1)/k.",
    ),
    Claim(
        name="shipped.replacementrandk.shrunk_contraction",
        title="Rand-K with replacement and adding, divided by 1 + omega, is contractive with alpha = k/(n + k - 1)",
        relation=Eq(SHRUNK_ERROR, 1 - k / (n + k - 1)),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, ADDED, PRODUCTS_FIT),
        source=derived("Unbiased with variance omega = (n - 1)/k: omega/(1 + omega) is left."),
        axis="k",
    ),
    Claim(
        name="shipped.replacementrandk.support",
        title="The expected number of places that k draws with replacement hit",
        relation=Eq(SUPPORT, n * _drawn),
        kind=Kind.EXPECTED,
        assumes=(NO_ZERO_ENTRIES, PRODUCTS_FIT),
        source=derived("n places, each among the draws with probability 1 - (1 - 1/n)^k."),
        axis="k",
        note="If k values are sent, repeated ones are sent in vain.",
    ),
    _replaced.wire(
        index_bits(n + 1) + entries * (index_bits(n) + itembits),
        "the number of places drawn, and for each an index in ceil(log2 n) bits and a value",
        (PRODUCTS_FIT,),
    ),
    _replaced.sign_symmetry(_LINEAR, (PRODUCTS_FIT,)),
    _replaced.scale_equivariance(_LINEAR, (ANY_FACTOR, MIDDLE_RANGE, PRODUCTS_FIT)),
    _replaced.no_idempotence(
        "x = (1, 1), k = 1: the second draw keeps the other entry half of the time", (MIDDLE_RANGE,)
    ),
)


def _compressors(lines: str) -> Code:
    return FLPYTORCH_AT.at("fl_pytorch/utils/compressors.py", lines)


_w = 1 / keep - 1
LAZY: tuple[Claim, ...] = (
    Claim(
        name="shipped.bernoullilazy.unbiased",
        title="The lazy compressor is unbiased",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(PRODUCTS_FIT,),
        source=FLPYTORCH.official_code(
            "docstrings of Compressor and of makeLazyCompressor: x/p with probability p, else 0; unbiased",
            "keep (x/keep) = x.",
            code=_compressors("70-77"),
        ),
    ),
    Claim(
        name="shipped.bernoullilazy.variance",
        title="The lazy compressor has variance exactly 1/keep - 1",
        relation=Eq(RELATIVE_ERROR, _w),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, PRODUCTS_FIT),
        source=FLPYTORCH.official_code(
            "makeLazyCompressor: w = 1/P - 1",
            "keep (1/keep - 1)^2 + (1 - keep) = 1/keep - 1, for every x.",
            code=_compressors("76"),
        ),
        axis="keep",
    ),
    Claim(
        name="shipped.bernoullilazy.second_moment",
        title="The lazy compressor multiplies the expected squared norm by exactly 1/keep",
        relation=Eq(SECOND_MOMENT, 1 / keep),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, PRODUCTS_FIT),
        source=FLPYTORCH.official_code(
            "makeLazyCompressor's comment: w + 1 = p (1/p)^2",
            "keep (1/keep)^2: only what is sent has a norm.",
            code=_compressors("73"),
        ),
        axis="keep",
    ),
    Claim(
        name="shipped.bernoullilazy.composed",
        title="Lazy after Rand-K: one plus the variance is the product of both",
        relation=Eq(RELATIVE_ERROR, (1 + _w) * (n / k) - 1),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, PRODUCTS_FIT),
        source=FLPYTORCH.official_code(
            "ComposedCompressor.getW: (w1 + 1)(w2 + 1) - 1",
            "Independent and unbiased: E||C1(C2 x)||^2 <= (1 + w1) E||C2 x||^2 <= (1 + w1)(1 + w2) ||x||^2, and the "
            "variances of both are equalities for every x, so that the product is one.",
            reading="It is an equality, as both factors are; the code has it as a bound.",
            code=_compressors("388-392"),
        ),
        axis="keep",
    ),
    _lazy.shrunk_contraction(_w, (PRODUCTS_FIT,), axis="keep"),
    _lazy.wire(1 + entries * itembits, "one bit for whether values follow, and these values", (PRODUCTS_FIT,)),
    _lazy.sign_symmetry(_LINEAR, (PRODUCTS_FIT,)),
    _lazy.scale_equivariance(_LINEAR, (ANY_FACTOR, MIDDLE_RANGE, PRODUCTS_FIT)),
    _lazy.no_idempotence("keep = 1/2: a message sent is sent twice as large, or not at all", (MIDDLE_RANGE,)),
)

_v = norm1**2 / (budget * norm2**2) - 1
ATOMIC: tuple[Claim, ...] = (
    Claim(
        name="shipped.atomic.unbiased",
        title="Entry-wise ATOMO is unbiased",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(PRODUCTS_FIT,),
        source=WANG_2018.read("Abstract: an unbiased sparsification", "p_i (x_i / p_i) = x_i."),
    ),
    Claim(
        name="shipped.atomic.variance_balanced",
        title="With no probability above one, entry-wise ATOMO has variance exactly norm1^2/(B norm2^2) - 1",
        relation=Eq(RELATIVE_ERROR, _v),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, BALANCED, PRODUCTS_FIT),
        source=WANG_2018.recalled(
            "the variance of balanced atoms", "p_i = B |x_i|/||x||_1: sum x_i^2/p_i = ||x||_1^2/B."
        ),
        axis="budget",
    ),
    Claim(
        name="shipped.atomic.variance_any",
        title="Entry-wise ATOMO has variance norm1^2/(B norm2^2) - 1, for any entries",
        relation=Eq(RELATIVE_ERROR, _v),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, PRODUCTS_FIT),
        source=WANG_2018.recalled(
            "the variance of balanced atoms",
            "x = (1, 0), B = 2: the entry is certain, and the formula is below zero.",
            reading="It is read without the condition that the atoms are balanced.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.atomic.variance_balanced",
        extremal="one entry and a budget of two: no error, where the formula has -1/2",
        axis="budget",
        note="Where a probability would exceed one, the entry is certain, and the others share what is left.",
    ),
    Claim(
        name="shipped.atomic.variance",
        title="Entry-wise ATOMO's variance is at most that of keeping every entry with probability B/n",
        relation=Le(RELATIVE_ERROR, n / budget - 1),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, AT_MOST_ALL, PRODUCTS_FIT),
        source=WANG_2018.read(
            "Abstract: the sparsification minimises the variance for a sparsity budget",
            "One probability for all is among those compared: sum x_i^2/(B/n) - ||x||^2.",
            reading="It is read as a comparison with one probability for all entries.",
        ),
        tightness=1,
        extremal="all entries equal in magnitude",
        axis="budget",
    ),
    Claim(
        name="shipped.atomic.shrunk_contraction",
        title="Entry-wise ATOMO divided by n/B is contractive with alpha = B/n",
        relation=Le(SHRUNK_ERROR, 1 - budget / n),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, AT_MOST_ALL, PRODUCTS_FIT),
        source=derived("Unbiased with variance at most omega = n/B - 1: at most omega/(1 + omega) is left."),
        tightness=1,
        extremal="all entries equal in magnitude",
        axis="budget",
    ),
    Claim(
        name="shipped.atomic.support",
        title="Entry-wise ATOMO keeps at most its budget of entries in expectation",
        relation=Le(SUPPORT, budget),
        kind=Kind.EXPECTED,
        assumes=(PRODUCTS_FIT,),
        source=WANG_2018.read(
            "Abstract: a sparsity budget is given",
            "The probabilities add up to the budget, or are all one if there are fewer entries.",
            reading="It is read as a budget in expectation.",
        ),
        tightness=1,
        extremal="no zero entries, and a budget of at most n",
        axis="budget",
    ),
    _atomic.wire(
        index_bits(n + 1) + entries * (index_bits(n) + itembits),
        "the number of entries kept, and for each an index in ceil(log2 n) bits and a value",
        (PRODUCTS_FIT,),
    ),
    _atomic.sign_symmetry("Probabilities are of magnitudes, and what is kept carries its sign.", (PRODUCTS_FIT,)),
    _atomic.scale_equivariance(
        "Probabilities are of ratios of magnitudes, and what is kept scales.", (ANY_FACTOR, MIDDLE_RANGE, PRODUCTS_FIT)
    ),
    _atomic.no_idempotence(
        "x = (1, 1), B = 1: of (2, 0), what is left, all is kept; of (2, 2) one half", (MIDDLE_RANGE,)
    ),
)

_clipping = sp.Max(0, 1 - clip * deviation / norminf)
_CODE = "compressor/terngrad.py: clamped to 2.5 std, std about the mean; the scale is the largest of what is left"
_CLIP = GRACE_AT.at("grace_dl/torch/compressor/terngrad.py", "8-26")
CLIPPED: tuple[Claim, ...] = (
    Claim(
        name="shipped.clippedterngrad.unbiased",
        title="TernGrad with clipping is unbiased",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=WEN_2017.second_hand(
            "unbiased ternary gradients, and layer-wise clipping at 2.5 standard deviations",
            "Equal entries have no deviation: they are clipped to zero and lost.",
            reading="It is read with the clipping: the proof is about the clipped gradient.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.clippedterngrad.bias",
        extremal="all entries equal, of which nothing is left",
        note="It is unbiased only for the clipped gradient, the subject of the paper's proof.",
    ),
    Claim(
        name="shipped.clippedterngrad.bias",
        title="The exact bias of TernGrad with clipping: the excess of the largest entry over the bound",
        relation=Eq(BIAS, _clipping),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=GRACE.official_code(
            _CODE, "E C(x)_i is x_i clipped to [-c, c], off by |x_i| - c at most, for the largest.", FOLLOWS, _CLIP
        ),
    ),
    Claim(
        name="shipped.clippedterngrad.unbiased_unclipped",
        title="TernGrad with clipping is unbiased if nothing is clipped",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(UNCLIPPED,),
        source=GRACE.official_code(_CODE, "It is TernGrad then.", FOLLOWS, _CLIP),
    ),
    Claim(
        name="shipped.clippedterngrad.equal_entries",
        title="TernGrad with clipping loses equal entries completely",
        relation=Eq(RELATIVE_ERROR, 1),
        kind=Kind.EXPECTED,
        assumes=(ALL_EQUAL,),
        source=GRACE.official_code(
            _CODE, "Their deviation from their mean is zero, and so is the bound.", FOLLOWS, _CLIP
        ),
        note="The bias gradient of a layer that sees only one class is such a vector.",
    ),
    Claim(
        name="shipped.clippedterngrad.one_sparse",
        title="TernGrad with clipping has error (1 - c sqrt(n - 1)/n)^2 on one nonzero entry; TernGrad has none",
        relation=Eq(RELATIVE_ERROR, sp.Max(0, 1 - clip * sp.sqrt(n - 1) / n) ** 2),
        kind=Kind.EXPECTED,
        assumes=(ONE_SPARSE,),
        source=GRACE.official_code(
            _CODE, "std = |x| sqrt(n - 1)/n; the entry is sent as the bound for sure.", FOLLOWS, _CLIP
        ),
        note="For 2.5 standard deviations this needs six entries or more; for many entries all is lost.",
    ),
    Claim(
        name="shipped.clippedterngrad.contraction",
        title="TernGrad with clipping is contractive with some alpha > 0",
        relation=Le(RELATIVE_ERROR, 1 - alpha),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, SOME_ALPHA),
        source=derived("Refuted by equal entries, which are lost: ratio 1."),
        stands=Standing.REFUTED,
        extremal="all entries equal: the output is zero",
        axis="alpha",
        note="With error feedback such a gradient is never sent: its residual stays a vector of equal entries.",
    ),
    _clipped.wire(itembits + 2 * n, "a scale, and one of three values in two bits for every entry"),
    _clipped.sign_symmetry("The deviation is that of -x, and signs are kept."),
    _clipped.scale_equivariance("Deviation, bound and scale scale."),
    _clipped.no_idempotence("equal entries that differ in one place: outputs have another deviation", (MIDDLE_RANGE,)),
)

SAMPLING = (*REPLACED, *LAZY, *ATOMIC, *CLIPPED)
