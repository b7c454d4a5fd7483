"""Classical all-reduce, reduce-scatter and all-gather: what ranks hold, in which bits, and what it took."""

import math
from fractions import Fraction

import numba
import numpy as np
import pytest

from commbounds.collectives import (
    allgather,
    allgatherv,
    butterfly_allreduce,
    rabenseifner_allreduce,
    recursive_doubling_allreduce,
    reduce_scatter,
    ring_allreduce,
)
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.fused import _recursive_doubling, _ring, fused_recursive_doubling, fused_ring
from commbounds.collectives.dense.message_by_message import ALLREDUCE, _move, allreduced, phased
from commbounds.collectives.dense.messages import core_size, first_of_core
from commbounds.collectives.dense.streaming import streamed
from commbounds.theory import claims

pytestmark = pytest.mark.kernels

ALLREDUCES = {
    "ring": ring_allreduce,
    "recursive-doubling": recursive_doubling_allreduce,
    "rabenseifner": rabenseifner_allreduce,
    "butterfly": butterfly_allreduce,
}
FUSED = {
    "ring": (fused_ring, _ring, lambda P, n: even_cuts(n, P)),
    "recursive-doubling": (fused_recursive_doubling, _recursive_doubling, lambda P, n: first_of_core(P)),
}
ALGORITHMS = ("ring", "recursive-doubling", "bruck")
RANKS = [*range(1, 10), 12, 15, 16, 17]


def normal(P, n, dtype=np.float64, seed=0):
    return np.random.default_rng([seed, P, n]).standard_normal((P, n)).astype(dtype)


def plain(traffic):
    return {name: value for name, value in traffic.as_dict().items() if name != "phases"}


def bits(array):
    return np.ascontiguousarray(array).tobytes()


# --- fused and literal ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("P", RANKS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_fused_allreduce_is_the_literal_one(name, P, dtype):
    for n in (1, P, 5 * P + 3):
        stack = normal(P, n, dtype)
        expected, traffic = allreduced(stack, name)
        for tile in (1, 24, 1 << 15):
            for streamed_from in (0, 1 << 30):
                out = np.full_like(stack, np.nan)
                counts = FUSED[name][0](stack, out, tile, streamed_from)
                assert bits(out) == bits(expected)
                assert phased(counts, ALLREDUCE[name][0](P)).as_dict() == traffic.as_dict()


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("P", [1, 2, 3, 5, 8, 11])
def test_columns_may_be_cut_anywhere(name, P):
    """Ranges of columns count for themselves; together they are the whole, wherever they meet."""
    n = 3 * P + 2
    stack = normal(P, n)
    expected, _ = allreduced(stack, name)
    _, kernel, layout = FUSED[name]
    steps = sum(part.steps for part in ALLREDUCE[name][0](P))
    whole = np.zeros((3, steps, P), np.int64)
    kernel(stack, np.empty_like(stack), layout(P, n), False, 0, n, np.empty((20, 4)), whole)
    for cut in range(1, n):
        out, counts = np.full_like(stack, np.nan), np.zeros((2, 3, steps, P), np.int64)
        for (lo, hi), counted in zip([(0, cut), (cut, n)], counts, strict=True):
            kernel(stack, out, layout(P, n), False, lo, hi, np.empty((20, 4)), counted)
        assert bits(out) == bits(expected)
        assert (counts.sum(axis=0) == whole).all()


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too long a vector for plain Python")
@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize(("P", "n"), [(5, 300_007), (16, 70_001)])
def test_one_thread_and_two_give_the_same_bits(name, P, n):
    stack = normal(P, n, np.float32)
    threads, results = numba.get_num_threads(), []
    for count in (1, min(2, threads)):
        numba.set_num_threads(count)
        try:
            results.append(ALLREDUCES[name](stack))
        finally:
            numba.set_num_threads(threads)
    expected, counted = allreduced(stack, name)
    for result, traffic in results:
        assert bits(result) == bits(expected)
        assert traffic.as_dict() == counted.as_dict()


@pytest.mark.parametrize("name", FUSED)
def test_the_kernel_is_its_python(name):
    _, kernel, layout = FUSED[name]
    for P, n in ((1, 3), (2, 5), (6, 13), (8, 9)):
        stack = normal(P, n, np.float32)
        steps = sum(part.steps for part in ALLREDUCE[name][0](P))
        results = []
        for run in (kernel, getattr(kernel, "py_func", kernel)):
            for streams in (False, True):
                out, counts = np.zeros_like(stack), np.zeros((3, steps, P), np.int64)
                run(stack, out, layout(P, n), streams, 0, n, np.empty((20, 4), np.float32), counts)
                results.append((bits(out), counts.tolist()))
        assert all(r == results[0] for r in results)


