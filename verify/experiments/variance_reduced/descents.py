"""Potentials of DIANA, MARINA, DASHA and EF21-P after one step on quadratics; whole runs of MARINA."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import root, square
from commbounds.verify.experiments.variance_reduced.enumeration import (
    Bowls,
    averaged,
    choices,
    lift,
    mean_square,
    own_rank,
    ranks_mean,
    room,
)
from commbounds.verify.inputs import among, whole
from commbounds.verify.study import Case, Outcome, Study, over

Array = NDArray[Any]
_COLUMN = "variance_reduced"


def _problem(case: Case) -> Bowls:
    """Of the case's numbers, in Fractions where it is exact."""
    d, c = case.array[: case.settings["P"]], case.array[case.settings["P"] :]
    return Bowls(lift(case, d), lift(case, c))


def _floats(problem: Bowls, x: Array) -> Array:
    return np.asarray(problem.gradients(x), np.float64)


def _case(curvatures: Array, linear: Array, **settings: Any) -> Case:
    d, c = np.atleast_2d(curvatures).astype(float), np.atleast_2d(linear).astype(float)
    P, n = d.shape
    return Case({"P": P, "n": n, "keep": "random", "seed": 0, "exact": True, **settings}, np.concatenate([d, c]))


def _drawn(P: int, n: int, k: int, seed: int, **settings: Any) -> Case:
    """Curvatures of quarters, some workers' negative if they are ``apart``; small integers besides."""
    rng = np.random.default_rng([seed, P, n, k, 9])
    exact, apart = settings.get("exact", True), settings.get("apart", 0)
    d = rng.integers(1, 5, (P, n)) / 4.0 if exact else rng.uniform(0.05, 1.0, (P, n))
    if apart and P > 1:
        d[0] += apart
        d[1] -= apart
        d[1] += np.maximum(0.0, -d.mean(axis=0)) * P
    c = 16.0 * rng.integers(-3, 4, (P, n)) if exact else rng.standard_normal((P, n))
    c[-1] -= c.sum(axis=0)
    return _case(d, c, k=k, **{**settings, "seed": seed})


def _point(case: Case, what: int) -> Array:
    """A vector for every rank and one besides, (P + 1, n)."""
    s = case.settings
    rng = np.random.default_rng([s["seed"], what, s["P"], s["n"]])
    shape = (s["P"] + 1, s["n"])
    drawn = 16.0 * rng.integers(-4, 5, shape) if s["exact"] else rng.standard_normal(shape)
    return np.asarray(drawn * s.get(f"size{what}", 1.0))


def _gamma(case: Case) -> Any:
    value = Fraction(case.settings["gamma"])
    return value if case.settings["exact"] else float(value)


def _omega(case: Case) -> Fraction:
    return Fraction(case.settings["n"], case.settings["k"]) - 1


def _ways(case: Case) -> list[Array]:
    s = case.settings
    return list(choices(s["P"], s["n"], s["k"]))


# --- DIANA -----------------------------------------------------------------------------------------------------------


def _diana_start(case: Case) -> tuple[Array, Array]:
    """Weights, and shifts: right, turned round about x, or anything; or anything at the minimiser."""
    problem, points = _problem(case), _point(case, 1)
    x, c = points[0], np.asarray(problem.linear, np.float64)
    kind = case.settings.get("shifts", "any")
    if kind == "right":
        return x, c
    if kind == "turned":
        return x, c - (_floats(problem, x) - c) * float(case.settings.get("times", 1.0))
    return (0.0 * x if kind == "at best" else x), points[1:]


def _of_diana(_implementation: Any, case: Case) -> dict[str, Any]:
    problem, (x, shifts) = _problem(case), _diana_start(case)
    mu, L = problem.of_average
    return {
        "P": case.settings["P"], "n": case.settings["n"], "k": case.settings["k"], "omega": _omega(case),
        "weight": Fraction(case.settings["weight"]), "stepsize": _gamma(case), "smoothness": L, "leastconvexity": mu,
        "largest_smoothness": max(problem.of_workers), "to_minimiser": square(lift(case, x)),
        "shift_error": mean_square(lift(case, shifts) - problem.linear),
    }  # fmt: skip


