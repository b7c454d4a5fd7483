import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from commbounds.compressors import _blocks
from commbounds.compressors._blocks import for_blocks, run_all, spans


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("align", [1, 64, 1000])
def test_spans_cover_the_range_in_order_and_aligned(threads, align, monkeypatch):
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 10)
    monkeypatch.setattr(_blocks, "get_num_threads", lambda: threads)
    for size in (1, 9, 10, 63, 64, 65, 999, 1000, 1001, 123_456):
        cuts = spans(size, align)
        assert [i for start, stop in cuts for i in (start, stop)][::2] == [0] + [stop for _, stop in cuts[:-1]]
        assert cuts[-1][1] == size
        assert len(cuts) <= (threads if size >= 10 else 1)
        assert all(start < stop and start % align == 0 for start, stop in cuts)


@pytest.mark.parametrize("serial_below", [1, 10**6])
def test_blocks_are_visited_once_each(serial_below, monkeypatch):
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", serial_below)
    monkeypatch.setattr(_blocks, "get_num_threads", lambda: 3)
    visited = []
    for_blocks(1001, lambda start, stop: visited.append((start, stop)), 100)
    assert sorted(visited) == [(start, min(start + 100, 1001)) for start in range(0, 1001, 100)]


def test_jobs_run_on_threads_of_their_own_once_that_pays(monkeypatch):
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 100)
    for size, expected in ((99, 1), (100, 3)):
        names = set()
        meet = threading.Barrier(expected)

        def job(names=names, meet=meet):
            meet.wait(timeout=60)
            names.add(threading.current_thread().name)

        run_all([job] * 3, size)
        assert len(names) == expected
        assert threading.current_thread().name in names


@pytest.mark.parametrize("failing", [0, 1])
def test_an_exception_in_a_job_reaches_the_caller(failing, monkeypatch):
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 1)

    def job(p):
        if p == failing:
            raise RuntimeError("of the job")

    with pytest.raises(RuntimeError, match="of the job"):
        run_all([lambda: job(0), lambda: job(1)], 10)


def test_jobs_that_wait_for_a_thread_are_done_by_the_caller(monkeypatch):
    # the only helper is busy until all jobs are done: so is a pool that a fork left without threads
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 1)
    busy, done = threading.Event(), []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(busy.wait, 60)
        monkeypatch.setattr(_blocks, "_helpers", lambda count: pool)
        run_all([lambda j=j: done.append((j, threading.current_thread())) for j in range(3)], 10)
        busy.set()
    assert done == [(j, threading.current_thread()) for j in range(3)]


def test_a_job_that_has_begun_ends_before_an_exception_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 1)
    begun, ended = threading.Event(), []

    def fails():
        assert begun.wait(60)
        raise RuntimeError("of the first job")

    def slow():
        begun.set()
        time.sleep(0.2)
        ended.append(True)

    with pytest.raises(RuntimeError, match="of the first job"):
        run_all([fails, slow], 10)
    assert ended == [True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_child_has_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 1)
    run_all([lambda: None] * 3, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that the parent has threads is the point
        child = os.fork()
    if child == 0:
        meet = threading.Barrier(3)
        try:
            run_all([lambda: meet.wait(60)] * 3, 10)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
