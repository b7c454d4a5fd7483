"""The curves of a finding: bound and measurement over the claim's natural parameter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from commbounds.theory import Claim, Standing
from commbounds.verify import gradients, inputs
from commbounds.verify.experiment import Experiment, Implementations, bound_at
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.finding import Series

__all__ = ["curve"]

Array = NDArray[Any]

_SIZES = (1, 2, 3, 4, 6, 8, 16, 64, 256, 1024, 2410)
_SIDES = (2, 4, 8, 16, 32)
_RANDOM = ("normal", "uniform", "laplace", "student", "lognormal", "signs", "sparse")
_DRAWS = {"vector": 100, "stack": 50, "matrix": 20}
_DRAWS_OF_TWO_COLUMNS = 1000
_KNOWN = 0.05
"""Largest standard error of a mean that is drawn, relative to it."""
_CONCENTRATED = ("constant", "ramp", "alternating")
"""Hostile inputs on which the mean of a hundred draws is close to its expectation."""
_OF_THE_INPUT = {"norm1", "norm2", "norm3", "norminf", "norm2bar", "sumsq", "absdet", "entries"}
"""Symbols of a bound that may depend on the input itself."""


@dataclass(frozen=True)
class Point:
    """One value of the natural parameter."""

    value: float
    subject: Any
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """Measured value and bound at one input; `drawn` if the value is a mean over draws."""

    value: float
    bound: float
    slack: float = 0.0
    drawn: bool = False

    def over_the_bound(self) -> Pair | None:
        """Both divided by the bound; None where rounding hides the ratio."""
        if 0.01 * self.bound <= self.slack and abs(self.value - self.bound) <= self.slack:
            return None
        return Pair(self.value / self.bound if self.bound > 0 else float("inf"), 1.0, drawn=self.drawn)


@dataclass(frozen=True)
class Row:
    """Everything measured at one point."""

    random: list[Pair]
    hostile: list[Pair]
    real: dict[str, list[Pair]] = field(default_factory=dict)

    @property
    def every(self) -> list[Pair]:
        """All pairs."""
        return [*self.random, *self.hostile, *(pair for pairs in self.real.values() for pair in pairs)]

    def over_the_bound(self) -> Row:
        """The same with every pair divided by its bound, without those that vanish."""
        real = {kind: _divided(pairs) for kind, pairs in self.real.items()}
        return Row(_divided(self.random), _divided(self.hostile), real)


def _divided(pairs: list[Pair]) -> list[Pair]:
    return [ratio for pair in pairs if (ratio := pair.over_the_bound()) is not None]


def curve(experiment: Experiment, seed: int, implementations: Implementations) -> Series | None:
    """Bound, worst found, random inputs and real gradients over the natural parameter.

    Parameters
    ----------
    experiment : Experiment
        The binding.
    seed : int
        Seeds the random inputs.
    implementations : mapping
        Stand-ins.

    Returns
    -------
    Series or None
        Where the bound differs from input to input, measured and bound are both divided by the bound. None where no
        input is admissible at any point.
    """
    if experiment.domain.kind == "pair":
        return _pairs(experiment, implementations)
    rng = np.random.default_rng(seed)
    for axis, points in _sweeps(experiment, implementations):
        measured = _rows(experiment, points, rng)
        if experiment.statement.stands is not Standing.HOLDS and not _passed(experiment, measured):
            measured = _rows(experiment, points, rng, scaled=True)
        rows = [(p.value, row) for p, row in measured]
        relative = any(_differ([pair.bound for pair in row.every]) for _, row in rows)
        if relative and _OF_THE_INPUT & set(experiment.statement.parameters):
            rows = [(value, ratios) for value, row in rows if (ratios := row.over_the_bound()).every]
        else:
            relative = False
        if rows:
            drawn = any(pair.drawn for _, row in rows for pair in row.every)
            label = _label(experiment, axis, [p for p, _ in measured], drawn)
            return _series(experiment, axis, label, rows, relative)
    return None


def _rows(
    experiment: Experiment, points: Sequence[Point], rng: np.random.Generator, scaled: bool = False
) -> list[tuple[Point, Row]]:
    return [(p, row) for p in points if (row := _row(experiment, p, rng, scaled)).every]


def _passed(experiment: Experiment, rows: Sequence[tuple[Point, Row]]) -> bool:
    """Whether a value lies visibly on the wrong side of its bound."""
    return any(
        _beyond(experiment.statement, pair) > 1e-3 * abs(pair.bound) + 1e-6 for _, row in rows for pair in row.every
    )


def _differ(bounds: list[float]) -> bool:
    return max(bounds) - min(bounds) > 1e-9 * max(map(abs, bounds))


def _series(experiment: Experiment, axis: str, label: str, rows: Sequence[tuple[float, Row]], relative: bool) -> Series:
    kinds = sorted({kind for _, row in rows for kind, pairs in row.real.items() if pairs})
    worst = [max(row.every, key=lambda pair: _beyond(experiment.statement, pair)) for _, row in rows]
    random = [[pair.value for pair in row.random] for _, row in rows]
    quantiles = [np.quantile(values, (0.05, 0.5, 0.95)) if values else [np.nan] * 3 for values in random]
    return Series(
        label=label,
        axis=axis,
        x=[value for value, _ in rows],
        bound=[pair.bound for pair in worst],
        worst=[pair.value for pair in worst],
        random_low=[float(q[0]) for q in quantiles],
        random_mid=[float(q[1]) for q in quantiles],
        random_high=[float(q[2]) for q in quantiles],
        gradients={kind: [_mean(row.real.get(kind, [])) for _, row in rows] for kind in kinds},
        relative=relative,
    )


def _beyond(claim: Claim, pair: Pair) -> float:
    """How far the measured value is on the wrong side of the bound: on either side for an equality."""
    above = pair.value - pair.bound
    return abs(above) if isinstance(claim.relation, sp.Eq) else -above if isinstance(claim.relation, sp.Ge) else above


def _mean(pairs: list[Pair]) -> float:
    return float(np.mean([pair.value for pair in pairs])) if pairs else float("nan")


def _sweeps(experiment: Experiment, implementations: Implementations) -> Iterator[tuple[str, list[Point]]]:
    """Axis, and where to measure: over the natural parameter, else over the number of entries."""
    cls, kind = experiment.implementation(implementations), experiment.domain.kind
    frame = {"vector": (), "matrix": (64,), "stack": (8,)}[kind]
    if experiment.sweep is not None and experiment.statement.axis != "n":
        n = 32 if kind == "matrix" else experiment.drawn_at
        axis, instances = experiment.sweep(cls, n)
        yield axis, [Point(value, c, (*frame, n)) for value, c in instances]
    points = []
    for n in _SIDES if kind == "matrix" else _SIZES:
        subjects = experiment.setups(cls, n)
        if subjects:
            points.append(Point(float(n), subjects[(len(subjects) - 1) // 2], (*frame, n)))
    yield "n", points


def _label(experiment: Experiment, axis: str, points: Sequence[Point], drawn: bool) -> str:
    """What is held while `axis` varies, and how often was drawn where measured values are means."""
    words = {"vector": [], "matrix": ["64 rows"], "stack": ["8 workers"]}[experiment.domain.kind]
    if axis == "n":
        first, last = points[0].subject, points[-1].subject
        varied = [
            f"{f.name} = {a} to {b}"
            for f in fields(first)
            if (a := getattr(first, f.name)) != (b := getattr(last, f.name))
        ]
        words.append(", ".join([type(first).__name__, *varied]) if varied else str(first))
    else:
        words.append(f"n = {points[-1].shape[-1]}")
    if drawn:
        words.append(f"means of {_draws(experiment, points[-1].shape)} draws")
    return "; ".join(words)


def _readable(experiment: Experiment, point: Point) -> bool:
    """Whether the value can be measured without drawing."""
    ramp = inputs.CORPUS["ramp"](int(np.prod(point.shape))).reshape(point.shape).astype(np.float32)
    return not experiment.admits(point.subject, ramp) or experiment.measure.read(point.subject, ramp) is not None


def _row(experiment: Experiment, point: Point, rng: np.random.Generator, scaled: bool) -> Row:
    c, shape = point.subject, point.shape

    def measured(arrays: list[Array]) -> list[Pair]:
        return [pair for x in arrays if (pair := _measured(experiment, c, x, rng)) is not None]

    random = measured([_shaped(inputs.FAMILIES[name](rng, int(np.prod(shape))), shape) for name in _RANDOM])
    hostile = measured(_hostile(experiment, point, scaled))
    return Row(random, hostile, {kind: measured(_real(kind, shape)) for kind in gradients.KINDS})


def _hostile(experiment: Experiment, point: Point, scaled: bool) -> list[Array]:
    """The corpus, of vectors at all scales if `scaled`, and what any claim about the set-ups calls extremal."""
    c, shape = point.subject, point.shape
    if scaled and experiment.domain.kind == "vector":
        arrays = [x for _, x in experiment.domain.corpus(shape, np.float32)]
    else:
        names = inputs.CORPUS if _readable(experiment, point) else _CONCENTRATED
        arrays = [_shaped(inputs.CORPUS[name](int(np.prod(shape))), shape) for name in names]
    for other in EXPERIMENTS.values():
        if not isinstance(other, Experiment):
            continue
        same = other.setups is experiment.setups and other.domain is experiment.domain
        if same and other.extremal is not None and (x := other.extremal(c, shape[-1])) is not None:
            arrays.append(x)
    return arrays


def _shaped(x: Array, shape: tuple[int, ...]) -> Array:
    return x.reshape(shape).astype(np.float32)


def _draws(experiment: Experiment, shape: tuple[int, ...]) -> int:
    kind = experiment.domain.kind
    return _DRAWS_OF_TWO_COLUMNS if kind == "matrix" and shape[-1] == 2 else _DRAWS[kind]


def _measured(experiment: Experiment, c: Any, x: Array, rng: np.random.Generator) -> Pair | None:
    """Measured value and bound at one input; None if it is not admissible or can be neither read nor sampled well."""
    if not x.any() or not experiment.admits(c, x):
        return None
    claim = experiment.statement
    bound = float(bound_at(claim, experiment.float_values(c, x)))
    reading = experiment.measure.read(c, x)
    if reading is not None:
        return Pair(reading.value, bound, reading.slack)
    if not experiment.measure.sampled:
        return None
    draws = np.array([experiment.measure.draw(c, x, rng) for _ in range(_draws(experiment, x.shape))])
    mean = float(draws.mean())
    noisy = draws.std() > _KNOWN * np.sqrt(draws.size) * abs(mean) + 1e-9
    # against an equality, a mean that is not known well looks like a violation
    return None if noisy and isinstance(claim.relation, sp.Eq) else Pair(mean, bound, 1e-12, drawn=True)


def _real(kind: str, shape: tuple[int, ...]) -> list[Array]:
    """Real gradients of a kind in the given shape: two workers' vectors or matrices, or the stack of all eight."""
    sharding, _, phase = kind.partition(", ")
    if len(shape) == 2 and shape[0] == 64:
        stack = gradients.matrices(sharding, phase)
        return [np.ascontiguousarray(stack[0, worker][:, : shape[1]]) for worker in (0, 1)]
    vectors = gradients.vectors(sharding, phase)
    # the middle of the vector, where the gradient of the hidden layer is dense
    start = (vectors.shape[-1] - shape[-1]) // 2
    cut = vectors[0, :, start : start + shape[-1]]
    return [np.ascontiguousarray(cut)] if len(shape) == 2 else [np.ascontiguousarray(cut[worker]) for worker in (0, 1)]


def _pairs(experiment: Experiment, implementations: Implementations) -> Series:
    """The family of two workers, over its parameter e."""
    (c,) = experiment.subjects(implementations, (2, 2))
    x, bound, worst = [], [], []
    for _, stack in experiment.domain.corpus((), np.float64):
        values = experiment.float_values(c, stack)
        reading = experiment.measure.read(c, stack)
        assert reading is not None
        x.append(float(values["e"]))
        bound.append(float(bound_at(experiment.statement, values)))
        worst.append(reading.value)
    return Series(label="two workers, n = 2, k = 1", axis="e", x=x, bound=bound, worst=worst)
