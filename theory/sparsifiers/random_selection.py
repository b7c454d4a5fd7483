"""Claims about compressors that keep entries drawn at random: Rand-K and adaptive random sparsification."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.hypotheses import (
    GAIN_FITS,
    INDEPENDENT_SUPPORTS,
    MIDDLE_RANGE,
    NO_ZERO_ENTRIES,
    NONZERO,
    NONZERO_AVERAGE,
    SCALED,
    SHARED_SUPPORT,
    UNSCALED,
)
from commbounds.theory.quantities import (
    BIAS,
    GLOBAL_ERROR,
    IDEMPOTENCE_DEFECT,
    RELATIVE_ERROR,
    SECOND_MOMENT,
    SUPPORT,
    P,
    choose,
    index_bits,
    itembits,
    k,
    n,
    norm1,
    norm2,
    norm2bar,
    norm3,
    sumsq,
)
from commbounds.theory.sources import BEZNOSIKOV_2020, FOLKLORE, STICH_2018, derived

_randk = CompressorClaims("sparsifiers.randk", "Rand-K", randomised=True)
_adaptive = CompressorClaims("sparsifiers.adaptivesparsification", "adaptive random sparsification", randomised=True)

_p = k / n
_INCLUSION = "Every entry is kept with probability k/n"

RANDK: tuple[Claim, ...] = (
    Claim(
        name="sparsifiers.randk.contraction",
        title="The expected error of unscaled Rand-K is exactly 1 - k/n",
        relation=Eq(RELATIVE_ERROR, 1 - k / n),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, UNSCALED),
        source=STICH_2018.transcribed(
            "Definitions 2.1 and 2.2: Rand-K as a k-contraction",
            f"{_INCLUSION}, and contributes its square to the error where it is not.",
            "It is tested as an equality; it is printed as an upper bound.",
        ),
        axis="k",
    ),
    Claim(
        name="sparsifiers.randk.bias",
        title="Unscaled Rand-K shrinks every entry by the factor k/n in expectation",
        relation=Eq(BIAS, 1 - k / n),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, UNSCALED),
        source=derived(f"{_INCLUSION}, so that E C(x) = (k/n) x."),
        axis="k",
    ),
    _randk.unbiased(f"{_INCLUSION} and multiplied by n/k where it is.", (SCALED, GAIN_FITS)),
    Claim(
        name="sparsifiers.randk.variance",
        title="Scaled Rand-K has variance exactly n/k - 1",
        relation=Eq(RELATIVE_ERROR, n / k - 1),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, GAIN_FITS, SCALED),
        source=STICH_2018.transcribed(
            "section 2.2: the second moment is at most n/k of the gradient's",
            f"{_INCLUSION}: its scaled value has second moment (n/k) x_i^2 and mean x_i.",
            "It is read as the exact variance; the paper has the second moment as an upper bound.",
        ),
        axis="k",
    ),
    Claim(
        name="sparsifiers.randk.second_moment",
        title="Scaled Rand-K multiplies the expected squared norm by exactly n/k",
        relation=Eq(SECOND_MOMENT, n / k),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, GAIN_FITS, SCALED),
        source=derived(f"{_INCLUSION}: its scaled value has second moment (k/n) (n/k)^2 x_i^2."),
        axis="k",
        note="The second moment is one plus the variance: the two are often confused.",
    ),
    _randk.shrunk_contraction(n / k - 1, (SCALED, GAIN_FITS), axis="k"),
    Claim(
        name="sparsifiers.randk.support",
        title="Rand-K sends at most k nonzero entries",
        relation=Le(SUPPORT, k),
        assumes=(GAIN_FITS,),
        source=derived("k entries are sent; some of them may be zero.", "by construction"),
        tightness=1,
        extremal="no entry is zero",
        axis="k",
    ),
    Claim(
        name="sparsifiers.randk.global_contraction_shared",
        title="With one support for all workers, the average of unscaled Rand-K has error exactly 1 - k/n",
        relation=Eq(GLOBAL_ERROR, 1 - k / n),
        kind=Kind.EXPECTED,
        assumes=(UNSCALED, SHARED_SUPPORT, NONZERO_AVERAGE),
        source=derived("With a shared support C is linear: the average of the outputs is the output of the average."),
        axis="k",
        note="Only a shared seed makes Rand-K globally contractive and its messages reducible without indices.",
    ),
    Claim(
        name="sparsifiers.randk.global_error_independent",
        title="The exact error of the average of unscaled Rand-K with independent supports",
        relation=Eq(GLOBAL_ERROR, (1 - _p) ** 2 + _p * (1 - _p) * sumsq / (P * norm2bar) ** 2),
        kind=Kind.EXPECTED,
        assumes=(UNSCALED, INDEPENDENT_SUPPORTS, NONZERO_AVERAGE),
        source=derived(
            "Squared bias plus variance: the expected output of every worker is (k/n) x_i, which leaves (1 - k/n) of "
            "the average; every entry of worker i has variance (k/n)(1 - k/n) x_ij^2, and independent workers' "
            "variances add up to (k/n)(1 - k/n) sum ||x_i||^2 / P^2."
        ),
        axis="k",
    ),
    Claim(
        name="sparsifiers.randk.global_contraction",
        title="The average of unscaled Rand-K with independent supports contracts towards the average by 1 - k/n",
        relation=Le(GLOBAL_ERROR, 1 - k / n),
        kind=Kind.EXPECTED,
        assumes=(UNSCALED, INDEPENDENT_SUPPORTS, NONZERO_AVERAGE),
        source=FOLKLORE.recalled(
            "the contraction factor of one worker, used for the average over workers",
            "By sparsifiers.randk.global_error_independent it fails exactly where k < n and the workers' squared norms "
            "sum to more than the squared norm of their sum, that is, where they cancel.",
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="two workers that nearly cancel: (1 + e, -1) and (-1, 1 + e) with e -> 0",
        axis="k",
        note="It holds for parallel vectors and fails without limit if workers cancel: share the support.",
    ),
    Claim(
        name="sparsifiers.randk.global_error_scaled",
        title="The exact error of the average of scaled Rand-K with independent supports",
        relation=Eq(GLOBAL_ERROR, (n / k - 1) * sumsq / (P * norm2bar) ** 2),
        kind=Kind.EXPECTED,
        assumes=(GAIN_FITS, SCALED, INDEPENDENT_SUPPORTS, NONZERO_AVERAGE),
        source=derived("There is no bias; the workers' variances (n/k - 1) ||x_i||^2 add up and are divided by P^2."),
        axis="k",
        note="For equal vectors the variance falls like 1/P.",
    ),
    _randk.wire(
        k * (index_bits(n) + itembits),
        "k entries, each an index in ceil(log2 n) bits and a value",
        (GAIN_FITS,),
        axis="k",
    ),
    _randk.sign_symmetry(
        "The kept set does not depend on x, and kept entries are a multiple of those of x.", (GAIN_FITS,)
    ),
    _randk.scale_equivariance("The kept set does not depend on x, and kept entries are a multiple of those of x."),
    _randk.no_idempotence(
        "x = (1, 1), k = 1: the second draw keeps the other entry half of the time; the scaled output never recurs",
        (MIDDLE_RANGE,),
    ),
    Claim(
        name="sparsifiers.randk.idempotence_defect",
        title="A second unscaled Rand-K changes the output unless it draws the same subset",
        relation=Eq(IDEMPOTENCE_DEFECT, 1 - 1 / choose(n, k)),
        kind=Kind.LAW,
        assumes=(UNSCALED, NO_ZERO_ENTRIES),
        source=derived("The output has exactly k nonzero entries, and one subset in choose(n, k) keeps all of them."),
        axis="k",
        note="With one fixed support, Rand-K is a projection and idempotent; with fresh draws only at k = n.",
    ),
)

ADAPTIVE: tuple[Claim, ...] = (
    Claim(
        name="sparsifiers.adaptivesparsification.error",
        title="The exact expected error of keeping entry i with probability |x_i|/||x||_1",
        relation=Eq(RELATIVE_ERROR, 1 - norm3**3 / (norm1 * norm2**2)),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=BEZNOSIKOV_2020.recalled(
            "adaptive random sparsification",
            "Keeping entry i leaves ||x||^2 - x_i^2; weighted with |x_i|/||x||_1 that is ||x||_2^2 - "
            "||x||_3^3/||x||_1.",
        ),
    ),
    Claim(
        name="sparsifiers.adaptivesparsification.contraction",
        title="Adaptive random sparsification is contractive with alpha = 1/n",
        relation=Le(RELATIVE_ERROR, 1 - 1 / n),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=BEZNOSIKOV_2020.recalled(
            "its contraction factor",
            "Chebyshev's sum inequality for |x_i| and x_i^2, which have the same order: n ||x||_3^3 >= "
            "||x||_1 ||x||_2^2, with equality iff all magnitudes are equal.",
        ),
        tightness=1,
        extremal="all entries equal in magnitude",
    ),
    Claim(
        name="sparsifiers.adaptivesparsification.support",
        title="Adaptive random sparsification sends at most one nonzero entry",
        relation=Le(SUPPORT, 1),
        source=derived("One entry is sent; it is zero only where x is.", "by construction"),
        tightness=1,
        extremal="every x but zero",
    ),
    _adaptive.biased("x = (1, 1): the expected output is (1/2, 1/2)"),
    _adaptive.wire(index_bits(n) + itembits, "one entry, an index in ceil(log2 n) bits and a value"),
    _adaptive.sign_symmetry("The probabilities are of magnitudes, and the kept value carries its sign."),
    _adaptive.scale_equivariance("The probabilities |x_i|/||x||_1 do not change, and the kept value scales."),
    _adaptive.idempotence("The output has one nonzero entry, which is then kept with probability 1."),
)
