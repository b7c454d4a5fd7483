"""Symbols, quantities, hypotheses and works of the column blockformats."""

from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis
from commbounds.theory.quantities import P, Quantity, block, n
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

MX = Work(
    "Open Compute Project, 2023, OCP Microscaling Formats (MX) Specification, version 1.0",
    "Section 6.3, as several public notes quote it word for word.",
)
MICROXCALING_AT = Repository("microsoft/microxcaling", "7bc41952de394f5cc5e782baf132e7c7542eb4e4")
TORCHAO_AT = Repository("pytorch/ao", "36027d82d1ad9949597ea16002ff4940374b1b94")
FLYDSL_AT = Repository("ROCm/FlyDSL", "11c4174d82b7491c2d08d5828a254183f2a8b959")
TSENG_AT = Repository("amazon-science/mxfp4-llm", "0cc57fecd911a1b4809201d6a9eddbc0157efb70")
PANFEROV_AT = Repository("IST-DASLab/Quartet-II", "8776a90b7aa0c0a400ad858a3c05a66f7ec55b73")
THC_AT = Repository("SophiaLi06/BytePS_THC", "a6af970c43c47fcfdaabed595f87338487faff6b")
MICROXCALING = Work("Microsoft, 2023, microxcaling: the MX formats emulated in PyTorch")
TORCHAO = Work("PyTorch, 2024, torchao: prototype/mx_formats")
NEURON = Work(
    "Amazon Web Services, Neuron documentation, nki.isa.quantize_mx", "The page on the instruction, as it was in 2025."
)
MISHRA_2025 = Work(
    "A. Mishra, D. Stosic, S. Layton, P. Micikevicius, 2025, Recipes for pre-training LLMs with MXFP8, arXiv:2506.08027"
)
TSENG_2025 = Work("A. Tseng, T. Yu, Y. Park, 2025, Training LLMs with MXFP4, arXiv:2502.20586")
NVIDIA_2025 = Work(
    "NVIDIA, 2025, Pretraining large language models with NVFP4, arXiv:2509.25149v1",
    "Sections 1 and 2 and appendices B and C of v1 were read, in a plain text that others took from the PDF by a "
    "program.",
)
TRANSFORMER_ENGINE_AT = Repository("NVIDIA/TransformerEngine", "c74e5aa37a65eda5c1680562119d466c123ca6ae")
TRANSFORMER_ENGINE = Work("NVIDIA, Transformer Engine, reference implementation of the NVFP4 recipe")
PANFEROV_2026 = Work(
    "A. Panferov, E. Schultheis, S. Tabesh, D. Alistarh, 2026, Quartet II: accurate LLM pre-training in NVFP4 by "
    "improved unbiased gradient estimation, arXiv:2601.22813v1"
)
SHRINKAGE_2026 = Work(
    "Ling Team (Ant Group), 2026, Rethinking shrinkage bias in LLM FP4 pretraining: geometric origin, systemic "
    "impact, and UFP4 recipe, arXiv:2606.20381"
)
LI_2024 = Work(
    "M. Li, R. Ben Basat, S. Vargaftik, C. Lao, K. Xu, M. Mitzenmacher, M. Yu, 2024, THC: accelerating distributed "
    "deep learning using tensor homomorphic compression, arXiv:2302.08545",
    "The abstract was read, on the web, and the authors' code.",
)
HAN_2026 = Work(
    "W. Han, S. Vargaftik, M. Mitzenmacher, R. Ben Basat, 2026, DynamiQ: accelerating gradient synchronization using "
    "compressed multi-hop all-reduce, arXiv:2602.08923"
)
SURESH_2022 = Work(
    "A. T. Suresh, Z. Sun, J. H. Ro, F. Yu, 2022, Correlated quantization for distributed mean estimation and "
    "optimization, arXiv:2203.04925",
    "The abstract, and public reviews; of the code the notebook.",
)
NOTEBOOK = Repository("google-research/google-research", "35a5be244885197babac12954c71274ff76b27b7").at(
    "correlated_compression/correlated_compression_experiments.ipynb", "186-193"
)

# --- symbols -----------------------------------------------------------------------------------------------------