@pytest.mark.parametrize("name", ALLREDUCE)
def test_the_literal_kernel_is_its_python(name):
    stack, (parts, blocks) = normal(6, 13), ALLREDUCE[name]
    results = []
    for move in (_move, getattr(_move, "py_func", _move)):
        held, mail, every = stack.copy(), np.empty_like(stack), []
        for part in parts(6):
            counts = np.zeros((3, part.steps, 6), np.int64)
            move(held, even_cuts(13, blocks(6)), part.messages, part.adds, mail, *counts)
            every.append(counts.tolist())
        results.append((bits(held), every))
    assert results[0] == results[1]


@numba.njit
def _through(out, x):
    streamed(out, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 7, 15, 16, 17, 40, 100])
def test_streaming_copies_every_entry_and_no_other(dtype, size):
    for lead in range(17):
        out, x = np.zeros(size + lead + 20, dtype), np.arange(1, size + 1).astype(dtype)
        _through(out[lead : lead + size], x)
        assert (out[lead : lead + size] == x).all()
        assert not out[:lead].any()
        assert not out[lead + size :].any()


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALLREDUCES)
@pytest.mark.parametrize("P", RANKS)
def test_ranks_agree_bit_for_bit(name, P):
    result, _ = ALLREDUCES[name](normal(P, 37, np.float32))
    assert {row.tobytes() for row in result} == {result[0].tobytes()}


def in_turn(column):
    """The sum of a column, one entry after another, in its dtype."""
    total = column[0]
    for value in column[1:]:
        total = total + value
    return total


def in_pairs(column):
    """The sum of a column of 2^m entries as a balanced tree."""
    while len(column) > 1:
        column = column[::2] + column[1::2]
    return column[0]


def test_the_order_of_every_sum_is_the_documented_one():
    P, n = 8, 8
    stack = normal(P, n, np.float32)
    around = [np.roll(stack[:, b], -b - 1) for b in range(n)]  # b + 1, b + 2, ..., b
    assert ring_allreduce(stack)[0][3].tolist() == [in_turn(column) for column in around]
    back = [column[::-1] for column in around]  # b, b - 1, ..., b + 1
    assert butterfly_allreduce(stack)[0][5].tolist() == [in_turn(column) for column in back]
    assert recursive_doubling_allreduce(stack)[0][2].tolist() == [in_pairs(stack[:, b]) for b in range(n)]


def test_algorithms_differ_in_bits_where_they_add_in_another_order():
    # beside 2^24, float32 loses ones one by one and keeps them in pairs
    stack = np.ones((8, 8), np.float32)
    stack[0] = 2.0**24
    ring = ring_allreduce(stack)[0][0].tolist()
    assert (ring[0], ring[7]) == (2.0**24 + 8, 2.0**24)  # seven ones, then 2^24; 2^24, then a one, and a one, ...
    assert recursive_doubling_allreduce(stack)[0][0].tolist() == [2.0**24 + 6] * 8


@pytest.mark.parametrize("name", ALLREDUCES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_as_near_to_the_exact_ones_as_so_many_additions_allow(name, dtype):
    for P in (2, 7, 16):
        stack = normal(P, 11, dtype)
        result, _ = ALLREDUCES[name](stack)
        # P - 1 additions in any order: |error| <= (P - 1) u / (1 - (P - 1) u) times the sum of the magnitudes
        u = Fraction(float(np.finfo(dtype).eps)) / 2
        for column, value in zip(stack.T.tolist(), result[0].tolist(), strict=True):
            exact = [Fraction(v) for v in column]
            assert abs(Fraction(value) - sum(exact)) <= (P - 1) * u / (1 - (P - 1) * u) * sum(map(abs, exact))


@pytest.mark.parametrize("name", ALLREDUCES)
def test_integers_add_up_exactly(name):
    for P in RANKS:
        stack = np.random.default_rng(P).integers(-1000, 1000, (P, 29)).astype(np.float32)
        assert (ALLREDUCES[name](stack)[0] == stack.sum(axis=0)).all()


@pytest.mark.parametrize("P", RANKS)
def test_the_ring_begins_with_its_reduce_scatter(P):
    stack = normal(P, 2 * P + 1, np.float32)
    blocks, traffic = reduce_scatter(stack)
    result, both = ring_allreduce(stack)
    assert bits(np.concatenate(blocks)) == bits(result[0])
    assert traffic.phases["reduce-scatter"].as_dict() == both.phases["reduce-scatter"].as_dict()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_reduce_scatter_and_allgather_together_are_an_allreduce(algorithm):
    for P in (1, 3, 8):
        stack = np.random.default_rng(P).integers(-1000, 1000, (P, 2 * P + 1)).astype(np.float64)
        blocks, there = reduce_scatter(stack, algorithm)
        result, back = allgatherv(blocks, algorithm)
        assert (result == stack.sum(axis=0)).all()
        # one is the other run backwards
        assert there.sent.tolist() == back.received.tolist()
        assert there.critical_path == back.critical_path


@pytest.mark.filterwarnings("ignore:overflow encountered")  # plain Python says so
@pytest.mark.parametrize("name", ALLREDUCES)
def test_sums_beyond_the_range_become_infinite(name):
    largest = np.finfo(np.float32).max
    stack = np.full((3, 4), largest, np.float32)
    stack[:, 1] = -largest
    assert ALLREDUCES[name](stack)[0].tolist() == [[math.inf, -math.inf, math.inf, math.inf]] * 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ALLREDUCES)
