"""What certificates about the dense all-reduces' words, messages and steps prove: for every P and n, by induction.

Blocks have `q` words, and the first `rem` of them one more. P = 2^doublings + extra with 0 <= extra < 2^doublings:
the first 2 extra ranks are folded in pairs, so that 2^doublings ranks are left.
"""

from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.cost import log2, power_below
from commbounds.theory.dense.terms import ceil_log2
from commbounds.theory.finite_laws import at_most_each, over_all
from commbounds.theory.model import Goal, Model, recurrence, untied
from commbounds.theory.quantities import P, index_bits, n

q = sp.Symbol("q", integer=True, nonnegative=True)
"""Words of a short block."""
rem = sp.Symbol("rem", integer=True, nonnegative=True)
"""Blocks that are one word longer."""
longest = sp.Symbol("longest", integer=True, nonnegative=True)
"""Words of the longest block: ceil(n/P)."""
doublings = sp.Symbol("doublings", integer=True, nonnegative=True)
"""Of the largest power of two that is at most P."""
extra = sp.Symbol("extra", integer=True, nonnegative=True)
"""Ranks beyond that power of two."""
early = sp.Symbol("early", integer=True, nonnegative=True)
"""Doublings whose busiest rank moves long blocks only: as many as `rem` has bits."""
steps = sp.Symbol("steps", integer=True, nonnegative=True)
"""Steps that a block needs to get around: P - 1."""
full = sp.Symbol("full", integer=True, nonnegative=True)
"""Doublings but the last of Bruck's algorithm, for P >= 2 ranks: 2^full < P <= 2^(full + 1)."""

Goals = Callable[..., tuple[Goal, ...]]
_core = power_below(P)
AROUND = "P = steps + 1. A block gets to every other rank in P - 1 steps: induction on their number. "
EVERY = "every P, every n"


def named(case: str, goals: tuple[Goal, ...]) -> tuple[Goal, ...]:
    """The goals, with a case in their names."""
    return tuple(Goal(f"{case}: {g.name}", g.show, g.equal, g.given, g.positive, g.zero) for g in goals)


def one_rank(bound: Any) -> Goal:
    """That nothing moves where there is one rank; n is whole."""
    return Goal("one rank", bound.subs(P, 1).subs(sp.ceiling(n), n), equal=True)


def around(each: Any) -> Goals:
    """That the bound is `each` for every step that a block needs to get around."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        closed = bound.xreplace({sp.ceiling(n / P): longest}).subs(P, steps + 1)
        return recurrence(closed, steps, 0, lambda value, _: value + each)

    return goals


def in_core(bound: Any, folded: bool) -> Any:
    """The bound in `doublings` and `extra`; `folded`: where P is no power of two."""
    left = {
        ceil_log2: doublings + int(folded),
        log2(_core): doublings,
        index_bits(sp.Mod(n, _core) + 1): early,
        sp.Mod(n, _core): rem,
        sp.floor(n / _core): q,
        _core: 2**doublings,
    }
    return bound.xreplace(left).subs(P, 2**doublings + (extra if folded else 0))


def doubled(before: Any, each: Any) -> Goals:
    """That the bound is `before` where ranks are folded, and `each` for every doubling."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        return tuple(
            goal
            for folded, name in ((False, "power of two"), (True, "folded"))
            for goal in named(
                name, recurrence(in_core(bound, folded), doublings, int(folded) * before, lambda value, _: value + each)
            )
        )

    return goals


def held_blocks(what: str = "blocks") -> tuple[Goal, ...]:
    """That ranks which send all that they hold have 2^full after so many doublings, and sent 2^full - 1."""
    return (
        *named(f"{what} held", recurrence(2**full, full, 1, lambda held, _: held + held)),
        *named(f"{what} before the last step", recurrence(2**full - 1, full, 0, lambda sent, t: sent + 2**t)),
    )


