"""Claims about the four dense all-reduces: what they move, and what they end with."""

import sympy as sp

from commbounds.theory.claim import Claim, Ge
from commbounds.theory.cost import power_below
from commbounds.theory.dense.builder import AllReduceClaims
from commbounds.theory.dense.terms import (
    BITS_OF_REST,
    CORE_BLOCKS_DIVIDE,
    MPICH,
    MPICH_AT,
    SEVERAL_RANKS,
    ceil_log2,
    floor_log2,
)
from commbounds.theory.quantities import P, n
from commbounds.theory.schedules import DENSE_LOWER_BOUND
from commbounds.theory.sources import derived
from commbounds.theory.traffic import MEAN_RECEIVED, MESSAGES, MOST_RECEIVED, MOST_SENT

RING = AllReduceClaims("ring", "ring all-reduce")
DOUBLING = AllReduceClaims("recursive_doubling", "recursive doubling all-reduce")
RABENSEIFNER = AllReduceClaims("rabenseifner", "Rabenseifner's all-reduce")
BUTTERFLY = AllReduceClaims("butterfly", "direct all-reduce")

_extra = ceil_log2 - floor_log2
_core = power_below(P)
_TWO_SHORT = 2 * n - sp.floor(n / P) - sp.floor((n + 1) / P)
_ONCE = "Every block is added up at one rank and copied from there."
_EVERY_BLOCK = "every block moves P - 1 times to be summed and P - 1 times to be distributed: 2n(P - 1) words in all."
_WHOLE_WORDS = (
    ("10/9 times the term 1", "equivalent: n is whole, and (n + 1)/P and (n + 10/9)/P have the same floor"),
)
_BIG = "1, 2^(m-1) and -2^(m-1) from three ranks, with m larger than the bits of the significand"

_RING = (
    *RING.counted(),
    RING.printed("one word, two ranks: 2 words, not 1", "Else every step takes the longest block, ceil(n/P) words."),
    RING.equal("messages", MESSAGES, "messages of a rank", 2 * (P - 1), derived("One in every step.")),
    RING.equal(
        "sent",
        MOST_SENT,
        "words sent by the busiest rank",
        _TWO_SHORT,
        derived(
            "Rank r sends all blocks but its own, and then all sums but the next rank's. The two shortest neighbouring "
            "blocks have floor(n/P) + floor((n+1)/P) words. Where P divides n that is 2n(P - 1)/P for every rank."
        ),
        SEVERAL_RANKS,
        unpinned=_WHOLE_WORDS,
    ),
    RING.equal(
        "received",
        MOST_RECEIVED,
        "words received by the busiest rank",
        _TWO_SHORT,
        derived("What rank r sends, rank r + 1 receives."),
        SEVERAL_RANKS,
        unpinned=_WHOLE_WORDS,
    ),
    RING.optimal(f"Around the ring {_EVERY_BLOCK}"),
    RING.exact_sum(),
    RING.rounding(P - 1, "P - 1"),
    RING.agreement(_ONCE),
    RING.order(_BIG, "block b is added up from rank b + 1 on, so its order differs from block to block."),
)

_FOLDED = "Else the ranks beyond a power of two send n words before and receive n after: up to 1.9 times as many."
_DOUBLING = (
    *DOUBLING.counted(),
    DOUBLING.printed(
        "three ranks: 3n words, not n log2 3",
        _FOLDED,
        MPICH.official_code(
            "a comment, Cost = lgp.alpha + n.lgp.beta + n.lgp.gamma, without a condition on p, above code that folds "
            "ranks beyond a power of two",
            _FOLDED,
            "It is read for every P: the comment has no condition; the papers mean powers of two.",
            MPICH_AT.at(
                "src/mpi/coll/allreduce/allreduce_intra_recursive_doubling.c",
                "16",
                "up to eight bytes, user-defined operations, or fewer entries than a power of two of the ranks",
            ),
        ),
    ),
    DOUBLING.equal(
        "messages",
        MESSAGES,
        "messages of a rank",
        ceil_log2,
        derived("One a doubling, and one more from a rank that returns the result to a folded one."),
    ),
    DOUBLING.equal(
        "sent",
        MOST_SENT,
        "words sent by the busiest rank",
        n * ceil_log2,
        derived("n words a message, and as many messages as above."),
    ),
    DOUBLING.equal(
        "received",
        MOST_RECEIVED,
        "words received by the busiest rank",
        n * ceil_log2,
        derived("n words a doubling, and n from the folded rank."),
    ),
    Claim(
        name="dense.recursive_doubling.lower_bound",
        title="Recursive doubling all-reduce: a rank receives at least 2n(P - 1)/P words on average",
        relation=Ge(MEAN_RECEIVED, DENSE_LOWER_BOUND),
        source=derived(
            "Take one entry, and the first moment at which some rank knows its sum. All others' terms have reached "
            "that rank, by P - 1 words at least; every other rank needs one more word afterwards. So 2(P - 1) words an "
            "entry, over P ranks."
        ),
        tightness=1,
        extremal="two or three ranks, any input",
        axis="P",
    ),
    DOUBLING.exact_sum(),
    DOUBLING.rounding(ceil_log2, "ceil(log2 P)"),
    DOUBLING.agreement("Both partners of an exchange add the same two numbers, and a + b and b + a are the same bits."),
    DOUBLING.order("1, -2^m, 2^m and 1 from four ranks, with 2^m beyond the significand", "it is a balanced tree."),
)

