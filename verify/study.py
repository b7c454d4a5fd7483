"""`Study`: a claim bound to what it is about, with the cases to measure."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
import sympy as sp
from hypothesis import strategies as st

from commbounds.array_types import Array, Floats
from commbounds.collectives import COLLECTIVES
from commbounds.compressors import COMPRESSORS, MECHANISMS
from commbounds.theory import Claim, Hypothesis, claims
from commbounds.verify.experiment import Budget, Implementations, bound_at, decimal, ratio, violates
from commbounds.verify.finding import Counterexample, Series

Source = TypeVar("Source")


@dataclass(frozen=True, eq=False)
class Case:
    """One thing to measure.

    Parameters
    ----------
    settings : dict
        Everything that defines it, in few plain words and numbers: P, n, k, family, seed, options. Shown with findings.
    x : array or None
        The ranks' vectors, or the compressor's input, where a counterexample should show them.
    exact : tuple of Fraction, or of rows, or None
        The same in exact arithmetic, where trials compute in it.
    """

    settings: dict[str, Any]
    x: Array | None = field(default=None, repr=False)
    exact: Any = field(default=None, repr=False)
    _computed: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def array(self) -> Array:
        """`x` of a case that has it."""
        if self.x is None:
            raise ValueError(f"the case {self} has no array")
        return self.x

    def once(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """``function(*arguments, case)``, computed the first time and remembered for as long as the case lives.

        All claims about a subject are measured on the same cases: what a trial runs through `once` is run once for all.
        """
        key = (function, *arguments)
        if key not in self._computed:
            self._computed[key] = function(*arguments, self)
        return self._computed[key]

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.settings.items())


@dataclass(frozen=True)
class Outcome:
    """What a trial measured.

    Parameters
    ----------
    measured : int, Fraction, sympy number or float
        Left-hand side of the claim; exact numbers are compared exactly.
    values : dict
        A value for every symbol of the bound, exact where `measured` is.
    slack : float
        Rounding that a float `measured` may carry, derived from operation count and dtype; 0 for exact numbers.
    active : bool
        Whether the mechanism that the claim is about did anything: a balancing step that balanced, a rotation that
        differs from none. A case in which it did not is counted, and tests nothing.
    """

    measured: Any
    values: Mapping[str, Any]
    slack: float = 0.0
    active: bool = True


@dataclass(frozen=True)
class Unmeasured:
    """Why an admissible case could not be measured: no hypothesis keeps it out, the instrument does not reach it.

    Parameters
    ----------
    reason : str
        In words, shown with the finding.
    """

    reason: str


@dataclass(frozen=True)
class Stream:
    """Draws for a sequential test: observations whose mean the claim bounds, or gives.

    Parameters
    ----------
    label : str
        What is drawn.
    draw : callable (rng, count) -> (count,) float64
        Independent observations minus the claimed mean, in a unit of the stream's choice.
    low, high : float
        Sure range of a deviation, low < 0 < high; `high` may be infinite where the claim is an upper bound.
    two_sided : bool
        Whether the claim is an equality.
    unit : float
        The claimed mean in the stream's unit, so that what the test detects can be told relative to it.
    cost : float
        Observations of a budget that one draw uses up.
    values : dict
        The symbols of the bound at this stream, if the claimed mean is the bound: then formula mutants whose mean is
        off by more than the test detects are refuted.
    """

    label: str
    draw: Callable[[np.random.Generator, int], Floats]
    low: float
    high: float
    two_sided: bool = True
    unit: float = 1.0
    cost: float = 4
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Curve:
    """Bound against measurement along an axis, as data: the cases to measure, which the study's own trial measures.

    Parameters
    ----------
    axis, label : str
        As for `Series`.
    points : sequence of (value, case), or callable (seed) -> iterable of (value, cases)
        Where on the axis, ascending, and what is measured there: one case, or several, of which the first gives the
        bound and the farthest on the wrong side of it is drawn. Cases that the claim's hypotheses keep out are left
        out. The value None stands for what a symbol named like the axis is in the first case.
    typical : int
        How many of the first cases of a point are random inputs: their quantiles are drawn, and a point where none of
        them is measured is left out.
    relative : bool
        Whether to divide by the bound, case by case.
    """

    axis: str
    label: str
    points: Sequence[tuple[float | None, Case]] | Callable[[int], Iterable[tuple[float | None, Sequence[Case]]]]
    typical: int = 0
    relative: bool = False

    def at(self, seed: int) -> Iterable[tuple[float | None, Sequence[Case]]]:
        """The points, of cases not measured before; inputs that are drawn are drawn by this seed."""
        if callable(self.points):
            return self.points(seed)
        return [(value, (Case(case.settings, case.x, case.exact),)) for value, case in self.points]


def over(axis: str, label: str, cases: Iterable[Case]) -> Curve:
    """The curve of one case a point, over what a symbol named `axis` is in it."""
    return Curve(axis, label, [(None, case) for case in cases])


def these(*cases: Case) -> Callable[[Any], Iterator[Case]]:
    """The source of these cases, whatever the budget; they are not measured before."""
    return lambda _budget: (Case(case.settings, case.x, case.exact) for case in cases)


def shared(factory: Callable[..., Source]) -> Callable[..., Source]:
    """The factory of a source of cases, made to give the same source for the same arguments.

    Studies that have the same source share its cases, and what is run on them.
    """
    made: dict[Any, Source] = {}

    @wraps(factory)
    def source(*arguments: Any, **options: Any) -> Source:
        key = _frozen((arguments, options))
        if key not in made:
            made[key] = factory(*arguments, **options)
        return made[key]

    return source


def _frozen(value: Any) -> Any:
    """Something hashable that is equal only for equal values of equal types."""
    if isinstance(value, Mapping):
        return "mapping", tuple(sorted((name, _frozen(v)) for name, v in value.items()))
    if isinstance(value, tuple | list):
        return type(value), tuple(map(_frozen, value))
    return type(value), value


@shared
def chained(*sources: Callable[[Any], Iterator[Case]]) -> Callable[[Any], Iterator[Case]]:
    """The source of the cases of these, one source after another."""
    return lambda given: itertools.chain.from_iterable(source(given) for source in sources)


_NUMBERS_ONLY = ("setup", "seed", "size")
"""Settings that only number the cases."""


class AnyStudy:
    """A claim bound to what it is about: what the engine asks of `Study` and of `CompressorStudy`.

    Every source of cases may be None. Studies of one column and subject are confronted together: cases of sources that
    are equal are made once, and every study measures them.
    """

    claim: str
    subject: str
    grid: Callable[[int], Iterator[Case]] | None
    """(level) -> every case of a finite set, small first; outcomes must be exact."""
    corpus: Callable[[Budget], Iterator[Case]] | None
    """(budget) -> cases by hand."""
    cases: Callable[[], st.SearchStrategy[Case]] | None
    """() -> Hypothesis strategy of cases."""
    mutate: Callable[[np.random.Generator, Case], Case] | None
    """(rng, case) -> a neighbour, for the attack."""
    extremal: Callable[[Budget], Iterator[Case]] | None
    """(budget) -> the cases that theory calls extremal."""
    streams: Callable[[Any], Sequence[Stream]] | None
    """(implementation) -> draws for sequential tests."""
    enumerated: str
    parameters: dict[str, str]
    injectable: bool = False
    """Whether `law_gap` may find something."""
    continuous: bool = False
    """Whether an attack may move the entries of a case's array continuously."""
    drawn_of: int = 1
    """Of so many examples of a budget one is drawn: more where cases by hand cover all but rare combinations."""
    may_be_unreadable: bool = False
    """Whether it is no error that no case can be measured without drawing."""

    def trial(self, implementation: Any, case: Case) -> Outcome | Unmeasured:
        """What is measured on a case that the claim's hypotheses admit."""
        raise NotImplementedError

    def facts(self, _implementation: Any, case: Case) -> Mapping[str, Any]:
        """What hypotheses may ask of a case before it is measured, by name; the rest is among the outcome's values."""
        return {"x": case.x, **case.settings}

    def admitted(self, implementation: Any, case: Case) -> Outcome | Unmeasured | Hypothesis:
        """What is measured on a case if the hypotheses of the claim admit it; they decide, and nothing else.

        Returns
        -------
        Outcome, Unmeasured or Hypothesis
            What the trial gives, or the first hypothesis that keeps the case out. Hypotheses that ask for more than
            `facts` are asked after the measurement.

        Raises
        ------
        TypeError
            The trial gives something else, or a hypothesis asks for what nobody knows.
        """
        facts, later = self.facts(implementation, case), []
        for hypothesis in self.statement.assumes:
            if not all(name in facts for name in hypothesis.needs):
                later.append(hypothesis)
            elif not self.meets(implementation, case, hypothesis, facts):
                return hypothesis
        outcome = self.trial(implementation, case)
        if isinstance(outcome, Unmeasured):
            return outcome
        if not isinstance(outcome, Outcome):
            raise TypeError(f"a trial measures or raises, got {outcome!r}: what leaves a case out is a hypothesis")
        for hypothesis in later:
            known = {
                name: source[name] for source in (outcome.values, facts) for name in hypothesis.needs if name in source
            }
            if not hypothesis.admits(**known):
                return hypothesis
        return outcome

    def meets(self, _implementation: Any, _case: Case, hypothesis: Hypothesis, facts: Mapping[str, Any]) -> bool:
        """Whether the case meets a hypothesis that asks for nothing but `facts`."""
        return hypothesis.admits(**{name: facts[name] for name in hypothesis.needs})

    def is_nontrivial(self, case: Case, outcome: Outcome, bound: Any) -> bool:
        """Whether both sides are not zero; where the claim is that something is zero, whether the input is not."""
        if self._of_zero:
            return case.x is None or bool(case.x.any())
        return not (outcome.measured == 0 and bound == 0)

    def scope_of(self, case: Case, outcome: Outcome) -> Mapping[str, Any]:
        """The settings of a case and the symbols of its bound, by name."""
        values = {name: outcome.values[name] for name in self.statement.parameters}
        return {**values, **{name: value for name, value in case.settings.items() if name not in _NUMBERS_ONLY}}

    def law_gap(self, _implementation: Any, _case: Case) -> tuple[float, float] | None:
        """How far the kernel is from its exact law on a case of the grid, and the room for rounding; None: unknown."""
        return None

    def takes(self, _case: Case, _x: Array) -> bool:
        """Whether the case with this array in place of its own is one too: then a counterexample can be simplified."""
        return False

    def simpler(self, _case: Case) -> Iterable[Case]:
        """Cases that are simpler than this one, the simplest first: a counterexample is replaced by one that fails."""
        return ()

    def starts(
        self, _implementation: Any, _rng: np.random.Generator
    ) -> Sequence[tuple[Callable[[Array], Case], Array]]:
        """Where a continuous attack begins: (array -> case, array) for every shape and set-up."""
        return ()

    @cached_property
    def statement(self) -> Claim:
        """The claim itself."""
        return claims()[self.claim]

    @cached_property
    def _of_zero(self) -> bool:
        return bool(self.statement.relation.rhs.is_zero)

    @property
    def sampled(self) -> bool:
        """Whether a sequential test judges the claim."""
        return self.streams is not None

    def implementation(self, implementations: Implementations) -> Any:
        """The function or class under test."""
        for registry in (COMPRESSORS, COLLECTIVES, MECHANISMS):
            if self.subject in registry:
                return implementations.get(self.subject, registry[self.subject])
        raise KeyError(f"the subject of {self.claim}, {self.subject!r}, is in no registry")

    def shown(self, _implementation: Any, case: Case) -> str:
        """The subject and the case in few words."""
        return f"{self.subject}({case})"

    def compared(self, outcome: Outcome) -> tuple[Any, float | None, bool]:
        """The bound, how close the outcome comes to it (None where that says nothing), and whether it is broken.

        Closeness is measured / bound for an upper bound and for an equality, bound / measured for a lower bound.
        """
        claim = self.statement
        measured = int(outcome.measured) if isinstance(outcome.measured, np.integer) else outcome.measured
        bound = bound_at(claim, outcome.values)
        pair = decimal(measured), decimal(bound)
        close = None
        if outcome.slack <= 1e-4 * max(abs(pair[0]), abs(pair[1])):  # else rounding decides the ratio
            close = ratio(*(pair[::-1] if isinstance(claim.relation, sp.Ge) else pair))
        return bound, close, violates(claim.relation, measured, bound, outcome.slack)

    def counterexample(self, implementation: Any, case: Case, outcome: Outcome, bound: Any) -> Counterexample:
        """The record of a violation, with the input cut to 64 entries a row."""
        exact = not isinstance(outcome.measured, float) and not isinstance(bound, float)
        x = np.zeros(0) if case.x is None else np.asarray(case.x, dtype=np.float64)
        return Counterexample(
            subject=self.shown(implementation, case),
            x=x[..., :64].tolist(),
            measured=float(outcome.measured),
            bound=float(bound),
            exact=f"measured {outcome.measured}, bound {bound}" if exact else "",
            x_length=int(x.size),
        )


