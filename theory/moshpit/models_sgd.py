"""What certificates about Moshpit SGD prove."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import (
    independent_of,
    never_negative,
    noisy_squares,
    over_all,
    proved_by,
    square_of_mean,
    uncorrelated,
    under_tangents,
)
from commbounds.theory.model import Goal, Model, by_claim, recurrence, vectors
from commbounds.theory.moshpit.terms import (
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
from commbounds.theory.smooth_functions import between_parabolas
from commbounds.theory.subset_laws import over_pairs_of_subsets, over_subsets

_x, _m, _g, _s, _d, _u, _w = vectors("x m g s d u w")
"""Vectors: a peer's point and the mean, less a minimiser, gradients there, a difference of points, two noises."""
_fx, _fm = sp.symbols("f_x f_m", nonnegative=True)
_value, _now, _next, _sum, _weights = sp.symbols("value now next sum weights", nonnegative=True)
_age = sp.Symbol("age", integer=True, nonnegative=True)
_limit, _share = sp.symbols("limit share", nonnegative=True)
"""Limit of V between averages, and gamma^2 sigma^2 over the number of peers."""
_expansion, _weight = sp.symbols("expansion weight", positive=True)
_euler = sp.Symbol("e", positive=True)
_several = {"N - 1": N - 1}
_noisy = noise**2 * (1 - 1 / N)


def _pair() -> tuple[Goal, ...]:
    """What a step makes of the squared distance of two peers, expected over their noises."""
    zero = {
        "<d, u>": _d * _u, "<d, w>": _d * _w, "<u, w>": _u * _w,
        "variance of u": _u**2 - noise**2, "variance of w": _w**2 - noise**2,
    }  # fmt: skip
    after = (1 - stepsize * curvature) * _d - stepsize * (_u - _w)
    made = (1 - stepsize * curvature) ** 2 * _d**2 + 2 * stepsize**2 * noise**2
    two = Goal("two peers", after**2 - made, equal=True, zero=zero, vectors=(_d, _u, _w))
    return *independent_of("noise"), two


def _all_pairs(growth: Any = (1 - stepsize * curvature) ** 2, equal: bool = True) -> tuple[Goal, ...]:
    """That all ordered pairs do what two peers do, and that the distortion is the sum over them, over 2 N^2."""
    after, before, count, of, squares = sp.symbols("after before count of squares", real=True)
    mean = {"peers before": of - 2 * (count * squares - _s**2)}
    return (
        *over_all(
            lambda later, now, noises: growth * now + 2 * stepsize**2 * noise**2 * noises - later,
            (after, before, sp.S.One),
            case="pairs: ",
            equal=equal,
        ),
        Goal(
            "squares of one more peer's differences",
            of + 2 * (squares - 2 * _s * _x + count * _x**2) - 2 * ((count + 1) * (squares + _x**2) - (_s + _x) ** 2),
            equal=True,
            zero=mean,
            vectors=(_s, _x),
        ),
    )


def _spread_after() -> Any:
    """The distortion after a step and an average: over all ordered pairs, of which N are of one peer."""
    pairs = (1 - stepsize * curvature) ** 2 * 2 * N**2 * spread + N * (N - 1) * 2 * stepsize**2 * noise**2
    return mixing * pairs / (2 * N**2)


def _spread(bound: Any) -> tuple[Goal, ...]:
    return *_pair(), *_all_pairs(), Goal("all pairs", bound - _spread_after(), equal=True)


def _mean_square(bound: Any) -> tuple[Goal, ...]:
    shrunk = (1 - stepsize * curvature) * _m
    added = (bound - (1 - stepsize * curvature) ** 2 * square) * N**2 / stepsize**2
    of_sum = sp.expand(sp.cancel(added))
    zero = {"<m, u>": _m * _u, "variance of u": _u**2 - _now}
    step = (shrunk - stepsize * _u) ** 2 - ((1 - stepsize * curvature) ** 2 * _m**2 + stepsize**2 * _now)
    return (
        *independent_of("noise"),
        *uncorrelated(noise**2),
        Goal("the mean", step, equal=True, zero=zero, vectors=(_m, _u)),
        *recurrence(of_sum, N, 0, lambda variance, _: variance + noise**2),
    )


