"""Symbols, quantities, hypotheses and works of the column feedback."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis, Le
from commbounds.theory.quantities import Quantity, alpha
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

stepsize = Symbol("stepsize", r"\gamma", Fraction(1, 8), positive=True)
"""gamma."""
eta = Symbol("eta", example=Fraction(1, 4), positive=True)
"""Weight of a new gradient in the momentum; in (0, 1]."""
smoothness = Symbol("smoothness", "L", Fraction(1), positive=True)
"""L of the average f."""
smoothness_apart = Symbol("smoothness_apart", r"\tilde L", Fraction(5, 4), positive=True)
"""Root of the mean squared smoothness of the workers' functions; at least L."""
convexity = Symbol("convexity", r"\mu", Fraction(1, 2), positive=True)
"""Polyak-Lojasiewicz constant of f."""
gap = Symbol("gap", "(f_0-f^*)", 3, nonnegative=True)
"""f - f* before the step, or at first."""
horizon = Symbol("horizon", "t", 4, integer=True, positive=True)
"""Steps."""
reach = Symbol("reach", "M", Fraction(3, 2), positive=True)
"""Largest norm of a step size times a gradient."""
lag = Symbol("lag", "G", Fraction(2), nonnegative=True)
"""Mean over the workers of ||g_i - h_i||^2, before the step; h_i is the gradient where there is no momentum."""
turn = Symbol("turn", r"\lVert\nabla^+-\nabla\rVert^2", Fraction(1, 2), nonnegative=True)
"""||grad+ - grad||^2 of one worker."""
shift = Symbol("shift", r"\lVert x^+-x\rVert^2", Fraction(1, 4), nonnegative=True)
"""||x+ - x||^2."""
slope = Symbol("slope", r"\lVert\nabla f(x)\rVert^2", Fraction(9, 4), nonnegative=True)
"""||grad f||^2 before the step."""
momentum_lag = Symbol("momentum_lag", r"\lVert\bar h-\nabla f\rVert^2", Fraction(3, 4), nonnegative=True)
"""||h - grad f||^2 of the averages, before the step; expected."""
own_lag = Symbol("own_lag", "H", Fraction(5, 4), nonnegative=True)
"""Mean over the workers of ||h_i - grad f_i||^2, before the step; expected."""
mean_lag = Symbol("mean_lag", r"\lVert\bar g-\bar h\rVert^2", Fraction(1), nonnegative=True)
"""||g - h||^2 of the averages."""
variance = Symbol("variance", r"\sigma^2", Fraction(1, 3), nonnegative=True)
"""Variance of a worker's stochastic gradient."""
virtual = Symbol("virtual", r"\lVert x-\bar e-x^*\rVert^2", Fraction(2), nonnegative=True)
"""||x - e - x*||^2 with the workers' average residual e, before the step."""
residual = Symbol("residual", r"E", Fraction(1), nonnegative=True)
"""Mean over the workers of ||e_i||^2, before the step."""
error_weight = Symbol("error_weight", r"\eta_e", Fraction(1, 4), nonnegative=True)
"""Weight of EControl's error in what is compressed; in [0, 1]."""
squared_error = Symbol("squared_error", r"\lVert e\rVert^2", Fraction(3), nonnegative=True)
"""||e||^2 of EControl's error, before the step."""
squared_offer = Symbol("squared_offer", r"\lVert w\rVert^2", Fraction(2), nonnegative=True)
"""||w||^2 of what EControl compresses in the step."""
potential = Symbol("potential", r"\Psi^0", Fraction(5), nonnegative=True)
"""f - f* + gamma/theta G at first."""

