"""Batched sub-cases: as many inputs as rows, each of which can be made again by its seed."""

import numpy as np
import pytest
from hypothesis import example, find, given, settings
from hypothesis import strategies as st

from commbounds.compressors import ChunkTopK, TopK
from commbounds.verify.batched import FAMILIES, SUBCASES, Batch, batches, largest_error, violating_subcase
from commbounds.verify.definitions import sparsifiers as naive

SHARES = st.integers(1, 100)


def kept(batch, share):
    return -(-batch.n * share // 100)


@given(batches(), SHARES)
@example(Batch("signs", 64, 0), 50)
@example(Batch("nearly constant", 1, 7, count=1), 100)
def test_top_k_contracts_on_every_subcase(batch, share):
    found = violating_subcase(batch, kept(batch, share))
    assert found is None, f"promote to an example: {found}, {share}"


@given(batches(), SHARES)
def test_rows_are_compressed_as_top_k_compresses_vectors(batch, share):
    rows, k = batch.rows(), kept(batch, share)
    together = ChunkTopK(k, batch.n)(rows.ravel()).reshape(rows.shape)
    for b in (0, batch.count - 1):
        assert TopK(k)(rows[b]).tobytes() == together[b].tobytes()
        assert np.flatnonzero(together[b]).tolist() == [i for i in naive.topk(rows[b], k) if rows[b, i]]


def one_less(rows, k):
    return ChunkTopK(k - 1, rows.shape[1])(rows.ravel()).reshape(rows.shape) if k > 1 else np.zeros_like(rows)


def smallest(rows, k):
    order = np.argsort(np.abs(rows), axis=1)[:, :k]
    out = np.zeros_like(rows)
    np.put_along_axis(out, order, np.take_along_axis(rows, order, axis=1), axis=1)
    return out


def one_row_negated(rows, k):
    out = rows.copy()
    out[rows.shape[0] // 2] *= -1
    return out


def one_row_lost(rows, k):
    out = rows.copy()
    out[-1] = np.nan
    return out


@pytest.mark.parametrize("broken", [one_less, smallest, one_row_negated, one_row_lost])
def test_broken_twins_are_found_and_their_seed_makes_them_again(broken):
    batch, k = find(
        st.tuples(batches(8), st.integers(1, 7)),
        lambda drawn: violating_subcase(*drawn, compressed=broken) is not None,
        settings=settings(database=None, max_examples=2000),
    )
    found = violating_subcase(batch, k, compressed=broken)
    assert found.count == 1
    assert violating_subcase(found, k, compressed=broken) == found
    assert batch.seed <= found.seed < batch.seed + SUBCASES
    assert found.rows()[0].tobytes() == batch.rows()[found.seed - batch.seed].tobytes()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 5, 64])
def test_a_row_is_a_function_of_its_seed(family, n):
    rows = Batch(family, n, 11, -3).rows()
    assert rows.shape == (SUBCASES, n)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    for b in range(SUBCASES):
        assert Batch(family, n, 11 + b, -3, count=1).rows()[0].tobytes() == rows[b].tobytes()


def test_scales_are_exact_and_families_differ():
    for family in FAMILIES:
        assert (Batch(family, 9, 5, 10).rows() == Batch(family, 9, 5).rows() * 1024).all()
    assert len({Batch(family, 9, 5).rows().tobytes() for family in FAMILIES}) == len(FAMILIES)


def test_the_largest_error_and_its_row():
    x = np.array([[3, 4], [0, 0], [1, 1]], np.float32)
    assert largest_error(x, x) == (0.0, 0)
    assert largest_error(x, np.array([[3, 4], [0, 0], [1, 0]], np.float32)) == (0.5, 2)
    assert largest_error(x, np.array([[3, 0], [1, 0], [1, 0]], np.float32)) == (np.inf, 1)
    error, row = largest_error(x, np.array([[3, 0], [1, 0], [np.nan, 0]], np.float32))
    assert np.isnan(error)
    assert row == 2
