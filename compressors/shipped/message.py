"""What these compressors send: `Tabled`, codes and the values that they stand for; `Quartic`; `Maybe`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from commbounds.array_types import Array, Bytes
from commbounds.compressors._blocks import for_blocks
from commbounds.compressors.base import Message, check_number, check_part, index_bits


@dataclass(frozen=True, eq=False)
class Tabled(Message):
    """A code for every entry, and the value of every code.

    Parameters
    ----------
    codes : (n,) int16
        In [0, table.size).
    table : (size,) float32 or float64
        In the dtype of the compressed vector.
    """

    codes: NDArray[np.int16]
    table: Array

    @property
    def bits(self) -> int:
        """Exact size on the wire: ceil(log2 size) bits an entry, and every value of the table at its dtype."""
        return self.codes.size * index_bits(self.table.size) + self.table.size * 8 * self.dtype.itemsize

    def check(self) -> None:
        super().check()
        check_part("table", self.table, None, (self.dtype,))
        if not self.table.size:
            raise ValueError("table of the message must not be empty")
        check_part("codes", self.codes, self.shape, (np.int16,), 0, self.table.size - 1)
        if self.table.size == 1 and self.codes.any():
            raise ValueError("codes of the message must be 0, as its table has one value")


@njit(cache=True, nogil=True)
def _tabled(codes, table, out):  # type: ignore[no-untyped-def]
    for i in range(codes.size):
        out[i] = table[codes[i]]


def looked_up(message: Tabled) -> Array:
    """The vector that `message` stands for."""
    out = np.empty(message.shape, message.dtype)
    for_blocks(out.size, lambda start, stop: _tabled(message.codes[start:stop], message.table, out[start:stop]))
    return out


@dataclass(frozen=True, eq=False)
class Quartic(Message):
    """Ternary entries, five in a byte, times a scale; runs of bytes that hold five zeros may be packed.

    Parameters
    ----------
    packed : (bytes,) uint8
        In base 3, the first of five entries with the largest weight; beyond 242, a run of zero bytes.
    scale : float32 or float64
        In the dtype of the compressed vector.
    """

    packed: Bytes
    scale: Any

    @property
    def bits(self) -> int:
        """Exact size on the wire: the bytes, and the scale at its dtype."""
        return 8 * (self.packed.size + self.dtype.itemsize)

    def check(self) -> None:
        super().check()
        check_part("packed", self.packed, None, (np.uint8,))
        check_number("scale", self.scale, self.dtype)


@dataclass(frozen=True, eq=False)
class Maybe(Message):
    """All entries, or none: the vector is then zero.

    Parameters
    ----------
    values : (n,) or (0,) float32 or float64
        In the dtype of the compressed vector.
    """

    values: Array

    @property
    def bits(self) -> int:
        """Exact size on the wire: a bit that says whether there are values, and every value at its dtype."""
        return 1 + self.values.size * 8 * self.dtype.itemsize

    def check(self) -> None:
        super().check()
        check_part("values", self.values, self.shape if getattr(self.values, "size", 1) else (0,), (self.dtype,))
