"""Where refuted claims about what packages ship are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, alpha, index_bits, itembits, k, n, norm1, norm2, s, sumsq
from commbounds.theory.shipped.terms import (
    atombudget,
    binades,
    budget,
    errorbound,
    nonedrawn,
    recompressions,
    ridgestep,
    ridgesteps,
    statedvariance,
)

_a, _b, _u, _v, _g, _j, _m = sp.symbols("a b u v g j m", integer=True, nonnegative=True)
_ONE = sp.Integer(1)
_ROOM = {"products_fit": "Small whole numbers qualify."}
_NOT_ZERO = {"nonzero": "a is positive."}
_MIDDLE = {"middle_range": "Small whole numbers are in it."}
_ONCE = {"overwritten": "The compressor runs this way."}
_DYADIC = {"dyadic": "They are."}
_drawn = 1 - (1 - 1 / n) ** k
_LIMIT = sp.Rational(5, 4) * (_a - _b)
_SOME = {"some_entry_not_zero": "a is positive."}
_PROPER = {"u < v": _v - _u}
_LARGE = {"atoms_not_tiny": "a is positive."}
_SIGNED = {"signed_dyadic": "They are."}
_tenth, _half = sp.Rational(1, 10), sp.Rational(1, 2)


def _shipped(claim: str, words: str, whole: object, measured: object, **more: object) -> Refutation:
    return Refutation(f"shipped.{claim}", words, whole, measured, **more)  # type: ignore[arg-type]


REFUTATIONS = by_claim(
    _shipped(
        "replacementrandk.unbiased",
        "Equal entries: each is among k draws with probability 1 - (1 - 1/n)^k, and then multiplied by n/k.",
        {n: 1, k: 1},
        1 - n * _drawn / k,
        values={n: n, k: k},
        met={"nonzero": "The entries are 1.", **_ONCE, **_ROOM},
    ),
    _shipped(
        "replacementrandk.variance_randk",
        "Equal entries: each is among k draws with probability 1 - (1 - 1/n)^k, and then multiplied by n/k.",
        {n: 1, k: 1},
        _drawn * (n / k - 1) ** 2 + 1 - _drawn,
        values={n: n, k: k},
        met={"nonzero": "The entries are 1.", **_ONCE, **_ROOM},
    ),
    _shipped(
        "replacementrandk.idempotence",
        "One of two entries is kept and doubled; compressed once more it is doubled again, or dropped.",
        {_a: 1, _b: 1},
        _ONE,
        values={n: 2, k: 1},
        x=(_a, _b),
        met=_MIDDLE,
    ),
    _shipped(
        "bernoullilazy.idempotence",
        "One entry is sent with probability 1/v, as v times itself; then again, or not at all. Zero stays.",
        {_a: 1, _v: 1},
        sp.Piecewise((0, sp.Eq(_v, 1)), (1 / _v, True)),
        x=(_a,),
        met=_MIDDLE,
    ),
    _shipped(
        "atomic.variance_any",
        "One entry is certain with a budget u/v of one or more.",
        {_a: 1, _u: 1, _v: 1},
        sp.Integer(0),
        values={budget: _u / _v, norm1: _a, norm2: _a},
        x=(_a,),
        given={"u >= v": _u - _v},
        met={**_NOT_ZERO, **_ROOM},
    ),
    _shipped(
        "atomic.idempotence",
        "Budget one: an entry is a + b with probability a/(a + b), the other with b/(a + b). Where both are, they are "
        "twice that in the next draw, or nothing; one alone is certain.",
        {_a: 1, _b: 1},
        _a * _b / (_a + _b) ** 2,
        x=(_a, _b),
        met=_MIDDLE,
    ),
    _shipped(
        "clippedterngrad.unbiased",
        "One entry has no deviation from the mean, and is clipped to zero.",
        {_a: 1},
        _ONE,
        x=(_a,),
        met=_NOT_ZERO,
    ),
    _shipped(
        "clippedterngrad.contraction",
        "One entry has no deviation from the mean, and is clipped to zero; alpha = u/v.",
        {_a: 1, _u: 1, _v: 1},
        _ONE,
        values={alpha: _u / _v},
        x=(_a,),
        met=_NOT_ZERO,
    ),
    _shipped(
        "clippedterngrad.idempotence",
        "Two entries a > b have the deviation (a - b)/2; a is clipped to 5/2 of that, which b becomes with probability "
        "b over it, or surely. Equal entries are clipped to zero then.",
        {_a: 1, _b: 1},
        sp.Min(1, _b / _LIMIT),
        x=(_a, _b),
        positive={"a > b": _a - _b, "a is clipped": _a - _LIMIT},
        met=_MIDDLE,
    ),
    _shipped(
        "twomeans.contraction_two",
        "Zeros count as positive: all three entries become the mean, a/3.",
        {_a: 1},
        sp.Rational(2, 3),
        values={n: 3},
        x=(_a, 0, 0),
        met=_NOT_ZERO,
    ),
    _shipped(
        "twomeans.unbiased",
        "Two positive entries become their mean.",
        {_a: 1, _b: 1},
        sp.Abs(_a - _b) / (2 * sp.Max(_a, _b)),
        x=(_a, _b),
    ),
    _shipped("twomeans.sign_symmetry_zeros", "(a, 0) becomes (a/2, a/2), and (-a, 0) stays.", {_a: 1}, _ONE, x=(_a, 0)),
    _shipped(
        "threelc.contraction_any",
        "One entry is multiplied by the sparsity multiplier, u/v.",
        {_a: 1, _u: 1, _v: 1},
        (_u / _v - 1) ** 2,
        values={n: 1},
        x=(_a,),
        given={"u >= v": _u - _v},
        positive={"2 v > u": 2 * _v - _u},
        met={**_NOT_ZERO, **_ROOM},
    ),
    _shipped(
        "threelc.unbiased",
        "Multiplier one: of a >= b the second becomes zero, or a from half of that on.",
        {_a: 1, _b: 0},
        sp.Min(_b, _a - _b) / _a,
        x=(_a, _b),
        given={"a >= b": _a - _b},
        met=_ROOM,
    ),
    _shipped(
        "threelc.idempotence",
        "One entry is multiplied by u/v, and by it once more.",
        {_a: 1, _u: 1, _v: 1},
        _ONE,
        x=(_a,),
        positive={"u > v": _u - _v, "2 v > u": 2 * _v - _u},
        met={**_MIDDLE, **_ROOM},
    ),
    *(
        _shipped(
            f"uniformbuckets.{statement}",
            "Two buckets about the mean, of which both entries have one: they become zero.",
            {_a: 1, **more},
            _ONE,
            values=values,
            x=(_a, -_a),
            met=met,
        )
        for statement, more, values, met in (
            ("contraction", {_u: 1, _v: 1}, {alpha: _u / _v}, _NOT_ZERO),
            ("unbiased", {}, {}, {}),
        )
    ),
    *(
        _shipped(
            f"quantilebuckets.{statement}",
            "Two buckets; the median is the largest entry, so that one has all entries: they become zero.",
            {_a: 1, **more},
            _ONE,
            values=values,
            x=(_a, _a, -2 * _a),
            met=met,
        )
        for statement, more, values, met in (
            ("contraction", {_u: 1, _v: 1}, {alpha: _u / _v}, _NOT_ZERO),
            ("unbiased", {}, {}, {}),
        )
    ),
    _shipped(
        "quantilebuckets.sign_symmetry",
        "Two buckets: of (a, b, b), b > a, the median is the largest entry, and one has all; of the negatives it has "
        "not.",
        {_a: 0, _b: 1},
        _ONE,
        x=(_a, _b, _b),
        positive={"b > a": _b - _a},
    ),
    *(
        _shipped(
            f"{name}buckets.ratio", "Eight bits an entry, and 256 means of 32.", {n: 1}, 8 * n + 256 * 32, values={n: n}
        )
        for name in ("uniform", "quantile")
    ),
    _shipped(
        "terngrad.variance_zero",
        "The second entry b is a with probability b/a, else zero.",
        {_a: 1, _b: 0},
        (_a**2 + _a * _b) / (_a**2 + _b**2),
        x=(_a, _b),
        given={"a >= b": _a - _b},
        met=_NOT_ZERO,
    ),
    _shipped(
        "terngrad.code_bits",
        "A scale of 32 bits, and two for each entry.",
        {n: 1},
        32 + 2 * n,
        values={n: n, itembits: 32},
    ),
    _shipped(
        "qsgd.code_bits",
        "A norm of 32 bits, and the bits for 2 s + 1 levels for each entry.",
        {n: 1, s: 1},
        32 + n * index_bits(2 * s + 1),
        values={n: n, s: s, itembits: 32},
        met={"norm_fits": "The entries are 1."},
    ),
    _shipped(
        "topk.code_bits",
        "One value of 32 bits, and the bits for n places.",
        {n: 1},
        32 + index_bits(n),
        values={n: n, k: 1, itembits: 32},
    ),
    _shipped(
        "permk_mean.never_worse",
        "Two workers have a and -a, of which either is the result.",
        {_a: 1},
        _a**2,
        values={P: 2, sumsq: 2 * _a**2},
        x=((_a,), (-_a,)),
        met={"uniform_owners": "Both owners are tried."},
    ),
    _shipped(
        "shared_randk_mean.divided",
        "Two workers have (a, 0); the first entry is doubled, or dropped.",
        {_a: 1},
        _a**2,
        values={P: 2, n: 2, k: 1, sumsq: 2 * _a**2},
        x=((_a, 0), (_a, 0)),
        met={"uniform_places": "Both places are tried."},
    ),
    *(
        _shipped(
            f"dgc_steps.{statement}",
            "One entry has the gradients a and 0, and the momentum the factor 1/2. a is sent, and its momentum "
            "cleared; a/2 would follow.",
            {_a: 1},
            _a / 2,
            x=((_a, 0),),
            met=met,
        )
        for statement, met in (
            ("conserved_masked", _DYADIC),
            ("dense_momentum", {**_DYADIC, "all_sent": "There is one entry."}),
        )
    ),
    _shipped(
        "dynamic_tree.largest",
        "One negative entry: the least value of the map is -1271/1280.",
        {_a: 1},
        sp.Rational(9, 1280),
        values={n: 1},
        x=(-_a,),
        met=_SOME,
    ),
    _shipped(
        "dynamic_tree.stays",
        "One negative entry, which becomes 1271/1280 of it in every round.",
        {_a: 1, recompressions: 0},
        sp.Rational(1271, 1280) ** recompressions,
        values={recompressions: recompressions},
        x=(-_a,),
        met={"tree_far_below": "There is one entry.", "tree_one_scale": "There is one entry.", **_SOME},
    ),
    _shipped(
        "inceptionn.bound",
        "The bound 2 10^-m and the entry 2^-j with j above m: no more than m binades are kept, and it is dropped.",
        {_m: 1, _j: 0},
        _half**_j,
        values={errorbound: 2 * _tenth**_m},
        x=(_half**_j,),
        positive={"j > m": _j - _m},
        met={"some_entry_not_zero": "It is not."},
    ),
    _shipped(
        "inceptionn.shrinks",
        "The least entry that is kept, 2^-binades: from the eighth binade on nothing of it is left in eight bits, and "
        "its code is read as 2^-7.",
        {binades: 0},
        sp.Max(1, sp.Integer(2) ** (binades - 7)),
        values={binades: binades},
        x=(_half**binades,),
        met={"some_entry_not_zero": "It is not."},
    ),
    _shipped(
        "inceptionn.tags",
        "Zeros: tags of two bits, padded by one to four of them up to bytes.",
        {n: 1},
        8 * (sp.floor(n / 4) + 1),
        values={n: n},
        met={"all_zero": "They are."},
    ),
    *(
        _shipped(
            f"spectral_atoms.{statement}",
            f"One singular value a and the budget u/v below one: it is drawn until it is kept, {what}.",
            {_a: 1, _u: 1, _v: 1},
            measured,
            values=values,
            x=((_a,),),
            positive=_PROPER,
            met=_LARGE,
        )
        for statement, what, measured, values in (
            ("unbiased", "as a v/u", _v / _u - 1, {}),
            ("budget", "which is one atom", _ONE, {atombudget: _u / _v}),
        )
    ),
    _shipped(
        "spectral_atoms.met",
        "Singular values a > b and a budget of two: the first is certain, the second has 2 b/(a + b), and nothing is "
        "drawn again.",
        {_a: 1, _b: 1},
        1 + 2 * _b / (_a + _b),
        values={atombudget: 2, nonedrawn: 0},
        x=((_a, 0), (0, _b)),
        given={"a >= b": _a - _b},
        met={"atoms_within_rank": "The rank is two.", **_LARGE},
    ),
    _shipped(
        "switched.variance",
        "The identity and a lazy compressor that sends with probability 1/v, with probability one each: the second is "
        "never used.",
        {_v: 1},
        sp.Integer(0),
        values={statedvariance: (_v - 1) / 2},
    ),
    _shipped(
        "signum_signs.follows",
        "Momentum 1/v and the gradients 1 and -1: after the turn it is 2/v - 1, whose sign is + for v = 2 alone, as "
        "that of zero is.",
        {_v: 2},
        sp.Piecewise((1, sp.Eq(_v, 2)), (0, True)),
        x=((1,), (-1,)),
        met={"gradient_turned_once": "It has."},
    ),
    *(
        _shipped(
            f"ef_signs.{statement}",
            "One gradient a and the step size 2^-j: what is compressed is a, and not a times the step size, by which "
            "the result is still divided.",
            {_a: 1, _j: 0},
            measured,
            x=((_a,),),
            met=_SIGNED,
        )
        for statement, measured in (("first_step", sp.Integer(2) ** _j), ("conserved", _a * (1 - _half**_j)))
    ),
    _shipped(
        "ridge_descent.stuck_any",
        "One step of the step size 1/g, a power of two, with the sign of zero zero: the subgradient is (1/2, 1/2).",
        {_g: 1},
        2 / _g,
        zero={"g is a power of two": sp.Mod(2**20, _g)},
        met={"ridge_signs_alone": "It runs this way."},
    ),
    _shipped(
        "ridge_descent.converges",
        "The slope u/v, the step size 1/g: steps go across the ridge alone, and the height is never below 2 u/v.",
        {_u: 1, _v: 1, _g: 1, ridgesteps: 1},
        2 * _u / _v,
        values={ridgestep: 1 / _g, ridgesteps: ridgesteps},
        positive=_PROPER,
        zero={"v is a power of two": sp.Mod(2**20, _v), "g is a power of two": sp.Mod(2**20, _g)},
        met={"ridge_signs_alone": "It runs this way."},
    ),
)
