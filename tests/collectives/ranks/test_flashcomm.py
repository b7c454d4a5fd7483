"""Quantised all-reduces rank by rank: the bits and bytes of one process; bad input is refused on all ranks."""

from dataclasses import replace

import numpy as np
import pytest
from rank_refusals import differences_with
from samples import each_once

from commbounds.collectives import (
    hierarchical_quantised_allreduce,
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    twostep_quantised_allreduce,
)
from commbounds.collectives.ranks import Communicator, ThreadWorld, parcel
from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer, TopK, message_from_bytes, wire_bytes
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
PAIRED = tuple(PAIRINGS.of_column("flashcomm").values())
TWINS = {
    "twostep": lambda comm, x, q, rng=None: twostep_quantised_allreduce.on_rank(comm, x, q, rng=rng),
    "ring": ring_quantised_allreduce.on_rank,
    "oneshot": oneshot_quantised_allreduce.on_rank,
    "hierarchical": lambda comm, x, q, *rest: hierarchical_quantised_allreduce.on_rank(comm, x, q, 3, *rest),
}
EACH = pytest.mark.parametrize("name", TWINS)
QUANTISER = GroupQuantizer(3, 4, "float16")


def run(name, vectors, quantisers=None, generators=None):
    """Of three ranks; everything may differ between them."""
    asked = quantisers or [QUANTISER] * 3
    drawn = generators or [None] * 3
    return ThreadWorld().run(lambda comm: TWINS[name](comm, *(a[comm.rank] for a in (vectors, asked, drawn))), 3)


@pytest.mark.parametrize(("pairing", "P"), each_once(PAIRED, [3, 4, 5, 2, 1], lambda p: p.name))
def test_bits_and_bytes_are_those_of_one_process(pairing, P):
    found = compared(pairing, P, ThreadWorld())
    assert len(found) >= 13
    assert [agreement for agreement in found if agreement.difference] == []


@EACH
def test_every_message_is_one_array_of_as_many_bytes_as_it_counts(name, monkeypatch):
    sizes, step = [], Communicator.step

    def noted(comm, outgoing=(), sources=()):
        for message in dict(outgoing).values():
            (array,) = message.arrays
            sizes.append((array.dtype, array.nbytes, message.words))
        return step(comm, dict(outgoing), sources)

    monkeypatch.setattr(Communicator, "step", noted)
    run(name, np.random.default_rng(1).standard_normal((3, 20)))
    assert sizes
    assert all(dtype == np.uint8 and nbytes == words for dtype, nbytes, words in sizes)


@EACH
@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        (np.array([1.0, np.nan, 0.0, 2.0]), ValueError, "vector must be finite"),
        (np.array([1, 2, 3, 4]), TypeError, "must be float32 or float64, got int64"),
        (np.ones(5), TypeError, "vector must have one length and dtype on all ranks"),
        (np.ones(4, np.float32), TypeError, "vector must have one length and dtype on all ranks"),
        (np.ones((4, 1)), ValueError, r"must be \(n,\)"),
        (np.array([0.0, 1e6, 0.0, 1e6]), ValueError, "of a group is too large for float16"),
    ],
)
def test_a_bad_vector_on_one_rank_is_refused_on_all(name, bad, vector, error, message):
    vectors = [vector if rank == bad else np.ones(4) for rank in range(3)]

    def refusal(comm):
        with pytest.raises(error, match=message) as raised:
            TWINS[name](comm, vectors[comm.rank], QUANTISER)
        return str(raised.value)

    texts, _ = ThreadWorld().run(refusal, 3)
    assert len(set(texts)) == 1


