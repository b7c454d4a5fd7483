"""What certificates about balancing, about the split and about the number of rounds in Ok-Topk prove."""

from dataclasses import replace
from typing import Any

import sympy as sp

from commbounds.theory.dense.models_gather import until_all
from commbounds.theory.dense.models_words import gathered_once
from commbounds.theory.finite_laws import at_most_each, proved_by
from commbounds.theory.model import Goal, recurrence, untied
from commbounds.theory.oktopk.models_words import (
    ANY_P,
    COUNTS,
    DIVIDES,
    EQUAL_SHARES,
    GATHERED,
    POSITIVE,
    RANKS,
    WINNERS,
    by_remainder,
    different_blocks,
    enters,
    gathered,
    heard_of_others,
    leaves,
    overlaps,
    quotient,
    remainder,
    share,
)
from commbounds.theory.oktopk.terms import winners
from commbounds.theory.quantities import P, index_bits, k

_total = P * quotient + remainder
_block, _heard, _d, _moved, _rounds, _path, _step = sp.symbols("block heard d moved rounds path step", nonnegative=True)
_early, _late, _last, _bits = sp.symbols("early late last bits", nonnegative=True)
_AT_MOST_K = "where P divides the at most k winners"


def _balanced(bound: Any) -> tuple[Goal, ...]:
    """What a rank sends that balances P equal shares and gathers them."""
    show = bound - 2 * (leaves + gathered)
    cases = (
        Goal(f"balanced; {name}", show, given={**case, **WINNERS, **RANKS}, positive=POSITIVE, zero=GATHERED)
        for name, _, case in overlaps(P * share)
    )
    return *EQUAL_SHARES, *cases


def _quarter(bound: Any) -> tuple[Goal, ...]:
    ranks, quarter = {"P >= 4": P - 4}, {"P": P}
    untriggered = {
        "winners <= k": k - winners,
        "P/4 - 1 blocks of at most four times the mean": (P - 4) * winners - P * _early,
        "P/4 blocks hold no more than all winners": winners - _late,
        "P/2 blocks hold no more than all winners": winners - _last,
    }
    two = {"winners <= k": k - winners, "a block is no more than all winners": winners - _block}
    balanced = (
        goal if goal.equal else replace(goal, given={**goal.given, "P >= 2": P - 2}) for goal in _balanced(bound)
    )
    return (
        *different_blocks("blocks of a message"),
        *recurrence(2**_d - 1, _d, 0, lambda blocks, step: blocks + 2**step),
        *at_most_each("one more block", 4 * winners / P, P / 4 - 1, _early, quarter),
        Goal(
            "four or more ranks, not balanced",
            bound - 2 * (_early + _late + _last),
            given={**untriggered, **ranks},
            positive=quarter,
        ),
        Goal("two ranks, not balanced", bound.subs(P, 2) - 2 * _block, given=two),
        *balanced,
    )


def _quarter_ring(bound: Any) -> tuple[Goal, ...]:
    left = {
        **RANKS,
        "winners <= k": k - winners,
        "every block is at most four times the mean": 4 * winners - P * _block,
        "P - 1 steps, each of the largest block": (P - 1) * _block - _path,
    }
    balanced = {
        **RANKS,
        **WINNERS,
        "share >= 0": share,
        "balancing: at most P - 1 steps of at most a target": (P - 1) * share - _moved,
        "P - 1 steps, each of a share": (P - 1) * share - _path,
    }
    return (
        *at_most_each("one more step", _block, P - 1, _path),
        *at_most_each("one more step of balancing", share, P - 1, _moved),
        Goal("not balanced", bound - 2 * _path, given=left, positive=POSITIVE),
        Goal("balanced", bound - 2 * (_moved + _path), given=balanced, positive=POSITIVE),
    )


def _never(bound: Any) -> tuple[Goal, ...]:
    given = {"winners <= k": k - winners, "a step sends no block twice": _bits * winners - gathered, "bits": _bits}
    return (
        *proved_by("steps", until_all(index_bits(P))),
        *different_blocks("blocks of a message"),
        *at_most_each("one more step", winners, _bits, gathered),
        Goal("sent", bound.xreplace({index_bits(P): _bits}) - 2 * gathered, given=given),
    )


def _out(bound: Any) -> tuple[Goal, ...]:
    return tuple(
        Goal(f"{name}; {case}", at - 2 * leaves, given={**numbers, **overlap, **smallest}, positive=POSITIVE)
        for name, at, least, _, numbers in by_remainder(bound)
        for case, _, overlap in overlaps(_total)
        for smallest in ({"the rank's target is no smaller than the smallest": share - least},)
    )


def _in(bound: Any) -> tuple[Goal, ...]:
    stays = sp.Symbol("stays", nonnegative=True)
    target = {"what stays in the target and what balancing brings fill it": share - stays - enters}
    return tuple(
        Goal(
            name,
            at - 2 * enters,
            given={**numbers, "the rank's target is no larger than the largest": most - share, "stays": stays},
            positive=POSITIVE,
            zero=target,
        )
        for name, at, _, most, numbers in by_remainder(bound)
    )


def _equal_blocks(bound: Any) -> tuple[Goal, ...]:
    found = [*heard_of_others(_total, share, _heard)]
    for name, at, least, _, numbers in by_remainder(bound):
        received, smallest = at - 2 * _heard, "the rank's target is no smaller than the smallest"
        every = {"every winner but the share": _heard - (_total - share)}
        given = {**numbers, smallest: share - least}
        last = {**every, "the last rank's share is the smallest": share - least}
        found += [
            Goal(f"{name}; no rank receives more", received, given=given, zero=every),
            Goal(f"{name}; the last rank does", received, equal=True, zero=last),
        ]
    return tuple(found)


