"""EF21M under noise: its bound, alone and with ARC-Top-K; how noise floors fall with the number of workers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.collectives.feedback.aggregators import ArcRows
from commbounds.compressors import EF21M, TopK
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import (
    EPS,
    FeedbackRun,
    Quadratics,
    Wells,
    divisible,
    dyadic,
    lifted,
    root,
    square,
)
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Stream, Study

Array = NDArray[Any]
_SGD = "FeedbackSGD"
_PLAIN_SKETCH = {"sketch": [[1.0]]}
"""Of rows of one column: the rows of largest average, surely."""


def _problem(case: Case) -> Any:
    """Quadratics, or wells that are not convex."""
    s = case.settings
    if s.get("family") == "wells":
        return Wells.drawn(s["P"], s["n"], s["seed"])
    return Quadratics.drawn(s["P"], s["n"], s["seed"], bool(s.get("exact")), s.get("apart", 1.0), s["steps"])


def _unit(case: Case) -> float:
    """What noise is a multiple of, so that averages over the workers are exact where the case is."""
    s = case.settings
    return divisible(s["P"], s["steps"]) if s.get("exact") else 1.0


def _descent(sgd: Any, arc: bool, k: int, eta: float, gamma: float, dense: bool = True) -> Any:
    if arc:
        return sgd(EF21M(eta=eta, dense=dense), gamma, ArcRows(k, 1, _PLAIN_SKETCH))
    return sgd(EF21M(TopK(k), eta=eta, dense=dense), gamma)


def _step_size(problem: Any, arc: bool, alpha: float, eta: float) -> float:
    """The largest that the bound admits."""
    smooth = float(problem.L) if arc else float(np.sqrt(float(problem.Lt_square)))
    return dyadic(min(alpha / (20 * smooth), eta / (7 * float(problem.L))) * (1 - 8 * EPS), problem.exact)


def _values(problem: Any, arc: bool, n: int, k: int, eta: float, gamma: float, T: int, s2: Any) -> dict[str, Any]:
    """The bound's symbols where the first gradients are sent whole, so that at first only their noise is off."""
    exact, P = problem.exact, len(problem.a)
    shared = {
        "gap": problem.gap(np.zeros(n)), "stepsize": Fraction(gamma) if exact else gamma, "horizon": T,
        "alpha": Fraction(k, n), "eta": Fraction(eta) if exact else eta, "variance": s2, "P": P, "momentum_lag": s2 / P,
        "smoothness": problem.L, "smoothness_apart": root(problem.Lt_square),
    }  # fmt: skip
    return {**shared, "mean_lag": 0} if arc else {**shared, "lag": 0, "own_lag": s2}


def _first_lags(run: FeedbackRun, arc: bool) -> dict[str, Any]:
    """How far estimates that began with zeros are from the first gradients, after the first step."""
    apart = run.memory(0, False) - run.momentum(0, False)
    return {"mean_lag": square(apart.mean(axis=0))} if arc else {"lag": square(apart) / len(apart)}


def _known(arc: bool) -> Callable[[Any, Case], dict[str, Any]]:
    """The symbols of the step size's hypotheses, in floats."""

    def known(_sgd: Any, case: Case) -> dict[str, Any]:
        s, problem = case.settings, _problem(case)
        alpha = s["k"] / s["n"]
        return {
            "alpha": alpha, "stepsize": _step_size(problem, arc, alpha, s["eta"]), "smoothness": float(problem.L),
            "smoothness_apart": float(np.sqrt(float(problem.Lt_square))),
        }  # fmt: skip

    return known


