"""The studies by what they confront: compressors one by one, or several workers; and what one method says of one."""

from dataclasses import replace

from commbounds.verify import Method, Verdict
from commbounds.verify.compressor_study import CompressorStudy
from commbounds.verify.confront import claim_alpha
from commbounds.verify.experiment import budgets
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.methods import judge
from commbounds.verify.study import Study

COMPRESSED = {name: study for name, study in EXPERIMENTS.items() if isinstance(study, CompressorStudy)}
STUDIES = {name: study for name, study in EXPERIMENTS.items() if isinstance(study, Study)}


def asked_of(study, methods):
    """The study for these methods alone: where injection is none of them, the grid is not gone through for it."""
    return replace(study, injectable=False) if study.injectable and Method.INJECT not in methods else study


def judged(study, *methods, budget=budgets["quick"], seed=0, implementations=None, alpha=None):
    """The judgement of one study by these methods alone; raises what they raised."""
    alpha = claim_alpha() if alpha is None else alpha
    (judgement,) = judge([asked_of(study, methods)], budget, seed, alpha, implementations or {}, methods)
    if judgement.error is not None:
        raise judgement.error
    return judgement


def evidence(claim, method, implementations=None, **options):
    """What one method alone says of the claim; None where it does not apply."""
    return judged(EXPERIMENTS[claim], method, implementations=implementations, **options).evidence.get(Method(method))


def refuted(claim, method, implementations):
    """Whether one method alone refutes the claim; it stops at the first violation, which does not shrink."""
    first = replace(budgets["quick"], first=True)
    return evidence(claim, method, implementations, budget=first).verdict is Verdict.REFUTED
