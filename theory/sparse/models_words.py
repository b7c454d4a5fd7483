"""What certificates about TopkA, gTopk, Gaussiank and SparDL prove: their words and steps, for every P and k."""

from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.cost import log2
from commbounds.theory.dense.models_words import AROUND, around, full, gathered_once, held_blocks, named, one_rank
from commbounds.theory.finite_laws import at_most_each, over_all, proved_by
from commbounds.theory.model import Goal, Model, recurrence, untied
from commbounds.theory.quantities import P, entries, index_bits, k, mu, n
from commbounds.theory.sparse.terms import fewest, kept, teams, z

Goals = Callable[..., tuple[Goal, ...]]

levels = sp.Symbol("levels", integer=True, nonnegative=True)
"""ceil(log2 P): 2^(levels - 1) < P <= 2^levels."""
b = sp.Symbol("b", integer=True, nonnegative=True)
"""Entries of SparDL's blocks: floor(k/m)."""
m = sp.Symbol("m", integer=True, positive=True)
"""Ranks of a team: P/teams."""
path = sp.Symbol("path", integer=True, nonnegative=True)
"""Words on the critical path."""

_bits = index_bits(P)
_bruck = 2**full - 1
"""Blocks that a rank sends before the last step of Bruck's algorithm: 1 + 2 + ... + 2^(full - 1)."""


# --- TopkA -------------------------------------------------------------------------------------------------------


def _topka_path(bound: Any) -> tuple[Goal, ...]:
    return gathered_once(bound, 2 * k)


def _topka_above(bound: Any) -> tuple[Goal, ...]:
    received = 2 * k * (P - 1)
    return (
        *proved_by("received", around(2 * k)(received)),
        Goal(
            "difference",
            path - bound,
            given={"path - received": path - received, "P - 3": P - 3, "k": k},
            positive={"P": P},
        ),
    )


def _topka_below_oktopk(bound: Any) -> tuple[Goal, ...]:
    return (
        *proved_by("path", _topka_path(2 * k * (P - 1))),
        Goal("difference", bound - 2 * k * (P - 1), given={"P - 1": P - 1, "3 - P": 3 - P, "k": k}, positive={"P": P}),
    )


def _topka_below_dense(bound: Any) -> tuple[Goal, ...]:
    return (
        *proved_by("path", _topka_path(2 * k * (P - 1))),
        Goal("difference", bound - 2 * k * (P - 1), given={"P - 1": P - 1, "n - k P": n - k * P}, positive={"P": P}),
    )


_EVENLY = "every k, every P; the all-gather a ring's or Bruck's, or P a power of two"

_TOPKA = (
    untied(
        "sparse.topka.received",
        AROUND + "Every other rank's block, 2k words, is received once, by every algorithm.",
        "every k, every P",
        around(2 * k),
    ),
    untied(
        "sparse.topka.critical_path",
        "Blocks have 2k words. Ring: one block in each of P - 1 steps. Bruck, P >= 2: 1, 2, ..., 2^(full - 1) blocks "
        "and at last P - 2^full. Doubling, P = 2^doublings: 1, 2, 4, ... blocks.",
        _EVENLY,
        _topka_path,
    ),
    untied(
        "sparse.topka.above_oktopk",
        "The path is at least what a rank receives, 2k(P - 1) words by every algorithm as goals of "
        "sparse.topka.received show.",
        "every k, every P >= 3",
        _topka_above,
    ),
    untied(
        "sparse.topka.below_oktopk",
        "The path is 2k(P - 1) words as goals of sparse.topka.critical_path show.",
        "every k, P = 1, 2, 3; the all-gather a ring's or Bruck's, or P a power of two",
        _topka_below_oktopk,
    ),
    untied(
        "sparse.topka.below_dense",
        "The path is 2k(P - 1) words as goals of sparse.topka.critical_path show, and kP <= n.",
        _EVENLY,
        _topka_below_dense,
    ),
)

# --- gTopk -------------------------------------------------------------------------------------------------------


def _each_level(each: Any) -> Goals:
    def goals(bound: Any) -> tuple[Goal, ...]:
        return recurrence(bound.xreplace({_bits: levels}), levels, 0, lambda words, _: words + each)

    return goals


def _gtopk_path() -> tuple[Goal, ...]:
    return proved_by("path", _each_level(4 * k)(4 * k * _bits))


