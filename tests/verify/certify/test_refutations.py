"""Smallest counterexamples: what the implementation does at them, and what is refused as one."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import refutation_cases
import sympy as sp
from column_files import modules_in
from refutation_cases import case_of, found_in, listed_in

from commbounds import theory
from commbounds.collectives import FeedbackSGD
from commbounds.compressors import COMPRESSORS, EF21
from commbounds.theory.evaluation import evaluator
from commbounds.theory.model import Refutation
from commbounds.verify import certify
from commbounds.verify.certify.counterexamples import points, shortcoming
from commbounds.verify.certify.finder import NotFoundError, find_point
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.compressor_study import CompressorStudy
from commbounds.verify.confront import confront, verdict_of
from commbounds.verify.experiment import violates
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.experiments.feedback.runs import Shrunk
from commbounds.verify.finding import Evidence, Method, Verdict
from commbounds.verify.study import Outcome

REFUTED = [name for name in certify.files() if name in certify.refutations()]


def at_case(name, at):
    """The outcome of the claim's own study at the point, which its hypotheses admit."""
    if listed_in("ALONE", name):
        return found_in("ALONE", name)(at)
    study, refutation = EXPERIMENTS[name], certify.refutations()[name]
    more, array = found_in("CASES", name)
    more = more(at) if callable(more) else more
    values = {s.name: exact(v, at) for s, v in refutation.values.items()}
    settings = {s: int(v) if isinstance(v, Fraction) and v.denominator == 1 else v for s, v in values.items()}
    x = exact(refutation.x, at) if array is None and refutation.x else None
    stack = np.array(array(at)) if array is not None else None if x is None else np.array(x, np.float64)
    outcome = study.admitted(study.implementation({}), case_of(name, settings, more, stack))
    assert isinstance(outcome, Outcome), outcome
    return outcome


def exact(value, at):
    if isinstance(value, tuple):
        return tuple(exact(v, at) for v in value)
    number = evaluator(sp.sympify(value))(at, "an entry")
    return number if isinstance(number, sp.Expr) else Fraction(number)


def compressor(name, at):
    """The compressor that the claim is about."""
    found = found_in("HYPER_PARAMETERS", name)
    return found(at) if callable(found) else COMPRESSORS[EXPERIMENTS[name].subject](**found)


def vector(name, at):
    """The exact input."""
    refutation = certify.refutations()[name]
    return exact(refutation.x, at) if refutation.x else (Fraction(1),) * at["n"]


def runs(name, at):
    """The outcomes of the compressor's exact law, and of its kernel, at the point."""
    c, x, study = compressor(name, at), vector(name, at), EXPERIMENTS[name]
    array = np.array([[float(v) for v in row] for row in x] if isinstance(x[0], tuple) else [float(v) for v in x])
    if alone := listed_in("KERNEL_ALONE", name):
        array = array.astype(np.float32)
    for run in (CompressorRun(c, x), CompressorRun(c, array)):
        if (alone or listed_in("IN_FLOATS", name)) if run.exact else listed_in("LAW_ALONE", name):
            continue
        assert study.admits(CompressorRun(c, array)), "the claim's hypotheses"
        yield run, study.outcome(run)


ROOT = Path(__file__).parents[3]
HERE = "tests/verify/certify/test_refutations.py"


@pytest.mark.parametrize("name", REFUTED)
def test_the_implementation_at_the_point(name):
    """It measures there what the model says, and breaks the claim."""
    if (tie := certify.refutations()[name].checked_by) != f"{HERE}::test_the_implementation_at_the_point":
        file, _, test = tie.partition("::")  # the point has a test of its own
        assert f"\ndef {test}(" in (ROOT / file).read_text("utf-8")
        return
    at, refutation, claim = certify.load(name).instances[0], certify.refutations()[name], theory.claims()[name]
    expected = exact(refutation.measured, at)
    if isinstance(EXPERIMENTS[name], CompressorStudy):
        outcomes = [outcome for _, outcome in runs(name, at)]
    else:
        outcomes = [at_case(name, at)]
    for i, outcome in enumerate(outcomes):
        if not (i and listed_in("WORST_OUTCOME", name)):
            assert abs(outcome.measured - expected) <= outcome.slack
        values = {symbol.name: exact(value, at) for symbol, value in refutation.values.items()}
        free = {"alpha"} if any(h.name == "some_alpha" for h in claim.assumes) else set()  # the study's is another
        for symbol in (set(claim.parameters) & set(outcome.values)) - free:
            found, right = outcome.values[symbol], values[symbol]
            # what is not rational, a study computes in floats: in a few operations, or with the slack that it states
            room = outcome.slack + 4 * np.spacing(abs(float(right))) if isinstance(right, sp.Expr) else 0
            assert found == right or abs(found - float(right)) <= room
        assert violates(claim.relation, outcome.measured, claim.bound(**values), outcome.slack)


