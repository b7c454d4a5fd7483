"""The group quantisers' claims, bound to their implementations."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiments.flashcomm.cases import (
    NEVER,
    GroupCoded,
    error_curve,
    every_vector,
    in_steps,
    quantised,
    through,
    vectors,
)
from commbounds.verify.family import Rounded
from commbounds.verify.space import Of, Settings, Space
from commbounds.verify.study import Outcome, Study, Unmeasured

_G = "flashcomm.groupquant"


def rounding(x: Array) -> float:
    """What one coding and reading may be off by rounding, at most.

    By ``flashcomm.groupquant.error_rounded`` u (max|x| + 5 (hi - lo)) <= 11 u max|x| where scales are normal numbers;
    by ``repaired_rounded`` u (max|x| + 4 N s), with stored levels N s that reach little further than the range. Where
    scales are no normal numbers, 5 u N t more: 638 of the smallest numbers, at eight bits.
    """
    kind = np.finfo(x.dtype)
    return 8.0 * float(kind.eps) * float(np.abs(x).max()) + 638.0 * float(kind.smallest_subnormal)


def _error_in_steps(found: GroupCoded) -> Any:
    """Largest error over the scale of the group: exact scales on exact input, stored ones else."""
    c, off = found.c, np.abs(found.read - found.wide)
    if found.exact:
        return max(in_steps(off[part].max(), step) for part, step in zip(found.groups, found.steps, strict=True))
    steps: Sequence[Any] = found.steps
    if c.metadata != "float64" or c.scale != "float" or c.repaired:
        steps = found.ranges.scale.astype(np.float64)
    return worst_in_steps(
        (float(off[part].max()), float(step), rounding(found.x[part]))
        for part, step in zip(found.groups, steps, strict=True)
    )


def _stored_error_in_steps(found: GroupCoded) -> Rounded | Unmeasured:
    """The same where scales may be stored as zero."""
    error: Rounded = _error_in_steps(found)
    if error.value >= NEVER:
        return Unmeasured("a scale is stored as zero, and no number of zeros is the error")
    return error


def worst_in_steps(groups: Iterable[tuple[float, float, float]]) -> Rounded:
    """The largest error in steps, beyond rounding, and that rounding, of groups given by error, scale and rounding.

    An error that rounding explains is none where the scale is zero.
    """
    worst = Rounded(0.0, 0.0)
    for error, step, allowance in groups:
        if step:
            found = Rounded(error / step, allowance / step)
        else:
            found = Rounded(float(in_steps(float(error > allowance), 0.0)), 0.0)
        if found.value - found.slack > worst.value - worst.slack:
            worst = found
    return worst


def _ends(found: GroupCoded) -> Any:
    x, off, worst = found.wide, np.abs(found.read - found.wide), []
    for part in found.groups:
        worst.append(off[part][(x[part] == x[part].min()) | (x[part] == x[part].max())].max())
    return max(worst) if found.exact else Rounded(float(max(worst)), rounding(found.x))


def _inversions(found: GroupCoded) -> int:
    turned = 0
    for part in found.groups:
        pairs = sorted(zip(found.wide[part], found.read[part], strict=True))
        turned += sum(b < max(v for _, v in pairs[: i + 1]) for i, (_, b) in enumerate(pairs))
    return turned


def _changed(found: GroupCoded) -> int:
    """Entries that a second coding moves by more than rounding."""
    if found.exact:
        return int((GroupCoded(found.c, found.read, True).read != found.read).sum())
    again = through(found.c, found.read.astype(found.x.dtype))
    return int((np.abs(again - found.read) > 2 * rounding(found.x)).sum())


# --- rounded ---------------------------------------------------------------------------------------------------------


def _own_arithmetic(part: Any) -> dict[str, Any]:
    """What the bounds of the vector's own arithmetic are made of, in Fractions."""
    kind = np.finfo(part.dtype)
    low, high = Fraction(float(part.min())), Fraction(float(part.max()))
    return {
        "span": high - low,
        "magnitude": max(abs(low), abs(high)),
        "own_roundoff": Fraction(float(kind.eps)) / 2,
        "own_tiny": Fraction(float(kind.tiny)),
    }


