"""Where refuted claims about gossip are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.moshpit.terms import N, failure, rounds

_a, _u, _v = sp.symbols("a u v", integer=True, nonnegative=True)

_LOST = sp.Rational(1, 24)

REFUTATIONS = by_claim(
    Refutation(
        claim="gossip.mean.renormalised",
        words="A ring of four without its last peer. The first and the third divide by two, the second by three: the "
        "means of the first and the third entry lose 1/24 of it, that of the second gains twice that.",
        whole={},
        measured=6**2 * (_LOST**2 + (2 * _LOST) ** 2 + _LOST**2),
        x=((6, 0, 0, 0), (0, 6, 0, 0), (0, 0, 6, 0), (0, 0, 0, 6)),
        met={"renormalised": "Rows are."},
    ),
    Refutation(
        claim="gossip.push_sum.losing",
        words="Two peers, the message to the first is lost. From a + b, with weight 2, a/2 and b/2 + a/2 are left, "
        "with weights 1/2 and 1: the mean moves by (a - b)/6.",
        whole={},
        measured=sp.Rational((4 - 8) ** 2 + (6 + 2) ** 2, 36),
        values={N: 2},
        x=((4, 6), (8, -2)),
        met={"shares_gone": "They are."},
    ),
    Refutation(
        claim="gossip.one_peer.any_number",
        words="Three peers, two rounds, shifts 1 and 2: of four equal shares two are a peer's own, as 1 + 2 = 3. Every "
        "entry is a/2, a/4 and a/4, where the mean is a/3. Summed over the three entries.",
        whole={_a: 1},
        measured=_a**2 * (sp.Rational(1, 6) ** 2 + 2 * sp.Rational(1, 12) ** 2),
        values={N: 3, rounds: 2},
        x=((_a, 0, 0), (0, _a, 0), (0, 0, _a)),
        met={"no_failures": "All peers are present."},
    ),
    Refutation(
        claim="gossip.restarts.as_restarts",
        words="An attempt of N peers, each of which fails with probability u/v, succeeds with the N-th power of 1 - "
        "u/v: the attempts are geometric, and the restarts one less.",
        whole={N: 1, _u: 0, _v: 1},
        measured=(1 - _u / _v) ** (-N) - 1,
        values={N: N, failure: _u / _v},
        positive={"u < v": _v - _u},
        met={"patient": "There is no limit."},
    ),
)
