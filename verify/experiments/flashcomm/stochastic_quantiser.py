"""Stochastic rounding between levels: the claims bound to the implementation."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.flashcomm.cases import made, vector_cases, vector_grid, vectors
from commbounds.verify.experiments.flashcomm.quantiser import ENUMERATED, groups_of, rounding
from commbounds.verify.study import Case, Outcome, Stream, Study

Array = NDArray[Any]
_S = "flashcomm.stochastic."


def _law_moments(c: Any, case: Case) -> tuple[list[Fraction], list[Fraction]]:
    """Mean and variance of every entry, from the law."""
    law = c.law(case.array)
    means = [sum((p * y[i] for p, y in law), Fraction(0)) for i in range(len(case.array))]
    squares = [sum((p * y[i] ** 2 for p, y in law), Fraction(0)) for i in range(len(case.array))]
    return means, [q - m * m for q, m in zip(squares, means, strict=True)]


def _bias(cls: Any, case: Case) -> Outcome | None:
    means, _ = _law_moments(made(cls, case), case)
    x = [Fraction(v) for v in case.array]
    return Outcome(max(abs(m - v) for m, v in zip(means, x, strict=True)) / max(abs(v) for v in x), {})


def _variance(cls: Any, case: Case) -> Outcome | None:
    c = made(cls, case)
    _, variances = _law_moments(c, case)
    x, worst = [Fraction(v) for v in case.array], Fraction(0)
    for part in groups_of(x, c.group):
        span = max(x[part]) - min(x[part])
        if span:
            worst = max(worst, max(variances[part]) * (2**c.width - 1) ** 2 / span**2)
    return Outcome(worst, {"width": c.width})


def _largest_draw(cls: Any, case: Case) -> Outcome | None:
    """The largest error in steps over all outcomes, or with the two extreme uniforms injected."""
    c = made(cls, case)
    if case.settings.get("exact"):
        x, worst = [Fraction(v) for v in case.array], Fraction(0)
        for part in groups_of(x, c.group):
            span = max(x[part]) - min(x[part])
            for _, y in c.law(case.array) if span else ():
                worst = max(
                    worst, *(abs(a - b) * (2**c.width - 1) / span for a, b in zip(x[part], y[part], strict=True))
                )
        return Outcome(worst, {"width": c.width})
    steps, worst_float, slack = c.compress_with(case.array, np.zeros_like(case.array)).ranges.scale, 0.0, 0.0
    for u in (0.0, 1 - 2.0**-53 if case.array.dtype == np.float64 else 1 - 2.0**-24):
        y = c.decompress(c.compress_with(case.array, np.full_like(case.array, u)))
        for part, s in zip(groups_of(y, c.group), steps, strict=True):
            if s > 0 and np.ptp(case.array[part]) > 0:
                largest, room = (
                    float(np.abs(y[part] - case.array[part]).max() / s),
                    rounding(case.array[part]) / float(s),
                )
                if largest - room > worst_float - slack:
                    worst_float, slack = largest, room
    return Outcome(worst_float, {"width": c.width}, slack)


def _above_a_level(_budget: Budget) -> Iterator[Case]:
    for width in range(1, 9):
        x = np.array([0.0, 2**width - 1.0, 2.0**-40])
        yield Case({"width": width, "group": 4, "family": "just above a level"}, x)


def _half_way_stochastic(_budget: Budget) -> Iterator[Case]:
    for width in (1, 2, 3):
        x = np.array([Fraction(0), Fraction(2**width - 1), Fraction(1, 2)], dtype=object)
        yield Case({"width": width, "group": 4, "exact": True, "family": "half-way"}, x)


def _stream(c: Any, x: Array) -> Stream:
    """What the implementation draws for the entries of `x` that lie on no level: upper codes less their probability."""
    scale = float(c.compress_with(x, np.zeros_like(x)).ranges.scale[0])
    level = (x.astype(np.float64) - float(x.min())) / scale
    inside = np.flatnonzero(np.abs(level - np.rint(level)) > 1e-3)
    expected = level[inside]

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        drawn = [c.compress(x, rng).codes[inside] - expected for _ in range(-(-count // inside.size))]
        return np.concatenate(drawn)[:count]

    return Stream(f"{c.width} bits", draw, -1.001, 1.001, unit=1.0, cost=1)


def _streams(cls: Any) -> list[Stream]:
    return [_stream(cls(width, 512), inputs.family("normal", 512, width, 1.0, np.float32)) for width in (1, 4, 8)]


STOCHASTIC = (
    Study(
        _S + "unbiased",
        "StochasticGroupQuantizer",
        _bias,
        grid=vector_grid(),
        enumerated=ENUMERATED,
        streams=_streams,
    ),
    Study(
        _S + "variance",
        "StochasticGroupQuantizer",
        _variance,
        grid=vector_grid(),
        enumerated=ENUMERATED,
        extremal=_half_way_stochastic,
    ),
    Study(
        _S + "error",
        "StochasticGroupQuantizer",
        _largest_draw,
        grid=vector_grid(),
        enumerated=ENUMERATED,
        corpus=vectors(),
        cases=vector_cases(),
        extremal=_above_a_level,
    ),
)
"""In the order of the book."""
