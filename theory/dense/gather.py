"""Claims about reduce-scatter and all-gather, and about what no rank can avoid."""

from dataclasses import replace
from typing import Any

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Hypothesis, Source, Standing
from commbounds.theory.cost import critical_words
from commbounds.theory.dense.terms import (
    ARRIVED_ELSEWHERE,
    BITS_OF_REST,
    BLOCKS_DIVIDE,
    BY_BRUCK,
    BY_DOUBLING,
    BY_RING,
    EXACT_INTEGERS,
    POWER_OF_TWO_RANKS,
    WRONG_SUMS,
    ceil_log2,
    floor_log2,
)
from commbounds.theory.quantities import P, Quantity, n
from commbounds.theory.schedules import DENSE_LOWER_BOUND, EXACT, SCHEDULES
from commbounds.theory.sources import FOLKLORE, derived
from commbounds.theory.traffic import CRITICAL_PATH, LEAST_RECEIVED, MEAN_RECEIVED, MOST_RECEIVED, MOST_SENT, STEPS

_BACKWARDS = "Run backwards, an all-gather is a reduce-scatter with the same messages."


def _equal(
    name: str, title: str, quantity: Quantity, value: Any, source: Source, *assumes: Hypothesis, **more: Any
) -> Claim:
    """That a quantity is `value`, whatever the input."""
    return Claim(
        name=f"dense.{name}",
        title=title,
        relation=Eq(quantity, value),
        source=source,
        assumes=assumes,
        **{"axis": "P", **more},
    )


def _words(schedule: str, algorithm: str, statement: str, *assumes: Hypothesis, **more: Any) -> tuple[Claim, Claim]:
    """The critical path of the all-gather, and of the reduce-scatter that is it backwards."""
    exact = EXACT[schedule]
    summed = f"The schedule's words, summed by sympy. {exact.source.proof}"
    return (
        _equal(
            f"allgather.{statement}_words",
            f"{algorithm} all-gather to n words: critical path",
            CRITICAL_PATH,
            critical_words(exact),
            derived(summed),
            *assumes,
            **more,
        ),
        _equal(
            f"reduce_scatter.{statement}_words",
            f"{algorithm} reduce-scatter of n words: critical path",
            CRITICAL_PATH,
            critical_words(exact),
            derived(f"{_BACKWARDS} {summed}"),
            *assumes,
            **more,
        ),
    )


_ONE_RANK = "equivalent: they differ for one rank alone, where n mod P is zero and no block is left"
_OF_BRUCK = (
    BITS_OF_REST,
    ("without the factor index_bits(P) - Max(0, index_bits(P) - 1)", _ONE_RANK),
    ("index_bits(P) - 1 for Max(0, index_bits(P) - 1)", _ONE_RANK),
)
_printed = SCHEDULES["allgather_bruck"].printed
assert _printed is not None

GATHER: tuple[Claim, ...] = (
    *_words("allgather_ring", "Ring", "ring", BY_RING),
    *_words("allgather_bruck", "Bruck's", "bruck", BY_BRUCK, unpinned=_OF_BRUCK),
    *_words(
        "allgather_doubling",
        "Recursive doubling",
        "doubling",
        BY_DOUBLING,
        POWER_OF_TWO_RANKS,
        unpinned=(BITS_OF_REST,),
    ),
    _equal(
        "allgather.bruck_words_any_blocks",
        "Bruck's all-gather of any blocks has n(P - 1)/P words on its critical path",
        CRITICAL_PATH,
        _printed.words,
        replace(
            SCHEDULES["allgather_bruck"].source,
            proof="Exact if P divides n: every step then moves equal blocks, and min(1, P - 1) + ... adds up to P - 1.",
            reading="It is read for blocks of any sizes; it is printed for equal ones.",
        ),
        BY_BRUCK,
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="dense.allgather.bruck_words",
        extremal="one word and two ranks: 1 word, not 1/2",
        note="A step waits for the rank with the longest blocks.",
    ),
    _equal(
        "allgather.even_words",
        "Bruck's all-gather of equal blocks has n(P - 1)/P words on its critical path",
        CRITICAL_PATH,
        critical_words(SCHEDULES["allgather_bruck"]),
        derived("1, 2, 4, ... blocks of n/P words, and what is left in the last step, add up to P - 1 blocks."),
        BY_BRUCK,
        BLOCKS_DIVIDE,
    ),
    _equal(
        "allgather.ring_steps", "Ring all-gather: steps", STEPS, P - 1, derived("One for every other rank."), BY_RING
    ),
    _equal(
        "allgather.bruck_steps",
        "Bruck's all-gather: steps",
        STEPS,
        ceil_log2,
        derived(
            "A step doubles what a rank has, until it has P blocks; no schedule with one message a step is faster."
        ),
        BY_BRUCK,
    ),
    _equal(
        "allgather.doubling_steps",
        "Recursive doubling all-gather: steps",
        STEPS,
        2 * ceil_log2 - floor_log2,
        derived("One a doubling; ranks beyond a power of two take a step before and a step after."),
        BY_DOUBLING,
    ),
    _equal(
        "allgather.received",
        "All-gather: the busiest rank receives all but the shortest block, by every algorithm",
        MOST_RECEIVED,
        n - sp.floor(n / P),
        derived("A rank receives every block but its own once; the shortest own block has floor(n/P) words."),
    ),
    _equal(
        "reduce_scatter.sent",
        "Reduce-scatter: the busiest rank sends all but the shortest block, by every algorithm",
        MOST_SENT,
        n - sp.floor(n / P),
        derived(f"{_BACKWARDS} A rank sends, of every block but its own, one partial sum."),
    ),
    _equal(
        "allgather.contents",
        "All-gather: every rank ends with all blocks in their places, by every algorithm",
        ARRIVED_ELSEWHERE,
        0,
        derived("A step sends only blocks that the rank had before, and every rank receives every other block once."),
    ),
    _equal(
        "reduce_scatter.sum",
        "Reduce-scatter: every rank ends with its block of the sum, by every algorithm",
        WRONG_SUMS,
        0,
        derived("If rank p holds 4^p, the result shows how often every rank was added, and to which entry."),
        EXACT_INTEGERS,
    ),
    _equal(
        "gather_blocks.mean_received",
        "All-gather of blocks of any lengths, n words together: a rank receives n(P - 1)/P on average",
        MEAN_RECEIVED,
        n * (P - 1) / P,
        derived(
            "A rank receives every block but its own once, by every algorithm. Over all ranks that is every block P - "
            "1 times. Only the lengths are used, so they may exceed any memory."
        ),
    ),
    Claim(
        name="dense.allreduce.every_rank",
        title="In an all-reduce every rank receives at least 2n(P - 1)/P words",
        relation=Ge(LEAST_RECEIVED, DENSE_LOWER_BOUND),
        source=FOLKLORE.recalled(
            "the bandwidth term of the lower bound, read as one for every rank",
            "Refuted by recursive doubling with three ranks: the folded rank receives only the result, n words. The "
            "bound holds for the mean, and so for the maximum.",
            reading="It is read for every rank; the bound is one on the mean, or on some rank.",
        ),
        stands=Standing.REFUTED,
        tightness=2 * (P - 1) / P,
        extremal="recursive doubling, three ranks: rank 1 receives n words, less than 4n/3",
        axis="P",
        note="Every algorithm's mean is at least 2n(P - 1)/P; a folded rank receives only n words.",
    ),
)
