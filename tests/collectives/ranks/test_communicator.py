"""Ranks in one thread, or one each: what they are left with, what is counted, how programs that are wrong end."""

import gc
import threading
import weakref
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from rank_programs import RANKS, WRONG, passes_on

from commbounds.collectives import Traffic
from commbounds.collectives.ranks import LockstepWorld, ThreadWorld, assembled, in_one_process, parcel
from commbounds.verify.pairing import Pairing, RankCase, compared

pytestmark = pytest.mark.kernels


def run_in(world, program, P=RANKS):
    """As `world.run`, but fails where that would hang."""
    ended = []

    def call():
        try:
            ended.append((world.run(program, P), None))
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


@pytest.fixture(params=[ThreadWorld, LockstepWorld], ids=["threads", "lockstep"])
def run(request):
    return partial(run_in, request.param())


# --- what is counted --------------------------------------------------------------------------------------------------


def test_what_arrives_and_what_it_took(run):
    results, traffic = run(passes_on)
    assert results == [[[0.0, 1.0], [2]], [[], [0]], [[0.0], [1]]]
    assert traffic.sent.tolist() == [1, 2, 3]
    assert traffic.received.tolist() == [3, 1, 2]
    assert traffic.messages.tolist() == [1, 2, 1]  # the empty one counts
    assert (traffic.steps, traffic.critical_path) == (2, 3)
    assert list(traffic.phases) == ["round", "silence"]
    assert traffic.phases["silence"].steps == 0


def test_a_program_that_says_nothing_has_no_traffic(run):
    for P in (1, 3):
        results, traffic = run(lambda comm: (comm.rank, comm.size), P)
        assert results == [(rank, P) for rank in range(P)]
        assert traffic.as_dict() == Traffic.none(P).as_dict()


def test_what_arrives_belongs_to_the_receiver(run):
    def program(comm):
        own = np.full(4, float(comm.rank))
        other = 1 - comm.rank
        arrived = comm.step({other: parcel(own)}, [other])[other].arrays[0]
        arrived += 10
        comm.allgather_object(None)
        return own.tolist(), arrived.tolist()

    results, _ = run(program, 2)
    assert results == [([0.0] * 4, [11.0] * 4), ([1.0] * 4, [10.0] * 4)]


def test_a_later_change_of_what_was_sent_is_not_seen(run):
    def program(comm):
        own = np.zeros(2)
        arrived = comm.step({1: parcel(own)} if comm.rank == 0 else {}, [0] if comm.rank == 1 else [])
        own += 1
        comm.allgather_object(None)
        return [a.arrays[0].tolist() for a in arrived.values()]

    assert run(program, 2)[0] == [[], [[0.0, 0.0]]]


def test_messages_come_in_the_order_asked_for(run):
    def program(comm):
        return list(comm.step({1: parcel()} if comm.rank != 1 else {}, [2, 0] if comm.rank == 1 else []))

    assert run(program)[0] == [[], [2, 0], []]


def test_what_is_told_is_not_counted(run):
    results, traffic = run(lambda comm: comm.allgather_object(comm.rank**2))
    assert results == [[0, 1, 4]] * 3
    assert traffic.steps == 0


def test_where_nobody_objects_every_rank_goes_on_with_its_own(run):
    assert run(lambda comm: comm.agreed(lambda: comm.rank + 1))[0] == [1, 2, 3]


# --- programs that are wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", WRONG, ids=lambda p: p.__name__)
def test_a_wrong_program_says_what_is_wrong(run, program):
    kind, part = WRONG[program]
    with pytest.raises(kind) as raised:
        run(program)
    assert part in str(raised.value)


def test_there_is_at_least_one_rank(run):
    with pytest.raises(ValueError, match="P must be at least 1, got 0"):
        run(passes_on, 0)


def test_records_in_which_words_vanish_are_refused():
    row = ("", 3, 3, 1, 0)
    assert assembled([([row], []), ([row], [])]).sent.tolist() == [3, 3]
    with pytest.raises(ValueError, match="as many words must be received"):
        assembled([([row], []), ([("", 3, 2, 1, 0)], [])])
    with pytest.raises(ValueError, match=r"as many steps, got \[1, 2\]"):
        assembled([([row], []), ([row, row], [])])


# --- in one thread ----------------------------------------------------------------------------------------------------


def test_every_rank_speaks_before_any_hears_and_always_in_order():
    seen = []

    def program(comm):
        for turn in range(3):
            seen.append((turn, comm.rank))
            comm.step()

    in_one_process(program, 4)
    assert seen == [(turn, rank) for turn in range(3) for rank in range(4)]


