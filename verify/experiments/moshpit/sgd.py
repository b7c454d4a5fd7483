"""Studies of Moshpit SGD: all noises and groups of small sizes enumerated."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Array
from commbounds.collectives.moshpit.random_partitions import READINGS
from commbounds.theory import claims
from commbounds.verify.experiments.moshpit.averaging import (
    common_multiple,
    distortions,
    mean_of,
    some_vectors,
    whole_numbers,
)
from commbounds.verify.experiments.moshpit.objectives import BoundedRatio, SlopedObjective, bent, quadratic
from commbounds.verify.experiments.moshpit.random_groups import all_choices
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.finding import Series
from commbounds.verify.space import RANKS, Of, Settings, Space, nothing, rationals
from commbounds.verify.study import Outcome, Stream

Sizes = tuple[int, ...]
_EPS = float(np.finfo(np.float64).eps)


def _splits(N: int, r: int) -> list[Array]:
    """Every partition into r blocks, all of the same sizes: what a cut into equal groups gives, once each."""
    if r in (1, N):
        return [np.arange(N) % r]
    sizes = (N // r,) * r
    found = [READINGS["blocks"].labels(sizes, choices) for choices in all_choices("blocks", sizes)]
    return [labels for labels in found if labels is not None and set(np.bincount(labels)) == {N // r}]


def _noises(kind: str, N: int, steps: int) -> tuple[Array, list[Fraction] | Array]:
    """Unit noises of every outcome, an outcome a coordinate, (steps, N, outcomes), and their probabilities.

    All signs at every peer and step, or none; or in the first step alone: there only the number of peers with a plus
    counts. Of more than eight, numbers more than ten standard deviations from the middle are left out: less than
    10^-22.
    """
    if kind == "none":
        return np.zeros((steps, N, 1)), [Fraction(1)]
    if kind == "signs":
        bits = np.arange(2 ** (steps * N)) >> np.arange(steps * N)[:, None] & 1
        return (2.0 * bits - 1).reshape(steps, N, -1), [Fraction(1, bits.shape[1])] * bits.shape[1]
    if N <= 8:
        plus, chances = np.arange(N + 1), [Fraction(math.comb(N, j), 2**N) for j in range(N + 1)]
    else:
        wide = math.ceil(5 * math.sqrt(N))  # ten standard deviations; from one number to the next by (N - j)/(j + 1)
        plus = np.arange(max(0, N // 2 - wide), min(N, N // 2 + wide) + 1)
        ratios = np.cumprod((N - plus[:-1]) / (plus[:-1] + 1))
        chances = np.concatenate(([1.0], ratios)) / (1.0 + ratios.sum())
    noise = np.zeros((steps, N, plus.size))
    if steps:
        noise[0] = np.where(np.arange(N)[:, None] < plus, 1.0, -1.0)
    return noise, chances


def _run(implementation: Any, settings: Settings, steps: int) -> tuple[list[Any], Any, Fraction]:
    """Trajectories of all outcomes for every grouping, probabilities of outcomes, the largest E V after an average."""
    N, r, period, gamma = *(settings[key] for key in ("N", "r", "period")), float(settings["gamma"])
    noise, chances = _noises(settings["noises"], N, steps)
    gradient, points = settings["objective"].gradient, np.full((N, noise.shape[2]), float(settings["start"]))
    splits, averages = _splits(N, r), steps // period
    paths = [
        implementation(points, gradient, gamma, noise, period, [[g] for g in groups])[0]
        for groups in itertools.product(splits, repeat=averages)
    ]
    spreads = [Fraction(0)]
    if settings["noises"] == "signs":  # all equally likely
        for k in range(period, steps + 1, period):
            total = sum((Fraction(float(path.spreads[k])) for path in paths), Fraction(0))
            spreads.append(total / len(paths) / noise.shape[2])
    else:  # of every outcome, since they are not
        (groups,) = splits
        for k in range(0, averages * period, period):
            points = implementation(points, gradient, gamma, noise[k : k + period], period, [[groups]])[0].points
            spreads.append(_mean(chances, np.asarray(points).var(axis=0)))
    return paths, chances, max(spreads)


def _mean(chances: Any, values: Any) -> Fraction:
    """The expectation of a float per outcome."""
    if isinstance(chances, list):
        return sum((c * Fraction(float(v)) for c, v in zip(chances, values, strict=True)), Fraction(0))
    return Fraction(float(chances @ values))


def _error(objective: Any, means: Array, weights: list[int], chances: Any, exact: bool) -> Any:
    """E f at the mean of the peers' means, weighted; of K of them."""
    if not exact:
        shares = np.array([float(Fraction(w, sum(weights))) for w in weights])
        found = objective.value(shares @ means)
        return float(np.array([float(c) for c in chances]) @ found)
    numbers, scale = whole_numbers(means)
    totals = np.array(weights, object) @ numbers.astype(object)
    averages = (Fraction(int(total), scale * sum(weights)) for total in totals)
    return sum((c * objective.value(x) for c, x in zip(chances, averages, strict=True)), Fraction(0))