def _leaving(bound: Any) -> tuple[Goal, ...]:
    one, both = survivors / N, survivors * (survivors - 1) / (N * (N - 1))
    mean = (1 - stepsize * curvature) ** 2 * square + stepsize**2 * noise**2 / N
    moment, longer = (
        (one - both) * squares + both * total**2 for squares, total in ((_now, _x), (_now + _u**2, _x + _u))
    )
    drawn = longer - (moment + one * _u**2 + 2 * both * _x * _u)
    return (
        *_pair(),
        *_all_pairs(),
        *proved_by("mean of all", _mean_square(mean)),
        *proved_by("those that stay", over_pairs_of_subsets()),
        Goal("one more vector", drawn, equal=True, positive=_several, vectors=(_x, _u)),
        Goal(
            "those that stay",
            bound - mean - (one - both) * N * _spread_after() / survivors**2,
            equal=True,
            positive=_several,
        ),
    )


def _flat(bound: Any) -> tuple[Goal, ...]:
    positive = {"1 - rho": 1 - mixing}
    return (
        *_pair(),
        *_all_pairs(),
        *recurrence(bound, periods, 0, lambda before, _: mixing * (before + period * _noisy), positive=positive),
    )


def _no_further(growth: Any) -> tuple[Goal, ...]:
    """That a step multiplies all squared differences by `growth` at most, and adds the noises' variances at most."""
    zero = {"<d, u>": _d * _u, "<d, w>": _d * _w, "<g, u>": _g * _u, "<g, w>": _g * _w, "<u, w>": _u * _w}
    given = {
        "without noise": growth * _d**2 - (_d - stepsize * _g) ** 2,
        "variance of u, times gamma^2": stepsize**2 * (noise**2 - _u**2),
        "variance of w, times gamma^2": stepsize**2 * (noise**2 - _w**2),
    }
    after = (_d - stepsize * (_g + _u - _w)) ** 2
    made = growth * _d**2 + 2 * stepsize**2 * noise**2 - after
    return (
        *noisy_squares(noise**2),
        Goal("two peers with noise", made, given=given, zero=zero, vectors=(_d, _g, _u, _w)),
        *_all_pairs(growth, equal=False),
    )


def _no_expansion() -> tuple[Goal, ...]:
    """That a step of gradient descent brings two points no further apart, times L, and that slopes are Lipschitz."""
    cocoercive = {"cocoercive": _d * _g * smoothness - _g**2}
    given = {**cocoercive, "gamma <= 2/L": 2 - stepsize * smoothness, "gamma": stepsize}
    return (
        *between_parabolas(smoothness, sp.S.Zero),
        Goal(
            "no expansion", smoothness * (_d**2 - (_d - stepsize * _g) ** 2), given=given, vectors=(_d, _g), hints=(_g,)
        ),
        Goal(
            "Lipschitz",
            smoothness**2 * _d**2 - _g**2,
            given=cocoercive,
            vectors=(_d, _g),
            hints=(smoothness * _d - _g,),
        ),
        *_no_further(sp.S.One),
    )


def _averaging_quality(bound: Any) -> tuple[Goal, ...]:
    given = {"rho": mixing, "noise**2": noise**2, "tau": period, **_several}
    positive = {"1 - rho": 1 - mixing, "N": N}
    before = sp.cancel((bound - _now) * (1 - mixing) * N)
    more = bound - mixing * (_now + period * _noisy)
    return (
        *_no_expansion(),
        Goal("at the start", bound, given=given, positive=positive),
        Goal("one more average", more, given={"up to here, times (1 - rho) N": before, **given}, positive=positive),
    )


