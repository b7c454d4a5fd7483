"""`run`: order, patterns, executors, streaming, and going on after a kill."""

import json
import multiprocessing
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp
from given_evidence import evidence_for

from commbounds.theory import Standing, claims
from commbounds.verify import Evidence, Finding, Method, Verdict, certify, engine, load, run, select
from commbounds.verify.confront import confront, confront_together, versions
from commbounds.verify.experiment import bound_at
from commbounds.verify.experiments import EXPERIMENTS

CHEAP = (
    "quantizers.sign.unbiased",
    "quantizers.nearestpower.unbiased",
    "sparsifiers.topk.two_workers",
    "sparsifiers.randk.unbiased",
)
NAMES = list(EXPERIMENTS)


def verdict(name):
    return Verdict.ENUMERATED if claims()[name].stands is Standing.HOLDS else Verdict.REFUTED


def finding(name, budget="quick", seed=0):
    return Finding(
        name, verdict(name), True, evidence_for(verdict(name)), budget=budget, seed=seed, versions=versions()
    )


@pytest.fixture
def asked(monkeypatch):
    """The claims that were confronted, in order; confronting one takes a moment and always proves it."""
    names = []

    def confront_together(group, budget="quick", seed=0):
        names.extend(group)
        time.sleep(random.Random(group[0]).random() / 100)
        return [finding(name, budget, seed) for name in group]

    monkeypatch.setattr(engine, "confront_together", confront_together)
    return names


# --- selection --------------------------------------------------------------------------------------------------------


def test_patterns_select_in_the_order_of_the_book_and_once():
    assert select() == NAMES
    assert select(("*.wire", "sparsifiers.topk.*")) == [
        n for n in NAMES if n.endswith(".wire") or n.startswith("sparsifiers.topk.")
    ]
    assert select(("sparsifiers.topk.wire", "sparsifiers.topk.contraction", "*.topk.wire")) == [
        "sparsifiers.topk.contraction",
        "sparsifiers.topk.wire",
    ]


