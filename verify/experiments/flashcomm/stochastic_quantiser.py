"""Stochastic rounding between levels: the claims bound to the implementation."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.flashcomm.cases import (
    in_steps,
    law_of,
    made,
    quantiser_of,
    vector_cases,
    vector_grid,
    vectors,
)
from commbounds.verify.experiments.flashcomm.quantiser import ENUMERATED, groups_of, rounding, worst_in_steps
from commbounds.verify.marginals import Marginals, kernel_marginals
from commbounds.verify.study import Case, Outcome, Stream, Study

_S = "flashcomm.stochastic."


def _law_moments(cls: Any, case: Case) -> tuple[list[Fraction], list[Fraction]]:
    """Mean and variance of every entry, from the law."""
    law = case.once(law_of, cls)
    means = [sum((p * y[i] for p, y in law), Fraction(0)) for i in range(len(case.array))]
    squares = [sum((p * y[i] ** 2 for p, y in law), Fraction(0)) for i in range(len(case.array))]
    return means, [q - m * m for q, m in zip(squares, means, strict=True)]


def _bias(cls: Any, case: Case) -> Outcome:
    if not case.settings.get("exact"):
        return _kernel_bias(cls, case)
    means, _ = case.once(_law_moments, cls)
    x = [Fraction(v) for v in case.array]
    return Outcome(max(abs(m - v) for m, v in zip(means, x, strict=True)) / max(abs(v) for v in x), {})


def _marginals(cls: Any, case: Case) -> Marginals:
    """The kernel's own law, entry by entry: where it goes from the upper to the lower level, bisected."""
    return kernel_marginals(made(cls, case), case.array)


def _kernel_bias(cls: Any, case: Case) -> Outcome:
    """The same of the kernel: no draw, and nothing that the law in exact arithmetic says."""
    law, wide = case.once(_marginals, cls), case.array.astype(np.float64)
    gap, allowance = np.abs(law.mean - wide), _kernel_allowance(law, case.array)
    worst, top = int(np.argmax(gap - allowance)), float(np.abs(wide).max())
    return Outcome(float(gap[worst]) / top, {}, float(allowance[worst]) / top)


def _kernel_allowance(law: Marginals, x: Array) -> Array:
    """What a mean may be off: a probability by a cell of the uniforms' grid, and what the levels are rounded by."""
    return law.resolution * np.abs(law.upper - law.lower) + rounding(x)


def _variance(cls: Any, case: Case) -> Outcome:
    c = made(cls, case)
    if not case.settings.get("exact"):
        return _kernel_variance(cls, case)
    _, variances = case.once(_law_moments, cls)
    x, worst = [Fraction(v) for v in case.array], Fraction(0)
    for part in groups_of(x, c.group):
        step = (max(x[part]) - min(x[part])) / (2**c.width - 1)
        worst = max(worst, in_steps(max(variances[part]), step**2))
    return Outcome(worst, {"width": c.width})


def _kernel_variance(cls: Any, case: Case) -> Outcome:
    """The same of the kernel: two levels, and how often it takes the upper one."""
    law, c, wide = case.once(_marginals, cls), made(cls, case), case.array.astype(np.float64)
    worst, slack = 0.0, 0.0
    for part in groups_of(wide, c.group):
        step = float(np.ptp(wide[part])) / c.top
        if step:
            largest = float((law.p * (1.0 - law.p) * (law.upper - law.lower) ** 2)[part].max()) / step**2
            # both levels are rounded; so is the difference of neighbours, relative to their distance
            allowance = 2.0 * largest * 2.0 * rounding(case.array[part]) / step
            if largest - allowance > worst - slack:
                worst, slack = largest, allowance
    return Outcome(worst, {"width": c.width}, slack)


def _kernel_vectors(budget: Budget) -> Iterator[Case]:
    """Vectors of many fractions of a level at every width: bisected, they show the kernel to a cell of its uniforms."""
    for width in range(1, 9):
        for dtype, metadata in ((np.float32, "float32"), (np.float64, "float64")):
            for group, offset in ((512, 0.0), (32, 0.0), (32, -20.0)):
                for seed in range(1 + budget.level):
                    x = inputs.family("normal", 512, 10 * width + seed, 1.0, np.float64) + offset
                    settings = {"width": width, "group": group, "metadata": metadata, "family": "normal", "n": 512}
                    yield Case({**settings, "seed": 10 * width + seed, "offset": offset}, x.astype(dtype))


