"""Claims about TopkDSA, whose words depend on the input, and what any sparse all-reduce has to receive."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Le, Standing
from commbounds.theory.cost import critical_words
from commbounds.theory.quantities import P, k, n
from commbounds.theory.schedules import SCHEDULES, SPARSE_LOWER_BOUND
from commbounds.theory.sources import derived
from commbounds.theory.sparse.terms import (
    CODE_SWITCH,
    DATA_WORDS,
    EVEN_GATHER,
    GATHERING,
    GENERIC,
    IDENTICAL_EVEN,
    K_NONZEROS,
    LEAST_RECEIVED,
    LI_HOEFLER_2022,
    MODEL_SWITCH,
    NEVER_DENSE,
    OKTOPK_AT,
    REGIONS_ALIKE,
    RENGGLI_2019,
    RING_GATHER,
    nonzeros,
    union,
)
from commbounds.theory.traffic import CRITICAL_PATH, MEAN_RECEIVED, MOST_RECEIVED

_region = sp.ceiling(n / P)
_lower = SPARSE_LOWER_BOUND.subs(k, nonzeros)
_PRINTED = "[4k(P - 1)/P, (2k + n)(P - 1)/P] in the comparison of methods"
_MEAN = (
    "Let A be the number of pairs (p, i) such that rank p selects an index i of its own region: A <= U. In the split "
    "the ranks receive 2(Pk - A) words in all, and in the sparse all-gather 2U(P - 1). "
)

TOPK_DSA: tuple[Claim, ...] = (
    Claim(
        name="sparse.topkdsa.upper_any_split",
        title="TopkDSA's critical path is at most (2k + n)(P - 1)/P words",
        relation=Le(CRITICAL_PATH, critical_words(SCHEDULES["topk_dsa_upper"])),
        assumes=(DATA_WORDS, MODEL_SWITCH),
        source=LI_HOEFLER_2022.recalled(
            _PRINTED,
            "It counts 2k(P - 1)/P for the split and n(P - 1)/P for the gathering, which requires balanced regions. "
            "One region can get everything. In each of P - 1 steps a message of the split has at most 2k words; the "
            "blocks gathered have fewer than n words where they are sparse and at most ceil(n/P) <= n where they are "
            "dense, and P - 1 of them move one after another, around the ring or in Bruck's steps. So the path is at "
            "most (P - 1)(2k + n), P times what is printed; with n = k = 1 all ranks send their entry to rank 0, whose "
            "block of one word then goes around: 3(P - 1).",
            reading="It is read for the critical path and any vectors; no text that was read says so.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sparse.topkdsa.upper",
        tightness=P,
        extremal="n = k = 1, ring: no multiple of the bound holds for every number of ranks",
        axis="P",
        note="It holds for balanced regions. Layers that are hot on all ranks at once violate it: on 64 ranks with n = "
        "65536, k = 640 the bound is 65772 words, and the owner of the hot region alone receives up to 80640 in the "
        "split. If P divides n, the printed bound is exceeded by less than a factor of four: "
        "sparse.topkdsa.upper_even.",
    ),
    Claim(
        name="sparse.topkdsa.upper_even",
        title="If P divides n, TopkDSA's critical path is at most 4P/(P + 2) times (2k + n)(P - 1)/P words",
        relation=Le(CRITICAL_PATH, 4 * P / (P + 2) * critical_words(SCHEDULES["topk_dsa_upper"])),
        assumes=(DATA_WORDS, MODEL_SWITCH, RING_GATHER, REGIONS_ALIKE),
        source=derived(
            "With c = n/P the path is at most 2(P - 1)(min(k, c) + min(Pk, c)), as in sparse.topkdsa.upper; the claim "
            "is (min(k, c) + min(Pk, c))(P + 2) <= 2(2k + Pc). Both minima are c at most and the right-hand side grows "
            "with k, so k <= c is enough. For k >= c/P the difference of the two sides is (P - 2)(c - k) >= 0. For "
            "smaller k it is 2Pc - (P^2 + 3P - 2)k, least at k = c/P, where it is (P - 2)(1 - 1/P)c >= 0. On one rank "
            "nothing moves."
        ),
        tightness=1,
        extremal="k = n/P and all ranks select region 0, from three ranks on",
        axis="P",
        note="The factor stays below four; it is attained if one region gets everything.",
    ),
    Claim(
        name="sparse.topkdsa.upper",
        title="TopkDSA's critical path is at most 2(P - 1)(min(k, c) + min(Pk, c)) words for regions of at most c "
        "entries",
        relation=Le(CRITICAL_PATH, 2 * (P - 1) * (sp.Min(k, _region) + sp.Min(P * k, _region))),
        assumes=(DATA_WORDS, MODEL_SWITCH, RING_GATHER),
        source=derived(
            "c = ceil(n/P). In a step of the split a message holds at most min(k, c) entries. In a step of the ring a "
            "block holds at most min(Pk, c) entries, 2 words each. Dense blocks have at most c words; they travel only "
            "if 2U >= n, and U <= Pk, so that c <= n <= 2Pk: no more than 2 min(Pk, c) either."
        ),
        tightness=1,
        extremal="Pk <= c and 2Pk < n, disjoint supports that all lie in region 0",
        axis="P",
    ),
    Claim(
        name="sparse.topkdsa.lower_any_density",
        title="TopkDSA brings at least 4k(P - 1)/P words to a rank, on average",
        relation=Ge(MEAN_RECEIVED, critical_words(SCHEDULES["topk_dsa"])),
        assumes=(DATA_WORDS, MODEL_SWITCH, K_NONZEROS),
        source=LI_HOEFLER_2022.recalled(
            _PRINTED,
            "If every rank selects its own region, nothing moves in the split, and dense blocks cost n(P - 1)/P, which "
            "is less than 4k(P - 1)/P if n < 4k.",
            reading="It is read for the words received on average and any vectors; no text that was read says so.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sparse.topkdsa.lower_with_switch",
        extremal="two ranks, n = 2, k = 1, each rank's entry in its own region: 1 word against 2",
        axis="P",
        note="It fails only for dense blocks with n < 4k.",
    ),
    Claim(
        name="sparse.topkdsa.lower_with_switch",
        title="TopkDSA brings at least min(4k, n)(P - 1)/P words to a rank, on average",
        relation=Ge(MEAN_RECEIVED, sp.Min(4 * k, n) * (P - 1) / P),
        assumes=(DATA_WORDS, MODEL_SWITCH, K_NONZEROS),
        source=derived(
            _MEAN + "As U >= max(A, k), these are together at least 2(Pk - A) + 2(P - 1) max(A, k) >= 4k(P - 1). Dense "
            "blocks bring n(P - 1) words in all."
        ),
        tightness=1,
        extremal="identical supports with k/P entries in every region; or n <= 4k, and every rank selects its own "
        "region",
        axis="P",
        note="The lower end of the printed range, stated for balanced supports only, holds for any input.",
    ),
    Claim(
        name="sparse.topkdsa.identical",
        title="On identical, evenly spread supports TopkDSA's critical path is 4k(P - 1)/P words",
        relation=Eq(CRITICAL_PATH, critical_words(SCHEDULES["topk_dsa"])),
        assumes=(DATA_WORDS, IDENTICAL_EVEN, MODEL_SWITCH, EVEN_GATHER),
        source=LI_HOEFLER_2022.recalled(_PRINTED, "All messages of the split hold k/P entries, and so do all blocks."),
        axis="P",
    ),
    Claim(
        name="sparse.topkdsa.gathered",
        title="TopkDSA's gathering brings min(2U, n)(P - 1)/P words to a rank, on average",
        relation=Eq(MEAN_RECEIVED, sp.Min(2 * union, n) * (P - 1) / P),
        assumes=(GATHERING, MODEL_SWITCH),
        source=RENGGLI_2019.recalled(
            "switching to a dense exchange when the sparse one would be longer",
            "Blocks of 2U words in all, or of n, each received by P - 1 ranks.",
        ),
        axis="k",
    ),
    Claim(
        name="sparse.topkdsa.code_switch",
        title="Switching at U = n/3, as the code does, brings at most 3U(P - 1)/P words to a rank, on average",
        relation=Le(MEAN_RECEIVED, 3 * union * (P - 1) / P),
        assumes=(GATHERING, CODE_SWITCH),
        source=LI_HOEFLER_2022.official_code(
            "the condition 2U >= 2n/3 in the all-reduce of the comparison",
            "Dense blocks are n words, and U >= n/3 where they travel.",
            code=OKTOPK_AT.at("VGG/allreducer.py", "1318", "topkSA, a method to compare with"),
        ),
        tightness=1,
        extremal="U = n/3",
        axis="k",
        note="It is 3/2 of the sparse exchange there; the sparse exchange is shorter up to U = n/2.",
    ),
)

_LOWER_PROOF = (
    "Every rank ends with all |T| sums. One received pair of two words yields at most one of them, and of the initial "
    "values at most one rank's is a sum; so each has to be received P - 1 times at least: 2|T|(P - 1) words in all."
)

LOWER_BOUND: tuple[Claim, ...] = (
    Claim(
        name="sparse.lower_bound.mean",
        title="A sparse all-reduce brings at least 2|T|(P - 1)/P words to a rank, on average",
        relation=Ge(MEAN_RECEIVED, _lower),
        assumes=(DATA_WORDS, NEVER_DENSE, GENERIC),
        source=LI_HOEFLER_2022.second_hand("Theorem 3.1, as a summary reports it: 2k(P - 1)/P", _LOWER_PROOF),
        tightness=1,
        extremal="every rank's entries lie in its own region: TopkDSA attains it",
        axis="P",
        note="It is read with |T| entries in the sum instead of k: zeros and cancellations make it smaller.",
    ),
    Claim(
        name="sparse.lower_bound.most",
        title="In a sparse all-reduce some rank receives at least 2|T|(P - 1)/P words",
        relation=Ge(MOST_RECEIVED, _lower),
        assumes=(DATA_WORDS, NEVER_DENSE, GENERIC),
        source=LI_HOEFLER_2022.second_hand(
            "Theorem 3.1, as a summary reports it: 2k(P - 1)/P", _LOWER_PROOF + " The largest is at least the mean."
        ),
        tightness=1,
        extremal="every rank has |T|/P entries, in its own region: TopkDSA attains it",
        axis="P",
    ),
    Claim(
        name="sparse.lower_bound.every_rank",
        title="In a sparse all-reduce every rank receives at least 2|T|(P - 1)/P words",
        relation=Ge(LEAST_RECEIVED, _lower),
        assumes=(DATA_WORDS, GENERIC),
        source=LI_HOEFLER_2022.second_hand(
            "Theorem 3.1, if it is read as a statement about every rank",
            "A rank that has all nonzero entries needs nothing: Gaussiank sends it nothing.",
            reading="It is read for every rank.",
        ),
        stands=Standing.REFUTED,
        extremal="only rank 0 has nonzero entries: it receives nothing",
        axis="P",
        note="It holds for the mean and the maximum, not for every rank.",
    ),
)
