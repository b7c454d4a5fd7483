"""Symbols, quantities, hypotheses and works of the column shipped."""

import math
from fractions import Fraction
from typing import Any

from commbounds.theory.claim import Ge, Hypothesis, Le
from commbounds.theory.quantities import Quantity, k, n
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

# --- works -------------------------------------------------------------------------------------------------------

FLPYTORCH = Work("FL_PyTorch (burlachenkok/flpytorch), fl_pytorch/utils/compressors.py, as stored on GitHub")
GRACE = Work("GRACE (sands-lab/grace), grace_dl/torch and grace_dl/tensorflow, as stored on GitHub")
HIVEMIND = Work("hivemind (learning-at-home/hivemind), hivemind/compression, as stored on GitHub")
SZLENDAK_2021 = Work(
    "R. Szlendak, A. Tyurin, P. Richtárik, 2021, Permutation compressors for provably faster distributed nonconvex "
    "optimization, arXiv:2110.03300"
)
LIN_2018 = Work(
    "Y. Lin, S. Han, H. Mao, Y. Wang, W. J. Dally, 2018, Deep gradient compression: reducing the communication "
    "bandwidth for distributed training, arXiv:1712.01887v2",
    "The abstract was read; the submission to ICLR 2018 up to section 3.2, in a transcription by others that a "
    "program made.",
)
LIM_2018 = Work(
    "H. Lim, D. G. Andersen, M. Kaminsky, 2018, 3LC: lightweight and effective traffic compression for distributed "
    "machine learning, arXiv:1802.07389"
)
WANG_2018 = Work(
    "H. Wang, S. Sievert, Z. Charles, S. Liu, S. Wright, D. Papailiopoulos, 2018, ATOMO: communication-efficient "
    "learning via atomic sparsification, arXiv:1806.04090"
)
ATOMO_CODE = Work("ATOMO (hwang595/ATOMO), src/codings/svd.py, as stored on GitHub")
BITSANDBYTES = Work("bitsandbytes (bitsandbytes-foundation/bitsandbytes), functional.py, as stored on GitHub")
DETTMERS_2021 = Work(
    "T. Dettmers, M. Lewis, S. Shleifer, L. Zettlemoyer, 2021, 8-bit optimizers via block-wise quantization, "
    "arXiv:2110.02861"
)
GRACE_AT = Repository("sands-lab/grace", "fd3a7f42e71570aa6aecf368a2515388593bfb00")
FLPYTORCH_AT = Repository("burlachenkok/flpytorch", "23a201b7c0e6788ec84c56d903aa01759a1d69d9")
HIVEMIND_AT = Repository("learning-at-home/hivemind", "4bd43b77895019b20d18d81d0d0c1a5ab9a10847")
BITSANDBYTES_AT = Repository("bitsandbytes-foundation/bitsandbytes", "95f9af309d4d5793847169c39288dcd3fcbdf564")
ATOMO_AT = Repository("hwang595/ATOMO", "8a21e54938bc4b0809293b306eade3ab9307ea70")
FOLLOWS = "The code states no number; this one follows from its operations."
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

