"""What certificates about steps, and about the slowest of the workers, prove."""

from collections.abc import Iterator
from typing import Any

import sympy as sp

from commbounds.theory.dropcompute.terms import (
    M,
    N,
    begun,
    below,
    best,
    fewer,
    jitter,
    latency,
    later,
    longest,
    overhead,
    slowest,
    slowestvariance,
    spare,
    synchronised,
    tau,
)
from commbounds.theory.finite_laws import over_all, square_of_mean, uncorrelated
from commbounds.theory.model import Goal, Model, by_claim, in_range, vectors

_time, _begin, _took, _end, _other = sp.symbols("time begin took end other", nonnegative=True)
_count, _done, _weight, _past, _forward = sp.symbols("count done weight past forward", nonnegative=True)
_gain, _candidate, _seen, _spread, _mean = sp.symbols("gain candidate seen spread mean", nonnegative=True)
_passed_all, _passed, _excess, _root, _width = sp.symbols("y x excess root width", nonnegative=True)
_q, _h = vectors("q h")


def at_branches(bound: Any, kind: Any) -> Iterator[tuple[str, Any]]:
    """The bound with its Min, or its Max, replaced by each of its arguments, with the argument's name."""
    (extreme,) = bound.atoms(kind)
    for argument in sorted(extreme.args, key=str):
        yield str(argument), bound.xreplace({extreme: argument})


def _step_time(bound: Any) -> tuple[Goal, ...]:
    waited = bound.xreplace({sp.Min(tau, slowest): slowest})
    stopped = bound.xreplace({sp.Min(tau, slowest): tau})
    return (
        Goal("in time, a worker", waited - overhead - _time, given={"not the slowest": slowest - _time}),
        Goal("in time, the slowest", waited - overhead - slowest, equal=True),
        Goal("stopped, a worker before", stopped - overhead - _time, given={"before tau": tau - _time}),
        Goal("stopped, the slowest", stopped - overhead - tau, equal=True),
    )


def _overshoot(bound: Any) -> tuple[Goal, ...]:
    given = {
        "begins at tau or before": tau - _begin,
        "takes no longer than the longest": longest - _took,
        "what is left takes time": slowest - _begin - _took,
    }
    return tuple(Goal(f"at most {name}", at - overhead - _begin - _took, given=given)
                 for name, at in at_branches(bound, sp.Min))  # fmt: skip


def _between_least(bound: Any) -> tuple[Goal, ...]:
    passes = {"in time": tau - _begin - _took, "took": _took, **in_range(_forward)}
    held = {"before": _count - bound}
    return (
        Goal("none", -bound.subs(below, 0)),
        Goal("it begins in time", tau - _begin, given=passes),
        Goal("its middle is in time", tau - _begin - _forward * _took, given=passes),
        Goal("a micro-batch in time", _count + 1 - bound.subs(below, below + 1), given=held),
        Goal("another", _count + _past - bound, given={**held, "counts or not": _past}),
    )


def _between_most(bound: Any) -> tuple[Goal, ...]:
    middle = {"middle in time": tau - _begin - _forward * _took, "took": _took, **in_range(_forward)}
    held = {"before": bound - _count}
    return (
        Goal("none", bound.subs(begun, 0)),
        Goal("it begins in time", tau - _begin, given=middle),
        Goal("a micro-batch that counts", bound.subs(begun, begun + 1) - _count - 1, given=held),
        Goal("another", bound.subs(begun, begun + _past) - _count, given={**held, "begun or not": _past}),
    )


def _monotone(bound: Any) -> tuple[Goal, ...]:
    held = {"before": bound - _count}
    larger = {"in time": tau - _end, "a larger threshold": _other - tau}
    return (
        Goal("none", bound.subs(later, 0)),
        Goal("it stays in time", _other - _end, given=larger),
        Goal("a micro-batch in time", bound.subs(later, later + 1) - _count - 1, given=held),
        Goal("another", bound.subs(later, later + _past) - _count, given={**held, "in time or not": _past}),
    )


