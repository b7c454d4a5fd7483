"""Claims about LoCo's compensation and about quantised reduce-scatters (qgZ)."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le, Standing
from commbounds.theory.lowcomm.terms import (
    ACROSS_SENT,
    BLOCKS_ELSEWHERE,
    BY_HOPS_ON_A_RING,
    BY_ONE_HOP,
    BY_TWO_HOPS,
    COMMON_TURNS,
    COMPENSATION,
    CUT_BY_ONE,
    DEEPSPEED,
    DEEPSPEED_AT,
    EF14_WEIGHT,
    IN_A_ROW,
    LOCO,
    MANY_NODES,
    MANY_PASSES,
    NEVER_FORGOTTEN,
    NODES_DIVIDE,
    NOT_CUT_OFF,
    RANKS_DIVIDE,
    REORDERED,
    SENT_LATE,
    STEPS_OFF,
    TENSORS_RESET,
    ZEROPP,
    fresh,
    outerrounds,
    pernode,
    shared_turns,
    tensors,
)
from commbounds.theory.quantities import P, n
from commbounds.theory.sources import derived

_KERNEL = (
    "csrc/quantization/swizzled_quantize.cu: the error buffer times err_beta plus 1 - err_beta times the new error"
)
_SCALE = (
    "csrc/includes/quantization_utils.h: the symmetric scale of b bits is 2^b over twice the largest "
    "magnitude of a group, and codes end at 2^(b - 1) - 1"
)
_REDUCE = "deepspeed/runtime/comm/coalesced_collectives.py"
_COALESCED = "deepspeed/runtime/comm/coalesced_collectives.py"
_LATE = (
    "e_(t + 1) - e_t = phi (h_t - sent_t - e_t) and h_t = g_t + e_t, so g_t - sent_t = (e_(t + 1) - e_t)/phi, with the "
    "sum e_T/phi"
)
_RESETS = (
    "Tensors come in one order in every pass. After the first the counter is 1. The tensor that finds it above T is "
    "reset and leaves it at 1: resets are at the updates T, T + (T + 1), ... so that tensors whose number plus one is "
    "a multiple of T + 1, modulo L, are reset: L/gcd(L, T + 1) of them."
)

LOWBIT_CLAIMS = (
    Claim(
        name="lowcomm.loco.compensation",
        title="LoCo's compensation is at most half a step",
        relation=Le(COMPENSATION, sp.Rational(1, 2)),
        assumes=(NOT_CUT_OFF,),
        source=LOCO.official_code(
            f"deepspeedai/DeepSpeed, {_KERNEL}",
            "It averages errors, each of which is at most half a step.",
            reading="The bound is ours, for codes of a fixed step without clipping.",
            code=DEEPSPEED_AT.at("csrc/quantization/swizzled_quantize.cu", "305-306"),
        ),
        tightness=1,
        extremal="the newest error kept entirely, a gradient of half a step",
        axis="outerrounds",
        note="DeepSpeed's own codes are clipped in every round, by one step: lowcomm.loco.cut_once.",
    ),
    Claim(
        name="lowcomm.loco.cut_once",
        title="At DeepSpeed's step, the largest entry over 2^(b - 1), LoCo's compensation is at most a whole step",
        relation=Le(COMPENSATION, 1),
        assumes=(CUT_BY_ONE,),
        source=DEEPSPEED.official_code(
            f"{_SCALE}; {_KERNEL}",
            "The largest entry has the code 2^(b - 1), which is clipped by one where it is positive; all other errors "
            "are roundings, and an average of errors is at most the largest.",
            reading="The bound is ours, for a fixed step; the code has one per group and round.",
            code=DEEPSPEED_AT.at("csrc/includes/quantization_utils.h", "61-72"),
        ),
        tightness=1,
        extremal="the newest error kept entirely, an entry of 2^(b - 1) steps",
        axis="outerrounds",
        note="With four bits a group's largest entry arrives as seven eighths of itself if it is positive; if it is "
        "negative, -8 is a code, and it arrives exactly.",
    ),
    Claim(
        name="lowcomm.loco.cut_off",
        title="LoCo's compensation is at most half a step, for gradients of any size",
        relation=Le(COMPENSATION, sp.Rational(1, 2)),
        source=derived(
            "Refuted by two bits and a gradient of three steps: one step is sent, and of the error of two a share phi "
            "is kept. Errors are those of roundings only if no code is clipped.",
            "the same with the hypothesis left out",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.loco.compensation",
        tightness=sp.oo,
        extremal="two bits, gradients of three steps",
        axis="outerrounds",
        note="The step determines both roundings and clipping: here it is a setting, in DeepSpeed's code an eighth of "
        "the largest entry.",
    ),
    Claim(
        name="lowcomm.loco.late",
        title="LoCo's unsent sum after T rounds is at most (1 - (1 - phi)^T)/(2 phi) steps",
        relation=Le(SENT_LATE, (1 - (1 - fresh) ** outerrounds) / (2 * fresh)),
        assumes=(NOT_CUT_OFF, NEVER_FORGOTTEN),
        source=derived(f"{_LATE}; and |e_T| <= (1 - (1 - phi)^T)/2 steps."),
        tightness=1,
        extremal="gradients of half a step less the compensation: all codes are zero",
        axis="outerrounds",
        note="The moving average loses nothing either, but its unsent sum can be 1/phi times as large: 5/2 steps at "
        "DeepSpeed's err_beta of 0.8, and 5 with its codes.",
    ),
    Claim(
        name="lowcomm.loco.late_cut",
        title="At DeepSpeed's step, LoCo's unsent sum after T rounds is at most (1 - (1 - phi)^T)/phi steps",
        relation=Le(SENT_LATE, (1 - (1 - fresh) ** outerrounds) / fresh),
        assumes=(CUT_BY_ONE, NEVER_FORGOTTEN),
        source=derived(f"{_LATE}; and |e_T| <= 1 - (1 - phi)^T steps, as in lowcomm.loco.cut_once."),
        tightness=1,
        extremal="entries that are 2^(b - 1) steps with their errors in every round",
        axis="outerrounds",
    ),
    Claim(
        name="lowcomm.loco.late_at_once",
        title="LoCo's unsent sum is at most half a step, as with error feedback",
        relation=Le(SENT_LATE, sp.Rational(1, 2)),
        assumes=(NOT_CUT_OFF, NEVER_FORGOTTEN),
        source=derived(
            "Refuted by phi = 1/2 and gradients 1/2, 1/4: both are rounded to zero, and 3/4 of a step is unsent.",
            "what holds of EF14",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.loco.late",
        extremal="phi = 1/2, gradients of 1/2 and 1/4 of a step",
        axis="outerrounds",
        note="Half a step bounds the compensation, not the unsent sum.",
    ),
    Claim(
        name="lowcomm.loco.late_ef14",
        title="With the newest error kept entirely, what LoCo has not sent is at most half a step",
        relation=Le(SENT_LATE, sp.Rational(1, 2)),
        assumes=(NOT_CUT_OFF, NEVER_FORGOTTEN, EF14_WEIGHT),
        source=derived(f"{_LATE} = e_T."),
        tightness=1,
        extremal="a gradient of half a step",
        axis="outerrounds",
    ),
    Claim(
        name="lowcomm.loco.resets",
        title="DeepSpeed's counter resets L/gcd(L, T + 1) of L tensors, and never the others",
        relation=Eq(TENSORS_RESET, tensors / shared_turns),
        assumes=(COMMON_TURNS, MANY_PASSES),
        source=DEEPSPEED.official_code(
            f"{_REDUCE}, `all_to_all_loco_quant_reduce`: the global loco_idx goes up with every tensor and is set to "
            "zero by the one that finds it above reset_T",
            _RESETS,
            code=DEEPSPEED_AT.at(_COALESCED, "112-151"),
        ),
        axis="tensors",
    ),
    Claim(
        name="lowcomm.loco.resets_all",
        title="DeepSpeed's counter resets every one of L tensors",
        relation=Eq(TENSORS_RESET, tensors),
        assumes=(COMMON_TURNS, MANY_PASSES),
        source=LOCO.recalled(
            "compensations are reset every T iterations",
            f"Refuted by two tensors and T = 1: the second alone is reset. {_RESETS}",
            reading="It is read of DeepSpeed's code, in which the interval counts tensors, not iterations.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.loco.resets",
        extremal="two tensors, T = 1",
        axis="tensors",
        note="With reset_T = 1024 and 41 tensors only one is reset; with 42 all, each every 1025 iterations.",
    ),
    Claim(
        name="lowcomm.qgz.across",
        title="qgZ with a hop within nodes first: a rank sends (P/X - 1) n/P words to other nodes",
        relation=Eq(ACROSS_SENT, (P / pernode - 1) * n / P),
        assumes=(RANKS_DIVIDE, NODES_DIVIDE, BY_TWO_HOPS),
        source=ZEROPP.official_code(
            f"deepspeedai/DeepSpeed, {_REDUCE}, `all_to_all_quant_reduce`: an all-to-all within the node, a reduction, "
            "an all-to-all across nodes",
            "Counted: a rank carries P/X block sums of its node, and keeps its own: 1/X of one hop.",
            reading="The count is ours.",
            code=DEEPSPEED_AT.at(_COALESCED, "31-78"),
        ),
        axis="P",
    ),
    Claim(
        name="lowcomm.qgz.across_one_hop",
        title="qgZ in one hop: a rank sends (P - X) n/P words to other nodes",
        relation=Eq(ACROSS_SENT, (P - pernode) * n / P),
        assumes=(RANKS_DIVIDE, NODES_DIVIDE, BY_ONE_HOP),
        source=derived("Counted: a block to every rank of another node."),
        axis="P",
    ),
    Claim(
        name="lowcomm.qgz.one_hop",
        title="qgZ in one hop has an error of at most P/2 steps",
        relation=Le(STEPS_OFF, P / 2),
        assumes=(RANKS_DIVIDE, NOT_CUT_OFF, BY_ONE_HOP),
        source=derived("P codes are added, each off by half a step at most."),
        tightness=1,
        extremal="entries of half a step",
        axis="P",
    ),
    Claim(
        name="lowcomm.qgz.two_hops",
        title="qgZ in two hops has an error of at most P steps",
        relation=Le(STEPS_OFF, P),
        assumes=(RANKS_DIVIDE, NODES_DIVIDE, NOT_CUT_OFF, BY_TWO_HOPS),
        source=ZEROPP.official_code(
            f"deepspeedai/DeepSpeed, {_REDUCE}: gradients are quantised before the first hop, and sums before the "
            "second",
            "P codes of half a step, and P/X codes of sums of X, whose steps are X times as wide.",
            reading="The bound is ours, for a step that grows with the number of terms.",
            code=DEEPSPEED_AT.at(_COALESCED, "31-78"),
        ),
        tightness=1,
        extremal="nodes of four, entries 1/2, 1/2, 1/2 and 5/2",
        axis="P",
    ),
    Claim(
        name="lowcomm.qgz.ring",
        title="A quantised ring reduce-scatter has an error of at most P (P - 1)/4 steps",
        relation=Le(STEPS_OFF, P * (P - 1) / 4),
        assumes=(RANKS_DIVIDE, NOT_CUT_OFF, BY_HOPS_ON_A_RING),
        source=derived("At hop h a sum of h vectors is off by h/2 steps more; h = 1 to P - 1."),
        tightness=1,
        extremal="the h-th rank of a block has h/2",
        axis="P",
        note="This is less than one hop for P <= 2, equal for P = 3, and more for P > 3: 14 to 4 steps for eight.",
    ),
    Claim(
        name="lowcomm.qgz.order",
        title="qgZ with reordered slices: rank r ends with block r",
        relation=Eq(BLOCKS_ELSEWHERE, 0),
        assumes=(RANKS_DIVIDE, NODES_DIVIDE, BY_TWO_HOPS, REORDERED),
        source=ZEROPP.official_code(
            "deepspeedai/DeepSpeed, `swizzle_quant`: (nodes, devices per node, rest) is transposed before the hop",
            "Rank j of a node carries the blocks of all ranks j, and node m gets the m-th of them.",
            code=DEEPSPEED_AT.at("csrc/quantization/swizzled_quantize.cu", "89-105"),
        ),
        axis="P",
    ),
    Claim(
        name="lowcomm.qgz.in_a_row",
        title="qgZ with slices in their original order: rank r ends with block r",
        relation=Eq(BLOCKS_ELSEWHERE, 0),
        assumes=(RANKS_DIVIDE, NODES_DIVIDE, BY_TWO_HOPS, IN_A_ROW, MANY_NODES),
        source=derived(
            "Refuted by two nodes of two: rank (m, j) ends with block 2 j + m, so that ranks 1 and 2 have each "
            "other's.",
            "what the reordering is for",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.qgz.order",
        extremal="two nodes of two ranks",
        axis="P",
        note="Sums are right but in wrong places: among N nodes of X ranks gcd(N - 1, X - 1) + 1 ranks have their own.",
    ),
)
