"""What certificates about limits of the drift, and about means over the steps, prove."""

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import over_histories, proved_by
from commbounds.theory.model import Goal, Model, by_claim, in_range, recurrence, vectors
from commbounds.theory.packetloss.models_drift import (
    WHITE_IN_WORDS,
    both_in_the_gap,
    consensus_goals,
    exactly_one,
    missed,
    owner_goals,
    pair_drift,
    pair_goals,
    two_updates_goals,
    versions_differ_goals,
    white_updates,
    whole_vector_goals,
)
from commbounds.theory.packetloss.terms import (
    G,
    N,
    age,
    autocov,
    lossrate,
    older,
    owner_steps,
    p,
    pair_steps,
    recovery,
    rho,
    sigma,
    t,
)

_before, _mean, _square, _tail = sp.symbols("before mean square tail", nonnegative=True)
_weighted, _drift, _h, _r, _more = sp.symbols("weighted drift h r more", nonnegative=True)
_T, _y = sp.symbols("T y", real=True)
_L, _M, _D = sp.symbols("L M D", nonnegative=True)
_stale, _squared, _between = sp.symbols("stale squared between", nonnegative=True)
_x, _u = vectors("x u")
_stays = 1 - recovery
_ENDS = {"b": recovery, "2 - b": 2 - recovery}

_POWERS = {**in_range(p**t), "p": p}
_BELOW_ONE = {"1 - p": 1 - p, "1 + p": 1 + p}
_WHITE = {"sigma**2": sigma**2}
_MOMENTS = (
    "`mean` and `square` are E L and E L^2 of a receiver's staleness, which becomes 0 with probability 1 - p and 1 + L "
    "with p; both stay at most p/(1 - p) and p (1 + p)/(1 - p)^2."
)
_NORM = (
    f"{_MOMENTS} Two receivers are `before` versions apart, squared, or not: 0 where both receive, as before where "
    "neither does, 1 + L where exactly one does. For any dependence of the updates on the losses, a gap is at most G "
    "times the versions between. Induction on t, the limit being a fixed point."
)
_UPDATES = "every p < 1, every t, every sequence of updates of norm at most G, which may depend on the losses"
_FROM_EXACT = "The exact law after t steps, by the goals of {}, against the bound, with 0 <= p^t <= 1."
_SUMS = "t times the mean grows in step t + 1 by the gap after t + 1 steps, in its exact form. Induction on t."
_WHITE_SCOPE = "every p < 1, every t, every sigma"
_PAIRS_IN_WORDS = (
    "Given all losses, two updates add to the squared gap their inner product, `inner`, a mean over the updates, where "
    "both lie in it: with `first` and `second` how often they count, 1, -1 or 0; pairs and histories are taken up "
    "one by one. "
)
_CORRELATED = (
    f"{_PAIRS_IN_WORDS}The update of age t adds to the squared gap 2 p^(t+1) sigma^2 (1 - p^(t+1) + 2 T), with T the "
    "sum over younger ages a of (1 - p^(a+1)) rho^(t-a): T becomes rho (T + 1 - p^(t+1)). `y` is p^t. By induction on "
    "t the gap is the bound less sigma^2 y times a form in y and T, what is still gained. That form is not negative "
    "at t = 0 and t = 1, and at t + 2 if at t."
)
_CHAIN = (
    "The chain keeps its stationary law: a link is bad in the first of a + 1 steps with probability pi, and stays so "
    "with probability 1 - b in each that follows. The update of age a is missed iff the last a + 1 steps were bad: "
    f"with probability pi (1 - b)^a. {WHITE_IN_WORDS}"
)
_BURSTS = "every pi in [0, 1) and b in (0, 1] with b pi <= 1 - pi"


_inner, _both, _first, _second = sp.symbols("inner both first second", real=True)
_TWO_UPDATES = (
    *proved_by("two updates in the gap", two_updates_goals(both_in_the_gap(age, older))),
    *over_histories(
        "one pair of updates more",
        ((sp.S.One, _D + _first * _second * _inner),),
        {_between: _D, _both: _first * _second},
        _between + _inner * _both,
    ),
)


def _published_versions(bound: Any) -> tuple[Goal, ...]:
    after = exactly_one(p) + p**2 * _before
    return (
        Goal("first", bound, given={"p": p}, positive=_BELOW_ONE),
        Goal("step", bound - after, given={"p": p, "before": bound - _before}, positive=_BELOW_ONE),
    )


