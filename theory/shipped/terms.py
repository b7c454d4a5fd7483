"""Symbols, quantities, hypotheses and works of the column shipped."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from commbounds.theory.claim import Ge, Hypothesis, Le
from commbounds.theory.quantities import Quantity, k, n
from commbounds.theory.sources import Work
from commbounds.theory.symbols import Symbol

# --- works -------------------------------------------------------------------------------------------------------

BYTEPS = Work("BytePS (bytedance/byteps), byteps/common/compressor/impl, as stored on GitHub")
FLPYTORCH = Work("FL_PyTorch (burlachenkok/flpytorch), fl_pytorch/utils/compressors.py, as stored on GitHub")
GRACE = Work("GRACE (sands-lab/grace), grace_dl/torch and grace_dl/tensorflow, as stored on GitHub")
HIVEMIND = Work("hivemind (learning-at-home/hivemind), hivemind/compression, as stored on GitHub")
SZLENDAK_2021 = Work(
    "R. Szlendak, A. Tyurin, P. Richtárik, 2021, Permutation compressors for provably faster distributed nonconvex "
    "optimization, arXiv:2110.03300"
)
LIN_2018 = Work(
    "Y. Lin, S. Han, H. Mao, Y. Wang, W. J. Dally, 2018, Deep gradient compression: reducing the communication "
    "bandwidth for distributed training, arXiv:1712.01887v2"
)
LIM_2018 = Work(
    "H. Lim, D. G. Andersen, M. Kaminsky, 2018, 3LC: lightweight and effective traffic compression for distributed "
    "machine learning, arXiv:1802.07389"
)
WANG_2018 = Work(
    "H. Wang, S. Sievert, Z. Charles, S. Liu, S. Wright, D. Papailiopoulos, 2018, ATOMO: communication-efficient "
    "learning via atomic sparsification, arXiv:1806.04090"
)
FOLLOWS = "The code states no number; this follows from what it does."
"""Reading of a claim about code."""

# --- symbols -----------------------------------------------------------------------------------------------------

keep = Symbol("keep", r"\kappa", Fraction(1, 3), positive=True)
"""Probability with which the lazy compressor sends at all, 0 < keep <= 1."""
budget = Symbol("budget", r"B", Fraction(3, 2), positive=True)
"""Expected number of entries that entry-wise ATOMO keeps."""
clip = Symbol("clip", r"c", Fraction(5, 2), positive=True)
"""Standard deviations to which TernGrad clips."""
deviation = Symbol("deviation", r"\sigma_x", Fraction(1, 2), nonnegative=True)
"""Root mean square deviation of the entries from their mean."""
sparsity = Symbol("sparsity", r"s_{\mathrm{m}}", Fraction(5, 4), positive=True)
"""3LC's sparsity multiplier, 1 <= s < 2."""
buckets = Symbol("buckets", r"b", 4, integer=True, positive=True)
"""Buckets of a quantiser that sends their means."""
captured = Symbol("captured", r"\lVert C(x)\rVert_2^2", Fraction(3), nonnegative=True)
"""Squared norm of the output."""
larger = Symbol("larger", r"n_{\max}", 4, integer=True, positive=True)
"""Entries in the larger of the two groups of 1-bit SGD: negative ones, and the others."""
momentum = Symbol("momentum", r"m_u", Fraction(1, 2), nonnegative=True)
"""Factor of DGC's momentum, 0 <= m < 1."""
delay = Symbol("delay", r"d", 2, integer=True, nonnegative=True)
"""Steps that a gradient waits before it is sent."""
dgcsteps = Symbol("dgcsteps", "T", 3, integer=True, positive=True)
"""Steps of DGC."""

# --- quantities --------------------------------------------------------------------------------------------------

ENTRY_ERROR = Quantity(
    "entry_error_share",
    r"\frac{\lVert C(x)-x\rVert_\infty}{\lVert x\rVert_\infty}",
    "largest error of an entry over the largest entry; x is not zero",
)
WIDTHS_OFF = Quantity(
    "widths_off",
    r"\frac{\lVert C(x)-x\rVert_\infty}{w}",
    "largest error of an entry, in widths of a bucket; not all entries are equal",
)
SUM_SHIFT = Quantity(
    "sum_shift",
    r"\frac{\bigl|\sum_i C(x)_i-\sum_i x_i\bigr|}{\lVert x\rVert_1}",
    "how far the sum of the entries moves, over the sum of their magnitudes; zero for the zero vector",
)
MEAN_ERROR = Quantity(
    "mean_error",
    r"\mathbb{E}\,\lVert \hat x-\bar x\rVert^2",
    "squared error of the workers' compressed mean, expected over what is drawn for all of them",
)
MEAN_BIAS = Quantity(
    "mean_bias",
    r"\lVert \mathbb{E}\,\hat x-\bar x\rVert_\infty",
    "largest difference between an entry of the expected compressed mean and of the mean",
)
TOTAL_WORDS = Quantity("total_words", r"\sum_p\mathrm{sent}_p", "words sent by all ranks together")
UNSENT_MASS = Quantity(
    "unsent_mass",
    r"\left\lVert P\sum_t\hat g_t+\sum_p v_p-\sum_p\sum_t u_{p,t}\right\rVert_\infty",
    "largest difference between what was sent or is kept, and all momenta that came up without masking",
)
FROM_MOMENTUM = Quantity(
    "from_momentum",
    r"\max_t\lVert \hat g_t-\bar u_t\rVert_\infty",
    "largest difference between an update and that of dense SGD with the same momentum",
)
FROM_PLAIN = Quantity(
    "from_plain",
    r"\max_t\lVert \hat g_t-\bar g_t\rVert_\infty",
    "largest difference between an update and the mean gradient of its step",
)
APPLIED = Quantity(
    "applied", r"\frac{\sum_t\hat g_t}{g_0}", "what all updates of an entry add up to, over its only gradient"
)

