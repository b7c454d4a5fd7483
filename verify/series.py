"""The curves of a finding: bound and measurement over the claim's natural parameter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify import gradients, inputs
from commbounds.verify.experiment import Experiment, Implementations, bound_at
from commbounds.verify.finding import Series

__all__ = ["curve"]

Array = NDArray[Any]

_SIZES = (1, 2, 4, 16, 64, 256, 1024, 2410)
_SIDES = (2, 4, 8, 16, 32)
_RANDOM = ("normal", "uniform", "laplace", "student", "lognormal", "signs", "sparse")
_DRAWS = 100
_CONCENTRATED = ("constant", "ramp", "alternating")
"""Hostile inputs on which the mean of a hundred draws is close to its expectation."""
_OF_THE_INPUT = {"norm1", "norm2", "norm3", "norminf", "norm2bar", "sumsq", "absdet", "entries"}
"""Symbols of a bound that depends on the input itself: measured and bound are then drawn relative to the bound."""


@dataclass(frozen=True)
class Point:
    """One value of the natural parameter."""

    value: float
    subject: Any
    shape: tuple[int, ...]


@dataclass
class Row:
    """What is drawn at one point."""

    bound: float
    worst: float
    random: list[float]
    real: dict[str, float] = field(default_factory=dict)


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
        Where the bound depends on the input itself, measured and bound are both divided by the bound. None where no
        input of the sweep is admissible.
    """
    if experiment.domain.kind == "pair":
        return _pairs(experiment, implementations)
    axis, label, points = _points(experiment, implementations)
    rng = np.random.default_rng(seed)
    rows = [(p.value, row) for p in points if (row := _row(experiment, p, rng)) is not None]
    if not rows:
        return None
    kinds = sorted({kind for _, row in rows for kind in row.real})
    quantiles = [np.quantile(row.random, (0.05, 0.5, 0.95)) if row.random else [np.nan] * 3 for _, row in rows]
    return Series(
        label=label,
        axis=axis,
        x=[value for value, _ in rows],
        bound=[row.bound for _, row in rows],
        worst=[row.worst for _, row in rows],
        random_low=[float(q[0]) for q in quantiles],
        random_mid=[float(q[1]) for q in quantiles],
        random_high=[float(q[2]) for q in quantiles],
        gradients={kind: [row.real.get(kind, float("nan")) for _, row in rows] for kind in kinds},
    )


def _points(experiment: Experiment, implementations: Implementations) -> tuple[str, str, list[Point]]:
    """Axis, label, and where to measure."""
    cls, kind = experiment.implementation(implementations), experiment.domain.kind
    frame = {"vector": (), "matrix": (64,), "stack": (8,)}[kind]
    words = {"vector": "", "matrix": "64 rows; ", "stack": "8 workers; "}[kind]
    if experiment.sweep is None or experiment.statement.axis == "n":
        points = []
        for n in _SIDES if kind == "matrix" else _SIZES:
            subjects = experiment.setups(cls, n)
            if subjects:
                points.append(Point(float(n), subjects[len(subjects) // 2], (*frame, n)))
        return "n", words + "the middle one of the set-ups tried", points
    n = 32 if kind == "matrix" else experiment.drawn_at
    axis, instances = experiment.sweep(cls, n)
    return axis, f"{words}n = {n}", [Point(value, c, (*frame, n)) for value, c in instances]


def _row(experiment: Experiment, point: Point, rng: np.random.Generator) -> Row | None:
    c, shape = point.subject, point.shape
    size = int(np.prod(shape))
    ramp = inputs.CORPUS["ramp"](size).reshape(shape).astype(np.float32)
    readable = not experiment.admits(c, ramp) or experiment.measure.read(c, ramp) is not None
    names = inputs.CORPUS if readable else _CONCENTRATED
    hostile = [inputs.CORPUS[name](size).reshape(shape).astype(np.float32) for name in names]
    if experiment.extremal is not None and (x := experiment.extremal(c, shape[-1])) is not None:
        hostile.append(x)
    random = [inputs.FAMILIES[name](rng, size).reshape(shape).astype(np.float32) for name in _RANDOM]
    drawn = [pair for x in random if (pair := _measured(experiment, c, x, rng)) is not None]
    worst = [*drawn, *(pair for x in hostile if (pair := _measured(experiment, c, x, rng)) is not None)]
    if not worst:
        return None
    top = max(worst)
    row = Row(bound=top[1], worst=top[0], random=[value for value, _ in drawn])
    for kind in gradients.KINDS:
        values = [pair[0] for x in _real(kind, shape) if (pair := _measured(experiment, c, x, rng)) is not None]
        if values:
            row.real[kind] = float(np.mean(values))
    return row


def _measured(experiment: Experiment, c: Any, x: Array, rng: np.random.Generator) -> tuple[float, float] | None:
    """Measured value and bound at one input; None where it is not admissible or can be neither read nor sampled."""
    if not x.any() or not experiment.admits(c, x):
        return None
    reading = experiment.measure.read(c, x)
    if reading is not None:
        value = reading.value
    elif experiment.measure.sampled:
        draws = _DRAWS if x.ndim == 1 else _DRAWS // 5
        value = float(np.mean([experiment.measure.draw(c, x, rng) for _ in range(draws)]))
    else:
        return None
    claim = experiment.statement
    bound = float(bound_at(claim, experiment.float_values(c, x)))
    if bound and _OF_THE_INPUT & set(claim.parameters):
        return value / bound, 1.0
    return value, bound


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
