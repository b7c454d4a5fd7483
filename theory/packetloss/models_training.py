"""What certificates about training on replicas that drift prove."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import (
    independent_of,
    never_negative,
    over_all,
    over_histories,
    proved_by,
    square_of_mean,
)
from commbounds.theory.model import Goal, Model, by_claim, vectors
from commbounds.theory.packetloss.models_estimators import zero_fill_goals
from commbounds.theory.packetloss.terms import (
    N,
    estimatesquare,
    eta,
    fall,
    gap,
    meandistance,
    missednorms,
    p,
    smooth,
    t,
)
from commbounds.theory.smooth_functions import between_parabolas

_a, _b, _x, _u, _ghat = vectors("a b x u ghat")
_root = sp.Symbol("root", nonnegative=True)
_fallen, _falls = sp.symbols("fallen falls", real=True)
_estimates, _estimate, _squares, _drift, _later = sp.symbols("estimates estimate squares drift later", nonnegative=True)
_norm, _sum, _far = sp.symbols("norm sum far", positive=True)


def _triangle(bound: Any, reach: Any, longer: Any) -> tuple[Goal, ...]:
    """That a sum of norm `norm`, at most `reach`, is at most `longer` with one more vector, of norm `far`."""
    lengths = {"length of x": _x**2 - _norm**2, "length of u": _u**2 - _far**2}
    positive = {"norm": _norm, "far": _far}
    return (
        Goal("not negative", longer, given={"sum": _sum, "held": reach - _norm}, positive=positive),
        Goal(
            "a vector more",
            (longer**2 - (_x + _u) ** 2) * _norm * _far,
            given={"sum": _sum, "held": reach - _norm, "parallelogram": (_far * _x - _norm * _u) ** 2},
            positive=positive,
            zero=lengths,
            vectors=(_x, _u),
        ),
        Goal("the first vector", bound - _far, given={"sum": _sum}, positive=positive),
    )


def _replica_gap(bound: Any) -> tuple[Goal, ...]:
    at = bound.subs
    return _triangle(at(missednorms, _sum + _far), at(missednorms, _sum), at(missednorms, _sum + _far))


def _stale_gradients(bound: Any) -> tuple[Goal, ...]:
    def at(total: Any) -> Any:
        return N * bound.subs(meandistance, total / (smooth * N))

    return _triangle(at(_sum + _far), at(_sum), at(_sum + _far))


def _lag() -> Goal:
    """E||x'||^2 = p E||x + u||^2, below the root of p times E||x||^2 and as much of E||u||^2 as is stated."""
    later = _root * _x**2 + _root**2 / (1 - _root) * _u**2
    return Goal(
        "a copy's gap",
        later - _root**2 * (_x + _u) ** 2,
        given={"root": _root, "square": ((1 - _root) * _x - _root * _u) ** 2},
        positive={"1 - root": 1 - _root},
        vectors=(_x, _u),
    )


def _of_steps() -> tuple[Goal, ...]:
    """What losses and smoothness make of a step, in the mean over what is lost in it."""
    size, shard = sp.symbols("size shard", nonnegative=True)
    descent = _falls - eta * _a * _ghat + smooth / 2 * eta**2 * _ghat**2
    mean = _falls + smooth * eta**2 * _estimate / 2 - eta * (1 - p**N) * _a * _b
    unbiased = {"unbiased": _a * _ghat - (1 - p**N) * _a * _b, "estimate": _ghat**2 - _estimate}
    return (
        *between_parabolas(smooth, -smooth),
        *square_of_mean(),
        *never_negative("workers and outcomes"),
        *independent_of("losses"),
        *proved_by("what arrives", zero_fill_goals(1 - p**N)),
        Goal("falls", mean, given={"parabola above": descent}, zero=unbiased, vectors=(_a, _b, _ghat)),
        *over_histories("a broadcast", ((1 - p, sp.S.Zero), (p, (_x + _u) ** 2)), {size: (_x + _u) ** 2}, p * size,
                        vectors=(_x, _u)),
        *over_all(lambda gaps, all_of: gaps - (N - 1) * all_of, ((N - 1) * shard, shard), case="shards: ", equal=True),
    )  # fmt: skip


