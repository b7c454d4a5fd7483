"""What certificates about TopkDSA, the lower bound of sparse all-reduces and the conservation of mass prove."""

from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.dense.models_words import gathered_once, one_rank
from commbounds.theory.finite_laws import at_most_each, over_all, part_of_all
from commbounds.theory.model import Goal, Model, untied
from commbounds.theory.quantities import P, k, n
from commbounds.theory.sparse.terms import nonzeros, union

Goals = Callable[..., tuple[Goal, ...]]

c = sp.Symbol("c", integer=True, positive=True)
"""Entries of the longest region: ceil(n/P)."""
split, gathered, dense = sp.symbols("split gathered dense", nonnegative=True)
"""Entries of the longest message, over the steps of a phase on average: of the split, of sparse and dense gathering."""
own = sp.Symbol("own", integer=True, nonnegative=True)
"""Pairs of a rank and an index of its own region that it selects."""

_few, _all = sp.Min(k, sp.ceiling(n / P)), sp.Min(P * k, sp.ceiling(n / P))
_LONGEST = {"split <= k": k - split, "split <= c": c - split}
_SPARSE = {"gathered <= P k": P * k - gathered, "gathered <= c": c - gathered}


def _in_steps() -> tuple[Goal, ...]:
    """That the most entries of a message, over the steps on average, are no more than the most of one message."""
    most = sp.Symbol("most_of_one", nonnegative=True)
    return (
        *at_most_each("steps of the split", most, P - 1, (P - 1) * split),
        *at_most_each("steps of the ring", most, P - 1, (P - 1) * gathered),
        *at_most_each("ranks that select", k, P, gathered),
    )


def _upper(bound: Any) -> tuple[Goal, ...]:
    """For each of the two minima both of its branches: what is below both is below the minimum."""
    found = [*_in_steps()]
    for few, few_name in ((k, "k"), (c, "c")):
        for most, most_name in ((P * k, "P k"), (c, "c")):
            closed = bound.xreplace({_few: few, _all: most})
            split_room = {f"split <= {few_name}": few - split, "P - 1": P - 1}
            found += [
                Goal(
                    f"sparse: {few_name} and {most_name}",
                    closed - 2 * (P - 1) * (split + gathered),
                    given={**split_room, f"gathered <= {most_name}": most - gathered},
                ),
                Goal(
                    f"dense: {few_name} and {most_name}",
                    closed - (P - 1) * (2 * split + dense),
                    given={**split_room, "dense <= c": c - dense, "c <= n": n - c, "n <= 2 P k": 2 * P * k - n, "c": c},
                ),
            ]
    return tuple(found)


def _upper_even(bound: Any) -> tuple[Goal, ...]:
    known = {**_LONGEST, "P - 2": P - 2, "c": c}
    closed = bound.subs(n, P * c)
    positive = {"P + 2": P + 2}
    return (
        one_rank(bound),
        *_in_steps(),
        Goal("sparse", closed - 2 * (P - 1) * (split + gathered), given={**known, **_SPARSE}, positive=positive),
        Goal(
            "dense", closed - (P - 1) * (2 * split + dense), given={**known, "dense <= c": c - dense}, positive=positive
        ),
    )


def _lower(bound: Any) -> tuple[Goal, ...]:
    least = sp.Min(4 * k, n)
    sent = 2 * (P * k - own)
    sizes = {"union - own": union - own, "union - k": union - k}
    mine = sp.Symbol("own_of_one", nonnegative=True)
    return (
        *at_most_each("an index has one owner", sp.S.One, union, own),
        *part_of_all("what one rank selects"),
        *over_all(lambda words, of_own, ranks: words - 2 * (k * ranks - of_own), (2 * (k - mine), mine, sp.S.One),
                  case="split, ranks: ", equal=True),
        *over_all(lambda words, entries: words - 2 * (P - 1) * entries, (2 * (P - 1), sp.S.One), case="sums: ",
                  equal=True),
        Goal("one rank", (sent - P * bound.xreplace({least: 4 * k})).subs(P, 1), given={"k - own": k - own}),
        Goal(
            "sparse", sent + 2 * union * (P - 1) - P * bound.xreplace({least: 4 * k}), given={**sizes, "P - 2": P - 2}
        ),
        Goal("dense", sent + n * (P - 1) - P * bound.xreplace({least: n}), given={"P k - own": P * k - own}),
    )  # fmt: skip


def _identical(bound: Any) -> tuple[Goal, ...]:
    share = sp.Symbol("share", integer=True, nonnegative=True)
    split = 2 * share * (P - 1)
    return (
        *over_all(lambda words, steps: words - 2 * share * steps, (2 * share, sp.S.One), case="split: ", equal=True),
        *gathered_once(sp.expand(bound.subs(k, P * share) - split), 2 * share),
    )


