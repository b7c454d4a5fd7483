"""Sparse all-reduces rank by rank: the bits and the traffic of one process; bad input is refused on all ranks."""

from dataclasses import replace
from importlib import import_module
from itertools import chain

import numpy as np
import pytest
from rank_refusals import remembered
from samples import each_once

from commbounds import collectives
from commbounds.collectives.ranks import LockstepWorld, Parcel, ThreadWorld, parcel
from commbounds.collectives.ranks._team import Team
from commbounds.collectives.ranks.lockstep import in_one_process
from commbounds.collectives.sparse.entries import Entries, added
from commbounds.collectives.sparse.gaussiank import gaussiank_allreduce
from commbounds.collectives.sparse.gtopk import gtopk_allreduce
from commbounds.collectives.sparse.spardl import spardl_allreduce
from commbounds.collectives.sparse.topk_allgather import topk_allgather
from commbounds.collectives.sparse.topk_dsa import topk_dsa
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
TWINS = {
    "topk_allgather": topk_allgather.on_rank,
    "topk_dsa": topk_dsa.on_rank,
    "gtopk_allreduce": gtopk_allreduce.on_rank,
    "gaussiank_allreduce": gaussiank_allreduce.on_rank,
    "spardl_allreduce": spardl_allreduce.on_rank,
}
COLUMN = "commbounds.collectives.sparse."
EACH = pytest.mark.parametrize("name", TWINS)
PAIRED = PAIRINGS.of_column("sparse")


def refused(program, P=3):
    """What all ranks say when they refuse it."""

    def said(comm):
        with pytest.raises((TypeError, ValueError)) as caught:
            program(comm)
        return f"{caught.type.__name__}: {caught.value}"

    (words,) = set(ThreadWorld().run(said, P)[0])
    return words


def differences(name, defects, ranks=(2, 3, 4)):
    """What is said to differ where the program has the defects, and one process has not."""
    every = replace(PAIRED[name], cases=lambda P: chain(PAIRED[name].cases(P), PAIRED[name].rows(P)))
    right = remembered(every, ranks)
    with pytest.MonkeyPatch.context() as patch:
        for module, attribute, value in defects:
            patch.setattr(import_module(COLUMN + module), attribute, value)
        return [a for P in ranks for a in compared(right, P, LockstepWorld()) if a.difference]


@pytest.mark.parametrize(("name", "P"), each_once(PAIRED, [3, 4, 5, 6, 2, 8, 1]))
def test_bits_and_traffic_are_those_of_one_process(name, P):
    found = compared(PAIRED[name], P, ThreadWorld())
    assert len(found) >= 10
    assert [agreement for agreement in found if agreement.difference] == []


@EACH
def test_the_input_stays_as_it_was(name):
    for case in PAIRED[name].cases(3):
        frozen = case.stack.copy()
        frozen.flags.writeable = False
        ThreadWorld().run(lambda comm, given=frozen, k=case.settings["k"]: TWINS[name](comm, given[comm.rank], k), 3)
        assert frozen.tobytes() == case.stack.tobytes()


@EACH
def test_sums_that_overflow_are_those_of_one_process(name):
    stack = np.full((4, 4), 3e38, np.float32) * np.array([[-1], [-1], [1], [-1]], np.float32)

    def program(comm):
        with np.errstate(over="ignore", invalid="ignore"):
            return TWINS[name](comm, stack[comm.rank], 4)

    results, _ = ThreadWorld().run(program, 4)
    with np.errstate(over="ignore", invalid="ignore"):
        whole, _ = collectives.COLLECTIVES[name](stack, 4)
    assert not np.isfinite(whole.update).all()
    for p, result in enumerate(results):
        assert np.array_equal(result.update, whole.update, equal_nan=True)
        assert np.array_equal(result.residual, whole.residual[p], equal_nan=True)


# --- bad input on one rank only --------------------------------------------------------------------------------------

GOOD = np.arange(1.0, 9.0)
BAD_VECTORS = {
    "NaN": (np.where(GOOD == 3, np.nan, GOOD), "ValueError: vector must be finite, got NaN or infinity"),
    "infinity": (np.where(GOOD == 3, np.inf, GOOD), "ValueError: vector must be finite, got NaN or infinity"),
    "half": (GOOD.astype(np.float16), "TypeError: vector must be float32 or float64, got float16: convert it first"),
    "integers": (GOOD.astype(int), "TypeError: vector must be float32 or float64, got int64: convert it first"),
    "other dtype": (
        GOOD.astype(np.float32),
        "TypeError: vector must have one length and dtype on all ranks, got (8,) float64, (8,) float32, (8,) float64",
    ),
    "other length": (
        GOOD[:5],
        "TypeError: vector must have one length and dtype on all ranks, got (8,) float64, (5,) float64, (8,) float64",
    ),
    "matrix": (GOOD[np.newaxis], "ValueError: vector must be (n,), the entries of one rank, got shape (1, 8)"),
    "empty": (GOOD[:0], "ValueError: vector must have at least one rank and one entry, got shape (1, 0)"),
}


@pytest.mark.parametrize("bad", BAD_VECTORS)
@EACH
def test_a_bad_vector_of_one_rank_is_refused_on_all(name, bad):
    vector, words = BAD_VECTORS[bad]
    assert refused(lambda comm: TWINS[name](comm, vector if comm.rank == 1 else GOOD, 2)).startswith(words)