root = sp.sqrt(1 - alpha)
theta = 1 - root
beta = (1 - alpha) / (1 - root)
spread = (smoothness - convexity) / (smoothness + convexity)
"""k: how far apart the curvatures are; the factor of gradient descent at 2/(L + mu)."""
waved = sp.sqrt((1 - root) ** 2 * spread**2 + 4 * root)
"""Square root of the discriminant of z^2 = (1 - q) k z + q."""
surplus = (1 + root) * error_weight - (1 - root)
"""b: above or below the weight (1 - q)/(1 + q), at which EControl's error shrinks fastest."""
pace = sp.sqrt(surplus**2 + 4 * root)
"""Square root of the discriminant of rho^2 = b rho + q."""
share = Symbol("attained_share", "c", Fraction(7, 8), positive=True)
"""Largest share of a printed rate that few steps of so many workers come to, rounded up."""


TELESCOPING = Quantity(
    "telescoping",
    r"\left\lVert x^T-\bar e^T-x^0+\sum_{t<T}\gamma\bar g^t\right\rVert_\infty",
    "largest difference between the weights less the mean residual, and the weights of uncompressed steps with the "
    "same gradients",
)
RESIDUAL = Quantity("residual", r"\mathbb{E}\,\lVert e\rVert^2", "squared norm of a worker's residual")
MEAN_SQUARED_GRADIENT = Quantity(
    "mean_squared_gradient",
    r"\frac1T\sum_{t<T}\mathbb{E}\,\lVert\nabla f(x^t)\rVert^2",
    "squared norm of the gradient of f, averaged over the steps, expected over the gradients' noise",
)
ESTIMATE_LAG = Quantity(
    "estimate_lag",
    r"\mathbb{E}\,\lVert g^+-\nabla^+\rVert^2",
    "squared distance of a worker's estimate from its new gradient, after the step",
)
POTENTIAL = Quantity(
    "potential_after",
    r"f(x^+)-f^*+\frac{\gamma}{2\theta}G^+",
    "excess of f and gamma/(2 theta) times the mean squared lag of the estimates, after a step",
)
EXCESS = Quantity(
    "excess_potential",
    r"f(x^T)-f^*+\frac{\gamma}{\theta}G^T",
    "excess of f and gamma/theta times the mean squared lag of the estimates, at the end",
)
ENERGY = Quantity(
    "energy_after",
    r"q\lVert\nabla f(x^+)\rVert^2+G^+",
    "squared gradient of f times q = sqrt(1 - alpha), and the mean squared lag of the workers' estimates, after a step",
)
VIRTUAL_ENERGY = Quantity(
    "virtual_energy_after",
    r"q\lVert x^+-\bar e^+-x^*\rVert^2+E^+",
    "squared distance of the weights less the average residual from the minimiser, times q = sqrt(1 - alpha), and the "
    "mean squared residual of the workers, after a step",
)
EXCESS_AFTER = Quantity("excess_after", r"f(x^+)-f^*", "excess of f after a step")
MOMENTUM_LAG = Quantity(
    "momentum_lag_after",
    r"\mathbb{E}\,\lVert\bar h^+-\nabla f(x^+)\rVert^2",
    "squared distance of the average momentum from the gradient of f, after the step, expected over its noise",
)
COMPRESSION_LAG = Quantity(
    "compression_lag",
    r"\frac1P\sum_i\mathbb{E}\,\lVert g_i^+-h_i^+\rVert^2",
    "mean squared distance of the workers' estimates from their momenta, after the step, expected over the noise",
)
RATES_APART = Quantity(
    "rates_apart",
    r"\max_t\lVert x^t-y^t\rVert_\infty",
    "largest difference between the weights of P workers and those of a single one that is given the average gradients",
)
ORDER_DEFECT = Quantity(
    "order_defect",
    r"\left|1+\frac{\log(F_P/F_1)}{\log P}\right|",
    "distance from 1 of the order in 1/P at which the noise floor falls, the floor being the mean squared gradient "
    "after a long run",
)
GROWTH = Quantity("growth", r"x^1_j/x^0_j", "every entry of the weights after one step, over that before")
GROWTH_STEPS = Quantity(
    "growth_steps", r"\lVert x^T\rVert/\lVert x^0\rVert", "distance from the minimiser at the end, over that at first"
)

