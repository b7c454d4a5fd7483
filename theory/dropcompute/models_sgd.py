"""What certificates about SGD with random batches prove."""

from typing import Any

import sympy as sp

from commbounds.theory.dropcompute.terms import distance, excess, largest_batch, noise, samples, smoothness, stepsize
from commbounds.theory.finite_laws import independent_of, never_negative, proved_by, uncorrelated
from commbounds.theory.model import Goal, Model, by_claim, vectors
from commbounds.theory.smooth_functions import between_parabolas

_g, _z, _noise = vectors("g z noise_of_batch")
_fallen, _falls, _sum, _away, _above = sp.symbols("fallen falls sum away above", real=True)
_used, _batch, _delta, _curved, _many = sp.symbols("used batch delta curved many", positive=True)
_STEP = {"gamma": stepsize, "B": largest_batch, "L": smoothness}
_made = stepsize / largest_batch * (_batch * _g + _noise)
"""What a step takes away: gamma/B times the batch's sum, the slopes and the noises of its samples."""
_BATCH = {"<g, noise>": _g * _noise, "noise of the batch": _noise**2 - _batch * noise**2}
_SAMPLES = *independent_of("samples"), *uncorrelated(noise**2), *never_negative("steps")


def _nonconvex(bound: Any) -> tuple[Goal, ...]:
    """With the falls and samples of the steps made in place of all."""

    def left(fallen: Any, used: Any, total: Any) -> Any:
        return used * bound.subs({excess: fallen, samples: used}, simultaneous=True) - total

    descent = _falls - _g * _made + smoothness / 2 * _made**2
    slope = {"batch, L gamma": _batch * (1 - smoothness * stepsize) * _g**2,
             "batch, B - b": _batch * smoothness * stepsize * (largest_batch - _batch) * _g**2}  # fmt: skip
    given = {"before": left(_fallen, _used, _sum), "parabola above": descent, **slope}
    more = left(_fallen + _falls, _used + _batch, _sum + _batch * _g**2)
    positive = {**_STEP, "samples": samples}
    return (
        Goal("no sample", left(0, _used, 0).subs(_used, 0)),
        *_SAMPLES,
        Goal("step", more, given=given, positive=_STEP, zero=_BATCH, vectors=(_g, _noise)),
        Goal(
            "least value",
            samples * (bound - bound.subs(excess, _fallen)),
            given={"f stays above its infimum": excess - _fallen},
            positive=positive,
        ),
    )


def _convex(bound: Any) -> tuple[Goal, ...]:
    def left(squared: Any, used: Any, total: Any) -> Any:
        return used * bound.subs(samples, used).subs(distance**2, squared) - total

    given = {
        "before": left(distance**2 - _z**2, _used, _sum),
        "smooth and convex": _batch * (_g * _z - _above - _g**2 / (2 * smoothness)),
        "batch, L gamma": _batch * (1 - smoothness * stepsize) * _g**2 / smoothness,
        "batch, B - b": _batch * stepsize * (largest_batch - _batch) * _g**2,
    }
    part = stepsize * _batch / largest_batch
    nearer = _z**2 - 2 * part * _g * _z + part**2 * _g**2 + (stepsize * noise / largest_batch) ** 2 * _batch
    more = left(distance**2 - nearer, _used + _batch, _sum + _batch * _above)
    return (
        Goal("no sample", left(0, _used, 0).subs(_used, 0)),
        *_SAMPLES,
        *between_parabolas(smoothness, sp.S.Zero),
        Goal(
            "nearer",
            nearer - (_z - _made) ** 2,
            equal=True,
            positive=_STEP,
            zero={**_BATCH, "<z, noise>": _z * _noise},
            vectors=(_g, _z, _noise),
        ),
        Goal("step", more, given=given, positive=_STEP, vectors=(_g, _z)),
        Goal(
            "what is left of the distance",
            left(distance**2, _used, _sum) - left(distance**2 - _away, _used, _sum),
            given={"distance": _away},
            positive=_STEP,
        ),
    )


_GRADIENT_BOUND = 2 * largest_batch * excess / (stepsize * samples) + smoothness * stepsize * noise**2 / largest_batch
_EXCESS_BOUND = largest_batch * distance**2 / (2 * stepsize * samples) + stepsize * noise**2 / (2 * largest_batch)