_ALL = sp.Symbol("all_", nonnegative=True)
_APART = 2 * _ALL + _stale
_APART_SQUARED = 2 * _ALL + 2 * _stale + _squared
_MEANS = {_between: _D, _stale: _L + _M, _squared: _L**2 + _M**2, _ALL: sp.S.One}


def _of_two(of_one: Callable[[Any], Any], both: Any) -> tuple[Goal, ...]:
    """What is between two receivers of staleness L and M, and was D, after a step.

    Parameters
    ----------
    of_one : function
        Of the staleness of the one that receives nothing: what is between them.
    both : sympy expression
        The mean of that, for both of them.
    """
    fates = ((p * p, _D), (p * (1 - p), of_one(_L)), ((1 - p) * p, of_one(_M)), ((1 - p) ** 2, sp.S.Zero))
    return over_histories("between two receivers", fates, _MEANS, p**2 * _between + p * (1 - p) * both)


_APART_GOALS = _of_two(lambda steps: 1 + steps, _APART)
_SQUARED_GOALS = _of_two(lambda steps: (1 + steps) ** 2, _APART_SQUARED)
_NORM_GOALS = (
    Goal("the first version: an update", G**2 - _u**2, given={"update": G**2 - _u**2}, vectors=(_u,)),
    Goal(
        "one more version",
        G**2 * (_L + 1) ** 2 - (_x + _u) ** 2,
        given={"gap": G**2 * _L**2 - _x**2, "update": G**2 - _u**2, "square": (_x - _L * _u) ** 2},
        positive={"versions": _L},
        vectors=(_x, _u),
    ),
)


def _stale_steps() -> tuple[Goal, ...]:
    """That the moments of the staleness stay where the models say."""
    given = {"p": p, **_stale_moments()}
    mean, square = p * (1 + _mean), p * (1 + 2 * _mean + _square)
    fates = (1 - p, sp.S.Zero), (p, 1 + _L)
    means = {_stale: _L, _squared: _L**2, _ALL: sp.S.One}
    squares = tuple((share, value**2) for share, value in fates)
    return (
        *over_histories("staleness", fates, means, p * (_ALL + _stale)),
        *over_histories("squared staleness", squares, means, p * (_ALL + 2 * _stale + _squared)),
        Goal("mean staleness", p / (1 - p) - mean, given=given, positive=_BELOW_ONE),
        Goal("mean square staleness", p * (1 + p) / (1 - p) ** 2 - square, given=given, positive=_BELOW_ONE),
    )


def _stale_moments() -> dict[str, Any]:
    return {"mean staleness": p / (1 - p) - _mean, "mean square staleness": p * (1 + p) / (1 - p) ** 2 - _square}


def _versions(bound: Any, times: Any, apart: Any) -> tuple[Goal, ...]:
    """That a moment of the versions between two receivers, which is `apart` where one receives, obeys the bound."""
    given = {"p": p, "before": bound - times * _before, **_stale_moments()}
    positive = {**_BELOW_ONE, **({"times": times} if times != 1 else {})}
    after = p**2 * _before + exactly_one(p) * apart
    return (
        *_stale_steps(),
        Goal("first", bound, given={"p": p}, positive=positive),
        Goal("step", bound - times * after, given=given, positive=positive),
    )


def _versions_mean(bound: Any) -> tuple[Goal, ...]:
    return (*_APART_GOALS, *_versions(bound, sp.Integer(1), 1 + _mean))


def _versions_square(bound: Any) -> tuple[Goal, ...]:
    return (*_SQUARED_GOALS, *_versions(bound, sp.Integer(1), 1 + 2 * _mean + _square))


def _sure(bound: Any) -> tuple[Goal, ...]:
    return (*_NORM_GOALS, *_SQUARED_GOALS, *_versions(bound, G**2, 1 + 2 * _mean + _square))


def _sure_mean(bound: Any) -> tuple[Goal, ...]:
    return (*_NORM_GOALS, *_APART_GOALS, *_versions(bound, G, 1 + _mean))


def _sure_owner(bound: Any) -> tuple[Goal, ...]:
    given = {"p": p, **_stale_moments(), "G**2": G**2}
    return (*_NORM_GOALS, *_stale_steps(), Goal("gap", bound - G**2 * _square, given=given, positive=_BELOW_ONE))


def _pair_limit(bound: Any) -> tuple[Goal, ...]:
    given = {**_POWERS, **_WHITE}
    return (
        *proved_by("exact law", pair_goals(pair_drift(t))),
        Goal("limit", bound - pair_drift(t), given=given, positive=_BELOW_ONE),
    )


