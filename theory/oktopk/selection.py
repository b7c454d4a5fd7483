"""Claims about what Ok-Topk selects and returns: thresholds, their reuse, the result, conservation of mass."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.hypotheses import EXACT_SUMS
from commbounds.theory.oktopk.hypotheses import (
    DISTINCT,
    FRESH_THRESHOLDS,
    GAUSSIAN_ENTRIES,
    INCLUSIVE,
    STALE_THRESHOLD,
    STRICT,
)
from commbounds.theory.oktopk.terms import (
    INDEX_DEFECT,
    LI_HOEFLER_2022,
    MASS_DEFECT,
    OKTOPK_AT,
    SELECTED,
    SELECTED_SHARE,
    UPDATE_DEFECT,
    scale,
    z,
)
from commbounds.theory.quantities import k
from commbounds.theory.sources import derived

THRESHOLDS: tuple[Claim, ...] = (
    Claim(
        name="oktopk.threshold.inclusive",
        title="A fresh inclusive threshold selects exactly k entries that differ in magnitude",
        relation=Eq(SELECTED, k),
        assumes=(INCLUSIVE, FRESH_THRESHOLDS, DISTINCT),
        source=derived("k entries are at least as large as the k-th largest, which is one of them."),
        axis="k",
    ),
    Claim(
        name="oktopk.threshold.strict",
        title="A fresh strict threshold, as in the published code, selects one entry too few",
        relation=Eq(SELECTED, k - 1),
        assumes=(STRICT, FRESH_THRESHOLDS, DISTINCT),
        source=LI_HOEFLER_2022.official_code(
            "entries are compared with > against the k-th largest",
            "k - 1 entries are larger than the k-th largest.",
            code=OKTOPK_AT.at("VGG/compression.py", "126-138"),
        ),
        axis="k",
        note="With k = 2P it leaves 2P - 1 entries for P regions: the consensus rounds down to one per region and puts "
        "nearly half of all entries into the last.",
    ),
    Claim(
        name="oktopk.threshold.ties",
        title="A fresh inclusive threshold selects at most k entries",
        relation=Le(SELECTED, k),
        assumes=(INCLUSIVE, FRESH_THRESHOLDS),
        source=LI_HOEFLER_2022.second_hand(
            "Algorithm 1 in a re-implementation, taken for every vector",
            "All entries equal in magnitude pass together.",
            reading="It is read for every vector, ties included.",
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="all entries equal in magnitude: n are selected",
        axis="k",
        note="oktopk.threshold.inclusive requires different magnitudes. A threshold does not select exactly k entries: "
        "all ties at the k-th largest pass, or none if the comparison is strict.",
    ),
    Claim(
        name="oktopk.threshold.drift",
        title="On Gaussian entries a reused threshold selects erfc(z/(c sqrt 2))/erfc(z/sqrt 2) times as many",
        relation=Eq(SELECTED_SHARE, sp.erfc(z / (scale * sp.sqrt(2))) / sp.erfc(z / sp.sqrt(2))),
        kind=Kind.EXPECTED,
        assumes=(GAUSSIAN_ENTRIES, STALE_THRESHOLD),
        source=derived(
            "An entry c g with g standard normal passes the threshold z with probability erfc(z/(c sqrt 2)), and the "
            "expected number of those that pass is the sum of the probabilities, independent or not. With "
            "density d the threshold is z = Phi^-1(1 - d/2), and the ratio 2 Phi(-z/c)/d."
        ),
        axis="scale",
        note="At a density of 1 % vectors that shrink by 20 % keep an eighth of the entries; those that double keep "
        "twenty times as many: the bound on the volume needs the numbers selected, not k.",
    ),
)

UPDATE: tuple[Claim, ...] = (
    Claim(
        name="oktopk.update.definition",
        title="With fresh thresholds the result is the k largest entries of the sum of the ranks' k largest",
        relation=Eq(UPDATE_DEFECT, 0),
        assumes=(INCLUSIVE, FRESH_THRESHOLDS, EXACT_SUMS),
        source=LI_HOEFLER_2022.second_hand(
            "Algorithm 1, read in a re-implementation",
            "Every region is summed by its owner from all entries sent there; ties at a threshold pass together, and "
            "zeros never pass. Regions, balancing and the way of gathering change who sends what, and not the sum.",
        ),
        axis="P",
        note="It holds for all boundaries, balancing rules and all-gathers.",
    ),
    Claim(
        name="oktopk.update.indices",
        title="Every rank receives the indices of its selected entries that are in the result",
        relation=Eq(INDEX_DEFECT, 0),
        assumes=(INCLUSIVE, FRESH_THRESHOLDS, EXACT_SUMS),
        source=LI_HOEFLER_2022.second_hand(
            "Algorithm 1, read in a re-implementation",
            "The indices returned are the intersection of those selected with those of the result.",
        ),
        axis="P",
        note="The published code for BERT intersects, on iterations that find new thresholds, with indices in the "
        "order of magnitude by a search that needs them ascending, and finds few of them.",
    ),
    Claim(
        name="oktopk.update.mass",
        title="Residuals and result together add up to the ranks' inputs",
        relation=Eq(MASS_DEFECT, 0),
        assumes=(EXACT_SUMS,),
        source=derived(
            "At an index in the result the sum of exactly those ranks' entries is applied that selected it, and "
            "exactly those clear it; elsewhere nothing is applied and nothing cleared."
        ),
        axis="P",
        note="It holds for stale thresholds and boundaries, for all options and for ties; entries that cancel to zero "
        "are not in the result and stay in the residuals.",
    ),
)
