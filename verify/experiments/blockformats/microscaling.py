"""Claims about microscaling formats, bound to their implementations."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.blockformats import ELEMENTS, Microscaling
from commbounds.theory import claims
from commbounds.verify.experiment import bound_at
from commbounds.verify.experiments.blockformats.cases import (
    SCALES,
    VECTORS,
    Entries,
    Law,
    bias,
    changed_again,
    dyadic,
    exact,
    law_of,
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
from commbounds.verify.space import Settings, Space, nothing
from commbounds.verify.study import Case, Curve, Outcome

# --- measures ----------------------------------------------------------------------------------------------------


def _slack(implementation: Any, case: Case) -> float:
    """Of a ratio of squares that is at most one: probabilities, and elements times 4/3, which are rounded.

    None where shares are multiples of the uniforms' spacing, as they are on the grid.
    """
    if case.settings["scale"] == "three_quarters":
        return resolution(made(implementation, case), case.array) * 4 + 8.0 * float(np.finfo(case.array.dtype).eps)
    return 0.0 if dyadic(case.array) else resolution(made(implementation, case), case.array) * 4.0


def _error(implementation: Any, case: Case, found: Law, entries: list[Fraction]) -> Fraction | Rounded:
    return rounded(relative_error(found, entries), _slack(implementation, case))


def _bias(implementation: Any, case: Case, found: Law, entries: list[Fraction]) -> Fraction | Rounded:
    return rounded(bias(found, entries), _slack(implementation, case))


def _turned(implementation: Any, case: Case, x: Array) -> int:
    c = made(implementation, case)
    return int((c(-x) != -c(x)).sum())


def _scaled(implementation: Any, case: Case, x: Array, factor: Fraction) -> int:
    c, wide = made(implementation, case), x.astype(np.float64)
    return int((c(float(factor) * wide) != float(factor) * c(wide)).sum())


# --- cases -------------------------------------------------------------------------------------------------------

_FEW = (0.0, 0.25, 0.5, 1.0, 1.25, 2.5, 3.0, 3.5, 5.0, 6.0, 6.5, 7.75, 9.0)
"""Quarters: half-way points, elements and clipped ones of E2M1."""
_FEWER = (0.0, 0.25, 1.25, 3.5, 7.75)
_SMALL = (
    *((sign * v,) for v in _FEW[1:] for sign in (1, -1)),
    *((a, -b) for a, b in itertools.product(_FEW, repeat=2) if a or b),
    *(triple for triple in itertools.product(_FEWER, repeat=3) if any(triple)),
)
"""Vectors of one, two and three such entries, signs among them."""
_SCALES_OF = {
    "e2m1": SCALES[:-1], "e4m3": ("floor", "rceil", "nearest"), "int8": ("floor", "rceil"),
    "e2m3": ("floor", "nearest"), "e3m2": ("floor", "even"),
}  # fmt: skip
"""Of elements, scales with which small vectors are enumerated; of others the specification's."""
_FACTORS = (Fraction(2), Fraction(1, 8), Fraction(64), Fraction(5, 4), Fraction(3))


_SPACE = VECTORS.replaced(element=tuple(ELEMENTS), scale=SCALES, block=(32, 7, 1, 2, 5, 16, 64), factor=_FACTORS)
_LARGE = _SPACE.every(data=[(top, (31, 0.25)) for top in (3.001, 5.0, 7.5)], element=ELEMENTS, scale=SCALES)
_NEAREST, _DRAWN = (
    Family(f"blockformats.{prefix}", subject, _SPACE.including(*_LARGE), symbols, laws, exact=False, arrays=4)
    for prefix, subject in (("microscaling", "Microscaling"), ("stochastic", "StochasticMicroscaling"))
)


def _small(family: Family) -> dict[str, Any]:
    """The small vectors in every format; of four entries in one block at larger budgets."""
    return {
        "grid": family.every(
            data=lambda level: (*_SMALL, *filter(any, itertools.product(_FEWER, repeat=4 if level else 0))),
            element=lambda data: ELEMENTS if len(data) < 4 else ("e2m1",),
            scale=lambda element: _SCALES_OF.get(element, ("floor",)),
            block=lambda data: {1: (2,), 4: (4,)}.get(len(data), (1, 2)),
            factor=lambda data: [_FACTORS[int(4 * sum(data)) % len(_FACTORS)]],
        ),
        "enumerated": "vectors of up to three quarters of small integers, in every format, in blocks of one and two; "
        "exact",
    }


_GIVEN, _GIVEN_DRAWN = _small(_NEAREST), _small(_DRAWN)

# --- extremal cases ----------------------------------------------------------------------------------------------

_JUST = 2.0**-20


def _ratio(settings: Settings) -> float:
    x = _NEAREST.case(settings).array
    c = Microscaling(settings["element"], settings["block"], settings["scale"])
    return float(relative_error(law_of(c, x), exact(x)))