def _gathered_mean(bound: Any) -> tuple[Goal, ...]:
    """A rank receives all words but its own; the ranks' own words are all words."""
    least, mine = sp.Min(n, 2 * union), sp.Symbol("own_words", integer=True, nonnegative=True)
    return tuple(
        Goal(
            name,
            P * bound.xreplace({least: words}) - (P * words - mine),
            equal=True,
            zero={"own_words = words": mine - words},
        )
        for name, words in (("sparse", 2 * union), ("dense", n))
    )


def _code_switch(bound: Any) -> tuple[Goal, ...]:
    ranks, block = {"P - 1": P - 1}, sp.Symbol("block", nonnegative=True)
    return (
        *over_all(lambda received, words: received - (P - 1) * words, ((P - 1) * block, block), case="blocks: ",
                  equal=True),
        Goal("sparse", P * bound - 2 * union * (P - 1), given={**ranks, "union": union}),
        Goal("dense", P * bound - n * (P - 1), given={**ranks, "3 union - n": 3 * union - n}),
    )  # fmt: skip


_WORDS = (
    "`split` is the mean over the P - 1 steps of the split of the most entries that a message has: those of one rank "
    "in one region, at most k and at most c = ceil(n/P). `gathered` is that of the P - 1 steps of the ring: blocks are "
    "what any rank selected of a region, at most Pk and at most c; two words each. Dense blocks have at most c words. "
)
_SWITCH = "Blocks travel densely if 2U >= n, where U <= Pk. "

_TOPK_DSA = (
    untied(
        "sparse.topkdsa.upper",
        _WORDS + _SWITCH + "A bound on each branch of a minimum bounds the minimum: every choice of branches.",
        "every input, every P, every n >= k >= 1",
        _upper,
    ),
    untied(
        "sparse.topkdsa.upper_even",
        _WORDS + "c = n/P. With one rank nothing moves.",
        "every input, every P, every n >= k >= 1 where P divides n",
        _upper_even,
    ),
    untied(
        "sparse.topkdsa.lower_with_switch",
        "Every rank selects k nonzeros. `own` counts the pairs of a rank and an index of its own region that it "
        "selects: own <= U, as an index has one owner; all other selected entries are received once in the split, two "
        "words each. k <= U, as one rank selects k. Sparse blocks are received by P - 1 ranks, 2U(P - 1) words in all, "
        "dense ones n(P - 1). P times the mean is the sum; at least one branch of the minimum suffices.",
        "every input with k nonzeros on every rank, every P, every n >= k >= 1",
        _lower,
    ),
    untied(
        "sparse.topkdsa.identical",
        "k = P share. In each of the P - 1 steps of the split every message has `share` entries, and so have all "
        "blocks, which do not travel densely as 2k < n. Ring: P - 1 steps of one block. Bruck, P >= 2, 2^full < P <= "
        "2^(full + 1): 1, 2, ..., 2^(full - 1) blocks and at last P - 2^full. Doubling, P = 2^doublings: 1, 2, 4, ... "
        "blocks.",
        "every P, every share of k, every n > 2k; the all-gather a ring's or Bruck's, or P a power of two",
        _identical,
    ),
    untied(
        "sparse.topkdsa.gathered",
        "A rank receives all words but its own, by every algorithm; the ranks' own words are all words: 2U if 2U < n, "
        "and n otherwise, so that in either case they are the minimum.",
        "every input, every P",
        _gathered_mean,
    ),
    untied(
        "sparse.topkdsa.code_switch",
        "All words, 2U if 3U < n and n otherwise, are received by P - 1 ranks. P times the mean is the sum.",
        "every input, every P",
        _code_switch,
    ),
)

# --- the lower bound ---------------------------------------------------------------------------------------------

_received, _pairs, _initially, _most = sp.symbols("received pairs initially most", integer=True, nonnegative=True)


def _needed(bound: Any) -> tuple[Goal, ...]:
    return (
        *over_all(lambda pairs, indices: pairs - (P - 1) * indices, (_received, sp.S.One), case="indices: "),
        Goal(
            "one index",
            _received - (P - 1),
            given={"received >= P - initially": _received - (P - _initially), "initially <= 1": 1 - _initially},
        ),
        Goal("mean", 2 * _pairs - P * bound, given={"pairs >= nonzeros (P - 1)": _pairs - nonzeros * (P - 1)}),
    )


def _needed_most(bound: Any) -> tuple[Goal, ...]:
    return (
        *_needed(bound)[:-1],
        *at_most_each("ranks", _most, P, 2 * _pairs),
        Goal(
            "largest",
            P * _most - P * bound,
            given={"pairs >= nonzeros (P - 1)": _pairs - nonzeros * (P - 1), "P most >= words": P * _most - 2 * _pairs},
        ),
    )


_NEEDED = (
    "At an index of the update every rank ends with its sum; `initially` ranks begin with it, one at most as only one "
    "that alone brought something does; each other one needs a pair of index and value, so that `received` >= P - "
    "initially pairs of this index arrive. Summed over the indices, `pairs` >= nonzeros (P - 1), two words each. "
)

