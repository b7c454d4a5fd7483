"""The worst case of few steps: what workers come to on the functions that are worst for a printed rate."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.feedback.sgd import FeedbackSGDState
from commbounds.compressors import EF14, EF21, EF21M, FeedbackState, TopK
from commbounds.theory import claims
from commbounds.theory.feedback.worst import (
    WORST_EF14,
    WORST_EF14_WORKERS,
    WORST_EF21,
    WORST_EF21_WORKERS,
    WORST_EF21M,
    LargestShare,
)
from commbounds.verify.experiments.feedback.runs import EPS, Shrunk, square
from commbounds.verify.family import Family
from commbounds.verify.space import Of, Space, nothing
from commbounds.verify.study import Outcome, Study

Values = dict[str, Any]
_KEPT = {0.25: (16, 15), 0.5: (4, 3), 0.75: (16, 7), 0.9: (100, 19)}
"""n and k of Top-K with this q."""
_SIGNS = {"+": 1.0, "-": -1.0, "0": 0.0}
ROWS = {"EF14": WORST_EF14, "EF21": WORST_EF21, "EF21M": WORST_EF21M}
ROWS_OF_WORKERS = {"EF14": WORST_EF14_WORKERS, "EF21": WORST_EF21_WORKERS}
_RATES = {"EF14": "ef14.rate", "EF21": "ef21.rate", "EF21M": "ef21m.bound"}


@dataclass(frozen=True)
class Functions:
    """Workers' functions f_w(x) = sum_j a_wj h(x_j - s_wj); h is z^2/2, or Huber's where all shifts are zero.

    Parameters
    ----------
    a, shifts : (P, n) float64
        Curvatures, positive, at most L; and where each function is least.
    huber : bool
        Whether h goes on straight from |z| = 1.
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
        return np.asarray(_summed(self.a, x - self.shifts, self.huber))

    def gap(self, x: Array) -> float:
        """Excess of the average over its minimum."""
        curvature = self.a.mean(axis=0)
        least = 0.0 if self.huber else (self.a * self.shifts).mean(axis=0) / curvature
        return float(_summed(curvature, x - least, self.huber))


def _summed(a: Array, away: Array, huber: bool) -> Any:
    size = np.abs(away)
    return (a * (np.where(size <= 1, size * size / 2, size - 0.5) if huber else away * away / 2)).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class Start:
    """What the steps of a row of the table begin with.

    Parameters
    ----------
    mechanism : str
        EF14, EF21 or EF21M.
    row : LargestShare
        Of the table.
    functions : Functions
        The workers'.
    x : (n,) float64
        Weights.
    memories, momenta : (P, n) float64
        As after some step.
    signs : str
        What of q is left of a vector in every step, where the compressor only multiplies; else it is Top-K.
    L : float
        Smoothness.
    """

    mechanism: str
    row: LargestShare
    functions: Functions
    x: Array
    memories: Array
    momenta: Array
    signs: str
    L: float = 1.0

    @property
    def state(self) -> FeedbackSGDState:
        """The same, as a descent takes it."""
        pairs = zip(self.memories, self.momenta, strict=True)
        workers = tuple(FeedbackState(memory.copy(), momentum.copy()) for memory, momentum in pairs)
        return FeedbackSGDState(self.x.copy(), len(workers), self.memories.mean(axis=0), workers, t=1)

    @property
    def gamma(self) -> float:
        """The step size: the part of the largest, or the largest."""
        return step_size(self.mechanism, self.row) / self.L

    def descent(self, sgd: Any, t: int) -> Any:
        """What makes step t: with Top-K, or with the sign of the step."""
        q, eta = float(self.row.q), float(self.row.weight)
        compressor = Shrunk(q * _SIGNS[self.signs[t]]) if self.signs else TopK(_KEPT[q][1])
        mechanisms = {"EF14": EF14(compressor), "EF21": EF21(compressor), "EF21M": EF21M(compressor, eta=eta)}
        return sgd(mechanisms[self.mechanism], self.gamma)

    def scaled(self, L: float, size: float) -> Start:
        """The same functions and run in other units; Huber's functions go on straight from 1 in all."""
        size = 1.0 if self.functions.huber else size
        functions = replace(self.functions, a=L * self.functions.a, shifts=size * self.functions.shifts)
        memories, momenta = (size * L * held for held in (self.memories, self.momenta))
        return replace(self, functions=functions, x=size * self.x, memories=memories, momenta=momenta, L=L * self.L)


def step_size(mechanism: str, row: LargestShare) -> float:
    """Of L = 1."""
    q, weight = float(row.q), float(row.weight)
    return float({"EF14": weight / 2, "EF21": weight * (1 - q), "EF21M": min((1 - q * q) / 20, weight / 7)}[mechanism])


def _common(mechanism: str, row: LargestShare, L: float = 1.0) -> Values:
    return {
        "alpha": 1 - row.q**2, "smoothness": L, "smoothness_apart": L, "stepsize": step_size(mechanism, row) / L,
        "P": row.workers, "horizon": row.horizon, "variance": 0.0, "eta": float(row.weight),
    }  # fmt: skip


