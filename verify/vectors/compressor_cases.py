"""The cases of every compressor of vectors: hostile ones, uniforms at the edges, and around the switch of levels."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from commbounds.compressors import COMPRESSORS, MECHANISMS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.compressors import keyed, received
from commbounds.verify.vectors.inputs import HOSTILE, REFUSED, array, flags_of, hostile, uniforms

MOST = tuple(name for name in HOSTILE if name != "one entry")
BAD = tuple(REFUSED)
WIDE = ("ordinary", "subnormals", "largest")
"""What is taken in float64 as well."""
GRID = {"float32": 24, "float64": 53}
"""Uniforms are multiples of 2 to minus this."""


Setting = tuple[Any, str, tuple[str, ...], tuple[str, ...]]
"""Compressor, dtype, the vectors that it takes, and those that it refuses."""
Switch = tuple[Any, tuple[float, ...], tuple[Fraction, ...]]
"""Compressor, vector, and with which probability each entry goes to the upper of its two levels."""


def parameters_of(compressor: Any) -> dict[str, Any]:
    """The hyper-parameters of a compressor."""
    return dict(vars(compressor))


def _title(name: str, dtype: str, parameters: dict[str, Any]) -> str:
    return ", ".join([name, dtype, *(f"{key}={value}" for key, value in parameters.items())])


def drawn(compressor: Any, name: str, x: Any, seed: int) -> dict[str, Any]:
    """Uniforms for a hostile vector: from a counter where it is refused or long, else injected."""
    if not compressor.randomised:
        return {}
    return keyed(x, seed) if name in ("long", *REFUSED) else {"uniforms": uniforms(seed, x.size, x.dtype.name)}


def hostile_cases(
    compressor: Any, dtype: str, names: tuple[str, ...], refused: tuple[str, ...], randomness: Any = drawn
) -> Iterator[VectorCase]:
    """A case for every hostile vector, among them those that are to be refused."""
    parameters = parameters_of(compressor)
    about = {**HOSTILE, **REFUSED}
    for name in (*names, *refused):
        x = hostile(name, dtype)
        why = about[name] if name in names or name in REFUSED else f"{about[name]} Refused with these parameters."
        yield VectorCase(
            _title(name, dtype, parameters),
            why,
            {"x": x},
            parameters,
            randomness(compressor, name, x, 100 + list(about).index(name)),
            (*flags_of(x), "halfway") if name == "halfway" else flags_of(x),
            refused=name in refused,
        )


def switch_cases(
    compressor: Any, entries: tuple[float, ...], up: tuple[Fraction, ...], dtype: str
) -> Iterator[VectorCase]:
    """Uniforms at both ends of their range, and next to the probability of the upper level, on either side."""
    x, parameters = array(entries, dtype), parameters_of(compressor)
    unit = Fraction(1, 2 ** GRID[dtype])
    at = [min(math.ceil(p / unit) * unit, 1 - unit) for p in up]
    given = {
        "uniforms 0": ([Fraction(0)] * len(up), "The smallest uniform: up wherever the probability is positive."),
        "largest uniforms": ([1 - unit] * len(up), "The largest uniform: up only where that is certain."),
        "below the switch": ([max(u - unit, Fraction(0)) for u in at], "The last uniforms that still move up."),
        "at the switch": (at, "The first uniforms that stay below: the comparison is strict."),
    }
    for name, (u, why) in given.items():
        yield VectorCase(
            _title(name, dtype, parameters), why, {"x": x}, parameters,
            {"uniforms": array([float(v) for v in u], dtype)}, (*flags_of(x), "uniforms on the edge"),
            law=name == "at the switch",
        )  # fmt: skip


def law_case(compressor: Any) -> VectorCase:
    """A small vector on which the exact output stands beside the computed one."""
    x = array([0.5, -3.0, 2.0, 2.0, 0.0], "float32")
    why = "The exact output beside the computed one."
    return VectorCase("with its law", why, {"x": x}, parameters_of(compressor), {}, flags_of(x), law=True)


def vector_cases(
    name: str,
    settings: Iterable[Setting],
    switches: Iterable[Switch] = (),
    laws: Iterable[Any] = (),
    randomness: Any = drawn,
) -> list[VectorCase]:
    """Those of the cases that are about the compressor of this name.

    Parameters
    ----------
    name : str
        A class name.
    settings, switches : iterables of `Setting` and `Switch`
        For hostile vectors, and for uniforms around the switch between levels.
    laws : iterable of compressors
        Those whose output has its law beside it.
    randomness : callable (compressor, name of the vector, vector, seed) -> dict
        What is injected on hostile vectors.
    """
    cases = [
        case
        for compressor, dtype, names, refused in settings
        if type(compressor).__name__ == name
        for case in hostile_cases(compressor, dtype, names, refused, randomness)
    ]
    for switch in switches:
        if type(switch[0]).__name__ == name:
            for dtype in GRID:
                cases += switch_cases(*switch, dtype)
    return cases + [law_case(compressor) for compressor in laws if type(compressor).__name__ == name]


def _summary(registered: Any) -> str:
    return (registered.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").replace("    ", "")


def compressor(
    name: str, cases: Callable[[], Iterable[VectorCase]], run: Callable[[VectorCase], Mapping[str, Any]] | None = None
) -> VectorSubject:
    """The compressor of this name, in either registry; its cases give the hyper-parameters."""
    kind, registered = ("compressor", COMPRESSORS[name]) if name in COMPRESSORS else ("mechanism", MECHANISMS[name])
    return VectorSubject(
        name,
        kind,
        _summary(registered),
        cases,
        run or (lambda case: received(registered(**case.parameters), case)),
        lambda case: registered(**case.parameters).law(case.inputs["x"].tolist()),
    )


def mechanism(
    name: str, cases: Callable[[], Iterable[VectorCase]], run: Callable[[VectorCase], Mapping[str, Any]]
) -> VectorSubject:
    """The mechanism of this name, which `run` calls."""
    return VectorSubject(name, "mechanism", _summary(MECHANISMS[name]), cases, run)