def _known(objective: SlopedObjective, gamma: Fraction, noises: str, K: int, start: int) -> Settings:
    """What the claims say of f, the step size and the start."""
    return {
        "stepsize": gamma, "smoothness": objective.smoothness, "convexity": objective.mu,
        "noise": Fraction(noises != "none"), "iterations": K, "distance": Fraction(start),
        "excess": objective.value(Fraction(start)),
    }  # fmt: skip


def _descent(
    bounded: str, implementation: Any, settings: Settings, objective: SlopedObjective, gamma: Fraction, N: int, K: int,
    start: int,
) -> Outcome:  # fmt: skip
    """The claim's quantity over all outcomes and groups, with the averaging quality that they turn out to have."""
    steps = K if bounded == "nonconvex" else K - 1
    paths, chances, largest = _run(implementation, settings, steps)
    quality = sp.sqrt(sp.Rational(*(largest / gamma**2).as_integer_ratio()))
    exact = bounded != "nonconvex" and isinstance(chances, list) and (N * K <= 32 or len(chances) == 1)
    if bounded == "nonconvex":
        slopes = [np.square(objective.gradient(path.means[:K])).mean(axis=0) for path in paths]
        total = sum(float(_mean(chances, slope)) for slope in slopes)
    else:
        base = 1 - gamma * objective.mu if bounded == "strongly_convex" else Fraction(1)
        weights = [base.numerator ** (K - 1 - k) * base.denominator**k for k in range(K)]
        total = sum(_error(objective, path.means[:K], weights, chances, exact) for path in paths)
    # in floats: K steps and as many terms of a mean, a few operations each on numbers below (|start| + K)^2
    slack = 0.0 if exact else 64 * K * _EPS * (abs(float(start)) + K) ** 2
    return Outcome(total / len(paths), {"quality": quality}, slack)


_LENGTHS = {(1, 1): (3, 6), (2, 1): (4,), (2, 2): (3,), (4, 2): (2,), (4, 1): (3,)}
"""Steps, by peers and groups, of which all signs of all noises are gone through."""
_SPACE = (
    Space(
        nothing,
        {
            "objective": (quadratic(1), quadratic("1/2")),
            "N": (1, 2, 4),
            "r": (1, 2),
            "period": (1, 2),
            "gamma": rationals("1/4", "1/8"),
            "K": (3, 4, 6, 2),
            "start": (2, 0),
            "noises": ("signs",),
        },
    )
    .without("Groups that are not of one size.", lambda N, r: N % r > 0)
    .without("More than twelve noises with all their signs.", lambda N, K, noises: noises == "signs" and N * K > 12)
)


def _family(space: Space, facts: Callable[..., Settings], **options: Any) -> Family:
    return Family("moshpit.sgd", "moshpit_sgd", space, facts, **{"searched": False, **options})


def _first(objective: SlopedObjective, K: int, **more: Any) -> Settings:
    """With noise in the first step alone, from the minimiser."""
    return {"objective": objective, "K": K, "noises": "first", "start": 0, **more}


