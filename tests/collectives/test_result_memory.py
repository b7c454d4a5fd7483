"""Memory of large results is used again, and never while somebody can see it."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from commbounds.collectives import recursive_doubling_allreduce, ring_allreduce
from commbounds.collectives.dense import result_memory
from commbounds.collectives.dense.result_memory import uninitialised

pytestmark = pytest.mark.kernels


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(result_memory, "LEAST", 64)
    monkeypatch.setattr(result_memory, "MOST", 4096)
    result_memory._KEPT.clear()
    yield
    result_memory._KEPT.clear()


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_comes_back_once_nobody_refers_to_it(dtype):
    array = uninitialised((4, 16), dtype)
    assert array.shape == (4, 16)
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.flags.writeable
    first = address(array)
    del array
    assert len(result_memory._KEPT) == 1
    again = uninitialised((16, 4), dtype)
    assert address(again) == first
    assert not result_memory._KEPT


@pytest.mark.parametrize(
    "view", [lambda a: a[0], lambda a: a.T[3:, ::2], lambda a: a.reshape(-1).view(np.uint8), memoryview, np.asarray]
)
def test_a_view_keeps_the_memory(view):
    array = uninitialised((4, 16), np.float32)
    array[:] = 7
    seen = view(array)
    before = np.asarray(seen).tolist()
    del array
    other = uninitialised((4, 16), np.float32)
    other[:] = 9
    assert np.asarray(seen).tolist() == before
    del seen, other
    assert len(result_memory._KEPT) == 1  # of two blocks that came back, one stays


@pytest.mark.parametrize(("entries", "kept"), [(15, 0), (16, 1), (1024, 1), (1025, 0)])
def test_small_and_huge_results_are_not_kept(entries, kept):
    uninitialised((entries,), np.float32)
    assert len(result_memory._KEPT) == kept


def test_memory_of_another_size_is_let_go():
    uninitialised((32,), np.float32)
    assert uninitialised((33,), np.float32).shape == (33,)
    assert [block.size for block in result_memory._KEPT] == [132]


@pytest.mark.parametrize("allreduce", [ring_allreduce, recursive_doubling_allreduce])
def test_results_are_the_same_in_memory_that_was_used(allreduce):
    stacks = [np.random.default_rng(seed).standard_normal((3, 50), np.float32) for seed in range(4)]
    one_by_one = [allreduce(stack)[0].tobytes() for stack in stacks]
    assert len(result_memory._KEPT) == 1
    together = [allreduce(stack)[0] for stack in stacks]
    assert [result.tobytes() for result in together] == one_by_one
    assert len({address(result) for result in together}) == 4


def test_threads_never_share_a_result():
    def stays(seed):
        stack = np.random.default_rng(seed).standard_normal((3, 300), np.float32)
        result = ring_allreduce(stack)[0]
        before = result.tobytes()
        return ring_allreduce(2 * stack)[0].tobytes() != before == result.tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(stays, range(200)))
