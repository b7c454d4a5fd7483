"""DropCompute: the gradient that a threshold leaves, and SGD with batches of random size."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.dropcompute.terms import (
    COMPUTED_DIVISOR,
    CONVEX,
    ELSEWHERE,
    FIXED_DIVISOR,
    GILADI_2023,
    MEAN_GRADIENT,
    OF_LATENCY_ALONE,
    PICKED_SUBOPTIMALITY,
    SMALL_STEP,
    SMOOTH,
    SOME_COMPUTED,
    SOME_SAMPLE,
    SQUARED_GRADIENT,
    TUNED,
    TUNED_CONVEX,
    WORKER_DIVISOR,
    claim,
    distance,
    excess,
    largest_batch,
    noise,
    samples,
    sgdsteps,
    share,
    smoothness,
    stepsize,
)

_GRADIENT_BOUND = 2 * largest_batch * excess / (stepsize * samples) + smoothness * stepsize * noise**2 / largest_batch

CONVERGENCE: tuple[Claim, ...] = (
    claim(
        "gradient.fixed",
        "Divided by N M, the expected gradient shrinks by the completed share",
        Eq(MEAN_GRADIENT, share),
        "Given the latencies, every micro-batch that counts has the full gradient for its mean.",
        kind=Kind.EXPECTED,
        assumes=(OF_LATENCY_ALONE, FIXED_DIVISOR),
    ),
    claim(
        "gradient.computed",
        "Divided by what was computed, the gradient is unbiased",
        Eq(MEAN_GRADIENT, 1),
        "Given the latencies, the mean over the completed micro-batches has the full gradient for its mean.",
        kind=Kind.EXPECTED,
        assumes=(OF_LATENCY_ALONE, COMPUTED_DIVISOR, SOME_COMPUTED),
    ),
    claim(
        "gradient.worker",
        "With every worker's own divisor, the expected gradient shrinks by the probability that a worker completes "
        "something",
        Eq(MEAN_GRADIENT, share),
        "A worker with nothing computed contributes zero to the mean over workers.",
        kind=Kind.EXPECTED,
        assumes=(OF_LATENCY_ALONE, WORKER_DIVISOR),
    ),
    claim(
        "gradient.correlated",
        "Divided by what was computed, the gradient is unbiased also if latencies depend on the data",
        Eq(MEAN_GRADIENT, 1),
        "Refuted by micro-batches whose gradient is their latency: only the small ones end in time.",
        kind=Kind.EXPECTED,
        assumes=(COMPUTED_DIVISOR, SOME_COMPUTED),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="dropcompute.gradient.computed",
        extremal="gradients equal to latencies, 1 and 2 with equal chances",
        note="If longer samples take longer, a threshold favours short ones.",
    ),
    claim(
        "sgd.nonconvex",
        "SGD with random batches, smooth functions: the mean squared gradient at any step size up to 1/L",
        Le(SQUARED_GRADIENT, _GRADIENT_BOUND),
        "Descent: E f(x+) <= f(x) - gamma b/(2B) |grad f|^2 + L gamma^2 b sigma^2/(2 B^2), as (b/B)^2 <= b/B and "
        "gamma L <= 1; summed and divided by gamma K/(2B).",
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, SMALL_STEP, SOME_SAMPLE),
        tightness=1,
        extremal="L x^2/2 without noise, nothing dropped, gamma = 1/L, any number of steps: the first ends at the "
        "minimiser",
        axis="sgdsteps",
        note="The noise attains its term too: on L x^2/2, at gamma = 1/L and from the minimiser, all steps except the "
        "first have L gamma sigma^2/B. Without noise the proof allows division by 2 - gamma L, which is one at gamma = "
        "1/L and two for small steps.",
    ),
    claim(
        "sgd.nonconvex_tuned",
        "SGD with random batches, smooth functions: the tuned rate depends only on the samples computed",
        Le(
            SQUARED_GRADIENT,
            2 * smoothness * largest_batch * excess / samples + sp.sqrt(8 * smoothness * excess * noise**2 / samples),
        ),
        GILADI_2023.recalled(
            "convergence with stochastic batch sizes, up to constants",
            "The bound with any step size at gamma = min(1/L, B sqrt(2 Delta/(K L sigma^2))); the constants are ours.",
        ),
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, TUNED, SOME_SAMPLE, ELSEWHERE),
        tightness=1,
        extremal="one step on L x^2/2 without noise, nothing dropped",
        axis="sgdsteps",
        unpinned=(
            (
                "0.9 times the term 2[*]sqrt(2)[*]sqrt(excess)*",
                "On a quadratic half of the noise's term is attained at most, in the limit of many steps: what is left "
                "of the start and what the noise adds are a quarter each. No case that attains more is known.",
            ),
            ("exponent -1/2 of 2", "Half of the noise term is attained at most, as above."),
        ),
    ),
    claim(
        "sgd.convex",
        "SGD with random batches, convex functions: the excess at any step size up to 1/L",
        Le(
            PICKED_SUBOPTIMALITY,
            largest_batch * distance**2 / (2 * stepsize * samples) + stepsize * noise**2 / (2 * largest_batch),
        ),
        "E|x+ - x*|^2 <= |x - x*|^2 - 2 gamma b/B <grad f, x - x*> + gamma^2 b/B |grad f|^2 + gamma^2 b sigma^2/B^2. A "
        "convex f has <grad f, x - x*> >= f - f* + |grad f|^2/(2L), so that gamma L <= 1 leaves -2 gamma b/B (f - f*); "
        "summed and divided by 2 gamma K/B.",
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, CONVEX, SMALL_STEP, SOME_SAMPLE),
        tightness=1,
        extremal="no noise, nothing dropped, gamma = 1/L, and slope 1 until the minimiser is one step away: x^2/2, "
        "continued by its tangents",
        axis="sgdsteps",
        note="With |grad f|^2 <= 2L (f - f*) in place of that inequality, the proof gives step sizes up to 1/(2L) and "
        "twice the bound: no case attains more than half of that.",
    ),
    claim(
        "sgd.convex_tuned",
        "SGD with random batches, convex functions: the tuned rate depends only on the samples computed",
        Le(
            PICKED_SUBOPTIMALITY,
            smoothness * largest_batch * distance**2 / (2 * samples) + noise * distance / sp.sqrt(samples),
        ),
        GILADI_2023.recalled(
            "convergence with stochastic batch sizes, up to constants",
            "The bound with any step size at gamma = min(1/L, B R/(sigma sqrt(K))): at 1/L the noise's term is at most "
            "sigma R/(2 sqrt(K)), at the other each of the two is that. The constants are ours.",
        ),
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, CONVEX, TUNED_CONVEX, SOME_SAMPLE, ELSEWHERE),
        tightness=1,
        extremal="no noise, nothing dropped, and slope 1 until the minimiser is one step away: x^2/2, continued by its "
        "tangents",
        axis="sgdsteps",
        unpinned=(
            (
                "0.9 times the term distance[*]noise/sqrt(samples)",
                "On a quadratic half of the noise's term is attained at most, in the limit of many steps: what is left "
                "of the start and what the noise adds are a quarter each. No case that attains more is known.",
            ),
        ),
    ),
    claim(
        "sgd.drops_ignored",
        "SGD with random batches, smooth functions: the bound with the samples of a step without drops",
        Le(SQUARED_GRADIENT, _GRADIENT_BOUND.subs(samples, sgdsteps * largest_batch)),
        "Refuted by dropping: only what is computed counts.",
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, SMALL_STEP, SOME_SAMPLE),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="dropcompute.sgd.nonconvex",
        tightness=sp.oo,
        extremal="noiseless samples, one of them in the first step and none thereafter",
        axis="sgdsteps",
        note="Dropping costs steps: if a share p is dropped, 1/(1-p) times as many are needed.",
    ),
)