# --- rates -------------------------------------------------------------------------------------------------------

_small = {"gamma": stepsize, "L": smoothness}
_squares = {"quality**2": quality**2, "noise**2": noise**2, "gamma**2": stepsize**2}
_largest = stepsize**2 * (quality**2 + (period - 1) * noise**2)


def _one_peer(mu: Any) -> Goal:
    """What a peer adds to the squared distance of the mean from a minimiser: m and x, with the slopes s and g there."""
    drift = stepsize * smoothness * (1 + 2 * stepsize * smoothness) * (_x - _m) ** 2
    most = drift - 2 * stepsize * (1 - 2 * stepsize * smoothness) * _fm - stepsize * mu * _x**2
    given = {
        "convex": _g * _x - _fx - mu * _x**2 / 2,
        "smooth": _fx + _g * (_m - _x) + smoothness * (_m - _x) ** 2 / 2 - _fm,
        "slopes": smoothness**2 * (_x - _m) ** 2 - (_g - _s) ** 2,
        "slope at the mean": 2 * smoothness * _fm - _s**2,
        **_small,
    }
    shown = most - (stepsize**2 * _g**2 - 2 * stepsize * _g * _m)
    return Goal("one peer", shown, given=given, vectors=(_x, _m, _g, _s), hints=(_g - 2 * _s,))


def _all_peers(mu: Any) -> tuple[Goal, ...]:
    """That the mean of all peers makes `the step`: `m`, its slope `g` and its noise `u`, of variance share."""
    slopes, points, drift = sp.symbols("slopes points drift", nonnegative=True)
    mean = drift - 2 * stepsize * (1 - 2 * stepsize * smoothness) * _fm
    given = {
        "one peer, their mean": mean - stepsize * mu * points - stepsize**2 * slopes + 2 * stepsize * _g * _m,
        "mean slope, times gamma^2": stepsize**2 * (slopes - _g**2),
    }
    if mu != 0:
        given["mean point, times gamma mu"] = stepsize * mu * (points - _m**2)
    return (
        *square_of_mean(),
        *never_negative("peers, pairs and outcomes"),
        *under_tangents(),
        Goal(
            "the mean's step",
            (1 - stepsize * mu) * _m**2 + mean + _share - (_m - stepsize * (_g + _u)) ** 2,
            given=given,
            zero={"<m, u>": _m * _u, "<g, u>": _g * _u, "mean noise": stepsize**2 * _u**2 - _share},
            vectors=(_m, _g, _u),
        ),
    )


def _between_averages(growth: Any = 1, expansion: Any = 1, most: Any = 1) -> tuple[Goal, ...]:
    """That V is at most `most` times gamma^2 (delta^2 + (tau - 1) sigma^2), where a step multiplies it by `growth`."""
    limit = expansion * stepsize**2 * (quality**2 + _age * noise**2)
    following = growth * expansion * stepsize**2 * (quality**2 + (_age + 1) * noise**2)
    given = {"age": _age, "up to here": limit - spread, "V": spread, **_squares}
    if growth != 1:
        given |= {"growth >= 1": growth - 1, "expansion >= 1": expansion - 1, "expansion <= e": most - expansion}
    last = {"age <= tau - 1": period - 1 - _age, "tau": period - 1}
    return (
        Goal("V after one more step", following - (growth * spread + stepsize**2 * noise**2), given=given),
        Goal("V between averages", most * _largest - spread, given={**given, **last}),
    )


def _of_a_run(mu: Any) -> tuple[Goal, ...]:
    """What a step does to the distortion and to the mean of all peers, where f is mu-strongly convex."""
    return *_no_expansion(), *_between_averages(), _one_peer(mu), *_all_peers(mu)


