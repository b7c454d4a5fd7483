"""Lossy links rank by rank: the bits and the traffic of one process; what is lost counts as sent and is not seen."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from rank_refusals import differences_with, refused_by_all
from samples import each_once

from commbounds import collectives
from commbounds.collectives import Bernoulli, GilbertElliott
from commbounds.collectives.packetloss.links import lossy_broadcast_on_rank as lossy_broadcast
from commbounds.collectives.packetloss.training_on_rank import Replica, lossy_step, lossy_training
from commbounds.collectives.ranks import LockstepWorld, ThreadWorld, packets, parcel
from commbounds.verify.experiments.packetloss.pairings import PAIRINGS
from commbounds.verify.pairing import compared

pytestmark = pytest.mark.kernels
lossy_reduce_scatter = collectives.lossy_reduce_scatter.on_rank
BY_NAME = {pairing.name: pairing for pairing in PAIRINGS}
TRIALS = ("drift_trials", "staleness_trials")
"""Of one coordinate, whose owner needs a receiver."""
EVERY = pytest.mark.parametrize("pairing", PAIRINGS, ids=lambda p: p.name)
MODULE = "commbounds.collectives.packetloss.links."
THERE = np.ones((3, 3, 1), bool)


def fresh_replica(parameters):
    return Replica(np.array(parameters), np.zeros(np.shape(parameters), np.int64))


TWINS = {
    "reduce": lambda comm, x: lossy_reduce_scatter(comm, x, THERE),
    "broadcast": lambda comm, x: lossy_broadcast(comm, x, np.ones([2, 1, 1][comm.rank]), THERE),
    "step": lambda comm, x: lossy_step(comm, fresh_replica(np.ones(4)), x, 0.1, THERE, THERE),
    "training": lambda comm, x: lossy_training(comm, fresh_replica(x), lambda _, y: y, Bernoulli(0.2), 2, 0.1),
}


@pytest.mark.parametrize(("pairing", "P"), each_once(PAIRINGS, [3, 4, 5, 2, 8, 1], lambda p: p.name))
def test_bits_and_traffic_are_those_of_one_process(pairing, P):
    found = compared(pairing, P, ThreadWorld())
    assert len(found) >= (3 * (P > 1) if pairing.name in TRIALS else 6)
    assert [agreement for agreement in found if agreement.difference] == []


def test_a_lost_message_is_sent_and_arrives_empty():
    def program(comm):
        outgoing = {1 - comm.rank: packets([np.ones(2), np.ones(3)], [True, comm.rank == 1])}
        arrived = comm.step(outgoing, [1 - comm.rank])[1 - comm.rank]
        return [array.size for array in arrived.arrays], arrived.words

    results, traffic = ThreadWorld().run(program, 2)
    assert results == [([0, 0], 0), ([0, 3], 3)]
    assert (traffic.sent.tolist(), traffic.received.tolist(), traffic.messages.tolist()) == ([5, 5], [0, 3], [2, 2])
    assert traffic.critical_path == 5


def test_nothing_of_what_is_lost_reaches_the_owner(monkeypatch):
    seen = []

    def noted(rows, here, *rest):
        seen.append((rows[~here].copy(), here.sum()))
        rest[1][:], rest[2][:] = 0, 0

    monkeypatch.setattr(MODULE + "_own_shard", noted)
    arrived = np.zeros((3, 3, 1), bool)
    arrived[0, 1] = arrived[2, 2] = True
    ThreadWorld().run(lambda comm: lossy_reduce_scatter(comm, np.ones(6), arrived), 3)
    assert sorted(count for _, count in seen) == [0, 2, 2]
    assert all(set(values.tolist()) <= {0.0, 1.0} for values, _ in seen)
    assert sum(values.sum() for values, _ in seen) == 4  # the two owners' own values, which they leave out


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        (np.array([1.0, np.nan, 0.0, 2.0]), ValueError, "must be finite"),
        (np.array([1, 2, 3, 4]), TypeError, "must be float32 or float64, got int64"),
        (np.ones(7), (TypeError, ValueError), "one length and dtype|as the replica is|shard is"),
        (np.ones(4, np.float32), (TypeError, ValueError), "one length and dtype|as the replica is|shard is"),
        (np.ones((4, 1)), ValueError, r"must be \(n,\)"),
    ],
)
def test_a_bad_vector_on_one_rank_is_refused_on_all(name, bad, vector, error, message):
    refused_by_all(lambda comm: TWINS[name](comm, vector if comm.rank == bad else np.ones(4)), error, message)


ONE = np.ones(4)


def held(comm, **parts):
    """A replica that is fresh but on one rank."""
    return replace(fresh_replica(ONE), **{name: np.asarray(part) for name, part in parts.items() if comm.rank == 1})


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (lambda c: lossy_reduce_scatter(c, ONE, THERE, "mean"), ValueError, "estimator must be one of"),
        (lambda c: lossy_reduce_scatter(c, ONE, THERE, "expected"), ValueError, "p is needed"),
        (lambda c: lossy_reduce_scatter(c, ONE, THERE, "expected", p=1.0), ValueError, "p must be below 1"),
        (lambda c: lossy_reduce_scatter(c, ONE, THERE, packet=1), ValueError, r"= \(3, 3, 2\), got shape"),
        (lambda c: lossy_reduce_scatter(c, ONE, THERE & (c.rank != 1)), ValueError, "checksum of arrived must be the"),
        (lambda c: lossy_reduce_scatter(c, ONE, THERE, packet=2 + c.rank), ValueError, "packet must be the same"),
        (lambda c: lossy_broadcast(c, ONE, ONE, THERE), ValueError, r"owned must be \(2,\) float64"),
        (lambda c: lossy_broadcast(c, ONE, [np.inf] * [2, 1, 1][c.rank], THERE), ValueError, "owned must be finite"),
        (lambda c: lossy_broadcast(c, ONE, [1.0] * [2, 1, 1][c.rank], THERE & (c.rank > 0)), ValueError, "checksum"),
        (lambda c: lossy_step(c, fresh_replica(ONE), ONE, np.nan, THERE, THERE), ValueError, "rate must be finite"),
        (lambda c: lossy_step(c, fresh_replica(ONE), ONE, True, THERE, THERE), TypeError, "rate must be a number"),
        (lambda c: lossy_step(c, fresh_replica(ONE), ONE, c.rank, THERE, THERE), ValueError, "rate must be the same"),
        (lambda c: lossy_step(c, held(c, missed=np.zeros(4)), ONE, 0.1, THERE, THERE), TypeError, "missed must be an"),
        (lambda c: lossy_step(c, held(c, missed=[1, 1, 1]), ONE, 0.1, THERE, THERE), ValueError, "missed must be co"),
        (lambda c: lossy_step(c, held(c, missed=[0, 0, 0, -1]), ONE, 0.1, THERE, THERE), ValueError, "missed must be"),
        (lambda c: lossy_step(c, held(c, parameters=ONE * np.inf), ONE, 0.1, THERE, THERE), ValueError, "parameters m"),
    ],
)
def test_bad_settings_are_refused_on_all_ranks(program, error, message):
    refused_by_all(program, error, message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (lambda rank: {"seed": rank}, "seed and trial must be the same"),
        (lambda rank: {"seed": -1}, "seed must be at least 0"),
        (lambda rank: {"trial": 2**64}, r"must be below 2\^64"),
        (lambda rank: {"loss": Bernoulli(0.1) if rank else GilbertElliott(0.1, 0.5)}, "loss must be the same"),
        (lambda rank: {"steps": 1 + rank}, "steps must be the same"),
        (lambda rank: {"rate": 0.5 + rank}, "rate must be the same"),
        (lambda rank: {"estimator": "owner" if rank else "arrivals"}, "estimator must be the same"),
    ],
)
def test_runs_that_differ_between_ranks_are_refused(options, message):
    def program(comm):
        given = {"loss": Bernoulli(0.1), "steps": 1, "rate": 0.5, **options(comm.rank)}
        loss, steps, rate = (given.pop(name) for name in ("loss", "steps", "rate"))
        return lossy_training(comm, fresh_replica(ONE), lambda _, x: x, loss, steps, rate, **given)

    refused_by_all(program, ValueError, message)


@EVERY
def test_a_word_too_many_is_found(pairing):
    def chatty(comm, case):
        outcome = pairing.program(comm, case)
        comm.step({(comm.rank + 1) % 3: parcel(np.zeros(1))}, [(comm.rank - 1) % 3])
        return outcome

    assert all("traffic" in difference for difference in differences_with(pairing, chatty, P=3))


def lossless(arrays, lost):
    """All arrives."""
    return packets(arrays)


def unsent(arrays, lost):
    """What will be lost is not sent."""
    return packets([array[:0] if away else array for array, away in zip(arrays, lost, strict=True)])


def in_one(arrays, lost):
    """One message, however many packets."""
    return packets(arrays, lost)._replace(messages=1)


@pytest.mark.parametrize(
    ("wire", "where"),
    [(lossless, "rank"), (unsent, "traffic"), (in_one, "traffic")],
    ids=["lossless", "unsent", "in one"],
)
@EVERY
def test_links_that_lose_otherwise_are_found(pairing, wire, where, monkeypatch):
    if wire is in_one and pairing.name in TRIALS:
        pytest.skip("the only coordinate is one packet")
    monkeypatch.setattr(MODULE + "packets", wire)
    every = replace(pairing, cases=lambda P: chain(pairing.cases(P), pairing.rows(P)))
    tried = every if wire is in_one else pairing
    assert any(difference.startswith(where) for difference in differences_with(tried, pairing.program, P=3))


def test_an_owner_that_always_divides_by_all_is_found(monkeypatch):
    from commbounds.collectives.packetloss import links as program

    kernel = program._own_shard
    monkeypatch.setattr(MODULE + "_own_shard", lambda rows, here, _, *out: kernel(rows, here, float(len(rows)), *out))
    for name in ("lossy_reduce_scatter", "lossy_step", "lossy_training"):
        pairing = BY_NAME[name]
        assert any(difference.startswith("rank") for difference in differences_with(pairing, pairing.program, P=3))


def test_contributions_added_up_the_other_way_round_are_found(monkeypatch):
    from commbounds.collectives.packetloss import links as program

    kernel = program._own_shard

    def backwards(rows, here, *rest):
        kernel(rows[::-1].copy(), here[::-1].copy(), *rest)

    monkeypatch.setattr(MODULE + "_own_shard", backwards)
    pairing = BY_NAME["lossy_reduce_scatter"]
    assert any("estimate" in difference for difference in differences_with(pairing, pairing.program, P=3))


@pytest.mark.parametrize("name", ["lossy_step", "lossy_training"])
def test_a_staleness_that_is_never_reset_is_found(name, monkeypatch):
    from commbounds.collectives.packetloss.links import broadcast

    def stale(*arguments):
        result, fresh = broadcast(*arguments)
        return result, np.zeros_like(fresh)

    monkeypatch.setattr("commbounds.collectives.packetloss.training_on_rank.broadcast", stale)
    pairing = BY_NAME[name]
    assert any("missed" in difference for difference in differences_with(pairing, pairing.program, P=3))


def test_a_run_that_forgets_its_bursts_is_found(monkeypatch):
    from commbounds.collectives.packetloss.training import fates

    def forgetful(loss, address, step, sizes, bad, broadcast_only):
        return fates(loss, address, step, sizes, (None, None), broadcast_only)

    monkeypatch.setattr("commbounds.collectives.packetloss.training_on_rank.fates", forgetful)
    training = BY_NAME["lossy_training"]
    rows = replace(training, cases=training.rows)
    found = [agreement for P in (3, 4, 5) for agreement in compared(rows, P, LockstepWorld())]
    forgotten = [agreement.case for agreement in found if agreement.difference]
    assert any("loss=bursts" in case for case in forgotten)
    lasting = ("bursts", "shared bursts", "for ever", "surely bad", "surely good")
    assert all(any(f"loss={name}," in case for name in lasting) for case in forgotten)
