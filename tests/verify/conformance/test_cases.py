"""Cases: the same for every claim, of every shape however little effort there is, and none that a claim can change."""

import signal
import time

import ml_dtypes
import numpy as np
import pytest

from commbounds.verify import conformance as cf
from commbounds.verify.conformance.budgets import BUDGETS
from commbounds.verify.conformance.calls import TimedOut, called, timer_ready
from commbounds.verify.conformance.cases import Cases
from commbounds.verify.conformance.claim import Sure
from commbounds.verify.conformance.inputs import corpus


def same(x, seed):
    return x.copy()


def memory(seed):
    return lambda x: same(x, seed)


def subject(kind=cf.Codec, **options):
    return kind(memory if kind is cf.Stateful else same, [], **options)


@pytest.mark.parametrize("kind", [cf.Codec, cf.AllReduce, cf.Stateful])
@pytest.mark.parametrize("effort", [0.02, 0.2, 0.5])
def test_little_effort_leaves_a_share_of_the_cases_and_one_of_every_shape_and_kind(kind, effort):
    whole = list(corpus(subject(kind), BUDGETS["quick"]))
    few = list(Cases(subject(kind, effort=effort), BUDGETS["quick"], 0).hostile())
    labels = {case.label for case in few}
    firsts, seen = set(), {""}
    for case in whole:
        if not {case.x.shape, case.kind} <= seen:
            firsts.add(case.label)
        seen |= {case.x.shape, case.kind}
    assert firsts <= labels
    # every other case is kept with probability `effort`: beyond five standard deviations once in a million
    spare, kept = len(whole) - len(firsts), len(few) - len(firsts)
    assert abs(kept - effort * spare) <= 5 * np.sqrt(effort * spare)


def test_every_kind_of_run_is_taken_with_little_effort_where_it_is_not_zero():
    few = Cases(subject(cf.Stateful, effort=0.01, shape=(5, 5)), BUDGETS["quick"], 0).hostile()
    kinds = {case.kind for case in few if case.x.any()}
    ways = ("constant for", "sign changing for", "zero first,", "wave with a zero,", "turning for")
    assert {f"{way} {steps} steps" for way in ways for steps in (3, 8, 64)} <= kinds


def test_full_effort_leaves_all_cases_in_their_order():
    whole = [case.label for case in corpus(subject(), BUDGETS["quick"])]
    cases = Cases(subject(), BUDGETS["quick"], 0)
    assert [case.label for case in cases.hostile()] == whole
    assert [case.label for case in cases.hostile()] == whole


def test_what_is_kept_is_what_the_search_comes_up_with():
    cases, seen = Cases(subject(), BUDGETS["quick"], 3), []
    cases.searched(seen.append)
    key = [(case.x.tobytes(), case.seed) for case in seen]
    assert key == [(case.x.tobytes(), case.seed) for case in cases.generated]
    assert len(key) > 40


def test_a_claim_cannot_change_a_case_for_the_next_one():
    case = next(Cases(subject(), BUDGETS["quick"], 0).hostile())
    with pytest.raises(ValueError, match="read-only"):
        case.x[0] = 1.0


class Short(Sure):
    about = ("compressor",)

    def violation(self, bench, case):
        return f"{case.x.size} entries" if 40 < case.x.size < 300 else None

    def __str__(self):
        return "Short()"


def test_a_failure_among_generated_cases_is_made_small_by_the_search():
    assert cf.check(cf.Codec(same, [Short()]), only=["Short"])["Short"].message == "41 entries"


def test_the_timer_stops_a_call_and_leaves_the_alarm_as_it_was():
    before = signal.getsignal(signal.SIGALRM)
    for _ in range(2):
        with pytest.raises(TimedOut, match=r"within 0\.05 s"):
            called(time.sleep, 5, limit=0.05)
        assert signal.getsignal(signal.SIGALRM) is before
    with timer_ready():
        assert signal.getsignal(signal.SIGALRM) is not before
        with timer_ready(), pytest.raises(TimedOut):
            called(time.sleep, 5, limit=0.05)
        assert called(same, np.zeros(2), 0, limit=1.0).size == 2
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


class Growing:
    """Answers relative to the largest magnitude that it has seen."""

    def __init__(self):
        self.top = 0.0

    def __call__(self, x, seed):
        self.top = max(self.top, float(np.abs(x).max()))
        return (x * np.float32(self.top > 2.5)).astype(x.dtype)


def test_a_memory_of_magnitudes_shows_in_the_order_of_calls():
    report = cf.check(cf.Codec(Growing(), [], shape=(3,)), only=["order of calls does not matter"])
    assert report.failures, report


def labels(**options):
    return {case.label: case.x for case in Cases(subject(**options), BUDGETS["quick"], 0).hostile()}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_ties_are_ties_of_every_narrower_format_between_the_magnitudes(dtype):
    x = labels(dtype=dtype, magnitudes=(1e3, 1e5), effort=0.02)["ties of narrower formats"]
    assert np.abs(x).min() >= 1e3
    assert np.abs(x).max() <= 1e5
    significands = 2.0 * np.abs(np.frexp(x.astype(np.float64))[0])  # in [1, 2)
    for narrow in (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        bits = ml_dtypes.finfo(narrow).nmant
        if bits < ml_dtypes.finfo(subject(dtype=dtype).numpy_dtype).nmant:
            assert (significands * 2.0**bits % 1.0 == 0.5).any(), narrow


def test_the_ends_of_ranges_are_tried_where_they_are_taken():
    tops = {np.abs(x.astype(np.float64)).max() for x in labels().values()}
    assert {448.0, 464.0, 65504.0, 65520.0, float(np.finfo(np.float32).max)} <= tops
    tops = {np.abs(x.astype(np.float64)).max() for x in labels(magnitudes=(0.01, 65504.0), effort=0.02).values()}
    assert max(tops) == 65504.0
    assert np.float32(0.01) * (1 + 2.0**-22) >= min(tops - {0.0}) >= 0.01


def test_quick_leads_memories_through_few_steps():
    runs = [case.x for case in corpus(subject(cf.Stateful), BUDGETS["quick"])]
    assert {len(x) for x in runs} == {3, 8, 64}
    assert sum(map(len, runs)) < 8000