def _rotation(bound: Any) -> tuple[Goal, ...]:
    given = {
        **RANKS,
        "P - 1 steps": (P - 1) * _step - _path,
        "a step: at most k/P entries to one rank, and of one": k - P * _step,
    }
    steps = at_most_each("one more step", _step, P - 1, _path)
    return *steps, Goal("path", bound - 2 * _path, given=given, positive=POSITIVE)


def _unrotated(bound: Any) -> tuple[Goal, ...]:
    given = {
        "P steps": P * _step - _path,
        "a step: at most k/P entries of each of P - 1 ranks": (P - 1) * k - P * _step,
    }
    steps = at_most_each("one more step", _step, P, _path)
    return *steps, Goal("path", bound - 2 * _path, given=given, positive=POSITIVE)


def _sizes(bound: Any) -> tuple[Goal, ...]:
    return gathered_once(bound, sp.S.One)


def _all_rounds(bound: Any) -> tuple[Goal, ...]:
    given = {"balancing: at most P - 1 rounds with messages": P - 1 - _moved}
    zero = {"sizes, winners: ceil(log2 P) rounds each": _rounds - 2 * _bits, "split: P - 1 rounds": _step - (P - 1)}
    at = bound.xreplace({index_bits(P): _bits})
    return (Goal("rounds", at - (_step + _moved + _rounds), given=given, zero=zero),)


BALANCE = (
    untied(claim="oktopk.balance.always", words=COUNTS + DIVIDES, scope=f"{ANY_P}, {_AT_MOST_K}", goals=_balanced),
    untied(
        claim="oktopk.balance.quarter",
        words=COUNTS + "P is a power of two. In step j, from 0 on, the rank sends the blocks of 2^j ranks, none twice: "
        "`early` entries in all steps but two, whose blocks are 1 + 2 + ... + P/8 = P/4 - 1 by induction, `late` in "
        "the last but one, `last` in the last; two ranks send one `block`. Not balanced, no block is larger than four "
        "times the mean; balanced, all are P-th parts, and the case of oktopk.balance.always.",
        scope="all vectors and boundaries, every k >= 1, every power of two P >= 2, every rank, " + _AT_MOST_K,
        goals=_quarter,
    ),
    untied(
        claim="oktopk.balance.quarter_ring",
        words="In each of P - 1 steps of the ring all ranks wait for the largest block: at most four times the mean if "
        "data are not balanced, and a P-th part if they are.",
        scope=f"{ANY_P}, {_AT_MOST_K}",
        goals=_quarter_ring,
    ),
    untied(
        claim="oktopk.balance.never",
        words=COUNTS + "`bits` is ceil(log2 P), the first number of doublings after which Bruck's all-gather has all "
        "blocks, see dense.allgather.bruck_steps. A message has at most P neighbouring blocks, so no winner twice.",
        scope=f"{ANY_P}, where at most k entries win",
        goals=_never,
    ),
    untied(
        claim="oktopk.balance.moves_out",
        words=COUNTS + "There are P quotient + remainder winners, 0 <= remainder < P, and no target is below quotient.",
        scope=f"{ANY_P}, any number of winners",
        goals=_out,
    ),
    untied(
        claim="oktopk.balance.moves_in",
        words=COUNTS + "There are P quotient + remainder winners, 0 <= remainder < P, and no target is above quotient, "
        "or quotient + 1 where a remainder is left.",
        scope=f"{ANY_P}, any number of winners",
        goals=_in,
    ),
    untied(
        claim="oktopk.balance.equal_blocks",
        words="A rank receives all winners but its share. Larger shares come first, so the last rank's share is the "
        "quotient of the winners by P: it receives the bound, and no rank receives more.",
        scope=f"{ANY_P}, any number of winners, where the all-gather sends nothing twice",
        goals=_equal_blocks,
    ),
)

ROUNDS = (
    untied(
        claim="oktopk.split.rotation",
        words="The path is the sum over P - 1 steps of what the busiest rank sends or receives, entries of two words: "
        "`step` is the largest of them.",
        scope=f"{ANY_P}, where splits are even and destinations rotated",
        goals=_rotation,
    ),
    untied(
        claim="oktopk.split.unrotated",
        words="The path is the sum over P steps of what the busiest rank sends or receives, entries of two words: all "
        "others send to one rank. `step` is the largest of them.",
        scope=f"{ANY_P}, where splits are even and all ranks send to one in a step",
        goals=_unrotated,
    ),
    untied(
        claim="oktopk.sizes.counted",
        words="On a ring one more rank takes one more step, which brings one number. Bruck's d full rounds bring 2^j "
        "numbers each, j = 0, ..., d - 1, and the last round brings the P - 2^d <= 2^d missing ones; "
        "recursive doubling of P = 2^d ranks has only full rounds. Inductions on P and on d.",
        scope="every P >= 1, an all-gather that sends nothing twice",
        goals=_sizes,
    ),
    untied(
        claim="oktopk.split.steps",
        words="These are the rounds of the split (`step`), of balancing (`moved`), and of two of Bruck's all-gathers "
        "(`rounds`), `bits` = ceil(log2 P) each.",
        scope=f"{ANY_P}, an iteration that keeps thresholds and boundaries",
        goals=_all_rounds,
    ),
)
