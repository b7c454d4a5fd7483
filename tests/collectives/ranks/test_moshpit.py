"""Averages in groups rank by rank: the bits and the traffic of one process; bad input is refused on all ranks."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from rank_refusals import differences_with, refused_by_all, remembered
from samples import each_once

from commbounds import collectives
from commbounds.collectives import initial_keys
from commbounds.collectives.moshpit.group_average import combined_in_groups
from commbounds.collectives.moshpit.sgd import moshpit_sgd_on_rank as moshpit_sgd
from commbounds.collectives.ranks import LockstepWorld, ThreadWorld, parcel
from commbounds.verify.experiments.moshpit.pairings import PAIRINGS
from commbounds.verify.pairing import compared

pytestmark = pytest.mark.kernels
group_average, grid_average, moshpit = (
    collective.on_rank for collective in (collectives.group_average, collectives.grid_average, collectives.moshpit)
)
random_groups, regrouping = collectives.random_groups.on_rank, collectives.regrouping.on_rank
allreduce_with_restarts = collectives.allreduce_with_restarts.on_rank
# there are functions of these names too
GROUPS, MOSHPIT = (import_module(f"commbounds.collectives.moshpit.{name}") for name in ("group_average", "allreduce"))
BY_NAME = {pairing.name: pairing for pairing in PAIRINGS}
EVERY = pytest.mark.parametrize("pairing", PAIRINGS, ids=lambda p: p.name)
CELLS = [[0, 0], [0, 1], [1, 0]]
TWINS = {
    "group_average": lambda comm, x: group_average(comm, x, [0, 0, 0]),
    "grid_average": lambda comm, x: grid_average(comm, x, CELLS, 2, 2),
    "moshpit": lambda comm, x: moshpit(comm, x, initial_keys(3, 2, 2), 2, 2, slots="rank"),
    "random_groups": lambda comm, x: random_groups(comm, x, 2, 2, np.random.default_rng(0)),
    "regrouping": lambda comm, x: regrouping(comm, x, 2, 2, np.random.default_rng(0)),
    "moshpit_sgd": lambda comm, x: moshpit_sgd(comm, x, lambda y: y, 0.5, np.zeros((1, 4)), 1, [[[0, 0, 0]]]),
    "restarts": lambda comm, x: allreduce_with_restarts(comm, x),
}


@pytest.mark.parametrize(("pairing", "P"), each_once(PAIRINGS, [3, 4, 5, 2, 8, 9, 1], lambda p: p.name))
def test_bits_and_traffic_are_those_of_one_process(pairing, P):
    found = compared(pairing, P, ThreadWorld())
    assert len(found) >= 4
    assert [agreement for agreement in found if agreement.difference] == []


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        (np.array([1.0, np.nan, 0.0, 2.0]), ValueError, "(vector|point) must be finite"),
        (np.array([1, 2, 3, 4]), TypeError, "must be float32 or float64, got int64"),
        (np.ones(5), (TypeError, ValueError), "one length and dtype on all ranks|noise must have shape"),
        (np.ones(4, np.float32), TypeError, "must have one length and dtype on all ranks"),
        (np.ones((4, 1)), ValueError, r"must be \(n,\)"),
    ],
)
def test_a_bad_vector_on_one_rank_is_refused_on_all(name, bad, vector, error, message):
    refused_by_all(lambda comm: TWINS[name](comm, vector if comm.rank == bad else np.ones(4)), error, message)


def test_what_all_must_know_must_be_the_same():
    one = np.ones(4)
    refused_by_all(lambda c: group_average(c, one, [0, 0, c.rank]), ValueError, "groups must be the same on all ranks")
    refused_by_all(
        lambda c: group_average(c, one, [0] * 3, receives=[c.rank != 1] * 3), ValueError, "receives must be the same"
    )
    for program in (
        lambda c: moshpit(c, one, initial_keys(3, 2, 2), 2, 3, np.random.default_rng(c.rank)),
        lambda c: random_groups(c, one, 2, 3, np.random.default_rng(c.rank)),
        lambda c: regrouping(c, one, 1, 3, np.random.default_rng(c.rank)),
        lambda c: grid_average(c, one, CELLS, 2, 2, start=c.rank),
    ):
        refused_by_all(program, ValueError, "who meets whom must be the same on all ranks")
    refused_by_all(
        lambda c: grid_average(c, one, CELLS, 2, 1 + c.rank), ValueError, "rounds must be the same on all ranks"
    )
    refused_by_all(
        lambda c: allreduce_with_restarts(c, one, 1.0, 2 + c.rank), ValueError, "number of attempts must be the same"
    )
    refused_by_all(
        lambda c: moshpit_sgd(c, one, np.negative, 0.5, np.zeros((c.rank, 4)), 5), ValueError, "steps must be the same"
    )


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (lambda c: group_average(c, np.ones(2), [0, 0]), ValueError, r"groups must have shape \(3,\)"),
        (lambda c: group_average(c, np.ones(2), [0.0, 0, 0] if c.rank else [0] * 3), TypeError, "groups must be int"),
        (lambda c: grid_average(c, np.ones(2), [[0], [0], [1]], 2, 1), ValueError, "cells must differ"),
        (lambda c: moshpit(c, np.ones(2), initial_keys(3, 2, 2), 2, 1), TypeError, "rng must be a numpy Generator"),
        (lambda c: moshpit(c, np.ones(2), [[0], [2], [0]], 2, 1), ValueError, "digits of keys"),
        (lambda c: moshpit(c, np.ones(2), [[0]] * 3, 2, 1, rule="wait", slots="rank"), ValueError, "rule must be"),
        (lambda c: random_groups(c, np.ones(2), 4), ValueError, r"r must be in \[1, 3\], got 4"),
        (lambda c: random_groups(c, np.ones(2), 2, reading="slots"), ValueError, "reading must not be 'slots'"),
        (lambda c: regrouping(c, np.ones(2), 2, orders=[[0, 1]]), ValueError, "orders of a round"),
        (lambda c: allreduce_with_restarts(c, np.ones(2), 2.0), ValueError, "p must be a probability"),
        (lambda c: moshpit_sgd(c, np.ones(2), np.negative, 0.0, np.zeros((1, 2))), ValueError, "gamma must be pos"),
        (lambda c: moshpit_sgd(c, np.ones(2), np.negative, 1.0, np.zeros((1, 3, 2))), ValueError, "noise must have"),
        (lambda c: moshpit_sgd(c, np.ones(2), np.negative, 1.0, np.zeros((1, 2))), ValueError, "groups must hold one"),
    ],
)
def test_bad_settings_are_refused_on_all_ranks(program, error, message):
    refused_by_all(program, error, message)


def test_a_mean_that_fits_is_found_on_all_ranks_where_its_sum_overflows():
    cells = [[0, 0], [0, 1], [1, 0]]
    large = [np.full(3, 1.7e308), np.full(3, 1.7e308), np.ones(3)]

    def program(comm):
        with np.errstate(over="ignore"):  # without the JIT, numpy warns as well, in the thread that adds
            return grid_average(comm, large[comm.rank], cells, 2, 2, start=1)

    with np.errstate(over="ignore"):
        together, _ = collectives.grid_average(np.stack(large), cells, 2, 2, start=1)
    apart, _ = ThreadWorld().run(program, 3)
    assert np.isfinite(together).all()
    assert [row.tobytes() for row in apart] == [row.tobytes() for row in together]


@EVERY
def test_a_word_too_many_is_found(pairing):
    def chatty(comm, case):
        outcome = pairing.program(comm, case)
        comm.step({(comm.rank + 1) % 4: parcel(np.zeros(1))}, [(comm.rank - 1) % 4])
        return outcome

    assert all("traffic" in difference for difference in differences_with(pairing, chatty))


@EVERY
def test_members_added_up_the_other_way_round_are_found(pairing, monkeypatch):
    if pairing.name == "group_trials":
        pytest.skip("its numbers are chosen so that all sums are exact: no order shows")

    def backwards(rows):
        total = np.zeros(rows.shape[1])
        for row in rows[::-1]:
            total += row
        return (total / len(rows)).astype(rows.dtype)

    monkeypatch.setattr(GROUPS, "_mean", backwards)
    assert any(difference.startswith("rank") for difference in differences_with(pairing, pairing.program, 9))


def test_a_sum_in_the_dtype_of_the_vector_is_found(monkeypatch):
    monkeypatch.setattr(GROUPS, "_mean", lambda rows: rows.mean(axis=0))
    pairing = BY_NAME["group_average"]
    assert any("result" in difference for difference in differences_with(pairing, pairing.program))


def test_whole_vectors_to_all_members_are_found(monkeypatch):
    """The right mean by the wrong messages: one step, in which everybody tells everybody everything."""

    def told_everything(comm, own, labels, gets, combine):
        members = np.flatnonzero(labels == labels[comm.rank]).tolist() if labels[comm.rank] >= 0 else [comm.rank]
        others = [peer for peer in members if peer != comm.rank]
        arrived = comm.step({peer: parcel(own) for peer in others}, others)
        rows = [own if peer == comm.rank else arrived[peer].arrays[0] for peer in members]
        return combine(np.stack(rows)) if gets[comm.rank] and others else own

    monkeypatch.setattr(GROUPS, "combined_in_groups", told_everything)
    pairing = BY_NAME["grid_average"]
    assert any(difference.startswith("traffic") for difference in differences_with(pairing, pairing.program))


def test_a_rank_that_only_gives_but_takes_is_found(monkeypatch):
    def greedy(comm, own, labels, gets, combine):
        return combined_in_groups(comm, own, labels, np.ones_like(gets), combine)

    monkeypatch.setattr(GROUPS, "combined_in_groups", greedy)
    pairing = BY_NAME["group_average"]
    assert any(difference.startswith("rank") for difference in differences_with(pairing, pairing.program))


def test_failed_members_that_take_part_are_found(monkeypatch):
    from commbounds.collectives.moshpit.allreduce import meetings

    def all_there(*arguments, alive, **options):
        return meetings(*arguments, alive=None, **options)

    pairing = remembered(BY_NAME["moshpit"], [4])
    monkeypatch.setattr(MOSHPIT, "meetings", all_there)
    found = [agreement for agreement in compared(pairing, 4, LockstepWorld()) if agreement.difference]
    assert found
    assert not any("alive=None" in agreement.case for agreement in found)


def test_another_step_size_is_found():
    pairing = BY_NAME["moshpit_sgd"]

    def shorter(comm, case):
        return pairing.program(comm, replace(case, settings={**case.settings, "gamma": 0.5 * case.settings["gamma"]}))

    assert any("points" in difference for difference in differences_with(pairing, shorter))


def test_descents_have_one_caller_or_several():
    rng = np.random.default_rng(1)
    points, noise = rng.standard_normal((3, 2)), rng.standard_normal((4, 3, 2))

    def program(comm):
        mine, groups = noise[:, comm.rank], [[np.zeros(3, int)]] * 2
        return moshpit_sgd(comm, points[comm.rank], lambda x: x, 0.125, mine, 2, groups).points

    one, several = (LockstepWorld(one_caller=one).run(program, 3)[0] for one in (True, False))
    assert np.array_equal(one, several)
