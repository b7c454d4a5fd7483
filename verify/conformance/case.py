"""`CheckCase`: one input of a subject and its seed."""

import base64
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from commbounds.array_types import Array, Mask


@dataclass(frozen=True, eq=False)
class CheckCase:
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
    kind : str
        What kind of run or stack it is, if it is one of a kind.
    """

    x: Array = field(repr=False)
    seed: int = 0
    label: str = ""
    kind: str = ""


def place(index: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The place in an array of that shape of an entry of it laid flat."""
    return tuple(int(i) for i in np.unravel_index(index, shape))


def first_place(wrong: Mask) -> tuple[int, ...] | None:
    """The first place where something is wrong; None if nothing is."""
    places = np.flatnonzero(wrong)
    return place(places[0], wrong.shape) if places.size else None


def literal(x: Array) -> str:
    """A Python expression for `x`, which needs ``np`` (and for long ones ``base64, zlib``)."""
    if x.size <= 64:
        return f"np.array({x.astype(np.float64).tolist()}, dtype={str(x.dtype)!r})"
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(x).tobytes(), 9)).decode()
    unpacked = f"zlib.decompress(base64.b64decode({packed!r}))"
    return f"np.frombuffer({unpacked}, dtype={str(x.dtype)!r}).reshape({x.shape}).copy()"
