"""Claims about data balancing in Ok-Topk: always, never, or above four times the mean."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le, Standing
from commbounds.theory.oktopk.hypotheses import (
    ALWAYS_BALANCED,
    AT_LEAST_TWO,
    BALANCING,
    BRUCK,
    DIVISIBLE,
    DOUBLING,
    K_WINNERS,
    LAST_GATHER,
    NEVER_BALANCED,
    NO_DUPLICATES,
    PHASE_TWO,
    QUARTER_RULE,
    RING,
)
from commbounds.theory.oktopk.terms import LI_HOEFLER_2022, winners
from commbounds.theory.quantities import P, index_bits, k
from commbounds.theory.sources import derived
from commbounds.theory.traffic import CRITICAL_PATH, MOST_RECEIVED, MOST_SENT

_PUBLISHED = 4 * k * (P - 1) / P
_LARGEST_OUT = 2 * (winners - sp.floor(winners / P))
_QUARTER = "the first P/4 ranks own 4k/P winners each: no rank holds more than four times the mean"
_UNTRIGGERED = (PHASE_TWO, K_WINNERS, DIVISIBLE, QUARTER_RULE)

BALANCE: tuple[Claim, ...] = (
    Claim(
        name="oktopk.balance.always",
        title="Balancing and all-gather together send at most 4k(P - 1)/P words from any rank",
        relation=Le(MOST_SENT, _PUBLISHED),
        assumes=(PHASE_TWO, K_WINNERS, DIVISIBLE, ALWAYS_BALANCED, NO_DUPLICATES),
        source=LI_HOEFLER_2022.second_hand(
            "Equation 2, read in a summary; its hypotheses are ours",
            "Balancing sends at most |T|(P - 1)/P entries, the all-gather P - 1 blocks of |T|/P.",
        ),
        tightness=1,
        extremal="rank 0 owns all winners",
        axis="P",
    ),
    Claim(
        name="oktopk.balance.quarter_as_read",
        title="Balancing only above four times the mean keeps balancing and all-gather at 4k(P - 1)/P words at most",
        relation=Le(MOST_SENT, _PUBLISHED),
        assumes=(*_UNTRIGGERED, DOUBLING),
        source=derived(
            "A load of four times the mean on a quarter of the ranks is not balanced, and recursive doubling sends a "
            "rank's own block in every step: 2k(3 - 4/P) words, up to 3/2 of 4k(P - 1)/P."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="oktopk.balance.quarter",
        tightness=(3 * P - 4) / (2 * (P - 1)),
        extremal=_QUARTER,
        axis="P",
        note="The published code balances always or never; it does not test for four times the mean.",
    ),
    Claim(
        name="oktopk.balance.quarter",
        title="Balancing only above four times the mean lets a rank send up to 2k(3 - 4/P) words",
        relation=Le(MOST_SENT, 2 * k * (3 - 4 / P)),
        assumes=(*_UNTRIGGERED, DOUBLING, AT_LEAST_TWO),
        source=derived(
            "Among m = log2 P steps a rank sends its own block in m, its first neighbour's in m - 1, those at distance "
            "d in m - ceil(log2(d + 1)). With blocks of at most 4k/P and k in all, the most is sent when the P/4 "
            "nearest are full: 4k/P times the sum over steps of min(2^j, P/4), that is 3P/4 - 1. For P = 2 one block "
            "is sent once, 2k. A rank that balances sends 4k(P - 1)/P, which is no more."
        ),
        tightness=1,
        extremal=_QUARTER,
        axis="P",
    ),
    Claim(
        name="oktopk.balance.quarter_ring",
        title="On a ring, balancing only above four times the mean makes the critical path up to 8k(P - 1)/P words",
        relation=Le(CRITICAL_PATH, 8 * k * (P - 1) / P),
        assumes=(*_UNTRIGGERED, RING),
        source=derived(
            "In every one of P - 1 steps some rank sends the largest block, of at most 4k/P entries; if data are "
            "balanced instead, both parts take 4k(P - 1)/P."
        ),
        tightness=1,
        extremal=f"{_QUARTER}; P >= 4",
        axis="P",
        note="It is twice the published 4k(P - 1)/P, though no rank sends more: all wait for the largest block.",
    ),
    Claim(
        name="oktopk.balance.never",
        title="Without balancing a rank sends up to 2k ceil(log2 P) words in the all-gather",
        relation=Le(MOST_SENT, 2 * k * index_bits(P)),
        assumes=(PHASE_TWO, K_WINNERS, NEVER_BALANCED, BRUCK),
        source=derived("A rank sends no block twice in a step, so at most k entries; ceil(log2 P) steps."),
        tightness=1,
        extremal="rank 0 owns all winners: its own block is sent in every step",
        axis="P",
        note="The words received do not change: 2(|T| minus the rank's own).",
    ),
    Claim(
        name="oktopk.balance.moves_out",
        title="Balancing sends at most 2(|T| - floor(|T|/P)) words from any rank",
        relation=Le(MOST_SENT, _LARGEST_OUT),
        assumes=(BALANCING, ALWAYS_BALANCED),
        source=derived(
            "Winners that leave lie outside of the rank's target, and |T| - target winners do; the smallest target is "
            "floor(|T|/P)."
        ),
        tightness=1,
        extremal="the last rank owns all winners",
        axis="winners",
    ),
    Claim(
        name="oktopk.balance.moves_in",
        title="Balancing brings at most 2 ceil(|T|/P) words to any rank",
        relation=Le(MOST_RECEIVED, 2 * sp.ceiling(winners / P)),
        assumes=(BALANCING, ALWAYS_BALANCED),
        source=derived("A rank receives no more than its target, at most ceil(|T|/P) winners."),
        tightness=1,
        extremal="the last rank owns all winners: the first receives its whole target",
        axis="winners",
    ),
    Claim(
        name="oktopk.balance.equal_blocks",
        title="After balancing the all-gather brings 2(|T| - floor(|T|/P)) words to the rank that receives most",
        relation=Eq(MOST_RECEIVED, _LARGEST_OUT),
        assumes=(LAST_GATHER, ALWAYS_BALANCED, NO_DUPLICATES),
        source=derived("Every rank receives all blocks but its own, and the last rank's has floor(|T|/P) entries."),
        axis="winners",
    ),
)
