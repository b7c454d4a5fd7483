"""Claims about NVFP4 and MS-EDEN, bound to their implementations."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.experiments.blockformats.cases import (
    VECTORS,
    Entries,
    Law,
    bias,
    blocks,
    changed_again,
    laws,
    made,
    maximum_error,
    relative_error,
    resolution,
    rounded,
    symbols,
    wire_bits,
)
from commbounds.verify.family import Family, Rounded
from commbounds.verify.study import Case, Outcome, over

# --- measures ----------------------------------------------------------------------------------------------------


def _room(x: Array, roundings: float) -> float:
    """Scales of float32 vectors are rounded."""
    return 0.0 if x.dtype == np.float64 else roundings * float(np.finfo(np.float32).eps)


def _maximum(found: Law, entries: list[Fraction], block: int, x: Array) -> Fraction | Rounded:
    return rounded(maximum_error(found, entries, block), _room(x, 1.0))


def _error(found: Law, entries: list[Fraction], x: Array) -> Fraction | Rounded:
    return rounded(relative_error(found, entries), _room(x, 4.0))


def _bias(implementation: Any, case: Case, x: Array, entries: list[Fraction], exact: bool) -> Fraction | Rounded:
    c = made(implementation, case)
    if exact:  # and the kernel is held to it
        return bias(_entrywise(c.law(entries), x.size), entries)
    allowed = 2.0 * resolution(c, x) + 4.0 * float(np.finfo(x.dtype).eps)
    return Rounded(float(bias(case.once(laws, implementation), entries)), allowed)


def _entrywise(law: Any, n: int) -> Law:
    return [[(p, y[i]) for p, y in law] for i in range(n)]


def lost(found: Law, entries: list[Fraction], block: int) -> Outcome:
    """Of the blocks that become zeros the largest entry, over the vector's."""
    read = [law[0][1] for law in found]
    gone = [max(map(abs, entries[a:b])) for a, b in blocks(entries, block) if not any(read[a:b])]
    worst = max(gone, default=Fraction(0)) / max(map(abs, entries))
    return Outcome(worst, {}, active=worst > 0)


# --- cases -------------------------------------------------------------------------------------------------------

_FEW = (0.0, 1.0, 2.0, 5.0, 102.0, 600.0, 1632.0, 2400.0, 2688.0)


def _about_scales(level: int) -> list[Entries]:
    """Whole numbers about the half-way points of scales, beside 2688, for which the tensor's scale is one."""
    few = _FEW if level else (*_FEW[::2], 102.0, 1632.0)
    alone = [entries for a in few[1:] for entries in ((a,), (-a, 0.1 * a))]
    return [*alone, *((2688.0, *rest) for rest in itertools.product(few, repeat=2))]


def rounded_up(largest: float, other: float) -> list[Entries]:
    """As they are, and with the largest a little more, so that its share is rounded up to 1 + 2^-23."""
    return [(largest, other), (largest * (1 + 2.0**-24 + 2.0**-40), other * (1 + 2.0**-23))]


def _fives(count: int, block: int) -> Entries:
    """Blocks with a scale just above 272, next to one with 448: 17/16 of 256, rounded to 288; other entries at 5."""
    return (2688.0, (block - 1, 0.0), (count, (6.0 * 272.001, (block - 1, 5.0 * 288.0))))


_SPACE = VECTORS.replaced(block=(16, 5, 19, 1, 2), scale=("nearest", "up"))
_NEAREST, _DRAWN = (
    Family(f"blockformats.{prefix}", subject, _SPACE, symbols, laws, exact=False, arrays=4)
    for prefix, subject in (("nvfp4", "NVFP4"), ("stochastic_nvfp4", "StochasticNVFP4"))
)


def _given(family: Family) -> dict[str, Any]:
    grid = family.every(exact=[True], data=_about_scales, scale=("nearest", "up"), block=(1, 2))
    return {"grid": grid, "enumerated": "up to three whole numbers beside 2688, in blocks of one and two; exact"}


def _alone(family: Family, *data: Entries) -> Any:
    return family.every(data=data, block=[1])