def _rate(mechanism: str, row: LargestShare, parts: Values) -> float:
    """The printed rate without noise, for L = 1."""
    return float(claims()[f"feedback.{_RATES[mechanism]}"].bound(**_common(mechanism, row), **parts))


def _rated(implementation: Any, start: Start) -> Outcome:
    """The mean squared gradient of the steps."""
    state, functions, T = start.state, start.functions, start.row.horizon
    gap, squares, reach, lags = functions.gap(state.weights), [], 0.0, (0.0, 0.0, 0.0)
    for t in range(T):
        gradients = functions.slopes(state.weights)
        squares.append(square(gradients.mean(axis=0)))
        reach = max(reach, *(square(gradient) for gradient in gradients))
        state = start.descent(implementation, t).step(gradients, state)[0]
        if t == 0:
            memories = np.array([worker.memory for worker in state.workers])
            seen = [worker.momentum for worker in state.workers] if start.mechanism == "EF21M" else gradients
            behind = np.asarray(seen) - gradients
            lags = (square(memories - seen), square(behind), square(behind.mean(axis=0)))
    P = start.row.workers
    values = {
        **_common(start.mechanism, start.row, start.L), "gap": gap, "lag": lags[0] / P, "own_lag": lags[1] / P,
        "momentum_lag": lags[2], "reach": start.gamma * float(np.sqrt(reach)), "attained_share": float(start.row.share),
    }  # fmt: skip
    scale = reach + gap + sum(lags) + square(start.memories) + square(start.momenta)
    slack = 64 * (start.memories.size + 1) * T * EPS * float(scale)
    return Outcome(sum(squares) / T, values, slack)


def share_of_rate(sgd: Any, start: Start) -> float:
    """The share of the printed rate that a run in units of L = 1 comes to."""
    outcome = _rated(sgd, start)
    parts = {name: outcome.values[name] for name in ("gap", "lag", "own_lag", "momentum_lag", "reach")}
    return float(outcome.measured) / _rate(start.mechanism, start.row, parts)


# --- worst functions --------------------------------------------------------------------------------------------------


@cache
def worst_function(mechanism: str, row: LargestShare) -> Start:
    """The function of one dimension, and the signs of compression, that come to most of the rate; all workers have it.

    Of EF14, which begins with nothing left over, Huber's function from some start; of the others x^2/2, with the first
    estimate and momentum that are worst.
    """
    one = replace(row, workers=1)
    signs = map("".join, itertools.product("+-", repeat=row.horizon - 1))
    if mechanism == "EF14":
        _, x, memory, momentum, worst = max(_straight(one, f"{some}+") for some in signs)
    else:
        _, x, memory, momentum, worst = max(_bent(mechanism, one, f"+{some}") for some in signs)
    ones = np.ones((row.workers, 1))
    functions = Functions(ones, 0 * ones, mechanism == "EF14")
    return Start(mechanism, row, functions, np.array([x]), memory * ones, momentum * ones, worst)


_Worst = tuple[float, float, float, float, str]
"""The share of the rate that is come to, the weight, memory, momentum, and the signs."""


def _straight(row: LargestShare, signs: str) -> _Worst:
    """The worst of many starts."""
    gamma, q = step_size("EF14", row), float(row.q)
    best = (0.0, 1.0)
    for start in np.linspace(1.0, 1.5, 101).tolist():
        x, left, squares = start, 0.0, []
        for sign in signs:
            slope = min(max(x, -1.0), 1.0)
            squares.append(slope * slope)
            offered = left + gamma * slope
            left = q * _SIGNS[sign] * offered
            x -= offered - left
        rate = _rate("EF14", row, {"gap": start - 0.5, "reach": gamma * max(squares) ** 0.5})
        best = max(best, (sum(squares) / len(squares) / rate, start), key=lambda pair: pair[0])
    return (*best, 0.0, 0.0, signs)


def _bent(mechanism: str, row: LargestShare, signs: str) -> _Worst:
    """A run is linear in x and in what estimate and momentum are first ahead by, and the rate a square."""
    q, eta = float(row.q), float(row.weight) if mechanism == "EF21M" else 1.0
    axes = np.eye(2 + (eta < 1))
    point, momentum = axes[0], axes[0] + (axes[2] if eta < 1 else 0.0)
    estimate, squares = momentum + axes[1], np.zeros((len(axes), len(axes)))
    for t in range(row.horizon):
        if t:
            momentum = (1 - eta) * momentum + eta * point
            estimate = momentum + q * _SIGNS[signs[t]] * (estimate - momentum)
        squares += np.outer(point, point) / row.horizon
        point = point - step_size(mechanism, row) * estimate
    none = {"gap": 0.0, "lag": 0.0, "own_lag": 0.0, "momentum_lag": 0.0}
    parts = ({"gap": 0.5}, {"lag": 1.0}, {"own_lag": 1.0, "momentum_lag": 1.0})[: len(axes)]
    weight = np.sqrt([_rate(mechanism, row, {**none, **part}) for part in parts])
    shares, worst = np.linalg.eigh(squares / np.outer(weight, weight))
    x, ahead, behind = np.append(worst[:, -1] / weight, [0.0])[:3]
    # before the first step, which leaves q of the estimate's lag, and 1 - eta of the momentum's
    held = x + (behind / (1 - eta) if eta < 1 else 0.0)
    return float(shares[-1]), x, x + behind + ahead / q, held, signs