def _owner_limit(bound: Any) -> tuple[Goal, ...]:
    given = {**_POWERS, **_WHITE}
    exact = sigma**2 * owner_steps(p, t)
    return (*proved_by("exact law", owner_goals(exact)), Goal("limit", bound - exact, given=given, positive=_BELOW_ONE))


def _of_workers(exact: Any, bound: Any) -> tuple[Goal, ...]:
    pair = 2 * p / (1 - p**2) - pair_steps(p, t)
    copy = p / (1 - p) - owner_steps(p, t)
    n = _more + 2
    given = {"more": _more, **_WHITE, "pair below its limit": pair, "copy below its limit": copy}
    return (
        Goal("pair below its limit", pair, given=_POWERS, positive=_BELOW_ONE),
        Goal("copy below its limit", copy, given=_POWERS, positive=_BELOW_ONE),
        Goal("limit", (bound - exact).subs(N, n), given=given, positive={**_BELOW_ONE, "N": n}),
    )


def _consensus_limit(bound: Any) -> tuple[Goal, ...]:
    exact = sigma**2 * (N - 1) * (owner_steps(p, t) + (N - 2) * pair_steps(p, t) / 2) / N**2
    return (
        *proved_by("exact law", consensus_goals(exact)),
        Goal("one worker", bound.subs(N, 1), equal=True),
        *_of_workers(exact, bound),
    )


def _whole_limit(bound: Any) -> tuple[Goal, ...]:
    exact = ((N - 2) * pair_steps(p, t) + 2 * owner_steps(p, t)) / N
    return (*proved_by("exact law", whole_vector_goals(exact)), *_of_workers(exact, bound))


def _later(rate: Any) -> tuple[Any, Any, Any]:
    """What the drift still gains, over sigma^2 p^t: the coefficients of 1, of y = p^t, and of T."""
    a, b, c = sp.symbols("a b c")
    gained = 2 * p * (1 - p * _y + 2 * _T)
    after = p * (a + b * p * _y + c * rate * (_T + 1 - p * _y))
    (found,) = sp.solve(sp.Poly(sp.expand(a + b * _y + c * _T - gained - after), _y, _T).coeffs(), [a, b, c], dict=True)
    return sp.factor(found[a]), sp.factor(found[b]), sp.factor(found[c])


def _autoregressive(bound: Any) -> tuple[Goal, ...]:
    return _correlated(
        bound, rho, {"1 - rho": 1 - rho, "rho + (1 + p)/2": rho + (1 + p) / 2}, {"1 - p*rho": 1 - p * rho}
    )


def _matching(bound: Any) -> tuple[Goal, ...]:
    return _correlated(bound, -1 / (2 - p), {}, {"2 - p": 2 - p})


def _correlated(bound: Any, rate: Any, given: dict[str, Any], positive: dict[str, Any]) -> tuple[Goal, ...]:
    a, b, c = _later(rate)
    positive = {**_BELOW_ONE, **positive}
    given = {"p": p, **given}

    def later(power: Any, cross: Any) -> Any:
        return a + b * power + c * cross

    def following(cross: Any, power: Any) -> Any:
        return rate * (cross + 1 - p * power)

    drift = bound - sigma**2 * _y * later(_y, _T)
    gained = 2 * sigma**2 * p * _y * (1 - p * _y + 2 * _T)
    after = bound - sigma**2 * p * _y * later(p * _y, following(_T, _y))
    twice = later(p**2 * _y, following(following(_T, _y), p * _y))
    within = {**in_range(_y), **given, "still gained": later(_y, _T)}
    hints = [sp.numer(sp.together(form)) for form in (rate, p + rate)]
    return (
        *_TWO_UPDATES,
        Goal("first", drift.subs({_y: 1, _T: 0}), equal=True, positive=positive),
        Goal("step", drift + gained - after, equal=True, positive=positive),
        Goal("still gained from the start", later(1, 0), given=given, positive=positive),
        Goal("still gained after a step", later(p, following(0, 1)), given=given, positive=positive),
        Goal("still gained two steps later", twice, given=within, positive=positive, hints=hints),
        Goal("limit", bound - drift, given={**within, "sigma**2": sigma**2}, positive=positive),
    )


