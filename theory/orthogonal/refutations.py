"""Where refuted claims about orthogonalised updates are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.orthogonal import terms as t
from commbounds.theory.quantities import P, k, m, n, r

_a, _u, _v = sp.symbols("a u v", integer=True, nonnegative=True)
_share = _u / _v
_NOT_ZERO = {"matrix_not_zero": "a is positive."}
_FACTOR = "Rows (s, 0) and (1, s), s = u/v, in the basis in which the left factor has the axes: R is their transpose. "


def _left_out(claim: str, words: str, measured: object, entries: tuple[tuple[int, int], ...]) -> Refutation:
    return Refutation(
        claim=f"orthogonal.{claim}",
        words=words,
        whole={_a: 1},
        measured=measured,
        values={m: 2, n: 2, k: 1},
        x=tuple(tuple(_a * entry for entry in row) for row in entries),
        met=_NOT_ZERO,
    )


REFUTATIONS = by_claim(
    Refutation(
        claim="orthogonal.muon.uniform",
        words="The singular value zero, which stays zero; what is next to it stays next to it, by "
        "orthogonal.muon.growth.",
        whole={},
        measured=sp.Integer(0),
        values={t.singular: 0, t.iterations: 5},
        met={"muon_iteration": "It is."},
    ),
    Refutation(
        claim="orthogonal.muon.rounded_along",
        words="The product of (1, 3) and (1, 3): divided by 10, 0.1, 0.3 and 0.9 are rounded to bfloat16, and five "
        "iterations make of them -93/256, 91/256 and 37/64.",
        whole={},
        measured=sp.Rational(6779, 20940),
        values={t.singular: 1, t.iterations: 5, m: 2, n: 2},
        x=(1, 3, 1, 3),
        met={"muon_iteration": "It is.", "in_bfloat16": "It is."},
    ),
    Refutation(
        claim="orthogonal.polar_express.balanced",
        words="The singular value 1/1000: five polynomials of it, a rational number of some twenty thousand digits.",
        whole={},
        measured=t.polar_of(sp.Rational(1, 1000), 5),
        values={t.singular: sp.Rational(1, 1000), t.iterations: 5},
        met={"polar_express_iteration": "It is."},
    ),
    Refutation(
        claim="orthogonal.dion.fewer",
        words="Two ring all-reduces, of m r and of n r words; r is at most m and at most n.",
        whole={P: 1, m: 1, n: 1, r: 1},
        measured=2 * (m + n) * r * (P - 1) / P,
        values={P: P, m: m, n: n, r: r},
        given={"r <= m": m - r, "r <= n": n - r},
    ),
    Refutation(
        claim="orthogonal.dion.buffer_geometric",
        words="One row, the gradient (0, 1) in every step and the basis (1, 0): nothing is taken, and T gradients are "
        "kept.",
        whole={t.dion_steps: 1, _u: 0, _v: 1},
        measured=t.dion_steps,
        values={P: 1, t.keeps: _share, t.dion_steps: t.dion_steps, t.largest_gradient: 1},
    ),
    Refutation(
        claim="orthogonal.dion.orthonormal",
        words=_FACTOR
        + "Its columns, divided by their norms, have the inner product 1/sqrt(1 + s^2), and a matrix of two "
        "such columns the squared norm 1 plus that.",
        whole={_u: 1, _v: 1},
        measured=sp.sqrt(1 + _v / sp.sqrt(_u**2 + _v**2)),
        values={r: 2},
        met={"columns_normed": "They are."},
    ),
    Refutation(
        claim="orthogonal.orth_dion.polar",
        words=_FACTOR + "Gram and Schmidt leave the axes, up to the sign, so that the inner product is twice s. The "
        "singular values have the product s^2 and the sum of squares 1 + 2 s^2: their sum is the root of 1 + 4 s^2.",
        whole={_u: 1, _v: 1},
        measured=2 * _share,
        values={t.nuclear_taken: sp.sqrt(1 + 4 * _share**2)},
        met={"right_orthonormal": "It is."},
    ),
    _left_out(
        "matrix_topk.spectral_contracts",
        "The first of four entries of equal magnitude is sent. The matrix has twice the unit matrix for its square, in "
        "a^2; what is left has the trace 3 and the determinant 1.",
        (3 + sp.sqrt(5)) / 4,
        ((1, 1), (1, -1)),
    ),
    _left_out(
        "matrix_topk.nuclear_contracts",
        "The first of four equal entries is sent. The matrix has the singular value 2 a alone; what is left has, in a, "
        "squares of the sum 3 and the product 1: their roots have a sum of the square 5.",
        sp.Rational(5, 4),
        ((1, 1), (1, 1)),
    ),
    Refutation(
        claim="orthogonal.lowrank.spectral_contracts",
        words="Twice the singular value a, of which one is left.",
        whole={_a: 1},
        measured=sp.Integer(1),
        values={m: 2, n: 2, r: 1},
        x=((_a, 0), (0, _a)),
        met=_NOT_ZERO,
    ),
)
