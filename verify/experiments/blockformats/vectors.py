"""Test vectors: block formats, and all-reduces in them."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.collectives.blockformats import (
    EVEN_TABLE,
    ROUNDINGS,
    UNEVEN_TABLE,
    Thinned,
    hop_stages,
    rounding_stages,
)
from commbounds.compressors.blockformats import (
    NVFP4,
    FourOverSix,
    Microscaling,
    MSEden,
    SharedMicroexponents,
    StochasticFourOverSix,
    StochasticMicroscaling,
    StochasticNVFP4,
)
from commbounds.verify.experiments.blockformats.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, case_of, held_to, ranks
from commbounds.verify.vectors.compressor_cases import (
    BAD,
    MOST,
    WIDE,
    Setting,
    Switch,
    compressor,
    hostile_cases,
    vector_cases,
)
from commbounds.verify.vectors.inputs import uniforms

_WITH_ONE = (*MOST, "one entry")
SETTINGS: tuple[Setting, ...] = (
    (Microscaling(), "float32", _WITH_ONE, BAD),
    (Microscaling(), "float64", WIDE, ()),
    *(
        (Microscaling(element, 4, scale), "float32", ("ordinary", "halfway", "negative zeros"), ())
        for element, scale in (
            ("e2m3", "even"),
            ("e3m2", "rceil"),
            ("e4m3", "ceil"),
            ("e5m2", "double"),
            ("int8", "floor"),
            ("int4", "three_quarters"),
        )
    ),
    (StochasticMicroscaling(scale="rceil"), "float32", _WITH_ONE, BAD),
    (StochasticMicroscaling("e4m3", 4), "float64", WIDE, ()),
    (StochasticMicroscaling("e2m1", 4, "three_quarters"), "float32", ("ordinary", "ties"), ()),
    (NVFP4(), "float32", _WITH_ONE, BAD),
    (NVFP4(4, "up"), "float64", WIDE, ()),
    (StochasticNVFP4(), "float32", _WITH_ONE, BAD),
    (StochasticNVFP4(4, "up"), "float64", WIDE, ()),
    (FourOverSix(), "float32", _WITH_ONE, BAD),
    (FourOverSix(4, "up"), "float64", WIDE, ()),
    (SharedMicroexponents(), "float32", _WITH_ONE, BAD),
    (SharedMicroexponents(2, 5), "float64", WIDE, ()),
)

_QUARTER, _HALF = Fraction(1, 4), Fraction(1, 2)
SWITCHES: tuple[Switch, ...] = (
    (StochasticMicroscaling("e2m1", 4, "rceil"), (6.0, 4.5, -2.5, 0.125), (Fraction(0), _QUARTER, _HALF, _QUARTER)),
    (StochasticNVFP4(4), (2688.0, 2016.0, -1120.0, 56.0), (Fraction(0), _QUARTER, _HALF, _QUARTER)),
)
LAWS = (Microscaling(), NVFP4(), FourOverSix(), SharedMicroexponents())


def _rotations() -> Iterator[VectorCase]:
    def signs(c: Any, name: str, x: Any, seed: int) -> dict[str, Any]:
        return {"signs": (2 * (uniforms(seed, c.dim, "float64") < 0.5) - 1).astype(np.int8)}

    yield from hostile_cases(MSEden(4), "float32", _WITH_ONE, BAD, signs)
    yield from hostile_cases(MSEden(16), "float64", WIDE, (), signs)


def _both_draws() -> Iterator[VectorCase]:
    def pairs(_c: Any, name: str, x: Any, seed: int) -> dict[str, Any]:
        return {"pairs": np.stack([uniforms(seed + k, x.size, str(x.dtype)) for k in (0, 1)])}

    yield from hostile_cases(StochasticFourOverSix(4), "float32", _WITH_ONE, BAD, pairs)
    yield from hostile_cases(StochasticFourOverSix(16, "up", "expected"), "float64", WIDE, (), pairs)


def _requantised() -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        for schedule in ("ring", "direct"):
            yield case_of(
                why, {"stack": ranks(P, n, dtype, 90)}, {"quantiser": Microscaling(block=4), "schedule": schedule}
            )
    stack = ranks(3, 8, "float32", 91)
    for quantiser in (Microscaling("int8", 3, "rceil"), NVFP4(2)):
        yield case_of("Another format.", {"stack": stack}, {"quantiser": quantiser}, about=type(quantiser).__name__)
    for schedule in ("ring", "direct"):
        shape = (rounding_stages(schedule, 3), 3, 8)
        drawn = {"uniforms": uniforms(92, 8 * 3 * shape[0], "float32").reshape(shape)}
        given = {"quantiser": StochasticMicroscaling("e2m1", 4, "rceil"), "schedule": schedule}
        yield case_of("Injected uniforms.", {"stack": stack}, given, drawn, about="stochastic")
    yield case_of(
        "There is no such schedule.", {"stack": stack}, {"quantiser": NVFP4(2), "schedule": "tree"}, refused=True
    )


def _homomorphic() -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        yield case_of(why, {"stack": ranks(P, n, dtype, 93)}, {"width": 4, "block": 3})
    stack = ranks(3, 8, "float32", 94)
    for rounding in ROUNDINGS[1:]:
        drawn: dict[str, Any] = {"uniforms": uniforms(95, 24, "float64").reshape(3, 8)}
        if rounding == "correlated":
            drawn["orders"] = np.argsort(uniforms(96, 24, "float64").reshape(3, 8), axis=0)
        yield case_of("Drawn codes.", {"stack": stack}, {"width": 6, "block": 4, "rounding": rounding}, drawn)
    yield case_of("Sums wrap around in two bits.", {"stack": stack}, {"width": 3, "sum_width": 2})
    yield case_of("A code has two bits at least.", {"stack": stack}, {"width": 1}, refused=True)


def _tabled() -> Iterator[VectorCase]:
    for number, (P, n, dtype, why) in enumerate(SIZES):
        given = {"table": (UNEVEN_TABLE, EVEN_TABLE)[number % 2], "rotated": False, "reach": 1.5}
        drawn = {"uniforms": uniforms(97 + number, P * n, "float64").reshape(1, P, n)}
        yield case_of(why, {"stack": ranks(P, n, dtype, 98)}, given, drawn)
    stack = ranks(3, 4, "float64", 99)
    drawn = {"uniforms": uniforms(100, 24, "float64").reshape(2, 3, 4)}
    given = {"table": UNEVEN_TABLE, "rotated": False, "reach": 2.0}
    yield case_of("In two stages, of a thousand steps.", {"stack": stack}, {**given, "fine": 1000}, drawn)
    one = {"uniforms": uniforms(101, 12, "float64").reshape(1, 3, 4)}
    yield case_of("Sums wrap around in five bits.", {"stack": stack}, {**given, "sum_bits": 5}, one)
    signs = {"signs": np.array([1, -1, -1, 1], np.int8), **one}
    # four entries: the rotation halves sums, exactly
    yield case_of("Rotated.", {"stack": stack}, {"table": EVEN_TABLE, "reach": 1.0}, signs)
    yield case_of("A table must ascend.", {"stack": stack}, {"table": (0, 2, 2), "rotated": False}, one, refused=True)


def _by_hops() -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        for topology in ("ring", "butterfly"):
            refused = topology == "butterfly" and bool(P & (P - 1))
            given = {"quantiser": Microscaling(block=4), "topology": topology}
            yield case_of(why, {"stack": ranks(P, n, dtype, 102)}, given, refused=refused)
    stack = ranks(4, 8, "float32", 103)
    for topology in ("ring", "butterfly"):
        shape = (hop_stages(topology, 4), 4, 8)
        drawn = {"uniforms": uniforms(104, 32 * shape[0], "float32").reshape(shape)}
        for quantiser in (StochasticMicroscaling("e2m1", 4, "rceil"), Thinned(0.5)):
            chosen: dict[str, Any] = {"quantiser": quantiser, "topology": topology}
            yield case_of("Injected uniforms.", {"stack": stack}, chosen, drawn, about=type(quantiser).__name__)


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    named = ("Microscaling", "StochasticMicroscaling", "NVFP4", "StochasticNVFP4", "FourOverSix",
             "SharedMicroexponents")  # fmt: skip
    return [
        *(compressor(name, partial(vector_cases, name, SETTINGS, SWITCHES, LAWS)) for name in named),
        compressor("MSEden", _rotations),
        compressor("StochasticFourOverSix", _both_draws),
        *held_to(
            DEFINITIONS,
            "bytes",
            requantised_allreduce=_requantised,
            homomorphic_allreduce=_homomorphic,
            table_allreduce=_tabled,
            multihop_allreduce=_by_hops,
        ),
    ]
