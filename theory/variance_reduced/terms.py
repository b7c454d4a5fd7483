"""Symbols, quantities, hypotheses and works of the column variance_reduced."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Eq, Hypothesis, Le
from commbounds.theory.feedback.terms import smoothness, smoothness_apart, stepsize
from commbounds.theory.quantities import P, Quantity, k, n
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

DEEPSPEED_AT = Repository("deepspeedai/DeepSpeed", "edaa7221267243c7be7fb49c5d5f5c4fb97b4641")
REMOVED = "pull request 8490 removed 1-bit Adam, 1-bit LAMB and 0/1 Adam; release 0.19.8 has none of them"
FLPYTORCH_AT = Repository("burlachenkok/flpytorch", "23a201b7c0e6788ec84c56d903aa01759a1d69d9")
THREE_PC_AT = Repository("IgorSokoloff/3pc_experiments_source_code", "619d1fd5fd6fb9c067b4ed901b01ebe57a8305c1")
DASHA_AT = Repository("mysteryresearcher/dasha", "2fd42b752cbfcd285de9a9c588cc43d5c7e354df")
DIANA_2019 = Work(
    "K. Mishchenko, E. Gorbunov, M. Takáč, P. Richtárik, 2019, Distributed learning with compressed gradient "
    "differences, arXiv:1901.09269"
)
HORVATH_VR_2019 = Work(
    "S. Horváth, D. Kovalev, K. Mishchenko, P. Richtárik, S. U. Stich, 2019, Stochastic distributed learning with "
    "gradient quantization and variance reduction, arXiv:1904.05115"
)
FLPYTORCH_2022 = Work(
    "K. Burlachenko, S. Horváth, P. Richtárik, FL_PyTorch: optimization research simulator for federated learning, "
    "arXiv:2202.03099"
)
MARINA_2021 = Work(
    "E. Gorbunov, K. Burlachenko, Z. Li, P. Richtárik, 2021, MARINA: faster non-convex distributed learning with "
    "compression, arXiv:2102.07845"
)
DASHA_2022 = Work(
    "A. Tyurin, P. Richtárik, 2022, DASHA: distributed nonconvex optimization with communication compression, optimal "
    "oracle complexity, and no client synchronization, arXiv:2202.01268"
)
THREE_PC_2022 = Work(
    "P. Richtárik, I. Sokolov, I. Fatkhullin, E. Gasanov, Z. Li, E. Gorbunov, 2022, 3PC: three point compressors for "
    "communication-efficient distributed training and a better theory for lazy aggregation, arXiv:2202.00998"
)
EF21P_2022 = Work(
    "K. Gruntkowska, A. Tyurin, P. Richtárik, 2022, EF21-P and friends: improved theoretical communication complexity "
    "for distributed optimization with bidirectional compression, arXiv:2209.15218"
)
ONEBIT_ADAM_2021 = Work(
    "H. Tang, S. Gan, A. A. Awan, S. Rajbhandari, C. Li, X. Lian, J. Liu, C. Zhang, Y. He, 2021, 1-bit Adam: "
    "communication efficient large-scale training with Adam's convergence speed, arXiv:2102.02888"
)
DEEPSPEED_DOCS = Work(
    "DeepSpeed, documentation: tutorial on 1-bit Adam, deepspeed.ai/tutorials/onebit-adam", "The page was read."
)

# --- symbols -----------------------------------------------------------------------------------------------------

omega = Symbol("omega", r"\omega", 3, nonnegative=True)
"""Variance factor of an unbiased compressor, E||C(x) - x||^2 = omega ||x||^2: n/k - 1 of Rand-K."""
weight = Symbol("weight", "a", Fraction(1, 8), nonnegative=True)
"""Of a message in a new shift (DIANA), and of an estimate's error in a message (DASHA); in [0, 1]."""
shift_gap = Symbol("shift_gap", r"\left(\tfrac1P\sum_i\lVert g_i-h_i\rVert^2\right)", Fraction(5), nonnegative=True)
"""Mean over the workers of ||g_i - h_i||^2, gradient and shift, before the step."""
shift_error = Symbol(
    "shift_error", r"\left(\tfrac1P\sum_i\lVert h_i-g_i^*\rVert^2\right)", Fraction(7), nonnegative=True
)
"""Mean over the workers of ||h_i - g*_i||^2, g*_i fixed vectors: their gradients at the minimiser of f."""
target_gap = Symbol("target_gap", r"\left(\tfrac1P\sum_i\lVert g_i-g_i^*\rVert^2\right)", Fraction(3), nonnegative=True)
"""Mean over the workers of ||g_i - g*_i||^2."""
to_minimiser = Symbol("to_minimiser", r"\lVert x-x^*\rVert^2", Fraction(2), nonnegative=True)
"""||x - x*||^2 before the step."""
leastconvexity = Symbol("leastconvexity", r"\mu", Fraction(1, 3), positive=True)
"""mu of a mu-strongly convex f."""
largest_smoothness = Symbol("largest_smoothness", r"L_{\max}", Fraction(3, 2), positive=True)
"""Largest smoothness of a worker's function; at least that of f."""
mean_smoothness = Symbol("mean_smoothness", r"\bar L", Fraction(6, 5), positive=True)
"""Mean of the smoothness constants of the workers' functions; at least that of f, and L~ over the root of P."""
full_probability = Symbol("full_probability", "p", Fraction(1, 4), positive=True)
"""Probability that a step of MARINA sends whole gradients; in (0, 1]."""
estimate_gap = Symbol("estimate_gap", r"\lVert g-\nabla f\rVert^2", Fraction(4), nonnegative=True)
"""Squared distance of the estimate from the average gradient, before the step."""
part_gap = Symbol("part_gap", r"\left(\tfrac1P\sum_i\lVert g_i-\nabla_i\rVert^2\right)", Fraction(6), nonnegative=True)
"""Mean over the workers of the squared distance of their part of the estimate from their gradient."""
mean_turn = Symbol("mean_turn", r"\left(\tfrac1P\sum_i\lVert\Delta_i\rVert^2\right)", Fraction(2, 3), nonnegative=True)
"""Mean over the workers of ||grad_i+ - grad_i||^2."""
part_offer = Symbol(
    "part_offer", r"\left(\tfrac1P\sum_i\lVert\Delta_i-a(g_i-\nabla_i)\rVert^2\right)", Fraction(9, 2), nonnegative=True
)
"""Mean over the workers of the squared norm of what DASHA compresses."""
excess_before = Symbol("excess_before", "(f-f^*)", Fraction(3), nonnegative=True)
"""f - f* before the step."""
squared_slope = Symbol("squared_slope", r"\lVert\nabla f\rVert^2", Fraction(5, 2), nonnegative=True)
"""||grad f||^2 before the step."""
trigger = Symbol("trigger", r"\zeta", Fraction(2), nonnegative=True)
"""zeta: how many times the turn of its gradient a worker's estimate may be off by, squared, before it sends."""
kept_share = Symbol("kept_share", r"\alpha", Fraction(1, 4), positive=True)
"""Contraction of Top-K, k/n."""
model_gap = Symbol("model_gap", r"\lVert w-x\rVert^2", Fraction(5), nonnegative=True)
"""Squared distance of the workers' model from the server's weights, before the step."""
weights_turn = Symbol("weights_turn", r"\lVert x^+-x\rVert^2", Fraction(1, 2), nonnegative=True)
"""||x+ - x||^2 of the server's weights."""
senders = Symbol("senders", "S", 2, integer=True, nonnegative=True)
"""Workers that send anything."""
scalebytes = Symbol("scalebytes", "w", 4, integer=True, positive=True)
"""Bytes of a scale: 4 or 8."""
largest_scale = Symbol("largest_scale", r"\max_t s_t", Fraction(3), nonnegative=True)
"""Largest scale that a worker has sent."""
smallest_scale_sent = Symbol("smallest_scale_sent", r"\min_t s_t", Fraction(2), nonnegative=True)
"""Smallest scale that a worker has sent."""
onebit_steps = Symbol("onebit_steps", "T", 3, integer=True, positive=True)
"""Steps of 1-bit momentum."""

