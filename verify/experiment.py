"""`Experiment`: a claim bound to an implementation, with the inputs that meet its hypotheses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Any

import numpy as np
import sympy as sp
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.compressors import COMPRESSORS, Compressor
from commbounds.theory import Claim, claims
from commbounds.verify import inputs
from commbounds.verify.measures import Measure, exact_values, float_values

__all__ = [
    "MATRICES",
    "VECTORS",
    "Budget",
    "Domain",
    "Experiment",
    "Implementations",
    "Sweep",
    "bound_at",
    "budgets",
    "exact_array",
    "ratio",
    "violates",
]

Array = NDArray[Any]
Implementations = Mapping[str, Any]
"""Compressor name -> class or callable that stands in for the project's own: how mutants are confronted."""


Sweep = Callable[[Any, int], tuple[str, Sequence[tuple[float, Any]]]]
"""(class, n) -> (axis label, [(value, instance)])."""


@dataclass(frozen=True)
class Budget:
    """How much work each method may do.

    Parameters
    ----------
    level : int
        Grid level of the exact method: 0, 1, 2.
    sizes : tuple of int
        Sizes at which the hostile corpus is taken.
    examples : int
        Hypothesis examples.
    observations : int
        Entries (elementwise compressors) or draws that the sequential test sees.
    evaluations : int
        Evaluations of the attack, in all.
    """

    level: int
    sizes: tuple[int, ...]
    examples: int
    observations: int
    evaluations: int


budgets: dict[str, Budget] = {
    "quick": Budget(0, (1, 2, 3, 8, 33), 60, 40_000, 600),
    "standard": Budget(1, (1, 2, 3, 5, 8, 33, 257), 600, 1_000_000, 6_000),
    "thorough": Budget(2, (1, 2, 3, 4, 5, 7, 8, 16, 33, 257, 4099), 5_000, 20_000_000, 60_000),
}


def _last(shape: tuple[int, ...]) -> int:
    return shape[-1]


@dataclass(frozen=True)
class Domain:
    """A kind of input: vectors, matrices, or stacks of the workers' vectors.

    Parameters
    ----------
    grid : callable (level) -> iterator of exact inputs
        Every one of a finite set, small first.
    corpus : callable (sizes, dtype) -> iterator of (label, array)
        Hostile inputs.
    cases : callable (dtype) -> Hypothesis strategy
        Generated inputs.
    random : callable (rng, shape) -> array
        One random input for figures and samples.
    shapes : tuple of shapes
        Where the attack looks.
    size : callable (shape) -> int
        What hyper-parameters are chosen by: the entries of a vector, the smaller side of a matrix.
    kind : str
        vector, matrix, stack, or pair for the family of two workers.
    """

    grid: Callable[[int], Iterator[Any]]
    corpus: Callable[[tuple[int, ...], type], Iterator[tuple[str, Array]]]
    cases: Callable[[type], st.SearchStrategy[Array]]
    random: Callable[[np.random.Generator, tuple[int, ...]], Array]
    shapes: tuple[tuple[int, ...], ...]
    size: Callable[[tuple[int, ...]], int] = _last
    kind: str = "vector"


def _vector_grid(level: int) -> Iterator[Any]:
    tops = ((3, 3, 2), (4, 4, 3, 2), (6, 6, 4, 3, 2))[level]
    for n, top in enumerate(tops, start=1):
        yield from inputs.grid(n, top)


def _rational_norm_grid(level: int) -> Iterator[Any]:
    for n in range(1, (4, 5, 6)[level]):
        yield from inputs.rational_norm_grid(n)
    # a few irrational norms, so that the square root is not always left out
    yield from inputs.grid(2, 1)


def _matrix_grid(level: int) -> Iterator[Any]:
    for m, n in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3))[: 4 + (level > 1)]:
        yield from inputs.matrix_grid(m, n, 2 if m * n < 4 or level else 1)


def _matrix_corpus(sizes: tuple[int, ...], dtype: type) -> Iterator[tuple[str, Array]]:
    shapes = {(min(n, 40), max(1, min(n, 40) - 1)) for n in sizes} | {(2, 2), (3, 5)}
    for m, n in sorted(shapes):
        for name, make in inputs.CORPUS.items():
            for scale in (1.0, 1e-15, 1e15):
                yield f"{name}, {m} x {n}, scale {scale:g}", (make(m * n).reshape(m, n) * scale).astype(dtype)
        yield f"identity, {m} x {n}", np.eye(m, n, dtype=dtype)
        yield f"rank one, {m} x {n}", np.outer(np.arange(1.0, m + 1), np.ones(n)).astype(dtype)


@st.composite
def _matrix_cases(draw: st.DrawFn, dtype: type) -> Array:
    m, n = draw(inputs.whole(1, 6)), draw(inputs.whole(1, 6))
    if not draw(st.booleans()):
        entries = draw(st.lists(inputs.among(inputs.SMALL), min_size=m * n, max_size=m * n))
        return np.asarray(entries, dtype=dtype).reshape(m, n)
    name, seed = draw(inputs.among(tuple(inputs.FAMILIES))), draw(inputs.whole(0, 2**31))
    return inputs.family(name, m * n, seed, 10.0 ** draw(inputs.among(inputs.balanced(10))), dtype).reshape(m, n)


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


