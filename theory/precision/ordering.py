"""Claims about bits: on all ranks, in fused buffers, by the number of ranks; about averages, overflow and growth."""

from __future__ import annotations

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
        "All ranks end with the same bits, if whoever adds or keeps a sum takes it as it is sent",
        DIFFERING,
        (t.ALL_AS_SENT, t.ONE_MAKER),
        "A sum that one rank makes reaches all others as it is sent, and its maker takes it so. In recursive doubling "
        "partners add the same two numbers, and a + b and b + a are the same bits; ranks that were folded receive what "
        "their speaker keeps.",
        note="Whatever the numbers of ranks and entries, the formats and the values: infinities, NaN (as one value: "
        "which payload a NaN carries is another matter) and zeros, which keep their signs.",
    ),
    _but(
        "bits.owner_keeps",
        "All ranks end with the same bits, if whoever has a sum keeps it as it was added",
        DIFFERING,
        (t.OWNERS_KEEP, NEAREST),
        "two ranks, float32 sums and a bfloat16 wire: 1 + 1/256 lies between two numbers of the wire",
        "bits.agreement",
        "An owner that does not round its own copy differs from all others: by half a gap of the wire's format at "
        "most, and in every step anew.",
    ),
    _but(
        "bits.own_unrounded",
        "Ranks of recursive doubling end with the same bits, if each adds what arrives to its own sum as it is",
        DIFFERING,
        (t.DOUBLING_ONLY, t.OWN_AS_IT_IS, t.SUMS_AS_SENT, NEAREST),
        "four ranks, float32 sums and a bfloat16 wire: 1 + 1/256 and 1/512 + 0 at the second exchange",
        "bits.agreement",
        "One has a + fl(b), its partner fl(a) + b. Rounding the result to the wire's format hides most of these "
        "differences, not all. In one format there is nothing to round, and all agree.",
    ),
    _but(
        "bits.own_draws",
        "Ranks of recursive doubling end with the same bits, if each rounds stochastically by draws of its own",
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
        "By a tree of additions that is one for all blocks, fusing buffers changes no bit",
        t.MOVED_BITS,
        (t.PLACELESS, t.SUMS_AS_SENT, NEAREST, t.FUSED_BEHIND),
        "Which ranks' sums are added to which does not depend on the entry's place. So it is in Rabenseifner's too: in "
        "every block ranks of the farthest distance are added first; only who adds depends on the block, and a + b and "
        "b + a are the same bits.",
        note="A direct all-reduce needs but a fixed order: its owners have all terms.",
    ),
    _but(
        "fused.ring",
        "By a ring, rings in nodes or directly, fusing buffers changes no bit",
        t.MOVED_BITS,
        (t.ROUND_THE_BLOCK, t.SUMS_AS_SENT, NEAREST, t.FUSED_BEHIND),
        "three ranks with 1, 2^m and -2^m, 2^m beyond the significand: in one block the sum is 0, in another 1",
        "fused.same_block",
        "An entry's sum begins at the rank of its block. Another bucket size, another order of the parameters, or one "
        "parameter more moves entries to other blocks, and changes their bits.",
    ),
    _but(
        "fused.rabenseifner_unrounded",
        "By Rabenseifner's schedule with a narrower wire, fusing buffers changes no bit",
        t.MOVED_BITS,
        (t.RABENSEIFNER_ONLY, t.OWN_AS_IT_IS, t.SUMS_AS_SENT, NEAREST, t.FUSED_BEHIND),
        "four ranks, float32 sums and a bfloat16 wire: the side that keeps its partial sum as it is depends on the "
        "block",
        "fused.anywhere",
        "fl(a) + b in one block is a + fl(b) in another. In one format no bit changes.",
    ),
    _none(
        "fused.same_block",
        "By any schedule, fusing changes no bit if block b of the whole is made of the buffers' blocks b",
        t.MOVED_BITS,
        (t.FUSED_IN_BLOCKS, NEAREST),
        "The order of an entry's additions, and who makes them, depends on nothing but the number of its block.",
        note="What a ring needs for fused buffers that keep their bits: cut every buffer in P blocks, and send their "
        "blocks together.",
    ),
    _none(
        "fused.two_ranks",
        "With two ranks fusing changes no bit, by any schedule",
        t.MOVED_BITS,
        (t.AT_MOST_TWO, t.SUMS_AS_SENT, NEAREST),
        "One addition of two numbers that the wire's format has: there is one order.",
        note="Tests on two ranks see nothing of what three do.",
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
        note="A sum that is reproducible from one rank to thousands, for powers of two, at no cost but an order. A "
        "tree with a root does the same.",
    ),
    _but(
        "shards.ring",
        "A ring over ranks that add neighbours first: bits do not depend on the number of ranks",
        t.RESHARDED_BITS,
        (t.ROUND_THE_BLOCK, ONE_FORMAT, NEAREST, t.SHARES_IN_A_ROW),
        "1, 2^m, -2^m and 1 from four ranks or one, 2^m beyond the significand",
        "shards.doubling",
        "Who runs the same batch on more ranks gets other bits, whatever he fixes besides.",
    ),
    _but(
        "shards.rabenseifner",
        "Rabenseifner's schedule over ranks that add neighbours first: bits do not depend on the number of ranks",
        t.RESHARDED_BITS,
        (t.RABENSEIFNER_ONLY, ONE_FORMAT, NEAREST, t.SHARES_IN_A_ROW),
        "1, 1, 2^m and -2^m from four ranks or one, 2^m beyond the significand",
        "shards.rabenseifner_in_turn",
        "It adds the farthest ranks first: the tree's levels come in another order.",
    ),
    _none(
        "shards.rabenseifner_in_turn",
        "Rabenseifner's schedule over terms dealt out in turn: bits do not depend on the number of ranks",
        t.RESHARDED_BITS,
        (t.RABENSEIFNER_ONLY, ONE_FORMAT, NEAREST, t.SHARES_IN_TURN),
        "Term i is at rank i mod P. Additions pair terms whose numbers differ in the highest bit alone, then in the "
        "next, and so on; the ranks' own sums take the high bits, the schedule the low ones.",
    ),
    _but(
        "shards.any_ranks",
        "Recursive doubling over any number of ranks that add neighbours first: bits do not depend on that number",
        t.RESHARDED_BITS,
        (t.DOUBLING_ONLY, ONE_FORMAT, NEAREST, t.ANY_SHARES),
        "five terms from five ranks or one: (1 + 2) + 3 and 4 + 5, where one rank has (1 + 2) + (3 + 4) and 5",
        "shards.doubling",
        "Beyond powers of two the ranks' own sums are no levels of one tree.",
    ),
)