FLOORS = Quantity(
    "floors",
    r"\frac{F_P}{F_1}",
    "noise floor of P workers, the mean squared gradient of a run from the minimiser, over that of one worker whose "
    "noise is the root of P times the average of theirs",
)
STEP_DEFECT = Quantity(
    "step_defect",
    r"\left\lVert x^+-x+\tfrac\gamma P\sum_i g_i^+\right\rVert_\infty",
    "largest difference between a step of the weights and the step size times the average of the workers' estimates",
)

CONTROLLED = Quantity(
    "controlled",
    r"\left\lVert x^T-\gamma\bar e^T-x^0+\sum_{t<T}\gamma\bar g^t\right\rVert_\infty",
    "largest difference between the weights less the step size times the mean error, and the weights of uncompressed "
    "steps with the same gradients",
)
CONTROLLED_ENERGY = Quantity(
    "controlled_energy",
    r"\eta_e^2\lVert e^+\rVert^2+q\lVert w^+\rVert^2",
    "squared error times the squared weight of the error, and q = sqrt(1 - alpha) times the square of what is "
    "compressed next, after a step",
)
ERROR_GROWTH = Quantity(
    "error_growth", r"\lVert e^T\rVert/\lVert e^0\rVert", "norm of the error at the end, over that at first"
)

