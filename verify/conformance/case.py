"""`Case`: one input of a subject and its seed; and how a failing one is made small."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Case", "literal", "shrunk"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Case:
    """What a subject is called with.

    Parameters
    ----------
    x : array
        (n,) or (m, n) for a compressor; (T, n) or (T, m, n) for a stateful subject, one row a step; (P, n) for an
        all-reduce, one row a rank.
    seed : int
        Handed to the subject.
    label : str
        Where it comes from, in words.
    """

    x: Array = field(repr=False)
    seed: int = 0
    label: str = ""


def shrunk(
    case: Case, fails: Callable[[Case], bool], admits: Callable[[Array], bool], tries: int = 400, fixed: int = 0
) -> Case:
    """A smaller case that fails too: shorter, with more zeros, with simpler numbers; greedy.

    Parameters
    ----------
    case : Case
        One that fails.
    fails : callable (case) -> bool
        Whether a case fails.
    admits : callable (array) -> bool
        Which arrays the subject may be called with.
    tries : int
        Most calls of `fails`; long arrays count for one more every 4096 entries.
    fixed : int
        Axes at the end whose length must not change.
    """
    best, left = case, tries
    improved = True
    while improved and left > 0:
        improved = False
        for x in _simpler(best.x, fixed):
            if left <= 0:
                break
            if x.size == 0 or not np.isfinite(x.astype(np.float64)).all() or not admits(x):
                continue
            left -= 1 + x.size // 4096
            smaller = Case(x, best.seed, best.label)
            if fails(smaller):
                best, improved = smaller, True
                break
    return best


def _simpler(x: Array, fixed: int) -> Iterator[Array]:
    """Arrays that are simpler than `x`, the boldest steps first."""
    for axis in range(x.ndim - 1 - fixed, -1, -1):
        n = x.shape[axis]
        if axis < x.ndim - 1:  # few rows at once: leaving some out does not lead there where not every number will do
            for few in (k for k in (1, 2, 3, 4, 5, 6, 8) if k < n):
                for part_of in (range(few), range(n - few, n)):
                    yield np.ascontiguousarray(np.take(x, part_of, axis))
        for part in (2, 4, 8, 16, 64, 256):
            size = n // part
            for start in range(0, n if size else 0, max(size, 1)):
                kept = np.r_[0:start, min(start + size, n) : n]
                if kept.size:
                    yield np.ascontiguousarray(np.take(x, kept, axis))
        if n <= 64:
            for i in range(n):
                if n > 1:
                    yield np.ascontiguousarray(np.delete(x, i, axis))
    flat = x.ravel()
    places = np.flatnonzero(flat)
    for zeroed in np.array_split(places, min(16, places.size)) if places.size else ():
        yield _with(x, zeroed, 0.0)
    wide = flat.astype(np.float64)
    largest = float(np.abs(wide).max())
    if largest not in (0.0, 1.0) and np.isfinite(largest):
        yield (x.astype(np.float64) / largest).astype(x.dtype)
    rounded = np.rint(wide).astype(x.dtype)
    if (rounded != flat).any():
        yield rounded.reshape(x.shape)
    for place in places[:64] if places.size <= 64 else ():
        value = float(wide[place])
        for simple in (0.0, 1.0, -1.0, float(np.rint(value)), float(np.float16(value))):
            if _complexity(simple) < _complexity(value):
                yield _with(x, np.array([place]), simple)


def _complexity(value: float) -> tuple[int, int]:
    if not np.isfinite(value):
        return 9, 0
    return (len(repr(abs(value))), int(value < 0)) if value not in (0.0, 1.0) else (int(value), 0)


def _with(x: Array, places: NDArray[np.int64], value: float) -> Array:
    changed = x.copy()
    changed.reshape(-1)[places] = value
    return changed


def literal(x: Array) -> str:
    """A Python expression for `x`, which needs ``np`` (and for long ones ``base64, zlib``)."""
    if x.size <= 64:
        return f"np.array({x.astype(np.float64).tolist()}, dtype={str(x.dtype)!r})"
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(x).tobytes(), 9)).decode()
    unpacked = f"zlib.decompress(base64.b64decode({packed!r}))"
    return f"np.frombuffer({unpacked}, dtype={str(x.dtype)!r}).reshape({x.shape}).copy()"