left = sp.sqrt(1 - kept_share)
"""q of Top-K: what compression may leave out, ||C(x) - x|| <= q ||x||."""
keeping = 1 - left
"""theta = 1 - q."""
adding = (1 - kept_share) / (1 - left)
"""beta = q^2/(1 - q)."""

# --- quantities --------------------------------------------------------------------------------------------------

STEP_BIAS = Quantity(
    "step_bias",
    r"\lVert\mathbb{E}\,g^+-\nabla f^+\rVert^2",
    "squared distance of the estimate's expectation, given all before the step, from the average gradient",
)
RUN_BIAS = Quantity(
    "run_bias",
    r"\lVert\mathbb{E}\,[g^T-\nabla f(x^T)]\rVert^2",
    "squared norm of the expected difference between estimate and average gradient after all steps",
)
STEP_VARIANCE = Quantity(
    "step_variance",
    r"\mathbb{E}\,\lVert g^+-\nabla f^+\rVert^2",
    "expected squared distance of the estimate from the average gradient, after the step",
)
PART_ERROR = Quantity(
    "part_error",
    r"\mathbb{E}\,\tfrac1P\sum_i\lVert g_i^+-\nabla_i^+\rVert^2",
    "mean over the workers of the squared distance of their part of the estimate from their gradient, after the step, "
    "expected",
)
SHIFT_GAP_AFTER = Quantity(
    "shift_gap_after",
    r"\mathbb{E}\,\tfrac1P\sum_i\lVert g_i-h_i^+\rVert^2",
    "mean over the workers of the squared distance of the new shift from the gradient, expected",
)
SHIFT_ERROR_AFTER = Quantity(
    "shift_error_after",
    r"\mathbb{E}\,\tfrac1P\sum_i\lVert h_i^+-g_i^*\rVert^2",
    "mean over the workers of the squared distance of the new shift from a fixed vector of the worker, expected",
)
SHIFT_DEFECT = Quantity(
    "shift_defect",
    r"\max_j\left|\hat g-\tfrac1P\sum_ih_i^+\right|_j",
    "largest difference between an entry of the estimate and of the average of the new shifts",
)
DIANA_POTENTIAL = Quantity(
    "diana_potential",
    r"\mathbb{E}\,\lVert x^+-x^*\rVert^2+\tfrac cP\sum_i\mathbb{E}\,\lVert h_i^+-g_i^*\rVert^2",
    "expected squared distance from the minimiser and c times the mean squared distance of the shifts from the "
    "gradients there, after a step; c is the factor of the latter on the right",
)
TRACKED_POTENTIAL = Quantity(
    "tracked_potential",
    r"\mathbb{E}\,f(x^+)-f^*+\tfrac{\gamma}{2p}\mathbb{E}\,\lVert g^+-\nabla f(x^+)\rVert^2",
    "expected excess of f and gamma/(2 p) times the squared distance of the estimate from the gradient, after a step",
)
DASHA_POTENTIAL = Quantity(
    "dasha_potential",
    r"\mathbb{E}\,f(x^+)-f^*+c_1\mathbb{E}\,\lVert g^+-\nabla f^+\rVert^2+\tfrac{c_2}P\sum_i\mathbb{E}\,"
    r"\lVert g_i^+-\nabla_i^+\rVert^2",
    "expected excess of f and, times the factors that they have on the right, the squared distance of the estimate "
    "from the gradient and the mean one of the workers' parts of it, after a step",
)
MODEL_ERROR = Quantity(
    "model_error", r"\lVert w^+-x^+\rVert^2", "squared distance of the workers' model from the weights, after a step"
)
PRIMAL_POTENTIAL = Quantity(
    "primal_potential",
    r"f(x^+)-f^*+\tfrac{\gamma L^2}{2\theta}\lVert w^+-x^+\rVert^2",
    "excess of f at the server's weights and gamma L^2/(2 theta) times the model's squared distance from them, after a "
    "step",
)
EXPECTED_SENT = Quantity(
    "expected_sent", r"\mathbb{E}\,\max_p\mathrm{sent}_p", "words sent by the busiest rank, expected over the coin"
)
ALL_SENT = Quantity("all_sent", r"\sum_p\mathrm{sent}_p", "words sent by all ranks together")
SENDING = Quantity("sending", "S^+", "workers that send anything in the step")
SIGN_ERROR = Quantity(
    "sign_error",
    r"\frac{\lVert s\,\mathrm{sign}(p)-p\rVert^2}{\lVert p\rVert^2}",
    "error of a worker's compression over its input, both squared norms; the input is not zero",
)
ZERO_ENTRY_ERROR = Quantity(
    "zero_entry_error", r"\max_j|e_j^T|", "largest residual of a worker in an entry whose gradient is always zero"
)
ONEBIT_DEFECT = Quantity(
    "onebit_defect",
    r"\left\lVert x^T-x^0+\gamma V^{-1/2}\left(\sum_t\bar g^t+\tfrac{\beta(u^0-u^T)+\epsilon^0-\epsilon^T}{1-\beta}"
    r"\right)\right\rVert_\infty",
    "largest difference between the weights and what uncompressed momentum and the errors of the last step, averaged "
    "over the workers and with the server's, make of the first ones; V is that of the last step",
)

