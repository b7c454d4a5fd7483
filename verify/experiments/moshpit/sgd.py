"""Studies of Moshpit SGD: all noises and groups of small sizes enumerated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy as sp
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.collectives.moshpit.random_partitions import READINGS
from commbounds.theory import claims
from commbounds.verify.experiments.moshpit.averaging import curve_of, distortions, settings, some_vectors
from commbounds.verify.experiments.moshpit.random_groups import all_choices
from commbounds.verify.finding import Series
from commbounds.verify.inputs import among, whole
from commbounds.verify.study import Case, Outcome, Study

Array = NDArray[Any]
_EPS = float(np.finfo(np.float64).eps)


def _splits(N: int, r: int) -> list[Array]:
    """Every partition into r blocks, all of the same sizes: what a cut into equal groups gives, once each."""
    sizes = (N // r,) * r
    found = [READINGS["blocks"].labels(sizes, choices) for choices in all_choices("blocks", sizes)]
    return [labels for labels in found if labels is not None and set(np.bincount(labels)) == {N // r}]


def _gradients(objective: str, h: float) -> Callable[[Array], Array]:
    if objective == "quadratic":
        return lambda x: h * x
    if objective == "huber":
        return lambda x: np.clip(x, -1.0, 1.0)
    return lambda x: 2 * x / np.square(1 + np.square(x))  # of x^2/(1 + x^2): no convex function


def _value(objective: str, h: Fraction, x: Fraction) -> Fraction:
    """f(x), with minimum 0 at 0."""
    if objective == "quadratic":
        return h * x * x / 2
    if objective == "huber":
        return x * x / 2 if abs(x) <= 1 else abs(x) - Fraction(1, 2)
    return x * x / (1 + x * x)


_SMOOTHNESS = {"huber": Fraction(1), "ratio": Fraction(2)}


def _paths(implementation: Any, case: Case, steps: int) -> Iterator[Any]:
    """Every trajectory in one dimension, all equally likely: noise +1 or -1 at every peer and step, every grouping."""
    N, r, period = (case.settings[key] for key in ("N", "r", "period"))
    gamma, start = float(Fraction(case.settings["gamma"])), float(case.settings["start"])
    gradient = _gradients(case.settings["objective"], float(Fraction(case.settings.get("h", "1"))))
    groupings = list(itertools.product(_splits(N, r), repeat=steps // period))
    for signs in itertools.product((1.0, -1.0), repeat=steps * N):
        noise = np.array(signs).reshape(steps, N, 1)
        for groups in groupings:
            yield implementation(np.full((N, 1), start), gradient, gamma, noise, period, [[g] for g in groups])[0]


def _descent(bounded: str, implementation: Any, case: Case) -> Outcome | None:
    """The claim's quantity over all noises and groups, with the averaging quality that they turn out to have."""
    N, K, period, objective = (case.settings[key] for key in ("N", "K", "period", "objective"))
    gamma, h = Fraction(case.settings["gamma"]), Fraction(case.settings.get("h", "1"))
    L = _SMOOTHNESS.get(objective, h)
    steps = K if bounded == "nonconvex" else K - 1
    small = 2 * gamma * L * max(1, period - 1) <= 1 if bounded == "nonconvex" else 4 * gamma * L <= 1
    if not small or (bounded == "strongly_convex" and objective != "quadratic"):
        return None
    weights = [(1 - gamma * h) ** -(k + 1) if bounded == "strongly_convex" else Fraction(1) for k in range(K)]
    total, count, spreads = Fraction(0), 0, [Fraction(0)] * (steps + 1)
    for path in _paths(implementation, case, steps):
        means = [Fraction(float(m)) for m in path.means.ravel()]
        if bounded == "nonconvex":
            slopes = [2 * m / (1 + m * m) ** 2 if objective == "ratio" else m * h for m in means[:K]]
            total += sum((g * g for g in slopes), Fraction(0)) / K
        else:
            average = sum((w * m for w, m in zip(weights, means, strict=True)), Fraction(0)) / sum(weights)
            total += _value(objective, h, average)
        spreads = [s + Fraction(float(v)) for s, v in zip(spreads, path.spreads, strict=True)]
        count += 1
    averaged = [spreads[k] / count for k in range(period, steps + 1, period)]
    start = Fraction(case.settings["start"])
    values = {
        "N": N, "iterations": K, "stepsize": gamma, "period": period, "noise": Fraction(1), "smoothness": L,
        "convexity": h, "distance": start, "excess": _value(objective, h, start),
        "quality": sp.sqrt(sp.Rational(*(max(averaged, default=Fraction(0)) / gamma**2).as_integer_ratio())),
    }  # fmt: skip
    measured = total / count
    if objective == "ratio":  # gradients are rounded: K steps, each with a few operations on numbers below |start| + K
        return Outcome(float(measured), values, 64 * K * _EPS * (abs(float(start)) + K))
    return Outcome(measured, values)


