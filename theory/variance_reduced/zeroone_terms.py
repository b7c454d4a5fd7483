"""Symbols, quantities, hypotheses and works about 0/1 Adam, and about layers that share a scale."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Eq, Hypothesis
from commbounds.theory.feedback.terms import stepsize
from commbounds.theory.quantities import Quantity
from commbounds.theory.sources import Work
from commbounds.theory.symbols import Symbol

ZEROONE_2022 = Work(
    "Y. Lu, C. Li, M. Zhang, C. De Sa, Y. He, 2022, Maximizing communication efficiency for large-scale training "
    "via 0/1 Adam, arXiv:2202.06009"
)
ZEROONE_DOCS = Work(
    "DeepSpeed, documentation: tutorial on 0/1 Adam, deepspeed.ai/tutorials/zero-one-adam", "The page was read."
)
ONEBIT_LAMB_2021 = Work(
    "C. Li, A. A. Awan, H. Tang, S. Rajbhandari, Y. He, 2021, 1-bit LAMB: communication efficient large-scale "
    "large-batch training with LAMB's convergence speed, arXiv:2104.06069"
)
ADAM_2015 = Work("D. P. Kingma, J. Ba, 2015, Adam: a method for stochastic optimization, arXiv:1412.6980")

momentum_factor = Symbol("momentum_factor", r"\beta", Fraction(3, 4), positive=True)
"""beta of Adam's momentum, below 1."""
local_steps = Symbol("local_steps", "H", 3, integer=True, positive=True)
"""Local steps of 0/1 Adam from one average to the next."""
averages = Symbol("averages", "S", 3, integer=True, positive=True)
"""Averages since the start."""
adam_decay = Symbol("adam_decay", r"\lambda", Fraction(1, 3), positive=True)
"""Weight decay that is added to Adam's update."""
adam_epsilon = Symbol("adam_epsilon", r"\epsilon", Fraction(1, 100), positive=True)
"""What is added to the root of Adam's variance."""
gradient_norm = Symbol("gradient_norm", r"\lVert g\rVert", Fraction(5, 2), nonnegative=True)
"""Euclidean norm of a gradient that all ranks have."""
kappa = Symbol("kappa", r"\kappa", 8, integer=True, positive=True)
"""Refreshes of the variance before its interval doubles."""
refresh = Symbol("refresh", "j", 9, integer=True, positive=True)
"""Number of a refresh, from 1 on."""
zeroone_steps = Symbol("zeroone_steps", "T", 24, integer=True, positive=True)
"""Steps of 0/1 Adam while its variance changes."""
refreshed = Symbol("refreshed", r"|\mathcal{T}_v|", 9, integer=True, nonnegative=True)
"""Steps among them at which the variance is refreshed."""
scale_ratio = Symbol("scale_ratio", r"\rho", Fraction(5, 2), nonnegative=True)
"""Root mean square of a message over that of one of its layers."""
flatness = Symbol("flatness", r"\phi", Fraction(3, 4), nonnegative=True)
"""Mean magnitude of a layer's entries over their root mean square; in (0, 1]."""

MOMENTUM_KEPT = Quantity(
    "momentum_kept", r"\frac{u^{H}}{u^0}", "momentum after an average over that before, where all gradients are zero"
)
DECAY_KEPT = Quantity(
    "decay_kept",
    r"\frac{|u^H|}{\lambda D|x^0|}",
    "momentum after an average over decay times weights, in the unit of the root of the variance, where gradients and "
    "momentum are zero before",
)
DECAY_LOST = Quantity(
    "decay_lost",
    r"\frac{x^0-x^S}{\gamma\lambda x^0}",
    "reduction of the weights by weight decay after S averages, over that of one step; gradients are zero",
)
AVERAGE_DEFECT = Quantity(
    "average_defect",
    r"\left\lVert D\left(x^H-\tfrac1P\sum_px_p^H\right)-(\epsilon^H-\epsilon^0)\right\rVert_\infty",
    "largest difference, in the unit of the root of the variance, between how far the weights after an average are "
    "from the average of the local ones, and the errors of the ranks on average and of the servers, less those before",
)
SILENT_MOVE = Quantity(
    "silent_move", r"|x_j^1-x_j^0|", "movement by an average of a weight whose gradient, momentum and variance are zero"
)
STEP_BYTES = Quantity("step_bytes", r"\tfrac1H\max_p\mathrm{sent}_p", "bytes sent by the busiest rank per local step")
REFRESH_GAP = Quantity("refresh_gap", r"t_{j+1}-t_j", "steps from a refresh of the variance to the next")
REFRESHES = Quantity("refreshes", r"|\mathcal{T}_v\cap[1,T]|", "refreshes of the variance in the first T steps")
RUN_BYTES = Quantity("run_bytes", r"\max_p\mathrm{sent}_p", "bytes sent by the busiest rank in all steps")
LAYER_ERROR = Quantity(
    "layer_error",
    r"\frac{\lVert s\,\mathrm{sign}(p_l)-p_l\rVert^2}{\lVert p_l\rVert^2}",
    "error of a layer of a message over the layer, both squared norms; the layer is not zero",
)

NO_GRADIENTS = Hypothesis("no_gradients", "All gradients are zero.", lambda silent: silent)
NO_DECAY = Hypothesis("no_decay", "There is no weight decay.", lambda decayed: not decayed)
DECAYING = Hypothesis("decaying", "There is weight decay, and no momentum before.", lambda decayed: decayed)
ONE_MAGNITUDE = Hypothesis(
    "one_magnitude",
    "Weights, momenta and variances have one magnitude, the same on all ranks, and there are no residuals.",
    lambda flat: flat,
)
EVERY_STEP = Hypothesis("every_step", "Ranks average at every step.", Eq(local_steps, 1))
FIRST_AVERAGE = Hypothesis("first_average", "It is the first average.", Eq(averages, 1))
SHORT_DECAY = Hypothesis(
    "short_decay",
    "gamma lambda S <= 1 - beta.",
    sp.Le(stepsize * adam_decay * averages, 1 - momentum_factor, evaluate=False),
)
RANKS_ALIKE = Hypothesis(
    "ranks_alike",
    "All ranks have one gradient, and no residuals, momentum or decay; a variance of zero where the gradient is.",
    ensured="Every case is built this way.",
)
INTERVALS_DIVIDE = Hypothesis(
    "intervals_divide",
    "The interval up to the refresh divides kappa.",
    Eq(sp.Mod(kappa, 2 ** sp.floor(refresh / kappa)), 0),
)
INTERVALS_DIVIDED = Hypothesis(
    "intervals_divided",
    "kappa is a power of two, and the steps at most kappa (2 kappa - 1): up to there all intervals divide it.",
    lambda kappa, zeroone_steps: kappa & (kappa - 1) == 0 and zeroone_steps <= kappa * (2 * kappa - 1),
)
