"""Claims about Moshpit SGD."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, for_one_reason
from commbounds.theory.moshpit.terms import (
    AVERAGED_SPREAD,
    CONVEX,
    EQUAL_STARTS,
    FLAT,
    GRADIENT_NORM,
    LEAVING,
    MIXES,
    NEXT_SPREAD,
    NEXT_SQUARE,
    NOISELESS,
    QUADRATIC,
    RANDOM_SURVIVORS,
    REMAINING_ERROR,
    SEVERAL_PEERS,
    SHORT_STEP,
    SHORTER_THAN_STABLE,
    SMALL_STEP,
    SMALLER_STEP,
    SMOOTH,
    STABLE_STEP,
    STRONGLY_CONVEX,
    SUBOPTIMALITY,
    N,
    convexity,
    curvature,
    distance,
    excess,
    iterations,
    mixing,
    noise,
    period,
    periods,
    quality,
    smoothness,
    spread,
    square,
    stepsize,
    survivors,
)
from commbounds.theory.sources import derived

_VARIANCE = stepsize * noise**2 / N
_DISAGREEMENT = quality**2 + (period - 1) * noise**2
_PER_STEP = (
    "By convexity and smoothness at every peer, E||theta^(k+1) - theta*||^2 <= (1 - gamma mu) ||theta^k - theta*||^2 - "
    "2 gamma (1 - 2 gamma L) (f(theta^k) - f*) + gamma L (1 + 2 gamma L) V_k + gamma^2 sigma^2/N. A gradient step "
    "does not expand, so V_k <= gamma^2 (delta^2 + (tau - 1) sigma^2)."
)
_LAST_TERM = (
    "the last term is loose by nature: cases reach a hundredth of it, as disagreement moves the mean only where the "
    "gradient is not linear, and not in every step"
)


_LAST = (
    "without the factor noise**2*",
    "without the factor period - 1",
    "exponent 3 of stepsize",
    "0.9 times the term quality**2",
    "0.9 times the term noise**2*(period - 1)",
    "exponent 3 of quality",
    "exponent 1 of noise",
    "10/9 times the term -1",
    "0.9 times the term period",
)
"""Neighbours that change the last term, of disagreement."""


_MEAN_KEPT = "Averaging in groups keeps the mean."

SGD_CLAIMS = (
    Claim(
        name="moshpit.sgd.convex",
        title="Moshpit SGD on convex functions: error after K + 1 steps",
        relation=Le(
            SUBOPTIMALITY,
            distance**2 / (stepsize * iterations)
            + _VARIANCE
            + sp.Rational(3, 2) * smoothness * stepsize**2 * _DISAGREEMENT,
        ),
        kind=Kind.EXPECTED,
        assumes=(CONVEX, EQUAL_STARTS, SMALL_STEP),
        source=derived(_PER_STEP + " Telescope with equal weights; f at the average is at most the average of f."),
        axis="iterations",
        unpinned=(
            *for_one_reason(
                "a weaker form of moshpit.sgd.departures, which pins the constants of the first two terms: if no peer "
                "leaves, f and the distance at the end together are bounded by as much",
                "0.9 times the bound",
                "0.9 times the term distance**2/(iterations*stepsize)",
                "iterations + 1 for iterations",
                "0.9 times the term noise**2*stepsize/N",
                "exponent -2 of N",
                "N + 1 for N",
                "exponent 3 of noise",
            ),
            *for_one_reason(_LAST_TERM, "0.9 times the term 3*smoothness*stepsize**2*", *_LAST),
        ),
        note="The paper states rates up to constants; these constants are explicit. No term can be left out, but cases "
        "reach about half of the first, a seventh of the second and a hundredth of the third. Without noise "
        "moshpit.sgd.convex_noiseless is exact, and no more than half of it.",
    ),
    Claim(
        name="moshpit.sgd.convex_noiseless",
        title="Moshpit SGD without noise on convex functions: R^2/(2 (gamma (K - 1) + 1/L)), and no less",
        relation=Le(SUBOPTIMALITY, distance**2 / (2 * (stepsize * (iterations - 1) + 1 / smoothness))),
        assumes=(CONVEX, EQUAL_STARTS, NOISELESS, SHORT_STEP),
        source=derived(
            "All peers make the steps of gradient descent. f - f* <= <g, theta - theta*> - ||g||^2/(2 L) at every "
            "point; with S the sum of the slopes and Q that of their squares these add up to <S, theta^0 - theta*> - "
            "gamma/2 ||S||^2 - (1/L - gamma)/2 Q. K Q >= ||S||^2, so that with a = gamma + (1/L - gamma)/K this is <S, "
            "theta^0 - theta*> - a/2 ||S||^2 <= R^2/(2 a) at most, and K a = gamma (K - 1) + 1/L. f at the average is "
            "at most the average of f."
        ),
        tightness=1,
        extremal="x^2/2, continued by its tangents of slope R/(gamma (K - 1) + 1/L): all points are on the tangent",
        axis="iterations",
        note="It is also exact for the mean of f at the K points before the steps. Without noise moshpit.sgd.convex "
        "gives R^2/(gamma K); this bound is half of it for long runs, and for one step at gamma = 1/L.",
    ),
    Claim(
        name="moshpit.sgd.strongly_convex",
        title="Moshpit SGD on strongly convex functions: error after K + 1 steps",
        relation=Le(
            SUBOPTIMALITY,
            (1 - stepsize * convexity) ** iterations * distance**2 / stepsize
            + _VARIANCE
            + sp.Rational(3, 2) * smoothness * stepsize**2 * _DISAGREEMENT,
        ),
        kind=Kind.EXPECTED,
        assumes=(STRONGLY_CONVEX, EQUAL_STARTS, SMALL_STEP),
        source=derived(
            _PER_STEP + " Telescope with weights (1 - gamma mu)^-(k+1), whose sum is at least the last one."
        ),
        axis="iterations",
        unpinned=(
            *for_one_reason(
                "loose by nature: the sum of the weights is replaced by the last, so that the first term is up to "
                "1/(gamma mu) times too large",
                "0.9 times the bound",
                "0.9 times the term distance**2*",
                "10/9 times the term -convexity*stepsize",
                "exponent 1 of distance",
                "without the factor 1/stepsize",
                "iterations + 1 for iterations",
            ),
            *for_one_reason(
                "loose by nature: cases reach a seventh of the second term",
                "0.9 times the term noise**2*stepsize/N",
                "exponent -2 of N",
                "N + 1 for N",
                "exponent 3 of noise",
            ),
            *for_one_reason(_LAST_TERM, "0.9 times the term 3*smoothness*stepsize**2*", *_LAST),
        ),
        note="It is about the average with weights (1 - gamma mu)^-(k+1). No term can be left out, but the constants "
        "of the last two are not tested: cases reach a seventh and a hundredth of them.",
    ),
    Claim(
        name="moshpit.sgd.nonconvex",
        title="Moshpit SGD on smooth functions: squared gradient norm, averaged over K steps",
        relation=Le(
            GRADIENT_NORM,
            2 * excess / (stepsize * iterations)
            + smoothness * _VARIANCE
            + sp.E * smoothness**2 * stepsize**2 * _DISAGREEMENT,
        ),
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, EQUAL_STARTS, SMALLER_STEP),
        source=derived(
            "Descent lemma at the mean, with -<a, b> = (||a - b||^2 - ||a||^2 - ||b||^2)/2: the average is at most "
            "2 (f(theta^0) - inf f)/(gamma K) + L^2 mean V_k + L gamma sigma^2/N. A step expands V at most by "
            "(1 + gamma L)^2, over tau - 1 steps by e."
        ),
        axis="iterations",
        unpinned=(
            *for_one_reason(
                "loose by nature: cases reach half of the first term, as the fall of f is bounded twice over",
                "0.9 times the bound",
                "0.9 times the term 2*excess/(iterations*stepsize)",
                "without the factor 1/stepsize",
                "iterations + 1 for iterations",
            ),
            *for_one_reason(
                "loose by nature: noise alone comes to L gamma/(2 - L gamma) of sigma^2/N, a third of the second term",
                "0.9 times the term noise**2*smoothness*stepsize/N",
                "exponent -2 of N",
                "N + 1 for N",
                "exponent 3 of noise",
                "without the factor smoothness",
            ),
            *for_one_reason(
                "loose by nature: cases reach two hundredths of the last term",
                "0.9 times the term E*smoothness**2*",
                "exponent 1 of smoothness",
                "without the factor smoothness**2",
                *_LAST,
            ),
        ),
        note="No term can be left out; cases reach half of the first, and two hundredths of the last. Without noise "
        "moshpit.sgd.nonconvex_noiseless divides the first by 2 - gamma L.",
    ),
    Claim(
        name="moshpit.sgd.nonconvex_noiseless",
        title="Moshpit SGD without noise on smooth functions: 2 (f - inf f)/(gamma (2 - gamma L) K)",
        relation=Le(GRADIENT_NORM, 2 * excess / (stepsize * (2 - stepsize * smoothness) * iterations)),
        assumes=(SMOOTH, EQUAL_STARTS, NOISELESS, SHORTER_THAN_STABLE),
        source=derived(
            "All peers make the steps of gradient descent: f+ <= f - gamma (1 - gamma L/2) ||grad f||^2. Telescope."
        ),
        tightness=1,
        extremal="L x^2/2 at gamma = 1/L, in any number of steps: the first ends at the minimiser",
        axis="iterations",
        note="At gamma = 1/L it is 2 (f - inf f) L/K, as without the factor; for small steps it is half of that.",
    ),
    Claim(
        name="moshpit.sgd.departures",
        title="Moshpit SGD on convex functions, peers leaving at random: error after K steps",
        relation=Le(
            REMAINING_ERROR,
            distance**2 / (stepsize * iterations)
            + stepsize * noise**2 / survivors
            + sp.Rational(3, 2) * smoothness * stepsize**2 * _DISAGREEMENT,
        ),
        kind=Kind.EXPECTED,
        assumes=(CONVEX, LEAVING, SMALL_STEP),
        source=derived(
            "The end is the mean of those that stay. Going back through averages and departures it is, at every step, "
            "a mean m of the peers' points with random weights w that do not depend on them: w_i >= 0, their sum is 1, "
            "that of their squares 1/n' at most, as an average in groups takes it down and a departure leaves it, "
            "and E w_i is the same for all, as sets that leave are uniformly random. The step for m is that for a mean "
            "with equal weights: E||m' - theta*||^2 <= ||m - theta*||^2 - 2 gamma (1 - 2 gamma L) (f(m) - f*) + "
            "gamma L (1 + 2 gamma L) W + gamma^2 sigma^2/n', where W = sum w_i ||theta_i - m||^2, whose mean over w is "
            "V at most; and f at the peers' mean, which is that of m, is at most the mean of f(m). V is no more than "
            "gamma^2 (delta^2 + (tau - 1) sigma^2), as without departures, which leave V smaller in the mean. "
            "Telescope, and keep the last distance."
        ),
        tightness=1,
        extremal="a constant f, and peers that do not average; or a constant f, and no peer leaves",
        axis="iterations",
        unpinned=for_one_reason(
            _LAST_TERM, "0.9 times the term 3*smoothness*stepsize**2*", "exponent 1 of quality", *_LAST
        ),
        note="Departures only raise the noise to that of n' peers: the bound is that without departures, n' in place "
        "of N. The paper has a term for peers that vanish and does not bound it; if peers leave at random, no term is "
        "needed. With n' = N, and without the distance at the end, it is moshpit.sgd.convex.",
    ),
    Claim(
        name="moshpit.sgd.leaving",
        title="Moshpit SGD on a quadratic: the mean square after a step and an average, of the n' peers that stay",
        relation=Eq(
            NEXT_SQUARE,
            (1 - stepsize * curvature) ** 2 * square
            + stepsize**2 * noise**2 / N
            + mixing
            * ((1 - stepsize * curvature) ** 2 * spread + stepsize**2 * noise**2 * (1 - 1 / N))
            * (N - survivors)
            / (survivors * (N - 1)),
        ),
        kind=Kind.EXPECTED,
        assumes=(QUADRATIC, RANDOM_SURVIVORS, SEVERAL_PEERS),
        source=derived(
            "The recursions of the mean and of the distortion, and the variance of the mean of a sample without "
            "replacement."
        ),
        axis="survivors",
    ),
    Claim(
        name="moshpit.sgd.spread",
        title="Moshpit SGD on a quadratic: the exact recursion of the distortion",
        relation=Eq(
            NEXT_SPREAD, mixing * ((1 - stepsize * curvature) ** 2 * spread + stepsize**2 * noise**2 * (1 - 1 / N))
        ),
        kind=Kind.EXPECTED,
        assumes=(QUADRATIC,),
        source=derived(
            "A step multiplies differences by 1 - gamma h and adds independent noise, whose distortion is "
            "gamma^2 sigma^2 (1 - 1/N); averages take the expectation down by rho."
        ),
        axis="stepsize",
    ),
    Claim(
        name="moshpit.sgd.mean_square",
        title="Moshpit SGD on a quadratic: the exact recursion of the mean",
        relation=Eq(NEXT_SQUARE, (1 - stepsize * curvature) ** 2 * square + stepsize**2 * noise**2 / N),
        kind=Kind.EXPECTED,
        assumes=(QUADRATIC,),
        source=derived(_MEAN_KEPT + " So the mean follows SGD with the mean of N independent noises."),
        axis="stepsize",
    ),
    Claim(
        name="moshpit.sgd.flat",
        title="Moshpit SGD on a constant f: the exact distortion after any number of averages",
        relation=Eq(AVERAGED_SPREAD, mixing * (1 - mixing**periods) / (1 - mixing) * period * noise**2 * (1 - 1 / N)),
        kind=Kind.EXPECTED,
        assumes=(FLAT, EQUAL_STARTS, MIXES),
        source=derived("Every period adds tau gamma^2 sigma^2 (1 - 1/N), and every average multiplies by rho."),
        axis="periods",
    ),
    Claim(
        name="moshpit.sgd.averaging_quality",
        title="Averaging quality: delta^2 = rho/(1 - rho) tau sigma^2 (1 - 1/N) is enough",
        relation=Le(AVERAGED_SPREAD, mixing / (1 - mixing) * period * noise**2 * (1 - 1 / N)),
        kind=Kind.EXPECTED,
        assumes=(CONVEX, EQUAL_STARTS, STABLE_STEP, MIXES),
        source=derived(
            "V after an average is at most rho times (V before + tau gamma^2 sigma^2 (1 - 1/N)); the fixed point."
        ),
        tightness=1,
        extremal="a constant f, after many averages",
        axis="periods",
    ),
)
