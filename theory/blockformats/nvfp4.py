"""Claims about NVFP4, whose scales are E4M3 numbers, and about MS-EDEN, which rotates and rescales."""

import sympy as sp

from commbounds.theory.blockformats.terms import (
    CHANGED_AGAIN,
    DOUBLE_VECTOR,
    ENTRIES_OF_BLOCK,
    LARGEST_LOST,
    MAXIMUM_ERROR,
    NEAREST_SCALE,
    NORMAL_SCALES,
    NVIDIA_2025,
    PANFEROV_2026,
    PANFEROV_AT,
    SEVERAL_ENTRIES_ROTATED,
    SHORT_BLOCKS,
    TENSOR_FITS,
    TRANSFORMER_ENGINE,
    TRANSFORMER_ENGINE_AT,
    UP_SCALE,
)
from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.hypotheses import NONZERO
from commbounds.theory.quantities import BIAS, BITS, RELATIVE_ERROR, block, n
from commbounds.theory.rotations.terms import PROJECTION_DEFECT
from commbounds.theory.sources import derived

B = ENTRIES_OF_BLOCK
_N, _S, _E = "blockformats.nvfp4.", "blockformats.stochastic_nvfp4.", "blockformats.mseden."

_LARGEST = (
    "With scale s and m its unrounded value, the largest entry is 6 m/s in units of the scale. Rounded to nearest, m/s "
    "is between 17/18 and 17/16 for normal numbers: above 5, so that the element is 6 and the error that of m, at most "
    "1/17."
)

