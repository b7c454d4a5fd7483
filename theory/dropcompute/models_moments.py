"""What certificates about completed micro-batches, gains and SGD prove."""

from __future__ import annotations

from typing import Any

import sympy as sp

from commbounds.theory.dropcompute.models_steps import at_branches
from commbounds.theory.dropcompute.terms import (
    M,
    begun,
    below,
    capped,
    distance,
    excess,
    jitter,
    largest_batch,
    late,
    latency,
    longest,
    noise,
    overhead,
    samples,
    shortest,
    slowest,
    smoothness,
    stepsize,
    tau,
    truth,
)
from commbounds.theory.finite_laws import rising_together
from commbounds.theory.model import Goal, Model, by_claim, vectors

_done, _weight, _count, _passed, _x, _u = sp.symbols("done weight count passed x u", nonnegative=True)
_deviation, _root, _square, _ending, _gain = sp.symbols("deviation root square ending gain", nonnegative=True)
_paid, _ratio, _both, _worker, _power = sp.symbols("paid ratio both worker power", nonnegative=True)
_g, _z = vectors("g z")
_fallen, _falls, _sum, _away, _next, _above = sp.symbols("fallen falls sum away next above", real=True)
_used, _batch, _delta, _curved, _many = sp.symbols("used batch delta curved many", positive=True)
_begun_or_late = {"begun are completed, or one more": _done - begun + late}


def _work(bound: Any) -> tuple[Goal, ...]:
    more = bound.subs(begun, begun + _weight)
    return (
        Goal("none", bound.subs(begun, 0), equal=True),
        Goal("a micro-batch more", more - bound - _weight * latency, equal=True),
    )


def _accounting(bound: Any) -> tuple[Goal, ...]:
    def more(ones: Any) -> Any:
        at = {begun: begun + _weight * (_count + ones), late: late + _weight * ones}
        return bound.subs(at, simultaneous=True) - bound - _weight * _count

    return (
        Goal("nothing", bound.subs({begun: 0, late: 0}), equal=True),
        Goal("late", more(1), equal=True),
        Goal("in time", more(0), equal=True),
    )


_WALD = {"it works until tau or its end": latency * begun - capped}


def _at_least(bound: Any) -> tuple[Goal, ...]:
    given = {"completed": _done, **_WALD}
    return tuple(
        Goal(f"at least {name}", _done - at, given=given, positive={"mu": latency}, zero=_begun_or_late)
        for name, at in at_branches(bound, sp.Max)
    )


def _new_better(bound: Any) -> tuple[Goal, ...]:
    given = {"what is left at tau": capped + latency * late - latency * begun}
    return (Goal("Wald", bound - _done, given=given, positive={"mu": latency}, zero=_begun_or_late),)


def _new_worse(bound: Any) -> tuple[Goal, ...]:
    given = {"what is left at tau": latency * begun - capped - latency * late}
    return (Goal("Wald", _done - bound, given=given, positive={"mu": latency}, zero=_begun_or_late),)


def _exponential(bound: Any) -> tuple[Goal, ...]:
    zero = {**_begun_or_late, "what is left at tau": latency * begun - capped - latency * late}
    return (Goal("Wald", bound - _done, equal=True, positive={"mu": latency}, zero=zero),)


_AT_MEAN = {
    "completed": _done,
    "late at most surely": 1 - late,
    "it works until tau or its end": latency * (_done + late) - (M * latency - _deviation / 2),
}


def _at_the_mean(bound: Any) -> tuple[Goal, ...]:
    spread = _root * jitter
    given = {name: condition.subs(M, _root**2) for name, condition in _AT_MEAN.items()}
    goals = []
    for name, at in at_branches(bound, sp.Max):
        less = (_done - at).subs(M, _root**2)
        if name == "0":
            goals.append(Goal("at least 0", less, given=given))
            continue
        known = {**given, "variance": spread**2 - _deviation**2, "reach": spread + _deviation}
        constant = {key: condition.subs({jitter: 0, _deviation: 0}) for key, condition in given.items()}
        positive = {"mu": latency}
        goals.append(Goal("some deviation", less * (spread + _deviation), given=known, positive=positive))
        goals.append(Goal("constant latency", less.subs(jitter, 0), given=constant, positive=positive))
    return tuple(goals)


