"""Sketches of all ranks: what is accepted and refused, single facts by hand, twins and ranks."""

import numpy as np
import pytest
from rank_refusals import differences_with, refused_by_all
from samples import each_once

from commbounds.collectives import COLLECTIVES
from commbounds.collectives.ranks import ThreadWorld, parcel
from commbounds.collectives.sketched import fetchsgd_step, sketched_sum, sketched_topk
from commbounds.verify.experiments.sketched.hashings import drawn_hashes
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
PAIRED = tuple(PAIRINGS.of_column("sketched").values())
STACK = np.array([[1.0, -2.0, 0.5], [3.0, 1.0, 0.0]])
HASHES = {"buckets": [[0, 1, 1], [1, 1, 0]], "signs": [[1, -1, 1], [1, 1, -1]]}
GOOD = {
    sketched_sum: {**HASHES, "cells": 2, "k": 1},
    sketched_topk: {**HASHES, "cells": 2, "k": 1, "candidates": 2},
    fetchsgd_step: {**HASHES, "momentum": np.zeros((2, 2)), "error": np.zeros((2, 2)), "k": 1},
}


def test_the_collectives_of_sketches_are_registered():
    assert [COLLECTIVES[name] for name in ("sketched_sum", "sketched_topk", "fetchsgd_step")] == list(GOOD)


@pytest.mark.parametrize("collective", GOOD, ids=lambda c: c.__name__)
@pytest.mark.parametrize(
    ("stack", "error", "message"),
    [
        (np.ones(3), ValueError, "stack must be"),
        (np.ones((0, 3)), ValueError, "stack"),
        (np.full((2, 3), np.nan), ValueError, "finite"),
        (np.ones((2, 3), np.float16), TypeError, "float32 or float64"),
        (np.ones((2, 4)), ValueError, r"buckets must be \(r, 4\)"),
        (np.full((2, 3), 1e308), ValueError, "small enough for its sketch to fit in float64"),
    ],
)
def test_what_stacks_of_sketches_are_refused(collective, stack, error, message):
    with pytest.raises(error, match=message):
        collective(stack, **GOOD[collective])


@pytest.mark.parametrize(
    ("collective", "options", "error", "message"),
    [
        (sketched_sum, {"k": 0}, ValueError, r"k must be in \[1, 3\]"),
        (sketched_sum, {"k": 4}, ValueError, r"k must be in \[1, 3\]"),
        (sketched_sum, {"cells": 0}, ValueError, "cells must be in"),
        (sketched_sum, {"middle": "upper"}, ValueError, "middle must be one of"),
        (sketched_topk, {"candidates": 4}, ValueError, r"candidates must be in \[1, 3\]"),
        (sketched_topk, {"k": 3}, ValueError, r"k must be in \[1, 2\]"),
        (fetchsgd_step, {"rho": -0.5}, ValueError, r"rho must be in \[0, 1\], got -0.5"),
        (fetchsgd_step, {"rho": "x"}, TypeError, "rho must be a number"),
        (fetchsgd_step, {"forget": "never"}, ValueError, "forget must be one of zero, subtract"),
        (fetchsgd_step, {"error": np.zeros((2, 3))}, ValueError, "error must be"),
        (fetchsgd_step, {"momentum": np.zeros(2)}, ValueError, r"momentum must be \(r, cells\)"),
        (fetchsgd_step, {"error": np.zeros((2, 2), np.float32)}, TypeError, "error must be float64"),
        (fetchsgd_step, {"error": np.full((2, 2), np.inf)}, ValueError, "error must be finite"),
        (fetchsgd_step, {"momentum": np.zeros((3, 2)), "error": np.zeros((3, 2))}, ValueError, "3 rows, as momentum"),
    ],
)
def test_what_options_of_sketches_are_refused(collective, options, error, message):
    with pytest.raises(error, match=message):
        collective(STACK, **{**GOOD[collective], **options})


