"""The worst case of few steps: what workers come to on the functions that are worst for a printed rate."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.collectives.feedback.sgd import FeedbackSGDState
from commbounds.compressors import EF14, EF21, EF21M, Compressor, Feedback, FeedbackState, TopK
from commbounds.theory import claims
from commbounds.theory.feedback.worst import (
    WORST_EF14,
    WORST_EF14_WORKERS,
    WORST_EF21,
    WORST_EF21_WORKERS,
    WORST_EF21M,
    LargestShare,
)
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import EPS, Shrunk, square
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

Array = NDArray[Any]
_KEPT = {0.25: (16, 15), 0.5: (4, 3), 0.75: (16, 7), 0.9: (100, 19)}
"""n and k of Top-K with this q."""
ROWS = {"EF14": WORST_EF14, "EF21": WORST_EF21, "EF21M": WORST_EF21M}
ROWS_OF_WORKERS = {"EF14": WORST_EF14_WORKERS, "EF21": WORST_EF21_WORKERS}


def step_size(s: dict[str, Any]) -> float:
    """The part of the largest, or the largest."""
    q, weight = s["q"], s["weight"]
    of_ef21m = min((1 - q * q) / 20, weight / 7)
    return float({"EF14": weight / 2, "EF21": weight * (1 - q), "EF21M": of_ef21m}[s["mechanism"]] / s["L"])


def _mechanism(s: dict[str, Any], compressor: Compressor) -> Feedback:
    if s["mechanism"] == "EF21M":
        return EF21M(compressor, eta=s["weight"])
    return EF14(compressor) if s["mechanism"] == "EF14" else EF21(compressor)


def _signs(s: dict[str, Any]) -> list[float]:
    """What of q is left of a vector in every step, where the compressor only multiplies."""
    return [{"+": 1.0, "-": -1.0, "0": 0.0}[sign] for sign in s["signs"]]


class Huber:
    """f(x) = sum_j a_j h(x_j), largest a_j L; h is z^2/2 up to |z| = 1 and goes on straight."""

    def __init__(self, a: Array) -> None:
        self.a = a

    def slope(self, x: Array) -> Array:
        """The gradient."""
        return np.asarray(self.a * np.clip(x, -1.0, 1.0))

    def gap(self, x: Array) -> float:
        """Excess over the minimum."""
        size = np.abs(x)
        return float((self.a * np.where(size <= 1, size * size / 2, size - 0.5)).sum())


class Bowl(Huber):
    """f(x) = sum_j a_j x_j^2 / 2, largest a_j L."""

    def slope(self, x: Array) -> Array:
        """The gradient."""
        return np.asarray(self.a * x)

    def gap(self, x: Array) -> float:
        """Excess over the minimum."""
        return float((self.a * x * x).sum() / 2)


def problem_of(case: Case) -> Huber:
    """The function of a case, whose array has the rows a, x, memory and momentum."""
    return (Huber if case.settings.get("family") == "huber" else Bowl)(case.array[0])


def first_state(case: Case) -> FeedbackSGDState:
    """As after some step, with the case's weights, memory and momentum."""
    _, x, memory, momentum = case.array
    return FeedbackSGDState(x.copy(), 1, memory.copy(), (FeedbackState(memory.copy(), momentum.copy()),), t=1)


def descent_of(sgd: Any, case: Case, t: int) -> Any:
    """What makes step t: with Top-K, or with the sign of the step."""
    s = case.settings
    compressor = TopK(_KEPT[s["q"]][1]) if "signs" not in s else Shrunk(s["q"] * _signs(s)[t])
    return sgd(_mechanism(s, compressor), step_size(s))


def _rated(sgd: Any, case: Case) -> Outcome:
    """Steps of one worker."""
    s, (a, x, memory, momentum) = case.settings, case.array
    problem, gamma, state = problem_of(case), step_size(s), first_state(case)
    squares, lags = [], (0.0, 0.0)
    for t in range(s["steps"]):
        gradient = problem.slope(state.weights)
        squares.append(square(gradient))
        state = descent_of(sgd, case, t).step(gradient[None], state)[0]
        if t == 0:
            worker = state.workers[0]
            seen = worker.momentum if s["mechanism"] == "EF21M" else gradient
            lags = (square(worker.memory - seen), square(seen - gradient))
    values = {
        **_common(s), "gap": problem.gap(x), "lag": lags[0], "own_lag": lags[1], "momentum_lag": lags[1],
        "reach": gamma * float(np.sqrt(max(squares))), "attained_share": _share(s),
    }  # fmt: skip
    measured = sum(squares) / s["steps"]
    scale = max(squares) + values["gap"] + lags[0] + lags[1] + square(memory) + square(momentum)
    return Outcome(measured, values, 64 * (a.size + 1) * s["steps"] * EPS * float(scale))


