"""What certificates about the worst case of few steps prove: performance estimation, one setting after another.

A run is a few vectors. What is known of them is linear in their inner products and in the values of f: the
interpolation inequalities of smooth functions for every two points, and contraction in every step. Units are such that
L = 1.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, permutations
from typing import Any

import sympy as sp

from commbounds.theory.feedback import terms as t
from commbounds.theory.feedback.worst import (
    WORST_EF14,
    WORST_EF14_WORKERS,
    WORST_EF21,
    WORST_EF21_WORKERS,
    WORST_EF21M,
    LargestShare,
)
from commbounds.theory.model import Goal, untied, vectors
from commbounds.theory.quantities import alpha
from commbounds.theory.smooth_functions import between_parabolas

_lowest = sp.Symbol("lowest")
_q = sp.Symbol("q", nonnegative=True)


def _vectors(name: str, count: int) -> list[Any]:
    return [vectors(f"{name}{step}")[0] for step in range(count)]


def _values(name: str, count: int) -> list[Any]:
    return [sp.Symbol(f"{name}{step}") for step in range(count)]


def _smooth(points: Sequence[Any], slopes: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Values of f, and what is known of them: f is 1-smooth and nowhere below `lowest`."""
    values, known = _values("f", len(points)), {}
    for i, (x, slope, value) in enumerate(zip(points, slopes, values, strict=True)):
        known[f"f{i} less the lowest"] = value - _lowest - slope**2 / 2
        for j, (y, other, below) in enumerate(zip(points, slopes, values, strict=True)):
            if i != j:
                turn, away = slope - other, x - y
                known[f"f{i} above f{j}"] = value - below - other * away - turn**2 / 2 + (away - turn) ** 2 / 4
    return values, known


@cache
def _formula(bound: Any) -> tuple[list[Any], Any]:
    """The bound's symbols, and the bound as a function of them in exact arithmetic."""
    symbols = sorted(bound.free_symbols, key=str)
    return symbols, sp.lambdify(symbols, bound, "sympy")


def _shown(bound: Any, slopes: Sequence[Any], values: Sequence[Any], at: Mapping[Any, Any]) -> Any:
    """What the bound leaves over the mean squared gradient."""
    known = {t.smoothness: sp.Integer(1), t.gap: values[0] - _lowest, t.horizon: sp.Integer(len(slopes)), **at}
    symbols, formula = _formula(bound)
    return formula(*(known[symbol] for symbol in symbols)) - sum(slope**2 for slope in slopes) / len(slopes)


@cache
def _units(bound: Any) -> tuple[Goal, ...]:
    """That the bound of L f at gamma/L is L^2 times that of f at gamma, so that L = 1 may be taken; what is so then."""
    lags = {lag: t.smoothness**2 * lag for lag in (t.lag, t.own_lag, t.momentum_lag)}
    step = {t.stepsize: t.stepsize / t.smoothness}
    scaled = bound.subs({t.gap: t.smoothness * t.gap, **lags, **step}, simultaneous=True)
    apart = scaled - t.smoothness**2 * bound.subs(t.smoothness, 1)
    units = Goal("units", apart.subs(alpha, 1 - _q**2), equal=True, positive={"1 - q": 1 - _q})
    return units, *between_parabolas(sp.S.One, -sp.S.One)


def _path(steps: Sequence[Any]) -> list[Any]:
    """The points that steps lead to from 0, and 0."""
    points: list[Any] = [sp.Integer(0)]
    for step in steps:
        points.append(points[-1] - step)
    return points


