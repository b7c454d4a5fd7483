"""Where refuted claims about the majority vote are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.majority.terms import inverting, snr, vote_error, votebits
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, n

_j = sp.Symbol("j", integer=True, nonnegative=True)
_ALONE = {"all_honest": "There is no adversary."}
_DRAWN = {"independent_noise": "Every worker's is drawn alone."}
_a, _b = sp.symbols("a b", integer=True, nonnegative=True)

REFUTATIONS = by_claim(
    Refutation(
        claim="majority.server.thirty_two",
        words="The server sends the vote, n/8 bytes, to P - 1 workers.",
        whole={P: 1, n: 1},
        measured=(P - 1) * n / 8,
        values={P: P, n: n, votebits: 1},
        met={"vote_by_server": "The vote runs this way."},
    ),
    Refutation(
        claim="majority.vote.no_expansion",
        words="Two of three workers outvote the sign of the mean; the vote has its magnitude, and its error is twice "
        "that.",
        whole={_a: 1, _b: 1},
        measured=sp.Integer(4),
        x=((_a,), (-_b,), (-_b,)),
        positive={"a > 2 b": _a - 2 * _b},
        met={"nonzero_mean": "a > 2 b."},
    ),
    Refutation(
        claim="majority.vote.any_noise",
        words="The entry is 4.1, and the noise makes it 50 with probability 1/10, else -1: its mean is 4.1, and its "
        "standard deviation 15.3. A tie is voted right.",
        whole={P: 1},
        measured=vote_error(P, 0, 0, sp.Rational(9, 10), 0),
        values={P: P, snr: sp.Rational(41, 153)},
        met={**_DRAWN, **_ALONE, "any_noise": "It has that mean, and a finite variance."},
    ),
    Refutation(
        claim="majority.vote.shared_noise",
        words="The entry is 1/2, and the noise uniform on [-1, 1], of variance 1/3: all signs are wrong with "
        "probability 1/4.",
        whole={P: 1},
        measured=sp.Rational(1, 4),
        values={P: P, snr: sp.sqrt(3) / 2},
        met={"one_noise": "It is.", **_ALONE, "unimodal_noise": "It is uniform."},
    ),
    Refutation(
        claim="majority.adversaries.negation_is_worst",
        words="The entry is 2/3, and the noise uniform on [-1, 1], of variance 1/3: a sign is wrong with probability "
        "1/6. 11 j of 25 j workers vote against the entry's sign. A tie is voted right.",
        whole={_j: 1},
        measured=vote_error(14 * _j, 0, 11 * _j, sp.Rational(1, 6), 0),
        values={P: 25 * _j, inverting: 11 * _j, snr: 2 / sp.sqrt(3)},
        met={**_DRAWN, "unimodal_noise": "It is uniform.", "any_ballot": "They vote against the sign."},
    ),
    Refutation(
        claim="majority.ties.one_bit",
        words="One worker, whose entries may be positive, negative or zero: so may the vote.",
        whole={},
        measured=sp.Integer(3),
        values={P: 1},
        met={"open_ties": "The vote runs this way."},
    ),
)
