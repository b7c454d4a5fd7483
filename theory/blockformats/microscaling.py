"""Claims about elements that share a power of two: errors, what the scale's rule changes, stochastic rounding."""

from typing import Any

import sympy as sp

from commbounds.theory.blockformats.terms import (
    ANY_DENSITY,
    BY_POWERS,
    CHANGED_AGAIN,
    E2M1_ELEMENTS,
    E8M0_FITS,
    ENTRIES_OF_BLOCK,
    EQUIDISTANT,
    EVEN_SCALE,
    FLOATING_ELEMENTS,
    FLOOR_SCALE,
    FLYDSL_AT,
    LINEAR_DENSITY,
    MAXIMUM_ERROR,
    MEAN_DRIFT_OF_DENSITY,
    MICROXCALING,
    MICROXCALING_AT,
    MX,
    NEAREST_POWER,
    NEURON,
    NO_POWER,
    NOTHING_CLIPPED,
    OCP_OR_EVEN,
    RCEIL_SCALE,
    SCALED_FITS,
    SHRINKAGE_2026,
    STEADY_SCALE,
    THREE_QUARTERS,
    TORCHAO,
    TORCHAO_AT,
    TSENG_2025,
    TSENG_AT,
    UNIFORM_DENSITY,
    UNSCALED_ENTRIES,
    UNSTEADY_SCALE,
    UNTURNED_ENTRIES,
    WIDE_SCALE,
    ceilinglevel,
    cubes,
    element_unit,
    elementbits,
    gridstep,
    overshoot,
    peak,
)
from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing, for_one_reason
from commbounds.theory.hypotheses import NONZERO
from commbounds.theory.quantities import BIAS, BITS, RELATIVE_ERROR, block, n
from commbounds.theory.sources import FOLKLORE, derived

B = ENTRIES_OF_BLOCK
_M, _S = "blockformats.microscaling.", "blockformats.stochastic."


def _share(top: Any, error: Any) -> Any:
    """Squared error over squared norm of a block: its largest entry, and B - 1 of half the smallest element, lost.

    Both in units of the largest power of two among the elements.
    """
    return ((error * peak) ** 2 + B - 1) / ((top * peak) ** 2 + B - 1)


def _of_e2m1(top: int, error: int) -> Any:
    """The same for E2M1, in quarters of the scale."""
    return (error**2 + B - 1) / (top**2 + B - 1)


FLOOR_CONTRACTION = sp.Max(_share(1, 0), _share(1 + element_unit, element_unit), _share(2, overshoot))
"""Largest relative squared error with the specification's scales."""
EVEN_CONTRACTION = sp.Max(_of_e2m1(20, 4), _of_e2m1(14, 2))
RCEIL_CONTRACTION = sp.Max(_of_e2m1(20, 4), _of_e2m1(14, 2), _of_e2m1(12, 0))
WIDE_CONTRACTION = sp.Max(_of_e2m1(10, 2), _of_e2m1(8, 0))
OMEGA = sp.Piecewise(((B + 15) / 384, B <= 9), ((B + 3) / 192, B <= 29), ((sp.sqrt(B + 35) - 6) / 12, True))
"""Variance factor of stochastic rounding to E2M1 where a block's largest entry is at 3 to 6."""

_OTHERS = (
    "For a share q at least that of clipped and of half-way entries, every other entry adds most to the error less q "
    "times its square where it is half of the smallest element and is lost, to the even zero. The largest entry's "
    "error less q times its square is convex between half-way points, so that it is largest at an end: {0}."
)

_NEAREST_AT = FLYDSL_AT.at(
    "tests/kernels/utils/gemm_common_utils.py",
    "53-60",
    default="the reference of its tests, not a kernel",
    upstream="pull request 590 proposed scales of even rounding too, and was closed unmerged",
)

