"""Claims about microscaling formats, bound to their implementations."""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.compressors.blockformats import ELEMENTS
from commbounds.theory import claims
from commbounds.verify.experiment import Budget, bound_at
from commbounds.verify.experiments.blockformats.cases import (
    bias,
    changed_again,
    corpus,
    drawn,
    dyadic,
    exact,
    exact_case,
    grid,
    largest_just_below,
    law_of,
    made,
    maximum_error,
    of_law,
    relative_error,
    resolution,
    symbols,
    wire_bits,
)
from commbounds.verify.study import Case, Curve, Outcome, Study, over, these

_M, _S = "blockformats.microscaling.", "blockformats.stochastic."
_NEAREST, _DRAWN = "Microscaling", "StochasticMicroscaling"
ENUMERATED = "vectors of up to three quarters of small integers, in every format, in blocks of one and two; exact"

# --- measures ----------------------------------------------------------------------------------------------------


def known(_cls: Any, case: Case) -> dict[str, Any]:
    """What hypotheses ask."""
    return {"factor": case.settings.get("factor", 1), "emax": ELEMENTS[case.settings["element"]].emax}


def _slack(cls: Any, case: Case) -> float:
    """Of a ratio of squares that is at most one: probabilities, and elements times 4/3, which are rounded."""
    rounded = 0.0 if case.settings["scale"] != "three_quarters" else 8.0 * float(np.finfo(case.array.dtype).eps)
    return resolution(made(cls, case), case.array) * 4.0 + rounded


def _slack_off_the_grid(cls: Any, case: Case) -> float:
    """None where shares are multiples of the uniforms' spacing, as they are on the grid."""
    return 0.0 if dyadic(case) else _slack(cls, case)


_error, _maximum = of_law(relative_error, _slack), of_law(maximum_error, more=("block",))
_exact_bias, _exact_error = (of_law(measure, _slack_off_the_grid) for measure in (bias, relative_error))


def _turned(cls: Any, case: Case) -> Outcome:
    c = made(cls, case)
    return Outcome(int((c(-case.array) != -c(case.array)).sum()), symbols(case))


def _scaled(cls: Any, case: Case) -> Outcome:
    c, factor = made(cls, case), float(case.settings["factor"])
    x = case.array.astype(np.float64)
    return Outcome(int((c(factor * x) != factor * c(x)).sum()), symbols(case))


# --- densities ---------------------------------------------------------------------------------------------------


def _weights(case: Case) -> tuple[list[Fraction], list[Fraction]]:
    """Midpoints between zero and the largest element, and their shares."""
    element, step = ELEMENTS[case.settings["element"]], Fraction(case.settings["gridstep"])
    count = int(element.largest / step)
    points = [(k + Fraction(1, 2)) * step for k in range(count)]
    weights = [element.largest - a if case.settings["density"] == "falling" else Fraction(1) for a in points]
    total = sum(weights, Fraction(0))
    return points, [w / total for w in weights]


def _drift(cls: Any, case: Case) -> Outcome:
    element = ELEMENTS[case.settings["element"]]
    points, shares = _weights(case)
    # the largest element makes the scale one
    x = np.array([float(element.largest), *map(float, points)])
    read = exact(cls(case.settings["element"], x.size, "floor")(x))[1:]
    mean = sum((p * (y - a) for p, y, a in zip(shares, read, points, strict=True)), Fraction(0))
    numbers = element.magnitudes
    cubes = sum((b - a) ** 3 for a, b in itertools.pairwise(numbers))
    given = {"gridstep": Fraction(case.settings["gridstep"]), "cubes": cubes, "ceilinglevel": element.largest}
    return Outcome(mean, {**symbols(case), **given})


def _density(element: str, density: str, step: Fraction) -> Case:
    settings = {"element": element, "block": 32, "scale": "floor", "density": density, "gridstep": str(step)}
    return Case(settings, np.array([float(ELEMENTS[element].largest)]))


def _densities(level: int) -> Iterator[Case]:
    for element in ("e2m1", "int4", "e2m3", *(("e3m2", "int8") if level else ())):
        for density in ("uniform", "falling"):
            for parts in (2, 4, 8, *((16,) if level else ())):
                yield _density(element, density, ELEMENTS[element].smallest / parts)


def _finer(element: str, density: str) -> list[Case]:
    return [_density(element, density, Fraction(1, 2**k)) for k in range(7, 2, -1)]


# --- extremal cases ----------------------------------------------------------------------------------------------


def _with_others(tops: tuple[float, ...], other: float, n: int, **settings: Any) -> Iterator[Case]:
    """One entry, all others another: in one block, in one that is not full, and in three."""
    for top in tops:
        x = np.full(n, other)
        x[0] = top
        yield Case({"element": "e2m1", "block": n, **settings}, x)
        if 1 < n <= 64:
            yield Case({"element": "e2m1", "block": 4 * n, **settings}, x)
            yield Case({"element": "e2m1", "block": n, **settings}, np.tile(x, 3))


