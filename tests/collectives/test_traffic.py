"""Traffic adds up, remembers its phases and refuses counts that cannot be."""

import json
from itertools import product

import numpy as np
import pytest

from commbounds.collectives._stack import checked_stack
from commbounds.collectives.traffic import Traffic, summed

SENT = np.array([[3, 1], [0, 2]])
RECEIVED = np.array([[1, 3], [2, 0]])
ONES = np.ones((2, 2), np.int64)


def test_counts_are_summed_and_the_critical_path_follows_the_busiest():
    traffic = Traffic.of_steps(SENT, RECEIVED, ONES)
    assert traffic.sent.tolist() == [3, 3]
    assert traffic.received.tolist() == [3, 3]
    assert traffic.messages.tolist() == [2, 2]
    assert (traffic.steps, traffic.critical_path) == (2, 3 + 2)
    assert traffic.sent.dtype == traffic.received.dtype == traffic.messages.dtype == np.int64


def test_silence():
    traffic = Traffic.none(3)
    assert (traffic.steps, traffic.critical_path, traffic.sent.tolist()) == (0, 0, [0, 0, 0])


def test_phases_add_up_and_can_be_picked():
    one, two = Traffic.of_steps(SENT, RECEIVED, ONES), Traffic.of_steps(SENT[:1], RECEIVED[:1], ONES[:1])
    whole = Traffic.of_phases({"split": one, "gather": two})
    assert whole.sent.tolist() == [6, 4]
    assert (whole.steps, whole.critical_path) == (3, 8)
    assert whole.only("gather").sent.tolist() == [3, 1]
    assert whole.only("split", "gather").critical_path == whole.critical_path
    assert whole.only("neither").steps == 0
    assert json.loads(json.dumps(whole.as_dict()))["phases"]["gather"]["received"] == [1, 3]
    assert "phases" not in one.as_dict()


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((SENT, RECEIVED[:1], ONES), "must share a shape"),
        ((SENT[0], RECEIVED[0], ONES[0]), "must share a shape"),
        ((-SENT, -RECEIVED, ONES), "must not be negative"),
        ((SENT, SENT + 1, ONES), "as many words must be received"),
        ((SENT, RECEIVED, ONES, ONES), "less those lost"),
        ((SENT, RECEIVED, ONES, -ONES), "must not be negative"),
        ((SENT, RECEIVED, ONES, ONES[:1]), "must share a shape"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        Traffic.of_steps(*counts)
    with pytest.raises(ValueError, match="must not be empty"):
        summed([])


@pytest.mark.parametrize("place", list(np.ndindex(2, 2)))
def test_a_step_and_rank_alone_is_refused(place):
    other = np.zeros((2, 2), np.int64)
    other[place] = 1
    for counts in ((SENT + other, RECEIVED, ONES), (SENT, RECEIVED + other, ONES), (SENT, RECEIVED, ONES, other)):
        with pytest.raises(ValueError, match="in every step"):
            Traffic.of_steps(*counts)
    with pytest.raises(ValueError, match="in every step"):  # as many in all, but in the other step
        Traffic.of_steps(SENT + other, RECEIVED + other[::-1], ONES)
    for counts in ((SENT, RECEIVED, ONES - 2 * other), (SENT - 9 * other, RECEIVED, ONES)):
        with pytest.raises(ValueError, match="must not be negative"):
            Traffic.of_steps(*counts)


def test_what_traffic_is_made_of_is_not_kept():
    one = Traffic.of_steps(sent := SENT.copy(), RECEIVED, ONES)
    phases = {"split": one}
    whole, alone = Traffic.of_phases(phases), summed([one])
    before = whole.as_dict()
    sent += 1
    phases["gather"] = Traffic.none(2)
    assert whole.as_dict() == before
    for made, counts in product((whole, alone), (one.sent, one.received, one.messages)):
        assert not any(np.shares_memory(held, counts) for held in (made.sent, made.received, made.messages))


def test_what_is_lost_was_sent_and_not_received():
    traffic = Traffic.of_steps(SENT + ONES, RECEIVED, ONES, ONES)
    assert traffic.sent.tolist() == (SENT + ONES).sum(axis=0).tolist()
    assert traffic.received.tolist() == RECEIVED.sum(axis=0).tolist()


def test_large_counts_do_not_wrap():
    many = np.full((4, 2), 2**61, np.int64)
    assert Traffic.of_steps(many[:3], many[:3], many[:3]).critical_path == 3 * 2**61


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f4"])
def test_stacks_are_taken_as_they_are(dtype):
    stack = np.arange(6, dtype=dtype).reshape(2, 3)
    taken = checked_stack(stack)
    assert taken.dtype.isnative
    assert np.shares_memory(taken, stack) == stack.dtype.isnative
    assert checked_stack(stack[:, ::2]).flags.c_contiguous
    assert checked_stack(list(stack.astype("f4"))).tolist() == stack.tolist()


def test_a_read_only_stack_is_copied_where_it_is_short():
    for entries, copied in ((2**16, True), (2**16 + 2, False)):
        stack = np.arange(entries, dtype=np.float32).reshape(2, -1)
        stack.flags.writeable = False
        taken = checked_stack(stack)
        assert taken.flags.writeable == copied
        assert np.shares_memory(taken, stack) != copied
        assert taken.tobytes() == stack.tobytes()


@pytest.mark.parametrize(
    ("stack", "error", "message"),
    [
        (np.zeros(3), ValueError, r"must be \(P, n\)"),
        (np.zeros((0, 3)), ValueError, "at least one rank"),
        (np.zeros((3, 0)), ValueError, "at least one rank"),
        (np.zeros((2, 2), int), TypeError, "must be float32 or float64"),
        (np.zeros((2, 2), np.float16), TypeError, "must be float32 or float64"),
        (np.zeros((2, 2), complex), TypeError, "must be float32 or float64"),
        (np.array([[1.0, np.nan]]), ValueError, "must be finite"),
        (np.array([[1.0, -np.inf]]), ValueError, "must be finite"),
        ([np.zeros(2), np.zeros(3)], TypeError, "rows of one length and dtype"),
        ([np.zeros(2), np.zeros(2, np.float32)], TypeError, "rows of one length and dtype"),
        ([], ValueError, r"must be \(P, n\)"),
    ],
)
def test_stacks_that_are_none_are_refused(stack, error, message):
    with pytest.raises(error, match=message):
        checked_stack(stack)


def test_non_finite_stacks_can_be_let_through():
    assert np.isnan(checked_stack(np.array([[np.nan]]), finite=False)).all()