@EACH
def test_settings_and_seeds_must_be_the_same(name):
    vectors = np.ones((3, 4))
    with pytest.raises(ValueError, match="quantiser must be the same on all ranks"):
        run(name, vectors, [QUANTISER, QUANTISER, GroupQuantizer(4, 4)])
    with pytest.raises(TypeError, match="quantiser must be a GroupQuantizer, got TopK"):
        run(name, vectors, [QUANTISER, TopK(1), QUANTISER])
    stochastic = [StochasticGroupQuantizer(3, 4)] * 3
    with pytest.raises(ValueError, match="the checksum of the seeds must be the same on all ranks"):
        run(name, vectors, stochastic, [np.random.default_rng(seed) for seed in (0, 0, 1)])
    with pytest.raises(TypeError, match="rng must be"):
        run(name, vectors, stochastic, [np.random.default_rng(0), None, np.random.default_rng(0)])


def test_nodes_must_divide_the_ranks():
    with pytest.raises(ValueError, match="node must divide the number of ranks, 3, got 2"):
        ThreadWorld().run(lambda comm: hierarchical_quantised_allreduce.on_rank(comm, np.ones(4), QUANTISER, 2), 3)
    with pytest.raises(ValueError, match="node must be the same on all ranks, got 1, 3, 3"):
        ThreadWorld().run(
            lambda comm: hierarchical_quantised_allreduce.on_rank(comm, np.ones(4), QUANTISER, 3 if comm.rank else 1), 3
        )


@pytest.mark.parametrize("name", ["twostep", "ring", "hierarchical"])
def test_a_sum_that_overflows_on_its_owner_is_refused_on_all(name):
    vector = np.array([3e38, 1e38, 0, 0, 0, 0], np.float32)  # the first block's sum is too large, the others' are not

    def refusal(comm):
        with np.errstate(over="ignore"), pytest.raises(ValueError, match="x must be finite"):
            TWINS[name](comm, vector, GroupQuantizer(3, 4))
        return True

    assert ThreadWorld().run(refusal, 3)[0] == [True] * 3


def with_twin(pairing, program):
    return differences_with(pairing, program, 3)


@pytest.mark.parametrize("pairing", PAIRED, ids=lambda p: p.name)
def test_a_word_too_many_is_found(pairing):
    def chatty(comm, case):
        outcome = pairing.program(comm, case)
        comm.step({(comm.rank + 1) % 3: parcel(np.zeros(1))}, [(comm.rank - 1) % 3])
        return outcome

    assert all("traffic" in difference for difference in with_twin(pairing, chatty))


@pytest.mark.parametrize("pairing", PAIRED, ids=lambda p: p.name)
def test_lost_spikes_are_found(pairing, monkeypatch):
    def without_spikes(sent, quantiser, n, dtype):
        read = message_from_bytes(sent, quantiser, n, dtype)
        return replace(read, ranges=replace(read.ranges, positions=None, spikes=None))

    monkeypatch.setattr("commbounds.collectives.flashcomm.wire.message_from_bytes", without_spikes)
    differences = with_twin(pairing, pairing.program)
    assert any("values" in difference for difference in differences)


@pytest.mark.parametrize("pairing", PAIRED, ids=lambda p: p.name)
def test_whole_words_for_codes_are_found(pairing, monkeypatch):
    def padded(message):
        sent = wire_bytes(message)
        return np.concatenate([sent, np.zeros(-sent.size % 4, np.uint8)])

    def cut(sent, quantiser, n, dtype):
        for spare in range(4):
            try:
                return message_from_bytes(sent[: sent.size - spare], quantiser, n, dtype)
            except ValueError:
                continue
        raise ValueError("sent must be a padded message")

    monkeypatch.setattr("commbounds.collectives.flashcomm.wire.wire_bytes", padded)
    monkeypatch.setattr("commbounds.collectives.flashcomm.wire.message_from_bytes", cut)
    differences = with_twin(pairing, pairing.program)
    assert any("sent" in difference for difference in differences)


def test_an_owner_that_keeps_its_sum_is_found():
    pairing = PAIRED[0]

    def keeping(comm, case):
        settings = {**case.settings, "owner_reads_its_code": False}
        return pairing.program(comm, replace(case, settings=settings))

    assert any("values" in difference for difference in with_twin(pairing, keeping))
