"""Signs, alone and scaled by the mean magnitude."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array
from commbounds.compressors._blocks import for_blocks
from commbounds.compressors._norms import mean_magnitude
from commbounds.compressors.base import (
    Compressor,
    Law,
    Message,
    check_number,
    check_part,
    checked_array,
    checked_count,
    checked_exact,
    checked_message,
    index_bits,
    shown,
)


@dataclass(frozen=True, eq=False)
class Signs(Message):
    """A sign for every entry, and what they are multiplied by.

    Parameters
    ----------
    signs : (n,) int8
        -1, 0 or 1.
    zero : int
        The sign that zero entries were given: 1 (a sign then takes one bit) or 0 (two bits).
    scale : float32, float64 or None
        Factor, in the dtype of the compressed vector; None for one, which is not sent.
    """

    signs: NDArray[np.int8]
    zero: int
    scale: Any = None

    @property
    def bits(self) -> int:
        """Exact size on the wire: the signs, and the scale at its dtype."""
        return self.signs.size * index_bits(3 - self.zero) + (self.scale is not None) * 8 * self.dtype.itemsize

    def check(self) -> None:
        super().check()
        if type(self.zero) is not int or self.zero not in (0, 1):
            raise ValueError(f"zero of the message must be 0 or 1, got {shown(self.zero)}")
        check_part("signs", self.signs, self.shape, (np.int8,), -1, 1)
        if self.zero and not self.signs.all():
            raise ValueError("signs of the message must be -1 or 1, as zero is 1")
        if self.scale is not None:
            check_number("scale", self.scale, self.dtype)


@njit(cache=True, nogil=True)
def _signs(x, zero, out):  # type: ignore[no-untyped-def]
    for i in range(x.size):
        out[i] = 1 if x[i] > 0 else (-1 if x[i] < 0 else zero)


@njit(cache=True, nogil=True)
def _scaled(signs, scale, out):  # type: ignore[no-untyped-def]
    for i in range(signs.size):
        out[i] = signs[i] * scale


def _signs_of(x: Array, zero: int) -> NDArray[np.int8]:
    signs = np.empty(x.shape, np.int8)
    for_blocks(x.size, lambda start, stop: _signs(x[start:stop], zero, signs[start:stop]))
    return signs


def _exact_sign(value: Fraction, zero: int) -> int:
    return 1 if value > 0 else -1 if value < 0 else zero


class _Signed(Compressor):
    """What both share: the message, and how it is read."""

    def decompress(self, message: Signs) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Signs)
        scale = message.dtype.type(1 if message.scale is None else message.scale)
        out = np.empty(message.shape, message.dtype)
        for_blocks(out.size, lambda start, stop: _scaled(message.signs[start:stop], scale, out[start:stop]))
        return out


@dataclass(frozen=True)
class Sign(_Signed):
    """The signs: C(x)_i = sign(x_i) (Bernstein et al. 2018).

    Parameters
    ----------
    zero : int
        The sign of 0 and of -0: 1 or 0.

    Notes
    -----
    Not contractive: the output does not scale with the input. n bits with ``zero=1``, 2 n with ``zero=0``.
    The zero vector becomes all ones with ``zero=1``.

    Examples
    --------
    >>> import numpy as np
    >>> Sign()(np.array([0.5, -3.0, 0.0]))
    array([ 1., -1.,  1.])
    """

    zero: int = 1
    claims = (
        "quantizers.sign.error",
        "quantizers.sign.wire",
        "quantizers.sign.wire_ternary",
        "quantizers.sign.sign_symmetry",
        "quantizers.sign.sign_symmetry_ternary",
        "quantizers.sign.idempotence",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "zero", checked_count("zero", self.zero, 0, 1))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Signs:
        """The message for `x`; see `Compressor.compress`."""
        array = checked_array(x)
        return Signs(array.shape, array.dtype, _signs_of(array, self.zero), self.zero)

    def law(self, x: Sequence[Any]) -> Law:
        """The one outcome, with probability 1."""
        return [(Fraction(1), tuple(Fraction(_exact_sign(v, self.zero)) for v in checked_exact(x)))]


@dataclass(frozen=True)
class ScaledSign(_Signed):
    """The signs times the mean magnitude: C(x)_i = (norm1 / n) sign(x_i) (Karimireddy et al. 2019).

    Parameters
    ----------
    zero : int
        The sign of 0 and of -0: 1 or 0.

    Notes
    -----
    With ``zero=1``, ||C(x) - x||^2 = norm2^2 - norm1^2/n exactly, at most (1 - 1/n) ||x||^2; equality iff one entry is
    nonzero.
    With ``zero=0`` an x with z zeros is off by norm2^2 - (1 + z/n) norm1^2/n: the factor 1 - 1/n is not attained.
    The scale is rounded to the dtype; n + 8 itemsize bits with ``zero=1``, 2 n + 8 itemsize with ``zero=0``.
    The zero vector stays zero.

    Examples
    --------
    >>> import numpy as np
    >>> ScaledSign()(np.array([0.5, -2.5, 0.0]))
    array([ 1., -1.,  1.])
    """

    zero: int = 1
    claims = (
        "quantizers.scaledsign.error",
        "quantizers.scaledsign.contraction",
        "quantizers.scaledsign.one_sparse",
        "quantizers.scaledsign.wire",
        "quantizers.scaledsign.wire_ternary",
        "quantizers.scaledsign.sign_symmetry",
        "quantizers.scaledsign.sign_symmetry_ternary",
        "quantizers.scaledsign.scale_equivariance",
        "quantizers.scaledsign.idempotence",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "zero", checked_count("zero", self.zero, 0, 1))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Signs:
        """The message for `x`; see `Compressor.compress`."""
        array = checked_array(x, finite=False)
        scale = mean_magnitude(array)
        return Signs(array.shape, array.dtype, _signs_of(array, self.zero), self.zero, scale)

    def law(self, x: Sequence[Any]) -> Law:
        """The one outcome, with probability 1."""
        values = checked_exact(x)
        scale = sum((abs(v) for v in values), Fraction(0)) / len(values)
        return [(Fraction(1), tuple(scale * _exact_sign(v, self.zero) for v in values))]
