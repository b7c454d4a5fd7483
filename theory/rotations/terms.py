"""Symbols, quantities and hypotheses of the claims about rotation-based compressors."""

from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis
from commbounds.theory.quantities import P, Quantity, index_bits, n
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

DRIVE_AT = Repository("amitport/DRIVE-One-bit-Distributed-Mean-Estimation", "f87a915b3882685b82f2ce2017f6f0fbc182ab88")
EDEN_AT = Repository("amitport/EDEN-Distributed-Mean-Estimation", "5c7639a6af810e08d21827dd0ed55772b8113e99")
QUIP_AT = Repository("Cornell-RelaxML/QuIP", "ac92cfc7a22f6100009e2caf53bb72257d3f3184")
ENCODING_AT = Repository("tensorflow/model-optimization", "6fbc2cec3984877251aa6ce961aceb7049cf2b25")
DRIVE_2021 = Work(
    "S. Vargaftik, R. Ben Basat, A. Portnoy, G. Mendelson, Y. Ben-Itzhak, M. Mitzenmacher, 2021, DRIVE: one-bit "
    "distributed mean estimation, arXiv:2105.08339"
)
DRIVE_CODE = Work("S. Vargaftik et al., code of DRIVE, github.com/amitport/DRIVE-One-bit-Distributed-Mean-Estimation")
EDEN_2022 = Work(
    "S. Vargaftik, R. Ben Basat, A. Portnoy, G. Mendelson, Y. Ben-Itzhak, M. Mitzenmacher, 2022, EDEN: "
    "communication-efficient and robust distributed mean estimation for federated learning, arXiv:2108.08842"
)
EDEN_CODE = Work("S. Vargaftik et al., code of EDEN, github.com/amitport/EDEN-Distributed-Mean-Estimation")
NOTE_2026 = Work(
    "R. Ben-Basat, Y. Ben-Itzhak, G. Mendelson, M. Mitzenmacher, A. Portnoy, S. Vargaftik, 2026, A note on TurboQuant "
    "and the earlier DRIVE/EDEN line of work, arXiv:2604.18555v1"
)
TWO_RHTS_2026 = Work(
    "R. Ben-Basat, W. Kuszmaul, M. Mitzenmacher, A. Portnoy, S. Vargaftik, 2026, Quantizing with randomized Hadamard "
    "transforms: efficient heuristic now proven, arXiv:2605.06014v1"
)
TURBOQUANT_2025 = Work(
    "A. Zandieh, M. Daliri, M. Hadian, V. Mirrokni, 2025, TurboQuant: online vector quantization with near-optimal "
    "distortion rate, arXiv:2504.19874",
    "Theorems 1 to 3, as two public notes restate them.",
)
SZAREK_1976 = Work(
    "S. J. Szarek, 1976, On the best constants in the Khinchin inequality, doi:10.4064/sm-58-2-197-208",
    "The inequality with its place, from a public note that uses it.",
)
QUICFL_CODE = Work(
    "R. Ben-Basat et al., code of QUIC-FL, "
    "github.com/amitport/QUIC-FL-Quick-Unbiased-Compression-for-Federated-Learning"
)
TENSOR_ENCODING = Work("Tensor encoding of github.com/tensorflow/model-optimization, stages/research/kashin.py")

# --- symbols ---------------------------------------------------------------------------------------------------------

minor = Symbol("minor", r"\beta", Fraction(1, 3), positive=True)
"""The smaller magnitude over the larger one, of a vector with two nonzero entries."""
spectrum = Symbol(
    "spectrum", r"\max_{k\neq 0}\lvert (H x^2)_k\rvert/\lVert x\rVert_2^2", Fraction(1, 2), nonnegative=True
)
"""Largest entry but the first of the Walsh-Hadamard transform of the squares, over their sum."""
tail_at = Symbol("tail_at", r"t", sp.sqrt(2), positive=True)
"""How many norms a rotated entry is to reach."""
cells = Symbol("cells", r"2^b", 4, integer=True, positive=True)
"""Cells of a quantiser: two to the number of bits."""
distortion = Symbol("normal_distortion", r"D_b", Fraction(1, 8), positive=True)
"""Mean squared error of the best quantiser with 2^b cells on a standard normal number."""
one_bit_error = Symbol("one_bit_error", r"e_1(x)", Fraction(1, 9), nonnegative=True)
"""Relative error of the same vector with one bit an entry, and the same kind of scale."""
centroid_ratio = Symbol("centroid_ratio", r"\varrho", Fraction(7, 2), positive=True)
"""The outermost centroid over the innermost positive one."""
smallest_entry = Symbol("smallest_entry", r"\min_i\lvert x_i\rvert", Fraction(1, 2), nonnegative=True)
"""Least magnitude of an entry."""

