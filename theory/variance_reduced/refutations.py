"""Where refuted claims about compression with memory are computed: the models of their smallest counterexamples."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, n

_r, _b = sp.symbols("r b", integer=True, nonnegative=True)

REFUTATIONS = by_claim(
    Refutation(
        claim="variance_reduced.onebit.contracts",
        words="A unit vector of r^2 entries, all of which become 1/r or -1/r: (1 - 1/r)^2 and r^2 - 1 squares of 1/r.",
        whole={_r: 1},
        measured=(1 - 1 / _r) ** 2 + (_r**2 - 1) / _r**2,
        values={n: _r**2},
        met={"signs_by_norm": "They are.", "something_offered": "One entry is 1."},
    ),
    Refutation(
        claim="variance_reduced.onebit.thirty_two",
        words="In either half a rank sends P - 1 blocks of b bytes of signs, with a scale of four bytes each.",
        whole={P: 1, _b: 1},
        measured=2 * (P - 1) * (4 + _b),
        values={P: P, n: 8 * P * _b},
        met={"single_precision": "The vectors are float32."},
    ),
)
