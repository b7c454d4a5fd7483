from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from commbounds.compressors import LowRank, PowerSGD
from commbounds.compressors.lowrank.approximations import orthonormalise

DTYPES = [np.float32, np.float64]


def integers(seed, m, n, low=-9, high=9):
    return np.random.default_rng(seed).integers(low, high, (m, n), endpoint=True).astype(np.float64)


def unit(dtype):
    return np.finfo(dtype).eps / 2


def rounding(matrix, rank, dtype, condition=1.0):
    """Bound on the Frobenius error of a computed projection of `matrix` onto `rank` columns of that condition number.

    float64: the columns M S are off by n u, their orthogonalisation by (m + 2) u for each of two passes over the
    earlier ones, which the condition number amplifies, and three products by m or n u each; then every factor is
    rounded to the dtype, and the product.
    """
    m, n = matrix.shape
    steps = n + 2 * rank * (m + 2)
    return np.linalg.norm(matrix) * (rank * (condition * steps + 3 * max(m, n)) * unit(float) + 3 * rank * unit(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("true_rank", [0, 1, 2])
def test_powersgd_reproduces_matrices_of_lower_rank_and_pads_with_zero_columns(true_rank, dtype):
    rng = np.random.default_rng(true_rank)
    matrix = (integers(1, 6, true_rank, 1, 5) @ integers(2, true_rank, 5, 1, 5)).astype(dtype)
    message = PowerSGD(4).compress(matrix, rng)
    assert (np.linalg.norm(message.left, axis=0) > 0.5).sum() == true_rank
    assert not message.left[:, true_rank:].any()
    assert not message.right[:, true_rank:].any()
    # a Gaussian sketch of a rank two matrix is well conditioned: 1e3 is passed with probability below 1e-5
    assert np.linalg.norm(PowerSGD(4).decompress(message) - matrix) <= rounding(matrix, 4, dtype, 1e3)


def test_the_sign_of_every_column_follows_the_sketch():
    matrix, sketch = integers(3, 5, 4), integers(4, 4, 2)
    message = PowerSGD(2).compress_with(matrix, sketch)
    flipped = PowerSGD(2).compress_with(matrix, sketch * np.array([1, -1]))
    assert (flipped.left == message.left * np.array([1, -1])).all()
    assert (message.left[:, 0] @ (matrix @ sketch[:, 0])) > 0
    negated = PowerSGD(2).compress_with(-matrix, sketch)
    assert (PowerSGD(2).decompress(negated) == -PowerSGD(2).decompress(message)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compressor", [PowerSGD(2), LowRank(2)], ids=str)
def test_scales_do_not_matter(compressor, dtype):
    info, matrix = np.finfo(dtype), integers(5, 4, 3).astype(dtype)
    plain = compressor(matrix, np.random.default_rng(0))
    for exponent in (info.minexp + info.nmant + 8, -5, 60, info.maxexp - 8):
        scaled = compressor(np.ldexp(matrix, exponent), np.random.default_rng(0))
        assert (np.ldexp(scaled, -exponent) == plain).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_warm_start_continues_power_iteration_and_an_orthogonal_one_loses_everything(dtype):
    matrix = integers(6, 5, 4).astype(dtype)
    best = np.sqrt(sum(s * s for s in np.linalg.svd(matrix.astype(np.float64), compute_uv=False)[1:]))
    message, errors = PowerSGD(1).compress(matrix, np.random.default_rng(0)), []
    for _ in range(60):
        message = PowerSGD(1).compress_with(matrix, message.right)
        errors.append(np.linalg.norm(PowerSGD(1).decompress(message).astype(np.float64) - matrix))
    slack = rounding(matrix, 1, dtype)
    assert all(later <= earlier + slack for earlier, later in pairwise(errors))
    assert best - slack <= errors[-1] <= best * (1 + 1e-3)
    lost = np.zeros((2, 2), dtype)
    lost[0, 0] = 3
    assert not PowerSGD(1).decompress(PowerSGD(1).compress_with(lost, [[0.0], [1.0]])).any()


def test_the_law_keeps_the_lowest_index_of_equal_orthogonal_rows():
    assert LowRank(1).law([[0, 2], [2, 0]]) == [(1, (0, 2, 0, 0))]
    assert LowRank(2).law([[1, 0, 0], [0, 1, 0], [0, 0, 1]]) == [(1, (1, 0, 0, 0, 1, 0, 0, 0, 0))]


def test_the_law_is_rational_where_the_singular_values_are():
    ((_, output),) = LowRank(1).law([[1, 0], [2, 0]])
    assert output == (1, 0, 2, 0)
    assert all(type(v) is Fraction for v in LowRank(1).law([[1, 2], [2, 1]])[0][1])


def test_laws_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="sketch is Gaussian"):
        PowerSGD(1).law([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="orthogonal rows or columns"):
        LowRank(1).law([[1, 2, 3], [4, 5, 6], [7, 8, 10]])
    with pytest.raises(ValueError, match="rows of one length"):
        LowRank(1).law([[1, 2], [3]])
    with pytest.raises(ValueError, match=r"rank must be in \[1, 1\], got 2"):
        LowRank(2).law([[1, 2]])


@pytest.mark.parametrize("kind", [PowerSGD, LowRank])
def test_ranks_and_shapes(kind):
    with pytest.raises(ValueError, match="rank must be in"):
        kind(0)
    with pytest.raises(TypeError, match="rank must be an integer"):
        kind(1.0)
    with pytest.raises(ValueError, match=r"rank must be in \[1, 2\], got 3"):
        kind(3).compress(np.ones((2, 5)), np.random.default_rng(0))
    with pytest.raises(ValueError, match="x must have 2 dimensions"):
        kind(1).compress(np.ones(4), np.random.default_rng(0))


def test_sketches_are_checked():
    x = np.ones((3, 2))
    with pytest.raises(ValueError, match=r"sketch must have shape \(2, 1\), got \(3, 1\)"):
        PowerSGD(1).compress_with(x, np.ones((3, 1)))
    with pytest.raises(ValueError, match="sketch must be finite"):
        PowerSGD(1).compress_with(x, [[np.nan], [1.0]])
    huge = PowerSGD(1).compress_with(x, [[2.0**1000], [2.0**1000]])
    assert (huge.left == PowerSGD(1).compress_with(x, [[2.0**-1000], [2.0**-1000]]).left).all()
    assert not PowerSGD(1).compress_with(x, [[0.0], [0.0]]).left.any()


def test_orthonormal_columns_come_out_orthonormal_however_close_they_are():
    base = np.random.default_rng(8).standard_normal((30, 1))
    columns = base + 1e-9 * np.random.default_rng(9).standard_normal((30, 4))
    out = columns.copy()
    orthonormalise(out, np.full(4, 1e-14))
    # twice is enough: orthogonal to a few units in the last place of sums of 30 products
    assert abs(out.T @ out - np.eye(4)).max() <= 4 * 32 * unit(float)
