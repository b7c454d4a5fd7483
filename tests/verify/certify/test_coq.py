"""Certificates as lemmas of Coq; where Coq is there, its kernel checks a sample, and refuses what is false."""

import os
import random
import re
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.verify.certify import certificate, coq
from commbounds.verify.certify.coq import export

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="needs coqc")
SAMPLE = ("sparsifiers.topk.contraction", "feedback.ef14.residual", "packetloss.drift.pair", "quantizers.qsgd.variance")
SEED = os.environ.get("COMMBOUNDS_COQ_SEED", "")
AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
"""What Coq's own real numbers assume."""
THEOREMS_TOO = AXIOMS | {"Classical_Prop.classic"}
"""The excluded middle besides, by which Coq's own library has the mean value theorem."""


def proofs():
    return [name for name in certificate.files() if certificate.load(name).kind != "counterexample"]


def by_sturm():
    """A claim whose certificate counts roots, among others."""
    return next(
        name for name in proofs() if {"sturm" in proof for proof in certificate.load(name).proofs} == {True, False}
    )


def checked(path):
    """Whether Coq accepts a file, and what it prints."""
    ran = subprocess.run(["coqc", path.name], cwd=path.parent, capture_output=True, text=True, timeout=1800)
    return ran.returncode == 0, ran.stdout + ran.stderr


def test_a_lemma_says_what_the_goal_says():
    texts, (*_, lemma), left = coq.files(["sparsifiers.topk.contraction"])
    assert not left
    assert lemma.claim == "sparsifiers.topk.contraction"
    assert lemma.goal == "contraction"
    assert texts["sparsifiers.v"].startswith(export.PRELUDE.read_text("utf-8"))
    assert lemma.text in texts["sparsifiers.v"]
    statement, proof = lemma.text.split("Proof.")
    assert f"Lemma {lemma.name}\n" in statement
    assert "0 < n_ -> (* declared *)" in statement
    assert "(* each kept is no less than a level *)" in statement
    assert "-> (* n *)" in statement
    assert "nonneg." in proof
    assert texts["sparsifiers.v"].endswith(f"Print Assumptions {lemma.name}.\n")


def test_vectors_are_known_by_their_inner_products():
    _, lemmas, _ = coq.files(["feedback.ef14.residual"])
    (about,) = [lemma for lemma in lemmas if lemma.vectors]
    assert "(squares : forall a_0 a_1 a_2 : R, 0 <= " in about.text
    assert "pose proof (squares " in about.text


def test_what_is_no_algebra_is_left_out_and_said():
    _, lemmas, left = coq.files([by_sturm(), "quantizers.naturalcompression.variance"])
    assert {why for _, _, why in left} == set(export.LEFT_OUT.values())
    assert lemmas


def test_a_claim_without_a_proof_makes_no_file():
    assert coq.files(["sparse.gtopk.code_mass"]) == ({}, [], [])


@pytest.mark.wide
def test_every_goal_is_a_lemma_of_its_own_or_left_out():
    texts, lemmas, left = coq.files(proofs())
    assert len({lemma.name for lemma in lemmas}) == len(lemmas)
    goals = sum(len(certificate.load(name).proofs) for name in proofs())
    assert len(lemmas) + len(left) == goals
    assert {why for _, _, why in left} == {*export.LEFT_OUT.values(), export.TOO_LONG}
    assert all(len(lemma.text) <= export.LONGEST for lemma in lemmas)
    found = re.findall(r"\b(Axiom|Admitted|admit|Parameter|Conjecture)\b", "".join(texts.values()))
    assert not found


def test_the_command_writes_a_file_a_column_and_counts(tmp_path):
    name = by_sturm()
    result = CliRunner().invoke(main, ["certificates", name, "--coq", str(tmp_path / "made")])
    assert result.exit_code == 0, result.output
    assert re.search(r"left out: \d+ goals, each a count of roots by Sturm's theorem", result.output)
    assert re.search(r"\d+ lemmas about 1 claims in 1 files: coqc .*made/NAME.v checks one", result.output)
    assert [path.name for path in (tmp_path / "made").iterdir()] == [f"{name.partition('.')[0]}.v"]


@needs_coq
@pytest.mark.wide
def test_coq_accepts_a_sample(tmp_path):
    # a hundred lemmas; COMMBOUNDS_COQ_SEED draws others. Long ones take minutes, and are run with all (-m long)
    _, lemmas, _ = coq.files(list(dict.fromkeys([*SAMPLE, *random.Random(SEED).sample(proofs(), 60)])))
    short = [lemma for lemma in lemmas if len(lemma.text) < 6_000]
    drawn = random.Random(SEED).sample(short, min(100, len(short)))
    assert len(drawn) > 60
    path = tmp_path / "sample.v"
    path.write_text(export.PRELUDE.read_text("utf-8") + "".join(lemma.text for lemma in drawn))
    accepted, said = checked(path)
    assert accepted, said


@needs_coq
@pytest.mark.wide
def test_coq_accepts_the_theorems_by_hand(tmp_path):
    path = export.PRELUDE.with_name("theorems.v")
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    accepted, said = checked(copy)
    assert accepted, said
    assert set(re.findall(r"^(\w+\.\w+)", said, flags=re.MULTILINE)) <= THEOREMS_TOO, said
    stated = set(re.findall(r"^\s*Theorem (\w+)", path.read_text("utf-8"), flags=re.MULTILINE))
    listed = set(re.findall(r"`(\w+)`", path.with_name("README.md").read_text("utf-8")))
    assert stated <= listed


@needs_coq
@pytest.mark.wide
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(* n - k *)", ""),  # without the condition
        ("(* no other is more *)", ""),
        ("((- 1) * / (n_) * k_)", "((- 2) * / (n_) * k_)"),  # 1 - 2 k/n
    ],
)
def test_coq_refuses_a_statement_that_is_false(right, wrong, tmp_path):
    texts, _, _ = coq.files(["sparsifiers.topk.contraction"])
    text = texts["sparsifiers.v"]
    assert right in text
    text = text.replace(right, wrong) if wrong else re.sub(rf"  [^\n]*{re.escape(right)}\n", "", text)
    (tmp_path / "altered.v").write_text(text)
    accepted, said = checked(tmp_path / "altered.v")
    assert not accepted
    assert "Error" in said


@needs_coq
@pytest.mark.long
def test_coq_accepts_every_lemma(tmp_path):
    paths, lemmas, left = coq.write(proofs(), tmp_path)
    assert (len(lemmas) > 2000, len(left) < 180) == (True, True)
    refused = {path.name: said[-2000:] for path in paths for accepted, said in [checked(path)] if not accepted}
    assert not refused