@EACH
def test_the_lowest_of_several_bad_ranks_is_heard(name):
    vectors = [GOOD, GOOD.astype(int), np.full(8, np.nan)]
    assert "int64" in refused(lambda comm: TWINS[name](comm, vectors[comm.rank], 2))


@EACH
def test_all_ranks_ask_for_the_same(name):
    assert refused(lambda comm: TWINS[name](comm, GOOD, 2 + (comm.rank == 2))) == (
        "ValueError: k must be the same on all ranks, got 2, 2, 3"
    )
    assert refused(lambda comm: TWINS[name](comm, GOOD, 9 if comm.rank else 2)) == (
        "ValueError: k must be in [1, 8], got 9"
    )


OPTIONS = {
    "topk_allgather": ("allgather", "ring", "bruck"),
    "topk_dsa": ("switch", "code", "never"),
    "gtopk_allreduce": ("putback", "published", "conserving"),
    "gaussiank_allreduce": ("adapt", "vgg", "lstm"),
    "spardl_allreduce": ("synchronise", "b-sag", "r-sag"),
}


@EACH
def test_an_option_that_differs_or_does_not_exist_is_refused_on_all(name):
    option, one, other = OPTIONS[name]
    words = refused(lambda comm: TWINS[name](comm, GOOD, 2, **{option: other if comm.rank else one}))
    assert words == f"ValueError: {option} must be the same on all ranks, got {one!r}, {other!r}, {other!r}"
    assert "must be" in refused(lambda comm: TWINS[name](comm, GOOD, 2, **{option: "none such"}))


def test_teams_must_divide_the_ranks():
    words = refused(lambda comm: spardl_allreduce.on_rank(comm, GOOD, 4, teams=2 if comm.rank == 2 else 1))
    assert words == "ValueError: teams must divide the number of ranks, 3, got 2"


# --- teams -----------------------------------------------------------------------------------------------------------


def test_a_team_counts_its_members_and_hears_them():
    def program(comm):
        team = Team(comm, range(comm.rank % 2, 5 - comm.rank % 2, 2)[:2] if comm.rank < 4 else [4])
        team.phase("in teams")
        here = (team.rank, team.size, team.allgather_object(comm.rank))
        target = (team.rank + 1) % team.size
        if team.size == 1:
            team.step()
            return (*here, None)
        arrived = team.step({target: parcel(np.array([comm.rank]))}, [target])
        return (*here, int(arrived[target].arrays[0][0]))

    results, traffic = ThreadWorld().run(program, 5)
    assert results == [(0, 2, [0, 2], 2), (0, 2, [1, 3], 3), (1, 2, [0, 2], 0), (1, 2, [1, 3], 1), (0, 1, [4], None)]
    assert traffic.phases["in teams"].sent.tolist() == [1, 1, 1, 1, 0]


def test_a_team_of_one_caller_computes_once_for_its_members():
    made = []

    def program(comm):
        team = Team(comm, [comm.rank % 2, comm.rank % 2 + 2])
        return team.shared(lambda: made.append(comm.rank) or comm.rank), comm.shared(lambda: -comm.rank)

    assert in_one_process(program, 4)[0] == [(0, 0), (1, 0), (0, 0), (1, 0)]
    assert made == [0, 1]


# --- programs with a defect ------------------------------------------------------------------------------------------


def test_indices_alone_are_not_all_the_words():
    def indices_alone(*arrays):
        return Parcel(arrays, arrays[0].size)

    for name, module in (("topk_dsa", "topk_dsa"), ("gtopk_allreduce", "gtopk")):
        found = differences(name, [(module, "parcel", indices_alone)])
        assert found
        assert all(agreement.traffic and not agreement.bits for agreement in found)


def test_own_entries_last_is_another_sum():
    def arrived_backwards(comm, pieces, n):
        parts = [pieces[comm.rank]]
        for s in range(1, comm.size):
            target, source = (comm.rank + s) % comm.size, (comm.rank - s) % comm.size
            arrived = comm.step({target: parcel(*pieces[target])}, [source])
            parts.insert(0, Entries(*arrived[source].arrays))
        total = parts[0]
        for part in parts[1:]:
            total = added(total, part)
        return total

    found = differences("topk_dsa", [("topk_dsa", "_split", arrived_backwards)])
    assert found
    assert all("update" in agreement.bits and not agreement.traffic for agreement in found)


def test_what_a_merge_drops_must_be_put_back():
    kept = import_module(COLUMN + "gtopk")._reduced
    found = differences(
        "gtopk_allreduce", [("gtopk", "_reduced", lambda c, bag, k, held: kept(c, bag, k, held.copy()))]
    )
    assert any("residual" in agreement.bits for agreement in found)
    assert not any("putback=published" in agreement.case for agreement in found)


def test_what_teams_drop_must_be_put_back_by_one_of_them():
    kept = import_module(COLUMN + "spardl")._recursively

    def forgetful(teams, bag, h, held):
        return kept(teams, bag, h, held.copy())

    found = differences("spardl_allreduce", [("spardl", "_recursively", forgetful)], (2, 4))
    assert found
    assert all("residual" in agreement.bits and "synchronise=b-sag" not in agreement.case for agreement in found)
    assert not any("teams=1" in agreement.case for agreement in found)


def test_sizes_must_be_told_before_blocks_that_are_not_equal():
    found = differences("gaussiank_allreduce", [("gaussiank", "sizes_of_all", lambda *_: None)])
    assert found
    assert all(agreement.traffic and not agreement.bits for agreement in found)