def _share(s: dict[str, Any]) -> float:
    """The row's."""
    (row,) = (
        row
        for row in ROWS[s["mechanism"]]
        if (float(row.q), float(row.weight), row.horizon) == (s["q"], s["weight"], s["steps"])
    )
    return float(row.share)


def _known(_sgd: Any, case: Case) -> dict[str, Any]:
    s = case.settings
    return {**s, **_common(s), "stepsize": step_size(s) * (1 - 8 * EPS)}


# --- worst functions --------------------------------------------------------------------------------------------------


def _settings(mechanism: str, row: LargestShare, **more: Any) -> dict[str, Any]:
    row_of_table = {"q": float(row.q), "weight": float(row.weight), "steps": row.horizon}
    return {"mechanism": mechanism, **row_of_table, "L": 1.0, **more}


@cache
def worst_function(mechanism: str, row: LargestShare) -> Case:
    """The function of one dimension, and the signs of compression, that come to most of the rate.

    Of EF14, which begins with nothing left over, Huber's function from some start; of the others x^2/2, with the first
    estimate and momentum that are worst.
    """
    signs = itertools.product("+-", repeat=row.horizon - 1)
    found = [(_straight if mechanism == "EF14" else _bent)(mechanism, row, "".join(some)) for some in signs]
    return max(found, key=lambda pair: pair[0])[1]


def _straight(mechanism: str, row: LargestShare, signs: str) -> tuple[float, Case]:
    """The share of the rate that is come to, and the case: the worst of many starts."""
    s = _settings(mechanism, row, signs=f"{signs}+", family="huber")
    gamma, best, chosen = step_size(s), 0.0, 1.0
    for start in np.linspace(1.0, 1.5, 101).tolist():
        x, left, squares = start, 0.0, []
        for sign in _signs(s):
            slope = min(max(x, -1.0), 1.0)
            squares.append(slope * slope)
            offered = left + gamma * slope
            left = s["q"] * sign * offered
            x -= offered - left
        rate = _rate(s, {"gap": start - 0.5, "reach": gamma * max(squares) ** 0.5})
        share = sum(squares) / len(squares) / rate
        if share > best:
            best, chosen = share, start
    return best, Case(s, np.array([[1.0], [chosen], [0.0], [0.0]]))


def _bent(mechanism: str, row: LargestShare, signs: str) -> tuple[float, Case]:
    """The same: a run is linear in x and in what estimate and momentum are first ahead by, and the rate a square."""
    s = _settings(mechanism, row, signs=f"+{signs}")
    q, eta = s["q"], s["weight"] if mechanism == "EF21M" else 1.0
    axes = np.eye(2 + (eta < 1))
    point, momentum = axes[0], axes[0] + (axes[2] if eta < 1 else 0.0)
    estimate, squares = momentum + axes[1], np.zeros((len(axes), len(axes)))
    for t in range(row.horizon):
        if t:
            momentum = (1 - eta) * momentum + eta * point
            estimate = momentum + q * _signs(s)[t] * (estimate - momentum)
        squares += np.outer(point, point) / row.horizon
        point = point - step_size(s) * estimate
    none = {"gap": 0.0, "lag": 0.0, "own_lag": 0.0, "momentum_lag": 0.0}
    parts = ({"gap": 0.5}, {"lag": 1.0}, {"own_lag": 1.0, "momentum_lag": 1.0})[: len(axes)]
    weight = np.sqrt([_rate(s, {**none, **part}) for part in parts])
    shares, worst = np.linalg.eigh(squares / np.outer(weight, weight))
    x, ahead, behind = np.append(worst[:, -1] / weight, [0.0])[:3]
    # before the first step, which leaves q of the estimate's lag, and 1 - eta of the momentum's
    held = x + (behind / (1 - eta) if eta < 1 else 0.0)
    return float(shares[-1]), Case(s, np.array([[1.0], [x], [x + behind + ahead / q], [held]]))


