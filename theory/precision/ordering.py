"""Claims about bits: on all ranks, in fused buffers, by the number of ranks; about averages, overflow and growth."""

from typing import Any

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Hypothesis, Kind, Le, Standing, for_one_reason
from commbounds.theory.cost import log2, power_below
from commbounds.theory.dense.terms import DIFFERING
from commbounds.theory.precision import ordering_terms as t
from commbounds.theory.precision.bounds import one_rounding
from commbounds.theory.precision.terms import NEAREST, ONE_FORMAT, least, wire_unit
from commbounds.theory.quantities import P, Quantity
from commbounds.theory.sources import derived


def _none(name: str, title: str, quantity: Quantity, assumes: tuple[Hypothesis, ...], why: str, **more: Any) -> Claim:
    """That there is no such entry."""
    return Claim(
        name=f"precision.{name}",
        title=title,
        relation=Eq(quantity, 0),
        assumes=assumes,
        source=derived(why),
        **{"axis": "P", **more},
    )


def _but(
    name: str,
    title: str,
    quantity: Quantity,
    assumes: tuple[Hypothesis, ...],
    extremal: str,
    corrected_by: str = "",
    note: str = "",
) -> Claim:
    """That there is none, which is not so."""
    return _none(
        name,
        title,
        quantity,
        assumes,
        f"Refuted by {extremal}.",
        stands=Standing.HOLDS_AS_CORRECTED if corrected_by else Standing.REFUTED,
        corrected_by=f"precision.{corrected_by}" if corrected_by else "",
        extremal=extremal,
        note=note,
    )


# --- the same bits on all ranks ---------------------------------------------------------------------------------------

_BITS = (
    _none(
        "bits.agreement",
        "All ranks end with the same bits if every rank adds and keeps sums as they are sent",
        DIFFERING,
        (t.ALL_AS_SENT, t.ONE_MAKER),
        "A sum made by one rank reaches all others as it is sent, and that rank keeps the sent form. In recursive "
        "doubling partners add the same two numbers, and a + b and b + a are the same bits; folded ranks receive what "
        "their partner keeps.",
        note="It holds for all numbers of ranks and entries, all formats and values: infinities, NaN (as one value, "
        "whose payload is not compared) and signed zeros.",
    ),
    _but(
        "bits.owner_keeps",
        "All ranks end with the same bits if the rank that makes a sum keeps it unrounded",
        DIFFERING,
        (t.OWNERS_KEEP, NEAREST),
        "two ranks, float32 sums and a bfloat16 wire: 1 + 1/256 lies between two numbers of the wire",
        "bits.agreement",
        "An owner that does not round its own copy differs from all others in every step, by at most half a gap of the "
        "wire's format.",
    ),
    _but(
        "bits.own_unrounded",
        "Ranks of recursive doubling end with the same bits if each adds arrivals to its own unrounded sum",
        DIFFERING,
        (t.DOUBLING_ONLY, t.OWN_AS_IT_IS, t.SUMS_AS_SENT, NEAREST),
        "four ranks, float32 sums and a bfloat16 wire: 1 + 1/256 and 1/512 + 0 at the second exchange",
        "bits.agreement",
        "One has a + fl(b), its partner fl(a) + b. Rounding the result to the wire's format hides most of these "
        "differences, not all. In one format there is nothing to round, and all agree.",
    ),
    _but(
        "bits.own_draws",
        "Ranks of recursive doubling end with the same bits if each rounds stochastically with its own draws",
        DIFFERING,
        (t.DOUBLING_ONLY, t.PARTNERS_DRAW, t.ALL_AS_SENT),
        "two ranks with 1 and 1/256 in bfloat16: each rounds the sum up with probability one half",
        "bits.agreement",
        "Every other schedule makes a sum at one rank and copies it. Partners who share their draws agree too.",
    ),
)

# --- fused and split buffers ------------------------------------------------------------------------------------------