def _bounds(bounded: str, mu: str, less: str) -> tuple[FamilyStudy, ...]:
    """Of what floats compute without rounding every sign; and rows in which one term makes up the bound."""
    small = (*_SPACE.axes["objective"], bent("1/4", "1/2", mu), bent(1, 1, mu))
    family = _family(_SPACE.replaced(objective=small), _known)
    steep, uneven = bent("1/32", 4, less), bent("1/4", "1/2", less)
    hard = [
        _first(quadratic("1/4"), 32, gamma=Fraction(1), start=64),
        # the first is the slope that takes the whole run to come down
        *(_first(bent(bend, bend, less), 64, start=16) for bend in (1, 4)),
        # the mean of N noises is small, but peers are pushed from the steep side, so that their mean moves to the other
        _first(steep, 12, period=12, N=512),
        _first(steep, 12, N=512, r=512),
        {"objective": uneven, "K": 6, "start": 0},
        *({"objective": uneven, "K": K, "N": N, "start": 1} for N, K in ((3, 3), (5, 2), (8, 2))),
    ]
    return family.studies(
        partial(_descent, bounded),
        bounded,
        grid=family.every(
            objective=small,
            period=(1, 2),
            gamma=rationals("1/4", "1/8"),
            N=(1, 2, 4),
            r=lambda N, level: [r for r in (1, 2) if (N, r) in _LENGTHS and (level or (N, r) != (4, 1))],
            K=lambda N, r: _LENGTHS[N, r],
            start=lambda N: (2, 0) if N < 4 else (2,),
        ),
        enumerated="all signs of unit noises and all groups of up to 4 peers and 5 steps; quadratics, and functions "
        "steep on one side",
        corpus=family.of(family.space.at(**row) for row in hard),
        streams=partial(_one_sided_streams, bounded),
        curves=partial(_descent_curve, bounded),
    )


_OF_SLOPES = _SPACE.replaced(
    objective=(BoundedRatio(),), N=(1, 2), r=(1,), K=(1, 2, 3), start=range(4), gamma=rationals("1/4", "1/8", "1/16")
)
_STEEP: list[Settings] = [
    {"period": 2, "N": 2, "K": 4, "start": 1},
    # steps of 1/2, where there is an average after each
    {"objective": quadratic(1), "K": 8, "start": 0, "gamma": Fraction(1, 2)},
    *(_first(bent(bend, bend), 64, start=64, gamma=Fraction(1, 2)) for bend in (2, 8)),
    _first(bent("1/16", 4), 8, N=512, r=512, gamma=Fraction(1, 2)),
    _first(bent("1/32", 4), 3, N=3000, period=3),
]
_SLOPES = _family(_OF_SLOPES.including(*(_OF_SLOPES.at(**row) for row in _STEEP)), _known, exact=False, searched=True)
"""For the mean of the squared gradients."""

_GRADIENT_DESCENT = replace(
    _SPACE.replaced(
        objective=(*map(quadratic, ("1", "1/2", "4")), bent("1/4", "1/2"), BoundedRatio()),
        N=RANKS,
        r=(1,),
        period=(1, 2, 3),
        gamma=rationals(1, "1/2", "1/4", "1/8", "3/2"),
        K=range(1, 7),
        start=(2, -3),
        noises=("none",),
    ),
    combined=(("objective", "N", "K"),),
)
_TANGENT: dict[str, Any] = {
    "objective": [bent(1, 1)],
    "period": [2],
    "gamma": rationals(1, "1/2", "1/4"),
    "K": (1, 2, 3, 5, 9),
    "N": (1, 2, 3),
    "start": lambda gamma, K: [gamma * (K - 1) + 1],
}
"""Points of slope one before the last, as many as there are steps."""
_AT_ONCE: dict[str, Any] = {
    "objective": [quadratic(h) for h in (1, 2, 4)],
    "gamma": lambda objective: [1 / objective.smoothness],
    "K": (1, 2, 3, 8),
    "N": (1, 2, 5),
    "start": [3],
}
"""A first step that ends at the minimiser."""


