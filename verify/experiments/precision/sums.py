"""Simulated all-reduces in rounded arithmetic: the space of their cases, and what is read off."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Array, Integers
from commbounds.collectives.precision.simulation import SIMULATED, rounded
from commbounds.theory.precision.formats import FORMATS, Format
from commbounds.theory.rational import exact_sum
from commbounds.verify.experiments.dense.cases import FAMILIES
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Settings, Space
from commbounds.verify.study import Case, Curve

PAIRS = {
    **{name: (name, name) for name in FORMATS},
    "bfloat16, added in float32": ("float32", "bfloat16"),
    "float16, added in float32": ("float32", "float16"),
    "float32, added in float64": ("float64", "float32"),
    "float8_e4m3fn, added in float16": ("float16", "float8_e4m3fn"),
}
"""Name -> (accumulator, wire)."""
_HOW = ("schedule", "accumulate", "wire", "per_hop", "own", "kept", "rounding", "average", "nodes")
"""What `simulated_allreduce` is asked for."""


def result(implementation: Any, x: Array, settings: Settings, **changed: Any) -> Array:
    """What every rank holds, (P, n)."""
    how = {name: settings[name] for name in _HOW} | changed
    rng = np.random.default_rng(settings["seed"]) if how["rounding"] == "stochastic" else None
    held: Array = implementation(x, **how, rng=rng)
    return held


def bits(x: Array) -> Integers:
    """Of float64 numbers, those of any NaN the same."""
    return np.where(np.isnan(x), np.nan, x).view(np.int64)


def exact_columns(x: Array) -> tuple[tuple[Fraction, Fraction], ...]:
    """Sum and sum of the magnitudes of every column: many cases have the same stack."""
    return _exact_columns(x.tobytes(), *x.shape)


@lru_cache(maxsize=1 << 10)
def _exact_columns(stack: bytes, P: int, n: int) -> tuple[tuple[Fraction, Fraction], ...]:
    columns = np.frombuffer(stack).reshape(P, n).T.tolist()
    return tuple((exact_sum(column), exact_sum(map(abs, column))) for column in columns)


def late_curve(family: Family, axis: str, values: Sequence[Any], label: str, by: str = "", **fixed: Any) -> Curve:
    """As `Family.over`, of cases that are made when they are asked for: large ones, or rounded by a kernel."""

    def points(seed: int) -> Iterator[tuple[None, list[Case]]]:
        for value in values:
            yield None, [family.case(family.space.at(**{by or axis: value, "seed": seed % 1000, **fixed}))]

    return Curve(axis, label, points)


# --- stacks -----------------------------------------------------------------------------------------------------------


def _hostile(rng: np.random.Generator, P: int, n: int) -> Array:
    """Infinities, NaN, zeros of both signs and numbers."""
    return rng.choice(
        (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan), (P, n), p=(0.3, 0.2, 0.2, 0.24, 0.02, 0.02, 0.02)
    )


def _beyond(rng: np.random.Generator, P: int, n: int, form: Format) -> Array:
    """One, and what one is lost beside, of both signs."""
    big = 2.0 ** (form.digits + 1)
    return rng.choice((1.0, big, -big), (P, n))


def _half_a_gap(rng: np.random.Generator, P: int, n: int, form: Format) -> Array:
    """One, and halves of its gap that are lost one by one, and quarters."""
    half = 2.0**-form.digits
    return np.vstack([np.ones((1, n)), rng.choice((half, half, half / 2, 0.0), (P - 1, n))])


def _lost(rng: np.random.Generator, P: int, n: int, form: Format) -> Array:
    """One divided by P is rounded as far as can be, and every further term is lost in the sum."""
    u = float(form.unit)
    first = rounded(P * (1.0 + 2.0 * u * np.arange(n)), form.name)
    return np.vstack([first[None], np.full((P - 1, n), P * u * rng.choice((1 - 2 * P * u, 0.5)))])


STACKS: Mapping[str, Callable[[np.random.Generator, int, int], Array]] = {**FAMILIES, "not finite": _hostile}
"""What ranks hold, by name."""
_OF_FORMAT: Mapping[str, Callable[[np.random.Generator, int, int, Format], Array]] = {
    "beyond the significand": _beyond,
    "half a gap": _half_a_gap,
    "lost one by one": _lost,
    "largest": lambda _, P, n, form: np.full((P, n), float(form.largest)),
    "largest, the last negative": lambda _, P, n, form: (
        float(form.largest) * np.where(np.arange(P) == P - 1, -1.0, 1.0)[:, None].repeat(n, axis=1)
    ),
    "largest, signs in turn": lambda _, P, n, form: (
        float(form.largest) * np.where(np.arange(P) % 2, -1.0, 1.0)[:, None].repeat(n, axis=1)
    ),
    "P/2 smallest": lambda _, P, n, form: np.full((P, n), P / 2 * float(form.smallest)),
    "P/2 smallest on one rank": lambda _, P, n, form: np.where(
        np.arange(P)[:, None] == 0, P / 2 * float(form.smallest), np.zeros(n)
    ),
}
"""The same in the wire's format."""


def stack(P: int, n: int, data: str, wire: str, scale: float | None, seed: int) -> Array:
    """What ranks hold, as numbers of the wire's format; with a scale, so many times entries below two."""
    rng = np.random.default_rng([seed, P, n])
    x = STACKS[data](rng, P, n) if data in STACKS else _OF_FORMAT[data](rng, P, n, FORMATS[wire])
    size = float(np.abs(x).max())
    if scale and 0 < size < np.inf:
        x = np.ldexp(x, 1 - math.frexp(size)[1]) * scale
    return rounded(x, wire)


def _nodes(P: int, schedule: str) -> int:
    return next(nodes for nodes in (3, 2, 1) if P % nodes == 0) if schedule == "hierarchical" else 1


TEXTBOOK = ("beyond the significand", "half a gap")
SPACE = Space(
    stack,
    {
        "P": RANKS,
        "schedule": SIMULATED,
        "nodes": (Of("3, 2 or 1, if there are nodes", _nodes),),
        "formats": tuple(PAIRS),
        "accumulate": (Of("that of the formats", lambda formats: PAIRS[formats][0]),),
        "wire": (Of("that of the formats", lambda formats: PAIRS[formats][1]),),
        "per_hop": (True,),
        "own": ("as sent",),
        "kept": ("as sent",),
        "rounding": ("nearest",),
        "average": (None,),
        "n": (Of("P + 1", lambda P: P + 1), 1, Of("2 P", lambda P: 2 * P)),
        "data": ("normal", *TEXTBOOK, *STACKS),
        "scale": (None,),
    },
).search(P=(1, 12), n=(1, 30), scale=[2.0**power for power in (-20, -11, -5, 1, 7, 13, 20)])
"""All schedules and formats."""