_FUSED = (
    _none(
        "fused.anywhere",
        "If all blocks have the same tree of additions, fusing buffers changes no bit",
        t.MOVED_BITS,
        (t.PLACELESS, t.SUMS_AS_SENT, NEAREST, t.FUSED_BEHIND),
        "Which ranks' sums are added to which does not depend on the entry's place. This also holds for "
        "Rabenseifner's: every block adds ranks of the farthest distance first; only the adding rank depends on the "
        "block, and a + b and b + a are the same bits.",
        note="A direct all-reduce only needs a fixed order: its owners have all terms.",
    ),
    _but(
        "fused.ring",
        "For a ring, rings in nodes or a direct all-reduce, fusing buffers changes no bit",
        t.MOVED_BITS,
        (t.ROUND_THE_BLOCK, t.SUMS_AS_SENT, NEAREST, t.FUSED_BEHIND),
        "three ranks with 1, 2^m and -2^m, 2^m beyond the significand: in one block the sum is 0, in another 1",
        "fused.same_block",
        "An entry's sum begins at the rank of its block. Another bucket size, another order of the parameters, or one "
        "parameter more moves entries to other blocks, and changes their bits.",
    ),
    _but(
        "fused.rabenseifner_unrounded",
        "For Rabenseifner's schedule with a narrower wire, fusing buffers changes no bit",
        t.MOVED_BITS,
        (t.RABENSEIFNER_ONLY, t.OWN_AS_IT_IS, t.SUMS_AS_SENT, NEAREST, t.FUSED_BEHIND),
        "four ranks, float32 sums and a bfloat16 wire: the side that keeps its partial sum unrounded depends on the "
        "block",
        "fused.anywhere",
        "fl(a) + b in one block is a + fl(b) in another. In one format no bit changes.",
    ),
    _none(
        "fused.same_block",
        "For any schedule, fusing changes no bit if block b of the whole consists of the buffers' blocks b",
        t.MOVED_BITS,
        (t.FUSED_IN_BLOCKS, NEAREST),
        "The order of an entry's additions, and the ranks that make them, depend only on the number of its block.",
        note="To keep the bits of fused buffers, a ring has to cut every buffer in P blocks and send their blocks "
        "together.",
    ),
    _none(
        "fused.two_ranks",
        "With two ranks fusing changes no bit, for any schedule",
        t.MOVED_BITS,
        (t.AT_MOST_TWO, t.SUMS_AS_SENT, NEAREST),
        "One addition of two numbers that the wire's format has: there is one order.",
        note="Tests on two ranks do not detect effects that begin with three.",
    ),
)

# --- the same bits for any number of ranks ----------------------------------------------------------------------------

_SHARDS = (
    _none(
        "shards.doubling",
        "Recursive doubling over ranks that add neighbours first: bits do not depend on the number of ranks",
        t.RESHARDED_BITS,
        (t.DOUBLING_ONLY, ONE_FORMAT, NEAREST, t.SHARES_IN_A_ROW),
        "The balanced tree over all terms in their order, of which the ranks' own sums are the lower levels.",
        note="The sum is reproducible from one rank to thousands, for powers of two, and only the order is prescribed. "
        "A tree with a root does the same.",
    ),
    _but(
        "shards.ring",
        "A ring over ranks that add neighbours first: bits do not depend on the number of ranks",
        t.RESHARDED_BITS,
        (t.ROUND_THE_BLOCK, ONE_FORMAT, NEAREST, t.SHARES_IN_A_ROW),
        "1, 2^m, -2^m and 1 from four ranks or one, 2^m beyond the significand",
        "shards.doubling",
        "The same batch on more ranks gives other bits, even if all else is fixed.",
    ),
    _but(
        "shards.rabenseifner",
        "Rabenseifner's schedule over ranks that add neighbours first: bits do not depend on the number of ranks",
        t.RESHARDED_BITS,
        (t.RABENSEIFNER_ONLY, ONE_FORMAT, NEAREST, t.SHARES_IN_A_ROW),
        "1, 1, 2^m and -2^m from four ranks or one, 2^m beyond the significand",
        "shards.rabenseifner_in_turn",
        "It adds the farthest ranks first: the order of the tree's levels differs.",
    ),
    _none(
        "shards.rabenseifner_in_turn",
        "Rabenseifner's schedule over terms dealt round-robin: bits do not depend on the number of ranks",
        t.RESHARDED_BITS,
        (t.RABENSEIFNER_ONLY, ONE_FORMAT, NEAREST, t.SHARES_IN_TURN),
        "Term i is at rank i mod P. Additions pair terms whose numbers differ only in the highest bit, then in the "
        "next, and so on; the ranks' own sums take the high bits, the schedule the low ones.",
    ),
    _but(
        "shards.any_ranks",
        "Recursive doubling over any number of ranks that add neighbours first: bits do not depend on that number",
        t.RESHARDED_BITS,
        (t.DOUBLING_ONLY, ONE_FORMAT, NEAREST, t.ANY_SHARES),
        "five terms from five ranks or one: (1 + 2) + 3 and 4 + 5, where one rank has (1 + 2) + (3 + 4) and 5",
        "shards.doubling",
        "For other numbers than powers of two the ranks' own sums are not levels of one tree.",
    ),
)