def _one_sided(bound: Any) -> tuple[Goal, ...]:
    beyond = tau - M * latency
    least = (beyond + _u) ** 2
    positive = {"tau - M mu": beyond, "M sigma^2 + (tau - M mu)^2": M * jitter**2 + beyond**2}
    mean = {"mean of the squares": M * jitter**2 + _u**2 - (1 - _passed) * least}
    a = sp.Symbol("beyond", positive=True)
    return (
        Goal("late", (_x + _u) ** 2 - (a + _u) ** 2, given={"late": _x - a, "u": _u, "beyond": a}),
        Goal(
            "in time at least",
            _passed - bound,
            given={name: e.subs(_u, M * jitter**2 / beyond) for name, e in mean.items()},
            positive=positive,
        ),
    )


_OF_ALL = (slowest + overhead) / (M * (capped + overhead))


def _no_threshold(bound: Any) -> tuple[Goal, ...]:
    return (Goal("all completed", bound - (M * _OF_ALL).subs(capped, slowest), equal=True),)


def _positive() -> dict[str, Any]:
    return {"M": M, "capped + overhead": capped + overhead}


def _with_means(bound: Any) -> tuple[Goal, ...]:
    capped_by = {"at most tau": tau - capped, "at most the slowest": slowest - capped}
    positive = {**_positive(), "tau + overhead": tau + overhead, "slowest + overhead": slowest + overhead}
    return tuple(
        Goal(f"{name} is the smaller", below * _OF_ALL - at, given={**capped_by, "below": below}, positive=positive)
        for name, at in at_branches(bound, sp.Min)
    )


def _calibrated(bound: Any) -> tuple[Goal, ...]:
    long_run = bound.subs(truth, _done * (slowest + overhead) / (M * _paid))
    given = {
        "factor falls where it completes more": _ratio * _done - _both,
        "factor grows with the time": slowest + overhead - _paid * _ratio,
        "completed": _done,
    }
    positive = {"M": M, "min(tau, T) + overhead": _paid}
    return *rising_together(), Goal("long run", long_run - _both / M, given=given, positive=positive)


def _gain_at_the_mean(bound: Any) -> tuple[Goal, ...]:
    def at_root(expression: Any) -> Any:
        return expression.subs(M, _root**2)

    given = {
        "completed": _done,
        "at most the mean": at_root(M * latency - capped),
        "completed at the mean": at_root(_done - (M - 1) + sp.sqrt(M) * jitter / (2 * latency)),
        "slowest + overhead": slowest + overhead,
    }
    positive = {"mu": latency, "sqrt(M)": _root, "capped + overhead": capped + overhead}
    positive["M mu + overhead"] = at_root(M * latency + overhead)
    return tuple(
        Goal(f"keeps {name}", at_root(_done * _OF_ALL - at), given=given, positive=positive)
        for name, at in at_branches(bound, sp.Max)
    )


def _gain_new_better(bound: Any) -> tuple[Goal, ...]:
    given = {
        "completed at most": _worker - latency * _done,
        "of one worker, at most of the slowest": capped - _worker,
        "no more than all": M - _done,
        "overhead": overhead,
        "slowest + overhead": slowest + overhead,
    }
    positive = {**_positive(), "M mu + overhead": M * latency + overhead}
    return (Goal("ideal", bound - _done * _OF_ALL, given=given, positive=positive),)


