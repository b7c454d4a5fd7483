"""What certificates about error feedback prove.

Vectors of expectations are random vectors, whose inner product is the expected one. Where a lemma is a mean over
workers, a vector stands for all workers' vectors, one below the other, and the inner product is the mean of theirs:
contraction of every worker's is contraction of the whole. With q = sqrt(1 - alpha) all is rational in q.
"""

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from commbounds.theory.feedback import terms as t
from commbounds.theory.feedback.models_convex import CONVEX_MODELS
from commbounds.theory.feedback.models_econtrol import ECONTROL_MODELS
from commbounds.theory.feedback.models_momentum import MOMENTUM_MODELS
from commbounds.theory.feedback.models_worst import WORST_MODELS
from commbounds.theory.finite_laws import about_means, at_most_each, never_negative, noisy_squares, square_of_mean
from commbounds.theory.model import Goal, Model, by_claim, extents, untied, vectors
from commbounds.theory.quantities import P, alpha
from commbounds.theory.smooth_functions import between_parabolas

_q = sp.Symbol("q", nonnegative=True)
_e, _g, _new, _d, _turn = vectors("e g new d turn")
_slope, _at_y, _move = vectors("slope_at_x slope_at_y estimate")
_lag = sp.Symbol("mean_lag")
_before, _after, _lag_after, _slopes, _residuals, _root = sp.symbols("before after lag_after slopes residuals root")
_SHRINKS: Mapping[str, Any] = {"q": _q}
_LESS: Mapping[str, Any] = {"1 - q": 1 - _q}
_CONTRACTIVE = "every compressor with ||C(x) - x||^2 <= q^2 ||x||^2, every q in [0, 1)"
_SCOPE = f"every dimension, {_CONTRACTIVE}"
_GAMMA: Mapping[str, Any] = {"gamma": t.stepsize}
_STEPS: Mapping[str, Any] = {**_GAMMA, "T": t.horizon}
_HALF: Mapping[str, Any] = {"1 - 2 L gamma": 1 - 2 * t.smoothness * t.stepsize}
_RATIO = _q / (1 - _q)
"""sqrt(beta/theta)."""


def _in_q(bound: Any) -> Any:
    return bound.subs(alpha, 1 - _q**2)


def _smooth(before: Any, after: Any, slope: Any, step: Any, more: Any = 0) -> dict[str, Any]:
    """That f falls as smoothness says: a step along -`step` from gradient `slope`; `more` is added to its square."""
    ahead = before - slope * step + t.smoothness / 2 * (step**2 + more) - after
    return {"L-smooth: f - <grad f, step> + L/2 ||step||^2 - f+": ahead}


def _of_workers() -> tuple[Goal, ...]:
    """What smoothness says of two points, squares of means over the workers, and what is added up."""
    smooth = between_parabolas(t.smoothness, -t.smoothness)
    return *smooth, *square_of_mean(), *never_negative("steps and workers")


# --- error feedback of 2014 -------------------------------------------------------------------------------------------


def _limit(noise: Any = 0) -> Any:
    return _q**2 * t.reach**2 / (1 - _q) ** 2 + _q**2 / (1 - _q) * noise


def _keeps(noise: Any = 0) -> tuple[Goal, ...]:
    limit, sizes = _limit(noise), {"M^2": t.reach**2, **({"noise": noise} if noise else {}), **_SHRINKS}
    return (
        *(noisy_squares(t.variance) if noise else ()),
        Goal("no residual", limit, given=sizes, positive=_LESS),
        Goal(
            "residual",
            limit - _new**2,
            given={
                "new residual: q^2 (||e + g||^2 + noise) - ||new||^2": _q**2 * ((_e + _g) ** 2 + noise) - _new**2,
                "old residual: limit - ||e||^2": limit - _e**2,
                "step: M^2 - ||g||^2": t.reach**2 - _g**2,
                **_SHRINKS,
            },
            positive=_LESS,
            vectors=(_e, _g, _new),
            hints=((1 - _q) * _e - _q * _g,),
        ),
    )


