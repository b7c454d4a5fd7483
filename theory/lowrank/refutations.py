"""Where refuted claims about low rank are computed: the models of their smallest counterexamples."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import m, n, r

_a, _b = sp.symbols("a b", integer=True, nonnegative=True)

REFUTATIONS = by_claim(
    Refutation(
        claim="lowrank.lowrank.unbiased",
        words="Of the matrix diag(a, b), a > b, rank 1 keeps a.",
        whole={_a: 1, _b: 0},
        measured=_b / _a,
        values={m: 2, n: 2, r: 1},
        x=((_a, 0), (0, _b)),
        positive={"a > b": _a - _b},
    ),
)
