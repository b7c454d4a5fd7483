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
from commbounds.verify.experiments.feedback.runs import EPS, FeedbackRun, Quadratics, dyadic, lifted, square
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Stream, Study

Array = NDArray[Any]
_SGD = "FeedbackSGD"
_PLAIN_SKETCH = {"sketch": [[1.0]]}
"""Of rows of one column: the rows of largest average, surely."""


def _descent(sgd: Any, arc: bool, k: int, eta: float, gamma: float) -> Any:
    if arc:
        return sgd(EF21M(eta=eta), gamma, ArcRows(k, 1, _PLAIN_SKETCH))
    return sgd(EF21M(TopK(k), eta=eta), gamma)


def _step_size(problem: Quadratics, arc: bool, alpha: float, eta: float) -> float:
    """The largest that the bound admits."""
    smooth = float(problem.L) if arc else float(np.sqrt(float(problem.Lt_square)))
    return dyadic(min(alpha / (20 * smooth), eta / (7 * float(problem.L))), problem.exact)


def _values(
    problem: Quadratics, arc: bool, n: int, k: int, eta: float, gamma: float, T: int, s2: Any
) -> dict[str, Any]:
    """The bound's symbols; the first gradients are sent whole, so that at first only their noise is off."""
    exact, P = problem.exact, len(problem.a)
    shared = {
        "gap": problem.gap(np.zeros(n)), "stepsize": Fraction(gamma) if exact else gamma, "horizon": T,
        "alpha": Fraction(k, n), "eta": Fraction(eta) if exact else eta, "variance": s2, "P": P, "momentum_lag": s2 / P,
    }  # fmt: skip
    return {**shared, "mean_lag": 0} if arc else {**shared, "lag": 0, "own_lag": s2}


def _enumerated(arc: bool) -> Callable[[Any, Case], Outcome]:
    """Mean over all signs that the noise of every worker and step can have."""

    def trial(sgd: Any, case: Case) -> Outcome:
        s = case.settings
        P, n, k, T, exact = s["P"], s["n"], s["k"], s["steps"], bool(s.get("exact"))
        problem = Quadratics.drawn(P, n, s["seed"], exact)
        gamma = _step_size(problem, arc, k / n, s["eta"])
        u = s["sigma"] * np.arange(1.0, n + 1.0)
        total = lifted(0.0, exact).item()
        for signs in itertools.product((1.0, -1.0), repeat=P * (T - 1)):
            # the last step's gradient moves weights that nobody looks at
            noise = np.array([*signs, *([1.0] * P)]).reshape(T, P, 1) * u
            run = FeedbackRun.of(_descent(sgd, arc, k, s["eta"], gamma), problem, np.zeros(n), T - 1, noise)
            total = total + sum(square(problem.mean(run.x(t))) for t in range(T))
        measured = total / (2 ** (P * (T - 1)) * T)
        values = _values(problem, arc, n, k, s["eta"], gamma, T, square(lifted(u, exact)))
        return Outcome(measured, values, 0.0 if exact else 64 * (P + n) * T * EPS * (1 + float(measured)))

    return trial


def _noise_grid(level: int) -> Iterator[Case]:
    for P, n, k, T in ((1, 2, 1, 3), (2, 2, 1, 3), (2, 3, 2, 2), (3, 4, 1, 2), (1, 4, 3, 4))[: 5 + level]:
        for eta, sigma, seed in itertools.product((0.5, 1.0), (0.0, 2.0), range(1 + level)):
            yield Case({"P": P, "n": n, "k": k, "steps": T, "eta": eta, "sigma": sigma, "seed": seed, "exact": True})


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


# --- one worker in place of many -------------------------------------------------------------------------------------


