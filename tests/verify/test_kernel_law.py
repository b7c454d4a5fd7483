"""Laws that are read off kernels agree with the exact laws, for every kind of random input."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mutants.registry import EXAMPLES

from commbounds.compressors import (
    COMPRESSORS,
    QSGD,
    AdaptiveSparsification,
    LowRank,
    MaxDithering,
    NaturalCompression,
    NaturalDithering,
    PowerSGD,
    RandK,
    StochasticPower,
    TernGrad,
    TopK,
    quantizers,
)
from commbounds.verify.kernel_law import Outcomes, injection, kernel_law
from commbounds.verify.marginals import Marginals

pytestmark = pytest.mark.kernels
DTYPES = [np.float32, np.float64]


def test_what_every_compressor_takes():
    kinds = {name: injection(cls(**EXAMPLES[name][0])) for name, cls in COMPRESSORS.items()}
    assert {name for name, kind in kinds.items() if kind} == {n for n, cls in COMPRESSORS.items() if cls.randomised}
    assert (kinds["RandK"], kinds["AdaptiveSparsification"], kinds["PowerSGD"]) == ("draws", "u", "sketch")
    assert {kinds[name] for name in quantizers.COMPRESSORS} == {"uniforms", ""}


def merged(law):
    """An Outcomes or an exact law as a dict from rounded output to probability."""
    pairs = zip(law.p, law.y, strict=True) if isinstance(law, Outcomes) else law
    result = {}
    for p, y in pairs:
        key = tuple(round(float(v), 4) for v in y)
        result[key] = result.get(key, 0.0) + float(p)
    return result


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("x", [(1, -2), (3, -1, 2), (5, 1, -4, 2, 3), (1, 1, 0, -1, 2, 2)], ids=str)
@pytest.mark.parametrize("scaled", [True, False])
def test_draws_of_a_subset(x, scaled, dtype):
    for k in range(1, len(x) + 1):
        c = RandK(k, scaled=scaled)
        law = kernel_law(c, np.array(x, dtype))
        assert len(law.p) == np.prod([len(x) - k + j + 1 for j in range(k)])
        # sums of at most all probabilities: half a unit an addition
        assert merged(law) == pytest.approx(merged(c.law(x)), abs=len(law.p) * 2.0**-53)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("x", [(1, -2), (0, 3, 0, 1), (4, -1, 1, 2), (1,), (0, 0), tuple(range(1, 9))], ids=str)
def test_one_uniform(x, dtype):
    c = AdaptiveSparsification()
    law = kernel_law(c, np.array(x, dtype))
    # the partial sums are rounded: 16 times half a unit of 2^-53
    assert merged(law) == pytest.approx(merged(c.law(x)), abs=16 * 2.0**-53)


class Squared(AdaptiveSparsification):
    """Draws by another distribution than its law says."""

    def compress_with(self, x, u):
        return super().compress_with(x, u * u)


def test_the_law_says_where_to_look_and_the_kernel_what_is_there():
    law = kernel_law(Squared(), np.array([1.0, 1.0, 2.0]))
    # the squares pass 1/4 and 1/2 where u does their roots
    assert np.cumsum(law.p) == pytest.approx([0.5, math.sqrt(0.5), 1.0], abs=2.0**-52)
    assert law.y.argmax(axis=1).tolist() == [0, 1, 2]


ELEMENTWISE = [
    QSGD(1),
    QSGD(3),
    MaxDithering(2),
    TernGrad(),
    NaturalCompression(),
    NaturalDithering(2),
    StochasticPower(Fraction(3, 2)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("x", [(3, 4), (1, -2, 2), (-7, 0, 1)], ids=str)
@pytest.mark.parametrize("c", ELEMENTWISE, ids=str)
def test_uniforms(c, x, dtype):
    law, exact = kernel_law(c, np.array(x, dtype)), c.law(x)
    assert isinstance(law, Marginals)
    eps = float(np.finfo(dtype).eps)
    for i in range(len(x)):
        expected = float(sum(p * y[i] for p, y in exact))
        square = float(sum(p * y[i] ** 2 for p, y in exact))
        assert law.mean[i] == pytest.approx(expected, rel=8 * eps, abs=8 * eps)
        assert law.expected_square(np.zeros(len(x)))[i] == pytest.approx(square, rel=16 * eps, abs=16 * eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("x", [((1, 0), (0, 1)), ((2, 1), (0, 1)), ((3, 0), (0, -1)), ((1, 2), (2, 4))], ids=str)
def test_sketches_in_the_plane(x, dtype):
    law = kernel_law(PowerSGD(1), np.array(x, dtype))
    wide = np.array(x, dtype=np.float64)
    error = float(law.p @ ((law.y - wide.ravel()) ** 2).sum(axis=1))
    # the product of the singular values, by lowrank.powersgd.determinant
    assert error == pytest.approx(abs(np.linalg.det(wide)), abs=4 * np.finfo(dtype).eps * (wide**2).sum())


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (4, 2)], ids=str)
def test_a_sketch_of_the_smaller_sides_rank_has_one_outcome(shape):
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    law = kernel_law(PowerSGD(min(shape)), x)
    assert law.p.tolist() == [1.0]
    assert law.y[0] == pytest.approx(x.ravel(), rel=1e-13)  # the matrix itself, up to a few roundings
    x[:, 0] = 0  # the first columns alone would not span the rest
    assert kernel_law(PowerSGD(min(shape)), x).y[0] == pytest.approx(x.ravel(), rel=1e-13)


def test_a_deterministic_compressor_has_one_outcome():
    x = np.array([1.0, -3.0, 2.0])
    law = kernel_law(TopK(2), x)
    assert law.p.tolist() == [1.0]
    assert law.y.tolist() == [[0.0, -3.0, 2.0]]
    assert law.mean.tolist() == [0.0, -3.0, 2.0]
    assert kernel_law(LowRank(1), np.eye(2)).y.shape == (1, 4)


@pytest.mark.parametrize(
    ("c", "x"),
    [
        (RandK(1), np.ones(7)),
        (AdaptiveSparsification(), np.ones(17)),
        (PowerSGD(1), np.ones((2, 3))),
        (PowerSGD(2), np.ones((3, 4))),
    ],
    ids=str,
)
def test_where_a_law_cannot_be_read_off(c, x):
    assert kernel_law(c, x) is None
