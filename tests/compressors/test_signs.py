from fractions import Fraction

import numpy as np
import pytest
from hostile_vectors import hostile_vectors

from commbounds.compressors import ScaledSign, Sign
from commbounds.compressors.quantizers.signs import _scaled, _signs
from commbounds.verify.definitions import quantizers as naive

pytestmark = pytest.mark.kernels

DTYPES = [np.float32, np.float64]
VECTORS = [(dtype, name) for dtype in DTYPES for name in hostile_vectors(dtype)]


@pytest.mark.parametrize(("dtype", "name"), VECTORS)
def test_the_scale_is_the_mean_magnitude_rounded_as_promised(dtype, name):
    x = hostile_vectors(dtype)[name]
    scale, mean = ScaledSign().compress(x).scale, naive.mean_magnitude(x)
    assert scale.dtype == dtype
    assert scale <= abs(x).max()
    # float64 sums of n terms, n / 64 of them in a row and nine more additions and divisions; then one rounding
    slack = mean * (Fraction(x.size, 64) + 10) / 2**53
    unit = Fraction(float(np.spacing(min(scale, np.finfo(dtype).max / 2))))
    assert abs(Fraction(float(scale)) - mean) <= slack + unit


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_equal_entries_at_the_largest_finite_value_do_not_overflow(dtype, n):
    x = np.full(n, np.finfo(dtype).max)
    assert ScaledSign()(x).tolist() == pytest.approx(x.tolist(), rel=(n / 64 + 10) * 2.0**-53)  # as above
    assert np.isfinite(ScaledSign()(-x)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_kernels_agree_with_their_own_source(dtype):
    for x in hostile_vectors(dtype).values():
        compiled, plain = np.zeros((2, x.size), np.int8)
        _signs(x, 1, compiled)
        getattr(_signs, "py_func", _signs)(x, 1, plain)
        assert compiled.tolist() == plain.tolist()
        first, second = np.zeros((2, x.size), dtype)
        _scaled(compiled, dtype(0.1), first)
        getattr(_scaled, "py_func", _scaled)(plain, dtype(0.1), second)
        assert first.tolist() == second.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_wire_size(dtype):
    x, item = np.ones(13, dtype), 8 * np.dtype(dtype).itemsize
    assert [c.compress(x).bits for c in (Sign(), Sign(0), ScaledSign(), ScaledSign(0))] == [
        13,
        26,
        13 + item,
        26 + item,
    ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_and_negative_zeros(dtype):
    x = np.array([0.0, -0.0], dtype)
    assert Sign()(x).tolist() == [1, 1]
    assert Sign(0)(x).tolist() == [0, 0]
    for compressor in (ScaledSign(), ScaledSign(0)):
        assert compressor(x).tolist() == [0, 0]
        assert not np.signbit(compressor(x)).any()


def test_laws_are_certain_and_exact():
    x = [3, Fraction(-1, 2), 0]
    assert Sign().law(x) == [(1, (1, -1, 1))]
    assert Sign(0).law(x) == [(1, (1, -1, 0))]
    mean = Fraction(7, 6)
    assert ScaledSign().law(x) == [(1, (mean, -mean, mean))]
    assert ScaledSign(0).law(x) == [(1, (mean, -mean, 0))]
    assert ScaledSign().law([0, 0]) == [(1, (0, 0))]


@pytest.mark.parametrize("x", [[3, -1, 4], [1, 0, 0], [5], [2, 2, -2, 0]], ids=str)
def test_the_kernel_agrees_with_its_law(x):
    for compressor in (Sign(), Sign(0), ScaledSign(), ScaledSign(0)):
        ((probability, output),) = compressor.law(x)
        assert probability == 1
        assert compressor(np.array(x, np.float64)).tolist() == [float(v) for v in output]


@pytest.mark.parametrize("kind", [Sign, ScaledSign])
def test_the_sign_of_zero_is_zero_or_one(kind):
    with pytest.raises(ValueError, match=r"zero must be in \[0, 1\], got -1"):
        kind(-1)
    with pytest.raises(TypeError, match="zero must be an integer"):
        kind(True)