# --- hypotheses --------------------------------------------------------------------------------------------------


def _largest_factor(compressor: Any, x: Any) -> float:
    """What the largest entry, or for ATOMO the sum of the magnitudes, may be multiplied by."""
    if hasattr(compressor, "added"):
        return float(x.size if compressor.added else max(1.0, x.size / compressor.k))
    if hasattr(compressor, "keep"):
        kept = getattr(compressor, "k", x.size)
        return float(x.size / kept / float(compressor.keep))
    if hasattr(compressor, "sparsity"):
        return float(compressor.sparsity)
    whole = math.ceil(compressor.budget) - 1
    return float(abs(x.astype("float64") / (abs(x).max() or 1)).sum()) / float(compressor.budget - whole)


def _fits(compressor: Any, x: Any) -> bool:
    import numpy as np

    # a part in a million less, so that no rounding of the product matters
    return float(abs(x).max()) * _largest_factor(compressor, x) <= (1 - 1e-6) * float(np.finfo(x.dtype).max)


def _deviation(x: Any) -> float:
    wide = x.astype("float64") / (float(abs(x).max()) or 1.0)
    return float(math.sqrt(math.fsum((wide - math.fsum(wide) / x.size) ** 2) / x.size))


def _unclipped(compressor: Any, x: Any) -> bool:
    # as far from the edge as the deviation may be rounded
    return not x.any() or float(compressor.clip) * _deviation(x) >= 1 + 1e-9


def _balanced(compressor: Any, x: Any) -> bool:
    top = float(abs(x).max())
    return top > 0 and float(abs(x.astype("float64") / top).sum()) >= float(compressor.budget)


PRODUCTS_FIT = Hypothesis(
    "products_fit",
    "No entry, multiplied as the compressor may have to, exceeds the largest number of the dtype.",
    _fits,
)
OVERWRITTEN = Hypothesis(
    "overwritten",
    "A place that is drawn twice is sent once: ReplacementRandK(k).",
    lambda compressor: not compressor.added,
)
ADDED = Hypothesis(
    "draws_added",
    "A place that is drawn twice counts twice: ReplacementRandK(k, added=True).",
    lambda compressor: compressor.added,
)
NO_MORE_DRAWS = Hypothesis("no_more_draws", "There are at most as many draws as entries.", Le(k, n))
UNCLIPPED = Hypothesis("unclipped", "No entry exceeds the clipping bound in magnitude.", _unclipped)
ALL_EQUAL = Hypothesis("all_equal", "All entries are equal, and not zero.", lambda x: x.any() and x.min() == x.max())
ALL_ZERO = Hypothesis("all_zero", "All entries are zero.", lambda x: not x.any())
BALANCED = Hypothesis(
    "balanced",
    "x is not zero, and the budget times the largest magnitude is at most their sum: no probability exceeds one.",
    _balanced,
)
AT_MOST_ALL = Hypothesis("at_most_all", "The budget is at most the number of entries.", Le(budget, n))
PLAIN_BYTES = Hypothesis(
    "plain_bytes", "Runs of zeros are not encoded: ThreeLC(zero_run=False).", lambda compressor: not compressor.zero_run
)
RUNS_ENCODED = Hypothesis(
    "runs_encoded", "Runs of zeros are encoded: ThreeLC(zero_run=True).", lambda compressor: compressor.zero_run
)
MULTIPLIER_ONE = Hypothesis(
    "multiplier_one", "The sparsity multiplier is 1.", lambda compressor: compressor.sparsity == 1
)
FEW_ENTRIES = Hypothesis(
    "few_entries", "There are at most as many entries as buckets.", lambda compressor, n: n <= compressor.buckets
)
THREE_OR_MORE = Hypothesis("three_or_more", "There are three entries or more.", Ge(n, 3))
SPREAD_OUT = Hypothesis("spread_out", "Not all entries are equal.", lambda x: x.min() < x.max())
UNIFORM_OWNERS = Hypothesis(
    "uniform_owners",
    "The permutation is uniform, and blocks are turned by a uniform number of ranks.",
    ensured="All maps of entries to ranks are enumerated that permutations and turns make, as often as they do.",
)
ANY_OWNERS = Hypothesis("any_owners", "Whatever is drawn.", ensured="Every map of the enumeration is measured alone.")
SAME_VECTORS = Hypothesis("same_vectors", "All workers hold the same vector.", lambda x: bool((x == x[0]).all()))
UNIFORM_PLACES = Hypothesis(
    "uniform_places", "The set of k entries is uniform.", ensured="All sets of k entries are enumerated."
)
UNMASKED = Hypothesis("unmasked", "Momentum is not masked: masking=False.", lambda masking: not masking)
MASKED = Hypothesis(
    "masked", "Momentum factor masking: sent entries are cleared in the momentum.", lambda masking: masking
)
ALL_SENT = Hypothesis("all_sent", "Every entry is sent in every step: k = n.", lambda k, n: k == n)
DYADIC = Hypothesis(
    "dyadic",
    "Gradients are whole and the momentum is a half, or none, so that sums are exact.",
    ensured="Gradients are small whole numbers; the factors are 0, 1/2 and 1/4.",
)
ONE_GRADIENT = Hypothesis(
    "one_gradient",
    "The entry has a gradient in the first step alone, and another entry is larger until it is sent.",
    ensured="Rows are made so: the other entry's gradient is 64 in the first steps, then none.",
)
