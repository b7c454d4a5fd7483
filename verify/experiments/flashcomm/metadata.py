"""How the group quantiser's metadata are stored, and what they cost: the claims bound to the implementation."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.flashcomm.wire import message_from_bytes, wire_bytes
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.flashcomm.cases import (
    made,
    message_of,
    quantiser_of,
    read_of,
    vector_cases,
    vectors,
)
from commbounds.verify.experiments.flashcomm.quantiser import formats, groups_of, rounding
from commbounds.verify.family import Family
from commbounds.verify.space import Space
from commbounds.verify.study import Case, Curve, Outcome, Study, Unmeasured

_G = "flashcomm.groupquant."
_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_TINY = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-14, "bfloat16": 2.0**-126}
"""The smallest normal number of a format: below, its roundoff is absolute."""


def largest_errors(c: Any, x: Array, low: Array, scale: Array) -> Array:
    """What an entry of each group of `x` can be off at most, its stored scale given, by the book; in float64."""
    starts = np.arange(0, x.size, c.group)
    span = np.maximum.reduceat(x, starts).astype(np.float64) - np.minimum.reduceat(x, starts).astype(np.float64)
    values = {
        "step": scale.astype(np.float64),
        "offset": np.abs(low.astype(np.float64)),
        "span": span,
        "roundoff": _ROUNDOFF[c.metadata],
        "tiny": _TINY[c.metadata],
        "width": c.width,
    }
    return np.asarray(claims()[_G + "stored"].bound(**values))


def _stored(cls: Any, case: Case) -> Outcome:
    """The group whose error exceeds the bound by most, or stays below it by least."""
    c = made(cls, case)
    about, y, wide = (
        case.once(message_of, cls).ranges,
        case.once(read_of, cls).astype(np.float64),
        case.array.astype(np.float64),
    )
    bounds = largest_errors(c, case.array, about.exact_low, about.scale)
    worst, found = -np.inf, None
    for part, s, low, bound in zip(groups_of(wide, c.group), about.scale, about.exact_low, bounds, strict=True):
        error = float(np.abs(y[part] - wide[part]).max())
        if error - bound > worst:
            values = {
                "step": float(s),
                "offset": abs(float(low)),
                "span": float(np.ptp(wide[part])),
                "roundoff": _ROUNDOFF[c.metadata],
                "tiny": _TINY[c.metadata],
                "width": c.width,
            }
            worst, found = error - bound, Outcome(error, values, rounding(case.array[part]))
    assert found is not None
    return found


def _subnormal(_budget: Budget) -> Iterator[Case]:
    """Scales, and in the end zero points too, below the normal numbers of float16, and offsets beside them."""
    for scale in (1e-3, 1e-4, 1e-5, 1e-6):
        for seed, (width, offset) in enumerate(((1, 0.0), (4, 0.0), (8, 0.0), (8, 2.0**-10))):
            x = (inputs.family("normal", 640, seed, scale, np.float64) + offset).astype(np.float32)
            settings = {"width": width, "group": 128, "metadata": "float16", "family": "normal", "n": 640}
            yield Case({**settings, "seed": seed, "scale_of_x": scale, "offset": offset}, x)


def _rounded_away(_budget: Budget) -> Iterator[Case]:
    """Metadata that rounding takes as far as it can: a zero point and a scale to zero, a scale by half a spacing."""
    smallest = 2.0**-24
    for low, span in ((0.49, 0.49), (0.0, 0.49)):
        x = np.array([low, low + span]) * smallest
        yield Case({"width": 1, "group": 2, "metadata": "float16", "family": "rounded to zero"}, x.astype(np.float32))
    for power in (-10, 10):
        x = np.array([0.0, 255.0, 100.0]) * (1 + 2.0**-8) * 2.0**power
        yield Case({"width": 8, "group": 4, "metadata": "bfloat16", "family": "rounded down"}, x.astype(np.float32))


def _stored_corpus(budget: Budget) -> Iterator[Case]:
    yield from formats(budget)
    yield from _subnormal(budget)
    yield from _rounded_away(budget)


def _inflation(cls: Any, case: Case) -> Outcome | Unmeasured:
    c = made(cls, case)
    wide = case.array.astype(np.float64)
    exact = np.array([np.ptp(wide[part]) for part in groups_of(wide, c.group)]) / c.top
    live = exact > 0
    stored = case.once(message_of, cls).ranges.scale[live].astype(np.float64)
    if (exact[live] < stored * 1e-100).any():
        return Unmeasured("a stored scale is more than 1e100 times the exact one: float64 holds no square of that")
    ratio = float((stored / exact[live]).max())
    # both scales are rounded to the dtype, and the power is computed with a few roundings
    slack = 16 * ratio * float(np.finfo(case.array.dtype).eps)
    return Outcome(ratio, {"theta": c.theta, "smallest_scale": float(exact[live].min())}, slack)


def _just_above(_budget: Budget) -> Iterator[Case]:
    yield from (_just_above_case(theta, power) for theta in (1, 2, 8, 10, 16) for power in (-3, 0, 5))
    for theta in (16, 32, 127):
        for scale in (1.0, 1e-3):
            x = inputs.family("normal", 640, theta, scale * 2.0 ** (-64 / theta), np.float64)
            settings = {"width": 8, "group": 128, "scale": "log2", "theta": theta, "family": "below the smallest"}
            yield Case(settings, x)


def _inflation_cases(budget: Budget) -> Iterator[Case]:
    for theta in (1, 8, 10):
        yield from vectors(np.float64, scale="log2", theta=theta)(budget)


def _just_above_case(theta: int, power: int) -> Case:
    settings = {"width": 1, "group": 2, "scale": "log2", "theta": theta, "family": "just above a power"}
    return Case(settings, np.array([0.0, 2.0 ** (power / theta) * (1 + 1e-12)]))


_INFLATED = Curve(
    "theta", "scales just above a power", [(float(v), _just_above_case(v, 3)) for v in (1, 2, 4, 8, 10, 16)]
)

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
    "flashcomm.groupquant",
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

METADATA = (
    Study(
        _G + "stored",
        "GroupQuantizer",
        _stored,
        known=quantiser_of,
        corpus=_stored_corpus,
        cases=vector_cases(np.float32, metadata="bfloat16"),
    ),
    Study(
        _G + "log2_inflation",
        "GroupQuantizer",
        _inflation,
        known=quantiser_of,
        corpus=_inflation_cases,
        extremal=_just_above,
        cases=vector_cases(scale="log2", theta=8),
        curves=[_INFLATED],
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