def _descents(bounded: str, level: int) -> Iterator[Case]:
    objectives = (("quadratic", "1"), ("quadratic", "1/2"), ("huber", "1"))
    for (objective, h), period, gamma in itertools.product(objectives, (1, 2), ("1/4", "1/8")):
        for N, r, K in ((1, 1, 3), (2, 1, 4), (2, 2, 3), (4, 2, 2))[: 3 + (level > 0)]:
            for start in ("2", "0") if N < 4 else ("2",):
                yield settings(objective=objective, h=h, gamma=gamma, period=period, N=N, r=r, K=K, start=start)


def _nonconvex_cases() -> st.SearchStrategy[Case]:
    return st.builds(
        lambda N, K, start, gamma, period: settings(
            objective="ratio", gamma=gamma, period=period, N=N, r=1, K=K, start=start
        ),
        whole(1, 2),
        whole(1, 3),
        whole(0, 3),
        among(("1/4", "1/8", "1/16")),
        whole(1, 2),
    )


def _step(statement: str, implementation: Any, case: Case) -> Outcome | None:
    """One step on a quadratic from given points, over all noises, and all groups where it averages."""
    N, r, seed, averaged = (case.settings[key] for key in ("N", "r", "seed", "averaged"))
    gamma, h, n = Fraction(case.settings["gamma"]), Fraction(case.settings["h"]), 2
    x, period = some_vectors(N, n, seed, 4), 1 if averaged else 2
    splits = [[[labels]] for labels in _splits(N, r)] if averaged else [[]]
    total, count = Fraction(0), 0
    for signs in itertools.product((1.0, -1.0), repeat=N):
        noise = np.array(signs).reshape(1, N, 1) * np.array([1.0, 0.0])  # of variance one, in one direction
        for groups in splits:
            path, _ = implementation(x, lambda y: float(h) * y, float(gamma), noise, period, groups)
            found = path.spreads[1] if statement == "spread" else np.square(path.means[1]).sum()
            total, count = total + Fraction(float(found)), count + 1
    values = {
        "N": N, "stepsize": gamma, "curvature": h, "noise": Fraction(1), "spread": sum(distortions(x)),
        "square": sum((Fraction(float(m)) ** 2 for m in x.mean(axis=0)), Fraction(0)),
        "mixing": (Fraction(r - 1, N - 1) if N > 1 else Fraction(0)) if averaged else Fraction(1),
    }  # fmt: skip
    return Outcome(total / count, values)


def _step_curve(statement: str, implementation: Any, seed: int) -> list[Series]:
    rates = ("1/16", "1/8", "1/4", "1/2", "1", "2")
    cases = [settings(N=4, r=2, gamma=g, h="1", averaged=True, seed=0) for g in rates]
    label = "N = 4, r = 2, h = 1, a step and an average"
    return curve_of(
        f"moshpit.sgd.{statement}", partial(_step, statement), "stepsize", label, cases, implementation, seed
    )


def _steps(level: int) -> Iterator[Case]:
    for (N, r), (gamma, h), averaged in itertools.product(
        ((1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4)), (("1/2", "1"), ("1/4", "2"), ("1", "0")), (False, True)
    ):
        for seed in range(1 + level):
            yield settings(N=N, r=r, gamma=gamma, h=h, averaged=averaged, seed=seed)