def test_a_pattern_without_match_is_refused():
    with pytest.raises(ValueError, match=r"no claim matches 'topk'"):
        select(("*.wire", "topk"))


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"patterns": ("nothing",)}, "no claim matches 'nothing'"),
        ({"budget": "huge"}, "budget must be one of quick, standard, thorough, got 'huge'"),
        ({"seed": -1}, "seed must be nonnegative, got -1"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(arguments, rule, asked, tmp_path):
    with pytest.raises(ValueError, match=rule):
        run(**arguments, out=tmp_path / "f.jsonl")
    assert not asked
    assert not list(tmp_path.iterdir())


def test_one_pattern_may_be_a_string(asked):
    assert [f.claim for f in run("*.randk.wire")] == ["sparsifiers.randk.wire"]


# --- executors --------------------------------------------------------------------------------------------------------


def test_findings_come_back_in_the_order_of_the_book_whatever_the_order_of_completion(asked):
    seen = []
    with ThreadPoolExecutor(8) as pool:
        found = run(("*.wire", "*.unbiased"), executor=pool, progress=lambda f: seen.append(f.claim))
    assert [f.claim for f in found] == select(("*.wire", "*.unbiased"))
    assert sorted(seen) == sorted(asked) == sorted(f.claim for f in found)
    assert seen != [f.claim for f in found]


@pytest.fixture(scope="module")
def serial():
    return run(CHEAP, seed=3)


@pytest.mark.wide
def test_the_same_seed_gives_the_same_findings(serial):
    again = run(CHEAP, seed=3)
    assert [f.to_json() for f in again] == [f.to_json() for f in serial]
    assert all(f.as_stated for f in serial)


@pytest.mark.parametrize(
    ("name", "least"),
    [("quantizers.sign.unbiased", 10), pytest.param("sparsifiers.topk.two_workers", 11, marks=pytest.mark.long)],
)
def test_claims_of_one_subject_are_one_task_and_a_claim_does_not_depend_on_the_others(name, least, serial):
    assert [name for group in engine.tasks(NAMES) for name in group] != NAMES  # a subject's claims may stand apart
    assert sorted(name for group in engine.tasks(NAMES) for name in group) == sorted(NAMES)
    group = next(group for group in engine.tasks(NAMES) if name in group)
    assert len(group) >= least
    assert {EXPERIMENTS[member].subject for member in group} == {EXPERIMENTS[name].subject}
    together = {f.claim: f for f in confront_together(group, seed=3)}
    alone = next(f for f in serial if f.claim == name)
    assert together[alone.claim].to_json() == alone.to_json()


@pytest.mark.wide
def test_threads_give_the_same_findings(serial):
    with ThreadPoolExecutor(2) as pool:
        assert [f.to_json() for f in run(CHEAP, seed=3, executor=pool)] == [f.to_json() for f in serial]


@pytest.mark.wide
def test_processes_give_the_same_findings(serial):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert [f.to_json() for f in run(CHEAP, seed=3, executor=pool)] == [f.to_json() for f in serial]


def test_other_seeds_search_elsewhere(serial):
    sampled = "sparsifiers.randk.unbiased"
    (other,) = run(sampled, seed=4)
    (this,) = (f for f in serial if f.claim == sampled)
    assert [e.e_value for e in other.evidence] != [e.e_value for e in this.evidence]


def test_an_error_of_the_executor_cancels_the_rest(asked, monkeypatch):
    monkeypatch.setattr(engine, "confront_together", lambda *_: 1 / 0)
    with ThreadPoolExecutor(1) as pool, pytest.raises(ZeroDivisionError):
        run(executor=pool)


# --- the file ---------------------------------------------------------------------------------------------------------


def test_findings_stream_to_the_file_as_they_come(asked, tmp_path):
    out, lines = tmp_path / "new" / "f.jsonl", []
    found = run("*.wire", out=out, progress=lambda f: lines.append(out.read_text().count("\n")))
    assert lines == list(range(1, len(found) + 1))
    assert [f.claim for f in load(out)] == [f.claim for f in found]
    assert [p.name for p in out.parent.iterdir()] == ["f.jsonl"]
    assert all(json.loads(line) for line in out.read_text().splitlines())


def test_the_file_ends_in_the_order_of_the_book(asked, tmp_path):
    out = tmp_path / "f.jsonl"
    with ThreadPoolExecutor(8) as pool:
        found = run("*.idempotence", executor=pool, out=out)
    assert load(out) == found


def test_what_the_file_holds_is_not_computed_again(asked, tmp_path):
    out = tmp_path / "f.jsonl"
    run("sparsifiers.*.wire", out=out)
    asked.clear()
    seen = []
    found = run("*.wire", out=out, progress=lambda f: seen.append(f.claim))
    assert (
        asked
        == [n for n in select("*.wire") if not n.startswith("sparsifiers")]
        == [n for n in NAMES if n.endswith(".wire") and not n.startswith("sparsifiers")]
    )
    assert sorted(seen) == sorted(f.claim for f in found)
    assert load(out) == found
    # a narrower run keeps what it was not asked for
    assert len(run("sparsifiers.topk.wire", out=out)) == 1
    assert load(out) == found


SLOWLY = """
import sys, time
sys.path.insert(0, {tests!r})
from commbounds.verify import engine
from commbounds.verify.finding import Finding, Verdict
from commbounds.theory import Standing, claims
from given_evidence import evidence_for
def confront_together(names, budget, seed):
    time.sleep(0.02)
    made = dict(budget=budget, seed=seed, versions=engine.versions())
    holds = dict((name, claims()[name].stands is Standing.HOLDS) for name in names)
    said = dict((name, Verdict.ENUMERATED if holds[name] else Verdict.REFUTED) for name in names)
    return [Finding(name, said[name], True, evidence_for(said[name]), **made) for name in names]
engine.confront_together = confront_together
engine.run("*", out={out!r})
"""


@pytest.mark.wide
def test_a_killed_run_goes_on_without_repeating_or_losing_a_claim(asked, tmp_path):
    out = tmp_path / "f.jsonl"
    script = SLOWLY.format(tests=str(Path(__file__).parents[1]), out=str(out))
    process = subprocess.Popen([sys.executable, "-c", script])
    try:
        give_up = time.monotonic() + 300
        while not (out.exists() and out.read_bytes().count(b"\n") >= 5):
            assert process.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < give_up
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    # as if the kill had come in the middle of a write
    with out.open("a") as file:
        file.write(finding(NAMES[-1]).to_json()[:40])
    held = [f.claim for f in load(out)]
    assert 5 <= len(held) < len(NAMES)
    found = run("*", out=out)
    assert [f.claim for f in found] == NAMES
    assert sorted(asked) == sorted(n for n in NAMES if n not in held)
    assert load(out) == found
    assert out.read_text().count("\n") == len(NAMES)


@pytest.mark.parametrize("length", [1, 11, 200])
def test_a_first_line_that_was_cut_off_is_dropped(length, asked, tmp_path):
    out = tmp_path / "f.jsonl"
    out.write_text(finding(NAMES[0]).to_json()[:length])
    texts = []
    run("*.randk.*", out=out, progress=lambda f: texts.append(out.read_text()))
    assert texts[0] == finding("sparsifiers.randk.contraction").to_json() + "\n"


def test_a_whole_last_line_without_its_newline_is_kept(asked, tmp_path):
    out = tmp_path / "f.jsonl"
    out.write_text(finding("sparsifiers.topk.wire").to_json())
    assert len(load(out)) == 1
    run("*.topk.*", out=out)
    assert "sparsifiers.topk.wire" not in asked


@pytest.mark.parametrize(
    "other", [finding("sparsifiers.topk.wire", seed=1), finding("sparsifiers.topk.wire", budget="standard")], ids=str
)
def test_the_file_of_another_run_is_refused_and_left_alone(other, asked, tmp_path):
    out = tmp_path / "f.jsonl"
    out.write_text(other.to_json() + "\n")
    with pytest.raises(ValueError, match="holds findings of another run"):
        run("*.wire", out=out)
    assert not asked
    assert out.read_text() == other.to_json() + "\n"


def test_findings_of_other_versions_are_another_run(asked, tmp_path):
    out = tmp_path / "f.jsonl"
    old = replace(finding("sparsifiers.topk.wire"), versions={**versions(), "numpy": "1.0"})
    out.write_text(old.to_json() + "\n")
    with pytest.raises(ValueError, match="or other versions"):
        run("*.wire", out=out)


@pytest.mark.parametrize("text", ["what is this?\n", "what is this?", "{}\n", '{"budget": 3}\n', "[]\n", "\x00\n"])
def test_a_file_that_holds_something_else_is_refused_and_left_alone(text, asked, tmp_path):
    out = tmp_path / "f.jsonl"
    out.write_text(text)
    with pytest.raises(ValueError, match="line 1: "):
        run("*.wire", out=out)
    assert not asked
    assert out.read_text() == text


def test_a_foreign_line_in_the_middle_is_named(tmp_path):
    out = tmp_path / "f.jsonl"
    out.write_text(finding(NAMES[0]).to_json() + "\nfoo\n" + finding(NAMES[1]).to_json() + "\n")
    with pytest.raises(ValueError, match="line 2: "):
        load(out)


HOLDS, FAILS = "sparsifiers.topk.wire", "sparsifiers.topk.unbiased"


def told(**changes):
    return replace(finding(HOLDS), **changes).to_json()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (told(claim="nobody.says.so"), "the book has no claim 'nobody.says.so'"),
        (told(verdict=Verdict.REFUTED), "refuted, is said to be as stated, but the book says holds"),
        (told(claim=FAILS), "enumerated, is said to be as stated, but the book says "),
        (told(verdict=Verdict.ERROR), "error, is said to be as stated"),
        (told(as_stated=False), "must say why it is not as the book says"),
        (told(message="no"), "must say why it is not as the book says, and only then"),
        (
            told(evidence=(Evidence(Method.SEARCH, Verdict.SURVIVED, 1, ""),)),
            "is said to be enumerated, but its evidence says survived",
        ),
        (
            told(evidence=(Evidence(Method.SEARCH, Verdict.REFUTED, 1, ""),)),
            "is said to be enumerated, but its evidence says refuted",
        ),
        ("[" * 100_000, "nested too deeply"),
    ],
    ids=range(9),
)
def test_what_does_not_follow_is_not_believed(line, said, tmp_path):
    out = tmp_path / "f.jsonl"
    out.write_text(finding(NAMES[0]).to_json() + "\n" + line + "\n")
    with pytest.raises(ValueError, match=rf"f\.jsonl, line 2: .*{said}"):
        load(out)


