"""Claims about the parts of Ok-Topk: split, boundaries, re-evaluation of the thresholds, number of rounds."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le, Standing
from commbounds.theory.oktopk.hypotheses import (
    ALL_DATA,
    ALWAYS_BALANCED,
    BRUCK,
    EVEN_SPLIT,
    FRESH_MEAN,
    GLOBAL_COUNT,
    K_SELECTED,
    K_WINNERS,
    NO_DUPLICATES,
    ORDINARY,
    REEVALUATION,
    RING,
    ROTATED,
    SIZES,
    SPLIT,
    UNROTATED,
)
from commbounds.theory.oktopk.terms import BOUNDARY_DEFECT, INBOUND, LI_HOEFLER_2022, OKTOPK_AT, SPLIT_DEFECT, union
from commbounds.theory.quantities import P, index_bits, k, n
from commbounds.theory.sources import derived
from commbounds.theory.traffic import CRITICAL_PATH, MEAN_RECEIVED, MESSAGES, MOST_RECEIVED, MOST_SENT, STEPS

SPLITTING: tuple[Claim, ...] = (
    Claim(
        name="oktopk.split.counted",
        title="The split moves two words for every selected entry of another rank's region, and nothing else",
        relation=Eq(SPLIT_DEFECT, 0),
        assumes=(SPLIT,),
        source=derived("Regions are a partition: an entry lies in one of them, and is sent to its owner, once."),
        axis="P",
        note="Checks the counting: selected entries are located again from the vectors and the boundaries.",
    ),
    Claim(
        name="oktopk.split.messages",
        title="In the split every rank sends one message to every other",
        relation=Eq(MESSAGES, P - 1),
        assumes=(SPLIT,),
        source=LI_HOEFLER_2022.second_hand(
            "Equation 1, read in a summary: (P - 1) alpha",
            "One message a step and a destination a step; an empty one is sent as well, since its receiver waits.",
        ),
        axis="P",
    ),
    Claim(
        name="oktopk.split.rotation",
        title="With destinations rotated the critical path of an even split is at most 2k(P - 1)/P words",
        relation=Le(CRITICAL_PATH, 2 * k * (P - 1) / P),
        assumes=(SPLIT, EVEN_SPLIT, ROTATED),
        source=LI_HOEFLER_2022.second_hand(
            "Equation 1, read in a summary",
            "In step s rank p sends to p + s and receives from p - s, at most k/P entries each.",
        ),
        tightness=1,
        extremal="every rank selects k/P entries of every region",
        axis="P",
    ),
    Claim(
        name="oktopk.split.unrotated",
        title="Without rotation the critical path of an even split grows to 2k(P - 1) words",
        relation=Le(CRITICAL_PATH, 2 * k * (P - 1)),
        assumes=(SPLIT, EVEN_SPLIT, UNROTATED),
        source=derived(
            "Rank s receives up to (P - 1) k/P entries in step s while all others wait for it; P such steps."
        ),
        tightness=1,
        extremal="every rank selects k/P entries of every region",
        axis="P",
        note="Rotation of the destinations is worth a factor of P.",
    ),
    Claim(
        name="oktopk.sizes.counted",
        title="Agreeing on the sizes of the last all-gather brings P - 1 words to a rank",
        relation=Eq(MOST_RECEIVED, P - 1),
        assumes=(SIZES, NO_DUPLICATES),
        source=derived("One number of every other rank."),
        axis="P",
        note="The published volume leaves it out; it is small in comparison where k is much larger than P^2.",
    ),
    Claim(
        name="oktopk.split.steps",
        title="One iteration takes at most 2(P - 1) + 2 ceil(log2 P) rounds of messages",
        relation=Le(STEPS, 2 * (P - 1) + 2 * index_bits(P)),
        assumes=(ORDINARY, BRUCK, ROTATED),
        source=LI_HOEFLER_2022.second_hand(
            "Equation 3, read in a summary: (2P + 2 log P) alpha, which is two rounds more",
            "P - 1 for the split, at most P - 1 for the balancing, ceil(log2 P) each for the sizes and the all-gather.",
        ),
        tightness=1,
        extremal="one rank owns P winners or more, and balancing sends some of them to every other rank",
        axis="P",
        note="It is the exact maximum for every P. Without balancing it is P - 1 less.",
    ),
)

BOUNDARIES: tuple[Claim, ...] = (
    Claim(
        name="oktopk.boundaries.averaged",
        title="A boundary is the mean of the ranks' quantiles, rounded down",
        relation=Eq(BOUNDARY_DEFECT, 0),
        source=LI_HOEFLER_2022.official_code(
            "the consensus on boundaries",
            "Rank p proposes, for j = 1 .. P - 1, its selected index number j floor(|S_p|/P); the P proposals are "
            "summed and divided.",
            code=OKTOPK_AT.at("VGG/allreducer.py", "626-648"),
        ),
        axis="P",
        note="The sum of P indices below n needs 64 bits from P n = 2^31 on.",
    ),
    Claim(
        name="oktopk.boundaries.mean_of_quantiles",
        title="Averaged quantiles send no region more than the mean load of k(P - 1)/P entries",
        relation=Le(INBOUND, k * (P - 1) / P),
        assumes=(SPLIT, K_SELECTED, FRESH_MEAN),
        source=derived(
            "An average of quantiles is no quantile of the union: if rank 0 alone selects far to the right, all "
            "boundaries move beyond the entries of all others.",
            code=OKTOPK_AT.at("VGG/allreducer.py", "626-648"),
        ),
        stands=Standing.REFUTED,
        tightness=P,
        extremal="rank 0 selects the last k entries, all others the first k: (P - 1) k entries enter region 0",
        axis="P",
        note="oktopk.boundaries.global_count bounds the same load for boundaries cut at global counts.",
    ),
    Claim(
        name="oktopk.boundaries.global_count",
        title="Cuts at equal global counts send no region more than k + P - 2 entries",
        relation=Le(INBOUND, k + P - 2),
        assumes=(SPLIT, K_SELECTED, GLOBAL_COUNT),
        source=derived(
            "Before its last index a region holds at most ceil(M/P) - 1 <= k - 1 of the M <= kP entries, and at that "
            "index the other ranks hold at most P - 1."
        ),
        tightness=1,
        extremal="k - 1 entries before the first cut, at which all ranks but 0 hold the same index",
        axis="P",
    ),
)

REEVALUATIONS: tuple[Claim, ...] = (
    Claim(
        name="oktopk.reevaluation.mean",
        title="A re-evaluation brings 2U(P - 1)/P words to the ranks on average, U the number of nonzero sums",
        relation=Eq(MEAN_RECEIVED, 2 * union * (P - 1) / P),
        assumes=(REEVALUATION, NO_DUPLICATES),
        source=derived("Every sum that is not zero goes once to each of the P - 1 ranks that do not own its region."),
        axis="P",
        note="Not in the published volume; disjoint supports take 2k(P - 1) words, spread over the period.",
    ),
    Claim(
        name="oktopk.reevaluation.mean_worst",
        title="A re-evaluation brings at most 2 min(k(P - 1), n(P - 1)/P) words to the ranks on average",
        relation=Le(MEAN_RECEIVED, 2 * sp.Min(k * (P - 1), n * (P - 1) / P)),
        assumes=(REEVALUATION, K_SELECTED, NO_DUPLICATES),
        source=derived("At most kP entries are selected, and at most n are different."),
        tightness=1,
        extremal="disjoint supports, or k = n",
        axis="P",
    ),
    Claim(
        name="oktopk.reevaluation.most",
        title="A re-evaluation brings at most 2 min(kP, n) words to any rank",
        relation=Le(MOST_RECEIVED, 2 * sp.Min(k * P, n)),
        assumes=(REEVALUATION, K_SELECTED, NO_DUPLICATES),
        source=derived("A rank whose own region has no nonzero sum receives all of them."),
        tightness=1,
        extremal="disjoint supports, and one rank's region holds nothing",
        axis="P",
    ),
    Claim(
        name="oktopk.reevaluation.within",
        title="In the iterations that find new thresholds no rank sends more than 6k words either",
        relation=Le(MOST_SENT, 6 * k),
        assumes=(ALL_DATA, K_SELECTED, K_WINNERS, ALWAYS_BALANCED, RING),
        source=LI_HOEFLER_2022.second_hand(
            "abstract, “less than 6k”, taken for every iteration",
            "With disjoint supports the gathering of all sums makes ranks send up to 2kP words more.",
            reading="It is read for every iteration.",
        ),
        stands=Standing.REFUTED,
        extremal="disjoint supports on many ranks",
        axis="P",
        note="One iteration in tau' costs as much as an all-gather of every rank's k entries.",
    ),
)
