"""Where refuted claims about rotations are computed: the models of their smallest counterexamples."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, index_bits, itembits, k, n
from commbounds.theory.rotations.terms import single_error

_a, _b = sp.symbols("a b", integer=True, nonnegative=True)
_ROOM = {"rotation_fits": "Small whole numbers do."}
_length = 2 ** index_bits(n)

REFUTATIONS = by_claim(
    Refutation(
        claim="rotations.drive.unbiased",
        words="Rotated, (a, b) with a > b has the signs of a alone: the estimate is (a^2 + b^2)/a there, whatever is "
        "drawn. The second entry is off by b.",
        whole={_a: 1, _b: 0},
        measured=_b / _a,
        x=(_a, _b),
        positive={"a > b": _a - _b},
        met={"unbiased_scale": "The compressor is run so.", **_ROOM},
    ),
    Refutation(
        claim="rotations.drive.wire_one",
        words="A scale of 32 bits, and a bit for every rotated entry.",
        whole={n: 1},
        measured=32 + _length,
        values={n: n, itembits: 32},
        met=_ROOM,
    ),
    Refutation(
        claim="rotations.hadamardsketch.variance_unpadded",
        words="Equal entries; of the error a share of (n - 1)/(d - 1) is on the entries, d the padded length.",
        whole={n: 2, k: 1},
        measured=(_length / k - 1) * (n - 1) / (_length - 1),
        values={n: n, k: k},
        given={"k <= d": _length - k},
        met={"nonzero": "The entries are 1.", **_ROOM},
    ),
    Refutation(
        claim="rotations.hadamardsketch.idempotence",
        words="Of (a, 0) either rotated entry is sent, doubled: (a, a) or (a, -a), of which one rotated entry is zero, "
        "so that it is doubled, or lost.",
        whole={_a: 1},
        measured=sp.Integer(1),
        x=(_a, 0),
        met=_ROOM,
    ),
    Refutation(
        claim="rotations.rotated_mean.averages",
        words="Both ranks have (a, b), a > b, and both estimates are (a^2 + b^2)/a and zero, whatever is drawn: so is "
        "their mean, off by b^2/a^2 of the square.",
        whole={_a: 1, _b: 1},
        measured=_b**2 / _a**2,
        values={P: 2, single_error: _b**2 / _a**2},
        x=((_a, _b), (_a, _b)),
        positive={"a > b": _a - _b},
        met={"equal_vectors": "They are.", "private_seeds": "The collective is run so."},
    ),
)