def _telescoped(first: Any, spent: Callable[..., Any], *sums: Any, **known: Any) -> tuple[Goal, ...]:
    """That `spent` of the steps' sums is no less than minus `first`, by what every step makes of a potential."""
    now, following, *one = sp.symbols(f"potential_now potential_next one:{len(sums)}", nonnegative=True)
    before = {"those before": first + spent(*sums) - now}
    return (
        Goal("steps: one more", first + spent(*(a + b for a, b in zip(sums, one, strict=True))) - following,
             given={**before, "this step": now + spent(*one) - following}, **known),
        Goal("steps: all", first + spent(*sums), given={**before, "potential": now}, **known),
    )  # fmt: skip


def _residual(bound: Any) -> tuple[Goal, ...]:
    return _stays(bound, 0)


def _residual_noisy(bound: Any) -> tuple[Goal, ...]:
    return _stays(bound, t.stepsize**2 * t.variance)


def _stays(bound: Any, noise: Any) -> tuple[Goal, ...]:
    sizes = {"M^2": t.reach**2, **({"noise": noise} if noise else {})}
    return (
        *_keeps(noise),
        Goal("bound", _in_q(bound) - _limit(noise), given={**sizes, **_SHRINKS}, positive={**_LESS, "1 + q": 1 + _q}),
    )


def _ef14_rate(bound: Any) -> tuple[Goal, ...]:
    return _ef14_rated(bound, 0)


def _ef14_rate_noisy(bound: Any) -> tuple[Goal, ...]:
    return _ef14_rated(bound, t.variance)


def _ef14_rated(bound: Any, variance: Any) -> tuple[Goal, ...]:
    noise, own = variance / P, t.stepsize**2 * variance
    paid = t.stepsize * t.smoothness**2 / 2
    gains = t.smoothness * t.stepsize**2 * noise / 2
    workers = {"P": P} if variance else {}
    return (
        *_keeps(own),
        *_of_workers(),
        Goal(
            "step",
            _before - _after - t.stepsize / 4 * _slope**2 + paid * _e**2 + gains,
            given={
                **_smooth(_before, _after, _at_y, t.stepsize * _slope, t.stepsize**2 * noise),
                "gradients at x and y: L^2 ||e||^2 - ||difference||^2": t.smoothness**2 * _e**2 - (_slope - _at_y) ** 2,
                **_HALF,
            },
            positive={**_GAMMA, **workers},
            vectors=(_e, _slope, _at_y),
            hints=(_slope, _at_y),
        ),
        *_telescoped(
            t.gap,
            lambda slopes, residuals, steps: paid * residuals - t.stepsize / 4 * slopes + steps * gains,
            *(_slopes, _residuals, t.horizon),
            positive=workers,
        ),
        *at_most_each("residuals", _limit(own), t.horizon, _residuals, _LESS),
        Goal(
            "sum",
            _in_q(bound) - _slopes / t.horizon,
            given={
                "all steps: f - f* - gamma/4 slopes + gamma L^2/2 residuals + noise": t.gap
                - t.stepsize / 4 * _slopes
                + paid * _residuals
                + t.horizon * gains,
                "all residuals: T limit - residuals": t.horizon * _limit(own) - _residuals,
                "L": t.smoothness,
                **_SHRINKS,
            },
            positive={**_STEPS, **_LESS, **workers},
        ),
    )


_EF14_RATE = (
    "{} g is the step size times a worker's gradient and e its residual in 'residual', whose limit is there by "
    "induction. In 'step' e is the mean of the workers' residuals, whose square is at most the mean of theirs, and y = "
    "x - e, which moves by gamma times the mean gradient. {}'sum' adds up the steps: slopes are the squared gradients, "
    "residuals the squared mean residuals; y = x at first, and f >= f*."
)

# --- error feedback of 2021 -------------------------------------------------------------------------------------------