def _noiseless(bounded: str, objective: SlopedObjective, extremal: dict[str, Any]) -> tuple[FamilyStudy, ...]:
    """Every number of peers up to nine, of steps up to six; quadratics, and functions that are steep on one side."""
    space = _GRADIENT_DESCENT.including(*_GRADIENT_DESCENT.every(**_TANGENT))
    family = _family(space, _known, exact=bounded == "convex")
    lines = {"objective": objective, "gamma": Fraction(1, 4), "N": 2, "start": 4}
    return family.studies(
        partial(_descent, bounded),
        f"{bounded}_noiseless",
        enumerated="up to nine peers and six steps without noise; quadratics, and functions that bend",
        extremal=family.every(**extremal),
        curves=[family.over("iterations", (1, 2, 4, 8, 16, 32), "gamma = 1/4, two peers", by="K", **lines)],
    )


_LAW = (2.0, -0.5)
"""Values of a noise of variance one, with probabilities 1/5 and 4/5."""


def _one_sided_streams(bounded: str, implementation: Any) -> list[Stream]:
    """A long walk on a slope that is steep on one side: f at the average of 64 points of one peer, over its bound."""
    name, K, gamma = f"moshpit.sgd.{bounded}", 64, Fraction(1, 4)
    objective = bent("1/4", 1, "1/64" if bounded == "strongly_convex" else 0)
    values = {**_known(objective, gamma, "signs", K, 0), "N": 1, "period": 1, "quality": Fraction(0)}
    bound = float(claims()[name].bound(**values))
    weights = float(1 - gamma * objective.mu) ** -np.arange(1.0, K + 1) if bounded == "strongly_convex" else np.ones(K)

    def draw(rng: np.random.Generator, count: int) -> Array:
        noise = np.where(rng.random((K - 1, 1, count)) < 0.2, *_LAW)
        still = [[np.zeros(1, np.int64)]] * (K - 1)
        path, _ = implementation(np.zeros((1, count)), objective.gradient, float(gamma), noise, 1, still)
        return np.asarray(objective.value(weights / weights.sum() @ path.means[:K]) / bound - 1)

    def in_parts(rng: np.random.Generator, count: int) -> Array:
        return np.concatenate([draw(rng, min(4096, count - first)) for first in range(0, count, 4096)])

    return [Stream("f over its bound, one peer, 64 steps", in_parts, -1.0, math.inf, two_sided=False, cost=10)]


def _of_departures(
    objective: SlopedObjective, gamma: Fraction, period: int, stays: Sizes, start: int, sigma: int
) -> Settings:
    known = _known(objective, gamma, "signs", period * len(stays), start)
    return {**known, "survivors": stays[-1], "noise": Fraction(sigma)}


def _departures(
    implementation: Any, objective: SlopedObjective, gamma: Fraction, N: int, r: int, period: int, stays: Sizes,
    start: int, noises: str, sigma: int,
) -> Outcome:  # fmt: skip
    """E f at the average of the means, and what is left of the distance, over all noises, groups, and who leaves."""
    K = period * len(stays)
    noise, chances = _noises(noises, N, K)
    spreads, total = [Fraction(0)] * (len(stays) + 1), Fraction(0)

    def go_on(points: Array, peers: list[int], seen: list[Array], share: Fraction) -> None:
        nonlocal total
        done = len(seen)
        if done == len(stays):
            error = _error(objective, np.concatenate(seen), [1] * K, chances, noises == "signs")
            left = _mean(chances, np.square(points.mean(axis=0))) / (gamma * K)
            total += share * (Fraction(error) + left)
            return
        given, splits = noise[done * period : (done + 1) * period, peers], _splits(len(peers), min(r, len(peers)))
        kept = list(itertools.combinations(range(len(peers)), stays[done]))
        for labels in splits:
            path, _ = implementation(points, objective.gradient, float(gamma), sigma * given, period, [[labels]])
            part = share / len(splits)
            spreads[done + 1] += part * _mean(chances, np.asarray(path.points).var(axis=0))
            for chosen in kept:
                stay, before = [peers[i] for i in chosen], [*seen, path.means[:period]]
                go_on(np.asarray(path.points)[list(chosen)], stay, before, part / len(kept))

    go_on(np.full((N, noise.shape[2]), float(start)), list(range(N)), [], Fraction(1))
    quality = sp.sqrt(sp.Rational(*(max(spreads) / gamma**2).as_integer_ratio()))
    # as in `_descent`, and the distance over gamma K
    slack = 0.0 if noises == "signs" else 64 * K * _EPS * (abs(float(start)) + K) ** 2 * (1 + 1 / float(gamma * K))
    return Outcome(total, {"quality": quality}, slack, active=stays[-1] < N)