# --- averages ---------------------------------------------------------------------------------------------------------

_v = one_rounding(wire_unit)

_AVERAGES = (
    _none(
        "average.power_of_two",
        "For a power of two of ranks it does not matter when an average is divided, bit for bit",
        t.MOMENT_BITS,
        (t.RANKS_DOUBLE, NEAREST, t.WHOLE_SHARES, t.SUM_HAS_ROOM),
        "A power of two changes exponents. Where a sum of shares is below the normal range it is a whole number of "
        "smallest numbers and exact, and so is the sum of the entries, which has no more digits.",
        note="Before, behind, or by two before each addition.",
    ),
    _but(
        "average.any_ranks",
        "For any number of ranks it does not matter when an average is divided, bit for bit",
        t.MOMENT_BITS,
        (NEAREST, t.WHOLE_SHARES, t.SUM_HAS_ROOM),
        "three ranks: quotients by three are rounded",
        "average.power_of_two",
        "Both ways round as often, and either may be the nearer one.",
    ),
    Claim(
        name="precision.average.error",
        title="The error of an average, divided first or last, is at most (1 + v)^(h + 1) - 1, v = w/(1 + w)",
        relation=Le(t.AVERAGE_ERROR, (1 + _v) ** (t.add_depth + 1) - 1),
        assumes=(ONE_FORMAT, NEAREST, t.DIVIDED_ONCE, t.NORMAL_QUOTIENTS, t.SUM_HAS_ROOM),
        source=derived(
            "A term passes h additions at most, and one division: each multiplies by 1 + d, |d| <= v, since quotients "
            "are normal or zero and additions do not underflow. Where the sum is divided, so is what cancelled, and a "
            "quotient below the normal range is off by less than half a smallest number, which v of the average of the "
            "magnitudes exceeds."
        ),
        axis="add_depth",
        unpinned=for_one_reason(
            "still true: w/(1 + w) and w differ in second order, as v itself and what a rounding loses at most",
            "exponent -2 of wire_unit + 1",
            "10/9 times the term wire_unit",
        ),
        note="Neither way has the better bound; they differ in what overflows and in what underflows.",
    ),
    Claim(
        name="precision.average.underflow_before",
        title="Divided before, small entries lose up to P/2 smallest numbers of their average",
        relation=Le(t.AVERAGE_LOSS, P * least / 2),
        assumes=(ONE_FORMAT, NEAREST, t.DIVIDED_BEFORE, t.SHARES_BELOW_NORMAL),
        source=derived("Every quotient is off by half a smallest number at most, and their sums are exact."),
        tightness=1,
        extremal="an even number of ranks that hold P/2 smallest numbers each: every quotient is rounded to zero",
        axis="P",
        note="All of it: in float16 an entry of 2^-24 P/2 is gone on all ranks, at 1024 ranks 3e-5.",
    ),
    Claim(
        name="precision.average.underflow_after",
        title="Divided after summing, small entries lose at most half a smallest number of their average",
        relation=Le(t.AVERAGE_LOSS, least / 2),
        assumes=(ONE_FORMAT, NEAREST, t.DIVIDED_AFTER, t.SUMS_BELOW_NORMAL),
        source=derived("Sums are exact, and one quotient is rounded."),
        tightness=1,
        extremal="an even number of ranks that hold P/2 smallest numbers together",
        axis="P",
    ),
    _but(
        "average.before_in_range",
        "Divided before, an average of numbers is a number",
        t.NOT_FINITE,
        (ONE_FORMAT, NEAREST, t.DIVIDED_BEFORE, t.ENTRIES_FINITE),
        "three ranks that hold the largest number of float8_e5m2: a third of it is rounded up, and three of these "
        "overflow",
        "average.before_with_room",
        "It takes entries within a few roundings of the largest number. All equal to it, three ranks do it in float16 "
        "by a ring, seven in bfloat16 by a tree, ten in float32 by a ring; of powers of two, up to 128, none but eight "
        "and sixteen in float8_e4m3fn, added one after another.",
    ),
    _none(
        "average.before_with_room",
        "Divided before, an average is a number where the average of the magnitudes leaves room for the roundings",
        t.NOT_FINITE,
        (ONE_FORMAT, NEAREST, t.DIVIDED_BEFORE, t.MEAN_HAS_ROOM),
        "No partial sum exceeds (1 + w)^P times the average of the magnitudes and what was rounded up below the normal "
        "range, and (1 + w)^P (1 - 2 P w) <= 1.",
        note="Divided behind, it is the sum that has to fit.",
    ),
    _none(
        "average.halving_in_range",
        "Halved before each addition, an average of finite numbers is always finite",
        t.NOT_FINITE,
        (t.HALVED_EACH, t.ENTRIES_FINITE, NEAREST),
        "Half of each of two numbers adds up to no more than the larger one, which the format has, and rounding is "
        "monotone.",
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
        note="float16 and m = 1: 32768 ranks. float8_e4m3fn: 256.",
    ),
    Claim(
        name="precision.overflow.stagnation",
        title="Added one after another, P equal powers of two sum to min(P, 2^t) of them",
        relation=Eq(t.EQUAL_SUM, sp.Min(P, 2**t.wire_digits)),
        assumes=(t.ONE_AFTER_ANOTHER, NEAREST, t.ENTRY_POWER_OF_TWO),
        source=derived(
            "Up to 2^t all whole numbers have t digits. 2^t + 1 lies halfway between neighbours, and is rounded to the "
            "one whose last digit is even, 2^t: there the sum stays."
        ),
        axis="P",
        note="bfloat16: 256 of however many ranks; float16: 2048; float8_e4m3fn: 16; float8_e5m2: 8. A ring that adds "
        "in float32 and sends bfloat16 stays at 256 as well, since it rounds the sum at every hop. So a chain of equal "
        "terms does not overflow where a tree does: it is wrong instead.",
    ),
    _none(
        "overflow.in_range",
        "A sum is a number where the magnitudes leave room for the roundings",
        t.NOT_FINITE,
        (t.SUM_HAS_ROOM, NEAREST),
        "No partial sum exceeds (1 + w)^(2 (P - 1)) times the sum of the magnitudes: by induction over the additions, "
        "each of which is rounded to the accumulator's and to the wire's format at most; and (1 + w)^(2 P) (1 - 2 P w) "
        "<= 1.",
        note="By every schedule: nothing but the number of roundings counts.",
    ),
    _but(
        "overflow.exact_sum",
        "A sum is a number where the exact sum is one",
        t.NOT_FINITE,
        (t.EXACT_SUM_FITS, NEAREST),
        "three ranks with the largest number twice and its negative: the first two overflow, where they meet first",
        "overflow.in_range",
        "In a ring some blocks overflow and others do not.",
    ),
    _none(
        "overflow.infinite",
        "In formats with infinities a sum of numbers of one sign overflows to infinity, and is never NaN",
        t.NOT_NUMBERS,
        (t.ONE_SIGN, t.HAS_INFINITY),
        "Infinity plus a number of its sign is infinity; infinities of both signs do not meet.",
    ),
    _but(
        "overflow.nan",
        "A sum of numbers of one sign is never NaN",
        t.NOT_NUMBERS,
        (t.ONE_SIGN,),
        "two ranks that hold 448 in float8_e4m3fn, which has no infinity",
        "overflow.infinite",
        "A test for infinities does not see it, and a loss scaler that looks for both does.",
    ),
)

