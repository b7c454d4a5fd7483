"""`Family`: claims about one subject, all of whose cases come from one `Space`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.verify.experiment import Budget
from commbounds.verify.space import EXACT, SEED, Of, Settings, Space, parameters_of
from commbounds.verify.study import Case, Curve, Outcome, Study, Unmeasured


def asked(function: Callable[..., Any], known: Mapping[str, Any]) -> Any:
    """What the function gives; its parameters are named after the entries of `known` that it asks for.

    Examples
    --------
    >>> asked(lambda n, k: n - k, {"P": 4, "n": 3, "k": 1})
    2
    """
    return function(*(known[name] for name in parameters_of(function)))


@dataclass(frozen=True)
class Rounded:
    """A measured value that carries rounding.

    Parameters
    ----------
    value : float
        What was measured.
    slack : float
        See `Outcome`.
    """

    value: Any
    slack: float


def rounded_square(value: Any, operations: int, scale: float, bound: float = 0.0) -> Rounded:
    """A sum of squares, or the mean of several, with what rounding in float64 may have done to it.

    Parameters
    ----------
    value : Fraction or float
        Of vectors v that were computed, ||v||^2, or its mean.
    operations : int
        Roundings on the way to an entry, and to the sum of the squares; 0 in exact arithmetic.
    scale : float
        At least the norm of every vector on the way.
    bound : float
        At least the size of every term of the bound, which is rounded as often.

    Notes
    -----
    v is off by e = operations eps scale at most, and ||v + d||^2 by 2 ||v|| e + e^2, where ||v|| is what was computed
    and e more. Of a mean of squares so is each, and the mean of the norms is at most the root of the mean.
    """
    if not operations:
        return Rounded(value, 0.0)
    eps = operations * float(np.finfo(np.float64).eps)
    measured, error = float(value), eps * float(scale)
    return Rounded(measured, 2 * measured**0.5 * error + 3 * error**2 + eps * (measured + float(bound)))


@dataclass(frozen=True, eq=False)
class Family:
    """Claims about one subject and the space that all their cases come from.

    All functions have parameters that are named after what they ask for: the settings of the case, `settings` (all of
    them), `case`, `x` (its array), and what the functions before them gave, `facts` all together.

    Parameters
    ----------
    prefix : str
        What the names of the claims begin with: ``variance_reduced.diana``.
    subject : str
        Name in a registry, as of `Study`.
    space : Space
        The cases; `Space.make` gives the array of a case, or is `nothing`. Rows whose setting `exact` is true are the
        grid, the others the corpus; what is drawn, what attacks move to and the points of curves follow.
    facts : callable -> mapping, or None
        Values of symbols, and what hypotheses ask for, besides the settings.
    run : callable -> anything, or None
        Runs the `implementation`, once a case for all claims; it may ask for facts. What it gives is `found`.
    exact : bool
        Whether cases without a setting of this name are computed in exact arithmetic.
    arrays : int
        Covering arrays that the quick budget runs; each further one has other companions.
    exact_arrays : int
        Those whose exact rows are the grid at the quick budget; `arrays` if it is 0.
    searched : bool
        Whether cases are drawn besides.
    """

    prefix: str
    subject: str
    space: Space
    facts: Callable[..., Mapping[str, Any]] | None = None
    run: Callable[..., Any] | None = None
    exact: bool = True
    arrays: int = 1
    exact_arrays: int = 0
    searched: bool = True

    def studies(self, measure: Callable[..., Any], *claims: str, **options: Any) -> tuple[FamilyStudy, ...]:
        """The studies of claims of which all measure the same.

        Parameters
        ----------
        measure : callable -> number, Rounded, Outcome or Unmeasured
            It may ask for the `implementation`, for facts, and for what was `found`. The settings and the facts are
            the values of symbols; an Outcome has more of them.
        claims : str
            Names without the prefix.
        options : Any
            Further fields of `Study`: `extremal`, `curves`, `mutate`, `streams`; or other sources of cases.
        """
        given_rows = {"grid", "corpus"} <= set(options)
        sources: dict[str, Any] = {
            "grid": None if given_rows or not self._has_rows(exact=True) else self.grid,
            "corpus": None if given_rows or not self._has_rows(exact=False) else self.corpus,
            "cases": self.drawn if self.searched else None,
            "known": self.known if self.facts is not None else None,
            "enumerated": "every pair of values of the space, all randomness enumerated, exact arithmetic",
        }
        given = {**sources, **options}
        if self.uses_rows(given["grid"], given["corpus"]) or given["cases"]:
            given = {"parameters": {"space": self.space.words()}, **given}
        trial = partial(self._measured, measure)
        return tuple(
            FamilyStudy(f"{self.prefix}.{claim}", self.subject, trial, **given, family=self) for claim in claims
        )

    def uses_rows(self, *sources: Any) -> bool:
        """Whether one of the sources is made of the rows of the space."""
        return any(source in (self.grid, self.corpus) for source in sources)

    # --- cases --------------------------------------------------------------------------------------------------------

    def case(self, settings: Mapping[str, Any]) -> Case:
        """The case of these settings."""
        return Case(dict(settings), asked(self.space.make, {**settings, "settings": settings}))

    def _is_exact(self, settings: Mapping[str, Any]) -> bool:
        return bool(settings.get(EXACT, self.exact))

    def _has_rows(self, *, exact: bool) -> bool:
        """Whether rows of the space are computed exactly, or others: as a rule without working out its rows."""
        space = self.space
        if EXACT not in space.axes:
            return self.exact is exact
        if any(self._is_exact(row) is exact for row in space.included):
            return True
        fitting = [value for value in space.axes[EXACT] if isinstance(value, Of) or bool(value) is exact]
        for value, (name, others) in itertools.product(fitting, space.axes.items()):
            for other in others if name != EXACT else ():
                row = space.at(**{EXACT: value, name: other})
                if self._is_exact(row) is exact and space.excluded(row) is None:
                    return True  # every admissible pair of values is in a row
        return bool(fitting) and any(self._is_exact(row) is exact for row in space.covering())

    def _rows(self, level: int, arrays: int) -> Iterator[Settings]:
        for salt in range(arrays + 2 * level):
            yield from self.space.covering(salt)

    def grid(self, level: int) -> Iterator[Case]:
        """The rows of the space that are computed exactly."""
        return (
            self.case(settings)
            for settings in self._rows(level, self.exact_arrays or self.arrays)
            if self._is_exact(settings)
        )

    def corpus(self, budget: Budget) -> Iterator[Case]:
        """The other rows of the space."""
        return (
            self.case(settings) for settings in self._rows(budget.level, self.arrays) if not self._is_exact(settings)
        )

    def drawn(self) -> st.SearchStrategy[Case]:
        """Cases of any combination of values."""
        return self.space.drawn().map(self.case)

    def neighbour(self, rng: np.random.Generator, case: Case) -> Case:
        """The case with another value of one axis: `mutate` of a study."""
        return self.case(self.space.neighbour(rng, case.settings))

    def every(self, **axes: Iterable[Any] | Callable[..., Iterable[Any]]) -> Callable[[Any], Iterator[Case]]:
        """A source of cases, such as a grid, or `extremal`: see `Space.every`."""
        self.space.check(axes)
        held = {name: values if callable(values) else tuple(values) for name, values in axes.items()}

        def source(given: int | Budget) -> Iterator[Case]:
            level = given.level if isinstance(given, Budget) else given
            return map(self.case, self.space.every_at(level, held))

        return source

    def of(self, rows: Iterable[Mapping[str, Any]]) -> Callable[[Any], Iterator[Case]]:
        """A source of cases with these settings."""
        held = list(rows)
        return lambda _budget: map(self.case, held)

    def over(self, axis: str, values: Iterable[Any], label: str = "", by: str = "", **fixed: Any) -> Curve:
        """The curve over a symbol, which is an axis of the space, or follows from the axis `by`.

        Other axes have the values given, or their first ones; by default the label says the values given.
        """
        rows = [self.space.at(**{**fixed, by or axis: value}) for value in values]
        words = ", ".join(f"{name} = {value}" for name, value in fixed.items() if name not in (SEED, EXACT))
        return Curve(axis, label or words, lambda _seed: ((None, (self.case(row),)) for row in rows))

    def found(self, implementation: Any, **settings: Any) -> Any:
        """What `run` gives of one case, for a figure; axes that are not given have their first values."""
        return self._found(implementation, self.case(self.space.at(**settings)))

    # --- what is measured ---------------------------------------------------------------------------------------------

    def known(self, _implementation: Any, case: Case) -> Mapping[str, Any]:
        """What hypotheses may ask for besides the settings."""
        facts: Mapping[str, Any] = case.once(self._facts)
        return facts

    def _facts(self, case: Case) -> Mapping[str, Any]:
        return {} if self.facts is None else asked(self.facts, self._given(case))

    @staticmethod
    def _given(case: Case) -> dict[str, Any]:
        return {**case.settings, "settings": case.settings, "case": case, "x": case.x}

    def _found(self, implementation: Any, case: Case) -> Any:
        facts = self.known(None, case)
        known = {**self._given(case), **facts, "facts": facts, "implementation": implementation}
        return None if self.run is None else asked(self.run, known)

    def _measured(self, measure: Callable[..., Any], implementation: Any, case: Case) -> Outcome | Unmeasured:
        facts = self.known(implementation, case)
        known = {**self._given(case), **facts, "facts": facts, "implementation": implementation}
        if "found" in parameters_of(measure):
            known["found"] = case.once(self._found, implementation)
        measured = asked(measure, known)
        values = {**case.settings, **facts}
        if isinstance(measured, Unmeasured):
            return measured
        if isinstance(measured, Outcome):
            return replace(measured, values={**values, **measured.values})
        if isinstance(measured, Rounded):
            return Outcome(measured.value, values, measured.slack)
        return Outcome(measured, values)


@dataclass(frozen=True)
class FamilyStudy(Study):
    """The study of a claim of a family.

    Parameters
    ----------
    family : Family
        Whose space the cases are from; the rest is as of `Study`.
    """

    family: Family = field(kw_only=True)

    def simpler(self, case: Case) -> Iterator[Case]:
        if not self.family.uses_rows(self.grid, self.corpus):  # whose values need not go together in other ways
            return iter(())
        return map(self.family.case, self.family.space.simpler(case.settings))
