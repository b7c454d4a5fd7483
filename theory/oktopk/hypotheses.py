"""The conditions under which claims about Ok-Topk are made."""

from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis, Le
from commbounds.theory.hypotheses import adds_exactly
from commbounds.theory.oktopk.terms import inbound, move, selected, winners
from commbounds.theory.quantities import P, k

_PHASES = "Traffic is counted phase by phase, and these phases are added up."


def _counted(name: str, statement: str) -> Hypothesis:
    """Which words a claim is about: what is read of a run, and nothing that a case decides."""
    return Hypothesis(name, statement, ensured=_PHASES)


def is_power_of_two(P: int) -> bool:
    """Whether P is 1, 2, 4, 8, ..."""
    return P & (P - 1) == 0


# What is counted
WORDS = _counted(
    "words_of_the_data",
    "The words of the split, the balancing and the all-gather count; sizes, re-evaluations and repartitions do not.",
)
PHASE_TWO = _counted("phase_two", "Only the words of the balancing and the all-gather count.")
SPLIT = _counted("split_alone", "Only the words of the split count.")
BALANCING = _counted("balancing_alone", "Only the words of the balancing count.")
LAST_GATHER = _counted("all_gather_alone", "Only the words of the winners' all-gather count.")
REEVALUATION = _counted("reevaluation_alone", "Only the words that gather all sums in a re-evaluation count.")
ALL_DATA = _counted("all_data", "The words of split, re-evaluation, balancing and all-gather count.")
SIZES = Hypothesis(
    "sizes_alone",
    "Only the sizes count, in an iteration that keeps its thresholds and boundaries.",
    lambda thresholds, cuts: thresholds is not None and cuts != "fresh",
)
ORDINARY = Hypothesis(
    "ordinary_iteration",
    "The iteration keeps its thresholds and boundaries; sizes are counted.",
    lambda thresholds, cuts: thresholds is not None and cuts != "fresh",
)

# What the gradients are
MEAN_MOVES = Hypothesis(
    "mean_gradient_not_zero", "The mean gradient is not zero, so that xi is defined.", sp.Gt(move, 0)
)
ALWAYS_MOVES = Hypothesis(
    "xi_defined",
    "Nothing is missed in a step in which the mean gradient is zero, so that xi is defined.",
    lambda unexplained: unexplained == 0,
)

# What is selected, and where it lies
K_SELECTED = Hypothesis("k_selected", "Every rank selects at most k entries.", Le(selected, k))
K_WINNERS = Hypothesis("k_winners", "At most k entries pass the global threshold.", Le(winners, k))
DIVISIBLE = Hypothesis(
    "winners_divisible", "P divides the number of entries that pass the global threshold.", Eq(sp.Mod(winners, P), 0)
)


def splits_evenly(P: int, k: int, region_counts: Any) -> bool:
    """Whether no rank (row) selects more than k/P entries of another rank's region (column)."""
    others = region_counts.copy()
    for p in range(P):
        others[p, p] = 0
    return bool((P * others <= k).all())


def all_even(P: int, k: int, region_counts: Any, region_winners: Any) -> bool:
    """Whether every rank selects k/P entries of every region, and every region has k/P winners."""
    return bool((P * region_counts == k).all() and (P * region_winners == k).all())


EVEN_SPLIT = Hypothesis("even_split", "No rank selects more than k/P entries of another rank's region.", splits_evenly)
EVEN_REGIONS = Hypothesis(
    "even_regions",
    "Every rank selects k/P entries of every region, and every region has k/P of the entries that pass the global "
    "threshold.",
    all_even,
)
ANY_BOUNDARIES = Hypothesis(
    "any_boundaries",
    "The regions may be any intervals.",
    ensured="Boundaries are new ones, even ones, or any P - 1 indices in ascending order.",
)
FRESH_MEAN = Hypothesis(
    "fresh_mean_of_quantiles",
    "The boundaries are averages of the ranks' quantiles of this iteration.",
    lambda cuts, boundaries: cuts == "fresh" and boundaries == "mean-of-quantiles",
)
GLOBAL_COUNT = Hypothesis(
    "global_count",
    "There are at least two ranks, and the regions were cut in this iteration at equal counts of all ranks' selected "
    "entries.",
    lambda P, cuts, boundaries: P >= 2 and cuts == "fresh" and boundaries == "global-count",
)
LIMITED_INBOUND = Hypothesis(
    "limited_inbound",
    "No region receives more than (2 - 3/P) k entries from other ranks.",
    Le(inbound, (2 - sp.Integer(3) / P) * k),
)

