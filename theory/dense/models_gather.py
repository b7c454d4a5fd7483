"""What certificates about all-gathers and reduce-scatters prove."""

from typing import Any

import sympy as sp

from commbounds.theory.dense.models_words import (
    AROUND,
    EVERY,
    LONGEST_NEIGHBOURS,
    Goals,
    around,
    doubled,
    doublings,
    early,
    full,
    held_blocks,
    lengths,
    longest,
    longest_neighbours,
    named,
    one_rank,
    q,
    rem,
)
from commbounds.theory.dense.terms import ceil_log2
from commbounds.theory.model import Goal, Model, recurrence, untied
from commbounds.theory.quantities import P, index_bits, n

last_long = sp.Symbol("last_long", integer=True, nonnegative=True)
"""Long blocks in the longest message of the last step: min(P - 2^full, rem)."""

_doublings_before = sp.Max(ceil_log2 - 1, 0)


def _in_bruck(bound: Any) -> Any:
    """The bound in `full`, `early`, `rem`, `q` and `last_long`."""
    rest, bits = sp.Mod(n, P), index_bits(sp.Mod(n, P) + 1)
    return bound.xreplace(
        {
            sp.Min(bits, _doublings_before): early,
            sp.Min(P - 2**_doublings_before, rest): last_long,
            _doublings_before: full,
            ceil_log2: full + 1,
            rest: rem,
            sp.floor(n / P): q,
        }
    )


def _bruck_words(bound: Any) -> tuple[Goal, ...]:
    closed = _in_bruck(bound)

    def before_the_last(f: Any, e: Any) -> Any:
        whole = closed.xreplace({full: sp.sympify(f, strict=True), early: sp.sympify(e, strict=True)})
        return whole - ((P - 2**f) * q + last_long)

    f = full
    return (
        one_rank(bound),
        *held_blocks(),
        *lengths(),
        Goal("one step", before_the_last(0, 0), equal=True),
        Goal("long blocks only", before_the_last(f + 1, f + 1) - before_the_last(f, f) - 2**f * (q + 1), equal=True),
        Goal(
            "all long blocks", before_the_last(f + 1, early) - before_the_last(f, early) - (2**f * q + rem), equal=True
        ),
    )


def _even_words(bound: Any) -> tuple[Goal, ...]:
    """2^0 + 2^1 + ... blocks of n/P words before the last step, and the P - 2^full that are left."""
    before = 2**full - 1
    return (
        one_rank(bound),
        *held_blocks(),
        Goal("words", P * bound - P * (before + P - 2**full) * q, equal=True, zero={"n = P q": n - P * q}),
    )


def _doubling_words(bound: Any) -> tuple[Goal, ...]:
    rest = sp.Mod(n, P)
    closed = bound.xreplace(
        {ceil_log2: doublings, index_bits(rest + 1): early, rest: rem, sp.floor(n / P): q, P: 2**doublings}
    )
    return longest_neighbours(closed)


def until_all(bound: Any) -> tuple[Goal, ...]:
    """The first number of doublings after which one block has become P."""
    taken = bound.xreplace({ceil_log2: doublings})
    return (
        one_rank(bound),
        *named("blocks", recurrence(2**doublings, doublings, 1, lambda blocks, _: 2 * blocks)),
        Goal("enough", 2**taken - P, given={"P <= 2**ceil(log2 P)": 2**doublings - P}),
        Goal(
            "not one step earlier",
            P - 1 - 2 ** (taken - 1),
            given={"2**(ceil(log2 P) - 1) < P": P - 1 - 2**doublings / 2},
        ),
    )


def _all_but_own(bound: Any) -> tuple[Goal, ...]:
    own = sp.Symbol("own", integer=True, nonnegative=True)
    closed = bound.xreplace({sp.floor(n / P): q})
    return (
        Goal("no rank moves more", closed - (n - own), given={"own - q": own - q}),
        Goal("the last rank", closed - (n - q), equal=True),
    )


def _mean_of_blocks(bound: Any) -> tuple[Goal, ...]:
    lengths = sp.Symbol("lengths", integer=True, nonnegative=True)
    return (Goal("total", P * bound - (P * n - lengths), equal=True, zero={"lengths = n": lengths - n}),)


def _model(claim: str, words: str, goals: Goals, scope: str = EVERY) -> Model:
    return untied(f"dense.{claim}", words, scope, goals)


_BRUCK = (
    "In step j = 0, ..., full messages are min(2^j, P - 2^j) neighbouring blocks, 2^full < P <= 2^(full + 1). Among c "
    "neighbours the first c have most words, c q + min(c, rem). min(2^j, rem) = 2^j for j < early = min(full, bits of "
    "rem), and rem for the other steps but the last; there it is `last_long`. Induction: first over the steps of long "
    "blocks only, then over the others. With one rank nothing moves."
)
_BOTH = ("allgather", "reduce_scatter")

GATHERED: tuple[Model, ...] = (
    *(
        model
        for half in _BOTH
        for model in (
            _model(
                f"{half}.ring_words",
                AROUND + "In each of them every block is sent, so that the busiest rank moves ceil(n/P) words.",
                around(longest),
            ),
            _model(f"{half}.bruck_words", _BRUCK, _bruck_words),
            _model(
                f"{half}.doubling_words",
                "P = P' = 2^doublings. " + LONGEST_NEIGHBOURS,
                _doubling_words,
                "every P = 2^d, every n",
            ),
        )
    ),
    _model(
        "allgather.even_words",
        "P >= 2; 2^full < P <= 2^(full + 1). Before the last step 2^full - 1 blocks have been sent, by induction, and "
        "in the last P - 2^full; each has q = n/P words. With one rank nothing moves.",
        _even_words,
        "every P, every n that P divides",
    ),
    _model("allgather.ring_steps", AROUND + "One step each.", around(1), "every P"),
    _model(
        "allgather.bruck_steps",
        "After t steps a rank has min(2^t, P) blocks: twice as many as before, until it has all. `doublings` is "
        "ceil(log2 P): 2^(doublings - 1) < P <= 2^doublings. That many steps are enough, and from two ranks on "
        "one fewer is not.",
        until_all,
        "every P",
    ),
    _model(
        "allgather.doubling_steps",
        "One step a doubling of 2^doublings ranks, and for other P one before and one after. Induction on the "
        "doublings.",
        doubled(2, 1),
        "every P",
    ),
    _model(
        "allgather.received",
        "By every algorithm a rank receives every block but its own once. Its `own` has at least q = floor(n/P) words, "
        "and the last rank's has no more, as at most P - 1 are longer.",
        _all_but_own,
    ),
    _model(
        "reduce_scatter.sent",
        "By every algorithm a rank sends every block but its own once. Its `own` has at least q = floor(n/P) words, "
        "and the last rank's has no more, as at most P - 1 are longer.",
        _all_but_own,
    ),
    _model(
        "gather_blocks.mean_received",
        "By every algorithm a rank receives every block but its own once, n words less those of its own; `lengths` is "
        "the sum of all blocks' words. P times the mean is the sum over the ranks.",
        _mean_of_blocks,
        "every P, blocks of any lengths",
    ),
)
"""Of the all-gathers and reduce-scatters."""