def _gain_single(bound: Any) -> tuple[Goal, ...]:
    given = {
        "completed at most": capped - latency * _done,
        "at most the mean": M * latency - capped,
        "overhead": overhead,
    }
    alone = (_done * _OF_ALL).subs(slowest, M * latency)
    return (Goal("alone", bound - alone, given=given, positive={**_positive(), "mu": latency}),)


def _gain_bounded(bound: Any) -> tuple[Goal, ...]:
    given = {
        "all at most": M - _done,
        "each took the shortest": capped - shortest * _done,
        "no later than all the longest": M * longest - slowest,
        "overhead": overhead,
        "completed": _done,
        "longest": longest,
        "shortest": shortest,
    }
    positive = {**_positive(), "M a + overhead": M * shortest + overhead}
    return (Goal("cap", bound - _done * _OF_ALL, given=given, positive=positive),)


def _gain_degenerate(bound: Any) -> tuple[Goal, ...]:
    given = {
        "a first one longer than tau": latency * _done - tau * _power,
        "at most tau": tau - capped,
        "completed": _done,
        "slowest": slowest,
        "power": _power,
    }
    at = bound.xreplace({sp.exp(-tau / latency): _power})
    positive = {"M": M, "mu": latency, "capped": capped}
    return (Goal("small threshold", (_done * _OF_ALL).subs(overhead, 0) - at, given=given, positive=positive),)


def _computed(bound: Any) -> tuple[Goal, ...]:
    mean = {"mean of what counts": _count * _weight - 1}
    return (Goal("weights", bound - _count * _weight, equal=True, zero=mean),)


_STEP = {"gamma": stepsize, "B": largest_batch, "L": smoothness}