def _steps(peers: Any, weight: Any) -> tuple[Goal, Any]:
    """One more step, weighted; and the condition that all steps leave, times `peers`."""
    cost = stepsize * sp.Rational(3, 2) * smoothness * _limit + _share
    left = distance**2 + cost * _weights - _now - stepsize * _sum
    grown = distance**2 + cost * (_weights + weight) - _next - stepsize * (_sum + weight * _value)
    drift = stepsize * smoothness * (1 + 2 * stepsize * smoothness) * spread
    given = {
        "up to here": left,
        "the step": _now + weight * (drift - 2 * stepsize * (1 - 2 * stepsize * smoothness) * _value + _share) - _next,
        "gamma <= 1/(4 L)": 1 - 4 * stepsize * smoothness,
        "f": _value,
        "V": spread,
        "V between averages": _limit - spread,
        "weight": weight,
        **_small,
    }
    left = sp.expand(peers * left.subs({_limit: _largest, _share: stepsize**2 * noise**2 / peers}))
    return Goal("one more step", grown, given=given), left


def _convex(bound: Any) -> tuple[Goal, ...]:
    step, left = _steps(N, sp.Integer(1))
    given = {"the steps, times peers": left.subs(_weights, iterations), "now": _now}
    positive = {"K": iterations, "gamma": stepsize, "N": N}
    return (
        *_of_a_run(sp.Integer(0)),
        step,
        Goal("the average", bound - _sum / iterations, given=given, positive=positive),
    )


def _strongly_convex(bound: Any) -> tuple[Goal, ...]:
    step, left = _steps(N, _weight)
    decayed = (1 - stepsize * convexity) ** iterations
    given = {
        "the steps, times peers": left,
        "now": _now,
        "distance**2": distance**2,
        "the last weight": _weights * decayed - 1,
    }
    positive = {"weights": _weights, "gamma": stepsize, "N": N}
    return (*_of_a_run(convexity), step, Goal("the average", bound - _sum / _weights, given=given, positive=positive))


def _departures(bound: Any) -> tuple[Goal, ...]:
    step, left = _steps(survivors, sp.Integer(1))
    given = {"the steps, times peers": left.subs(_weights, iterations)}
    positive = {"K": iterations, "gamma": stepsize, "n'": survivors}
    measured = _sum / iterations + _now / (stepsize * iterations)
    centre, squares = sp.Symbol("centre", commutative=False), sp.symbols("squares", nonnegative=True)
    return (
        *proved_by("those that stay", over_subsets(lambda n, k: k / n, sp.S.One, sp.S.Zero)),
        Goal(
            "about the weighted mean",
            (squares - 2 * centre * _m + centre**2) - (squares - _m**2),
            given={"from the centre": (_m - centre) ** 2},
            vectors=(_m, centre),
        ),
        *under_tangents("f at the mean of all"),
        *_of_a_run(sp.Integer(0)),
        step,
        Goal("the average", bound - measured, given=given, positive=positive),
    )


def _below_e(growth: Any) -> tuple[Goal, ...]:
    """That so many steps of at most (1 + x)^2, x = gamma L, expand by e at most, by the tangent of exp at 0.

    ``factor`` is exp(x), ``power`` exp(2 x age), and ``rest`` exp(1 - 2 x age).
    """
    x = stepsize * smoothness
    factor, power, rest = sp.symbols("factor power rest", positive=True)
    return (
        Goal("expansion, one more step", power * factor**2 - growth * _expansion,
             given={"tangent of exp": factor - (1 + x), "up to here": power - _expansion, "factor": factor,
                    "expansion": _expansion, **_small}),
        Goal("no more than 1 in the exponent", 1 - 2 * x * _age,
             given={"age <= tau - 1": period - 1 - _age, "gamma <= 1/(2 L (tau - 1))": 1 - 2 * x * (period - 1),
                    **_small}),
        Goal("expansion, all steps", _euler - _expansion,
             given={"tangent of exp": rest - (1 + (1 - 2 * x * _age)), "up to here": power - _expansion,
                    "power": power, "no more than 1": 1 - 2 * x * _age},
             zero={"e": _euler - power * rest}),
    )  # fmt: skip