MICROSCALING: tuple[Claim, ...] = (
    Claim(
        name=_M + "maximum",
        title=(
            "MX formats with the specification’s scales: a block’s largest entry has an error below half the overshoot"
        ),
        relation=Le(MAXIMUM_ERROR, overshoot / 2),
        assumes=(FLOOR_SCALE, E8M0_FITS, NONZERO),
        source=MICROXCALING.official_code(
            "mx/mx_ops.py, _quantize_mx: the shared exponent is floor(log2(max)) less that of the largest element, and "
            "what is larger saturates; mx/formats.py: the largest elements",
            "The largest entry is t 2^emax in units of the scale, 1 <= t < 2; the largest element is (2 - v) 2^emax. "
            "Where t > 2 - v it is clipped: 1 - (2 - v)/t < v/2. Else it is rounded: u/(1 + u) at most, less than u <= "
            "v/2.",
            reading="The code states no bound; this one is ours.",
            code=MICROXCALING_AT.at("mx/mx_ops.py", "267-292"),
        ),
        tightness=1,
        extremal="the largest entry just below a power of two",
        axis="block",
        note="It is 1/4 for E2M1, 1/16 for E2M3, 1/8 for E3M2, E4M3, E5M2 and INT4, 1/128 for INT8.",
    ),
    Claim(
        name=_M + "maximum_of_roundoff",
        title="MX formats: the error of a block’s largest entry is at most the unit roundoff of the elements",
        relation=Le(MAXIMUM_ERROR, element_unit),
        assumes=(FLOOR_SCALE, E8M0_FITS, NONZERO),
        source=FOLKLORE.recalled(
            "an element of m stored bits of significand has a relative error of at most 2^-(m+1)",
            "E4M3 gave its largest significand to NaN: its largest number is 1.75 times a power of two, as if it had a "
            "bit fewer, and numbers up to twice that power are clipped to it.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_M + "maximum",
        tightness=2,
        extremal="E4M3, and x = (2 - 2^-20): C(x) = 7/4, off by 1/8 and not by 1/16",
        axis="block",
        note="Among the seven formats it fails only for MXFP8 with E4M3, by a factor of two: 1/8 in place of 1/16. For "
        "the others half the overshoot equals the unit roundoff.",
    ),
    Claim(
        name=_M + "maximum_of_rounding",
        title="MX formats with the specification’s scales: a block’s largest entry has a rounding error, u/(1 + u)",
        relation=Le(MAXIMUM_ERROR, element_unit / (1 + element_unit)),
        assumes=(FLOOR_SCALE, E8M0_FITS, NONZERO, FLOATING_ELEMENTS),
        source=FOLKLORE.recalled(
            "rounding to nearest has a relative error of at most u/(1 + u)",
            "It is the error half-way above a power of two. Clipping has an error of up to half the overshoot, which "
            "is u or 2 u.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_M + "maximum",
        tightness=sp.Rational(17, 8),
        extremal="E4M3, and x = (2 - 2^-20): off by 1/8 and not by 1/17; of E2M1 by 1/4 and not by 1/5",
        axis="block",
        note="It fails for every floating format: clipping is the larger error.",
    ),
    Claim(
        name=_M + "maximum_unclipped",
        title="MX formats with the smallest scale without clipping: a block’s largest entry has an error <= u/(1 + u)",
        relation=Le(MAXIMUM_ERROR, element_unit / (1 + element_unit)),
        assumes=(RCEIL_SCALE, E8M0_FITS, NONZERO, FLOATING_ELEMENTS),
        source=TORCHAO.official_code(
            "mx_tensor.py, _to_mx_rceil: the quotient of the largest magnitude and the largest element, rounded up "
            "to E8M0",
            "In units of the scale the largest entry lies between half of the largest element and that, among normal "
            "numbers; its error is at most half the gap: u relative to 1 + u, at the first half-way point of a binade.",
            reading="The code states no bound; this one is ours.",
            code=TORCHAO_AT.at(
                "torchao/prototype/mx_formats/mx_tensor.py", "161-225", "scaling_mode RCEIL, in a prototype"
            ),
        ),
        tightness=1,
        extremal="the largest entry 1 + u times a power of two",
        axis="block",
    ),
    Claim(
        name=_M + "maximum_unclipped_fixed",
        title=(
            "Fixed-point elements with the smallest scale without clipping: a block’s largest entry has an error of at "
            "most u/(1 + u)"
        ),
        relation=Le(MAXIMUM_ERROR, element_unit / (1 + element_unit)),
        assumes=(RCEIL_SCALE, E8M0_FITS, NONZERO, EQUIDISTANT),
        source=derived(
            "It does not hold: for INT8, 63.5/64 is half-way between two elements, and just above half of the largest "
            "one, 127/128: the error is 1/127 and not 1/129."
        ),
        stands=Standing.REFUTED,
        tightness=(1 + element_unit) / (1 - element_unit),
        extremal="INT8, and the largest entry just above 127/128: off by 1/127",
        axis="block",
        note="Equidistant elements are not denser below a power of two.",
    ),
    Claim(
        name=_M + "maximum_of_nearest",
        title="MX formats with scales of the quotient to nearest: a block’s largest entry has an error below 1/3",
        relation=Le(MAXIMUM_ERROR, sp.Rational(1, 3)),
        assumes=(NEAREST_POWER, E8M0_FITS, NONZERO),
        source=derived(
            "The quotient of maximum and largest element is below 3/2 of the scale, and from 3/4 of it on. Beyond one "
            "the entry is clipped to the largest element, 1/3 less at most; else it is rounded, by a quarter at most.",
            code=_NEAREST_AT,
        ),
        tightness=1,
        extremal="the largest entry just below 3/2 of the largest element, times a power of two",
        axis="block",
        note="The scale is one step below the specification's where the maximum's significand is below 3/4 of the "
        "largest element's: 9/8 of E2M1, 21/16 of E4M3, 45/32 of E2M3, which are 1/8, 5/16 and 13/32 of all "
        "significands.",
    ),
    Claim(
        name=_M + "maximum_of_nearest_scale",
        title="MX formats with scales of the quotient to nearest: a block’s largest entry has an error of half the "
        "overshoot",
        relation=Le(MAXIMUM_ERROR, overshoot / 2),
        assumes=(NEAREST_POWER, E8M0_FITS, NONZERO),
        source=derived(
            "One may expect it of scales rounded to nearest. Refuted: the quotient of maximum and largest element is "
            "rounded; where it is rounded down the scale is one step below the specification's, and the largest entry "
            "is clipped by up to a third.",
            code=_NEAREST_AT,
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_M + "maximum_of_nearest",
        extremal="E2M3, the largest entry just below 45/32: read as 15/16, off by 1/3 and not by 1/16",
        axis="block",
        note="It is 1/3 in place of 1/4 for E2M1, and 1/3 in place of 1/8 for E4M3.",
    ),
    Claim(
        name=_M + "contraction",
        title="MX formats with the specification’s scales contract; for MXFP4 with 1 - alpha = 47/431",
        relation=Le(RELATIVE_ERROR, FLOOR_CONTRACTION),
        assumes=(FLOOR_SCALE, E8M0_FITS, NONZERO),
        source=MX.second_hand(
            "the conversion of section 6.3, quoted word for word in public notes, as in microxcaling and torchao",
            _OTHERS.format(
                "a power of two, without error; half-way above it; or, in the limit, the next power of two, clipped. "
                "Blocks are mediants, and shares grow with B"
            ),
            reading="The contraction factor is ours.",
        ),
        tightness=1,
        extremal="one entry just below a power of two, just above it by a rounding, or at it, all others half the "
        "smallest element",
        axis="block",
        note="For E2M1: (B + 63)/(B + 1023) up to B = 17, (B + 15)/(B + 399) up to 33, then (B - 1)/(B + 255). "
        "Elements of eight bits lose almost nothing in small entries: (v/2)^2.",
    ),
    Claim(
        name=_M + "contraction_even",
        title="MXFP4 with scales of the rounded maximum contracts with 1 - alpha = 35/227 in blocks of 32",
        relation=Le(RELATIVE_ERROR, EVEN_CONTRACTION),
        assumes=(EVEN_SCALE, E2M1_ELEMENTS, E8M0_FITS, NONZERO),
        source=TORCHAO.official_code(
            "mx_tensor.py, to_mx, ScaleCalculationMode.EVEN: half a unit of the elements is added to the maximum "
            "before its exponent is taken",
            _OTHERS.format("5, rounded to 4; or 3.5, rounded to 4, the smallest that the largest entry can be"),
            reading="The contraction factor is ours.",
            code=TORCHAO_AT.at(
                "torchao/prototype/mx_formats/mx_tensor.py", "309-317", "scaling_mode EVEN, in a prototype"
            ),
        ),
        tightness=1,
        extremal="one entry 5 or 7/2, all others 1/4",
        axis="block",
    ),
    Claim(
        name=_M + "contraction_rceil",
        title="MXFP4 with scales without clipping contracts with 1 - alpha = 31/175 in blocks of 32",
        relation=Le(RELATIVE_ERROR, RCEIL_CONTRACTION),
        assumes=(RCEIL_SCALE, E2M1_ELEMENTS, E8M0_FITS, NONZERO),
        source=TORCHAO.official_code(
            "mx_tensor.py, _to_mx_rceil",
            _OTHERS.format("5, rounded to 4; 7/2, rounded to 4; or, in the limit, 3, without error"),
            reading="The contraction factor is ours.",
            code=TORCHAO_AT.at(
                "torchao/prototype/mx_formats/mx_tensor.py", "161-225", "scaling_mode RCEIL, in a prototype"
            ),
        ),
        tightness=1,
        extremal="one entry 5, 7/2 or just above 3, all others 1/4",
        axis="block",
        note="There is no clipping, but the worst case is worse than the specification’s 47/431: half of the range is "
        "unused, and small entries are lost. Short blocks are better: 1/25 in place of 1/16 for a single entry.",
    ),
    Claim(
        name=_M + "unclipped_contracts_better",
        title="Scales without clipping contract at least as well as the specification’s",
        relation=Le(RELATIVE_ERROR, FLOOR_CONTRACTION),
        assumes=(RCEIL_SCALE, E2M1_ELEMENTS, E8M0_FITS, NONZERO),
        source=derived(
            "A block of 32 with one entry just above 3 and 31 of 1/4 loses 31/175 of its square, and with the "
            "specification’s scales nothing of it: they are 1/2 there."
        ),
        stands=Standing.REFUTED,
        unentered=for_one_reason("A shorter block refutes it.", "*"),
        extremal="32 entries: one just above 3, the others 1/4: 31/175 against 47/431",
        axis="block",
        note="It holds for short blocks only; rounding up avoids clipping, so that stochastic rounding is unbiased.",
    ),
    Claim(
        name=_M + "contraction_wide",
        title="MXFP4 with the maximum’s power of two rounded up, or doubled, contracts with 1 - alpha = 31/95 for 32",
        relation=Le(RELATIVE_ERROR, WIDE_CONTRACTION),
        assumes=(WIDE_SCALE, E2M1_ELEMENTS, E8M0_FITS, NONZERO),
        source=NEURON.read(
            "the note that scales are twice those of the specification’s sample, so that nothing saturates; for ceil, "
            "torchao’s ScaleCalculationMode.CEIL",
            _OTHERS.format("5/2, rounded to 2; or 2, without error, for ceil in the limit"),
            reading="The note is about MXFP8; the contraction, and MXFP4, are ours.",
        ),
        tightness=1,
        extremal="one entry 5/2 or (just above) 2, all others 1/4",
        axis="block",
    ),
    Claim(
        name=_M + "idempotence",
        title="MX formats: quantising a second time changes nothing",
        relation=Eq(CHANGED_AGAIN, 0),
        assumes=(STEADY_SCALE, E8M0_FITS),
        source=derived(
            "The rounded largest entry gives the same scale, or, with rceil, half of it if it was rounded down to half "
            "of the largest element. No element of the block is larger then, and twice such an element is one."
        ),
        axis="block",
    ),
    Claim(
        name=_M + "idempotence_doubled",
        title="MX formats: quantising a second time changes nothing with doubled scales, or with three quarters",
        relation=Eq(CHANGED_AGAIN, 0),
        assumes=(UNSTEADY_SCALE, E8M0_FITS),
        source=derived(
            "A largest entry may be rounded up to the next power of two, for which the scale is doubled: then elements "
            "are halved, and half of the smallest one is zero."
        ),
        stands=Standing.REFUTED,
        extremal="E2M1, doubled scales, x = (15/4, 1/2): first (4, 1/2), then (4, 0)",
        axis="block",
        note="Every pass may lose more of the smallest elements: this affects a sum requantised at every hop, or a "
        "tensor stored and loaded.",
    ),
    Claim(
        name=_M + "sign_symmetry",
        title="MX formats commute with a change of sign",
        relation=Eq(UNTURNED_ENTRIES, 0),
        source=derived("Scales depend on magnitudes; elements are a sign and a magnitude."),
        axis="block",
    ),
    Claim(
        name=_M + "scale_equivariance",
        title="MX formats commute with a factor that is a power of two",
        relation=Eq(UNSCALED_ENTRIES, 0),
        assumes=(BY_POWERS, E8M0_FITS, SCALED_FITS),
        source=derived("Exponents move by the same number, and significands do not change."),
        axis="block",
    ),
    Claim(
        name=_M + "scale_equivariance_any",
        title="MX formats commute with any factor",
        relation=Eq(UNSCALED_ENTRIES, 0),
        assumes=(NO_POWER, E8M0_FITS, SCALED_FITS),
        source=derived("With 5/4, 1 becomes 5/4, which E2M1 rounds to 1."),
        stands=Standing.REFUTED,
        extremal="x = (1), factor 5/4: C(5/4) = 1, but 5/4 C(1) = 5/4",
        axis="block",
        note="A finer factor does not make elements finer: the scale is a power of two.",
    ),
    Claim(
        name=_M + "wire",
        title="MX formats take 4.25, 6.25 or 8.25 bits per entry in blocks of 32",
        relation=Eq(BITS, n * elementbits + 8 * sp.ceiling(n / block)),
        source=MX.second_hand(
            "Universal’s page on mxblock: eight bits for the scale, and the elements’ bits times the block",
            "A byte a block, and the bits of the elements; a last block that is not full has a byte, too.",
        ),
        axis="n",
    ),
    Claim(
        name=_M + "drift_uniform",
        title="Rounding to nearest does not shrink a uniform density",
        relation=Eq(MEAN_DRIFT_OF_DENSITY, 0),
        kind=Kind.LAW,
        assumes=(UNIFORM_DENSITY,),
        source=derived(
            "Between two neighbouring elements the error is odd about their middle: losses below it equal gains above. "
            "This holds in every interval, of any length."
        ),
        axis="gridstep",
    ),
    Claim(
        name=_M + "drift_of_nonuniform_grids",
        title="Rounding to nearest on a grid that is not equidistant shrinks entries on average",
        relation=Le(MEAN_DRIFT_OF_DENSITY, -(gridstep**2)),
        kind=Kind.LAW,
        assumes=(FLOATING_ELEMENTS, ANY_DENSITY),
        source=SHRINKAGE_2026.read(
            "abstract: non-uniform formats such as E2M1 inherently have a systematic negative rounding error, by the "
            "asymmetry of their bins",
            "In the bins about 2 and 4 the upper half is wider, and their entries shrink. The bin of the largest "
            "element has no upper half, and its entries grow by as much, if the density is uniform.",
            reading="The statement for every density, with its lower bound, is our reading.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_M + "drift_falling",
        extremal="the uniform density on [0, 6]: the mean error is zero",
        axis="gridstep",
        note="The density causes the shrinking, not the grid: a falling density shrinks on every grid.",
    ),
    Claim(
        name=_M + "drift_falling",
        title="The mean error of a density that falls linearly follows from the sum of the cubed gaps",
        relation=Eq(MEAN_DRIFT_OF_DENSITY, -(cubes + 2 * ceilinglevel * gridstep**2) / (12 * ceilinglevel**2)),
        kind=Kind.LAW,
        assumes=(LINEAR_DENSITY,),
        source=derived(
            "In an interval of length h the error is odd about the middle, and a density of slope -k about it gives "
            "-k h^3/24, on midpoints of a grid of step d -k (h^3/24 + h d^2/12). Summed up, with k = 2/a^2."
        ),
        axis="gridstep",
        note="In the limit it is 21/2 over 432 for E2M1 on [0, 6]: a mean of 2 shrinks by 1.2 %.",
    ),
    Claim(
        name=_M + "drift_equidistant",
        title="Rounding to nearest on equidistant grids does not shrink entries on average",
        relation=Eq(MEAN_DRIFT_OF_DENSITY, 0),
        kind=Kind.LAW,
        assumes=(EQUIDISTANT, ANY_DENSITY),
        source=SHRINKAGE_2026.read(
            "abstract: uniform grids (E1M2, INT4) bypass the error of the grid’s geometry",
            "The bins are symmetric, but a falling density is not: it gives -(sum of h^3)/(12 a^2), on seven gaps of "
            "1/4 with a = 7/4 as much as -1/336.",
            reading="A mean error of zero is our reading: the paper means a part of it.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_M + "drift_falling",
        extremal="INT4 and a density that falls linearly: the mean error is negative",
        axis="gridstep",
        note="They shrink less: relative to the largest element, the cubes of E2M1’s gaps add up to 7/144, those of "
        "INT4’s to 1/49.",
    ),
)

_HALF_WAY = (
    "An entry between two elements has the variance (a - low)(high - a). Its excess over q a^2 is largest, below the "
    "smallest element, at 1/(4 (1 + q)): 1/(16 (1 + q)). The largest entry, in (3, 6], gives -24 + 25/(1 + q) at "
    "5/(1 + q), -12 + 49/(4 (1 + q)) at 7/(2 (1 + q)) while that exceeds 3, and -9 q at 3. The sum is zero at the q "
    "of the claim; which is largest changes at B = 9 and at B = 29."
)

STOCHASTIC: tuple[Claim, ...] = (
    Claim(
        name=_S + "unbiased",
        title="MX formats with stochastic rounding are unbiased if nothing is clipped",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(NOTHING_CLIPPED, E8M0_FITS),
        source=TSENG_2025.official_code(
            "patch_override_scripts/microxcaling.patch of amazon-science/mxfp4-llm: dither_scale rounds 3/4 of the "
            "entries, “without clipping”; abstract: unbiased gradient estimates with stochastic rounding",
            "low + (high - low) (a - low)/(high - low) = a. With 3/4 the largest entry is below 3/2 times the largest "
            "power of two, and no format here ends below that; with the others it is at most the largest element.",
            code=TSENG_AT.at("patch_override_scripts/microxcaling.patch", "37-39"),
        ),
        axis="block",
    ),
    Claim(
        name=_S + "unbiased_by_specification",
        title="MX formats with stochastic rounding are unbiased with the specification’s scales",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(OCP_OR_EVEN, E8M0_FITS),
        source=FOLKLORE.recalled(
            "stochastic rounding makes any conversion unbiased", "Clipping does not depend on the draw."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_S + "unbiased",
        extremal="E2M1 and x = (7): the output is 6, always",
        axis="block",
        note="Entries above the largest element are clipped; multiplying entries by 3/4, or rounding scales up, avoids "
        "it.",
    ),
    Claim(
        name=_S + "bias",
        title=(
            "MX formats with stochastic rounding and the specification’s scales: the bias is below half the overshoot "
            "of the largest entry"
        ),
        relation=Le(BIAS, overshoot / 2),
        kind=Kind.EXPECTED,
        assumes=(OCP_OR_EVEN, E8M0_FITS, NONZERO),
        source=derived(
            "Only entries above the largest element are biased, and they are at most t 2^emax for the block’s t < 2: "
            "the bias over the largest entry is 1 - (2 - v)/t < v/2."
        ),
        tightness=1,
        extremal="the largest entry just below a power of two, and the specification’s scale",
        axis="block",
    ),
    Claim(
        name=_S + "variance",
        title="MXFP4’s variance factor with scales without clipping: (sqrt 67 - 6)/12 in blocks of 32",
        relation=Le(RELATIVE_ERROR, OMEGA),
        kind=Kind.EXPECTED,
        assumes=(RCEIL_SCALE, E2M1_ELEMENTS, E8M0_FITS, NONZERO),
        source=derived(_HALF_WAY),
        tightness=1,
        extremal="the largest entry 5/(1 + w), 7/(2 (1 + w)) or just above 3, all others 1/(4 (1 + w)), w the factor",
        axis="block",
        note="It is 1/24 for one entry, 0.182 for 32, then about sqrt(B)/12: small entries round up from zero.",
    ),
    Claim(
        name=_S + "variance_three_quarters",
        title="MXFP4 of entries times 3/4 has the variance factor of full stochastic rounding",
        relation=Le(RELATIVE_ERROR, OMEGA),
        kind=Kind.EXPECTED,
        assumes=(THREE_QUARTERS, E2M1_ELEMENTS, E8M0_FITS, NONZERO),
        source=TSENG_2025.official_code(
            "patch_override_scripts/microxcaling.patch: entries times 3/4, elements times 4/3",
            _HALF_WAY + " Here the largest entry is in [3, 6), and 3 is attained.",
            reading="The factor is ours.",
            code=TSENG_AT.at("patch_override_scripts/microxcaling.patch", "25-39"),
        ),
        tightness=1,
        extremal="a largest entry of 4 and others of 1/(3 (1 + w)), w the factor, in blocks of 29 or more",
        axis="block",
    ),
    Claim(
        name=_S + "variance_of_smallest",
        title="The variance factor of MXFP4 is that of a block’s largest entry, 1/24, for any length of the block",
        relation=Le(RELATIVE_ERROR, sp.Rational(1, 24)),
        kind=Kind.EXPECTED,
        assumes=(RCEIL_SCALE, E2M1_ELEMENTS, E8M0_FITS, NONZERO),
        source=derived(
            "It holds for an entry above half of the largest element; entries below the smallest element have the "
            "variance a (1/2 - a), far above their squares."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_S + "variance",
        extremal="a block of 5 and 1/4: 17/401; of 3 and 31 entries of 1/5: 93/512",
        axis="block",
        note="Below the smallest element there is no relative precision, so the block’s length matters.",
    ),
)
