"""What the claims about sparse all-reduces measure and assume, and the symbols of their bounds."""

import itertools
from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis, Le
from commbounds.theory.quantities import P, Quantity, k, n
from commbounds.theory.sources import LI_HOEFLER_2022 as LI_HOEFLER_2022
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

RENGGLI_2019 = Work(
    "C. Renggli, S. Ashkboos, M. Aghagolzadeh, D. Alistarh, T. Hoefler, 2019, SparCML: high-performance sparse "
    "communication for machine learning, arXiv:1802.08021"
)
GTOPK_AT = Repository("hclhkbu/gtopkssgd", "6f57343f3749939b0345d36fcb2c24470942aefd")
OKTOPK_AT = Repository("Shigangli/Ok-Topk", "9763dccb0bf704779435cb8f66592be5a9b294bf")
GAUSSIANK_AT = Repository("hclhkbu/GaussianK-SGD", "3da1fb3b62e4067828a965687d5cc7ae7892e742")
SPARDL_AT = Repository("MachineLearningSystem/SparDL", "3335551a3c42791af1eef8014ca53a68689bd59e")
COPIED = "read in a copy, which has its author's single commit"
SHI_GTOPK_2019 = Work(
    "S. Shi, Q. Wang, K. Zhao, Z. Tang, Y. Wang, X. Huang, X. Chu, 2019, A distributed synchronous SGD algorithm "
    "with global top-k sparsification for low bandwidth networks, arXiv:1901.04359"
)
SHI_GAUSSIANK_2019 = Work(
    "S. Shi, X. Chu, K. C. Cheung, S. See, 2019, Understanding top-k sparsification in distributed deep learning, "
    "arXiv:1911.08772"
)
ZHAO_2023 = Work(
    "M. Zhao, Y. Yin, Y. Mao, Q. Liu, L. Chen, Y. Gao, 2023, SparDL: distributed deep learning training with "
    "efficient sparse communication, arXiv:2304.00737"
)

teams = Symbol("teams", "d", 1, integer=True, positive=True)
"""Teams of ranks; their number divides P."""
kept = Symbol("kept", "h", 2, integer=True, positive=True)
"""Entries of a block that a team sends to the others at once."""
union = Symbol("union", "U", 4, integer=True, nonnegative=True)
"""Indices that any rank selected."""
nonzeros = Symbol("nonzeros", r"\lvert T\rvert", 2, integer=True, nonnegative=True)
"""Entries of the update that are not zero."""
fewest = Symbol("fewest", r"\min_p\lvert S_p\rvert", 1, integer=True, nonnegative=True)
"""Entries that the rank with fewest of them selected."""
z = Symbol("z", example=2, positive=True)
"""Standard normal quantile of 1 - mu/2."""
sd = Symbol("sd", r"\sigma", 1, positive=True)
"""Standard deviation of the vector itself."""


BUSIEST = Quantity(
    "busiest", r"\max_p \max(\mathrm{sent}_p,\mathrm{received}_p)", "words sent, or received, by the busiest rank"
)
IDLEST = Quantity(
    "idlest", r"\min_p \min(\mathrm{sent}_p,\mathrm{received}_p)", "words sent, or received, by the idlest rank"
)
LEAST_RECEIVED = Quantity(
    "least_received", r"\min_p \mathrm{received}_p", "words received by the rank that receives least"
)
MASS_DEFECT = Quantity(
    "mass_defect",
    r"\lVert\textstyle\sum_p x_p-\sum_p\epsilon_p-u\rVert_\infty",
    "largest difference between the sum of the ranks' inputs and that of residuals and update",
)
MISPLACED = Quantity(
    "misplaced", r"\#\{i: u_i\neq v_i\}", "entries of the update u that differ from those of the vector v claimed"
)
SHARE = Quantity("share", r"\lvert S\rvert/k", "entries that a rank selects, over the requested k")
UPDATE_ENTRIES = Quantity("update_entries", r"\lvert T\rvert", "entries of the update, zeros that were sent included")

# What is counted
DATA_WORDS = Hypothesis(
    "data_words",
    "The words of entries and of dense blocks count; announcements of sizes do not.",
    ensured="Words are read phase by phase, and the phase that announces sizes is left out.",
)
GATHERING = Hypothesis(
    "gathering_alone",
    "Only the words of the last exchange count, sparse or dense.",
    ensured="Words are read phase by phase, and only the last exchange counts.",
)

# Sizes
AT_LEAST_THREE = Hypothesis("three_ranks", "There are at least three ranks.", Ge(P, 3))
UP_TO_THREE = Hypothesis("up_to_three_ranks", "There are at most three ranks.", Le(P, 3))
TWO_RANKS = Hypothesis("two_ranks", "There are at most two ranks.", Le(P, 2))
SEVEN_RANKS = Hypothesis("seven_ranks", "There are at least seven ranks.", Ge(P, 7))
REGIONS_ALIKE = Hypothesis("regions_alike", "P divides n: all regions are equally long.", Eq(sp.Mod(n, P), 0))
FEW_FOR_DENSE = Hypothesis("at_most_n_entries", "All ranks together select at most n entries.", Le(k * P, n))

