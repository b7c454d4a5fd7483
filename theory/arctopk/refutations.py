"""Where refuted claims about ARC-Top-K are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import k, m, mu

_a, _p, _q = sp.symbols("a p q", integer=True, nonnegative=True)
_KEPT = sp.Max(1, sp.floor(_p * m / _q))

REFUTATIONS = by_claim(
    Refutation(
        claim="arctopk.rows.floor",
        words="The rows of the unit matrix; all but max(1, floor(mu m)) are dropped, mu = p/q.",
        whole={m: 1, _p: 1, _q: 1},
        measured=1 - _KEPT / m,
        values={m: m, mu: _p / _q},
        given={"mu <= 1": _q - _p},
        met={
            "shared_sketch": "There is one rank.",
            "orthogonal_rows": "The rows are unit vectors.",
            "floor_rows": "The trial runs this rule.",
        },
    ),
    Refutation(
        claim="arctopk.allreduce.local_contraction",
        words="Two ranks with rows a and 1, and -a and 1; k = 1. The first row's sketches always cancel, and the "
        "second is kept.",
        whole={_a: 1},
        measured=_a**2 / (_a**2 + sp.Integer(1)),
        values={m: 2, k: 1},
        x=(((_a,), (1,)), ((-_a,), (1,))),
        met={"shared_sketch": "Both ranks use one sketch.", "one_row_cancels": "The first row cancels."},
    ),
)