def _subadditive(bound: Any) -> tuple[Goal, ...]:
    given = {"not the slowest of the micro-batch": _other - _took, "before": bound - _time}
    longer = bound.subs(synchronised, synchronised + _other)
    return (
        Goal("none", bound.subs(synchronised, 0), given={"overhead": overhead}),
        Goal("a micro-batch more", longer - _time - _took, given=given),
    )


def _period(bound: Any) -> tuple[Goal, ...]:
    given = {"not the slowest of the step": _other - _took, "before": bound - _time}
    longer = bound.subs(synchronised, synchronised + _other)
    return (
        Goal("no local step", bound.subs(synchronised, 0) - overhead),
        Goal("a local step more", longer - _time - _took, given=given),
    )


def _backup(bound: Any) -> tuple[Goal, ...]:
    waited = {"waited for": tau - _time, "what is left takes time": _time - _end}
    return (
        Goal("every micro-batch of a worker waited for", tau - _end, given=waited),
        Goal("counts", (N - spare) * M + _count - bound, given={"others": _count}),
    )


def _optimal(bound: Any) -> tuple[Goal, ...]:
    between = {"tau - candidate": tau - _candidate}
    paid = {"overhead": overhead}
    ratio = (slowest + overhead) / (_candidate + overhead)
    some = {
        "candidate + overhead": _candidate + overhead,
        "tau + overhead": tau + overhead,
        "T + overhead": slowest + overhead,
    }
    return (
        Goal("nothing in time", bound, given={"best": best}),
        Goal(
            "stopped in both", ratio - (slowest + overhead) / (tau + overhead), given={**between, **paid}, positive=some
        ),
        Goal(
            "stopped at the candidate alone",
            ratio - 1,
            given={**paid, "T - candidate": slowest - _candidate},
            positive=some,
        ),
        Goal(
            "one more step",
            _seen + _count * _other - (_gain + _count * _took),
            given={"steps before": _seen - _gain, "in time": _count, "its factor is no larger at tau": _other - _took},
        ),
        Goal("of all", bound - _gain, given={"the best candidate": best - _seen, "no better between": _seen - _gain}),
    )


def _universal(bound: Any) -> tuple[Goal, ...]:
    def at(expression: Any) -> Any:
        return expression.subs({N: (_width**2 + 1) / 2, M: _root**2}, simultaneous=True)

    spread, factor = _root * jitter, (_width**2 - 1) / 2
    allowed = at(bound - M * latency)
    return (
        Goal("one worker", bound.subs(N, 1) - M * latency, equal=True),
        Goal("constant latency", bound.subs(jitter, 0) - M * latency, equal=True),
        Goal(
            "several workers",
            (allowed - _q * _h) * 2 * spread * factor * _width,
            given={"square": (factor * _q - spread * _width * _h) ** 2},
            positive={"sqrt(2 N - 1)": _width},
            zero={"variance": _q**2 - spread**2, "weight of the quantiles": _h**2 * _width**2 - factor**2},
            vectors=(_q, _h),
        ),
    )