NVFP4: tuple[Claim, ...] = (
    Claim(
        name=_N + "maximum",
        title="NVFP4: a block’s largest entry keeps E4M3’s relative precision: its error is at most 1/17",
        relation=Le(MAXIMUM_ERROR, sp.Rational(1, 17)),
        assumes=(NEAREST_SCALE, NORMAL_SCALES, NONZERO),
        source=NVIDIA_2025.transcribed(
            "section 2: at least 6.25 % of the values, the largest of each block, are at near-FP8 precision",
            _LARGEST,
            reading="This number is ours.",
        ),
        tightness=1,
        extremal="a block whose scale is half-way above a power of two: m/s = 17/16, clipped",
        axis="block",
    ),
    Claim(
        name=_N + "maximum_any_scale",
        title="NVFP4: the error of a block’s largest entry is at most 1/17, for any scale",
        relation=Le(MAXIMUM_ERROR, sp.Rational(1, 17)),
        assumes=(NEAREST_SCALE, TENSOR_FITS, NONZERO),
        source=NVIDIA_2025.transcribed(
            "section 2: at least 6.25 % of the values, the largest of each block, are at near-FP8 precision",
            "Below 2^-6 E4M3’s numbers are equidistant, and below 2^-10 they are zero, and so is a block.",
            reading="It is read for every block: sections 2 and B name no exception.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_N + "maximum",
        tightness=17,
        extremal="two blocks whose largest magnitudes are 458752 and 1: the second becomes zeros",
        axis="block",
        note="One scale for the whole vector limits all its blocks to a range of 18.8 binades.",
    ),
    Claim(
        name=_N + "contraction",
        title="NVFP4 contracts, with 1 - alpha = 17/458 in blocks of 16 with normal scales",
        relation=Le(RELATIVE_ERROR, (9 * B - 8) / (225 * B + 64)),
        assumes=(NEAREST_SCALE, NORMAL_SCALES, SHORT_BLOCKS, NONZERO),
        source=derived(
            _LARGEST
            + " With q below 5/133 every other entry adds most at 5, rounded to 4: 1 - 25 q; the largest entry "
            "adds most at 17/3, rounded to 6: (1 - 289 q)/9. The sum is zero at the q of the claim, which is below "
            "5/133 up to 19 entries."
        ),
        tightness=1,
        extremal="many blocks, each with a scale just above 17/16 times a power of two, all other entries at 5",
        axis="block",
        note="MXFP4 in blocks of 32 has 47/431; NVFP4 takes a quarter of a bit more per entry. From 20 entries on, "
        "entries of 1/4 are worse.",
    ),
    Claim(
        name=_N + "lost_blocks",
        title="NVFP4: a block becomes zeros only where its largest entry is at most 1/458752 of the vector’s",
        relation=Le(LARGEST_LOST, sp.Rational(2**24 + 1, 2**24 * 458752)),
        assumes=(NEAREST_SCALE, TENSOR_FITS, NONZERO),
        source=TRANSFORMER_ENGINE.official_code(
            "custom_recipes/quantization_nvfp4.py, _quantize_blockwise_reference: the scale is 448 times the quotient "
            "of the maxima, cast to E4M3, without a smallest value",
            "The scale is zero where 448 m/A is at most half of 2^-9, the tie goes to the even one. A/2688 is rounded "
            "to float32, which moves that by 2^-24 of it.",
            reading="This number is ours.",
            code=TRANSFORMER_ENGINE_AT.at(
                "transformer_engine/pytorch/custom_recipes/quantization_nvfp4.py",
                "490-535",
                upstream="now in reference_nvfp4.py",
            ),
        ),
        tightness=1,
        extremal="blocks with the largest magnitudes 458752 and 1; 2688 (1 + 2^-24 + 2^-40) and 3 (1 + 2^-23)/512",
        axis="block",
    ),
    Claim(
        name=_N + "idempotence",
        title="NVFP4: quantising a second time changes nothing",
        relation=Eq(CHANGED_AGAIN, 0),
        assumes=(NEAREST_SCALE, TENSOR_FITS),
        source=derived(
            "Where scales are no normal numbers, the largest element of a block need not be 6: from 3 times the "
            "smallest scale, the next scale is half of that, which is rounded to zero."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_N + "idempotence_normal",
        extremal="blocks of one entry, 2688 and 0.0065 (0.555 of the smallest scale): the second becomes 3/512, "
        "and then zero",
        axis="block",
        note="A second pass can set a block to zero that the first one kept.",
    ),
    Claim(
        name=_N + "idempotence_normal",
        title="NVFP4: quantising a second time changes nothing where scales are normal numbers",
        relation=Eq(CHANGED_AGAIN, 0),
        assumes=(NEAREST_SCALE, NORMAL_SCALES, DOUBLE_VECTOR),
        source=derived(
            "Every block has an element 6, so that its next scale is the present one; so has that of the vector’s "
            "largest entry, whose scale is 448, and the float32 is found again, as 2688 times it is exact in float64."
        ),
        axis="block",
        note="In float32 decoded entries are rounded, and the next tensor scale can be a neighbour.",
    ),
    Claim(
        name=_N + "wire",
        title="NVFP4 takes 4.5 bits per entry in blocks of 16, and 32 bits per vector",
        relation=Eq(BITS, 4 * n + 8 * sp.ceiling(n / block) + 32),
        source=NVIDIA_2025.transcribed(
            "section 2 and appendix B: blocks of 16, an E4M3 scale each, and a float32 for the tensor",
            "Four bits an element, a byte a block, and a float32.",
        ),
        axis="n",
    ),
)

STOCHASTIC: tuple[Claim, ...] = (
    Claim(
        name=_S + "unbiased_by_recipe",
        title="Stochastic rounding makes NVFP4 unbiased",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(NEAREST_SCALE, NORMAL_SCALES),
        source=NVIDIA_2025.read(
            "abstract: the method utilises stochastic rounding for unbiased gradient estimation",
            "Where a scale is rounded down to E4M3, the block’s largest entry lies beyond 6, and is clipped to it: the "
            "reference implementation clamps to [-6, 6].",
            reading="It is read for the quantiser alone, with the reference implementation’s scales, without the "
            "Hadamard transform, after which other entries are clipped.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_S + "unbiased",
        extremal="blocks of one entry, 2688 and 102: the second one’s scale is 17, rounded to 16, and 102 is read "
        "as 96, always",
        axis="block",
        note="In about half of all blocks the largest entry is clipped, by up to 1/17. Scales rounded up avoid it, or "
        "a factor 17/16, as in the code of Quartet II for its stochastic rounding.",
    ),
    Claim(
        name=_S + "bias",
        title="NVFP4’s bias with stochastic rounding is at most 1/28 of the largest entry",
        relation=Le(BIAS, sp.Rational(2**24 + 1, 2**24 * 28)),
        kind=Kind.EXPECTED,
        assumes=(NEAREST_SCALE, NORMAL_SCALES, NONZERO),
        source=PANFEROV_2026.official_code(
            "src/models/quantization/quantizers/eden.py, round_scales: a factor 17/16 of headroom where rounding is "
            "stochastic",
            "An entry v beyond 6 s g is read as that. In units of 6 g it is at most half a gap of E4M3 beyond s, 16 "
            "among the numbers from 256 on, and the vector's largest entry is 448, but for the 2^-24 by which g is "
            "rounded to float32. Relative to itself an entry loses 1/17 at most, as v/(6 s g) is at most 17/16. No "
            "other entry is biased.",
            reading="The code states no bias; the bound is ours.",
            code=PANFEROV_AT.at("src/models/quantization/quantizers/eden.py", "151-171"),
        ),
        tightness=1,
        extremal="blocks of one entry, 2688 and 1632: scales 448 and 256, and 1632 is read as 1536, always; 2688 "
        "(1 + 2^-24 + 2^-40) and 1632 (1 + 2^-23)",
        axis="block",
    ),
    Claim(
        name=_S + "unbiased",
        title="Stochastic rounding makes NVFP4 unbiased where scales are rounded up",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(UP_SCALE, TENSOR_FITS),
        source=derived(
            "s >= m/(6 g), so that nothing lies beyond 6, and low + (high - low) (a - low)/(high - low) = a. Rounded "
            "up, a scale is zero for a block of zeros alone; the tensor’s own is rounded up, too, so that 448 is "
            "enough."
        ),
        axis="block",
    ),
)

MSEDEN: tuple[Claim, ...] = (
    Claim(
        name=_E + "projection",
        title="MS-EDEN keeps the inner product with its input, for any signs",
        relation=Eq(PROJECTION_DEFECT, 0),
        assumes=(NONZERO,),
        source=PANFEROV_2026.official_code(
            "src/models/quantization/quantizers/eden.py, forward: scales times <y, y>/<y, Q(y)>",
            "<D H^T S Q, x> = S <Q, H D x> = S <Q, y> = <y, y> = <x, x>, as H over its norm and D are orthogonal.",
            reading="That it is exact for every rotation is our claim.",
            code=PANFEROV_AT.at("src/models/quantization/quantizers/eden.py", "224-235"),
        ),
        axis="n",
    ),
    Claim(
        name=_E + "unbiased",
        title="MS-EDEN is unbiased",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(SEVERAL_ENTRIES_ROTATED,),
        source=PANFEROV_2026.read(
            "abstract: a novel unbiased quantization routine for micro-scaled formats, called MS-EDEN",
            "Under a uniformly random rotation the error prefers no direction but the input’s, which the scale "
            "corrects. A Hadamard matrix with random signs maps a vector to few points, and the remaining error does "
            "not cancel.",
            reading="It is read as exactly unbiased for a given vector under a Hadamard matrix with random signs; the "
            "abstract names no rotation.",
        ),
        stands=Standing.REFUTED,
        extremal="dim = 4, x = (5, 2, 1, 0): the mean over all 16 signs is (5, 55/29, 35/29, 0)",
        axis="n",
        note="The bias is orthogonal to the vector (blockformats.mseden.projection), and small in long groups.",
    ),
)