def gathered_once(total: Any, block: Any) -> tuple[Goal, ...]:
    """That an all-gather which sends nothing twice sends, and brings, blocks of `block` words that come to `total`.

    A ring: one in each of P - 1 steps. Bruck, P >= 2: 1, 2, ..., 2^(full - 1) blocks and at last P - 2^full. Doubling,
    P = 2^doublings: 1, 2, 4, ... blocks.
    """
    bruck = block * (2**full - 1 + P - 2**full)
    doubling = recurrence(total.subs(P, 2**doublings), doublings, 0, lambda words, t: words + block * 2**t)
    return (
        *named("ring", around(block)(total)),
        one_rank(total),
        *held_blocks(),
        Goal("Bruck", total - bruck, equal=True),
        *named("doubling", doubling),
    )


def lengths() -> tuple[Goal, ...]:
    """How many words a message of 2^doublings blocks has at most, of which no more than `rem` are long."""
    words, long, is_long = sp.symbols("words long is_long", nonnegative=True)
    of = {"its words": words - 2**doublings * q - long}
    return (
        *over_all(lambda words, blocks, long: words - q * blocks - long, (q + is_long, sp.S.One, is_long),
                  case="words: ", equal=True),
        *at_most_each("long blocks", sp.S.One, 2**doublings, long),
        Goal("no more, long blocks only", 2**doublings * (q + 1) - words, zero=of,
             given={"no more long ones than blocks": 2**doublings - long}),
        Goal("no more, all long blocks", 2**doublings * q + rem - words, zero=of,
             given={"no more than all": rem - long}),
    )  # fmt: skip


def longest_neighbours(bound: Any, times: int = 1, before: Any = 0) -> tuple[Goal, ...]:
    """That a bound in `doublings` and `early` adds up the longest messages of 1, 2, 4, ... neighbouring blocks."""

    def at(d: Any, e: Any) -> Any:
        return bound.xreplace({doublings: sp.sympify(d, strict=True), early: sp.sympify(e, strict=True)})

    d = doublings
    return (
        *held_blocks(),
        *lengths(),
        Goal("no doubling", at(0, 0) - before, equal=True),
        Goal("long blocks only", at(d + 1, d + 1) - at(d, d) - times * 2**d * (q + 1), equal=True),
        Goal("all long blocks", at(d + 1, early) - at(d, early) - times * (2**d * q + rem), equal=True),
    )


LONGEST_NEIGHBOURS = (
    "In doubling j = 0, 1, ... messages are what a rank holds, 2^j neighbouring blocks, of which the first 2^j ones "
    "have most words, 2^j q + min(2^j, rem). 2^j <= rem as long as j < early, the number of bits of rem = n mod P'. "
    "Induction: first over the doublings of long blocks only, then over those with all rem long ones."
)


def _halved(bound: Any) -> tuple[Goal, ...]:
    """Halves n/2, n/4, ..., and back; n more where ranks are folded; and no rank moves more."""
    d = doublings
    found = [*named("part of the vector", recurrence(n / 2**d, d, n, lambda part, _: part / 2))]
    for folded, name in ((False, "power of two"), (True, "folded")):
        closed = in_core(bound, folded)
        found += named(name, recurrence(closed, d, int(folded) * n, lambda value, t: value + 2 * n / 2 ** (t + 1)))
    closed = in_core(bound, True)
    alone = 2 * n * (2**d - 1) / 2**d
    sizes = {"n": n, "2**doublings - 1": 2**d - 1}
    core = {"2**doublings": 2**d}
    return (
        *found,
        Goal("not the folded ranks", closed - n, given=sizes, positive=core),
        Goal("not the ranks that are not folded", closed - alone, given=sizes, positive=core),
    )


def _ring_busiest(bound: Any) -> tuple[Goal, ...]:
    own, following = sp.symbols("own following", integer=True, nonnegative=True)
    found: list[Goal] = []
    for name, carry in (("two short neighbours", 0), ("one short block", 1)):
        whole = bound.xreplace({sp.floor(n / P): q, sp.floor((n + 1) / P): q + carry})
        found += [
            Goal(
                f"{name}: no rank sends more",
                whole - (2 * n - own - following),
                given={"neighbouring blocks": own + following - 2 * q - carry},
            ),
            Goal(f"{name}: some rank sends that", whole - (2 * n - 2 * q - carry), equal=True),
        ]
    return tuple(found)


