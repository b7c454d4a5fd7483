"""Claims about the words that a rank sends in Ok-Topk, and about both directions together."""

import sympy as sp

from commbounds.theory.claim import Claim, Ge, Le, Standing
from commbounds.theory.cost import critical_words
from commbounds.theory.oktopk.hypotheses import (
    ALWAYS_BALANCED,
    ANY_BOUNDARIES,
    DIVISIBLE,
    EVEN_REGIONS,
    EVEN_SPLIT,
    K_SELECTED,
    K_WINNERS,
    NO_DUPLICATES,
    RING,
    STALE_THRESHOLD,
    WORDS,
)
from commbounds.theory.oktopk.terms import LI_HOEFLER_2022, selected, winners
from commbounds.theory.quantities import P, k
from commbounds.theory.schedules import SCHEDULES
from commbounds.theory.sources import derived
from commbounds.theory.traffic import CRITICAL_PATH, MOST_SENT, SENT_AND_RECEIVED

PUBLISHED = critical_words(SCHEDULES["oktopk"])
"""The published volume, 6k(P - 1)/P, as its schedule sums up."""
UNDER_BALANCE = (WORDS, EVEN_SPLIT, K_WINNERS, DIVISIBLE, ALWAYS_BALANCED, NO_DUPLICATES)
TIGHT6K = (
    "every rank selects k/P entries of every region, all winners lie in the region of rank 0, where the ranks' entries "
    "are disjoint"
)
_OWNS_ALL = "rank 0 selects only entries of other regions and owns all winners"