def _after_diana(diana: Any, case: Case) -> tuple[Any, Any]:
    """Expected squared distance from the minimiser, and of the shifts."""
    problem, (x, shifts) = _problem(case), _diana_start(case)
    gradients, gamma, weight = _floats(problem, lift(case, x)), _gamma(case), float(Fraction(case.settings["weight"]))
    near, errors = [], []
    for kept in _ways(case):
        state, _ = diana(gradients, shifts, ranks_mean(shifts), case.settings["k"], weight, kept=kept)
        near.append(square(lift(case, x) - gamma * lift(case, own_rank(case, state.estimate))))
        errors.append(mean_square(lift(case, state.shifts) - problem.linear))
    return averaged(near), averaged(errors)


def _diana(sharp: bool, diana: Any, case: Case) -> Outcome:
    values, (near, errors) = case.once(_of_diana, None), case.once(_after_diana, diana)
    gamma, omega, P, a = values["stepsize"], values["omega"], values["P"], values["weight"]
    exact = case.settings["exact"]
    omega, a = (omega, a) if exact else (float(omega), float(a))
    c = gamma**2 * omega / (P * a * (1 - a * (1 + omega))) if sharp else 4 * gamma**2 * omega * (1 + omega) / P
    sizes = (near, c * errors, values["to_minimiser"], c * values["shift_error"])
    return Outcome(near + c * errors, values, room(case, *sizes) * (1 + float(omega)) ** 2)


_SHAPES = ((1, 1, 1), (1, 2, 1), (2, 2, 1), (1, 4, 1), (2, 4, 2))
_GAMMAS = ("1/32", "1/8", "3/16", "1/4", "1/2", "1")


def _diana_grid(level: int) -> Iterator[Case]:
    for (P, n, k), gamma, kind in itertools.product(_SHAPES, _GAMMAS, ("any", "right", "turned", "at best")):
        for weight in {str(Fraction(k, n)), str(Fraction(k, 2 * n)), str(Fraction(k, 4 * n))}:
            for seed in range(1 + level):
                yield _drawn(P, n, k, seed, gamma=gamma, weight=weight, shifts=kind)
    for weight, gamma in itertools.product(("1/2", "1/4", "1/8"), _GAMMAS):
        yield _case(np.ones((1, 2)), np.zeros((1, 2)), k=1, gamma=gamma, weight=weight, shifts="turned", seed=2)
        yield _case(np.ones((2, 2)), np.zeros((2, 2)), k=1, gamma=gamma, weight=weight, shifts="right", seed=2)


def _diana_corpus(budget: Budget) -> Iterator[Case]:
    yield from _attaining(budget)
    for (P, n, k), gamma, kind in itertools.product(
        ((3, 2, 1), (1, 3, 1), (2, 3, 1)), ("0.03", "0.1"), ("any", "turned")
    ):
        for part in (1, 2, 5):
            weight = str(Fraction(k, n * part))
            yield _drawn(P, n, k, 4, gamma=gamma, weight=weight, shifts=kind, exact=False)


@st.composite
def _drawn_diana(draw: st.DrawFn) -> Case:
    P, n = draw(among(((1, 1), (1, 2), (2, 2), (3, 2), (1, 4))))
    k, part = draw(whole(1, n)), draw(among((1, 1, 2, 3)))
    kind, gamma = draw(among(("any", "right", "turned"))), draw(among(("0.01", "0.1", "0.3", "0.8")))
    weight = str(Fraction(k, n * part))
    return _drawn(P, n, k, draw(whole(0, 2**31)), gamma=gamma, weight=weight, shifts=kind, exact=False)


def _attaining(_budget: Budget) -> Iterator[Case]:
    """Right shifts at the largest step size 1/(1 + omega/(P (1 - a (1 + omega)))), a no smaller; and the minimiser."""
    linear = np.array([[16.0, -32.0], [-16.0, 32.0]])
    yield _case(np.ones((1, 2)), np.zeros((1, 2)), k=1, gamma="1/5", weight="3/8", shifts="right", seed=2, exact=False)
    yield _case(np.ones((2, 2)), linear, k=1, gamma="1/3", weight="3/8", shifts="right", seed=2, exact=False)
    yield _case(
        np.ones((1, 4)), np.zeros((1, 4)), k=1, gamma="1/13", weight="3/16", shifts="right", seed=2, exact=False
    )
    for P, n, weight in ((1, 2, "1/8"), (2, 2, "1/4"), (2, 4, "1/8")):
        c = linear if (P, n) == (2, 2) else np.zeros((P, n))
        yield _case(np.ones((P, n)), c, k=1, gamma="1/4", weight=weight, shifts="at best", seed=2)