def _ef21(bound: Any, row: int) -> tuple[Goal, ...]:
    q, weight, horizon, share = _numbers(WORST_EF21, row)
    gamma, slopes, estimates = weight * (1 - q), _vectors("slope", horizon), _vectors("estimate", horizon - 1)
    values, known = _smooth(_path([gamma * estimate for estimate in estimates]), slopes)
    for i in range(1, horizon - 1):
        known[f"contraction in step {i}"] = q**2 * (estimates[i - 1] - slopes[i]) ** 2 - (estimates[i] - slopes[i]) ** 2
    at = {alpha: 1 - q**2, t.stepsize: gamma, t.share: share, t.lag: (estimates[0] - slopes[0]) ** 2}
    return (*_units(bound), Goal("rate", _shown(bound, slopes, values, at), given=known, vectors=(*slopes, *estimates)))


def _ef14(bound: Any, row: int) -> tuple[Goal, ...]:
    q, weight, horizon, share = _numbers(WORST_EF14, row)
    gamma, slopes, left = weight / 2, _vectors("slope", horizon), [sp.Integer(0), *_vectors("residual", horizon)[1:]]
    offered = [e + gamma * slope for e, slope in zip(left, slopes, strict=True)]
    sent = [v - e for v, e in zip(offered, left[1:], strict=False)]
    values, known = _smooth(_path(sent), slopes)
    square = sp.Symbol("largest_step_squared")
    for i in range(horizon):
        known[f"step {i}"] = square - gamma**2 * slopes[i] ** 2
    for i in range(1, horizon):
        known[f"contraction in step {i - 1}"] = q**2 * offered[i - 1] ** 2 - left[i] ** 2
    at = {alpha: 1 - q**2, t.stepsize: gamma, t.share: share, t.reach: sp.sqrt(square)}
    return (*_units(bound), Goal("rate", _shown(bound, slopes, values, at), given=known, vectors=(*slopes, *left[1:])))


def _ef21m(bound: Any, row: int) -> tuple[Goal, ...]:
    q, weight, horizon, share = _numbers(WORST_EF21M, row)
    gamma = min((1 - q**2) / 20, weight / 7)
    slopes, momenta, estimates = _vectors("slope", horizon), _vectors("momentum", 1), _vectors("estimate", horizon - 1)
    for slope in slopes[1:]:
        momenta.append((1 - weight) * momenta[-1] + weight * slope)
    values, known = _smooth(_path([gamma * estimate for estimate in estimates]), slopes)
    for i in range(1, horizon - 1):
        known[f"contraction in step {i}"] = (
            q**2 * (estimates[i - 1] - momenta[i]) ** 2 - (estimates[i] - momenta[i]) ** 2
        )
    own = (momenta[0] - slopes[0]) ** 2
    at = {alpha: 1 - q**2, t.eta: weight, t.stepsize: gamma, t.share: share, t.lag: (estimates[0] - momenta[0]) ** 2}
    at |= {t.own_lag: own, t.momentum_lag: own}
    return (
        *_units(bound),
        Goal("rate", _shown(bound, slopes, values, at), given=known, vectors=(*slopes, momenta[0], *estimates)),
    )


def _of_all(parts: Sequence[Any]) -> Any:
    return sp.Add(*parts) / len(parts)


