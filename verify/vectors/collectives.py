"""What is expected of a collective, and the stacks of ranks that its cases begin with."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import COLLECTIVES
from commbounds.verify.definition import Definition, vectors_of
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.inputs import array, ordinary, stack_flags
from commbounds.verify.vectors.numbers import Record

SIZES: tuple[tuple[int, int, str, str], ...] = (
    (1, 5, "float32", "One rank: nothing is sent."),
    (2, 6, "float32", "Two ranks: the smallest exchange."),
    (3, 7, "float32", "Three ranks, and 3 does not divide 7: blocks differ by one entry."),
    (4, 8, "float32", "A power of two that divides n: all blocks are alike."),
    (5, 3, "float32", "Fewer entries than ranks: some blocks are empty, and their messages too."),
    (5, 11, "float64", "Five ranks, no power of two; float64 sums."),
    (8, 13, "float32", "Eight ranks, and 8 does not divide 13."),
)
"""Ranks, entries, dtype, and why."""


def ranks(P: int, n: int, dtype: str, key: int = 0) -> Array:
    """The ranks' vectors: ordinary entries, of which no two orders of addition need give the same bits."""
    return ordinary(1000 + key, P * n, dtype).reshape(P, n)


def full_sizes(parameters: Mapping[str, Any] | None = None, key: int = 0) -> Iterator[VectorCase]:
    """A case of every size in `SIZES`, all with these parameters."""
    for P, n, dtype, why in SIZES:
        yield case_of(why, {"stack": ranks(P, n, dtype, key)}, dict(parameters or {}))


def case_of(
    why: str,
    inputs: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    randomness: Mapping[str, Any] | None = None,
    *,
    about: str = "",
    flags: tuple[str, ...] = (),
    refused: bool = False,
) -> VectorCase:
    """A case that is called by what it is about, by its size, and by its parameters as far as they are plain."""
    given = next(iter(inputs.values()), None)
    rows = given if isinstance(given, np.ndarray) and given.ndim > 1 else None
    size = [] if rows is None else [f"P={len(rows)}", f"n={rows.shape[-1]}", rows.dtype.name]
    plain = {k: v for k, v in (parameters or {}).items() if isinstance(v, bool | int | float | str)}
    title = ", ".join([*([about] if about else []), *size, *(f"{key}={value}" for key, value in plain.items())])
    seen = stack_flags(rows) if rows is not None and rows.dtype.kind == "f" else ()
    return VectorCase(title or why, why, inputs, parameters or {}, randomness or {}, (*seen, *flags), refused=refused)


def descent_case(P: int, n: int, dtype: str, why: str, **given: Any) -> VectorCase:
    """Three steps of a descent: weights, and the workers' gradients at every step."""
    gradients = [ranks(P, n, dtype, 80 + t) for t in range(3)]
    sized = case_of(why, {"stack": gradients[0]}, given)
    name = ", ".join([sized.name, *(str(given[key]) for key in ("mechanism", "aggregator") if key in given)])
    return VectorCase(name, why, {"weights": ranks(1, n, dtype, 90)[0], "gradients": gradients}, given, {}, sized.flags)


def called(function: Callable[..., Any], *names: str) -> Callable[[VectorCase], Mapping[str, Any]]:
    """What `function` returns for everything that a case gives it, the parts under these names."""

    def run(case: VectorCase) -> Mapping[str, Any]:
        found = function(**case.inputs, **case.parameters, **case.randomness)
        parts = found if len(names) > 1 else (found,)
        return dict(zip(names, parts, strict=True))

    return run


def every_round(rounds: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What is expected of several steps or iterations, one after another."""
    return {"steps": [Record("step", fields) for fields in rounds]}


def collective(
    name: str,
    cases: Callable[[], Iterable[VectorCase]],
    run: Callable[[VectorCase], Mapping[str, Any]],
    unit: str = "words",
) -> VectorSubject:
    """The collective of this name, which `run` calls; its summary is the first line of its docstring."""
    summary = (COLLECTIVES[name].__doc__ or "").strip().splitlines()[0]
    return VectorSubject(name, "collective", summary, cases, run, unit=unit)


def held_to(
    definitions: Mapping[str, Definition], unit: str = "words", /, **cases: Callable[[], Iterable[VectorCase]]
) -> list[VectorSubject]:
    """The collectives named, each with its cases, of which is expected what its definition compares."""
    return [
        collective(name, made, vectors_of(definitions[name], COLLECTIVES[name]), unit) for name, made in cases.items()
    ]


def special_stacks() -> Iterator[tuple[str, Array, tuple[str, ...]]]:
    """Stacks whose sums show what a collective does with the numbers: reason, stack, flags."""
    top, small = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal
    yield (
        "Zeros of both signs: -0.0 + -0.0 is -0.0, and -0.0 + 0.0 is 0.0.",
        array([[-0.0, 0.0, -0.0], [-0.0, -0.0, 0.0], [-0.0, -0.0, -0.0]], "float32"),
        ("negative zero",),
    )
    yield (
        "Large entries cancel: what is left of the small ones tells the order of the additions.",
        array([[1e8, 1.0, -1e8, 1.0], [1.0, 1e8, 1.0, -1e8], [-1e8, 1.0, 1e8, 1.0], [1.0, -1e8, 1.0, 1e8]], "float32"),
        ("order shows",),
    )
    yield (
        "Subnormal sums, which flushing to zero would lose.",
        array([[small, -small, 3 * small], [small, small, -2 * small]], "float32"),
        (),
    )
    yield (
        "Sums above the largest number become infinite, and infinity minus infinity NaN.",
        array([[top, top, -top], [top, -top, -top], [1.0, 1.0, -top]], "float32"),
        ("overflow",),
    )
    yield "A NaN is refused.", array([[1.0, np.nan], [2.0, 3.0]], "float32"), ("refused",)
