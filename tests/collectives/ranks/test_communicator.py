"""Ranks in threads: what they are left with, what is counted, and how programs that are wrong end."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from rank_programs import RANKS, WRONG, passes_on

from commbounds.collectives import Traffic
from commbounds.collectives.ranks import ThreadWorld, assembled, parcel
from commbounds.verify.pairing import Pairing, RankCase, compared

pytestmark = pytest.mark.kernels


def run(program, P=RANKS):
    """As `ThreadWorld.run`, but fails where that would hang."""
    ended = []

    def call():
        try:
            ended.append((ThreadWorld().run(program, P), None))
        except Exception as error:
            ended.append((None, error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(60)
    assert ended, "the ranks wait for one another"
    result, error = ended[0]
    if error is not None:
        raise error
    return result


# --- what is counted --------------------------------------------------------------------------------------------------


def test_what_arrives_and_what_it_took():
    results, traffic = run(passes_on)
    assert results == [[[0.0, 1.0], [2]], [[], [0]], [[0.0], [1]]]
    assert traffic.sent.tolist() == [1, 2, 3]
    assert traffic.received.tolist() == [3, 1, 2]
    assert traffic.messages.tolist() == [1, 2, 1]  # the empty one counts
    assert (traffic.steps, traffic.critical_path) == (2, 3)
    assert list(traffic.phases) == ["round", "silence"]
    assert traffic.phases["silence"].steps == 0


def test_a_program_that_says_nothing_has_no_traffic():
    for P in (1, 3):
        results, traffic = run(lambda comm: (comm.rank, comm.size), P)
        assert results == [(rank, P) for rank in range(P)]
        assert traffic.as_dict() == Traffic.none(P).as_dict()


def test_what_arrives_belongs_to_the_receiver():
    def program(comm):
        own = np.full(4, float(comm.rank))
        other = 1 - comm.rank
        arrived = comm.step({other: parcel(own)}, [other])[other].arrays[0]
        arrived += 10
        comm.told(None)
        return own.tolist(), arrived.tolist()

    results, _ = run(program, 2)
    assert results == [([0.0] * 4, [11.0] * 4), ([1.0] * 4, [10.0] * 4)]


def test_a_later_change_of_what_was_sent_is_not_seen():
    def program(comm):
        own = np.zeros(2)
        arrived = comm.step({1: parcel(own)} if comm.rank == 0 else {}, [0] if comm.rank == 1 else [])
        own += 1
        comm.told(None)
        return [a.arrays[0].tolist() for a in arrived.values()]

    assert run(program, 2)[0] == [[], [[0.0, 0.0]]]


def test_messages_come_in_the_order_asked_for():
    def program(comm):
        return list(comm.step({1: parcel()} if comm.rank != 1 else {}, [2, 0] if comm.rank == 1 else []))

    assert run(program)[0] == [[], [2, 0], []]


def test_what_is_told_is_not_counted():
    results, traffic = run(lambda comm: comm.told(comm.rank**2))
    assert results == [[0, 1, 4]] * 3
    assert traffic.steps == 0


def test_where_nobody_objects_every_rank_goes_on_with_its_own():
    assert run(lambda comm: comm.agreed(lambda: comm.rank + 1))[0] == [1, 2, 3]


# --- programs that are wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", WRONG, ids=lambda p: p.__name__)
def test_a_wrong_program_says_what_is_wrong(program):
    kind, part = WRONG[program]
    with pytest.raises(kind) as raised:
        run(program)
    assert part in str(raised.value)


def test_there_is_at_least_one_rank():
    with pytest.raises(ValueError, match="P must be at least 1, got 0"):
        run(passes_on, 0)


def test_records_in_which_words_vanish_are_refused():
    row = ("", 3, 3, 1, 0)
    assert assembled([([row], []), ([row], [])]).sent.tolist() == [3, 3]
    with pytest.raises(ValueError, match="as many words must be received"):
        assembled([([row], []), ([("", 3, 2, 1, 0)], [])])
    with pytest.raises(ValueError, match=r"as many steps, got \[1, 2\]"):
        assembled([([row], []), ([row, row], [])])


# --- a comparison can fail --------------------------------------------------------------------------------------------


def paired(apart):
    """Two ranks that exchange their vectors, in one process; and `apart`."""
    stack = np.array([[1.0, 0.0, np.nan], [3.0, 4.0, 5.0]])

    def together(case):
        both = [{"value": case.stack[1 - rank], "parts": (rank, [2])} for rank in range(2)]
        three, one = np.full((1, 2), 3), np.ones((1, 2), np.int64)
        return both, Traffic.of_phases({"only": Traffic.of_steps(three, three, one)})

    return Pairing("exchange", lambda P: iter([RankCase({"n": 3}, stack)]), together, apart)


def exchange(comm, case, change=lambda value: value, extra=0, steps=1, phase="only", **others):
    comm.phase(phase)
    other = 1 - comm.rank
    part = parcel(case.stack[comm.rank])
    arrived = comm.step({other: part._replace(words=part.words + extra)}, [other])
    for _ in range(steps - 1):
        comm.step()
    value = arrived[other].arrays[0]
    if comm.rank == 0:
        value = change(value)
    return {"value": value, "parts": (comm.rank, [2]), **others}


def flipped(array, entry, bit):
    changed = array.copy()
    changed.view(np.uint64)[entry] ^= np.uint64(1) << np.uint64(bit)
    return changed


def test_two_that_agree_differ_in_nothing():
    (found,) = compared(paired(exchange), 2, ThreadWorld())
    assert (found.name, found.case, found.P) == ("exchange", "n=3", 2)
    assert found.bits == found.traffic == found.difference == ""


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda v: flipped(v, 1, 0), "rank 0, value: np.float64(4.0) in one process, np.float64(4.00"),
        (lambda v: flipped(v, 2, 63), "at 2 (1 differ)"),
        (lambda v: v.astype(np.float32), "float64 (3,) in one process, float32 (3,) apart"),
        (lambda v: v[:2], "float64 (3,) in one process, float64 (2,) apart"),
        (lambda v: v.reshape(3, 1), "float64 (3,) in one process, float64 (3, 1) apart"),
    ],
    ids=["last bit", "sign", "dtype", "length", "shape"],
)
def test_a_difference_in_the_result_is_found(change, part):
    (found,) = compared(paired(lambda comm, case: exchange(comm, case, change)), 2, ThreadWorld())
    assert part in found.bits
    assert found.traffic == ""
    assert found.difference == found.bits


@pytest.mark.parametrize(
    ("ours", "theirs"), [([1.0, 0.0], [1.0, -0.0]), ([1.0, np.nan], [1.0, -np.nan])], ids=["zero", "nan"]
)
def test_signs_of_zero_and_of_nan_are_looked_at(ours, theirs):
    twin = paired(lambda comm, case: {**exchange(comm, case), "value": np.array(theirs)})
    expected, traffic = twin.together(next(twin.cases(2)))
    together = [{**outcome, "value": np.array(ours)} for outcome in expected]
    (found,) = compared(replace(twin, together=lambda case: (together, traffic)), 2, ThreadWorld())
    assert found.bits.startswith("rank 0, value: ")
    assert found.bits.endswith("at 1 (1 differ)")


@pytest.mark.parametrize(
    ("apart", "part"),
    [
        (lambda comm, case: {**exchange(comm, case), "parts": (comm.rank, [2, 3])}, "parts[1]: 1 parts"),
        (lambda comm, case: exchange(comm, case, more=1), "['value', 'parts'] in one process, ['value', 'parts', 'm"),
    ],
    ids=["tuples", "names"],
)
def test_a_difference_in_structure_is_found(apart, part):
    (found,) = compared(paired(apart), 2, ThreadWorld())
    assert part in found.bits


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"extra": 1}, "traffic, sent[0]: np.int64(3) in one process, np.int64(4) apart"),
        ({"steps": 2}, "traffic, steps: np.int64(1) in one process, np.int64(2) apart"),
        ({"phase": "other"}, "traffic, phases: ['only'] in one process, ['other'] apart"),
    ],
    ids=["word", "step", "phase"],
)
def test_a_difference_in_traffic_is_found(changes, part):
    (found,) = compared(paired(lambda comm, case: exchange(comm, case, **changes)), 2, ThreadWorld())
    assert found.bits == ""
    assert part in found.traffic
    assert found.difference == found.traffic
