"""`Probe` and `Judgement`: what is known of a study while it is judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from commbounds.verify.finding import Counterexample, Evidence, Method
from commbounds.verify.search import Violation
from commbounds.verify.study import AnyStudy, Case


@dataclass
class Probe:
    """Measures cases of one study; remembers the closest, the share of the stated tightness, and violations."""

    study: AnyStudy
    implementation: Any
    exact: bool = False
    close: float = -np.inf
    attained: float = -np.inf
    best: Case | None = None
    violation: Counterexample | None = None
    cases: int = 0

    def __call__(self, case: Case) -> float | None:
        """How close the case comes to the bound; None where it says nothing; raises Violation where it breaks it."""
        study = self.study
        outcome = study.trial(self.implementation, case)
        if outcome is None:
            return None
        self.cases += 1
        if self.exact and (outcome.slack or not _is_exact(outcome.measured)):
            raise TypeError(f"the grid of {study.claim} needs exact outcomes, got {outcome.measured!r}")
        bound, close, broken = study.compared(outcome)
        if self.exact and not _is_exact(bound):
            raise TypeError(f"the grid of {study.claim} needs an exact bound, got {bound!r}")
        if close is not None:
            if close > self.close:
                self.close, self.best = close, case
            stated = study.statement.tightness_at(**outcome.values)
            if stated is not None:
                self.attained = max(self.attained, close / float(stated))
        if broken:
            self.violation = study.counterexample(self.implementation, case, outcome, bound)
            raise Violation(study.claim)
        return close

    @property
    def tightness(self) -> float | None:
        """The closest that a case came; None where none told."""
        return self.close if np.isfinite(self.close) else None

    def best_shown(self) -> str:
        """The closest case in few words."""
        assert self.best is not None
        words = self.study.shown(self.implementation, self.best)
        x = self.best.x
        if x is None or not self.study.continuous:
            return words
        if x.size > 8:
            return f"{words}, an input of shape {' x '.join(map(str, x.shape))}"
        return f"{words}, x = " + np.array2string(x, precision=6, separator=", ").replace("\n", "")


def _is_exact(value: Any) -> bool:
    return isinstance(value, int | np.integer | Fraction) or (
        isinstance(value, sp.Expr) and not value.has(sp.Float) and not value.free_symbols
    )


@dataclass
class Judgement:
    """What is found about one study, method by method.

    Parameters
    ----------
    study : Study or CompressorStudy
        What is judged.
    implementation : function or class
        Under test.
    evidence : dict of Method to Evidence
        What each method that applied said.
    error : Exception or None
        What a trial or a source of cases raised; nothing more is judged then.
    """

    study: AnyStudy
    implementation: Any
    evidence: dict[Method, Evidence] = field(default_factory=dict)
    error: Exception | None = None
    reached: float = -np.inf
    """Largest share of the stated tightness seen anywhere."""
    least: float = np.inf
    """Smallest share of the stated tightness on a case that theory calls extremal."""
    measured: bool = False
    """Whether any method but sampling measured a case."""
    searched: Probe | None = None

    def probe(self, exact: bool = False) -> Probe:
        """A fresh probe of the study."""
        return Probe(self.study, self.implementation, exact)

    def take(self, method: Method, evidence: Evidence | None, probe: Probe | None = None) -> None:
        """Keep what a method found."""
        if probe is not None:
            self.reached = max(self.reached, probe.attained)
            self.measured |= probe.cases > 0
        if evidence is not None:
            self.evidence[method] = evidence

    @property
    def attained(self) -> float:
        """The share of the stated tightness that was attained; infinite where nothing had to be."""
        if self.study.statement.tightness is None or not self.measured:
            return np.inf
        if self.study.statement.tightness == sp.oo:
            return np.inf
        return min(max(self.reached, self.least if np.isfinite(self.least) else -np.inf), self.least)
