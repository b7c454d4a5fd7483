"""One claim against its implementation: every method that applies, and the finding they add up to."""

from __future__ import annotations

import zlib
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from commbounds.theory import Claim, Standing
from commbounds.verify.attack import attack, measure_extremal
from commbounds.verify.exact import enumerate_law, inject
from commbounds.verify.experiment import Implementations, budgets
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.finding import Evidence, Finding, Method, Series, Verdict
from commbounds.verify.sample import sample
from commbounds.verify.search import search
from commbounds.verify.series import curve
from commbounds.verify.study import Study
from commbounds.verify.study_methods import study_evidence

__all__ = ["FALSE_ALARM", "claim_alpha", "confront", "versions"]

FALSE_ALARM = 1e-6
"""Probability that a whole run refutes any true statistical claim."""
_ATTAINED = 0.999
_ORDER = (Verdict.PROVED, Verdict.SURVIVED, Verdict.CONSISTENT)


@cache
def claim_alpha() -> float:
    """The false-alarm rate of one statistical claim: the run's, divided by their number."""
    return FALSE_ALARM / max(1, sum(bool(e.sampled) for e in EXPERIMENTS.values()))


@cache
def versions() -> dict[str, str]:
    """Versions of everything that computes a finding."""
    return {name: version(name) for name in ("commbounds", "hypothesis", "numba", "numpy", "scipy", "sympy")}


def confront(
    name: str, budget: str = "quick", seed: int = 0, implementations: Implementations | None = None, drawn: bool = True
) -> Finding:
    """Confront one claim with its implementation.

    Parameters
    ----------
    name : str
        Name of a claim that has an experiment.
    budget : str
        quick, standard or thorough.
    seed : int
        Root of all randomness; mixed with the claim's name, so that claims do not depend on one another.
    implementations : mapping
        Name of a compressor or a collective -> stand-in, for mutants.
    drawn : bool
        Whether to measure the curves of the figure as well.

    Returns
    -------
    Finding
        A function of the arguments (and of the versions that it records).
    """
    experiment, stand_ins = EXPERIMENTS[name], implementations or {}
    claim = experiment.statement
    try:
        evidence, attained = experiment_evidence(experiment, budget, seed, stand_ins)
        series = _series(experiment, _seeds(seed, name)[3], stand_ins) if drawn else ()
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return _finding(name, Verdict.ERROR, False, (), (), budget, seed, message, experiment.parameters)
    verdict = _verdict(evidence)
    message = _disagreement(claim, verdict, attained)
    return _finding(name, verdict, not message, evidence, series, budget, seed, message, experiment.parameters)


def _seeds(seed: int, name: str) -> list[int]:
    sequence = np.random.SeedSequence([seed, zlib.crc32(name.encode())])
    return [int(s) for s in sequence.generate_state(4)]


def experiment_evidence(
    experiment: Any, budget: str, seed: int, implementations: Implementations
) -> tuple[tuple[Evidence, ...], float]:
    """Evidence of every method that applies, and the share of the stated tightness that was attained."""
    work, seeds = budgets[budget], _seeds(seed, experiment.claim)
    if isinstance(experiment, Study):
        return study_evidence(experiment, work, seeds, claim_alpha, implementations)
    evidence: list[Evidence | None] = []
    if experiment.enumerable:
        evidence.append(enumerate_law(experiment, work, implementations))
        evidence.append(inject(experiment, work, implementations) if experiment.injectable else None)
    searched, best = search(experiment, work, seeds[0], implementations)
    evidence.append(searched)
    attained = best.attained
    if experiment.statement.tightness is not None and searched is not None:
        attacked, best = attack(experiment, work, seeds[1], implementations, best)
        evidence.append(attacked)
        attained = best.attained
    extremal, least = measure_extremal(experiment, work, implementations)
    evidence.append(extremal)
    if experiment.sampled:
        evidence.append(sample(experiment, work, seeds[2], claim_alpha(), implementations))
    if searched is None and extremal is None:
        attained = np.inf  # only draws can be had here: tightness is not measured
    return tuple(e for e in evidence if e is not None), min(attained, least)


def _series(experiment: Any, seed: int, implementations: Implementations) -> tuple[Series, ...]:
    if isinstance(experiment, Study):
        curves = tuple(experiment.curves(experiment.implementation(implementations), seed)) if experiment.curves else ()
        for series in curves:
            series.check()
        return curves
    drawn = curve(experiment, seed, implementations)
    return () if drawn is None else (drawn,)


def _verdict(evidence: tuple[Evidence, ...]) -> Verdict:
    judging = [e.verdict for e in evidence if e.method is not Method.EXTREMAL]
    if Verdict.REFUTED in judging:
        return Verdict.REFUTED
    return next((v for v in _ORDER if v in judging), Verdict.ERROR)


def _disagreement(claim: Claim, verdict: Verdict, attained: float) -> str:
    """Why the finding is not as the book says; empty where it is."""
    if verdict is Verdict.ERROR:
        return "no method could judge the claim"
    if claim.stands is not Standing.HOLDS:
        return "" if verdict is Verdict.REFUTED else f"the book says {claim.stands}, but nothing refutes it"
    if verdict is Verdict.REFUTED:
        return "the book says holds, but a counterexample was found"
    if claim.tightness is not None and attained < _ATTAINED:
        return f"only {attained:.4g} of the stated tightness was attained"
    return ""


def _finding(
    name: str,
    verdict: Verdict,
    as_stated: bool,
    evidence: tuple[Evidence, ...],
    series: tuple[Series, ...],
    budget: str,
    seed: int,
    message: str,
    parameters: dict[str, str],
) -> Finding:
    shares = [e.tightness for e in evidence if e.tightness is not None]
    return Finding(
        claim=name,
        verdict=verdict,
        as_stated=as_stated,
        evidence=evidence,
        series=series,
        tightness=max(shares) if shares else None,
        parameters=parameters,
        seed=seed,
        budget=budget,
        versions=versions(),
        message=message,
    )
