"""Claims about subtractive dithering after a rotation, and about rounding with feedback."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Hypothesis, Kind, Le, Standing
from commbounds.theory.quantities import Quantity, n
from commbounds.theory.rotations.terms import QUIP_AT, d
from commbounds.theory.sources import FOLKLORE, Work, derived
from commbounds.theory.symbols import Symbol

DITHERED_2026 = Work(
    "Y. Feng, P. Indyk, M. Kapralov, D. Krachun, B. Prokhorov, 2026, Provable quantization with randomized Hadamard "
    "transform, arXiv:2605.13810v1"
)
DITHER_1964 = Work(
    "L. Schuchman, 1964, Dither signals and their effect on quantization noise, doi:10.1109/TCOM.1964.1088973"
)
QUIP_CODE = Work("J. Chee et al., code of QuIP, github.com/Cornell-RelaxML/QuIP")
QUIP_2023 = Work(
    "J. Chee, Y. Cai, V. Kuleshov, C. De Sa, 2023, QuIP: 2-bit quantization of large language models with guarantees, "
    "arXiv:2307.13304",
    "Theorem 1, as public indices of lecture notes restate it.",
)

pivot_sum = Symbol("pivot_sum", r"\operatorname{tr}D_H", 7, positive=True)
"""Sum of the pivots of the Hessian: the trace of D in H = L D L^T."""
grid_parts = Symbol("grid_parts", r"m_{\mathrm{w}}", 3, integer=True, positive=True)
"""Weights are multiples of one over this many."""
nearest_loss = Symbol("nearest_loss", r"\ell_{\mathrm{nearest}}(w)", Fraction(5, 16), nonnegative=True)
"""Loss of the same weights, each rounded to the nearest whole number."""

DITHER_BIAS = Quantity(
    "dither_bias",
    r"\frac{\lVert\mathbb{E}\,\hat x-x\rVert_\infty}{\Delta}",
    "largest error of an entry in the mean over the offsets, in steps",
)
DITHER_ERROR = Quantity(
    "dither_error",
    r"\frac{\mathbb{E}\,\lVert\hat x-x\rVert_2^2}{\Delta^2}",
    "expected squared error over the offsets, in squared steps",
)
DITHER_ENTRY = Quantity(
    "dither_entry",
    r"\max_i\frac{\mathbb{E}\,(\hat x-x)_i^2}{\Delta^2}",
    "largest expected squared error of one entry over the offsets, in squared steps",
)
LDLQ_LOSS = Quantity("ldlq_loss", r"(q-w)^{\mathsf T}H(q-w)", "quadratic loss of the rounded weights")
LDLQ_MEAN = Quantity(
    "ldlq_mean_loss", r"\mathbb{E}_w\,(q-w)^{\mathsf T}H(q-w)", "quadratic loss, over weights uniform on a grid"
)

NO_OVERLOAD = Hypothesis(
    "no_overload", "No code is clipped: rotated entries have at most `reach` steps.", lambda overloaded: not overloaded
)
OWN_OFFSETS = Hypothesis("own_offsets", "Every rotated entry has an offset of its own.", lambda own: own)
ONE_OFFSET = Hypothesis("one_offset", "One offset for all rotated entries.", lambda own: not own)
NO_CLIPPING = Hypothesis("unlimited_levels", "There is no smallest and no largest level.", lambda limited: not limited)
IN_RANGE = Hypothesis(
    "weights_in_range", "The weights are between the smallest and the largest level.", lambda in_range: in_range
)
INTEGER_FACTOR = Hypothesis(
    "integer_factor", "L has whole entries: feedback keeps weights on the grid.", lambda whole: whole
)
ODD_PARTS = Hypothesis("odd_grid", "The grid has an odd number of parts.", Eq(sp.Mod(grid_parts, 2), 1))
TWO_WEIGHTS = Hypothesis("two_weights", "There are at most two weights.", sp.Le(n, 2))

_UNIFORM = (
    "k_j - u_j - y_j/step is uniform on an interval of length one around zero, u_j being uniform: mean 0, mean square "
    "1/12. Rotating back keeps norms."
)

DITHERED: tuple[Claim, ...] = (
    Claim(
        name="rotations.dithered_hadamard.unbiased",
        title="Without overload, one random offset makes the estimate unbiased, for every pattern of signs",
        relation=Eq(DITHER_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(NO_OVERLOAD,),
        source=DITHERED_2026.read(
            "abstract: a random scalar offset is subtracted before quantizing; unbiased",
            _UNIFORM,
            reading="It is read for equidistant levels, with an offset that is uniform over a step.",
        ),
        note="It removes the bias of a single rotation (rotations.drive.unbiased), also for (3, 1).",
    ),
    Claim(
        name="rotations.dithered_hadamard.unbiased_clipped",
        title="One random offset makes the estimate unbiased, with a fixed number of levels for every vector",
        relation=Eq(DITHER_BIAS, 0),
        kind=Kind.EXPECTED,
        source=DITHERED_2026.read(
            "abstract: unbiased, at b bits per coordinate, for all unit vectors",
            "Refuted by a vector that is a row of the matrix: its rotated entries are (2, 0, 0, 0), which codes -1, 0 "
            "and 1 of steps of one do not reach.",
            reading="It is read for equidistant levels with a range independent of x, which the abstract does not say.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.dithered_hadamard.unbiased",
        extremal="equal entries: one rotated entry has all of the norm, and is clipped",
        note="With a Hadamard rotation this has the probability of rotations.randomised_hadamard.peak. Levels must "
        "reach the largest rotated entry, which is sent with the codes, or sqrt(d) times the largest entry.",
    ),
    Claim(
        name="rotations.dithered_hadamard.variance",
        title="With an offset for each entry the squared error is n/12 steps squared, for every x",
        relation=Eq(DITHER_ERROR, n / 12),
        kind=Kind.EXPECTED,
        assumes=(OWN_OFFSETS, NO_OVERLOAD),
        source=DITHER_1964.recalled("errors that are uniform, and independent of the input", _UNIFORM),
        note="Neither the vector nor the signs matter: if every entry has its own dither, the rotation only reduces "
        "the range.",
    ),
    Claim(
        name="rotations.dithered_hadamard.one_offset",
        title="With one offset for all entries the squared error is also n/12 steps squared",
        relation=Eq(DITHER_ERROR, n / 12),
        kind=Kind.EXPECTED,
        assumes=(ONE_OFFSET, NO_OVERLOAD),
        source=DITHERED_2026.read(
            "abstract: a scalar offset, at negligible cost, with the error of random rotations",
            "It holds for the padded vector: d/12. Refuted by (1, 0, 0), whose rotated entries are equal up to sign.",
            reading="It is read with padding and for equidistant levels.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.dithered_hadamard.one_offset_bound",
        extremal="one nonzero entry of three: 4/12 for 3/12",
        note="Errors under one offset are correlated, and padding does not take its share of the error.",
    ),
    Claim(
        name="rotations.dithered_hadamard.one_offset_bound",
        title="With one offset the squared error is at most d/12 steps squared, and equal without padding",
        relation=Le(DITHER_ERROR, d / 12),
        kind=Kind.EXPECTED,
        assumes=(ONE_OFFSET, NO_OVERLOAD),
        source=derived(f"{_UNIFORM} On d entries the sum is d/12; the first n have a part of it."),
        tightness=1,
        extremal="no padding; or one nonzero entry, the first",
    ),
    Claim(
        name="rotations.dithered_hadamard.entry",
        title="With one offset a single entry can have all of the error: d times that with an offset for each",
        relation=Le(DITHER_ENTRY, d / 12),
        kind=Kind.EXPECTED,
        assumes=(NO_OVERLOAD,),
        source=derived(
            "It is at most the sum. If only the first entry is nonzero, all rotated entries are equal, and so are "
            "their errors; the transform collects them at the first place: sqrt(d) times one of them."
        ),
        tightness=1,
        extremal="one nonzero entry, the first; one offset",
        note="With separate offsets each has 1/12.",
    ),
)

_PIVOTS = "(q - w)^T H (q - w) = sum_i d_i r_i^2, r_i the i-th rounding error: L^T (q - w) = r. "

FEEDBACK: tuple[Claim, ...] = (
    Claim(
        name="rotations.ldlq.average",
        title="Over weights of a grid, LDLQ loses tr(D)(1 - m^-2)/12: a twelfth of the pivots in the limit",
        relation=Eq(LDLQ_MEAN, pivot_sum * (1 - 1 / grid_parts**2) / 12),
        kind=Kind.EXPECTED,
        assumes=(NO_CLIPPING, INTEGER_FACTOR, ODD_PARTS),
        source=QUIP_2023.second_hand(
            "Theorem 1: the average loss of LDLQ with nearest rounding, tr(D)/12 per row for uniform weights",
            _PIVOTS + "r_i runs through the multiples of 1/m in (-1/2, 1/2), each equally often, for any later "
            "weights: their mean square is (m^2 - 1)/(12 m^2).",
        ),
        axis="grid_parts",
        note="Rounding to nearest loses tr(H) times this factor, and tr(D) <= tr(H).",
    ),
    Claim(
        name="rotations.ldlq.worst",
        title="Without limits LDLQ loses at most a quarter of the pivots",
        relation=Le(LDLQ_LOSS, pivot_sum / 4),
        assumes=(NO_CLIPPING,),
        source=QUIP_2023.second_hand(
            "Theorem 1: the worst-case loss of LDLQ with nearest rounding, tr(D)/4 per row; the algorithm is that of "
            "the authors' code, vector_balance.py, round_ldl",
            _PIVOTS + "|r_i| <= 1/2.",
        ),
        tightness=1,
        extremal="L with even entries and weights of one half",
        axis="pivot_sum",
    ),
    Claim(
        name="rotations.ldlq.limited",
        title="With a smallest and a largest level, and weights between them, LDLQ loses at most a quarter of the "
        "pivots",
        relation=Le(LDLQ_LOSS, pivot_sum / 4),
        assumes=(IN_RANGE,),
        source=QUIP_CODE.official_code(
            "vector_balance.py: every weight is clamped to 0 .. 2^b - 1 as it is rounded; optq_counter.py has an "
            "example where nearest rounding is better",
            "Refuted by that example, with eight weights next to one half: feedback asks for -2, which is clamped to "
            "0, a rounding error of 2.",
            reading="It is read as the theorem without limits, for a fixed number of levels.",
            code=QUIP_AT.at("optq_counter.py", "7-31"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.ldlq.worst",
        extremal="pivots 1 and 4 and the weights 0 and 7/16: 49/32 for 5/4; the example of optq_counter.py with eight "
        "weights: 5.70 for 2.01, and 1.59e4 for 64 with 256",
        axis="pivot_sum",
        note="The example is its authors' own, and their code prints the comparison. The loss grows as the square of "
        "the length.",
    ),
    Claim(
        name="rotations.ldlq.nearest",
        title="LDLQ loses at most as much as rounding to nearest",
        relation=Le(LDLQ_LOSS, nearest_loss),
        assumes=(NO_CLIPPING,),
        source=FOLKLORE.recalled(
            "feedback is better than none, which holds on average",
            "Refuted by D = (64, 1, 1), L_21 = L_31 = -1/2, L_32 = 1 and w = (1/4, 1/4, 1/4): the second weight is "
            "rounded up for a pivot of 1, which costs half a unit at the pivot of 64.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.ldlq.nearest_pair",
        extremal="three weights of 1/4: 16.31 for 0.31",
        axis="nearest_loss",
        note="After L^T the errors are (0, -1/2, -1/4) for nearest rounding and (1/2, 1/2, -1/4) for LDLQ: it "
        "minimises weight by weight, from the last. For two weights that suffices.",
    ),
    Claim(
        name="rotations.ldlq.nearest_pair",
        title="For two weights LDLQ loses at most as much as rounding to nearest",
        relation=Le(LDLQ_LOSS, nearest_loss),
        assumes=(NO_CLIPPING, TWO_WEIGHTS),
        source=derived(
            "The last weight is rounded to nearest by both, and given that the first is chosen best: "
            "d_1 r_1^2 with |r_1| <= 1/2 the least over all whole numbers."
        ),
        tightness=1,
        extremal="a single weight",
        axis="nearest_loss",
    ),
)