_LOWER_BOUND = (
    untied(
        "sparse.lower_bound.mean",
        _NEEDED + "P times the mean is the sum.",
        "every all-reduce that sends sums of entries as pairs, every input with generic values, every P",
        _needed,
    ),
    untied(
        "sparse.lower_bound.most",
        _NEEDED + "`most`, the largest of P numbers, is at least their mean.",
        "every all-reduce that sends sums of entries as pairs, every input with generic values, every P",
        _needed_most,
    ),
)

# --- mass --------------------------------------------------------------------------------------------------------

_total, _update, _kept, _x, _chosen = sp.symbols("total update residuals x chosen", real=True)
_a, _b, _held, _stays, _in = sp.symbols("a b held stays in_update", real=True)


def _rank_by_rank(bound: Any) -> tuple[Goal, ...]:
    """One index: what is chosen goes into the update, all else into the residual; one rank after another."""
    before = {"ranks before": _total - _update - _kept}
    sent = _chosen * _x
    residual = _x - sent
    return (
        Goal("one rank more", (_total + _x) - (_update + sent) - (_kept + residual) - bound, equal=True, zero=before),
    )


def _merge(bound: Any) -> Goal:
    """Two bags become one, of what stays of their sum; a rank holds what is dropped."""
    both = _a + _b
    after = _stays * both + (_held + (1 - _stays) * both)
    return Goal(
        "merge", _total - (_update + after) - bound, equal=True, zero={"before": _total - _update - both - _held}
    )


def _end(bound: Any) -> Goal:
    """In the update: what the bags had, and residuals that were held; elsewhere every rank's own entry."""
    left = _in * (_update + _held) + (1 - _in) * _total
    return Goal("end", _total - left - bound, equal=True, zero={"bag and held": _total - _update - _held})


def _selection(bound: Any) -> Goal:
    return Goal("selection", _x - _chosen * _x - (1 - _chosen) * _x - bound, equal=True)


def _tree_mass(bound: Any) -> tuple[Goal, ...]:
    return _selection(bound), _merge(bound), _end(bound)


def _team_mass(bound: Any) -> tuple[Goal, ...]:
    moved = _chosen * _a
    return (
        Goal(
            "reduce-scatter",
            _total - (_update + (_a - moved) + (_b + moved)) - bound,
            equal=True,
            zero={"before": _total - _update - _a - _b},
        ),
        Goal(
            "bags",
            _total - (_update + moved + (_a - moved)) - bound,
            equal=True,
            zero={"before": _total - _update - _a},
        ),
        _merge(bound),
        Goal(
            "at once",
            _total - (_update + _stays * (_a + _b) + (_held + (1 - _stays) * _a + (1 - _stays) * _b)) - bound,
            equal=True,
            zero={"before": _total - _update - _a - _b - _held},
        ),
        _end(bound),
    )


_INDEX = "At one index; real arithmetic. `total` is the sum of the ranks' entries x. "
_FLAGS = "`chosen`, `stays`, `in_update` are 1 or 0. "

_MASS = (
    *(
        Model(
            f"sparse.{method}.mass",
            _INDEX
            + "A rank's entry goes into the update where it is chosen (1, or 0), and else stays in its residual. "
            "Induction on the ranks: total = update + residuals.",
            "every input, every P; exact additions",
            _rank_by_rank,
        )
        for method in ("topka", "topkdsa", "gaussiank")
    ),
    Model(
        "sparse.gtopk.mass",
        _INDEX + _FLAGS + "A rank sends what is chosen and holds the rest. A merge of the bags a and b keeps their sum "
        "or drops it, and then the rank also holds it; `update` stands for all other bags, what other ranks hold left "
        "out on both sides. In the end one bag is left. At an index of the update residuals are what is held; at any "
        "other the ranks' own entries, which are the total.",
        "every input, every P; exact additions",
        _tree_mass,
    ),
    Model(
        "sparse.spardl.mass",
        _INDEX + _FLAGS + "In the reduce-scatter what a rank holds, a, leaves it where it is chosen and is added to "
        "what another holds, b; at last it goes into the owner's bag. By recursive doubling teams hold the same bag a, "
        "or b, in groups; a merge keeps their sum or drops it, and one rank of both groups also holds it. At once: "
        "each of the teams' bags is in the sum that stays, or its rank also holds it. `update` stands for all other "
        "bags, a group's counted once. In the end one bag is left; at an index of the update residuals are what is "
        "held, at any other the ranks' own entries, which are the total.",
        "every input, every P, every number of teams that fits; exact additions",
        _team_mass,
    ),
)

REGIONS: tuple[Model, ...] = (*_TOPK_DSA, *_LOWER_BOUND, *_MASS)
"""Of TopkDSA, of the lower bound, and of what is conserved."""