def _beside(tops: Sequence[float], other: float, lengths: Sequence[int], **settings: Any) -> Iterator[Settings]:
    """Entries beside others, those that err most: in one block, in one that is not full, and in three."""
    for n in lengths:
        for times, block in ((1, n), (1, 4 * n), (3, n))[: 3 if 1 < n <= 64 else 1]:
            data = [((times, (top, (n - 1, other))),) for top in tops]
            yield max((_SPACE.at(data=entries, block=block, **settings) for entries in data), key=_ratio)


_TOPS = {"floor": (8 - _JUST, 5.0, 4.0), "even": (5.0, 3.5), "rceil": (5.0, 3.5, 3 + _JUST), "double": (2.5, 2.0)}
"""Entries that are rounded worst beside 1/4, by the scale."""


def _worst(scale: str) -> Iterator[Settings]:
    yield from _beside(_TOPS[scale], 0.25, (1, 2, 4, 8, 9, 11, 16, 24, 32, 33, 64, 256), scale=scale)
    for name in ("int8", "int4", "e4m3", "e5m2", "e3m2", "e2m3") if scale == "floor" else ():
        element = ELEMENTS[name]
        tops = [2.0**element.emax * t for t in (2 - _JUST, 1 + float(element.unit), 1.0)]
        yield from _beside(tops, float(element.smallest) / 2, (1, 32, 64), element=name, scale=scale)


def _noisiest(scale: str, lengths: Sequence[int] = (1, 4, 9, 16, 29, 32, 64, 256)) -> Iterator[Settings]:
    gain = 0.75 if scale == "three_quarters" else 1.0
    for n in lengths:
        w = float(bound_at(claims()["blockformats.stochastic.variance"], {"n": n, "block": n}))
        top = 5 / (1 + w) if n <= 9 else max(3.5 / (1 + w), 3.0 + (_JUST if gain == 1.0 else 0.0))
        yield from _beside([top / gain], 1 / (4 * (1 + w)) / gain, [n], scale=scale)


def _extremal(family: Family, rows: Callable[..., Iterator[Settings]], *given: Any) -> Callable[[Any], Iterator[Case]]:
    """Their source; they are looked for when they are wanted, as kernels find them."""
    return lambda _budget: map(family.case, rows(*given))


def _just_below(family: Family, elements: Sequence[str] = tuple(ELEMENTS), scale: str = "floor") -> Any:
    """One entry just below a power of two, or below where the scale changes, others zero."""

    def tops(element: str) -> list[Entries]:
        top = 2.0 if scale == "floor" else float(ELEMENTS[element].reach) * 0.75
        return [(top - _JUST, (n - 1, 0.0)) for n in (1, 32)]

    return family.every(element=elements, scale=[scale], data=tops)


def _half_way(floating: bool) -> Any:
    """One entry half-way above a power of two, or just above half-way below one."""

    def entry(element: str) -> list[Entries]:
        unit = float(ELEMENTS[element].unit)
        return [(1 + unit if floating else 1 - unit + _JUST * unit,)]

    names = [name for name, element in ELEMENTS.items() if element.floating is floating]
    return _NEAREST.every(element=names, scale=["rceil"], data=entry)


def _curve(
    family: Family, label: str, lengths: Sequence[int], rows: Callable[[int], Iterator[Settings]]
) -> list[Curve]:
    """The first of the rows of each length."""

    def points(_seed: int) -> Iterator[tuple[None, list[Case]]]:
        for n in lengths:
            yield None, [family.case(next(rows(n)))]

    return [Curve("block", label, points)]


def _of_scale(scale: str) -> dict[str, Any]:
    label, lengths = "one entry that rounds worst, all others 1/4", (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)
    return {
        **_GIVEN,
        "extremal": _extremal(_NEAREST, _worst, scale),
        "curves": _curve(_NEAREST, label, lengths, lambda n: _beside(_TOPS[scale], 0.25, [n], scale=scale)),
    }


# --- densities ---------------------------------------------------------------------------------------------------


def _drift(implementation: Any, element: str, density: str, gridstep: Fraction) -> Outcome:
    """At midpoints between zero and the largest element; which is among them, so that the scale is one."""
    numbers, largest = ELEMENTS[element].magnitudes, ELEMENTS[element].largest
    points = [(k + Fraction(1, 2)) * gridstep for k in range(int(largest / gridstep))]
    weights = [largest - a if density == "falling" else Fraction(1) for a in points]
    x = np.array([float(largest), *map(float, points)])
    read = exact(implementation(element, x.size, "floor")(x))[1:]
    drift = sum((w * (y - a) for w, y, a in zip(weights, read, points, strict=True)), Fraction(0))
    cubes = sum((b - a) ** 3 for a, b in itertools.pairwise(numbers))
    return Outcome(drift / sum(weights), {"cubes": cubes, "ceilinglevel": largest})


_DENSITIES = Family(
    "blockformats.microscaling",
    "Microscaling",
    Space(nothing, {"element": ("e2m1", "int4"), "density": ("uniform", "falling"), "gridstep": (Fraction(1, 8),)}),
    searched=False,
)