def _enumerated(arc: bool) -> Callable[[Any, Case], Outcome]:
    """Mean over all signs that the noise of every worker and step can have."""

    def trial(sgd: Any, case: Case) -> Outcome:
        s = case.settings
        P, n, k, T, exact = s["P"], s["n"], s["k"], s["steps"], bool(s.get("exact"))
        problem = _problem(case)
        gamma = _step_size(problem, arc, k / n, s["eta"])
        u = _unit(case) * s["sigma"] * np.arange(1.0, n + 1.0)
        values = _values(problem, arc, n, k, s["eta"], gamma, T, square(lifted(u, exact)))
        total, count, start = lifted(0.0, exact).item(), 0, np.zeros(n)
        descent = _descent(sgd, arc, k, s["eta"], gamma, s.get("dense", True))
        if s.get("at_best"):
            start = problem.best
            values["gap"] = problem.gap(start)
        # the last step's gradient moves weights that nobody looks at
        noisy = min(s.get("noisy", T), T - 1)
        for signs in itertools.product((1.0, -1.0), repeat=P * noisy if u.any() else 0):
            noise = np.zeros((T, P, n))
            if signs:
                noise[:noisy] = np.reshape(signs, (noisy, P, 1)) * u
            run, count = FeedbackRun.of(descent, problem, start, T - 1, noise), count + 1
            total = total + sum(square(problem.mean(run.x(t))) for t in range(T))
            if not s.get("dense", True):  # without noise
                values |= _first_lags(run, arc)
        measured = total / (count * T)
        return Outcome(measured, values, 0.0 if exact else 64 * (P + n) * T * EPS * (1 + float(measured)))

    return lambda sgd, case: _superposed(arc, sgd, case) if case.settings.get("linear") else trial(sgd, case)


def _superposed(arc: bool, sgd: Any, case: Case) -> Outcome:
    """Mean over the noise of a run that nothing is left out of, from the minimiser, the first gradients without noise.

    It is linear in the noise: its mean square is the sum of those of all single noises. The noise of one worker in the
    second step tells those of all others, which act as much, and as much later.
    """
    s = case.settings
    P, T, eta, sigma = s["P"], s["steps"], s["eta"], s["sigma"]
    problem = _problem(case)
    gamma = _step_size(problem, arc, 1.0, eta)
    values = {**_values(problem, arc, 1, 1, eta, gamma, T, sigma**2), "gap": 0.0, "momentum_lag": 0.0}
    values["mean_lag" if arc else "own_lag"] = 0.0
    noise = np.zeros((T, P, 1))
    noise[1, 0] = sigma
    run = FeedbackRun.of(_descent(sgd, arc, 1, eta, gamma), problem, problem.best, T - 1, noise)
    of_one = np.array([float(square(problem.mean(run.x(t)))) for t in range(T)])
    measured = P * float(of_one @ np.arange(T, 0, -1)) / T  # the noise of step s is that of the second, s - 1 later
    return Outcome(measured, values, 64 * (P + 1) * T * EPS * (1 + measured))


def _noise_grid(level: int) -> Iterator[Case]:
    for P, n, k, T in (
        (1, 2, 1, 3),
        (2, 2, 1, 3),
        (2, 3, 2, 2),
        (3, 3, 1, 2),
        (1, 4, 3, 4),
        (5, 2, 1, 2),
        (8, 2, 1, 2),
    ):
        for eta, sigma, seed in itertools.product((0.5, 1.0), (0.0, 2.0), range(1 + level)):
            yield Case({"P": P, "n": n, "k": k, "steps": T, "eta": eta, "sigma": sigma, "seed": seed, "exact": True})


def _noise_corpus(budget: Budget) -> Iterator[Case]:
    """Long enough that a step size which is too short has not arrived; numbers of workers that are no power of two."""
    for (P, n, k), (eta, T), family in itertools.product(
        ((1, 1, 1), (3, 4, 1), (8, 2, 1)), ((0.2, 30), (1.0, 200 * (1 + budget.level))), ("quadratics", "wells")
    ):
        settings = {"P": P, "n": n, "k": k, "steps": T, "eta": eta, "sigma": 0.0}
        yield Case({**settings, "seed": P + n, "family": family})
    for P, n, k, T, eta in ((3, 2, 1, 3, 0.2), (5, 2, 1, 2, 1.0), (1, 3, 1, 7, 0.5)):
        settings = {"P": P, "n": n, "k": k, "steps": T, "eta": eta, "sigma": 1.0}
        yield Case({**settings, "seed": 1, "family": "wells"})
    for P, n, k, at_best in ((3, 4, 3, True), (2, 3, 1, True), (5, 3, 1, False)):  # lags alone, or before a descent
        settings = {"P": P, "n": n, "k": k, "steps": 60, "eta": 1.0, "sigma": 0.0, "seed": 1, "dense": False}
        yield Case({**settings, "at_best": at_best})

    settings = {"P": 1, "n": 1, "k": 1, "steps": 2500, "eta": 1e-3, "noisy": 1}
    for sigma in (1.0, 1e3):  # noise in the first gradient alone, long remembered
        yield Case({**settings, "sigma": sigma, "seed": 1, "at_best": True})
    settings = {"P": 4, "n": 16, "k": 1, "steps": 300, "eta": 1.0, "sigma": 0.0, "seed": 1, "dense": False}
    yield Case({**settings, "apart": 1e4, "at_best": True})
    for P, eta, T in ((1, 1 / 256, 3000), (64, 1 / 16, 200)):
        settings = {"P": P, "n": 1, "k": 1, "steps": T, "eta": eta, "sigma": 1e3, "seed": 1, "linear": True}
        yield Case(settings)


