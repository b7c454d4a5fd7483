"""ARC-Top-K: against the naive twin, its exact expectations, agreement of the ranks, words, bad input."""

import math
from fractions import Fraction

import numba
import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from printed import printed

from commbounds.collectives import (
    arctopk_allreduce,
    kept_of_orthogonal_rows,
    kept_of_planar_rows,
    recursive_doubling_allreduce,
    row_count,
)
from commbounds.collectives.arctopk.law import _kept_at, sectors
from commbounds.collectives.arctopk.steps import selected_rows
from commbounds.theory import claims
from commbounds.verify.definitions.arctopk import own_rows, planar_error

pytestmark = pytest.mark.kernels
RNG = np.random.default_rng(5)


def test_ties_go_to_the_lower_row():
    stack = np.ones((2, 5, 3), np.float32)
    assert arctopk_allreduce(stack, 2, 1, np.random.default_rng(0))[0].rows.tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("low", "high"), [(1e-200, 1e-170), (1e-170, 1.0), (1e190, 1e200), (1.0, 1e200), (0.0, 5e-324)]
)
def test_rows_whose_scores_leave_the_range_are_told_apart(low, high):
    gradients = np.array([[low], [high], [2 * low], [0.0], [high]])[None].repeat(2, axis=0)
    for K, rows in ((1, [1]), (2, [1, 4]), (3, [1, 2, 4] if low else [0, 1, 4])):
        result, _ = arctopk_allreduce(gradients, K, 1, sketch=[[1.0]])
        assert result.rows.tolist() == [rows, rows]
        assert not np.isnan(result.scores).any()