def _diana_curve(shifts: str, part: int) -> list[Any]:
    gammas = ("1/32", "1/16", "1/8", "3/16", "1/4")
    cases = [_drawn(2, 2, 1, 3, gamma=g, weight=str(Fraction(1, 2 * part)), shifts=shifts) for g in gammas]
    return [over("stepsize", "P = 2, n = 2, k = 1", cases)]


def _about_diana(statement: str, sharp: bool, **options: Any) -> Study:
    return Study(
        f"{_COLUMN}.diana.{statement}",
        "diana_step",
        partial(_diana, sharp),
        grid=_diana_grid,
        corpus=_diana_corpus,
        cases=_drawn_diana,
        known=_of_diana,
        enumerated="1 and 2 ranks of up to 4 entries, curvatures of quarters, dyadic step sizes, all choices",
        **options,
    )


# --- MARINA and DASHA ------------------------------------------------------------------------------------------------


def _tracking(case: Case) -> tuple[Array, Array]:
    """Weights, and the workers' parts of the estimate; see `_aligned`."""
    points = _point(case, 1)
    if case.settings.get("aligned"):
        return _aligned_start(case)
    return points[0], points[1:]


def _aligned_start(case: Case) -> tuple[Array, Array]:
    """Parts that are off by gamma L_i/a of the estimate: then turns are -a times what they are off by."""
    problem, gamma, a = _problem(case), float(_gamma(case)), float(Fraction(case.settings["weight"]))
    d = np.asarray(problem.curvatures, np.float64)
    g = np.ones(d.shape[1])
    # grad f = g - mean of what the parts are off by
    x = (g - ranks_mean(gamma * d * g / a)) / ranks_mean(d)
    return x, np.asarray(problem.gradients(x) + gamma * d * g / a, np.float64)


def _of_tracking(_implementation: Any, case: Case) -> dict[str, Any]:
    problem, (x, own) = _problem(case), _tracking(case)
    at, parts = lift(case, x), lift(case, own)
    gradients = problem.gradients(at)
    mean = ranks_mean(gradients)
    squares = [value**2 for value in problem.of_workers]
    values = {
        "P": case.settings["P"], "n": case.settings["n"], "k": case.settings["k"], "omega": _omega(case),
        "stepsize": _gamma(case), "smoothness": problem.of_average[1],
        "smoothness_apart": root(averaged(squares)), "mean_smoothness": averaged(problem.of_workers),
        "excess_before": problem.excess(at), "squared_slope": square(mean),
        "estimate_gap": square(ranks_mean(parts) - mean), "part_gap": mean_square(parts - gradients),
    }  # fmt: skip
    for name, key in (("full_probability", "probability"), ("weight", "weight")):
        if key in case.settings:
            values[name] = Fraction(case.settings[key])
    return values


def _moved(case: Case) -> tuple[Array, Array, Array]:
    """Old gradients, new weights, and new gradients."""
    problem, (x, own) = _problem(case), _tracking(case)
    at = lift(case, x)
    new = at - _gamma(case) * lift(case, ranks_mean(own))
    return _floats(problem, at), new, _floats(problem, new)


def _marina(marina: Any, case: Case) -> Outcome:
    values, problem = case.once(_of_tracking, None), _problem(case)
    before, new, after = _moved(case)
    estimate, p = ranks_mean(_tracking(case)[1]), values["full_probability"]
    p = p if case.settings["exact"] else float(p)
    mean, k = ranks_mean(lift(case, after)), case.settings["k"]
    whole_one, _ = marina(after, before, estimate, k, True)
    off = [square(lift(case, own_rank(case, marina(after, before, estimate, k, False, kept=kept)[0])) - mean)
           for kept in _ways(case)]  # fmt: skip
    error = p * square(lift(case, own_rank(case, whole_one)) - mean) + (1 - p) * averaged(off)
    paid = values["stepsize"] / (2 * p)
    measured = problem.excess(new) + paid * error
    sizes = (measured, values["excess_before"], paid * values["estimate_gap"], values["stepsize"] * square(mean))
    return Outcome(measured, values, room(case, *sizes) * (1 + float(values["omega"])) ** 2)


