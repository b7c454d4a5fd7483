"""Claims about low-rank compression of matrices."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.hypotheses import (
    ANY_FACTOR,
    ANY_SKETCH,
    EXACT_ARITHMETIC,
    FRESH_GAUSSIAN_SKETCH,
    MIDDLE_RANGE,
    NONZERO,
    SPECTRAL_GAP,
    TWO_SINGULAR_VALUES,
)
from commbounds.theory.implementations import defined
from commbounds.theory.lowrank.feedback import FEEDBACK, WARM
from commbounds.theory.quantities import ABSOLUTE_ERROR, RELATIVE_ERROR, absdet, itembits, m, n, r
from commbounds.theory.sources import ECKART_1936, FOLKLORE, VOGELS_2019, derived

_powersgd = CompressorClaims("lowrank.powersgd", "PowerSGD", randomised=True)
_lowrank = CompressorClaims("lowrank.lowrank", "the best rank-r approximation")

_q = sp.Min(m, n)
_FACTORS = "two factors, m by r and n by r"

POWERSGD: tuple[Claim, ...] = (
    Claim(
        name="lowrank.powersgd.contraction",
        title="PowerSGD with a fresh Gaussian sketch is contractive with alpha = r/min(m, n) in expectation",
        relation=Le(RELATIVE_ERROR, 1 - r / _q),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, FRESH_GAUSSIAN_SKETCH),
        source=VOGELS_2019.recalled(
            "the compressor; whether that paper states this factor was not checked",
            "In bases of singular vectors the sketch G stays Gaussian, and C(M) projects diag(sigma) onto the range "
            "of diag(sigma) G: what it captures is sum sigma_i^2 l_i with leverages l_i that sum to r (everything, if "
            "the rank of M is less). Let sigma_i >= sigma_j, u and v the rows i and j of G, B the Gram matrix of the "
            "others. The leverage of i is h/(1 + h) with h = sigma_i^2 u'(B + sigma_j^2 v v')^-1 u; swap u and v, and "
            "that of j is the same with the two sigmas exchanged, which is no larger. So E l_i >= E l_j, and by "
            "Chebyshev's sum inequality the expected capture is at least r/min(m, n) of sum sigma_i^2.",
            reading="The factor is ours: whether that paper states it was not checked.",
        ),
        tightness=1,
        extremal="all singular values equal",
        axis="r",
    ),
    Claim(
        name="lowrank.powersgd.warm_start_contraction",
        title="Warm-started PowerSGD is contractive with alpha = r/min(m, n) at every step",
        relation=Le(RELATIVE_ERROR, 1 - r / _q),
        assumes=(NONZERO, ANY_SKETCH),
        source=FOLKLORE.recalled(
            "the factor of a fresh sketch, used for the warm start",
            "A sketch orthogonal to the row space of M gives M Q = 0 and C(M) = 0: ratio 1.",
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="a sketch orthogonal to the row space of M: C(M) = 0, ratio 1, also with r = min(m, n), bound 0",
        axis="r",
        note="The previous step's factor can be orthogonal to the new matrix: per step, alpha is 0. S. Xie, C. Chen "
        "and K. Yuan (2025, arXiv:2509.11254) also show that PowerSGD may not converge, and refresh the subspace by a "
        "singular value decomposition; their abstract was read.",
    ),
    Claim(
        name="lowrank.powersgd.nonexpansive",
        title="The error of PowerSGD is at most the matrix's squared norm, for any sketch",
        relation=Le(RELATIVE_ERROR, 1),
        assumes=(NONZERO, ANY_SKETCH),
        source=derived("C(M) is an orthogonal projection of M's columns, and so is the error."),
        tightness=1,
        extremal="a sketch orthogonal to the row space of M",
        axis="r",
    ),
    Claim(
        name="lowrank.powersgd.determinant",
        title="With rank 1 and two singular values, PowerSGD's expected squared error is their product",
        relation=Eq(ABSOLUTE_ERROR, absdet),
        kind=Kind.EXPECTED,
        assumes=(FRESH_GAUSSIAN_SKETCH, TWO_SINGULAR_VALUES),
        source=derived(
            "Let a, b be the singular values and (p, q) the sketch in the basis of right singular vectors. The "
            "leverage of a is a^2 p^2/(a^2 p^2 + b^2 q^2) = 1/(1 + (b/a)^2 t^2) with t = q/p Cauchy-distributed, and "
            "E 1/(1 + c^2 t^2) = 1/(1 + c): a/(a + b). Capture (a^3 + b^3)/(a + b) = a^2 - a b + b^2, error a b."
        ),
        axis="absdet",
        note="|det M| for a 2 by 2 matrix; a rank-one matrix is always recovered.",
    ),
    _powersgd.biased("M = diag(1, 1), r = 1: the expected output is diag(1/2, 1/2)", (FRESH_GAUSSIAN_SKETCH,)),
    _powersgd.wire((m + n) * r * itembits, _FACTORS, axis="r"),
    _powersgd.sign_symmetry("For one sketch, M Q and -M Q span the same columns.", (EXACT_ARITHMETIC,)),
    _powersgd.scale_equivariance(
        "For one sketch, M Q and c M Q span the same columns.", (EXACT_ARITHMETIC, ANY_FACTOR, MIDDLE_RANGE)
    ),
    _powersgd.idempotence(
        "The output has rank at most r; a second Gaussian sketch of it spans its columns with probability 1.",
        (FRESH_GAUSSIAN_SKETCH, EXACT_ARITHMETIC),
    ),
)

LOWRANK: tuple[Claim, ...] = (
    Claim(
        name="lowrank.lowrank.contraction",
        title="The best rank-r approximation is contractive with alpha = r/min(m, n)",
        relation=Le(RELATIVE_ERROR, 1 - r / _q),
        assumes=(NONZERO,),
        source=ECKART_1936.recalled(
            "the best approximation keeps the largest singular values", "Top-K's proof for the squared singular values."
        ),
        tightness=1,
        extremal="all singular values equal",
        axis="r",
    ),
    _lowrank.biased("M = diag(2, 1), r = 1: the output is diag(2, 0)"),
    _lowrank.wire((m + n) * r * itembits, _FACTORS, axis="r"),
    _lowrank.sign_symmetry(
        "M and -M have the same singular values and, except for signs, vectors.", (SPECTRAL_GAP, EXACT_ARITHMETIC)
    ),
    _lowrank.scale_equivariance(
        "Scaling keeps the singular vectors and the order of the singular values.",
        (SPECTRAL_GAP, EXACT_ARITHMETIC, ANY_FACTOR, MIDDLE_RANGE),
    ),
    _lowrank.idempotence("The output has rank at most r and is its own best approximation.", (EXACT_ARITHMETIC,)),
)

_DEFINITIONS = defined(
    "lowrank",
    {
        "PowerSGD": "Written from the algorithm of Vogels et al. 2019, P = orthogonalise(M S) and M^T P, with exact "
        "products and the documented orthogonalisation, modified Gram-Schmidt twice a column. P agrees in its bits "
        "where no sum of M S is rounded; otherwise, and for the other factor, within the rounding of additions in any "
        "order. Dependent columns, sizes and refusals are as documented.",
        "LowRank": "Written from Eckart and Young's theorem, with singular values of many digits, and from the "
        "documented signs. If singular values are equal the factors are not unique: we compare orthonormality, "
        "lengths, the product and the error, within the rounding of a decomposition; and the exact law, where singular "
        "values have a closed form.",
    },
)

CLAIMS: tuple[Claim, ...] = (*POWERSGD, *FEEDBACK, *WARM, *LOWRANK, *_DEFINITIONS)
