"""Studies of Moshpit SGD: all noises and groups of small sizes enumerated."""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy as sp
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.collectives.moshpit.random_partitions import READINGS
from commbounds.theory import claims
from commbounds.verify.experiments.moshpit.averaging import (
    common_multiple,
    distortions,
    mean_of,
    settings,
    some_vectors,
    whole_numbers,
)
from commbounds.verify.experiments.moshpit.noiseless import LINES, STEPS, at_once, noiseless, on_a_tangent
from commbounds.verify.experiments.moshpit.random_groups import all_choices
from commbounds.verify.family import Family
from commbounds.verify.finding import Series
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.space import Of, Space, nothing, rationals
from commbounds.verify.study import Case, Outcome, Stream, Study, over

_EPS = float(np.finfo(np.float64).eps)


def _splits(N: int, r: int) -> list[Array]:
    """Every partition into r blocks, all of the same sizes: what a cut into equal groups gives, once each."""
    if r in (1, N):
        return [np.arange(N) % r]
    sizes = (N // r,) * r
    found = [READINGS["blocks"].labels(sizes, choices) for choices in all_choices("blocks", sizes)]
    return [labels for labels in found if labels is not None and set(np.bincount(labels)) == {N // r}]


@dataclass(frozen=True)
class _Bent:
    """The convex f, with minimum 0 at 0, whose slope is c x, but at least -left and at most right, plus mu x."""

    c: Fraction
    left: Fraction
    right: Fraction
    mu: Fraction

    @property
    def smoothness(self) -> Fraction:
        return self.c + self.mu

    def gradient(self, x: Array) -> Array:
        return np.asarray(np.clip(float(self.c) * x, -float(self.left), float(self.right)) + float(self.mu) * x)

    def value(self, x: Any) -> Any:
        """The value at a Fraction, or at floats."""
        exact = isinstance(x, Fraction)
        number: Any = Fraction if exact else float
        c, left, right, mu = map(number, (self.c, self.left, self.right, self.mu))
        total = mu * x * x / 2
        if c:
            within = min(max(x, -left / c), right / c) if exact else np.clip(x, -left / c, right / c)
            total += c * within * within / 2 + c * within * (x - within)
        return total


class _Ratio:
    """x^2/(1 + x^2), which is not convex."""

    smoothness, mu = Fraction(2), Fraction(-1, 2)
    """Largest curvature, and the least: 2 (1 - 3 x^2)/(1 + x^2)^3 at 1."""

    def gradient(self, x: Array) -> Array:
        return np.asarray(2 * x / np.square(1 + np.square(x)))

    def value(self, x: Any) -> Any:
        return x * x / (1 + x * x)


def _objective(given: Mapping[str, Any]) -> _Bent | _Ratio:
    """What is minimised, in every coordinate: quadratic of curvature h, bent, or ratio."""
    if given["objective"] == "ratio":
        return _Ratio()
    if given["objective"] == "quadratic":
        return _Bent(Fraction(0), Fraction(0), Fraction(0), Fraction(given["h"]))
    mu = Fraction(given.get("mu", "0"))
    return _Bent(1 - mu, Fraction(given["left"]), Fraction(given["right"]), mu)


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


def _run(implementation: Any, case: Case, steps: int) -> tuple[list[Any], Any, Fraction]:
    """Trajectories of all outcomes for every grouping, probabilities of outcomes, the largest E V after an average."""
    N, r, period = (case.settings[key] for key in ("N", "r", "period"))
    gamma, start = float(Fraction(case.settings["gamma"])), float(case.settings["start"])
    noise, chances = _noises(case.settings["noise"], N, steps)
    gradient, points = _objective(case.settings).gradient, np.full((N, noise.shape[2]), start)
    splits, averages = _splits(N, r), steps // period
    paths = [
        implementation(points, gradient, gamma, noise, period, [[g] for g in groups])[0]
        for groups in itertools.product(splits, repeat=averages)
    ]
    spreads = [Fraction(0)]
    if case.settings["noise"] == "signs":  # all equally likely
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


def _known(_implementation: Any, case: Case) -> dict[str, Any]:
    """What hypotheses ask about f and the step size."""
    objective = _objective(case.settings)
    gamma = Fraction(case.settings["gamma"])
    noise = Fraction(case.settings["noise"] != "none")
    return {"stepsize": gamma, "smoothness": objective.smoothness, "convexity": objective.mu, "noise": noise}


def _descent(bounded: str, implementation: Any, case: Case) -> Outcome:
    """The claim's quantity over all outcomes and groups, with the averaging quality that they turn out to have."""
    N, K, start = (case.settings[key] for key in ("N", "K", "start"))
    objective, gamma = _objective(case.settings), Fraction(case.settings["gamma"])
    values = {
        **_known(implementation, case), "N": N, "iterations": K, "period": case.settings["period"],
        "distance": Fraction(start), "excess": objective.value(Fraction(start)),
    }  # fmt: skip
    steps = K if bounded == "nonconvex" else K - 1
    paths, chances, largest = _run(implementation, case, steps)
    values["quality"] = sp.sqrt(sp.Rational(*(largest / gamma**2).as_integer_ratio()))
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
    return Outcome(total / len(paths), values, slack)


def _small(bounded: str, level: int) -> Iterator[Case]:
    """What floats compute without rounding: every sign of every noise, up to 4 peers and 4 steps."""
    of_one = {"left": "1/4", "right": "1/2", "mu": "0" if bounded == "convex" else "1/4"}
    objectives = [{"objective": "quadratic", "h": "1"}, {"objective": "quadratic", "h": "1/2"}]
    objectives += [{"objective": "bent", **of_one}, {"objective": "bent", **of_one, "left": "1", "right": "1"}]
    for objective, period, gamma in itertools.product(objectives, (1, 2), ("1/4", "1/8")):
        for N, r, K in ((1, 1, 3), (1, 1, 6), (2, 1, 4), (2, 2, 3), (4, 2, 2), (4, 1, 3))[: 5 + (level > 0)]:
            for start in ("2", "0") if N < 4 else ("2",):
                yield settings(**objective, gamma=gamma, period=period, N=N, r=r, K=K, start=start, noise="signs")


def _bent(**given: Any) -> Case:
    """A case of a bent function, in which the term of the spread, the variance or the start makes up the bound."""
    return settings(**{"objective": "bent", "gamma": "1/4", "period": 1, "N": 1, "r": 1, "noise": "first", **given})


def _hard(bounded: str, _budget: Any) -> Iterator[Case]:
    """Far from the start and long; hundreds of peers that differ once; other numbers of peers."""
    mu = "0" if bounded == "convex" else "1/16"
    yield settings(objective="quadratic", h="1/4", gamma="1", period=1, N=1, r=1, K=32, start="64", noise="first")
    for bend in ("1", "4"):  # the first is the slope that takes the whole run to come down
        yield _bent(left=bend, right=bend, mu=mu, K=64, start="16")
    # the mean of N noises is small, but peers are pushed from the steep side, so that their mean moves to the other
    yield _bent(left="1/32", right="4", mu=mu, K=12, period=12, N=512, start="0")
    yield _bent(left="1/32", right="4", mu=mu, K=12, N=512, r=512, start="0")
    yield _bent(left="1/4", right="1/2", mu=mu, K=6, start="0", noise="signs")
    for N, K in ((3, 3), (5, 2), (8, 2)):
        yield _bent(left="1/4", right="1/2", mu=mu, K=K, N=N, start="1", noise="signs")


def _hard_nonconvex(_budget: Any) -> Iterator[Case]:
    """The same for the mean of the squared gradients; steps of 1/2, where there is an average after each."""
    yield settings(objective="ratio", gamma="1/4", period=2, N=2, r=1, K=4, start="1", noise="signs")
    yield settings(objective="quadratic", h="1", gamma="1/2", period=1, N=1, r=1, K=8, start="0", noise="signs")
    for bend in ("2", "8"):
        yield _bent(left=bend, right=bend, gamma="1/2", K=64, start="64")
    yield _bent(left="1/16", right="4", gamma="1/2", K=8, N=512, r=512, start="0")
    yield _bent(left="1/32", right="4", gamma="1/4", K=3, period=3, N=3000, start="0")


def _nonconvex_cases() -> st.SearchStrategy[Case]:
    return st.builds(
        lambda N, K, start, gamma, period: settings(
            objective="ratio", gamma=gamma, period=period, N=N, r=1, K=K, start=start, noise="signs"
        ),
        integers(1, 2),
        integers(1, 3),
        integers(0, 3),
        sampled_from(("1/4", "1/8", "1/16")),
        integers(1, 2),
    )


_LAW = (2.0, -0.5)
"""Values of a noise of variance one, with probabilities 1/5 and 4/5."""


def _one_sided_streams(bounded: str, implementation: Any) -> list[Stream]:
    """A long walk on a slope that is steep on one side: f at the average of 64 points of one peer, over its bound."""
    name, K, gamma = f"moshpit.sgd.{bounded}", 64, Fraction(1, 4)
    objective = _Bent(Fraction(1), Fraction(1, 4), Fraction(1), Fraction(0))
    if bounded == "strongly_convex":
        objective = _Bent(Fraction(63, 64), Fraction(1, 4), Fraction(1), Fraction(1, 64))
    values = {
        "N": 1, "iterations": K, "stepsize": gamma, "period": 1, "noise": Fraction(1), "distance": Fraction(0),
        "smoothness": objective.smoothness, "convexity": objective.mu, "quality": Fraction(0),
    }  # fmt: skip
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


def _departures(implementation: Any, case: Case) -> Outcome:
    """E f at the average of the means, and what is left of the distance, over all noises, groups, and who leaves."""
    N, r, period, start, kind = (case.settings[key] for key in ("N", "r", "period", "start", "noise"))
    stays = [int(size) for size in case.settings["stays"].split()]
    objective, gamma, K = _objective(case.settings), Fraction(case.settings["gamma"]), period * len(stays)
    sigma, (noise, chances) = case.settings["sigma"], _noises(kind, N, K)
    spreads, total = [Fraction(0)] * (len(stays) + 1), Fraction(0)

    def go_on(points: Array, peers: list[int], seen: list[Array], share: Fraction) -> None:
        nonlocal total
        done = len(seen)
        if done == len(stays):
            error = _error(objective, np.concatenate(seen), [1] * K, chances, kind == "signs")
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
                left, before = [peers[i] for i in chosen], [*seen, path.means[:period]]
                go_on(np.asarray(path.points)[list(chosen)], left, before, part / len(kept))

    go_on(np.full((N, noise.shape[2]), float(start)), list(range(N)), [], Fraction(1))
    values = {
        **_known(implementation, case), "N": N, "survivors": stays[-1], "iterations": K, "period": period,
        "noise": Fraction(sigma), "distance": Fraction(start),
        "quality": sp.sqrt(sp.Rational(*(max(spreads) / gamma**2).as_integer_ratio())),
    }  # fmt: skip
    # as in `_descent`, and the distance over gamma K
    slack = 0.0 if kind == "signs" else 64 * K * _EPS * (abs(float(start)) + K) ** 2 * (1 + 1 / float(gamma * K))
    return Outcome(total, values, slack, active=stays[-1] < N)


_STEEP_ON_ONE_SIDE = {"objective": "bent", "left": "1/4", "right": "1/2"}


def _leaves(level: int) -> Iterator[Case]:
    """From up to four peers some leave at once, or one after another, or all stay."""
    plans = [(1, 1, 2, "1"), (2, 1, 1, "1"), (2, 2, 1, "2 1"), (2, 2, 2, "1"), (4, 2, 1, "2"), (4, 4, 1, "1")]
    plans += [(2, 2, 3, "1"), (8, 8, 1, "1"), (4, 2, 1, "4 2"), (4, 4, 1, "2 1")][: 4 if level else 2]
    bends = ({"objective": "quadratic", "h": "1"}, _STEEP_ON_ONE_SIDE, {"objective": "quadratic", "h": "0"})
    for (N, r, period, stays), bend, start in itertools.product(plans, bends, ("0", "2")):
        yield _leaving_case(**bend, period=period, N=N, r=r, stays=stays, start=start)
    # steps that the bound does not hold for
    yield _leaving_case(objective="quadratic", h="2", period=1, N=2, r=2, stays="1", start="2")


def _leaving_case(**given: Any) -> Case:
    return settings(**{"gamma": "1/4", "noise": "signs", "sigma": 1 + given["period"] % 2, **given})


def _disagreeing(_budget: Any) -> Iterator[Case]:
    """Hundreds of peers that differ once, on a slope that is steep on one side, so that their mean moves."""
    bend = {"objective": "bent", "left": "1/32", "right": "4", "noise": "first", "sigma": 1, "start": "0"}
    yield _leaving_case(**bend, N=512, r=1, period=12, stays="512")
    yield _leaving_case(**bend, N=512, r=512, period=1, stays=" ".join(["512"] * 12))


def _no_spread(_budget: Any) -> Iterator[Case]:
    """A constant f: whoever averages with nobody, or stays, has the noise of its own steps, and no other."""
    for N, r, period, stays in ((2, 2, 2, "1"), (4, 4, 1, "1"), (4, 4, 1, "4"), (2, 1, 3, "2")):
        yield _leaving_case(objective="quadratic", h="0", N=N, r=r, period=period, stays=stays, start="2")


_DEPARTURES = over(
    "iterations",
    "N = 2, of which one stays",
    (_leaving_case(objective="quadratic", h="1", period=t, N=2, r=2, stays="1", start="2") for t in (1, 2, 3)),
)
"""Two peers that average by themselves, one of which leaves at the end."""


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
_STEP, _LEAVERS = (
    Family("moshpit.sgd", "moshpit_sgd", space, _of_step, _each_end, searched=False)
    for space in (_STEP_SPACE, _LEAVING_SPACE)
)
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
_FLAT = Family("moshpit.sgd", "moshpit_sgd", _FLAT_SPACE, _of_quadratic, searched=False)
_BY_PERIODS = [_FLAT.over("periods", range(1, 6), "f constant, N = 4, r = 2, an average every 2 steps", period=2)]


def _descent_curve(bounded: str, implementation: Any, seed: int) -> list[Series]:
    """The bound, with the averaging quality that was measured, and means of 60 runs against the number of steps."""
    rng, N, n, r, period, gamma = np.random.default_rng(seed), 16, 10, 4, 4, 1 / 16
    lengths, objective = [8, 16, 32, 64, 128, 256], "ratio" if bounded == "nonconvex" else "quadratic"
    gradient = _objective({"objective": objective, "h": "1"}).gradient
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
    L, quality = (2.0 if objective == "ratio" else 1.0), math.sqrt(spreads.max()) / gamma
    values = {"N": N, "stepsize": gamma, "period": period, "smoothness": L, "convexity": 1.0, "quality": quality}
    values |= {"noise": math.sqrt(n), "distance": math.sqrt(n), "excess": n / 2}  # of vectors with n entries
    claim = claims()[f"moshpit.sgd.{bounded}"]
    bounds = [float(claim.bound(iterations=K, **values)) for K in lengths]
    label = "16 peers, 4 groups, an average every 4 steps; means of 60 runs"
    return [Series(label, "iterations", [float(K) for K in lengths], bounds, found.tolist())]


def _study(statement: str, trial: Any, **options: Any) -> Study:
    return Study(f"moshpit.sgd.{statement}", "moshpit_sgd", trial, **options)


_NOISES = (
    "all signs of unit noises and all groups of up to 4 peers and 5 steps; quadratics, and functions steep on one side"
)

SGD_STUDIES = (
    *(
        _study(
            bounded,
            partial(_descent, bounded),
            grid=partial(_small, bounded),
            enumerated=_NOISES,
            corpus=partial(_hard, bounded),
            known=_known,
            streams=partial(_one_sided_streams, bounded),
            curves=partial(_descent_curve, bounded),
        )
        for bounded in ("convex", "strongly_convex")
    ),
    _study(
        "nonconvex",
        partial(_descent, "nonconvex"),
        corpus=_hard_nonconvex,
        known=_known,
        cases=_nonconvex_cases,
        curves=partial(_descent_curve, "nonconvex"),
    ),
    *(
        _study(
            f"{bounded}_noiseless",
            partial(_descent, bounded),
            **{"grid" if bounded == "convex" else "corpus": cases},
            enumerated=STEPS,
            extremal=extremal,
            known=_known,
            curves=[over("iterations", "gamma = 1/4, two peers", LINES[bounded])],
        )
        for bounded, cases, extremal in (
            ("convex", partial(noiseless, "convex"), on_a_tangent),
            ("nonconvex", lambda _budget: noiseless("nonconvex", 0), at_once),
        )
    ),
    _study(
        "departures",
        _departures,
        grid=_leaves,
        corpus=_disagreeing,
        extremal=_no_spread,
        known=_known,
        enumerated="all signs of noises, all groups and all sets that leave, of up to 8 peers and 2 averages",
        curves=[_DEPARTURES],
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
