"""Simulated all-reduces in rounded arithmetic: the stacks that they are run on, and what is read off."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array, Integers
from commbounds.collectives.precision.simulation import SIMULATED, rounded
from commbounds.theory.precision.formats import FORMATS, Format
from commbounds.theory.rational import exact_sum
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.dense.cases import FAMILIES
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case

PAIRS = (
    ("float32", "float32"),
    ("bfloat16", "bfloat16"),
    ("float32", "bfloat16"),
    ("float64", "float64"),
    ("float16", "float16"),
    ("float32", "float16"),
    ("float8_e5m2", "float8_e5m2"),
    ("float8_e4m3fn", "float8_e4m3fn"),
    ("float16", "float8_e4m3fn"),
)
"""(accumulator, wire)."""
_HOW = {
    "schedule": "ring",
    "accumulate": "float32",
    "wire": "float32",
    "per_hop": True,
    "own": "as sent",
    "kept": "as sent",
    "rounding": "nearest",
    "average": None,
    "nodes": 1,
}
"""What `simulated_allreduce` is asked for, and its defaults here."""


def summed(x: Array, **settings: Any) -> Case:
    """A case of the ranks' rows, rounded to the wire's format, with everything that hypotheses ask for."""
    how = {**_HOW, **settings}
    stack = rounded(x, how["wire"])
    P, n = stack.shape
    if how["schedule"] == "hierarchical" and how["nodes"] == 1:
        how["nodes"] = next(nodes for nodes in (3, 2, 1) if P % nodes == 0)
    return Case({"P": P, "n": n, **how}, stack)


def result_of(implementation: Any, case: Case) -> Array:
    """What every rank holds, (P, n)."""
    return result(implementation, case.array, case)


def result(implementation: Any, x: Array, case: Case, **changed: Any) -> Array:
    """The same of other vectors, or asked for otherwise."""
    how = {name: case.settings[name] for name in _HOW} | changed
    rng = np.random.default_rng(case.settings.get("seed", 0)) if how["rounding"] == "stochastic" else None
    held: Array = implementation(x, **how, rng=rng)
    return held


def bits(x: Array) -> Integers:
    """Of float64 numbers, those of any NaN the same."""
    return np.where(np.isnan(x), np.nan, x).view(np.int64)


def wire_of(case: Case) -> Format:
    """The wire's format."""
    return FORMATS[case.settings["wire"]]


def exact_columns(x: Array) -> tuple[tuple[Fraction, Fraction], ...]:
    """Sum and sum of the magnitudes of every column: many cases have the same stack."""
    return _exact_columns(x.tobytes(), *x.shape)


@lru_cache(maxsize=1 << 10)
def _exact_columns(stack: bytes, P: int, n: int) -> tuple[tuple[Fraction, Fraction], ...]:
    columns = np.frombuffer(stack).reshape(P, n).T.tolist()
    return tuple((exact_sum(column), exact_sum(map(abs, column))) for column in columns)


# --- stacks -----------------------------------------------------------------------------------------------------------


def _hostile(rng: np.random.Generator, P: int, n: int) -> Array:
    """Infinities, NaN, zeros of both signs and numbers."""
    return rng.choice(
        (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan), (P, n), p=(0.3, 0.2, 0.2, 0.24, 0.02, 0.02, 0.02)
    )


STACKS = {**FAMILIES, "not finite": _hostile}
"""What ranks hold, by name."""


def family(name: str, P: int, n: int, seed: int, scale: float = 1.0) -> Array:
    """A stack of that family."""
    return STACKS[name](np.random.default_rng([seed, P, n]), P, n) * scale


def beyond(wire: str) -> float:
    """A power of two that one is lost beside."""
    return 2.0 ** (FORMATS[wire].digits + 1)


@cache
def textbook(wire: str) -> list[tuple[str, Array]]:
    """Stacks on which the order of sums shows, a column for every block and one more; not to be changed."""
    big, half = beyond(wire), 2.0 ** -FORMATS[wire].digits
    lost = [[1.0, big, -big], [1.0, -big, big, 1.0], [1.0, 1.0, big, -big], [big, 1.0, -big, 1.0, 1.0]]
    ties = [[1.0, half], [1.0, half, half / 2, 0.0], [1.0, half, half, half], [1.0, half, half, half, half, 0.0]]
    return [
        (name, np.repeat(np.array(column)[:, None], len(column) + 1, axis=1))
        for name, columns in (("beyond the significand", lost), ("half a gap", ties))
        for column in columns
    ]


@cache
def _of_few(name: str, P: int) -> Array:
    """A stack of P ranks with an entry more than ranks; not to be changed."""
    return family(name, P, P + 1, 0)


def options(**fixed: Any) -> Iterator[dict[str, Any]]:
    """Every combination of the options that are given; lists are gone through."""
    for values in itertools.product(*(v if isinstance(v, list) else [v] for v in fixed.values())):
        how = dict(zip(fixed, values, strict=True))
        how["accumulate"], how["wire"] = how.pop("formats")
        yield how


def by_hand(_budget: Budget, /, **fixed: Any) -> Iterator[Case]:
    """Families and textbook stacks at small sizes, in all formats and by all schedules unless they are given."""
    for how in options(**{"schedule": list(SIMULATED), "formats": list(PAIRS), **fixed}):
        for name, x in textbook(how["wire"]):
            yield summed(x, family=name, **how)
        for P in (1, 2, 3, 4, 6, 7, 8):
            for name in tuple(STACKS) if P == 3 else ("normal", "cancelling"):
                yield summed(_of_few(name, P), family=name, seed=0, **how)


@st.composite
def drawn(draw: st.DrawFn, /, **fixed: Any) -> Case:
    """Up to twelve ranks and thirty entries, of any family and scale; options are drawn of lists."""
    how = {"schedule": list(SIMULATED), "formats": list(PAIRS), **fixed}
    how = {name: draw(sampled_from(tuple(v))) if isinstance(v, list) else v for name, v in how.items()}
    how["accumulate"], how["wire"] = how.pop("formats")
    P, n, name = draw(integers(1, 12)), draw(integers(1, 30)), draw(sampled_from(tuple(STACKS)))
    seed, scale = draw(integers(0, 2**31)), draw(integers(-20, 20))
    return summed(family(name, P, n, seed, 2.0**scale), family=name, seed=seed, **how)