def _nonconvex(bound: Any) -> tuple[Goal, ...]:
    growth = (1 + stepsize * smoothness) ** 2
    grown = Goal(
        "expansion",  # times L
        smoothness * (growth * _d**2 - (_d - stepsize * _g) ** 2),
        given={"slopes": smoothness**2 * _d**2 - _g**2, **_small},
        vectors=(_d, _g),
        hints=(smoothness * _d + _g,),
    )
    cost = stepsize * smoothness**2 * _limit + smoothness * _share
    left = 2 * (excess - _value) + cost * _weights - stepsize * _sum
    fallen = _value - stepsize * _s * _g + smoothness * (stepsize**2 * _g**2 + _share) / 2
    step = Goal(
        "one more step",
        2 * (excess - _next) + cost * (_weights + 1) - stepsize * (_sum + _s**2),
        given={
            "up to here": left,
            "descent": fallen - _next,
            "gamma <= 1/(2 L)": 1 - 2 * stepsize * smoothness,
            "slopes": smoothness**2 * spread - (_g - _s) ** 2,
            "V between averages": _limit - spread,
            **_small,
        },
        vectors=(_s, _g),
        hints=(_g,),
    )
    final = bound.subs(sp.E, _euler) - _sum / iterations
    at_end = {_weights: iterations, _limit: _euler * _largest, _share: stepsize**2 * noise**2 / N}
    given = {"the steps, times N": sp.expand(N * left.subs(at_end)), "f": _value, "noise**2": noise**2, **_small}
    return (
        *between_parabolas(smoothness, -smoothness),
        grown,
        *_below_e(growth),
        *_no_further(growth),
        *square_of_mean(),
        *never_negative("peers, pairs and outcomes"),
        *_between_averages(growth, _expansion, _euler),
        step,
        Goal("the average", final, given=given, positive={"K": iterations, "gamma > 0": stepsize, "N": N}),
    )


def _convex_noiseless(bound: Any) -> tuple[Goal, ...]:
    """Of the point `x` at first less a minimiser, the sum `S` of all slopes, that of their squares Q, a slope `g`."""
    x, S, Q, g = _x, _u, sp.Symbol("Q", nonnegative=True), _g
    K, L = iterations, smoothness

    def most(total: Any, squares: Any) -> Any:
        return total * x - stepsize / 2 * total**2 - (1 / L - stepsize) / 2 * squares

    more = most(S + g, Q + g**2) - most(S, Q) - g * (x - stepsize * S) + g**2 / (2 * L)
    sizes = {"K": K, "gamma": stepsize, "L": L}
    last = stepsize * (K - 1) * L + 1
    return (
        *between_parabolas(L, sp.S.Zero),
        *under_tangents(),
        Goal("one more point", more, equal=True, positive={"L": L}, vectors=(x, S, g)),
        *square_of_mean(),
        Goal(
            "the average",
            2 * K**2 * L * last * (K * bound - most(S, Q)),
            given={"K Q - ||S||^2, times 1 - gamma L": K * last * (1 - stepsize * L) * (K * Q - S**2)},
            positive={**sizes, "gamma (K - 1) L + 1": last},
            zero={"distance": x**2 - distance**2},
            vectors=(x, S),
            hints=(K * L * x - last * S,),
        ),
    )


def _nonconvex_noiseless(bound: Any) -> tuple[Goal, ...]:
    part = stepsize * (2 - stepsize * smoothness)
    left = 2 * (excess - _value) - part * _sum
    positive = {"gamma": stepsize, "2 - gamma L": 2 - stepsize * smoothness, "K": iterations}
    return (
        Goal(
            "one more step",
            2 * (excess - _next) - part * (_sum + _s**2),
            given={
                "up to here": left,
                "descent": _value - stepsize * _s**2 + smoothness * stepsize**2 * _s**2 / 2 - _next,
            },
            vectors=(_s,),
        ),
        Goal("the average", bound - _sum / iterations, given={"all steps": left, "f": _value}, positive=positive),
    )