def test_a_file_that_is_no_text_is_named(tmp_path):
    out = tmp_path / "f.jsonl"
    out.write_bytes(finding(NAMES[0]).to_json().encode() + b"\n\xff\xfe\n")
    with pytest.raises(ValueError, match=r"f\.jsonl is no text in UTF-8"):
        load(out)


def test_empty_lines_and_an_empty_file_hold_nothing(asked, tmp_path):
    out = tmp_path / "f.jsonl"
    out.write_text("\n\n")
    assert load(out) == []
    run("*.topk.wire", out=out)
    assert [f.claim for f in load(out)] == ["sparsifiers.topk.wire"]


@pytest.fixture
def refusing(monkeypatch):
    """A checker that refuses every certificate, and a claim's study with another bound than the book's."""

    def refused(certificate):
        raise certify.CertificateError("it proves another bound")

    monkeypatch.setattr(certify, "check", refused)

    def altered(name, factor):
        study = EXPERIMENTS[name]
        claim = study.statement
        relation = claim.relation.func(claim.relation.lhs, factor * claim.relation.rhs)
        monkeypatch.setitem(vars(study), "statement", replace(claim, relation=relation, tightness=None))
        return confront(name, drawn=False)

    return altered


@pytest.mark.parametrize(("factor", "verdict"), [(sp.Rational(1, 2), Verdict.REFUTED), (1, Verdict.ERROR)])
def test_a_claim_whose_certificate_is_refused_is_measured_all_the_same(refusing, factor, verdict):
    """Its author sees a counterexample to the altered formula, where there is one."""
    finding = refusing("dense.ring.rounding", factor)
    assert (finding.verdict, finding.as_stated) == (verdict, False)
    assert "refused: it proves another bound" in finding.message
    assert ("a counterexample was found" in finding.message) == any(e.counterexample for e in finding.evidence)
    assert finding.evidence


def test_a_bound_that_is_singular_at_a_case_says_where():
    claim = claims()["feedback.ef14.residual_simple"]
    with pytest.raises(ValueError, match="is singular at alpha = 0, reach = 1"):
        bound_at(claim, {"alpha": 0, "reach": 1})