_PLANS = (
    (1, 1, 2, (1,)), (2, 1, 1, (1,)), (2, 2, 1, (2, 1)), (2, 2, 2, (1,)), (4, 2, 1, (2,)), (4, 4, 1, (1,)),
    (2, 2, 3, (1,)), (8, 8, 1, (1,)), (4, 2, 1, (4, 2)), (4, 4, 1, (2, 1)),
)  # fmt: skip
"""Peers, groups, steps between averages, and how many stay after each: all, or some leave at once or in turn."""
_LEAVE = _family(
    Space(
        nothing,
        {
            "plan": _PLANS[:8],
            "N": (Of("of the plan", lambda plan: plan[0]),),
            "r": (Of("of the plan", lambda plan: plan[1]),),
            "period": (Of("of the plan", lambda plan: plan[2]),),
            "stays": (Of("of the plan", lambda plan: plan[3]),),
            "objective": (quadratic(1), bent("1/4", "1/2"), quadratic(0)),
            "start": (2, 0),
            "gamma": rationals("1/4"),
            "noises": ("signs",),
            "sigma": (Of("1 or 2, by the period", lambda period: 1 + period % 2),),
        },
    ),
    _of_departures,
)
_DISAGREEING = _LEAVE.every(
    plan=((512, 1, 12, (512,)), (512, 512, 1, (512,) * 12)),
    objective=[bent("1/32", 4)],
    sigma=[1],
    noises=["first"],
    start=[0],
)
"""Hundreds of peers that differ once, on a slope that is steep on one side, so that their mean moves."""
_NO_SPREAD = _LEAVE.every(
    plan=((2, 2, 2, (1,)), (4, 4, 1, (1,)), (4, 4, 1, (4,)), (2, 1, 3, (2,))), objective=[quadratic(0)]
)
"""A constant f: whoever averages with nobody, or stays, has the noise of its own steps, and no other."""


def _of_step(N: int, r: int, stepsize: Fraction, averaged: bool, seed: int) -> dict[str, Any]:
    """Points, noise of standard deviation 1, or 2 for some step size, and the values of symbols.

    Of odd N points and noise are multiples of N: means and the sums of their squares are whole numbers.
    """
    odd = N if N % 2 else 1
    x, sigma = some_vectors(N, 2, seed, 4 * odd), odd * (2 if stepsize == Fraction(1, 4) else 1)
    return {
        "points": x, "splits": _splits(N, r) if averaged else [], "noise": Fraction(sigma),
        "spread": sum(distortions(x)), "square": sum(m * m for m in mean_of(x)),
        "mixing": (Fraction(r - 1, N - 1) if N > 1 else Fraction(0)) if averaged else Fraction(1),
    }  # fmt: skip


def _each_end(
    implementation: Any, N: int, points: Array, splits: list[Array], noise: Fraction, stepsize: Fraction,
    curvature: Fraction,
) -> list[Any]:  # fmt: skip
    """One step on a quadratic, over all noises in one direction, and all groups where it averages."""
    paths = []
    for signs in itertools.product((1.0, -1.0), repeat=N):
        given = np.array(signs).reshape(1, N, 1) * np.array([float(noise), 0.0])
        for groups in [[[labels]] for labels in splits] or [[]]:
            period = 1 if splits else 2
            path, _ = implementation(points, lambda y: float(curvature) * y, float(stepsize), given, period, groups)
            paths.append(path)
    return paths