def _autocovariance(bound: Any) -> tuple[Goal, ...]:
    lag = p**_h * pair_steps(p, t)
    more = bound.subs(autocov, _weighted + p**_h * _r)
    before = bound.subs(autocov, _weighted) - _drift
    given = {**_POWERS, "r": _r, "p**h": p**_h, "lags before": before}
    return (
        *_TWO_UPDATES,
        *recurrence(
            lag, t, 0, lambda total, age: total + 2 * missed(p, age + _h) * (1 - missed(p, age)), positive=_BELOW_ONE
        ),
        Goal("no lag", bound.subs(autocov, 0), equal=True),
        Goal("a lag more", more - _drift - _r * lag, given=given, positive=_BELOW_ONE),
    )


def _bad(steps: Any) -> Any:
    """Probability that a link was bad in so many last steps and the one before them."""
    return lossrate * _stays**steps


def _chain() -> tuple[Goal, ...]:
    fails = recovery * lossrate / (1 - lossrate)
    stationary = lossrate * _stays + (1 - lossrate) * fails - lossrate
    return (
        Goal("stationary", stationary, equal=True),
        *proved_by("bad for one step more", recurrence(_bad(t), t, lossrate, lambda chance, _: chance * _stays)),
    )


def _burst_pair(bound: Any) -> tuple[Goal, ...]:
    return (
        *_chain(),
        *white_updates(_bad(t)),
        *recurrence(bound, t, 0, lambda drift, s: drift + sigma**2 * exactly_one(_bad(s)), positive=_ENDS),
    )


def _burst_owner(bound: Any) -> tuple[Goal, ...]:
    return (
        *_chain(),
        *white_updates(_bad(t)),
        *recurrence(bound, t, 0, lambda drift, s: drift + sigma**2 * _bad(s), positive=_ENDS),
    )


def _burst_gap(steps: Any) -> Any:
    """The pair's drift under bursts, as packetloss.bursts.pair has it."""
    once = (1 - _stays**steps) / recovery
    twice = (1 - _stays ** (2 * steps)) / (1 - _stays**2)
    return 2 * sigma**2 * lossrate * (once - lossrate * twice)


def _burst_limit(bound: Any) -> tuple[Goal, ...]:
    given = {**in_range(_tail), **_WHITE, **in_range(lossrate), "1 - b": 1 - recovery}
    exact = _burst_gap(t).subs(_stays ** (2 * t), _tail**2).subs(_stays**t, _tail)
    return (
        *proved_by("exact law", _burst_pair(_burst_gap(t))),
        Goal("limit", bound - exact, given=given, positive=_ENDS),
    )


