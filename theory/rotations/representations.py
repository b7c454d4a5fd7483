"""Claims about representations of small range, and about rotations that are uniformly distributed."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Hypothesis, Kind, Le, Standing, for_one_reason
from commbounds.theory.hypotheses import NONZERO
from commbounds.theory.quantities import BIAS, RELATIVE_ERROR, Quantity, n
from commbounds.theory.rotations.terms import (
    BIASED_SCALE_GIVEN,
    DRIVE_2021,
    ENCODING_AT,
    TENSOR_ENCODING,
    UNBIASED_SCALE_GIVEN,
    tail_at,
)
from commbounds.theory.sources import FOLKLORE, Work, derived
from commbounds.theory.symbols import Symbol

KASHIN_2010 = Work(
    "Yu. Lyubarskii, R. Vershynin, 2010, Uncertainty principles and vector quantization, arXiv:math/0611343"
)

clip_rate = Symbol("clip_rate", r"\eta_{\mathrm{c}}", Fraction(9, 10), positive=True)
"""What the level of clipping is multiplied by after a round."""
clip_share = Symbol("clip_share", r"\delta_{\mathrm{c}}", Fraction(3, 4), positive=True)
"""The first level is ||x|| over the root of this share of the number of coefficients."""
clip_rounds = Symbol("clip_rounds", r"T_{\mathrm{c}}", 3, integer=True, positive=True)
"""Rounds of clipping."""
frame_length = Symbol("frame_length", r"N_{\mathrm{c}}", 16, integer=True, positive=True)
"""Coefficients of the representation."""
left_size = Symbol("left_size", r"n_1", 3, integer=True, positive=True)
"""Rows of a matrix that is rotated from both sides."""
right_size = Symbol("right_size", r"n_2", 3, integer=True, positive=True)
"""Columns of a matrix that is rotated from both sides."""

KASHIN_DEFECT = Quantity(
    "kashin_defect",
    r"\frac{\lVert x-Ua\rVert_\infty}{\lVert x\rVert_\infty}",
    "largest difference between an entry of x and its value by the coefficients, over the largest entry",
)
KASHIN_RANGE = Quantity(
    "kashin_range",
    r"\frac{\lVert a\rVert_\infty}{\lVert U^{\mathsf T}x\rVert_\infty}",
    "largest coefficient over the largest entry of the Hadamard transform of x",
)
KASHIN_TOP = Quantity(
    "kashin_top",
    r"\frac{\sqrt{N}\,\lVert a\rVert_\infty}{\lVert x\rVert_2}",
    "largest coefficient, in units of its value if all of them were equal",
)
KASHIN_LEFT = Quantity(
    "kashin_left",
    r"\frac{\lVert x-Ua\rVert_2}{\lVert x\rVert_2}",
    "norm of the part that the coefficients do not represent, over that of x",
)
TWO_SIDED_CHANCE = Quantity(
    "two_sided_chance",
    r"\Pr[\max_{ij}\lvert(H D_1WD_2H)_{ij}\rvert\geq t\lVert W\rVert_F]",
    "probability that some entry of the matrix, rotated from both sides, reaches t times its Frobenius norm",
)

LAST_EXACT = Hypothesis("last_round_exact", "The last round does not clip.", lambda exact_round: exact_round)
ALL_CLIPPED = Hypothesis("all_rounds_clip", "All rounds clip.", lambda exact_round: not exact_round)
FRAME_CONSTANT = Hypothesis(
    "uncertainty_principle",
    "The rate is at least the norm of U on all vectors with at most a share of nonzero entries, which sets the first "
    "level.",
    lambda clip_rate, frame_constant: clip_rate >= frame_constant,
)
PLANE = Hypothesis("two_entries", "There are two entries.", sp.Eq(n, 2))
SPACE = Hypothesis("three_entries", "There are three entries.", sp.Eq(n, 3))

_SUM = (1 - clip_rate**clip_rounds) / (1 - clip_rate)
_ONE_ROUND = (
    "||U^T r|| = ||r||, so that fewer than delta N entries exceed the level; what is clipped off has no more, and is "
    "no longer than r; its image is what is left: at most eta times as long. The level shrinks by eta with it."
)

_KASHIN_FILE = "tensorflow_model_optimization/python/core/internal/tensor_encoding/stages/research/kashin.py"
KASHIN: tuple[Claim, ...] = (
    Claim(
        name="rotations.kashin.reproduces",
        title="Kashin's coefficients represent x exactly if the last round does not clip",
        relation=Eq(KASHIN_DEFECT, 0),
        assumes=(NONZERO, LAST_EXACT),
        source=TENSOR_ENCODING.official_code(
            "class docstring and argument last_iter_clip: without clipping in the last round always lossless",
            "U U^T = 1: the last round represents all that is left.",
            code=ENCODING_AT.at(_KASHIN_FILE, "110-114", "last_iter_clip=False, the default"),
        ),
        axis="clip_rounds",
    ),
    Claim(
        name="rotations.kashin.range",
        title="Kashin's representation has no larger range than the Hadamard transform",
        relation=Le(KASHIN_RANGE, 1),
        assumes=(NONZERO, LAST_EXACT),
        source=TENSOR_ENCODING.official_code(
            "class docstring: a smaller dynamic range, and a smaller error of uniform quantisation than with the "
            "Hadamard stage; three rounds, the rate 0.9, the level ||x||/sqrt(n), the last round exact",
            "Refuted by eleven entries of -1, 0 and 1: the last round adds what is left, unclipped, to coefficients "
            "of one sign.",
            reading="It is read for every vector, with the defaults.",
            code=ENCODING_AT.at(_KASHIN_FILE, "36-40"),
        ),
        stands=Standing.REFUTED,
        extremal="16 coefficients: two rounds of (-1, 1, -1, 1, 1, 1, -1, 0, 1, 0, -1), 21/20 of the range; the "
        "default three of (-1, 1, -1, 1, 0, 1, -1, -1, -1, 0, 1), 1.0345",
        axis="clip_rounds",
        note="A vector of thirteen entries has 1.054 times the range; among some thousand of up to ten entries none "
        "was found.",
    ),
    Claim(
        name="rotations.kashin.level",
        title="No coefficient of Kashin's representation exceeds the sum of the levels",
        relation=Le(KASHIN_TOP, _SUM / sp.sqrt(clip_share)),
        assumes=(NONZERO, ALL_CLIPPED),
        source=KASHIN_2010.read(
            "abstract: coefficients of the smallest possible dynamic range, O(1/sqrt n)",
            "A round adds at most its level, ||x||/sqrt(delta N) times a power of eta.",
            reading="It is read with the algorithm's constants, after a number of rounds.",
        ),
        tightness=1,
        extremal="a vector of ones: the first coefficient is clipped in every round",
        axis="clip_rounds",
        note="For many rounds it is 1/((1 - eta) sqrt(delta)), the theorem's K (recalled).",
    ),
    Claim(
        name="rotations.kashin.residual",
        title=(
            "If U obeys the uncertainty principle, every round of Kashin's representation leaves at most eta of the "
            "norm"
        ),
        relation=Le(KASHIN_LEFT, clip_rate**clip_rounds),
        assumes=(NONZERO, ALL_CLIPPED, FRAME_CONSTANT),
        source=KASHIN_2010.recalled("the theorem on Kashin's representations by uncertainty principles", _ONE_ROUND),
        axis="clip_rounds",
        unpinned=for_one_reason(
            "loose: a round leaves at most eta^2 (rotations.kashin.finite); cases reach 0.101 of the bound, after the "
            "first",
            "0.9 times the bound",
            "clip_rounds + 1 for clip_rounds",
        ),
    ),
    Claim(
        name="rotations.kashin.finite",
        title=(
            "If U obeys the uncertainty principle, a round of Kashin's representation leaves eta^2 of the square, and "
            "finally nothing"
        ),
        relation=Le(
            KASHIN_LEFT,
            clip_rate**clip_rounds * sp.Max(0, clip_rate**clip_rounds - _SUM / sp.sqrt(clip_share * frame_length)),
        ),
        assumes=(NONZERO, ALL_CLIPPED, FRAME_CONSTANT),
        source=derived(
            "What is clipped off, c, and the level M on its support add up to the coefficients b there: ||b||^2 >= "
            "||c||^2 + 2 M ||c||_1 + M^2 >= (||c|| + M)^2. And ||b||^2 = <r, U b> is at most eta ||r|| ||b||. So a "
            "round leaves at most eta (eta ||r|| - M): over eta^t, eta times what there was, less ||x||/sqrt(delta N)."
        ),
        axis="clip_rounds",
        unpinned=for_one_reason(
            "loose by nature if something is left: cases reach 0.178 of it; otherwise both sides are zero",
            "0.9 times the bound",
            "0.9 times the term clip_rate*",
            "10/9 times the term -(1 - clip_rate*",
            "frame_length - 1 for frame_length",
        ),
        note="The theorem's geometric decay is not sharp: the representation is exact, and finite. For three entries "
        "in the frames run here, the second round never clips.",
    ),
    Claim(
        name="rotations.kashin.residual_default",
        title="Every round of Kashin's representation leaves at most eta of the norm, for any frame",
        relation=Le(KASHIN_LEFT, clip_rate**clip_rounds),
        assumes=(NONZERO, ALL_CLIPPED),
        source=TENSOR_ENCODING.official_code(
            "__init__: eta = 0.9 and delta = 1 by default, for every length; its docstring says that they should be "
            "derived from the projection",
            "Refuted by 256 ones of 300 entries: two coefficients of the 512 have all of x, and clipping at "
            "||x||/sqrt(300) leaves 1 - sqrt(2/300) = 0.918 of it.",
            reading="It is read as: the defaults keep the algorithm's promise.",
            code=ENCODING_AT.at(_KASHIN_FILE, "56-109"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.kashin.residual",
        extremal="256 ones and 44 zeros: 0.918 after a round, where the level goes down by a tenth",
        axis="clip_rounds",
        note="Three rounds with an exact last one still represent x: only the small range is lost. If n is above N/2, "
        "delta = n/N has no constant below one: some x has at most n coefficients.",
    ),
)

_CORNER = "||u||_1 over the sphere, u uniform: the error is n/||u||_1^2 - 1, as rotations preserve norms. "

UNIFORM: tuple[Claim, ...] = (
    Claim(
        name="rotations.rotated_signs.unbiased",
        title="Averaged over a rotation and its mirror image about x, the estimate equals x",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, UNBIASED_SCALE_GIVEN),
        source=DRIVE_2021.recalled(
            "unbiased with this scale and uniform rotations",
            "With S = 2 x x^T/||x||^2 - 1, R and R S rotate x alike, so their signs and scales are the same, and the "
            "estimates z and S z have the mean (x^T z) x/||x||^2 = x. Uniform rotations have R and R S alike.",
        ),
        note="The proof only needs that R S has the law of R. The law of one Hadamard rotation lacks this.",
    ),
    Claim(
        name="rotations.rotated_signs.plane",
        title="Signs of two uniformly rotated entries have error 4/pi - 1",
        relation=Eq(RELATIVE_ERROR, 4 / sp.pi - 1),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, UNBIASED_SCALE_GIVEN, PLANE),
        source=derived(
            _CORNER + "n = 2: ||u||_1^2 = 1 + |sin 2t|, and the mean of 1/(1 + sin) over a quarter is 2/pi."
        ),
        note="It is 0.2732, and not pi/2 - 1 = 0.5708, the limit for long vectors. The Hadamard rotation has up to 1.",
    ),
    Claim(
        name="rotations.rotated_signs.space",
        title="Signs of three uniformly rotated entries have error 6 sqrt 2 ln(1 + sqrt 2)/pi - 2",
        relation=Eq(RELATIVE_ERROR, 6 * sp.sqrt(2) * sp.log(1 + sp.sqrt(2)) / sp.pi - 2),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, UNBIASED_SCALE_GIVEN, SPACE),
        source=derived(
            _CORNER + "n = 3: projected to the plane of sum 1, the mean of ||u||_1^-2 over an octant is 2/(pi sqrt 3) "
            "times the integral of (1/3 + r^2)^(-1/2) over the triangle, r from its centre: "
            "(sqrt 3 pi/2 + sqrt 6 ln(1 + sqrt 2) - 2 pi/sqrt 3)."
        ),
        note="It is 0.3805. For n entries the error is n (n - 2) times the integral of t erfcx(t/sqrt 2)^n, less one.",
    ),
    Claim(
        name="rotations.rotated_signs.biased",
        title="Signs of uniformly rotated entries with the biased scale have error (1 - 2/pi)(1 - 1/n)",
        relation=Eq(RELATIVE_ERROR, (1 - 2 / sp.pi) * (1 - 1 / n)),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, BIASED_SCALE_GIVEN),
        source=DRIVE_2021.recalled(
            "the error of the biased scale under uniform rotations",
            "1 - E ||u||_1^2/n, and E |u_i u_j| = 2/(pi n) for i != j on the sphere.",
        ),
    ),
)

TWO_SIDED: tuple[Claim, ...] = (
    Claim(
        name="rotations.randomised_hadamard.two_sided",
        title="An entry of a matrix rotated from both sides has the tail of a rotated vector's entry",
        relation=Le(TWO_SIDED_CHANCE, 2 * left_size * right_size * sp.exp(-(tail_at**2) / 2)),
        kind=Kind.LAW,
        source=FOLKLORE.recalled(
            "incoherence of weights as sqrt(2 ln(2 n m/delta)); QuIP# has 2 ln(4 n m/delta) for matrices, and the "
            "root for the orthogonal factors alone",
            "Refuted by the matrix of ones, 2 x 4: with probability a half both patterns of signs are rows up to their "
            "sign, and one entry has all of it: sqrt(8) norms, for which 16 exp(-4) = 0.293 is claimed. For 4 x 4 it "
            "is a quarter, for 32 exp(-8) = 0.011.",
            reading="It is read for sizes that are powers of two.",
        ),
        stands=Standing.REFUTED,
        extremal="equal entries, 2 x 4: a half for 0.2931; 4 x 4: a quarter for 0.0107",
        axis="tail_at",
        note="Signs from two sides multiply: a form of degree two has a tail exponential in t, not in t^2.",
    ),
)
