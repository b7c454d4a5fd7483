import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from chi_square import ChiSquare
from hostile_vectors import hostile_vectors

from commbounds.compressors import AdaptiveSparsification, BlockTopK, ChunkTopK, HardThreshold, Identity, RandK, _blocks
from commbounds.compressors.sparsifiers import grouped_topk, randk
from commbounds.compressors.sparsifiers import unranked as sparsifiers
from commbounds.verify.definitions import sparsifiers as naive

pytestmark = pytest.mark.kernels

DTYPES = [np.float32, np.float64]
CASES = [(dtype, name) for dtype in DTYPES for name in hostile_vectors(dtype)]
GRID = list(itertools.product([-2, -1, 0, Fraction(1, 2), 1], repeat=4))


def source(kernel):
    return getattr(kernel, "py_func", kernel)


def outcomes(compressor, x):
    """The law's outcome for a deterministic compressor."""
    [(probability, output)] = compressor.law(x)
    assert probability == 1
    return output


# Rand-K


def floyd_draws(n, k):
    return itertools.product(*(range(n - k + j + 1) for j in range(k)))


@pytest.mark.parametrize(("n", "k"), [(n, k) for n in range(1, 7) for k in range(1, n + 1)])
def test_randk_every_subset_is_drawn_equally_often(n, k):
    x = np.arange(1.0, n + 1)
    counts = Counter()
    for draws in floyd_draws(n, k):
        message = RandK(k).compress_with(x, np.array(draws))
        assert message.indices.tolist() == naive.floyd(draws, n)
        counts[tuple(message.indices)] += 1
    assert set(counts) == set(itertools.combinations(range(n), k))
    assert set(counts.values()) == {math.factorial(k)}


@pytest.mark.parametrize("k", [2, 4])
def test_randk_draws_every_subset_with_equal_probability(k):
    # k = 2 draws what is kept, k = 4 what is left out
    test = ChiSquare(cells=15, effect=0.02)
    cells = {kept: cell for cell, kept in enumerate(itertools.combinations(range(6), k))}
    rng, counts = np.random.default_rng(k), np.zeros(15)
    for _ in range(test.draws):
        counts[cells[tuple(RandK(k).compress(np.ones(6, np.float32), rng).indices)]] += 1
    assert not test.rejects(counts)


