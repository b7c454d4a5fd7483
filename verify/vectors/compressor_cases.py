"""The cases of every compressor of vectors: hostile ones, uniforms at the edges, and around the switch of levels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.compressors import (
    QSGD,
    AdaptiveSparsification,
    BlockTopK,
    ChunkTopK,
    HardThreshold,
    Identity,
    MaxDithering,
    NaturalCompression,
    NaturalDithering,
    NearestPower,
    RandK,
    ScaledSign,
    Sign,
    StochasticPower,
    TernGrad,
    TopK,
)
from commbounds.verify.vectors.case import Case
from commbounds.verify.vectors.compressors import keyed
from commbounds.verify.vectors.inputs import HOSTILE, REFUSED, array, flags_of, hostile, uniforms

__all__ = ["SETTINGS", "SWITCHES", "hostile_cases", "parameters_of", "switch_cases", "vector_cases"]

MOST = tuple(name for name in HOSTILE if name != "one entry")
BAD = tuple(REFUSED)
WIDE = ("ordinary", "subnormals", "largest")
"""What is taken in float64 as well."""
GRID = {"float32": 24, "float64": 53}
"""Uniforms are multiples of 2 to minus this."""

SETTINGS: tuple[tuple[Any, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (TopK(3), "float32", MOST, BAD),
    (TopK(1), "float32", ("one entry",), ()),
    (TopK(7), "float32", ("ties",), ("powers",)),
    (TopK(3), "float64", WIDE, ()),
    (RandK(2), "float32", tuple(n for n in MOST if n != "largest"), (*BAD, "largest")),
    (RandK(5), "float32", ("ties", "ordinary", "zeros"), ("one entry",)),
    (RandK(2, scaled=False), "float32", ("largest", "subnormals"), ()),
    (RandK(2), "float64", ("ordinary", "subnormals"), ("largest",)),
    (BlockTopK(1, block=3), "float32", (*MOST, "one entry"), BAD),
    (BlockTopK(2, block=1), "float32", ("ties",), ()),
    (BlockTopK(1, block=3), "float64", WIDE, ()),
    (ChunkTopK(1, chunk=4), "float32", (*MOST, "one entry"), BAD),
    (ChunkTopK(3, chunk=4), "float32", ("ties", "ordinary"), ()),
    (ChunkTopK(1, chunk=4), "float64", WIDE, ()),
    (HardThreshold(1.0), "float32", (*MOST, "one entry"), BAD),
    (HardThreshold(Fraction(1, 3)), "float32", ("ordinary", "powers"), ()),
    (HardThreshold(1e300), "float32", ("largest",), ()),
    (HardThreshold(1.0), "float64", WIDE, ()),
    (AdaptiveSparsification(), "float32", (*MOST, "one entry"), BAD),
    (AdaptiveSparsification(), "float64", WIDE, ()),
    (Identity(), "float32", ("ordinary", "negative zeros", "one entry", "subnormals", "largest"), BAD),
    (Identity(), "float64", WIDE, ()),
    (Sign(), "float32", (*MOST, "one entry"), BAD),
    (Sign(zero=0), "float32", ("negative zeros", "one nonzero", "subnormals"), ()),
    (Sign(), "float64", WIDE, ()),
    (ScaledSign(), "float32", (*MOST, "one entry"), BAD),
    (ScaledSign(zero=0), "float32", ("negative zeros", "one nonzero"), ()),
    (ScaledSign(), "float64", WIDE, ()),
    (QSGD(4), "float32", tuple(n for n in (*MOST, "one entry") if n != "largest"), (*BAD, "largest")),
    (QSGD(200), "float32", ("ordinary",), ()),
    (QSGD(4), "float64", ("ordinary", "subnormals"), ("largest",)),
    (MaxDithering(3), "float32", (*MOST, "one entry"), BAD),
    (MaxDithering(3), "float64", WIDE, ()),
    (TernGrad(), "float32", (*MOST, "one entry"), BAD),
    (TernGrad(), "float64", WIDE, ()),
    (NaturalCompression(), "float32", (*MOST, "one entry"), BAD),
    (NaturalCompression(), "float64", WIDE, ()),
    (NaturalDithering(3), "float32", tuple(n for n in (*MOST, "one entry") if n != "largest"), (*BAD, "largest")),
    (NaturalDithering(3), "float64", ("ordinary", "subnormals"), ("largest",)),
    (StochasticPower(Fraction(3, 2)), "float32", (*MOST, "one entry"), BAD),
    (StochasticPower(3), "float64", WIDE, ()),
    (NearestPower(), "float32", (*MOST, "one entry"), BAD),
    (NearestPower(), "float64", WIDE, ()),
)
"""Compressor, dtype, the vectors that it takes, and those that it refuses."""

SWITCHES: dict[str, tuple[Any, tuple[float, ...], tuple[Fraction, ...]]] = {
    "QSGD": (QSGD(4), (3.0, 0.0, -4.0), (Fraction(2, 5), Fraction(0), Fraction(1, 5))),
    "MaxDithering": (
        MaxDithering(4), (4.0, 1.5, -2.25, 0.125), (Fraction(0), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)),
    ),
    "TernGrad": (TernGrad(), (4.0, 1.0, -3.0, 0.0), (Fraction(0), Fraction(1, 4), Fraction(3, 4), Fraction(0))),
    "NaturalCompression": (
        NaturalCompression(), (1.25, -1.5, 7.0, 2.0), (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(0)),
    ),
    "NaturalDithering": (
        NaturalDithering(3), (0.75, -1.0, 0.0, 0.0), (Fraction(1, 5), Fraction(3, 5), Fraction(0), Fraction(0)),
    ),
    "StochasticPower": (
        StochasticPower(3), (1.5, -2.5, 6.0, 9.0), (Fraction(1, 4), Fraction(3, 4), Fraction(1, 2), Fraction(0)),
    ),
}  # fmt: skip
"""Compressor, vector, and with which probability each entry goes to the upper of its two levels."""


def parameters_of(compressor: Any) -> dict[str, Any]:
    """The hyper-parameters of a compressor."""
    return dict(vars(compressor))


def _title(name: str, dtype: str, parameters: dict[str, Any]) -> str:
    return ", ".join([name, dtype, *(f"{key}={value}" for key, value in parameters.items())])


def _randomness(compressor: Any, name: str, x: Any, seed: int) -> dict[str, Any]:
    """What a compressor draws on a hostile vector: from a counter where it is refused or long, else injected."""
    if not compressor.randomised:
        return {}
    if isinstance(compressor, AdaptiveSparsification):
        return {"u": 0.5}
    if isinstance(compressor, RandK) and compressor.k > x.size:
        return {"seed": seed}
    if isinstance(compressor, RandK) or name in ("long", *REFUSED):
        return keyed(compressor, x, seed)
    return {"uniforms": uniforms(seed, x.size, x.dtype.name)}


def hostile_cases(
    compressor: Any, dtype: str, names: tuple[str, ...], refused: tuple[str, ...], randomness: Any = _randomness
) -> Iterator[Case]:
    """A case for every hostile vector, among them those that are to be refused."""
    parameters = parameters_of(compressor)
    about = {**HOSTILE, **REFUSED}
    for name in (*names, *refused):
        x = hostile(name, dtype)
        why = about[name] if name in names or name in REFUSED else f"{about[name]} Refused with these parameters."
        yield Case(
            _title(name, dtype, parameters),
            why,
            {"x": x},
            parameters,
            randomness(compressor, name, x, 100 + list(about).index(name)),
            (*flags_of(x), "halfway") if name == "halfway" else flags_of(x),
            refused=name in refused,
        )


def switch_cases(compressor: Any, entries: tuple[float, ...], up: tuple[Fraction, ...], dtype: str) -> Iterator[Case]:
    """Uniforms at both ends of their range, and next to the probability of the upper level, on either side."""
    x, parameters = array(entries, dtype), parameters_of(compressor)
    unit = Fraction(1, 2 ** GRID[dtype])
    at = [min(math.ceil(p / unit) * unit, 1 - unit) for p in up]
    given = {
        "uniforms 0": ([Fraction(0)] * len(up), "The smallest uniform: up wherever the probability is positive."),
        "largest uniforms": ([1 - unit] * len(up), "The largest uniform: up only where that is certain."),
        "below the switch": ([max(u - unit, Fraction(0)) for u in at], "The last uniforms that still move up."),
        "at the switch": (at, "The first uniforms that stay below: the comparison is strict."),
    }
    for name, (u, why) in given.items():
        yield Case(
            _title(name, dtype, parameters), why, {"x": x}, parameters,
            {"uniforms": array([float(v) for v in u], dtype)}, (*flags_of(x), "uniforms on the edge"),
            law=name == "at the switch",
        )  # fmt: skip


def _adaptive() -> Iterator[Case]:
    x, last = array([1.0, -1.0, 0.0, 2.0], "float32"), 1 - 2.0**-53
    for u, why in (
        (0.0, "The first nonzero entry."),
        (0.25 - 2.0**-54, "Just before the partial sum of the first entry."),
        (0.25, "The partial sum of the first entry is reached, not exceeded: the next one."),
        (0.5, "A zero is never drawn: the entry behind it is."),
        (last, "The largest u: the last nonzero entry."),
    ):
        flags = (*flags_of(x), "uniforms on the edge")
        yield Case(f"u={u.hex()}", why, {"x": x}, {}, {"u": u}, flags, law=u == last)


def _drawn_subsets() -> Iterator[Case]:
    x, parameters = array([1.0, -2.0, 3.0, 5.0], "float32"), parameters_of(RandK(2))
    for draws, why in (
        ([0, 0], "The second draw is in the set already, and its own index joins."),
        ([2, 3], "The largest draws."),
        ([1, 2], "Two different draws."),
    ):
        yield Case(
            f"draws {draws}", why, {"x": x}, parameters, {"draws": np.array(draws)}, flags_of(x), law=draws == [1, 2]
        )


def _deterministic_laws() -> Iterator[tuple[str, Case]]:
    x = array([0.5, -3.0, 2.0, 2.0, 0.0], "float32")
    for compressor in (
        TopK(2), BlockTopK(1, block=2), ChunkTopK(1, chunk=2), HardThreshold(2), Identity(), Sign(), ScaledSign(),
        NearestPower(),
    ):  # fmt: skip
        case = Case(
            "with its law", "The exact output beside the computed one.", {"x": x}, parameters_of(compressor), {},
            flags_of(x), law=True,
        )  # fmt: skip
        yield type(compressor).__name__, case


def vector_cases(name: str) -> list[Case]:
    """All cases of the compressor of this name."""
    cases = [
        case
        for compressor, dtype, names, refused in SETTINGS
        if type(compressor).__name__ == name
        for case in hostile_cases(compressor, dtype, names, refused)
    ]
    if name in SWITCHES:
        for dtype in GRID:
            cases += switch_cases(*SWITCHES[name], dtype)
    if name == "AdaptiveSparsification":
        cases += _adaptive()
    if name == "RandK":
        cases += _drawn_subsets()
    return cases + [case for subject, case in _deterministic_laws() if subject == name]
