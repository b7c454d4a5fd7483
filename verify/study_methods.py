"""What each method says of a study: enumeration, search, attack, extremal cases, sequential tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import hypothesis
import numpy as np
import sympy as sp
from hypothesis import strategies as st

from commbounds.verify.experiment import Budget, Implementations
from commbounds.verify.finding import Counterexample, Evidence, Method, Verdict
from commbounds.verify.search import Violation
from commbounds.verify.sequential import SequentialTest, detectable_violation
from commbounds.verify.study import Case, Study

__all__ = ["METHODS", "study_evidence"]


@dataclass
class _Probe:
    """Runs cases and remembers the closest one, the share of the stated tightness, and the last violation."""

    study: Study
    implementation: Any
    close: float = -np.inf
    attained: float = -np.inf
    best: Case | None = None
    violation: Counterexample | None = None
    cases: int = 0
    must_be_exact: bool = False

    def __call__(self, case: Case) -> float | None:
        """How close the case comes to the bound; None where it says nothing; raises Violation where it breaks it."""
        outcome = self.study.trial(self.implementation, case)
        if outcome is None:
            return None
        self.cases += 1
        if self.must_be_exact and (outcome.slack or not _is_exact(outcome.measured)):
            raise TypeError(f"the grid of {self.study.claim} needs exact outcomes, got {outcome.measured!r}")
        bound, close, broken = self.study.compared(outcome)
        if self.must_be_exact and not _is_exact(bound):
            raise TypeError(f"the grid of {self.study.claim} needs an exact bound, got {bound!r}")
        if close is not None:
            if close > self.close:
                self.close, self.best = close, case
            stated = self.study.statement.tightness_at(**outcome.values)
            if stated is not None:
                self.attained = max(self.attained, close / float(stated))
        if broken:
            self.violation = self.study.counterexample(case, outcome, bound)
            raise Violation(self.study.claim)
        return close

    @property
    def tightness(self) -> float | None:
        """The closest that a case came; None where none told."""
        return self.close if np.isfinite(self.close) else None


def _is_exact(value: Any) -> bool:
    return isinstance(value, int | np.integer | Fraction) or (
        isinstance(value, sp.Expr) and not value.has(sp.Float) and not value.free_symbols
    )


def _probe(study: Study, implementations: Implementations) -> _Probe:
    return _Probe(study, study.implementation(implementations))


def _enumerate(
    study: Study, budget: Budget, _seed: int, _alpha: float, implementations: Implementations
) -> tuple[Evidence | None, float]:
    """Every case of the grid, exactly; the first that breaks the claim is the smallest."""
    if study.grid is None:
        return None, -np.inf
    probe = _probe(study, implementations)
    probe.must_be_exact = True
    try:
        for case in study.grid(budget.level):
            probe(case)
    except Violation:
        found = Evidence(
            Method.EXACT,
            Verdict.REFUTED,
            probe.cases,
            f"{study.enumerated}, smallest first",
            probe.tightness,
            counterexample=probe.violation,
        )
        return found, probe.attained
    if probe.cases == 0:
        raise ValueError(f"the grid of {study.claim} holds no admissible case")
    return Evidence(Method.EXACT, Verdict.PROVED, probe.cases, study.enumerated, probe.tightness), probe.attained


def _search(
    study: Study, budget: Budget, seed: int, _alpha: float, implementations: Implementations
) -> tuple[Evidence | None, float]:
    """The extremal cases and the corpus, then generated cases, which shrink."""
    found, _ = _searched(study, budget, seed, implementations)
    return found


def _searched(
    study: Study, budget: Budget, seed: int, implementations: Implementations
) -> tuple[tuple[Evidence | None, float], Case | None]:
    if study.corpus is None and study.cases is None:
        return (None, -np.inf), None
    probe = _probe(study, implementations)
    first: Counterexample | None = None
    for source in (study.extremal, study.corpus):
        for case in source(budget) if source is not None else ():
            try:
                probe(case)
            except Violation:
                first = first or probe.violation
    by_hand, probe.violation = probe.cases, None
    shrunk = None
    if study.cases is not None:
        shrunk = _generated(probe, study.cases(), budget.examples, seed)
    if probe.cases == 0:
        raise ValueError(f"the search for {study.claim} met no admissible case")
    counterexample = shrunk or first
    verdict = Verdict.SURVIVED if counterexample is None else Verdict.REFUTED
    detail = f"{by_hand} cases by hand, {probe.cases - by_hand} generated"
    if probe.best is not None:
        detail += f"; closest to the bound: {probe.best}"
    evidence = Evidence(Method.SEARCH, verdict, probe.cases, detail, probe.tightness, counterexample=counterexample)
    return (evidence, probe.attained), probe.best


def _generated(probe: _Probe, cases: st.SearchStrategy[Case], examples: int, seed: int) -> Counterexample | None:
    climbing = not isinstance(probe.study.statement.relation, sp.Eq)

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),  # an example runs a whole collective
        phases=(hypothesis.Phase.generate, hypothesis.Phase.target, hypothesis.Phase.shrink),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @hypothesis.given(case=cases)
    def confront(case: Case) -> None:
        close = probe(case)
        if climbing and close is not None and np.isfinite(close):
            hypothesis.target(round(close, 6))

    try:
        confront()
    except Violation:
        return probe.violation  # the last failing example that Hypothesis runs is the shrunk one
    return None


def _attack(
    study: Study, budget: Budget, seed: int, _alpha: float, implementations: Implementations
) -> tuple[Evidence | None, float]:
    """Climb on measured / bound: neighbours of the best case so far, from every case by hand and from the search."""
    if study.mutate is None:
        return None, -np.inf
    _, best = _searched(study, budget, seed, implementations)
    return _climb(study, budget, seed, implementations, best)


def _climb(
    study: Study, budget: Budget, seed: int, implementations: Implementations, start: Case | None
) -> tuple[Evidence | None, float]:
    assert study.mutate is not None
    rng, probe = np.random.default_rng(seed), _probe(study, implementations)
    current = start
    evaluations = max(1, budget.evaluations)
    for _ in range(evaluations):
        if current is None:
            break
        case = study.mutate(rng, current)
        try:
            probe(case)
        except Violation:
            break
        if probe.best is not None:
            current = probe.best
    if probe.cases == 0:
        return None, -np.inf
    verdict = Verdict.SURVIVED if probe.violation is None else Verdict.REFUTED
    detail = f"largest measured / bound at {probe.best}" if probe.best is not None else "nothing to climb on"
    evidence = Evidence(Method.ATTACK, verdict, probe.cases, detail, probe.tightness, counterexample=probe.violation)
    return evidence, probe.attained


def _extremal(
    study: Study, budget: Budget, _seed: int, _alpha: float, implementations: Implementations
) -> tuple[Evidence | None, float]:
    """The cases that theory calls extremal; the second value is the least share of the stated tightness on any."""
    claim = study.statement
    if study.extremal is None or claim.tightness is None:
        return None, np.inf
    probe, least, worst = _probe(study, implementations), np.inf, None
    for case in study.extremal(budget):
        probe.attained = -np.inf
        try:
            told = probe(case)
        except Violation:
            told = 0.0  # refuted claims are broken here; how far, the probe remembers
        if told is not None and probe.attained < least:
            least, worst = probe.attained, case
    if probe.cases == 0:
        raise ValueError(f"{study.claim} has no admissible extremal case")
    if claim.tightness == sp.oo:  # nothing to attain: the ratio grows without bound
        detail = f"{claim.extremal}: measured / bound up to {probe.close:.6g}"
        return Evidence(Method.EXTREMAL, Verdict.REFUTED, probe.cases, detail, probe.tightness), np.inf
    verdict = Verdict.SURVIVED if least >= 0.999 else Verdict.REFUTED
    detail = f"{claim.extremal}: attains at least {least:.6g} of the stated tightness (least at {worst})"
    return Evidence(Method.EXTREMAL, verdict, probe.cases, detail, probe.tightness), least


def _sample(
    study: Study, budget: Budget, seed: int, alpha: float, implementations: Implementations
) -> tuple[Evidence | None, float]:
    """A sequential test by betting on every stream; each gets an equal part of the false-alarm rate."""
    if study.streams is None:
        return None, -np.inf
    streams = study.streams(study.implementation(implementations))
    rngs = np.random.default_rng(seed).spawn(len(streams))
    part = alpha / len(streams)
    log_e, detects, count, refuted, outside = -np.inf, 0.0, 0, False, ""
    for stream, rng in zip(streams, rngs, strict=True):
        test = SequentialTest(stream.low, stream.high, two_sided=stream.two_sided)
        draws = max(1, budget.observations // (len(streams) * stream.cost))
        try:
            test.feed(np.asarray(stream.draw(rng, draws), dtype=np.float64))
        except ValueError as error:
            refuted, outside = True, f"; {stream.label}: {error}"
            continue
        count += test.count
        log_e = max(log_e, test.log_e)
        refuted |= test.refutes(part)
        limit = min(-1.0 / test.low, 1.0 / test.high) if test.two_sided else -1.0 / test.low
        violation = detectable_violation(test.deviation, test.count, part, limit)
        detects = max(detects, violation / abs(stream.unit) if stream.unit else violation)
    e_value = float(np.exp(min(log_e - np.log(len(streams)), 690.0)))
    detail = f"{len(streams)} streams ({', '.join(s.label for s in streams)}), sequential test by betting{outside}"
    verdict = Verdict.REFUTED if refuted else Verdict.CONSISTENT
    evidence = Evidence(Method.SAMPLE, verdict, count, detail, e_value=e_value, alpha=alpha, detects=detects)
    return evidence, -np.inf


METHODS = MappingProxyType(
    {
        Method.EXACT: _enumerate,
        Method.SEARCH: _search,
        Method.ATTACK: _attack,
        Method.EXTREMAL: _extremal,
        Method.SAMPLE: _sample,
    }
)
"""(study, budget, seed, alpha, implementations) -> (evidence or None, share of the stated tightness)."""


def study_evidence(
    study: Study, budget: Budget, seeds: list[int], alpha: Callable[[], float], implementations: Implementations
) -> tuple[tuple[Evidence, ...], float]:
    """Evidence of every method that applies, and the share of the stated tightness that was attained.

    Parameters
    ----------
    study : Study
        The binding.
    budget : Budget
        How much work.
    seeds : list of int
        One each for search, attack and sampling.
    alpha : callable () -> float
        The false-alarm rate of one sequential test.
    implementations : mapping
        Stand-ins.
    """
    exact, by_grid = _enumerate(study, budget, 0, 0.0, implementations)
    (searched, by_search), best = _searched(study, budget, seeds[0], implementations)
    attacked, by_attack = (
        _climb(study, budget, seeds[1], implementations, best) if study.mutate is not None else (None, -np.inf)
    )
    extremal, least = _extremal(study, budget, 0, 0.0, implementations)
    sampled, _ = _sample(study, budget, seeds[2], alpha() if study.sampled else 1.0, implementations)
    found = tuple(e for e in (exact, searched, attacked, extremal, sampled) if e is not None)
    reached = max(by_grid, by_search, by_attack, least if np.isfinite(least) else -np.inf)
    if study.statement.tightness is None or not np.isfinite(reached):
        reached = np.inf  # nothing to attain, or only draws can be had
    return found, min(reached, least)
