"""Symbols, quantities, hypotheses and works about 1-bit LAMB."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Eq, Hypothesis, Le
from commbounds.theory.quantities import Quantity, n
from commbounds.theory.sources import Work
from commbounds.theory.symbols import Symbol

LAMB_2020 = Work(
    "Y. You, J. Li, S. Reddi, J. Hseu, S. Kumar, S. Bhojanapalli, X. Song, J. Demmel, K. Keutzer, C.-J. Hsieh, 2020, "
    "Large batch optimization for deep learning: training BERT in 76 minutes, arXiv:1904.00962"
)
LAMB_DOCS = Work(
    "DeepSpeed, documentation: tutorial on 1-bit LAMB, deepspeed.ai/tutorials/onebit-lamb", "The page was read."
)

trust_factor = Symbol("trust_factor", "b", Fraction(2, 3), nonnegative=True)
"""Share that the average of LAMB's coefficients keeps in a step; below 1."""
lamb_steps = Symbol("lamb_steps", "T", 5, integer=True, positive=True)
"""Steps of 1-bit LAMB, of the stage that is spoken of or in all."""
lamb_warm = Symbol("lamb_warm", "T_w", 2, integer=True, nonnegative=True)
"""Those of them that are the warm-up."""
fused_length = Symbol("fused_length", "m", 24, integer=True, positive=True)
"""Entries of the fused message: all layers', and the padding."""
plain_error = Symbol("plain_error", r"\lVert e\rVert^2", Fraction(7), nonnegative=True)
"""Square of what is left out of all layers that are fused as they are."""
lamb_threshold = Symbol("lamb_threshold", r"\theta", Fraction(1, 7), nonnegative=True)
"""Share by which the factor may change in a step; below 1."""
carried_errors = Symbol("carried_errors", r"\max_j\sum_{t<T}f_t|A_{t,j}|", Fraction(4), nonnegative=True)
"""Largest entry of the sum of f_t |A_t| over all steps but the last, A_t what errors have added to momenta up to t."""
rescaled = Symbol("rescaled", r"\kappa", Fraction(5, 2), positive=True)
"""Coefficients that layers are multiplied by, over those of the step before; one number for all layers."""
left_behind = Symbol("left_behind", r"\lVert\epsilon/c\rVert_\infty", Fraction(3), nonnegative=True)
"""Largest entry of what the step before has left out, over its coefficients: ranks on average, and servers."""
size_before = Symbol("size_before", r"\lVert u\rVert_\infty", Fraction(2), nonnegative=True)
"""Largest entry of the layer's momentum before a step."""
size_after = Symbol("size_after", r"\lVert u^+\rVert_\infty", Fraction(3), nonnegative=True)
"""Largest entry of the layer's momentum after it."""
second_factor = Symbol("second_factor", r"\beta_2", Fraction(3, 4), positive=True)
"""beta_2 of the second moment, below 1."""
factor_least = Symbol("factor_least", r"f_{\min}", Fraction(1, 2), nonnegative=True)
"""Least factor of a frozen coefficient."""
factor_most = Symbol("factor_most", r"f_{\max}", Fraction(4), positive=True)
"""Largest factor of a frozen coefficient."""
frozen_trust = Symbol("frozen_trust", "c", Fraction(5, 3), nonnegative=True)
"""The layer's frozen coefficient."""
lamb_factor = Symbol("lamb_factor", "f", Fraction(7, 6), nonnegative=True)
"""By what it is multiplied in this step."""
layer_size = Symbol("layer_size", "n_l", 6, integer=True, positive=True)
"""Entries of the layer."""
least_root = Symbol("least_root", r"\min_jD_j", Fraction(1, 4), positive=True)
"""Least entry of the root of the layer's frozen variance, epsilon added."""
layer_norm = Symbol("layer_norm", r"\lVert x_l\rVert", Fraction(9), nonnegative=True)
"""Euclidean norm of the layer's weights before the step."""

