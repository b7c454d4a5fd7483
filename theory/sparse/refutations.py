"""Where refuted claims about sparse collectives are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, k, n
from commbounds.theory.sparse.terms import nonzeros

_a, _b, _c, _d = sp.symbols("a b c d", integer=True, nonnegative=True)
_WORDS = {"data_words": "Announcements of sizes are left out."}
_SWITCH = {**_WORDS, "model_switch": "The collective runs with the model's switch."}
_EXACT = {"exact_sums": "The entries are small whole numbers."}
_TIES = " Ties go to the lowest index."

REFUTATIONS = by_claim(
    Refutation(
        claim="sparse.topkdsa.lower_any_density",
        words="P ranks, P entries, k = 1: every rank's entry lies in its own region of one entry, and nothing is sent "
        "to other regions. Blocks travel densely, one word each, P - 1 to every rank.",
        whole={P: 1},
        measured=P - 1,
        values={P: P, n: P, k: 1},
        met={**_SWITCH, "k_nonzeros": "Every rank has one entry that is not zero."},
    ),
    Refutation(
        claim="sparse.topkdsa.upper_any_split",
        words="The one entry of two ranks lies in the region of the other one: it goes there with its index, two "
        "words, and comes back in a dense block of one.",
        whole={_a: 1},
        measured=sp.Integer(3),
        values={P: 2, n: 2, k: 1},
        x=((0, 0), (_a, 0)),
        met=_SWITCH,
    ),
    Refutation(
        claim="sparse.gaussiank.sign_symmetry",
        words="Equal entries have no spread, and the threshold is their mean: none exceeds it. Negated, the mean is "
        "negative, and both exceed it in magnitude.",
        whole={_a: 1},
        measured=sp.Integer(2),
        values={P: 1, n: 2, k: 1},
        x=((_a, _a),),
    ),
    Refutation(
        claim="sparse.spardl.k_entries",
        words="Every one of P regions keeps floor(k/P) entries.",
        whole={P: 1, k: 1},
        measured=P * sp.floor(k / P),
        values={P: P, k: k, n: k},
        met={"one_team": "All ranks form one team."},
    ),
    Refutation(
        claim="sparse.gtopk.code_mass",
        words="k = 1. The merge of the first two ranks keeps a and drops b; the third rank's c wins, and with its "
        "index the second rank clears b." + _TIES,
        whole={_a: 1, _b: 1, _c: 1},
        measured=_b,
        values={P: 3, n: 2, k: 1},
        x=((_a, 0), (0, _b), (0, _c)),
        given={"a >= b": _a - _b},
        positive={"c > a": _c - _a},
        met={"published_putback": "The collective runs this way."},
    ),
    Refutation(
        claim="sparse.gtopk.true_topk",
        words="k = 1. The ranks select b and c, and the merge keeps c. But the other sum, b + d, is larger: both "
        "entries of the update are wrong." + _TIES,
        whole={_b: 1, _c: 1, _d: 1},
        measured=sp.Integer(2),
        values={P: 2, n: 2, k: 1},
        x=((0, _b), (_c, _d)),
        given={"c >= d": _c - _d, "c >= b": _c - _b},
        positive={"b + d > c": _b + _d - _c},
        met=_EXACT,
    ),
    Refutation(
        claim="sparse.gtopk.topk_of_selections",
        words="k = 1. The merge of the first two ranks keeps a and drops b, and a remains beside c. But of the sums "
        "of what was selected b + c is larger: both entries of the update are wrong." + _TIES,
        whole={_a: 1, _b: 1, _c: 1},
        measured=sp.Integer(2),
        values={P: 3, n: 2, k: 1},
        x=((_a, 0), (0, _b), (0, _c)),
        given={"a >= b": _a - _b, "a >= c": _a - _c},
        positive={"b + c > a": _b + _c - _a},
        met=_EXACT,
    ),
    Refutation(
        claim="sparse.lower_bound.every_rank",
        words="The second rank alone has an entry that is not zero: it receives nothing.",
        whole={_a: 1},
        measured=sp.Integer(0),
        values={P: 2, nonzeros: 1},
        x=((0, 0), (0, _a)),
        met={**_WORDS, "generic_values": "No entry has two contributions."},
    ),
)