SENT: tuple[Claim, ...] = (
    Claim(
        name="oktopk.sent.even_split",
        title="With an even split and data balancing no rank sends more than 6k(P - 1)/P words",
        relation=Le(MOST_SENT, PUBLISHED),
        assumes=UNDER_BALANCE,
        source=LI_HOEFLER_2022.second_hand(
            "Equation 3, read in a summary; its hypotheses are ours",
            "The split sends at most k/P entries to each of P - 1 ranks. Balancing cuts the winners, in their order, "
            "at equal counts: an interval of s winners overlaps its own target of |T|/P by at least s - (|T| - |T|/P), "
            "so at most |T|(P - 1)/P leave. The all-gather sends P - 1 blocks of |T|/P. With |T| <= k these are three "
            "times k(P - 1)/P entries of two words.",
        ),
        tightness=1,
        extremal=TIGHT6K,
        axis="P",
        note="This is the published bound with the hypotheses that it needs.",
    ),
    Claim(
        name="oktopk.sent.any_split",
        title="With data balancing no rank sends more than 6k - 4k/P words, for any vectors",
        relation=Le(MOST_SENT, 2 * k * (3 * P - 2) / P),
        assumes=(WORDS, K_SELECTED, K_WINNERS, DIVISIBLE, ALWAYS_BALANCED, ANY_BOUNDARIES, NO_DUPLICATES),
        source=derived(
            "The split sends at most all k selected entries, and not only k(P - 1)/P; balancing and all-gather send "
            "at most k(P - 1)/P each, as for an even split: 2k + 4k(P - 1)/P = 6k - 4k/P."
        ),
        tightness=1,
        extremal=_OWNS_ALL,
        axis="P",
        note="It is below 6k for all vectors: “less than 6k” is a theorem about words sent.",
    ),
    Claim(
        name="oktopk.sent.general",
        title="With data balancing, the numbers of entries that pass the two thresholds bound what a rank sends",
        relation=Le(
            MOST_SENT, 2 * selected + 2 * (winners - sp.floor(winners / P)) + 2 * (P - 1) * sp.ceiling(winners / P)
        ),
        assumes=(WORDS, ALWAYS_BALANCED, ANY_BOUNDARIES, NO_DUPLICATES),
        source=derived(
            "As for an even split, with targets of floor(|T|/P) or ceil(|T|/P): the split sends at most |S_p| "
            "entries, balancing at most |T| - floor(|T|/P), the all-gather P - 1 blocks of at most ceil(|T|/P)."
        ),
        tightness=1,
        extremal=f"{_OWNS_ALL}, whose number P divides",
        axis="winners",
        note="Only the two counts matter, not the positions or magnitudes of entries. Where P does not divide |T|, a "
        "rank sends P - 1 different blocks in the all-gather, |T| - floor(|T|/P) entries at most: less than the last "
        "term.",
        unpinned=(
            (
                "P + 1 for P",
                "still true: the P - 1 blocks that a rank sends have |T| - floor(|T|/P) entries at most, no more than "
                "P ceil(|T|/(P + 1))",
            ),
        ),
    ),
    Claim(
        name="oktopk.sent.ring",
        title="With data balancing and a ring no rank sends more than 6k words, for all k and P",
        relation=Le(MOST_SENT, 6 * k),
        assumes=(WORDS, K_SELECTED, K_WINNERS, ALWAYS_BALANCED, RING, ANY_BOUNDARIES),
        source=derived(
            "On a ring a rank sends every block but that of the rank after it, |T| entries at most. Balancing sends "
            "at most |T|, the split at most k: 2(k + k + k) words."
        ),
        tightness=1,
        extremal="k = 1, P >= 3: rank 1 selects an entry elsewhere, owns the only winner, gives it to rank 0 and "
        "passes it on",
        axis="P",
        note="Attained where k < P: “less than 6k” must read “at most 6k” when P does not divide |T|.",
    ),
    Claim(
        name="oktopk.sent.unconditional",
        title="No rank sends more than 6k(P - 1)/P words, for any vectors",
        relation=Le(MOST_SENT, PUBLISHED),
        assumes=(WORDS, K_SELECTED, K_WINNERS, DIVISIBLE, ALWAYS_BALANCED, ANY_BOUNDARIES, NO_DUPLICATES),
        source=LI_HOEFLER_2022.second_hand(
            "Equation 3, read in a summary, taken without hypotheses",
            "Where a rank selects nothing in its own region the split sends k entries and not k(P - 1)/P: "
            "(3P - 2)/(3P - 3) of the bound is attained.",
            reading="It is read for any vectors, without its hypotheses.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="oktopk.sent.any_split",
        tightness=(3 * P - 2) / (3 * P - 3),
        extremal=f"{_OWNS_ALL}: 128 > 96 words at P = 2, k = 32",
        axis="P",
        note="The words sent exceed the bound by at most 2k/P.",
    ),
    Claim(
        name="oktopk.sent.reused_threshold",
        title="With reused thresholds no rank sends more than 6k words",
        relation=Le(MOST_SENT, 6 * k),
        assumes=(WORDS, ALWAYS_BALANCED, RING, STALE_THRESHOLD),
        source=LI_HOEFLER_2022.second_hand(
            "abstract, “less than 6k”, in the iterations between two evaluations of the thresholds",
            "If all entries grow past the old threshold, every rank selects all n of them.",
            reading="It is read for the iterations between two evaluations of the thresholds as well.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="oktopk.sent.general",
        tightness=sp.oo,
        extremal="the vectors have grown since the thresholds were found: all n entries pass",
        axis="P",
        note="The numbers of selected entries bound the words; the requested k does not.",
    ),
)

PATH: tuple[Claim, ...] = (
    Claim(
        name="oktopk.path.even_split",
        title="With an even split and data balancing the critical path is at most 6k(P - 1)/P words",
        relation=Le(CRITICAL_PATH, PUBLISHED),
        assumes=UNDER_BALANCE,
        source=LI_HOEFLER_2022.second_hand(
            "Equation 3, read in a summary; its hypotheses are ours",
            "In each of the P - 1 steps of the split, and of the balancing, a rank sends to one other and receives "
            "from one other at most k/P entries: what lies in a region, or in a target. All blocks of the all-gather "
            "have |T|/P entries, and P - 1 of them come in on every rank.",
        ),
        tightness=1,
        extremal=TIGHT6K,
        axis="P",
        note="Words are counted in one direction on full-duplex links, as in the published cost.",
    ),
)

BOTH: tuple[Claim, ...] = (
    Claim(
        name="oktopk.both.even_split",
        title="With an even split and data balancing no rank moves more than 10k(P - 1)/P words in and out",
        relation=Le(SENT_AND_RECEIVED, 10 * k * (P - 1) / P),
        assumes=UNDER_BALANCE,
        source=derived(
            "Split and all-gather move at most k(P - 1)/P entries each way. Balancing moves at most |T|(P - 1)/P both "
            "ways together: let A be the interval of a rank's winners and B its target, of t = |T|/P; what moves is "
            "in one of them only. At least t winners are in both or in neither: B itself if A covers it; else A stops "
            "short of an end of B, and the targets beyond that end are in neither. The first and the last rank have "
            "no target beyond their outer end, but there A and B end together."
        ),
        tightness=1,
        extremal=TIGHT6K,
        axis="P",
        note="Rank 0 of the extremal input sends 6k(P - 1)/P words and receives 4k(P - 1)/P.",
    ),
    Claim(
        name="oktopk.both.perfect",
        title="With perfectly even regions the busiest rank moves at least 8k(P - 1)/P words in and out",
        relation=Ge(SENT_AND_RECEIVED, 8 * k * (P - 1) / P),
        assumes=(WORDS, EVEN_REGIONS),
        source=derived(
            "k(P - 1)/P entries each way in the split. In the all-gather every rank receives as many or more, and all "
            "ranks together send what they receive."
        ),
        tightness=1,
        extremal="every rank selects k/P entries of every region, and every region has k/P winners",
        axis="P",
    ),
    Claim(
        name="oktopk.both.as_read",
        title="With an even split and data balancing no rank moves more than 6k(P - 1)/P words in and out",
        relation=Le(SENT_AND_RECEIVED, PUBLISHED),
        assumes=UNDER_BALANCE,
        source=LI_HOEFLER_2022.second_hand(
            "Equation 3, read in a summary, taken as volume in both directions",
            "Perfectly even regions move 8k(P - 1)/P words already.",
            reading="It is read for the volume in both directions.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="oktopk.both.even_split",
        tightness=sp.Rational(5, 3),
        extremal=TIGHT6K,
        axis="P",
        note="The published number counts one direction. Both directions take between 8k(P - 1)/P and 10k(P - 1)/P "
        "where regions are even.",
    ),
)