# --- cases ------------------------------------------------------------------------------------------------------------


def _begun(table: Sequence[LargestShare], mechanism: str, row: int, functions: str, kept: str, ahead: float,
           units: tuple[float, float], seed: int) -> Values:  # fmt: skip
    """Of a row: the worst function, or others, with estimates and momenta ahead of the gradients by some."""
    start = worst_function(mechanism, table[row])
    if functions != "worst":
        start = _other(mechanism, table[row], functions, kept, ahead, seed)
    start = start.scaled(*units)
    common = _common(mechanism, start.row, start.L)
    return {**common, "start": start, "stepsize": common["stepsize"] * (1 - 8 * EPS)}


def _other(mechanism: str, row: LargestShare, functions: str, kept: str, ahead: float, seed: int) -> Start:
    """Different curvatures and minima; Top-K, or returns of random signs."""
    rng, P = np.random.default_rng([seed, row.workers]), row.workers
    n = _KEPT[float(row.q)][0] if kept == "Top-K" else 2
    signs = "" if kept == "Top-K" else "".join(rng.choice(list(_SIGNS), row.horizon))
    a, x, shifts = 1 - rng.random((P, n)), 2 * rng.standard_normal(n), 2 * rng.standard_normal((P, n))
    a[:, 0] = 1.0
    made = Functions(a, shifts * float(functions == "bowls"), functions == "huber")
    memories, momenta = made.slopes(x) + ahead * rng.standard_normal((2, P, n))
    return Start(mechanism, row, made, x, memories * float(mechanism != "EF14"), momenta, signs)


def some_starts(mechanism: str, row: LargestShare) -> Iterator[Start]:
    """The worst function, and others with Top-K and without, in units in which L = 1."""
    yield worst_function(mechanism, row)
    for functions, kept in itertools.product(("bowls", "huber"), ("signs", "Top-K")):
        yield _other(mechanism, row, functions, kept, 0.3, 39)


_UNITS = ((1.0, 1.0), (4.0, 30.0), (0.5, 0.1))
"""L, and what weights are multiplied by."""


def _family(mechanism: str, table: Sequence[LargestShare]) -> Family:
    def of_row(name: str) -> tuple[Of, ...]:
        return (Of("the row's", lambda row: getattr(table[row], name)),)

    axes = {
        "mechanism": (mechanism,),
        "row": range(len(table)),
        **{name: of_row(name) for name in ("q", "weight", "horizon", "workers")},
        "functions": ("worst", "bowls", "huber"),
        "kept": ("signs", "Top-K"),
        "ahead": (0.3, 0.0, 3.0),
        "units": _UNITS,
    }
    space = Space(nothing, axes).without(
        "The worst function with Top-K, which keeps the only entry.",
        lambda functions, kept: functions == "worst" and kept == "Top-K",
    )

    def begun(row: int, functions: str, kept: str, ahead: float, units: tuple[float, float], seed: int) -> Values:
        return _begun(table, mechanism, row, functions, kept, ahead, units, seed)

    return Family("feedback", "FeedbackSGD", space, begun, exact=False, arrays=3)


def _studies(mechanism: str, claim: str, table: Sequence[LargestShare]) -> tuple[Study, ...]:
    """On the worst functions in all units too; curves over the steps, of the fewest workers."""
    family = _family(mechanism, table)
    fewest = [i for i, row in enumerate(table) if row.workers == table[0].workers]
    settings = dict.fromkeys((table[i].q, table[i].weight) for i in fewest)
    part = "eta" if mechanism == "EF21M" else "part of the step size"
    curves = [
        family.over(
            "horizon",
            [i for i in fewest if (table[i].q, table[i].weight) == (q, weight)],
            f"q = {q}, {part} {weight}",
            by="row",
        )
        for q, weight in settings
    ]
    worst = family.every(row=range(len(table)), units=_UNITS)
    return family.studies(_rated, claim, extremal=worst, curves=curves)


FEW_STEPS: tuple[Study, ...] = (
    *_studies("EF14", "ef14.rate_share", WORST_EF14),
    *_studies("EF21", "ef21.rate_share", WORST_EF21),
    *_studies("EF21M", "ef21m.bound_share", WORST_EF21M),
    *_studies("EF14", "ef14.rate_share_workers", WORST_EF14_WORKERS),
    *_studies("EF21", "ef21.rate_share_workers", WORST_EF21_WORKERS),
)
