"""The gradient of a step that drops work rank by rank: the bits of one process; bad input is refused on all ranks."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from rank_refusals import refused_by_all
from samples import first_of_each

from commbounds.collectives.dropcompute.on_rank import drop_gradient
from commbounds.collectives.ranks import LockstepWorld, ThreadWorld, parcel
from commbounds.verify.experiments.dropcompute.definitions import GRADIENTS
from commbounds.verify.experiments.dropcompute.pairings import PAIRINGS
from commbounds.verify.pairing import compared

pytestmark = pytest.mark.kernels
(PAIRING,) = PAIRINGS
MODULE = "commbounds.collectives.dropcompute.on_rank."


def differences(P=4, pairing=PAIRING, world=LockstepWorld()):  # noqa: B008 - it has no state
    return {agreement.case: agreement.difference for agreement in compared(pairing, P, world)}


@pytest.mark.parametrize("P", first_of_each((3, 4, 5, 2, 9, 1), lambda _: "any number"))
def test_bits_and_traffic_are_those_of_one_process(P):
    found = differences(P, world=ThreadWorld())
    assert len(found) >= 12
    assert set(found.values()) == {""}


def test_few_rows_show_every_value_and_the_claim_is_about_a_whole_array():
    few, rest = ([case.settings for case in of(3)] for of in (PAIRING.cases, PAIRING.rows))
    for name, values in GRADIENTS.axes.items():
        shown, values = {row[name] for row in few}, {3} if name == "P" else set(values)
        assert values <= shown <= {*values, *GRADIENTS.hiding.get(name, ())}
    assert few
    assert rest == [row for row in GRADIENTS.covering() if row["P"] == 3]


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize(
    ("gradients", "completed", "normalisation", "error", "message"),
    [
        (np.full((2, 4), np.nan), 1, "fixed", ValueError, "gradients must be finite"),
        (np.ones(4), 1, "fixed", ValueError, r"gradients must be \(N, M, d\)"),
        (np.ones((2, 5)), 1, "fixed", TypeError, "one length and dtype on all ranks"),
        (np.ones((3, 4)), 1, "fixed", ValueError, "the number of micro-batches must be the same"),
        (np.ones((2, 4)), 3, "fixed", ValueError, r"completed must be in \[0, 2\]"),
        (np.ones((2, 4)), 0.5, "fixed", ValueError, "completed must be"),
        (np.ones((2, 4)), 1, "worker", ValueError, "normalisation must be the same"),
        (np.ones((2, 4)), 1, "none", ValueError, "normalisation must be one of fixed, computed, worker"),
    ],
)
def test_bad_input_on_one_rank_is_refused_on_all(bad, gradients, completed, normalisation, error, message):
    given = [(np.ones((2, 4)), 1, "fixed")] * 3
    given[bad] = (gradients, completed, normalisation)
    refused_by_all(lambda comm: drop_gradient(comm, *given[comm.rank]), error, message)


def test_a_word_too_many_is_found():
    def chatty(comm, case):
        outcome = PAIRING.program(comm, case)
        comm.step({(comm.rank + 1) % 4: parcel(np.zeros(1))}, [(comm.rank - 1) % 4])
        return outcome

    assert all("traffic" in d for d in differences(pairing=replace(PAIRING, program=chatty)).values())


def test_workers_added_up_the_other_way_round_are_found(monkeypatch):
    from commbounds.collectives.dropcompute.random_batches import in_rank_order

    monkeypatch.setattr(MODULE + "in_rank_order", lambda rows: in_rank_order(rows[::-1]))
    assert any("result" in difference for difference in differences().values())


def test_micro_batches_that_were_dropped_are_found(monkeypatch):
    from commbounds.collectives.dropcompute.random_batches import share_of_worker

    monkeypatch.setattr(MODULE + "share_of_worker", lambda mine, count, how: share_of_worker(mine, len(mine), how))
    found = differences()
    assert all(("result" in found[case]) == ("completed=all" not in case) for case in found)


@pytest.mark.parametrize(("asked", "done"), [("computed", "fixed"), ("fixed", "worker"), ("worker", "fixed")])
def test_another_normalisation_is_found(asked, done):
    def otherwise(comm, case):
        given = done if case.settings["normalisation"] == asked else case.settings["normalisation"]
        return PAIRING.program(comm, replace(case, settings={**case.settings, "normalisation": given}))

    tried = replace(PAIRING, program=otherwise, cases=lambda P: chain(PAIRING.cases(P), PAIRING.rows(P)))
    found = differences(pairing=tried)
    telling = [case for case in found if f"normalisation={asked}" in case and "completed=some" in case]
    assert any("result" in found[case] for case in telling)
    assert all(found[case] == "" for case in found if f"normalisation={asked}" not in case)