FROZEN_SHARE = Quantity(
    "frozen_share", r"\frac{c^{\mathrm{frozen}}}{c}", "frozen coefficient of a layer over the one of all its steps"
)
SCALED_LAYER = Quantity(
    "scaled_layer",
    r"\frac{\lVert c_l^{-1}s\,\mathrm{sign}(c_lu_l)-u_l\rVert^2}{\lVert u_l\rVert^2}",
    "error of a layer in the message of layers scaled by their coefficients, over the layer, both squared norms in the "
    "momentum's unit",
)
SCALED_ERROR = Quantity(
    "scaled_error",
    r"\sum_l\lVert c_l^{-1}s\,\mathrm{sign}(c_lu_l)-u_l\rVert^2",
    "squared error of all layers of a rank at one scale, in the momentum's unit",
)
LAMB_DEFECT = Quantity(
    "lamb_defect",
    r"\left\lVert\tfrac{D(x^T-x^0)}{\gamma c}+\sum_tf_t\bar u^t+\tfrac{f_T}{1-\beta}\left(\epsilon^0-\epsilon^T"
    r"-\beta(u^T-\bar u^T)\right)\right\rVert_\infty",
    "largest difference between the weights and what uncompressed momentum, with the same factors, and the errors of "
    "the last step make of the first ones; errors over the layers' scales, in the unit in which the weights move",
)
SCALE_LEAK = Quantity(
    "scale_leak",
    r"\left\lVert u^+-\beta u-(1-\beta)\bar g-\tfrac{\epsilon}{c}+\tfrac{\epsilon^+}{c^+}\right\rVert_\infty",
    "largest difference of the momentum from what the uncompressed one and the errors make, each over the coefficients "
    "with which it was left out",
)
RECONSTRUCTED = Quantity(
    "reconstructed",
    r"\max_j|r_j|",
    "largest entry of the gradient that the layer's fresh variance takes in, reconstructed from momenta",
)
LAMB_FACTOR = Quantity("lamb_factor_after", "f_T", "factor of a frozen coefficient after T steps")
LAMB_MOVE = Quantity("lamb_move", r"\lVert x_l^+-x_l\rVert", "how far a step of 1-bit LAMB moves a layer")
LAMB_SAVED = Quantity(
    "lamb_saved",
    r"\frac{\mathrm{sent}(\mathrm{LAMB})}{\mathrm{sent}}",
    "bytes that the rank that sends most would send in all steps of LAMB, over those with a compression stage",
)

LAMB_ONE_COEFFICIENT = Hypothesis(
    "lamb_one_coefficient",
    "The layer's coefficient is at one of its bounds in all steps of the warm-up.",
    lambda clipped: clipped,
)
LAMB_NEVER_ONE = Hypothesis("lamb_never_one", "That bound is not one.", lambda bound: bound != 1)
LAMB_LONG_WARMUP = Hypothesis(
    "lamb_long_warmup", "The warm-up has at least 1/(1 - b) steps.", Le(1, lamb_steps * (1 - trust_factor))
)
LAMB_AT_FREEZE = Hypothesis(
    "lamb_at_freeze",
    "What is offered is the momentum of the end of the warm-up, and there are no residuals.",
    ensured="Every case is built this way, with one equal gradient per rank.",
)
LAMB_UNPADDED = Hypothesis("lamb_unpadded", "There is no padding.", Eq(fused_length, n))
LAMB_EQUALLY_FLAT = Hypothesis(
    "lamb_equally_flat", "All layers are equally flat: mean magnitude over root mean square.", lambda alike: alike
)
LAMB_STILL = Hypothesis("lamb_still", "The factor may not change: its threshold is zero.", Eq(lamb_threshold, 0))
LAMB_UNMASKED = Hypothesis("lamb_unmasked", "Nothing is masked.", lambda masked: not masked)
LAMB_MASKED = Hypothesis(
    "lamb_masked",
    "An entry of the layer is masked, whose gradient was zero in the warm-up: its variances are zero.",
    lambda masked: masked,
)
LAMB_SCALES_STAY = Hypothesis(
    "lamb_scales_stay",
    "Layers are multiplied by the same coefficients in all steps.",
    ensured="They are given once per run, as in the authors' code.",
)
LAMB_UNDECAYED = Hypothesis("lamb_undecayed", "1-bit LAMB has no weight decay.", lambda loss: loss == 0)
LAMB_FROM_ONE = Hypothesis(
    "lamb_from_one",
    "The factor is one at first, and the fresh variance the frozen one.",
    ensured="Every run begins like this.",
)
LAMB_INSIDE = Hypothesis(
    "lamb_inside", "The factor's bounds hold one between them.", sp.And(Le(factor_least, 1), Le(1, factor_most))
)
LAMB_TRUSTED = Hypothesis(
    "lamb_trusted",
    "The frozen coefficient is LAMB's of the step before: the norm of the weights over that of the update.",
    lambda trusted: trusted,
)