def _contracts(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal(
            "contraction",
            _in_q(bound).subs({t.lag: _d**2, t.turn: _turn**2}) - _new**2,
            given={"new lag: q^2 ||d - turn||^2 - ||new||^2": _q**2 * (_d - _turn) ** 2 - _new**2, **_SHRINKS},
            positive=_LESS,
            vectors=(_d, _turn, _new),
            hints=((1 - _q) * _d + _q * _turn,),
        ),
    )


def _bears(factor: int) -> Any:
    """What a step size must leave over for the descent to pay for the lag: `factor` times (L~ gamma)^2 beta/theta."""
    return 1 - t.smoothness * t.stepsize - factor * (t.smoothness_apart * t.stepsize * _RATIO) ** 2


_FAST = _RATIO * t.smoothness_apart * t.stepsize
_SIZES: Mapping[str, Any] = {
    "L gamma": t.smoothness * t.stepsize,
    "L~ gamma": t.smoothness_apart * t.stepsize,
    **_SHRINKS,
}


def _small_step(factor: int) -> Goal:
    """That the printed step size bears the lag: 1 - u - v^2 = (1 - u - v) + v (1 - v), and 1 - v = (1 - u - v) + u."""
    zero, stretch = ({}, 1) if factor == 1 else ({"root^2 = 2": _root**2 - 2}, _root)
    known = {"1 - L gamma - L~ gamma sqrt(...)": 1 - t.smoothness * t.stepsize - stretch * _FAST}
    return Goal(
        "step size",
        _bears(factor),
        given={**known, **_SIZES, **({"root": _root} if zero else {})},
        positive=_LESS,
        zero=zero,
    )


def _step_of_ef21(factor: int) -> dict[str, Any]:
    """What is known of a step from x along the mean estimate, whose lag is `mean_lag`."""
    return {
        **_smooth(t.gap, _after, _slope, t.stepsize * _move),
        "mean estimate: lag - ||estimate - grad f||^2": t.lag - (_move - _slope) ** 2,
        "lags: q lag + beta L~^2 ||x+ - x||^2 - lag+": _q * t.lag
        + _q**2 / (1 - _q) * (t.smoothness_apart * t.stepsize) ** 2 * _move**2
        - _lag_after,
        "step size": _bears(factor),
        **_SHRINKS,
    }


def _falls(fallen: Any) -> Goal:
    return Goal(
        "descent",
        (1 - _q) ** 2 * (_in_q(fallen).subs(t.slope, _slope**2) - _after - t.stepsize / (2 * (1 - _q)) * _lag_after),
        given=_step_of_ef21(1),
        positive={**_GAMMA, **_LESS},
        vectors=(_slope, _move),
        hints=(_move,),
    )


_LAG = (1 - t.theta) * t.lag + t.beta * t.turn
_FALLEN = t.gap + t.stepsize / (2 * t.theta) * t.lag - t.stepsize / 2 * t.slope


def _descent(bound: Any) -> tuple[Goal, ...]:
    return (*_contracts(_LAG), *_of_workers(), _small_step(1), _falls(bound))


def _descent_sharp(bound: Any) -> tuple[Goal, ...]:
    """Lags d and turns, and what workers' differ from the average by, d_apart and turn_apart."""
    d, turn, apart, turns = vectors("d turn d_apart turn_apart")
    move, q, r, s = d + _slope, _q, t.smoothness * t.stepsize, t.smoothness_apart * t.stepsize
    at = _in_q(bound).subs({t.lag: d**2 + apart**2, t.slope: _slope**2})
    spent = (1 - q) ** 2 * (1 + q) * (1 - r) - q**2 * (s**2 + q * r**2)
    return (
        *_of_workers(),
        *about_means(),
        Goal(
            "descent",
            (1 - q) ** 2 * (1 + q) * (at - _after - t.stepsize / (2 * (1 - q)) * _lag_after),
            given={
                **_smooth(t.gap, _after, _slope, t.stepsize * move),
                "lags: q^2 ||lag - turn||^2 - lag+": q**2 * ((d - turn) ** 2 + (apart - turns) ** 2) - _lag_after,
                "the average turn: (L gamma)^2 ||estimate||^2 - ||turn||^2": q**2 * (r**2 * move**2 - turn**2),
                "all turns: (L~ gamma)^2 ||estimate||^2 - ||turn||^2 - ||turn_apart||^2": q**2
                * (s**2 * move**2 - turn**2 - turns**2),
                "step size": spent * move**2,
                **_SHRINKS,
            },
            positive={**_GAMMA, **_LESS, "1 + q": 1 + q},
            vectors=(_slope, d, turn, apart, turns),
            hints=((1 - q) * d + q * turn, (1 - q**2) * apart + q**2 * turns),
        ),
    )