def _dasha(dasha: Any, case: Case) -> Outcome:
    values, problem = case.once(_of_tracking, None), _problem(case)
    before, new, after = _moved(case)
    own, a = _tracking(case)[1], float(values["weight"])
    mean, estimates, parts = ranks_mean(lift(case, after)), [], []
    for kept in _ways(case):
        state, _ = dasha(after, before, own, ranks_mean(own), case.settings["k"], a, kept=kept)
        estimates.append(square(lift(case, own_rank(case, state.estimate)) - mean))
        parts.append(mean_square(lift(case, state.own) - lift(case, after)))
    gamma, omega, P = values["stepsize"], values["omega"], values["P"]
    omega = omega if case.settings["exact"] else float(omega)
    first = gamma * (2 * omega + 1) ** 2 / (2 * (4 * omega + 1))
    second = gamma * omega * (2 * omega + 1) / ((4 * omega + 1) * P)
    measured = problem.excess(new) + first * averaged(estimates) + second * averaged(parts)
    sizes = (measured, values["excess_before"], first * values["estimate_gap"], second * values["part_gap"])
    return Outcome(measured, values, room(case, *sizes) * (1 + float(omega)) ** 2)


def _marina_grid(level: int) -> Iterator[Case]:
    for (P, n, k), gamma, probability in itertools.product(_SHAPES, _GAMMAS, ("1/4", "1/2", "1")):
        for seed in range(1 + level):
            yield _drawn(P, n, k, seed, gamma=gamma, probability=probability)
            if P > 1:
                yield _drawn(P, n, k, seed, gamma=gamma, probability=probability, apart=1)
    yield from _largest_steps(None)


def _largest_steps(_budget: Any) -> Iterator[Case]:
    """L = 1, omega = 1: gamma = 1/2 has gamma + gamma^2 (1 - p)/(p P) = 1 for P = 1 and p = 1/3; P = 2 and p = 1/5."""
    linear = np.array([[16.0, -32.0], [-16.0, 32.0]])
    for probability, P in (("1/3", 1), ("1/5", 2)):
        c = linear if P == 2 else np.zeros((1, 2))
        yield _case(np.ones((P, 2)), c, k=1, gamma="1/2", probability=probability, seed=4)


def _tracking_corpus(_budget: Budget) -> Iterator[Case]:
    for (P, n, k), gamma in itertools.product(((3, 2, 1), (1, 3, 1), (2, 3, 2)), ("0.02", "0.1", "0.3")):
        for apart in (0.0, 2.0):
            weight = str(1 / (2 * (Fraction(n, k) - 1) + 1))
            yield _drawn(P, n, k, 4, gamma=gamma, probability="0.3", weight=weight, exact=False, apart=apart)


@st.composite
def _drawn_tracking(draw: st.DrawFn) -> Case:
    P, n = draw(among(((1, 1), (1, 2), (2, 2), (3, 2), (1, 4))))
    k, gamma = draw(whole(1, n)), draw(among(("0.01", "0.1", "0.3", "0.8")))
    weight, apart = str(1 / (2 * (Fraction(n, k) - 1) + 1)), draw(among((0.0, 0.0, 1.0, 8.0)))
    probability = draw(among(("0.05", "1/3", "0.9")))
    return _drawn(
        P, n, k, draw(whole(0, 2**31)), gamma=gamma, weight=weight, probability=probability, exact=False, apart=apart
    )


def _dasha_limit(L: float, squared: float, P: int, root_of: float) -> Fraction:
    """The largest gamma with gamma L + gamma^2 (L~)^2 root_of/P <= 1."""
    s = squared * root_of / P
    gamma = 1 / L if s == 0 else (-L + (L * L + 4 * s) ** 0.5) / (2 * s)
    return Fraction(gamma * (1 - 1e-15)).limit_denominator(2**40)


