"""Where refuted claims about Ok-Topk are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.oktopk.terms import selected, winners, xi
from commbounds.theory.quantities import P, k, n

_WORDS = {"words_of_the_data": "Split, balancing and all-gather are counted."}
_BALANCED = {"always_balanced": "Data balancing is done."}
_FRESH = {"fresh_mean_of_quantiles": "Boundaries are found so."}
_RING = {"no_duplicates": "The all-gather goes around a ring."}
_SHARE = winners / P

_i, _j, _t, _a, _b = sp.symbols("i j t a b", integer=True, nonnegative=True)
_P = 4 * 2**_j
_k = _i * _P

REFUTATIONS = by_claim(
    Refutation(
        claim="oktopk.balance.quarter_as_read",
        words="P = 4 2^j ranks, k = i P. A quarter of them owns 4 k/P winners each, four times the mean, and that is "
        "left as it is. In the all-gather by recursive doubling such a rank sends its own block in every step, and "
        "the blocks that it has got: k (3 - 4/P) entries, each in two words.",
        whole={_j: 0, _i: 1},
        measured=2 * _k * (3 - 4 / _P),
        values={P: _P, k: _k, winners: _k},
        met={
            "phase_two": "Balancing and all-gather are counted.",
            "quarter_rule": "The collective runs this way.",
            "last_gather_doubling": "It is recursive doubling.",
        },
    ),
    Refutation(
        claim="oktopk.sgd.assumption",
        words="Two ranks whose large entries cancel, k = 1: after t steps the ratio is t.",
        whole={_t: 1, xi: 1},
        measured=_t,
        values={xi: xi},
        met={"found_every_step": "The thresholds are."},
    ),
    Refutation(
        claim="oktopk.sgd.iterate_raw",
        words="One rank, k = 1, gradients (a, b) and then zero, the step size 1/4 and then 1/8: a goes at once, b "
        "waits, and half of its step is lost.",
        whole={_a: 1, _b: 1},
        measured=_b / 8,
        x=((_a, _b), (0, 0)),
        positive={"a > b": _a - _b},
        met={"raw_residuals": "They run this way.", "exact_means": "There is one rank, and numbers are whole."},
    ),
    Refutation(
        claim="oktopk.sent.unconditional",
        words="Rank 0 selects k entries of other regions, and owns all winners: it sends k entries in the split, all "
        "winners but its share to balance, and P - 1 shares in the all-gather, each entry in two words.",
        whole={P: 2, k: 1, winners: 0},
        measured=2 * (k + winners - _SHARE + (P - 1) * _SHARE),
        values={P: P, k: k, winners: winners, selected: k},
        met={**_WORDS, **_BALANCED, **_RING, "any_boundaries": "The boundaries are given."},
    ),
    Refutation(
        claim="oktopk.received.unconditional",
        words="Rank 0 selects the last k entries, which win, all others the first k: all boundaries lie between. Rank "
        "0 receives (P - 1) k entries in the split, and all k winners thereafter, each entry in two words.",
        whole={P: 2, k: 1},
        measured=2 * P * k,
        values={P: P, k: k, winners: k, selected: k},
        met={**_WORDS, **_BALANCED, **_FRESH},
    ),
    Refutation(
        claim="oktopk.both.as_read",
        words="Every rank selects k/P entries of every region; the k winners lie in the region of rank 0. It sends "
        "and receives (P - 1) k/P entries in the split, sends as many to balance, and sends and receives as many in "
        "the all-gather, each entry in two words.",
        whole={P: 2, k: 1},
        measured=2 * 5 * (P - 1) * k / P,
        values={P: P, k: k, winners: k},
        zero={"P divides k": sp.Mod(k, P)},
        met={**_WORDS, **_BALANCED, **_RING, "even_split": "It is k/P everywhere."},
    ),
    Refutation(
        claim="oktopk.sent.reused_threshold",
        words="Two ranks, all of whose n entries pass the old thresholds, n even: n/2 entries go to the other rank in "
        "the split, and n/2 in the all-gather, each in two words.",
        whole={n: 1, k: 1},
        measured=2 * n,
        values={P: 2, n: n, k: k},
        given={"k <= n": n - k},
        zero={"n is even": sp.Mod(n, 2)},
        met={
            **_WORDS,
            **_BALANCED,
            "last_gather_ring": "The all-gather goes around a ring.",
            "stale_threshold": "The thresholds are given.",
        },
    ),
    Refutation(
        claim="oktopk.boundaries.mean_of_quantiles",
        words="Rank 0 selects the last k entries, all others the first k: all boundaries lie between, and (P - 1) k "
        "entries enter region 0.",
        whole={P: 1, k: 1},
        measured=(P - 1) * k,
        values={P: P, k: k, selected: k},
        met={"split_alone": "The split is counted.", **_FRESH},
    ),
    Refutation(
        claim="oktopk.lower.any_vectors",
        words="All vectors are zero, and nothing is sent.",
        whole={P: 1, k: 1},
        measured=sp.Integer(0),
        values={P: P, k: k},
        met=_WORDS,
    ),
    Refutation(
        claim="oktopk.lower.every_rank",
        words="Two ranks, k = 1; either selects an entry of its own region, and that of rank 0 wins: rank 0 receives "
        "nothing.",
        whole={},
        measured=sp.Integer(0),
        values={P: 2, winners: 1},
        met=_WORDS,
    ),
    Refutation(
        claim="oktopk.threshold.ties",
        words="One rank with n equal entries, all of which pass the threshold that k of them set.",
        whole={n: 1, k: 1},
        measured=n,
        values={P: 1, n: n, k: k},
        given={"k <= n": n - k},
        met={"inclusive_threshold": "The collective runs this way.", "fresh_thresholds": "Both are found."},
    ),
)