def _ef21_rate(bound: Any) -> tuple[Goal, ...]:
    first = t.gap + t.stepsize / (2 * (1 - _q)) * t.lag
    return (
        *_descent(_FALLEN),
        *_telescoped(first, lambda slopes: -t.stepsize / 2 * slopes, _slopes, positive=_LESS),
        Goal(
            "sum",
            _in_q(bound) - _slopes / t.horizon,
            given={"all steps: potential - gamma/2 slopes": first - t.stepsize / 2 * _slopes},
            positive={**_STEPS, **_LESS},
        ),
    )


def _ef21_pl(bound: Any) -> tuple[Goal, ...]:
    kept = 1 - t.stepsize * t.convexity
    now, after = (f + t.stepsize / (1 - _q) * lag for f, lag in ((t.gap, t.lag), (_after, _lag_after)))
    return (
        *_contracts(_LAG),
        *_of_workers(),
        _small_step(2),
        Goal(
            "fall",
            (1 - _q) ** 2 * (kept * now - after),
            given={
                **_step_of_ef21(2),
                "Polyak-Lojasiewicz: ||grad f||^2 - 2 mu (f - f*)": _slope**2 - 2 * t.convexity * t.gap,
                "theta - 2 gamma mu": 1 - _q - 2 * t.stepsize * t.convexity,
                "lag": t.lag,
            },
            positive={**_GAMMA, **_LESS},
            vectors=(_slope, _move),
            hints=(_move,),
        ),
        Goal("first", bound.subs(t.horizon, 0) - t.potential, equal=True),
        Goal(
            "step",
            bound.subs(t.horizon, t.horizon + 1) - _after,
            given={
                "up to here": bound - _before,
                "fall": kept * _before - _after,
                "theta - 2 gamma mu": 1 - _q - 2 * t.stepsize * t.convexity,
                "gamma mu": t.stepsize * t.convexity,
                **_SHRINKS,
            },
        ),
    )


_EF21_STEP = (
    "'contraction': d is g - grad, turn is grad+ - grad, new is g+ - grad+, of all workers. In 'descent' slope_at_x is "
    "grad f, estimate the mean of the workers' estimates, along which the weights move; its squared distance from grad "
    "f is at most the mean of theirs, and the mean of the squared turns at most L~^2 ||x+ - x||^2. What falls is "
    "multiplied by theta^2 > 0."
)
_EF21_SCOPE = f"every number of workers, {_SCOPE}, every L-smooth f of L_i-smooth f_i, L~^2 the mean of their squares"


# --- no feedback ------------------------------------------------------------------------------------------------------


