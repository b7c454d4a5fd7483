"""Claims against their implementation: every method that applies, and the findings they add up to."""

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib.metadata import version

from commbounds.theory import Claim, Standing
from commbounds.theory.claim import reason
from commbounds.verify.contents import study_entries, unread
from commbounds.verify.experiment import Implementations, budgets
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.finding import Evidence, Finding, Method, Series, Verdict
from commbounds.verify.judgement import Judgement
from commbounds.verify.methods import ATTAINED, judge
from commbounds.verify.series import series_of

FALSE_ALARM = 1e-6
"""Probability that a whole run refutes any true statistical claim."""
_ROOM = "still true: the stated tightness leaves room for it"
_ORDER = (Verdict.PROVED, Verdict.ENUMERATED, Verdict.SURVIVED, Verdict.CONSISTENT)


@cache
def claim_alpha() -> float:
    """The false-alarm rate of one statistical claim: the run's, divided by their number."""
    return FALSE_ALARM / max(1, sum(entry.sampled for entry in study_entries().values()))


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
        Name of a claim that has a study.
    budget : str
        quick, standard or thorough.
    seed : int
        Root of all randomness; mixed with names, so that claims do not depend on one another.
    implementations : mapping
        Name of a compressor or a collective -> stand-in, for mutants.
    drawn : bool
        Whether to measure the curves of the figure as well.

    Returns
    -------
    Finding
        A function of the arguments (and of the versions that it records).

    Raises
    ------
    KeyError
        There is no such claim; the message says which may be meant.
    """
    return confront_together((name,), budget, seed, implementations, drawn)[0]


def confront_together(
    names: Sequence[str],
    budget: str = "quick",
    seed: int = 0,
    implementations: Implementations | None = None,
    drawn: bool = True,
) -> list[Finding]:
    """Confront several claims at once: those of one subject share its runs. The same findings as one by one.

    Parameters
    ----------
    names : sequence of str
        Claims; see `confront` for the rest.

    Returns
    -------
    list of Finding
        In the order of `names`.
    """
    try:
        studies = [EXPERIMENTS[name] for name in names]
    except Exception as error:  # of a column that cannot be imported
        for name in names:
            if name not in study_entries():
                near = get_close_matches(name, study_entries(), n=3)
                hint = f"did you mean {' or '.join(near)}?" if near else "`commbounds claims` lists all"
                raise KeyError(f"there is no claim {name!r} with a study; {hint}") from None
        message = unread(names[0]) or f"{type(error).__name__}: {error}"
        return [
            Finding(name, Verdict.ERROR, False, (), seed=seed, budget=budget, versions=versions(), message=message)
            for name in names
        ]
    judgements = judge(studies, budgets[budget], seed, claim_alpha(), implementations or {})
    series = series_of([j for j in judgements if not j.study.statement.asked_of_all], seed) if drawn else {}
    findings = []
    for j in judgements:
        claim = j.study.statement
        if j.error is not None:
            message = f"{type(j.error).__name__}: {j.error}"
            findings.append(_finding(j, Verdict.ERROR, False, (), (), budget, seed, message))
            continue
        evidence = tuple(j.evidence[method] for method in Method if method in j.evidence)
        verdict = verdict_of(evidence)
        message = _disagreement(claim, verdict, j)
        if j.refused is not None:
            verdict = verdict if verdict is Verdict.REFUTED else Verdict.ERROR
            found = "a counterexample was found" if verdict is Verdict.REFUTED else "no counterexample was found"
            message = f"the certificate is refused: {j.refused}; {found}"
        findings.append(_finding(j, verdict, not message, evidence, series.get(claim.name, ()), budget, seed, message))
    return findings


def verdict_of(evidence: tuple[Evidence, ...]) -> Verdict:
    """The strongest verdict that the evidence supports; refuted as soon as one piece of it refutes.

    A certificate's counterexample is one of a model: that the implementation breaks the claim, other evidence must say.
    Neither does it count that a claim is true of its model by definition.
    """
    judging = [
        e.verdict
        for e in evidence
        if e.method is not Method.EXTREMAL and (e.method is not Method.CERTIFICATE or e.verdict is Verdict.PROVED)
    ]
    if Verdict.REFUTED in judging:
        return Verdict.REFUTED
    if set(judging) <= {Verdict.PROVED}:
        return Verdict.ERROR  # a proof is about a model: nothing confronted the implementation
    return next((v for v in _ORDER if v in judging), Verdict.ERROR)


def _disagreement(claim: Claim, verdict: Verdict, judgement: Judgement) -> str:
    """Why the finding is not as the book says; empty where it is."""
    if verdict is Verdict.ERROR:
        return "no method could judge the claim"
    if judgement.exceeded > 1.0:
        return f"measured / bound came to {judgement.exceeded:.6g} times the stated tightness"
    if claim.stands is not Standing.HOLDS:
        return "" if verdict is Verdict.REFUTED else f"the book says {claim.stands}, but nothing refutes it"
    if verdict is Verdict.REFUTED:
        return "the book says holds, but a counterexample was found"
    for name, cases in judgement.measurements.regimes().items():
        if not cases and judgement.measured and not reason(name, claim.unentered):
            return f"no case entered {name}, a regime of the bound"
    if claim.tightness is not None and judgement.attained < ATTAINED:
        return f"only {judgement.attained:.4g} of the stated tightness was attained"
    return ""


def _finding(
    j: Judgement,
    verdict: Verdict,
    as_stated: bool,
    evidence: tuple[Evidence, ...],
    series: tuple[Series, ...],
    budget: str,
    seed: int,
    message: str,
) -> Finding:
    shares = [e.tightness for e in evidence if e.tightness is not None]
    kept = j.measurements
    pinned = kept.pinned()
    reasons = {name: reason(name, j.study.statement.unpinned) for name in pinned.untested}
    explained = {name: why or _ROOM for name, why in reasons.items() if why or name in pinned.allowance}
    return Finding(
        claim=j.study.claim,
        verdict=verdict,
        as_stated=as_stated,
        evidence=evidence,
        series=series,
        tightness=max(shares) if shares else None,
        parameters=j.study.parameters,
        seed=seed,
        budget=budget,
        versions=versions(),
        message=message,
        left_out=dict(sorted(kept.left_out.items())),
        unmeasured=dict(sorted(kept.unmeasured.items())),
        regimes=kept.regimes(),
        mutants=pinned.mutants,
        untested=tuple(name for name in pinned.untested if name not in explained),
        explained=explained,
    )
