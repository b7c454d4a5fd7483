"""Claims about sums in one format and in two, to nearest and stochastic; about worst cases, underflow and bytes."""

from typing import Any

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Hypothesis, Kind, Le, Standing, for_one_reason
from commbounds.theory.dense.terms import BLOCKS_DIVIDE, RELATIVE_SUM_ERROR, WRONG_SUMS, ceil_log2, unit
from commbounds.theory.precision.bounds import (
    any_order,
    any_tree,
    compounded,
    followed,
    one_rounding,
    probable_chain,
    running_sum,
)
from commbounds.theory.precision.bytes import critical_bytes
from commbounds.theory.precision.roundings import roundings
from commbounds.theory.precision.terms import (
    AROUND_A_RING,
    BELOW_NORMAL,
    BINOMIAL_TREE,
    BY_FEW_BITS,
    CONNOLLY,
    CRITICAL_BYTES,
    DIRECT,
    DOUBLING,
    EIGHT_BITS,
    EL_ARAR,
    EL_ARAR_2023,
    ENTRY_ERROR,
    EVERY_HOP,
    FEW_RANKS,
    FIGUEROA,
    HALF_A_DOUBLING,
    HIERARCHICAL,
    JEANNEROD_RUMP,
    LANGE_RUMP,
    LIKELY_ERROR,
    MEAN_SUM_ERROR,
    NEAREST,
    ON_THE_WIRE,
    ONCE,
    ONE_FORMAT,
    RABENSEIFNER,
    ROOM,
    ROOM_TO_GROW,
    ROUNDED_OTHERWISE,
    RUNNING,
    RUNNING_WORST,
    STOCHASTIC,
    SUM_VARIANCE,
    TREE,
    TREE_WORST,
    TWICE_THE_DIGITS,
    WORST_CASE,
    addends,
    chance,
    least,
    random_bits,
    wire_unit,
)
from commbounds.theory.quantities import P
from commbounds.theory.sources import derived

_SUMS = (ONE_FORMAT, NEAREST, ON_THE_WIRE, ROOM)
_AT_MOST_HALF_A_GAP = "An addition is rounded by at most v = u/(1 + u) of the exact sum of its operands"
_ANY_ORDER = (
    f"{_AT_MOST_HALF_A_GAP}, and by no more than either operand. By induction on the terms: let a sum of a terms, "
    "whose magnitudes add up to A, meet one of b terms and B, their errors at most (a - 1) v A and (b - 1) v B. A "
    "rounding of at most v (b A + a B) suffices. It is at most v (A (1 + (a - 1) v) + B (1 + (b - 1) v)), and at most "
    "B (1 + (b - 1) v) and A (1 + (a - 1) v); where neither of the last two is small enough, the first is."
)


def _depth(schedule: str) -> Any:
    return roundings(schedule).additions


