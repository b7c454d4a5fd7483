"""What certificates about the words of Ok-Topk prove: the counts of one rank, for every number of ranks."""

from collections.abc import Iterator, Mapping
from typing import Any

import sympy as sp

from commbounds.theory.dense.models_words import gathered_once
from commbounds.theory.finite_laws import at_least_each, at_most_each, over_all, part_of_all, proved_by
from commbounds.theory.model import Goal, Model, untied
from commbounds.theory.oktopk.terms import inbound, selected, winners
from commbounds.theory.quantities import P, k

_split, leaves, enters, gathered, _entered, _heard = sp.symbols(
    "split leaves enters gathered entered heard", nonnegative=True
)
_begin, _end, _low, share, quotient, remainder = sp.symbols("begin end low share quotient remainder", nonnegative=True)
_high = _low + share

COUNTS = (
    "Counts of one rank, in entries of two words. It sends `split` entries in the split, and `entered` enter its "
    "region. The winners, in their order, are an interval; the rank's own go from `begin` to `end`, and its target, of "
    "`share` winners, from `low` on. Balancing leaves in place what lies in both, whose length is that of [max(begin, "
    "low), min(end, low + share)], or zero: one case for each value of the maximum and of the minimum. `leaves` and "
    "`enters` are what balancing takes from and brings to the rank; in the all-gather it sends `gathered` entries and "
    "receives `heard`. "
)
ANY_P = "all vectors and boundaries, every k >= 1 and P >= 1, every rank"

Conditions = dict[str, Any]


def different_blocks(name: str) -> tuple[Goal, ...]:
    """That neighbouring blocks of ranks, no more than P of them, are different, and so hold no more than all."""
    blocks, first, second = sp.symbols("blocks first second", nonnegative=True)
    places = {"no more blocks than ranks": P - blocks, "a later place": blocks - 1 - second, "first": first}
    return (Goal(f"{name}: none comes again", P - 1 - (second - first), given=places), *part_of_all(name))


def overlaps(total: Any) -> Iterator[tuple[str, Any, Conditions]]:
    """The four cases of what balancing leaves in place, its length, and what is then true of `leaves` and `enters`.

    Parameters
    ----------
    total : sympy expression
        Number of winners.
    """
    interval = {
        "begin >= 0": _begin,
        "end >= begin": _end - _begin,
        "end <= winners": total - _end,
        "low >= 0": _low,
        "high <= winners": total - _high,
        "share >= 0": share,
    }
    for last, end in (("own part", _end), ("target", _high)):
        for first, begin in (("own part", _begin), ("target", _low)):
            stays = end - begin
            yield (
                f"overlap from where the {first} begins to where the {last} ends",
                stays,
                {
                    **interval,
                    "this is where the overlap ends": _high - _end if last == "own part" else _end - _high,
                    "this is where the overlap begins": _begin - _low if first == "own part" else _low - _begin,
                    "leaves <= own - overlap": _end - _begin - stays - leaves,
                    "enters <= share - overlap": share - stays - enters,
                },
            )


POSITIVE = {"P": P}
RANKS = {"P >= 1": P - 1}
WINNERS = {"winners <= k": k - P * share}
_EVEN_OUT = {"split: at most k/P to each other rank": (P - 1) * k - P * _split}
_EVEN_IN = {"split: at most k/P of each other rank": (P - 1) * k - P * _entered}
GATHERED = {"all-gather: P - 1 shares": gathered - (P - 1) * share}
_HEARD = {"all-gather: all shares but the own": _heard - (P - 1) * share}
_TARGET = {"balancing brings no more than the target": share - enters}
DIVIDES = (
    "P divides the winners, and the all-gather of P equal shares sends P - 1 of them and receives the P - 1 others. "
)


EQUAL_SHARES = proved_by("all-gather", gathered_once((P - 1) * share, share))
"""That the all-gather of P equal shares sends P - 1 of them, and brings as many."""
_SPLIT_IN = at_most_each("split, one more rank", k / P, P - 1, _entered, POSITIVE)
_TO_OTHERS = part_of_all("split, selected entries of other regions")
_SPLIT_OUT = at_most_each("split, one more message", k / P, P - 1, _split, POSITIVE)


def heard_of_others(total: Any, own: Any, heard: Any) -> tuple[Goal, ...]:
    """That a rank to which every other rank's share comes once hears all winners but its own: rank by rank.

    Parameters
    ----------
    total, own, heard : sympy expression
        The winners, the rank's own, and what it hears.
    """
    others = sp.Symbol("others_share", nonnegative=True)
    return over_all(
        lambda came, held: came - held,
        (others, others),
        (heard, total - own),
        heard - (total - own),
        case="all-gather, one more rank: ",
        equal=True,
    )


