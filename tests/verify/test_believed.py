"""Forged findings: what no run could have found is not read, whatever it looks like."""

from dataclasses import replace

import pytest

from commbounds.verify import engine, load, run
from commbounds.verify.believed import believed
from commbounds.verify.exhibition import load_exhibits
from commbounds.verify.finding import Counterexample, Evidence, Method, Series, Verdict

PROVED = "sparsifiers.topk.contraction"
REFUTED = "quantizers.sign.unbiased"
HOLDS = "quantizers.nearestpower.contraction"


@pytest.fixture(scope="module")
def found():
    return {finding.claim: finding for finding in run([PROVED, REFUTED, HOLDS])}


def test_what_a_run_found_is_read_again(found, tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text("".join(f"{finding.to_json()}\n" for finding in found.values()))
    assert load(path) == list(found.values())
    assert found[PROVED].verdict is Verdict.PROVED
    assert found[REFUTED].verdict is Verdict.REFUTED


def evidence(finding, method, **changes):
    return replace(
        finding, evidence=tuple(replace(e, **changes) if e.method is method else e for e in finding.evidence)
    )


def without(finding, *methods):
    return replace(finding, evidence=tuple(e for e in finding.evidence if e.method not in methods))


NOTHING = Counterexample("", [1.0], 1.0, 0.0)
FORGED = {
    "proved without evidence": (PROVED, lambda f: replace(f, evidence=(), tightness=None), "its evidence says nothing"),
    "survived without evidence": (
        HOLDS,
        lambda f: replace(f, evidence=(), tightness=None),
        "its evidence says nothing",
    ),
    "proved by a certificate alone": (
        PROVED,
        lambda f: replace(f, evidence=tuple(e for e in f.evidence if e.method is Method.CERTIFICATE), tightness=None),
        "its evidence says error",
    ),
    "a certificate of another scope": (
        PROVED,
        lambda f: evidence(f, Method.CERTIFICATE, scope={"for": "everything"}),
        "not what the certificate says",
    ),
    "a certificate of more goals": (
        PROVED,
        lambda f: evidence(f, Method.CERTIFICATE, cases=10**6),
        "not what the cert",
    ),
    "a certificate that the book has not": (
        HOLDS,
        lambda f: replace(
            f,
            verdict=Verdict.PROVED,
            evidence=(
                Evidence(Method.CERTIFICATE, Verdict.PROVED, 1, "by hand", scope={"for": "everything"}),
                *(e for e in f.evidence if e.method is not Method.CERTIFICATE),
            ),
        ),
        "the book has none|not what the certificate says",
    ),
    "tightness below 0": (HOLDS, lambda f: replace(f, tightness=-3.0), "tightness must be the largest"),
    "tightness of evidence below 0": (
        HOLDS,
        lambda f: evidence(f, Method.SEARCH, tightness=-3.0),
        "at least 0, got -3.0",
    ),
    "tightness that is no number": (HOLDS, lambda f: evidence(f, Method.SEARCH, tightness=float("nan")), "got nan"),
    "an unknown budget": (HOLDS, lambda f: replace(f, budget="thorough!!"), "budget must be one of quick"),
    "a negative seed": (HOLDS, lambda f: replace(f, seed=-1), "seed must be nonnegative"),
    "cases below 1": (HOLDS, lambda f: evidence(f, Method.SEARCH, cases=-7), "cases must be at least 1, got -7"),
    "more that could break it than cases": (
        HOLDS,
        lambda f: evidence(f, Method.SEARCH, nontrivial=10**9),
        "nontrivial must be in",
    ),
    "no detail": (HOLDS, lambda f: evidence(f, Method.SEARCH, detail=" "), "detail must say"),
    "a verdict that the method has not": (
        HOLDS,
        lambda f: evidence(f, Method.SEARCH, verdict=Verdict.ENUMERATED),
        "it cannot say enumerated",
    ),
    "an e-value without a test": (HOLDS, lambda f: evidence(f, Method.SEARCH, e_value=1e9), "it is none"),
    "a method twice": (HOLDS, lambda f: replace(f, evidence=f.evidence + f.evidence[-1:]), "of one method twice"),
    "a counterexample that does not refute": (
        HOLDS,
        lambda f: evidence(f, Method.SEARCH, counterexample=NOTHING),
        "a counterexample refutes",
    ),
    "refuted without a counterexample": (
        REFUTED,
        lambda f: evidence(f, Method.EXACT, counterexample=None),
        "must show a counterexample",
    ),
    "a counterexample of nothing": (
        REFUTED,
        lambda f: evidence(f, Method.EXACT, counterexample=NOTHING),
        "must be named",
    ),
    "a counterexample of texts": (
        REFUTED,
        lambda f: evidence(f, Method.EXACT, counterexample=replace(f.counterexample, x=[["<b>"]])),
        "must be numbers",
    ),
    "versions of nothing": (HOLDS, lambda f: replace(f, versions={}), "versions must be those of"),
    "more untested than mutants": (HOLDS, lambda f: replace(f, mutants=0, untested=("a",)), "mutants must be as many"),
    "an unknown hypothesis": (
        HOLDS,
        lambda f: replace(f, left_out={"wishes": 1}),
        "no hypothesis of the claim: 'wishes'",
    ),
    "a negative count": (HOLDS, lambda f: replace(f, unmeasured={"a": -1}), "unmeasured of 'a' must be nonnegative"),
    "a curve that ends before its axis": (
        HOLDS,
        lambda f: replace(f, series=(Series("a", "n", [1.0], [1.0], [1.0, 2.0]),)),
        "as long as x",
    ),
    "a curve over no number": (
        HOLDS,
        lambda f: replace(f, series=(Series("a", "n", [float("inf")], [1.0], [1.0]),)),
        "must be finite",
    ),
    "a curve over a number beyond floats": (
        HOLDS,
        lambda f: replace(f, series=(Series("a", "n", [10**400], [1.0], [1.0]),)),
        "must be finite",
    ),
    "as stated where it was refuted": (HOLDS, lambda f: replace(f, verdict=Verdict.REFUTED), "is said to be as stated"),
    "a message where all is well": (HOLDS, lambda f: replace(f, message="oh"), "must say why"),
    "orders to the screen": (
        HOLDS,
        lambda f: evidence(f, Method.SEARCH, detail="12 cases\x1b[2J\x1b]0;title\x07"),
        "characters that control a screen",
    ),
    "letters that go backwards": (
        HOLDS,
        lambda f: replace(f, regimes={"low\u202e": 1}),
        "characters that control a screen",
    ),
    "no claim of the book": (HOLDS, lambda f: replace(f, claim="a.b.c"), "the book has no claim"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_finding_is_refused(forged, found, tmp_path):
    name, forge, said = FORGED[forged]
    line = forge(found[name]).to_json()
    assert line != found[name].to_json()
    path = tmp_path / "f.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(ValueError, match=f"line 1: .*({said})"):
        load(path)


def test_the_same_claim_twice_is_refused(found, tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text(f"{found[HOLDS].to_json()}\n" * 2)
    with pytest.raises(ValueError, match=f"line 2: {HOLDS} is there twice"):
        load(path)


def test_an_error_needs_no_evidence(found):
    lost = replace(found[HOLDS], verdict=Verdict.ERROR, as_stated=False, evidence=(), tightness=None, message="died")
    assert believed(lost) is lost


def test_what_is_made_again_replaces_what_was_there(found, tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text(f"{found[HOLDS].to_json()}\n")
    with engine.opened_run([HOLDS], out=path, budget="quick", seed=0, anew=True) as opened:
        (task,) = opened.tasks()
        task.keep([found[HOLDS]])  # and is interrupted here
    assert load(path) == [found[HOLDS]]


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda line: line.replace("feedback.shares", "feedback.nothing"), "no exhibit 'feedback.nothing'"),
        (lambda line: line.replace('"quick"', '"thorough!!"'), "must be those of a run"),
        (lambda line: line.replace('"seed": 0', '"seed": -1'), "must be those of a run"),
        (lambda line: f"{line}\n{line}", "line 2: feedback.shares is there twice"),
    ],
)
def test_a_forged_exhibit_is_refused(forge, said, tmp_path):
    from commbounds.verify.confront import versions
    from commbounds.verify.exhibit import Exhibit, Line, Panel

    line = Line("measured", [1.0, 2.0], [0.5, float("nan")])
    made = Exhibit("feedback.shares", "Shares", "of two", (Panel("a", "x", "y", (line,)),), versions=versions())
    path = tmp_path / "exhibits.jsonl"
    path.write_text(f"{made.to_json()}\n")
    assert len(load_exhibits(path)) == 1
    path.write_text(f"{forge(made.to_json())}\n")
    with pytest.raises(ValueError, match=said):
        load_exhibits(path)
