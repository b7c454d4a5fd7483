"""`CompressorStudy`: a claim about a compressor, with the set-ups and the inputs on which it is measured."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.compressors import COMPRESSORS, Compressor
from commbounds.theory import Hypothesis
from commbounds.verify import inputs
from commbounds.verify.compressor_run import CompressorRun, exact_array, law_gap
from commbounds.verify.compressor_streams import streams
from commbounds.verify.experiment import Budget, Implementations
from commbounds.verify.measures import Measure, counts, symbol_values
from commbounds.verify.study import AnyStudy, Case, Outcome, Stream, Unmeasured

Setups = Callable[[Any, int], Sequence[Any]]
"""(class, n) -> instances."""
Sweep = Callable[[Any, int], tuple[str, Sequence[tuple[float, Any]]]]
"""(class, n) -> (axis label, [(value, instance)])."""


_UNREAD = "its law cannot be read off the kernel"


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
        yield (Fraction(0),) * n


def _rational_norm_grid(level: int) -> Iterator[Any]:
    for n in range(1, (4, 5, 6)[level]):
        yield from inputs.rational_norm_grid(n)
    # a few irrational norms, so that the square root is not always left out
    yield from inputs.grid(2, 1)
    yield from ((Fraction(0),), (Fraction(0),) * 3)


def _matrix_grid(level: int) -> Iterator[Any]:
    for m, n in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3))[: 4 + (level > 1)]:
        yield from inputs.matrix_grid(m, n, 2 if m * n < 4 or level else 1)
        yield ((Fraction(0),) * n,) * m


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
    m, n = draw(inputs.integers(1, 6)), draw(inputs.integers(1, 6))
    if not draw(st.booleans()):
        entries = draw(inputs.small_entries(m * n, m * n))
        return np.asarray(entries, dtype=dtype).reshape(m, n)
    name, seed = draw(inputs.sampled_from(tuple(inputs.FAMILIES))), draw(inputs.integers(0, 2**31))
    return inputs.family(name, m * n, seed, 10.0 ** draw(inputs.sampled_from(inputs.balanced(10))), dtype).reshape(m, n)


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


VECTORS = Domain(
    _vector_grid, inputs.corpus, lambda dtype: inputs.cases(dtype=dtype), _normal, ((2,), (3,), (4,), (6,))
)
RATIONAL_NORMS = Domain(
    _rational_norm_grid, inputs.corpus, lambda dtype: inputs.cases(dtype=dtype), _normal, ((2,), (3,), (4,), (6,))
)
MATRICES = Domain(_matrix_grid, _matrix_corpus, _matrix_cases, _normal, ((2, 2), (3, 2), (3, 3)), min, "matrix")


# --- cases ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 12)
def _instances(setups: Setups, cls: Any, size: int) -> tuple[Any, ...]:
    return tuple(setups(cls, size))


@dataclass(frozen=True, eq=False)
class SetUps:
    """A compressor's set-ups on the inputs of a domain: what all claims about them share, from `shared_set_ups`.

    Parameters
    ----------
    compressor : str
        Name in the registry.
    setups : callable (class, n) -> sequence of instances
        Hyper-parameters to try on an input of size n, see `Domain.size`.
    domain : Domain
        Where inputs come from.
    """

    compressor: str
    setups: Setups
    domain: Domain

    @property
    def words(self) -> str:
        """The same of equal ones, whatever process they are in; maybe of others as well."""
        makers = [f"{made.__module__}.{getattr(made, '__qualname__', '')}" for made in (self.setups, self.domain.grid)]
        return " ".join([self.compressor, *makers])

    def at(self, implementation: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
        """The instances to try on inputs of this shape."""
        return _instances(self.setups, implementation, self.domain.size(shape))

    def count(self, shape: tuple[int, ...]) -> int:
        """How many there are."""
        return len(self.at(COMPRESSORS[self.compressor], shape))

    def run(self, implementation: Any, case: Case) -> CompressorRun:
        """The set-up of the case on its input."""
        c = self.at(implementation, case.array.shape)[case.settings["setup"]]
        return CompressorRun(c, case.array if case.exact is None else case.exact)


@cache
def shared_set_ups(compressor: str, setups: Setups, domain: Domain) -> SetUps:
    """The one `SetUps` of these."""
    return SetUps(compressor, setups, domain)


@dataclass(frozen=True)
class _Grid:
    of: SetUps

    def __call__(self, level: int) -> Iterator[Case]:
        for x in self.of.domain.grid(level):
            array = exact_array(x)
            for number in range(self.of.count(array.shape)):
                yield Case({"setup": number}, array, x)


@dataclass(frozen=True)
class _Corpus:
    of: SetUps

    def __call__(self, budget: Budget) -> Iterator[Case]:
        for dtype in (np.float32, np.float64):
            for _, x in self.of.domain.corpus(budget.sizes, dtype):
                for number in range(self.of.count(x.shape)):
                    yield Case({"setup": number}, x)


@dataclass(frozen=True)
class _Generated:
    of: SetUps

    def __call__(self) -> st.SearchStrategy[Case]:
        @st.composite
        def cases(draw: st.DrawFn) -> Case:
            x = draw(self.of.domain.cases(draw(inputs.sampled_from((np.float32, np.float64)))))
            return Case({"setup": draw(inputs.integers(0, self.of.count(x.shape) - 1))}, x)

        return cases()


@dataclass(frozen=True)
class _Extremal:
    of: SetUps
    worst: Callable[[Any, int], Array | None]

    def __call__(self, budget: Budget) -> Iterator[Case]:
        """Inputs of the budget's sizes, of 64 and of 256 entries."""
        for n in (*budget.sizes, 64, 256):
            for number, c in enumerate(_instances(self.of.setups, COMPRESSORS[self.of.compressor], n)):
                x = self.worst(c, n)
                if x is not None:
                    yield Case({"setup": number, "size": n}, x)