_HEARD_BY_RANKS = heard_of_others(P * share, share, _heard)


def _cases(show: Any, total: Any, given: Mapping[str, Any], zero: Mapping[str, Any]) -> tuple[Goal, ...]:
    return tuple(
        Goal(name, show, given={**case, **given, **RANKS}, positive=POSITIVE, zero=zero)
        for name, _, case in overlaps(total)
    )


def _even_sent(bound: Any) -> tuple[Goal, ...]:
    cases = _cases(bound - 2 * (_split + leaves + gathered), P * share, {**WINNERS, **_EVEN_OUT}, GATHERED)
    return *_SPLIT_OUT, *EQUAL_SHARES, *cases


def _any_sent(bound: Any) -> tuple[Goal, ...]:
    given = {**WINNERS, "split: at most all selected entries": k - _split}
    return *_TO_OTHERS, *EQUAL_SHARES, *_cases(bound - 2 * (_split + leaves + gathered), P * share, given, GATHERED)


def by_remainder(bound: Any) -> Iterator[tuple[str, Any, Any, Any, Conditions]]:
    """With winners = P quotient + remainder: the bound, the smallest and largest share, and what is true of them."""
    of = winners / P
    bounds = {"remainder < P": P - 1 - remainder, "quotient >= 0": quotient}
    for name, most, more in (
        ("P divides the winners", quotient, {"remainder = 0": -remainder}),
        ("a remainder is left", quotient + 1, {"remainder >= 1": remainder - 1}),
    ):
        at = bound.xreplace({sp.floor(of): quotient, sp.ceiling(of): most})
        yield name, at.subs(winners, P * quotient + remainder), quotient, most, {**bounds, **more}


def _general_sent(bound: Any) -> tuple[Goal, ...]:
    found = [*_TO_OTHERS, *proved_by("all-gather", gathered_once(P - 1, sp.S.One))]
    for name, at, least, most, numbers in by_remainder(bound):
        found += at_most_each(f"{name}; all-gather, one more share", most, P - 1, gathered)
        given = {
            **numbers,
            "the rank's target is no smaller than the smallest": share - least,
            "split: at most all selected entries": selected - _split,
            "all-gather: P - 1 of the largest shares": (P - 1) * most - gathered,
        }
        for case, _, overlap in overlaps(P * quotient + remainder):
            found.append(
                Goal(
                    f"{name}; {case}",
                    at - 2 * (_split + leaves + gathered),
                    given={**overlap, **given, **RANKS},
                    positive=POSITIVE,
                )
            )
    return tuple(found)


def _ring_sent(bound: Any) -> tuple[Goal, ...]:
    given = {
        "split: at most all selected entries": selected - _split,
        "selected <= k": k - selected,
        "winners <= k": k - winners,
        "balancing takes no more than the rank has": winners - leaves,
        "on a ring no share is sent twice": winners - gathered,
    }
    own = sp.Symbol("own_share", nonnegative=True)
    return (
        *_TO_OTHERS,
        *part_of_all("what balancing takes"),
        *heard_of_others(winners, own, gathered),
        Goal("sent", bound - 2 * (_split + leaves + gathered), given=given),
    )


def _even_received(bound: Any) -> tuple[Goal, ...]:
    given = {**WINNERS, **_EVEN_IN, **_TARGET, **RANKS}
    received = bound - 2 * (_entered + enters + _heard)
    return (*_SPLIT_IN, *_HEARD_BY_RANKS, Goal("received", received, given=given, positive=POSITIVE, zero=_HEARD))


def _received(bound: Any, total: Any, given: Mapping[str, Any]) -> tuple[Goal, ...]:
    """What enters in the split and after it, with balancing and without."""
    show = bound - 2 * (_entered + enters + _heard)
    balanced = {**_TARGET, "all-gather: all winners but the share": total - share - _heard}
    own = _end - _begin
    left = {
        "balancing brings nothing": -enters,
        "all-gather: all winners but the own": total - own - _heard,
        "end >= begin": own,
    }
    received = tuple(
        Goal(name, show, given={**given, **RANKS, **case}, positive=POSITIVE)
        for name, case in (("balanced", balanced), ("not balanced", left))
    )
    return *heard_of_others(total, share, _heard), *received


def _inbound_received(bound: Any) -> tuple[Goal, ...]:
    return _received(bound, winners, {"the busiest region": inbound - _entered})


def _limited_received(bound: Any) -> tuple[Goal, ...]:
    given = {
        "the busiest region": inbound - _entered,
        "inbound <= (2 - 3/P) k": (2 * P - 3) * k - P * inbound,
        "winners <= k": k - winners,
    }
    return _received(bound, winners, given)


