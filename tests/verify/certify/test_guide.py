"""What the guide to certificates shows, done as it says."""

import re
from pathlib import Path

import pytest
import sympy as sp

from commbounds.theory.model import Goal
from commbounds.verify import certify
from commbounds.verify.certify.checker import prove
from commbounds.verify.certify.finder import NotFoundError, proof_of

GUIDE = (Path(__file__).parents[3] / "docs" / "certificates.md").read_text("utf-8")


def block(language):
    (found,) = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    return found


def goal_of(source):
    names = {}
    exec(compile(source, "docs/certificates.md", "exec"), names)
    (model,) = names["MODELS"].values()
    (goal,) = model.goals_at(sp.Integer(1), {}).values()
    assert isinstance(goal, Goal)
    return goal


def test_the_example_of_a_file_is_the_file():
    shown = certify.from_json(block("json"))
    assert shown == certify.load(shown.claim)


def test_the_example_of_a_model_is_proved_as_told():
    goal = goal_of(block("python"))
    proof, _ = proof_of(goal)
    assert proof == {"clear": {"there are entries": 1}, "terms": [["1", {"something is kept": 1}]]}
    wrong = goal_of(block("python").replace('kept": kept', 'kept": -kept'))
    with pytest.raises(certify.CertificateError):
        prove(wrong, proof)
    with pytest.raises(NotFoundError):
        proof_of(wrong, degree=2)


def test_the_row_of_the_table_is_the_one_that_is_worked_out():
    (proof,) = (p for p in certify.load("feedback.ef21.rate_share").proofs if (p["at"], p["goal"]) == (9, "rate"))
    shown = " ".join(GUIDE.split())
    for coefficient, *_ in proof["terms"]:
        assert f"{coefficient} (" in shown or f"{coefficient} ||" in shown


def lines(*patterns):
    root = Path(__file__).parents[3]
    return sum(len(path.read_text("utf-8").splitlines()) for pattern in patterns for path in root.glob(pattern))


def test_the_guide_counts_what_there_is():
    files, points = certify.files(), certify.refutations()
    proofs = len(files) - len(points)
    assert f"There are {len(files)} certificates:\n{proofs} proofs and {len(points)} counterexamples." in GUIDE
    rows = dict(re.findall(r"^\| (.*) \| ([0-9, and]+) \|$", GUIDE, re.MULTILINE))
    for words, counted in rows.items():
        said = [int(number.replace(",", "")) for number in counted.split(" and ")]
        if words.startswith("the models"):
            found = [lines("theory/*/models*.py"), lines("theory/*/refutations*.py")]
        else:
            names = re.findall(r"`([a-z]+)\.py`", words)
            found = [lines(*(f"verify/certify/{name}.py" for name in names if name != "model"))]
            found[0] += lines("theory/model.py") if "theory/model.py" in words else 0
        for n, m in zip(said, found, strict=True):
            assert abs(n - m) <= m / 20, (words, n, m)
    assert len(rows) == 4