def _tree_steps(bound: Any) -> tuple[Goal, ...]:
    """Half of the steps are the first number of doublings that reaches P."""
    half = bound.xreplace({_bits: levels}) / 2
    return (
        one_rank(bound),
        *named("ranks below a root", recurrence(2**levels, levels, 1, lambda ranks, _: 2 * ranks)),
        Goal("enough", 2**half - P, given={"P <= 2**levels": 2**levels - P}),
        Goal("not one level fewer", P - 1 - 2 ** (half - 1), given={"2**(levels - 1) < P": P - 1 - 2**levels / 2}),
    )


def _lowest_bit() -> tuple[Goal, ...]:
    """In which levels rank (2 j + 1) 2^lowest takes part: level t joins 2^(t + 1) i with 2^(t + 1) i + 2^t, to send.

    It is of the first kind below `lowest`, of the second at `lowest`, and not a multiple of 2^t above it.
    """
    j, i, level, more = sp.symbols("j i level more", integer=True, nonnegative=True)
    odd, apart = 2 * j + 1, sp.Symbol("apart", integer=True)
    return (
        Goal("receives below its lowest bit", odd * 2 ** (level + 1 + more) - 2 ** (level + 1) * (odd * 2**more),
             equal=True),
        Goal("sends at its lowest bit", odd * 2**level - (2 ** (level + 1) * j + 2**level), equal=True),
        Goal("takes no part above it", (odd - 2 * i) ** 2 - 1,
             given={"a whole number": apart * (apart + 1)}, zero={"apart": apart - (j - i)}),
        *proved_by("levels below it", recurrence(2 * k * level, level, 0, lambda words, _: words + 2 * k)),
    )  # fmt: skip


def _tree_busiest(bound: Any) -> tuple[Goal, ...]:
    lowest = sp.Symbol("lowest", integer=True, nonnegative=True)
    closed = bound.xreplace({_bits: levels})
    return (
        *_lowest_bit(),
        *_each_level(2 * k)(bound),
        Goal(
            "no other rank", closed - 2 * k * (lowest + 1), given={"levels - 1 - lowest": levels - 1 - lowest, "k": k}
        ),
    )


def _gtopk_below_topka(bound: Any) -> tuple[Goal, ...]:
    more = sp.Symbol("more", integer=True, nonnegative=True)
    above = 2 ** (more + 3) - 2 * (more + 4)
    return (
        *_gtopk_path(),
        Goal("seven or eight ranks", bound - 4 * k * 3, given={"P - 7": P - 7, "k": k}),
        Goal("doublings, at first", above.subs(more, 0)),
        Goal("doublings, one more", above.subs(more, more + 1), given={"hypothesis": above, "more": more}),
        Goal(
            "nine ranks or more",
            bound - 4 * k * (more + 4),
            given={"P - 1 - 2**(levels - 1)": P - 1 - 2 ** (more + 3), "2**(levels - 1) - 2 levels": above, "k": k},
        ),
    )


def _gtopk_above_oktopk(bound: Any) -> tuple[Goal, ...]:
    return (
        *_gtopk_path(),
        one_rank(bound),
        Goal("two ranks", 4 * k - bound.subs(P, 2), given={"k": k}),
        Goal(
            "three ranks or more", 4 * k * levels - bound, given={"levels - 2": levels - 2, "k": k}, positive={"P": P}
        ),
    )


_TREE = (
    "levels = ceil(log2 P). In every level of the tree, up and down, rank 0 takes part, and a message has k entries, "
    "2k words. Induction on the levels. "
)

_GTOPK = (
    untied("sparse.gtopk.critical_path", _TREE, "every k, every P", _each_level(4 * k)),
    untied(
        "sparse.gtopk.steps",
        "Up and down the same number of levels; after t of them a root speaks for up to 2^t ranks, twice as many as "
        "before. `levels` = ceil(log2 P): 2^(levels - 1) < P <= 2^levels. So many are enough, and from two ranks on "
        "one fewer is not.",
        "every P",
        _tree_steps,
    ),
    *(
        untied(f"sparse.gtopk.{verb}", f"{_TREE}{how}", "every k, every P", _tree_busiest)
        for verb, how in (
            (
                "received",
                "The root receives in every level up. A rank whose lowest set bit is 2^lowest, lowest < levels, "
                "receives in at most `lowest` levels up, and once down.",
            ),
            (
                "sent",
                "The root sends in every level down. A rank whose lowest set bit is 2^lowest, lowest < levels, sends "
                "once up, and in at most `lowest` levels down.",
            ),
        )
    ),
    untied(
        "sparse.gtopk.below_topka",
        "The path is 4k levels words as goals of sparse.gtopk.critical_path show, levels = ceil(log2 P). P = 7 and 8 "
        "have three levels. From nine ranks on levels = more + 4, P > 2^(levels - 1), and 2^(levels - 1) >= 2 levels "
        "by induction on `more`.",
        "every k, every P >= 7",
        _gtopk_below_topka,
    ),
    untied(
        "sparse.gtopk.above_oktopk",
        "The path is 4k levels words as goals of sparse.gtopk.critical_path show, levels = ceil(log2 P): none for one "
        "rank, one for two, at least two for more.",
        "every k, every P",
        _gtopk_above_oktopk,
    ),
)