def _rate(s: dict[str, Any], parts: dict[str, Any]) -> float:
    """The printed rate, for one worker without noise."""
    name = {"EF14": "ef14.rate", "EF21": "ef21.rate", "EF21M": "ef21m.bound"}[s["mechanism"]]
    return float(claims()[f"feedback.{name}"].bound(**_common(s), **parts))


def _common(s: dict[str, Any]) -> dict[str, Any]:
    return {
        "alpha": 1 - Fraction(s["q"]) ** 2, "smoothness": s["L"], "smoothness_apart": s["L"], "stepsize": step_size(s),
        "P": 1, "horizon": s["steps"], "variance": 0.0, "eta": s["weight"],
    }  # fmt: skip


def share_of_rate(sgd: Any, case: Case) -> float:
    """The share of the printed rate that a case comes to."""
    outcome = _rated(sgd, case)
    parts = {name: outcome.values[name] for name in ("gap", "lag", "own_lag", "momentum_lag", "reach")}
    return float(outcome.measured) / _rate(case.settings, parts)


# --- cases ------------------------------------------------------------------------------------------------------------


def _worst(mechanism: str) -> Callable[[Budget], Iterator[Case]]:
    def cases(_budget: Budget) -> Iterator[Case]:
        for row, (L, size) in itertools.product(ROWS[mechanism], ((1.0, 1.0), (4.0, 30.0), (0.5, 0.1))):
            yield _scaled(worst_function(mechanism, row), L, size)

    return cases


def _scaled(case: Case, L: float, size: float) -> Case:
    """The same function and run in other units."""
    a, x, memory, momentum = case.array
    if case.settings.get("family") == "huber":
        size = 1.0  # which goes on straight from 1
    return Case(
        {**case.settings, "L": L * case.settings["L"]},
        np.array([L * a, size * x, size * L * memory, size * L * momentum]),
    )


def _made(rng: np.random.Generator, mechanism: str, row: LargestShare, family: str, ahead: float, top: bool) -> Case:
    """Of a row: Top-K, or returns of random signs; estimate and momentum ahead of the gradient by some."""
    s = _settings(mechanism, row, family=family)
    n = _KEPT[s["q"]][0] if top else 2
    if not top:
        s["signs"] = "".join(rng.choice(["+", "-", "0"], row.horizon))
    a = rng.random(n)
    a[0] = 1.0
    x, away = 2 * rng.standard_normal(n), ahead * rng.standard_normal((2, n))
    memory = np.zeros(n) if mechanism == "EF14" else a * x + away[0]
    return _scaled(Case(s, np.array([a, x, memory, a * x + away[1]])), 2.0 ** int(rng.integers(-2, 3)), 1.0)


def cases_of_row(mechanism: str, row: LargestShare) -> list[Case]:
    """The worst function, and others with Top-K and without, in units in which L = 1."""
    rng = np.random.default_rng(39)
    others = itertools.product(("bowl", "huber"), (False, True))
    made = [_made(rng, mechanism, row, family, 0.3, top) for family, top in others]
    return [worst_function(mechanism, row), *(_scaled(case, 1.0 / case.settings["L"], 1.0) for case in made)]


def _corpus(mechanism: str) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        rng = np.random.default_rng(38)
        for row, family, top in itertools.product(ROWS[mechanism], ("bowl", "huber"), (False, True)):
            yield _made(rng, mechanism, row, family, 0.3, top)
        yield from _worst(mechanism)(budget)

    return cases


def _drawn(mechanism: str) -> Callable[[], st.SearchStrategy[Case]]:
    @st.composite
    def cases(draw: st.DrawFn) -> Case:
        row, family = draw(inputs.sampled_from(ROWS[mechanism])), draw(inputs.sampled_from(("bowl", "huber")))
        ahead, top = draw(inputs.sampled_from((0.0, 0.3, 3.0))), draw(inputs.sampled_from((False, True)))
        return _made(np.random.default_rng(draw(inputs.integers(0, 2**31))), mechanism, row, family, ahead, top)

    return cases