# --- averages ---------------------------------------------------------------------------------------------------------

_v = one_rounding(wire_unit)

_AVERAGES = (
    _none(
        "average.power_of_two",
        "If P is a power of two, an average has the same bits whenever it is divided",
        t.MOMENT_BITS,
        (t.RANKS_DOUBLE, NEAREST, t.WHOLE_SHARES, t.SUM_HAS_ROOM),
        "A power of two changes exponents. Where a sum of shares is below the normal range it is a whole number of "
        "smallest numbers and exact, and so is the sum of the entries, which has no more digits.",
        note="The division is before all additions, after them, or by two before each.",
    ),
    _but(
        "average.any_ranks",
        "For any number of ranks an average has the same bits whenever it is divided",
        t.MOMENT_BITS,
        (NEAREST, t.WHOLE_SHARES, t.SUM_HAS_ROOM),
        "three ranks: quotients by three are rounded",
        "average.power_of_two",
        "Both ways round equally often, and either may be more accurate.",
    ),
    Claim(
        name="precision.average.error",
        title="The error of an average, divided first or last, is at most (1 + v)^(h + 1) - 1, v = w/(1 + w)",
        relation=Le(t.AVERAGE_ERROR, (1 + _v) ** (t.add_depth + 1) - 1),
        assumes=(ONE_FORMAT, NEAREST, t.DIVIDED_ONCE, t.NORMAL_QUOTIENTS, t.SUM_HAS_ROOM),
        source=derived(
            "A term passes h additions at most, and one division: each multiplies by 1 + d, |d| <= v, since quotients "
            "are normal or zero and additions do not underflow. If the sum is divided, so are its errors, and a "
            "quotient below the normal range is off by less than half a smallest number, which v of the average of the "
            "magnitudes exceeds."
        ),
        axis="add_depth",
        unpinned=for_one_reason(
            "still true: w/(1 + w) and w differ in second order, as v itself and what a rounding loses at most",
            "exponent -2 of wire_unit + 1",
            "10/9 times the term wire_unit",
        ),
        note="Both ways have the same bound; they differ in overflow and underflow.",
    ),
    Claim(
        name="precision.average.underflow_before",
        title="If divided before summing, small entries lose up to P/2 smallest numbers of their average",
        relation=Le(t.AVERAGE_LOSS, P * least / 2),
        assumes=(ONE_FORMAT, NEAREST, t.DIVIDED_BEFORE, t.SHARES_BELOW_NORMAL),
        source=derived("Every quotient is off by half a smallest number at most, and their sums are exact."),
        tightness=1,
        extremal="an even number of ranks that hold P/2 smallest numbers each: every quotient is rounded to zero",
        axis="P",
        note="The entry can be lost entirely: in float16 2^-24 P/2 becomes zero on all ranks, 3e-5 at 1024 ranks.",
    ),
    Claim(
        name="precision.average.underflow_after",
        title="If divided after summing, small entries lose at most half a smallest number of their average",
        relation=Le(t.AVERAGE_LOSS, least / 2),
        assumes=(ONE_FORMAT, NEAREST, t.DIVIDED_AFTER, t.SUMS_BELOW_NORMAL),
        source=derived("Sums are exact, and one quotient is rounded."),
        tightness=1,
        extremal="an even number of ranks that hold P/2 smallest numbers together",
        axis="P",
    ),
    _but(
        "average.before_in_range",
        "If divided before summing, an average of finite numbers is finite",
        t.NOT_FINITE,
        (ONE_FORMAT, NEAREST, t.DIVIDED_BEFORE, t.ENTRIES_FINITE),
        "three ranks that hold the largest number of float8_e5m2: a third of it is rounded up, and three of these "
        "overflow",
        "average.before_with_room",
        "It needs entries within a few roundings of the largest number. If all equal it, three ranks overflow in "
        "float16 on a ring, seven in bfloat16 in a tree, ten in float32 on a ring; among powers of two up to 128, only "
        "eight and sixteen in float8_e4m3fn, added one after another.",
    ),
    _none(
        "average.before_with_room",
        "If divided before summing, an average is finite if the magnitudes' average leaves room for roundings",
        t.NOT_FINITE,
        (ONE_FORMAT, NEAREST, t.DIVIDED_BEFORE, t.MEAN_HAS_ROOM),
        "No partial sum exceeds (1 + w)^P times the average of the magnitudes and what was rounded up below the normal "
        "range, and (1 + w)^P (1 - 2 P w) <= 1.",
        note="If divided after summing, the sum has to fit.",
    ),
    _none(
        "average.halving_in_range",
        "If sums are halved before each addition, an average of finite numbers is always finite",
        t.NOT_FINITE,
        (t.HALVED_EACH, t.ENTRIES_FINITE, NEAREST),
        "The halves of two numbers add up to at most the larger one, which the format has, and rounding is monotone.",
    ),
)