def _tuned(bound: Any) -> tuple[Goal, ...]:
    """At both branches of the step size, with roots of Delta, L, K and 2 for symbols."""
    two = sp.Symbol("two", positive=True)
    gamma = sp.Symbol("gamma", positive=True)
    at = bound.xreplace({sp.sqrt(2): two}).subs({excess: _delta**2, smoothness: _curved**2, samples: _many**2})
    roots = {stepsize: gamma, excess: _delta**2, smoothness: _curved**2, samples: _many**2}
    any_step = _GRADIENT_BOUND.subs(roots, simultaneous=True)
    positive = {"B": largest_batch, "sqrt(Delta)": _delta, "sqrt(L)": _curved, "sqrt(K)": _many, "sqrt(2)": two}
    reached = two * largest_batch * _delta * _curved - noise * _many
    tuned = largest_batch * two * _delta / (_many * _curved * noise)
    root = {"two": two**2 - 2}
    return (
        *proved_by("any step size", _nonconvex(_GRADIENT_BOUND)),
        Goal(
            "gamma = 1/L",
            (at - any_step.subs(gamma, 1 / _curved**2)) * _many**2,
            given={"1/L is the smaller": reached, "noise": noise},
            positive=positive,
            zero=root,
        ),
        Goal(
            "the other is smaller", at - any_step.subs(gamma, tuned), positive={**positive, "noise": noise}, zero=root
        ),
    )


def _tuned_convex(bound: Any) -> tuple[Goal, ...]:
    gamma = sp.Symbol("gamma", positive=True)
    at = bound.subs(samples, _many**2)
    any_step = _EXCESS_BOUND.subs({stepsize: gamma, samples: _many**2}, simultaneous=True)
    positive = {"B": largest_batch, "L": smoothness, "sqrt(K)": _many}
    reached = largest_batch * distance * smoothness - noise * _many
    tuned = largest_batch * distance / (_many * noise)
    return (
        *proved_by("any step size", _convex(_EXCESS_BOUND)),
        Goal(
            "gamma = 1/L",
            at - any_step.subs(gamma, 1 / smoothness),
            given={"1/L is the smaller": reached, "noise": noise, "distance": distance},
            positive=positive,
        ),
        Goal(
            "the other is smaller",
            at - any_step.subs(gamma, tuned),
            positive={**positive, "noise": noise, "distance": distance},
        ),
    )


_SGD = (
    "all L-smooth functions, every dimension, every noise of variance sigma^2 a sample, all batches of 0..B samples, "
    "every gamma <= 1/L; real arithmetic"
)

MODELS = by_claim(
    Model(
        claim="dropcompute.sgd.nonconvex",
        words="Given the batches. `g` is the gradient before a step of `batch` samples, whose step is gamma/B times "
        "their sum, batch g and the sum of their noises, `noise_of_batch`: independent of g, without a mean, of "
        "variance sigma^2 each. f falls by `falls` on average, under the parabola above. `fallen`, `used` and `sum` "
        "are the falls, the samples and the squared gradients times their batches before. Induction on the steps; in "
        "all f falls by at most Delta.",
        scope=_SGD,
        goals=_nonconvex,
    ),
    Model(
        claim="dropcompute.sgd.convex",
        words="Given the batches. `g` is the gradient before a step of `batch` samples and `z` the point less the "
        "minimiser, whose mean squared norm is `away` before and `next` after: less gamma/B times the samples' "
        "slopes and noises, as for dropcompute.sgd.nonconvex. A convex L-smooth f has <g, z> >= f - f* + ||g||^2/(2L); "
        "`above` is f - f*, `sum` its sum times batches before, `used` the samples before. Induction on the steps.",
        scope=_SGD.replace("L-smooth", "convex L-smooth"),
        goals=_convex,
    ),
    Model(
        claim="dropcompute.sgd.nonconvex_tuned",
        words="The bound of dropcompute.sgd.nonconvex at gamma = 1/L where that is at most B sqrt(2 Delta/(K L "
        "sigma^2)), and at the latter else. `delta`^2 is Delta, `curved`^2 L, `many`^2 K and `two`^2 2.",
        scope=_SGD.replace("gamma <= 1/L", "Delta > 0, gamma as tuned"),
        goals=_tuned,
        checked_by=("dropcompute.sgd.nonconvex_tuned", "dropcompute.sgd.nonconvex"),
    ),
    Model(
        claim="dropcompute.sgd.convex_tuned",
        words="The bound of dropcompute.sgd.convex at gamma = 1/L where that is at most B R/(sigma sqrt(K)), and at "
        "the latter else. `many`^2 is K.",
        scope=_SGD.replace("L-smooth", "convex L-smooth").replace("gamma <= 1/L", "R > 0, gamma as tuned"),
        goals=_tuned_convex,
        checked_by=("dropcompute.sgd.convex_tuned", "dropcompute.sgd.convex"),
    ),
)
"""By claim."""
