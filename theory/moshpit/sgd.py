"""Claims about Moshpit SGD."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le
from commbounds.theory.moshpit.terms import (
    AVERAGED_SPREAD,
    CONVEX,
    EQUAL_STARTS,
    FLAT,
    GRADIENT_NORM,
    LEAVING,
    NEXT_SPREAD,
    NEXT_SQUARE,
    QUADRATIC,
    RANDOM_SURVIVORS,
    SEVERAL_PEERS,
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
        note="With explicit constants in place of the rates that the paper states up to constants. No term can be left "
        "out, but cases reach about half of the first, a seventh of the second and a hundredth of the third: constants "
        "are not tested.",
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
        note="Of the average with weights (1 - gamma mu)^-(k+1). No term can be left out, but the constants of the "
        "last two are not tested: cases reach a seventh and a hundredth of them.",
    ),
    Claim(
        name="moshpit.sgd.nonconvex",
        title="Moshpit SGD on smooth functions: squared gradient norm, averaged over K steps",
        relation=Le(
            GRADIENT_NORM,
            2 * excess / (stepsize * iterations)
            + 2 * smoothness * _VARIANCE
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
        note="The proof leaves a factor of two in the term of the variance, which peers that leave would take up. No "
        "term can be left out; cases reach half of the first, and two hundredths of the last.",
    ),
    Claim(
        name="moshpit.sgd.departures",
        title="Moshpit SGD on convex functions, peers leaving at random: error after K + 1 steps",
        relation=Le(
            SUBOPTIMALITY,
            distance**2 / (stepsize * iterations)
            + stepsize * noise**2 / survivors
            + sp.Rational(3, 2) * smoothness * stepsize**2 * _DISAGREEMENT
            + stepsize * quality**2 / iterations * (1 + 1 / survivors) * (1 / survivors - 1 / N),
        ),
        kind=Kind.EXPECTED,
        assumes=(CONVEX, LEAVING, SMALL_STEP),
        source=derived(
            _PER_STEP
            + " Here N is the number of peers at a time, n' or more. If b of a peers stay, theirs is a sample's mean: "
            "E||theta' - theta*||^2 = ||theta - theta*||^2 + V (a - b)/(b (a - 1)), and E V' = V a (b - 1)/((a - 1) b) "
            "is no more than V. V is at most gamma^2 delta^2 then, and (a - b)/(b (a - 1)) = a/(a - 1) (1/b - 1/a), "
            "where a/(a - 1) is at most 1 + 1/n' as a is at least n' + 1: all departures together add gamma^2 delta^2 "
            "(1 + 1/n') (1/n' - 1/N). Telescope."
        ),
        axis="iterations",
        note="The paper has a term for peers that vanish, which it leaves to be bounded. This is what it comes to if "
        "they leave at random: it goes down with the number of steps. That term is not tested by any case: the others "
        "are far from attained. What a departure does is tested exactly, by the claim on quadratics.",
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
            NEXT_SPREAD,
            mixing * ((1 - stepsize * curvature) ** 2 * spread + stepsize**2 * noise**2 * (1 - 1 / N)),
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
        title="Distortion after a averages where f is constant",
        relation=Eq(
            AVERAGED_SPREAD,
            mixing * (1 - mixing**periods) / (1 - mixing) * period * noise**2 * (1 - 1 / N),
        ),
        kind=Kind.EXPECTED,
        assumes=(FLAT, EQUAL_STARTS),
        source=derived("Every period adds tau gamma^2 sigma^2 (1 - 1/N), and every average multiplies by rho."),
        axis="periods",
    ),
    Claim(
        name="moshpit.sgd.averaging_quality",
        title="Averaging quality: delta^2 = rho/(1 - rho) tau sigma^2 (1 - 1/N) is enough",
        relation=Le(AVERAGED_SPREAD, mixing / (1 - mixing) * period * noise**2 * (1 - 1 / N)),
        kind=Kind.EXPECTED,
        assumes=(CONVEX, EQUAL_STARTS, STABLE_STEP),
        source=derived(
            "V after an average is at most rho times (V before + tau gamma^2 sigma^2 (1 - 1/N)); the fixed point."
        ),
        tightness=1,
        extremal="a constant f, after many averages",
        axis="periods",
    ),
)