single_error = Symbol("single_error", r"e(x)", Fraction(1, 2), nonnegative=True)
"""Expected relative squared error of one rank's estimate."""
bias_share = Symbol("bias_share", r"\mathrm{bias}^2(x)", Fraction(1, 9), nonnegative=True)
"""Squared norm of the bias of one rank's estimate, over the squared norm of its vector."""
rotated_top = Symbol("rotated_top", r"t", Fraction(3), positive=True)
"""Largest magnitude of a rotated entry among all ranks."""

d = 2 ** index_bits(n)
"""The length of the rotated vector: the least power of two that is at least n."""

# --- quantities ------------------------------------------------------------------------------------------------------

NORM_GROWTH = Quantity(
    "norm_growth", r"\frac{\lVert HDx\rVert^2}{\lVert x\rVert^2}", "squared norm of the rotated vector over that of x"
)
RETURN_DEFECT = Quantity(
    "return_defect",
    r"\lVert\tfrac1dDH(HDx)-x\rVert_\infty",
    "largest difference between x and the inverse rotation of the rotated x",
)
ROTATION_ADDITIONS = Quantity(
    "rotation_additions", r"\mathrm{additions}(H)", "additions and subtractions of one transform"
)
COORDINATE_SQUARE = Quantity(
    "coordinate_square",
    r"\frac{\mathbb{E}\,(HDx)_j^2}{\lVert x\rVert^2}",
    "mean square of a rotated entry over the squared norm of x, for the entry where that is farthest from one",
)
CORRELATION = Quantity(
    "correlation",
    r"\max_{i\neq j}\lvert\mathrm{corr}((HDx)_i,(HDx)_j)\rvert",
    "largest magnitude of the correlation of two rotated entries",
)
PEAK_CHANCE = Quantity(
    "peak_chance",
    r"\Pr[\lVert HDx\rVert_\infty=\lVert x\rVert_1]",
    "probability that a rotated entry has its largest possible magnitude, the sum of all magnitudes",
)
TAIL_CHANCE = Quantity(
    "tail_chance",
    r"\Pr[\lVert HDx\rVert_\infty\geq t\lVert x\rVert_2]",
    "probability that some rotated entry reaches t norms of x",
)
PROJECTION_DEFECT = Quantity(
    "projection_defect",
    r"\max_D\left\lvert\frac{\langle C(x),x\rangle}{\lVert x\rVert^2}-1\right\rvert",
    "largest difference from one, over all outcomes, of the inner product of the output with x over the squared norm",
)
LARGEST_ERROR = Quantity(
    "worst_draw_error",
    r"\max_D\frac{\lVert C(x)-x\rVert^2}{\lVert x\rVert^2}",
    "relative squared error of the worst outcome",
)
LAW_DISTANCE = Quantity(
    "law_distance",
    r"d_{\mathrm{TV}}(\mathrm{EDEN}_1(x),\,\mathrm{DRIVE}(x))",
    "total variation distance between the laws of EDEN's and of DRIVE's output",
)
ENTRY_VARIANCE = Quantity(
    "entry_variance",
    r"\max_i\frac{\mathbb{E}\,(C(x)-x)_i^2}{\lVert x\rVert^2}",
    "largest expected squared error of one entry, over the squared norm of x",
)
DISTORTION = Quantity("lloyd_distortion", r"D_b", "mean squared error of the quantiser on a standard normal number")
CENTROID_GAP = Quantity(
    "centroid_gap",
    r"\max_i\frac{\lvert c_i-\mathbb{E}[X\mid\text{cell }i]\rvert}{c_i}",
    "largest relative difference between a centroid and the mean of its cell",
)
CENTROID_ERROR = Quantity(
    "centroid_error",
    r"\max_i\lvert c^{\mathrm{code}}_i-c_i\rvert/c_i",
    "largest relative difference between the centroids of a published table and the optimal ones",
)