def _nonconvex(bound: Any) -> tuple[Goal, ...]:
    """With the falls and samples of the steps made in place of all."""

    def left(fallen: Any, used: Any, total: Any) -> Any:
        return used * bound.subs({excess: fallen, samples: used}, simultaneous=True) - total

    square = (_batch / largest_batch) ** 2 * _g**2 + _batch * noise**2 / largest_batch**2
    descent = _falls - stepsize * _batch / largest_batch * _g**2 + smoothness * stepsize**2 / 2 * square
    slope = {"batch, L gamma": _batch * (1 - smoothness * stepsize) * _g**2,
             "batch, B - b": _batch * smoothness * stepsize * (largest_batch - _batch) * _g**2}  # fmt: skip
    given = {"before": left(_fallen, _used, _sum), "smooth": descent, **slope}
    more = left(_fallen + _falls, _used + _batch, _sum + _batch * _g**2)
    positive = {**_STEP, "samples": samples}
    return (
        Goal("no sample", left(0, _used, 0).subs(_used, 0)),
        Goal("step", more, given=given, positive=_STEP, vectors=(_g,)),
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

    square = (_batch / largest_batch) ** 2 * _g**2 + _batch * noise**2 / largest_batch**2
    nearer = _away - 2 * stepsize * _batch / largest_batch * _g * _z + stepsize**2 * square - _next
    given = {
        "before": left(distance**2 - _away, _used, _sum),
        "nearer": nearer,
        "smooth and convex": _batch * (_g * _z - _above - _g**2 / (2 * smoothness)),
        "batch, L gamma": _batch * (1 - smoothness * stepsize) * _g**2 / smoothness,
        "batch, B - b": _batch * stepsize * (largest_batch - _batch) * _g**2,
    }
    more = left(distance**2 - _next, _used + _batch, _sum + _batch * _above)
    return (
        Goal("no sample", left(0, _used, 0).subs(_used, 0)),
        Goal("step", more, given=given, positive=_STEP, vectors=(_g, _z)),
        Goal(
            "what is left of the distance",
            left(distance**2, _used, _sum) - left(distance**2 - _away, _used, _sum),
            given={"distance": _away},
            positive=_STEP,
        ),
    )


def _tuned(bound: Any) -> tuple[Goal, ...]:
    """At both branches of the step size, with roots of Delta, L, K and 2 for symbols."""
    two = sp.Symbol("two", positive=True)
    gamma = sp.Symbol("gamma", positive=True)
    at = bound.xreplace({sp.sqrt(2): two}).subs({excess: _delta**2, smoothness: _curved**2, samples: _many**2})
    any_step = 2 * largest_batch * _delta**2 / (gamma * _many**2) + _curved**2 * gamma * noise**2 / largest_batch
    positive = {"B": largest_batch, "sqrt(Delta)": _delta, "sqrt(L)": _curved, "sqrt(K)": _many, "sqrt(2)": two}
    reached = two * largest_batch * _delta * _curved - noise * _many
    tuned = largest_batch * two * _delta / (_many * _curved * noise)
    root = {"two": two**2 - 2}
    return (
        Goal(
            "gamma = 1/L",
            (at - any_step.subs(gamma, 1 / _curved**2)) * _many**2,
            given={"1/L is the smaller": reached, "noise": noise},
            positive=positive,
            zero=root,
        ),
        Goal(
            "the other is smaller",
            at - any_step.subs(gamma, tuned),
            positive={**positive, "noise": noise},
            zero=root,
        ),
    )


def _tuned_convex(bound: Any) -> tuple[Goal, ...]:
    gamma = sp.Symbol("gamma", positive=True)
    at = bound.subs(samples, _many**2)
    any_step = largest_batch * distance**2 / (2 * gamma * _many**2) + gamma * noise**2 / (2 * largest_batch)
    positive = {"B": largest_batch, "L": smoothness, "sqrt(K)": _many}
    reached = largest_batch * distance * smoothness - noise * _many
    tuned = largest_batch * distance / (_many * noise)
    return (
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


_INDEPENDENT = "every law of independent latencies"
_WALD_IN_WORDS = (
    "`done` is the expected number completed, one less than begun where the worker is late. The number begun is a "
    "stopping time: by Wald mu begun is the expected time at which the last one begun ends"
)
_GAIN_IN_WORDS = "The gain is `done` (E T + T_c)/(M (E min(tau, T) + T_c)), with `done` completed of an average worker"
_SGD = (
    "all L-smooth functions, every dimension, every noise of variance sigma^2 a sample, all batches of 0..B samples, "
    "every gamma <= 1/L; real arithmetic"
)

MODELS = by_claim(
    Model(
        claim="dropcompute.completed.work",
        words="A micro-batch more begins with probability `weight`, which depends on the latencies before it alone: it "
        "adds weight mu to the expected time at which the worker stops, and weight to `begun`.",
        scope=f"{_INDEPENDENT} with a mean, every M and tau",
        goals=_work,
        checked_by=("dropcompute.completed.work",),
    ),
    Model(
        claim="dropcompute.completed.accounting",
        words="Of an outcome of probability `weight`: where the worker is late it has begun one more than the "
        "`count` that it completed, else as many. Induction on the outcomes.",
        scope="every law of the latencies, every M and tau",
        goals=_accounting,
        checked_by=("dropcompute.completed.accounting",),
    ),
    Model(
        claim="dropcompute.completed.at_least",
        words=f"{_WALD_IN_WORDS}, which is min(tau, T_n) or later. At least the larger of two is at least each.",
        scope=f"{_INDEPENDENT} with a mean, every M and tau",
        goals=_at_least,
        checked_by=("dropcompute.completed.at_least",),
    ),
    Model(
        claim="dropcompute.completed.new_better",
        words=f"{_WALD_IN_WORDS}: min(tau, T_n), and for a late worker what is then left of the one under way, whose "
        "mean is at most mu whenever it began.",
        scope=f"{_INDEPENDENT} that are new better than used, every M and tau",
        goals=_new_better,
        checked_by=("dropcompute.completed.new_better",),
    ),
    Model(
        claim="dropcompute.completed.new_worse",
        words=f"{_WALD_IN_WORDS}: min(tau, T_n), and for a late worker what is then left of the one under way, whose "
        "mean is at least mu whenever it began, if none ends exactly at tau. Where one does with some probability, "
        "thresholds a little smaller, at which none does, have the claim, and both of its sides tend to those at "
        "tau.",
        scope=f"{_INDEPENDENT} that are new worse than used, every M and tau",
        goals=_new_worse,
        checked_by=("dropcompute.completed.new_worse",),
    ),
    Model(
        claim="dropcompute.completed.exponential",
        words=f"{_WALD_IN_WORDS}: min(tau, T_n), and for a late worker what is then left of the one under way, of "
        "mean mu: the law has no memory.",
        scope="independent exponential latencies of every mean, every M and tau",
        goals=_exponential,
        checked_by=("dropcompute.completed.exponential",),
    ),
    Model(
        claim="dropcompute.completed.at_the_mean",
        words=f"{_WALD_IN_WORDS}, which is min(M mu, T_n) or later; M mu less its mean is half the mean `deviation` "
        "of T_n from M mu, whose square is at most the variance M sigma^2. `root`^2 is M. The claim, times a factor "
        "that is positive except for constant latency.",
        scope=f"{_INDEPENDENT} with a variance, every M, tau = M mu",
        goals=_at_the_mean,
        checked_by=("dropcompute.completed.at_the_mean",),
    ),
    Model(
        claim="dropcompute.completed.one_sided",
        words="With a = tau - M mu, `beyond`, and u = M sigma^2/a: where T_n - M mu = `x` >= a, (x + u)^2 >= (a + "
        "u)^2, and elsewhere the square is >= 0. The mean of the square is M sigma^2 + u^2; `passed` is P(T_n < "
        "tau).",
        scope=f"{_INDEPENDENT} with a variance, every M, every tau > M mu",
        goals=_one_sided,
        checked_by=("dropcompute.completed.one_sided",),
    ),
    Model(
        claim="dropcompute.gain.no_threshold",
        words=f"{_GAIN_IN_WORDS}: M, and min(tau, T) = T.",
        scope="every law of the latencies with a mean, every N, M and T_c",
        goals=_no_threshold,
        checked_by=("dropcompute.gain.no_threshold",),
    ),
    Model(
        claim="dropcompute.gain.with_means",
        words=f"{_GAIN_IN_WORDS}, `below`; min(tau, T) is at most each of the two, and so is its mean at most tau "
        "and E T. The claim's bound for both of the two that may be the smaller.",
        scope="every law of the latencies with a mean, every N, M, tau and T_c",
        goals=_with_means,
        checked_by=("dropcompute.gain.with_means",),
    ),
    Model(
        claim="dropcompute.gain.calibrated",
        words=f"{_GAIN_IN_WORDS}, and `paid` the mean of A = min(tau, T) + T_c: that is the truth. The calibration's "
        "mean is `both`/M, of the factor R = (T + T_c)/A times what is completed; `ratio` is E R. In the independent "
        "latencies A and R grow and what is completed falls, so both <= ratio done, and paid ratio <= E A R = E T + "
        "T_c: Harris' inequality, which goals show where latencies have finitely many values, by induction on the "
        "latencies and on the values of the last. Other laws are limits of these.",
        scope=f"{_INDEPENDENT} with a mean, every N, M, tau, every T_c, min(tau, T) + T_c not always 0",
        goals=_calibrated,
        checked_by=("dropcompute.gain.calibrated",),
    ),
    Model(
        claim="dropcompute.gain.at_the_mean",
        words=f"{_GAIN_IN_WORDS}: at least as many as dropcompute.completed.at_the_mean says; "
        "min(tau, T) <= tau = M mu. `root`^2 is M. At least the larger of two is at least each.",
        scope=f"{_INDEPENDENT} with a variance, every N, M and T_c, tau = M mu",
        goals=_gain_at_the_mean,
        checked_by=("dropcompute.gain.at_the_mean", "dropcompute.completed.at_the_mean"),
    ),
    Model(
        claim="dropcompute.gain.new_better",
        words=f"{_GAIN_IN_WORDS}, at most M. `worker` is E min(tau, T_n): at most E min(tau, T), and at least mu "
        "done by dropcompute.completed.new_better.",
        scope=f"{_INDEPENDENT} that are new better than used, every N, M, tau and T_c",
        goals=_gain_new_better,
        checked_by=("dropcompute.gain.new_better", "dropcompute.completed.new_better"),
    ),
    Model(
        claim="dropcompute.gain.single",
        words=f"{_GAIN_IN_WORDS}. One worker is the slowest: E T = M mu, and min(tau, T) is its own, at most M mu "
        "and at least mu done by dropcompute.completed.new_better.",
        scope=f"{_INDEPENDENT} that are new better than used, N = 1, every M, tau and T_c",
        goals=_gain_single,
        checked_by=("dropcompute.gain.single", "dropcompute.completed.new_better"),
    ),
    Model(
        claim="dropcompute.gain.bounded",
        words=f"{_GAIN_IN_WORDS}: at most M. Each completed took a or longer within min(tau, T), and no worker takes "
        "longer than M b.",
        scope=f"{_INDEPENDENT} in [a, b], every N, M, tau and T_c with M a + T_c > 0",
        goals=_gain_bounded,
        checked_by=("dropcompute.gain.bounded",),
    ),
    Model(
        claim="dropcompute.gain.degenerate",
        words=f"{_GAIN_IN_WORDS}, here T_c = 0. mu done = E min(tau, T_n) by dropcompute.completed.exponential, and "
        "that is tau where the first micro-batch takes longer, with probability `power` = exp(-tau/mu); min(tau, T) "
        "<= tau.",
        scope="independent exponential latencies of every mean, every N, M and tau, T_c = 0",
        goals=_gain_degenerate,
        checked_by=("dropcompute.gain.degenerate", "dropcompute.completed.exponential"),
    ),
    Model(
        claim="dropcompute.gradient.computed",
        words="Given the latencies, `count` >= 1 micro-batches have the `weight` 1/count each, and each the full "
        "gradient for its mean.",
        scope="every law of latencies that do not depend on the data, every N, M and tau",
        goals=_computed,
        checked_by=("dropcompute.gradient.computed",),
    ),
    Model(
        claim="dropcompute.sgd.nonconvex",
        words="Given the batches. `g` is the gradient before a step of `batch` samples, whose step is gamma/B times "
        "their sum: of mean gamma b/B g, and of mean square gamma^2 (b^2/B^2 ||g||^2 + b sigma^2/B^2). Smoothness: "
        "f falls by `falls` >= gamma b/B ||g||^2 less L/2 times that. `fallen`, `used` and `sum` are the falls, the "
        "samples and the squared gradients times their batches before. Induction on the steps; in all f falls by at "
        "most Delta.",
        scope=_SGD,
        goals=_nonconvex,
        checked_by=("dropcompute.sgd.nonconvex",),
    ),
    Model(
        claim="dropcompute.sgd.convex",
        words="Given the batches. `g` is the gradient before a step of `batch` samples and `z` the point less the "
        "minimiser, whose mean squared norm is `away` before and `next` after: away - 2 gamma b/B <g, z> + gamma^2 "
        "(b^2/B^2 ||g||^2 + b sigma^2/B^2). A convex L-smooth f has <g, z> >= f - f* + ||g||^2/(2L); `above` is f - "
        "f*, `sum` its sum times batches before, `used` the samples before. Induction on the steps.",
        scope=_SGD.replace("L-smooth", "convex L-smooth"),
        goals=_convex,
        checked_by=("dropcompute.sgd.convex",),
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
