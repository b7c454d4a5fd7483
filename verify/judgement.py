"""`Probe` and `Judgement`: what is known of a study while it is judged."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from commbounds.theory import Hypothesis
from commbounds.verify.experiment import decimal, ratio
from commbounds.verify.finding import Counterexample, Evidence, Method
from commbounds.verify.measurements import Measurements, Scope
from commbounds.verify.search import Violation
from commbounds.verify.study import AnyStudy, Case, Outcome, Unmeasured

_EXCESS = 1e-9
"""Share by which float64 may exceed a stated tightness that is attained exactly."""


@dataclass
class Probe:
    """Measures cases of one study; remembers the closest, the share of the stated tightness, and violations."""

    study: AnyStudy
    implementation: Any
    measurements: Measurements
    exact: bool = False
    close: float = -np.inf
    attained: float = -np.inf
    best: Case | None = None
    violation: Counterexample | None = None
    cases: int = 0
    nontrivial: int = 0
    """Cases that could have broken the claim: not 0 = 0, the mechanism in question active."""
    exceeded: float = 1.0
    """Largest share of the stated tightness, beyond rounding."""
    scope: Scope = field(default_factory=Scope)

    def __call__(self, case: Case) -> float | None:
        """How close the case comes to the bound; None where it says nothing; raises Violation where it breaks it."""
        study = self.study
        outcome = self._admitted(case)
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
            share = None if stated is None else ratio(close, decimal(stated))
            if share is not None:
                self.attained = max(self.attained, share)
                allowance = outcome.slack / max(
                    abs(decimal(outcome.measured)), abs(decimal(bound)), np.finfo(float).tiny
                )
                if share > 1.0 + allowance + _EXCESS:
                    self.exceeded = max(self.exceeded, share)
        self.nontrivial += outcome.active and study.is_nontrivial(case, outcome, bound)
        self.scope.add(study.scope_of(case, outcome))
        if not broken:
            self.measurements.add(outcome.measured, outcome.values, outcome.slack)
        if broken:
            self.violation = study.counterexample(self.implementation, case, outcome, bound)
            raise Violation(study.claim)
        return close

    def _admitted(self, case: Case) -> Outcome | None:
        """What is measured on the case; None where a hypothesis keeps it out, or where nothing can be measured."""
        counts = self.measurements
        found = self.study.admitted(self.implementation, case)
        if isinstance(found, Hypothesis):
            counts.left_out[found.name] += 1
            return None
        if isinstance(found, Unmeasured):
            counts.unmeasured[found.reason] += 1
            return None
        return found

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
    refused: Exception | None = None
    """Why the claim's certificate is refused; the claim is measured all the same."""
    reached: float = -np.inf
    """Largest share of the stated tightness seen anywhere."""
    least: float = np.inf
    """Smallest share of the stated tightness on a case that theory calls extremal."""
    exceeded: float = 1.0
    """Largest share of the stated tightness seen anywhere, beyond rounding."""
    measured: bool = False
    """Whether any method but sampling measured a case."""
    searched: Probe | None = None

    def probe(self, exact: bool = False) -> Probe:
        """A fresh probe of the study."""
        return Probe(self.study, self.implementation, self.measurements, exact)

    @cached_property
    def measurements(self) -> Measurements:
        """All that its probes measured."""
        return Measurements(self.study.statement)

    def take(self, method: Method, evidence: Evidence | None, probe: Probe | None = None) -> None:
        """Keep what a method found."""
        if probe is not None:
            self.reached = max(self.reached, probe.attained)
            self.exceeded = max(self.exceeded, probe.exceeded)
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
