"""How much of its claim a certificate proves: every model says it, and is held to it."""

import re
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from commbounds import columns
from commbounds.theory.model import STEPS, Extent, Step, extents
from commbounds.verify import certify
from commbounds.verify.certify import Grade, grades
from commbounds.verify.confront import verdict_of
from commbounds.verify.finding import Evidence, Method, Verdict
from commbounds.verify.methods import certificate_evidence

TOPK = "sparsifiers.topk.contraction"
LITERAL = "quantizers.naturalcompression.wire"
CONDITION = "dense.allgather.received"
SAID = {
    Step.NORMS: r"Jensen|Minkowski|triangle inequality",
    Step.LEMMA: r"Wald|Markov's|Khinchin|Szarek|Polya|Chebyshev's sum inequality \(",
    Step.CLAIM: r"\bby ([a-z_]+\.[a-z0-9_]+\.[a-z0-9_]+)|\(([a-z_]+\.[a-z0-9_]+\.[a-z0-9_]+)\)",
}
"""What a model's words do not say without the step."""


def proofs():
    return [name for name in certify.files() if name not in certify.refutations()]


@cache
def graded():
    """The grades of all certificates, by claim."""
    return {name: certify.grade(certify.load(name)) for name in proofs()}


def test_every_certificate_has_a_grade():
    found = Counter(graded().values())
    assert set(found) == set(Grade)
    assert sum(found.values()) == len(proofs())


def test_every_step_is_explained_and_used():
    assert set(STEPS) == set(Step)
    assert {step for name in proofs() for step in certify.extent(name).steps_in_words} == set(Step)


def test_nothing_is_said_of_what_has_no_certificate():
    said = {name for column in columns.columns() for name in grades._EXTENTS.of_column(column)}
    assert said <= set(proofs())


@pytest.mark.parametrize("step", SAID)
def test_what_a_models_words_lean_on_is_listed(step):
    unlisted = []
    for name, grade in graded().items():
        if grade is not Grade.DEFINITION and step not in certify.extent(name).steps_in_words:
            words = certify.models()[name].words
            others = {other for found in re.findall(SAID[step], words) for other in found if isinstance(found, tuple)}
            if re.search(SAID[step], words) and (step is not Step.CLAIM or (others - {"", name})):
                unlisted.append(name)
    assert not unlisted


@pytest.mark.parametrize("name", [LITERAL, CONDITION])
def test_what_is_zero_or_a_condition_as_it_stands_is_so_by_definition(name, monkeypatch):
    certificate = certify.load(name)
    assert certify.grade(certificate) is Grade.DEFINITION
    monkeypatch.setitem(grades._EXTENTS.of_column(name.partition(".")[0]), name, Extent())
    with pytest.raises(certify.CertificateError, match="no more than its goals do"):
        certify.grade(certificate)


def test_a_model_that_does_not_say_is_refused(monkeypatch):
    monkeypatch.delitem(grades._EXTENTS.of_column("sparsifiers"), TOPK)
    with pytest.raises(certify.CertificateError, match="how much of the claim it shows"):
        certificate_evidence(TOPK)


def test_a_proof_of_a_sum_is_no_condition():
    # the same goal, shown otherwise: a square, a product, a multiplier that is no number
    (proof, *_) = certify.load(TOPK).proofs
    assert not grades.is_trivial(certify.load(TOPK))
    assert grades._may_be_trivial({"terms": [["1", {"a": 1}]]})
    assert not grades._may_be_trivial(proof)
    for other in (
        {"terms": [["1", {"a": 2}]]},
        {"terms": [["1", {}, "x"]]},
        {"zero": {"a": "x"}},
        {"sturm": ["a", "b"]},
    ):
        assert not grades._may_be_trivial(other)


@pytest.mark.parametrize(
    ("grade", "told"),
    [
        (Grade.PROVED, "proved"),
        (Grade.IN_WORDS, r"proved( for \{[^{}]+\})? but for steps in words \([^()]+\)"),
        (Grade.FINITE, r"proved for \{[^{}]+\}"),
        (Grade.DEFINITION, "by definition"),
    ],
)
def test_a_grade_in_words(grade, told):
    for name in [name for name, found in graded().items() if found is grade][:20]:
        said = certify.told(certify.record(certify.load(name)))
        assert re.fullmatch(told, said), (name, said)
        assert all(step in said for step in certify.extent(name).steps_in_words)


def test_what_is_so_by_definition_is_no_verdict():
    shown = certificate_evidence(LITERAL)
    assert shown.verdict is Verdict.DEFINITION
    enumerated = Evidence(Method.EXACT, Verdict.ENUMERATED, 3, "grids", nontrivial=3)
    assert verdict_of((shown, enumerated)) is Verdict.ENUMERATED
    assert verdict_of((replace(shown, verdict=Verdict.PROVED), enumerated)) is Verdict.PROVED
    assert verdict_of((shown,)) is Verdict.ERROR


@pytest.mark.parametrize("wrong", [{"by_definition": "a.b"}, {"every_case": "c.d"}])
def test_a_claim_is_listed_once(wrong):
    with pytest.raises(ValueError, match="must be listed once"):
        extents("sparsifiers", {(): "a.b", (Step.SUM,): "e.f"}, **wrong)