def _direct_busiest(bound: Any) -> tuple[Goal, ...]:
    block = sp.Symbol("block", integer=True, nonnegative=True)
    most = bound.xreplace({sp.ceiling(n / P): longest})
    return (
        one_rank(bound),
        Goal(
            "no rank sends more",
            most - ((n - block) + (P - 1) * block),
            given={"longest - block": longest - block, "P - 2": P - 2},
        ),
        Goal("the rank of the longest block", most - ((n - longest) + (P - 1) * longest), equal=True),
    )


def _busiest(bound: Any, whole: Any, folded_rank: Any) -> tuple[Goal, ...]:
    """`whole` a doubling and once more where ranks are folded; no rank has more."""
    closed = in_core(bound, True)
    some = {"doublings": doublings, "n": n}
    return (
        *doubled(whole, whole)(bound),
        Goal("not the ranks that are not folded", closed - whole * doublings, given=some),
        Goal("not the folded ranks", closed - folded_rank, given=some),
    )


def _mean_around(bound: Any) -> tuple[Goal, ...]:
    return recurrence((P * bound).subs(P, steps + 1), steps, 0, lambda total, _: total + 2 * n)


def _mean_halved(bound: Any) -> tuple[Goal, ...]:
    total = sp.expand((P * bound).subs(P, 2**doublings + extra))
    group, ranks = sp.symbols("group ranks", nonnegative=True)
    return (
        *held_blocks("ranks"),
        *over_all(
            lambda received, words: received - ranks * words, (ranks * group, group), case="groups: ", equal=True
        ),
        *recurrence(total, doublings, 2 * n * extra, lambda words, d: words + 2 * 2**d * n),
    )


def _doubling_lower_bound(bound: Any) -> tuple[Goal, ...]:
    more = sp.Symbol("more", integer=True, nonnegative=True)
    ranks, done = sp.symbols("ranks done", integer=True, nonnegative=True)
    found = [
        *over_all(lambda words, of: words - n * of, (n, sp.S.One), case="a step, ranks: ", equal=True),
        *named("a doubling", recurrence(n * ranks * done, done, 0, lambda words, _: words + n * ranks)),
    ]
    for d, name in ((sp.Integer(0), "one rank"), (sp.Integer(1), "two or three"), (more + 2, "four or more")):
        ranks = 2**d + extra
        received = n * d * 2**d + 2 * n * extra
        found.append(
            Goal(
                name,
                received / ranks - bound.subs(P, ranks),
                given={"n": n, "extra": extra, **({"more": more, "2**more": 2**more} if d.has(more) else {})},
                positive={"P": ranks},
            )
        )
    return tuple(found)


def _model(claim: str, words: str, goals: Goals, scope: str = EVERY) -> Model:
    return untied(f"dense.{claim}", words, scope, goals)


_TWO_HALVES = AROUND + "In each of them, of both halves, "
_RANKS = (
    "With 2^doublings ranks there is one exchange a doubling of what a rank's sum has. For other P, folding comes "
    "before it and unfolding after it. Induction on the doublings. "
)
_SPEAKERS = _RANKS + "Where ranks are folded, their partners move most: "
_FOLDED_ONCE = "A folded rank sends once and receives once."

