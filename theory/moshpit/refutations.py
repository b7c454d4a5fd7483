"""Where refuted claims about Moshpit are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.moshpit.terms import M, N, dims, rounds
from commbounds.theory.quantities import r

_a = sp.Symbol("a", integer=True, nonnegative=True)
_NOBODY = {"no_failures": "All peers are present."}

REFUTATIONS = by_claim(
    Refutation(
        claim="moshpit.grid.key_of_d_digits",
        words="Two peers with the keys (0) and (1) never meet: in each of the two entries, which are summed, they stay "
        "a/2 from their mean.",
        whole={_a: 1},
        measured=2 * (_a / sp.Integer(2)) ** 2,
        values={N: 2, M: 2, dims: 1},
        x=((_a, 0), (0, _a)),
        met={**_NOBODY, "keys_of_d_digits": "Keys have one digit.", "one_sweep": "There is one round."},
    ),
    Refutation(
        claim="moshpit.random_groups.as_recalled",
        words="A random permutation of N peers, cut into r groups: a round leaves (r - 1)/(N - 1) of the distortion "
        "(moshpit.random_groups.factor).",
        whole={N: 2, r: 1, rounds: 1},
        measured=((r - 1) / (N - sp.Integer(1))) ** rounds,
        values={N: N, r: r, rounds: rounds},
        met=_NOBODY,
    ),
)