# --- overflow ---------------------------------------------------------------------------------------------------------

_OVERFLOW = (
    Claim(
        name="precision.overflow.tree",
        title="A tree sums up to 2^floor(log2(largest/m)) ranks that all hold m without overflow",
        relation=Eq(t.MOST_RANKS, power_below(t.wire_largest / t.equal_entry)),
        assumes=(t.HALVES_ONLY, t.ENTRIES_FINITE, t.ONE_WIDTH),
        source=derived("Partial sums are m times powers of two, which the format has up to its largest number."),
        axis="equal_entry",
        note="For m = 1 it is 32768 ranks in float16 and 256 in float8_e4m3fn.",
    ),
    Claim(
        name="precision.overflow.stagnation",
        title="Added one after another, P equal powers of two have the sum of min(P, 2^t) of them",
        relation=Eq(t.EQUAL_SUM, sp.Min(P, 2**t.wire_digits)),
        assumes=(t.ONE_AFTER_ANOTHER, NEAREST, t.ENTRY_POWER_OF_TWO),
        source=derived(
            "Up to 2^t all whole numbers have t digits. 2^t + 1 lies halfway between neighbours, and is rounded to the "
            "one whose last digit is even, 2^t: there the sum stays."
        ),
        axis="P",
        note="It is 256 in bfloat16, for any number of ranks; 2048 in float16; in float8_e4m3fn: 16; float8_e5m2: 8. A "
        "ring that adds in float32 and sends bfloat16 stays at 256 as well, since it rounds the sum at every hop. So a "
        "chain of equal terms is wrong where a tree overflows.",
    ),
    _none(
        "overflow.in_range",
        "A sum is finite if the magnitudes leave room for the roundings",
        t.NOT_FINITE,
        (t.SUM_HAS_ROOM, NEAREST),
        "No partial sum exceeds (1 + w)^(2 (P - 1)) times the sum of the magnitudes: by induction over the additions, "
        "each of which is rounded to the accumulator's and to the wire's format at most; and (1 + w)^(2 P) (1 - 2 P w) "
        "<= 1.",
        note="It holds for every schedule: only the number of roundings matters.",
    ),
    _but(
        "overflow.exact_sum",
        "A sum is finite if the exact sum is a number of the format",
        t.NOT_FINITE,
        (t.EXACT_SUM_FITS, NEAREST),
        "three ranks with the largest number twice and its negative: the first two overflow if they are added first",
        "overflow.in_range",
        "In a ring some blocks overflow and others do not.",
    ),
    _none(
        "overflow.infinite",
        "In formats with infinities a sum of numbers of one sign overflows to infinity, and is never NaN",
        t.NOT_NUMBERS,
        (t.ONE_SIGN, t.HAS_INFINITY),
        "Infinity plus a number of its sign is infinity; infinities of opposite signs are not added.",
    ),
    _but(
        "overflow.nan",
        "A sum of numbers of one sign is never NaN",
        t.NOT_NUMBERS,
        (t.ONE_SIGN,),
        "two ranks that hold 448 in float8_e4m3fn, which has no infinity",
        "overflow.infinite",
        "A test for infinities misses it; a loss scaler that tests for both finds it.",
    ),
)