WORDS: tuple[Model, ...] = (
    *(
        model
        for name in ("ring", "butterfly")
        for model in (
            _model(
                f"{name}.critical_path",
                f"{_TWO_HALVES}every block is on its way, so that the busiest rank moves the longest, ceil(n/P) words.",
                around(2 * longest),
            ),
            _model(f"{name}.steps", f"{_TWO_HALVES}one step.", around(2), "every P"),
            _model(f"{name}.messages", f"{_TWO_HALVES}every rank sends one message.", around(2), "every P"),
            _model(
                f"{name}.mean_received",
                f"{_TWO_HALVES}every block is received by one rank: n words. P times the mean is their sum.",
                _mean_around,
            ),
        )
    ),
    *(
        _model(
            f"ring.{verb}",
            "A rank passes on every block but its own, and then every sum but the next rank's (and receives as many): "
            "2n words less two neighbouring blocks, `own` and `following`. With rem <= P - 2 long blocks the last two "
            "are short, 2q words, and floor((n + 1)/P) = q; with rem = P - 1 only the last is, 2q + 1, and "
            "floor((n + 1)/P) = q + 1.",
            _ring_busiest,
            "every P >= 2, every n",
        )
        for verb in ("sent", "received")
    ),
    *(
        _model(
            f"butterfly.{verb}",
            "A rank sends every block but its own once, n - block words, and its own P - 1 times (or receives as "
            "many); the longest block has ceil(n/P) words. With one rank nothing moves.",
            _direct_busiest,
        )
        for verb in ("sent", "received")
    ),
    _model("recursive_doubling.critical_path", _RANKS + "Every message is a whole vector.", doubled(2 * n, n)),
    _model("recursive_doubling.steps", _RANKS, doubled(2, 1), "every P"),
    _model(
        "recursive_doubling.messages",
        _SPEAKERS + "one message a doubling, and one to unfold. A folded rank sends one message.",
        lambda bound: _busiest(bound, sp.Integer(1), sp.Integer(1)),
        "every P",
    ),
    *(
        _model(
            f"recursive_doubling.{verb}",
            f"{_SPEAKERS}n words a doubling, and n once more. {_FOLDED_ONCE}",
            lambda bound: (*held_blocks("terms"), *_busiest(bound, n, n)),
        )
        for verb in ("sent", "received")
    ),
    _model(
        "recursive_doubling.lower_bound",
        "2^doublings ranks receive n words a doubling; extra ranks receive n words in folding, and extra others in "
        "unfolding. P = 1, P = 2 or 3, and P >= 4, where doublings = more + 2.",
        _doubling_lower_bound,
    ),
    _model(
        "rabenseifner.critical_path",
        "P' = 2^doublings. Twice the doublings of blocks, once backwards, between folding and unfolding, n words each. "
        + LONGEST_NEIGHBOURS,
        lambda bound: (
            *named("power of two", longest_neighbours(in_core(bound, False), 2)),
            *named("folded", longest_neighbours(in_core(bound, True), 2, 2 * n)),
        ),
    ),
    _model("rabenseifner.steps", f"{_RANKS}Here a doubling is two steps.", doubled(2, 2), "every P"),
    _model(
        "rabenseifner.messages",
        _SPEAKERS + "two messages a doubling, and one to unfold. A folded rank sends one message.",
        lambda bound: (
            *doubled(1, 2)(bound),
            Goal("not the ranks that are not folded", in_core(bound, True) - 2 * doublings, given={}),
            Goal("not the folded ranks", in_core(bound, True) - 1, given={"doublings": doublings}),
        ),
        "every P",
    ),
    *(
        _model(
            f"rabenseifner.{verb}",
            "P' = 2^doublings divides n. A rank moves n/2, n/4, ..., n/P' words and as many again; induction on the "
            f"doublings. The partner of a folded rank moves n more. {_FOLDED_ONCE}",
            _halved,
            "every P, every n that the largest power of two up to P divides",
        )
        for verb in ("sent", "received")
    ),
    _model(
        "rabenseifner.mean_received",
        "In doubling j each of the P'/2^j groups of neighbouring blocks is received by 2^j ranks: 2^j n words in all, "
        "and again in the halving. Folding and unfolding bring n words to `extra` ranks each. P times the mean is the "
        "sum; induction on the doublings.",
        _mean_halved,
    ),
)
"""Of the all-reduces."""
