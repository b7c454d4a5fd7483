"""Several workers: what averaging compressed vectors does, measured on stacks (P, n)."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array, Floats
from commbounds.collectives import mean_of_compressed
from commbounds.compressors.base import Exact
from commbounds.verify import inputs
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.compressor_study import Domain
from commbounds.verify.marginals import Marginals
from commbounds.verify.measures import Measure, Reading, symbol_values

ExactStack = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class GlobalError(Measure):
    """E ||mean C(x_i) - mean x_i||^2 / ||mean x_i||^2.

    Parameters
    ----------
    shared : bool
        Whether all workers use the same randomness; else it is independent.
    """

    shared: bool = False
    sampled = True

    def exact(self, run: CompressorRun) -> Exact:
        x = run.x
        mean = [Fraction(sum(column), len(x)) for column in zip(*x, strict=True)]
        total: Exact = Fraction(0)
        for p, outputs in self._joint_law(run):
            average = [sum(column) / Fraction(len(x)) for column in zip(*outputs, strict=True)]
            total += p * sum((a - b) ** 2 for a, b in zip(average, mean, strict=True))
        return total / sum(v * v for v in mean)

    def _joint_law(self, run: CompressorRun) -> Iterator[tuple[Exact, tuple[Any, ...]]]:
        c, x = run.c, run.x
        if self.shared:
            # the shared randomness is a subset of the entries, the same for every worker
            subsets = list(itertools.combinations(range(len(x[0])), c.k))
            for kept in subsets:
                yield (
                    Fraction(1, len(subsets)),
                    tuple(tuple(v if j in kept else Fraction(0) for j, v in enumerate(row)) for row in x),
                )
            return
        for outcome in itertools.product(*(run.law(row) for row in x)):
            p: Exact = Fraction(1)
            for q, _ in outcome:
                p *= q
            yield p, tuple(y for _, y in outcome)

    def read(self, run: CompressorRun) -> Reading | None:
        c, x = run.c, run.x
        wide = x.astype(np.float64)
        goal = run.once(_goal)
        laws = [run.kernel(row) for row in x]
        if any(law is None or isinstance(law, Marginals) for law in laws):
            return None
        # bias and variance add up over independent workers; with shared randomness outcomes go together
        outputs = [(law.p, law.y) for law in laws if law is not None and not isinstance(law, Marginals)]
        if self.shared:
            average = np.mean([y for _, y in outputs], axis=0)
            value = float(outputs[0][0] @ ((average - goal) ** 2).sum(axis=1))
        else:
            means = [p @ y for p, y in outputs]
            bias = np.mean(means, axis=0) - goal
            variances = [float(p @ ((y - mean) ** 2).sum(axis=1)) for (p, y), mean in zip(outputs, means, strict=True)]
            value = float(bias @ bias) + sum(variances) / len(x) ** 2
        unit = float(goal @ goal)
        # the average cancels: rounding is relative to the workers' own squares
        slack = 16.0 * float(np.finfo(x.dtype).eps) * (value + float((wide**2).sum()) * max(1.0, x.shape[1] / c.k) ** 2)
        return Reading(value / unit, slack / unit)

    def draws(self, run: CompressorRun, count: int, first: int = 0) -> Floats:
        goal = run.once(_goal)
        means = run.drawn(count, _mean_of_shared if self.shared else _mean)[first:]
        result: Floats = np.square(np.array(means, np.float64) - goal).sum(axis=1) / float(goal @ goal)
        return result


def _goal(run: CompressorRun) -> Floats:
    return mean_of_workers(run.x)


def _mean(run: CompressorRun, rng: np.random.Generator) -> Array:
    return mean_of_compressed(run.x, run.c, rng)


def _mean_of_shared(run: CompressorRun, rng: np.random.Generator) -> Array:
    return mean_of_compressed(run.x, run.c, rng, shared=True)


class LocalError(Measure):
    """sum_i ||C(x_i) - x_i||^2 / sum_i ||x_i||^2 for a deterministic compressor."""

    def exact(self, run: CompressorRun) -> Exact:
        x = run.x
        error = sum((v - w) ** 2 for row in x for v, w in zip(run.law(row)[0][1], row, strict=True))
        return Fraction(error) / sum(v * v for row in x for v in row)

    def read(self, run: CompressorRun) -> Reading | None:
        c, x = run.c, run.x
        wide = x.astype(np.float64)
        top = float(np.abs(wide).max())
        outputs = np.array([c(row) for row in x], dtype=np.float64)
        value = float((((outputs - wide) / top) ** 2).sum()) / float(((wide / top) ** 2).sum())
        return Reading(value, 4.0 * x.size * float(np.finfo(np.float64).eps))


# --- inputs ------------------------------------------------------------------------------------------------------


_ROWS = tuple(tuple(map(Fraction, row)) for row in ((1, 0), (1, 1), (2, -1)))


def _grid(level: int) -> Iterator[ExactStack]:
    """Every stack of two workers and two or three entries, small integers; zero; and more workers of two kinds."""
    yield from inputs.matrix_grid(2, 2, 2 + (level > 0))
    yield ((Fraction(0),) * 2,) * 2
    for P in (1, 3, 5, 8):
        for u, v in itertools.product(_ROWS, repeat=2):
            yield (*(u,) * (P - P // 2), *(v,) * (P // 2))
    if level > 0:
        yield from inputs.matrix_grid(2, 3, 1)
        yield from inputs.matrix_grid(3, 2, 1)


def _corpus(sizes: tuple[int, ...], dtype: type) -> Iterator[tuple[str, Array]]:
    for n in sizes:
        for name, make in inputs.CORPUS.items():
            x = make(n)
            for P in (1, 3, 5, 8) if n == 3 and dtype is np.float64 else (3,):
                shifts: Array = np.array([np.roll(x, i) for i in range(P)], dtype=dtype)
                yield f"{P} workers hold shifts of {name}, n={n}", shifts
            yield f"two workers hold {name}, n={n}", np.array([x, x], dtype=dtype)
            yield f"two workers nearly cancel on {name}, n={n}", np.array([x + 0.5, 0.25 - x], dtype=dtype)


@st.composite
def _cases(draw: st.DrawFn, dtype: type) -> Array:
    P, n = draw(inputs.integers(1, 4)), draw(inputs.integers(1, 6))
    if not draw(st.booleans()):
        entries = draw(inputs.small_entries(P * n, P * n))
        return np.asarray(entries, dtype=dtype).reshape(P, n)
    name, seed = draw(inputs.sampled_from(tuple(inputs.FAMILIES))), draw(inputs.integers(0, 2**31))
    return inputs.family(name, P * n, seed, 1.0, dtype).reshape(P, n)


def _random(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


STACKS = Domain(_grid, _corpus, _cases, _random, ((2, 2), (2, 3), (3, 3)), kind="stack")


def two_workers(e: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The workers (1 + e, -1) and (-1, 1 + e)."""
    return ((1 + e, e * 0 - 1), (e * 0 - 1, 1 + e))


