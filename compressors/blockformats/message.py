"""What block formats send: `Blocks`, elements with an exponent a block, and `ScaledBlocks`, with a scale a block."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Bytes
from commbounds.compressors.base import Message, check_number, check_part


@dataclass(frozen=True, eq=False)
class Blocks(Message):
    """An element for every entry, and a power of two for every block.

    Parameters
    ----------
    codes : (n,) int8
        Signed magnitude bits of the elements: the sign is the entry's, 0 stands for zero.
    exponents : (ceil(n / block),) int16
        In [-127, 127]: an E8M0 byte each, biased by 127.
    width : int
        Bits of an element.
    """

    codes: NDArray[np.int8]
    exponents: NDArray[np.int16]
    width: int

    @property
    def bits(self) -> int:
        """Exact size on the wire: the elements, and a byte a block."""
        return int(self.codes.size * self.width + 8 * self.exponents.size)

    def check(self) -> None:
        super().check()
        check_part("codes", self.codes, self.shape, (np.int8,))
        check_part("exponents", self.exponents, None, (np.int16,), -127, 127)


@dataclass(frozen=True, eq=False)
class ScaledBlocks(Message):
    """An element of four bits for every entry, an E4M3 scale for every block, and a float32 for all of them.

    Parameters
    ----------
    codes : (n,) int8
        As for `Blocks`; in [-7, 7].
    scales : (ceil(n / block),) uint8
        Magnitude bits of the blocks' scales.
    tensor : float32
        What all scales are relative to.
    """

    codes: NDArray[np.int8]
    scales: Bytes
    tensor: Any

    @property
    def bits(self) -> int:
        """Exact size on the wire: the elements, a byte a block, and 32 bits."""
        return int(4 * self.codes.size + 8 * self.scales.size + 32)

    def check(self) -> None:
        super().check()
        check_part("codes", self.codes, self.shape, (np.int8,), -7, 7)
        check_part("scales", self.scales, None, (np.uint8,), 0, 126)
        check_number("tensor", self.tensor, np.dtype(np.float32))
