"""Vectors and stacks on which group quantisers are confronted."""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.compressors import GroupQuantizer
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.study import Case, shared

_OPTIONS = ("metadata", "repaired", "quantise_with", "zero", "scale", "theta", "spikes")


def made(cls: Any, case: Case) -> Any:
    """The quantiser that a case asks for."""
    return case.once(_made, cls)


def _made(cls: Any, case: Case) -> Any:
    options = {name: case.settings[name] for name in _OPTIONS if name in case.settings}
    return cls(case.settings["width"], case.settings["group"], **{"metadata": "float64", **options})


def through(c: Any, x: Array) -> Array:
    """`x` as its receiver reads it, by way of the message."""
    read: Array = c.decompress(c.compress(x))
    return read


def message_of(cls: Any, case: Case) -> Any:
    """The message of the case's vector."""
    return made(cls, case).compress(case.array)


def read_of(cls: Any, case: Case) -> Array:
    """The case's vector as its receiver reads it."""
    read: Array = made(cls, case).decompress(case.once(message_of, cls))
    return read


def law_of(cls: Any, case: Case) -> Any:
    """The exact law of the case's vector."""
    return made(cls, case).law(case.array)


def quantiser_of(cls: Any, case: Case) -> dict[str, Any]:
    """What hypotheses ask of the quantiser."""
    return {"compressor": made(cls, case)}


def plain_quantiser(_allreduce: Any, case: Case) -> dict[str, Any]:
    """The same where a collective is confronted, of the quantiser that it is given."""
    return {"compressor": made(GroupQuantizer, case)}


NEVER = 2**64
"""More steps than any claim allows."""


def in_steps(error: Any, step: Any) -> Any:
    """An error over a scale; where that is zero, nothing for no error, and more than any bound else."""
    if step:
        return error / step
    return 0 * error if not error else NEVER


@shared
def vector_grid(**options: Any) -> Callable[[int], Iterator[Case]]:
    """Every vector of up to four small integers, at one to three bits, in groups of two to four."""

    def grid(level: int) -> Iterator[Case]:
        for n, top in ((2, 4), (3, 2), (4, 1 + level)):
            for x in inputs.grid(n, top):
                for width in (1, 2, 3):
                    for group in (2, 4)[: n - 1]:
                        yield Case(
                            {"width": width, "group": group, "exact": True, **options}, np.array(x, dtype=object)
                        )

    return grid


@shared
def vectors(dtype: Any = np.float64, **options: Any) -> Callable[[Budget], Iterator[Case]]:
    """The hostile corpus at moderate scales, at several widths; and at both ends of the dtype."""

    def corpus(budget: Budget) -> Iterator[Case]:
        for n in budget.sizes:
            for name, make in inputs.CORPUS.items():
                for scale, offset in ((1.0, 0.0), (1e-3, 0.0), (1.0, 100.0), (1.0, -7.0)):
                    x = (make(n) * scale + offset).astype(dtype)
                    for width in (1, 2, 4, 8):
                        settings = {"width": width, "group": 8, "family": name, "n": n, "offset": offset, **options}
                        yield Case({**settings, "scale_of_x": scale}, x)
                # scales that are subnormal, and sums that almost overflow
                for scale in (1e-40, 1e31) if dtype == np.float32 else (1e-310, 1e300):
                    settings = {"width": 4, "group": 8, "family": name, "n": n, "scale_of_x": scale, **options}
                    yield Case(settings, (make(n) * scale).astype(dtype))

    return corpus


@st.composite
def _vector_cases(draw: st.DrawFn, dtype: Any, options: dict[str, Any]) -> Case:
    settings = {"width": draw(inputs.integers(1, 8)), "group": draw(inputs.sampled_from((4, 1, 2, 7, 32))), **options}
    if not draw(st.booleans()):
        x = np.array(draw(inputs.small_entries(1, 6)), dtype)
    else:
        name, seed = draw(inputs.sampled_from(tuple(inputs.FAMILIES))), draw(inputs.integers(0, 2**31))
        n, offset = draw(inputs.integers(1, 100)), draw(inputs.sampled_from((0.0, 1.0, -30.0, 1000.0)))
        x = (inputs.family(name, n, seed, 1.0, np.float64) + offset).astype(dtype)
        settings |= {"family": name, "seed": seed, "offset": offset}
    return Case(settings, x)


@shared
def vector_cases(dtype: Any = np.float64, **options: Any) -> Callable[[], st.SearchStrategy[Case]]:
    """Generated vectors: short ones entry by entry, long ones by family and seed."""
    return partial(_vector_cases, dtype, options)


@lru_cache(maxsize=256)
def _stack(family: str, P: int, n: int, seed: int) -> Array:
    return np.array([inputs.family(family, n, seed + p, 1.0, np.float64) for p in range(P)])


def stacks(budget: Budget, **options: Any) -> Iterator[Case]:
    """Stacks of several families and numbers of ranks."""
    for P in (1, 2, 3, 5, 8):
        for family in ("normal", "small integers", "student", "sparse"):
            for n in (1, 5, *budget.sizes[-1:]):
                for width in (1, 2, 4):
                    settings = {"P": P, "n": n, "width": width, "group": 4, "family": family, **options}
                    yield Case(settings, _stack(family, P, n, 1))


@st.composite
def _stack_cases(draw: st.DrawFn, options: dict[str, Any]) -> Case:
    P, n = draw(inputs.integers(1, 5)), draw(inputs.integers(1, 8))
    settings = {"P": P, "n": n, "width": draw(inputs.integers(1, 6)), "group": draw(inputs.integers(1, 8)), **options}
    if not draw(st.booleans()):
        entries = draw(inputs.small_entries(P * n, P * n))
        return Case(settings, np.array(entries, np.float64).reshape(P, n))
    family, seed = draw(inputs.sampled_from(tuple(inputs.FAMILIES))), draw(inputs.integers(0, 2**31))
    return Case({**settings, "family": family, "seed": seed}, _stack(family, P, n, seed))


@shared
def stack_cases(**options: Any) -> Callable[[], st.SearchStrategy[Case]]:
    """Generated stacks: small ones entry by entry."""
    return partial(_stack_cases, options)


def rms(x: Array) -> float:
    """The root of the mean square of the entries, in float64."""
    return float(np.sqrt(np.mean(np.square(x.astype(np.float64)))))
