"""Test vectors of what packages ship."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.collectives.shipped import dgc_steps, permk_mean, shared_randk_mean
from commbounds.compressors.shipped import (
    COMPRESSORS,
    Atomic,
    BernoulliLazy,
    ClippedTernGrad,
    QuantileBuckets,
    ReplacementRandK,
    ThreeLC,
    TwoMeans,
    UniformBuckets,
)
from commbounds.verify.experiments.shipped.mechanism_vectors import subjects as of_mechanisms
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.compressor_cases import (
    BAD,
    MOST,
    WIDE,
    Setting,
    Switch,
    compressor,
    drawn,
    parameters_of,
    vector_cases,
)
from commbounds.verify.vectors.inputs import array, flags_of, uniforms

_BELOW = tuple(name for name in MOST if name != "largest")
_SMALL = ("ordinary", "subnormals")

SETTINGS: tuple[Setting, ...] = (
    (ReplacementRandK(3), "float32", (*_BELOW, "one entry"), (*BAD, "largest")),
    (ReplacementRandK(4, added=True), "float32", ("ties", "ordinary"), ()),
    (ReplacementRandK(3), "float64", _SMALL, ("largest",)),
    (BernoulliLazy(Fraction(1, 2)), "float32", (*_BELOW, "one entry"), (*BAD, "largest")),
    (BernoulliLazy(0.75), "float64", _SMALL, ("largest",)),
    (Atomic(2), "float32", (*MOST, "one entry"), BAD),
    (Atomic(2), "float64", ("ties", "powers"), ()),
    (Atomic(1), "float64", ("powers",), ("largest",)),
    (ClippedTernGrad(), "float32", (*_BELOW, "one entry"), BAD),
    (ClippedTernGrad(1), "float64", WIDE, ()),
    (TwoMeans(), "float32", (*_BELOW, "one entry"), BAD),
    (TwoMeans(), "float64", WIDE, ()),
    (ThreeLC(), "float32", (*MOST, "one entry"), BAD),
    (ThreeLC(Fraction(7, 4)), "float32", _BELOW, ("largest",)),
    (ThreeLC(1.5, zero_run=False), "float64", _SMALL, ("largest",)),
    (UniformBuckets(4, 2), "float32", (*_BELOW, "one entry"), BAD),
    (UniformBuckets(5, 6), "float64", WIDE, ()),
    (QuantileBuckets(4), "float32", (*_BELOW, "one entry"), BAD),
    (QuantileBuckets(3), "float64", WIDE, ()),
)

SWITCHES: tuple[Switch, ...] = (
    (Atomic(2), (4.0, -1.0, 1.0, 0.0), (Fraction(0), Fraction(1, 2), Fraction(1, 2), Fraction(0))),
    (ClippedTernGrad(1), (7.0, -7.0, 1.0, -1.0), (Fraction(0), Fraction(0), Fraction(1, 5), Fraction(1, 5))),
)

LAWS = (TwoMeans(), ThreeLC(), UniformBuckets(4, 2), QuantileBuckets(3))
"""Those whose output has its law beside it."""


def _randomness(compressor: Any, name: str, x: Any, seed: int) -> dict[str, Any]:
    """Places, or one uniform, on a hostile vector; what draws one an entry gets these."""
    if isinstance(compressor, ReplacementRandK):
        places = np.floor(uniforms(seed, compressor.k, "float64") * x.size).astype(np.int64)
        return {"picks": places}
    if isinstance(compressor, BernoulliLazy):
        return {"u": 0.25}
    return drawn(compressor, name, x, seed)


def _replaced() -> Iterator[VectorCase]:
    x = array([1.0, -2.0, 3.0, 5.0], "float32")
    for made in (ReplacementRandK(3), ReplacementRandK(3, added=True)):
        for picks, why in (([2, 2, 2], "One place three times."), ([3, 0, 3], "A place twice.")):
            title = f"picks {picks}, added={made.added}"
            given = {"picks": np.array(picks)}
            yield VectorCase(title, why, {"x": x}, parameters_of(made), given, flags_of(x), law=True)


def _lazy() -> Iterator[VectorCase]:
    x = array([1.0, -2.0, 0.5], "float32")
    for u, why in (
        (0.0, "The smallest u."),
        (0.5 - 2.0**-54, "The last u below the probability."),
        (0.5, "The first u that sends nothing: the comparison is strict."),
        (1 - 2.0**-53, "The largest u."),
    ):
        flags = (*flags_of(x), "uniforms on the edge")
        parameters = parameters_of(BernoulliLazy(Fraction(1, 2)))
        yield VectorCase(f"u={u.hex()}", why, {"x": x}, parameters, {"u": u}, flags, law=u == 0.5)


def _runs() -> Iterator[VectorCase]:
    for zeros, why in (
        (9, "One byte of zeros is no run."),
        (10, "Two bytes of zeros are one byte."),
        (70, "Fourteen: the longest run."),
        (75, "Fifteen: a run, and a byte alone."),
    ):
        x = array([*([0.0] * zeros), 1.0, -1.0], "float32")
        yield VectorCase(f"{zeros} zeros", why, {"x": x}, parameters_of(ThreeLC()), {}, flags_of(x))


MORE = {"ReplacementRandK": _replaced, "BernoulliLazy": _lazy, "ThreeLC": _runs}
"""Cases of one compressor alone."""


def cases(name: str) -> list[VectorCase]:
    """Those of a compressor."""
    found = vector_cases(name, SETTINGS, SWITCHES, LAWS, _randomness)
    return found + list(MORE[name]()) if name in MORE else found


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    from commbounds.verify.vectors import collectives as made  # it asks this module what it holds
    from commbounds.verify.vectors.collectives import SIZES, ranks

    def permuted() -> Iterator[VectorCase]:
        for P, n, dtype, why in SIZES:
            owners = np.floor(uniforms(n, n, "float64") * P).astype(np.int64)
            yield made.case_of(why, {"stack": ranks(P, n, dtype, 91)}, {}, {"owners": owners})
        refused = {"stack": ranks(2, 3, "float32", 91)}
        yield made.case_of("There is no rank 2.", refused, {}, {"owners": np.array([0, 2, 1])}, refused=True)

    def shared() -> Iterator[VectorCase]:
        for P, n, dtype, why in SIZES:
            places = np.arange(0, n, 2)
            yield made.case_of(why, {"stack": ranks(P, n, dtype, 92)}, {"k": places.size}, {"places": places})
        refused = {"stack": ranks(2, 3, "float32", 92)}
        yield made.case_of("Not ascending.", refused, {"k": 2}, {"places": np.array([2, 0])}, refused=True)

    def stepped() -> Iterator[VectorCase]:
        for P, n, dtype, why in SIZES:
            given = {"steps": 3, "k": max(1, n // 3), "factor": 0.5}
            yield made.case_of(why, {"stack": ranks(P, 3 * n, dtype, 93)}, given)
        small = {"stack": ranks(2, 8, "float32", 93)}
        for P, n in ((1, 2), (5, 3), (3, 2)):
            few = {"stack": ranks(P, n, "float64", 94)}
            yield made.case_of("One step, of more ranks than entries but for one rank.", few, {"steps": 1, "k": 1})
        yield made.case_of("Momentum goes on.", small, {"steps": 2, "k": 1, "factor": 0.5, "masking": False})
        yield made.case_of("Steps do not divide the rows.", small, {"steps": 3, "k": 1}, refused=True)

    def run_of_dgc(case: VectorCase) -> dict[str, Any]:
        run, traffic = dgc_steps(**case.inputs, **case.parameters)
        return {"updates": run.updates, "momentum": run.momentum, "accumulated": run.accumulated, "traffic": traffic}

    return [
        *(compressor(name, partial(cases, name)) for name in COMPRESSORS),
        made.collective("permk_mean", permuted, made.called(permk_mean, "mean", "traffic")),
        made.collective("shared_randk_mean", shared, made.called(shared_randk_mean, "mean", "traffic")),
        made.collective("dgc_steps", stepped, run_of_dgc),
        *of_mechanisms(),
    ]