_ONE_FORMAT = (
    Claim(
        name="precision.any.sure",
        title="Sums in one format, in any order: P - 1 roundings for any depth of the tree",
        relation=Le(RELATIVE_SUM_ERROR, any_order(P, unit)),
        source=JEANNEROD_RUMP.recalled("sums in any order, without a term of second order", _ANY_ORDER),
        assumes=_SUMS,
        tightness=1,
        extremal="two ranks, which hold 1 and u",
        axis="P",
    ),
    Claim(
        name="precision.running.sure",
        title="Running sums in one format: P - 1 roundings, and at most the sum of the magnitudes",
        relation=Le(RELATIVE_SUM_ERROR, running_sum(P, unit)),
        source=derived(
            f"{_ANY_ORDER} For a running sum b = 1: no rounding is by more than the term that is added, so all "
            "together are at most the sum of the magnitudes."
        ),
        assumes=(*_SUMS, RUNNING),
        tightness=1,
        extremal="two ranks, which hold 1 and u",
        axis="P",
    ),
    Claim(
        name="precision.running.sharp",
        title="Running sums in one format: the worst case, for at most 1 + 1/(2u) ranks",
        relation=Le(RELATIVE_SUM_ERROR, RUNNING_WORST),
        source=LANGE_RUMP.recalled(
            "sharp error of sums to nearest, under a condition on their number",
            "Attained by 1 and P - 1 terms of u, each of which is lost. An enumeration in two formats of eight bits "
            "shows that nothing is worse, see precision.worst.running.",
        ),
        assumes=(*_SUMS, RUNNING, HALF_A_DOUBLING),
        tightness=1,
        extremal="a rank holds 1, all others u, and the sum begins with the 1",
        axis="P",
        note="In bfloat16 it is a third of the sum of the magnitudes at 129 ranks.",
    ),
    Claim(
        name="precision.running.sharp_beyond",
        title="Running sums in one format: the worst case for at most 1 + 1/(2u) ranks holds for every number of ranks",
        relation=Le(RELATIVE_SUM_ERROR, RUNNING_WORST),
        source=LANGE_RUMP.recalled(
            "sharp error of sums to nearest, under a condition on their number",
            "Refuted with u = 1/8 and eight ranks, where the error can be 9/19, not 7/15, and with u = 1/16 and "
            "eleven, where it may be 9/23, not 5/13: where sums are rounded up into the next binade the gap doubles.",
            "It is read without the condition.",
        ),
        assumes=(*_SUMS, RUNNING),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="precision.running.sure",
        extremal="u = 1/8 and eight ranks, u = 1/16 and eleven",
        axis="P",
        note="The condition is necessary, not only for the proof: dynamic programming over all inputs of eight bits "
        "finds the first failure between one half and three quarters of a doubling later.",
    ),
    Claim(
        name="precision.tree.sure",
        title="Balanced trees in one format: ceil(log2 P) roundings",
        relation=Le(RELATIVE_SUM_ERROR, any_tree(_depth("binomial"), unit)),
        source=derived(
            f"{_AT_MOST_HALF_A_GAP}, below the normal range too, where it is exact. So a term's factor is within (1 +- "
            "v)^h after h additions, and (1 - v)^h >= 2 - (1 + v)^h."
        ),
        assumes=(*_SUMS, TREE),
        tightness=1,
        extremal="two ranks, which hold 1 and u",
        axis="P",
    ),
    Claim(
        name="precision.tree.sharp",
        title="Balanced trees in one format: the worst case, for at most 1/u ranks",
        relation=Le(RELATIVE_SUM_ERROR, TREE_WORST),
        source=derived(
            "Attained by rank i holding u^o, o the ones of i in binary: at every addition a sum meets another of u "
            "times its own, which is lost, and 1 is left. An enumeration in two formats of eight bits shows that "
            "nothing is worse, see precision.worst.tree."
        ),
        assumes=(*_SUMS, TREE, FEW_RANKS),
        tightness=1,
        extremal="rank i holds u to the power of the ones of i in binary",
        axis="P",
        note="It is 1 - 1/(1 + u)^h for 2^h ranks: by a term of second order less than h u/(1 + h u), that of a "
        "running sum of h additions, and less than (1 + v)^h - 1.",
    ),
    Claim(
        name="precision.tree.sharp_beyond",
        title="Balanced trees in one format: the worst case for at most 1/u ranks holds for every number of ranks",
        relation=Le(RELATIVE_SUM_ERROR, TREE_WORST),
        source=derived(
            "Refuted with u = 1/8 and sixteen ranks, where 1703/4441 is more than 1 - (8/9)^4: terms are rounded up "
            "until a sum reaches the next power of two, and the gap doubles."
        ),
        assumes=(*_SUMS, TREE),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="precision.tree.sure",
        extremal="u = 1/8 and sixteen ranks",
        axis="P",
        note="It fails late: with u = 1/8 it holds up to thirteen ranks, five more than 1/u.",
    ),
    Claim(
        name="precision.tree.no_more_than_the_magnitudes",
        title="Balanced trees: the error is at most the sum of the magnitudes, as that of a running sum",
        relation=Le(RELATIVE_SUM_ERROR, sp.Integer(1)),
        source=derived(
            "Refuted in float8_e5m2 by 512 ranks, with an input that dynamic programming finds: an addition moves the "
            "sum by no more than either operand, but an operand may already be larger than its terms together."
        ),
        assumes=(*_SUMS, TREE),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="precision.tree.sure",
        extremal="u = 1/8 and 512 ranks, each sum rounded up: an error of 1.06 times the sum of the magnitudes",
        axis="P",
        note="For many ranks a tree's worst case can exceed a running sum's; for 256 in float8_e5m2 it is 0.90.",
    ),
    Claim(
        name="precision.hierarchical.sure",
        title="Rings in nodes, then between them: P/N + N - 2 roundings",
        relation=Le(RELATIVE_SUM_ERROR, any_tree(sp.expand(_depth("hierarchical")), unit)),
        source=derived(
            "A term passes through at most P/N - 1 additions within its node and N - 1 between nodes; then as for a "
            "tree of that depth."
        ),
        assumes=(*_SUMS, HIERARCHICAL),
        tightness=1,
        extremal="two ranks, which hold 1 and u, in one node or in two",
        axis="P",
    ),
)