_GRIDS: dict[str, Any] = {
    "grid": _DENSITIES.every(
        element=lambda level: ("e2m1", "int4", "e2m3", *(("e3m2", "int8") if level else ())),
        density=("uniform", "falling"),
        gridstep=lambda element, level: [ELEMENTS[element].smallest / 2**k for k in range(1, 4 + (level > 0))],
    ),
    "enumerated": "E2M1, E2M3 and INT4, midpoints of grids of up to eight parts of the smallest gap",
}


def _over_steps(**fixed: str) -> list[Curve]:
    label = ", ".join(fixed.values()).replace("e2m1", "E2M1").replace("int4", "INT4")
    return [_DENSITIES.over("gridstep", [Fraction(1, 2**k) for k in range(7, 2, -1)], label, **fixed)]


# --- studies -----------------------------------------------------------------------------------------------------

_UNIFORM, _FALLING = {"element": "e2m1", "density": "uniform"}, {"density": "falling"}
MICROSCALING = (
    *_NEAREST.studies(maximum_error, "maximum", extremal=_just_below(_NEAREST), **_GIVEN),
    *_NEAREST.studies(maximum_error, "maximum_of_roundoff", "maximum_of_rounding",
                      extremal=_just_below(_NEAREST, ["e4m3"]), **_GIVEN),
    *_NEAREST.studies(maximum_error, "maximum_unclipped", extremal=_half_way(floating=True), **_GIVEN),
    *_NEAREST.studies(maximum_error, "maximum_unclipped_fixed", extremal=_half_way(floating=False), **_GIVEN),
    *_NEAREST.studies(maximum_error, "maximum_of_nearest", "maximum_of_nearest_scale",
                      extremal=_just_below(_NEAREST, scale="nearest"), **_GIVEN),
    *_NEAREST.studies(_error, "contraction", **_of_scale("floor")),
    *_NEAREST.studies(_error, "contraction_even", **_of_scale("even")),
    *_NEAREST.studies(_error, "contraction_rceil", **_of_scale("rceil")),
    *_NEAREST.studies(_error, "unclipped_contracts_better", **_of_scale("rceil") | {"extremal": _extremal(
        _NEAREST, partial(_beside, [3 + _JUST], 0.25, (32, 64), scale="rceil"))}),
    *_NEAREST.studies(_error, "contraction_wide", **_of_scale("double")),
    *_NEAREST.studies(changed_again, "idempotence", **_GIVEN),
    *_NEAREST.studies(changed_again, "idempotence_doubled", **_GIVEN,
                      extremal=_NEAREST.every(data=[(3.75, 0.5)], scale=["double"], block=[2])),
    *_NEAREST.studies(_turned, "sign_symmetry", **_GIVEN),
    *_NEAREST.studies(_scaled, "scale_equivariance", **_GIVEN),
    *_NEAREST.studies(_scaled, "scale_equivariance_any", **_GIVEN,
                      extremal=_NEAREST.every(data=[(1.0,)], block=[1], factor=[Fraction(5, 4)])),
    *_NEAREST.studies(wire_bits, "wire", enumerated="every format, up to 100 entries", grid=_NEAREST.every(
        data=["normal"], length=(1, 5, 31, 32, 33, 64, 100), element=ELEMENTS, block=(1, 32, 16))),
    *_DENSITIES.studies(_drift, "drift_uniform", curves=_over_steps(**_UNIFORM), **_GRIDS),
    *_DENSITIES.studies(_drift, "drift_of_nonuniform_grids", curves=_over_steps(**_UNIFORM), **_GRIDS,
                        extremal=_DENSITIES.every()),
    *_DENSITIES.studies(_drift, "drift_falling", curves=_over_steps(element="e2m1", **_FALLING), **_GRIDS),
    *_DENSITIES.studies(_drift, "drift_equidistant", curves=_over_steps(element="int4", **_FALLING), **_GRIDS,
                        extremal=_DENSITIES.every(element=["int4"], density=["falling"], gridstep=[Fraction(1, 16)])),
)  # fmt: skip
STOCHASTIC = (
    *_DRAWN.studies(_bias, "unbiased", **_GIVEN_DRAWN),
    *_DRAWN.studies(_bias, "unbiased_by_specification", **_GIVEN_DRAWN,
                    extremal=_DRAWN.every(data=[(7.0,)], block=[1])),
    *_DRAWN.studies(_bias, "bias", extremal=_just_below(_DRAWN), **_GIVEN_DRAWN),
    *_DRAWN.studies(_error, "variance", extremal=_extremal(_DRAWN, _noisiest, "rceil"), **_GIVEN_DRAWN, curves=_curve(
        _DRAWN, "the noisiest entries", (1, 4, 9, 16, 29, 32, 64, 256), lambda n: _noisiest("rceil", [n]))),
    *_DRAWN.studies(_error, "variance_three_quarters", extremal=_extremal(_DRAWN, _noisiest, "three_quarters")),
    *_DRAWN.studies(_error, "variance_of_smallest", **_GIVEN_DRAWN,
                    extremal=_extremal(_DRAWN, partial(_beside, [3.0 + _JUST], 0.2, [32], scale="rceil"))),
)  # fmt: skip