def test_rows_whose_sketches_overflow_in_the_sum_come_first():
    gradients = np.array([[1.0], [1.7e308], [3.0]])[None].repeat(2, axis=0)
    with np.errstate(over="ignore"):
        result, _ = arctopk_allreduce(gradients, 2, 1, sketch=[[1.0]])
    assert result.rows.tolist() == [[1, 2], [1, 2]]


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_scores_are_the_squared_norms_bit_for_bit_where_these_are_in_range(m, rank, seed):
    sums = np.random.default_rng(seed).standard_normal((2, m, rank)) * 10.0 ** np.random.default_rng(seed).integers(
        -9, 9
    )
    rows, scores = selected_rows(sums, 3, (m + 1) // 2)
    squares = np.square(sums / 3).sum(axis=-1)
    assert scores.tobytes() == squares.tobytes()
    assert np.array_equal(rows, np.sort(np.argsort(-squares, axis=-1, kind="stable")[:, : (m + 1) // 2], axis=-1))


def test_the_three_by_two_example_in_closed_form():
    w = sp.Rational(3, 5)
    exact = claims()["arctopk.allreduce.parallel_and_one"].bound(m=3, odd_square=w) * (2 + w)
    assert float(exact) == printed("1.76783")
    assert float(exact) > 1.73333 > (1 - 1 / 3) * 2.6 - 1e-5
    kept, error = kept_of_planar_rows([[1, 0], [1, 0], [0, math.sqrt(0.6)]], 1, 1)
    # besides, a few roundings of numbers below 4
    assert 2.6 - kept == pytest.approx(float(exact), abs=error + 8 * np.finfo(float).eps)


def test_what_decoys_leave_of_the_contraction():
    """Parallel unit rows beside an orthogonal one: alpha over K/m falls towards 0.7767 like 1/m."""
    w = 0.296
    shares = [
        kept_of_planar_rows([[1, 0]] * (m - 1) + [[0, math.sqrt(w)]], 1, 1)[0] * m / (m - 1 + w) for m in (3, 30, 300)
    ]
    assert shares == sorted(shares, reverse=True)
    limit = 1 - 2 / math.pi * math.atan(math.sqrt(w)) * (1 - w)
    assert math.log10((shares[1] - limit) / (shares[2] - limit)) == pytest.approx(1, abs=1 / 4)  # neither 1/2 nor 3/2
    assert limit == printed("0.7767")


@pytest.mark.parametrize(("m", "ratio"), [(10, "1.49"), (100, "3.69")])
def test_one_heavy_row_among_weak_parallel_ones(m, ratio):
    """All rows but one are kept, and the error passes (1 - K/m) F by this factor, the weak rows at their worst size."""
    best = 0.0
    for weak in np.geomspace(0.3, 3, 60) / math.sqrt(m):
        rows = [[1.0, 0.0]] + [[0.0, float(weak)]] * (m - 1)
        total = 1 + (m - 1) * weak**2
        best = max(best, (total - kept_of_planar_rows(rows, m - 1, 1)[0]) * m / total)
    assert best == printed(ratio)


@pytest.mark.parametrize("K", [1, 2, 3])
def test_expectations_in_the_plane_are_those_of_many_directions(K):
    rows = RNG.standard_normal((4, 2))
    kept, error = kept_of_planar_rows(rows, K, 1)
    angles = 20_000
    # between two directions at most every pair of rows changes places once
    allowance = 2 * 6 / angles * np.square(rows).sum() + error
    assert np.square(rows).sum() - kept == pytest.approx(planar_error(rows.tolist(), K, angles), abs=allowance)


def test_sectors_in_a_kernel_are_those_of_the_arrays():
    rng = np.random.default_rng(0)
    for trial in range(300):
        m = int(rng.integers(1, 7))
        rows = rng.standard_normal((m, 2)) if trial % 3 else rng.integers(-2, 3, (m, 2)).astype(float)
        K, a = int(rng.integers(1, m + 1)), 1.0 if trial % 5 == 0 else float(rng.random())
        z = (rows[:, 0] + 1j * rows[:, 1]) ** 2
        w = np.abs(z)
        middle, width = sectors(w, z, a)
        scores = w[:, None] + a * (z[:, None] * np.exp(-1j * middle)).real
        chosen = np.argsort(-scores, axis=0, kind="stable")[:K]
        expected = w[chosen].sum(axis=0) @ width / (2 * math.pi)
        kept = _kept_at(w, z.real.copy(), z.imag.copy(), K, a, np.empty(m * (m - 1) + 2), np.empty(m))
        # ends of sectors are rounded some ten times, and each moves an energy of at most all
        assert abs(kept - expected) <= 16 * m**2 * np.finfo(float).eps * w.sum()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_orthogonal_rows_agree_with_planar_ones(rank):
    (one, e), (two, f) = kept_of_orthogonal_rows([4.0, 1.0], 1, rank), kept_of_planar_rows([[2, 0], [0, 1]], 1, rank)
    assert one == pytest.approx(two, abs=e + f)
    assert kept_of_orthogonal_rows([4.0, 1.0, 0.0], 2, rank) == (5.0, 0.0)


def test_words_are_those_of_two_rings():
    stack = RNG.standard_normal((4, 8, 6))
    _, traffic = arctopk_allreduce(stack, 2, 3, np.random.default_rng(0))
    assert list(traffic.phases) == ["sketch", "rows"]
    assert traffic.phases["sketch"].critical_path == 2 * 3 * 8 * 3 // 4
    assert traffic.phases["rows"].critical_path == 2 * 3 * 2 * 6 // 4
    assert traffic.critical_path == claims()["arctopk.allreduce.words"].bound(P=4, m=8, r=3, k=2, n=6)


def test_words_depend_on_how_sums_are_made():
    """What is said of rings does not hold of recursive doubling, from four ranks on."""
    stack, rings = RNG.standard_normal((8, 8, 8)), claims()["arctopk.allreduce.words"]
    for P, more in ((2, 0), (4, 16), (8, 40)):
        options = {"allreduce": recursive_doubling_allreduce}
        _, traffic = arctopk_allreduce(stack[:P], 2, 2, np.random.default_rng(0), **options)
        values = {"P": P, "m": 8, "r": 2, "k": 2, "n": 8}
        assert traffic.critical_path == rings.bound(**values) + more
        assert traffic.critical_path == claims()["arctopk.allreduce.words_doubling"].bound(**values)
    assert "two_rings" in [hypothesis.name for hypothesis in rings.assumes]


def test_one_rank_alone_has_no_words_to_compare():
    claim = claims()["arctopk.allreduce.words_against_gather"]
    _, traffic = arctopk_allreduce(RNG.standard_normal((1, 4, 3)), 2, 2, np.random.default_rng(0))
    assert traffic.received.max() == 0
    values = {"P": 1, "m": 4, "r": 2, "k": 2, "n": 3}
    assert claim.bound(**values) > 0
    facts = {**values, "allreduce": "ring"}
    assert [hypothesis.name for hypothesis in claim.assumes if not hypothesis.admits(**facts)] == ["arc_several_ranks"]


def test_ranks_by_themselves_keep_what_the_naive_twin_keeps():
    stack = np.array([[[2.0**53], [0.5]], [[1.0], [0.0]], [[-(2.0**53)], [0.0]]])
    result, _ = arctopk_allreduce(stack, 1, 1, sketch=[[1.0]], agree=False)
    expected = own_rows(stack.tolist(), 1, [[1.0]])
    assert result.rows.tolist() == expected
    assert len({tuple(rows) for rows in expected}) == 2


def test_another_allreduce_can_be_used():
    stack = RNG.standard_normal((4, 8, 6))
    ring, doubling = (
        arctopk_allreduce(stack, 2, 3, np.random.default_rng(0), **options)[0]
        for options in ({}, {"allreduce": recursive_doubling_allreduce})
    )
    assert ring.rows.tolist() == doubling.rows.tolist()
    assert ring.mean == pytest.approx(doubling.mean, abs=8 * np.finfo(float).eps * np.abs(stack).max())


def test_ranks_that_add_in_their_own_order_mix_rows_up():
    stack = np.array([[[2.0**24], [0.5]], [[1.0], [0.0]], [[-(2.0**24)], [0.0]]], np.float32)
    agreed, _ = arctopk_allreduce(stack, 1, 1, sketch=[[1.0]])
    assert (agreed.rows == agreed.rows[0]).all()
    mixed, _ = arctopk_allreduce(stack, 1, 1, sketch=[[1.0]], agree=False)
    assert (mixed.rows != mixed.rows[0]).any()
    assert not all(np.array_equal(mean, mixed.mean[0]) for mean in mixed.mean)


def disagreement(form, cancellation, dtype=np.float32):
    """Share of 60 pairs of ranks whose masks, at this cancellation, are not those of exact sketches."""
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        common, own = rng.standard_normal((64, 4)), cancellation * rng.standard_normal((64, 4))
        stack, V = np.array([common + own, common - own]), rng.standard_normal((4, 4))
        exact = set(arctopk_allreduce(stack, 16, 4, sketch=V)[0].rows[0].tolist())
        seen = set(arctopk_allreduce(stack.astype(dtype), 16, 4, sketch=V, sketch_format=form)[0].rows[0].tolist())
        wrong += len(exact - seen)
    return wrong / (60 * 16)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="240 draws with 16 rows each need compiled kernels")
def test_sketches_in_few_bits_lose_the_average_where_ranks_cancel():
    coarse = [disagreement("bfloat16", c) for c in (1, 10, 100, 1000)]
    assert coarse == sorted(coarse)
    assert coarse[-1] > 0.3 > coarse[0]
    single = [disagreement("float32", c) for c in (10, 1e6, 1e7)]
    assert single[0] < 0.01 < single[-1]


@pytest.mark.parametrize(
    ("m", "share", "ceiling", "floor"),
    [
        (9, Fraction(1, 5), 2, 1),
        (10, Fraction(1, 5), 2, 2),
        (100, Fraction(29, 100), 29, 29),
        (100, 0.29, 29, 28),
        (90, 0.7, 63, 62),
        (25, 0.28, 8, 7),
        (3, 1, 3, 3),
        (3, 0.01, 1, 1),
    ],
)
def test_row_counts_and_what_floats_do_to_them(m, share, ceiling, floor):
    assert (row_count(m, share), row_count(m, share, "floor")) == (ceiling, floor)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((np.zeros((2, 3)), 1, 1), {}, ValueError, r"gradients must be \(P, m, n\)"),
        ((np.zeros((0, 3, 2)), 1, 1), {}, ValueError, "at least one rank"),
        ((np.zeros((2, 3, 2), int), 1, 1), {}, TypeError, "float32 or float64"),
        ((np.full((2, 3, 2), np.nan), 1, 1), {}, ValueError, "finite"),
        ((np.ones((2, 3, 2)), 0, 1), {}, ValueError, r"K must be in \[1, 3\], got 0"),
        ((np.ones((2, 3, 2)), 4, 1), {}, ValueError, "K must be in"),
        ((np.ones((2, 3, 2)), 1, 0), {}, ValueError, "rank must be in"),
        ((np.ones((2, 3, 2)), 1, 1), {}, TypeError, "rng must be"),
        ((np.ones((2, 3, 2)), 1, 1), {"sketch": [[1.0]]}, ValueError, "sketch must have shape"),
        ((np.ones((2, 3, 2)), 1, 1), {"sketch": [[1.0], [np.inf]]}, ValueError, "sketch must be finite"),
        ((np.ones((2, 3, 2)), 1, 1), {"sketch": [[1.0], [1.0]], "sketch_format": "int8"}, ValueError, "sketch_format"),
    ],
)
def test_bad_input_is_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        arctopk_allreduce(*arguments, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: row_count(0, 0.5), "m must be in"),
        (lambda: row_count(4, 0.0), "share must be in"),
        (lambda: row_count(4, 1.5), "share must be in"),
        (lambda: row_count(4, 0.5, "round"), "rule must be"),
        (lambda: kept_of_planar_rows([[1, 2, 3]], 1, 1), r"finite \(m, 2\)"),
        (lambda: kept_of_planar_rows([[1, 2]], 2, 1), "K must be in"),
        (lambda: kept_of_orthogonal_rows([-1.0], 1, 1), "nonnegative"),
        (lambda: kept_of_orthogonal_rows([1.0], 1, 0), "rank must be in"),
    ],
)
def test_other_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_inputs_are_left_alone_and_one_rank_sends_nothing():
    stack = RNG.standard_normal((1, 6, 4))
    stack.flags.writeable = False
    before = stack.copy()
    result, traffic = arctopk_allreduce(stack[:, :, ::2], 6, 2, np.random.default_rng(1))
    assert result.mean[0].tolist() == stack[0, :, ::2].tolist()
    assert (traffic.steps, traffic.sent.tolist()) == (0, [0])
    assert stack.tobytes() == before.tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0, 0), (1, 3, 129), (1, 4, 2)])
