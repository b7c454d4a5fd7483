"""Where refuted claims about sparsifiers are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import alpha, block, k, mu, n, threshold

_a, _b, _c, _p, _q, _factor = sp.symbols("a b c p q factor", integer=True, nonnegative=True)
_PAIR = {"a >= b": _a - _b}
_NOT_ZERO = {"nonzero": "a is positive."}
_TWO = ((_a, -_b), (-_b, _a))
_AVERAGE = (_a - _b) ** 2 / sp.Integer(2)

REFUTATIONS = by_claim(
    Refutation(
        claim="sparsifiers.topk.floor_k",
        words="A vector of equal entries, and mu = p/q; all but k entries are dropped, k = floor(mu n) or 1.",
        whole={n: 1, _p: 1, _q: 1},
        measured=1 - sp.Max(1, sp.floor(_p * n / _q)) / n,
        values={n: n, k: sp.Max(1, sp.floor(_p * n / _q)), mu: _p / _q},
        given={"mu <= 1": _q - _p},
        met={"nonzero": "The entries are 1."},
    ),
    Refutation(
        claim="sparsifiers.topk.global_contraction",
        words="Workers (a, -b) and (-b, a). Each keeps a: averages of a/2 in place of (a - b)/2.",
        whole={_a: 1, _b: 1},
        measured=2 * (_b / sp.Integer(2)) ** 2 / _AVERAGE,
        values={n: 2, k: 1},
        x=_TWO,
        positive={"a > b": _a - _b},
        met={"nonzero_average": "a > b."},
    ),
    Refutation(
        claim="sparsifiers.randk.global_contraction",
        words="Workers (a, -b) and (-b, a), each of which keeps either entry with probability 1/2. The error is one "
        "entry of (a - b)/2 where both keep the same place, b/2 twice where both keep a, and a/2 twice where both keep "
        "-b.",
        whole={_a: 1, _b: 1},
        measured=(2 * (_a - _b) ** 2 / 4 + _b**2 / 2 + _a**2 / 2) / 4 / _AVERAGE,
        values={n: 2, k: 1},
        x=_TWO,
        positive={"a > b": _a - _b},
        met={
            "unscaled": "Kept entries are unscaled.",
            "independent_supports": "The four pairs of choices have probability 1/4 each.",
            "nonzero_average": "a > b.",
        },
    ),
    Refutation(
        claim="sparsifiers.randk.idempotence",
        words="One of two entries is kept and doubled; compressed once more it is doubled again, or dropped.",
        whole={_a: 1, _b: 1},
        measured=sp.Integer(1),
        values={n: 2, k: 1},
        x=(_a, _b),
        met={"middle_range": "Small whole numbers are in it."},
    ),
    Refutation(
        claim="sparsifiers.blocktopk.kept_share",
        words="Blocks (a, b) and (c), of which the first is kept.",
        whole={_a: 0, _b: 0, _c: 1},
        measured=_c**2 / (_a**2 + _b**2 + _c**2),
        values={n: 3, k: 1, block: 2},
        x=(_a, _b, _c),
        given={"the first block is no smaller": _a**2 + _b**2 - _c**2},
        met={"nonzero": "c is positive."},
    ),
    *(
        Refutation(
            claim=f"sparsifiers.{name}.unbiased",
            words=f"{how} a is kept and b dropped, and the bias is b, relative to a.",
            whole={_a: 1, _b: 0},
            measured=_b / _a,
            values={n: 2, k: 1},
            x=(_a, _b),
            given=_PAIR,
        )
        for name, how in (
            ("topk", "One of two entries:"),
            ("blocktopk", "One of two blocks of one entry:"),
            ("chunktopk", "One entry of a chunk of two:"),
        )
    ),
    Refutation(
        claim="sparsifiers.hardthreshold.contraction",
        words="One entry a below the threshold is dropped; alpha = p/q.",
        whole={_a: 1, threshold: 1, _p: 1, _q: 1},
        measured=sp.Integer(1),
        values={n: 1, alpha: _p / _q},
        x=(_a,),
        positive={"threshold > a": threshold - _a},
        met=_NOT_ZERO,
    ),
    Refutation(
        claim="sparsifiers.hardthreshold.unbiased",
        words="One entry a below the threshold is dropped.",
        whole={_a: 1, threshold: 1},
        measured=sp.Integer(1),
        x=(_a,),
        positive={"threshold > a": threshold - _a},
    ),
    Refutation(
        claim="sparsifiers.hardthreshold.scale_equivariance",
        words="One entry a below the threshold, and a factor for which the product is not below it: kept and dropped.",
        whole={_a: 1, threshold: 1, _factor: 1},
        measured=sp.Integer(1),
        x=(_a,),
        given={"threshold <= factor a": _factor * _a - threshold},
        positive={"threshold > a": threshold - _a},
        met={"any_factor": "It is positive.", "middle_range": "Small whole numbers are in it."},
    ),
    Refutation(
        claim="sparsifiers.adaptivesparsification.unbiased",
        words="From the entries a and b the first is kept with probability a/(a + b), unscaled, else the second: the "
        "means miss a b/(a + b) of both, relative to the larger.",
        whole={_a: 1, _b: 0},
        measured=_b / (_a + _b),
        x=(_a, _b),
        given=_PAIR,
    ),
)