def test_sums_within_the_range_may_be_rounded_beyond_it(name, dtype):
    """Three ulps below the largest number, and four times three quarters: the sum is in range, one by one it is not."""
    about = np.finfo(dtype)
    ulp = np.ldexp(1.0, about.maxexp - about.nmant - 1)
    terms = [float(about.max) - 3.0 * ulp, *(4 * [0.75 * ulp])]
    stack = np.tile(
        np.array([np.roll(terms, shift) for shift in range(5)], dtype), 5
    )  # every place first in every block
    assert math.fsum(terms) == about.max
    with np.errstate(over="ignore"):
        results, _ = ALLREDUCES[name](stack)
    assert np.isinf(results).any()
    (within,) = claims()[f"dense.{ALLREDUCES[name].__name__.removesuffix('_allreduce')}.rounding"].assumes
    assert not within.admits(x=stack)
    assert within.admits(x=stack / 2)
    assert np.isfinite(ALLREDUCES[name](stack / 2)[0]).all()


# --- traffic ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "P", "n", "steps", "critical_path"),
    [
        ("ring", 4, 8, 6, 12),
        ("ring", 5, 7, 8, 16),
        ("butterfly", 5, 7, 8, 16),
        ("recursive-doubling", 8, 5, 3, 15),
        ("recursive-doubling", 7, 5, 4, 20),
        ("rabenseifner", 8, 16, 6, 28),
        ("rabenseifner", 6, 16, 6, 56),
    ],
)
def test_known_costs(name, P, n, steps, critical_path):
    _, traffic = ALLREDUCES[name](normal(P, n))
    assert (traffic.steps, traffic.critical_path) == (steps, critical_path)


@pytest.mark.parametrize("name", ALLREDUCES)
@pytest.mark.parametrize("P", [2, 3, 4, 7, 8])
def test_phases_are_the_whole(name, P):
    _, traffic = ALLREDUCES[name](normal(P, 11))
    parts = ALLREDUCE[name][0](P)
    assert [(key, phase.steps) for key, phase in traffic.phases.items()] == [(p.name, p.steps) for p in parts]
    assert traffic.only(*traffic.phases).as_dict() == plain(traffic)
    assert ("fold" in traffic.phases) == (name in ("recursive-doubling", "rabenseifner") and core_size(P) < P)


@pytest.mark.parametrize("name", ALLREDUCES)
def test_empty_blocks_are_messages(name):
    few, many = ALLREDUCES[name](normal(6, 1))[1], ALLREDUCES[name](normal(6, 60))[1]
    assert few.steps == many.steps
    assert few.messages.tolist() == many.messages.tolist()


@pytest.mark.parametrize("name", ALLREDUCES)
def test_one_rank_keeps_its_vector_and_says_nothing(name):
    stack = normal(1, 5)
    result, traffic = ALLREDUCES[name](stack)
    assert bits(result) == bits(stack)
    assert not np.shares_memory(result, stack)
    assert plain(traffic) == {"sent": [0], "received": [0], "messages": [0], "steps": 0, "critical_path": 0}


# --- inputs -----------------------------------------------------------------------------------------------------------