def _exceeds(bound: Any, spread: Any) -> tuple[Goal, ...]:
    """That the slowest's mean excess over the workers' mean, squared, is within N - 1 variances."""

    def at(expression: Any) -> Any:
        return expression.subs({N: _width**2 + 1, M: _root**2}, simultaneous=True)

    others = _spread - _excess**2
    allowed = at(bound - M * latency)
    reach = spread * _width
    given = {
        "variance of the excess": _seen - _mean**2,
        "outcomes": _width**2 * _spread - (_width**2 + 1) * _seen,
        "N times a variance": (_width**2 + 1) * spread**2 - _spread,
        "sqrt(N - 1)": _width,
    }
    squares, number = sp.symbols("squares number", nonnegative=True)
    return (
        *square_of_mean(),
        *over_all(
            lambda about, squares, sums, count: about - (squares - 2 * _mean * sums + _mean**2 * count),
            ((_time - _mean) ** 2, _time**2, _time, sp.S.One),
            case="about the workers' mean: ",
            equal=True,
        ),
        Goal(
            "about the workers' mean, no more",
            squares - _spread,
            given={"number": number},
            hints=(_mean,),
            zero={
                "about their mean": _spread - (squares - 2 * _mean * _time + _mean**2 * number),
                "their mean": _time - number * _mean,
            },
        ),
        *over_all(lambda squares, count: spread**2 * count - squares, (_time, sp.S.One), case="workers: "),
        Goal(
            "an outcome",
            (N - 1) * _spread - N * _excess**2,
            given={"the others balance it": (N - 1) * others - _excess**2},
        ),
        *over_all(lambda about, squares: (N - 1) * about - N * squares, (_time, _other), case="outcomes: "),
        Goal("one worker", bound.subs(N, 1) - M * latency, equal=True),
        Goal("constant latency", bound.subs(jitter, 0) - M * latency, equal=True),
        Goal("mean", (allowed - _mean) * (reach + _mean) * (_width**2 + 1), given=given),
    )


def _dependent(bound: Any) -> tuple[Goal, ...]:
    return *uncorrelated(jitter**2), *_exceeds(bound, _root * jitter)


def _dependent_within(bound: Any) -> tuple[Goal, ...]:
    held = {"the sum before": _mean * jitter - _spread}
    longer = {"parallelogram": (jitter * _q - _spread * _h) ** 2}
    alike = {"deviation of the sum": _q**2 - _spread**2, "deviation of one": _h**2 - jitter**2}
    positive = {"spread": _spread, "sigma": jitter}
    more = (((_mean + 1) * jitter) ** 2 - (_q + _h) ** 2) * _spread * jitter
    return (
        *_exceeds(bound, _root**2 * jitter),
        Goal(
            "a micro-batch more",
            more,
            given={**held, **longer, "M": _mean},
            positive=positive,
            zero=alike,
            vectors=(_q, _h),
        ),
    )


def _variance(bound: Any) -> tuple[Goal, ...]:
    apart = (_time - _other) ** 2 / 2

    def more(cut: Any) -> Any:
        return bound.subs(slowestvariance, slowestvariance + _weight * apart) - _spread - _weight * cut**2 / 2

    held = {"before": bound - _spread, "weight": _weight}
    stopped = {"one in time": tau - _time, "other stopped": _other - tau}
    weights, sums, squares, pairs = sp.symbols("weights sums squares pairs", real=True)

    def with_one(weights: Any, sums: Any, squares: Any) -> Any:
        return _weight * (squares - 2 * _took * sums + weights * _took**2)

    return (
        *over_all(
            lambda pairs, *before: pairs - with_one(*before),
            (_weight * _past * (_time - _took) ** 2, _past, _past * _time, _past * _time**2),
            case="pairs with one value: ",
            equal=True,
        ),
        Goal(
            "variance by pairs, one more value",
            (weights + _weight) * (squares + _weight * _took**2)
            - (sums + _weight * _took) ** 2
            - pairs
            - with_one(weights, sums, squares),
            equal=True,
            zero={"values before": pairs - (weights * squares - sums**2)},
        ),
        Goal("nothing", bound.subs(slowestvariance, 0)),
        Goal("both in time", more(_time - _other), given=held),
        Goal("one in time", more(tau - _time), given={**held, **stopped}),
        Goal("both stopped", more(0), given=held, hints=(_time - _other,)),
    )


def _increasing(bound: Any) -> tuple[Goal, ...]:
    longer = bound.subs(fewer, fewer + _weight * _other)
    held = {"before": _time - bound, "weight": _weight}
    return (
        Goal("nothing", -bound.subs(fewer, 0)),
        Goal("the new one is not slower", _time + _weight * _other - longer, given=held),
        Goal("it is", _time + _weight * _took - longer, given={**held, "slower": _took - _other}),
    )