def _cgd(bound: Any) -> tuple[Goal, ...]:
    r, x, plus, sent = _q, _e, _turn, _d
    low, high = (1 - r) * t.convexity, (1 + r) * t.smoothness
    total, apart, wide = high + low, high - low, t.smoothness - t.convexity
    after = x - 2 / total * sent
    both = r * (1 + r) * wide

    def between(f: Any, x: Any, g: Any, other_f: Any, other: Any, slope: Any) -> Any:
        """What the interpolation inequality of two points leaves over."""
        away, turn = x - other, g - slope
        bent = turn**2 / t.smoothness + t.convexity * away**2 - 2 * t.convexity / t.smoothness * turn * away
        return f - other_f - slope * away - t.smoothness / (2 * wide) * bent

    return (
        *between_parabolas(t.smoothness, t.convexity),
        Goal(
            "step",
            both * total**3 * (_in_q(bound) - _after),
            given={
                "x and x+": both * apart * total**2 * between(t.gap, x, _slope, _after, after, plus),
                "x* and x": both * apart * low * total * between(0, 0, 0, t.gap, x, _slope),
                "x* and x+": both * total**2 * low * between(0, 0, 0, _after, after, plus),
                "contraction": (1 + r) * wide * apart * total * (r**2 * _slope**2 - (sent - _slope) ** 2),
            },
            positive={"L - mu": wide, "(1 + r) L + (1 - r) mu": total, "r (1 - r) times it": r * (1 - r) * total},
            vectors=(x, _slope, plus, sent),
            hints=(
                apart * (sent - _slope) + r * total * plus,
                2 * t.smoothness * (1 + r) * t.convexity * x
                - high * (_slope + plus)
                - 2 * t.convexity * sent
                + low * (_slope - plus),
            ),
        ),
    )


def _growth(bound: Any) -> tuple[Goal, ...]:
    u = sp.Symbol("u")
    x, sent, goals = sp.Matrix([u, u, u]), sp.zeros(3, 1), []
    for worker in range(3):
        a = sp.Matrix([-3 if j == worker else 2 for j in range(3)])
        gradient = 2 * a.dot(x) * a + x / 2
        sent[worker] += gradient[worker]
        goals += [
            Goal(
                f"worker {worker + 1} sends entry {worker + 1} rather than {j + 1}",
                gradient[worker] ** 2 - gradient[j] ** 2 - u**2,
                hints=(u,),
            )
            for j in range(3)
            if j != worker
        ]
    after = x - t.stepsize * sent / 3
    return (*goals, *(Goal(f"entry {j + 1}", bound * u - after[j], equal=True) for j in range(3)))


_TOLD = sp.symbols("weights plain weights_after plain_after mean_error mean_error_after mean_message mean_step")
_ADDED = sp.symbols("errors messages steps errors_after own_error own_message own_step own_error_after")


def _telescoping(bound: Any) -> tuple[Goal, ...]:
    weights, plain, weights_after, plain_after, error, error_after, message, step = _TOLD
    errors, messages, steps, errors_after, own, own_message, own_step, own_after = _ADDED
    kept = error_after - (step + error - message)
    return (
        Goal(
            "no step",
            weights - error - plain - bound,
            equal=True,
            zero={"the same weights": weights - plain, "no residual": error},
        ),
        Goal(
            "one more worker",
            errors_after + own_after - (steps + own_step + errors + own - messages - own_message) - bound,
            equal=True,
            zero={
                "workers before": errors_after - (steps + errors - messages),
                "what is kept": own_after - (own_step + own - own_message),
            },
        ),
        Goal(
            "one more step",
            weights_after - error_after - plain_after - bound,
            equal=True,
            zero={
                "steps before": weights - error - plain,
                "what is kept on average": kept,
                "a step": weights_after - (weights - message),
                "an uncompressed step": plain_after - (plain - step),
            },
        ),
    )


def _average_of_estimates(bound: Any) -> tuple[Goal, ...]:
    server, after, total, total_after, own, own_after, correction, mean = sp.symbols(
        "server server_after total total_after own own_after correction mean_correction"
    )
    corrections, moved = sp.symbols("corrections moved")
    return (
        Goal(
            "one more worker",
            total_after + own_after - (total + own + corrections + correction) - bound,
            equal=True,
            zero={
                "workers before": total_after - (total + corrections),
                "its own correction": own_after - (own + correction),
            },
        ),
        Goal(
            "one more step",
            P * after - total_after - bound,
            equal=True,
            zero={
                "steps before": P * server - total,
                "all workers": total_after - (total + corrections),
                "the server": after - (server + mean),
                "the average of the corrections": P * mean - corrections,
            },
        ),
        Goal(
            "the weights",
            P * moved - t.stepsize * total - bound,
            equal=True,
            zero={"a step": moved - t.stepsize * server, "the average": P * server - total},
        ),
    )