MEAN_BYTES = Quantity("mean_bytes", r"\mathrm{bytes}", "bytes that the busiest rank sends for the mean")
SUM_BYTES = Quantity("rotated_sum_bytes", r"\mathrm{bytes}", "bytes that the busiest rank sends for the sum")
EXACT_SUM_DEFECT = Quantity(
    "exact_sum_defect",
    r"\left\lVert\widehat{\textstyle\sum_p x_p}-\sum_p\hat x_p\right\rVert_\infty",
    "largest difference between an entry of the sum and the sum of the ranks' separately decoded entries, by the same "
    "step",
)
SUM_ERROR = Quantity(
    "rotated_sum_error",
    r"\mathbb{E}\,\left\lVert\widehat{\textstyle\sum_p x_p}-\sum_p x_p\right\rVert^2",
    "squared error of the sum, in the squared unit of the vectors",
)

# --- hypotheses ------------------------------------------------------------------------------------------------------


def _two_sizes(x: Any) -> bool:
    sizes = abs(x[x != 0])
    return bool(sizes.size == 2 and sizes.min() < sizes.max())


def _rotation_fits(x: Any) -> bool:
    import numpy as np

    top = float(abs(x).max())
    if top == 0.0:
        return True
    padded = 1 << (x.size - 1).bit_length()
    return bool(padded * float((abs(x.astype(np.float64)) / top).sum()) * top <= float(np.finfo(x.dtype).max))


ROTATION_FITS = Hypothesis(
    "rotation_fits",
    "The sum of the magnitudes, times the padded length, does not exceed the largest number of the dtype: all that is "
    "sent and estimated is finite.",
    _rotation_fits,
)
UNBIASED_SCALE = Hypothesis(
    "unbiased_scale",
    'The scale is ||x||^2 over the inner product with the codes: scale="unbiased".',
    lambda compressor: compressor.scale == "unbiased",
)
BIASED_SCALE = Hypothesis(
    "biased_scale", 'The scale minimises the error: scale="biased".', lambda compressor: compressor.scale == "biased"
)
UNBIASED_SCALE_GIVEN = Hypothesis(
    "scale_unbiased", "The scale is ||x||^2/||R x||_1.", lambda scale: scale == "unbiased"
)
BIASED_SCALE_GIVEN = Hypothesis("scale_biased", "The scale is ||R x||_1/n.", lambda scale: scale == "biased")
NORM_SCALE = Hypothesis(
    "norm_scale", 'The scale is ||x||/d: scale="norm".', lambda compressor: compressor.scale == "norm"
)
FITTED_SCALE = Hypothesis(
    "fitted_scale",
    'The scale follows from the codes: scale="unbiased" or "biased".',
    lambda compressor: compressor.scale != "norm",
)
ONE_BIT = Hypothesis("one_bit_codes", "Codes have one bit.", lambda compressor: compressor.width == 1)
SINGLE_BIT = Hypothesis("single_bit", "There is one bit: two cells.", Eq(cells, 2))
TWO_SPARSE = Hypothesis("two_sparse", "Exactly two entries are not zero, and their magnitudes differ.", _two_sizes)
SEVERAL_ENTRIES = Hypothesis("several_entries", "The vector has two entries or more.", Ge(n, 2))
ALIKE = Hypothesis(
    "equal_vectors", "All ranks have the same vector, which is not zero.", lambda x: (x == x[0]).all() and x.any()
)
PRIVATE = Hypothesis("private_seeds", "Every rank rotates by its own signs.", lambda seeds: seeds == "private")
SHARED = Hypothesis("shared_seeds", "All ranks rotate by the same signs.", lambda seeds: seeds == "shared")
BLOCKS_DIVIDE = Hypothesis(
    "padded_blocks_divide", "The ranks divide the padded length: all blocks are alike.", Eq(sp.Mod(d, P), 0)
)