@pytest.mark.parametrize("collective", GOOD, ids=lambda c: c.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sketched_collectives_change_nothing(collective, dtype):
    given = {k: v.astype(dtype) if isinstance(v, np.ndarray) else v for k, v in GOOD[collective].items()}
    stack = STACK.astype(dtype)
    held = stack.copy()
    first, _ = collective(stack, **given)
    again, _ = collective(np.asfortranarray(stack), **given)
    for a, b in zip(first, again, strict=True):
        assert a.dtype == dtype
        assert a.tobytes() == b.tobytes()
    assert np.array_equal(stack, held)


# --- single facts ----------------------------------------------------------------------------------------------------


def test_three_recovered_entries_of_one_counter_double_it_again_and_again():
    x, hashes = np.zeros((1, 3)), (np.zeros((1, 3), int), np.array([[1, 1, -1]]))
    state, _ = fetchsgd_step([[1.0, 0.0, 0.0]], np.zeros((1, 1)), np.zeros((1, 1)), *hashes, 3, 0.0, "subtract")
    counters = [state.error[0, 0]]
    for _ in range(3):
        state, _ = fetchsgd_step(x, np.zeros((1, 1)), state.error, *hashes, 3, 0.0, "subtract")
        counters.append(state.error[0, 0])
    assert counters == [-2.0, 4.0, -8.0, 16.0]
    state, _ = fetchsgd_step(x, np.zeros((1, 1)), state.error, *hashes, 3, 0.0, "zero")
    assert state.error.tolist() == [[0.0]]


def test_zeroed_cells_lose_what_shares_them():
    # three rows, in two of which the second entry shares the first one's cell
    hashes = np.array([[0, 0], [0, 0], [0, 1]]), np.array([[1, 1], [1, -1], [1, 1]])
    zero = np.zeros((3, 2))
    lost, _ = fetchsgd_step([[4.0, 1.0]], zero, zero, *hashes, 1, 0.0, "zero")
    kept, _ = fetchsgd_step([[4.0, 1.0]], zero, zero, *hashes, 1, 0.0, "subtract")
    assert lost.update[0].tolist() == kept.update[0].tolist() == [4.0, 0.0]
    assert lost.error.tolist() == [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    assert kept.error.tolist() == [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]


def test_words_of_sketches_by_hand():
    stack = np.ones((4, 100))
    hashes = drawn_hashes(100, 2, 6, 0)
    assert sketched_sum(stack, *hashes, 6, 3)[1].sent.tolist() == [18] * 4
    _, traffic = sketched_topk(stack, *hashes, 6, 3, 8)
    assert traffic.sent.tolist() == [30] * 4
    assert [name for name in traffic.phases if "/" not in name] == ["sketch", "entries"]


def test_a_second_round_among_all_entries_is_top_k():
    stack = np.array([[1.0, -5.0, 2.0, 0.0], [1.0, 1.0, 3.0, 0.5]])
    total, _ = sketched_topk(stack, np.zeros((1, 4), int), np.ones((1, 4), int), 1, 2, 4)
    assert total[1].tolist() == [0.0, -4.0, 5.0, 0.0]


# --- twins and ranks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pairing", "P"), each_once(PAIRED, [3, 4, 2, 5, 1], lambda p: p.name))
def test_bits_and_traffic_of_sketches_are_those_of_one_process(pairing, P):
    found = compared(pairing, P, ThreadWorld())
    assert len(found) >= 10
    assert [agreement for agreement in found if agreement.difference] == []


@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        (np.full(3, np.nan), ValueError, "vector must be finite"),
        (np.ones(3, int), TypeError, "must be float32 or float64"),
        (np.ones((1, 3)), ValueError, r"vector must be \(n,\)"),
        (np.ones(4), TypeError, "one length and dtype on all ranks"),
        (np.full(3, 1e308), ValueError, "small enough"),
    ],
)
def test_a_bad_vector_of_one_rank_is_refused_by_all(vector, error, message):
    given = GOOD[sketched_sum]
    refused_by_all(lambda c: sketched_sum.on_rank(c, vector if c.rank else np.ones(3), **given), error, message)


def test_other_hashes_on_one_rank_are_refused_by_all():
    def program(comm):
        signs = [[1, -1, 1], [1, 1, 1 if comm.rank else -1]]
        return sketched_sum.on_rank(comm, np.ones(3), HASHES["buckets"], signs, 2, 1)

    refused_by_all(program, ValueError, "the checksum of buckets and signs must be the same on all ranks")


@pytest.mark.parametrize("pairing", PAIRED, ids=lambda p: p.name)
def test_a_word_too_many_of_a_sketch_is_found(pairing):
    def chatty(comm, case):
        outcome = pairing.program(comm, case)
        comm.step({(comm.rank + 1) % 4: parcel(np.zeros(1))}, [(comm.rank - 1) % 4])
        return outcome

    assert all("traffic" in difference for difference in differences_with(pairing, chatty))