def test_where_a_rank_raises_the_others_leave_their_contexts_and_go_no_further():
    left, further = [], []

    def program(comm):
        try:
            comm.step()
            if comm.rank == 1:
                raise KeyError("lost the key")
            comm.step()
            further.append(comm.rank)
        finally:
            left.append(comm.rank)

    with pytest.raises(KeyError, match="lost the key"):
        in_one_process(program, 4)
    assert sorted(left) == [0, 1, 2, 3]
    assert further == []


def test_an_interruption_ends_the_run():
    def program(comm):
        if comm.rank == 1:
            raise KeyboardInterrupt
        comm.step()

    with pytest.raises(KeyboardInterrupt):
        in_one_process(program, 3)
    assert in_one_process(lambda comm: comm.allgather_object(comm.rank), 3)[0] == [[0, 1, 2]] * 3


class Kept:
    """Something that can be referred to weakly."""


def test_nothing_of_a_run_is_kept():
    seen = []

    def program(comm):
        own = Kept()
        seen.append(weakref.ref(own))
        comm.allgather_object(own)
        comm.step()
        return own

    results, _ = in_one_process(program, 5)
    assert all(ref() is not None for ref in seen)
    del results
    gc.collect()
    assert [ref() for ref in seen] == [None] * 5


def test_runs_within_runs_and_many_ranks():
    def program(comm):
        inner, _ = in_one_process(lambda below: below.allgather_object(10 * comm.rank + below.rank), 3)
        return comm.allgather_object(inner[0])

    for _ in range(2):
        assert in_one_process(program, 2)[0] == [[[0, 1, 2], [10, 11, 12]]] * 2
    results, traffic = in_one_process(lambda comm: comm.step() and comm.rank, 200)
    assert (len(results), traffic.steps) == (200, 1)
    assert in_one_process(program, 2)[0] == [[[0, 1, 2], [10, 11, 12]]] * 2


def test_numbers_that_overflow_are_treated_as_the_caller_wants():
    def program(comm):
        comm.step()
        return float(np.finfo(float).max * np.float64(2))

    with np.errstate(over="ignore"):
        assert in_one_process(program, 2)[0] == [np.inf] * 2
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        in_one_process(program, 2)


def draws(rng, common):
    """What every rank computes two times from one generator."""
    return lambda comm: [(comm.common if common else comm.agreed)(lambda: rng.integers(2**40)) for _ in range(2)]


def test_what_is_common_to_ranks_with_one_caller_is_computed_once():
    first, second = np.random.default_rng(1).integers(2**40, size=2)
    assert in_one_process(draws(np.random.default_rng(1), True), 3)[0] == [[first, second]] * 3
    others = LockstepWorld().run(draws(np.random.default_rng(1), True), 3)[0]
    assert others == LockstepWorld().run(draws(np.random.default_rng(1), False), 3)[0]
    assert len({value for own in others for value in own}) == 6


def test_what_is_common_is_refused_on_all_ranks(run):
    def refusing(comm):
        def refuse():
            raise ValueError(f"refused by {comm.rank}")

        with pytest.raises(ValueError, match="refused by 0"):
            comm.common(refuse)
        return True

    assert run(refusing)[0] == [True] * RANKS


# --- a comparison can fail --------------------------------------------------------------------------------------------


def paired(program):
    """Two ranks that exchange their vectors, in one process; and `apart`."""
    stack = np.array([[1.0, 0.0, np.nan], [3.0, 4.0, 5.0]])

    def collective(case):
        both = [{"value": case.stack[1 - rank], "parts": (rank, [2])} for rank in range(2)]
        three, one = np.full((1, 2), 3), np.ones((1, 2), np.int64)
        return both, Traffic.of_phases({"only": Traffic.of_steps(three, three, one)})

    return Pairing("exchange", lambda P: iter([RankCase({"n": 3}, stack)]), collective, program)


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
    expected, traffic = twin.collective(next(twin.cases(2)))
    collective = [{**outcome, "value": np.array(ours)} for outcome in expected]
    (found,) = compared(replace(twin, collective=lambda case: (collective, traffic)), 2, ThreadWorld())
    assert found.bits.startswith("rank 0, value: ")
    assert found.bits.endswith("at 1 (1 differ)")


@pytest.mark.parametrize(
    ("program", "part"),
    [
        (lambda comm, case: {**exchange(comm, case), "parts": (comm.rank, [2, 3])}, "parts[1]: 1 parts"),
        (lambda comm, case: exchange(comm, case, more=1), "['value', 'parts'] in one process, ['value', 'parts', 'm"),
    ],
    ids=["tuples", "names"],
)
def test_a_difference_in_structure_is_found(program, part):
    (found,) = compared(paired(program), 2, ThreadWorld())
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
