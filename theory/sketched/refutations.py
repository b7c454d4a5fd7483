"""Where refuted claims about sketches are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import k, n
from commbounds.theory.sketched import terms as t

_a, _b, _half = sp.symbols("a b half", integer=True, nonnegative=True)
_HASHED = {"independent_hashes": "All hash functions are tried."}
_left = sp.Mod(t.prime, t.cells)

REFUTATIONS = by_claim(
    Refutation(
        claim="sketched.hashes.universal",
        words="A residue of a random line is uniform on the pairs of residues before it is taken modulo c: p mod c "
        "classes have one residue more than the others. All smaller p are prime as well.",
        whole={t.prime: 2, t.cells: 1},
        measured=1 / t.cells + _left * (t.cells - _left) / (t.cells * t.prime**2),
        values={t.prime: t.prime, t.cells: t.cells},
    ),
    Refutation(
        claim="sketched.hashes.balanced",
        words="Two residues of a random cubic are independent and uniform, and p = 2 half + 1 has one even one more "
        "than odd ones. An even prime has as many of either.",
        whole={_half: 1},
        measured=1 / (2 * _half + 1) ** 2,
        values={t.prime: 2 * _half + 1},
    ),
    Refutation(
        claim="sketched.median.fourwise",
        words="Entries of a each in one counter, three rows, and signs whose product is one, all but one of which are "
        "independent. For five the errors are symmetric. For six the error of a row is 5 a, a or -3 a with "
        "probabilities 1/16, 10/16 and 5/16, and the median's mean is 15 a/128.",
        whole={n: 5, _a: 1},
        measured=_a * sp.Piecewise((0, sp.Eq(n, 5)), (sp.Rational(15, 128), True)),
        given={"n <= 6": 6 - n},
        met={"fourwise_signs": "Any five of six are independent, any four of five.", "fair_middle": "3 is odd."},
    ),
    Refutation(
        claim="sketched.median.lower",
        words="Two rows of c counters, entries a and b: an estimate is off by b, -b or 0 with probabilities 1/(2 c), "
        "1/(2 c) and 1 - 1/c, and the smaller of two is taken.",
        whole={_a: 0, _b: 0, t.cells: 1},
        measured=_b * (2 * t.cells - 1) / (2 * t.cells**2),
        values={t.cells: t.cells},
        x=(_a, _b),
        met={**_HASHED, "lower_middle": "The estimate is computed this way."},
    ),
    Refutation(
        claim="sketched.recovery.contraction",
        words="n equal entries in one counter: all estimates have its magnitude, whose square is expected to be n, and "
        "the first k are kept. The error is k n + n - 2 k, over n.",
        whole={n: 1, k: 1},
        measured=k + 1 - 2 * k / n,
        values={n: n, k: k, t.rows: 1, t.cells: 1},
        given={"k <= n": n - k},
        met={**_HASHED, "sketched_not_zero": "Entries are 1."},
    ),
    Refutation(
        claim="sketched.fetchsgd.zeroing",
        words="One rank, entries a >= b, and two rows, in one of which they have counters of their own, and in the "
        "other one counter and one sign: a is estimated as a + b/2, b as b + a/2, and what is recovered is a. "
        "In the first row a - (a + b/2) is lost, in the second a + b - (a + b/2).",
        whole={_a: 1, _b: 0},
        measured=_b,
        values={k: 1},
        x=(((_a, _b),),),
        given={"a >= b": _a - _b},
        met={"zeroed_cells": "The step runs this way.", "no_sketch_momentum": "There is none."},
    ),
    Refutation(
        claim="sketched.fetchsgd.same_momentum",
        words="One rank, the gradients (a, b), a >= 2 b, and (0, 0), separate counters, and a momentum that keeps all. "
        "a is recovered first. Where its cell is zero, so is its momentum, and 2 b is recovered next; where it is "
        "subtracted, a comes again, and 2 b is left.",
        whole={_a: 1, _b: 0},
        measured=2 * _b,
        values={k: 1, t.rows: 1},
        x=(((_a, _b),), ((0, 0),)),
        given={"a >= 2 b": _a - 2 * _b},
        met={"alone_in_cell": "One entry is recovered in a step."},
    ),
)
