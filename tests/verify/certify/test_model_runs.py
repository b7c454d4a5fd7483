"""Models at work: at runs of the implementation their conditions are met, and their goals hold."""

import re
from dataclasses import replace

import model_runs
import pytest
from column_files import TESTS
from model_runs import Run, met_by, seen
from samples import first_of_each

from commbounds import theory
from commbounds.verify import certify

PROVED = [name for name in certify.files() if name not in certify.refutations()]
SEEN = certify.seen()
MARKED = set()
for file in TESTS.glob("verify/certify/test_*_models.py"):
    for names in re.findall(r"pytest\.mark\.models\(([^)]*)\)", file.read_text("utf-8")):
        MARKED |= set(re.findall(r'"([^"]+)"', names))


@pytest.mark.parametrize(
    "claim", first_of_each([c for c in PROVED if c in SEEN and SEEN[c].cases], lambda claim: claim.partition(".")[0])
)
def test_conditions_hold_at_runs(claim):
    cases, goals = seen(claim)
    assert cases == SEEN[claim].cases, "count again: python tests/model_runs.py COLUMN"
    assert len(goals) <= SEEN[claim].goals <= SEEN[claim].of == len(model_runs.wanted(claim))


def test_every_model_was_seen_at_work_or_is_tied_by_a_test():
    assert set(SEEN) <= set(PROVED)
    assert set(certify.models()) >= MARKED
    not_seen = {claim for claim in PROVED if claim not in SEEN or not SEEN[claim].runs}
    assert not_seen <= MARKED | set(theory.claims()), "a model that no run meets"


CLAIM = "variance_reduced.clag.error"


def changed(monkeypatch, **fields):
    """Every goal of a model with other conditions, or another thing to show."""
    goals = tuple(replace(goal, **{k: v(goal) for k, v in fields.items()}) for goal in model_runs.goals_of(CLAIM))
    monkeypatch.setattr(model_runs, "goals_of", lambda *_: goals)


def test_a_model_whose_conditions_no_run_meets_is_refused(monkeypatch):
    assert seen(CLAIM)[0] >= model_runs.CASES
    changed(monkeypatch, given=lambda goal: {name: -1 - e for name, e in goal.given.items()})
    with pytest.raises(AssertionError, match="meets no conditions"):
        seen(CLAIM)


def test_a_goal_that_does_not_hold_at_a_run_is_refused(monkeypatch):
    changed(monkeypatch, show=lambda goal: -1 - goal.show)
    with pytest.raises(AssertionError, match="who"):
        seen(CLAIM)


def test_roundings_count_by_what_is_added():
    """1 - 1 is zero where either may be off by a rounding; 2 - 1 is not, and nothing is where all is exact."""
    claim = "variance_reduced.zeroone.nothing_lost"
    values = {"root": 1.0, "moved": 1.0, "sent": 1.0, "left": 2.0**-52, "e": 0.0}
    assert met_by(claim, Run(values, 4)) == ["an entry"]
    for broken in (Run(values), Run({**values, "left": 0.5}, 4)):
        with pytest.raises(AssertionError, match="meets no conditions"):
            met_by(claim, broken)