VECTORS = Domain(
    _vector_grid, inputs.corpus, lambda dtype: inputs.cases(dtype=dtype), _normal, ((2,), (3,), (4,), (6,))
)
RATIONAL_NORMS = Domain(
    _rational_norm_grid, inputs.corpus, lambda dtype: inputs.cases(dtype=dtype), _normal, ((2,), (3,), (4,), (6,))
)
MATRICES = Domain(_matrix_grid, _matrix_corpus, _matrix_cases, _normal, ((2, 2), (3, 2), (3, 3)), min, "matrix")


def _admit_all(_c: Any, _x: Any) -> bool:
    return True


@dataclass(frozen=True)
class Experiment:
    """How one claim is confronted with its implementation.

    Parameters
    ----------
    claim : str
        Name in the book.
    compressor : str
        Name in the registry.
    measure : Measure
        Measures the claim's quantity.
    setups : callable (class, n) -> sequence of instances
        Hyper-parameters to try on an input of size n, see `Domain.size`.
    domain : Domain
        Where inputs come from.
    admits : callable (compressor, array) -> bool
        The claim's hypotheses; takes arrays, exact inputs are converted for it.
    extremal : callable (compressor, n) -> array or None
        The input that theory calls extremal, or None where that compressor has none at n.
    sampled : str
        How draws are tested: "", "bound" (one-sided), "entries" (unbiased, entry by entry),
        "projection" (unbiased, along the input's signs) or "equal" (two-sided, see `spread`).
    spread : callable (compressor, array) -> (low, high) or None
        Sure range of a draw, for "equal".
    exact_values, float_values : callables
        The values of the bound's symbols at an input.
    enumerable : bool
        Whether the exact method applies (the law is finite).
    injectable : bool
        Whether the kernel can be held against the law, input by input.
    sweep : callable or None
        The compressor's natural parameter, for the figure; None draws over the number of entries.
    drawn_at : int
        Number of entries at which the sweep is drawn; 2410 is the length of the real gradients.
    parameters : dict
        What the finding should say about the set-up besides.
    """

    claim: str
    compressor: str
    measure: Measure
    setups: Callable[[Any, int], Sequence[Any]]
    domain: Domain = VECTORS
    admits: Callable[[Any, Array], bool] = _admit_all
    extremal: Callable[[Any, int], Array | None] | None = None
    sampled: str = ""
    spread: Callable[[Any, Array], tuple[float, float]] | None = None
    exact_values: Callable[[Any, Any], dict[str, Any]] = exact_values
    float_values: Callable[[Any, Array], dict[str, Any]] = float_values
    enumerable: bool = True
    injectable: bool = True
    sweep: Sweep | None = None
    drawn_at: int = 2410
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def statement(self) -> Claim:
        """The claim itself."""
        return claims()[self.claim]

    def implementation(self, implementations: Implementations) -> Any:
        """The class under test."""
        return implementations.get(self.compressor, COMPRESSORS[self.compressor])

    def subjects(self, implementations: Implementations, shape: tuple[int, ...]) -> list[Compressor]:
        """The instances to try on inputs of the given shape."""
        return list(self.setups(self.implementation(implementations), self.domain.size(shape)))


def bound_at(claim: Claim, values: Mapping[str, Any]) -> Any:
    """`claim.bound(**values)`."""
    return claim.bound(**values)


def exact_array(x: Any, dtype: Any = np.float64) -> Array:
    """An exact input as an array."""
    return np.array([[float(v) for v in row] for row in x] if isinstance(x[0], tuple) else [float(v) for v in x], dtype)


def violates(relation: Any, measured: Any, bound: Any, slack: float = 0.0) -> bool:
    """Whether `measured` breaks the relation with `bound` by more than `slack`.

    Exact numbers are compared exactly, and then `slack` is zero; NaN violates everything.
    """
    if isinstance(measured, float) or isinstance(bound, float):
        gap = float(measured) - float(bound)
        if math.isnan(gap):
            return True
        sign = 0 if abs(gap) <= slack else (1 if gap > 0 else -1)
    else:
        sign = _compared(measured, bound)
    if isinstance(relation, sp.Le):
        return sign > 0
    return sign < 0 if isinstance(relation, sp.Ge) else sign != 0


def _compared(x: Any, y: Any) -> int:
    """Sign of x - y for exact numbers."""
    if isinstance(x, int | Fraction) and isinstance(y, int | Fraction):
        return (x > y) - (x < y)
    near, by = _decimal(x), _decimal(y)
    # both are good to 15 digits
    if abs(near - by) > 1e-12 * (abs(near) + abs(by)):
        return 1 if near > by else -1
    return _sign(_symbolic(x) - _symbolic(y))


@lru_cache(maxsize=1 << 12)
def _decimal(value: Any) -> float:
    """An exact number as a float."""
    return float(value)


def _symbolic(value: Any) -> Any:
    """An exact number as sympy's."""
    return sp.Rational(int(value.numerator), int(value.denominator)) if isinstance(value, Rational) else value


def _sign(value: Any) -> int:
    """Sign of an exact sympy number."""
    if value.is_Rational:
        return int(sp.sign(value))
    digits = value.evalf(40)
    if abs(digits) > sp.Float("1e-30"):
        return 1 if digits > 0 else -1
    return 0 if sp.simplify(value) == 0 else int(sp.sign(value.evalf(200)))


def ratio(measured: float, bound: float) -> float | None:
    """Measured / bound, None where both are zero (nothing is learned there)."""
    if bound == 0.0:
        return None if measured == 0.0 else math.inf
    return measured / bound