def _best(cases: Iterator[Case]) -> Iterator[Case]:
    """Of the inputs of each length those that err most."""
    listed = list(cases)
    by_length: dict[tuple[Any, ...], list[Case]] = {}
    for case in listed:
        by_length.setdefault((case.array.size, case.settings["block"], case.settings["element"]), []).append(case)
    for members in by_length.values():
        yield max(members, key=_ratio_of)


def _ratio_of(case: Case) -> float:
    from commbounds.compressors.blockformats import Microscaling

    c = Microscaling(case.settings["element"], case.settings["block"], case.settings["scale"])
    return float(relative_error(law_of(c, case.array), exact(case.array)))


_JUST = 2.0**-20


def _worst_floor(_budget: Budget) -> Iterator[Case]:
    def cases() -> Iterator[Case]:
        for n in (1, 2, 8, 16, 24, 32, 33, 64, 256):
            yield from _with_others((8 - _JUST, 5.0, 4.0), 0.25, n, scale="floor")
        for name in ("int8", "int4", "e4m3", "e5m2", "e3m2", "e2m3"):
            element = ELEMENTS[name]
            top = float(2 ** Fraction(element.emax))
            for n in (1, 32, 64):
                for t in (2 - _JUST, 1 + float(element.unit), 1.0):
                    x = np.full(n, float(element.smallest) / 2)
                    x[0] = top * t
                    yield Case({"element": name, "block": n, "scale": "floor"}, x)

    yield from _best(cases())


def _worst(scale: str, tops: tuple[float, ...], _budget: Budget) -> Iterator[Case]:
    def cases() -> Iterator[Case]:
        for n in (1, 2, 4, 9, 11, 16, 32, 64):
            yield from _with_others(tops, 0.25, n, scale=scale)

    yield from _best(cases())


_worst_even = partial(_worst, "even", (5.0, 3.5))
_worst_rceil = partial(_worst, "rceil", (5.0, 3.5, 3 + _JUST))
_worst_double = partial(_worst, "double", (2.5, 2.0))


def _unclipped_is_worse(_budget: Budget) -> Iterator[Case]:
    for n in (32, 64):
        yield from _with_others((3 + _JUST,), 0.25, n, scale="rceil")


def _rounding(_budget: Budget) -> Iterator[Case]:
    for element in ELEMENTS.values():
        if element.floating:
            yield Case({"element": element.name, "scale": "rceil", "block": 32}, np.array([1 + float(element.unit)]))


def _fixed(_budget: Budget) -> Iterator[Case]:
    for name in ("int8", "int4"):
        unit = ELEMENTS[name].unit
        yield Case({"element": name, "scale": "rceil", "block": 32}, np.array([1 - float(unit) + _JUST * float(unit)]))


def _factor(n: int) -> float:
    """The variance factor of blocks of n."""
    return float(bound_at(claims()[_S + "variance"], {"n": n, "block": n}))


def _noisiest(scale: str, _budget: Budget | None = None) -> Iterator[Case]:
    gain = 0.75 if scale == "three_quarters" else 1.0
    for n in (1, 4, 9, 16, 29, 32, 64, 256):
        w = _factor(n)
        top = 5 / (1 + w) if n <= 9 else max(3.5 / (1 + w), 3.0 + (_JUST if gain == 1.0 else 0.0))
        yield from _with_others((top / gain,), 1 / (4 * (1 + w)) / gain, n, scale=scale)


def _small_entries(_budget: Budget) -> Iterator[Case]:
    yield from _with_others((3.0 + _JUST,), 0.2, 32, scale="rceil")


def _factors(level: int) -> Iterator[Case]:
    for number, case in enumerate(grid(level)):
        factors = (Fraction(2), Fraction(1, 8), Fraction(64), Fraction(5, 4), Fraction(3))
        yield Case({**case.settings, "factor": factors[number % len(factors)]}, case.x)


def _factor_corpus(budget: Budget) -> Iterator[Case]:
    for number, case in enumerate(corpus(budget)):
        yield Case({**case.settings, "factor": (Fraction(2), Fraction(1, 8), Fraction(64))[number % 3]}, case.x)


def _longer(level: int) -> Iterator[Case]:
    for n in (1, 5, 31, 32, 33, 64, 100):
        for element in ELEMENTS:
            for block in (1, 32, 16)[: 2 + (level > 0)]:
                yield Case({"element": element, "block": block, "scale": "floor"}, np.linspace(-3.0, 5.0, n))


# --- studies -----------------------------------------------------------------------------------------------------