# --- the study --------------------------------------------------------------------------------------------------------


def _asked(run: CompressorRun) -> dict[str, Any]:
    """What hypotheses may ask of a compressor and its input."""
    x = exact_array(run.x) if run.exact else run.x
    return {**counts(run.c, x.shape), "compressor": run.c, "x": x, "exact": run.exact}


def _in_floats(run: CompressorRun) -> CompressorRun:
    """The same on what is next to its exact input."""
    return CompressorRun(run.c, exact_array(run.x, np.float32))


@dataclass(frozen=True)
class CompressorStudy(AnyStudy):
    """How a claim about a compressor is confronted with its implementation.

    Parameters
    ----------
    claim : str
        Name in the book.
    subject : str
        Name in `COMPRESSORS`; what a stand-in replaces.
    measure : Measure
        Measures the claim's quantity.
    setups : callable (class, n) -> sequence of instances
        Hyper-parameters to try on an input of size n, see `Domain.size`.
    domain : Domain
        Where inputs come from.
    worst : callable (compressor, n) -> array or None
        The input that theory calls extremal, or None where that compressor has none at n.
    tested : str
        How draws are tested: "", "bound" (one-sided), "entries" (unbiased, entry by entry),
        "projection" (unbiased, along the input's signs) or "equal" (two-sided, see `spread`).
    spread : callable (compressor, array) -> (low, high) or None
        Sure range of a draw, for "equal".
    values : callable (run) -> dict
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
    subject: str
    measure: Measure
    setups: Setups
    domain: Domain = VECTORS
    worst: Callable[[Any, int], Array | None] | None = None
    tested: str = ""
    spread: Callable[[Any, Array], tuple[float, float]] | None = None
    values: Callable[[CompressorRun], dict[str, Any]] = symbol_values
    enumerable: bool = True
    injectable: bool = True
    sweep: Sweep | None = None
    drawn_at: int = 2410
    parameters: dict[str, str] = field(default_factory=dict)

    mutate = None
    continuous = True
    may_be_unreadable = True
    enumerated = "every input of the grid, all randomness enumerated, rational arithmetic"

    @cached_property
    def set_ups(self) -> SetUps:
        """What the study shares with others about the same set-ups and inputs."""
        return shared_set_ups(self.subject, self.setups, self.domain)

    @property
    def grid(self) -> _Grid | None:  # type: ignore[override]
        return _Grid(self.set_ups) if self.enumerable else None

    @property
    def corpus(self) -> _Corpus:  # type: ignore[override]
        return _Corpus(self.set_ups)

    @property
    def cases(self) -> _Generated:  # type: ignore[override]
        return _Generated(self.set_ups)

    @property
    def extremal(self) -> _Extremal | None:  # type: ignore[override]
        return None if self.worst is None else _Extremal(self.set_ups, self.worst)

    @property
    def streams(self) -> Callable[[Any], Sequence[Stream]] | None:  # type: ignore[override]
        return (lambda implementation: streams(self, implementation)) if self.tested else None

    @property
    def sampled(self) -> bool:
        return bool(self.tested)

    def instances(self, implementations: Implementations, shape: tuple[int, ...]) -> tuple[Compressor, ...]:
        """The instances to try on inputs of the given shape."""
        return self.set_ups.at(self.implementation(implementations), shape)

    def run(self, implementation: Any, case: Case) -> CompressorRun:
        """The case's set-up on its input, computed once for all studies of the same set-ups."""
        run: CompressorRun = case.once(self.set_ups.run, implementation)
        return run

    def shown(self, implementation: Any, case: Case) -> str:
        return str(self.run(implementation, case).c)

    def trial(self, implementation: Any, case: Case) -> Outcome | Unmeasured:
        return self.outcome(self.run(implementation, case))

    def facts(self, implementation: Any, case: Case) -> Mapping[str, Any]:
        asked: Mapping[str, Any] = self.run(implementation, case).once(_asked)
        return asked

    def meets(self, implementation: Any, case: Case, hypothesis: Hypothesis, facts: Mapping[str, Any]) -> bool:
        return self.run(implementation, case).meets(hypothesis, facts)

    def admits(self, run: CompressorRun) -> bool:
        """Whether the claim's hypotheses admit this compressor on this array."""
        facts, wanted = run.once(_asked), self.statement.assumes
        if all(name in facts for hypothesis in wanted for name in hypothesis.needs):
            return all(run.meets(hypothesis, facts) for hypothesis in wanted)
        known = {**run.once(self.values), **facts}
        return all(hypothesis.admits(**known) for hypothesis in wanted)

    def outcome(self, run: CompressorRun) -> Outcome | Unmeasured:
        """What is measured in a run on an input that the claim's hypotheses admit."""
        if run.exact:
            return Outcome(self.measure.exact(run), run.once(self.values))
        reading = self.measure.read(run)
        if reading is None:
            return Unmeasured(_UNREAD + (": draws are tested" if self.tested else ""))
        return Outcome(reading.value, run.once(self.values), reading.slack)

    def law_gap(self, implementation: Any, case: Case) -> tuple[float, float] | None:
        if not self.injectable:
            return None
        run = self.run(implementation, case)
        return run.once(law_gap) if self.admits(run.once(_in_floats)) else None

    def takes(self, case: Case, x: Array) -> bool:
        return self.domain.kind in ("vector", "matrix") and case.settings["setup"] < self.set_ups.count(x.shape)

    def starts(self, implementation: Any, rng: np.random.Generator) -> Sequence[tuple[Callable[[Array], Case], Array]]:
        return [
            (_at_setup(number), self.domain.random(rng, shape))
            for shape in self.domain.shapes
            for number in range(len(self.set_ups.at(implementation, shape)))
        ]


def _at_setup(number: int) -> Callable[[Array], Case]:
    return lambda x: Case({"setup": number}, x)
