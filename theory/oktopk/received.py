"""Claims about the words that a rank receives in Ok-Topk: upper bounds, and the lower bound for any method."""

import sympy as sp

from commbounds.theory.claim import Claim, Ge, Le, Standing
from commbounds.theory.oktopk.hypotheses import (
    ALWAYS_BALANCED,
    ANY_BOUNDARIES,
    FRESH_MEAN,
    GAUSSIAN_VECTORS,
    GLOBAL_COUNT,
    K_SELECTED,
    K_WINNERS,
    LIMITED_INBOUND,
    NO_DUPLICATES,
    WORDS,
)
from commbounds.theory.oktopk.sent import PUBLISHED, TIGHT6K, UNDER_BALANCE
from commbounds.theory.oktopk.terms import LI_HOEFLER_2022, inbound, winners
from commbounds.theory.quantities import P, k
from commbounds.theory.schedules import SPARSE_LOWER_BOUND
from commbounds.theory.sources import derived
from commbounds.theory.traffic import LEAST_RECEIVED, MEAN_RECEIVED, MOST_RECEIVED

_LOWER_PROOF = (
    "Every rank ends with all |T| final pairs. One received pair yields at most one of them, and at the outset at most "
    "one rank, the owner of the region, holds a final value; so P - 1 ranks have to receive each: at least "
    "2|T|(P - 1) words in all, 2|T|(P - 1)/P on average, and the rank that receives most is not below the average."
)
_TOLD = SPARSE_LOWER_BOUND.subs(k, winners)
_OWN = "every rank selects entries of its own region only, and has |T|/P winners"
_FAR = "rank 0 selects the last k entries, which win, all others the first k"