def _curve(scale: str, tops: tuple[float, ...], other: float = 0.25) -> list[Curve]:
    def points(_seed: int) -> Iterator[tuple[None, list[Case]]]:
        # found when they are wanted: they are found by a kernel
        for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64):
            found = _with_others(tops, other, n, scale=scale)
            yield None, [max((c for c in found if c.settings["block"] == c.array.size), key=_ratio_of)]

    return [Curve("block", "one entry that rounds worst, all others 1/4", points)]


def _study(name: str, trial: Callable[[Any, Case], Any], subject: str = _NEAREST, **sources: Any) -> Study:
    given: dict[str, Any] = {"grid": grid, "corpus": corpus, "cases": drawn, "enumerated": ENUMERATED, "known": known}
    given |= sources
    if given["grid"] is None:
        given["enumerated"] = ""
    return Study((_M if subject == _NEAREST else _S) + name, subject, trial, **given)


def _of_maximum(name: str, extremal: Any) -> Study:
    return _study(name, _maximum, extremal=extremal)


def _e4m3_below(budget: Budget) -> Iterator[Case]:
    return largest_just_below(budget, ("e4m3",))


def _all_below(budget: Budget) -> Iterator[Case]:
    return largest_just_below(budget)


_all_nearest = partial(largest_just_below, scale="nearest")

MICROSCALING = (
    _of_maximum("maximum", _all_below),
    _of_maximum("maximum_of_roundoff", _e4m3_below),
    _of_maximum("maximum_of_rounding", _e4m3_below),
    _of_maximum("maximum_unclipped", _rounding),
    _of_maximum("maximum_unclipped_fixed", _fixed),
    _of_maximum("maximum_of_nearest", _all_nearest),
    _of_maximum("maximum_of_nearest_scale", _all_nearest),
    _study("contraction", _error, extremal=_worst_floor, curves=_curve("floor", (8 - _JUST, 5.0, 4.0))),
    _study("contraction_even", _error, extremal=_worst_even, curves=_curve("even", (5.0, 3.5))),
    _study("contraction_rceil", _error, extremal=_worst_rceil, curves=_curve("rceil", (5.0, 3.5, 3 + _JUST))),
    _study("unclipped_contracts_better", _error, extremal=_unclipped_is_worse,
           curves=_curve("rceil", (5.0, 3.5, 3 + _JUST))),
    _study("contraction_wide", _error, extremal=_worst_double, curves=_curve("double", (2.5, 2.0))),
    _study("idempotence", changed_again),
    _study("idempotence_doubled", changed_again,
           extremal=these(exact_case([Fraction(15, 4), Fraction(1, 2)], element="e2m1", scale="double", block=2))),
    _study("sign_symmetry", _turned),
    _study("scale_equivariance", _scaled, grid=_factors, corpus=_factor_corpus, cases=None),
    _study("scale_equivariance_any", _scaled, grid=_factors, corpus=_factor_corpus, cases=None,
           extremal=these(exact_case([Fraction(1)], element="e2m1", scale="floor", block=1, factor=Fraction(5, 4)))),
    _study("wire", wire_bits, grid=_longer, cases=None, enumerated="every format, up to 100 entries"),
    *(
        _study(name, _drift, grid=_densities, corpus=None, cases=None, extremal=extremal,
               enumerated="E2M1, E2M3 and INT4, midpoints of grids of up to eight parts of the smallest gap",
               curves=[over("gridstep", label, _finer(element, density))])
        for name, label, element, density, extremal in (
            ("drift_uniform", "E2M1, uniform", "e2m1", "uniform", None),
            ("drift_of_nonuniform_grids", "E2M1, uniform", "e2m1", "uniform",
             these(_density("e2m1", "uniform", Fraction(1, 8)))),
            ("drift_falling", "E2M1, falling", "e2m1", "falling", None),
            ("drift_equidistant", "INT4, falling", "int4", "falling",
             these(_density("int4", "falling", Fraction(1, 16)))),
        )
    ),
)  # fmt: skip

_NOISE = [case for case in _noisiest("rceil") if case.settings["block"] == case.array.size]

STOCHASTIC = (
    _study("unbiased", _exact_bias, _DRAWN),
    _study("unbiased_by_specification", _exact_bias, _DRAWN,
           extremal=these(exact_case([Fraction(7)], element="e2m1", scale="floor", block=1))),
    _study("bias", _exact_bias, _DRAWN, extremal=_all_below),
    _study("variance", _exact_error, _DRAWN, extremal=partial(_noisiest, "rceil"),
           curves=[over("block", "the noisiest entries", _NOISE)]),
    _study("variance_three_quarters", _exact_error, _DRAWN, grid=None, extremal=partial(_noisiest, "three_quarters")),
    _study("variance_of_smallest", _exact_error, _DRAWN, extremal=_small_entries),
)  # fmt: skip