# --- growth -----------------------------------------------------------------------------------------------------------

_ONCE = 1 / sp.sqrt(8 * sp.log(2))
_SPREAD = (
    "Rounding v = f 2^e, 1 <= f < 2, errs uniformly within w 2^e: by w^2 4^e/3 in the mean square. Over significands "
    "whose logarithms are uniform the mean of 1/f^2 is 3/(8 ln 2), so that it is w^2 v^2/(8 ln 2)"
)


def _grows(name: str, title: str, factor: Any, assumes: tuple[Hypothesis, ...], why: str, **more: Any) -> Claim:
    return Claim(
        name=f"precision.growth.{name}",
        title=title,
        relation=Eq(t.RMS_GROWTH, factor * _ONCE),
        kind=Kind.APPROXIMATE,
        assumes=(t.GAUSSIAN_ENTRIES, t.SEVERAL, NEAREST, *assumes),
        source=derived(f"{_SPREAD}; errors are taken for independent. {why}"),
        axis="P",
        **more,
    )


_LOOSE = "still true: the law is confronted within 10 %, and what is measured is up to 9 % above it"

_GROWTH = (
    _grows(
        "ring",
        "The error of a chain of normal entries is w sqrt((P + 1)/2 - 1/P)/sqrt(8 ln 2) of their sum",
        sp.sqrt((P + 1) / 2 - 1 / P),
        (t.ONE_AFTER_ANOTHER,),
        "The sums of 2, 3, ..., P terms are rounded, of 2 + 3 + ... + P terms' variance against the sum's P.",
        note="So grows as sqrt(P), as is said in public (NVIDIA/Megatron-LM, issue 6199, read), against the sum "
        "itself and for terms of mean zero. Confronted within 10 %, from P = 3 on, up to 256 ranks: up to 9 % more "
        "where few terms are added, as sums of two numbers of as many digits often fall half-way between two of these.",
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
        "On each of log2 P levels sums are rounded that have the variance of all P terms together.",
        note="Confronted within 10 %, from P = 4 on, up to 256 ranks: 7 to 9 % more for the same reason, at any "
        "number of ranks.",
        unpinned=for_one_reason(_LOOSE, "10/9 times the bound", "P + 1 for P"),
    ),
    _grows(
        "wide_owner",
        "Owners that add in a wide format have error w/sqrt(8 ln 2) of the sum of normal entries, for every P",
        sp.Integer(1),
        (t.WIDE_OWNERS,),
        "The sum is rounded once.",
        note="Confronted within 10 %, up to 256 ranks: 7 to 10 % more at two, 1 % from twelve on.",
        unpinned=for_one_reason(_LOOSE, "10/9 times the bound"),
    ),
    Claim(
        name="precision.growth.all_to_all",
        title="An all-to-all's error does not grow with the number of ranks",
        relation=Eq(t.RMS_GROWTH, _ONCE),
        kind=Kind.APPROXIMATE,
        assumes=(t.GAUSSIAN_ENTRIES, t.SEVERAL, NEAREST, t.ONE_AFTER_ANOTHER),
        source=derived(
            "Refuted by owners that add in bfloat16: they round as often as a ring.",
            "the same as of a wide accumulator, whatever the accumulator",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="precision.growth.wide_owner",
        tightness=sp.oo,
        extremal="a direct all-reduce with bfloat16 sums, whose error is the ring's",
        axis="P",
        note="It is the wide accumulator that takes the growth away, not the all-to-all; what the all-to-all does is "
        "to let one rank keep it. A ring that adds in float32 and sends bfloat16 grows like a ring in bfloat16.",
    ),
)

CLAIMS: tuple[Claim, ...] = (*_BITS, *_FUSED, *_SHARDS, *_AVERAGES, *_OVERFLOW, *_GROWTH)