def _leaving(found: list[Any], N: int, survivors: int) -> Outcome:
    """Over all sets of survivors besides."""
    squares = [
        sum(m * m for m in mean_of(np.asarray(path.points)[list(chosen)]))
        for path in found
        for chosen in itertools.combinations(range(N), survivors)
    ]
    return Outcome(sum(squares, Fraction(0)) / len(squares), {}, active=survivors < N)


def _spread_after(found: list[Any]) -> Fraction:
    return sum((Fraction(float(path.spreads[1])) for path in found), Fraction(0)) / len(found)


def _square_after(found: list[Any]) -> Fraction:
    return sum((Fraction(float(np.square(path.means[1]).sum())) for path in found), Fraction(0)) / len(found)


_STEP_SPACE = replace(
    Space(
        nothing,
        {
            "N": (4, 1, 2, 3, 5, 8),
            "r": (2, 1, 4),
            "stepsize": rationals("1/2", "1/4", 1),
            "curvature": (Of("by the step size", lambda stepsize: {1: 0}.get(stepsize, 1 / (2 * stepsize))),),
            "averaged": (True, False),
        },
    )
    .without("Groups that are not of one size.", lambda N, r: N % r > 0)
    .without("Several groups of eight peers, as all are gone through.", lambda N, r: N > 5 and r > 1),
    combined=(("N", "r", "stepsize", "averaged"),),
)
_LEAVING_SPACE = replace(
    _STEP_SPACE.replaced(N=(4, 2, 3, 5), averaged=(True,), survivors=(1, 2, 3, 4, 5)).without(
        "More survivors than peers.", lambda N, survivors: survivors > N
    ),
    combined=(("N", "r", "stepsize", "survivors"),),
)
_STEP, _LEAVERS = (_family(space, _of_step, run=_each_end) for space in (_STEP_SPACE, _LEAVING_SPACE))
_BY_STEP = [
    _STEP.over(
        "stepsize",
        rationals("1/16", "1/8", "1/4", "1/2", 1, 2),
        "N = 4, r = 2, h = 1, a step and an average",
        curvature=1,
    )
]


def _of_quadratic(N: int, r: int, h: Fraction, periods: int) -> dict[str, Any]:
    """What hypotheses ask about the quadratic, the step size and the groups; and the noise."""
    mixing = Fraction(r - 1, N - 1) if N > 1 else Fraction(0)
    of_function = {"stepsize": Fraction(1, 2), "smoothness": h, "convexity": h}
    return {**of_function, "mixing": mixing, "noise": Fraction(1 + periods % 2)}


def _quality(implementation: Any, N: int, r: int, period: int, periods: int, h: Fraction, noise: Fraction) -> Fraction:
    """E V after averages, over all groups: a sum over unit noises, since the end is linear in the noise."""
    K, scale, splits = period * periods, common_multiple(N, periods) if N % 2 else 1, _splits(N, r)
    units = np.eye(K * N).reshape(K, N, K * N) * (scale * float(noise))

    def ends(points: Array, done: int) -> Fraction:
        """V at the end, summed over the groups of the averages that are to come."""
        total = Fraction(0)
        for labels in splits:
            given = units[done * period : (done + 1) * period]
            path, _ = implementation(points, lambda x: float(h) * x, 0.5, given, period, [[labels]])
            last = done == periods - 1
            total += sum(distortions(path.points), Fraction(0)) if last else ends(path.points, done + 1)
        return total

    return 4 * ends(np.zeros((N, K * N)), 0) / (scale * scale * int(len(splits) ** periods))


_FLAT_SPACE = replace(
    Space(
        nothing,
        {"N": (4, 1, 2, 3, 8), "r": (2, 1), "period": (1, 2, 3), "periods": (1, 2, 3), "h": rationals(0, 1, 2, 4, 8)},
    )
    .without("Groups that are not of one size.", lambda N, r: N % r > 0)
    .without("Several groups of eight peers, as all are gone through.", lambda N, r: N > 4 and r > 1)
    .without(
        "Three averages, or other curvatures than 0 and 2, of other than two or four peers.",
        lambda N, periods, h: N not in (2, 4) and (periods > 2 or h not in (0, 2)),
    ),
    combined=(("N", "r", "period", "periods", "h"),),
)
_FLAT = _family(_FLAT_SPACE, _of_quadratic)
_BY_PERIODS = [_FLAT.over("periods", range(1, 6), "f constant, N = 4, r = 2, an average every 2 steps", period=2)]