def test_randk_keeps_every_entry_of_a_long_vector_equally_often(monkeypatch):
    # twenty groups of fifty neighbours; blocks of draws shorter than k
    monkeypatch.setattr(randk, "BLOCK", 64)
    test = ChiSquare(cells=20, effect=0.002)
    for k in (200, 800):
        rng, counts = np.random.default_rng(k), np.zeros(20)
        for _ in range(-(-test.draws // k)):
            counts += np.bincount(RandK(k).compress(np.ones(1000), rng).indices // 50, minlength=20)
        assert not test.rejects(counts)


@pytest.mark.parametrize(("dtype", "name"), CASES)
def test_randk_values_are_the_scaled_entries(dtype, name):
    x = hostile_vectors(dtype)[name]
    n = x.size
    for k in range(1, n + 1):
        draws = np.arange(n - k, n)
        message = RandK(k, scaled=False).compress_with(x, draws)
        assert message.values.tobytes() == x[message.indices].tobytes()
        if float(abs(x).max()) * (n / k) > float(np.finfo(dtype).max):
            with pytest.raises(ValueError, match="x must not exceed the largest float"):
                RandK(k).compress_with(x, draws)
            continue
        message = RandK(k).compress_with(x, draws)
        for got, entry in zip(message.values, naive.exact(x[message.indices]), strict=True):
            # the factor and, for float32, the product are rounded to float64; then the product to the dtype, by at most
            # half the larger distance to its neighbours, which is at most the smaller one
            exact = entry * Fraction(n, k)
            spacing = Fraction(float(abs(got))) - Fraction(float(np.nextafter(abs(got), dtype(-1))))
            assert abs(Fraction(float(got)) - exact) <= spacing + abs(exact) * Fraction(1, 2**52)
        assert message.bits == k * ((n - 1).bit_length() + 8 * x.itemsize)


def test_randk_with_k_n_is_the_identity():
    for dtype in DTYPES:
        for x in hostile_vectors(dtype).values():
            for c in (RandK(x.size), RandK(x.size, scaled=False)):
                assert c(x, np.random.default_rng(0)).tobytes() == x.tobytes()


def test_randk_is_independent_of_the_block_length(monkeypatch):
    x = np.random.default_rng(0).standard_normal(1000)
    for k in (300, 900):
        whole = RandK(k).compress(x, np.random.default_rng(1)).indices.tolist()
        for block in (1, 7, 64):
            monkeypatch.setattr(randk, "BLOCK", block)
            assert RandK(k).compress(x, np.random.default_rng(1)).indices.tolist() == whole


@pytest.mark.parametrize("scaled", [True, False])
def test_randk_law_is_what_the_kernel_does(scaled):
    x = [3, 0, -1, Fraction(1, 2), 0]
    for k in (1, 2, 4, 5):
        c = RandK(k, scaled=scaled)
        counts = Counter(
            tuple(
                v * (Fraction(5, k) if scaled else 1) if i in naive.floyd(draws, 5) else Fraction(0)
                for i, v in enumerate(x)
            )
            for draws in floyd_draws(5, k)
        )
        total = sum(counts.values())
        assert {output: probability for probability, output in c.law(x)} == {
            output: Fraction(count, total) for output, count in counts.items()
        }


def test_randk_refuses_what_it_cannot_do():
    x = np.ones(4)
    with pytest.raises(TypeError, match="scaled must be True or False"):
        RandK(1, scaled=1)
    with pytest.raises(ValueError, match=r"k must be in \[1, 4\], got 5"):
        RandK(5).compress(x, np.random.default_rng(0))
    with pytest.raises(TypeError, match="draws must be an array of integers"):
        RandK(2).compress_with(x, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"draws must have shape \(2,\)"):
        RandK(2).compress_with(x, [0])
    for draws in ([3, 0], [0, 4], [-1, 0]):
        with pytest.raises(ValueError, match=r"draws\[j\] must be in \[0, 2 \+ j\]"):
            RandK(2).compress_with(x, draws)
    with pytest.raises(ValueError, match="more than 2\\*\\*16 outcomes"):
        RandK(10).law(range(30))


def test_randk_kernels_agree_with_their_own_source():
    draws = np.random.default_rng(0).integers(0, 401, 100)
    sets = np.zeros((2, 8), np.uint64)
    places = np.zeros((2, 100), np.int32)
    values = np.zeros((2, 100), np.float32)
    for row, of in enumerate((lambda f: f, source)):
        of(randk._floyd)(draws, 400, sets[row])
        of(randk._gather)(np.arange(500, dtype=np.float32) / 7, 5 / 3, sets[row], places[row], values[row])
        assert of(randk._outside)(draws, 400) == (draws > 400 + np.arange(100)).sum()
        assert of(randk._outside)(draws - 3, 390) == ((draws < 3) | (draws - 3 > 390 + np.arange(100))).sum()
    assert (sets[0] == sets[1]).all()
    assert (places[0] == places[1]).all()
    assert (values[0] == values[1]).all()
    assert places[0].tolist() == naive.floyd(draws.tolist(), 500)


# Block Top-K and chunk-wise Top-K


@pytest.mark.parametrize(
    "compressor", [BlockTopK(1, 2), BlockTopK(2, 2), BlockTopK(1, 3), ChunkTopK(1, 3), ChunkTopK(2, 3)]
)
def test_grouped_laws_are_what_the_kernels_do(compressor):
    for x in GRID:
        assert outcomes(compressor, x) == tuple(naive.exact(compressor(np.array(x, np.float32))))


def test_blocktopk_scales_norms_that_would_underflow_or_overflow():
    for scale in (1e-300, 5e-324 * 2**10, 1e300, 1e-40):
        x = np.array([3.0, 4.0, 5.0, 1.0, 0.0, 5.0]) * scale
        assert BlockTopK(1, 2).compress(x).indices.tolist() == [2, 3]
    x = np.array([3.0, 4.0, 5.0, 1.0], np.float32) * np.float32(1e-42)
    assert BlockTopK(1, 2).compress(x).indices.tolist() == [2, 3]


def test_grouped_results_do_not_depend_on_threads(monkeypatch):
    x = np.random.default_rng(0).integers(-5, 6, 10_000).astype(np.float32)
    compressors = (BlockTopK(7, 64), ChunkTopK(3, 64), ChunkTopK(5, 999), HardThreshold(4), AdaptiveSparsification())
    alone = [c.compress(x, np.random.default_rng(1)).indices.tolist() for c in compressors]
    for threads in (2, 5):
        monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 1)
        monkeypatch.setattr(_blocks, "get_num_threads", lambda threads=threads: threads)
        monkeypatch.setattr(grouped_topk, "BLOCK", 100)
        assert [c.compress(x, np.random.default_rng(1)).indices.tolist() for c in compressors] == alone


def test_grouped_kernels_agree_with_their_own_source():
    x = np.random.default_rng(0).integers(-5, 6, 1000).astype(np.float32)
    squares, places = np.zeros((2, 16)), np.zeros((2, 48), np.int32)
    for row, of in enumerate((lambda f: f, source)):
        of(grouped_topk._square_norms)(x, 0.125, 64, squares[row])
        of(grouped_topk._chunk_largest)(x.view(np.uint32), np.uint32(2**31 - 1), 31, 3, 64, 5, places[row])
    assert squares[0].tolist() == squares[1].tolist()
    assert places[0].tolist() == places[1].tolist()


def test_grouped_hyper_parameters_are_checked():
    for build in (lambda: BlockTopK(0, 2), lambda: BlockTopK(1, 0), lambda: ChunkTopK(0, 2), lambda: ChunkTopK(3, 2)):
        with pytest.raises(ValueError, match="must be in"):
            build()
    for build in (lambda: BlockTopK(1.0, 2), lambda: ChunkTopK(1, 2.0)):
        with pytest.raises(TypeError, match="must be an integer"):
            build()
    with pytest.raises(ValueError, match=r"k must be in \[1, 2\], got 3"):
        BlockTopK(3, 2).compress(np.ones(4))
    with pytest.raises(ValueError, match=r"k must be in \[1, 2\], got 3"):
        BlockTopK(3, 2).law([1] * 4)


# Hard threshold


def test_hardthreshold_law_is_what_the_kernel_does():
    for x in GRID:
        for threshold in (1, 0.5, Fraction(2, 3)):
            c = HardThreshold(threshold)
            assert outcomes(c, x) == tuple(naive.exact(c(np.array(x, np.float32))))


@pytest.mark.parametrize("threshold", [0, -1.0, math.inf, math.nan, 10**400, Fraction(10) ** 400])
def test_hardthreshold_outside_its_range_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold must be positive and finite"):
        HardThreshold(threshold)


@pytest.mark.parametrize("threshold", [True, "1", None, 1j, np.complex64(1)])
def test_hardthreshold_of_another_type_is_refused(threshold):
    with pytest.raises(TypeError, match="threshold must be an int, a float or a Fraction"):
        HardThreshold(threshold)


# Adaptive sparsification


@pytest.mark.parametrize("dtype", DTYPES)
def test_adaptive_draws_the_entry_that_the_naive_twin_draws(dtype):
    # partial sums of these are exact, so that both agree at every u
    for x in ([1, 0, -2, 0, 5, 0], [0, 0, 3], [4], [0, 0], [-1, 1, 1, 1], [0.5, 0.25, 0, 0.25]):
        x = np.array(x, dtype)
        for u in [j / 64 for j in range(64)] + [1 - 2.0**-53, 2.0**-53]:
            message = AdaptiveSparsification().compress_with(x, u)
            assert message.indices.tolist() == [naive.proportional(x, u)]
            assert message.values.tobytes() == x[message.indices].tobytes()
            assert message.bits == (x.size - 1).bit_length() + 8 * x.itemsize


@pytest.mark.parametrize(("dtype", "name"), CASES)
def test_adaptive_never_draws_a_zero_and_moves_up_with_u(dtype, name):
    x = hostile_vectors(dtype)[name]
    x = x[abs(x) >= 1e-300 * abs(x).max()]  # below that, entries count as zero in the sums
    c, drawn = AdaptiveSparsification(), []
    for u in np.append(np.linspace(0, 1, 200, endpoint=False), 1 - 2.0**-53):
        message = c.compress_with(x, float(u))
        assert message.values[0] != 0 or not x.any()
        drawn.append(message.indices[0])
    assert drawn == sorted(drawn)
    assert drawn[0] == (np.flatnonzero(x)[0] if x.any() else 0)


def test_adaptive_switches_where_the_law_says_across_blocks(monkeypatch):
    monkeypatch.setattr(sparsifiers, "BLOCK", 4)
    x = np.array([1, 2, 0, 1, 0, 0, 0, 0, 3, 0, 1, 0, 8.0])
    for u in range(16):
        for edge in (0, 2.0**-53):
            message = AdaptiveSparsification().compress_with(x, u / 16 + edge)
            assert message.indices.tolist() == [naive.proportional(x, u / 16 + edge)]


def test_adaptive_law_is_the_length_of_the_intervals():
    x = [1, 0, -2, 0, Fraction(1, 2), -2]
    total = Fraction(11, 2)
    law = AdaptiveSparsification().law(x)
    assert law == [
        (abs(Fraction(v)) / total, (*(Fraction(0),) * i, Fraction(v), *(Fraction(0),) * (5 - i)))
        for i, v in enumerate(x)
        if v
    ]
    assert AdaptiveSparsification().law([0, 0]) == [(1, (0, 0))]


@pytest.mark.parametrize("u", [-0.1, 1.0, math.nan])
def test_adaptive_uniform_outside_its_range_is_refused(u):
    with pytest.raises(ValueError, match=r"u must be in \[0, 1\)"):
        AdaptiveSparsification().compress_with(np.ones(3), u)


def test_reach_agrees_with_its_own_source():
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    for target in (0.0, 100.0, math.inf):
        assert sparsifiers._reach(x, 0.25, target) == source(sparsifiers._reach)(x, 0.25, target)


# Identity, and all of them


def test_identity_sends_a_copy():
    x = np.array([1.5, -0.0, 3])
    message = Identity().compress(x)
    assert message.bits == 3 * 64
    assert message.values.tobytes() == x.tobytes()
    assert not np.shares_memory(message.values, x)
    assert Identity().law([1, -2]) == [(1, (1, -2))]