_NORMAL = "every step size, curvature and noise, every N, every dimension, real arithmetic"
_V = (
    "V is the expected distortion, at most gamma^2 delta^2 after an average by what delta is, and 0 at the start; a "
    "step multiplies differences by no more than one (`d` and `g`: the difference of two points and that of the slopes "
    "there, which is cocoercive) and adds noise of variance gamma^2 sigma^2 at most: induction over the steps since, "
    "`age` <= tau - 1. "
)
_PEER = (
    "A peer's point `x` and the mean `m`, less a minimiser, with f there, `f_x` and `f_m`, less the minimum, and the "
    "slopes `g` and `s`: convexity between x and the minimiser, smoothness between x and m, twice between slopes. Over "
    "the peers <g, m> adds up to that of the mean slope, ||g||^2 to its square at least (a mean of squares), ||x - "
    "m||^2 to V, ||x||^2 to ||m||^2 at least; the mean of independent noises adds gamma^2 sigma^2/{peers}. So the "
    "expected squared distance makes `the step`. "
)
_TELESCOPE = (
    "`now` and `next` are expected squared distances before and after a step, `value` is the expected f at the mean, "
    "less the minimum, `sum` that of all steps: induction over the steps, from distance^2. f at the average of the "
    "means is at most sum/K, by convexity."
)