_HALVES = 2 * n * (_core - 1) / _core + n * _extra
_RABENSEIFNER = (
    *RABENSEIFNER.counted(BITS_OF_REST),
    RABENSEIFNER.printed(
        "three ranks, two words: 6 words, not 8/3",
        "Else 2n(P' - 1)/P' words for the largest power of two P' below P, and 2n to fold and unfold; comments in "
        "MPICH's source have P for P' there, which is 2n(1/P' - 1/P) words too many.",
    ),
    RABENSEIFNER.equal(
        "messages",
        MESSAGES,
        "messages of a rank",
        ceil_log2 + floor_log2,
        derived("One a halving and a doubling, and one more from a rank that returns the result to a folded one."),
    ),
    RABENSEIFNER.equal(
        "sent",
        MOST_SENT,
        "words sent by the busiest rank",
        _HALVES,
        derived("n/2, n/4, ... and back, and n more to a folded rank."),
        CORE_BLOCKS_DIVIDE,
    ),
    RABENSEIFNER.equal(
        "received",
        MOST_RECEIVED,
        "words received by the busiest rank",
        _HALVES,
        derived("n/2, n/4, ... and back, and n more from a folded rank."),
        CORE_BLOCKS_DIVIDE,
    ),
    RABENSEIFNER.optimal(
        "Among P' ranks, the largest power of two, 2n(P' - 1) words in all, as around a ring. Every other rank adds n "
        "words before and n after: 2n(P' - 1) + 2n(P - P') = 2n(P - 1)."
    ),
    RABENSEIFNER.exact_sum(),
    RABENSEIFNER.rounding(ceil_log2, "ceil(log2 P)"),
    RABENSEIFNER.agreement(_ONCE),
    RABENSEIFNER.order(
        "1, -2^m, 2^m and 1 from four ranks, with 2^m beyond the significand", "halving pairs the farthest ranks first."
    ),
)

_DIRECT = n + (P - 2) * sp.ceiling(n / P)
_BUTTERFLY = (
    *BUTTERFLY.counted(),
    BUTTERFLY.equal("messages", MESSAGES, "messages of a rank", 2 * (P - 1), derived("One in every step.")),
    BUTTERFLY.equal(
        "sent",
        MOST_SENT,
        "words sent by the busiest rank",
        _DIRECT,
        derived(
            "Rank r sends all blocks but its own, n - b, and then its own b words P - 1 times; the longest block has "
            "ceil(n/P)."
        ),
    ),
    BUTTERFLY.equal(
        "received",
        MOST_RECEIVED,
        "words received by the busiest rank",
        _DIRECT,
        derived("Rank r receives its own block P - 1 times, and then all others, n - b."),
    ),
    BUTTERFLY.optimal(f"Directly {_EVERY_BLOCK}"),
    BUTTERFLY.exact_sum(),
    BUTTERFLY.rounding(P - 1, "P - 1"),
    BUTTERFLY.agreement(_ONCE),
    BUTTERFLY.order(_BIG, "block b is added up from rank b downwards."),
)

ALLREDUCE: tuple[Claim, ...] = (*_RING, *_DOUBLING, *_RABENSEIFNER, *_BUTTERFLY)
