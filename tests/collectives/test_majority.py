"""Majority vote: what it accepts and refuses, single facts by hand, its twin, its traffic, and its ranks."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_refusals import differences_with, refused_by_all
from samples import first_of_each

from commbounds.collectives import COLLECTIVES
from commbounds.collectives import majority as module
from commbounds.collectives.majority import WAYS, ZEROS, majority_vote
from commbounds.collectives.ranks import ThreadWorld, parcel
from commbounds.theory import claims
from commbounds.theory.majority.terms import gauss, vote_error
from commbounds.verify.definitions import majority as naive
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
(PAIRING,) = PAIRINGS.of_column("majority").values()
EACH_WAY = pytest.mark.parametrize("way", WAYS)
EACH_RULE = pytest.mark.parametrize("zeros", ZEROS)


def tossed(P, n, seed=1):
    return np.random.default_rng(seed).integers(0, 2, (P + 1, n), dtype=bool)


def given_for(zeros, P, n):
    return {"coins": tossed(P, n)} if zeros == "coin" else {}


# --- input -----------------------------------------------------------------------------------------------------------


def test_registered_under_its_name():
    assert COLLECTIVES["majority_vote"] is majority_vote


@pytest.mark.parametrize(
    ("stack", "error", "message"),
    [
        (np.ones(4), ValueError, r"\(P, n\)"),
        (np.ones((0, 4)), ValueError, "at least one rank and one entry"),
        (np.ones((2, 0)), ValueError, "at least one rank and one entry"),
        ([np.ones(3), np.ones(4)], TypeError, "one length and dtype"),
        ([np.ones(3), np.ones(3, np.float32)], TypeError, "one length and dtype"),
        (np.ones((2, 4), np.float16), TypeError, "float32 or float64"),
        (np.ones((2, 4), np.int64), TypeError, "float32 or float64"),
        (np.array([[1.0, np.nan]]), ValueError, "finite"),
        (np.array([[1.0, -np.inf]]), ValueError, "finite"),
    ],
)
def test_what_is_refused(stack, error, message):
    with pytest.raises(error, match=message):
        majority_vote(stack)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"way": "tree"}, ValueError, "way must be one of server, shards, all-gather, got 'tree'"),
        ({"zeros": 0}, ValueError, "zeros must be one of plus, coin, abstain, got 0"),
        ({"zeros": "coin"}, TypeError, "rng must be a numpy Generator, which tossing coins needs, got None"),
        ({"zeros": "coin", "rng": 7}, TypeError, "rng must be a numpy Generator"),
        (
            {"zeros": "coin", "coins": np.ones((2, 3), bool)},
            ValueError,
            r"coins must have shape \(3, 3\), got \(2, 3\)",
        ),
        ({"zeros": "coin", "coins": np.ones((3, 3))}, TypeError, "coins must be boolean, got float64"),
        ({"coins": np.ones((3, 3), bool)}, ValueError, "coins must be None unless zeros are decided by coin"),
    ],
)
def test_what_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        majority_vote(np.ones((2, 3)), **options)


@EACH_WAY
@EACH_RULE
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_layout_gives_the_same_and_nothing_is_changed(way, zeros, dtype):
    x = np.random.default_rng(0).integers(-1, 2, (4, 13)).astype(dtype)
    options = given_for(zeros, 4, 13)
    votes, traffic = majority_vote(x, way, zeros, **options)
    assert votes.dtype == dtype
    locked = x.copy()
    locked.flags.writeable = False
    for same in (
        locked,
        list(x),
        np.asfortranarray(x),
        np.repeat(x, 2, axis=1)[:, ::2],
        x.astype(x.dtype.newbyteorder()),
    ):
        again, counted = majority_vote(same, way, zeros, **options)
        assert again.tobytes() == votes.tobytes()
        assert counted.as_dict() == traffic.as_dict()
    assert np.array_equal(x, locked)
    assert not np.shares_memory(votes, x)


def test_one_seed_one_vote_and_the_global_generator_stays():
    ties = np.array([[1.0, 0.0] * 50, [-1.0, 0.0] * 50])
    legacy = np.random.get_state()[1].tobytes()  # noqa: NPY002 - that it stays untouched is the point
    first, second, other = (majority_vote(ties, zeros="coin", rng=np.random.default_rng(s))[0] for s in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert set(first.ravel().tolist()) == {-1.0, 1.0}
    assert np.random.get_state()[1].tobytes() == legacy  # noqa: NPY002


# --- single facts ----------------------------------------------------------------------------------------------------


@EACH_WAY
def test_what_becomes_of_zeros_and_ties(way):
    x = np.array([[1.0, 0.0, -0.0, -5.0], [-9.0, 0.0, 1.0, 0.0]])
    assert majority_vote(x, way)[0].tolist() == [[1.0, 1.0, 1.0, 1.0]] * 2
    assert majority_vote(x, way, "abstain")[0].tolist() == [[0.0, 0.0, 1.0, -1.0]] * 2
    tails = np.zeros((3, 4), bool)
    assert majority_vote(x, way, "coin", coins=tails)[0].tolist() == [[-1.0, -1.0, -1.0, -1.0]] * 2
    heads_in_a_tie = np.array([[False] * 4, [False] * 4, [True] * 4])
    assert majority_vote(x, way, "coin", coins=heads_in_a_tie)[0].tolist() == [[1.0, -1.0, 1.0, -1.0]] * 2


@EACH_WAY
@EACH_RULE
def test_one_rank_says_nothing_and_votes_its_signs(way, zeros):
    votes, traffic = majority_vote(np.array([[2.0, -3.0, 0.5]]), way, zeros, **given_for(zeros, 1, 3))
    assert votes.tolist() == [[1.0, -1.0, 1.0]]
    assert (traffic.sent.tolist(), traffic.messages.tolist(), traffic.steps) == ([0], [0], 0)


def test_bytes_by_hand():
    x = np.ones((4, 9), np.float32)
    server, shards, gathered = (majority_vote(x, way)[1] for way in WAYS)
    assert (server.sent.tolist(), server.received.tolist(), server.steps) == ([6, 2, 2, 2], [6, 2, 2, 2], 2)
    assert server.phases["ballots"].sent.tolist() == [0, 2, 2, 2]
    assert (shards.sent.tolist(), shards.steps, shards.messages.tolist()) == ([6] * 4, 2, [6] * 4)
    assert (gathered.sent.tolist(), gathered.steps) == ([6] * 4, 3)
    assert majority_vote(x, "server", "abstain")[1].sent.tolist() == [9, 3, 3, 3]


def test_an_outvoted_worker_turns_the_average_against_the_vote():
    x = np.array([[4.0], [-1.0], [-1.0]])
    votes, _ = majority_vote(x)
    assert votes[0, 0] * x.mean() < 0


# --- twins -----------------------------------------------------------------------------------------------------------


@EACH_WAY
@EACH_RULE
@given(st.integers(1, 9), st.integers(1, 20), st.integers(0, 10**6))
def test_the_naive_twin_votes_and_counts_alike(way, zeros, P, n, seed):
    x = np.random.default_rng(seed).integers(-1, 2, (P, n)).astype(np.float32)
    options = given_for(zeros, P, n)
    votes, traffic = majority_vote(x, way, zeros, **options)
    assert votes.tolist() == [naive.vote(x.tolist(), zeros, options.get("coins"))] * P
    counted = traffic.as_dict()
    assert {name: counted[name] for name in naive.traffic(P, n, way, zeros)} == naive.traffic(P, n, way, zeros)


@given(
    st.integers(0, 8), st.integers(0, 5), st.integers(0, 5), st.fractions(0, 1, max_denominator=20),
    st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]),
)  # fmt: skip
def test_the_error_of_the_book_is_that_of_a_walk(honest, inverting, lying, flip, ties):
    expected = naive.error(honest, inverting, lying, flip, ties)
    assert vote_error.exact(honest, inverting, lying, flip, ties) == expected
    assert claims()["majority.vote.law"].bound(
        honest=honest, inverting=inverting, lying=lying, flip=flip, tieloss=ties
    ) == expected  # fmt: skip


def test_the_drift_of_the_book_is_that_of_the_twin():
    for P in range(1, 11):
        assert claims()["majority.ties.drift"].bound(P=P) == naive.drift(P)


def test_gauss_bound_is_continuous_and_falls():
    S = np.linspace(0.01, 4, 400)
    values = np.array([float(gauss(s)) for s in S])
    assert (np.diff(values) < 0).all()
    eps = np.finfo(float).eps
    # an argument off by two roundings, a slope of 1/(2 sqrt 3), and a difference of numbers below one
    assert abs(float(gauss(2 / np.sqrt(3))) - 1 / 6) <= 2 * eps
    # four roundings, and a difference that is a third of its larger term at least; on both sides
    assert np.allclose(gauss._imp_(S), values, rtol=2 * 3 * 4 * eps, atol=0.0)


# --- ranks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("P", first_of_each((3, 4, 5, 2, 8, 1), lambda _: "any number"))
def test_bits_and_traffic_are_those_of_one_process(P):
    found = compared(PAIRING, P, ThreadWorld())
    assert len(found) >= 36
    assert [agreement for agreement in found if agreement.difference] == []


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        (np.array([1.0, np.nan]), ValueError, "vector must be finite"),
        (np.array([1, 2]), TypeError, "must be float32 or float64, got int64"),
        (np.ones(2, np.float16), TypeError, "must be float32 or float64, got float16"),
        (np.ones(3), TypeError, "vector must have one length and dtype on all ranks"),
        (np.ones(0), ValueError, "at least one rank and one entry"),
        (np.ones((2, 1)), ValueError, r"must be \(n,\)"),
    ],
)
def test_a_bad_vector_on_one_rank_is_refused_on_all(bad, vector, error, message):
    refused_by_all(lambda c: majority_vote.on_rank(c, vector if c.rank == bad else np.ones(2)), error, message)


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (lambda c: majority_vote.on_rank(c, [1.0], "tree"), ValueError, "way must be one of"),
        (lambda c: majority_vote.on_rank(c, [1.0], WAYS[c.rank]), ValueError, "way must be the same on all ranks"),
        (lambda c: majority_vote.on_rank(c, [1.0], zeros=ZEROS[c.rank % 2 * 2]), ValueError, "zeros must be the same"),
        (lambda c: majority_vote.on_rank(c, [1.0], zeros="coin"), TypeError, "rng must be a numpy Generator"),
        (
            lambda c: majority_vote.on_rank(c, np.ones(99), zeros="coin", rng=np.random.default_rng(c.rank)),
            ValueError,
            "the checksum of the coins must be the same on all ranks",
        ),
    ],
)
def test_bad_settings_are_refused_on_all_ranks(program, error, message):
    refused_by_all(program, error, message)


def test_a_byte_too_many_is_found():
    def chatty(comm, case):
        outcome = PAIRING.program(comm, case)
        comm.step({(comm.rank + 1) % 4: parcel(np.zeros(1))}, [(comm.rank - 1) % 4])
        return outcome

    assert all("traffic" in difference for difference in differences_with(PAIRING, chatty))


def test_ballots_that_are_lost_are_found(monkeypatch):
    decided = module._decided
    expected = {str(case): PAIRING.collective(case) for case in PAIRING.cases(4)}
    monkeypatch.setattr(module, "_decided", lambda ballots, zeros, ties: decided(ballots[:1], zeros, ties))
    for case in PAIRING.cases(4):
        if case.settings["data"] == "cancelling" and case.settings["zeros"] == "abstain":
            results, _ = ThreadWorld().run(lambda comm, case=case: PAIRING.program(comm, case), 4)
            assert any(
                r["vote"].tobytes() != e["vote"].tobytes() for r, e in zip(results, expected[str(case)][0], strict=True)
            )