CONTRACTIVE = Hypothesis(
    "feedback_contractive",
    "Every vector is compressed with ||C(x) - x||^2 <= (1 - alpha) ||x||^2, 0 < alpha <= 1.",
    ensured="The compressor is Top-K, with alpha = K/n, or returns 1 - q of its input, with alpha = 1 - q^2.",
)
SMALL_GRADIENTS = Hypothesis(
    "small_gradients",
    "The step size times a gradient has norm at most M.",
    ensured="M is the largest of these norms in the case.",
)
SMALL_MEANS = Hypothesis(
    "small_means",
    "The step size times a worker's gradient without its noise has root mean square norm at most M.",
    ensured="M is the largest of these norms in the case.",
)
FULL_GRADIENTS = Hypothesis("full_gradients", "Workers compute their gradients without noise.", Eq(variance, 0))
SMOOTH = Hypothesis(
    "feedback_smooth",
    "f is L-smooth and bounded below by f*.",
    ensured="f is an average of quadratics, or of bounded functions that are not convex; L is its largest curvature "
    "or a bound on it, and f* its minimum or a little less.",
)
SMOOTH_APART = Hypothesis(
    "smooth_apart",
    "Worker i's function is L_i-smooth; the second smoothness is the root of their mean square.",
    ensured="Every L_i is the largest curvature of the worker's function, or a bound on it.",
)
HALF_STEP = Hypothesis("half_step", "The step size is at most 1/(2 L).", Le(stepsize, 1 / (2 * smoothness)))
EF21_STEP = Hypothesis(
    "ef21_step",
    "The step size is at most 1/(L + L~ sqrt(beta/theta)).",
    Le(stepsize, 1 / (smoothness + smoothness_apart * sp.sqrt(beta / theta))),
)
EF21_LARGEST_STEP = Hypothesis(
    "ef21_largest_step",
    "The step size gamma has L gamma + gamma^2 (beta/theta)(L~^2 + q L^2)/(1 + q) <= 1, q = sqrt(1 - alpha).",
    Le(
        smoothness * stepsize + stepsize**2 * beta / theta * (smoothness_apart**2 + root * smoothness**2) / (1 + root),
        1,
    ),
)
ONE_CONVEX_WORKER = Hypothesis(
    "one_convex_worker",
    "One worker, whose function is L-smooth and mu-strongly convex, 0 < mu < L, and whose gradients have no noise.",
    ensured="The function is a quadratic of curvatures between mu and L.",
)
CONVEX_WORKERS = Hypothesis(
    "convex_workers",
    "Every worker's function is L-smooth and mu-strongly convex, 0 < mu < L, and gradients have no noise.",
    ensured="The functions are quadratics of curvatures between mu and L.",
)
COMMON_MINIMISER = Hypothesis("common_minimiser", "All workers' functions have one minimiser.", ensured="It is zero.")
EF21_CONVEX_STEP = Hypothesis(
    "ef21_convex_step",
    "The step size is 2/(L + mu) times (1 - q)/(1 + q), q = sqrt(1 - alpha).",
    ensured="Every case makes one step of this size.",
)
FEW_STEPS = Hypothesis(
    "few_steps",
    "One worker, two to four steps, and the compressor's q, the step size and the share of a row of the table in "
    "theory/feedback/worst.py.",
    ensured="Every case is made for a row.",
)
FEW_STEPS_OF_WORKERS = Hypothesis(
    "few_steps_of_workers",
    "Two or three workers, two or three steps, each worker's function L-smooth, and the compressor's q, the step size "
    "and the share of a row of the table in theory/feedback/worst.py.",
    ensured="Every case is made for a row.",
)
CGD_STEP = Hypothesis(
    "cgd_step",
    "The step size is 2/((1 - r) mu + (1 + r) L), r = sqrt(1 - alpha).",
    ensured="Every case makes one step of this size.",
)
CGD_FIRST_STEP = Hypothesis(
    "cgd_first_step",
    "The step size is 2/((1 + r)(mu + L)), r = sqrt(1 - alpha).",
    ensured="Every case makes one step of this size.",
)
STANDING_GRADIENT = Hypothesis(
    "standing_gradient", "The worker's gradient is the same in every step.", ensured="Every case has one gradient."
)
SMALL_ERROR_WEIGHT = Hypothesis("error_weight", "The weight of the error is at most 1.", Le(error_weight, 1))
LARGE_ERROR_WEIGHT = Hypothesis(
    "large_error_weight",
    "The weight of the error is at least (1 - q)/(1 + q), q = sqrt(1 - alpha).",
    Ge(error_weight, (1 - root) / (1 + root)),
)
STRETCHED = Hypothesis(
    "stretched",
    "The compressor returns 1 + q of its input, q = sqrt(1 - alpha) > 0, and at first what is compressed is "
    "(1 - eta + rho)/q times the error.",
    ensured="Every case is built this way.",
)
PLAIN_STEP = Hypothesis(
    "gradient_descent_step", "The step size is at most 1/L, as for gradient descent.", Le(stepsize, 1 / smoothness)
)
WEIGHT = Hypothesis("momentum_weight", "The weight of a new gradient in the momentum is at most 1.", Le(eta, 1))
PL = Hypothesis("polyak_lojasiewicz", "||grad f||^2 >= 2 mu (f - f*), mu > 0.", lambda family: family == "quadratics")
EF21_PL_STEP = Hypothesis(
    "ef21_pl_step",
    "The step size is at most 1/(L + L~ sqrt(2 beta/theta)) and theta/(2 mu).",
    Le(stepsize, 1 / (smoothness + smoothness_apart * sp.sqrt(2 * beta / theta)))
    & Le(stepsize, theta / (2 * convexity)),
)
EF21M_STEP = Hypothesis(
    "ef21m_step",
    "The step size is at most alpha/(20 L~) and eta/(7 L).",
    Le(stepsize, alpha / (20 * smoothness_apart)) & Le(stepsize, eta / (7 * smoothness)),
)
ARC_STEP = Hypothesis(
    "arc_step",
    "The step size is at most alpha/(20 L) and eta/(7 L).",
    Le(stepsize, alpha / (20 * smoothness)) & Le(stepsize, eta / (7 * smoothness)),
)
INDEPENDENT_NOISE = Hypothesis(
    "feedback_noise",
    "Stochastic gradients are unbiased, independent, of variance at most sigma^2 per worker.",
    ensured="Every worker draws new noise in every step: a vector times a sign (all signs are enumerated), one of "
    "three vectors that add up to zero, or normal.",
)
ARC_ROWS = Hypothesis(
    "arc_rows",
    "The workers' vectors are compressed by ARC-Top-K, which contracts their average by 1 - alpha.",
    ensured="Rows have one entry and the sketch is 1, so that the rows of largest average are sent: alpha = K/m.",
)
SAME_SKETCHES = Hypothesis(
    "same_sketches",
    "Both runs draw the same sketches, and sums are exact.",
    ensured="Their generators have one seed; sums are of integers, or their rounding is allowed for.",
)
NORMAL_NOISE = Hypothesis(
    "normal_noise",
    "The noise is normal with one law on all workers, so that the root of P times its average has that law.",
    ensured="It is drawn this way, and the single worker gets the root of P times the average of the draws.",
)
AT_THE_MINIMUM = Hypothesis(
    "at_the_minimum",
    "f is a quadratic, and the run begins at its minimiser.",
    ensured="f(x) is half the sum of a_ij x_ij^2, and the run begins at zero.",
)
BIASED_NOISE = Hypothesis(
    "biased_noise",
    "The noise takes three values whose average is zero, and the average of whose largest entries is not.",
    ensured="It takes (2, 3), (3, 3) and (-5, -6), one as likely as another.",
)
THREE_WORKERS = Hypothesis(
    "three_workers",
    "f_i(x) = <a_i, x>^2 + ||x||^2/4 with a_1 = (-3, 2, 2) and its rotations; Top-1; x^0 has equal entries.",
    ensured="Every case is this problem, with another start or step size.",
)

