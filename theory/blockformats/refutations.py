"""Where refuted claims about block-scaled formats are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.blockformats.hops import halvings, hopnoise, ring_growth, tablenoise, tailshare
from commbounds.theory.blockformats.terms import codebits, element_unit, elementbits, gridstep, overshoot, peak
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, block, index_bits, n

_a, _u, _v, _j, _w, _f, _t = sp.symbols("a u v j w f t", integer=True, nonnegative=True)
_FITS = {"e8m0_fits": "Small numbers do."}
_SUMS_FIT = {"sums_fit_e8m0": "Small numbers do."}
_NOT_ZERO = {"nonzero": "It is not zero."}
_FLOOR = {"floor_scale": "The quantiser runs this way."}
_RCEIL = {"rceil_scale": "The quantiser runs this way."}
_E2M1 = {"e2m1_elements": "The quantiser runs this way."}
_NEAREST = {"nearest_scale": "The quantiser runs this way."}
_SPECIFIED = {"clipping_scale": "The quantiser runs this way."}
_EXACT = {"v is a power of two": sp.Mod(2**20, _v)}
_ENTRY = _u / _v
_TINY = sp.Integer(2) ** (-_j)
_UNIT = sp.Rational(1, 4)

REFUTATIONS = by_claim(
    Refutation(
        claim="blockformats.microscaling.maximum_of_roundoff",
        words="E4M3: an entry u/v between 7/4 and 2 is clipped to 7/4.",
        whole={_u: 1, _v: 1},
        measured=1 - sp.Rational(7, 4) / _ENTRY,
        values={element_unit: sp.Rational(1, 16)},
        x=(_ENTRY,),
        given={"u/v >= 7/4": 4 * _u - 7 * _v},
        positive={"u/v < 2": 2 * _v - _u},
        zero=_EXACT,
        met={**_FLOOR, **_FITS, **_NOT_ZERO},
    ),
    Refutation(
        claim="blockformats.microscaling.maximum_of_rounding",
        words="E2M1: an entry u/v between 6 and 8 is clipped to 6. v is a power of two, so that floats hold the entry: "
        "without that 23/3 has the smallest sum, 26.",
        whole={_u: 1, _v: 1},
        measured=1 - 6 / _ENTRY,
        values={element_unit: _UNIT},
        x=(_ENTRY,),
        given={"u/v >= 6": _u - 6 * _v},
        positive={"u/v < 8": 8 * _v - _u},
        zero=_EXACT,
        met={**_FLOOR, **_FITS, **_NOT_ZERO, "floating_elements": "They are."},
    ),
    Refutation(
        claim="blockformats.microscaling.maximum_of_nearest_scale",
        words="E2M3: an entry u/v from 1 to 45/32, over 15/2, is next to 1/8, and clipped to 15/16.",
        whole={_u: 1, _v: 1},
        measured=1 - sp.Rational(15, 16) / _ENTRY,
        values={overshoot: sp.Rational(1, 8)},
        x=(_ENTRY,),
        given={"u/v >= 1": _u - _v},
        positive={"u/v < 45/32": 45 * _v - 32 * _u},
        zero=_EXACT,
        met={"nearest_power_scale": "The quantiser runs this way.", **_FITS, **_NOT_ZERO},
    ),
    Refutation(
        claim="blockformats.microscaling.maximum_unclipped_fixed",
        words="INT8: 127/2 + 2^-j is above half of the largest element, and becomes 64.",
        whole={_j: 2},
        measured=(sp.Rational(1, 2) - _TINY) / (sp.Rational(127, 2) + _TINY),
        values={element_unit: sp.Rational(1, 128)},
        x=(sp.Rational(127, 2) + _TINY,),
        met={**_RCEIL, **_FITS, **_NOT_ZERO, "equidistant": "They are."},
    ),
    Refutation(
        claim="blockformats.microscaling.unclipped_contracts_better",
        words="49/16 and twelve entries of 1/4, with the scale one: 3 and zeros.",
        whole={},
        measured=(sp.Rational(1, 256) + sp.Rational(12, 16)) / (sp.Rational(49, 16) ** 2 + sp.Rational(12, 16)),
        values={n: 13, block: 32, peak: 16, overshoot: sp.Rational(1, 2), element_unit: _UNIT},
        x=(sp.Rational(49, 16), *(sp.Rational(1, 4),) * 12),
        met={**_RCEIL, **_E2M1, **_FITS, **_NOT_ZERO},
    ),
    Refutation(
        claim="blockformats.microscaling.idempotence_doubled",
        words="(15/4, 1/2) becomes (4, 1/2), and with the doubled scale of 4 the second entry is half-way to zero.",
        whole={},
        measured=sp.Integer(1),
        x=(sp.Rational(15, 4), sp.Rational(1, 2)),
        met={"unsteady_scale": "The quantiser runs this way.", **_FITS},
    ),
    Refutation(
        claim="blockformats.microscaling.scale_equivariance_any",
        words="1 stays, and 5/4 becomes 1.",
        whole={},
        measured=sp.Integer(1),
        x=(1,),
        met={"factor_not_of_two": "It is 5/4.", **_FITS, "scaled_exponents_fit": "Small numbers do."},
    ),
    Refutation(
        claim="blockformats.microscaling.drift_of_nonuniform_grids",
        words="E2M1 and a uniform density, on midpoints of a grid of 1/8: errors cancel.",
        whole={},
        measured=sp.Integer(0),
        values={gridstep: sp.Rational(1, 8)},
        met={"floating_elements": "They are.", "either_density": "It is uniform."},
    ),
    Refutation(
        claim="blockformats.microscaling.drift_equidistant",
        words="INT4 and a density that falls to zero at 7/4, on midpoints of a grid of 1/8: in each of seven gaps the "
        "smaller one loses 1/16 and the larger gains it, with weights 7/4 - a that differ by 1/8; the fourteen weights "
        "add up to 49/4.",
        whole={},
        measured=sp.Rational(-1, 224),
        values={gridstep: sp.Rational(1, 8)},
        met={"equidistant": "They are.", "either_density": "It falls."},
    ),
    Refutation(
        claim="blockformats.stochastic.unbiased_by_specification",
        words="E2M1: an entry a between 6 and 8 is clipped to 6.",
        whole={_a: 1},
        measured=(_a - 6) / _a,
        x=(_a,),
        given={"a >= 6": _a - 6},
        positive={"a < 8": 8 - _a},
        met={**_SPECIFIED, **_FITS},
    ),
    Refutation(
        claim="blockformats.stochastic.variance_of_smallest",
        words="5 and 1/4, with the scale one: 4 or 6, and 0 or 1/2, with variances 1 and 1/16.",
        whole={},
        measured=sp.Rational(17, 401),
        x=(5, _UNIT),
        met={**_RCEIL, **_E2M1, **_FITS, **_NOT_ZERO},
    ),
    Refutation(
        claim="blockformats.nvfp4.maximum_any_scale",
        words="Next to 458752 the scale of 1 would be half of the smallest, and is zero.",
        whole={},
        measured=sp.Integer(1),
        x=(458752, 1),
        met={**_NEAREST, "tensor_fits": "It does.", **_NOT_ZERO},
    ),
    Refutation(
        claim="blockformats.nvfp4.idempotence",
        words="Beside 2688 the scale of 13/2048 would be 13/24 of the smallest, 1/512, and is that; the entry, 13/4 of "
        "it, becomes 3. The next scale would be half of the smallest, and is zero.",
        whole={},
        measured=sp.Integer(1),
        x=(2688, sp.Rational(13, 2048)),
        met={**_NEAREST, "tensor_fits": "It does."},
    ),
    Refutation(
        claim="blockformats.stochastic_nvfp4.unbiased_by_recipe",
        words="Beside 2688 the scale of 102 is 17, rounded to 16: it becomes 96.",
        whole={},
        measured=sp.Rational(6, 2688),
        x=(2688, 102),
        met={**_NEAREST, "normal_scales": "They are."},
    ),
    Refutation(
        claim="blockformats.mseden.unbiased",
        words="The mean over all signs is (5, 55/29, 35/29, 0).",
        whole={},
        measured=sp.Rational(6, 29) / 5,
        x=(5, 2, 1, 0),
        met={"rotated_together": "Four are."},
    ),
    Refutation(
        claim="blockformats.requantised.bits_an_entry",
        words="Two ranks: each sends a part of n/2 entries twice, ceil(n/4) bytes and ceil(n/64) of scales.",
        whole={n: 2},
        measured=8 * (sp.ceiling(n / 4) + sp.ceiling(n / 64)) / (n / 2),
        values={P: 2, n: n, elementbits: 4, block: 32},
    ),
    Refutation(
        claim="blockformats.requantised.ring_error",
        words="One rank has 4, the others 7/8 each: 4 + 7/8 is rounded to 4 at every hop.",
        whole={},
        measured=sp.Rational(4 * 7, 8) / (4 + sp.Rational(4 * 7, 8)),
        values={P: 5, block: 1},
        x=((4,), *((sp.Rational(7, 8),),) * 4),
        met={"round_a_ring": "The collective runs this way.", **_FLOOR, **_E2M1, **_SUMS_FIT},
    ),
    Refutation(
        claim="blockformats.requantised.unbiased_by_specification",
        words="Both ranks have 7, and each is read as 6; 12 is an element times two.",
        whole={},
        measured=sp.Rational(1, 7),
        values={P: 2},
        x=((7,), (7,)),
        met={**_SPECIFIED, **_SUMS_FIT},
    ),
    Refutation(
        claim="blockformats.homomorphic.sum_bits_added",
        words="Codes of w bits are at most 2^(w - 1) - 1 in magnitude; sums of P of them are 2 P times that and one "
        "numbers.",
        whole={P: 1, _w: 2},
        measured=index_bits(2 * P * (2 ** (_w - 1) - 1) + 1),
        values={P: P, codebits: _w},
    ),
    Refutation(
        claim="blockformats.fouroversix.no_worse_than_nvfp4",
        words="Blocks of one entry, 21 and 3. NVFP4 has the scale 1/128 for the tensor, and 64 times that for 3: "
        "exact. Here it is 7/512, and 3 is 6 times 36 of it, 189/64, or 4 times 56, 49/16: off by 3/64 or 1/16.",
        whole={},
        measured=sp.Rational(3, 64) ** 2 / (21**2 + 3**2),
        x=(21, 3),
        met=_NOT_ZERO,
    ),
    Refutation(
        claim="blockformats.stochastic_fouroversix.unbiased_as_coded",
        words="1536 and 160 in a block: ended at 6, 160 is 128 or 256, with probabilities 3/4 and 1/4; ended at 4, it "
        "is 0 or 192, with 1/6 and 5/6. 192 replaces 256, but not 128, which is equally near. The mean is 440/3, "
        "relative to 1536.",
        whole={},
        measured=(160 - sp.Rational(440, 3)) / 1536,
        x=(1536, 160),
        met={
            "chosen_after_drawing": "The quantiser runs this way.",
            "up_scale": "So it is.",
            "tensor_fits": "It does.",
        },
    ),
    Refutation(
        claim="blockformats.table.index_sums",
        words="The table 0, 1, t, t + 1: of two ranks the indices 0 and 2 stand for t, 1 and 1 for 2. One rank's stand "
        "for one number each.",
        whole={P: 1, _t: 2},
        measured=sp.Piecewise((0, sp.Eq(P, 1) | sp.Eq(_t, 2)), (1, True)),
        values={P: P},
        given={"P <= 2": 2 - P},
    ),
    Refutation(
        claim="blockformats.table.unbiased_beyond",
        words="One rank, the table 0 and 1: a level u/v above one is always read as one.",
        whole={_u: 1, _v: 1},
        measured=_u / _v - 1,
        given={"u >= v": _u - _v},
    ),
    Refutation(
        claim="blockformats.table.two_stages",
        words="One rank, the table 0, 1, 3, 4 and the level 1, by way of f steps of 4/f, no longer than the gaps "
        "beside it, 1 and 2, together: it lies between two places, of which the lower one may become 0 and the upper "
        "one 3.",
        whole={_f: 2},
        measured=sp.Mod(_f, 4) * (4 - sp.Mod(_f, 4)) / 16 * 4 / _f * 3,
        values={tablenoise: 0},
        given={"the place above is at most 3": 3 - 4 * (sp.floor(_f / 4) + 1) / _f},
        met={"levels_in_range": "1 is.", "rounded_in_two_stages": "It runs this way."},
    ),
    Refutation(
        claim="blockformats.table.beyond_as_gaussian",
        words="2^j equal entries, signs drawn: of one or two entries no rotated one exceeds 1.42 root mean squares; of "
        "four one has two of them, and the others none, where the signs are a row of the transform: 8 of 16 "
        "patterns, a quarter of the entries. The quantile of 1/16 is 1.8627.",
        whole={_j: 0},
        measured=sp.Piecewise((0, _j < 2), (sp.Rational(1, 8), True)),
        values={tailshare: sp.Rational(1, 16)},
        given={"j <= 2": 2 - _j},
        met={"gaussian_range": "It runs this way."},
    ),
    Refutation(
        claim="blockformats.multihop.ring_bounded",
        words="Equal entries, each kept with probability 1/(1 + w): the law of blockformats.multihop.ring_law, over "
        "the square of P of them; w = u/v.",
        whole={P: 1, _u: 1, _v: 1},
        measured=ring_growth(_u / _v) / P**2,
        values={P: P, hopnoise: _u / _v},
        met={"thinned_messages": "They are.", "ring_of_hops": "It is.", "like_entries": "They are."},
    ),
    Refutation(
        claim="blockformats.multihop.nearest_error_grown",
        words="One rank has u/v between 6 and 8, which is clipped to 6. A power of two for v, so that floats are "
        "exact.",
        whole={_u: 1, _v: 1},
        measured=1 - 6 / _ENTRY,
        values={halvings: 0, block: 1},
        x=((_ENTRY,),),
        given={"u/v >= 6": _u - 6 * _v},
        positive={"u/v < 8": 8 * _v - _u},
        zero=_EXACT,
        met={
            "to_nearest_element": "It runs this way.",
            "halves": "One rank has nothing to halve.",
            **_E2M1,
            **_SUMS_FIT,
        },
    ),
)