@dataclass(frozen=True)
class Study(AnyStudy):
    """How a claim about a collective, or about several workers, is confronted with its implementation.

    Every source of cases is optional, and one at least must be there.

    Parameters
    ----------
    claim : str
        Name in the book.
    subject : str
        Name in `COMPRESSORS`, `COLLECTIVES` or `MECHANISMS`; what a stand-in replaces.
    trial : callable (implementation, case) -> Outcome, or Unmeasured
        Measures one case that the claim's hypotheses admit. What several claims need of a case is computed through
        `Case.once`. None where nothing but `streams` is given.
    grid : callable (level) -> iterator of cases
        Every one of a finite set, small first: all randomness enumerated, all arithmetic exact. Outcomes that are not
        exact numbers are refused here.
    corpus : callable (budget) -> iterator of cases
        Hostile and typical cases by hand.
    cases : callable () -> Hypothesis strategy of cases
        Generated cases; draw with `verify.inputs.integers` and `among`, structure and a data seed rather than entries.
    mutate : callable (rng, case) -> case
        A neighbour of a case, for the attack, which climbs on measured / bound.
    extremal : callable (budget) -> iterator of cases
        The cases that theory calls extremal: on each, the stated tightness must be attained.
    streams : callable (implementation) -> sequence of Stream
        What a sequential test draws.
    curves : sequence of Curve, or callable (implementation, seed) -> sequence of Series
        Bound against measurement over the claim's natural parameter: cases for the trial, or, where a point is not
        made of cases (the mean of many runs), what draws them.
    enumerated : str
        What the grid enumerates, in words.
    parameters : dict
        What the finding should say about the set-up besides.
    known : callable (implementation, case) -> mapping
        What hypotheses ask of a case besides its settings and `x`, see `AnyStudy.facts`.
    """

    claim: str
    subject: str
    trial: Callable[[Any, Case], Outcome | Unmeasured] | None = None  # type: ignore[assignment]
    grid: Callable[[int], Iterator[Case]] | None = None
    corpus: Callable[[Budget], Iterator[Case]] | None = None
    cases: Callable[[], st.SearchStrategy[Case]] | None = None
    mutate: Callable[[np.random.Generator, Case], Case] | None = None
    extremal: Callable[[Budget], Iterator[Case]] | None = None
    streams: Callable[[Any], Sequence[Stream]] | None = None
    curves: Sequence[Curve] | Callable[[Any, int], Iterable[Series]] = ()
    enumerated: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    known: Callable[[Any, Case], Mapping[str, Any]] | None = None

    def facts(self, implementation: Any, case: Case) -> Mapping[str, Any]:
        facts = super().facts(implementation, case)
        return facts if self.known is None else {**facts, **self.known(implementation, case)}

    def __post_init__(self) -> None:
        if not any((self.grid, self.corpus, self.cases, self.streams)):
            raise ValueError(f"the study of {self.claim} has nothing to confront the claim with")
        if self.trial is None and any((self.grid, self.corpus, self.cases)):
            raise ValueError(f"the study of {self.claim} has cases, and no trial to measure them")
        if self.grid is not None and not self.enumerated:
            raise ValueError(f"the study of {self.claim} must say what its grid enumerates")


def studies(*listed: Study) -> dict[str, Study]:
    """The studies by the name of their claim."""
    by_name = {study.claim: study for study in listed}
    if len(by_name) != len(listed):
        raise ValueError("two studies for one claim")
    return by_name
