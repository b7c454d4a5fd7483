"""Claims about rotation-based compressors: DRIVE, EDEN, stochastic rotated quantisation, the Hadamard sketch."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.flashcomm.terms import width
from commbounds.theory.hypotheses import ANY_FACTOR, MIDDLE_RANGE, NONZERO, ONE_SPARSE
from commbounds.theory.implementations import defined
from commbounds.theory.quantities import BIAS, BITS, RELATIVE_ERROR, index_bits, itembits, k, n, norm2, s
from commbounds.theory.rotations.representations import KASHIN, TWO_SIDED, UNIFORM
from commbounds.theory.rotations.roundings import DITHERED, FEEDBACK
from commbounds.theory.rotations.terms import (
    BIASED_SCALE,
    DRIVE_2021,
    DRIVE_AT,
    DRIVE_CODE,
    EDEN_2022,
    EDEN_AT,
    EDEN_CODE,
    ENTRY_VARIANCE,
    FITTED_SCALE,
    LARGEST_ERROR,
    LAW_DISTANCE,
    NORM_SCALE,
    NOTE_2026,
    ONE_BIT,
    PROJECTION_DEFECT,
    ROTATION_FITS,
    SEVERAL_ENTRIES,
    SZAREK_1976,
    TWO_SPARSE,
    UNBIASED_SCALE,
    cells,
    centroid_ratio,
    d,
    distortion,
    minor,
    one_bit_error,
    smallest_entry,
)
from commbounds.theory.rotations.together import MEANS, SUMS
from commbounds.theory.rotations.transform import HADAMARD, LLOYD_MAX
from commbounds.theory.sources import FOLKLORE, derived

_drive = CompressorClaims("rotations.drive", "DRIVE", randomised=True)
_eden = CompressorClaims("rotations.eden", "EDEN", randomised=True)
_dithering = CompressorClaims("rotations.rotateddithering", "stochastic rotated quantisation", randomised=True)
_sketch = CompressorClaims("rotations.hadamardsketch", "the Hadamard sketch", randomised=True)

_TWO = (
    "For x = (a, b), a > b > 0, at any two places, the rotated entries are plus or minus a + b or a - b, half of them "
    "each, and their signs are those of the larger entry: D H sign(H D x) is d at its place and zero elsewhere, for "
    "every D. ||HDx||_1 = d a, so the estimate is (a^2 + b^2)/a there, or a with the biased scale."
)
_RATIOS = "Codes depend only on the direction of x, and the scale scales."
_ODD = "C(-x) with the signs -D has the rotated vector of C(x) with D, and its estimate times -1."
_SCALABLE = (ANY_FACTOR, MIDDLE_RANGE, ROTATION_FITS)
_PARTIAL = "Only the first n entries are kept: the error of padded zeros does not count."

DRIVE: tuple[Claim, ...] = (
    Claim(
        name="rotations.drive.unbiased",
        title="With the scale ||x||^2/||HDx||_1 and the Hadamard rotation, DRIVE is unbiased",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(UNBIASED_SCALE, ROTATION_FITS),
        source=derived(
            "It is proved for the uniform rotation; one would expect the same of the Hadamard transform, which the "
            "code uses. Refuted by (3, 1), which has no zero rotated entry: the estimate is (10/3, 0) for every D. "
            f"{_TWO}",
            code=DRIVE_AT.at("drive_tf/drive_encoding_stages.py", "60-66"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.drive.two_sparse_bias",
        extremal="(3, 1, 0, ..., 0), of any length: a mean error of (1/3, -1)",
        note="The uniform rotation with this scale is unbiased, by symmetry. Its authors say that one transform is not "
        "suitable in the worst case (arXiv:2605.06014). The code draws signs of zeros to be unbiased, and says that "
        "this probably has little effect: it has none, as D and -D give opposite signs except at zeros.",
    ),
    Claim(
        name="rotations.drive.two_sparse_bias",
        title="DRIVE replaces two nonzero entries by the larger one: the bias is their ratio",
        relation=Eq(BIAS, minor),
        kind=Kind.EXPECTED,
        assumes=(UNBIASED_SCALE, TWO_SPARSE, ROTATION_FITS),
        source=derived(f"{_TWO} The bias is (b^2/a, -b), over a: b/a is larger."),
        axis="minor",
        note="It holds for every length: further zeros do not reduce it.",
    ),
    Claim(
        name="rotations.drive.two_sparse_error",
        title="On two nonzero entries, the error of DRIVE is the squared ratio in every draw, and of any average",
        relation=Eq(RELATIVE_ERROR, minor**2),
        kind=Kind.EXPECTED,
        assumes=(UNBIASED_SCALE, TWO_SPARSE, ROTATION_FITS),
        source=derived(f"{_TWO} ((b^2/a)^2 + b^2)/(a^2 + b^2) = b^2/a^2."),
        axis="minor",
        note="The error is all bias: the mean of any number of independent estimates has the same error.",
    ),
    Claim(
        name="rotations.drive.two_sparse_error_biased",
        title="DRIVE with the biased scale loses the smaller of two nonzero entries",
        relation=Eq(RELATIVE_ERROR, minor**2 / (1 + minor**2)),
        kind=Kind.EXPECTED,
        assumes=(BIASED_SCALE, TWO_SPARSE, ROTATION_FITS),
        source=derived(_TWO),
        axis="minor",
    ),
    Claim(
        name="rotations.drive.projection",
        title="With DRIVE's unbiased scale, the estimate's inner product with x is ||x||^2 in every draw",
        relation=Eq(PROJECTION_DEFECT, 0),
        assumes=(NONZERO, UNBIASED_SCALE, ROTATION_FITS),
        source=DRIVE_CODE.official_code(
            "drive_tf/drive_encoding_stages.py: the scale is ||x||^2 over the inner product of x and its estimate",
            "<D H c, x> = <c, H D x>, of which the scale is the reciprocal, times ||x||^2; padded zeros add nothing.",
            code=DRIVE_AT.at("drive_tf/drive_encoding_stages.py", "5-7"),
        ),
        note="The scale makes the error orthogonal to x for every rotation. The rest averages out only if the law of "
        "the rotation is symmetric about x.",
    ),
    Claim(
        name="rotations.drive.error_uniform",
        title="With the unbiased scale, DRIVE's expected error is at most pi/2 - 1",
        relation=Le(RELATIVE_ERROR, sp.pi / 2 - 1),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, UNBIASED_SCALE, ROTATION_FITS),
        source=NOTE_2026.read(
            "abstract: randomized Hadamard transforms can replace uniform random rotations; the constant is the "
            "limit of uniform ones",
            "Refuted by two equal entries, whose error is one, and by four at the places 0 .. 3, where it is 3/2: half "
            "of the sign patterns are a row, and then ||HDx||_1 = ||x||_1 is half of its other value.",
            reading="It is read as the constant for the Hadamard rotation as well.",
        ),
        stands=Standing.REFUTED,
        extremal="four equal entries at the first four of d places: 3/2",
        note="No error above 3/2 was found for d = 4 and d = 8; four equal entries have 3/2 for every d >= 4.",
    ),
    Claim(
        name="rotations.drive.contraction",
        title="With the biased scale, DRIVE contracts by one half in expectation, for any length",
        relation=Le(RELATIVE_ERROR, sp.Rational(1, 2)),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, BIASED_SCALE, ROTATION_FITS),
        source=SZAREK_1976.second_hand(
            "E |sum_k D_k x_k| >= ||x||/sqrt 2",
            "The scale ||y||_1/d^2, y = H D x, is that of the orthogonal projection onto the line of D H sign(y), "
            "whose norm is d: the error is ||x||^2 - ||y||_1^2/d^2. By Jensen and Szarek its mean is at most "
            f"||x||^2 - (E |y_j|)^2 <= ||x||^2/2, as all y_j have one law. {_PARTIAL}",
            reading="The application to DRIVE is ours: the inequality is Szarek's.",
        ),
        tightness=1,
        extremal="two equal entries, the others zero",
        note="No better bound holds for all x: two equal entries attain Szarek's constant.",
    ),
    Claim(
        name="rotations.drive.contraction_uniform",
        title="With the biased scale, DRIVE's expected error is at most 1 - 2/pi",
        relation=Le(RELATIVE_ERROR, 1 - 2 / sp.pi),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, BIASED_SCALE, ROTATION_FITS),
        source=NOTE_2026.read(
            "abstract: randomized Hadamard transforms can replace uniform random rotations",
            "For a uniform rotation it is (1 - 2/pi)(1 - 1/d), as E |u_i u_j| = 2/(pi d) on the sphere: derived, not "
            "run here. Two equal entries, with the Hadamard rotation, have the error 1/2 for every D.",
            reading="It is read as the constant for the Hadamard rotation as well.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.drive.contraction",
        tightness=sp.pi / (2 * (sp.pi - 2)),
        extremal="two equal entries, the others zero",
        note="The abstract of arXiv:2605.06014 (read) says that one rotation is not suitable in the worst case; this "
        "is the amount.",
    ),
    Claim(
        name="rotations.drive.one_sparse",
        title="DRIVE reproduces one nonzero entry",
        relation=Eq(RELATIVE_ERROR, 0),
        assumes=(ONE_SPARSE, ROTATION_FITS),
        source=derived("All rotated entries have one magnitude, so that they are their signs times the scale."),
    ),
    Claim(
        name="rotations.drive.worst_draw",
        title="With the unbiased scale, no draw of DRIVE has an error above d - 1",
        relation=Le(LARGEST_ERROR, d - 1),
        assumes=(NONZERO, UNBIASED_SCALE, ROTATION_FITS),
        source=derived(
            "The squared norm of the estimate is d^2 ||x||^4/||y||_1^2, y = H D x, and ||y||_1 >= ||y||_2 = "
            f"sqrt(d) ||x||; its inner product with x is ||x||^2. {_PARTIAL}"
        ),
        tightness=1,
        extremal="equal magnitudes, no padding: a pattern of signs is a row, and the rotated vector has one entry",
        note="The draw has the probability 2 d/2^n there (rotations.randomised_hadamard.peak).",
    ),
    Claim(
        name="rotations.drive.worst_draw_biased",
        title="With the biased scale, every draw of DRIVE contracts by at least 1 - 1/d",
        relation=Le(LARGEST_ERROR, 1 - 1 / d),
        assumes=(NONZERO, BIASED_SCALE, ROTATION_FITS),
        source=derived(f"1 - ||y||_1^2/(d^2 ||x||^2) with ||y||_1^2 >= ||y||_2^2 = d ||x||^2. {_PARTIAL}"),
        tightness=1,
        extremal="equal magnitudes, no padding: a pattern of signs is a row, and the rotated vector has one entry",
    ),
    _drive.wire(d + itembits, "a scale, and a bit for every rotated entry", (ROTATION_FITS,)),
    Claim(
        name="rotations.drive.wire_one",
        title="DRIVE sends one bit per entry, and a scale",
        relation=Le(BITS, n + itembits),
        assumes=(ROTATION_FITS,),
        source=DRIVE_2021.read(
            "abstract: vectors of dimension d are sent with d (1 + o(1)) bits each",
            "Refuted by every n that is not a power of two, as the rotated vector is padded to one; the authors' torch "
            "code of DRIVE accepts no other lengths, that of EDEN pads (padToPowerOf2 in torch/hadamard.py).",
            reading="It is read for the Hadamard rotation and every length; the text is about rotations of dimension "
            "d.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.drive.wire_padded",
        extremal="one entry more than a power of two",
        note="It takes up to twice the bits: 2 n - 2 for n = 2^j + 1.",
    ),
    Claim(
        name="rotations.drive.wire_padded",
        title="DRIVE's padding takes less than one more bit per entry",
        relation=Le(BITS, 2 * n - 2 + itembits),
        assumes=(SEVERAL_ENTRIES, ROTATION_FITS),
        source=derived("The least power of two that is n or more is 2 (n - 1) at most, for n >= 2."),
        tightness=1,
        extremal="one entry more than a power of two",
    ),
    _drive.sign_symmetry(_ODD, (ROTATION_FITS,)),
    _drive.scale_equivariance(_RATIOS, _SCALABLE),
    _drive.no_idempotence(
        "x = (1, 1, 1, 1): half of the draws reproduce it, and three of eight pairs of draws in a row differ",
        (ROTATION_FITS,),
    ),
)

_PANTER = sp.sqrt(3) * sp.pi / (2 * cells**2)

EDEN: tuple[Claim, ...] = (
    Claim(
        name="rotations.eden.unbiased",
        title="EDEN, with its Hadamard rotation, is unbiased",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(UNBIASED_SCALE, ROTATION_FITS),
        source=EDEN_CODE.official_code(
            "README.md, line 8: a lossy unbiased compression technique; torch/eden.py rotates by one randomised "
            "Hadamard transform",
            "Refuted by (3, 1): the rotated entries are 4 and 2 up to sign, whose centroids have another ratio "
            "than 2, and the estimate is the same for every D.",
            "It is read for the code's single transform; the README's statement is proved for uniform rotations.",
            code=EDEN_AT.at("torch/eden.py", "113-121"),
        ),
        stands=Standing.REFUTED,
        extremal="(3, 1): the mean is (2.826, 1.522) with two bits",
        note="It is unbiased with a uniform rotation. The bias does not shrink with the length: (3, 1, 0, ..., 0) has "
        "the same. Its authors say that one transform is not suitable in the worst case (arXiv:2605.06014).",
    ),
    Claim(
        name="rotations.eden.projection",
        title="With EDEN's unbiased scale, the estimate's inner product with x is ||x||^2 in every draw",
        relation=Eq(PROJECTION_DEFECT, 0),
        assumes=(NONZERO, UNBIASED_SCALE, ROTATION_FITS),
        source=EDEN_CODE.official_code(
            "torch/eden.py: scale = sum_squares(x)/(centroids @ x), of the rotated vector",
            "<D H c, x> = <c, H D x>, of which the scale is the reciprocal, times ||x||^2.",
            code=EDEN_AT.at("torch/eden.py", "55"),
        ),
    ),
    Claim(
        name="rotations.eden.one_bit",
        title="With one bit EDEN equals DRIVE",
        relation=Eq(LAW_DISTANCE, 0),
        kind=Kind.LAW,
        assumes=(NONZERO, ONE_BIT, FITTED_SCALE, ROTATION_FITS),
        source=NOTE_2026.read(
            "abstract: DRIVE is a one-bit quantiser that EDEN extended to any number of bits",
            "The one centroid cancels against the scale. EDEN gives a rotated zero the lower centroid and DRIVE the "
            "upper sign: D and -D exchange the two.",
        ),
    ),
    Claim(
        name="rotations.eden.contraction",
        title="With the biased scale, EDEN contracts in expectation for any length",
        relation=Le(RELATIVE_ERROR, 1 - 2 * centroid_ratio / (1 + centroid_ratio) ** 2),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, BIASED_SCALE, ROTATION_FITS),
        source=derived(
            "The error is ||x||^2 - <c, y>^2/(d ||c||^2), y = H D x. Magnitudes of y and c are ordered alike: <c, "
            "y> >= ||c||_1 ||y||_1/d (Chebyshev). ||c||_1^2 >= d ||c||^2 4 r/(1 + r)^2 for magnitudes within a factor "
            "r (Polya and Szego), and E ||y||_1^2 >= d^2 ||x||^2/2 as for rotations.drive.contraction."
        ),
        tightness=1,
        extremal="one bit: two equal entries, the others zero",
        axis="centroid_ratio",
    ),
    Claim(
        name="rotations.eden.more_bits",
        title="EDEN's error with two or more bits is at most that with one, on every vector",
        relation=Le(RELATIVE_ERROR, one_bit_error),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, FITTED_SCALE, ROTATION_FITS),
        source=FOLKLORE.recalled(
            "more bits, less error",
            "Refuted by (50, 1): rotated magnitudes are 49 and 51, in units of the norm 0.9798 and 1.0198, and the "
            "boundary between the two centroids of two bits, 0.45 and 1.51, lies at 0.9816 between them.",
        ),
        stands=Standing.REFUTED,
        extremal="(50, 1, 0, ..., 0): 0.0004 with one bit, 0.263 with two",
        axis="one_bit_error",
        note="Rotations are meant for one large entry, and there two bits have 658 times the error, twice the constant "
        "of uniform rotations, 0.1331.",
    ),
    Claim(
        name="rotations.eden.one_sparse",
        title="EDEN reproduces one nonzero entry, for any centroids",
        relation=Eq(RELATIVE_ERROR, 0),
        assumes=(ONE_SPARSE, FITTED_SCALE, ROTATION_FITS),
        source=derived("All rotated entries have one magnitude, and so have their centroids, which cancel."),
    ),
    Claim(
        name="rotations.eden.error_uniform",
        title="With the unbiased scale and b bits, EDEN's expected error is at most D_b/(1 - D_b)",
        relation=Le(RELATIVE_ERROR, distortion / (1 - distortion)),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, UNBIASED_SCALE, ROTATION_FITS),
        source=EDEN_2022.recalled(
            "the limit for uniform rotations: 0.571, 0.133, 0.0358, 0.00959 for one to four bits",
            "E ||c||^2 = 1 - D_b and <c, y> of a normal y is 1 - D_b as well: 1/(1 - D_b) - 1. Refuted for the "
            "Hadamard rotation by two equal entries with one bit, and by four with two: 0.1348.",
            reading="It is read for the Hadamard rotation of the code.",
        ),
        stands=Standing.REFUTED,
        extremal="one bit: two equal entries, an error of 1 and not 0.571; two bits: four equal entries, 0.1348",
        axis="normal_distortion",
        note="It fails by more if one entry is large: (50, 1) has the error 0.263 with two bits, see "
        "rotations.eden.more_bits.",
    ),
    Claim(
        name="rotations.eden.norm_uniform",
        title="With the scale ||x||/d and b bits, EDEN's expected error is at most sqrt(3) pi/2 4^-b",
        relation=Le(RELATIVE_ERROR, _PANTER),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, NORM_SCALE, ROTATION_FITS),
        source=NOTE_2026.read(
            "abstract: TurboQuant's first quantiser is EDEN with a fixed scale, and randomized Hadamard transforms can "
            "replace uniform rotations",
            "Refuted by one nonzero entry: all rotated entries are plus or minus ||x||, and with two bits they go to "
            "1.5104 ||x||: 0.2605 and not 0.1700.",
            reading="It is read as TurboQuant's bound for uniform rotations, sqrt(3) pi/2 4^-b, with the Hadamard "
            "rotation.",
        ),
        stands=Standing.REFUTED,
        extremal="one nonzero entry, two bits: 0.2605 for 0.1700; three bits: 0.0595 for 0.0425",
        axis="cells",
        note="The scale that follows from the codes reproduces that entry (rotations.eden.one_sparse). A shared random "
        "offset is another correction: the abstract of arXiv:2605.13810 (read) claims sqrt(3) pi/2 + o(1) with it.",
    ),
    _eden.wire(width * d + itembits, "a scale, and b bits for every rotated entry", (ROTATION_FITS,), axis="width"),
    _eden.sign_symmetry(_ODD, (ROTATION_FITS,)),
    _eden.scale_equivariance(_RATIOS, _SCALABLE),
    _eden.no_idempotence(
        "x = (1, 1, 1, 1): half of the draws reproduce it, and three of eight pairs of draws in a row differ",
        (ROTATION_FITS,),
    ),
)

_OMEGA = sp.Max(0, d / 2 - 1) / s**2
_ODD_LEVELS = "C(-x) with the signs -D rounds the same rotated vector, and its estimate is C(x) with D, times -1."

ROTATED_DITHERING: tuple[Claim, ...] = (
    _dithering.unbiased("Every level has its entry as its mean, given D, and the rest is linear.", (ROTATION_FITS,)),
    Claim(
        name="rotations.rotateddithering.variance",
        title="The error of stochastic rotated quantisation is at most (d/2 - 1)/s^2, given the rotation",
        relation=Le(RELATIVE_ERROR, _OMEGA),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, ROTATION_FITS),
        source=derived(
            "The least and the largest entry are levels; the other d - 2 have an error of at most (high - low)^2/(4 "
            "d^2 s^2), in the unit of y/d, and D H multiplies by d: (1 - 2/d)(high - low)^2/(4 s^2). And (high - "
            f"low)^2 <= 2 (high^2 + low^2) <= 2 ||y||^2 = 2 d ||x||^2. {_PARTIAL}"
        ),
        tightness=1,
        extremal="s odd and x = (0, 1, 0, 1): the rotated vector is (2, -2, 0, 0) in some order, for every D",
        unpinned=(
            (
                "without the factor Max(*)",
                "still true for all vectors of up to five entries: none has an error above 1/s^2",
            ),
        ),
        note="Up to d = 16 smaller than (2 ln d + 2)/s^2, the bound of Suresh et al. (2017, recalled) for k = s + 1 "
        "levels, which is not attained. For d = 2 there is no error: both entries are levels.",
    ),
    Claim(
        name="rotations.rotateddithering.one_sparse",
        title="Stochastic rotated quantisation reproduces one nonzero entry",
        relation=Eq(RELATIVE_ERROR, 0),
        kind=Kind.EXPECTED,
        assumes=(ONE_SPARSE, ROTATION_FITS),
        source=derived("All rotated entries have one magnitude: each is the least or the largest, which are levels."),
        note="Without the rotation, levels between the smallest and the largest entry also reproduce it.",
    ),
    _dithering.wire(
        d * index_bits(s + 1) + 2 * itembits,
        "two numbers, and ceil(log2(s + 1)) bits for every rotated entry",
        (ROTATION_FITS,),
    ),
    _dithering.shrunk_contraction(
        _OMEGA,
        (ROTATION_FITS,),
        extremal="s odd and x = (0, 1, 0, 1): the rotated vector is (2, -2, 0, 0) in some order",
    ),
    _dithering.sign_symmetry(_ODD_LEVELS, (ROTATION_FITS,)),
    _dithering.no_idempotence(
        "x = (2, 1, 1), s = 1: half of the outputs change in the next draw, as the padding is dropped", (ROTATION_FITS,)
    ),
    _dithering.scale_equivariance("Levels depend on ratios of differences, which scaling does not change.", _SCALABLE),
)

_SPREAD = (
    "(x' - x)_i = (1/d) sum_l (sum_j w_j H_ij H_jl) D_i D_l x_l with w_j = d/k - 1 where j is drawn and -1 elsewhere. "
    "The sum of the w_j is zero, so l = i adds nothing. For l != i, H_ij H_jl is a row with as many +1 as -1, and "
    "without replacement E (sum_j w_j h_j)^2 = d^2 (d/k - 1)/(d - 1); the signs make different l uncorrelated."
)

SKETCH: tuple[Claim, ...] = (
    _sketch.unbiased(
        "Every rotated entry is sent with probability k/d, times d/k; the rest is linear.", (ROTATION_FITS,)
    ),
    Claim(
        name="rotations.hadamardsketch.variance",
        title="The exact error of the Hadamard sketch, without the padding",
        relation=Eq(RELATIVE_ERROR, (d / k - 1) * (n - 1) / (d - 1)),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, SEVERAL_ENTRIES, ROTATION_FITS),
        source=derived(f"{_SPREAD} Summed over the n entries: (d/k - 1)(n - 1)/(d - 1) ||x||^2."),
        axis="k",
    ),
    _sketch.shrunk_contraction((d / k - 1) * (n - 1) / (d - 1), (SEVERAL_ENTRIES, ROTATION_FITS), axis="k"),
    Claim(
        name="rotations.hadamardsketch.variance_unpadded",
        title="The Hadamard sketch has the variance of random sparsification, d/k - 1",
        relation=Eq(RELATIVE_ERROR, d / k - 1),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, SEVERAL_ENTRIES, ROTATION_FITS),
        source=FOLKLORE.recalled(
            "the variance n/k - 1 of random sparsification, for the rotated vector",
            "It holds for the padded vector, and so if n = d: the rotation changes no norm. If n < d, some of the "
            "error is on the padding, which is dropped.",
            reading="It is read with padding.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.hadamardsketch.variance",
        extremal="three entries, k = 1: 2 and not 3",
        axis="k",
        note="Compare it with n/k - 1 for the same k: it is equal for k = 1, and larger for k > 1. Padding never pays.",
    ),
    Claim(
        name="rotations.hadamardsketch.entry_variance",
        title="The Hadamard sketch spreads its error: every entry's share is equal, less that of its own square",
        relation=Eq(ENTRY_VARIANCE, (d / k - 1) * (1 - (smallest_entry / norm2) ** 2) / (d - 1)),
        kind=Kind.EXPECTED,
        assumes=(NONZERO, SEVERAL_ENTRIES, ROTATION_FITS),
        source=derived(f"{_SPREAD} So E (x' - x)_i^2 = (d/k - 1)(||x||^2 - x_i^2)/(d - 1)."),
        axis="k",
        note="Without rotation, random sparsification has (n/k - 1) x_i^2/||x||^2: the error is where the entries of x "
        "are.",
    ),
    _sketch.wire(k * itembits, "k values; the seed determines their places", (ROTATION_FITS,), axis="k"),
    _sketch.sign_symmetry("The estimate is linear in x, given the seed.", (ROTATION_FITS,)),
    _sketch.no_idempotence(
        "x = (1, 0), k = 1: C(x) = (1, 1) or (1, -1), which the next draw doubles or loses", (ROTATION_FITS,)
    ),
    _sketch.scale_equivariance("The estimate is linear in x, given the seed.", _SCALABLE),
)

DEFINITIONS = defined(
    "rotations",
    {
        "DRIVE": (
            "Written from the docstring (Vargaftik et al. 2021) and its rules for zeros and for the scale: signs and "
            "codes in the same bits; the scale, where sums in float64 are not exact, within what any order of "
            "additions may round it to."
        ),
        "EDEN": (
            "Written from the docstring (Vargaftik et al. 2022): the lower centroid on a boundary. The centroids are "
            "computed again in 40 digits; numbers agree within the roundings of these and of the sums."
        ),
        "RotatedDithering": (
            "Written from the docstring (Suresh et al. 2017), whose formulas are evaluated in float64 from left to "
            "right: in the same bits."
        ),
        "HadamardSketch": "Written from the docstring, in the same bits: what is sent are the rotated entries over k.",
        "randomised_hadamard": (
            "Written from the docstring: integers by the formula of Sylvester's matrix, floats by sums and "
            "differences of the halves, in the same bits."
        ),
        "lloyd_max": (
            "Written from Lloyd's and Max's condition, which is solved in 40 digits; centroids and distortion agree "
            "within a bound on the roundings of the equation in float64, which the inverse of its matrix magnifies."
        ),
        "kashin": (
            "Written from the docstring (Lyubarskii and Vershynin 2010), in float64; two programs differ by at most "
            "their roundings, which clipping and the frame do not amplify."
        ),
        "dithered_hadamard": (
            "Written from the docstring (Schuchman 1964), in float64 from left to right: in the same bits."
        ),
        "rotated_signs": (
            "Written from the docstring (Vargaftik et al. 2021), in rational numbers; in the same bits where the sums "
            "of the rotation are exact, else within their roundings."
        ),
        "ldlq": (
            "Written from the docstring (QuIP: Chee et al. 2023), in float64: elimination column by column, and "
            "errors added as they are found, in the same bits."
        ),
        "rotated_mean": (
            "Written from the docstring: estimates as of `EDEN`, added in the order of the ranks; and the bytes of "
            "every message round the ring."
        ),
        "rotated_sum": (
            "Written from the docstring, in float64: one step for all ranks, whole sums, rotated back once, in the "
            "same bits; and the bytes of every message, phase by phase."
        ),
    },
)

CLAIMS: tuple[Claim, ...] = (
    *DEFINITIONS,
    *HADAMARD,
    *TWO_SIDED,
    *LLOYD_MAX,
    *DRIVE,
    *UNIFORM,
    *EDEN,
    *ROTATED_DITHERING,
    *DITHERED,
    *SKETCH,
    *KASHIN,
    *FEEDBACK,
    *MEANS,
    *SUMS,
)