EF21_2021 = Work(
    "P. Richtárik, I. Sokolov, I. Fatkhullin, 2021, EF21: a new, simpler, theoretically better, and practically "
    "faster error feedback, arXiv:2106.05203",
    "Theorems 1 to 3, Lemma 2 and the algorithms, as public teaching notes restate them.",
)
EF21_AT = Repository("IgorSokoloff/ef21_experiments_source_code", "805c9d77de73fe211712ce21e865c1bdbc7c032a")
THOMSEN_AT = Repository("DanielBergThomsen/error-feedback-tight", "87720164e9b6a7d8353971c493f4f46c2ac65c97")
THOMSEN_LATER = Repository("DanielBergThomsen/distributed-error-feedback", "24d0ff53cfdac81924e5ff822b2e3e40721f4a70")
THOMSEN_THEN = Repository("DanielBergThomsen/error-feedback-tight", "25dd90b8f8146832ea3e9bae1e0b30bd34bc3965")
THOMSEN_HELPERS = Work(
    "D. Berg Thomsen, A. Taylor, A. Dieuleveut, 2025, helper code for the figures of Tight analyses of first-order "
    "methods with error feedback"
)
THOMSEN_2025 = Work(
    "D. Berg Thomsen, A. Taylor, A. Dieuleveut, 2025, Tight analyses of first-order methods with error feedback, "
    "arXiv:2506.05271"
)
THOMSEN_2026 = Work(
    "D. Berg Thomsen, A. Taylor, A. Dieuleveut, 2026, A tight theory of error feedback algorithms in distributed "
    "optimization, arXiv:2605.31594"
)
ECONTROL_2023 = Work(
    "Y. Gao, R. Islamov, S. U. Stich, 2023, EControl: fast distributed optimization with compression and error "
    "control, arXiv:2311.05645",
    "The recursion, from code of others.",
)
EF21M_2023 = Work(
    "I. Fatkhullin, A. Tyurin, P. Richtárik, 2023, Momentum provably improves error feedback!, arXiv:2305.15155"
)
