"""Split computations: what is exact is the same however it is split; in float64 the formulas; roundings by hand."""

import math
import re

import numpy as np
import pytest

from commbounds.collectives.precision.split import split_computation

pytestmark = pytest.mark.kernels
WHOLE = np.arange(-11, 13, dtype=np.float64).reshape(1, 24) % 7
U = 2.0**-53


def halves(ranks):
    """The slices of a row and of a column, by ranks."""
    row, column = WHOLE[0, :12], WHOLE[0, 12:]
    return np.hstack([row.reshape(ranks, -1), column.reshape(ranks, -1)])


@pytest.mark.parametrize("form", ["float16", "float32", "float64"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
def test_sums_of_integers_are_exact_however_they_are_split(ranks, form):
    product = split_computation(halves(ranks), accumulate=form)
    assert product.tolist() == [float(WHOLE[0, :12] @ WHOLE[0, 12:])]
    parts = np.tile(WHOLE / 8, (ranks, 1))
    for replicas in (d for d in range(1, ranks + 1) if ranks % d == 0):
        options = {"accumulate": form, "batches": 4, "replicas": replicas, "divisor": 2}
        gradient = split_computation(parts, "gradient", **options)
        assert gradient.tolist() == (ranks * WHOLE.reshape(4, 6).sum(axis=0) / 16).tolist()
        step = split_computation(parts, "step", **options, eps=0.5)
        assert step.tolist() == (gradient / (abs(gradient) + 0.5)).tolist()
    root = split_computation(parts, "root", form, eps=1.0)
    assert root[0] == math.sqrt(float(((ranks * WHOLE / 8) ** 2).mean()) + 1.0)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_in_float64_the_formulas(ranks):
    """One rounding of each operation: of so many terms the sums are off by as many units."""
    x = np.random.default_rng(ranks).standard_normal((ranks, 7))
    z, units = x - x.max(), 8 * x.size * U
    loss = split_computation(x, "loss", "float64", target=3)
    assert abs(loss[0] - (math.log(math.fsum(np.exp(z).ravel())) - z.ravel()[3])) <= units * (1 + abs(z).max())
    distance = split_computation(x, "distance", "float64")
    weights = np.exp(z).ravel()
    wanted = math.fsum(-z.ravel() * weights) / math.fsum(weights)
    assert abs(distance[0] - wanted) <= units * wanted
    total = np.array([math.fsum(column) for column in x.T])
    norm = split_computation(x, "norm", "float64", eps=0.25)
    assert np.allclose(norm, total / math.sqrt(math.fsum(total**2) / 7 + 0.25), rtol=units * 8, atol=units)


def test_roundings_by_hand():
    # 1 + 2^-11 is halfway in float16, and goes to 1; 1 + 3 2^-11 to 1 + 2^-9
    assert split_computation([[1.0, 2.0**-11, 1.0, 1.0]], accumulate="float16").tolist() == [1.0]
    assert split_computation([[1.0, 3 * 2.0**-11, 1.0, 1.0]], accumulate="float16").tolist() == [1 + 2.0**-9]
    # parts are rounded to the wire's format, though each is exact in the accumulator's
    parts = [[257.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0]]
    assert split_computation(parts, accumulate="float32").tolist() == [258.0]
    assert split_computation(parts, accumulate="float32", wire="bfloat16").tolist() == [256.0]
    # eleven digits of an operand
    assert split_computation([[2049.0, 1.0]], tf32=True).tolist() == [2048.0]
    assert split_computation([[2049.0, 1.0]]).tolist() == [2049.0]
    assert split_computation([[0.0, 0.0]], "norm", eps=0.0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": "sum"}, "of must be one of product"),
        ({"accumulate": "float16", "wire": "float32"}, "accumulate must hold all numbers of float32, got float16"),
        ({"stack": [[1.0, 2.0, 3.0]]}, "two slices of one length, got 3 numbers"),
        ({"stack": [1.0, 2.0]}, "stack must be (P, m) and finite"),
        ({"stack": [[np.nan, 1.0]]}, "stack must be (P, m) and finite"),
        ({"stack": np.zeros((0, 2))}, "stack must be (P, m) and finite"),
        ({"of": "gradient", "batches": 3}, "batches must divide 2"),
        ({"of": "gradient", "replicas": 2}, "replicas 1"),
        ({"of": "gradient", "divisor": 0}, "divisor must be in [1, ...]"),
        ({"of": "loss", "target": 2}, "target must be in [0, 1]"),
        ({"of": "norm", "eps": -1.0}, "eps must be at least 0"),
        ({"of": "norm", "eps": np.nan}, "eps must be at least 0"),
    ],
)
def test_wrong_input_is_named(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        split_computation(**{"stack": [[1.0, 2.0]], **options})
