"""Where refuted claims about rotations are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, index_bits, itembits, k, n
from commbounds.theory.rotations.representations import clip_rate, clip_rounds, left_size, right_size
from commbounds.theory.rotations.roundings import nearest_loss, pivot_sum
from commbounds.theory.rotations.terms import d, distortion, single_error, tail_at

_a, _b, _i, _j, _u, _v = sp.symbols("a b i j u v", integer=True, nonnegative=True)
_ROOM = {"rotation_fits": "Small whole numbers qualify."}
_NOT_ZERO = {"nonzero": "a is positive."}
_length = 2 ** index_bits(n)
_left, _right, _share = 2**_i, 2**_j, _u / _v
_EXACT = {"v is a power of two": sp.Mod(2**20, _v)}
_UNLIMITED = {"unlimited_levels": "The weights are rounded this way."}
_FOUR = (
    "Four equal entries are rotated to 4 a or -4 a at one of the places, or to four of one magnitude, each with "
    "probability 1/2. Signs determine the latter. The signs of 4 a, where that of zero is +, give a vector whose only "
    "entry is the first, which the next draw does not change; those of -4 a give four equal magnitudes again. The next "
    "draw changes equal magnitudes that it rotates to one of the places: (1/2 + 1/4)/2."
)

REFUTATIONS = by_claim(
    Refutation(
        claim="rotations.drive.unbiased",
        words="Rotated, (a, b) with a > b has the signs of a alone: the estimate is (a^2 + b^2)/a there, for every "
        "draw. The second entry has the error b.",
        whole={_a: 1, _b: 0},
        measured=_b / _a,
        x=(_a, _b),
        positive={"a > b": _a - _b},
        met={"unbiased_scale": "The compressor runs this way.", **_ROOM},
    ),
    Refutation(
        claim="rotations.drive.wire_one",
        words="A scale of 32 bits, and a bit for every rotated entry.",
        whole={n: 1},
        measured=32 + _length,
        values={n: n, itembits: 32},
        met=_ROOM,
    ),
    Refutation(
        claim="rotations.hadamardsketch.variance_unpadded",
        words="Equal entries; of the error a share of (n - 1)/(d - 1) is on the entries, d the padded length.",
        whole={n: 2, k: 1},
        measured=(_length / k - 1) * (n - 1) / (_length - 1),
        values={n: n, k: k},
        given={"k <= d": _length - k},
        met={"nonzero": "The entries are 1.", **_ROOM},
    ),
    Refutation(
        claim="rotations.hadamardsketch.idempotence",
        words="Of (a, 0) either rotated entry is sent, doubled: (a, a) or (a, -a), of which one rotated entry is zero, "
        "so that it is doubled, or lost.",
        whole={_a: 1},
        measured=sp.Integer(1),
        x=(_a, 0),
        met=_ROOM,
    ),
    Refutation(
        claim="rotations.rotated_mean.averages",
        words="Both ranks have (a, b), a > b, and both estimates are (a^2 + b^2)/a and zero, for every draw: so is "
        "their mean, with the error b^2/a^2 of the square.",
        whole={_a: 1, _b: 1},
        measured=_b**2 / _a**2,
        values={P: 2, single_error: _b**2 / _a**2},
        x=((_a, _b), (_a, _b)),
        positive={"a > b": _a - _b},
        met={"equal_vectors": "They are.", "private_seeds": "The collective runs this way."},
    ),
    Refutation(
        claim="rotations.randomised_hadamard.uncorrelated",
        words="Two entries a and b: the rotated ones are a + b and a - b up to signs, with the product a^2 - b^2 in "
        "the mean, and the square a^2 + b^2.",
        whole={_a: 1, _b: 0},
        measured=sp.Abs(_a**2 - _b**2) / (_a**2 + _b**2),
        values={n: 2},
        x=(_a, _b),
        met=_NOT_ZERO,
    ),
    Refutation(
        claim="rotations.randomised_hadamard.two_sided",
        words="A matrix of ones, of 2^i rows and 2^j columns: where either pattern of signs is a row of the transform, "
        "up to its sign, one rotated entry has all of it, the root of 2^(i + j) norms. These are 2 m of 2^m patterns.",
        whole={_i: 0, _j: 0},
        measured=(2 * _left / 2**_left) * (2 * _right / 2**_right),
        values={left_size: _left, right_size: _right, tail_at: sp.sqrt(_left * _right)},
    ),
    Refutation(
        claim="rotations.drive.error_uniform",
        words="Rotated, (a, b) with a >= b has the signs of a alone: the estimate is (a^2 + b^2)/a there, for every "
        "draw, and the squared error b^4/a^2 + b^2.",
        whole={_a: 1, _b: 0},
        measured=_b**2 / _a**2,
        x=(_a, _b),
        given={"a >= b": _a - _b},
        met={"unbiased_scale": "The compressor runs this way.", **_NOT_ZERO, **_ROOM},
    ),
    Refutation(
        claim="rotations.eden.unbiased",
        words="One bit. Rotated, (a, b) with a > b has the signs of a alone: the estimate is (a^2 + b^2)/a there, for "
        "every draw. The second entry has the error b.",
        whole={_a: 1, _b: 0},
        measured=_b / _a,
        x=(_a, _b),
        positive={"a > b": _a - _b},
        met={"unbiased_scale": "The compressor runs this way.", **_ROOM},
    ),
    Refutation(
        claim="rotations.eden.error_uniform",
        words="One bit, of which the distortion is 1 - 2/pi. Rotated, (a, b) with a >= b has the signs of a alone: the "
        "estimate is (a^2 + b^2)/a there, for every draw.",
        whole={_a: 1, _b: 0},
        measured=_b**2 / _a**2,
        values={distortion: 1 - 2 / sp.pi},
        x=(_a, _b),
        given={"a >= b": _a - _b},
        met={"unbiased_scale": "The compressor runs this way.", **_NOT_ZERO, **_ROOM},
    ),
    Refutation(
        claim="rotations.drive.contraction_uniform",
        words="Rotated, (a, b) with a >= b has the signs of a alone: with the biased scale the estimate is a there, "
        "for every draw.",
        whole={_a: 1, _b: 0},
        measured=_b**2 / (_a**2 + _b**2),
        x=(_a, _b),
        given={"a >= b": _a - _b},
        met={"biased_scale": "The compressor runs this way.", **_NOT_ZERO, **_ROOM},
    ),
    *(
        Refutation(
            claim=f"rotations.{name}.idempotence",
            words=_FOUR,
            whole={_a: 1},
            measured=sp.Rational(3, 8),
            x=(_a, _a, _a, _a),
            met=_ROOM,
        )
        for name in ("drive", "eden")
    ),
    Refutation(
        claim="rotations.rotateddithering.idempotence",
        words="Three equal entries, and a zero that pads them, are rotated to 3 a, a, a and -a in some order, up to "
        "the sign, and either of the two a becomes 3 a or -a, with probability 1/2. What comes out is, up to signs and "
        "order, (2 a, a, a), (2 a, a, 0), again (2 a, a, 0), or (0, a, a), with probability 1/4 each. The rotated "
        "entries of (2 a, a, 0) are levels, and those of the others change in every next draw.",
        whole={_a: 1},
        measured=sp.Rational(1, 2),
        x=(_a, _a, _a),
        met=_ROOM,
    ),
    Refutation(
        claim="rotations.dithered_hadamard.unbiased_clipped",
        words="Four entries of a steps: where the signs are a row of the transform, one rotated entry has 2 a steps, "
        "is coded as 2 a for every offset, and clipped to r: an entry has the error a - r/2. Rotated entries of a "
        "steps, for the other signs, are not clipped.",
        whole={_a: 1, _u: 1},
        measured=_a - _u / 2,
        x=(_a, _a, _a, _a),
        given={"a <= r": _u - _a, "r <= 2 a": 2 * _a - _u},
    ),
    Refutation(
        claim="rotations.dithered_hadamard.one_offset",
        words="Only the first of n entries is nonzero: all rotated ones are equal, and so are their errors; rotated "
        "back the first entry has all of them: d/12, and all others none.",
        whole={n: 1},
        measured=d / 12,
        values={n: n},
        met={"one_offset": "It runs this way.", "no_overload": "Codes are not limited."},
    ),
    Refutation(
        claim="rotations.kashin.range",
        words="Nine entries of a or -a and two zeros: of 16 coefficients of the transform four have 5 a/4, four 3 a/4 "
        "and the others a/4, up to the signs. Two rounds, the first of which clips to 3 a/4, for any rate; the rest "
        "has 9 a/16 at one of the four, which becomes 21 a/16.",
        whole={_a: 1},
        measured=sp.Rational(21, 20),
        x=tuple(s * _a for s in (-1, 1, -1, 1, 1, 1, -1, 0, 1, 0, -1)),
        met={"nonzero": "a is positive.", "last_round_exact": "It runs this way."},
    ),
    Refutation(
        claim="rotations.kashin.residual_default",
        words="n = 2^j ones, as many coefficients: one of them has the root of n, and is clipped to one; a round at "
        "the rate u/v.",
        whole={_j: 0, _u: 1, _v: 2},
        measured=1 - 1 / sp.sqrt(_right),
        values={clip_rate: _share, clip_rounds: 1},
        positive={"u < v": _v - _u},
        met={"nonzero": "Entries are 1.", "all_rounds_clip": "It runs this way."},
    ),
    Refutation(
        claim="rotations.ldlq.limited",
        words="Pivots 1 and 4, L_21 = -2 and the weights 0 and t = u/v: the second is rounded to zero, feedback asks "
        "for -2 t, below -1/2, and gets zero: (2 t)^2 + 4 t^2. A power of two for v, so that floats are exact.",
        whole={_u: 1, _v: 1},
        measured=8 * _share**2,
        values={pivot_sum: 5},
        positive={"t > 1/4": 4 * _u - _v, "t < 1/2": _v - 2 * _u},
        zero=_EXACT,
        met={"weights_in_range": "0 and t are between 0 and 3."},
    ),
    Refutation(
        claim="rotations.ldlq.nearest",
        words="Pivots 64, 1 and 1, L_21 = L_31 = -1/2, L_32 = 1 and three weights t = u/v from 1/4 on, below 1/2. To "
        "nearest all are zero, which loses 0 + (2 t)^2 + t^2. With feedback the second becomes 1 for 2 t, and the "
        "first is half a unit off: 64/4 + (1 - 2 t)^2 + t^2. A power of two for v, so that floats are exact.",
        whole={_u: 1, _v: 1},
        measured=16 + (1 - 2 * _share) ** 2 + _share**2,
        values={nearest_loss: 5 * _share**2},
        given={"t >= 1/4": 4 * _u - _v},
        positive={"t < 1/2": _v - 2 * _u},
        zero=_EXACT,
        met=_UNLIMITED,
    ),
)