def _run_streams(arc: bool) -> Callable[[Any], list[Stream]]:
    """Whole runs with noise of random signs: mean squared gradient over the bound, less one."""

    def streams(sgd: Any) -> list[Stream]:
        found = []
        for P, eta in ((2, 0.3), (4, 1.0)):
            n, k, T = 4, 1, 60
            problem = Quadratics.drawn(P, n, 5, False)
            gamma = _step_size(problem, arc, k / n, eta)
            sigma = 2.0
            values = _values(problem, arc, n, k, eta, gamma, T, n * sigma**2)
            bound = claims()["feedback.arc.bound" if arc else "feedback.ef21m.bound"].bound(**values)
            found.append(_run_stream(sgd, arc, problem, eta, gamma, T, sigma, float(bound)))
        return found

    return streams


def _run_stream(
    sgd: Any, arc: bool, problem: Quadratics, eta: float, gamma: float, T: int, sigma: float, bound: float
) -> Stream:
    P, n = problem.a.shape

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        out = np.empty(count)
        for i in range(count):
            noise = sigma * rng.choice((-1.0, 1.0), (T, P, n))
            run = FeedbackRun.of(_descent(sgd, arc, 1, eta, gamma), problem, np.zeros(n), T - 1, noise)
            out[i] = np.mean([square(problem.mean(run.x(t))) for t in range(T)]) / bound - 1.0
        return out

    return Stream(f"P = {P}, eta = {eta}, {T} steps", draw, -1.0, math.inf, two_sided=False, cost=1500)


def _bound_curves(arc: bool) -> Any:
    name = "feedback.arc.bound" if arc else "feedback.ef21m.bound"

    def curves(sgd: Any, seed: int) -> list[Series]:
        x, bound, measured = ([1.0, 2.0, 4.0, 8.0] if arc else [5.0, 15.0, 50.0, 150.0]), [], []
        for value in x:
            P, T = (int(value), 60) if arc else (4, int(value))
            rng = np.random.default_rng([seed, P, T])
            problem = Quadratics.drawn(P, 4, 5, False)
            gamma = _step_size(problem, arc, 0.5, 0.3)
            noise = 2.0 * rng.choice((-1.0, 1.0), (T, P, 4))
            run = FeedbackRun.of(_descent(sgd, arc, 2, 0.3, gamma), problem, np.zeros(4), T - 1, noise)
            measured.append(float(np.mean([square(problem.mean(run.x(t))) for t in range(T)])))
            bound.append(float(claims()[name].bound(**_values(problem, arc, 4, 2, 0.3, gamma, T, 16.0))))
        label = "n = 4, two kept, eta = 0.3, one run each"
        return [Series(label, "P" if arc else "horizon", x, bound, measured)]

    return curves


# --- steps -----------------------------------------------------------------------------------------------------------


