"""Claims about quantisers: what sending a few bits per entry costs."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.hypotheses import (
    EXACT_ARITHMETIC,
    NO_ZERO_ENTRIES,
    NONZERO,
    ONE_SPARSE,
    SOME_ALPHA,
    ZERO_IS_PLUS_ONE,
    ZERO_IS_ZERO,
)
from commbounds.theory.implementations import defined
from commbounds.theory.quantities import ABSOLUTE_ERROR, RELATIVE_ERROR, alpha, itembits, n, norm1, norm2
from commbounds.theory.quantizers.dithering import MAXDITHERING, QSGD, TERNGRAD
from commbounds.theory.quantizers.powers import NATURALCOMPRESSION, NATURALDITHERING, NEARESTPOWER, STOCHASTICPOWER
from commbounds.theory.sources import FOLKLORE, KARIMIREDDY_2019, derived

_sign = CompressorClaims("quantizers.sign", "sign compression")
_scaledsign = CompressorClaims("quantizers.scaledsign", "scaled sign compression")

_ODD = "The sign of a nonzero number is odd."

SIGN: tuple[Claim, ...] = (
    Claim(
        name="quantizers.sign.error",
        title="The exact error of replacing entries by their signs",
        relation=Eq(ABSOLUTE_ERROR, norm2**2 - 2 * norm1 + n),
        assumes=(ZERO_IS_PLUS_ONE,),
        source=derived("(x_i - sign x_i)^2 = x_i^2 - 2 |x_i| + 1, also for x_i = 0 with sign +1."),
    ),
    Claim(
        name="quantizers.sign.contraction",
        title="Replacing entries by their signs is contractive with some alpha > 0",
        relation=Le(RELATIVE_ERROR, 1 - alpha),
        assumes=(NONZERO, SOME_ALPHA),
        source=derived("x = (t), t > 0: ratio (1 - t)^2/t^2, unbounded as t -> 0."),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="all entries small: x = (t) has ratio (1/t - 1)^2",
        axis="alpha",
        note="Without a scale the output has norm sqrt(n) for every input. signSGD leaves the scale to the step size "
        "and claims no contraction.",
    ),
    _sign.biased("x = (1/2): the output is (1)"),
    _sign.wire(n, "one bit per entry", (ZERO_IS_PLUS_ONE,)),
    _sign.wire(2 * n, "two bits per entry for three values", (ZERO_IS_ZERO,), "wire_ternary"),
    _sign.sign_symmetry(_ODD, (NO_ZERO_ENTRIES,)),
    _sign.sign_symmetry(_ODD + " So is that of zero where it is zero.", (ZERO_IS_ZERO,), "sign_symmetry_ternary"),
    _sign.no_sign_symmetry("x = (0): C(-x) = C(x) = (1), not (-1)", (ZERO_IS_PLUS_ONE,), "sign_symmetry_zeros"),
    _sign.no_scale_equivariance("x = (1), factor 2: C(2 x) = (1) but 2 C(x) = (2)"),
    _sign.idempotence("The sign of a sign is that sign."),
)

SCALEDSIGN: tuple[Claim, ...] = (
    Claim(
        name="quantizers.scaledsign.error",
        title="The exact error of the sign scaled by the mean magnitude",
        relation=Eq(RELATIVE_ERROR, 1 - norm1**2 / (n * norm2**2)),
        assumes=(NONZERO, ZERO_IS_PLUS_ONE),
        source=KARIMIREDDY_2019.recalled(
            "the scaled sign and its density",
            "With c = ||x||_1/n: ||x||^2 - 2 c ||x||_1 + n c^2 = ||x||_2^2 - ||x||_1^2/n.",
        ),
    ),
    Claim(
        name="quantizers.scaledsign.contraction",
        title="Scaled sign compression is contractive with alpha = 1/n",
        relation=Le(RELATIVE_ERROR, 1 - 1 / n),
        assumes=(NONZERO,),
        source=KARIMIREDDY_2019.recalled(
            "the worst density",
            "||x||_1 >= ||x||_2 in the exact error; with sign(0) = 0 every zero entry reduces it by c^2.",
        ),
        tightness=1,
        extremal="one nonzero entry where sign(0) = +1; approached by x = (1, t, ..., t), t -> 0, where sign(0) = 0",
        note="With sign(0) = +1 one nonzero entry attains it; with sign(0) = 0 it is a supremum that no input attains.",
    ),
    Claim(
        name="quantizers.scaledsign.one_sparse",
        title="With sign(0) = 0, scaled sign compression of one nonzero entry has error (1 - 1/n)^2",
        relation=Eq(RELATIVE_ERROR, (1 - 1 / n) ** 2),
        assumes=(ZERO_IS_ZERO, ONE_SPARSE),
        source=derived("The entry x becomes x/n, and the zeros stay: (x - x/n)^2."),
    ),
    Claim(
        name="quantizers.scaledsign.attained",
        title="With sign(0) = 0, scaled sign compression of one nonzero entry has error 1 - 1/n",
        relation=Eq(RELATIVE_ERROR, 1 - 1 / n),
        assumes=(ZERO_IS_ZERO, ONE_SPARSE),
        source=FOLKLORE.recalled(
            "one nonzero entry as the extremal input, for any sign(0)",
            "The entry becomes x/n: (1 - 1/n)^2.",
            reading="It is read with sign(0) = 0.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="quantizers.scaledsign.one_sparse",
        extremal="x = (1, 0): 1/4 and not 1/2",
        note="The extremal input of the contraction factor is extremal only if sign(0) = +1.",
    ),
    _scaledsign.biased("x = (2, 1): the output is (3/2, 3/2)"),
    _scaledsign.wire(itembits + n, "a scale, and one bit per entry", (ZERO_IS_PLUS_ONE,)),
    _scaledsign.wire(
        itembits + 2 * n, "a scale, and two bits per entry for three values", (ZERO_IS_ZERO,), "wire_ternary"
    ),
    _scaledsign.sign_symmetry(_ODD, (NO_ZERO_ENTRIES,)),
    _scaledsign.sign_symmetry(_ODD + " So is that of zero where it is zero.", (ZERO_IS_ZERO,), "sign_symmetry_ternary"),
    _scaledsign.no_sign_symmetry(
        "x = (1, 0): C(-x) = (-1/2, 1/2), but -C(x) = (-1/2, -1/2)", (ZERO_IS_PLUS_ONE,), "sign_symmetry_zeros"
    ),
    _scaledsign.scale_equivariance("Signs do not change, and the mean magnitude scales."),
    _scaledsign.idempotence(
        "All entries of the output have one magnitude, which is then its mean.", (ZERO_IS_PLUS_ONE, EXACT_ARITHMETIC)
    ),
    _scaledsign.no_idempotence(
        "x = (1, 0): C(x) = (1/2, 0), whose own mean magnitude is 1/4", (ZERO_IS_ZERO,), "idempotence_zeros"
    ),
)

DEFINITIONS = defined(
    "quantizers",
    {
        "Sign": "Written from the docstring (Bernstein et al. 2018) and its rule for zeros of both signs.",
        "ScaledSign": (
            "Written from the docstring (Karimireddy et al. 2019): the mean magnitude in rational arithmetic, rounded; "
            "where a sum in float64 is not exact, any rounding that an order of additions can give."
        ),
        "QSGD": (
            "Written from the docstring (Alistarh et al. 2017): levels in rational arithmetic against the norm that is "
            "sent; where a sum in float64 is not exact, any norm that an order of additions can give."
        ),
        "MaxDithering": "Written from the docstring: as `QSGD`, with the largest magnitude as norm, which is exact.",
        "TernGrad": "Written from the docstring (Wen et al. 2017, without clipping), in rational arithmetic.",
        "NaturalCompression": (
            "Written from the docstring (Horvath et al. 2019) in rational arithmetic, with its rules beyond the normal "
            "powers of two."
        ),
        "NaturalDithering": (
            "Written from the docstring (Horvath et al. 2019, p = 2): exact on the float64 quotient; the norm as for "
            "`QSGD`."
        ),
        "StochasticPower": (
            "Written from the docstring: two neighbouring powers of the base, rounded once from exact fractions; the "
            "probability is a float64 quotient."
        ),
        "NearestPower": (
            "Written from the docstring (Beznosikov et al. 2020) in rational arithmetic, with its rule half-way "
            "between two powers."
        ),
    },
)

CLAIMS: tuple[Claim, ...] = (
    *SIGN,
    *SCALEDSIGN,
    *QSGD,
    *MAXDITHERING,
    *TERNGRAD,
    *NATURALCOMPRESSION,
    *NATURALDITHERING,
    *STOCHASTICPOWER,
    *NEARESTPOWER,
    *DEFINITIONS,
)