def _two_grid(_level: int) -> Iterator[ExactStack]:
    for e in (Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000), Fraction(3)):
        yield two_workers(e)


def _two_corpus(_sizes: tuple[int, ...], dtype: type) -> Iterator[tuple[str, Array]]:
    for exponent in range(-6, 3):
        yield f"e = 2^{exponent}", np.array(two_workers(2.0**exponent), dtype=dtype)


TWO_WORKERS = Domain(
    _two_grid,
    _two_corpus,
    # small powers of two and their sums are exact in float32, so that e is what the worker holds
    lambda dtype: inputs.integers(1, 2**10).map(lambda j: np.array(two_workers(j / 64.0), dtype=dtype)),
    _random,
    ((2, 2),),
    kind="pair",
)


def mean_of_workers(x: Array) -> Floats:
    """The average of the workers' vectors, entries summed exactly: zero only where it is."""
    return np.array([math.fsum(column) for column in x.T.tolist()]) / len(x)


def stack_values(run: CompressorRun) -> dict[str, Any]:
    """The values of P, n, sumsq, norm2bar and e besides the compressor's own, exact or float as the input."""
    x = run.x
    if run.exact:
        import sympy as sp

        mean = [Fraction(sum(column), len(x)) for column in zip(*x, strict=True)]
        squares = sum(v * v for v in mean)
        extra: dict[str, Any] = {
            "norm2bar": sp.sqrt(sp.Rational(squares.numerator, squares.denominator)),
            "sumsq": sum(v * v for row in x for v in row),
            "e": x[0][0] - 1,
        }
    else:
        wide = x.astype(np.float64)
        extra = {
            "norm2bar": float(np.linalg.norm(run.once(_goal))),
            "sumsq": float((wide**2).sum()),
            "e": float(wide[0, 0]) - 1.0,
        }
    return {**run.once(symbol_values), **extra, "P": len(x)}
