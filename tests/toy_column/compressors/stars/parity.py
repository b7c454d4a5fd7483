"""Every other entry, by a coin; sent as values alone, with the coin."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from commbounds.compressors.base import (
    Compressor,
    Message,
    checked_array,
    checked_exact,
    checked_kind,
    checked_rng,
    merged_law,
)


@dataclass(frozen=True, eq=False)
class EveryOther(Message):
    """The entries whose positions have the coin's parity; a zero for the last one where there is none.

    Parameters
    ----------
    coin : int
        0 or 1.
    values : (ceil(n/2),) float32 or float64
        In the dtype of the compressed vector.
    """

    coin: int
    values: np.ndarray

    @property
    def bits(self):
        """Exact size on the wire: the coin, and every value at its dtype."""
        return 1 + self.values.size * 8 * self.dtype.itemsize


@dataclass(frozen=True)
class Parity(Compressor):
    """The entries at even positions, or those at odd ones, with probability one half each; the others zero."""

    randomised = True
    claims = (
        "stars.parity.contraction",
        "stars.parity.no_expansion",
        "stars.parity.wire",
        "stars.parity.sign_symmetry",
        "stars.parity.scale_equivariance",
    )

    def compress(self, x, rng=None):
        """Every other entry of `x`; one draw is taken from the generator."""
        array = checked_array(x)
        return self._sent(array, int(checked_rng(rng).integers(0, 2)))

    def compress_with(self, x, coin):
        """The entries of `x` whose positions have the parity of `coin`."""
        array = checked_array(x)
        if coin not in (0, 1):
            raise ValueError(f"coin must be 0 or 1, got {coin!r}")
        return self._sent(array, int(coin))

    def _sent(self, x, coin):
        values = np.zeros(-(-x.size // 2), x.dtype)
        chosen = x[coin::2]
        values[: chosen.size] = chosen
        return EveryOther(x.shape, x.dtype, coin, values)

    def decompress(self, message):
        """The vector that `message` stands for."""
        checked_kind("message", message, EveryOther)
        out = np.zeros(message.shape, message.dtype)
        chosen = out[message.coin :: 2]
        chosen[:] = message.values[: chosen.size]
        return out

    def law(self, x):
        """Both outcomes, with probability one half each."""
        exact = checked_exact(x)
        return merged_law(
            (Fraction(1, 2), tuple(v if i % 2 == coin else Fraction(0) for i, v in enumerate(exact))) for coin in (0, 1)
        )
