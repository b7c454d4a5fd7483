"""The conditions under which claims about Ok-Topk are made."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis, Le
from commbounds.theory.oktopk.terms import inbound, move
from commbounds.theory.quantities import P, k

# What is counted
WORDS = Hypothesis(
    "words_of_the_data",
    "Counted are the words of the split, the balancing and the all-gather; sizes, re-evaluations and repartitions are "
    "counted apart.",
)
PHASE_TWO = Hypothesis("phase_two", "Counted are the words of the balancing and the all-gather.")
SPLIT = Hypothesis("split_alone", "Counted is the split alone.")
BALANCING = Hypothesis("balancing_alone", "Counted is the balancing alone.")
LAST_GATHER = Hypothesis("all_gather_alone", "Counted is the all-gather of the winners alone.")
REEVALUATION = Hypothesis("reevaluation_alone", "Counted is the gathering of all sums in a re-evaluation.")
ALL_DATA = Hypothesis("all_data", "Counted are split, re-evaluation, balancing and all-gather.")
SIZES = Hypothesis("sizes_alone", "Counted are the sizes alone, in an iteration that keeps its thresholds.")
ORDINARY = Hypothesis("ordinary_iteration", "Neither thresholds nor boundaries are found anew; sizes are counted.")

# What the gradients are
MEAN_MOVES = Hypothesis(
    "mean_gradient_not_zero", "The mean gradient is not zero, so that xi is defined.", sp.Gt(move, 0)
)

# What is selected, and where it lies
K_SELECTED = Hypothesis("k_selected", "Every rank selects at most k entries.")
K_WINNERS = Hypothesis("k_winners", "At most k entries pass the global threshold.")
DIVISIBLE = Hypothesis("winners_divisible", "P divides the number of entries that pass the global threshold.")
EVEN_SPLIT = Hypothesis("even_split", "No rank selects more than k/P entries of another rank's region.")
EVEN_REGIONS = Hypothesis(
    "even_regions",
    "Every rank selects k/P entries of every region, and every region has k/P of the entries that pass the global "
    "threshold.",
)
ANY_BOUNDARIES = Hypothesis("any_boundaries", "The regions are any intervals.")
FRESH_MEAN = Hypothesis(
    "fresh_mean_of_quantiles", "The boundaries are the ranks' quantiles of this very iteration, averaged."
)
GLOBAL_COUNT = Hypothesis(
    "global_count",
    "There are at least two ranks, and the regions were cut anew at equal counts of all ranks' selected entries.",
    Ge(P, 2),
)
LIMITED_INBOUND = Hypothesis(
    "limited_inbound",
    "No region receives more than (2 - 3/P) k entries from other ranks.",
    Le(inbound, (2 - sp.Integer(3) / P) * k),
)

# Options
AT_LEAST_TWO = Hypothesis("at_least_two_ranks", "There are at least two ranks.", Ge(P, 2))
ROTATED = Hypothesis("rotated", "In step s of the split rank p sends to rank p + s, and steps come one after another.")
UNROTATED = Hypothesis("unrotated", "In step s of the split all ranks send to rank s.")
ALWAYS_BALANCED = Hypothesis("always_balanced", "Data balancing is done in every iteration.")
QUARTER_RULE = Hypothesis(
    "quarter_rule", "Data balancing is done only if some rank holds more than four times the mean."
)
NEVER_BALANCED = Hypothesis("never_balanced", "Data balancing is never done.")
RING = Hypothesis("last_gather_ring", "The last all-gather goes around a ring.")
BRUCK = Hypothesis("last_gather_bruck", "The all-gathers are Bruck's.")
DOUBLING = Hypothesis(
    "last_gather_doubling",
    "The last all-gather is by recursive doubling or Bruck's algorithm, and P is a power of two.",
)
NO_DUPLICATES = Hypothesis(
    "no_duplicates",
    "The all-gather sends no block to a rank twice: ring, Bruck, or recursive doubling where P is a power of two.",
)
INCLUSIVE = Hypothesis("inclusive_threshold", "An entry passes a threshold if it is not zero and at least as large.")
STRICT = Hypothesis("strict_threshold", "An entry passes a threshold only if it is larger, as in the published code.")
FRESH_THRESHOLDS = Hypothesis("fresh_thresholds", "Both thresholds are found in this very iteration.")
STALE_THRESHOLD = Hypothesis("stale_threshold", "The thresholds are those of an earlier iteration.")

RAW = Hypothesis(
    "raw_residuals",
    "Residuals hold gradients, as in the published code, and the step size, which changes, is applied to what is sent.",
)

# Vectors
DISTINCT = Hypothesis(
    "distinct_magnitudes", "On every rank the entries differ in magnitude, and at least k are not zero."
)
GAUSSIAN_VECTORS = Hypothesis("gaussian_vectors", "The entries of all vectors are independent normal numbers.")
GAUSSIAN_ENTRIES = Hypothesis(
    "gaussian_entries",
    "Every entry of the vectors is normal, of mean zero, with one standard deviation for all; they may depend on one "
    "another.",
)
FULL_BATCH = Hypothesis("quadratic_full_batch", "f is a quadratic and every rank has the exact gradient of its part.")
STALLING = Hypothesis(
    "stalling_pair",
    "Two ranks hold B x_0 + x_1^2/2 and -B x_0 + x_1^2/2 with B > t, one entry is kept, thresholds are found anew in "
    "every step.",
    Eq(P, 2) & Eq(k, 1),
)