_FP8 = (ONE_FORMAT, NEAREST, EIGHT_BITS)
_WORST = (
    Claim(
        name="precision.worst.running",
        title="The worst case of a running sum in eight bits, over all inputs, for at most 1 + 1/(2u) ranks",
        relation=Eq(WORST_CASE, RUNNING_WORST),
        source=derived(
            "Dynamic programming over all values of the partial sum: V(s) = max over terms x of V(s') + q error - p "
            "|x|, s = fl(s' + x), is nowhere above zero for p/q as claimed, and zero is attained."
        ),
        assumes=(*_FP8, RUNNING, HALF_A_DOUBLING),
        axis="P",
    ),
    Claim(
        name="precision.worst.tree",
        title="The worst case of a balanced tree in eight bits, over all inputs, for at most 1/u ranks",
        relation=Eq(WORST_CASE, TREE_WORST),
        source=derived("Dynamic programming over all pairs of partial sums, node by node."),
        assumes=(*_FP8, TREE, FEW_RANKS),
        axis="P",
    ),
)

_CAST = one_rounding(wire_unit)
_TWO_FORMATS = (
    Claim(
        name="precision.once.sure",
        title="Sums in the accumulator, rounded to the wire's format once: one rounding and the accumulator's",
        relation=Le(RELATIVE_SUM_ERROR, followed(any_order(P, unit), _CAST)),
        source=derived("The bounds of any sum in the accumulator and of one rounding compound. Neither underflows."),
        assumes=(NEAREST, ON_THE_WIRE, ROOM, ONCE),
        axis="P",
        unpinned=for_one_reason(
            "loose by nature: where P u is near w the accumulator's errors and the last rounding do not all have one "
            "sign",
            "without the term unit*",
            "without the factor P - 1",
            "without the term P",
            "exponent -2 of wire_unit + 1",
            "0.9 times the term unit*",
            "0.9 times the term P",
            "exponent -2 of unit + 1",
            "10/9 times the term *",
        ),
    ),
    Claim(
        name="precision.per_hop.like_one_format",
        title="If sums are rounded to the wire at every hop, a wider accumulator changes no bit",
        relation=Eq(ROUNDED_OTHERWISE, 0),
        source=FIGUEROA.second_hand(
            "double rounding of a sum is innocuous with 2p + 2 digits",
            "The sum of two numbers of p digits has a one in the digits behind the accumulator's only where one of "
            "them is so small that the sum is no midpoint between the wire's numbers, nor is what the accumulator "
            "makes of it. Enumerated for all pairs of eight bits.",
        ),
        assumes=(NEAREST, ON_THE_WIRE, ROOM, EVERY_HOP, TWICE_THE_DIGITS),
        axis="P",
        note="Sums in float32 that are rounded to bfloat16 at every hop of a ring are bfloat16 sums, with their worst "
        "case. In a tree, or Rabenseifner's, some sums stay at a rank and are added to in float32: their bits differ.",
    ),
    Claim(
        name="precision.per_hop.like_one_format_whatever",
        title="If sums are rounded to the wire at every hop, any wider accumulator changes no bit",
        relation=Eq(ROUNDED_OTHERWISE, 0),
        source=derived(
            "Refuted with bfloat16 for float8_e4m3fn: 9/16 + 15/512 is rounded to 19/32 first, a midpoint, and then to "
            "5/8, not to 9/16."
        ),
        assumes=(NEAREST, ON_THE_WIRE, ROOM, EVERY_HOP),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="precision.per_hop.like_one_format",
        extremal="two ranks, which hold 9/16 and 15/512 in float8_e4m3fn, added in bfloat16",
        axis="P",
        note="Among all nonnegative numbers of float8_e4m3fn 156 pairs are rounded twice in bfloat16.",
    ),
)

