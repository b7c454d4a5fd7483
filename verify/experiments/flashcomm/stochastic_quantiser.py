"""Stochastic rounding between levels: the claims bound to the implementation."""

from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.verify import inputs
from commbounds.verify.experiments.flashcomm.cases import GroupCoded, every_vector, in_steps, quantised, vectors
from commbounds.verify.experiments.flashcomm.quantiser import rounding, worst_in_steps
from commbounds.verify.family import Rounded
from commbounds.verify.space import Of
from commbounds.verify.study import Stream


def _moments(found: GroupCoded) -> tuple[Array, Array]:
    """Mean and variance of every entry, from the law."""
    law = [(p, np.array(y, dtype=object)) for p, y in found.law]
    mean = sum(p * y for p, y in law)
    return np.asarray(mean), np.asarray(sum(p * y**2 for p, y in law) - mean * mean)


def _bias(found: GroupCoded) -> Any:
    """Of the law; or of the kernel: no draw, and nothing that the law in exact arithmetic says.

    A mean of the kernel may be off: a probability by a cell of the uniforms' grid, and levels by their rounding.
    """
    top = np.abs(found.wide).max()
    if found.exact:
        return np.abs(_moments(found)[0] - found.wide).max() / top
    law = found.marginals
    gap = np.abs(law.mean - found.wide)
    allowance = law.resolution * np.abs(law.upper - law.lower) + rounding(found.x)
    worst = int(np.argmax(gap - allowance))
    return Rounded(float(gap[worst] / top), float(allowance[worst] / top))


def _variance(found: GroupCoded) -> Any:
    """Of the law; or of the kernel: two levels, and how often it takes the upper one."""
    groups = list(zip(found.groups, found.steps, strict=True))
    if found.exact:
        variance = _moments(found)[1]
        return max(in_steps(variance[part].max(), step**2) for part, step in groups)
    law, worst = found.marginals, Rounded(0.0, 0.0)
    for part, step in groups:
        if step:
            largest = float((law.p * (1.0 - law.p) * (law.upper - law.lower) ** 2)[part].max()) / step**2
            # both levels are rounded; so is the difference of neighbours, relative to their distance
            allowance = 2.0 * largest * 2.0 * rounding(found.x[part]) / step
            if largest - allowance > worst.value - worst.slack:
                worst = Rounded(largest, allowance)
    return worst


def _largest_draw(found: GroupCoded) -> Any:
    """The largest error in steps over all outcomes, or with the two extreme uniforms injected."""
    if found.exact:
        off = np.max([np.abs(np.array(y, dtype=object) - found.x) for _, y in found.law], axis=0)
        return max(in_steps(off[part].max(), step) for part, step in zip(found.groups, found.steps, strict=True))
    c, x, one = found.c, found.x, 1 - float(np.finfo(found.x.dtype).epsneg)
    steps = c.compress_with(x, np.zeros_like(x)).ranges.scale
    return worst_in_steps(
        (float(np.abs(y[part] - x[part]).max()), float(s), rounding(x[part]))
        for y in (c.decompress(c.compress_with(x, np.full_like(x, u))) for u in (0.0, one))
        for part, s in zip(found.groups, steps, strict=True)
    )


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


_S, _C = "flashcomm.stochastic", "StochasticGroupQuantizer"
_ANY = quantised(_S, vectors(), _C)
_MANY_FRACTIONS = vectors().replaced(
    n=(512,),
    data=("normal", "uniform", "student"),
    group=(512, 32),
    moved=((1.0, 0.0), (1.0, -20.0)),
    dtype=("float32", "float64"),
    metadata=(Of("that of the vector", lambda dtype: dtype),),
)
"""Many fractions of a level: bisected, they show the kernel to a cell of its uniforms."""
_KERNEL = quantised(_S, _MANY_FRACTIONS, _C, searched=False)
_EVERY = every_vector(_ANY)

STOCHASTIC = (
    *_KERNEL.studies(_bias, "unbiased", streams=_streams, **_EVERY),
    *_KERNEL.studies(
        _variance,
        "variance",
        extremal=_KERNEL.every(
            width=(1, 2, 3),
            group=[4],
            data=lambda width: [(Fraction(0), Fraction(2**width - 1), Fraction(1, 2))],
            dtype=["object"],
            metadata=["float64"],
            exact=[True],
        ),
        **_EVERY,
    ),
    *_ANY.studies(
        _largest_draw, "error", extremal=_ANY.every(n=[3], width=range(1, 9), data=["just above a level"]), **_EVERY
    ),
)
"""In the order of the book."""
