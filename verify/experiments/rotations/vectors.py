"""Test vectors: rotation-based compressors, the transform and the quantiser of a normal number."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Array
from commbounds.collectives.rotations import rotated_mean, rotated_sum
from commbounds.compressors.rotations import (
    COMPRESSORS,
    DRIVE,
    EDEN,
    MECHANISMS,
    HadamardSketch,
    RotatedDithering,
    lloyd_max,
    padded_size,
    rotated_signs,
)
from commbounds.verify.definition import vectors_of
from commbounds.verify.experiments.rotations.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.compressor_cases import BAD, MOST, Setting, compressor, mechanism, vector_cases
from commbounds.verify.vectors.inputs import array, flags_of, uniforms

_SMALL = tuple(name for name in (*MOST, "one entry") if name != "largest")

SETTINGS: tuple[Setting, ...] = (
    (DRIVE(), "float32", _SMALL, (*BAD, "largest")),
    (DRIVE("biased"), "float32", _SMALL, BAD),
    (DRIVE(), "float64", ("ordinary", "ties"), ("largest",)),
    (EDEN(1), "float32", ("ordinary", "one nonzero", "long"), ()),
    (EDEN(2), "float32", _SMALL, (*BAD, "largest")),
    (EDEN(4, "norm"), "float32", ("ordinary", "ties", "long"), ()),
    (EDEN(3, "biased"), "float64", ("ordinary", "ties"), ()),
    (RotatedDithering(1), "float32", (*_SMALL, "largest"), BAD),
    (RotatedDithering(5), "float64", ("ordinary", "ties"), ()),
    (HadamardSketch(1), "float32", (*_SMALL, "largest"), BAD),
    (HadamardSketch(4), "float64", ("ordinary", "ties"), ()),
)


def _signs(x: Array, seed: int) -> NDArray[np.int8]:
    return np.where(uniforms(seed, x.size, "float64") < 0.5, 1, -1).astype(np.int8)


def _drawn(c: Any, name: str, x: Array, seed: int) -> dict[str, Any]:
    """The signs; and what else is drawn."""
    signs, d = {"signs": _signs(x, seed)}, padded_size(x.size)
    if isinstance(c, HadamardSketch):
        kept = np.sort(np.argsort(uniforms(seed + 50, d, "float64"), kind="stable")[: c.k])
        return {"kept": kept.astype(np.int32), **signs}
    if isinstance(c, RotatedDithering):
        return {"dither": uniforms(seed + 50, d, "float64"), **signs}
    return signs


def _rotations() -> Iterator[VectorCase]:
    for why, entries, dtype in (
        ("One entry: its sign alone.", [3.0], "float64"),
        ("Two entries: their sum and difference.", [3.0, 1.0], "float64"),
        ("Padded from three to four.", [3.0, -1.0, 0.5], "float32"),
        ("Equal entries, which some pattern of signs gathers in one.", [1.0] * 8, "float64"),
        ("Padded from nine to sixteen.", [0.25 * i for i in range(-4, 5)], "float32"),
    ):
        x = array(entries, dtype)
        yield VectorCase(why, why, {"x": x, "signs": _signs(x, 300 + x.size)}, {"inverse": False}, {}, flags_of(x))
    x = array([10, -2, 4, 0], "float64")
    yield VectorCase("back", "Back from the rotated vector.", {"x": x, "signs": _signs(x, 7)}, {"inverse": True}, {},
                     flags_of(x))  # fmt: skip
    bad = array([1.0, np.nan], "float64")
    yield VectorCase("NaN", "A NaN is refused.", {"x": bad, "signs": _signs(bad, 7)}, {"inverse": False}, {},
                     flags_of(bad), refused=True)  # fmt: skip


def _quantisers() -> Iterator[VectorCase]:
    for bits in (1, 2, 3, 4):
        yield VectorCase(f"{bits} bits", "Centroids to six digits, as exp and erfc differ between machines.", {},
                         {"bits": bits}, {}, ())  # fmt: skip
    yield VectorCase("no bits", "There is no quantiser without bits.", {}, {"bits": 0}, {}, (), refused=True)


def _rounded(case: VectorCase) -> Mapping[str, Any]:
    found = lloyd_max(**case.parameters)
    return {"centroids": np.round(np.array(found.centroids), 6)}


def _kashin() -> Iterator[VectorCase]:
    given = {"rounds": 3, "eta": 0.5, "delta": 1.0, "length": None, "exact": True}
    for why, entries, dtype, changed in (
        ("One entry.", [-3.0], "float64", {}),
        ("Padded from three to four, which clips two of the four.", [2.0, 1.0, 1.0], "float32", {}),
        ("Eight coefficients for three entries.", [1.0, -2.0, 3.0], "float64", {"length": 8, "delta": 0.5}),
        ("All rounds clip.", [1.0, 1.0, 1.0, 1.0, 1.0], "float64", {"exact": False, "rounds": 2}),
        ("Zeros stay zeros.", [0.0, -0.0], "float32", {}),
    ):
        x = array(entries, dtype)
        yield VectorCase(why, why, {"x": x, "signs": _signs(x, 700 + x.size)}, {**given, **changed}, {}, flags_of(x))
    x = array([1.0, 2.0, 3.0], "float64")
    for name, why, changed in (
        ("no rounds", "There is no round.", {"rounds": 0}),
        ("rate", "A level that does not shrink.", {"eta": 1.0}),
        ("short", "Fewer coefficients than entries.", {"length": 2}),
    ):
        yield VectorCase(name, why, {"x": x, "signs": _signs(x, 700)}, {**given, **changed}, {}, (), refused=True)


def _ditherings() -> Iterator[VectorCase]:
    for why, entries, dtype, step, reach, one in (
        ("An offset for each of four.", [3.0, 1.0, 0.0, -0.5], "float64", 0.5, None, False),
        ("One offset for all, padded.", [3.0, 1.0, 2.0], "float32", 0.25, None, True),
        ("Codes are clipped to -1 .. 1.", [1.0, 1.0, 1.0, 1.0], "float64", 0.5, 1, True),
    ):
        x = array(entries, dtype)
        offsets = uniforms(810 + x.size, 1 if one else padded_size(x.size), "float64") - 0.5
        inputs = {"x": x, "signs": _signs(x, 800 + x.size), "offsets": offsets.reshape(()) if one else offsets}
        yield VectorCase(why, why, inputs, {"step": step, "reach": reach}, {}, flags_of(x))
    x = array([1.0, 2.0], "float64")
    inputs = {"x": x, "signs": _signs(x, 800), "offsets": array([0.25, 0.5], "float64")}
    why = "An offset of half a step is that of minus half."
    yield VectorCase("offset", why, inputs, {"step": 1.0, "reach": None}, {}, (), refused=True)


def _any_rotations() -> Iterator[VectorCase]:
    for why, entries, rows, scale in (
        ("A rotation by the angle of (4, 3).", [3.0, 1.0], [[0.8, 0.6], [-0.6, 0.8]], "unbiased"),
        ("The same with the scale of the least error.", [3.0, 1.0], [[0.8, 0.6], [-0.6, 0.8]], "biased"),
        ("A permutation: a zero counts as positive.", [0.0, -2.0, 1.0], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], "unbiased"),
        ("Zeros stay zeros.", [0.0, 0.0], [[1, 0], [0, 1]], "biased"),
    ):
        x = array(entries, "float64")
        inputs = {"x": x, "rotation": array(rows, "float64")}
        yield VectorCase(why, why, inputs, {"scale": scale}, {}, flags_of(x))
    inputs = {"x": array([3.0, 1.0], "float64"), "rotation": array([[1.0, 1.0], [0.0, 1.0]], "float64")}
    yield VectorCase("skew", "Rows that are not orthonormal.", inputs, {"scale": "biased"}, {}, (), refused=True)


def _weights() -> Iterator[VectorCase]:
    square = [[1.0, 1.0], [1.0, 2.0]]
    worse = [[64.0, -32.0, -32.0], [-32.0, 17.0, 17.0], [-32.0, 17.0, 18.0]]
    for why, w, H, levels in (
        ("One weight, half-way: up.", [0.5], [[3.0]], None),
        ("The first weight makes up for the second.", [0.25, 0.25], square, None),
        ("Worse than nearest rounding.", [0.25, 0.25, 0.25], worse, None),
        ("Clamped to the least level.", [0.0, 1.5], square, 3),
    ):
        x = array(w, "float64")
        yield VectorCase(why, why, {"weights": x, "hessian": array(H, "float64")}, {"levels": levels}, {}, flags_of(x))
    inputs = {"weights": array([1.0, 2.0], "float64"), "hessian": array([[1.0, 2.0], [2.0, 1.0]], "float64")}
    yield VectorCase("indefinite", "No positive definite matrix.", inputs, {"levels": None}, {}, (), refused=True)


def _estimated(case: VectorCase) -> Mapping[str, Any]:
    return {"estimate": np.round(rotated_signs(**case.inputs, **case.parameters), 12) + 0.0}


def _means() -> Iterator[VectorCase]:
    from commbounds.verify.vectors.collectives import SIZES, case_of, ranks

    for number, (P, n, dtype, why) in enumerate(SIZES):
        signs = np.array([_signs(np.zeros(n), 400 + 10 * number + p) for p in range(P)])
        for width, seeds in ((1, "private"), (3, "shared")):
            yield case_of(why, {"stack": ranks(P, n, dtype, 91)}, {"width": width, "seeds": seeds}, {"signs": signs})
    stack = array([[3, 1, 0], [3, 1, 0]], "float32")
    signs = np.array([[1, -1, 1], [-1, -1, 1]], np.int8)
    why = "Both ranks estimate (10/3, 0, 0), whatever their signs."
    yield case_of(why, {"stack": stack}, {"width": 1, "seeds": "private"}, {"signs": signs}, about="bias")
    given = {"width": 1, "seeds": "public"}
    yield case_of("There are no such seeds.", {"stack": stack}, given, {"signs": signs}, about="seeds", refused=True)


def _sums() -> Iterator[VectorCase]:
    from commbounds.verify.vectors.collectives import SIZES, case_of, ranks

    for number, (P, n, dtype, why) in enumerate(SIZES):
        dither = uniforms(500 + number, P * padded_size(n), "float64").reshape(P, -1)
        drawn = {"signs": _signs(np.zeros(n), 600 + number), "dither": dither}
        yield case_of(why, {"stack": ranks(P, n, dtype, 92)}, {"levels": 7}, drawn)
    stack = array([[0, 0, 0], [-0.0, 0, 0]], "float32")
    drawn = {"signs": np.array([1, -1, 1], np.int8), "dither": np.zeros((2, 4))}
    yield case_of("All zero: the step is zero.", {"stack": stack}, {"levels": 1}, drawn, about="zeros")
    yield case_of("There is no level.", {"stack": stack}, {"levels": 0}, drawn, about="levels", refused=True)


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    from commbounds.verify.vectors import collectives as together  # it asks this module what it holds

    def held(name: str, cases: Any) -> VectorSubject:
        """What its definition compares."""
        return mechanism(name, cases, vectors_of(DEFINITIONS[name], MECHANISMS[name]))

    return [
        *(compressor(name, partial(vector_cases, name, SETTINGS, (), (), _drawn)) for name in COMPRESSORS),
        held("randomised_hadamard", _rotations),
        mechanism("lloyd_max", _quantisers, _rounded),
        held("kashin", _kashin),
        held("dithered_hadamard", _ditherings),
        mechanism("rotated_signs", _any_rotations, _estimated),
        held("ldlq", _weights),
        together.collective("rotated_mean", _means, together.called(rotated_mean, "mean", "traffic"), unit="bytes"),
        together.collective("rotated_sum", _sums, together.called(rotated_sum, "total", "traffic"), unit="bytes"),
    ]