# Inputs


def spread_evenly(x: Any, P: int, n: int, k: int) -> bool:
    """Whether all ranks hold nonzeros at the same k of n indices, k/P in every region, and 2k < n."""
    held, (size, longer) = x != 0, divmod(n, P)
    cuts = [r * size + min(r, longer) for r in range(P + 1)]
    return bool(
        2 * k < n and (held == held[0]).all() and all(P * held[0, a:b].sum() == k for a, b in itertools.pairwise(cuts))
    )


K_NONZEROS = Hypothesis(
    "k_nonzeros",
    "Every rank's vector has at least k entries that are not zero.",
    lambda x, k: (x != 0).sum(axis=1).min() >= k,
)
GENERIC = Hypothesis(
    "generic_values",
    "An entry of the sum equals a rank's entry only if all other ranks have zero there.",
    lambda coincidences: coincidences == 0,
)
IDENTICAL_EVEN = Hypothesis(
    "identical_even_supports",
    "All ranks hold nonzeros at the same k indices only, k/P of them in every region; 2k < n.",
    spread_evenly,
)

# Variants
MODEL_SWITCH = Hypothesis(
    "model_switch",
    "Blocks travel densely if twice the number of indices that any rank selected reaches n.",
    lambda switch: switch == "model",
)
CODE_SWITCH = Hypothesis(
    "code_switch",
    "Blocks travel densely if three times the number of indices that any rank selected reaches n.",
    lambda switch: switch == "code",
)
NEVER_DENSE = Hypothesis("never_dense", "Blocks never travel densely.", lambda switch: switch == "never")
RING_GATHER = Hypothesis("ring_gather", "The all-gather goes around a ring.", lambda allgather: allgather == "ring")
EVEN_GATHER = Hypothesis(
    "even_gather",
    "The all-gather goes around a ring or is Bruck's, or P is a power of two.",
    lambda allgather, P: allgather != "recursive-doubling" or P & (P - 1) == 0,
)
PUBLISHED_PUTBACK = Hypothesis(
    "published_putback",
    "A rank clears its own selected entries that are in the update, and keeps all others.",
    lambda putback: putback == "published",
)
CONSERVING = Hypothesis(
    "conserving_putback",
    "A rank also keeps the entries that it dropped while merging.",
    lambda putback: putback == "conserving",
)
ONE_TEAM = Hypothesis("one_team", "All ranks form one team.", lambda teams: teams == 1)


def by_doubling(P: int, teams: int, synchronise: str) -> bool:
    """Whether `teams`, a power of two that divides P, agree by recursive doubling."""
    return synchronise == "r-sag" and P % teams == 0 and teams & (teams - 1) == 0


def at_once(P: int, teams: int, synchronise: str) -> bool:
    """Whether `teams`, a divisor of P, agree by one all-gather."""
    return synchronise == "b-sag" and P % teams == 0


R_SAG = Hypothesis(
    "r_sag", "Teams agree by recursive doubling; their number is a power of two that divides P.", by_doubling
)
B_SAG = Hypothesis(
    "b_sag",
    "Teams, whose number divides P, agree by an all-gather of each block's h largest entries, kd/P at most.",
    at_once,
)
TEAMS = Hypothesis(
    "teams_fit",
    "The number of teams divides P, and is a power of two where they agree by recursive doubling.",
    lambda P, teams, synchronise: by_doubling(P, teams, synchronise) or at_once(P, teams, synchronise),
)

# Gaussiank
FIXED_THRESHOLD = Hypothesis(
    "fixed_threshold", "The threshold is not adapted, and k < n.", lambda adapt, k, n: adapt == "none" and k < n
)
NONNEGATIVE_MEAN = Hypothesis(
    "nonnegative_mean", "The mean of the vector's entries is not negative.", lambda x: x[0].sum() >= 0
)
NORMAL_QUANTILES = Hypothesis(
    "normal_quantiles",
    "The vector holds the quantiles of (i - 1/2)/n, i = 1..n, of the standard normal law.",
    lambda law: law == "normal",
)
LAPLACE_QUANTILES = Hypothesis(
    "laplace_quantiles",
    "The vector holds the quantiles of (i - 1/2)/n, i = 1..n, of the Laplace law of variance one.",
    lambda law: law == "laplace",
)
STUDENT_QUANTILES = Hypothesis(
    "student_quantiles",
    "The vector holds the quantiles of (i - 1/2)/n, i = 1..n, of Student's law with three degrees of freedom.",
    lambda law: law == "student 3",
)
HEAVY_TAILS = Hypothesis(
    "heavy_tails",
    "The vector holds quantiles of a law with heavier tails than the normal: Laplace, or Student with 3, 2 or 1.5 "
    "degrees of freedom; k >= 10.",
    lambda law, k: law != "normal" and k >= 10,
)
