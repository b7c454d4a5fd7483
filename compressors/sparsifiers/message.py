"""What sparsifiers send: `Sparse`, positions and values, and what they share: `Sparsifier`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Array
from commbounds.compressors.base import Compressor, Message, check_part, checked_message, zeros_for


@dataclass(frozen=True, eq=False)
class Sparse(Message):
    """Some entries of a vector; the others are zero.

    Parameters
    ----------
    indices : (entries,) int32
        Positions, ascending and unique.
    values : (entries,) float32 or float64
        The values there, in the dtype of the compressed vector.
    position_bits : int
        Bits spent on saying which entries are meant.
    """

    indices: NDArray[np.int32]
    values: Array
    position_bits: int

    @property
    def bits(self) -> int:
        """Exact size on the wire: the positions, and every value at its dtype."""
        return self.position_bits + self.values.size * 8 * self.dtype.itemsize

    def check(self) -> None:
        super().check()
        check_part("values", self.values, None, (self.dtype,))
        count = self.values.size
        check_part("indices", self.indices, (count,), (np.int32,))
        places = self.indices
        if count and (places[0] < 0 or places[-1] >= self.shape[0] or not (places[1:] > places[:-1]).all()):
            raise ValueError(f"indices of the message must ascend within [0, {self.shape[0]})")

    @property
    def parts(self) -> dict[str, Any]:
        """Indices and values."""
        return {"indices": self.indices, "values": self.values}

    def dense(self) -> Array:
        """The vector of shape `shape` and dtype `dtype` that the message stands for."""
        out = zeros_for(self)
        out[self.indices] = self.values
        return out


class Sparsifier(Compressor):
    """A compressor whose message is a `Sparse`."""

    def decompress(self, message: Sparse) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Sparse)
        return message.dense()