def _curve(mechanism: str, name: str) -> Callable[[Any, int], list[Series]]:
    def curves(sgd: Any, _seed: int) -> list[Series]:
        """The worst functions, over the steps."""
        found = []
        rows = ROWS[mechanism]
        for q, weight in dict.fromkeys((row.q, row.weight) for row in rows):
            outcomes = [
                _rated(sgd, worst_function(mechanism, row)) for row in rows if (row.q, row.weight) == (q, weight)
            ]
            steps = [float(o.values["horizon"]) for o in outcomes]
            bound = [float(claims()[name].bound(**o.values)) for o in outcomes]
            label = f"q = {q}, {'eta' if mechanism == 'EF21M' else 'part of the step size'} {weight}"
            found.append(Series(label, "horizon", steps, bound, [float(o.measured) for o in outcomes]))
        return found

    return curves


def _study(mechanism: str, name: str) -> Study:
    return Study(
        name,
        "FeedbackSGD",
        _rated,
        known=_known,
        corpus=_corpus(mechanism),
        cases=_drawn(mechanism),
        extremal=_worst(mechanism),
        curves=_curve(mechanism, name),
    )


# --- several workers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Apart:
    """Workers' functions f_w(x) = sum_j a_wj h(x_j - s_wj); h is z^2/2, or Huber's where all shifts are zero.

    Parameters
    ----------
    a, shifts : (P, n) float64
        Curvatures, positive, at most L; and where each function is least.
    huber : bool
        Which h it is.
    """

    a: Array
    shifts: Array
    huber: bool

    def slopes(self, x: Array) -> Array:
        """The workers' gradients."""
        away = x - self.shifts
        return np.asarray(self.a * (np.clip(away, -1.0, 1.0) if self.huber else away))

    def values(self, x: Array) -> Array:
        """The workers' function values."""
        rows = zip(self.a, self.shifts, strict=True)
        return np.array([(Huber if self.huber else Bowl)(a).gap(x - shift) for a, shift in rows])

    def gap(self, x: Array) -> float:
        """Excess of the average over its minimum."""
        curvature = self.a.mean(axis=0)
        if self.huber:
            return Huber(curvature).gap(x)
        return Bowl(curvature).gap(x - (self.a * self.shifts).mean(axis=0) / curvature)


def problem_of_workers(case: Case) -> tuple[Apart, FeedbackSGDState]:
    """The functions of a case, whose array has the rows x, then a, shift and memory of every worker; and its state."""
    (x, *rows), P = case.array, case.settings["P"]
    a, shifts, memories = np.array(rows).reshape(3, P, -1)
    workers = tuple(FeedbackState(memory.copy()) for memory in memories)
    state = FeedbackSGDState(x.copy(), P, memories.mean(axis=0), workers, t=1)
    return Apart(a, shifts, case.settings.get("family") == "huber"), state


def _rated_workers(sgd: Any, case: Case) -> Outcome:
    """Steps of several workers."""
    s = case.settings
    problem, state = problem_of_workers(case)
    gap, gamma, squares, reach, lags = problem.gap(state.weights), step_size(s), [], 0.0, [0.0]
    for t in range(s["steps"]):
        gradients = problem.slopes(state.weights)
        squares.append(square(gradients.mean(axis=0)))
        reach = max(reach, *(square(gradient) for gradient in gradients))
        state = descent_of(sgd, case, t).step(gradients, state)[0]
        if t == 0:
            lags = [square(worker.memory - own) for worker, own in zip(state.workers, gradients, strict=True)]
    values = {
        **_common(s), "P": s["P"], "gap": gap, "lag": sum(lags) / s["P"], "reach": gamma * float(np.sqrt(reach)),
        "attained_share": _share_of_workers(s),
    }  # fmt: skip
    scale = reach + gap + sum(lags) + square(case.array)
    return Outcome(sum(squares) / s["steps"], values, 64 * (case.array.size + 1) * s["steps"] * EPS * float(scale))


def _share_of_workers(s: dict[str, Any]) -> float:
    """The row's."""
    sought = (s["q"], s["weight"], s["steps"], s["P"])
    (row,) = (
        row
        for row in ROWS_OF_WORKERS[s["mechanism"]]
        if (float(row.q), float(row.weight), row.horizon, row.workers) == sought
    )
    return float(row.share)


def _known_of_workers(sgd: Any, case: Case) -> dict[str, Any]:
    return {**_known(sgd, case), "P": case.settings["P"]}


