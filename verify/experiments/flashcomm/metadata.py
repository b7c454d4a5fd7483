"""How the group quantiser's metadata are stored, and what they cost: the claims bound to the implementation."""

from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.flashcomm.wire import message_from_bytes, wire_bytes
from commbounds.theory import claims
from commbounds.verify.experiments.flashcomm.cases import GroupCoded, quantised, vectors
from commbounds.verify.experiments.flashcomm.quantiser import STORED, rounding
from commbounds.verify.family import Family
from commbounds.verify.space import Settings, Space
from commbounds.verify.study import Curve, Outcome, Study, Unmeasured, over

_G = "flashcomm.groupquant"
_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_TINY = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-14, "bfloat16": 2.0**-126}
"""The smallest normal number of a format: below, its roundoff is absolute."""


def _symbols(c: Any, x: Array, low: Array, scale: Array) -> dict[str, Any]:
    """What the book's bound is made of in each group of `x`, its stored scale given; in float64."""
    starts = np.arange(0, x.size, c.group)
    return {
        "step": scale.astype(np.float64),
        "offset": np.abs(low.astype(np.float64)),
        "span": np.maximum.reduceat(x, starts).astype(np.float64) - np.minimum.reduceat(x, starts).astype(np.float64),
        "roundoff": _ROUNDOFF[c.metadata],
        "tiny": _TINY[c.metadata],
        "width": c.width,
    }


def largest_errors(c: Any, x: Array, low: Array, scale: Array) -> Array:
    """What an entry of each group of `x` can be off at most, its stored scale given, by the book; in float64."""
    return np.asarray(claims()[f"{_G}.stored"].bound(**_symbols(c, x, low, scale)))


def _stored(found: GroupCoded) -> Outcome:
    """The group whose error exceeds the bound by most, or stays below it by least."""
    about, off = found.ranges, np.abs(found.read - found.wide)
    errors = np.array([off[part].max() for part in found.groups])
    values = _symbols(found.c, found.x, about.exact_low, about.scale)
    g = int(np.argmax(errors - claims()[f"{_G}.stored"].bound(**values)))
    chosen = {name: float(v[g]) if isinstance(v, np.ndarray) else v for name, v in values.items()}
    return Outcome(float(errors[g]), chosen, rounding(found.x[found.groups[g]]))


def _inflation(found: GroupCoded) -> Outcome | Unmeasured:
    exact = np.array(found.steps)
    live = exact > 0
    stored = found.ranges.scale[live].astype(np.float64)
    if (exact[live] < stored * 1e-100).any():
        return Unmeasured("a stored scale is more than 1e100 times the exact one: float64 holds no square of that")
    ratio = float((stored / exact[live]).max())
    # both scales are rounded to the dtype, and the power is computed with a few roundings
    slack = 16 * ratio * float(np.finfo(found.x.dtype).eps)
    return Outcome(ratio, {"smallest_scale": float(exact[live].min())}, slack)


_INFLATED = quantised(_G, vectors(scale=("log2",), theta=(8, 1, 2, 10, 16)))


def _just_above(theta: int, power: int) -> Settings:
    """A scale just above a power."""
    data = (0.0, 2.0 ** (power / theta) * (1 + 1e-12))
    return _INFLATED.space.at(theta=theta, data=data, n=2, width=1, group=2)


_ABOVE = [_just_above(theta, power) for theta in (1, 2, 8, 10, 16) for power in (-3, 0, 5)]
_BELOW = _INFLATED.space.every(
    theta=(16, 32, 127),
    moved=lambda theta: [(scale * 2.0 ** (-64 / theta), 0.0) for scale in (1.0, 1e-3)],
    data=["normal"],
    n=[640],
    width=[8],
    group=[128],
)
"""Scales below the smallest."""
_POWERS = [_INFLATED.case(_just_above(theta, 3)) for theta in (1, 2, 4, 8, 10, 16)]

# --- sizes -----------------------------------------------------------------------------------------------------------

_METABITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}


def _wire(implementation: Any, x: Array, width: int, group: int, metadata: str) -> int:
    """The bytes that are sent, in bits; -1 where the message counts otherwise, or they read as another vector."""
    c = implementation(width, group, metadata=metadata)
    message = c.compress(x)
    sent = wire_bytes(message)
    read = c.decompress(message_from_bytes(sent, c, x.size, x.dtype))
    right = 8 * sent.size == message.bits and read.tobytes() == c.decompress(message).tobytes()
    return 8 * sent.size if right else -1


_SIZED = Family(
    _G,
    "GroupQuantizer",
    Space(
        lambda n: np.linspace(-1, 1, n).astype(np.float32),
        {"n": (1024,), "width": (4,), "group": (128,), "metadata": ("float16",)},
    ),
    lambda n, group, metadata: {"groups": -(-n // group), "metabits": _METABITS[metadata]},
    _wire,
    searched=False,
)
_SIZES = _SIZED.every(
    n=lambda level: (8, 16, 40, 128, 256, 1024)[: 4 + level],
    width=range(1, 9),
    group=(1, 3, 4, 8, 16, 128),
    metadata=("float32", "float16", "bfloat16"),
)
_BITS = Curve(
    "bits", "groups of 128, float16 metadata", [(float(w), _SIZED.case(_SIZED.space.at(width=w))) for w in range(1, 9)]
)

METADATA: tuple[Study, ...] = (
    *STORED.studies(_stored, "stored"),
    *_INFLATED.studies(
        _inflation,
        "log2_inflation",
        extremal=_INFLATED.of([*_ABOVE, *_BELOW]),
        curves=[over("theta", "scales just above a power", _POWERS)],
    ),
    *_SIZED.studies(
        lambda found: found, "wire", grid=_SIZES, corpus=None, enumerated="sizes, widths, groups and formats"
    ),
    *_SIZED.studies(
        lambda found, n: Fraction(found, n),
        "value_bits",
        grid=_SIZES,
        corpus=None,
        enumerated="sizes, widths and groups",
        curves=[_BITS],
    ),
)
"""The studies of stored metadata and of sizes."""