def _step_of(sgd: Any, case: Case) -> Outcome:
    """How far any step of a run is from the step size times the average of what the workers remember."""
    s, exact = case.settings, bool(case.settings.get("exact"))
    P, n, T, arc = s["P"], s["n"], s["steps"], s["arc"]
    problem, gamma, dense = _problem(case), s["gamma"], s["dense"]
    descent = sgd(
        EF21M(None if arc else TopK(s["k"]), eta=s["eta"], dense=dense),
        gamma,
        ArcRows(s["k"], 1, _PLAIN_SKETCH) if arc else None,
    )
    noise = np.random.default_rng(s["seed"]).integers(-2, 3, (T, P, n)) * _unit(case)
    run = FeedbackRun.of(descent, problem, np.zeros(n), T, noise)
    size = Fraction(gamma) if exact else gamma
    farthest, largest = lifted(0.0, exact).item(), 1.0
    for t in range(T):
        estimates = run.memory(t, exact)
        moved = lifted(run.x(t + 1), exact) - lifted(run.x(t), exact) + size * estimates.sum(axis=0) / P
        farthest = max(farthest, *(abs(v) for v in moved.tolist()))
        largest = max(largest, float(np.abs(problem.gradients(run.x(t)) + noise[t]).max()))
    # the server's sum of T averages over P workers, and theirs of T corrections
    return Outcome(farthest, {}, 0.0 if exact else 16 * (P + T) * T * EPS * largest)


def _step_grid(level: int) -> Iterator[Case]:
    for P, (n, k), arc, dense in itertools.product(
        (1, 2, 3, 5, 8), ((2, 1), (3, 2), (4, 1)), (False, True), (True, False)
    ):
        for eta, seed in itertools.product((0.5, 1.0), range(1 + level)):
            settings = {"P": P, "n": n, "k": k, "eta": eta, "gamma": 0.125, "steps": 4, "seed": seed, "exact": True}
            yield Case({**settings, "arc": arc, "dense": dense})


def _step_corpus(_budget: Budget) -> Iterator[Case]:
    for P, n, k, arc in ((3, 5, 2, False), (5, 4, 1, True), (8, 3, 1, False), (1, 1, 1, True)):
        settings = {"P": P, "n": n, "k": k, "eta": 0.3, "gamma": 0.05, "steps": 70, "seed": 4, "family": "wells"}
        yield Case({**settings, "arc": arc, "dense": False})


# --- one worker in place of many -------------------------------------------------------------------------------------


class _Alone:
    """EF21M of a single worker that sends its K rows of largest score; by the recursion, not by the implementation."""

    def __init__(self, x: Array, K: int, rank: int, eta: float, gamma: float) -> None:
        self.x, self._K, self._rank, self._eta, self._gamma = x.copy(), K, rank, eta, gamma
        self._g: Array | None = None
        self._h = x

    def step(self, gradient: Array, rng: np.random.Generator) -> None:
        """One step; the first gradient is sent whole."""
        if self._g is None:
            self._g, self._h = gradient.copy(), gradient.copy()
        else:
            sketch = rng.standard_normal((gradient.shape[1], self._rank))
            self._h = (1 - self._eta) * self._h + self._eta * gradient
            offered = self._h - self._g
            scores = np.square(offered @ sketch).sum(axis=1)
            rows = np.argsort(-scores, kind="stable")[: self._K]
            self._g = self._g.copy()
            self._g[rows] += offered[rows]
        self.x = self.x - self._gamma * self._g


def _single_node(sgd: Any, case: Case) -> Outcome:
    """P workers, and one that is given their average: the same sketches, drawn anew in every step, the same noise."""
    s, exact = case.settings, bool(case.settings.get("exact"))
    P, shape, T = s["P"], (s["m"], s["n"]), s["steps"]
    rng = np.random.default_rng(s["seed"])

    def draw(*size: int) -> Array:
        # thousands of values, so that no two rows score alike
        return rng.integers(-2048, 2049, size) * _unit(case) if exact else rng.standard_normal(size)

    a = rng.integers(1, 4, (P, *shape)).astype(float)
    c, noise, gamma, eta = draw(P, *shape), draw(T, P, *shape), 0.125, 0.5
    descent = sgd(EF21M(eta=eta), gamma, ArcRows(s["K"], s["rank"]))
    state, one = descent.start(np.zeros(shape), P), _Alone(np.zeros(shape), s["K"], s["rank"], eta, gamma)
    theirs, own_draws = np.random.default_rng(s["seed"]), np.random.default_rng(s["seed"])
    farthest, largest = 0.0, 1.0
    for t in range(T):
        own = a * (state.weights - c) + noise[t]
        one.step((a * (one.x - c) + noise[t]).mean(axis=0), own_draws)
        state, _ = descent.step(own, state, theirs)
        farthest = max(farthest, float(np.abs(state.weights - one.x).max()))
        largest = max(largest, float(np.abs(own).max()))
    if exact:
        return Outcome(Fraction(farthest), {})
    # sums over P in every step, each off by P eps of its largest term; differences grow by at most 1 + gamma max a
    return Outcome(farthest, {}, 16 * P * T * EPS * largest * float(1 + gamma * a.max()) ** T)