def alike(mechanism: str, row: LargestShare, L: float = 1.0, size: float = 1.0) -> Case:
    """The worst function of one worker, for all workers."""
    one = _scaled(worst_function(mechanism, row), L, size)
    (a, x, memory, _), P = one.array, row.workers
    rows = [x, *[a] * P, *[np.zeros_like(a)] * P, *[memory] * P]
    return Case({**one.settings, "P": P}, np.array(rows))


def _made_apart(rng: np.random.Generator, mechanism: str, row: LargestShare, ahead: float, top: bool) -> Case:
    """Of a row: different curvatures and minima, Top-K or returns of random signs, estimates ahead by some."""
    s, P = _settings(mechanism, row, P=row.workers), row.workers
    n = _KEPT[s["q"]][0] if top else 2
    if not top:
        s["signs"] = "".join(rng.choice(["+", "-", "0"], row.horizon))
    scale = 2.0 ** int(rng.integers(-2, 3))
    a, x, shifts = scale * (1 - rng.random((P, n))), 2 * rng.standard_normal(n), 2 * rng.standard_normal((P, n))
    a[:, 0] = scale
    memories = a * (x - shifts) + ahead * scale * rng.standard_normal((P, n))
    if mechanism == "EF14":
        memories = np.zeros((P, n))
    return Case({**s, "L": scale}, np.array([x, *a, *shifts, *memories]))


def cases_of_workers(mechanism: str, row: LargestShare) -> list[Case]:
    """The worst function of one worker, for all, and others."""
    rng = np.random.default_rng(41)
    return [alike(mechanism, row), *(_made_apart(rng, mechanism, row, 0.3, top) for top in (False, True))]


def _alike_cases(mechanism: str) -> Callable[[Budget], Iterator[Case]]:
    def cases(_budget: Budget) -> Iterator[Case]:
        for row, (L, size) in itertools.product(ROWS_OF_WORKERS[mechanism], ((1.0, 1.0), (4.0, 30.0))):
            yield alike(mechanism, row, L, size)

    return cases


def _corpus_of_workers(mechanism: str) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        rng = np.random.default_rng(42)
        for row, top in itertools.product(ROWS_OF_WORKERS[mechanism], (False, True)):
            yield _made_apart(rng, mechanism, row, 0.3, top)
        yield from _alike_cases(mechanism)(budget)

    return cases


def _drawn_workers(mechanism: str) -> Callable[[], st.SearchStrategy[Case]]:
    @st.composite
    def cases(draw: st.DrawFn) -> Case:
        row, ahead = draw(inputs.sampled_from(ROWS_OF_WORKERS[mechanism])), draw(inputs.sampled_from((0.0, 0.3, 3.0)))
        rng = np.random.default_rng(draw(inputs.integers(0, 2**31)))
        return _made_apart(rng, mechanism, row, ahead, draw(inputs.sampled_from((False, True))))

    return cases


def _curve_of_workers(mechanism: str, name: str) -> Callable[[Any, int], list[Series]]:
    def curves(sgd: Any, _seed: int) -> list[Series]:
        """The worst functions of one worker, for two, over the steps."""
        found = []
        rows = [row for row in ROWS_OF_WORKERS[mechanism] if row.workers == 2]
        for q, weight in dict.fromkeys((row.q, row.weight) for row in rows):
            chosen = [row for row in rows if (row.q, row.weight) == (q, weight)]
            outcomes = [_rated_workers(sgd, alike(mechanism, row)) for row in chosen]
            bound = [float(claims()[name].bound(**o.values)) for o in outcomes]
            measured, steps = [float(o.measured) for o in outcomes], [float(row.horizon) for row in chosen]
            found.append(Series(f"q = {q}, part of the step size {weight}", "horizon", steps, bound, measured))
        return found

    return curves


def _study_of_workers(mechanism: str, name: str) -> Study:
    return Study(
        name,
        "FeedbackSGD",
        _rated_workers,
        known=_known_of_workers,
        corpus=_corpus_of_workers(mechanism),
        cases=_drawn_workers(mechanism),
        extremal=_alike_cases(mechanism),
        curves=_curve_of_workers(mechanism, name),
    )


FEW_STEPS = (
    _study("EF14", "feedback.ef14.rate_share"),
    _study("EF21", "feedback.ef21.rate_share"),
    _study("EF21M", "feedback.ef21m.bound_share"),
    _study_of_workers("EF14", "feedback.ef14.rate_share_workers"),
    _study_of_workers("EF21", "feedback.ef21.rate_share_workers"),
)