blocksize = Symbol("blocksize", r"b_s", 3, integer=True, positive=True)
"""Entries that share a scale."""
recompressions = Symbol("recompressions", r"r", 3, integer=True, nonnegative=True)
"""How often a vector is compressed, each time what was received."""
binades = Symbol("binades", r"m_{\max}", 10, integer=True, nonnegative=True)
"""Binades below one that INCEPTIONN keeps."""
errorbound = Symbol("errorbound", r"\epsilon_b", Fraction(1, 500), positive=True)
"""The error bound that INCEPTIONN is given."""
nonedrawn = Symbol("nonedrawn", r"q_0", Fraction(1, 4), nonnegative=True)
"""Probability that a draw of spectral ATOMO keeps no atom."""
planned = Symbol("planned", r"\textstyle\sum_i p_i", Fraction(3, 2), positive=True)
"""Sum of the probabilities with which spectral ATOMO keeps atoms in one draw."""
atombudget = Symbol("atombudget", r"B_s", Fraction(3, 2), positive=True)
"""Atoms that spectral ATOMO is to keep in expectation."""
statedvariance = Symbol(
    "statedvariance", r"\textstyle\sum_i \pi_i\omega_i/\sum_i\pi_i", Fraction(3, 2), nonnegative=True
)
"""Mean of the compressors' variances, weighted by the probabilities given, over their sum."""
usedvariance = Symbol("usedvariance", r"\textstyle\sum_i q_i\omega_i", Fraction(3, 2), nonnegative=True)
"""Mean of the compressors' variances, weighted by how often each is used."""
unused = Symbol("unused", r"q_\varnothing", Fraction(1, 4), nonnegative=True)
"""How often no compressor is used."""
turning = Symbol("turning", r"m_s", Fraction(3, 4), positive=True)
"""Signum's momentum, 0 < m < 1."""
efrate = Symbol("efrate", r"\eta", Fraction(1, 4), positive=True)
"""Step size of EF-signSGD."""
firstlargest = Symbol("firstlargest", r"\lVert g_1\rVert_\infty", 3, nonnegative=True)
"""Largest magnitude of the first gradient."""
ridgeslope = Symbol("ridgeslope", r"\varepsilon", Fraction(1, 2), positive=True)
"""Slope of the ridge, below one."""
ridgestep = Symbol("ridgestep", r"\gamma_r", Fraction(1, 8), positive=True)
"""Step size on the ridge."""
ridgesteps = Symbol("ridgesteps", r"T_r", 3, integer=True, positive=True)
"""Steps on the ridge."""

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
    "movement of the sum of the entries, over the sum of their magnitudes; zero for the zero vector",
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
    "largest difference between the sum of sent and kept vectors and the sum of all momenta without masking",
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
APPLIED = Quantity("applied", r"\frac{\sum_t\hat g_t}{g_0}", "sum of all updates of an entry, over its only gradient")

TOP_ERROR = Quantity(
    "top_error",
    r"\frac{\bigl|\,|C(x)_{i^*}|-\lVert x\rVert_\infty\bigr|}{\lVert x\rVert_\infty}",
    "error of a largest entry over it, the smallest among equals; x is not zero",
)
SMALLEST_SENT = Quantity(
    "smallest_sent",
    r"\min_{C(x)_i\ne 0}\frac{|C(x)_i|}{\lVert x\rVert_\infty}",
    "smallest output that is not zero, over the largest entry; x is not zero",
)
SHARE_LEFT = Quantity(
    "share_left",
    r"\frac{\lVert C^r(x)\rVert_\infty}{\lVert x\rVert_\infty}",
    "largest entry after some rounds, over its initial value",
)
GAP = Quantity("entry_gap", r"\lVert C(x)-x\rVert_\infty", "largest error of an entry")
ENLARGED = Quantity(
    "enlarged", r"\max_{x_i\ne 0}\frac{|C(x)_i|}{|x_i|}", "largest output over its entry, among those that are not zero"
)
MATRIX_BIAS = Quantity(
    "matrix_bias",
    r"\frac{\lVert\mathbb{E}\,C(X)-X\rVert_F}{\lVert X\rVert_F}",
    "distance of the mean from the matrix over its norm; X is not zero",
)
ATOMS = Quantity("atoms", r"\mathbb{E}\,\#\{i: \text{kept}\}", "expected number of atoms that are kept")
SWITCHED_ERROR = Quantity(
    "switched_error",
    r"\frac{\mathbb{E}\,\lVert C(x)-x\rVert^2}{\lVert x\rVert^2}",
    "squared error of a switch between unbiased compressors, over the squared norm; no choice gives zero",
)
LATE_SIGNS = Quantity(
    "late_signs", r"\#\{t: s_t\ne\operatorname{sign}g_t\}", "steps after the gradient turned with the old sign"
)
FIRST_RATIO = Quantity(
    "first_ratio",
    r"\frac{\lVert\hat g_1\rVert_\infty}{\lVert g_1\rVert_1/n}",
    "magnitude of the first update over the mean magnitude of the first gradient",
)
UNAPPLIED = Quantity(
    "unapplied",
    r"\left\lVert\eta\sum_t\hat g_t+e_T-\eta\sum_t g_t\right\rVert_\infty",
    "largest difference between the sum of applied updates and residual and the sum of gradients, each times the step "
    "size",
)
ACROSS = Quantity("across", r"\max_t|x_t+y_t-2|", "movement of the sum of the two coordinates")
LEAST_HEIGHT = Quantity(
    "least_height", r"\min_t f(x_t,y_t)", "smallest value of the objective along the path; its minimum is zero"
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
NO_MORE_DRAWS = Hypothesis("no_more_draws", "There are at most n draws.", Le(k, n))
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
    ensured="All maps of entries to ranks by permutations and rotations are enumerated, as often as they occur.",
)
ANY_OWNERS = Hypothesis(
    "any_owners", "Every outcome of the draws is covered.", ensured="Every map of the enumeration is measured alone."
)
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
    ensured="Rows are built this way: the other entry's gradient is 64 in the first steps, then none.",
)