def _single_node(sgd: Any, case: Case) -> Outcome:
    """P workers, and one that is given their average: the same sketches, the same noise."""
    s, exact = case.settings, bool(case.settings.get("exact"))
    P, shape, T = s["P"], (s["m"], s["n"]), s["steps"]
    rng = np.random.default_rng(s["seed"])

    def draw(*size: int) -> Array:
        return rng.integers(-3, 4, size).astype(float) if exact else rng.standard_normal(size)

    a, c, noise = np.abs(draw(P, *shape)) + 1, draw(P, *shape), draw(T, P, *shape)
    sketches, gamma = draw(T, s["n"], 1), 0.125
    states = [sgd(EF21M(eta=0.5), gamma, ArcRows(s["K"])).start(np.zeros(shape), count) for count in (P, 1)]
    farthest, largest = 0.0, 1.0
    for t in range(T):
        own = a * (states[0].weights - c) + noise[t]
        one = (a * (states[1].weights - c) + noise[t]).mean(axis=0, keepdims=True)
        descent = sgd(EF21M(eta=0.5), gamma, ArcRows(s["K"], 1, {"sketch": sketches[t]}))
        states = [descent.step(g, state)[0] for g, state in zip((own, one), states, strict=True)]
        farthest = max(farthest, float(np.abs(states[0].weights - states[1].weights).max()))
        largest = max(largest, float(np.abs(own).max()))
    if exact:
        return Outcome(Fraction(farthest), {})
    # sums over P in every step, each off by P eps of its largest term; differences grow by at most 1 + gamma max a
    return Outcome(farthest, {}, 16 * P * T * EPS * largest * float(1 + gamma * a.max()) ** T)


def _single_grid(level: int) -> Iterator[Case]:
    for P, (m, n), K, T in itertools.product((1, 2, 4), ((3, 1), (4, 2), (2, 3)), (1, 2), (1, 2, 3)):
        for seed in range(2 + 4 * level):
            yield Case({"P": P, "m": m, "n": n, "K": K, "steps": T, "seed": seed, "exact": True})


def _single_corpus(_budget: Budget) -> Iterator[Case]:
    for P, m, n in ((3, 5, 2), (7, 8, 3)):
        yield Case({"P": P, "m": m, "n": n, "K": 2, "steps": 6, "seed": 3})


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


def _order(arc: bool) -> Callable[[Any, Case], Outcome]:
    def trial(sgd: Any, case: Case) -> Outcome:
        s = case.settings
        # the single worker's floor is as noisy as any: as many of its gradients are looked at as of all workers
        one, many = (
            floor(sgd, arc, P, s["eta"], s["gamma"], s["steps"] * (s["P"] // P), s["seed"]) for P in (1, s["P"])
        )
        return Outcome(abs(1 + math.log(many / one) / math.log(s["P"])), {})

    return trial


def _arc_floors(budget: Budget) -> Iterator[Case]:
    # a run holds about gamma steps/2 independent squares: 40 of them give log(F_P/F_1)/log P to 0.25/log P
    for seed in range(1 + 2 * budget.level):
        for P, eta in ((8, 1.0), (16, 0.5)):
            yield Case({"P": P, "eta": eta, "gamma": 0.25, "steps": 320 * (1 + budget.level), "seed": seed})


def _topk_floors(budget: Budget) -> Iterator[Case]:
    for seed in range(1 + 2 * budget.level):
        yield Case({"P": 16, "eta": 1.0, "gamma": 0.01, "steps": 600 * (1 + budget.level), "seed": seed})


@st.composite
def _drawn_single(draw: st.DrawFn) -> Case:
    m, n = draw(inputs.whole(1, 4)), draw(inputs.whole(1, 3))
    settings = {"P": draw(inputs.among((1, 2, 4, 8))), "m": m, "n": n, "K": draw(inputs.whole(1, m))}
    return Case({**settings, "steps": draw(inputs.whole(1, 3)), "seed": draw(inputs.whole(0, 2**31)), "exact": True})


def _order_curves(arc: bool) -> Any:
    def curves(sgd: Any, seed: int) -> list[Series]:
        workers, eta, gamma, steps = [4.0, 8.0, 16.0], 1.0, *((0.25, 320) if arc else (0.01, 600))
        trials = [
            _order(arc)(sgd, Case({"P": int(P), "eta": eta, "gamma": gamma, "steps": steps, "seed": seed % 2**31}))
            for P in workers
        ]
        label = f"two dimensions, one entry kept, gamma = {gamma}"
        return [Series(label, "P", workers, [0.5] * 3, [float(o.measured) for o in trials])]

    return curves


_SIGNS = "all signs of the noise of every worker and step, integer quadratics, dyadic step sizes; rational numbers"

NOISY = (
    *(
        Study(
            name,
            _SGD,
            _enumerated(arc),
            grid=_noise_grid,
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
        enumerated="P = 1, 2, 4 workers, matrices and sketches of integers; all sums exact",
    ),
    Study("feedback.arc.speedup", _SGD, _order(True), corpus=_arc_floors, curves=_order_curves(True)),
    Study("feedback.topk.speedup", _SGD, _order(False), corpus=_topk_floors, curves=_order_curves(False)),
)