_UNDERFLOW = (
    Claim(
        name="precision.underflow.sums_are_exact",
        title="Sums of the wire's numbers are exact below its normal range, in any order and format",
        relation=Eq(WRONG_SUMS, 0),
        source=derived(
            "All partial sums are multiples of the smallest number and at most the smallest normal one, and all such "
            "numbers are in the format, and in every one that holds it."
        ),
        assumes=(ON_THE_WIRE, BELOW_NORMAL),
        axis="P",
        note="Gradual underflow loses nothing if ranks hold numbers of the wire's format.",
    ),
    Claim(
        name="precision.underflow.wider_input",
        title="Wider vectors, rounded to the wire's format first: one rounding and half a smallest number more per "
        "rank",
        relation=Le(
            ENTRY_ERROR,
            followed(any_order(P, unit), one_rounding(unit)) * addends + (1 + any_order(P, unit)) * P * least / 2,
        ),
        source=derived(
            "A term is rounded by v |x|, or below the normal range by half a smallest number at most. The sum is one "
            "of the rounded terms, whose magnitudes add up to (1 + v) times the terms' and P/2 smallest numbers."
        ),
        assumes=(ONE_FORMAT, NEAREST, ROOM),
        tightness=1,
        extremal="a rank that holds 1 + u, or nearly half the smallest number",
        axis="P",
        unpinned=for_one_reason(
            "loose by nature: one rank attains the rounding of its term, but for several ranks the roundings of all "
            "terms and sums do not have one sign, and roundings of terms are not both relative and underflows",
            "without the term unit*",
            "exponent 3 of unit",
            "exponent -3 of unit + 1",
            "without the factor *",
            "exponent -2 of unit + 1",
            "0.9 times the term unit*",
            "0.9 times the term P",
            "without the term P",
            "10/9 times the term 1",
            "10/9 times the term -1",
            "10/9 times the term unit",
        ),
    ),
    Claim(
        name="precision.underflow.relative",
        title="Wider vectors: two relative roundings suffice",
        relation=Le(ENTRY_ERROR, followed(any_order(P, unit), one_rounding(unit)) * addends),
        source=derived("Refuted by half the smallest number, which is rounded to zero."),
        assumes=(ONE_FORMAT, NEAREST, ROOM),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="precision.underflow.wider_input",
        extremal="a rank that holds half the smallest number",
        axis="P",
        note="Additions do not underflow, but roundings to a narrower format do.",
    ),
)

_RANDOM = (ONE_FORMAT, STOCHASTIC, ON_THE_WIRE, ROOM_TO_GROW)
_STEP_VARIANCE = unit**2 / (1 + 2 * unit)
_VARIANCE = (
    "Given its operands, a rounding of 1 + t has the variance t (2u - t), at most u^2/(1 + 2u) of (1 + t)^2. Roundings "
    "are uncorrelated, so squares add up: the root mean square of a sum of sums is at most (1 + u^2/(1 + 2u))^(1/2) of "
    "what theirs add up to, and along a term's way the variances add up to the claim."
)


def _variance(depth: Any) -> Any:
    return compounded(_STEP_VARIANCE, depth)


