"""Test vectors of the column's mechanisms: dynamic map, INCEPTIONN, and signs with a memory."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.shipped import dynamic_tree, ef_signs, inceptionn, signum_signs
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.compressor_cases import mechanism
from commbounds.verify.vectors.inputs import array, flags_of, uniforms


def _case(name: str, why: str, x: Array, given: dict[str, Any], *, refused: bool = False) -> VectorCase:
    return VectorCase(name, why, {"x": x}, given, {}, () if refused else flags_of(x), refused=refused)


def _spread(n: int, dtype: str) -> Array:
    """Entries of many scales, of both signs."""
    u = uniforms(17, n, "float64")
    x: Array = (np.where(u < 0.5, -1.0, 1.0) * np.ldexp(u, -np.arange(n) % 24)).astype(dtype)
    return x


def _mapped() -> Iterator[VectorCase]:
    for dtype in ("float32", "float64"):
        yield _case(f"both ends, {dtype}", "Minus the scale is no value.", array([2.0, -2.0], dtype), {})
        yield _case(f"negative, {dtype}", "What is largest comes out smaller.", array([-1.0, 0.25, 0.0], dtype), {})
        yield _case(f"zeros, {dtype}", "The scale is zero.", array([0.0, 0.0, 0.0], dtype), {"block": 2})
        yield _case(f"all scales, {dtype}", "Several blocks, the last is shorter.", _spread(37, dtype), {"block": 16})
    yield _case("border to zero", "2.75e-7 is between zero and the least.", array([1.0, 2.7e-7, 2.8e-7], "float64"), {})
    yield _case("no block", "Blocks have an entry.", array([1.0], "float32"), {"block": 0}, refused=True)
    yield _case("NaN", "No number is nearest.", array([np.nan], "float32"), {}, refused=True)


def _truncated() -> Iterator[VectorCase]:
    powers = [2.0**-m for m in range(-2, 14)]
    for dtype in ("float32", "float64"):
        for binades in (0, 3, 10, 14):
            x = array([*powers, *(-1.375 * p for p in powers), 0.0], dtype)
            yield _case(f"{binades} binades, {dtype}", "A power of two in each, one between.", x, {"binades": binades})
    yield _case("four zeros", "Four classes are padded by four more.", array([0.0] * 4, "float32"), {})
    yield _case("subnormals", "All are dropped.", array([1e-45, -1e-40], "float32"), {})
    yield _case("too many", "Sixteen bits have no place.", array([1.0], "float32"), {"binades": 29}, refused=True)
    yield _case("infinity", "It has no exponent.", array([np.inf], "float32"), {}, refused=True)


def _rows(T: int, n: int, dtype: str) -> Array:
    return np.round(16 * uniforms(T * n, T * n, "float64").reshape(T, n) - 8).astype(dtype)


def _steps(name: str, given: tuple[dict[str, Any], ...], bad: dict[str, Any]) -> Callable[[], Iterator[VectorCase]]:
    def cases() -> Iterator[VectorCase]:
        for dtype in ("float32", "float64"):
            for number, parameters in enumerate(given):
                for T, n in ((1, 3), (6, 4)):
                    label = f"{T} steps of {n}, {dtype}, {number}"
                    rows = {"gradients": _rows(T, n, dtype)}
                    yield VectorCase(label, "Whole numbers, so that sums are exact.", rows, parameters)
        rows = {"gradients": np.array([[0.0, -0.0], [1.0, -1.0]], "float64")}
        yield VectorCase("zeros", "The sign of zero is positive, whatever its own.", rows, given[0])
        yield VectorCase(f"{name} out of range", "Refused.", rows, bad, refused=True)

    return cases


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return [
        mechanism("dynamic_tree", _mapped, partial(_parts, dynamic_tree, "codes", "scales")),
        mechanism("inceptionn", _truncated, partial(_parts, inceptionn, "classes")),
        mechanism(
            "signum_signs",
            _steps("momentum", ({"momentum": 0.75}, {"momentum": 0.0}), {"momentum": 1.0}),
            lambda c: {"signs": signum_signs(**c.inputs, **c.parameters)},
        ),
        mechanism(
            "ef_signs",
            _steps("rate", ({"rate": 0.25}, {"rate": 0.5, "scaled": True}), {"rate": 0.0}),
            lambda c: vars(ef_signs(**c.inputs, **c.parameters)),
        ),
    ]


def _parts(call: Any, *names_and_case: Any) -> dict[str, Any]:
    *names, case = names_and_case
    sent = call(**case.inputs, **case.parameters)
    return {**{name: getattr(sent, name) for name in names}, "output": sent.values, "bits": sent.bits}
