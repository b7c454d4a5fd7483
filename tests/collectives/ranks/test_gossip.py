"""Gossip and push-sum rank by rank: the bits and the traffic of one process; bad input is refused on all ranks."""

from importlib import import_module

import numpy as np
import pytest
from rank_refusals import differences_with, refused_by_all, remembered
from samples import each_once

from commbounds import collectives
from commbounds.collectives.gossip.mixing import push_sum_on_rank as push_sum
from commbounds.collectives.ranks import LockstepWorld, ThreadWorld, packets, parcel
from commbounds.verify.experiments.gossip.pairings import PAIRINGS
from commbounds.verify.pairing import compared

pytestmark = pytest.mark.kernels
gossip = collectives.gossip.on_rank
GOSSIP, PUSH_SUM = PAIRINGS
EVERY = pytest.mark.parametrize("pairing", PAIRINGS, ids=lambda p: p.name)
program = import_module("commbounds.collectives.gossip.mixing")  # there is a function `gossip` too


@pytest.mark.parametrize(("pairing", "P"), each_once(PAIRINGS, [3, 4, 5, 2, 8, 9, 1], lambda p: p.name))
def test_bits_and_traffic_are_those_of_one_process(pairing, P):
    found = compared(pairing, P, ThreadWorld())
    assert len(found) >= 10
    assert [agreement for agreement in found if agreement.difference] == []


def test_two_on_a_ring_send_each_other_two_messages():
    (left, right), traffic = ThreadWorld().run(lambda comm: gossip(comm, [3.0 * comm.rank], "ring"), 2)
    assert (left.item(), right.item()) == (2.0, 1.0)
    assert (traffic.sent.tolist(), traffic.messages.tolist(), traffic.steps) == ([2, 2], [2, 2], 1)


@pytest.mark.parametrize("twin", [gossip, push_sum])
@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        (np.array([1.0, np.nan, 0.0, 2.0]), ValueError, "vector must be finite"),
        (np.array([1, 2, 3, 4]), TypeError, "must be float32 or float64, got int64"),
        (np.ones(5), TypeError, "vector must have one length and dtype on all ranks"),
        (np.ones(4, np.float32), TypeError, "vector must have one length and dtype on all ranks"),
        (np.ones((4, 1)), ValueError, r"must be \(n,\)"),
    ],
)
def test_a_bad_vector_on_one_rank_is_refused_on_all(twin, bad, vector, error, message):
    refused_by_all(lambda comm: twin(comm, vector if comm.rank == bad else np.ones(4), "ring"), error, message)


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (lambda c: gossip(c, [1.0], "torus"), ValueError, "a torus needs a square number"),
        (lambda c: gossip(c, [1.0], "star"), ValueError, "topology must be one of"),
        (lambda c: gossip(c, [1.0], "ring" if c.rank else "one-peer"), ValueError, "targets must be the same"),
        (lambda c: gossip(c, [1.0], "ring", 1 + c.rank), ValueError, "targets must be the same on all ranks"),
        (lambda c: gossip(c, [1.0], "ring", alive=[[c.rank < 2] * 3]), ValueError, "what works, must be the same"),
        (lambda c: gossip(c, [1.0], "ring", missing="other" if c.rank else "self"), ValueError, "missing must be"),
        (lambda c: gossip(c, [1.0], "ring", missing="renormalise" if c.rank else "self"), ValueError, "missing must"),
        (lambda c: push_sum(c, [1.0], "ring", 1, -1.0 if c.rank else 1.0), ValueError, "weight must be a positive"),
        (lambda c: push_sum(c, [1.0], "ring", 1, np.inf), ValueError, "weight must be a positive"),
        (lambda c: push_sum(c, [1.0], "ring", 1, lost="gone" if c.rank else "kept"), ValueError, "lost must be the"),
        (lambda c: push_sum(c, [1.0], "ring", 2, delivered=[None]), ValueError, "delivered must hold one entry"),
    ],
)
def test_bad_settings_are_refused_on_all_ranks(program, error, message):
    refused_by_all(program, error, message)


@EVERY
def test_a_word_too_many_is_found(pairing):
    def chatty(comm, case):
        outcome = pairing.program(comm, case)
        comm.step({(comm.rank + 1) % 4: parcel(np.zeros(1))}, [(comm.rank - 1) % 4])
        return outcome

    assert all("traffic" in difference for difference in differences_with(pairing, chatty))


@EVERY
def test_a_message_that_is_sent_once_where_it_goes_twice_is_found(pairing, monkeypatch):
    def once(copies):
        return packets(copies)._replace(messages=1)

    monkeypatch.setattr(program, "packets", once)
    assert any("traffic" in difference for difference in differences_with(pairing, pairing.program, 2))


def test_neighbours_added_up_the_other_way_round_are_found(monkeypatch):
    links = program._links_to
    monkeypatch.setattr(program, "_links_to", lambda rank, targets: links(rank, targets)[::-1])
    assert any("rank" in difference for difference in differences_with(GOSSIP, GOSSIP.program))


def test_shares_that_are_kept_out_of_their_turn_are_found(monkeypatch):
    senders = program._senders

    def own_first(rank, targets, works, kept):
        return sorted(senders(rank, targets, works, kept), key=lambda sender: sender != rank)

    monkeypatch.setattr(program, "_senders", own_first)
    assert any("rank" in difference for difference in differences_with(PUSH_SUM, PUSH_SUM.program, 5))


def test_a_weight_that_is_not_shared_is_found():
    def whole(comm, case):
        return {**PUSH_SUM.program(comm, case), "weight": 1.0}

    assert any("weight" in difference for difference in differences_with(PUSH_SUM, whole))


def test_the_dead_that_listen_are_found(monkeypatch):
    partners = program.partners

    def all_there(*arguments, alive, **options):
        return partners(*arguments, alive=None, **options)

    pairing = remembered(GOSSIP, [4])
    monkeypatch.setattr(program, "partners", all_there)
    found = [agreement for agreement in compared(pairing, 4, LockstepWorld()) if agreement.difference]
    assert found
    assert not any("alive=None" in agreement.case for agreement in found)