def _descent_curve(bounded: str, implementation: Any, seed: int) -> list[Series]:
    """The bound, with the averaging quality that was measured, and means of 60 runs against the number of steps."""
    rng, N, n, r, period, gamma = np.random.default_rng(seed), 16, 10, 4, 4, 1 / 16
    lengths, objective = [8, 16, 32, 64, 128, 256], BoundedRatio() if bounded == "nonconvex" else quadratic(1)
    gradient = objective.gradient
    start, runs = np.full((N, n), 1.0), 60
    found, spreads = np.zeros(len(lengths)), np.zeros(lengths[-1] // period)
    for _ in range(runs):
        noise = rng.standard_normal((lengths[-1], N, n))
        groups = [[rng.permutation(N) % r] for _ in range(lengths[-1] // period)]
        path, _ = implementation(start, gradient, gamma, noise, period, groups)
        spreads += path.spreads[period::period] / runs
        for j, K in enumerate(lengths):
            weights = (1 - gamma) ** -(1.0 + np.arange(K)) if bounded == "strongly_convex" else np.ones(K)
            mean = (weights[:, None] * path.means[:K]).sum(axis=0) / weights.sum()
            slopes = np.square(gradient(path.means[:K])).sum(axis=1).mean()
            found[j] += (slopes if bounded == "nonconvex" else np.square(mean).sum() / 2) / runs
    L, quality = float(objective.smoothness), math.sqrt(spreads.max()) / gamma
    values = {"N": N, "stepsize": gamma, "period": period, "smoothness": L, "convexity": 1.0, "quality": quality}
    values |= {"noise": math.sqrt(n), "distance": math.sqrt(n), "excess": n / 2}  # of vectors with n entries
    claim = claims()[f"moshpit.sgd.{bounded}"]
    bounds = [float(claim.bound(iterations=K, **values)) for K in lengths]
    label = "16 peers, 4 groups, an average every 4 steps; means of 60 runs"
    return [Series(label, "iterations", [float(K) for K in lengths], bounds, found.tolist())]


SGD_STUDIES = (
    *_bounds("convex", "0", "0"),
    *_bounds("strongly_convex", "1/4", "1/16"),
    *_SLOPES.studies(partial(_descent, "nonconvex"), "nonconvex", curves=partial(_descent_curve, "nonconvex")),
    *_noiseless("convex", bent(1, 1), _TANGENT),
    *_noiseless("nonconvex", BoundedRatio(), _AT_ONCE),
    *_LEAVE.studies(
        _departures,
        "departures",
        grid=_LEAVE.every(
            plan=lambda level: _PLANS if level else _PLANS[:8],
            objective=(*_LEAVE.space.axes["objective"], quadratic(2)),  # of which the bound does not hold for the last
            start=(0, 2),
        ),
        corpus=_DISAGREEING,
        extremal=_NO_SPREAD,
        enumerated="all signs of noises, all groups and all sets that leave, of up to 8 peers and 2 averages",
        curves=[_LEAVE.over("iterations", [(2, 2, t, (1,)) for t in (1, 2, 3)], "N = 2, of which one stays", "plan")],
    ),
    *_LEAVERS.studies(
        _leaving,
        "leaving",
        curves=[_LEAVERS.over("survivors", range(1, 5), "N = 4, r = 2, h = 1, a step and an average")],
    ),
    *_STEP.studies(_spread_after, "spread", curves=_BY_STEP),
    *_STEP.studies(_square_after, "mean_square", curves=_BY_STEP),
    *_FLAT.studies(_quality, "flat", curves=_BY_PERIODS),
    *_FLAT.studies(_quality, "averaging_quality", extremal=_FLAT.every(periods=[7]), curves=_BY_PERIODS),
)
"""One study for every claim about Moshpit SGD."""