def _largest_draw(cls: Any, case: Case) -> Outcome:
    """The largest error in steps over all outcomes, or with the two extreme uniforms injected."""
    c = made(cls, case)
    if case.settings.get("exact"):
        x, worst = [Fraction(v) for v in case.array], Fraction(0)
        for part in groups_of(x, c.group):
            step = (max(x[part]) - min(x[part])) / (2**c.width - 1)
            for _, y in case.once(law_of, cls):
                worst = max(worst, *(in_steps(abs(a - b), step) for a, b in zip(x[part], y[part], strict=True)))
        return Outcome(worst, {"width": c.width})
    x_in, one = case.array, 1 - float(np.finfo(case.array.dtype).epsneg)
    steps = c.compress_with(x_in, np.zeros_like(x_in)).ranges.scale
    error, slack = worst_in_steps(
        (float(np.abs(y[part] - x_in[part]).max()), float(s), rounding(x_in[part]))
        for y in (c.decompress(c.compress_with(x_in, np.full_like(x_in, u))) for u in (0.0, one))
        for part, s in zip(groups_of(y, c.group), steps, strict=True)
    )
    return Outcome(error, {"width": c.width}, slack)


def _above_a_level(_budget: Budget) -> Iterator[Case]:
    for width in range(1, 9):
        x = np.array([0.0, 2**width - 1.0, 2.0**-40])
        yield Case({"width": width, "group": 4, "family": "just above a level"}, x)


def _half_way_stochastic(_budget: Budget) -> Iterator[Case]:
    for width in (1, 2, 3):
        x = np.array([Fraction(0), Fraction(2**width - 1), Fraction(1, 2)], dtype=object)
        yield Case({"width": width, "group": 4, "exact": True, "family": "half-way"}, x)


_TOGETHER = 64
"""Entries whose mean is one observation. A test can only bet so much on one that may be anywhere in its range; means
stay near their own, and let it see a bias of a hundredth of a level at the quick budget."""


def _stream(c: Any, x: Array) -> Stream:
    """What the implementation draws for the entries of `x` that lie on no level: upper codes less their probability."""
    scale = float(c.compress_with(x, np.zeros_like(x)).ranges.scale[0])
    level = (x.astype(np.float64) - float(x.min())) / scale
    inside = np.flatnonzero(np.abs(level - np.rint(level)) > 1e-3)
    inside = inside[: inside.size // _TOGETHER * _TOGETHER]
    expected = level[inside]

    def draw(rng: np.random.Generator, count: int) -> Floats:
        calls = -(-count * _TOGETHER // inside.size)
        drawn = [
            (c.compress(x, rng).codes[inside] - expected).reshape(-1, _TOGETHER).mean(axis=1) for _ in range(calls)
        ]
        return np.concatenate(drawn)[:count]

    return Stream(f"{c.width} bits", draw, -1.001, 1.001, unit=1.0, cost=1)


def _streams(cls: Any) -> list[Stream]:
    return [_stream(cls(width, 4096), inputs.family("normal", 4096, width, 1.0, np.float32)) for width in (1, 4, 8)]


STOCHASTIC = (
    Study(
        _S + "unbiased",
        "StochasticGroupQuantizer",
        _bias,
        known=quantiser_of,
        grid=vector_grid(),
        enumerated=ENUMERATED,
        corpus=_kernel_vectors,
        streams=_streams,
    ),
    Study(
        _S + "variance",
        "StochasticGroupQuantizer",
        _variance,
        known=quantiser_of,
        grid=vector_grid(),
        enumerated=ENUMERATED,
        corpus=_kernel_vectors,
        extremal=_half_way_stochastic,
    ),
    Study(
        _S + "error",
        "StochasticGroupQuantizer",
        _largest_draw,
        known=quantiser_of,
        grid=vector_grid(),
        enumerated=ENUMERATED,
        corpus=vectors(),
        cases=vector_cases(),
        extremal=_above_a_level,
    ),
)
"""In the order of the book."""
