"""Spaces of cases: what a covering array holds, what is left out, what is drawn; and the spaces of all definitions."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commbounds.columns import columns, parts
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.family import FamilyStudy
from commbounds.verify.inputs import sampled_from
from commbounds.verify.space import RANKS, Of, Space, sizes

DEFINED = {
    name: definition
    for _, found in parts("verify.experiments", "definitions")
    for name, definition in found.DEFINITIONS.items()
}
TOY = Space(dict, {"P": RANKS, "n": sizes(16, 17), "rule": ("a", "b", "c"), "bits": (2, 4), "exact": (True, False)})


def test_every_pair_and_every_triple_with_P_is_there():
    rows = TOY.covering()
    for P, rule, bits in itertools.product(RANKS, "abc", (2, 4)):
        assert any((row["P"], row["rule"], row["bits"]) == (P, rule, bits) for row in rows)
    for n, exact in itertools.product((16, 17), (True, False)):
        assert any((row["n"], row["exact"]) == (n, exact) for row in rows)
    assert not list(TOY.missed())
    assert len(rows) < 9 * 8 * 3 * 2 * 2


def test_every_combination_of_chosen_axes_is_there():
    space = replace(TOY, combined=(("n", "rule", "bits", "exact"),))
    held = {(row["rule"], row["bits"], row["exact"]) for row in space.covering() if row["n"] == 17}
    assert held == set(itertools.product("abc", (2, 4), (True, False)))
    assert not list(space.missed())
    assert "every combination of n, rule, bits, exact" in space.words()


def test_rows_are_the_same_again_and_others_with_another_salt():
    again = Space(dict, TOY.axes)
    assert again.covering() == TOY.covering()
    assert again.covering(1) != TOY.covering()


def test_what_is_missed_is_named():
    class Short(Space):
        def _covering(self, salt):
            return [row for row in super()._covering(salt) if not (row["rule"] == "b" and row["P"] == 7)]

    missed = set(Short(dict, TOY.axes).missed())
    assert (("P", 7), ("rule", "b")) in missed
    assert (("P", 7), ("rule", "b"), ("bits", 4)) in missed


def test_what_is_left_out_is_not_run_and_said():
    space = TOY.without("two bits hold no b", lambda rule, bits: rule == "b" and bits == 2)
    assert all((row["rule"], row["bits"]) != ("b", 2) for row in space.covering())
    assert not list(space.missed())
    assert "two bits hold no b" in space.words()
    small = TOY.without("an entry a rank at least", lambda P, n: n < P)
    assert all(row["n"] >= row["P"] for row in small.covering())
    assert not list(small.missed())


def test_what_hides_others_covers_nothing_else():
    space = Space(dict, {**TOY.axes, "data": ("normal", "ties")}).hidden_by(data=("zeros",))
    space = space.including(space.at(P=2, n=5))
    telling = [row for row in space.covering() if row["data"] in ("normal", "ties")]
    for P, rule, bits in itertools.product(RANKS, "abc", (2, 4)):
        assert any((row["P"], row["rule"], row["bits"]) == (P, rule, bits) for row in telling)
    hidden = [row for row in space.covering() if row["data"] == "zeros"]
    assert {row["P"] for row in hidden} == set(RANKS)
    assert {row["rule"] for row in hidden} == set("abc")
    assert {row["bits"] for row in hidden} == {2, 4}
    assert sum((row["P"], row["n"]) == (2, 5) for row in space.covering()) == 1
    assert not list(space.missed())
    assert "data: zeros" in space.words()


def test_what_is_beside_hiding_values_alone_is_run_beside_values_that_tell():
    hiding = {"data": ("zeros", "sparse"), "p": (0.0, 1.0), "none": ("x",)}
    space = Space(dict, {**TOY.axes, "data": ("normal", "ties", "zeros", "sparse"), "p": (0.5, 0.0, 1.0)})
    rows = space.covering()
    more = list(space.telling(rows, hiding))
    told = [row for row in (*rows, *more) if row["data"] in ("normal", "ties") and row["p"] == 0.5]
    assert more
    for P, rule, bits in itertools.product(RANKS, "abc", (2, 4)):
        assert any((row["P"], row["rule"], row["bits"]) == (P, rule, bits) for row in told)
    assert all(row in told for row in more)
    assert not list(space.telling(told, hiding))
    assert not list(space.telling(rows, {"data": ("normal", "ties", "zeros", "sparse")}))
    out = space.without("zeros alone are with b", lambda rule, data: rule == "b" and data in ("normal", "ties"))
    assert all(row["rule"] != "b" for row in out.telling(out.covering(), hiding))


def test_values_are_taken_in_turn_where_any_would_do_but_those_that_hide():
    kinds = ("normal", "ties", "signs", "zeros", "sparse")
    axes = {"n": (1, 5, 17, 257), "data": kinds, "unseen": (1, 2, 3), "exact": (True, False)}
    space = Space(dict, {**TOY.axes, **axes}, options=("rule", "bits")).taking_last(unseen=(3,))
    assert not list(space.missed())
    rows = space.covering()
    for axis, values in {"data": kinds[:3], "n": (1, 5, 17), "unseen": (1, 2)}.items():
        counts = [sum(row[axis] == v for row in rows) for v in values]
        assert max(counts) <= 1.3 * min(counts)
    hiding = [sum(row["data"] == kind for row in rows) for kind in kinds[3:]]
    further = [sum(row[axis] == v for row in rows) for axis, v in (("n", 257), ("unseen", 3), ("exact", False))]
    # beside every P, and no more than asked for
    assert all(len(RANKS) <= count < len(rows) / 4 for count in (*hiding, *further))


def test_a_further_period_is_beside_every_number_of_ranks_in_the_longest_run():
    axes = {"P": RANKS, "rounds": (3, 11), "period": (1, 2, 3), "rule": ("a", "b")}
    space = Space(dict, axes, periods=("period",)).hidden_by(period=(4, 5))
    for period in (4, 5):
        assert {row["P"] for row in space.covering() if (row["period"], row["rounds"]) == (period, 11)} == set(RANKS)


def test_values_that_follow_from_others_are_worked_out():
    space = Space(dict, {"n": (1, 5), "k": (1, Of("n", lambda n: n))})
    assert sorted((row["n"], row["k"]) for row in space.covering()) == [(1, 1), (5, 1), (5, 5)]
    with pytest.raises(ValueError, match="asks for n, which is no axis"):
        Space(dict, {"k": (Of("n", lambda n: n),)})
    with pytest.raises(ValueError, match="the axis P has no values"):
        Space(dict, {"P": ()})


def test_simpler_settings_are_earlier_values_of_one_axis():
    found = list(TOY.simpler({"P": 2, "n": 1, "rule": "b", "bits": 2, "exact": True, "seed": 3}))
    assert [(row["P"], row["rule"]) for row in found] == [(1, "b"), (2, "a")]


def test_values_that_follow_from_a_changed_one_follow_it():
    """Nothing is left with more entries kept than there are."""
    space = Space(
        dict, {"n": (1, 2, 5), "kept": (1, Of("n", lambda n: n)), "all": (Of("k = n", lambda n, kept: n == kept),)}
    )
    row = {"n": 5, "kept": 5, "all": True, "seed": 0}
    assert list(space.simpler(row)) == [
        {"n": 1, "kept": 1, "all": True, "seed": 0},
        {"n": 2, "kept": 2, "all": True, "seed": 0},
        {"n": 5, "kept": 1, "all": False, "seed": 0},
    ]
    rng = np.random.default_rng(0)
    for _ in range(30):
        row = space.neighbour(rng, row)
        assert row["kept"] in (1, row["n"])
        assert row["all"] == (row["kept"] == row["n"])


def test_a_period_that_does_not_come_round_twice_is_named():
    space = Space(dict, {"rounds": (1, 3), "tau": (1, 2)}, periods=("tau",))
    assert list(space.periods_missed()) == [("tau", 2)]
    assert not list(Space(dict, {"rounds": (1, 5), "tau": (1, 2)}, periods=("tau",)).periods_missed())


@given(st.data())
@settings(suppress_health_check=[HealthCheck.filter_too_much])
def test_what_is_drawn_is_of_the_space(data):
    space = TOY.without("seven ranks", lambda P: P == 7).search(n=(1, 60), bits=(2, 4, 8))
    row = data.draw(space.drawn())
    assert row["P"] in RANKS
    assert row["P"] != 7
    assert 1 <= row["n"] <= 60
    assert row["bits"] in (2, 4, 8)
    assert data.draw(sampled_from((1, 2))) in (1, 2)


def test_neighbours_are_of_the_space():
    space, rng = TOY.without("seven ranks", lambda P: P == 7), np.random.default_rng(1)
    row = space.covering()[0]
    for _ in range(50):
        row = space.neighbour(rng, row)
        assert space.excluded(row) is None


# --- those of the definitions, and of families of claims ---------------------------------------------------------


@pytest.mark.parametrize("name", DEFINED)
def test_the_space_of_a_definition_covers_what_it_must(name):
    _covers_what_it_must(DEFINED[name].space)


@pytest.mark.parametrize("column", columns())
def test_the_spaces_of_families_cover_what_they_must(column):
    studies = [EXPERIMENTS[name] for name in EXPERIMENTS if name.startswith(f"{column}.")]
    for space in {study.family.space for study in studies if isinstance(study, FamilyStudy)}:
        _covers_what_it_must(space)


def _covers_what_it_must(space):
    assert not list(itertools.islice(space.missed(), 3))
    assert not list(space.periods_missed())
    ranks = set(space.axes.get("P", RANKS))
    assert ranks >= set(RANKS) or any("P" in out.needs for out in space.left_out), "P from 1 to 9, or a reason"
    rounds = [value for value in space.axes.get("rounds", ()) if value is not None]
    assert len(rounds) < 2 or max(rounds) >= 3 or any("rounds" in out.needs for out in space.left_out), "or a reason"
    for out in space.left_out:
        assert len(out.reason.split()) >= 3