# --- hypotheses --------------------------------------------------------------------------------------------------

RANDOM = Hypothesis("random_entries", "Every rank sends k random entries, times n/k.", lambda keep: keep == "random")
LARGEST = Hypothesis("largest_entries", "Every rank sends its k largest entries.", lambda keep: keep == "largest")
DRAWN_ALONE = Hypothesis(
    "drawn_alone",
    "Every rank's entries are drawn independently of all others'.",
    ensured="All choices of all ranks are enumerated, with equal probabilities.",
)
SMALL_WEIGHT = Hypothesis("small_weight", "The weight is at most 1/(1 + omega).", Le(weight * (1 + omega), 1))
WEIGHT_AT_MOST_ONE = Hypothesis("weight_at_most_one", "The weight is at most 1.", Le(weight, 1))
WEIGHT_ONE = Hypothesis("weight_one", "The weight is 1.", Eq(weight, 1))
DASHA_WEIGHT = Hypothesis("dasha_weight", "The weight is at most 1/(1 + 2 omega).", Le(weight * (1 + 2 * omega), 1))
DASHA_OWN_WEIGHT = Hypothesis("dasha_own_weight", "The weight is 1/(1 + 2 omega).", Eq(weight * (1 + 2 * omega), 1))
AVERAGED_PARTS = Hypothesis(
    "averaged_parts", "The estimate is the average of the workers' parts of it.", ensured="Every case begins like this."
)
CONVEX_PARTS = Hypothesis(
    "convex_parts",
    "Every worker's function is convex and smooth with the largest smoothness, f is L-smooth and mu-strongly convex.",
    ensured="The functions are diagonal quadratics.",
)
DIANA_STEP = Hypothesis(
    "diana_step",
    "The weight is 1/(1 + omega), and the step size at most 1/(L_max (1 + 6 omega/P)).",
    Eq(weight * (1 + omega), 1) & Le(stepsize * largest_smoothness * (1 + 6 * omega / P), 1),
)
DIANA_CODE_STEP = Hypothesis(
    "diana_code_step",
    "The weight is 1/(1 + omega), and the step size at most 1/(L_max (1 + 4 omega/P)).",
    Eq(weight * (1 + omega), 1) & Le(stepsize * largest_smoothness * (1 + 4 * omega / P), 1),
)
DIANA_SHARP_STEP = Hypothesis(
    "diana_sharp_step",
    "a (1 + omega) < 1, and the step size gamma has gamma L + gamma L_max omega/(P (1 - a (1 + omega))) <= 1.",
    Le(
        stepsize * (smoothness * P * (1 - weight * (1 + omega)) + largest_smoothness * omega),
        P * (1 - weight * (1 + omega)),
    )
    & sp.Lt(weight * (1 + omega), 1),
)
SHIFTING = Hypothesis("shifting", "The weight is positive.", sp.Gt(weight, 0))
SHARED_COIN = Hypothesis(
    "shared_coin",
    "One coin decides for all ranks.",
    ensured="Both sides are enumerated and weighted with their probabilities.",
)
FIRST_FULL = Hypothesis(
    "first_full",
    "The first estimate is the average gradient, and all steps have one step size.",
    ensured="Every run begins like this; its functions are quadratics.",
)
SMOOTH_PARTS = Hypothesis(
    "smooth_parts",
    "f is L-smooth and bounded below by f*; the root of the mean squared smoothness of the workers' functions is L~.",
    ensured="The functions are diagonal quadratics, whose average is convex; L and L~ are of their curvatures.",
)
MARINA_STEP = Hypothesis(
    "marina_step",
    "The step size is at most 1/(L + L~ sqrt((1 - p) omega/(p P))).",
    Le(
        stepsize * (smoothness + smoothness_apart * sp.sqrt((1 - full_probability) * omega / (full_probability * P))), 1
    ),
)
MARINA_LARGEST_STEP = Hypothesis(
    "marina_largest_step",
    "The step size gamma has L gamma + (L~ gamma)^2 (1 - p) omega/(p P) <= 1.",
    Le(
        smoothness * stepsize
        + (smoothness_apart * stepsize) ** 2 * (1 - full_probability) * omega / (full_probability * P),
        1,
    ),
)
DASHA_STEP = Hypothesis(
    "dasha_step",
    "The step size gamma has L gamma + (L~ gamma)^2 2 omega (2 omega + 1)/P <= 1.",
    Le(smoothness * stepsize + (smoothness_apart * stepsize) ** 2 * 2 * omega * (2 * omega + 1) / P, 1),
)
DASHA_CODE_STEP = Hypothesis(
    "dasha_code_step",
    "The step size is at most 1/(L + L~ sqrt(omega (4 omega + 1)/P)).",
    Le(stepsize * (smoothness + smoothness_apart * sp.sqrt(omega * (4 * omega + 1) / P)), 1),
)
DASHA_MEAN_STEP = Hypothesis(
    "dasha_mean_step",
    "The step size is at most 1/(L_mean + L~ sqrt(omega (4 omega + 1)/P)), L_mean the mean of the workers' constants.",
    Le(stepsize * (mean_smoothness + smoothness_apart * sp.sqrt(omega * (4 * omega + 1) / P)), 1),
)
ALIKE_ENOUGH = Hypothesis(
    "alike_enough",
    "omega L~^2 <= P (4 omega + 1) L^2.",
    Le(omega * smoothness_apart**2, P * (4 * omega + 1) * smoothness**2),
)
WHOLE_MESSAGES = Hypothesis("whole_messages", "A worker that sends sends its whole correction: k = n.", Eq(k, n))
SHARE_OF_ENTRIES = Hypothesis("share_of_entries", "The contraction of Top-K is k/n.", Eq(kept_share * n, k))
FRESH = Hypothesis(
    "fresh_parts",
    "Every worker's part of the estimate is its last gradient, as at first and after it was sent, and every gradient "
    "changes.",
    lambda fresh: fresh,
)
TRIGGER_BELOW_ONE = Hypothesis("trigger_below_one", "The trigger is below 1.", sp.Lt(trigger, 1))
SEVERAL = Hypothesis("several_senders", "There are two ranks at least.", Le(2, P))
EQUAL_BLOCKS = Hypothesis("equal_blocks", "The number of ranks divides n.", Eq(sp.Mod(n, P), 0))
BYTE_BLOCKS = Hypothesis("byte_blocks", "Eight times the number of ranks divides n.", Eq(sp.Mod(n, 8 * P), 0))
SINGLE_PRECISION = Hypothesis("single_precision", "Numbers are float32.", lambda dtype: dtype == "float32")
EF21P_STEP = Hypothesis(
    "ef21p_step",
    "The step size gamma has L gamma + (L gamma)^2 beta/theta <= 1.",
    Le(smoothness * stepsize + (smoothness * stepsize) ** 2 * adding / keeping, 1),
)
NORM_SCALE = Hypothesis(
    "signs_by_norm", "Signs are multiplied by the norm over the root of n.", lambda scale: scale == "norm"
)
OFFERED = Hypothesis("something_offered", "The compressed vector is not zero.", lambda x: bool(x.any()))
FROZEN = Hypothesis("frozen_variance", "The variance is the same in all steps.", lambda frozen: frozen)
MOVING = Hypothesis("moving_variance", "The variance may change between steps.", lambda frozen: frozen in (True, False))
SILENT_ENTRIES = Hypothesis(
    "silent_entries",
    "Some entries of the worker's gradient are zero in all steps; there is neither momentum nor residual at first.",
    ensured="Every case is built this way.",
)
NO_MOMENTUM = Hypothesis("onebit_no_momentum", "beta = 0: every step sends its gradient.", lambda beta: beta == 0)
COIN_RATIO = Hypothesis("coin_ratio", "Whole gradients are sent with probability k/n.", Eq(full_probability * n, k))