def _farthest(x: Array, y: Array, places: Any) -> Fraction:
    """The largest error at these places, as what it is."""
    at = np.arange(x.size)[places][int(np.argmax(np.abs(y[places] - x[places].astype(np.float64))))]
    return abs(Fraction(float(y[at])) - Fraction(float(x[at])))


def _rounded(what: str, found: GroupCoded, width: int) -> Outcome:
    """The group whose error comes closest to the claim's bound, both in Fractions: nothing is left to rounding."""
    outcome, closest = None, Fraction(-1)
    for g, part in enumerate(found.groups):
        group = found.x[part]
        ends = (group == group.min()) | (group == group.max())
        error = _farthest(group, found.read[part], ends if what == "ends_rounded" else slice(None))
        values = _own_arithmetic(group)
        if found.c.repaired:
            values["step"] = Fraction(float(found.ranges.scale[g]))
        bound = claims()[f"{_G}.{what}"].bound(**values, width=width)
        share = error / bound if bound else Fraction(int(error > 0))
        if share > closest:
            outcome, closest = Outcome(error, values), share
    assert outcome is not None
    return outcome


def _coarse(data: str, width: int, dtype: str, seed: int) -> Array:
    """Levels about as far apart as the numbers of the dtype are, and levels that are subnormal.

    Or a drawn vector of 1 to 100 entries.
    """
    kind, rng = np.finfo(dtype), np.random.default_rng([seed, width])
    if data in inputs.FAMILIES:
        return inputs.family(data, 1 + seed % 100, seed, 1.0, np.dtype(dtype).type)
    if data == "whole numbers, far from zero":
        return (2.0**kind.nmant + np.arange(2**width + 1)).astype(dtype)
    if data == "multiples of the smallest number":
        return (np.arange(-3 * 2**width // 4, 3 * 2**width // 4 + 1) * float(kind.smallest_subnormal)).astype(dtype)
    if data == "even multiples of the smallest number":
        # the scale, nearly 2.5 of the smallest, is stored as two
        return (np.arange(0, 5 * 2 ** (width - 1) - 2, 2) * float(kind.smallest_subnormal)).astype(dtype)
    top, step = 2**width - 1, 0.5 + rng.random()
    levels = rng.integers(0, top, 200) + 0.5
    if data == "half-way":
        x = np.concatenate([[0.0, top * step], levels * step]) - seed % 3 * 2.0 ** (width - 1) * step
        return np.asarray((x * 2.0 ** (5 * (seed % 4))).astype(dtype))
    near = levels / top * step * (1.0 + (rng.random(200) - 0.5) * 2.0**-22)
    return np.asarray((np.concatenate([[0.0, step], near]) - step / 2).astype(dtype) * np.dtype(dtype).type(1024.0))


_OWN = Of("that of the vector", lambda dtype: dtype)


def _coarse_space(**options: Sequence[Any]) -> Space:
    """Included are entries within two roundings of half-way, in ranges that are no numbers of few bits.

    Their seeds were found among 300 for each width.
    """
    space = Space(
        _coarse,
        {
            "width": (4, *(1, 2, 3, 5, 6, 7, 8)),
            "dtype": ("float32", "float64"),
            "data": (
                "half-way",
                "nearly half-way",
                "whole numbers, far from zero",
                "multiples of the smallest number",
                "even multiples of the smallest number",
                *inputs.FAMILIES,
            ),
            "group": (512, 4, 1, 2, 7, 32),
            "metadata": (_OWN,),
            **options,
        },
        combined=(("width", "dtype", "data"),),
    )
    found = {3: 77, 4: 190, 6: 277, 8: 21}
    return space.including(*(space.at(width=w, data="nearly half-way", seed=seed) for w, seed in found.items()))


# --- families --------------------------------------------------------------------------------------------------------

_STORED = ("bfloat16", "float16", "float32")


def _small_metadata(space: Space) -> Space:
    """The space with metadata below the normal numbers, and such as rounding takes as far as it can.

    That is a zero point and a scale to zero, and a scale by half a spacing.
    """
    rows: list[Settings] = []
    for scale in (1e-3, 1e-4, 1e-5, 1e-6):
        for seed, (width, offset) in enumerate(((1, 0.0), (4, 0.0), (8, 0.0), (8, 2.0**-10))):
            rows.append({"data": "normal", "n": 640, "width": width, "moved": (scale, offset), "seed": seed})
    for low, span in ((0.49, 0.49), (0.0, 0.49)):
        rows.append({"data": (low * 2.0**-24, (low + span) * 2.0**-24), "n": 2, "width": 1})
    rows = [{**row, "group": 128, "metadata": "float16"} for row in rows]
    for power in (-10, 10):
        data = tuple(v * (1 + 2.0**-8) * 2.0**power for v in (0.0, 255.0, 100.0))
        rows.append({"data": data, "n": 3, "width": 8, "metadata": "bfloat16"})
    return space.including(*(space.at(**row) for row in rows))


STORED = quantised(_G, _small_metadata(vectors("float32", metadata=_STORED)))
"""Metadata in at most 32 bits."""
_PLAIN = quantised(_G, vectors())
_ANY = quantised(_G, vectors("float32", metadata=("float64", "bfloat16", "float32")))
_EXACT_FIRST = quantised(_G, vectors("float32", metadata=_STORED, quantise_with=("exact",)))
_REPAIRED = quantised(_G, vectors("float32", metadata=_STORED, repaired=(True,)))
_INTEGER = quantised(_G, vectors(zero=("integer",)))
_CLAMPED = quantised(_G, vectors(zero=("clamped",)))
_COARSE = quantised(_G, _coarse_space(), arrays=1)
_COARSE_REPAIRED = quantised(
    _G,
    _coarse_space(metadata=(_OWN, "bfloat16"), repaired=(True,)),
    arrays=1,
)
_EVERY = every_vector(_PLAIN)
_SHORT: dict[str, Any] = {"n": [4], "group": [4], "dtype": ["float64"]}
_HALF_WAY: dict[str, Any] = {**_SHORT, "data": ["half-way"], "width": range(1, 9), "metadata": ["float64"]}
_HALF_WAY |= {"moved": [(1.0, low) for low in (0.0, -1.0, 3.0)]}
_FAR = {**_SHORT, "data": ["tenths"], "moved": [(1.0, 1003.0), (1.0, 30000.0)], "metadata": _STORED[:2]}

QUANTISER: tuple[Study, ...] = (
    *_PLAIN.studies(
        _error_in_steps, "error", extremal=_PLAIN.every(**_HALF_WAY), curves=[error_curve(_PLAIN)], **_EVERY
    ),
    *_COARSE.studies(partial(_rounded, "error_rounded"), "error_rounded"),
    *_COARSE.studies(partial(_rounded, "ends_rounded"), "ends_rounded"),
    *_PLAIN.studies(_ends, "ends", **_EVERY),
    *_ANY.studies(_inversions, "order", **every_vector(_ANY)),
    *_PLAIN.studies(_changed, "idempotence", **_EVERY),
    *STORED.studies(
        _stored_error_in_steps, "half_step_stored", extremal=STORED.every(**_FAR), curves=[error_curve(STORED)]
    ),
    *_EXACT_FIRST.studies(
        _stored_error_in_steps,
        "exact_then_stored",
        extremal=_EXACT_FIRST.every(**_FAR),
        curves=[error_curve(_EXACT_FIRST)],
    ),
    *_REPAIRED.studies(
        _error_in_steps, "repaired", extremal=_REPAIRED.every(**_HALF_WAY), curves=[error_curve(_REPAIRED)]
    ),
    *_COARSE_REPAIRED.studies(partial(_rounded, "repaired_rounded"), "repaired_rounded"),
    *_INTEGER.studies(
        _error_in_steps, "integer_point", extremal=_INTEGER.every(**_HALF_WAY), curves=[error_curve(_INTEGER)]
    ),
    *_CLAMPED.studies(
        _error_in_steps,
        "clamped_point",
        # 30, 31, 32, 33, and four integers as far below zero
        extremal=_CLAMPED.every(**_SHORT, data=["ramp"], width=[2], moved=[(1.0, 29.0), (1.0, -301.0)]),
        curves=[error_curve(_CLAMPED)],
    ),
)
"""The studies of the errors."""