_BLOCKS = [_NEAREST.case(_SPACE.at(data=_fives(200, block), block=block)) for block in (1, 2, 4, 8, 12, 16, 19)]
_GIVEN, _GIVEN_DRAWN = _given(_NEAREST), _given(_DRAWN)
NVFP4 = (
    *_NEAREST.studies(_maximum, "maximum", extremal=_alone(_NEAREST, (2688.0, 1632.0)), **_GIVEN),
    *_NEAREST.studies(_maximum, "maximum_any_scale", extremal=_alone(_NEAREST, (458752.0, 1.0)), **_GIVEN),
    *_NEAREST.studies(
        _error,
        "contraction",
        extremal=_NEAREST.every(block=(2, 5, 16, 19), data=lambda block: [_fives(8000, block)]),
        curves=[over("block", "200 blocks, entries at 5", _BLOCKS)],
        **_GIVEN,
    ),
    *_NEAREST.studies(lost, "lost_blocks", extremal=_alone(_NEAREST, *rounded_up(2688.0, 6 * 2.0**-10))),
    *_NEAREST.studies(changed_again, "idempotence", extremal=_alone(_NEAREST, (2688.0, 0.0065)), **_GIVEN),
    *_NEAREST.studies(changed_again, "idempotence_normal", **_GIVEN),
    *_NEAREST.studies(wire_bits, "wire"),
)
STOCHASTIC = (
    *_DRAWN.studies(_bias, "unbiased_by_recipe", extremal=_alone(_DRAWN, (2688.0, 102.0)), **_GIVEN_DRAWN),
    *_DRAWN.studies(_bias, "bias", extremal=_alone(_DRAWN, *rounded_up(2688.0, 1632.0)), **_GIVEN_DRAWN),
    *_DRAWN.studies(_bias, "unbiased", **_GIVEN_DRAWN),
)

# --- MS-EDEN -----------------------------------------------------------------------------------------------------


def _patterns(dim: int) -> list[tuple[int, ...]]:
    """All signs, or sixteen patterns of them."""
    if dim <= 4:
        return list(itertools.product((1, -1), repeat=dim))
    drawn = 2 * np.random.default_rng(dim).integers(0, 2, (16, dim)) - 1
    return [tuple(row) for row in drawn.tolist()]


def _projection(implementation: Any, case: Case, x: Array, entries: list[Fraction], exact: bool) -> Fraction | Rounded:
    c, top = made(implementation, case), float(np.abs(x).max())
    if exact:
        square = sum(v * v for v in entries)
        outputs = (c.exact_output(entries, signs) for signs in _patterns(c.dim))
        gaps = (abs(sum(v * w for v, w in zip(y, entries, strict=True)) / square - 1) for y in outputs)
        worst: Fraction = max(gaps)
        return worst
    wide = x.astype(np.float64) / top
    read = [c.decompress(c.compress_with(x, signs)).astype(np.float64) / top for signs in _patterns(c.dim)]
    norm = float(wide @ wide)
    # scales and entries are rounded to the dtype, relative to the output
    allowance = max(4.0 * float(np.finfo(x.dtype).eps) * float(np.sqrt(y @ y / norm)) for y in read) + x.size * 2.0**-48
    return Rounded(max(abs(float(y @ wide) / norm - 1) for y in read), allowance)


def _mean_error(implementation: Any, case: Case, x: Array, entries: list[Fraction], exact: bool) -> Fraction | Rounded:
    c = made(implementation, case)
    if exact:
        return bias(_entrywise(c.law(entries), x.size), entries)
    mean = np.mean([c.decompress(c.compress_with(x, s)).astype(np.float64) for s in _patterns(c.dim)], axis=0)
    top = float(np.abs(x).max()) or 1.0
    return Rounded(float(np.abs(mean - x).max()) / top, 16.0 * float(np.finfo(x.dtype).eps))


def _whole(level: int) -> list[Entries]:
    fours = itertools.product((0, 1, 2, 5), repeat=4)
    few = fours if level else itertools.combinations_with_replacement((5, 2, 1, 0), 4)
    return [*filter(any, few), (3.0,), (1.0, -2.0), (5.0, 2.0, 1.0, 0.0, 7.0)]


_EDEN = Family(
    "blockformats.mseden",
    "MSEden",
    VECTORS.replaced(length=(5, 33), times=(1.0,), dim=(4, 16, 1, 64)),
    symbols,
    exact=False,
    searched=False,
)
_ROTATED: dict[str, Any] = {
    "grid": _EDEN.every(
        exact=[True],
        data=_whole,
        dim=lambda data, level: (4,) if len(data) == 4 else (1, 4, *((16,) if level else ())),
    ),
    "enumerated": "four of the numbers 0, 1, 2 and 5, rotated with all signs; and longer ones; exact",
}
_GROUPS = _EDEN.over(
    "n", (16, 32, 64, 256), "groups of 16, normal", by="length", data="normal", dtype="float64", dim=16
)
MSEDEN = (
    *_EDEN.studies(_projection, "projection", curves=[_GROUPS], **_ROTATED),
    *_EDEN.studies(
        _mean_error,
        "unbiased",
        corpus=_EDEN.every(data=["normal"], length=[9], dtype=["float64"], seed=range(6)),
        extremal=_EDEN.every(exact=[True], data=[(5.0, 2.0, 1.0, 0.0)]),
        **_ROTATED,
    ),
)
