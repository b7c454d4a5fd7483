"""`Family`: where the cases of its studies come from, what its functions are given, and what rounding it allows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from commbounds.verify.experiment import budgets
from commbounds.verify.family import Family, Rounded, asked, rounded_square
from commbounds.verify.inputs import integers
from commbounds.verify.space import Of, Space, nothing
from commbounds.verify.study import Outcome, Unmeasured

QUICK = budgets["quick"]
SPACE = Space(
    lambda P, n, seed: np.full((P, n), float(seed + 1)),
    {"P": (1, 2, 3), "n": (2, 1, 4), "rule": ("a", "b"), "exact": (Of("P below 3", lambda P: P < 3),)},
)


def family(**more):
    calls = []
    made = Family(
        "toy",
        "ring",
        SPACE,
        facts=lambda P, n, x: calls.append("facts") or {"entries": P * n, "largest": x.max()},
        run=lambda implementation, entries, rule: calls.append("run") or implementation * entries,
        **more,
    )
    return made, calls


def test_rows_of_the_space_are_the_grid_and_the_corpus():
    made, _ = family()
    (study,) = made.studies(lambda found: found, "claim")
    grid, corpus = list(study.grid(0)), list(study.corpus(QUICK))
    assert {case.settings["P"] for case in grid} == {1, 2}
    assert {case.settings["P"] for case in corpus} == {3}
    assert [case.settings for case in (*grid, *corpus)] == sorted(
        SPACE.covering(), key=lambda row: (row["P"] == 3, row["seed"])
    )
    assert all(case.x.shape == (case.settings["P"], case.settings["n"]) for case in grid)
    assert study.parameters == {"space": SPACE.words()}
    assert len(list(study.grid(1))) == 3 * len(grid)


def test_a_source_without_rows_is_none():
    inexact = Family("toy", "ring", Space(nothing, {"P": (1, 2)}), exact=False)
    (study,) = inexact.studies(lambda P: P, "claim")
    assert study.grid is None
    assert [case.x for case in study.corpus(QUICK)] == [None, None]
    (study,) = Family("toy", "ring", Space(nothing, {"P": (1, 2)}), searched=False).studies(lambda P: P, "claim")
    assert (study.corpus, study.cases) == (None, None)


def test_studies_of_a_family_share_cases_facts_and_runs():
    made, calls = family()
    first, second = (
        *made.studies(lambda found: found, "one"),
        *made.studies(lambda found, largest: Rounded(found * largest, 0.5), "other"),
    )
    assert first.grid == second.grid
    case = next(first.grid(0))
    outcome = first.trial(7, case)
    assert outcome == Outcome(14, {**case.settings, "entries": 2, "largest": 1.0})
    assert second.trial(7, case).slack == 0.5
    assert second.facts(7, case)["entries"] == 2
    assert sorted(calls) == ["facts", "run"]
    assert first.trial(8, case).measured == 16


def test_a_measure_may_add_values_or_say_that_it_cannot():
    made, _ = family()
    (more,) = made.studies(lambda P: Outcome(P, {"P": 9}, 0.1), "claim")
    (none,) = made.studies(lambda: Unmeasured("no instrument"), "claim")
    case = next(made.grid(0))
    assert more.trial(None, case).values == {**case.settings, "entries": 2, "largest": 1.0, "P": 9}
    assert none.trial(None, case) == Unmeasured("no instrument")


def test_rows_by_hand_are_run_once_and_can_be_asked_for():
    rows = SPACE.every(P=(1, 2), rule=["b"], n=[Of("5 P", lambda P: 5 * P)])
    assert [(row["P"], row["n"]) for row in rows] == [(1, 5), (2, 10)]
    made = Family("toy", "ring", SPACE.including(*rows))
    assert [case.settings["n"] for case in made.of(rows)(QUICK)] == [5, 10]
    assert sum(case.settings["n"] in (5, 10) for case in made.grid(1)) == 2
    assert "and 2 rows by hand" in made.space.words()
    more = SPACE.including(*rows).replaced(rounds=(3, 1))
    assert [(row["n"], row["rounds"]) for row in more.included] == [(5, 3), (10, 3)]
    with pytest.raises(ValueError, match="Q is no axis of the space, which has P, n"):
        made.every(Q=(1,))


def test_values_of_a_combination_may_follow_from_others_and_from_the_level():
    rows = SPACE.every(P=(1, 3), n=lambda P, level: range(1, P + 1 + level))
    assert [(row["P"], row["n"]) for row in rows] == [(1, 1), (3, 1), (3, 2), (3, 3)]
    made = Family("toy", "ring", SPACE)
    source = made.every(P=(1, 3), n=lambda P, level: range(1, P + 1 + level))
    assert [case.settings["n"] for case in source(0)] == [1, 1, 2, 3]
    assert [case.settings["n"] for case in source(1)] == [1, 2, 1, 2, 3, 4]
    assert [case.settings["n"] for case in source(budgets["standard"])] == [1, 2, 1, 2, 3, 4]


def test_studies_with_cases_of_their_own_say_nothing_of_the_space_and_are_not_simplified():
    made = Family("toy", "ring", SPACE, searched=False)
    (study,) = made.studies(lambda P: P, "claim", grid=made.every(P=(1, 2)), corpus=None, enumerated="two")
    (usual,) = made.studies(lambda P: P, "claim", corpus=made.every(P=(1, 2)))
    assert (study.parameters, study.corpus) == ({}, None)
    assert usual.parameters == {"space": SPACE.words()}
    case = made.case(SPACE.at(P=2))
    assert list(study.simpler(case)) == []
    assert list(usual.simpler(case)) != []


def test_curves_are_over_an_axis_or_over_what_follows_from_one():
    made, _ = family()
    curve = made.over("entries", (1, 4), by="n", P=2, seed=3)
    assert (curve.axis, curve.label) == ("entries", "P = 2")
    assert [next(iter(cases)).settings["n"] for _, cases in curve.at(0)] == [1, 4]
    assert next(iter(curve.at(0)))[1][0].settings["seed"] == 3


def test_cases_are_simplified_by_values_that_come_earlier():
    made, _ = family()
    (study,) = made.studies(lambda P: P, "claim")
    simpler = [case.settings for case in study.simpler(made.case(SPACE.at(P=2, n=4, rule="b")))]
    assert {"P": 1, "n": 4, "rule": "b", "exact": True, "seed": 0} in simpler


def test_a_function_that_asks_for_what_is_not_known_is_an_error():
    with pytest.raises(KeyError, match="m"):
        asked(lambda m: m, {"n": 1})


@given(integers(0, 2**20), integers(1, 40), integers(1, 30))
def test_the_rounding_of_a_square_is_within_its_allowance(seed, n, terms):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((terms, n)) * 10.0 ** rng.integers(-3, 4, (terms, 1))
    mean, exactly = rows.sum(axis=0) / terms, [sum(map(Fraction, column)) / terms for column in rows.T.tolist()]
    measured = rounded_square(float(mean @ mean), terms + n + 2, float(np.sqrt((rows**2).sum())))
    assert abs(Fraction(measured.value) - sum(v * v for v in exactly)) <= Fraction(measured.slack)
    assert rounded_square(Fraction(1, 3), 0, 1.0) == Rounded(Fraction(1, 3), 0.0)
    assert measured.slack < 1e-9 * (1 + (rows**2).sum())
