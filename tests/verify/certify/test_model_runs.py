"""Models at work: at runs of the implementation their conditions are met, and their goals hold."""

import re
from dataclasses import replace
from fractions import Fraction

import model_runs
import numpy as np
import pytest
import sympy as sp
from column_files import TESTS
from model_runs import Run, met_by, seen
from samples import first_of_each

from commbounds.theory.model import Goal, vectors
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


def test_every_model_was_seen_at_work():
    assert set(SEEN) <= set(PROVED)
    assert set(certify.models()) >= MARKED
    assert not {claim for claim in PROVED if claim not in SEEN or not SEEN[claim].runs}, "a model that no run meets"


CLAIM = next(claim for claim in PROVED if claim in SEEN and SEEN[claim].cases)
a, b, limit = sp.symbols("a b limit")
u, v = vectors("u v")
LARGER = Goal("larger", a - b, given={"room": a - b - limit}, positive={"limit": limit}, zero={"b": b - 1})
SQUARES = Goal("squares", (u - v) ** 2 - u**2 - v**2, equal=True, zero={"no product": u * v}, vectors=(u, v))


@pytest.fixture
def of(monkeypatch):
    """The goals that a run meets, of these."""

    def met(goals, values, roundings=0):
        monkeypatch.setattr(model_runs, "goals_of", lambda *_: goals)
        model_runs.names_of.cache_clear()
        return met_by(CLAIM, Run(values, roundings))

    yield met
    model_runs.names_of.cache_clear()


@pytest.mark.parametrize("broken", [{"a": 1}, {"b": 2}, {"limit": 0}])
def test_a_model_whose_conditions_no_run_meets_is_refused(of, broken):
    values = {"a": 3, "b": 1, "limit": 1}
    assert of((LARGER,), values) == ["larger"]
    with pytest.raises(AssertionError, match="meets no conditions"):
        of((LARGER,), {**values, **broken})


def test_a_goal_that_does_not_hold_at_a_run_is_refused(of):
    with pytest.raises(AssertionError, match="larger"):
        of((replace(LARGER, show=b - a),), {"a": 3, "b": 1, "limit": 1})


def test_a_run_that_says_nothing_of_a_goal_does_not_count(of):
    assert of((LARGER, SQUARES), {"a": 3, "b": 1}) == []


def test_inner_products_are_means_over_outcomes_and_workers(of):
    """(1, 0) and (0, 1) are orthogonal; of two outcomes, 1 and -1, the mean product with one vector is zero."""
    ones = np.array([Fraction(1), Fraction(2)], dtype=object)
    assert of((SQUARES,), {"u": np.array([1, 0]), "v": np.array([0, 1])}) == ["squares"]
    assert of((SQUARES,), {"u": ones[None], "v": np.array([ones, -ones])}) == ["squares"]
    with pytest.raises(AssertionError, match="no product"):
        of((SQUARES,), {"u": ones, "v": ones})


def test_roundings_count_by_what_is_added(of):
    """1 + 2^-52 - 1 is zero where numbers were rounded four times, and not where all is exact."""
    goals, values = (replace(LARGER, zero={"b": b - 1}),), {"a": 3.0, "b": 1 + 2.0**-52, "limit": 1.0}
    assert of(goals, values, 4) == ["larger"]
    for wrong, roundings in ((values, 0), ({**values, "b": 1.5}, 4)):
        with pytest.raises(AssertionError, match="meets no conditions"):
            of(goals, wrong, roundings)
