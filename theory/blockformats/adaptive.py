"""Claims about blocks that adapt to their entries: Four Over Six, and shared microexponents."""

from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.theory.blockformats.terms import (
    CHANGED_AGAIN,
    ENTRIES_OF_BLOCK,
    LARGEST_LOST,
    MAXIMUM_ERROR,
    TENSOR_FITS,
    UP_SCALE,
)
from commbounds.theory.claim import Claim, Eq, Ge, Hypothesis, Kind, Le, Standing
from commbounds.theory.hypotheses import NONZERO
from commbounds.theory.quantities import BIAS, BITS, RELATIVE_ERROR, Quantity, block, n
from commbounds.theory.sources import Repository, Work, derived
from commbounds.theory.symbols import Symbol

COOK_AT = Repository("mit-han-lab/fouroversix", "dadfad6901d473a734fe71e0b082e70ee993e23a")
COOK_2025 = Work(
    "J. Cook, J. Guo, G. Xiao, Y. Lin, S. Han, 2025, Four Over Six: more accurate NVFP4 quantization with adaptive "
    "block scaling, arXiv:2512.02010"
)
ROUHANI_2023 = Work(
    "B. Rouhani, R. Zhao, V. Elango, R. Shafipour, M. Hall, M. Mesmakhosroshahi and others, 2023, With shared "
    "microexponents, a little shifting goes a long way, arXiv:2302.08007v2"
)
_REFERENCE = "mit-han-lab/fouroversix, src/fouroversix/quantize/pytorch/reference.py"

microdigits = Symbol("microdigits", "m_d", 4, integer=True, positive=True)
"""Bits of a magnitude: 7, 4 and 2 in MX9, MX6 and MX4."""

SHARE_OF_SIX = Quantity(
    "share_of_six",
    r"\frac{\lVert C_{4/6}(x)-x\rVert^2}{\lVert C_6(x)-x\rVert^2}",
    "squared error over that of the same blocks if all end at 6, with the same scale of the tensor",
)
EXCESS_OVER_NVFP4 = Quantity(
    "excess_over_nvfp4",
    r"\frac{\max(0,\lVert C_{4/6}(x)-x\rVert^2-\lVert C_{\mathrm{NVFP4}}(x)-x\rVert^2)}{\lVert x\rVert^2}",
    "how far the squared error exceeds that of NVFP4, whose tensor's scale is its own, over the squared norm",
)


def _four_and_six_exact(x: Any, block: int) -> bool:
    """Whether m/(6 g) and m/(4 g) are normal numbers of E4M3 for every block that is not zero, g as it is stored."""
    import numpy as np

    sizes = abs(x.astype(np.float64))
    tensor = float(np.float32(float(sizes.max()) / 1536.0))
    if tensor == 0.0 or not np.isfinite(tensor) or Fraction(tensor) * 1536 != Fraction(float(sizes.max())):
        return False
    for top in np.maximum.reduceat(sizes, np.arange(0, sizes.size, block)).tolist():
        for last in (4, 6):
            scale = Fraction(top) / (last * Fraction(tensor))
            if top and not (Fraction(1, 64) <= scale <= 448 and _four_digits(scale)):
                return False
    return True


def _four_digits(scale: Fraction) -> bool:
    while scale < 8:
        scale *= 2
    while scale >= 16:
        scale /= 2
    return scale.denominator == 1


EXACT_ENDS = Hypothesis(
    "exact_ends",
    "Blocks are zero, or a sixth and a quarter of their largest magnitude are normal scales as they are, so that it is "
    "sent without an error either way.",
    _four_and_six_exact,
)
SIXTEEN_AT_MOST = Hypothesis("sixteen_at_most", "Blocks have at most 16 entries, as the format’s.", block <= 16)
CHOSEN_AFTER = Hypothesis(
    "chosen_after_drawing", "Blocks choose by the errors of drawn outcomes.", lambda choice: choice == "drawn"
)
CHOSEN_BEFORE = Hypothesis(
    "chosen_before_drawing", "Blocks choose by expected errors.", lambda choice: choice == "expected"
)
EVEN_BLOCKS = Hypothesis(
    "pairs_of_microexponents", "The longest block has at least two entries.", Ge(ENTRIES_OF_BLOCK, 2)
)


def _top_is_normal(x: Any, block: int) -> bool:
    import numpy as np

    largest = np.maximum.reduceat(abs(x.astype(np.float64)), np.arange(0, x.size, block))
    kind = np.finfo(x.dtype)
    largest = largest[largest > 0]
    # steps of 2^-10 of a block's largest entry must be numbers of the dtype
    low = max(2.0**-127, float(kind.tiny))
    return not largest.size or bool(largest.min() >= low and largest.max() <= min(2.0**127, float(kind.max) / 2))