def _worst_received(bound: Any) -> tuple[Goal, ...]:
    given = {"at most k entries of each other rank": (P - 1) * k - _entered, "winners <= k": k - winners}
    return *at_most_each("split, one more rank", k, P - 1, _entered), *_received(bound, winners, given)


def global_count(bound: Any) -> tuple[Goal, ...]:
    """That `bound` entries of others come into a region whose cuts split all selected entries evenly."""
    M, number, before, upto, quota, others, inside = sp.symbols(
        "M number before upto quota others inside", nonnegative=True
    )
    cuts = {
        "M <= k P": k * P - M,
        "the cut before lies behind at least number M/P entries": P * before - number * M,
        "before the last index there are fewer than ceil((number + 1) M/P)": quota - 1 - upto,
        "quota is that ceiling": (number + 1) * M + P - 1 - P * quota,
    }
    within = {
        "no more than k + 1 - 1/P, whole numbers": k - 1 - (upto - before),
        "inside: what others hold before the last index": upto - before - inside,
        "one entry at the last index of every other rank": P - 1 - others,
    }
    return (
        Goal(
            "before the last index there are fewer than k", k - (upto - before) - 1 / P, given=cuts, positive=POSITIVE
        ),
        Goal("a region", bound - (inside + others), given=within),
        Goal(
            "an empty region", bound - inside, given={"P >= 1": P - 1, "k >= 1": k - 1}, zero={"nothing comes": inside}
        ),
    )


def _counted_received(bound: Any) -> tuple[Goal, ...]:
    given = {"oktopk.boundaries.global_count": k + P - 2 - _entered, "winners <= k": k - winners}
    return *proved_by("a region", global_count(k + P - 2)), *_received(bound, winners, given)


def _path(bound: Any) -> tuple[Goal, ...]:
    steps = sp.symbols("split_path balance_path gather_path", nonnegative=True)
    given = {
        **WINNERS,
        **RANKS,
        "split: P - 1 steps of at most k/P entries": (P - 1) * k - P * steps[0],
        "balancing: at most P - 1 steps of at most a target": (P - 1) * share - steps[1],
    }
    return (
        *at_most_each("split, one more step", k / P, P - 1, steps[0], POSITIVE),
        *at_most_each("balancing, one more step", share, P - 1, steps[1]),
        *EQUAL_SHARES,
        Goal("path", bound - 2 * sum(steps), given=given, positive=POSITIVE,
             zero={"all-gather: P - 1 shares": (P - 1) * share - steps[2]}),
    )  # fmt: skip


def both_ways() -> Iterator[tuple[str, Conditions]]:
    """What a rank's place, and where its own part lies, say of what balancing moves, both ways together."""
    total = P * share
    firsts = (
        ("first", {"begins at 0": -_begin, "target begins at 0": -_low}),
        ("after another", {"a target before": _low - share}),
    )
    lasts = (
        ("last", {"ends at the end": _end - total, "target ends at the end": _high - total}),
        ("before another", {"a target behind": total - _high - share}),
    )
    apart = {
        "the own part ends before the target": {"nothing stays": _low - _end},
        "the own part begins behind the target": {"nothing stays": _begin - _high},
    }
    for first, before in firsts:
        for last, behind in lasts:
            place = {"P >= 1": P - 1, **before, **behind}
            for name, stays, case in overlaps(total):
                yield f"{first}, {last}: {name}", {**case, **place, "the overlap is not negative": stays}
            plain = {name: e for name, e in case.items() if "overlap" not in name}
            most = {"leaves <= own": _end - _begin - leaves, "enters <= share": share - enters}
            for name, nothing in apart.items():
                yield f"{first}, {last}: {name}", {**plain, **place, **most, **nothing}


def _even_both(bound: Any) -> tuple[Goal, ...]:
    show = bound - 2 * (_split + _entered + leaves + enters + gathered + _heard)
    given = {**WINNERS, **_EVEN_OUT, **_EVEN_IN}
    zero = {**GATHERED, **_HEARD}
    both = (Goal(name, show, given={**case, **given}, positive=POSITIVE, zero=zero) for name, case in both_ways())
    return *_SPLIT_IN, *_SPLIT_OUT, *EQUAL_SHARES, *both