def _concave(bound: Any) -> tuple[Goal, ...]:
    more = bound.subs(
        {slowest: slowest + _weight * (1 - _passed_all * _passed), fewer: fewer + _weight * (1 - _passed_all)},
        simultaneous=True,
    )
    given = {"before": bound - _time, "weight": _weight, "y": _passed_all, **in_range(_passed)}
    return (
        Goal("nothing", bound.subs({slowest: 0, fewer: 0})),
        Goal("a short time more", more - _time - _weight * (1 - _passed_all * _passed**2), given=given),
    )


def _ceiling(bound: Any) -> tuple[Goal, ...]:
    given = {"before": bound - _time, "not the longest": longest - _took}
    return (
        Goal("none", bound.subs(M, 0)),
        Goal("a micro-batch more", bound.subs(M, M + 1) - _time - _took, given=given),
    )


_EACH = "all latencies, every N, M, tau and T_c"
_ALL = "all latencies"
_LAWS = "every law of the latencies with finitely many values"

MODELS = by_claim(
    Model(
        claim="dropcompute.step.time",
        words="A worker stops at its `time` T_n, or at tau where that comes first, and T_c is paid once. Where T <= "
        "tau no worker stops after T, and the slowest stops then; where tau <= T none stops after tau, and the "
        "slowest then.",
        scope=_EACH,
        goals=_step_time,
    ),
    Model(
        claim="dropcompute.step.overshoot",
        words="The last worker's last micro-batch begins at `begin` <= tau and takes `took` <= b: it ends with the "
        "step less T_c; the worker's sum of all latencies is no smaller. A number at most the smaller of two is at "
        "most each.",
        scope=_EACH,
        goals=_overshoot,
    ),
    Model(
        claim="dropcompute.step.between_at_least",
        words="Induction on the micro-batches, `count` that count and `below` that end before tau. One that began at "
        "`begin`, took `took` and ended before tau was begun, and had done its part `forward`, before tau: both tests "
        "let it pass, and those of the ones before it, so that it counts. Another counts or does not.",
        scope=f"{_EACH}, every part in [0, 1] of a micro-batch that is forward",
        goals=_between_least,
    ),
    Model(
        claim="dropcompute.step.between_at_most",
        words="Induction on the micro-batches, `count` that count and `begun` that begin at tau or before. One that "
        "counts had done its part `forward` at tau or before, and began no later. Another begins in time or does not.",
        scope=f"{_EACH}, every part in [0, 1] of a micro-batch that is forward",
        goals=_between_most,
    ),
    Model(
        claim="dropcompute.step.monotone",
        words="Induction on the micro-batches, `count` before tau and `later` before `other` >= tau. One that ends "
        "before tau ends before `other`; another does or does not.",
        scope=f"{_ALL}, every N and M, every two thresholds",
        goals=_monotone,
    ),
    Model(
        claim="dropcompute.step.subadditive",
        words="Induction on the micro-batches of any worker: its `time` grows by `took`, the sum by `other`, the "
        "slowest worker's for that micro-batch.",
        scope=f"{_ALL}, every N and M",
        goals=_subadditive,
    ),
    Model(
        claim="dropcompute.localsgd.subadditive",
        words="Induction on the local steps of any worker: `time`, with the overhead paid once, grows by `took`, the "
        "sum by `other`, the slowest worker's for that step.",
        scope=f"{_ALL}, every N, every number of local steps, every T_c",
        goals=_period,
    ),
    Model(
        claim="dropcompute.backup.dominated",
        words="N - spare workers are waited for: their `time` T_n is at most tau, and each of their micro-batches "
        "ends at `end` <= T_n. All M of each count; `count` >= 0 of the others'.",
        scope=f"{_ALL}, every N and M, every number of backup workers below N",
        goals=_backup,
    ),
    Model(
        claim="dropcompute.threshold.optimal",
        words="`candidate` is the largest elapsed time of all steps that is at most tau; below the first nothing "
        "counts, and the gain is 0. Micro-batches in time are the same at both, in every step, and their factor (T + "
        "T_c)/(min(tau, T) + T_c) is no larger at tau: for T <= candidate it is 1 at both, for T >= tau and in between "
        "as shown. So the `gain`, the mean of the products, is at most the one `seen` at the candidate, step by step.",
        scope="all latencies whose first micro-batch takes time, every number of steps, every N, M, T_c and tau",
        goals=_optimal,
    ),
    Model(
        claim="dropcompute.time.universal",
        words="E T - M mu is the integral over u in (0, 1) of the worker's centred quantile `q` times `h`(u) = N "
        "u^(N-1) - 1: an inner product. q has the squared norm M sigma^2, the variance of a sum of independent "
        "latencies, h N^2/(2N-1) - 1 = (N-1)^2/(2N-1). `width`^2 is 2N - 1, `root`^2 is M. Cauchy and Schwarz, "
        "times a factor that is positive for N >= 2 and sigma > 0; else E T = M mu.",
        scope="every law of the latencies with a variance, every N and M",
        goals=_universal,
    ),
    Model(
        claim="dropcompute.time.dependent",
        words="In an outcome `excess` is T less the workers' mean time, `spread` the sum of squares about that mean, "
        "no more than about any number. The others' deviations sum to -excess, so that N - 1 times their squares is at "
        "least excess^2. Over all outcomes, `mean` is that of the excess, E T - M mu, `seen` that of its square, and "
        "`spread` at most N variances, each at most M sigma^2. `width`^2 is N - 1, `root`^2 is M. The claim, times a "
        "factor that is positive where sigma > 0 and N >= 2; else E T = M mu.",
        scope=f"{_LAWS}, workers dependent in any way, latencies of a worker uncorrelated, every N and M",
        goals=_dependent,
    ),
    Model(
        claim="dropcompute.time.dependent_within",
        words="As dropcompute.time.dependent, with M^2 sigma^2 for the variance of a worker's time. That by "
        "induction on the micro-batches, here `mean` in number: `q` is their centred sum, of deviation `spread` > 0, "
        "at most as many sigma, `h` one centred latency more, of deviation sigma; a sum of deviation 0 is constant.",
        scope=f"{_LAWS}, dependent in any way, every N and M",
        goals=_dependent_within,
    ),
    Model(
        claim="dropcompute.time.variance",
        words="A variance is half the mean squared difference of two independent steps, with slowest times `time` and "
        "`other`, value by value: induction on pairs of outcomes, of probability `weight`. `spread` is the variance of "
        "min(tau, T) so far; the overhead, a constant, drops out.",
        scope=f"{_LAWS}, dependent in any way, every N, M, tau and T_c",
        goals=_variance,
    ),
    Model(
        claim="dropcompute.time.increasing",
        words="In an outcome of probability `weight` the slowest of the fewer takes `other`, the new worker `took`, "
        "and both together the larger of the two. Induction on the outcomes.",
        scope=f"{_LAWS}, every N and M",
        goals=_increasing,
    ),
    Model(
        claim="dropcompute.time.concave",
        words="E T is the integral of 1 - F^N. `x` is F and `y` is F^(N-1), of N - 1 workers, over a short time "
        "`weight`. Induction on short times.",
        scope="every law of independent latencies with a mean, every N >= 2, every M",
        goals=_concave,
    ),
    Model(
        claim="dropcompute.time.ceiling",
        words="The `time` of any worker grows by `took`, at most the longest. Induction on the micro-batches.",
        scope="every law of bounded latencies, every N and M",
        goals=_ceiling,
    ),
)
"""By claim."""
