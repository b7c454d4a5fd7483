"""Search for a counterexample: the hostile corpus first, then generated inputs that shrink."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import hypothesis
import numpy as np
import sympy as sp
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.verify.exact import counterexample
from commbounds.verify.experiment import Budget, Experiment, Implementations, bound_at, ratio, violates
from commbounds.verify.finding import Counterexample, Evidence, Method, Verdict
from commbounds.verify.inputs import among

__all__ = ["Best", "Probe", "search"]

Array = NDArray[Any]


@dataclass
class Best:
    """The input with the largest measured / bound so far, and the largest share of the stated tightness anywhere."""

    share: float = -np.inf
    attained: float = -np.inf
    subject: Any = None
    x: Array | None = field(default=None, repr=False)


class Violation(AssertionError):
    """Raised inside a search where the relation fails."""


@dataclass
class Probe:
    """Measures one input on one compressor and remembers the best and the last violation."""

    experiment: Experiment
    best: Best = field(default_factory=Best)
    violation: Counterexample | None = None
    cases: int = 0

    def __call__(self, c: Any, x: Array) -> float | None:
        """Measured / bound at `x`; None where it is not admissible or cannot be read; raises Violation."""
        experiment = self.experiment
        if not experiment.admits(c, x):
            return None
        reading = experiment.measure.read(c, x)
        if reading is None:
            return None
        self.cases += 1
        claim = experiment.statement
        values = experiment.float_values(c, x)
        bound = float(bound_at(claim, values))
        share = ratio(reading.value, bound)
        # where rounding is not small against the bound, the ratio says nothing about tightness
        if share is not None and reading.slack <= 1e-4 * bound:
            if claim.tightness is not None:
                self.best.attained = max(self.best.attained, share / stated_tightness(claim, values))
            if share > self.best.share:
                self.best = Best(share, self.best.attained, c, np.array(x))
        if violates(claim.relation, reading.value, bound, reading.slack):
            self.violation = counterexample(c, x, reading.value, bound)
            raise Violation(claim.name)
        return share


def stated_tightness(claim: Any, values: dict[str, Any]) -> float:
    """The claim's tightness at the given values, as a float."""
    return float(claim.tightness_at(**values))


def search(
    experiment: Experiment, budget: Budget, seed: int, implementations: Implementations
) -> tuple[Evidence | None, Best]:
    """Confront the claim with the hostile corpus and with Hypothesis.

    Parameters
    ----------
    experiment : Experiment
        The binding.
    budget : Budget
        Sizes of the corpus and number of examples.
    seed : int
        Seeds Hypothesis; nothing is read from or written to an example database.
    implementations : mapping
        Stand-ins.

    Returns
    -------
    Evidence or None
        None where no input could be measured without sampling.
    Best
        The tightest input seen.
    """
    probe = Probe(experiment)
    first: Counterexample | None = None
    for dtype in (np.float32, np.float64):
        for _, x in experiment.domain.corpus(budget.sizes, dtype):
            for c in experiment.subjects(implementations, x.shape):
                try:
                    probe(c, x)
                except Violation:
                    first = first or probe.violation
        if first is not None:
            break
    probe.violation = None
    hypothesis_violation = _generated(probe, budget, seed, implementations)
    found = hypothesis_violation or first
    if probe.cases == 0:
        return None, probe.best
    tightness = probe.best.share if np.isfinite(probe.best.share) else None
    if found is not None:
        return Evidence(
            Method.SEARCH,
            Verdict.REFUTED,
            probe.cases,
            "hostile corpus and shrunk examples",
            tightness,
            counterexample=found,
        ), probe.best
    detail = f"hostile corpus at sizes {', '.join(map(str, budget.sizes))}; {budget.examples} generated examples"
    return Evidence(Method.SEARCH, Verdict.SURVIVED, probe.cases, detail, tightness), probe.best


def _generated(probe: Probe, budget: Budget, seed: int, implementations: Implementations) -> Counterexample | None:
    climbing = not isinstance(probe.experiment.statement.relation, sp.Eq)

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=budget.examples,
        database=None,
        deadline=None,
        # a slow example is slow because the law of the kernel is read off it, not because generation is
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.target, hypothesis.Phase.shrink),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @hypothesis.given(data=st.data())
    def confront(data: st.DataObject) -> None:
        dtype = data.draw(among((np.float32, np.float64)))
        x = data.draw(probe.experiment.domain.cases(dtype))
        subjects = probe.experiment.subjects(implementations, x.shape)
        if not subjects:
            return
        share = probe(data.draw(among(subjects)), x)
        # an equality has nothing to climb to, and differences of rounding are not worth a step
        if climbing and share is not None and np.isfinite(share):
            hypothesis.target(round(share, 6))

    try:
        confront()
    except Violation:
        return probe.violation  # the last failing example that Hypothesis runs is the shrunk one
    return None