def _perfect_both(bound: Any) -> tuple[Goal, ...]:
    """What all ranks move, message by message, and so the busiest one."""
    sent, received, moved, most = sp.symbols("sent received moved most", nonnegative=True)
    each = 2 * (P - 1) * k / P
    heard = {"the split": _entered - each / 2, "all-gather: the others' winners": _heard - each / 2, "enters": enters}
    words = sp.Symbol("words_of_one", nonnegative=True)
    return (
        *_SPLIT_IN,
        *at_least_each("all-gather: one more rank that is heard of", k / P, P - 1, _heard, POSITIVE),
        Goal("a rank receives", 2 * (_entered + enters + _heard) - 2 * each, given=heard, positive=POSITIVE),
        *at_least_each("ranks, one more", 2 * each, P, received, POSITIVE),
        *over_all(lambda out, into: out - into, (words, words), case="messages: ", equal=True),
        *at_most_each("no rank more than the busiest", most, P, moved),
        Goal("both", most - bound, positive=POSITIVE,
             given={"no rank more than the busiest": P * most - moved, "all ranks": received - 2 * P * each},
             zero={"sent and received": moved - sent - received, "what is sent is received": sent - received}),
    )  # fmt: skip


WORDS = (
    untied(
        claim="oktopk.sent.even_split",
        words=COUNTS + DIVIDES + "An even split sends at most k/P entries to each of P - 1 ranks.",
        scope=f"{ANY_P}, where splits are even and P divides the at most k winners",
        goals=_even_sent,
    ),
    untied(
        claim="oktopk.sent.any_split",
        words=COUNTS + DIVIDES + "A rank sends at most the k entries that it selects.",
        scope=f"{ANY_P}, where at most k entries are selected and win, and P divides the winners",
        goals=_any_sent,
    ),
    untied(
        claim="oktopk.sent.general",
        words=COUNTS + "There are P quotient + remainder winners, 0 <= remainder < P, so floor and ceiling of their "
        "P-th part are `quotient`, and the same or one more. Every share is one of these.",
        scope=f"{ANY_P}, any numbers of selected entries and winners",
        goals=_general_sent,
    ),
    untied(
        claim="oktopk.sent.ring",
        words=COUNTS + "On a ring a rank sends the shares of all ranks but one, each once.",
        scope=f"{ANY_P}, where at most k entries are selected and win",
        goals=_ring_sent,
    ),
    untied(
        claim="oktopk.received.even_split",
        words=COUNTS + DIVIDES + "An even split brings at most k/P entries of each of P - 1 ranks.",
        scope=f"{ANY_P}, where splits are even and P divides the at most k winners",
        goals=_even_received,
    ),
    untied(
        claim="oktopk.received.any_split",
        words=COUNTS + "With balancing a rank receives all winners but its share, without balancing all but its own.",
        scope=f"{ANY_P}, any numbers of selected entries and winners, with and without balancing",
        goals=_inbound_received,
    ),
    untied(
        claim="oktopk.received.limited_inbound",
        words=COUNTS + "With balancing a rank receives all winners but its share, without balancing all but its own.",
        scope=f"{ANY_P}, where no region gets more than (2 - 3/P) k entries and at most k win",
        goals=_limited_received,
    ),
    untied(
        claim="oktopk.received.worst",
        words=COUNTS + "With balancing a rank receives all winners but its share, without balancing all but its own.",
        scope=f"{ANY_P}, where at most k entries are selected and win",
        goals=_worst_received,
    ),
    Model(
        claim="oktopk.received.global_count",
        words=COUNTS + "At most the number of oktopk.boundaries.global_count enters a region.",
        scope="all vectors, every k >= 1 and P >= 2, every rank, where at most k entries are selected and win",
        goals=_counted_received,
        checked_by=("oktopk.boundaries.global_count",),
    ),
    untied(
        claim="oktopk.path.even_split",
        words="In a step of the split no rank sends or receives more than k/P entries, in one of balancing no more "
        "than lies in one target, P divides the winners, and the all-gather's path is P - 1 equal shares. Summed over "
        "the steps of each, of which there are at most P - 1 in the split and in balancing.",
        scope=f"{ANY_P}, where splits are even and P divides the at most k winners",
        goals=_path,
    ),
    untied(
        claim="oktopk.both.even_split",
        words=COUNTS + DIVIDES + "Where nothing stays, the own part ends before the target or begins behind it. "
        "Before the first rank, and behind the last, there is no winner and no target; before and behind every other "
        "there is a whole target.",
        scope=f"{ANY_P}, where splits are even and P divides the at most k winners",
        goals=_even_both,
    ),
    untied(
        claim="oktopk.both.perfect",
        words=COUNTS
        + "Every rank selects k/P entries of every region, each of which has k/P winners. In any all-gather "
        "a rank hears of every other rank's winners at least once. What a rank sends another receives, so that all "
        "ranks together send what they receive: the busiest moves no less than the mean.",
        scope="every k >= 1 and P >= 1, any all-gather, the busiest rank, where regions are perfectly even",
        goals=_perfect_both,
    ),
)
