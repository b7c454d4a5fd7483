"""Where refuted claims about low rank are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.feedback.terms import reach
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import m, n, r

_a, _b, _t = sp.symbols("a b t", integer=True, nonnegative=True)

REFUTATIONS = by_claim(
    Refutation(
        claim="lowrank.powersgd.warm_start_contraction",
        words="For the matrix diag(a, b), a > b, the sketch is e_2: b is kept, and a is lost.",
        whole={_a: 1, _b: 0},
        measured=_a**2 / (_a**2 + _b**2),
        values={m: 2, n: 2, r: 1},
        x=((_a, 0), (0, _b)),
        positive={"a > b": _a - _b},
        met={"nonzero": "a is positive.", "any_sketch": "It is the one that suits the matrix least."},
    ),
    Refutation(
        claim="lowrank.powersgd.unbiased",
        words="The matrix diag(a, a) is projected onto a direction; the direction of a Gaussian vector is uniform, and "
        "on average the projection is a half of the matrix.",
        whole={_a: 1},
        measured=sp.Rational(1, 2),
        x=((_a, 0), (0, _a)),
        met={"fresh_gaussian_sketch": "It is."},
        checked_by="tests/verify/certify/test_refutations.py::test_a_uniform_direction_reads_half_of_the_identity",
    ),
    Refutation(
        claim="lowrank.powersgd_ef14.warm_start_residual",
        words="Gradients a e_1 e_1' once, and a e_2 e_2' in all other steps of t. The sketch is e_1 from the second "
        "step on, nothing is sent, and the residual grows by a.",
        whole={_a: 1, _t: 1},
        measured=(_t - 1) ** 2 * _a**2,
        values={m: 2, n: 2, r: 1, reach: _a},
        met={"gaussian_start": "It is drawn this way.", "gradients_within_reach": "Their norm is a."},
    ),
    Refutation(
        claim="lowrank.lowrank.unbiased",
        words="For the matrix diag(a, b), a > b, rank 1 keeps a.",
        whole={_a: 1, _b: 0},
        measured=_b / _a,
        values={m: 2, n: 2, r: 1},
        x=((_a, 0), (0, _b)),
        positive={"a > b": _a - _b},
    ),
)