# Options
AT_LEAST_TWO = Hypothesis("at_least_two_ranks", "There are at least two ranks.", Ge(P, 2))
ROTATED = Hypothesis(
    "rotated", "In step s of the split rank p sends to rank p + s, and steps do not overlap.", lambda rotation: rotation
)
UNROTATED = Hypothesis("unrotated", "In step s of the split all ranks send to rank s.", lambda rotation: not rotation)
ALWAYS_BALANCED = Hypothesis(
    "always_balanced", "Data balancing is done in every iteration.", lambda balance: balance == "always"
)
QUARTER_RULE = Hypothesis(
    "quarter_rule",
    "Data balancing is done only if some rank holds more than four times the mean.",
    lambda balance: balance == "4x-mean",
)
NEVER_BALANCED = Hypothesis("never_balanced", "Data balancing is never done.", lambda balance: balance == "never")
RING = Hypothesis("last_gather_ring", "The last all-gather goes around a ring.", lambda allgather: allgather == "ring")
BRUCK = Hypothesis("last_gather_bruck", "The all-gathers are Bruck's.", lambda allgather: allgather == "bruck")
DOUBLING = Hypothesis(
    "last_gather_doubling",
    "The last all-gather is by recursive doubling or Bruck's algorithm, and P is a power of two.",
    lambda P, allgather: is_power_of_two(P) and allgather in ("bruck", "recursive-doubling"),
)
NO_DUPLICATES = Hypothesis(
    "no_duplicates",
    "The all-gather sends no block to a rank twice: ring, Bruck, or recursive doubling where P is a power of two.",
    lambda P, allgather: allgather != "recursive-doubling" or is_power_of_two(P),
)
INCLUSIVE = Hypothesis(
    "inclusive_threshold",
    "An entry passes a threshold if it is not zero and at least as large.",
    lambda threshold: threshold == "inclusive",
)
STRICT = Hypothesis(
    "strict_threshold",
    "An entry passes a threshold only if it is larger, as in the published code.",
    lambda threshold: threshold == "strict",
)
FRESH_THRESHOLDS = Hypothesis(
    "fresh_thresholds", "Both thresholds are those of this iteration.", lambda thresholds: thresholds is None
)
STALE_THRESHOLD = Hypothesis(
    "stale_threshold",
    "The thresholds are those of an earlier iteration.",
    # where boundaries are found anew so are the thresholds, whatever is given
    lambda thresholds, cuts: thresholds is not None and cuts != "fresh",
)
FOUND_EVERY_STEP = Hypothesis(
    "found_every_step", "Both thresholds are found in every step.", lambda tau_prime: tau_prime == 1
)

SCALED = Hypothesis(
    "scaled_residuals",
    "Residuals hold gradients times the step size of the gradient's own step.",
    lambda accumulate: accumulate == "scaled",
)
RAW = Hypothesis(
    "raw_residuals",
    "Residuals hold gradients, as in the published code, and the step size, which changes, is applied to what is sent.",
    lambda accumulate, halved: accumulate == "raw" and halved,
)


def means_are_exact(x: Any, P: int) -> bool:
    """Whether gradients are small whole numbers, and their means too, or P is a power of two."""
    return adds_exactly(x) and (is_power_of_two(P) or bool((x % P == 0).all()))


EXACT_MEANS = Hypothesis(
    "exact_means",
    "Gradients are small whole numbers, P is a power of two or divides them, and step sizes are powers of two: "
    "arithmetic is exact.",
    means_are_exact,
)

# Vectors


def differ_in_magnitude(x: Any, k: int) -> bool:
    """Whether in every row all magnitudes differ and at least k are not zero."""
    return all(len(set(row)) == len(row) and sum(v != 0 for v in row) >= k for row in abs(x).tolist())


DISTINCT = Hypothesis(
    "distinct_magnitudes",
    "On every rank the entries differ in magnitude, and at least k are not zero.",
    differ_in_magnitude,
)
GAUSSIAN_VECTORS = Hypothesis(
    "gaussian_vectors",
    "The entries of all vectors are independent and normally distributed.",
    lambda family: family == "iid",
)
GAUSSIAN_ENTRIES = Hypothesis(
    "gaussian_entries",
    "Every entry of the vectors is normal, of mean zero, with one standard deviation for all; they may depend on one "
    "another.",
    ensured="Entries are drawn independently, or one from each of n equally likely intervals in random order.",
)
FULL_BATCH = Hypothesis(
    "quadratic_full_batch",
    "f is a quadratic and every rank has the exact gradient of its part.",
    ensured="Gradients are those of the ranks' quadratics at the current weights.",
)


def stalls(P: int, k: int, B: int, steps: int, tau_prime: int) -> bool:
    """Whether the pair's large entries cancel up to the last step, with thresholds found anew in each."""
    return P == 2 and k == 1 and steps < B and tau_prime == 1


STALLING = Hypothesis(
    "stalling_pair",
    "Two ranks hold B x_0 + x_1^2/2 and -B x_0 + x_1^2/2 with B > t, one entry is kept, thresholds are found in every "
    "step.",
    stalls,
)