MICRO_FITS = Hypothesis(
    "micro_fits",
    "Largest magnitudes of blocks that are not zero are normal numbers from 2^-127 to 2^127 and at most half of the "
    "dtype’s largest.",
    _top_is_normal,
)

PAIRS_IN_BLOCKS = Hypothesis("pairs_in_blocks", "Blocks have an even number of entries.", sp.Eq(sp.Mod(block, 2), 0))

_F, _G, _U = "blockformats.fouroversix.", "blockformats.stochastic_fouroversix.", "blockformats.microexponents."
_WORST = sp.Rational(23975, 934751)
_unit = 2**-microdigits
_lost = (ENTRIES_OF_BLOCK - 2) / 4

FOUR_OVER_SIX: tuple[Claim, ...] = (
    Claim(
        name=_F + "no_worse",
        title="Four Over Six: the better of ending a block at 4 or at 6 has no larger error than ending it at 6",
        relation=Le(SHARE_OF_SIX, 1),
        source=COOK_2025.official_code(
            f"{_REFERENCE}, select_fouroversix: the scale of 4 where its squared error is less",
            "In every block it is the smaller of two errors, and ending at 6 gives one of them.",
            reading="Both sides use the same tensor scale, with 256 for the largest block.",
            code=COOK_AT.at("src/fouroversix/quantize/pytorch/reference.py", "262-325"),
        ),
        tightness=1,
        extremal="blocks that are exact with 6 only: nothing changes",
    ),
    Claim(
        name=_F + "no_worse_than_nvfp4",
        title="The error of Four Over Six is at most that of NVFP4",
        relation=Eq(EXCESS_OVER_NVFP4, 0),
        assumes=(NONZERO,),
        source=COOK_2025.official_code(
            f"{_REFERENCE}, compute_nv_scale_factors: the largest scale is 256 where blocks choose, and 448 where they "
            "do not",
            "The tensor’s scale is 7/4 of NVFP4’s, so that blocks which are exact there need scales of 4/7 and 6/7, "
            "which E4M3 has not.",
            reading="It is read for every vector: the title says more accurate, and the abstract says that the "
            "quantisation error is reduced.",
            code=COOK_AT.at("src/fouroversix/quantize/pytorch/reference.py", "184-241"),
        ),
        stands=Standing.REFUTED,
        extremal="blocks of one entry, 21 and 3: NVFP4 is exact, and here 3 is read as 189/64",
        note="Scales end at 256, so that 3/2 of every scale is one too: all blocks are rounded to other scales. With "
        "the same tensor scale it holds (blockformats.fouroversix.no_worse).",
    ),
    Claim(
        name=_F + "contraction",
        title=(
            "Four Over Six with exact scales: a block of 16 loses at most 23975/934751 of its squared norm; ended at "
            "6, up to 5/137"
        ),
        relation=Le(RELATIVE_ERROR, _WORST),
        assumes=(NONZERO, EXACT_ENDS, SIXTEEN_AT_MOST),
        source=derived(
            "The smaller of two errors is at most 4119/6823 of that with 6 and 2704/6823 of that with 4. For these "
            "weights the excess over q a^2 of an entry a, in units of the largest, is convex between half-way points "
            "and is largest at 5/6 and at 1/16, where it is q/15 for this q: tests/theory works it out."
        ),
        tightness=sp.Rational(934751, 39 * 23975),
        extremal="1536, two entries of 1280, twelve of 96 and one of 64: 1/39 either way",
        axis="block",
    ),
    Claim(
        name=_F + "lost_blocks",
        title="Four Over Six: a block that becomes zeros is at most 1/393216 of the vector’s largest entry",
        relation=Le(LARGEST_LOST, sp.Rational(2**24 + 1, 2**24 * 393216)),
        assumes=(TENSOR_FITS,),
        source=derived(
            "Ended at 4 a block has the scale 384 m/A, and half of E4M3’s smallest number, 2^-10, is rounded to zero. "
            "A/1536 is rounded to float32, which moves that by 2^-24 of it. From there to 2^-10 with 6, ending at 4 "
            "has the smaller error."
        ),
        tightness=1,
        extremal="blocks of one entry, 393216 and 1; 1536 (1 + 2^-24 + 2^-40) and (1 + 2^-23)/256",
        axis="block",
        note="NVFP4 keeps blocks down to 1/458752: blocks that end at 4 lose a seventh of that range.",
    ),
)

