"""The curves of a finding: bound and measurement over the claim's natural parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify import gradients, inputs
from commbounds.verify.experiment import Experiment, Implementations, bound_at
from commbounds.verify.finding import Series

__all__ = ["curve"]

Array = NDArray[Any]
_SIZES = (1, 2, 4, 16, 64, 256, 1024, 2410)
_NORMS = {"norm1", "norm2", "norm3", "norminf", "entries", "m"}
_RANDOM = ("normal", "uniform", "laplace", "student", "lognormal", "signs", "sparse")
_DRAWS = 100
_CONCENTRATED = ("constant", "ramp", "alternating")
"""Hostile inputs on which the mean of a few hundred draws is close to its expectation."""


def curve(experiment: Experiment, seed: int, implementations: Implementations) -> Series | None:
    """Bound, worst found, random inputs and real gradients over the natural parameter.

    Parameters
    ----------
    experiment : Experiment
        The binding.
    seed : int
        Seeds the random inputs.

    Returns
    -------
    Series or None
        Where the bound depends on the input itself, measured and bound are both divided by the bound. None where no
        input of the sweep is admissible.
    """
    matrices = len(experiment.domain.shapes[0]) > 1
    cls = experiment.implementation(implementations)
    if experiment.sweep is None or experiment.statement.axis == "n":
        points = [(float(n), experiment.setups(cls, n), n) for n in _SIZES]
        axis, places = "n", [(value, subjects[len(subjects) // 2], n) for value, subjects, n in points if subjects]
        label = "entries"
    else:
        n = 32 if matrices else experiment.drawn_at
        axis, instances = experiment.sweep(cls, n)
        places = [(value, c, n) for value, c in instances]
        label = f"{64} x {n} matrices" if matrices else f"n = {n}"
    rng = np.random.default_rng(seed)
    rows = [(value, row) for value, c, n in places if (row := _row(experiment, c, n, matrices, rng)) is not None]
    if not rows:
        return None
    kinds = sorted({kind for _, row in rows for kind in row["gradients"]})
    return Series(
        label=label,
        axis=axis,
        x=[value for value, _ in rows],
        bound=[row["bound"] for _, row in rows],
        worst=[row["worst"] for _, row in rows],
        random_low=[row["low"] for _, row in rows],
        random_mid=[row["mid"] for _, row in rows],
        random_high=[row["high"] for _, row in rows],
        gradients={kind: [row["gradients"].get(kind, float("nan")) for _, row in rows] for kind in kinds},
    )


def _row(experiment: Experiment, c: Any, n: int, matrices: bool, rng: np.random.Generator) -> dict[str, Any] | None:
    shape = (64, n) if matrices else (n,)
    size = int(np.prod(shape))
    ramp = inputs.CORPUS["ramp"](size).reshape(shape).astype(np.float32)
    readable = not experiment.admits(c, ramp) or experiment.measure.read(c, ramp) is not None
    names = inputs.CORPUS if readable else _CONCENTRATED
    hostile = [inputs.CORPUS[name](size).reshape(shape).astype(np.float32) for name in names]
    if experiment.extremal is not None and (x := experiment.extremal(c, n)) is not None:
        hostile.append(x)
    random = [inputs.FAMILIES[name](rng, size).reshape(shape).astype(np.float32) for name in _RANDOM]
    by_kind = {kind: _slices(kind, n, matrices) for kind in gradients.KINDS}
    relative = bool(_NORMS & set(experiment.statement.parameters)) and not (
        matrices and not {"norm1", "norm2", "norm3", "norminf"} & set(experiment.statement.parameters)
    )

    def measure(x: Array) -> tuple[float, float] | None:
        if not x.any() or not experiment.admits(c, x):
            return None
        reading = experiment.measure.read(c, x)
        try:
            value = reading.value if reading else _mean_of_draws(experiment, c, x, rng)
        except TypeError:  # this measure cannot be sampled
            return None
        bound = float(bound_at(experiment.statement, experiment.float_values(c, x)))
        return (value / bound, 1.0) if relative and bound else (value, bound)

    worst = [pair for x in (*hostile, *random) if (pair := measure(x)) is not None]
    middle = [pair[0] for x in random if (pair := measure(x)) is not None]
    if not worst:
        return None
    low, mid, high = np.quantile(middle, (0.05, 0.5, 0.95)).tolist() if middle else (float("nan"),) * 3
    real = {}
    for kind, vectors in by_kind.items():
        values = [pair[0] for x in vectors if (pair := measure(x)) is not None]
        if values:
            real[kind] = float(np.mean(values))
    top = max(worst)
    return {"bound": top[1], "worst": top[0], "low": low, "mid": mid, "high": high, "gradients": real}


def _mean_of_draws(experiment: Experiment, c: Any, x: Array, rng: np.random.Generator) -> float:
    return float(np.mean([experiment.measure.draw(c, x, rng) for _ in range(_DRAWS)]))


def _slices(kind: str, n: int, matrices: bool) -> list[Array]:
    """Two workers' gradients of a kind: whole matrices, or the first n entries of vectors."""
    sharding, _, phase = kind.partition(", ")
    if matrices:
        stack = gradients.matrices(sharding, phase)
        return [stack[0, worker][:, :n] for worker in (0, 1)]
    vectors = gradients.vectors(sharding, phase)
    # the middle of the vector, where the gradient of the hidden layer is dense
    start = (vectors.shape[-1] - n) // 2
    return [np.ascontiguousarray(vectors[0, worker, start : start + n]) for worker in (0, 1)]
