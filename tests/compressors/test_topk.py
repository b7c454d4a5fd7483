import itertools
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import each_once

from commbounds.compressors import TopK, _blocks, _largest
from commbounds.compressors._largest import largest
from commbounds.compressors._magnitude import magnitude_bits
from commbounds.verify.definitions import sparsifiers as naive

pytestmark = pytest.mark.kernels

DTYPES = [np.float32, np.float64]
JIT = not numba.config.DISABLE_JIT


def check(x, *ks):
    """Against a stable sort of the whole vector, which is quick enough for long ones."""
    order = np.argsort(-np.abs(x), kind="stable")
    for k in ks:
        indices, values = largest(x, k)
        assert indices.dtype == np.int32
        assert values.dtype == x.dtype
        assert indices.tolist() == np.sort(order[:k]).tolist()
        assert values.tobytes() == x[indices].tobytes()


def long_vectors(n, dtype):
    """Name -> vector: what gradients look like, and what fools a sampled level."""
    rng = np.random.default_rng(n)
    normal = rng.standard_normal(n).astype(dtype)
    heavy = (rng.standard_t(1.5, n) ** 3).astype(dtype)
    return {
        "normal": normal,
        "heavy tails": heavy,
        "constant": np.full(n, -2, dtype),
        "zeros": np.zeros(n, dtype),
        "99.5 % zeros": np.where(rng.random(n) < 0.995, dtype(0), normal),
        "small integers": rng.integers(-8, 9, n).astype(dtype),
        "two values": np.where(np.arange(n) % 7 == 0, dtype(2), dtype(-1)),
        "ascending": np.sort(normal),
        "descending": np.sort(np.abs(normal))[::-1].copy(),
        "eight-bit mantissa": (normal.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000))
        .view(np.float32)
        .astype(dtype),
        "periodic": np.tile(normal[:128], -(-n // 128))[:n],
        "one large block": np.where(np.arange(n) < n // 20, dtype(3), dtype(1)) * normal,
    }


def sizes_of_k(n):
    return sorted({k for k in (1, 2, n // 1000, n // 200, n // 100, n // 10, n // 7, n // 2, n - 1, n) if k >= 1})


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 5e-324, -1e308]), min_size=1, max_size=70), st.data())
def test_agrees_with_the_naive_twin_on_drawn_ties(values, data):
    x = np.array(values)
    k = data.draw(st.integers(1, x.size))
    assert largest(x, k)[0].tolist() == naive.topk(x, k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", long_vectors(8, np.float32))
def test_a_sampled_level_finds_the_same_as_a_sort(name, threads, dtype, monkeypatch):
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 256)
    monkeypatch.setattr(_blocks, "get_num_threads", lambda: threads)
    # a sample is taken from 4096 on; the arithmetic of plain Python is told by one length
    for n in (4095, 4096, 4096 + 63, 10_000) if JIT else (4096 + 63,):
        x = long_vectors(n, dtype)[name]
        check(x, *sizes_of_k(n))


@pytest.mark.skipif(not JIT, reason="long vectors need compiled kernels")
@pytest.mark.parametrize(
    ("dtype", "name"), each_once(DTYPES, long_vectors(8, np.float32), lambda dtype: dtype.__name__)
)
def test_long_vectors_agree_with_a_sort(name, dtype):
    n = (1 << 20) + 17
    x = long_vectors(n, dtype)[name]
    check(x, *sizes_of_k(n))


def sampled_places(n, size):
    """Where a sample of the given size looks, found by asking it."""
    keys = np.empty(size, np.uint64)
    _largest._sample(np.arange(n, dtype=np.uint64), np.uint64(2**63 - 1), keys)
    return keys.astype(np.int64)


@pytest.mark.parametrize("n", [4096, 5000, 64 * 1000 - 1])
def test_the_sample_looks_once_into_every_stratum(n):
    size = n // 64
    assert (sampled_places(n, size) // (n // size)).tolist() == list(range(size))


@pytest.mark.parametrize(("k", "partitioned"), [(10, 10), (20, 31), (31, 31), (32, 4096), (1000, 4096)])
def test_a_sample_of_large_entries_only_does_not_mislead(k, partitioned, monkeypatch):
    # only the 64 sampled entries reach either guess, the 10th and the 31st of them, so that a larger k misses both
    x = np.random.default_rng(k).standard_normal(4096)
    x[sampled_places(4096, 64)] += 100
    sizes = []
    kth, short = _largest._Pieces.kth, _largest._short
    monkeypatch.setattr(_largest._Pieces, "kth", lambda self, k: sizes.append(self.size) or kth(self, k))
    monkeypatch.setattr(_largest, "_short", lambda x, *more: sizes.append(x.size) or short(x, *more))
    for threads in (1, 2):  # one piece, and two
        monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 4097 if threads == 1 else 256)
        monkeypatch.setattr(_blocks, "get_num_threads", lambda threads=threads: threads)
        check(x, k)
        assert sizes.pop() == partitioned
        assert not sizes


@pytest.mark.parametrize("k", [1, 40, 300, 1000])
def test_a_sample_of_zeros_only_does_not_mislead(k):
    x = np.random.default_rng(k).standard_normal(4096)
    x[sampled_places(4096, 64)] = 0
    check(x, k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [1000, 5000])
def test_non_finite_entries_are_found_wherever_they_are(bad, dtype, n):
    x = np.random.default_rng(0).standard_normal(n).astype(dtype)
    for at in (0, 500, n - 1, slice(None)):
        y = x.copy()
        y[at] = bad
        for k in (1, 10, n):
            with pytest.raises(ValueError, match="x must be finite"):
                TopK(k).compress(y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_agree_with_their_own_source(dtype):
    x = long_vectors(9001, dtype)["small integers"]
    bits, mask = magnitude_bits(x)
    level = np.array(5, dtype).view(bits.dtype)[()]

    def results(plain):
        kernel = (lambda f: getattr(f, "py_func", f)) if plain else (lambda f: f)
        words = np.zeros(141, np.uint64)
        kernel(_largest._reached)(bits, mask, level, words)
        keys = np.zeros(100, bits.dtype)
        kernel(_largest._sample)(bits, mask, keys)
        out = [words.tolist(), keys.tolist(), kernel(_largest._count)(bits, mask, level)]
        for ties in (0, 3, 10**6):
            indices, values = np.zeros(9001, np.int32), np.zeros(9001, bits.dtype)
            count = kernel(_largest._emit)(bits, mask, level, ties, 7, indices, values)
            room = kernel(_largest._emit)(bits, mask, level, ties, 7, indices[: count - 1], values)
            narrow, kept = np.zeros(count, np.int32), np.zeros(count, bits.dtype)
            kernel(_largest._narrow)(bits, np.arange(7, 9008, dtype=np.int32), mask, level, ties, narrow, kept)
            assert room == -1
            assert narrow.tolist() == indices[:count].tolist()
            assert kept.tolist() == values[:count].tolist()
            out += [count, narrow.tolist(), kept.tolist()]
        return out

    assert results(plain=False) == results(plain=True)


def test_the_law_is_what_the_kernel_does():
    for x in itertools.product([-2, -1, 0, Fraction(1, 2), 1], repeat=4):
        for k in range(1, 5):
            [(probability, output)] = TopK(k).law(x)
            assert probability == 1
            assert output == tuple(naive.exact(TopK(k)(np.array(x, np.float32))))


def test_sizes_on_the_wire():
    for n, index_bits in ((1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1024, 10), (1025, 11)):
        assert TopK(1).compress(np.ones(n, np.float32)).bits == index_bits + 32
        assert TopK(n).compress(np.ones(n)).bits == n * (index_bits + 64)


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused_when_built(k):
    with pytest.raises(ValueError, match=rf"k must be in \[1, \.\.\.\], got {k}"):
        TopK(k)


@pytest.mark.parametrize("k", [1.0, "1", True, None])
def test_k_that_is_no_integer_is_refused_when_built(k):
    with pytest.raises(TypeError, match="k must be an integer"):
        TopK(k)


def test_k_beyond_n_is_refused_when_compressing():
    with pytest.raises(ValueError, match=r"k must be in \[1, 3\], got 4"):
        TopK(4).compress(np.ones(3))
    with pytest.raises(ValueError, match=r"k must be in \[1, 3\], got 4"):
        TopK(4).law([1, 2, 3])
