"""What quantisers send: `Coded`, a signed level for every entry, and what the randomised ones share."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats
from commbounds.compressors._blocks import for_blocks
from commbounds.compressors._random import fill_uniforms, key_from
from commbounds.compressors.base import (
    Compressor,
    Message,
    check_number,
    check_part,
    check_uniforms,
    checked_array,
    checked_rng,
    index_bits,
    shown,
    writable,
)

Draw = Callable[[int, int], Array]
"""``draw(start, stop)``: the uniforms of entries start .. stop - 1, in the dtype of the vector."""


@dataclass(frozen=True)
class Counted:
    """A `Draw` of the counter-based generator: entry i gets draw i of `key`."""

    key: np.uint64
    dtype: np.dtype[Any]

    def __call__(self, start: int, stop: int) -> Array:
        """The uniforms of entries start .. stop - 1."""
        uniforms = np.empty(stop - start, self.dtype)
        fill_uniforms(self.key, start, uniforms)
        return uniforms


@dataclass(frozen=True, eq=False)
class Coded(Message):
    """A signed level for every entry, at a fixed length of ceil(log2(2 levels + 1)) bits.

    Parameters
    ----------
    codes : (n,) int8, int16 or int32
        In [-levels, levels]; the sign is the entry's, 0 stands for zero.
    levels : int
        Positive levels.
    norm : float32, float64 or None
        What the levels are relative to, in the dtype of the compressed vector; None where they are absolute.
    """

    codes: Array
    levels: int
    norm: Any = None

    @property
    def bits(self) -> int:
        """Exact size on the wire: the codes, and the norm at its dtype."""
        return self.codes.size * index_bits(2 * self.levels + 1) + (self.norm is not None) * 8 * self.dtype.itemsize

    def check(self) -> None:
        super().check()
        if type(self.levels) is not int or not 1 <= self.levels < 2**31:
            raise ValueError(f"levels of the message must be an integer in [1, 2^31 - 1], got {shown(self.levels)}")
        check_part("codes", self.codes, self.shape, (np.int8, np.int16, np.int32), -self.levels, self.levels)
        if self.norm is not None:
            check_number("norm", self.norm, self.dtype)


def code_dtype(levels: int) -> type[np.signedinteger[Any]]:
    """The smallest integer type that holds -levels .. levels."""
    return np.int8 if levels < 2**7 else np.int16 if levels < 2**15 else np.int32


@njit(cache=True, nogil=True)
def _outside(uniforms):  # type: ignore[no-untyped-def]
    # how many are not in [0, 1), as NaN is not
    count = 0
    for i in range(uniforms.size):
        count += not 0 <= uniforms[i] < 1
    return count


def checked_uniforms(uniforms: ArrayLike, x: Array) -> Array:
    """`uniforms` as a contiguous array of the shape and dtype of `x`, in [0, 1), or an error that names the rule."""
    u = writable(np.ascontiguousarray(uniforms))
    if u.dtype != x.dtype:
        raise TypeError(f"uniforms must have the dtype of x, {x.dtype}, got {u.dtype}")
    if u.shape != x.shape:
        raise ValueError(f"uniforms must have the shape of x, {x.shape}, got {u.shape}")
    if _outside(u):
        check_uniforms("uniforms", u)
    return u


@njit(cache=True, nogil=True)
def _look_up(codes, table, out):  # type: ignore[no-untyped-def]
    # table holds the values of codes -levels .. levels
    levels = table.size // 2
    for i in range(codes.size):
        out[i] = table[np.int64(codes[i]) + levels]


def value_table(magnitudes: Floats, dtype: np.dtype[Any]) -> Array:
    """The values of codes -levels .. levels, rounded to `dtype`, from those of codes 1 .. levels; read-only."""
    positive = magnitudes.astype(dtype)
    table = np.concatenate([-positive[::-1], np.zeros(1, dtype), positive])
    table.setflags(write=False)
    return table


def looked_up(message: Coded, table: Array) -> Array:
    """The vector that `message` stands for, by a `value_table` of its levels and dtype."""
    out = np.empty(message.shape, message.dtype)
    for_blocks(out.size, lambda start, stop: _look_up(message.codes[start:stop], table, out[start:stop]))
    return out


class RandomisedQuantiser(Compressor):
    """A quantiser that decides between two neighbouring levels with one uniform an entry."""

    randomised = True

    @abstractmethod
    def _encoded(self, x: Array, draw: Draw) -> Coded:
        """The message for the contiguous `x`, which has not been searched for NaN and infinities."""

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Coded:
        """The message for `x`.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite, not empty.
        rng : numpy.random.Generator
            Required. One 64-bit key is drawn from it; entry i then uses draw i of a counter-based generator.

        Raises
        ------
        TypeError
            `x` has another dtype, or `rng` is no Generator.
        ValueError
            `x` is empty, not finite, or not a vector.
        """
        array = checked_array(x, finite=False)
        return self._encoded(array, Counted(key_from(checked_rng(rng)), array.dtype))

    def compress_with(self, x: ArrayLike, uniforms: ArrayLike) -> Coded:
        """The message for `x` when the random inputs are `uniforms`: the kernel itself, without randomness.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite, not empty.
        uniforms : (n,) dtype of x
            In [0, 1). An entry moves to the upper of its two levels iff its uniform is below the probability of that.

        Raises
        ------
        TypeError
            `uniforms` has another dtype than `x`.
        ValueError
            `uniforms` has another shape, or leaves [0, 1).
        """
        array = checked_array(x, finite=False)
        u = checked_uniforms(uniforms, array)
        return self._encoded(array, lambda start, stop: u[start:stop])
