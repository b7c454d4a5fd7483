"""DropCompute: the gradient that a threshold leaves, and SGD with batches of random size."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.dropcompute.terms import (
    COMPUTED_DIVISOR,
    CONVEX,
    FIXED_DIVISOR,
    GILADI_2023,
    HALF_STEP,
    MEAN_GRADIENT,
    OF_LATENCY_ALONE,
    PICKED_SUBOPTIMALITY,
    SMALL_STEP,
    SMOOTH,
    SQUARED_GRADIENT,
    TUNED,
    TUNED_CONVEX,
    WORKER_DIVISOR,
    claim,
    distance,
    excess,
    iterations,
    largest_batch,
    noise,
    samples,
    share,
    smoothness,
    stepsize,
)

_GRADIENT_BOUND = 2 * largest_batch * excess / (stepsize * samples) + smoothness * stepsize * noise**2 / largest_batch

CONVERGENCE: tuple[Claim, ...] = (
    claim(
        "gradient.fixed",
        "Divided by N M, the expected gradient shrinks by the share that is completed",
        Eq(MEAN_GRADIENT, share),
        "Given the latencies, every micro-batch that counts has the full gradient for its mean.",
        kind=Kind.EXPECTED,
        assumes=(OF_LATENCY_ALONE, FIXED_DIVISOR),
    ),
    claim(
        "gradient.computed",
        "Divided by what was computed, the gradient is unbiased",
        Eq(MEAN_GRADIENT, 1),
        "Given the latencies, the mean of whatever counts has the full gradient for its mean.",
        kind=Kind.EXPECTED,
        assumes=(OF_LATENCY_ALONE, COMPUTED_DIVISOR),
    ),
    claim(
        "gradient.worker",
        "With every worker's own divisor, it shrinks by the chance that a worker completes something",
        Eq(MEAN_GRADIENT, share),
        "A worker with nothing computed contributes zero to the mean over workers.",
        kind=Kind.EXPECTED,
        assumes=(OF_LATENCY_ALONE, WORKER_DIVISOR),
    ),
    claim(
        "gradient.correlated",
        "Divided by what was computed, the gradient is unbiased whatever the latencies depend on",
        Eq(MEAN_GRADIENT, 1),
        "Refuted by micro-batches whose gradient is their latency: what ends in time is the small ones.",
        kind=Kind.EXPECTED,
        assumes=COMPUTED_DIVISOR,
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="dropcompute.gradient.computed",
        extremal="gradients equal to latencies, 1 and 2 with equal chances",
        note="Where longer samples take longer, a threshold favours short ones.",
    ),
    claim(
        "sgd.nonconvex",
        "SGD with random batches, any step size up to 1/L",
        Le(SQUARED_GRADIENT, _GRADIENT_BOUND),
        "Descent: E f(x+) <= f(x) - eta b/(2B) |grad f|^2 + L eta^2 b sigma^2/(2 B^2), as (b/B)^2 <= b/B and eta L <= "
        "1; "
        "summed and divided by eta K/(2B).",
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, SMALL_STEP),
        axis="iterations",
    ),
    claim(
        "sgd.nonconvex_tuned",
        "SGD with random batches: the rate depends on the samples computed alone",
        Le(
            SQUARED_GRADIENT,
            2 * smoothness * largest_batch * excess / samples + sp.sqrt(8 * smoothness * excess * noise**2 / samples),
        ),
        GILADI_2023.recalled(
            "convergence with stochastic batch sizes, up to constants",
            "The bound with any step size at eta = min(1/L, B sqrt(2 D/(K L sigma_g^2))); the constants are ours.",
        ),
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, TUNED),
        axis="iterations",
    ),
    claim(
        "sgd.convex",
        "Convex SGD with random batches, any step size up to 1/(2L)",
        Le(
            PICKED_SUBOPTIMALITY,
            largest_batch * distance**2 / (stepsize * samples) + stepsize * noise**2 / largest_batch,
        ),
        "E|x+ - x*|^2 <= |x - x*|^2 - eta b/B (f - f*) + eta^2 b sigma^2/B^2, as |grad f|^2 <= 2L(f - f*) and "
        "2 eta L <= 1; summed and divided by eta K/B.",
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, CONVEX, HALF_STEP),
        axis="iterations",
    ),
    claim(
        "sgd.convex_tuned",
        "Convex SGD with random batches: the rate depends on the samples computed alone",
        Le(
            PICKED_SUBOPTIMALITY,
            2 * smoothness * largest_batch * distance**2 / samples + 2 * noise * distance / sp.sqrt(samples),
        ),
        GILADI_2023.recalled(
            "convergence with stochastic batch sizes, up to constants",
            "The bound with any step size at eta = min(1/(2L), B R/(sigma_g sqrt(K))); the constants are ours.",
        ),
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, CONVEX, TUNED_CONVEX),
        axis="iterations",
    ),
    claim(
        "sgd.drops_ignored",
        "The same bound with the samples of steps in which nothing is dropped",
        Le(SQUARED_GRADIENT, _GRADIENT_BOUND.subs(samples, iterations * largest_batch)),
        "Refuted by dropping: only what is computed counts.",
        kind=Kind.EXPECTED,
        assumes=(SMOOTH, SMALL_STEP),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="dropcompute.sgd.nonconvex",
        tightness=sp.oo,
        extremal="noiseless samples, one of them in the first step and none thereafter",
        axis="iterations",
        note="Dropping costs steps: with a share p dropped, 1/(1-p) times as many.",
    ),
)