def _top_sign(x: Any, positive: bool) -> bool:
    top = abs(x).max()
    return bool(top > 0 and ((x.max() == top) if positive else x.max() < top))


POSITIVE_TOP = Hypothesis(
    "tree_positive_top", "A largest entry in magnitude is positive; x is not zero.", lambda x: _top_sign(x, True)
)
NEGATIVE_TOP = Hypothesis(
    "tree_negative_top", "The entries largest in magnitude are negative; x is not zero.", lambda x: _top_sign(x, False)
)
ONE_SCALE = Hypothesis("tree_one_scale", "All entries share a scale.", lambda n, block: block >= n)
ONE_BLOCK = Hypothesis(
    "tree_one_block",
    "All entries share a scale, and there are at most 2048.",
    lambda n, block: block >= n and n <= 2048,
)
FAR_BELOW = Hypothesis(
    "tree_far_below",
    "All other entries are at most half of the largest in magnitude.",
    lambda x: bool((2 * abs(x) <= abs(x).max()).sum() >= x.size - 1),
)
NOT_ALL_ZERO = Hypothesis("some_entry_not_zero", "x is not zero.", lambda x: bool(x.any()))
ONE_AND_MORE = Hypothesis(
    "entries_of_one_and_more", "No entry is below one in magnitude.", lambda x: bool((abs(x) >= 1).all())
)
NOT_TINY = Hypothesis(
    "atoms_not_tiny", "The largest singular value is 1e-6 or more.", lambda topsingular: topsingular >= 1e-6
)
TINY = Hypothesis("atoms_tiny", "The largest singular value is below 1e-6.", lambda topsingular: topsingular < 1e-6)
WITHIN_RANK = Hypothesis(
    "atoms_within_rank", "The budget is at most the rank.", lambda atombudget, rank: atombudget <= rank
)
SIGNS_ALONE = Hypothesis("ridge_signs_alone", "The error of the signs is lost.", lambda feedback: not feedback)
TIES_BROKEN = Hypothesis(
    "ridge_ties_broken",
    "Where the coordinates are equal, the subgradient is the gradient on one side of the ridge.",
    lambda tie: tie != 0,
)
FED_BACK = Hypothesis("ridge_fed_back", "The error of the signs is added to the next step.", lambda feedback: feedback)
ALL_PROBABILITIES = Hypothesis(
    "switch_probabilities_whole", "The probabilities add up to one.", lambda total: total == 1
)
TURNED_ONCE = Hypothesis(
    "gradient_turned_once",
    "The gradient is one in every step up to some step, and minus one from then on.",
    ensured="Gradients are built this way.",
)
DYADIC_STEPS = Hypothesis(
    "signed_dyadic",
    "Gradients are whole, their number of entries and the inverse step size powers of two, so that all is exact.",
    ensured="Gradients are small whole numbers with one, two or four entries; step sizes are 1, 1/2 and 1/4.",
)