# --- Gaussiank ---------------------------------------------------------------------------------------------------


def _gaussiank_received(bound: Any) -> tuple[Goal, ...]:
    own = sp.Symbol("own", integer=True, nonnegative=True)
    return (
        Goal("no rank receives more", bound - 2 * (entries - own), given={"own - fewest": own - fewest}),
        Goal(
            "the rank that selects fewest", bound - 2 * (entries - own), equal=True, zero={"own = fewest": own - fewest}
        ),
    )


def _gaussiank_mean(bound: Any) -> tuple[Goal, ...]:
    own = sp.Symbol("own_entries", integer=True, nonnegative=True)
    total = 2 * (P * entries - own)
    return (Goal("total", P * bound - total, equal=True, zero={"own_entries = entries": own - entries}),)


def _gaussiank_share(bound: Any) -> tuple[Goal, ...]:
    x, mean, sd = sp.symbols("x mean sd", real=True)
    count, far, near = sp.symbols("count far near", nonnegative=True)
    distance = (x - mean) ** 2 - (z * sd) ** 2
    known = {"mean": mean, "z sd": z * sd}
    return (
        *over_all(lambda squares, entries: squares - (z * sd) ** 2 * entries, (x**2, sp.S.One), case="far entries: "),
        Goal("positive entries are far", distance, given={"x > mean + z sd": x - mean - z * sd, **known}),
        Goal("negative entries are far", distance, given={"-x > mean + z sd": -x - mean - z * sd, **known}),
        Goal(
            "count",
            (bound.subs(mu, k / n) - count / k) * sd**2,
            given={"far entries": far - count * (z * sd) ** 2, "near entries": near},
            positive={"k": k, "n": n, "z": z},
            zero={"variance": n * sd**2 - far - near},
        ),
    )


_GAUSSIANK = (
    untied(
        "sparse.gaussiank.received",
        "By every algorithm a rank receives two words for every entry that another selected: all less its own.",
        "every input, every P",
        _gaussiank_received,
    ),
    untied(
        "sparse.gaussiank.mean_received",
        "By every algorithm a rank receives two words for every entry that another selected. Summed over the ranks, "
        "their own entries are all entries.",
        "every input, every P",
        _gaussiank_mean,
    ),
    untied(
        "sparse.gaussiank.any_input",
        "mu = k/n; z > 0 as k < n. A selected entry has |x| > mean + z sd, mean >= 0: its squared distance from the "
        "mean is at least (z sd)^2. `far` is the sum of these over the `count` selected entries, `near` over the "
        "others; together they are n sd^2. The share is count/k; the claim times sd^2 > 0. Where sd = 0 all entries "
        "are the mean, and none is selected.",
        "every x in R^n with mean >= 0, every n > k >= 1; real arithmetic",
        _gaussiank_share,
    ),
)

# --- SparDL ------------------------------------------------------------------------------------------------------


def _long_enough() -> Goal:
    """With m blocks of q entries or one more, b > q would mean k > n."""
    q, rest, left = sp.symbols("q rest left", integer=True, nonnegative=True)
    return Goal(
        "blocks have b entries",
        (m * b + left) - (m * q + rest) - 1,
        given={"b - q - 1": b - q - 1, "m - 1 - rest": m - 1 - rest, "left": left, "m": m},
    )


def _in_blocks(bound: Any) -> Any:
    return bound.xreplace({sp.floor(k / P): b})


def _halves(ranks: Any) -> Any:
    """Words of reduce-scatter and all-gather, both in Bruck's steps."""
    return 2 * 2 * b * (_bruck + ranks - 2**full)


def _spardl_words(bound: Any) -> tuple[Goal, ...]:
    closed = _in_blocks(bound)
    return (_long_enough(), one_rank(closed), *held_blocks(), Goal("words", closed - _halves(P), equal=True))


