"""Error feedback: the claims."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing, for_one_reason
from commbounds.theory.feedback import terms as t
from commbounds.theory.feedback.econtrol import ECONTROL_CLAIMS
from commbounds.theory.feedback.momentum import MOMENTUM_CLAIMS
from commbounds.theory.feedback.shares import share_claims
from commbounds.theory.implementations import defined, rank_by_rank
from commbounds.theory.quantities import P, alpha
from commbounds.theory.sources import FOLKLORE, KARIMIREDDY_2019, derived

_RESIDUAL = "Minkowski: ||e+|| <= sqrt(1 - alpha) (||e|| + M), a geometric series of ratio q = sqrt(1 - alpha)."

_RATE_IS_LOOSE = (
    "It is loose by nature: half of the descent pays for a residual that may oppose it in every step. A search of "
    "small problems reached 0.36 of the bound, and 0.02 of the residual's term alone."
)
_NOISE_IS_LOOSE = (
    "It is loose by nature: without compression, noise reaches 1/(2 (2 - L gamma)) of plain SGD's term, a third at "
    "most. The compression terms decide only for many workers: with x - q |x| in one dimension, q = 1/2, L gamma = 0.3 "
    "and two steps from 80 workers on, whose signs are too many to enumerate."
)
_RATE_LOOSE = for_one_reason(
    _RATE_IS_LOOSE,
    "0.9 times the bound",
    "0.9 times the term 4*gap/(horizon*stepsize)",
    "horizon + 1 for horizon",
    "0.9 times the term 2*reach**2*smoothness**2*",
    "without the factor (1 - sqrt(1 - alpha))**(-2)",
    "exponent -1 of 1 - sqrt(1 - alpha)",
    "0.9 times the term -sqrt(1 - alpha)",
    "10/9 times the term -sqrt(1 - alpha)",
    "exponent -1/2 of 1 - alpha",
    "exponent 3/2 of 1 - alpha",
    "10/9 times the term -alpha",
    "without the term 1",
    "0.9 times the term 1",
    "10/9 times the term 1",
)
_NOISE_LOOSE = for_one_reason(
    _NOISE_IS_LOOSE,
    "0.9 times the term 2*smoothness*stepsize*variance/P",
    "exponent -2 of P",
    "P + 1 for P",
    "without the factor smoothness",
    "0.9 times the term 2*smoothness**2*stepsize**2*variance*",
    "without the term 2*smoothness**2*stepsize**2*variance*",
    "without the factor 1/(1 - sqrt(1 - alpha))",
    "without the factor smoothness**2",
    "exponent 1 of smoothness",
    "exponent 3 of smoothness",
    "exponent 1 of stepsize",
    "exponent 3 of stepsize",
    "without the factor stepsize",
    "without the factor stepsize**2",
    "without the factor variance",
)

_EF14 = (
    Claim(
        name="feedback.ef14.telescoping",
        title="Weights minus the mean residual equal the weights of uncompressed steps",
        relation=Eq(t.TELESCOPING, 0),
        source=KARIMIREDDY_2019.second_hand(
            "the virtual iterate of error feedback, weights less the residual",
            "What a worker sends is gamma g + e - e+; the residuals telescope in the sum over the steps.",
        ),
        axis="horizon",
    ),
    Claim(
        name="feedback.ef14.residual",
        title="The residual stays below q/(1 - q) times the largest step, q = sqrt(1 - alpha)",
        relation=Le(t.RESIDUAL, (1 - alpha) / (1 - t.root) ** 2 * t.reach**2),
        assumes=(t.CONTRACTIVE, t.SMALL_GRADIENTS),
        source=derived(_RESIDUAL),
        tightness=1,
        extremal="the compressor that returns 1 - q of its input, equal gradients, many steps",
        axis="alpha",
        note="Top-K reaches about half of it.",
    ),
    Claim(
        name="feedback.ef14.residual_simple",
        title="The squared residual stays below 4 (1 - alpha)/alpha^2 times the squared largest step",
        relation=Le(t.RESIDUAL, 4 * (1 - alpha) / alpha**2 * t.reach**2),
        assumes=(t.CONTRACTIVE, t.SMALL_GRADIENTS),
        source=KARIMIREDDY_2019.second_hand(
            "the lemma on the residual, restated in public notes with this constant, in expectation",
            _RESIDUAL + " And alpha = (1 - q)(1 + q) <= 2 (1 - q).",
            "Here it holds surely, if no step is longer; it is printed in expectation, under a second moment.",
        ),
        tightness=(1 + t.root) ** 2 / 4,
        extremal="the compressor that returns 1 - q of its input, equal gradients, many steps",
        axis="alpha",
    ),
    Claim(
        name="feedback.ef14.rate",
        title="With error feedback the gradient falls as without compression, up to a residual term",
        relation=Le(
            t.MEAN_SQUARED_GRADIENT,
            4 * t.gap / (t.stepsize * t.horizon) + 2 * t.smoothness**2 * (1 - alpha) / (1 - t.root) ** 2 * t.reach**2,
        ),
        assumes=(t.CONTRACTIVE, t.SMALL_GRADIENTS, t.FULL_GRADIENTS, t.SMOOTH, t.HALF_STEP),
        source=derived(
            "With y = x - mean e, y+ = y - gamma grad f(x), so f(y+) <= f(y) - (gamma/2)(1 - L gamma)||grad f(x)||^2 + "
            "gamma L^2/2 ||mean e||^2. Sum over the steps; y = x at first; the residual's bound does the rest."
        ),
        axis="horizon",
        unpinned=_RATE_LOOSE,
        note="M is the largest norm of the step size times a worker's gradient, so the second term falls like gamma^2. "
        "With 1 - L gamma in place of a half, the same proof has 2 gap/(gamma (1 - L gamma) T) and L^2/(1 - L gamma) "
        "times the residual: half of it for small steps. Noisy gradients exceed this bound: for one worker without "
        "compression that starts at the minimiser of x^2/2 the bound is 0, and it moves away.",
    ),
    Claim(
        name="feedback.ef14.residual_noisy",
        title="Noise enters the residual by q^2/(1 - q) times its own size, without the second 1/(1 - q)",
        relation=Le(
            t.RESIDUAL,
            (1 - alpha) / (1 - t.root) ** 2 * t.reach**2 + (1 - alpha) / (1 - t.root) * t.stepsize**2 * t.variance,
        ),
        kind=Kind.EXPECTED,
        assumes=(t.CONTRACTIVE, t.SMALL_MEANS, t.INDEPENDENT_NOISE),
        source=derived(
            "The residual does not know the next noise: E||e + gamma g||^2 = E||e + gamma grad||^2 + gamma^2 sigma^2. "
            "With (a + b)^2 <= a^2/q + b^2/(1 - q), E||e+||^2 <= q E||e||^2 + q^2/(1 - q) M^2 + q^2 gamma^2 sigma^2: a "
            "geometric series of ratio q."
        ),
        tightness=1,
        extremal="the compressor that returns 1 - q of its input, equal gradients without noise, many steps",
        axis="alpha",
        unpinned=(
            (
                "0.9 times the term -sqrt(1 - alpha)",
                "It is loose by nature: noise alone reaches 1/(1 + q) of its term, and less in the few steps whose "
                "signs can be enumerated.",
            ),
        ),
        note="With noise alone the shrinking compressor reaches 1/(1 + q) of it.",
    ),
    Claim(
        name="feedback.ef14.rate_noisy",
        title="Under noise the gradient falls as in SGD with P workers, up to terms of the residual",
        relation=Le(
            t.MEAN_SQUARED_GRADIENT,
            4 * t.gap / (t.stepsize * t.horizon)
            + 2 * t.smoothness * t.stepsize * t.variance / P
            + 2 * t.smoothness**2 * (1 - alpha) / (1 - t.root) ** 2 * t.reach**2
            + 2 * t.smoothness**2 * (1 - alpha) / (1 - t.root) * t.stepsize**2 * t.variance,
        ),
        kind=Kind.EXPECTED,
        assumes=(t.CONTRACTIVE, t.SMALL_MEANS, t.SMOOTH, t.HALF_STEP, t.INDEPENDENT_NOISE),
        source=derived(
            "With y = x - mean e, y+ = y - gamma g, where E g = grad f(x) and E||g||^2 <= ||grad f(x)||^2 + sigma^2/P: "
            "E f(y+) <= f(y) - (gamma/2)(1 - L gamma)||grad f(x)||^2 + gamma L^2/2 ||mean e||^2 + L gamma^2 "
            "sigma^2/(2 P). Sum over the steps; y = x at first; ||mean e||^2 is at most the mean of the ||e||^2, which "
            "the residual's bound holds."
        ),
        axis="horizon",
        unpinned=(*_RATE_LOOSE, *_NOISE_LOOSE),
        note="Only plain SGD's noise term is divided by P: the workers' compression errors need not cancel. Their term "
        "falls like gamma^2, so that the first two terms decide for small steps.",
    ),
)

_CONVEX_FACTOR = (((1 - t.root) * t.spread + t.waved) / 2) ** 2
"""z^2, where z^2 = (1 - q) k z + q."""
_COMES_AGAIN = (
    "On a x^2/2, a = mu, with the compressor that returns 1 + q of its input, a step is a linear map of {} with "
    "determinant -q and trace (1 - q) k: z is an eigenvalue, and where {}, the same state comes again in every step, "
    "times z."
)
_APART = (
    "Deviations of workers' vectors from their averages do not enter the step: for them, z^2 {} is at least q^2 {} "
    "less the multiplier times {}, as (1 + q)(z^2 - q^2) >= q (z^2 - q)."
)

_EF14_CONVEX = (
    Claim(
        name="feedback.ef14.strongly_convex",
        title="EF14 with one worker: q ||x - e - x*||^2 + ||e||^2 falls by EF21's z^2, where z^2 = (1 - q) k z + q",
        relation=Le(t.VIRTUAL_ENERGY, _CONVEX_FACTOR * (t.root * t.virtual + t.residual)),
        assumes=(t.CONTRACTIVE, t.ONE_CONVEX_WORKER, t.EF21_CONVEX_STEP),
        source=t.THOMSEN_2025.official_code(
            "step size, potential and rate in certificates/EF/upper_bound_CAS.wls and theory_helpers.py: Theorem 1",
            "x+ - e+ = x - e - gamma grad. z^2 (q ||x - e - x*||^2 + ||e||^2) less the same after the step is what "
            "contraction leaves over, q z^2 (1 - q)^2/((1 + q)(z^2 - q) m^2), m = (L + mu)/2, times what (L + mu) "
            "<grad, x - x*> leaves over L mu ||x - x*||^2 + ||grad||^2, and the square of (1 + q)(z^2 - q) e + q (1 - "
            "z^2)(x - x*) - q (1 - q) grad/m over (1 + q)(z^2 - q).",
            "The code multiplies the potential by 1/q, and writes the rate as for EF21.",
            code=t.THOMSEN_AT.at("certificates/EF/upper_bound_CAS.wls"),
        ),
        tightness=1,
        extremal="x^2/2 times mu or L, the compressor that returns 1 - q of its input, and the residual for which the "
        "square is zero",
        axis="alpha",
        note="z^2 is exact for every number of steps. "
        + _COMES_AGAIN.format("x - e - x* and e", "e is (1 - gamma a - z)/(gamma a) times x - e - x*")
        + " On L x^2/2 it is -z.",
    ),
    Claim(
        name="feedback.ef14.strongly_convex_workers",
        title="EF14 with any number of workers of one minimiser: q ||x - e - x*||^2 + mean ||e_i||^2 falls by z^2",
        relation=Le(t.VIRTUAL_ENERGY, _CONVEX_FACTOR * (t.root * t.virtual + t.residual)),
        assumes=(t.CONTRACTIVE, t.CONVEX_WORKERS, t.COMMON_MINIMISER, t.EF21_CONVEX_STEP),
        source=t.THOMSEN_2026.official_code(
            "step size, rate and a potential in certificates/EF/ef_multiworker.wls, which is about independent draws",
            "As feedback.ef14.strongly_convex for the averages. "
            + _APART.format("||e'||^2", "||e' + gamma grad'||^2", "||grad'||^2"),
            "The code's potential weighs the residuals' deviations from their average q times as much as this one; "
            "this claim does not cover random compressors.",
            code=t.THOMSEN_LATER.at("certificates/EF/ef_multiworker.wls"),
        ),
        tightness=1,
        extremal="as for one worker, on all workers alike",
        axis="alpha",
    ),
)

_STEP = "{} The lag contracts by 1 - theta and gains beta L~^2 ||x+ - x||^2; the step size lets the descent pay for it."

_EF21 = (
    Claim(
        name="feedback.ef21.contraction",
        title="EF21's estimate contracts to the gradient by 1 - theta = q; the gradient's change adds beta = q^2/(1 - "
        "q)",
        relation=Le(t.ESTIMATE_LAG, (1 - t.theta) * t.lag + t.beta * t.turn),
        assumes=(t.CONTRACTIVE,),
        source=t.EF21_2021.second_hand(
            "Lemma 2, with these theta and beta, in expectation",
            "||g+ - grad+|| <= q (||g - grad|| + ||grad+ - grad||); square with (a + b)^2 <= (1 + s) a^2 + (1 + 1/s) "
            "b^2 at s = 1/q - 1.",
        ),
        tightness=1,
        extremal="the compressor that returns 1 - q of its input, a turn of (1/q - 1) times the lag and along it",
        axis="alpha",
    ),
    Claim(
        name="feedback.ef21.descent",
        title="At EF21's step size f plus gamma/(2 theta) of the lag falls by gamma/2 of the squared gradient",
        relation=Le(t.POTENTIAL, t.gap + t.stepsize / (2 * t.theta) * t.lag - t.stepsize / 2 * t.slope),
        assumes=(t.CONTRACTIVE, t.FULL_GRADIENTS, t.SMOOTH, t.SMOOTH_APART, t.EF21_STEP),
        source=t.EF21_2021.official_code(
            "the step size in code of its authors; the inequality is recalled",
            _STEP.format("f+ <= f - gamma/2 ||grad f||^2 - (1/(2 gamma) - L/2)||x+ - x||^2 + gamma/2 G."),
            code=t.EF21_AT.at("Logistic regression/bdfg_distributed_stable.py", "180-184"),
        ),
        axis="stepsize",
        unpinned=(
            ("10/9 times the bound", "Equivalent: the bound is not negative, except for rounding."),
            (
                "exponent -2 of 2 - 2*sqrt(1 - alpha)",
                "It is stronger only for theta above 1/2, where estimates that begin with C(grad f) have a small lag.",
            ),
        ),
        note="The step size is smaller than necessary, see feedback.ef21.descent_sharp: for L~ = L and s = q/(1 - q) "
        "by the factor 2 (1 + s)/(1 + sqrt(1 + 4 s^2)), which is 5/4 at s = 2/3 and less elsewhere. For larger L~ the "
        "factor tends to sqrt(1 + q).",
    ),
    Claim(
        name="feedback.ef21.descent_sharp",
        title="EF21's potential falls if and only if L gamma + gamma^2 (beta/theta)(L~^2 + q L^2)/(1 + q) <= 1",
        relation=Le(t.POTENTIAL, t.gap + t.stepsize / (2 * t.theta) * t.lag - t.stepsize / 2 * t.slope),
        assumes=(t.CONTRACTIVE, t.FULL_GRADIENTS, t.SMOOTH, t.SMOOTH_APART, t.EF21_LARGEST_STEP),
        source=derived(
            "Lags and gradient changes (turns) are split into averages and workers' deviations. Where the remainder is "
            "largest, the average turn, Y, costs beta/theta ||Y||^2, and what workers' turns differ from it by, Y', "
            "1/(1 + q) of beta/theta ||Y'||^2. ||Y||^2 <= L^2 ||x+ - x||^2, and ||Y||^2 + ||Y'||^2 <= L~^2 ||x+ - "
            "x||^2: together beta/theta (L~^2 + q L^2)/(1 + q) ||x+ - x||^2 at most. What is left of ||x+ - x||^2 has "
            "the coefficient -(1 - L gamma - gamma^2 (beta/theta)(L~^2 + q L^2)/(1 + q))/(2 gamma)."
        ),
        tightness=1,
        extremal="one worker, x^2/2 and the compressor that returns 1 - q of its input, at the largest step size, with "
        "an estimate of 1/(1 - q gamma L/(1 - q)) times the gradient: after one step for q = 0.42",
        axis="stepsize",
        unpinned=(("10/9 times the bound", "Equivalent: the bound is not negative, except for rounding."),),
        note="No larger step size suffices for this potential, for any L~ >= L: two workers in one dimension whose "
        "curvatures are L + s and L - s, L~^2 = L^2 + s^2, need exactly this, and one worker where L~ = L, see "
        "feedback.ef21.descent_at_one_over_l.",
    ),
    Claim(
        name="feedback.ef21.descent_at_one_over_l",
        title="EF21's potential also falls at gradient descent's step size",
        relation=Le(t.POTENTIAL, t.gap + t.stepsize / (2 * t.theta) * t.lag - t.stepsize / 2 * t.slope),
        assumes=(t.CONTRACTIVE, t.FULL_GRADIENTS, t.SMOOTH, t.SMOOTH_APART, t.PLAIN_STEP),
        source=FOLKLORE.recalled(
            "a user may expect it who keeps the step size when switching compression on",
            "Refuted by a run: the lag caused by a long step exceeds the fall of f.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="feedback.ef21.descent",
        extremal="Top-1 on quadratics in four dimensions with step size 1/L",
        axis="stepsize",
        note="This potential does need a step size that shrinks like alpha: for one worker in one dimension, whose "
        "compressor returns 1 - q of its input, it falls from every state exactly where 1 - L gamma >= gamma^2 L^2 "
        "beta/theta, and sqrt(beta/theta) is about 2/alpha for small alpha. That limit is the proof's: EF21 itself "
        "converges there up to L gamma = 2 (1 + q)/(1 - q). Whether some contractive compressor makes EF21 fail at "
        "every step size above a multiple of alpha/L is left open here.",
    ),
    Claim(
        name="feedback.ef21.rate",
        title="EF21's mean squared gradient falls like 1/T",
        relation=Le(t.MEAN_SQUARED_GRADIENT, 2 * t.gap / (t.stepsize * t.horizon) + t.lag / (t.theta * t.horizon)),
        assumes=(t.CONTRACTIVE, t.FULL_GRADIENTS, t.SMOOTH, t.SMOOTH_APART, t.EF21_STEP),
        source=t.EF21_2021.second_hand("Theorem 1", "The descent of the potential, summed."),
        tightness=1,
        extremal="one worker, nothing left out, a quadratic in one dimension, step size 1/L",
        axis="horizon",
        unpinned=for_one_reason(
            "It is loose by nature: no run attains the lag's term and the first together. From the minimiser, where "
            "the lag's term is alone, runs reach 0.04 of it.",
            "0.9 times the term lag/(horizon*(1 - sqrt(1 - alpha)))",
            "without the factor 1/(1 - sqrt(1 - alpha))",
            "0.9 times the term -sqrt(1 - alpha)",
            "exponent 3/2 of 1 - alpha",
            "10/9 times the term -alpha",
            "0.9 times the term 1",
            "10/9 times the term 1",
        ),
        note="It needs gradients without noise: on x^2/2 with random signs as noise, started at the minimiser, the "
        "bound falls like 1/T and the gradient does not.",
    ),
    Claim(
        name="feedback.ef21.pl",
        title="Under the Polyak-Lojasiewicz inequality EF21 converges linearly, by 1 - gamma mu",
        relation=Le(t.EXCESS, (1 - t.stepsize * t.convexity) ** t.horizon * t.potential),
        assumes=(t.CONTRACTIVE, t.FULL_GRADIENTS, t.SMOOTH, t.SMOOTH_APART, t.PL, t.EF21_PL_STEP),
        source=t.EF21_2021.second_hand(
            "Theorem 2",
            _STEP.format("With gamma/theta in place of gamma/(2 theta), half of the lag's contraction is left:")
            + " 1 - theta/2 <= 1 - gamma mu.",
        ),
        axis="horizon",
        unpinned=(
            (
                "10/9 times the term -convexity*stepsize",
                "It is loose by nature: alone, f falls by (1 - gamma mu)^2 per step and the lag by (1 - theta)^2, and "
                "the bound has 1 - theta/2.",
            ),
        ),
        note="It converges for the three workers on which plain compression diverges.",
    ),
    Claim(
        name="feedback.ef21.strongly_convex",
        title="EF21 with one worker: q ||grad f||^2 + ||g - grad f||^2 falls by z^2, where z^2 = (1 - q) k z + q",
        relation=Le(t.ENERGY, _CONVEX_FACTOR * (t.root * t.slope + t.lag)),
        assumes=(t.CONTRACTIVE, t.ONE_CONVEX_WORKER, t.EF21_CONVEX_STEP),
        source=t.THOMSEN_2025.official_code(
            "step size, potential and rate in certificates/EF21/upper_bound_CAS.wls and theory_helpers.py",
            "With c = (1 - q)/(1 + q), ||grad - grad+ - c g||^2 <= k^2 c^2 ||g||^2 by smoothness and convexity. "
            "z^2 (q ||grad||^2 + ||g - grad||^2) - q ||grad+||^2 - ||g+ - grad+||^2 is what contraction leaves over, "
            "q (1 + q) z^2/(z^2 - q) times what this leaves over, and the square of (1 + q)(z^2 grad - q grad+) - "
            "(z^2 - q^2) g over (1 + q)(z^2 - q).",
            "The code writes the rate as q + (1 + q)(L - mu) lambda/4, where lambda has a root of its own; that it is "
            "the square of z, the positive root of z^2 = (1 - q) k z + q with k = (L - mu)/(L + mu), is derived here.",
            code=t.THOMSEN_AT.at("certificates/EF21/upper_bound_CAS.wls"),
        ),
        tightness=1,
        extremal="x^2/2 times mu or L, the compressor that returns 1 - q of its input, and the estimate for which the "
        "square is zero",
        axis="alpha",
        note="Without compression z = k, gradient descent's factor; for q near 1, 1 - z^2 is about (1 - q)(1 - k). "
        "z^2 is exact for every number of steps. "
        + _COMES_AGAIN.format("the gradient and g less it", "that is (1 - gamma a - z)/(gamma a) times the gradient")
        + " On L x^2/2 it is -z.",
    ),
    Claim(
        name="feedback.ef21.strongly_convex_workers",
        title="EF21 with any number of workers: q ||grad f||^2 and the mean squared lag fall by z^2 together",
        relation=Le(t.ENERGY, _CONVEX_FACTOR * (t.root * t.slope + t.lag)),
        assumes=(t.CONTRACTIVE, t.CONVEX_WORKERS, t.EF21_CONVEX_STEP),
        source=t.THOMSEN_2026.official_code(
            "step size, potential and rate in certificates/EF21/ef21_multiworker.wls",
            "As feedback.ef21.strongly_convex for the averages. "
            + _APART.format("||(g - grad)'||^2", "||(g - grad+)'||^2", "||(grad - grad+)'||^2"),
            code=t.THOMSEN_LATER.at("certificates/EF21/ef21_multiworker.wls"),
        ),
        tightness=1,
        extremal="as for one worker, on all workers alike",
        axis="alpha",
        note="Workers need no common minimiser, unlike EF14's proof. Where their L_i and mu_i differ, the code has "
        "2/mean(mu_i + L_i) in place of 2/(mu + L) as an empirical law, without a proof.",
    ),
)

_CGD_FACTOR = (((1 + t.root) * t.smoothness - (1 - t.root) * t.convexity) ** 2) / (
    (1 + t.root) * t.smoothness + (1 - t.root) * t.convexity
) ** 2

_PLAIN = (
    Claim(
        name="feedback.cgd.factor",
        title="One worker's compressed gradient descent: f - f* falls by ((kappa - 1)/(kappa + 1))^2, "
        "kappa = (1 + r) L/((1 - r) mu)",
        relation=Le(t.EXCESS_AFTER, _CGD_FACTOR * t.gap),
        assumes=(t.CONTRACTIVE, t.ONE_CONVEX_WORKER, t.CGD_STEP),
        source=t.THOMSEN_2025.official_code(
            "the rate in certificates/CGD_superiority.wls, the step size in theory_helpers.py since 24 October 2025",
            "With the factor's root phi and step size eta: phi times the interpolation inequality of x and x+, phi "
            "(1 - phi) times that of x* and x, 1 - phi times that of x* and x+, eta phi/(2 r) times contraction, and "
            "two squares.",
            code=t.THOMSEN_AT.at("theory_helpers.py", "69"),
        ),
        tightness=1,
        extremal="x^2/2 times mu, of whose gradient 1 - r is returned; times L, 1 + r",
        axis="alpha",
        note="It is about f - f*, not gradients: if the curvature depends on the direction and the message is not "
        "parallel to the gradient, its norm can grow in such a step, by 1.1 for mu = 0.1, L = 1, r = 1/2.",
    ),
    Claim(
        name="feedback.cgd.first_step",
        title="One worker's compressed gradient descent has the same factor at the step size 2/((1 + r)(mu + L))",
        relation=Le(t.EXCESS_AFTER, _CGD_FACTOR * t.gap),
        assumes=(t.CONTRACTIVE, t.ONE_CONVEX_WORKER, t.CGD_FIRST_STEP),
        source=t.THOMSEN_HELPERS.official_code(
            "the optimal step size in a helper that was added after the preprint; the preprint does not use it",
            "Refuted by a run: the step is too short for curvature mu.",
            code=t.THOMSEN_THEN.at(
                "theory_helpers.py",
                "69",
                upstream="added in 25dd90b on 5 October 2025, corrected in a7d800c on 24 October 2025",
            ),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="feedback.cgd.factor",
        extremal="x^2/2 times mu, of whose gradient 1 - r is returned",
        axis="alpha",
        note="At mu = 0.1, L = 1, r = 1/2 the squared factor is 0.8825 instead of 0.8751. It was there for nineteen "
        "days; the helpers of a later repository (distributed-error-feedback at 24d0ff5) have it too.",
    ),
    Claim(
        name="feedback.plain.growth",
        title="Without feedback, Top-1 multiplies the three workers' weights by 1 + 11 gamma/6",
        relation=Eq(t.GROWTH, 1 + sp.Rational(11, 6) * t.stepsize),
        assumes=(t.THREE_WORKERS,),
        source=derived(
            "At (u, u, u) worker 1's gradient is u (-11/2, 9/2, 9/2): it sends the first entry, the others theirs; the "
            "average is -11/6 (u, u, u), while f's gradient is 7/6 (u, u, u)."
        ),
        axis="stepsize",
        note="The example is recalled from the literature on biased compression.",
    ),
    Claim(
        name="feedback.plain.convergence",
        title="For small steps, compressed gradient descent without feedback does not move away from the minimiser",
        relation=Le(t.GROWTH_STEPS, 1),
        assumes=(t.CONTRACTIVE, t.FULL_GRADIENTS, t.SMOOTH, t.SMOOTH_APART, t.EF21_STEP),
        source=FOLKLORE.recalled(
            "a natural expectation",
            "Refuted by the three workers at step sizes at which EF21 converges, and by the exact growth per step, 1 + "
            "11 gamma/6, at all others.",
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="the three workers, Top-1, any step size: the distance grows by 1 + 11 gamma/6 in every step",
        axis="horizon",
        note="EF21 converges linearly on the same problem from the same point.",
    ),
)

_PRINTED = (*_EF14, *_EF14_CONVEX, *_EF21, *MOMENTUM_CLAIMS)

_DEFINITIONS = defined(
    "feedback",
    {
        "Plain": "Written from its formula: the message is the compressed gradient, and there is no memory. Messages, "
        "their sizes and the state of several steps.",
        "EF14": "Written from the formula of error feedback, p = e + gamma grad and e <- p - C(p), entry by entry, "
        "every operation rounded to the dtype. Messages, their sizes and the residual of several steps.",
        "EF21": "Written from the formula of EF21, C(grad - g) and g <- g + C(grad - g), entry by entry, every "
        "operation rounded to the dtype. Messages, their sizes and the estimate of several steps.",
        "EF21M": "Written from the formula of EF21-SGDM, entry by entry, weights and operations rounded to the dtype. "
        "Messages, their sizes, the estimate and the momentum of several steps.",
        "EControl": "Written from the formula of EControl, entry by entry, the weight and operations rounded to the "
        "dtype. Messages, their sizes, the estimate and the error of several steps.",
        "FeedbackSGD": "Written from the formulas of the mechanisms for several workers, and from the documented "
        "options: every worker's step, the average of the messages in the order of the workers, the server's estimate "
        "and the weights. Compressors and collectives within are as they are defined. The whole state and the traffic "
        "of several steps.",
    },
)

_RANKS = rank_by_rank("feedback", "FeedbackSGD")

CLAIMS: tuple[Claim, ...] = (
    *_PRINTED,
    *share_claims({claim.name: claim.relation.rhs for claim in _PRINTED}),
    *ECONTROL_CLAIMS,
    *_PLAIN,
    *_DEFINITIONS,
    *_RANKS,
)
