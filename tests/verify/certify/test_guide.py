"""What the guide to certificates shows, done as it says."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import sympy as sp

from commbounds.theory.model import Goal
from commbounds.verify import certify
from commbounds.verify.certify.checker import prove
from commbounds.verify.certify.finder import NotFoundError, proof_of

ROOT = Path(__file__).parents[3]
GUIDE, README = ((ROOT / name).read_text("utf-8") for name in ("docs/certificates.md", "README.md"))
_SPEC = spec_from_file_location("counts", ROOT / "docs" / "counts.py")
COUNTS = module_from_spec(_SPEC)
_SPEC.loader.exec_module(COUNTS)


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


def between(name):
    """What is generated under a name."""
    return re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", GUIDE, re.DOTALL)[1]


@pytest.mark.parametrize("name", ["grades", "sentence", "steps", "seen", "points"])
def test_the_guide_counts_what_there_is(name):
    assert between(name) == COUNTS.GENERATED[name](), "python docs/counts.py writes it"


def test_the_guide_and_the_readme_say_the_same_of_all():
    assert between("sentence") in README
    assert COUNTS.generated(GUIDE.replace(between("sentence"), "Many.")) == COUNTS.generated(GUIDE)


def test_what_is_trusted_is_counted_in_lines():
    def rows(text):
        return dict(re.findall(r"^\| (.*) \| ([0-9,]+) \|$", text, re.MULTILINE))

    said, found = rows(between("trusted")), rows(COUNTS.trusted_table())
    assert said.keys() == found.keys()
    for words, count in found.items():
        n, m = (int(number.replace(",", "")) for number in (said[words], count))
        assert abs(n - m) <= m / 20, words


def test_the_models_to_read_first_are_those_on_which_most_rests():
    page = (ROOT / "docs/reading-models.md").read_text("utf-8")
    assert COUNTS.generated(page) == page
    ranked = [count for count, _ in COUNTS.resting()]
    assert ranked == sorted(ranked, reverse=True)
    assert page.count("\n| `") == 30