FRONTS = {
    **{f.__name__: f for f in ALLREDUCES.values()},
    **{f"reduce_scatter, {a}": lambda stack, a=a: reduce_scatter(stack, a) for a in ALGORITHMS},
    **{f"allgather, {a}": lambda stack, a=a: allgather(stack, a) for a in ALGORITHMS},
    **{f"allgatherv, {a}": lambda stack, a=a: allgatherv(list(stack), a) for a in ALGORITHMS},
}


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)
def test_stacks_may_be_read_only_strided_swapped_or_lists_and_are_not_changed(front):
    wide = normal(5, 14)
    right, traffic = front(np.ascontiguousarray(wide[:, ::2]))
    frozen = wide.copy()
    frozen.flags.writeable = False
    swapped = wide[:, ::2].astype(wide.dtype.newbyteorder())
    for stack in (frozen[:, ::2], swapped, wide[:, ::2].tolist(), np.asfortranarray(wide[:, ::2])):
        before = np.array(stack)
        result, counted = front(stack)
        assert (np.array(stack) == before).all()
        assert all(bits(a) == bits(b) for a, b in zip(result, right, strict=True))
        assert all(a.dtype == np.float64 for a in result)
        assert counted.as_dict() == traffic.as_dict()


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_keep_the_dtype_and_belong_to_the_caller(front, dtype):
    stack = normal(3, 6, dtype)
    result, _ = front(stack)
    for row in result:
        assert row.dtype == dtype
        assert not np.shares_memory(row, stack)
        row[...] = 0


NO_STACKS = [
    (np.empty((0, 3)), ValueError, "at least one rank"),
    (np.empty((3, 0)), ValueError, "at least one rank and one entry"),
    (np.ones(3), ValueError, r"must be \(P, n\), one row for every rank"),
    (np.ones((2, 3, 1)), ValueError, r"must be \(P, n\)"),
    ([[1.0, 2.0], [3.0]], TypeError, "rows of one length and dtype"),
    ([np.ones(2, np.float32), np.ones(2)], TypeError, "rows of one length and dtype"),
    (np.ones((2, 3), np.float16), TypeError, "float32 or float64, got float16"),
    (np.ones((2, 3), np.int64), TypeError, "float32 or float64, got int64"),
    (np.ones((2, 3), np.complex128), TypeError, "float32 or float64, got complex128"),
    (np.array([[1.0, np.nan]]), ValueError, "finite"),
    (np.array([[1.0], [np.inf]]), ValueError, "finite"),
    (np.array([[1.0, -np.inf], [2.0, np.inf], [3.0, 4.0]]), ValueError, "finite"),
]


@pytest.mark.parametrize(("stack", "error", "message"), NO_STACKS, ids=str)
@pytest.mark.parametrize("front", [name for name in FRONTS if "allgatherv" not in name])
def test_what_is_refused(front, stack, error, message):
    with pytest.raises(error, match=message):
        FRONTS[front](stack)


@pytest.mark.parametrize("front", [reduce_scatter, allgather, allgatherv])
@pytest.mark.parametrize("algorithm", ["", "RING", "rabenseifner"])
def test_only_known_algorithms(front, algorithm):
    with pytest.raises(ValueError, match="algorithm must be one of ring, recursive-doubling, bruck, got"):
        front(np.ones((2, 2)), algorithm)
    with pytest.raises(TypeError, match="algorithm must be a string, got None"):
        front(np.ones((2, 2)), None)


@pytest.mark.parametrize(
    ("blocks", "error", "message"),
    [
        ([], ValueError, "one vector for every rank, got none"),
        ([np.ones(2), np.ones((1, 2))], ValueError, r"blocks must be vectors, got shapes \(2,\), \(1, 2\)"),
        ([1.0, 2.0], ValueError, "blocks must be vectors"),
        ([np.ones(2), np.ones(1, np.float32)], TypeError, "of one dtype, got float32, float64"),
        ([np.ones(2, np.int32)], TypeError, "float32 or float64, got int32"),
        ([np.ones(0, np.float16)], TypeError, "float32 or float64, got float16"),
        ([np.ones(2), np.array([np.nan])], ValueError, "blocks must be finite"),
        ([np.ones(2), np.array([-np.inf])], ValueError, "blocks must be finite"),
    ],
    ids=str,
)
def test_blocks_that_are_refused(blocks, error, message):
    with pytest.raises(error, match=message):
        allgatherv(blocks)


def test_blocks_may_all_be_empty():
    result, traffic = allgatherv([np.empty(0, np.float32)] * 3, "bruck")
    assert result.shape == (3, 0)
    assert result.dtype == np.float32
    assert traffic.messages.tolist() == [2, 2, 2]
    assert traffic.critical_path == 0
