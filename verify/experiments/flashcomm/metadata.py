"""How the group quantiser's metadata are stored, and what they cost: the claims bound to the implementation."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.theory import claims
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.flashcomm.cases import fits, made, through, vector_cases, vectors
from commbounds.verify.experiments.flashcomm.quantiser import formats, groups_of, rounding
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

_G = "flashcomm.groupquant."
_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_TINY = 2.0**-14
"""The smallest normal number of float16: below, its roundoff is absolute."""


def _stored(cls: Any, case: Case) -> Outcome | None:
    """The group whose error exceeds the bound by most, or stays below it by least."""
    c = made(cls, case)
    if not fits(c, case.array):
        return None
    about, y, wide = (
        c.compress(case.array).ranges,
        through(c, case.array).astype(np.float64),
        case.array.astype(np.float64),
    )
    u, worst, found = _ROUNDOFF[c.metadata], -np.inf, None
    for part, s, low in zip(groups_of(wide, c.group), about.scale, about.exact_low, strict=True):
        span, error = float(np.ptp(wide[part])), float(np.abs(y[part] - wide[part]).max())
        exact_step = span / c.top
        if span == 0 or exact_step < _TINY or 0 < abs(low) < _TINY:
            continue
        bound = float(s) / 2 + u * abs(float(low)) + u * span
        if error - bound > worst:
            values = {"step": float(s), "offset": abs(float(low)), "span": span, "roundoff": u, "width": c.width}
            worst, found = error - bound, Outcome(error, values, rounding(case.array[part]))
    return found


def _inflation(cls: Any, case: Case) -> Outcome | None:
    c = made(cls, case)
    if not fits(c, case.array):
        return None
    about = c.compress(case.array).ranges
    live = (about.exact_scale > 0) & (about.wire_scale > -128)
    if not live.any():
        return None
    ratio = float((about.scale[live].astype(np.float64) / about.exact_scale[live].astype(np.float64)).max())
    # both scales are rounded to the dtype, and the power is computed with a few roundings
    return Outcome(ratio, {"theta": c.theta}, 16 * ratio * float(np.finfo(case.array.dtype).eps))


def _just_above(_budget: Budget) -> Iterator[Case]:
    for theta in (1, 2, 8, 10, 16):
        for power in (-3, 0, 5):
            scale = 2.0 ** (power / theta) * (1 + 1e-12)
            settings = {"width": 1, "group": 2, "scale": "log2", "theta": theta, "family": "just above a power"}
            yield Case(settings, np.array([0.0, scale]))


def _inflation_cases(budget: Budget) -> Iterator[Case]:
    for theta in (1, 8, 10):
        yield from vectors(np.float64, scale="log2", theta=theta)(budget)


def _inflation_curves(cls: Any, _seed: int) -> list[Series]:
    thetas = [1, 2, 4, 8, 10, 16]
    bound = [float(claims()[_G + "log2_inflation"].bound(theta=v)) for v in thetas]
    x = [np.array([0.0, 2.0 ** (3 / v) * (1 + 1e-12)]) for v in thetas]
    worst = []
    for v, pair in zip(thetas, x, strict=True):
        outcome = _inflation(cls, Case({"width": 1, "group": 2, "scale": "log2", "theta": v}, pair))
        assert outcome is not None
        worst.append(float(outcome.measured))
    return [Series("scales just above a power", "theta", [float(v) for v in thetas], bound, worst)]


_METABITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}


def _wire(cls: Any, case: Case) -> Outcome | None:
    c, n = made(cls, case), case.array.size
    if n % 8 or n % c.group:
        return None
    bits = c.compress(case.array).bits
    values = {"n": n, "width": c.width, "groups": n // c.group, "metabits": _METABITS[c.metadata]}
    return Outcome(bits, values)


def _value_bits(cls: Any, case: Case) -> Outcome | None:
    outcome = _wire(cls, case)
    if outcome is None or outcome.values["metabits"] != 16:
        return None
    n, groups = outcome.values["n"], outcome.values["groups"]
    return Outcome(Fraction(outcome.measured, n), {**outcome.values, "group": n // groups})


def _sizes(level: int) -> Iterator[Case]:
    for n in (8, 16, 32, 128, 256, 1024)[: 4 + level]:
        for width in range(1, 9):
            for group in (1, 2, 4, 8, 16, 128):
                for form in ("float32", "float16", "bfloat16"):
                    x = np.linspace(-1, 1, n).astype(np.float32)
                    yield Case({"width": width, "group": group, "n": n, "metadata": form}, x)


def _bits_curve(cls: Any, _seed: int) -> list[Series]:
    x = np.linspace(-1, 1, 1024).astype(np.float32)
    measured = [cls(w, 128, metadata="float16").compress(x).bits / 1024 for w in range(1, 9)]
    bound = [float(claims()[_G + "value_bits"].bound(width=w, group=128)) for w in range(1, 9)]
    return [Series("groups of 128, float16 metadata", "bits", [float(w) for w in range(1, 9)], bound, measured)]


METADATA = (
    Study(
        _G + "stored",
        "GroupQuantizer",
        _stored,
        corpus=formats,
        cases=vector_cases(np.float32, metadata="bfloat16"),
    ),
    Study(
        _G + "log2_inflation",
        "GroupQuantizer",
        _inflation,
        corpus=_inflation_cases,
        extremal=_just_above,
        cases=vector_cases(scale="log2", theta=8),
        curves=_inflation_curves,
    ),
    Study(_G + "wire", "GroupQuantizer", _wire, grid=_sizes, enumerated="sizes, widths, groups and formats"),
    Study(
        _G + "value_bits",
        "GroupQuantizer",
        _value_bits,
        grid=_sizes,
        enumerated="sizes, widths and groups",
        curves=_bits_curve,
    ),
)
"""The studies of stored metadata and of sizes."""