def _averaged(
    gap: Callable[[Any], Any], exact: Callable[[Any], tuple[Goal, ...]], positive: Mapping[str, Any]
) -> Callable[[Any], tuple[Goal, ...]]:
    """That t times the bound is the sum over s = 1, ..., t of the gap after s steps, which has `exact` goals."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        return (
            *proved_by("exact law", exact(gap(t))),
            *recurrence(
                t * bound, t, gap(sp.Integer(1)), lambda total, s: total + gap(s + 1), start=1, positive=positive
            ),
        )

    return goals


MODELS = by_claim(
    Model(
        claim="packetloss.versions.as_reviewed",
        words="`before` is the probability that the two differ after t steps, at most the bound. A step later they "
        "differ iff exactly one receives, or neither and they differed. Induction on t.",
        scope="every p < 1, every t",
        goals=_published_versions,
    ),
    Model(
        claim="packetloss.versions.mean_gap",
        words=f"{_MOMENTS} Two receivers are 0 versions apart where both receive, `before` where neither does, 1 + L "
        "where exactly one does. Induction on t, the limit being a fixed point.",
        scope="every p < 1, every t",
        goals=_versions_mean,
    ),
    Model(
        claim="packetloss.versions.mean_square_gap",
        words=f"{_MOMENTS} Two receivers are, squared, 0 versions apart where both receive, `before` where neither "
        "does, (1 + L)^2 where exactly one does. Induction on t, the limit being a fixed point.",
        scope="every p < 1, every t",
        goals=_versions_square,
    ),
    Model(claim="packetloss.drift.sure_norm", words=_NORM, scope=_UPDATES, goals=_sure),
    Model(claim="packetloss.drift.mean_norm", words=_NORM, scope=_UPDATES, goals=_sure_mean),
    Model(
        claim="packetloss.drift.owner_sure_norm",
        words=f"{_MOMENTS} For any dependence of the updates on the losses, the gap to the owner is at most G L.",
        scope=_UPDATES,
        goals=_sure_owner,
    ),
    Model(
        claim="packetloss.drift.pair_limit",
        words=_FROM_EXACT.format("packetloss.drift.pair"),
        scope=_WHITE_SCOPE,
        goals=_pair_limit,
        checked_by=("packetloss.drift.pair",),
    ),
    Model(
        claim="packetloss.drift.owner_limit",
        words=_FROM_EXACT.format("packetloss.drift.owner"),
        scope=_WHITE_SCOPE,
        goals=_owner_limit,
        checked_by=("packetloss.drift.owner",),
    ),
    Model(
        claim="packetloss.drift.consensus_limit",
        words=_FROM_EXACT.format("packetloss.drift.consensus") + " N is 2 + `more`; a single copy has no distance.",
        scope=f"{_WHITE_SCOPE}, every N",
        goals=_consensus_limit,
        checked_by=("packetloss.drift.consensus",),
    ),
    Model(
        claim="packetloss.drift.whole_vector_limit",
        words=_FROM_EXACT.format("packetloss.drift.whole_vector") + " N is 2 + `more`.",
        scope="every p < 1, every t, every N >= 2",
        goals=_whole_limit,
        checked_by=("packetloss.drift.whole_vector",),
    ),
    Model(
        claim="packetloss.drift.autoregressive",
        words=_CORRELATED,
        scope="every p < 1, every rho in [-(1 + p)/2, 1], every t, every sigma",
        goals=_autoregressive,
        checked_by=("packetloss.drift.autoregressive", "packetloss.drift.two_updates"),
    ),
    Model(
        claim="packetloss.drift.as_reviewed_with_correlated_updates",
        words=_CORRELATED,
        scope="every p < 1, rho = -1/(2 - p), every t, every sigma",
        goals=_matching,
        checked_by=("packetloss.drift.as_reviewed_with_correlated_updates", "packetloss.drift.two_updates"),
    ),
    Model(
        claim="packetloss.drift.autocovariance",
        words=f"{_PAIRS_IN_WORDS}Those of ages a and a + h do with probability 2 p^(a+h+1) (1 - p^(a+1)), as the goals "
        "about two updates show; over the ages a below `elapsed`, which here is the number of pairs of lag h, "
        "those sum to p^h times the white sum. `drift` is what the lags before gave, at most the bound at their "
        "`weighted` sum; `r` >= 0 is r(h), twice that for h >= 1. Induction on the lags.",
        scope="every p < 1, every t, every autocovariance that is nowhere negative",
        goals=_autocovariance,
        checked_by=("packetloss.drift.autocovariance", "packetloss.drift.two_updates"),
    ),
    Model(
        claim="packetloss.bursts.pair",
        words=f"{_CHAIN} The update of age a lies between two receivers iff exactly one has missed it. Induction on t.",
        scope=f"{_BURSTS}, every t, every sigma",
        goals=_burst_pair,
    ),
    Model(
        claim="packetloss.bursts.owner",
        words=f"{_CHAIN} Induction on t.",
        scope=f"{_BURSTS}, every t, every sigma",
        goals=_burst_owner,
    ),
    Model(
        claim="packetloss.bursts.pair_limit",
        words="The exact law after t steps, packetloss.bursts.pair, against the bound; `tail` is (1 - b)^t.",
        scope=f"{_BURSTS}, every t, every sigma",
        goals=_burst_limit,
        checked_by=("packetloss.bursts.pair",),
    ),
    Model(
        claim="packetloss.bursts.average",
        words=_SUMS,
        scope=f"{_BURSTS}, every t, every sigma",
        goals=_averaged(_burst_gap, _burst_pair, _ENDS),
        checked_by=("packetloss.bursts.pair",),
    ),
    Model(
        claim="packetloss.average.pair",
        words=_SUMS,
        scope=_WHITE_SCOPE,
        goals=_averaged(pair_drift, pair_goals, _BELOW_ONE),
        checked_by=("packetloss.drift.pair",),
    ),
    Model(
        claim="packetloss.average.owner",
        words=_SUMS,
        scope=_WHITE_SCOPE,
        goals=_averaged(lambda steps: sigma**2 * owner_steps(p, steps), owner_goals, _BELOW_ONE),
        checked_by=("packetloss.drift.owner",),
    ),
    Model(
        claim="packetloss.average.differ",
        words=_SUMS,
        scope="every p < 1, every t",
        goals=_averaged(lambda steps: 2 * p / (1 + p) * (1 - p ** (2 * steps)), versions_differ_goals, _BELOW_ONE),
        checked_by=("packetloss.versions.differ",),
    ),
)
"""By claim."""
