"""What certificates about completed micro-batches and gains prove."""

from typing import Any

import sympy as sp

from commbounds.theory.dropcompute.models_steps import at_branches
from commbounds.theory.dropcompute.terms import (
    M,
    begun,
    below,
    capped,
    jitter,
    late,
    latency,
    longest,
    overhead,
    shortest,
    slowest,
    tau,
    truth,
)
from commbounds.theory.finite_laws import (
    at_most_each,
    drawn_next,
    independent_of,
    never_negative,
    over_all,
    proved_by,
    rising_together,
    square_of_mean,
    uncorrelated,
)
from commbounds.theory.model import Goal, Model, by_claim, vectors

_done, _weight, _count, _passed, _x, _u = sp.symbols("done weight count passed x u", nonnegative=True)
_deviation, _root, _square, _ending, _gain = sp.symbols("deviation root square ending gain", nonnegative=True)
_paid, _ratio, _both, _worker, _power = sp.symbols("paid ratio both worker power", nonnegative=True)
_begun_or_late = {"begun are completed, or one more": _done - begun + late}


def _work(bound: Any) -> tuple[Goal, ...]:
    more = bound.subs(begun, begun + _weight)
    return (
        *drawn_next("a micro-batch", latency),
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


_WALD = {"Wald": _ending - latency * begun, **_begun_or_late}


def _until(least: Any) -> tuple[Goal, ...]:
    """Wald's identity, and that the last one begun ends by no less, or no more, than said beyond min(tau, T_n)."""
    end, stop, is_late = sp.symbols("end stop is_late", nonnegative=True)
    return (*proved_by("Wald", _work(latency * begun)), *over_all(least, (end, stop, is_late), case="outcomes: "))


def _at_least(bound: Any) -> tuple[Goal, ...]:
    given = {"completed": _done, "it works until tau or its end": _ending - capped}
    return (
        *_until(lambda end, stop, _: end - stop),
        *(
            Goal(f"at least {name}", _done - at, given=given, positive={"mu": latency}, zero=_WALD)
            for name, at in at_branches(bound, sp.Max)
        ),
    )


def _new_better(bound: Any) -> tuple[Goal, ...]:
    return _completed_at_most(bound, capped)


def _completed_at_most(bound: Any, of_one: Any) -> tuple[Goal, ...]:
    given = {"what is left at tau": of_one + latency * late - _ending}
    return (
        *_until(lambda end, stop, is_late: stop + latency * is_late - end),
        Goal("Wald", bound - _done, given=given, positive={"mu": latency}, zero=_WALD),
    )


def _new_worse(bound: Any) -> tuple[Goal, ...]:
    given = {"what is left at tau": _ending - capped - latency * late}
    return (
        *_until(lambda end, stop, is_late: end - stop - latency * is_late),
        Goal("Wald", _done - bound, given=given, positive={"mu": latency}, zero=_WALD),
    )


def _exponential(bound: Any) -> tuple[Goal, ...]:
    zero = {**_WALD, "what is left at tau": _ending - capped - latency * late}
    return (
        *proved_by("Wald", _work(latency * begun)),
        Goal("Wald", bound - _done, equal=True, positive={"mu": latency}, zero=zero),
    )


_AT_MEAN = {"completed": _done, "late at most surely": 1 - late, "it works until tau or its end": _ending - capped}


def _about_the_mean() -> tuple[Goal, ...]:
    """That half the mean deviation is lost at tau = M mu, and that its square is at most the variance, M sigma^2."""
    chance, mean = sp.symbols("chance", nonnegative=True), M * latency

    def half(stop: Any, took: Any, off: Any, chances: Any) -> Any:
        return 2 * stop - mean * chances - took + off

    return (
        *independent_of("latencies"),
        *uncorrelated(jitter**2),
        *square_of_mean(),
        *over_all(half, (chance * _x, chance * _x, chance * (mean - _x), chance), case="in time: ", equal=True),
        *over_all(half, (chance * mean, chance * _x, chance * (_x - mean), chance), case="late: ", equal=True),
    )


def _at_the_mean(bound: Any) -> tuple[Goal, ...]:
    spread = _root * jitter
    half = {"half the deviation": capped - (M * latency - _deviation / 2)}
    zero = {name: condition.subs(M, _root**2) for name, condition in {**_WALD, **half}.items()}
    goals = [*_until(lambda end, stop, _: end - stop), *_about_the_mean()]
    for name, at in at_branches(bound, sp.Max):
        less = (_done - at).subs(M, _root**2)
        if name == "0":
            goals.append(Goal("at least 0", less, given=_AT_MEAN))
            continue
        known = {**_AT_MEAN, "variance": spread**2 - _deviation**2, "reach": spread + _deviation}
        constant = {key: condition.subs({jitter: 0, _deviation: 0}) for key, condition in zero.items()}
        positive = {"mu": latency}
        goals.append(Goal("some deviation", less * (spread + _deviation), given=known, positive=positive, zero=zero))
        goals.append(Goal("constant latency", less.subs(jitter, 0), given=_AT_MEAN, positive=positive, zero=constant))
    return tuple(goals)


def _one_sided(bound: Any) -> tuple[Goal, ...]:
    beyond = tau - M * latency
    least = (beyond + _u) ** 2
    positive = {"tau - M mu": beyond, "M sigma^2 + (tau - M mu)^2": M * jitter**2 + beyond**2}
    mean = {"mean of the squares": M * jitter**2 + _u**2 - (1 - _passed) * least}
    a = sp.Symbol("beyond", positive=True)
    centred, constant = vectors("centred constant")
    one = sp.symbols("square is_late", nonnegative=True)
    return (
        *independent_of("latencies"),
        *uncorrelated(jitter**2),
        *over_all(lambda squares, chances: squares - least * chances, one, case="outcomes: "),
        Goal(
            "mean of the squares",
            (centred + _u * constant) ** 2 - (_square + _u**2),
            equal=True,
            zero={"no mean": centred * constant, "one": constant**2 - 1, "variance": centred**2 - _square},
            vectors=(centred, constant),
        ),
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
    return (
        *never_negative("less than the smaller"),
        *(
            Goal(f"{name} is the smaller", below * _OF_ALL - at, given={**capped_by, "below": below}, positive=positive)
            for name, at in at_branches(bound, sp.Min)
        ),
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
    at_least = sp.Max(0, M - sp.sqrt(M) * jitter / (2 * latency) - 1)
    return (
        *proved_by("completed at the mean", _at_the_mean(at_least)),
        *never_negative("less than tau"),
        *(
            Goal(f"keeps {name}", at_root(_done * _OF_ALL - at), given=given, positive=positive)
            for name, at in at_branches(bound, sp.Max)
        ),
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
    return (
        *proved_by("completed", _completed_at_most(_worker / latency, _worker)),
        *never_negative("no more than the slowest"),
        Goal("ideal", bound - _done * _OF_ALL, given=given, positive=positive),
    )


def _gain_single(bound: Any) -> tuple[Goal, ...]:
    given = {
        "completed at most": capped - latency * _done,
        "at most the mean": M * latency - capped,
        "overhead": overhead,
    }
    alone = (_done * _OF_ALL).subs(slowest, M * latency)
    return (
        *proved_by("completed", _new_better(capped / latency)),
        *never_negative("no more than the mean"),
        Goal("alone", bound - alone, given=given, positive={**_positive(), "mu": latency}),
    )


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
    own = sp.Symbol("own", nonnegative=True)
    return (
        *over_all(lambda took, count: took - shortest * count, (own, sp.S.One), case="completed, one by one: "),
        *at_most_each("micro-batches", longest, M, slowest),
        *never_negative("bounds"),
        Goal("cap", bound - _done * _OF_ALL, given=given, positive=positive),
    )


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


_INDEPENDENT = "every law of independent latencies with finitely many values"
_WALD_IN_WORDS = (
    "`done` is the expected number completed, one less than begun where the worker is late; mu begun is the "
    "expected time `ending` at which the last one begun ends, as goals of dropcompute.completed.work show"
)
_GAIN_IN_WORDS = "The gain is `done` (E T + T_c)/(M (E min(tau, T) + T_c)), with `done` completed of an average worker"
MODELS = by_claim(
    Model(
        claim="dropcompute.completed.work",
        words="Whether a micro-batch more begins depends on the latencies before it alone: in one past it counts once "
        "or not at all, and any of its own outcomes follows, with the product of the chances. It begins with "
        "probability `weight`, and adds weight mu to the expected time at which the worker stops.",
        scope=f"{_INDEPENDENT}, every M and tau",
        goals=_work,
    ),
    Model(
        claim="dropcompute.completed.accounting",
        words="An outcome has probability `weight`: a late worker has begun one more than the `count` that it "
        "completed, another as many. Induction on the outcomes.",
        scope="every law of the latencies, every M and tau",
        goals=_accounting,
    ),
    Model(
        claim="dropcompute.completed.at_least",
        words=f"{_WALD_IN_WORDS}, in every outcome min(tau, T_n) or later. A number at least the larger of two is at "
        "least each.",
        scope=f"{_INDEPENDENT}, every M and tau",
        goals=_at_least,
    ),
    Model(
        claim="dropcompute.completed.new_better",
        words=f"{_WALD_IN_WORDS}: min(tau, T_n), and for a late worker what is then left of the one under way, whose "
        "mean over its own outcomes is at most mu whenever it began, by what new better than used says.",
        scope=f"{_INDEPENDENT} that are new better than used, every M and tau",
        goals=_new_better,
    ),
    Model(
        claim="dropcompute.completed.new_worse",
        words=f"{_WALD_IN_WORDS}: min(tau, T_n), and for a late worker what is then left of the one under way, whose "
        "mean is at least mu whenever it began, if none ends exactly at tau. Where one does with some probability, "
        "thresholds a little smaller, at which none does, have the claim, and both of its sides tend to those at tau.",
        scope=f"{_INDEPENDENT} that are new worse than used, every M and tau",
        goals=_new_worse,
    ),
    Model(
        claim="dropcompute.completed.exponential",
        words=f"{_WALD_IN_WORDS}: min(tau, T_n), and for a late worker what is then left of the one under way, of "
        "mean mu: the law has no memory.",
        scope="independent exponential latencies of every mean, every M and tau",
        goals=_exponential,
    ),
    Model(
        claim="dropcompute.completed.at_the_mean",
        words=f"{_WALD_IN_WORDS}, which is min(M mu, T_n) or later; M mu less its mean is half the mean `deviation` "
        "of T_n from M mu, outcome by outcome, as the mean of T_n is that of M begun; its square is at most the "
        "variance M sigma^2. `root`^2 is M. The claim, times a factor that is positive except for constant latency.",
        scope=f"{_INDEPENDENT}, every M, tau = M mu",
        goals=_at_the_mean,
    ),
    Model(
        claim="dropcompute.completed.one_sided",
        words="With a = tau - M mu, `beyond`, and u = M sigma^2/a: where T_n - M mu = `x` >= a, (x + u)^2 >= (a + "
        "u)^2, and elsewhere the square is >= 0. The mean of the square is M sigma^2 + u^2; `passed` is P(T_n < tau).",
        scope=f"{_INDEPENDENT}, every M, every tau > M mu",
        goals=_one_sided,
    ),
    Model(
        claim="dropcompute.gain.no_threshold",
        words=f"{_GAIN_IN_WORDS}: M, and min(tau, T) = T.",
        scope="every law of the latencies with a mean, every N, M and T_c",
        goals=_no_threshold,
    ),
    Model(
        claim="dropcompute.gain.with_means",
        words=f"{_GAIN_IN_WORDS}, `below`; min(tau, T) is at most each of the two, and so is its mean at most tau "
        "and E T. The claim's bound for both of the two that may be the smaller.",
        scope="every law of the latencies with finitely many values, every N, M, tau and T_c",
        goals=_with_means,
    ),
    Model(
        claim="dropcompute.gain.calibrated",
        words=f"{_GAIN_IN_WORDS}, and `paid` the mean of A = min(tau, T) + T_c: that is the truth. The calibration's "
        "mean is `both`/M, of the factor R = (T + T_c)/A times what is completed; `ratio` is E R. In the independent "
        "latencies A and R grow and what is completed falls, so both <= ratio done, and paid ratio <= E A R = E T + "
        "T_c: Harris' inequality, which goals show where latencies have finitely many values, by induction on the "
        "latencies and on the values of the last.",
        scope=f"{_INDEPENDENT}, every N, M, tau, every T_c, min(tau, T) + T_c not always 0",
        goals=_calibrated,
    ),
    Model(
        claim="dropcompute.gain.at_the_mean",
        words=f"{_GAIN_IN_WORDS}: at least as many as goals of dropcompute.completed.at_the_mean show; min(tau, T) <= "
        "tau = M mu. `root`^2 is M. A number at least the larger of two is at least each.",
        scope=f"{_INDEPENDENT}, every N, M and T_c, tau = M mu",
        goals=_gain_at_the_mean,
        checked_by=("dropcompute.gain.at_the_mean", "dropcompute.completed.at_the_mean"),
    ),
    Model(
        claim="dropcompute.gain.new_better",
        words=f"{_GAIN_IN_WORDS}, at most M. `worker` is E min(tau, T_n): at most E min(tau, T), and at least mu "
        "done, by goals of dropcompute.completed.new_better.",
        scope=f"{_INDEPENDENT} that are new better than used, every N, M, tau and T_c",
        goals=_gain_new_better,
        checked_by=("dropcompute.gain.new_better", "dropcompute.completed.new_better"),
    ),
    Model(
        claim="dropcompute.gain.single",
        words=f"{_GAIN_IN_WORDS}. One worker is the slowest: E T = M mu, and min(tau, T) is its own, at most M mu "
        "and at least mu done, by goals of dropcompute.completed.new_better.",
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
    ),
)
"""By claim."""