SGD_MODELS = by_claim(
    Model(
        claim="moshpit.sgd.spread",
        words="`d` is the difference of two peers' vectors, `u` and `w` their noises, independent of all else and of "
        "mean zero: products of different ones are zero in the mean. V is the sum over all ordered pairs of ||d||^2, "
        "over 2 N^2; N (N - 1) of them get noise. An average multiplies the expectation by rho.",
        scope=_NORMAL,
        goals=_spread,
    ),
    Model(
        claim="moshpit.sgd.mean_square",
        words="Averages keep the mean `m`; `u` is the mean of the peers' noises, of variance `now`, independent of m. "
        "N^2 `now` is the variance of their sum, by the claim: every peer adds sigma^2. Induction on N.",
        scope=_NORMAL,
        goals=_mean_square,
    ),
    Model(
        claim="moshpit.sgd.leaving",
        words="The mean square of all N after the step is as goals of moshpit.sgd.mean_square show, the distortion as "
        "those of moshpit.sgd.spread. n' of N vectors about their mean are drawn without replacement: each with "
        "probability `one` = n'/N, two of them with n' (n' - 1)/(N (N - 1)). The second moment of the drawn ones' sum "
        "is (one - both) times the sum of squares, N times the distortion, and both times the square of the sum, which "
        "is zero.",
        scope=_NORMAL + ", every n' <= N, N >= 2",
        goals=_leaving,
        checked_by=("moshpit.sgd.leaving", "moshpit.sgd.mean_square", "moshpit.sgd.spread"),
    ),
    Model(
        claim="moshpit.sgd.flat",
        words="Where f is constant a step adds to the distortion, over gamma^2, sigma^2 (1 - 1/N): that of N "
        "independent noises. tau steps and an average make the recurrence; induction on the averages.",
        scope="every rho < 1, every tau, N and sigma, every number of averages, real arithmetic",
        goals=_flat,
    ),
    Model(
        claim="moshpit.sgd.averaging_quality",
        words="`d` is the difference of two peers' points and `g` that of the slopes there, cocoercive as f is convex "
        "and smooth: a step brings points no further apart, noise of variance sigma^2 at most adds sigma^2 (1 - 1/N) "
        "to the distortion over gamma^2, `now`; an average multiplies by rho. Induction on the averages.",
        scope="every convex and smooth f, every gamma <= 2/L, every rho < 1, every tau, N and sigma, every number of "
        "averages, real arithmetic",
        goals=_averaging_quality,
    ),
    Model(
        claim="moshpit.sgd.convex",
        words=_V + _PEER.format(peers="N") + _TELESCOPE,
        scope="every convex and L-smooth f in every dimension, every gamma <= 1/(4 L), every tau, N, K and sigma, real "
        "arithmetic",
        goals=_convex,
    ),
    Model(
        claim="moshpit.sgd.convex_noiseless",
        words="All peers make the same steps. `x` is the first point less a minimiser, `u` the sum S of the slopes at "
        "K points, Q that of their squares, `g` one more slope. At a point f less its minimum is at most <g, point> - "
        "||g||^2/(2 L), as f is convex and smooth, and the point is x - gamma S: by induction all of them add up to "
        "<S, x> - gamma/2 ||S||^2 - (1/L - gamma)/2 Q, and K Q is at least ||S||^2; ||x|| is the distance. f at the "
        "average of the points is at most the average of f.",
        scope="every convex and L-smooth f in every dimension, every gamma <= 1/L, every N, tau and K, real arithmetic",
        goals=_convex_noiseless,
    ),
    Model(
        claim="moshpit.sgd.nonconvex_noiseless",
        words="All peers make the same steps. `value` and `next` are f less its infimum before and after a step with "
        "the slope `s`, `sum` all squared slopes so far: induction over the steps.",
        scope="every L-smooth f that is bounded below, in every dimension, every gamma < 2/L, every N, tau and K, real "
        "arithmetic",
        goals=_nonconvex_noiseless,
    ),
    Model(
        claim="moshpit.sgd.strongly_convex",
        words=_V
        + _PEER.format(peers="N")
        + "Step k has the weight (1 - gamma mu)^-(k+1), and `weights` is their sum, at least the last of them. `now` "
        "and `next` are expected squared distances before and after a step, times the weight of the step before, "
        "`value` is the expected f at the mean, less the minimum, `sum` that of all steps, weighted: induction over "
        "the steps, from distance^2. f at the weighted average of the means is at most sum/weights, by convexity.",
        scope="every mu-strongly convex and L-smooth f in every dimension, every gamma <= 1/(4 L), every tau, N, K and "
        "sigma, real arithmetic",
        goals=_strongly_convex,
    ),
    Model(
        claim="moshpit.sgd.departures",
        words=_V
        + _PEER.format(peers="n'")
        + "Here `m` is the mean of the peers' points with weights w that do not depend on them, of which those that "
        "stay are the mean at the end: w >= 0, they add up to one and their squares to 1/n' at most; E w is the same "
        "for all peers, so that sum w_i ||x_i - m||^2 is V at most in the mean, and f at the peers' mean is at most "
        "the mean of f(m). " + _TELESCOPE,
        scope="every convex and L-smooth f in every dimension, every gamma <= 1/(4 L), every tau, N, n', K and sigma, "
        "departures at random, real arithmetic",
        goals=_departures,
    ),
    Model(
        claim="moshpit.sgd.nonconvex",
        words="`d` is the difference of two peers' points, `g` that of the slopes there, L ||d|| at most: a step "
        "multiplies V by (1 + gamma L)^2 at most, `expansion` since the last average, and adds gamma^2 sigma^2 at "
        "most; `age` <= tau - 1 steps expand by exp(2 gamma L (tau - 1)) <= e at most, as 1 + x <= exp(x) and gamma <= "
        "1/(2 L (tau - 1)). Then `s` is the slope at the mean and `g` the mean slope, L^2 V apart at most in the mean "
        "square; `value` and `next` are expected f at the mean, less the infimum: the descent lemma. Induction over "
        "the steps, from `excess`; `sum` adds up ||s||^2.",
        scope="every L-smooth f that is bounded below, in every dimension, every gamma <= 1/(2 L) and 1/(2 L (tau - "
        "1)), every tau, N, K and sigma, real arithmetic",
        goals=_nonconvex,
    ),
)