STOCHASTIC_FOUR: tuple[Claim, ...] = (
    Claim(
        name=_G + "unbiased_as_coded",
        title="Stochastic rounding leaves Four Over Six unbiased where scales are rounded up",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(CHOSEN_AFTER, UP_SCALE, TENSOR_FITS),
        source=COOK_2025.official_code(
            f"{_REFERENCE}, select_fouroversix: both candidates are drawn before their errors are compared; and "
            "utils.py, RoundStyle: stochastic_unbiased",
            "The closer of two unbiased outcomes is kept; the choice depends on the draws, so neither is unbiased "
            "given the choice.",
            reading="We read the style named unbiased as unbiased with blocks that choose; scales rounded up replace "
            "its factor 17/16.",
            code=COOK_AT.at(
                "src/fouroversix/quantize/pytorch/reference.py",
                "273-325",
                "round_style stochastic_unbiased with a rule that chooses; the default rounds to nearest",
            ),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_G + "unbiased",
        extremal="1536 and 160 in a block: the mean is 440/3, and not 160",
        note="Four Over Six with stochastic rounding suits tensors whose bias does not matter, or has to choose before "
        "it draws.",
    ),
    Claim(
        name=_G + "unbiased",
        title="Stochastic Four Over Six is unbiased if a block chooses by expected errors before drawing",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(CHOSEN_BEFORE, UP_SCALE, TENSOR_FITS),
        source=derived("The scale is then a function of the entries, and with either one rounding is unbiased."),
    ),
)

MICROEXPONENTS: tuple[Claim, ...] = (
    Claim(
        name=_U + "wire",
        title=(
            "Shared microexponents take sign and magnitude per entry, a byte per block and a bit per pair: 9, 6 and 4 "
            "bits"
        ),
        relation=Eq(BITS, n * (microdigits + 1) + 8 * sp.ceiling(n / block) + sp.ceiling(n / 2)),
        assumes=(PAIRS_IN_BLOCKS,),
        source=ROUHANI_2023.recalled(
            "MX9, MX6 and MX4: 7, 4 and 2 bits of magnitude, blocks of 16 with 8 bits, pairs with one",
            "(m + 1) + 8/16 + 1/2 = m + 2 in whole blocks.",
        ),
    ),
    Claim(
        name=_U + "maximum",
        title="Shared microexponents: the error of a block’s largest entry is below 2^-m of itself",
        relation=Le(MAXIMUM_ERROR, _unit),
        assumes=(MICRO_FITS,),
        source=derived(
            "Steps are 2^(1 - m) of its power of two, half a step above it; and what is next to twice the power is cut "
            "off a step below, 2^-m of it."
        ),
        tightness=1,
        extremal="one entry just below a power of two",
        axis="microdigits",
    ),
    Claim(
        name=_U + "contraction",
        title="Shared microexponents: the largest share of its squared norm that a block can lose",
        relation=Le(
            RELATIVE_ERROR,
            sp.Max(
                _unit**2 * (1 + _lost) / (1 + _unit**2 * (1 + _lost)),
                _unit**2 * (2 + _lost) / ((1 + _unit) ** 2 + _unit**2 * (1 + _lost)),
                _unit**2 * (5 + _lost) / (4 + _unit**2 * (1 + _lost)),
            ),
        ),
        assumes=(NONZERO, MICRO_FITS, EVEN_BLOCKS),
        source=derived(
            "With u = 2^-m and the power of two as unit: the largest entry is 1, 1 + u (half-way, down) or next to 2 "
            "(cut off by 2 u); its partner loses up to u, half of its step, all others up to u/2. Other pairs in the "
            "top binade cost more norm than they lose."
        ),
        tightness=1,
        extremal="1 + u, its partner u, all others u/2; for two digits 1 in place of 1 + u",
        axis="block",
        note="For MX9, MX6 and MX4 in blocks of 16 it is 11/33291, 11/587 and 9/41; without the shift by one 2.9, 3.0 "
        "and 2.2 times as much.",
    ),
    Claim(
        name=_U + "idempotence",
        title="Shared microexponents: a second quantisation changes nothing",
        relation=Eq(CHANGED_AGAIN, 0),
        assumes=(MICRO_FITS,),
        source=ROUHANI_2023.read(
            "abstract: multiple levels of quantisation scaling, with shared microexponents",
            "Cut off, no entry reaches the next power of two, and none of the top binade falls out of it: exponents "
            "and shifts stay, and multiples are multiples.",
            reading="The abstract does not say it; we claim that a second pass finds the same levels of scaling.",
        ),
    ),
)
