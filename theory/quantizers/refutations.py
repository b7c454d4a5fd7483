"""Where refuted claims about quantisers are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import alpha, b, itembits, n, s

_p, _q, _a, _c, _norm, _factor = sp.symbols("p q a c norm factor", integer=True, nonnegative=True)
_u, _v = sp.symbols("u v", integer=True, nonnegative=True)
_ENTRY = _p / _q
_ONE = sp.Integer(1)
_MIDDLE = {"middle_range": "Small whole numbers are in it."}
_NOT_ZERO = {"nonzero": "The entry is positive."}
_NORM_FITS = {"norm_fits": "Small whole numbers have a small norm."}
_PLUS = {"zero_is_plus_one": "The compressor runs this way."}
_ZERO = {"zero_is_zero": "The compressor runs this way."}
_OCTAVE = {"p > q": _p - _q, "2 q > p": 2 * _q - _p}
_SMALLEST, _LARGEST = sp.Integer(2) ** -126, sp.Integer(2) ** 127
_MEAN = (_a + _c) / sp.Integer(2)

REFUTATIONS = by_claim(
    Refutation(
        claim="quantizers.sign.contraction",
        words="One entry p/q becomes 1; alpha = u/v.",
        whole={_p: 1, _q: 1, _u: 1, _v: 1},
        measured=(1 - _ENTRY) ** 2 / _ENTRY**2,
        values={n: 1, alpha: _u / _v},
        x=(_ENTRY,),
        met=_NOT_ZERO,
    ),
    Refutation(
        claim="quantizers.sign.unbiased",
        words="One entry p/q becomes 1.",
        whole={_p: 1, _q: 1},
        measured=sp.Abs(1 - _ENTRY) / _ENTRY,
        x=(_ENTRY,),
    ),
    Refutation(
        claim="quantizers.sign.sign_symmetry_zeros",
        words="0 and -0 both become 1.",
        whole={},
        measured=_ONE,
        x=(0,),
        met=_PLUS,
    ),
    Refutation(
        claim="quantizers.sign.scale_equivariance",
        words="One entry a, and its multiple, both become 1, which times the factor is another number.",
        whole={_a: 1, _factor: 1},
        measured=_ONE,
        x=(_a,),
        positive={"factor > 1": _factor - 1},
        met={"any_factor": "It is positive.", **_MIDDLE},
    ),
    Refutation(
        claim="quantizers.scaledsign.attained",
        words="One of two entries is zero and stays zero; the other, a, becomes the mean a/2.",
        whole={_a: 1},
        measured=sp.Rational(1, 4),
        values={n: 2},
        x=(_a, 0),
        met={**_ZERO, "one_sparse": "a is positive."},
    ),
    Refutation(
        claim="quantizers.scaledsign.unbiased",
        words="Two positive entries become their mean.",
        whole={_a: 1, _c: 1},
        measured=sp.Max(sp.Abs(_a - _MEAN), sp.Abs(_c - _MEAN)) / sp.Max(_a, _c),
        x=(_a, _c),
    ),
    Refutation(
        claim="quantizers.scaledsign.sign_symmetry_zeros",
        words="Zero becomes a/2, where its neighbour is a, and where it is -a.",
        whole={_a: 1},
        measured=_ONE,
        x=(_a, 0),
        met=_PLUS,
    ),
    Refutation(
        claim="quantizers.scaledsign.idempotence_zeros",
        words="(a, 0) becomes (a/2, 0), and that (a/4, 0).",
        whole={_a: 1},
        measured=_ONE,
        x=(_a, 0),
        met=_ZERO,
    ),
    Refutation(
        claim="quantizers.qsgd.second_moment_common",
        words="One entry is its own norm, level s, and stays.",
        whole={_a: 1, s: 1},
        measured=_ONE,
        values={n: 1, s: s},
        x=(_a,),
        met={**_NOT_ZERO, **_NORM_FITS},
    ),
    Refutation(
        claim="quantizers.qsgd.elias_any_n",
        words="One entry, level 1: a sign bit, and three bits for the number 2 in Elias' gamma code.",
        whole={_a: 1},
        measured=sp.Integer(32 + 4),
        values={n: 1, s: 1, itembits: 32},
        x=(_a,),
        met=_NORM_FITS,
    ),
    *(
        Refutation(
            claim=f"quantizers.{name}.idempotence",
            words="One level, and a vector (a, c) with a whole norm: both entries become it with probability a c over "
            "its square. Then the norm has grown by the root of 2, and the entries change again.",
            whole={_a: 1, _c: 1, _norm: 1},
            measured=_a * _c / _norm**2,
            values={n: 2, s: 1},
            x=(_a, _c),
            zero={"norm": _a**2 + _c**2 - _norm**2},
            met=_MIDDLE,
        )
        for name in ("qsgd", "naturaldithering")
    ),
    Refutation(
        claim="quantizers.naturalcompression.variance_every_float",
        words="Half of the smallest normal float32 becomes that or zero, either with probability 1/2.",
        whole={},
        measured=_ONE,
        values={n: 1},
        x=(_SMALLEST / 2,),
        met=_NOT_ZERO,
    ),
    Refutation(
        claim="quantizers.naturalcompression.unbiased_every_float",
        words="A float32 above 2^127, p/q of it, becomes that.",
        whole={_p: 1, _q: 1},
        measured=(_ENTRY - 1) / _ENTRY,
        x=(_ENTRY * _LARGEST,),
        positive=_OCTAVE,
        zero={"p/q is a float32": sp.Mod(2**23, _q)},
    ),
    *(
        Refutation(
            claim=f"quantizers.{name}.scale_equivariance_any",
            words="1 is a power and stays; p/q, between 1 and 2, is none, and becomes 1 or 2.",
            whole={_p: 1, _q: 1},
            measured=_ONE,
            values=values,
            x=(1,),
            positive=_OCTAVE,
            met={"other_factor": "p/q is no power of two.", **_MIDDLE},
        )
        for name, values in (("naturalcompression", {}), ("stochasticpower", {b: 2}), ("nearestpower", {}))
    ),
    Refutation(
        claim="quantizers.nearestpower.unbiased",
        words="An entry p/q between 1 and 3/2 becomes 1.",
        whole={_p: 1, _q: 1},
        measured=(_p - _q) / _p,
        x=(_ENTRY,),
        given={"p >= q": _p - _q, "p/q <= 3/2": 3 * _q - 2 * _p},
    ),
)