elementbits = Symbol("elementbits", "w", 4, integer=True, positive=True)
"""Bits of an element."""
element_unit = Symbol("element_unit", "u", Fraction(1, 4), positive=True)
"""Unit roundoff of the elements: 2 to minus the digits of their significand, 1/4 for E2M1."""
overshoot = Symbol("overshoot", r"\nu", Fraction(1, 2), positive=True)
"""2 minus the largest element over the largest power of two among them: 1/2 for E2M1, 1/4 for E4M3."""
peak = Symbol("peak", r"\Pi", 16, integer=True, positive=True)
"""The largest power of two among the elements, in halves of the smallest positive one: 16 for E2M1."""
codebits = Symbol("codebits", r"\beta_c", 4, integer=True, positive=True)
"""Bits of a code that is added as an integer."""
codetop = Symbol("codetop", r"\Lambda", 7, integer=True, positive=True)
"""Largest such code, 2^(bits - 1) - 1."""
fraction = Symbol("fraction", r"\varphi", Fraction(1, 4), nonnegative=True)
"""How far the ranks' entries lie above the code below, the same on all."""
ownfraction = Symbol("ownfraction", r"\varphi_1", Fraction(1, 4), nonnegative=True)
"""The same for the first of two ranks."""
otherfraction = Symbol("otherfraction", r"\varphi_2", Fraction(1, 3), nonnegative=True)
"""The same for the second of two ranks."""
fractionnoise = Symbol("fractionnoise", r"\left(\sum_p\varphi_p(1-\varphi_p)\right)", Fraction(3, 4), nonnegative=True)
"""Sum over the ranks of f (1 - f), f how far the rank's entry lies above the code below."""
gridstep = Symbol("gridstep", r"\delta", Fraction(1, 8), positive=True)
"""Distance of the midpoints at which a density is taken, in units of the scale."""
cubes = Symbol("cubes", r"\left(\sum_k h_k^3\right)", Fraction(21, 2), positive=True)
"""Sum of the cubes of the gaps between neighbouring elements from 0 to the largest, in units of the scale."""
ceilinglevel = Symbol("ceilinglevel", "a_{\\max}", 6, positive=True)
"""The largest element, in units of the scale."""

ENTRIES_OF_BLOCK = sp.Min(n, block)
"""Entries of the longest block."""

# --- quantities --------------------------------------------------------------------------------------------------

MAXIMUM_ERROR = Quantity(
    "maximum_error",
    r"\max_b \frac{|C(x)_{i(b)}-x_{i(b)}|}{|x_{i(b)}|}",
    "error of a block's largest entry relative to it, at its largest over the blocks that are not zero",
)
CHANGED_AGAIN = Quantity(
    "changed_again", r"\#\{i: C(C(x))_i\neq C(x)_i\}", "entries that a second quantisation changes"
)
UNSCALED_ENTRIES = Quantity(
    "unscaled_entries", r"\#\{i: C(cx)_i\neq c\,C(x)_i\}", "entries of C(c x) that are not c times those of C(x)"
)
UNTURNED_ENTRIES = Quantity(
    "unturned_entries", r"\#\{i: C(-x)_i\neq -C(x)_i\}", "entries of C(-x) that are not those of C(x), negated"
)
MEAN_DRIFT_OF_DENSITY = Quantity(
    "density_drift",
    r"\mathbb{E}\,[C(a)-a]",
    "mean error of an entry drawn from a density on the midpoints of a grid between zero and the largest element, in "
    "units of the scale",
    real=True,
)
LARGEST_LOST = Quantity(
    "largest_lost",
    r"\max\{\tau_b: C(x)_b=0\}",
    "largest magnitude of a block that becomes zeros, over that of the whole vector",
)
WIRE_BYTES = Quantity("part_bytes", r"\max_p \mathrm{sent}_p", "bytes that the rank sends that sends most")
PRICE = Quantity(
    "bits_an_entry",
    r"\frac{8\max_p \mathrm{sent}_p}{2(P-1)n/P}",
    "bits that the busiest rank sends, over the entries that an all-reduce has to send",
)
TOTAL_ERROR = Quantity(
    "total_error",
    r"\max_i\frac{|\hat y_i-\sum_p x_{p,i}|}{\sum_p|x_{p,i}|}",
    "error of an entry of the sum over the sum of the ranks' magnitudes, at its largest over the entries",
)
TOTAL_BIAS = Quantity(
    "total_bias", r"\max_i\frac{|\mathbb{E}\,\hat y_i-\sum_p x_{p,i}|}{\sum_p|x_{p,i}|}", "the same of the expected sum"
)
HOMOMORPHIC_DEFECT = Quantity(
    "homomorphic_defect",
    r"\#\left\{i:\hat y_i\neq\sum_p \hat x_{p,i}\right\}",
    "entries of the sum that are not the sum of what the ranks' codes stand for",
)
CODE_ERROR = Quantity(
    "code_error",
    r"\max_i\frac{|\hat y_i-\sum_p x_{p,i}|}{2^{e}}",
    "error of an entry of the sum, in units of its scale",
)
CODE_SUM_BITS = Quantity(
    "code_sum_bits", r"\beta_\Sigma", "fewest bits a sum of codes can be sent in so that no sum wraps around"
)
CODE_SUM_VARIANCE = Quantity(
    "code_sum_variance", r"\mathrm{Var}(\hat y_i)/4^{e}", "variance of an entry of the sum, in units of its scale"
)
CODE_SUM_BIAS = Quantity(
    "code_sum_bias", r"|\mathbb{E}\,\hat y_i-\textstyle\sum_p x_{p,i}|/2^{e}", "bias of an entry of the sum, likewise"
)

