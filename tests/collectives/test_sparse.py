"""Sparse all-reduces: what they accept and refuse, single facts by hand, kernels without the JIT."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commbounds.collectives import (
    COLLECTIVES,
    gaussiank_allreduce,
    gtopk_allreduce,
    spardl_allreduce,
    topk_allgather,
    topk_dsa,
)
from commbounds.collectives.sparse import entries as shared
from commbounds.collectives.sparse import gaussiank as gaussiank_module
from commbounds.collectives.sparse import spardl as spardl_module

pytestmark = pytest.mark.kernels

REDUCES = (topk_allgather, topk_dsa, gtopk_allreduce, gaussiank_allreduce, spardl_allreduce)
EVERY = pytest.mark.parametrize("reduce", REDUCES, ids=lambda f: f.__name__)


def normal(P, n, seed=0):
    return np.random.default_rng(seed).standard_normal((P, n))


def same(a, b):
    (first, traffic), (second, again) = a, b
    assert np.array_equal(first.update, second.update)
    assert np.array_equal(first.residual, second.residual)
    assert all(np.array_equal(s, t) for s, t in zip(first.selected, second.selected, strict=True))
    assert traffic.as_dict() == again.as_dict()


@EVERY
def test_registered_under_its_name(reduce):
    assert COLLECTIVES[reduce.__name__] is reduce


@EVERY
def test_what_is_refused(reduce):
    good = np.ones((2, 4))
    for stack, error, message in (
        (np.ones(4), ValueError, r"\(P, n\)"),
        (np.ones((0, 4)), ValueError, "at least one rank and one entry"),
        (np.ones((2, 0)), ValueError, "at least one rank and one entry"),
        ([np.ones(3), np.ones(4)], TypeError, "one length and dtype"),
        ([np.ones(3), np.ones(3, np.float32)], TypeError, "one length and dtype"),
        (np.ones((2, 4), np.float16), TypeError, "float32 or float64"),
        (np.ones((2, 4), np.int64), TypeError, "float32 or float64"),
        (np.array([[1.0, np.nan]]), ValueError, "finite"),
        (np.array([[1.0, -np.inf]]), ValueError, "finite"),
    ):
        with pytest.raises(error, match=message):
            reduce(stack, 1)
    for k, error in ((0, ValueError), (5, ValueError), (-1, ValueError), (1.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="k must be"):
            reduce(good, k)


@pytest.mark.parametrize(
    ("reduce", "options", "error", "message"),
    [
        (topk_allgather, {"allgather": "tree"}, ValueError, "tree"),
        (topk_dsa, {"allgather": "tree"}, ValueError, "tree"),
        (topk_dsa, {"switch": "always"}, ValueError, "switch must be one of model, code, never, got 'always'"),
        (gtopk_allreduce, {"putback": True}, TypeError, "putback must be a string, got True"),
        (gtopk_allreduce, {"putback": "none"}, ValueError, "putback must be one of"),
        (gaussiank_allreduce, {"adapt": "bert"}, ValueError, "adapt must be one of none, vgg, lstm"),
        (gaussiank_allreduce, {"allgather": "tree"}, ValueError, "tree"),
        (spardl_allreduce, {"teams": 0}, ValueError, r"teams must be in \[1, 6\], got 0"),
        (spardl_allreduce, {"teams": 4}, ValueError, "teams must divide the number of ranks, 6, got 4"),
        (spardl_allreduce, {"teams": 3}, ValueError, "teams must be a power of two for r-sag, got 3"),
        (spardl_allreduce, {"synchronise": "sag"}, ValueError, "synchronise must be one of r-sag, b-sag"),
        (spardl_allreduce, {"teams": 2, "sag_entries": 1}, ValueError, "sag_entries must be None but for b-sag"),
        (spardl_allreduce, {"teams": 3, "synchronise": "b-sag", "sag_entries": 1}, ValueError, r"in \[2, 4\], got 1"),
        (spardl_allreduce, {"teams": 3, "synchronise": "b-sag", "sag_entries": 5}, ValueError, r"in \[2, 4\], got 5"),
    ],
)
def test_what_options_are_refused(reduce, options, error, message):
    with pytest.raises(error, match=message):
        reduce(np.ones((6, 12)), 8, **options)


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_layout_gives_the_same_and_nothing_is_changed(reduce, dtype):
    x = normal(5, 17).astype(dtype)
    want = reduce(x, 6)
    locked = x.copy()
    locked.flags.writeable = False
    same(want, reduce(locked, 6))
    same(want, reduce(list(x), 6))
    same(want, reduce(np.asfortranarray(x), 6))
    same(want, reduce(np.repeat(x, 2, axis=1)[:, ::2], 6))
    same(want, reduce(x.astype(x.dtype.newbyteorder()), 6))
    assert np.array_equal(x, locked)
    assert want[0].update.dtype == want[0].residual.dtype == dtype


@EVERY
def test_results_share_no_memory_with_the_input(reduce):
    x = normal(3, 8)
    result, _ = reduce(x, 3)
    assert not np.shares_memory(result.residual, x)
    assert not np.shares_memory(result.update, x)


@EVERY
def test_one_rank_says_nothing_and_reduces_itself(reduce):
    x = normal(1, 9)
    result, traffic = reduce(x, 4)
    assert traffic.sent.tolist() == traffic.received.tolist() == traffic.messages.tolist() == [0]
    assert traffic.steps == traffic.critical_path == 0
    assert np.array_equal(result.update + result.residual[0], x[0])
    if reduce is not gaussiank_allreduce:
        assert result.update.nonzero()[0].tolist() == sorted(np.argsort(-np.abs(x[0]))[:4].tolist())


@EVERY
def test_a_single_entry(reduce):
    result, _ = reduce(np.array([[2.0], [-3.0], [2.5]]), 1)
    assert result.update[0] + result.residual.sum() == 1.5


@EVERY
@given(st.integers(2, 9), st.integers(1, 30), st.integers(0, 1000), st.data())
def test_on_average_a_rank_receives_the_lower_bound(reduce, P, n, seed, data):
    k = data.draw(st.integers(1, n))
    options = {"switch": "never"} if reduce is topk_dsa else {}
    # normal values: no two are equal, and no sum is a value
    result, traffic = reduce(normal(P, n, seed), k, **options)
    words = traffic.only("split", "allgather", "reduce", "broadcast", "reduce-scatter", "synchronise")
    received = (words if traffic.phases else traffic).received
    assert received.sum() >= 2 * np.count_nonzero(result.update) * (P - 1)


def test_ties_go_to_the_lowest_index():
    ones = np.ones((3, 6))
    for reduce in (topk_allgather, topk_dsa, gtopk_allreduce):
        result, _ = reduce(ones, 2)
        assert result.update.tolist() == [3.0, 3.0, 0.0, 0.0, 0.0, 0.0]
    # block by block
    assert spardl_allreduce(ones, 3)[0].update.tolist() == [3.0, 0.0, 3.0, 0.0, 3.0, 0.0]


def test_what_zeros_cost():
    zeros = np.zeros((4, 8))
    assert topk_allgather(zeros, 2)[1].received.tolist() == [12] * 4  # messages of fixed size
    assert gtopk_allreduce(zeros, 2)[1].critical_path == 16
    assert spardl_allreduce(zeros, 4)[1].received.tolist() == [12] * 4
    assert topk_dsa(zeros, 2)[1].only("split", "allgather").received.tolist() == [0] * 4
    assert gaussiank_allreduce(zeros, 2)[1].only("allgather").received.tolist() == [0] * 4


def test_a_sum_that_cancels_is_sent_all_the_same():
    result, traffic = topk_dsa(np.array([[1.0, 0, 0, 0, 0, 0], [-1.0, 0, 0, 0, 0, 0]]), 1)
    assert not result.update.any()
    assert not result.residual.any()
    assert traffic.only("allgather").received.tolist() == [0, 2]


def test_when_blocks_travel_densely():
    x = np.zeros((2, 12))
    x[:, :4] = 1.0
    for count, model, code in ((3, False, False), (4, False, True), (6, True, True)):
        x[:, :] = 0.0
        x[:, :count] = 1.0
        assert ("dense" in topk_dsa(x, count, switch="model")[1].phases) is model
        assert ("dense" in topk_dsa(x, count, switch="code")[1].phases) is code
        assert "dense" not in topk_dsa(x, count, switch="never")[1].phases


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="four million entries are for compiled kernels")
def test_hot_layers_break_the_printed_bound():
    """64 ranks, n = 65536, k = 640: (2k + n)(P - 1)/P = 65772 words, and one region that all ranks select from."""
    P, n, k = 64, 65536, 640
    x = np.zeros((P, n), np.float32)
    x[:, : n // P] = np.random.default_rng(0).standard_normal((P, n // P))
    _, traffic = topk_dsa(x, k)
    assert traffic.only("split").received.max() == 2 * k * (P - 1) == 80640
    assert traffic.only("split", "allgather").critical_path > (2 * k + n) * (P - 1) / P == 65772


def test_gtopk_loses_what_a_merge_drops_unless_it_is_kept():
    x = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    for putback, left in (("published", [2.0, 0.0]), ("conserving", [2.0, 1.0])):
        result, _ = gtopk_allreduce(x, 1, putback=putback)
        assert result.update.tolist() == [0.0, 3.0]
        assert result.residual.sum(axis=0).tolist() == left


def test_spardl_rounds_k_down_and_may_send_nothing():
    x = normal(7, 1000)
    result, traffic = spardl_allreduce(x, 240)
    assert np.count_nonzero(result.update) == 238
    assert set(traffic.sent) == set(traffic.received) == {4 * 34 * 6}
    result, traffic = spardl_allreduce(x, 6)
    assert not result.update.any()
    assert np.array_equal(result.residual, x)
    assert traffic.received.tolist() == [0] * 7
    assert traffic.steps == 6


def test_gaussiank_adapts_its_threshold():
    x = np.random.default_rng(0).laplace(size=(1, 20_000))
    k = 200
    counts = {adapt: gaussiank_allreduce(x, k, adapt=adapt)[0].selected[0].size for adapt in ("none", "vgg", "lstm")}
    assert counts["none"] > 2 * k  # Laplace tails select about 2.6 k
    assert 3 * k <= 4 * counts["vgg"] <= 5 * k
    assert counts["lstm"] == counts["none"]  # never raised
    spike = np.zeros((1, 20_000))
    spike[0, ::300] = 1.0
    assert gaussiank_allreduce(spike, 100)[0].selected[0].size == 67
    assert gaussiank_allreduce(1e-3 * np.sign(x) + spike, 100, adapt="lstm")[0].selected[0].size >= 67


def test_gaussiank_takes_the_largest_numbers():
    x = np.array([[1e308, -1e308, 1e300, 0.0, 1.0, 2.0, 3.0, 4.0]])
    result, _ = gaussiank_allreduce(x, 2)
    assert np.isfinite(result.thresholds).all()
    assert result.selected[0].tolist() == [0, 1]
    tiny, _ = gaussiank_allreduce(np.array([[1e-300, 0.0, 0.0, 0.0]]), 1)
    assert tiny.selected[0].tolist() == [0]


def test_gaussiank_passes_all_or_nothing_where_entries_are_equal():
    assert gaussiank_allreduce(np.full((1, 5), 2.0), 1)[0].selected[0].size == 0
    assert gaussiank_allreduce(np.full((1, 5), -2.0), 1)[0].selected[0].size == 5


@EVERY
def test_sums_may_overflow(reduce):
    x = np.full((4, 4), 3e38, np.float32) * np.array([[1], [1], [-1], [-1]], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        result, traffic = reduce(x, 4)
    assert result.update.shape == (4,)
    assert (traffic.received >= 0).all()


@EVERY
def test_threads_do_not_matter(reduce):
    x = normal(2, 1200 if numba.config.DISABLE_JIT else 3 << 19)  # long enough for several threads
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = reduce(x, 1000)
        numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
        same(one, reduce(x, 1000))
    finally:
        numba.set_num_threads(before)


def plain(function):
    """The kernel as plain Python, where it is compiled at all."""
    return getattr(function, "py_func", function)


@given(st.lists(st.sampled_from([*range(-3, 4), np.inf, -np.inf, np.nan]), min_size=1, max_size=12), st.data())
def test_the_largest_are_marked_and_leave_a_block(values, data):
    """NaN is as large as infinity, and the first of equals goes first."""
    row, k = np.array(values, np.float64), data.draw(st.integers(0, len(values) + 1))
    magnitudes = [np.inf if np.isnan(v) else abs(v) for v in values]
    largest = sorted(sorted(range(row.size), key=lambda i: -magnitudes[i])[:k])
    marks = shared.largest_marked(row, k)
    assert np.flatnonzero(marks).tolist() == largest
    padded = np.concatenate([[9.0], row, [9.0]])
    entries = spardl_module._largest_of_block(padded, np.array([0, 1, row.size + 1, row.size + 2]), 1, k)
    assert entries.indices.tolist() == [1 + i for i in largest]
    np.testing.assert_array_equal(entries.values, row[largest])
    np.testing.assert_array_equal(padded, [9.0, *np.where(marks, 0, row), 9.0])


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_merging_and_moments_as_plain_python(a, b):
    ia, ib = (np.array(sorted(s), np.int64) for s in (a, b))
    va, vb = ia + 0.5, ib * -0.25
    results = []
    for add in (shared._add, plain(shared._add)):
        indices, values = np.empty(ia.size + ib.size, np.int64), np.empty(ia.size + ib.size)
        count = add(ia, va, ib, vb, indices, values)
        results.append((indices[:count].tolist(), values[:count].tolist()))
    assert results[0] == results[1]
    assert results[0][0] == sorted(a | b)
    x = np.array([1.5, -2.0, *va])
    assert gaussiank_module._moments(x, 2.0) == plain(gaussiank_module._moments)(x, 2.0)


def test_what_is_not_a_number_counts_as_infinite():
    values = np.array([1.0, np.nan, 3.0])
    kept, dropped = shared.strongest(shared.Entries(np.arange(3), values), 1)
    assert kept.indices.tolist() == [1]
    assert dropped.indices.tolist() == [0, 2]