# --- growth -----------------------------------------------------------------------------------------------------------

_ONCE = 1 / sp.sqrt(8 * sp.log(2))
_SPREAD = (
    "Rounding v = f 2^e, 1 <= f < 2, has a uniform error within w 2^e: by w^2 4^e/3 in the mean square. Over "
    "significands whose logarithms are uniform the mean of 1/f^2 is 3/(8 ln 2), so that it is w^2 v^2/(8 ln 2)"
)


def _grows(name: str, title: str, factor: Any, assumes: tuple[Hypothesis, ...], why: str, **more: Any) -> Claim:
    return Claim(
        name=f"precision.growth.{name}",
        title=title,
        relation=Eq(t.RMS_GROWTH, factor * _ONCE),
        kind=Kind.APPROXIMATE,
        assumes=(t.GAUSSIAN_ENTRIES, t.SEVERAL, NEAREST, *assumes),
        source=derived(f"{_SPREAD}; errors are assumed independent. {why}"),
        axis="P",
        **more,
    )


_LOOSE = "still true: tests allow 10 %, and measured values are up to 9 % above the law"

_GROWTH = (
    _grows(
        "ring",
        "The error of a chain of normal entries is w sqrt((P + 1)/2 - 1/P)/sqrt(8 ln 2) of their sum",
        sp.sqrt((P + 1) / 2 - 1 / P),
        (t.ONE_AFTER_ANOTHER,),
        "The sums of 2, 3, ..., P terms are rounded, of 2 + 3 + ... + P terms' variance against the sum's P.",
        note="It grows as sqrt(P), as stated in NVIDIA/Megatron-LM, issue 6199 (read), relative to the sum and for "
        "terms of mean zero. Tests allow 10 %, for 3 to 256 ranks: measured values are up to 9 % above it for few "
        "terms, as sums of two numbers with equal digits often fall half-way between two numbers.",
        unpinned=for_one_reason(
            _LOOSE,
            "10/9 times the term 1/2",
            "10/9 times the term P/2",
            "without the term -1/P",
            "0.9 times the term -1/P",
            "10/9 times the term -1/P",
            "exponent -2 of P",
            "P + 1 for P",
        ),
    ),
    _grows(
        "tree",
        "The error of a tree of normal entries is w sqrt(log2 P)/sqrt(8 ln 2) of their sum",
        sp.sqrt(log2(P)),
        (t.HALVES_ONLY, t.RANKS_DOUBLE, t.ONE_WIDTH),
        "The sums rounded on each of log2 P levels together have the variance of all P terms.",
        note="Tests allow 10 %, for 4 to 256 ranks: measured values are 7 to 9 % above it for the same reason.",
        unpinned=for_one_reason(_LOOSE, "10/9 times the bound", "P + 1 for P"),
    ),
    _grows(
        "wide_owner",
        "Owners that add in a wide format have error w/sqrt(8 ln 2) of the sum of normal entries, for every P",
        sp.Integer(1),
        (t.WIDE_OWNERS,),
        "The sum is rounded once.",
        note="Tests allow 10 %, up to 256 ranks: measured values are 7 to 10 % above it at P = 2, 1 % from 12 on.",
        unpinned=for_one_reason(_LOOSE, "10/9 times the bound"),
    ),
    Claim(
        name="precision.growth.all_to_all",
        title="An all-to-all's error does not grow with the number of ranks",
        relation=Eq(t.RMS_GROWTH, _ONCE),
        kind=Kind.APPROXIMATE,
        assumes=(t.GAUSSIAN_ENTRIES, t.SEVERAL, NEAREST, t.ONE_AFTER_ANOTHER),
        source=derived(
            "Refuted by owners that add in bfloat16: they round as often as a ring does.",
            "the law of a wide accumulator, applied to any accumulator",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="precision.growth.wide_owner",
        tightness=sp.oo,
        extremal="a direct all-reduce with bfloat16 sums, whose error is the ring's",
        axis="P",
        note="The wide accumulator removes the growth, not the all-to-all, which only lets one rank keep the "
        "accumulator. On a ring that adds in float32 and sends bfloat16 the error grows as on a ring in bfloat16.",
    ),
)

CLAIMS: tuple[Claim, ...] = (*_BITS, *_FUSED, *_SHARDS, *_AVERAGES, *_OVERFLOW, *_GROWTH)