# --- hypotheses --------------------------------------------------------------------------------------------------


def _blocks_max(x: Any, block: int) -> Any:
    """The largest magnitude of every block."""
    import numpy as np

    sizes = abs(x.astype(np.float64))
    return np.maximum.reduceat(sizes, np.arange(0, sizes.size, block))


def _exponents_fit(x: Any, block: int, emax: int) -> bool:
    import numpy as np

    largest = _blocks_max(x, block)
    largest = largest[largest > 0]
    if not largest.size:
        return True
    limit = min(2.0 ** (126 + min(emax, 800)), float(np.finfo(x.dtype).max) / 2)
    return bool(largest.min() >= 2.0 ** (-127 + emax) and largest.max() <= limit)


def _normal_scales(x: Any, block: int) -> bool:
    import numpy as np

    largest = _blocks_max(x, block)
    whole = float(largest.max())
    # a scale of 1.01 times the smallest normal number is one, whatever is rounded on the way
    return whole == 0.0 or (
        2.0**-100 <= whole <= float(np.finfo(np.float32).max) / 2
        and bool((largest[largest > 0] >= 1.01 * whole * 2.0**-6 / 448).all())
    )


def _sums_fit(x: Any) -> bool:
    import numpy as np

    sizes = abs(np.asarray(x, np.float64))
    if not sizes.any():
        return True
    with np.errstate(over="ignore"):
        most = np.log2(sizes.max(axis=1).sum()) + len(sizes) * np.log2(1.5)
    return bool(sizes[sizes > 0].min() >= 2.0**-100 and most <= 126)


