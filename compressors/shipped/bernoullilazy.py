"""The lazy, or Bernoulli, compressor: everything, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors._magnitude import LARGEST, finite_largest
from commbounds.compressors.base import (
    Compressor,
    Law,
    checked_array,
    checked_exact,
    checked_message,
    checked_real,
    checked_rng,
    hold_python_numbers,
    merged_law,
    zeros_for,
)
from commbounds.compressors.shipped.message import Maybe


@dataclass(frozen=True)
class BernoulliLazy(Compressor):
    """The vector over `keep` with that probability, zero otherwise (FL_PyTorch: the lazy or Bernoulli compressor).

    Parameters
    ----------
    keep : int, float or Fraction
        Probability; 0 < keep <= 1.

    Notes
    -----
    Unbiased; E||C(x) - x||^2 = (1/keep - 1) ||x||^2 for every x. The uniform is a multiple of 2^-53, so the probability
    is `keep` rounded up to one. An entry over `keep` is rounded to float64 and to the dtype of x.

    Examples
    --------
    >>> import numpy as np
    >>> BernoulliLazy(0.5).compress_with(np.array([1.0, -2.0]), 0.25).values
    array([ 2., -4.])
    """

    keep: float | Fraction
    randomised = True
    claims = (
        "shipped.bernoullilazy.unbiased",
        "shipped.bernoullilazy.variance",
        "shipped.bernoullilazy.second_moment",
        "shipped.bernoullilazy.composed",
        "shipped.bernoullilazy.shrunk_contraction",
        "shipped.bernoullilazy.wire",
        "shipped.bernoullilazy.sign_symmetry",
        "shipped.bernoullilazy.scale_equivariance",
    )

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        if not 0 < checked_real("keep", self.keep) <= 1:
            raise ValueError(f"keep must be in (0, 1], got {self.keep}")

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Maybe:
        """All of `x`, or nothing.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite.
        rng : numpy.random.Generator
            One uniform is taken from it.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64, or `rng` is missing.
        ValueError
            `x` is not a vector, empty, not finite, or an entry over `keep` overflows.
        """
        array = self._checked(x)
        return self._sent(array, checked_rng(rng).random())

    def compress_with(self, x: ArrayLike, u: float) -> Maybe:
        """All of `x` iff `u` is below `keep`.

        Parameters
        ----------
        x : (n,) float32 or float64
            As for `compress`.
        u : float
            In [0, 1).

        Raises
        ------
        TypeError, ValueError
            As for `compress`; `u` outside [0, 1).
        """
        array = self._checked(x)
        if not 0 <= u < 1:
            raise ValueError(f"u must be in [0, 1), got {u}")
        return self._sent(array, float(u))

    def _checked(self, x: ArrayLike) -> Array:
        array = checked_array(x, finite=False)
        if finite_largest(array) > LARGEST[array.itemsize] * float(self.keep):
            raise ValueError(f"x must not exceed the largest {array.dtype} when divided by keep = {self.keep}")
        return array

    def _sent(self, x: Array, u: float) -> Maybe:
        if u >= self.keep:  # exact, as Python compares floats with Fractions
            return Maybe(x.shape, x.dtype, np.empty(0, x.dtype))
        top = LARGEST[x.itemsize]
        scaled = np.clip(x.astype(np.float64) / float(self.keep), -top, top)
        return Maybe(x.shape, x.dtype, scaled.astype(x.dtype))

    def decompress(self, message: Maybe) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Maybe)
        return message.values.copy() if message.values.size else zeros_for(message)

    def law(self, x: Sequence[Any]) -> Law:
        """Everything over `keep`, with that probability, or zeros."""
        exact, keep = checked_exact(x), Fraction(self.keep)
        return merged_law([(keep, tuple(v / keep for v in exact)), (1 - keep, (Fraction(0),) * len(exact))])
