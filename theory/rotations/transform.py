"""Claims about the randomised Hadamard transform and about the quantiser of a normal number."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Kind, Le, Standing
from commbounds.theory.hypotheses import NO_ZERO_ENTRIES, NONZERO
from commbounds.theory.quantities import index_bits, n
from commbounds.theory.rotations.terms import (
    CENTROID_ERROR,
    CENTROID_GAP,
    COORDINATE_SQUARE,
    CORRELATION,
    DISTORTION,
    EDEN_AT,
    EDEN_CODE,
    NORM_GROWTH,
    PEAK_CHANCE,
    RETURN_DEFECT,
    ROTATION_ADDITIONS,
    SINGLE_BIT,
    TAIL_CHANCE,
    TURBOQUANT_2025,
    TWO_RHTS_2026,
    cells,
    d,
    spectrum,
    tail_at,
)
from commbounds.theory.sources import FOLKLORE, derived

_SIGNS = "The signs are independent, so that E D_k D_l = [k = l]"

HADAMARD: tuple[Claim, ...] = (
    Claim(
        name="rotations.randomised_hadamard.norm",
        title="The randomised Hadamard transform multiplies the squared norm by the padded length, exactly",
        relation=Eq(NORM_GROWTH, d),
        assumes=(NONZERO,),
        source=EDEN_CODE.official_code(
            "torch/hadamard.py: in place, sums and differences of halves, then over the root of the length",
            "A step takes (a, b) to (a + b, a - b), whose squares sum to 2 (a^2 + b^2); there are log2 d steps.",
            code=EDEN_AT.at("torch/hadamard.py", "9-37"),
        ),
    ),
    Claim(
        name="rotations.randomised_hadamard.inverse",
        title="The randomised Hadamard transform is its own inverse, up to the factor d",
        relation=Eq(RETURN_DEFECT, 0),
        assumes=(NONZERO,),
        source=EDEN_CODE.official_code(
            "torch/hadamard.py: the inverse is the same transform, and the signs after it",
            "H is symmetric, its rows are orthogonal and have the squared norm d: H H = d; and D D = 1.",
            code=EDEN_AT.at("torch/hadamard.py", "45-54"),
        ),
    ),
    Claim(
        name="rotations.randomised_hadamard.additions",
        title="One fast Hadamard transform takes d log2 d additions and subtractions, and nothing else",
        relation=Eq(ROTATION_ADDITIONS, d * index_bits(n)),
        source=derived("log2 d steps; each makes d/2 sums and d/2 differences."),
        note="It is measured with numbers that count operations. The authors' code needs three operations instead of "
        "two: a sum, a double and a difference, as it overwrites one half first.",
    ),
    Claim(
        name="rotations.randomised_hadamard.coordinate",
        title="Every rotated entry has the mean square ||x||^2, for every x",
        relation=Eq(COORDINATE_SQUARE, 1),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=derived(f"{_SIGNS}: E (sum_k H_jk D_k x_k)^2 = sum_k H_jk^2 x_k^2."),
    ),
    Claim(
        name="rotations.randomised_hadamard.correlation",
        title="The correlation of two rotated entries is an entry of the transform of the squares",
        relation=Eq(CORRELATION, spectrum),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=derived(
            f"{_SIGNS}: E (HDx)_i (HDx)_j = sum_k H_ik H_jk x_k^2, and H_ik H_jk = H_(i xor j)k: the entry i xor j of "
            "the transform of the squares. The variances are all ||x||^2."
        ),
        axis="spectrum",
        note="Entries are uncorrelated if and only if all magnitudes are equal. For one nonzero entry all rotated "
        "entries are the same up to sign.",
    ),
    Claim(
        name="rotations.randomised_hadamard.uncorrelated",
        title="The rotation makes entries uncorrelated",
        relation=Eq(CORRELATION, 0),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=TWO_RHTS_2026.read(
            "abstract: two transforms may be insufficient where correlation matters, three lead to decaying "
            "covariance; one is generally not suitable in the worst case",
            "One nonzero entry: correlation one for every pair.",
            reading="It is read for one transform, which the source does not claim; it is common as a substitute for a "
            "uniform rotation.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.randomised_hadamard.correlation",
        extremal="one nonzero entry: every two rotated entries are equal up to sign",
        note="They are uncorrelated if all magnitudes are equal, without padding.",
    ),
    Claim(
        name="rotations.randomised_hadamard.peak",
        title="Some rotated entry has the magnitude ||x||_1 with probability 2 d/2^n",
        relation=Eq(PEAK_CHANCE, 2 * d / 2**n),
        kind=Kind.LAW,
        assumes=(NO_ZERO_ENTRIES,),
        source=derived(
            "|sum H_jk D_k x_k| = ||x||_1 iff the signs of D_k x_k are those of row j, or the opposite ones. The d "
            "rows and their negatives differ on the first n > d/2 places, as the product of two rows is not "
            "constant there."
        ),
        note="It is certain up to three entries, and has probability 1/2 for four, 1/16 for eight. If magnitudes are "
        "equal without padding, no other entry is then nonzero.",
    ),
    Claim(
        name="rotations.randomised_hadamard.tail",
        title="Some rotated entry reaches t ||x|| with probability at most 2 d exp(-t^2/2)",
        relation=Le(TAIL_CHANCE, 2 * d * sp.exp(-(tail_at**2) / 2)),
        kind=Kind.LAW,
        assumes=(NONZERO,),
        source=FOLKLORE.recalled(
            "incoherence of a vector after the randomised Hadamard transform, as used for QuIP# and before",
            "Hoeffding's inequality for each entry, a sum of independent signs times x_k: E exp(s y_j) = prod cosh(s "
            "x_k) <= exp(s^2 ||x||^2/2); and the d entries and their negatives together.",
        ),
        axis="tail_at",
        unpinned=(
            ("0.9 times the bound", "loose by nature: cases reach exp(1/2)/2 = 0.824 of it, for a single entry"),
        ),
    ),
)

_ASYMPTOTIC = sp.sqrt(3) * sp.pi / (2 * cells**2)

LLOYD_MAX: tuple[Claim, ...] = (
    Claim(
        name="rotations.lloyd_max.one_bit",
        title="One bit for a normal number has the mean squared error 1 - 2/pi",
        relation=Eq(DISTORTION, 1 - 2 / sp.pi),
        assumes=(SINGLE_BIT,),
        source=derived("c = E |X| = sqrt(2/pi), and the error is 1 - c^2."),
        axis="cells",
    ),
    Claim(
        name="rotations.lloyd_max.bound",
        title="b bits for a normal number have the mean squared error of at most sqrt(3) pi/2 4^-b",
        relation=Le(DISTORTION, _ASYMPTOTIC),
        source=TURBOQUANT_2025.second_hand(
            "Theorem 1 as reported by the documentation of the package bitpolar and by lecture notes: D <= sqrt(3) "
            "pi/2 4^-b",
            "The limit of the optimal error for many cells is I^3/(12 N^2), I the integral of f^(1/3) (Panter and "
            "Dite), which for the normal density is sqrt(3) pi/2 N^-2; computed for b = 1 .. 12 it is approached "
            "from below.",
        ),
        tightness=1,
        extremal="many bits: 0.53 of the bound for one bit, 0.69, 0.81, 0.89 for two to four, 0.9995 for twelve",
        axis="cells",
        note="The quoted constants, 0.36, 0.117, 0.03 and 0.009 for one to four bits, are truncated: 0.36338, 0.11748, "
        "0.03455, 0.00950.",
    ),
    Claim(
        name="rotations.lloyd_max.shannon",
        title="Every quantiser of b bits loses at least 4^-b of a normal number's variance",
        relation=Ge(DISTORTION, 1 / cells**2),
        source=TURBOQUANT_2025.second_hand(
            "reported to be within a factor of about 2.7 of the information-theoretic limit",
            "The rate-distortion function of a normal number is log2(1/D)/2.",
            "It is read for one normal number; the paper's Theorem 3, as restated by others, is about unit vectors.",
        ),
        tightness=sp.pi / (4 * (sp.pi - 2)),
        extremal="one bit",
        axis="cells",
    ),
    Claim(
        name="rotations.lloyd_max.stationary",
        title="Every centroid is the mean of its cell",
        relation=Eq(CENTROID_GAP, 0),
        source=derived(
            "The condition of Lloyd and Max; for a log-concave density it has one solution (Fleischer 1964)."
        ),
        axis="cells",
    ),
    Claim(
        name="rotations.lloyd_max.seven_digits",
        title="EDEN's table of 16 digits has the optimal centroids to seven digits",
        relation=Le(CENTROID_ERROR, sp.Rational(1, 10**7)),
        source=EDEN_CODE.official_code(
            "torch/quantization_constants.py: opt_hn_centroids for 1 to 8 bits, 16 digits each",
            "Refuted by Newton's method, and by quadrature in 30 digits: the outermost centroid of 8 bits is 4.603536, "
            "printed 4.601872.",
            reading="We read it as seven correct digits; the source calls them optimal.",
            code=EDEN_AT.at("torch/quantization_constants.py", "13-77"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.lloyd_max.published_digits",
        extremal="eight bits: 4.601871059539151 for 4.6035356",
        axis="cells",
        note="Lloyd's iteration may have been stopped early, as it gains little per step with many cells. Little is "
        "lost: the scale follows from the centroids used.",
    ),
    Claim(
        name="rotations.lloyd_max.published_digits",
        title="The outermost centroid of EDEN's table has a relative error of at most 3.7e-4",
        relation=Le(CENTROID_ERROR, sp.Rational(37, 10**5)),
        source=EDEN_CODE.official_code(
            "torch/quantization_constants.py: the largest of opt_hn_centroids for 1 to 8 bits",
            "Compared with Newton's method.",
            code=EDEN_AT.at("torch/quantization_constants.py", "13-77"),
        ),
        axis="cells",
    ),
)