E8M0_FITS = Hypothesis(
    "e8m0_fits",
    "The exponent of every block that is not zero is one of E8M0's, and no entry exceeds half the dtype's largest "
    "number.",
    _exponents_fit,
)
SCALED_FITS = Hypothesis(
    "scaled_exponents_fit",
    "This also holds for the vector times the factor.",
    lambda x, block, emax, factor: _exponents_fit(x.astype("float64") * float(factor), block, emax),
)
SUMS_FIT = Hypothesis(
    "sums_fit_e8m0",
    "Entries that are not zero are 2^-100 or more in magnitude, and the sum of the ranks' largest is at most 2^126 "
    "(2/3)^P: no partial sum, which a rounding makes larger by a half at most, is beyond E8M0's exponents.",
    _sums_fit,
)
NORMAL_SCALES = Hypothesis(
    "normal_scales",
    "Blocks are zero, or their largest magnitude is at least 1.01/28672 of the whole vector's, so that their E4M3 "
    "scales are normal numbers; the vector's largest magnitude is in the middle of float32's range.",
    _normal_scales,
)
TENSOR_FITS = Hypothesis(
    "tensor_fits",
    "The vector's largest magnitude is between 2^-100 and half the largest float32.",
    lambda x: bool(2.0**-100 <= abs(x).max() <= 1.7e38),
)
DOUBLE_VECTOR = Hypothesis("double_vector", "The vector is float64.", lambda x: x.dtype.itemsize == 8)
E2M1_ELEMENTS = Hypothesis("e2m1_elements", "Elements are E2M1: MXFP4.", lambda element: element == "e2m1")
FLOATING_ELEMENTS = Hypothesis(
    "floating_elements", "Elements are floating-point numbers: no INT8, no INT4.", lambda element: element[0] == "e"
)
FLOOR_SCALE = Hypothesis(
    "floor_scale",
    "Scales are the specification's: the largest power of two is rounded down.",
    lambda scale: scale == "floor",
)
EVEN_SCALE = Hypothesis("even_scale", 'Scales are "even".', lambda scale: scale == "even")
RCEIL_SCALE = Hypothesis(
    "rceil_scale", 'Scales are "rceil": the smallest power of two without clipping.', lambda scale: scale == "rceil"
)
NEAREST_POWER = Hypothesis(
    "nearest_power_scale",
    'Scales are "nearest": the power of two nearest to the largest magnitude over the largest element.',
    lambda scale: scale == "nearest",
)
WIDE_SCALE = Hypothesis("wide_scale", 'Scales are "ceil" or "double".', lambda scale: scale in ("ceil", "double"))
THREE_QUARTERS = Hypothesis(
    "three_quarters_scale", 'Scales are the specification\'s, and entries go in times 3/4: "three_quarters".',
    lambda scale: scale == "three_quarters",
)  # fmt: skip
NOTHING_CLIPPED = Hypothesis(
    "nothing_clipped",
    'Scales are "rceil", "ceil", "double" or "three_quarters": no entry lies beyond the largest element.',
    lambda scale: scale in ("rceil", "ceil", "double", "three_quarters"),
)
STEADY_SCALE = Hypothesis(
    "steady_scale",
    'Scales are "floor", "even", "rceil" or "ceil".',
    lambda scale: scale in ("floor", "even", "rceil", "ceil"),
)
UNSTEADY_SCALE = Hypothesis(
    "unsteady_scale", 'Scales are "double" or "three_quarters".', lambda scale: scale in ("double", "three_quarters")
)
OCP_OR_EVEN = Hypothesis("clipping_scale", 'Scales are "floor" or "even".', lambda scale: scale in ("floor", "even"))
BY_POWERS = Hypothesis(
    "factor_of_two", "The factor is a power of two.", lambda factor: factor in (2, Fraction(1, 8), 64)
)
NO_POWER = Hypothesis(
    "factor_not_of_two", "The factor is no power of two.", lambda factor: factor not in (2, Fraction(1, 8), 64)
)
NEAREST_SCALE = Hypothesis(
    "nearest_scale", "Scales are rounded to the nearest number of E4M3.", lambda scale: scale == "nearest"
)
UP_SCALE = Hypothesis("up_scale", "Scales are rounded up to E4M3.", lambda scale: scale == "up")
SHORT_BLOCKS = Hypothesis("short_blocks", "Blocks have at most 19 entries; the format has 16.", block <= 19)
UNIFORM_DENSITY = Hypothesis("uniform_density", "The density is uniform.", lambda density: density == "uniform")
LINEAR_DENSITY = Hypothesis(
    "linear_density",
    "The density falls linearly, to zero at the largest element.",
    lambda density: density == "falling",
)
ANY_DENSITY = Hypothesis(
    "either_density", "The density is uniform, or falls linearly.", lambda density: density in ("uniform", "falling")
)
EQUIDISTANT = Hypothesis("equidistant", "Elements are equidistant: INT8, INT4.", lambda element: element[0] == "i")
PARTS_ALIKE = Hypothesis("parts_alike", "P divides n: all parts have one size.", sp.Eq(sp.Mod(n, P), 0))
PARTS_OF_BLOCKS = Hypothesis(
    "parts_of_blocks",
    "P blocks divide n, and so do P bytes of elements: a part has whole blocks, and whole bytes.",
    Eq(sp.Mod(n, P * block), 0) & Eq(sp.Mod(elementbits * n, 8 * P), 0),
)
ROUND_A_RING = Hypothesis("round_a_ring", "The schedule is the ring.", lambda schedule: schedule == "ring")
IN_TWO_STEPS = Hypothesis(
    "in_two_steps", "The schedule is direct: two roundings.", lambda schedule: schedule == "direct"
)
ONE_ENTRY_BLOCKS = Hypothesis("one_entry_blocks", "Blocks have one entry.", Eq(block, 1))
TO_NEAREST_CODE = Hypothesis("to_nearest_code", "Codes are rounded to nearest.", lambda rounding: rounding == "nearest")
INDEPENDENT_CODES = Hypothesis(
    "independent_codes", "Codes are rounded stochastically, independently.", lambda rounding: rounding == "independent"
)
CORRELATED_CODES = Hypothesis(
    "correlated_codes", "Codes are rounded stochastically, with uniforms spread evenly over the ranks.",
    lambda rounding: rounding == "correlated",
)  # fmt: skip
DRAWN_CODES = Hypothesis("drawn_codes", "Codes are rounded stochastically.", lambda rounding: rounding != "nearest")
EQUAL_FRACTIONS = Hypothesis("equal_fractions", "The ranks' entries are equal.", lambda alike: alike)
A_PAIR_OF_RANKS = Hypothesis("a_pair_of_ranks", "There are two ranks.", Eq(P, 2))
SEVERAL_OF_RANKS = Hypothesis("two_ranks_or_more", "There are at least two ranks.", Ge(P, 2))
SEVERAL_ENTRIES_ROTATED = Hypothesis(
    "rotated_together", "At least four entries are rotated together.", lambda dim: dim >= 4
)