def _smooth_apart(
    points: Sequence[Any], slopes: Sequence[Sequence[Any]]
) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Values and gradients of the average f, and what is known: every f_w is 1-smooth, f nowhere below `lowest`."""
    known: dict[str, Any] = {}
    values = [_values(f"f_{worker}_", len(points)) for worker in range(len(slopes))]
    for worker, (own, heights) in enumerate(zip(slopes, values, strict=True)):
        for (i, x), (j, y) in permutations(enumerate(points), 2):
            turn, away = own[i] - own[j], x - y
            known[f"f_{worker}_{i} above f_{worker}_{j}"] = (
                heights[i] - heights[j] - own[j] * away - turn**2 / 2 + (away - turn) ** 2 / 4
            )
    mean_values, mean_slopes = ([_of_all(at) for at in zip(*each, strict=True)] for each in (values, slopes))
    for i, (value, slope) in enumerate(zip(mean_values, mean_slopes, strict=True)):
        known[f"f at point {i} less the lowest"] = value - _lowest - slope**2 / 2
    return mean_values, mean_slopes, known


def _ef21_workers(bound: Any, row: int) -> tuple[Goal, ...]:
    q, weight, horizon, share = _numbers(WORST_EF21_WORKERS, row)
    gamma, workers = weight * (1 - q), range(WORST_EF21_WORKERS[row - 1].workers)
    first, x, y, c, slope = vectors("slope_0 x y c slope")
    slopes = [[first, *_vectors(f"slope_{worker}_", horizon)[1:]] for worker in workers]
    estimates = [_vectors(f"estimate_{worker}_", horizon - 1) for worker in workers]
    means = [_of_all(at) for at in zip(*estimates, strict=True)]
    values, mean_slopes, known = _smooth_apart(_path([gamma * mean for mean in means]), slopes)
    for worker, (own, held) in enumerate(zip(slopes, estimates, strict=True)):
        for i in range(1, horizon - 1):
            known[f"contraction of worker {worker} in step {i}"] = (
                q**2 * (held[i - 1] - own[i]) ** 2 - (held[i] - own[i]) ** 2
            )
    lag = _of_all([(held[0] - first) ** 2 for held in estimates])
    at = {alpha: 1 - q**2, t.stepsize: gamma, t.share: share, t.lag: lag}
    every = (first, *chain.from_iterable((*own[1:], *held) for own, held in zip(slopes, estimates, strict=True)))
    return (
        *_units(bound),
        Goal("a linear function more", c * x - c * y - (slope + c) * (x - y) + slope * (x - y), equal=True,
             vectors=(x, y, c, slope)),
        Goal("rate", _shown(bound, mean_slopes, values, at), given=known, vectors=every),
    )  # fmt: skip


def _ef14_workers(bound: Any, row: int) -> tuple[Goal, ...]:
    q, weight, horizon, share = _numbers(WORST_EF14_WORKERS, row)
    gamma, workers = weight / 2, range(WORST_EF14_WORKERS[row - 1].workers)
    slopes = [_vectors(f"slope_{worker}_", horizon) for worker in workers]
    left = [[sp.Integer(0), *_vectors(f"residual_{worker}_", horizon)[1:]] for worker in workers]
    offered = [[e + gamma * slope for e, slope in zip(*each, strict=True)] for each in zip(left, slopes, strict=True)]
    sent = [[v - e for v, e in zip(o, e[1:], strict=False)] for o, e in zip(offered, left, strict=True)]
    values, mean_slopes, known = _smooth_apart(_path([_of_all(at) for at in zip(*sent, strict=True)]), slopes)
    square = sp.Symbol("largest_step_squared")
    for worker in workers:
        for i in range(horizon):
            known[f"step {i} of worker {worker}"] = square - gamma**2 * slopes[worker][i] ** 2
        for i in range(1, horizon):
            known[f"contraction of worker {worker} in step {i - 1}"] = (
                q**2 * offered[worker][i - 1] ** 2 - left[worker][i] ** 2
            )
    at = {alpha: 1 - q**2, t.stepsize: gamma, t.share: share, t.reach: sp.sqrt(square)}
    every = tuple(chain.from_iterable((*own, *e[1:]) for own, e in zip(slopes, left, strict=True)))
    return (*_units(bound), Goal("rate", _shown(bound, mean_slopes, values, at), given=known, vectors=every))


_UNITS = "'units': f may be divided by L, and the step size multiplied by it. In 'rate' L = 1, and x begins at 0. "
_INTERPOLATION = (
    "Every two points of an L-smooth function have f_i - f_j >= <grad_j, x_i - x_j> + ||grad_i - grad_j||^2/(2 L) - "
    "L/4 ||x_i - x_j - (grad_i - grad_j)/L||^2 (the interpolation inequality of Taylor, Hendrickx and Glineur 2017 at "
    "mu = -L, recalled; here from the parabolas that f is under at x_i and above at x_j), and f - ||grad f||^2/(2 L) "
    "is not below the lowest value. "
)
_WORDS = (
    _UNITS + "slope0, slope1, ... are the gradients at x^0, x^1, ..., f0, f1, ... the values of f there, {0}. "
) + _INTERPOLATION


def _numbers(table: Sequence[LargestShare], row: int) -> tuple[Any, Any, int, Any]:
    """q, the weight, steps and the share of a row; rows are counted from 1."""
    if not 1 <= row <= len(table):
        raise ValueError(f"row must be in [1, {len(table)}], got {row}")
    chosen = table[row - 1]
    q, weight, share = (sp.Rational(v.numerator, v.denominator) for v in (chosen.q, chosen.weight, chosen.share))
    return q, weight, chosen.horizon, share


def _instances(table: Sequence[LargestShare]) -> tuple[dict[str, int], ...]:
    return tuple({"row": row} for row in range(1, len(table) + 1))


_WORKER = "one worker, every dimension, every compressor with ||C(x) - x||^2 <= q^2 ||x||^2, every L-smooth f"
_APART = (
    _UNITS
    + "slope_w_t and {0}_w_t are worker w's gradient and {0} in step t, f_w_t the value of its function; the rate "
    "is about the gradients of their average f, and rows say how many workers there are. "
) + _INTERPOLATION
_WORKERS = _WORKER.replace("one worker", "two or three workers").replace("every L-smooth f", "all L-smooth functions")

WORST_MODELS = (
    untied(
        claim="feedback.ef14.rate_share",
        words=_WORDS.format("residual1, ... what the steps leave out")
        + "largest_step_squared is M^2. The step size is weight/(2 L).",
        scope=f"{_WORKER} bounded below; q, step size and steps of rows {{row}} of WORST_EF14 in "
        "theory/feedback/worst.py, in real arithmetic",
        goals=_ef14,
        instances=_instances(WORST_EF14),
    ),
    untied(
        claim="feedback.ef21.rate_share",
        words=_WORDS.format("estimate0, ... the worker's estimates") + "The step size is weight (1 - q)/L.",
        scope=f"{_WORKER} bounded below; q, step size and steps of rows {{row}} of WORST_EF21 in "
        "theory/feedback/worst.py, in real arithmetic",
        goals=_ef21,
        instances=_instances(WORST_EF21),
    ),
    untied(
        claim="feedback.ef21m.bound_share",
        words=_WORDS.format("estimate0, ... the worker's estimates, momentum0 the first momentum")
        + "weight is eta; the step size is the smaller of alpha/(20 L) and eta/(7 L).",
        scope=f"{_WORKER} bounded below, no noise; q, eta and steps of rows {{row}} of WORST_EF21M in "
        "theory/feedback/worst.py, in real arithmetic",
        goals=_ef21m,
        instances=_instances(WORST_EF21M),
    ),
    untied(
        claim="feedback.ef14.rate_share_workers",
        words=_APART.format("residual")
        + "largest_step_squared is M^2, for all workers. The step size is weight/(2 L).",
        scope=f"{_WORKERS}, f bounded below; workers, q, step size and steps of rows {{row}} of WORST_EF14_WORKERS in "
        "theory/feedback/worst.py, in real arithmetic",
        goals=_ef14_workers,
        instances=_instances(WORST_EF14_WORKERS),
    ),
    untied(
        claim="feedback.ef21.rate_share_workers",
        words=_APART.format("estimate") + "To f_w <c_w, x> may be added, and c_w to its gradients and estimates, where "
        "all c_w add up to zero: steps, lags and f stay as they are. So all workers have one first gradient, slope_0. "
        "The step size is weight (1 - q)/L.",
        scope=f"{_WORKERS}, f bounded below; workers, q, step size and steps of rows {{row}} of WORST_EF21_WORKERS in "
        "theory/feedback/worst.py, in real arithmetic",
        goals=_ef21_workers,
        instances=_instances(WORST_EF21_WORKERS),
    ),
)
