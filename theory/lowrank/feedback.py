"""Claims about PowerSGD with error feedback: with a fresh sketch in every step, and with a warm start."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Hypothesis, Kind, Le, Standing, for_one_reason
from commbounds.theory.feedback.terms import horizon, reach
from commbounds.theory.hypotheses import TWO_SINGULAR_VALUES
from commbounds.theory.quantities import Quantity, m, n, r
from commbounds.theory.sources import FOLKLORE, derived

RESIDUAL = Quantity(
    "residual_matrix",
    r"\mathbb{E}\,\lVert e^t\rVert^2",
    "squared Frobenius norm of the residual after the last step, expected over the sketches",
)
LOST = Quantity(
    "lost",
    r"\left\lVert\sum_{s<t}g^s-\sum_{s<t}C(p^s)-e^t\right\rVert_\infty",
    "largest entry of the sum of gradients less messages over all steps, less the residual",
)

FRESH_SKETCHES = Hypothesis(
    "fresh_sketches",
    "Every step draws a new Gaussian sketch, independently of the residual and of the gradient, which may depend on "
    "all earlier sketches.",
    ensured="Each step computes its gradient and then passes a generator to the compressor; quadrature takes the "
    "directions of the last sketch on a regular lattice.",
)
WARM_START = Hypothesis(
    "warm_start",
    "The sketch of a step is the right factor of the message before; the first one is arbitrary.",
    ensured="Runs give the right factor of every message to the next step.",
)
GAUSSIAN_START = Hypothesis(
    "gaussian_start",
    "The first sketch is Gaussian, the sketch of any later step is the right factor of the message before.",
    ensured="Runs draw the first sketch and give the right factor of every message to the next step.",
)
SMALL_GRADIENTS = Hypothesis(
    "gradients_within_reach",
    "Every gradient, times its step size, has Frobenius norm at most M.",
    ensured="M is the largest norm in the run.",
)
EQUAL_GRADIENT = Hypothesis(
    "equal_gradient",
    "Every step has the same gradient, with two equal singular values and norm M.",
    lambda sequence: sequence == "constant",
)
THREE_STEPS = Hypothesis("three_steps", "There are at most three steps.", Le(horizon, 3))
WITHOUT_ROUNDING = Hypothesis(
    "sums_without_rounding",
    "Sums are exact; in floating point two roundings a step, of e + g and of the residual, are allowed for.",
    ensured="The allowance is the sum of u times the largest entries of both, u half a unit in the last place.",
)

_q = sp.Min(m, n)
root = sp.sqrt(1 - r / _q)
_FRESH = (1 - r / _q) / (1 - root) ** 2 * reach**2
_STEP = (
    "The sketch is independent of p = e + g, so E||e+||^2 <= (1 - alpha) E||p||^2, alpha = r/min(m, n), also where g "
    "depends on the past; by Minkowski in L2, ||e+|| <= q (||e|| + M) with q = sqrt(1 - alpha): "
)

FEEDBACK: tuple[Claim, ...] = (
    Claim(
        name="lowrank.powersgd_ef14.telescoping",
        title="With error feedback, PowerSGD's messages and the residual add up to all gradients",
        relation=Eq(LOST, 0),
        assumes=(WITHOUT_ROUNDING,),
        source=derived("A step sends e + g - e+ for any sketch: the residuals telescope."),
        axis="horizon",
    ),
    Claim(
        name="lowrank.powersgd_ef14.steps",
        title="With a fresh sketch in every step, the residual is q + q^2 + ... + q^t times the largest gradient",
        relation=Le(RESIDUAL, (root * (1 - root**horizon) / (1 - root)) ** 2 * reach**2),
        kind=Kind.EXPECTED,
        assumes=(FRESH_SKETCHES, SMALL_GRADIENTS),
        source=derived(_STEP + "t terms of a geometric series."),
        tightness=1,
        extremal="the first step, equal singular values",
        axis="horizon",
    ),
    Claim(
        name="lowrank.powersgd_ef14.residual",
        title="With a fresh sketch in every step, the residual stays below q/(1 - q) times the largest gradient",
        relation=Le(RESIDUAL, _FRESH),
        kind=Kind.EXPECTED,
        assumes=(FRESH_SKETCHES, SMALL_GRADIENTS),
        source=derived(_STEP + "a geometric series."),
        axis="horizon",
        unpinned=for_one_reason(
            "a weaker form of lowrank.powersgd_ef14.steps, whose terms the same runs test: its limit for many steps, "
            "of which runs reach a quarter",
            "0.9 times the bound",
            "0.9 times the term -sqrt(-r/Min(m, n) + 1)",
            "0.9 times the term 1",
            "10/9 times the term 1",
            "10/9 times the term -r/Min(m, n)",
            "exponent -1 of 1 - sqrt(-r/Min(m, n) + 1)",
            "exponent 3/2 of -r/Min(m, n) + 1",
        ),
        note="The tightness of the constant is not known. The residual has lost r directions, and the worst case of "
        "compression needs equal singular values. Runs reach a quarter of it for half the rank, by gradients mainly "
        "orthogonal to the residual.",
    ),
    Claim(
        name="lowrank.powersgd_ef14.two",
        title="With rank 1 and two singular values, the residual stays below 3/2 of the largest squared gradient",
        relation=Le(RESIDUAL, sp.Rational(3, 2) * reach**2),
        kind=Kind.EXPECTED,
        assumes=(FRESH_SKETCHES, SMALL_GRADIENTS, TWO_SINGULAR_VALUES),
        source=derived(
            "The residual s u v' has rank one, and E||e+||^2 is the product of the singular values of p = e + g. Let x "
            "and y be the parts of g along v and across it (of its transpose, if the matrix is wide). The product is "
            "the area of s u + x and y, at most s |y| + |x| |y| <= s^2/3 + 3/4 |y|^2 + |x| |y| <= s^2/3 + |x|^2 + "
            "|y|^2, as 1 is the largest eigenvalue of ((0, 1/2), (1/2, 3/4)). So E||e+||^2 <= E||e||^2/3 + M^2."
        ),
        axis="horizon",
        note="The series above gives 5.83 in place of 3/2. Gradients with 0.54 along the residual to 1 across it reach "
        "1.45 by sampling.",
        unpinned=(
            (
                "0.9 times the bound",
                "gradients across the residual refute it, by means of samples: 1.45 is more than 1.35",
            ),
        ),
    ),
    Claim(
        name="lowrank.powersgd_ef14.equal",
        title="With rank 1 and a constant gradient of two equal singular values, the residual is 1/2, 1, 7/6 M^2",
        relation=Eq(
            RESIDUAL,
            sp.Piecewise(
                (reach**2 / 2, sp.Le(horizon, 1)), (reach**2, sp.Le(horizon, 2)), (sp.Rational(7, 6) * reach**2, True)
            ),
        ),
        kind=Kind.EXPECTED,
        assumes=(FRESH_SKETCHES, TWO_SINGULAR_VALUES, EQUAL_GRADIENT, THREE_STEPS),
        source=derived(
            "Let the gradient be c times the identity of the plane, M^2 = 2 c^2. Step 1 keeps c times a projection. "
            "p has singular values c and 2 c then, and the expected squared error of step 2 is their product. It "
            "leaves e with trace c (1 + 1/(1 + 4 t^2)), t Cauchy-distributed: c 4/3 expected. The product of step 3's "
            "is det(e + c) = c^2 + c tr e."
        ),
        axis="horizon",
    ),
)

WARM: tuple[Claim, ...] = (
    Claim(
        name="lowrank.powersgd_ef14.warm_start_residual",
        title="With a warm start the residual obeys the bound of fresh sketches",
        relation=Le(RESIDUAL, _FRESH),
        kind=Kind.EXPECTED,
        assumes=(GAUSSIAN_START, SMALL_GRADIENTS),
        source=FOLKLORE.recalled(
            "error feedback with the contraction of a fresh sketch, used for the warm start",
            "r = 1: after g = M e_1 e_1' the sketch is e_1. Every later gradient M e_2 e_2' is orthogonal to it: "
            "nothing is sent, and the residual grows by M a step.",
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="M e_1 e_1' once, then M e_2 e_2' in every step: e^t = (t - 1) M e_2 e_2'",
        axis="horizon",
        note="A sketch that is orthogonal once is zero from then on. Even without that, a constant gradient of equal "
        "singular values does not change the sketch: every step sends the same r of min(m, n) directions, and the "
        "residual is sqrt(1 - r/min(m, n)) t M for any first sketch. Both are exact, and neither is stable: a part of "
        "the sketch along the residual grows like t!^2; in float64, from a drawn sketch, rounding ends the second "
        "after a dozen steps.",
    ),
    Claim(
        name="lowrank.powersgd_ef14.warm_start_growth",
        title="With a warm start from any sketch, the residual grows by at most the largest gradient per step",
        relation=Le(RESIDUAL, (horizon * reach) ** 2),
        assumes=(WARM_START, SMALL_GRADIENTS),
        source=derived("C(p) is an orthogonal projection of p's columns, and so is the error: ||e+|| <= ||e|| + M."),
        tightness=1,
        extremal="a constant gradient whose row space the first sketch misses: nothing is ever sent",
        axis="horizon",
    ),
    Claim(
        name="lowrank.powersgd_ef14.warm_start_gaussian",
        title="With a warm start from a Gaussian sketch, only the first step contracts",
        relation=Le(RESIDUAL, (horizon - 1 + root) ** 2 * reach**2),
        kind=Kind.EXPECTED,
        assumes=(GAUSSIAN_START, SMALL_GRADIENTS),
        source=derived(
            "The first sketch is fresh: the residual has root mean square at most sqrt(1 - r/min(m, n)) M. Every later "
            "step adds at most M to it, by Minkowski."
        ),
        tightness=1,
        extremal="equal singular values, then in every step the gradient of norm M along the residual",
        axis="horizon",
        note="The gradients that attain it depend on the first sketch, as training gradients depend on the messages.",
    ),
)