def test_a_uniform_direction_reads_half_of_the_identity():
    """Of the identity a Gaussian column keeps its direction; eight directions apart average what all do."""
    compressor, read = COMPRESSORS["PowerSGD"](1), []
    for turn in np.arange(8) * np.pi / 8:
        column = np.array([[np.cos(turn)], [np.sin(turn)]])
        read.append(compressor.decompress(compressor.compress_with(np.eye(2), column)))
    # entries of at most one: some eight roundings of each, and eight of the sum
    assert np.abs(np.mean(read, axis=0) - np.eye(2) / 2).max() <= 16 * np.finfo(np.float64).eps


def test_a_step_of_ef21_that_is_too_long():
    """From 1/q, where the first step is a whole one, with numbers that are exact."""
    name = "feedback.ef21.descent_at_one_over_l"
    at, refutation, claim = certify.load(name).instances[0], certify.refutations()[name], theory.claims()[name]
    q = at["u"] / at["v"]
    sgd = FeedbackSGD(EF21(Shrunk(q)), 1.0)
    state, potentials = sgd.start(np.array([1 / q]), 1), []
    for _ in range(3):
        slope = state.weights
        state, _ = sgd.step(slope[None], state)
        lag = Fraction(float(state.workers[0].memory[0])) - Fraction(float(slope[0]))
        potentials.append(Fraction(float(slope[0])) ** 2 / 2 + lag**2 / (2 * (1 - Fraction(q))))
    values = {symbol.name: exact(value, at) for symbol, value in refutation.values.items()}
    assert potentials[1] == claim.bound(**values)
    assert potentials[2] == Fraction(evaluator(sp.sympify(refutation.measured))(at, "measured")) > potentials[1]


# --- what is refused ----------------------------------------------------------------------------------------------

TOPK = "sparsifiers.topk.global_contraction"


def planted():
    """Counterexamples that must be refused, by what is wrong with them."""
    right = certify.load(TOPK)
    return {
        "no counterexample": (replace(right, instances=({"a": 3, "b": 1},)), "no counterexample: measured 1/4"),
        "a condition is not met": (replace(right, instances=({"a": 1, "b": 1},)), "'a > b' must be positive"),
        "below the smallest value": (replace(right, instances=({"a": 2, "b": 0},)), "of at least 1"),
        "no whole number": (replace(right, instances=({"a": Fraction(5, 2), "b": 1},)), "whole number"),
        "not the smallest": (replace(right, instances=({"a": 4, "b": 3},)), "smaller counterexample"),
        "another number": (replace(right, instances=({"a": 2, "c": 1},)), "a point has a, b"),
        "two points": (replace(right, instances=({"a": 2, "b": 1}, {"a": 3, "b": 2})), "one point"),
        "a proof besides": (replace(right, proofs=(*right.proofs, {"at": 0, "goal": "other"})), "one point"),
        "another scope": (replace(right, scope="refuted everywhere"), "scope must be"),
        "a claim without a model": (replace(right, claim="sparsifiers.topk.contraction"), "no model"),
    }


@pytest.mark.parametrize("kind", list(planted()))
def test_a_bad_counterexample_is_refused(kind):
    certificate, reason = planted()[kind]
    with pytest.raises(certify.CertificateError, match=reason):
        certify.check(certificate)


def test_a_true_claim_has_no_counterexample():
    right = certify.load(TOPK)
    with pytest.raises(certify.CertificateError, match="no counterexample"):
        certify.check(right, bound=sp.Integer(5))
    refutation = certify.refutations()[TOPK]
    with pytest.raises(NotFoundError, match="points"):
        find_point(replace(refutation, measured=sp.Integer(0)))