def _spardl_below(bound: Any) -> tuple[Goal, ...]:
    return (
        *proved_by("words", _spardl_words(4 * sp.floor(k / P) * (P - 1))),
        Goal("difference", bound - 4 * b * (P - 1), given={"k - b P": k - b * P, "P - 1": P - 1}, positive={"P": P}),
    )


def _spardl_entries(bound: Any) -> tuple[Goal, ...]:
    gathered = sp.Symbol("gathered", integer=True, nonnegative=True)
    closed = _in_blocks(bound).subs(P, gathered)
    return (_long_enough(), *recurrence(closed, gathered, 0, lambda found, _: found + b))


def _in_teams(bound: Any) -> Any:
    return bound.xreplace({sp.floor(k * teams / P): b, log2(teams): levels})


def _spardl_rsag(bound: Any) -> tuple[Goal, ...]:
    closed = _in_teams(bound).xreplace({P: m * 2**levels, teams: 2**levels})
    return (
        _long_enough(),
        *held_blocks(),
        Goal("teams of one, no merge", closed.subs({levels: 0, m: 1}), equal=True),
        Goal("no merge", closed.subs(levels, 0) - _halves(m), equal=True),
        Goal("one merge more", closed.subs(levels, levels + 1) - closed - 2 * b, equal=True),
    )


def _spardl_bsag(bound: Any) -> tuple[Goal, ...]:
    gathered = sp.Symbol("gathered", integer=True, nonnegative=True)
    closed = _in_teams(bound).subs(P, m * teams)
    agreed = 2 * kept * (teams - 1)
    return (
        _long_enough(),
        *held_blocks(),
        Goal("teams of one", closed.subs(m, 1) - agreed, equal=True),
        *at_most_each("one more block", 2 * b, m - 1, gathered),
        Goal(
            "words",
            closed - (_halves(m) / 2 + agreed + gathered),
            given={"at most b entries a block": _halves(m) / 2 - gathered},
        ),
    )


_BLOCKS = (
    "Blocks are cut into messages of b = floor(k/m) entries, m = {m} (k = m b + left; blocks have q entries or one "
    "more, n = m q + rest, so that b > q would mean k > n). "
)
_ONE_TEAM = _BLOCKS.format(m="P")
_TEAMS = _BLOCKS.format(m="P/teams")
_STEPS = (
    "In either half a rank sends, and receives, 1, 2, ..., 2^(full - 1) blocks and m - 2^full in one more step, in "
    "some order, 2^full < m <= 2^(full + 1); nothing where m = 1. "
)

_SPARDL = (
    *(
        untied(
            f"sparse.spardl.{which}",
            _ONE_TEAM + _STEPS + "So do all ranks.",
            "every n >= k >= 1, every P, one team",
            _spardl_words,
        )
        for which in ("most", "least")
    ),
    untied(
        "sparse.spardl.steps",
        "Either half has as many steps as the first number of doublings, `levels`, after which one block has become P: "
        "2^(levels - 1) < P <= 2^levels. So many are enough, and from two ranks on one fewer is not.",
        "every P, one team",
        _tree_steps,
    ),
    untied(
        "sparse.spardl.below_even_split",
        "b = floor(k/P); all ranks move the same in every step, 4b(P - 1) words in all as goals of sparse.spardl.most "
        "show.",
        "every n >= k >= 1, every P, one team",
        _spardl_below,
    ),
    untied(
        "sparse.spardl.entries",
        _ONE_TEAM + "Induction on the blocks that are gathered; they have no index in common.",
        "every n >= k >= 1, every P, one team",
        _spardl_entries,
    ),
    *(
        untied(
            f"sparse.spardl.r_sag_{which}",
            _TEAMS + _STEPS + "teams = 2^levels; in each of `levels` merges a rank sends and receives b entries, which "
            "two bags of b entries always leave. Induction on the merges. So do all ranks.",
            "every n >= k >= 1, every P, every power of two that divides P as the number of teams",
            _spardl_rsag,
        )
        for which in ("most", "least")
    ),
    untied(
        "sparse.spardl.b_sag",
        _TEAMS + _STEPS + "Teams exchange `kept` entries of a block with each other, all but their own. What is "
        "`gathered` in the last half are blocks of at most b entries, of two words.",
        "every n >= k >= 1, every P, every number of teams that divides P, every h <= b",
        _spardl_bsag,
    ),
)

WORDS: tuple[Model, ...] = (*_TOPKA, *_GTOPK, *_GAUSSIANK, *_SPARDL)
"""Of TopkA, gTopk, Gaussiank and SparDL."""