def _quality(implementation: Any, case: Case) -> Outcome | None:
    """E V after averages, over all groups: a sum over unit noises, since the end is linear in the noise."""
    N, r, period, a = (case.settings[key] for key in ("N", "r", "period", "a"))
    h, K = float(Fraction(case.settings.get("h", "0"))), period * a
    noise = np.eye(K * N).reshape(K, N, K * N)
    groupings = list(itertools.product(_splits(N, r), repeat=a))
    total = Fraction(0)
    for groups in groupings:
        path, _ = implementation(np.zeros((N, K * N)), lambda x: h * x, 0.5, noise, period, [[g] for g in groups])
        total += Fraction(float(path.spreads[-1]))
    rho = Fraction(r - 1, N - 1)
    values = {"N": N, "mixing": rho, "period": period, "periods": a, "noise": Fraction(1)}
    return Outcome(4 * total / len(groupings), values)


def _flats(level: int) -> Iterator[Case]:
    for (N, r), period in itertools.product(((2, 1), (4, 1), (4, 2)), (1, 2, 3)):
        for a in range(1, 4 + level):
            yield settings(N=N, r=r, period=period, a=a)


def _curved(level: int) -> Iterator[Case]:
    for case in _flats(level):
        for h in ("0", "1", "2", "4"):
            yield settings(**case.settings, h=h)


def _many_averages(_budget: Any) -> Iterator[Case]:
    yield settings(N=4, r=2, period=1, a=7)


def _flat_curve(name: str, implementation: Any, _seed: int) -> list[Series]:
    outcomes = [_quality(implementation, settings(N=4, r=2, period=2, a=a)) for a in range(1, 6)]
    measured = [float(o.measured) for o in outcomes if o is not None]
    bounds = [float(claims()[name].bound(**o.values)) for o in outcomes if o is not None]
    return [
        Series(
            "f constant, N = 4, r = 2, an average every 2 steps", "periods", [1.0, 2.0, 3.0, 4.0, 5.0], bounds, measured
        )
    ]


def _descent_curve(bounded: str, implementation: Any, seed: int) -> list[Series]:
    """The bound, with the averaging quality that was measured, and means of 60 runs against the number of steps."""
    rng, N, n, r, period, gamma = np.random.default_rng(seed), 16, 10, 4, 4, 1 / 16
    lengths, objective = [8, 16, 32, 64, 128, 256], "ratio" if bounded == "nonconvex" else "quadratic"
    gradient, start, runs = _gradients(objective, 1.0), np.full((N, n), 1.0), 60
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


_NOISES = "all signs of unit noises and all groups of up to 4 peers and 4 steps; quadratics and a Huber function"

SGD_STUDIES = (
    _study(
        "convex",
        partial(_descent, "convex"),
        grid=partial(_descents, "convex"),
        enumerated=_NOISES,
        curves=partial(_descent_curve, "convex"),
    ),
    _study(
        "strongly_convex",
        partial(_descent, "strongly_convex"),
        grid=partial(_descents, "strongly_convex"),
        enumerated=_NOISES,
        curves=partial(_descent_curve, "strongly_convex"),
    ),
    _study(
        "nonconvex",
        partial(_descent, "nonconvex"),
        corpus=lambda _budget: iter((settings(objective="ratio", gamma="1/4", period=2, N=2, r=1, K=4, start="1"),)),
        cases=_nonconvex_cases,
        curves=partial(_descent_curve, "nonconvex"),
    ),
    _study(
        "spread",
        partial(_step, "spread"),
        grid=_steps,
        curves=partial(_step_curve, "spread"),
        enumerated="all signs of unit noises and all groups of up to 4 peers, one step",
    ),
    _study(
        "mean_square",
        partial(_step, "mean_square"),
        grid=_steps,
        curves=partial(_step_curve, "mean_square"),
        enumerated="all signs of unit noises and all groups of up to 4 peers, one step",
    ),
    _study(
        "flat",
        _quality,
        grid=_flats,
        enumerated="all groups of 2 and 4 peers, up to 3 averages; a unit noise at every peer and step",
        curves=partial(_flat_curve, "moshpit.sgd.flat"),
    ),
    _study(
        "averaging_quality",
        _quality,
        grid=_curved,
        enumerated="all groups of 2 and 4 peers, up to 3 averages; a unit noise at every peer and step; quadratics",
        extremal=_many_averages,
        curves=partial(_flat_curve, "moshpit.sgd.averaging_quality"),
    ),
)
"""One study for every claim about Moshpit SGD."""