def test_a_single_entry_that_is_not_finite_is_found_through_its_sketch(bad, place):
    stack = np.random.default_rng(0).standard_normal((2, 5, 130))
    stack[place] = bad
    with pytest.raises(ValueError, match="gradients must be finite"):
        arctopk_allreduce(stack, 2, 2, np.random.default_rng(1))
    with pytest.raises(ValueError, match="gradients must be finite"):
        arctopk_allreduce(stack, 2, 1, sketch=np.zeros((130, 1)))


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="long rows need compiled kernels")
def test_long_rows_and_threads_change_no_bit():
    stack = np.random.default_rng(0).standard_normal((2, 300, 2000), np.float32)
    before = numba.get_num_threads()
    try:
        results = []
        for threads in (1, min(2, before)):
            numba.set_num_threads(threads)
            results.append(arctopk_allreduce(stack, 270, 3, np.random.default_rng(1))[0])
    finally:
        numba.set_num_threads(before)
    assert results[0].scores.tobytes() == results[1].scores.tobytes()
    assert results[0].mean.tobytes() == results[1].mean.tobytes()
    V = np.random.default_rng(1).standard_normal((2000, 3))
    exact = np.square((stack.astype(np.float64).mean(axis=0) @ V.astype(np.float32)) / np.sqrt(3)).sum(axis=1)
    # sums of 2000 products in float32, whose terms add up to about 40 sigma in size
    assert results[0].scores[0] == pytest.approx(exact, rel=0, abs=64 * np.finfo(np.float32).eps * exact.max())
