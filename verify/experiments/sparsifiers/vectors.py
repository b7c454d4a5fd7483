"""Test vectors: sparsifiers."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.compressors._random import fill_bounded, key_from
from commbounds.compressors.sparsifiers import (
    COMPRESSORS,
    AdaptiveSparsification,
    BlockTopK,
    ChunkTopK,
    HardThreshold,
    Identity,
    RandK,
    TopK,
)
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.compressor_cases import (
    BAD,
    MOST,
    WIDE,
    Setting,
    compressor,
    law_case,
    parameters_of,
    vector_cases,
)
from commbounds.verify.vectors.inputs import array, flags_of

SETTINGS: tuple[Setting, ...] = (
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
)


def _randomness(compressor: Any, name: str, x: Any, seed: int) -> dict[str, Any]:
    """What a sparsifier draws on a hostile vector: an entry's place, or a subset by the draws that make it."""
    if isinstance(compressor, AdaptiveSparsification):
        return {"u": 0.5}
    if not isinstance(compressor, RandK):
        return {}
    if compressor.k > x.size:
        return {"seed": seed}
    n, count = x.size, min(compressor.k, x.size - compressor.k)
    key, draws = key_from(np.random.default_rng(seed)), np.empty(count, np.int64)
    fill_bounded(key, 0, n - count + 1, draws)
    held = {"seed": seed, "key": f"0x{int(key):016x}", "generator": "splitmix64 bounded"}
    return {**held, "draws": draws, "left out": count < compressor.k}


def _adaptive() -> Iterator[VectorCase]:
    x, last = array([1.0, -1.0, 0.0, 2.0], "float32"), 1 - 2.0**-53
    for u, why in (
        (0.0, "The first nonzero entry."),
        (0.25 - 2.0**-54, "Just before the partial sum of the first entry."),
        (0.25, "The partial sum of the first entry is reached, not exceeded: the next one."),
        (0.5, "A zero is never drawn: the entry behind it is."),
        (last, "The largest u: the last nonzero entry."),
    ):
        flags = (*flags_of(x), "uniforms on the edge")
        yield VectorCase(f"u={u.hex()}", why, {"x": x}, {}, {"u": u}, flags, law=u == last)


def _drawn_subsets() -> Iterator[VectorCase]:
    x, parameters = array([1.0, -2.0, 3.0, 5.0], "float32"), parameters_of(RandK(2))
    for draws, why in (
        ([0, 0], "The second draw is in the set already, and its own index joins."),
        ([2, 3], "The largest draws."),
        ([1, 2], "Two different draws."),
    ):
        yield VectorCase(
            f"draws {draws}", why, {"x": x}, parameters, {"draws": np.array(draws)}, flags_of(x), law=draws == [1, 2]
        )


LAWS = (TopK(2), BlockTopK(1, block=2), ChunkTopK(1, chunk=2), HardThreshold(2), Identity())
"""Those whose output has its law beside it."""
MORE = {"AdaptiveSparsification": _adaptive, "RandK": _drawn_subsets}
"""Cases of one compressor alone."""


def cases(name: str) -> list[VectorCase]:
    """Those of the compressor of this name."""
    found = vector_cases(name, SETTINGS, randomness=_randomness)
    if name in MORE:
        found += MORE[name]()
    return found + [law_case(c) for c in LAWS if type(c).__name__ == name]


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return [compressor(name, partial(cases, name)) for name in COMPRESSORS]