def _aligned(apart: float, P: int, n: int, k: int, gamma: Fraction) -> Case:
    d = np.ones((P, n))
    if P > 1:
        d[0] += apart
        d[1] -= apart
    weight = str(1 / (2 * Fraction(n, k) - 1))
    return _case(d, np.zeros((P, n)), k=k, gamma=str(gamma), weight=weight, aligned=True, exact=False)


_APART = ((0.0, 1, 2, 1), (0.0, 2, 2, 1), (8.0, 2, 2, 1), (3.0, 2, 3, 1), (2.0, 2, 3, 2), (0.0, 1, 3, 2))


def _dasha_largest(_budget: Budget) -> Iterator[Case]:
    for apart, P, n, k in _APART:
        omega = n / k - 1
        yield _aligned(apart, P, n, k, _dasha_limit(1.0, 1 + apart**2, P, 2 * omega * (2 * omega + 1)))


def _code_gamma(L: float, squared: float, P: int, n: int, k: int) -> Fraction:
    """1/(L + L~ sqrt(omega (4 omega + 1)/P)), a little less."""
    omega = n / k - 1
    return Fraction((1 - 1e-14) / (L + (squared * omega * (4 * omega + 1) / P) ** 0.5)).limit_denominator(2**45)


def _code_steps(_budget: Budget) -> Iterator[Case]:
    """The code's step size with the smoothness of the average, with workers that differ little or much."""
    for apart, P, n, k in (*_APART, (1.0, 2, 2, 1), (20.0, 2, 3, 1), (1.0, 2, 3, 2), (3.0, 2, 3, 2)):
        yield _aligned(apart, P, n, k, _code_gamma(1.0, 1 + apart**2, P, n, k))


def _mean_steps(_budget: Budget) -> Iterator[Case]:
    """The code's own step size: with the mean of the workers' constants."""
    for apart, P, n, k in (*_APART, (1.0, 2, 2, 1), (1.0, 2, 3, 2), (20.0, 2, 3, 1), (0.0, 3, 2, 1)):
        # of two, whose curvatures are 1 + apart and 1 - apart, it is the larger of 1 and apart
        yield _aligned(apart, P, n, k, _code_gamma(max(1.0, apart), 1 + apart**2, P, n, k))
    for apart in (1.0, 5.0):  # of three, the third is neither more nor less curved
        yield _aligned(apart, 3, 2, 1, _code_gamma((1 + 2 * max(1.0, apart)) / 3, 1 + 2 * apart**2 / 3, 3, 2, 1))


def _dasha_corpus(budget: Budget) -> Iterator[Case]:
    yield from _tracking_corpus(budget)
    yield from _dasha_largest(budget)
    yield from _code_steps(budget)
    yield from _mean_steps(budget)


def _tracking_curve(**settings: Any) -> list[Any]:
    gammas = ("0.05", "0.1", "0.2", "0.3", "0.4")
    cases = [_drawn(2, 2, 1, 3, gamma=g, exact=False, **settings) for g in gammas]
    return [over("stepsize", "P = 2, n = 2, k = 1", cases)]


def _about_marina(statement: str, **options: Any) -> Study:
    return Study(
        f"{_COLUMN}.marina.{statement}",
        "marina_step",
        _marina,
        grid=_marina_grid,
        corpus=_tracking_corpus,
        cases=_drawn_tracking,
        known=_of_tracking,
        enumerated="1 and 2 ranks of up to 4 entries, curvatures of quarters, dyadic step sizes, both coins",
        curves=_tracking_curve(probability="1/4"),
        **options,
    )


def _about_dasha(statement: str, **options: Any) -> Study:
    return Study(
        f"{_COLUMN}.dasha.{statement}",
        "dasha_step",
        _dasha,
        corpus=_dasha_corpus,
        cases=_drawn_tracking,
        known=_of_tracking,
        curves=_tracking_curve(weight="1/3"),
        **options,
    )


# --- a run of MARINA -------------------------------------------------------------------------------------------------