def _training(bound: Any, measured: Any, drift_weight: Any, falls: Any) -> tuple[Goal, ...]:
    """`bound` at the falls and estimates of the steps made, times their number, less what a step adds."""
    arrives = 1 - p**N

    def total(steps: Any, fallen: Any, estimates: Any) -> Any:
        at = bound.subs({t: steps, falls: fallen, estimatesquare: estimates / steps}, simultaneous=True)
        return (steps * at).subs(p, _root**2)

    def left(steps: Any, fallen: Any, estimates: Any, squares: Any, drift: Any) -> Any:
        return total(steps, fallen, estimates) - squares - drift_weight * drift / (1 - _root)

    q = arrives.subs(p, _root**2)
    added = _root**2 / (1 - _root) * eta**2 * (N - 1) / N * _estimate
    before = left(t, _fallen, _estimates, _squares, _drift)
    after = left(t + 1, _fallen + _falls, _estimates + _estimate, _squares + measured, _later)
    positive = {
        "eta": eta, "L": smooth, "something arrives": q, "N": N, "1 - root": 1 - _root, "t": t, "t + 1": t + 1,
    }  # fmt: skip
    step = {
        "before": before,
        "smooth, and unbiased": (_falls + smooth * eta**2 * _estimate / 2) / (eta * q) - _a * _b,
        "Lipschitz": smooth**2 * _drift - (_a - _b) ** 2,
        "gaps": smooth**2 / (1 - _root) * (_root * _drift + added - _later),
        "square": _b**2,
    }
    return (
        *_of_steps(),
        _lag(),
        Goal("no step", left(t, 0, 0, 0, 0), given={}, positive=positive),
        Goal("step", after, given=step, positive=positive, vectors=(_a, _b)),
    )


def _descent(bound: Any) -> tuple[Goal, ...]:
    goals = _training(bound, (_a**2 + _b**2) / 2, smooth**2 / 2, fall)
    return (*goals, _remaining(smooth**2 / 2))


def _convergence(bound: Any) -> tuple[Goal, ...]:
    goals = _training(bound, _a**2, smooth**2, gap)
    less = t * (bound - bound.subs(gap, _fallen))
    positive = {"eta": eta, "something arrives": 1 - p**N, "t": t}
    return (
        *goals,
        _remaining(smooth**2),
        Goal("least value", less, given={"f stays above its infimum": gap - _fallen}, positive=positive),
    )


def _remaining(drift_weight: Any) -> Goal:
    given = {"drift": _drift}
    return Goal(
        "what is left for later drift", drift_weight * _drift / (1 - _root),
        given=given, positive={"L": smooth, "1 - root": 1 - _root},
    )  # fmt: skip


_STEP = (
    "`a` is the gradient of f at the owners' values, `b` the mean of the workers' gradients at their replicas, `drift` "
    "the mean over the workers of their replicas' expected squared distance to the owners' values, all before a step; "
    "`estimate` is E||ghat||^2, `falls` by how much f falls; `fallen`, `estimates`, `squares` are the sums over the "
    "steps before of falls, of estimates and of what the claim bounds; `root`^2 is p, `later` the drift after the "
    "step. A receiver's gap x to an owner becomes x + u with probability p, of the losses of that broadcast alone, "
    "else 0: E||x'||^2 = p E||x + u||^2, at most root ||x||^2 + p/(1 - root) ||u||^2 in every dimension; N - 1 of N "
    "workers receive a shard, and u = -eta ghat. Smoothness, with E ghat = (1 - p^N) b given the replicas: falls >= "
    "eta (1 - p^N) <a, b> - L eta^2 estimate/2. Lipschitz gradients: ||a - b||^2 <= L^2 drift. Induction on t: t times "
    "the bound, less the sum of squares, is at least the drift that is still to be paid for, its weight over 1 - root."
)
_RUNS = (
    "every p < 1, every N, every t, every dimension, all L-smooth functions of the workers, every eta > 0; real "
    "arithmetic"
)

MODELS = by_claim(
    Model(
        claim="packetloss.training.replica_gap",
        words="`x` is the sum of some updates between the versions, of norm `norm` > 0, at most the bound at the "
        "`sum` of their norms; `u` is one more, of norm `far` > 0. Cauchy and Schwarz by the square of far x - norm "
        "u. Where one of the two vectors is zero, the sum is the other. Induction on the updates.",
        scope="every number of updates, every dimension; real arithmetic",
        goals=_replica_gap,
    ),
    Model(
        claim="packetloss.training.stale_gradients",
        words="`x` is the sum over some workers of the gradient at the replica less that at the reference point, of "
        "norm `norm` > 0, at most N times the bound where the distances, times L, have the `sum`; `u` is that of "
        "one worker more, and `far` > 0 its norm, at most L times the distance. Where one of the two vectors is "
        "zero, the sum is the other. Induction on the workers.",
        scope="every N, every dimension, every gradient with Lipschitz constant L; real arithmetic",
        goals=_stale_gradients,
    ),
    Model(
        claim="packetloss.training.descent",
        words=f"{_STEP} The claim bounds (||a||^2 + ||b||^2)/2.",
        scope=_RUNS,
        goals=_descent,
    ),
    Model(
        claim="packetloss.training.convergence",
        words=f"{_STEP} The claim bounds ||a||^2. The fall of all steps is at most f_0 - f*.",
        scope=f"{_RUNS}, f bounded below",
        goals=_convergence,
    ),
)
"""By claim."""