RECEIVED: tuple[Claim, ...] = (
    Claim(
        name="oktopk.received.even_split",
        title="With an even split and data balancing no rank receives more than 2k(2P - 1)/P words",
        relation=Le(MOST_RECEIVED, 2 * k * (2 * P - 1) / P),
        assumes=UNDER_BALANCE,
        source=derived(
            "At most k/P entries come from each of P - 1 ranks in the split. A rank receives its target |T|/P at most "
            "in the balancing and the other blocks in the all-gather: at most |T| <= k entries."
        ),
        tightness=1,
        extremal=TIGHT6K,
        axis="P",
        note="It is below 6k(P - 1)/P for P >= 3: with balanced regions, sending decides the published bound.",
    ),
    Claim(
        name="oktopk.received.any_split",
        title="A rank receives at most two words for every entry sent into its region and for every winner",
        relation=Le(MOST_RECEIVED, 2 * inbound + 2 * winners),
        assumes=(WORDS, ANY_BOUNDARIES, NO_DUPLICATES),
        source=derived(
            "The split brings the entries that others selected in the region. After balancing, the all-gather brings "
            "every block but the rank's own, and balancing at most that block; without balancing, every region's "
            "winners but its own."
        ),
        tightness=1,
        extremal="rank 0 is sent all that others select, and holds no winner",
        axis="winners",
        note="The published bound holds if a region's load is at most (2 - 3/P) k, twice the mean.",
    ),
    Claim(
        name="oktopk.received.limited_inbound",
        title="No rank receives more than 6k(P - 1)/P words if no region gets more than (2 - 3/P)k entries",
        relation=Le(MOST_RECEIVED, PUBLISHED),
        assumes=(WORDS, K_WINNERS, LIMITED_INBOUND, ANY_BOUNDARIES, NO_DUPLICATES),
        source=derived("2 (2 - 3/P) k + 2k = 6k(P - 1)/P in the bound by inbound entries and winners."),
        tightness=1,
        extremal="(2 - 3/P)k entries enter the region of rank 0, all winners are elsewhere; P divides k",
        axis="P",
    ),
    Claim(
        name="oktopk.received.worst",
        title="No rank receives more than 2kP words",
        relation=Le(MOST_RECEIVED, 2 * k * P),
        assumes=(WORDS, K_SELECTED, K_WINNERS, ANY_BOUNDARIES, NO_DUPLICATES),
        source=derived("At most (P - 1) k entries enter a region, and at most k win."),
        tightness=1,
        extremal=f"{_FAR}: boundaries found on these very vectors put the first k into region 0",
        axis="P",
        note="This is no better than an all-gather of every rank's k entries, 2k(P - 1), plus 2k.",
    ),
    Claim(
        name="oktopk.received.unconditional",
        title="No rank receives more than 6k(P - 1)/P words, for any vectors",
        relation=Le(MOST_RECEIVED, PUBLISHED),
        assumes=(WORDS, K_SELECTED, K_WINNERS, ALWAYS_BALANCED, FRESH_MEAN),
        source=LI_HOEFLER_2022.second_hand(
            "Equation 3, read in a summary, taken without hypotheses",
            "The mean of the ranks' quantiles is not a quantile of their union: one outlying rank moves every "
            "boundary, and (P - 1) k entries enter region 0.",
            reading="The bound is read as one on words received, for any vectors.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="oktopk.received.worst",
        tightness=P**2 / (3 * (P - 1)),
        extremal=f"{_FAR}: 2kP words with fresh boundaries",
        axis="P",
        note="Fresh boundaries and data balancing do not help: one outlier rank causes the worst possible case.",
    ),
    Claim(
        name="oktopk.received.gaussian",
        title="On Gaussian vectors fresh boundaries keep what a rank receives within 6k(P - 1)/P words",
        relation=Le(MOST_RECEIVED, PUBLISHED),
        assumes=(WORDS, GAUSSIAN_VECTORS, K_SELECTED, K_WINNERS, ALWAYS_BALANCED, FRESH_MEAN),
        source=derived(
            "With few entries a region the counts fluctuate; below one entry a region the quantiles coincide."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="oktopk.received.worst",
        extremal="k <= P: the ranks' quantiles are too few for P regions",
        axis="P",
        note="It fails even on evenly spread data: k also has to be much larger than P.",
    ),
    Claim(
        name="oktopk.received.global_count",
        title="If regions are cut at equal counts of all ranks' entries, a rank receives at most 4k + 2P - 4 words",
        relation=Le(MOST_RECEIVED, 4 * k + 2 * P - 4),
        assumes=(WORDS, K_SELECTED, K_WINNERS, GLOBAL_COUNT, NO_DUPLICATES),
        source=derived(
            "Cut j falls behind the first index at which the running count reaches ceil(j M/P), M <= kP being the "
            "number of selected entries. So a region holds at most ceil(M/P) - 1 <= k - 1 entries before its last "
            "index, and at that index at most P - 1 of other ranks. k + P - 2 entries enter, and at most k win."
        ),
        tightness=1,
        extremal="k - 1 entries before the first cut, at which all ranks but 0 hold the same index; rank 0 has all "
        "winners, in another region",
        axis="P",
        note="For k >= P - 2 this is at most 6k. Then “at most 6k” holds for sending and receiving, for any vectors: "
        "only the boundaries have to be corrected.",
    ),
)

LOWER: tuple[Claim, ...] = (
    Claim(
        name="oktopk.lower.most",
        title="Some rank receives at least 2|T|(P - 1)/P words",
        relation=Ge(MOST_RECEIVED, _TOLD),
        assumes=(WORDS,),
        source=LI_HOEFLER_2022.second_hand("Theorem 3.1, read in a summary; the proof is ours", _LOWER_PROOF),
        tightness=1,
        extremal=_OWN,
        axis="P",
    ),
    Claim(
        name="oktopk.lower.mean",
        title="The ranks receive at least 2|T|(P - 1)/P words on average",
        relation=Ge(MEAN_RECEIVED, _TOLD),
        assumes=(WORDS,),
        source=LI_HOEFLER_2022.second_hand("Theorem 3.1, read in a summary; the proof is ours", _LOWER_PROOF),
        tightness=1,
        extremal=_OWN,
        axis="P",
    ),
    Claim(
        name="oktopk.lower.any_vectors",
        title="Some rank receives at least 2k(P - 1)/P words, for any vectors",
        relation=Ge(MOST_RECEIVED, SPARSE_LOWER_BOUND),
        assumes=(WORDS,),
        source=LI_HOEFLER_2022.second_hand(
            "Theorem 3.1, read in a summary",
            "Where sums cancel or few entries are nonzero, fewer than k values have to be sent: |T| takes the place of "
            "k.",
            reading="It is read for any vectors, with k for the number of winners.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="oktopk.lower.most",
        tightness=sp.oo,
        extremal="all vectors zero: nothing has to be sent",
        axis="P",
        note="It holds for vectors whose sum has k nonzero entries.",
    ),
    Claim(
        name="oktopk.lower.every_rank",
        title="Every rank receives at least 2|T|(P - 1)/P words",
        relation=Ge(LEAST_RECEIVED, _TOLD),
        assumes=(WORDS,),
        source=LI_HOEFLER_2022.second_hand(
            "Theorem 3.1, read in a summary, taken for every rank",
            "If only rank 0 has nonzero entries, all in its own region, it has the result from the start.",
            reading="It is read for every rank.",
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="only rank 0 holds nonzero entries, all in its own region, and data balancing is off: 0, 2k, ..., 2k",
        axis="P",
        note="The bound holds for the average and for the maximum.",
    ),
)