def _run(marina: Any, case: Case) -> Outcome:
    """All coins and all choices of some steps, from the gradient on."""
    problem, s = _problem(case), case.settings
    gamma, chance = _gamma(case), Fraction(s["probability"])
    p: Any = chance if s["exact"] else float(chance)
    x = lift(case, _point(case, 1)[0])
    states = [(p * 0 + 1, x, np.asarray(ranks_mean(problem.gradients(x)), np.float64))]
    ways = _ways(case)
    for _ in range(s["steps"]):
        reached = []
        for weight, at, estimate in states:
            before, new = _floats(problem, at), at - gamma * lift(case, estimate)
            after = _floats(problem, new)
            result, _ = marina(after, before, estimate, s["k"], True)
            reached.append((weight * p, new, own_rank(case, result)))
            for kept in ways:
                result, _ = marina(after, before, estimate, s["k"], False, kept=kept)
                reached.append((weight * (1 - p) / len(ways), new, own_rank(case, result)))
        states = reached
    off = [weight * (lift(case, estimate) - ranks_mean(problem.gradients(at))) for weight, at, estimate in states]
    total = sum(off[1:], off[0])
    return Outcome(square(total), {}, room(case, square(x)) ** 2 * 1e6, active=s["steps"] > 0)


def _runs(level: int) -> Iterator[Case]:
    for (P, n, k), probability in itertools.product(((1, 2, 1), (2, 2, 1), (1, 4, 2)), ("1/4", "1/2")):
        for steps in range(1, 3 + (level > 0)):
            yield _drawn(P, n, k, 1, gamma="1/4", probability=probability, steps=steps)


def _more_runs(_budget: Budget) -> Iterator[Case]:
    yield _drawn(3, 2, 1, 1, gamma="0.3", probability="1/3", steps=2, exact=False)
    yield _drawn(1, 3, 1, 1, gamma="0.3", probability="0.1", steps=3, exact=False)


# --- EF21-P ----------------------------------------------------------------------------------------------------------


def _primal_start(case: Case) -> tuple[Array, Array]:
    """Weights and model; in flat cases the turn is (1/q - 1) times their distance, and away from the model."""
    s, points = case.settings, _point(case, 1)
    if s.get("flat"):
        q, gamma, L = (1 - s["k"] / s["n"]) ** 0.5, float(_gamma(case)), float(_problem(case).of_average[1])
        w = np.full(s["n"], 16.0)
        return w - gamma * L * w / (1 / q - 1), w
    return points[0], points[-1]


def _of_primal(_implementation: Any, case: Case) -> dict[str, Any]:
    problem, (x, w) = _problem(case), _primal_start(case)
    at, model, L = lift(case, x), lift(case, w), problem.of_average[1]
    turn = _gamma(case) * ranks_mean(problem.gradients(model))
    squares = [value**2 for value in problem.of_workers]
    return {
        "P": case.settings["P"], "n": case.settings["n"], "k": case.settings["k"],
        "kept_share": Fraction(case.settings["k"], case.settings["n"]), "stepsize": _gamma(case), "smoothness": L,
        "smoothness_apart": root(averaged(squares)), "excess_before": problem.excess(at),
        "squared_slope": square(ranks_mean(problem.gradients(at))), "model_gap": square(model - at),
        "weights_turn": square(turn),
    }  # fmt: skip


def _after_primal(primal: Any, case: Case) -> tuple[Array, Array]:
    problem, (x, w) = _problem(case), _primal_start(case)
    gradients = _floats(problem, lift(case, w))
    state, _ = primal(gradients, x, w, case.settings["k"], float(_gamma(case)))
    return lift(case, state.weights), lift(case, own_rank(case, state.model))


def _primal(potential: bool, primal: Any, case: Case) -> Outcome:
    values, (x, w) = case.once(_of_primal, None), case.once(_after_primal, primal)
    gap, problem = square(w - x), _problem(case)
    sizes = (gap, values["model_gap"], values["weights_turn"], square(x))
    if not potential:
        return Outcome(gap, values, room(case, *sizes))
    q = root(1 - values["kept_share"])
    paid = values["stepsize"] * values["smoothness"] ** 2 / (2 * (1 - q))
    measured = problem.excess(x) + paid * gap
    if case.settings["exact"]:
        return Outcome(measured, values)
    return Outcome(float(measured), values, room(case, float(measured), values["excess_before"], paid * sizes[1]))


def _primal_grid(level: int) -> Iterator[Case]:
    for (P, n, k), gamma in itertools.product(((1, 1, 1), (2, 2, 2), (1, 4, 3), (2, 4, 3)), _GAMMAS):
        for seed in range(2 + level):
            yield _drawn(P, n, k, seed, gamma=gamma)
    for gamma in ("1/2", "1/4"):
        yield _case(np.ones((1, 4)), np.zeros((1, 4)), k=3, gamma=gamma, flat=True)