_STOCHASTIC = (
    Claim(
        name="precision.stochastic.unbiased",
        title="Stochastic rounding: the sum is unbiased, in every schedule",
        relation=Eq(MEAN_SUM_ERROR, 0),
        kind=Kind.EXPECTED,
        source=CONNOLLY.recalled(
            "stochastic rounding, mean independence", "A rounding has its operand as its mean, given all before it."
        ),
        assumes=(STOCHASTIC, ON_THE_WIRE, ROOM_TO_GROW),
        axis="P",
    ),
    Claim(
        name="precision.stochastic.few_bits",
        title="Stochastic rounding by r random bits: the mean of a sum is off by 2^-r of the gaps at most",
        relation=Le(MEAN_SUM_ERROR, any_tree(P - 1, unit, "stochastic") / 2**random_bits),
        kind=Kind.EXPECTED,
        source=derived(
            "A rounding goes up for as many of the 2^r words as there are whole numbers below 2^r times the share. "
            "So its mean exceeds its operand by less than 2^-r of the gap, which is 2u of the magnitude at most. An "
            "addition multiplies a magnitude by 1 + 2u at most. So along a term's way the means are off by 2^-r times "
            "the sum of 2u (1 + 2u)^j over the additions before."
        ),
        assumes=(ONE_FORMAT, BY_FEW_BITS, ON_THE_WIRE, ROOM_TO_GROW),
        tightness=(1 - 2**random_bits * unit / 2) / (1 + unit**2),
        extremal="two ranks, which hold 1 and u^2",
        note="Kernels that add a word of r bits below the last digit and cut off are off by as much towards zero.",
        axis="P",
    ),
    Claim(
        name="precision.stochastic.running_variance",
        title="Stochastic rounding: variance of a running sum",
        relation=Le(SUM_VARIANCE, _variance(P - 1)),
        kind=Kind.EXPECTED,
        source=EL_ARAR.recalled("variance of sums and inner products", _VARIANCE),
        assumes=(*_RANDOM, RUNNING),
        tightness=(1 + 2 * unit) / (1 + unit) ** 2,
        extremal="two ranks, which hold 1 and u",
        axis="P",
    ),
    Claim(
        name="precision.stochastic.tree_variance",
        title="Stochastic rounding: variance of a balanced tree",
        relation=Le(SUM_VARIANCE, _variance(ceil_log2)),
        kind=Kind.EXPECTED,
        source=EL_ARAR_2023.recalled("variance of pairwise sums", _VARIANCE),
        assumes=(*_RANDOM, TREE),
        tightness=(1 + 2 * unit) / (1 + unit) ** 2,
        extremal="two ranks, which hold 1 and u",
        axis="P",
    ),
    Claim(
        name="precision.stochastic.running_sure",
        title="Stochastic rounding: for every outcome, at most 2u per rounding of a running sum",
        relation=Le(RELATIVE_SUM_ERROR, any_tree(P - 1, unit, "stochastic")),
        source=derived("Either neighbour is within a gap, 2u of the magnitude; as for a tree to nearest."),
        assumes=(*_RANDOM, RUNNING),
        tightness=1,
        extremal="two ranks, which hold 1 and the smallest number, rounded up",
        axis="P",
    ),
    Claim(
        name="precision.stochastic.likely",
        title="Stochastic rounding: the error grows like the square root of the additions, with a stated probability",
        relation=Le(LIKELY_ERROR, probable_chain(unit * sp.sqrt(2 * (P - 1) * sp.log(2 / chance)))),
        kind=Kind.LAW,
        source=CONNOLLY.recalled(
            "probabilistic error bounds of stochastic rounding",
            "A rounding's error has mean zero given all before it, in an interval of 2u times the magnitude of what is "
            "rounded; as long as errors add up to less than e that is 2u (1 + e) of the sum of the magnitudes. Stopped "
            "where they first do not, the sum of P - 1 such errors exceeds e with probability 2 exp(-e^2/(2 (P - 1) "
            "u^2 (1 + e)^2)) at most, by Hoeffding's lemma and Doob's inequality: with e = q/(1 - q), q = u sqrt(2 (P "
            "- 1) ln(2/delta)), that is delta.",
            "The constants and the form q/(1 - q) are ours.",
        ),
        assumes=(*_RANDOM, RUNNING),
        axis="P",
        unpinned=for_one_reason(
            "loose by nature: Hoeffding's lemma is exact for no law of two values, and the worst sum of magnitudes is "
            "not that of the largest roundings",
            "0.9 times the bound",
            "0.9 times branch 1*",
            "branch 1 everywhere*",
            "without the factor *",
            "0.9 times the term *",
            "10/9 times the term *",
            "exponent *",
        ),
        unentered=(("otherwise", "infinite: nothing is said"),),
    ),
)


def _bytes(schedule: str, *assumes: Hypothesis) -> Claim:
    words = {"recursive_doubling": "recursive doubling", "rabenseifner": "Rabenseifner's"}.get(schedule, schedule)
    return Claim(
        name=f"precision.bytes.{schedule}",
        title=f"Bytes on the critical path of the {words} all-reduce, sums and results in separate formats",
        relation=Eq(CRITICAL_BYTES, critical_bytes(schedule)),
        source=derived(
            "The words of the dense schedule, those added on arrival have the width of a partial sum, the others that "
            "of a result."
        ),
        assumes=assumes,
        axis="P",
        unpinned=(
            (("10/9 times the term 1", "equivalent: a ninth more than a whole number has no more bits"),)
            if schedule == "rabenseifner"
            else ()
        ),
    )


_BYTES = (
    _bytes("ring", AROUND_A_RING),
    _bytes("direct", DIRECT),
    _bytes("recursive_doubling", DOUBLING),
    _bytes("rabenseifner", RABENSEIFNER),
    _bytes("tree", BINOMIAL_TREE),
    _bytes("hierarchical", HIERARCHICAL, BLOCKS_DIVIDE),
)

SUMS: tuple[Claim, ...] = (*_ONE_FORMAT, *_WORST, *_TWO_FORMATS, *_UNDERFLOW, *_STOCHASTIC, *_BYTES)
"""What is claimed of sums."""