MODELS = by_claim(
    Model(
        claim="feedback.ef14.telescoping",
        words="One entry: a worker keeps the part of its residual and of the step size times its gradient that it does "
        "not send; the weights move by the mean message, and those of uncompressed steps, `plain`, by the mean of the "
        "latter. Induction on the workers, then on the steps: residuals are zero at first.",
        scope="every number of workers, every dimension, every message, every step size, any number of steps, in real "
        "arithmetic",
        goals=_telescoping,
    ),
    Model(
        claim="feedback.ef21m.step",
        words="One entry: a worker adds its correction to its estimate, and the server adds the average correction to "
        "its own, by which the weights move, times the step size. `total` is the sum of the workers' estimates, P "
        "times the server's, as they begin alike. Induction on the workers and on the steps.",
        scope="every number of workers, every dimension, every correction, every step size, any number of steps, in "
        "real arithmetic",
        goals=_average_of_estimates,
    ),
    Model(
        claim="feedback.ef14.residual",
        words="e is the residual, g the step size times the gradient, new what is left of e + g. Induction: at first "
        "there is no residual, and the limit is not negative.",
        scope=f"{_SCOPE}, every M, any number of steps",
        goals=_residual,
        checked_by=("feedback.ef14.telescoping",),
    ),
    Model(
        claim="feedback.ef14.residual_simple",
        words="As feedback.ef14.residual, whose bound is the smaller one.",
        scope=f"{_SCOPE}, every M, any number of steps",
        goals=_residual,
        checked_by=("feedback.ef14.telescoping",),
    ),
    untied(
        claim="feedback.ef14.rate",
        words=_EF14_RATE.format("Without noise.", ""),
        scope=f"every number of workers, {_SCOPE}, every L-smooth f bounded below, every step size up to 1/(2 L), "
        "every M, any number of steps, in real arithmetic",
        goals=_ef14_rate,
    ),
    untied(
        claim="feedback.ef14.residual_noisy",
        words="e is the residual, g the step size times the gradient without its noise, which is independent of both "
        "and has mean zero: E||e + g + noise||^2 = E||e + g||^2 + gamma^2 sigma^2. Induction: at first there is no "
        "residual, and the limit is not negative.",
        scope=f"{_SCOPE}, every M, every independent noise of variance at most sigma^2, any number of steps, in real "
        "arithmetic",
        goals=_residual_noisy,
    ),
    untied(
        claim="feedback.ef14.rate_noisy",
        words=_EF14_RATE.format(
            "With noise, which is independent of e and x and has mean zero.",
            "The noise of a step has mean zero given y, and the mean of P workers' has variance sigma^2/P at most. ",
        ),
        scope=f"every number of workers, {_SCOPE}, every L-smooth f bounded below, every step size up to 1/(2 L), "
        "every M, every independent noise of variance at most sigma^2 per worker, any number of steps, in real "
        "arithmetic",
        goals=_ef14_rate_noisy,
    ),
    untied(
        claim="feedback.ef21.contraction",
        words="d is g - grad, turn is grad+ - grad, new is g+ - grad+ = C(grad+ - g) - (grad+ - g).",
        scope=f"{_SCOPE}, in real arithmetic",
        goals=_contracts,
    ),
    untied(
        claim="feedback.ef21.descent",
        words=_EF21_STEP,
        scope=f"{_EF21_SCOPE}, every step size up to 1/(L + L~ q/(1 - q)), in real arithmetic",
        goals=_descent,
    ),
    untied(
        claim="feedback.ef21.descent_sharp",
        words="slope_at_x is grad f(x), d the average of the workers' lags, so that x+ - x = -gamma (grad f(x) + d), "
        "and turn that of grad f_i(x+) - grad f_i(x); d_apart and turn_apart are what the workers' differ "
        "from the averages by, their squares the means over the workers. Every worker's lag after the step is at most "
        "q^2 of d - turn, what its estimate is off by before it. 'step size' is the step size's condition, "
        "times (1 - q)^2 (1 + q) ||grad f(x) + d||^2.",
        scope=f"{_EF21_SCOPE}, every step size with L gamma + gamma^2 (q/(1 - q))^2 (L~^2 + q L^2)/(1 + q) <= 1, in "
        "real arithmetic",
        goals=_descent_sharp,
    ),
    untied(
        claim="feedback.ef21.rate",
        words=f"{_EF21_STEP} 'sum' adds up the steps: slopes are the squared gradients, and the potential is never "
        "negative.",
        scope=f"{_EF21_SCOPE}, f bounded below, every step size up to 1/(L + L~ q/(1 - q)), any number of steps, in "
        "real arithmetic",
        goals=_ef21_rate,
    ),
    untied(
        claim="feedback.ef21.pl",
        words=f"{_EF21_STEP} The potential of 'fall' is f - f* + gamma/theta G; root is sqrt(2). 'first' and 'step' "
        "are the induction, as 1 - gamma mu >= 0.",
        scope=f"{_EF21_SCOPE}, ||grad f||^2 >= 2 mu (f - f*), every step size up to 1/(L + sqrt(2) L~ q/(1 - q)) and "
        "(1 - q)/(2 mu), any number of steps, in real arithmetic",
        goals=_ef21_pl,
    ),
    *CONVEX_MODELS,
    *MOMENTUM_MODELS,
    *WORST_MODELS,
    *ECONTROL_MODELS,
    untied(
        claim="feedback.cgd.factor",
        words="e is x - x*, slope_at_x and turn are the gradients at x and x+, d what the compressor returns of the "
        "first; q stands for r = sqrt(1 - alpha). Every condition, and what is shown, is multiplied by positive "
        "numbers: r, 1 + r, L - mu, and (1 + r) L plus or minus (1 - r) mu.",
        scope="one worker, every dimension, every compressor with ||C(x) - x||^2 <= r^2 ||x||^2, every r in (0, 1), "
        "every L-smooth mu-strongly convex f, 0 < mu < L, the step size 2/((1 - r) mu + (1 + r) L), in real arithmetic",
        goals=_cgd,
    ),
    Model(
        claim="feedback.plain.growth",
        words="The three workers at (u, u, u): every worker sends the entry of its own number, which is the largest by "
        "more than u^2 in square; the weights move by gamma/3 times the sum of what is sent.",
        scope="every step size, every start (u, u, u) with u not zero, in real arithmetic",
        goals=_growth,
    ),
)

SHOWN_BY: Mapping[str, Mapping[str, str]] = {"feedback.ef21.pl": {"up to here": "first"}}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "feedback",
    {
        (): "ef14.telescoping ef21m.step ef14.residual ef14.residual_simple ef21.contraction "
        "econtrol.telescoping econtrol.rate econtrol.growth plain.growth ef14.strongly_convex ef21.strongly_convex "
        "ef14.strongly_convex_workers ef21.strongly_convex_workers ef21m.descent ef14.rate_share ef21.rate_share "
        "ef21m.bound_share ef14.rate_share_workers ef21.rate_share_workers cgd.factor ef14.residual_noisy "
        "ef21m.momentum ef21m.lag ef21.descent_sharp ef14.rate ef21.descent ef21.rate ef21.pl arc.bound "
        "ef14.rate_noisy ef21m.bound"
    },
    every_case="ef14.rate_share ef14.rate_share_workers ef21.rate_share ef21.rate_share_workers ef21m.bound_share",
)
