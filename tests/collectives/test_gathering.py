"""Blocks on their way to every rank."""

import numpy as np
import pytest

from commbounds.collectives.dense.gathering import _replay, _replayed, gather_blocks
from commbounds.collectives.dense.messages import backwards, bruck, direct, doubling, gather_messages, ring

pytestmark = pytest.mark.kernels

ALGORITHMS = ("ring", "recursive-doubling", "bruck")


@pytest.mark.parametrize("messages", [ring, bruck, doubling, direct, lambda P: ring(P, -1)])
@pytest.mark.parametrize("P", [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 64, 100])
def test_every_rank_ends_with_every_block_and_gets_none_twice(messages, P):
    (_, received, _), held = _replayed(np.arange(P), messages(P))
    assert held.all()
    assert received.sum(axis=0).tolist() == [P * (P - 1) // 2 - r for r in range(P)]


@pytest.mark.parametrize("messages", [ring, bruck, doubling, direct])
@pytest.mark.parametrize("P", [1, 2, 3, 6, 8, 13])
def test_in_a_step_a_rank_sends_once_and_receives_once_at_most(messages, P):
    for step in range(P):
        rows = messages(P)[messages(P)[:, 0] == step]
        assert len(set(rows[:, 1])) == len(set(rows[:, 2])) == len(rows)
        assert (rows[:, 1] != rows[:, 2]).all()


@pytest.mark.parametrize("messages", [ring, bruck, doubling, direct])
@pytest.mark.parametrize("P", [1, 2, 5, 8])
def test_backwards_twice_is_the_way_it_was(messages, P):
    forth = messages(P)
    there = backwards(forth)
    assert (np.diff(there[:, 0]) >= 0).all()
    assert (backwards(there) == forth).all()


def test_who_lacks_a_block_cannot_send_it():
    # rank 1 is asked for block 0, which it does not have: a message without words
    (sent, _, count), held = _replayed(np.array([5, 3]), np.array([[0, 1, 0, 0, 1]]))
    assert sent.tolist() == [[0, 0]]
    assert count.tolist() == [[0, 1]]
    assert not held[0, 1]


def test_what_arrives_in_a_step_is_not_passed_on_in_it():
    # one step: 0 to 1, 1 to 2, both asked for block 0
    _, held = _replayed(np.ones(3, np.int64), np.array([[0, 0, 1, 0, 1], [0, 1, 2, 0, 1]]))
    assert held[1, 0]
    assert not held[2, 0]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_words_beyond_32_bits(algorithm):
    sizes = [2**40, 1, 2**33, 0, 5]
    small = gather_blocks([0, 1, 0, 0, 5], algorithm)
    traffic = gather_blocks(sizes, algorithm)
    assert traffic.received.tolist() == [sum(sizes) - s for s in sizes]
    assert traffic.messages.tolist() == small.messages.tolist()
    assert traffic.sent.sum() == 4 * sum(sizes)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_rank_says_nothing(algorithm):
    assert gather_blocks([3], algorithm).as_dict() == {
        "sent": [0],
        "received": [0],
        "messages": [0],
        "steps": 0,
        "critical_path": 0,
    }


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_kernel_is_its_python(algorithm):
    for P in (1, 5, 8):
        words, messages = np.arange(P), gather_messages(P, algorithm)
        results = []
        for replay in (_replay, getattr(_replay, "py_func", _replay)):
            held, counts = np.eye(P, dtype=bool), np.zeros((3, P + 2, P), np.int64)
            replay(words, messages, held, *counts)
            results.append((held.tolist(), counts.tolist()))
        assert results[0] == results[1]


def test_sizes_of_any_integer_type_are_not_changed():
    sizes = np.array([3, 1, 2], np.uint8)[::-1]
    sizes.flags.writeable = False
    assert gather_blocks(sizes).as_dict() == gather_blocks([2, 1, 3]).as_dict()
    assert sizes.tolist() == [2, 1, 3]


@pytest.mark.parametrize(
    ("sizes", "algorithm", "error", "message"),
    [
        ([], "ring", ValueError, "sizes must be a vector with one entry for every rank"),
        ([[1, 2]], "ring", ValueError, r"got shape \(1, 2\)"),
        ([1.0, 2.0], "ring", TypeError, "sizes must be integers, got float64"),
        ([True], "ring", TypeError, "sizes must be integers, got bool"),
        ([1, -2], "ring", ValueError, "sizes must not be negative, got -2"),
        ([2**62, 1], "ring", ValueError, "sizes must add up to less than"),
        ([1, 2], "tree", ValueError, "algorithm must be one of ring, recursive-doubling, bruck, got 'tree'"),
    ],
    ids=str,
)
def test_what_is_refused(sizes, algorithm, error, message):
    with pytest.raises(error, match=message):
        gather_blocks(sizes, algorithm)