def _primal_corpus(_budget: Budget) -> Iterator[Case]:
    for (P, n, k), gamma in itertools.product(((3, 5, 1), (1, 3, 2), (2, 9, 4)), ("0.02", "0.2", "0.9")):
        yield _drawn(P, n, k, 4, gamma=gamma, exact=False)
    yield from _primal_largest(_budget)


@st.composite
def _drawn_primal(draw: st.DrawFn) -> Case:
    P, n = draw(whole(1, 3)), draw(whole(1, 6))
    gamma = draw(among(("0.01", "0.1", "0.3", "0.8")))
    return _drawn(P, n, draw(whole(1, n)), draw(whole(0, 2**31)), gamma=gamma, exact=False)


def _primal_largest(_budget: Any) -> Iterator[Case]:
    for n, k in ((4, 3), (9, 5), (4, 1)):
        q = (1 - k / n) ** 0.5
        s = (q / (1 - q)) ** 2
        gamma = (-1 + (1 + 4 * s) ** 0.5) / (2 * s)
        step = str(Fraction(gamma * (1 - 1e-15)).limit_denominator(2**45))
        yield _case(np.ones((1, n)), np.zeros((1, n)), k=k, gamma=step, flat=True, exact=False)


def _primal_words(primal: Any, case: Case) -> Outcome:
    s = case.settings
    x = np.ones((s["P"], s["n"]))
    _, traffic = primal(x, x[0], x[0] + 1.0, s["k"], 0.5)
    return Outcome(int(traffic.sent.max()), {name: s[name] for name in ("P", "n", "k")})


def _primal_sizes(_level: int) -> Iterator[Case]:
    for P, n, k in itertools.product((1, 2, 3, 4, 8), (1, 2, 8, 30), (1, 2, 5)):
        if k <= n:
            yield Case({"P": P, "n": n, "k": k})


def _about_primal(statement: str, trial: Callable[[Any, Case], Outcome], axis: str, **options: Any) -> Study:
    if axis == "stepsize":
        cases = [_drawn(2, 4, 3, 3, gamma=g, exact=False) for g in ("0.05", "0.1", "0.2", "0.4")]
    else:
        cases = [_drawn(2, 8, k, 3, gamma="0.1", exact=False) for k in range(1, 9)]
    return Study(
        f"{_COLUMN}.ef21p.{statement}",
        "primal_step",
        trial,
        grid=_primal_grid,
        corpus=_primal_corpus,
        cases=_drawn_primal,
        extremal=_primal_largest,
        known=_of_primal,
        enumerated="1 and 2 ranks of up to 4 entries, curvatures of quarters, dyadic step sizes",
        curves=[over(axis, "P = 2", cases)],
        **options,
    )


DESCENTS = (
    _about_diana("rate", False, curves=_diana_curve("any", 1)),
    _about_diana("code_step", False, curves=_diana_curve("turned", 1)),
    _about_diana("rate_sharp", True, extremal=_attaining, curves=_diana_curve("any", 2)),
    _about_marina("descent"),
    _about_marina("descent_sharp", extremal=_largest_steps),
    Study(
        f"{_COLUMN}.marina.mean_error",
        "marina_step",
        _run,
        grid=_runs,
        corpus=_more_runs,
        enumerated="runs of up to 2 steps of 1 and 2 ranks, integers, all coins, all choices of all ranks",
    ),
    _about_dasha("descent", extremal=_dasha_largest),
    _about_dasha("mean_step"),
    _about_dasha("code_step"),
    _about_dasha("code_step_alike"),
    _about_primal("gap", partial(_primal, False), "kept_share"),
    _about_primal("descent", partial(_primal, True), "stepsize"),
    Study(
        f"{_COLUMN}.ef21p.words",
        "primal_step",
        _primal_words,
        grid=_primal_sizes,
        enumerated="up to 8 ranks and 30 entries",
        curves=[over("P", "n = 100, k = 10", [Case({"P": P, "n": 100, "k": 10}) for P in (2, 3, 4, 6, 8, 12, 16)])],
    ),
)