def test_a_hypothesis_is_a_relation_that_is_met_or_has_its_reason():
    claim, refutation = theory.claims()["oktopk.sent.unconditional"], certify.refutations()["oktopk.sent.unconditional"]
    point = {"P": 2, "k": 2, "winners": 2}
    assert not shortcoming(refutation, claim, claim.relation.rhs, point)
    assert "k_winners" in shortcoming(refutation, claim, claim.relation.rhs, {**point, "k": 1})
    assert "winners_divisible" in shortcoming(refutation, claim, claim.relation.rhs, {**point, "k": 3, "winners": 3})
    without = replace(refutation, met={"words_of_the_data": "They are."})
    with pytest.raises(certify.CertificateError, match="say once why always_balanced"):
        shortcoming(without, claim, claim.relation.rhs, point)


def test_points_come_by_their_sum_and_every_one_once():
    a, b = sp.symbols("a b", integer=True)
    refutation = Refutation(TOPK, "words", {a: 1, b: 0}, a)
    found = list(points(refutation, 4))
    assert [sum(p.values()) for p in found] == sorted(sum(p.values()) for p in found)
    assert sorted(tuple(p.values()) for p in found) == sorted((i, j) for i in range(1, 5) for j in range(5 - i))
    assert list(points(refutation, 4, 4)) == [p for p in found if sum(p.values()) == 4]
    with pytest.raises(certify.CertificateError, match="points would"):
        list(points(refutation, 10**6))


@pytest.mark.parametrize(
    "wrong", [{"words": " "}, {"met": {"nonzero": ""}}, {"measured": sp.Symbol("z")}, {"x": ((sp.Symbol("z"),),)}]
)
def test_a_refutation_says_what_it_speaks_of(wrong):
    with pytest.raises(ValueError, match="refutation"):
        replace(certify.refutations()[TOPK], **wrong)


def test_a_counterexample_of_the_model_alone_refutes_nothing():
    of_model = Evidence(Method.CERTIFICATE, Verdict.REFUTED, 1, "its point", scope={"smallest": "refuted at x = (1)"})
    survived = Evidence(Method.SEARCH, Verdict.SURVIVED, 10, "none found")
    assert verdict_of((of_model,)) is Verdict.ERROR
    assert verdict_of((of_model, survived)) is Verdict.SURVIVED
    assert verdict_of((of_model, replace(survived, verdict=Verdict.REFUTED))) is Verdict.REFUTED


def test_the_finding_of_a_refuted_claim_shows_its_smallest_counterexample():
    finding = confront("sparse.gtopk.true_topk", drawn=False)
    assert (finding.verdict, finding.as_stated, finding.proved_for) == (Verdict.REFUTED, True, "")
    assert finding.refuted_at == certify.load("sparse.gtopk.true_topk").scope


def test_what_is_not_rational_is_decided_between_rational_bounds_or_not_at_all():
    a = sp.Symbol("a", integer=True, positive=True)
    refutation = replace(certify.refutations()[TOPK], whole={a: 2}, measured=sp.sqrt(a), x=(), positive={})
    claim = theory.claims()[TOPK]
    assert not shortcoming(refutation, claim, sp.Rational(14142, 10**4), {"a": 2})
    assert "between 1.4142 and 1.4143" in shortcoming(refutation, claim, sp.Rational(14143, 10**4), {"a": 2})
    for unknown, reason in ((sp.sin(a), "no bounds"), (sp.sqrt(a) + sp.sqrt(3), "not told from zero with 1024 bits")):
        with pytest.raises(certify.CertificateError, match=reason):
            shortcoming(replace(refutation, measured=unknown), claim, sp.sqrt(5 + 2 * sp.sqrt(6)), {"a": 2})
    with pytest.raises(certify.CertificateError, match="not rational"):
        shortcoming(replace(refutation, given={"root": sp.sqrt(a)}), claim, claim.relation.rhs, {"a": 2})


def test_every_refutation_is_of_a_claim_that_fails_and_has_its_certificate():
    assert len(REFUTED) == len(certify.refutations()) > 60
    for name in REFUTED:
        assert theory.claims()[name].stands is not theory.Standing.HOLDS
        assert name not in certify.models()
        assert set(certify.refutations()[name].met) <= {h.name for h in theory.claims()[name].assumes}


TABLES = re.findall(r"^([A-Z_]+)$", refutation_cases.__doc__, re.MULTILINE)
"""Those that a column may have."""


def test_entries_of_a_columns_cases_are_about_its_refuted_claims():
    for column, module in modules_in("verify/certify/cases").items():
        entries = [entry for table in TABLES for entry in getattr(module, table, ())]
        assert len(TABLES) >= 6
        assert entries, column
        assert {entry.partition(".")[0] for entry in entries} == {column}
        assert [entry for entry in entries if not any(claim.startswith(entry) for claim in REFUTED)] == []