def _single_grid(level: int) -> Iterator[Case]:
    for P, (m, n), K, T in itertools.product((1, 2, 3, 5, 8), ((3, 1), (4, 2), (2, 3)), (1, 2), (1, 2, 4)):
        for seed in range(1 + 4 * level):
            settings = {"P": P, "m": m, "n": n, "K": K, "rank": 1 + (seed + T + K) % 3, "steps": T, "seed": seed}
            yield Case({**settings, "exact": True})


def _single_corpus(_budget: Budget) -> Iterator[Case]:
    for P, m, n, rank in ((3, 5, 2, 1), (5, 4, 3, 4), (7, 8, 3, 2)):
        yield Case({"P": P, "m": m, "n": n, "K": 2, "rank": rank, "steps": 12, "seed": 3})


# --- floors ----------------------------------------------------------------------------------------------------------

BIASED = np.array([[2.0, 3.0], [3.0, 3.0], [-5.0, -6.0]])
"""Three values of noise: they add up to zero, their largest entries (0, 3), (3, 0), (0, -6) do not."""


class _Descent:
    """Squared gradients of ||x||^2/2 in the plane, begun at the minimum, under the biased noise."""

    def __init__(self, sgd: Any, arc: bool, P: int, eta: float, gamma: float, seed: int) -> None:
        self._rng, self._P = np.random.default_rng([seed, P]), P
        self._descent = _descent(sgd, arc, 1, eta, gamma)
        self._state = self._descent.start(np.zeros(2), P)
        self._squares: list[float] = []

    def squares(self, count: int) -> list[float]:
        """Before each of the first steps."""
        while len(self._squares) < count:
            weights = self._state.weights
            self._squares.append(float(weights @ weights))
            noise = BIASED[self._rng.integers(3, size=self._P)]
            self._state, _ = self._descent.step(weights + noise, self._state)
        return self._squares[:count]


_descents = lru_cache(maxsize=16)(_Descent)
"""A run that is asked for again goes on where it is: cases with one worker are the beginnings of one another."""


def floor(sgd: Any, arc: bool, P: int, eta: float, gamma: float, steps: int, seed: int) -> float:
    """Mean squared gradient of ||x||^2/2 in the plane, begun at the minimum, under the biased noise."""
    burn = int(2 / gamma)
    return sum(_descents(sgd, arc, P, eta, gamma, seed).squares(burn + steps)[burn:]) / steps


def _order(sgd: Any, case: Case) -> Outcome:
    s = case.settings
    # the single worker's floor is as noisy as any: as many of its gradients are looked at as of all workers
    one, many = (floor(sgd, False, P, s["eta"], s["gamma"], s["steps"] * (s["P"] // P), s["seed"]) for P in (1, s["P"]))
    return Outcome(abs(1 + math.log(many / one) / math.log(s["P"])), {})


def _floors(sgd: Any, case: Case) -> Outcome:
    """Floors on sum_ij a_ij x_ij^2 / 2 under normal noise: P workers, and the recursion of one with as much noise."""
    s = case.settings
    P, shape, burn, T = s["P"], (s["m"], s["n"]), s["steps"] // 2, s["steps"]
    rng = np.random.default_rng([s["seed"], P])
    a, gamma = 0.5 + rng.random(shape), s["gamma"]
    descent = sgd(EF21M(eta=s["eta"]), gamma, ArcRows(s["K"], s["rank"]))
    state, one = descent.start(np.zeros(shape), P), _Alone(np.zeros(shape), s["K"], s["rank"], s["eta"], gamma)
    theirs, own_draws, squares = (*(np.random.default_rng(s["seed"]) for _ in range(2)), np.zeros((T, 2)))
    for t in range(T):
        squares[t] = square(a * state.weights), square(a * one.x)
        noise = rng.standard_normal((P, *shape))
        one.step(a * one.x + math.sqrt(P) * noise.mean(axis=0), own_draws)
        state, _ = descent.step(a * state.weights + noise, state, theirs)
    many, single = squares[burn:].mean(axis=0)
    # differences of the two are rounding of T steps' entries, which the runs contract; relative to the ratio 1/P
    return Outcome(float(many / single), {"P": P}, 64 * T * shape[0] * shape[1] * EPS)


def _arc_floors(budget: Budget) -> Iterator[Case]:
    """Sketches of one column and of more, of rows of two entries and of more, drawn anew in every step."""
    for P, (m, n, K, rank), eta in itertools.product(
        (1, 2, 3, 5, 8, 16), ((2, 2, 1, 1), (3, 2, 1, 2), (4, 3, 2, 1), (5, 4, 2, 3)), (0.3, 1.0)
    ):
        for seed in range(1 + budget.level):
            settings = {"P": P, "m": m, "n": n, "K": K, "rank": rank, "eta": eta, "gamma": 0.05}
            yield Case({**settings, "steps": 60 * (1 + budget.level), "seed": seed})


def _topk_floors(budget: Budget) -> Iterator[Case]:
    for seed in range(1 + 2 * budget.level):
        yield Case({"P": 16, "eta": 1.0, "gamma": 0.01, "steps": 600 * (1 + budget.level), "seed": seed})


@st.composite
def _drawn_single(draw: st.DrawFn) -> Case:
    m, n = draw(inputs.integers(1, 4)), draw(inputs.integers(1, 3))
    settings = {"P": draw(inputs.sampled_from((1, 2, 3, 5, 8))), "m": m, "n": n, "K": draw(inputs.integers(1, m))}
    settings |= {"rank": draw(inputs.integers(1, 3))}
    return Case(
        {**settings, "steps": draw(inputs.integers(1, 3)), "seed": draw(inputs.integers(0, 2**31)), "exact": True}
    )


def _order_curves(sgd: Any, seed: int) -> list[Series]:
    workers, eta, gamma, steps = [4.0, 8.0, 16.0], 1.0, 0.01, 600
    trials = [
        _order(sgd, Case({"P": int(P), "eta": eta, "gamma": gamma, "steps": steps, "seed": seed % 2**31}))
        for P in workers
    ]
    label = f"two dimensions, one entry kept, gamma = {gamma}"
    return [Series(label, "P", workers, [0.5] * 3, [float(o.measured) for o in trials])]


def _floor_curves(sgd: Any, seed: int) -> list[Series]:
    workers, settings = [1, 2, 4, 8, 16], {"m": 4, "n": 3, "K": 1, "rank": 1, "eta": 0.3, "gamma": 0.05, "steps": 100}
    outcomes = [_floors(sgd, Case({**settings, "P": P, "seed": seed % 2**31})) for P in workers]
    measured = [float(o.measured) for o in outcomes]
    label = "four rows of three weights, one kept, sketches of rank 1"
    return [Series(label, "P", [float(P) for P in workers], [1 / P for P in workers], measured)]


_SIGNS = "all signs of the noise of every worker and step, integer quadratics, dyadic step sizes; rational numbers"

NOISY = (
    Study(
        "feedback.ef21m.step",
        _SGD,
        _step_of,
        grid=_step_grid,
        corpus=_step_corpus,
        enumerated="1 to 8 workers, Top-K and rows, integer quadratics and noise; rational numbers",
    ),
    *(
        Study(
            name,
            _SGD,
            _enumerated(arc),
            known=_known(arc),
            grid=_noise_grid,
            corpus=_noise_corpus,
            streams=_run_streams(arc),
            curves=_bound_curves(arc),
            enumerated=_SIGNS,
        )
        for name, arc in (("feedback.ef21m.bound", False), ("feedback.arc.bound", True))
    ),
    Study(
        "feedback.arc.single_node",
        _SGD,
        _single_node,
        grid=_single_grid,
        corpus=_single_corpus,
        cases=_drawn_single,
        enumerated="1 to 8 workers, matrices of integers, sketches of rank 1 to 3 as drawn; all sums exact",
    ),
    Study("feedback.arc.speedup", _SGD, _floors, corpus=_arc_floors, curves=_floor_curves),
    Study("feedback.topk.speedup", _SGD, _order, corpus=_topk_floors, curves=_order_curves),
)
