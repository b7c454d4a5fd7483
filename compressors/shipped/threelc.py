"""3LC: three values with a sparsity multiplier, five of them in a byte, and runs of zero bytes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors._magnitude import LARGEST, finite_largest
from commbounds.compressors.base import (
    Compressor,
    Law,
    check_same,
    checked_array,
    checked_exact,
    checked_flag,
    checked_message,
    checked_real,
    hold_python_numbers,
)
from commbounds.compressors.shipped.message import Quartic

FIVE = 5
"""Ternary entries in a byte: 3^5 = 243."""
ZEROS = 121
"""The byte of five zeros: 1 + 3 + 9 + 27 + 81."""
FIRST_RUN = 243
"""The byte that stands for two bytes of zeros; the next for three, up to 255 for fourteen."""
LONGEST_RUN = 14


@njit(cache=True, nogil=True)
def _pack(x, scale, out):  # type: ignore[no-untyped-def]
    # five digits a byte, the first the highest: 2 where 2 x >= scale, 0 where -2 x >= scale, else 1; doubling is exact
    # or overflows, and half the scale may be rounded. What is missing of the last five counts as zero.
    for b in range(out.size):
        byte = 0
        for j in range(FIVE):
            i = b * FIVE + j
            digit = 1
            if i < x.size and x[i] != 0 and abs(np.float64(x[i])) >= scale - abs(np.float64(x[i])):
                digit = 2 if x[i] > 0 else 0
            byte = 3 * byte + digit
        out[b] = byte


@njit(cache=True, nogil=True)
def _shorten(plain, out):  # type: ignore[no-untyped-def]
    # runs of two to fourteen zero bytes as one; returns how many bytes are left
    at, i = 0, 0
    while i < plain.size:
        run = 0
        while i + run < plain.size and run < LONGEST_RUN and plain[i + run] == ZEROS:
            run += 1
        if run >= 2:
            out[at] = FIRST_RUN + run - 2
            i += run
        else:
            out[at] = plain[i]
            i += 1
        at += 1
    return at


@njit(cache=True, nogil=True)
def _unpack(packed, scale, out):  # type: ignore[no-untyped-def]
    i = 0
    for b in range(packed.size):
        byte = np.int64(packed[b])
        if byte >= FIRST_RUN:
            for _ in range(FIVE * (byte - FIRST_RUN + 2)):
                if i < out.size:
                    out[i] = 0
                i += 1
        else:
            weight = 81
            for _ in range(FIVE):
                if i < out.size:
                    out[i] = (byte // weight % 3 - 1) * scale
                i += 1
                weight //= 3


@dataclass(frozen=True)
class ThreeLC(Compressor):
    """Entries round to -M, 0 or M, where M = sparsity norminf (3LC, Lim et al. 2018).

    C(x)_i = M round(x_i / M), halves away from zero; five entries go into a byte in base 3 (quartic encoding), and two
    to fourteen bytes of zeros into one (zero-run encoding).

    Parameters
    ----------
    sparsity : int, float or Fraction
        The sparsity multiplier s, in [1, 2).
    zero_run : bool
        Whether runs of zeros are encoded; messages then depend on the data.

    Notes
    -----
    No entry is off by more than M/2. ||C(x) - x||^2 <= (1 - 4 s (2 - s) / (4 + (n - 1) s^2)) ||x||^2, attained where
    one entry is the largest and all others are s/2 of it. The scale is rounded to the dtype; a sum of two entries, its
    comparison with the scale, is exact. 8 (itemsize + ceil(n/5)) bits at most.

    Examples
    --------
    >>> import numpy as np
    >>> message = ThreeLC(1).compress(np.array([4.0, -2.0, 1.0, 0.0, -4.0, 0.0]))
    >>> message.packed.tolist(), ThreeLC(1).decompress(message).tolist()
    ([174, 121], [4.0, -4.0, 0.0, 0.0, -4.0, 0.0])
    """

    sparsity: float | Fraction = 1
    zero_run: bool = True
    claims = (
        "shipped.threelc.entry_error",
        "shipped.threelc.contraction",
        "shipped.threelc.quartic",
        "shipped.threelc.zeros",
        "shipped.threelc.wire",
        "shipped.threelc.sign_symmetry",
        "shipped.threelc.scale_equivariance",
        "shipped.threelc.idempotence_one",
    )

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        if not 1 <= checked_real("sparsity", self.sparsity) < 2 or not self.sparsity < 2:
            raise ValueError(f"sparsity must be in [1, 2), got {self.sparsity}")
        object.__setattr__(self, "zero_run", checked_flag("zero_run", self.zero_run))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Quartic:
        """The message for `x`; see `Compressor.compress`.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64.
        ValueError
            `x` is not a vector, empty, not finite, or sparsity times its largest entry overflows.
        """
        array = checked_array(x, finite=False)
        top = float(finite_largest(array))
        if top > LARGEST[array.itemsize] / float(self.sparsity):
            raise ValueError(f"x must not exceed the largest {array.dtype} when multiplied by {self.sparsity}")
        with np.errstate(over="ignore"):
            # rounded down, the scale of a largest entry stays finite, and that entry rounds up to it
            scale = array.dtype.type(min(float(self.sparsity) * top, LARGEST[array.itemsize]))
        plain = np.empty(-(-array.size // FIVE), np.uint8)
        _pack(array, float(scale), plain)
        if self.zero_run:
            shorter = np.empty_like(plain)
            plain = shorter[: _shorten(plain, shorter)].copy()
        return Quartic(array.shape, array.dtype, plain, scale)

    def decompress(self, message: Quartic) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Quartic)
        wide = message.packed.astype(np.int64)
        held = int(np.where(wide >= FIRST_RUN, wide - FIRST_RUN + 2, 1).sum())
        check_same("number of fives", held, -(-message.shape[0] // FIVE))
        out = np.empty(message.shape, message.dtype)
        _unpack(message.packed, message.scale, out)
        return out

    def law(self, x: Sequence[Any]) -> Law:
        """The one outcome, with probability 1."""
        exact = checked_exact(x)
        scale = Fraction(self.sparsity) * max(abs(v) for v in exact)
        if scale == 0:
            return [(Fraction(1), exact)]
        rounded = [math.floor(abs(v) / scale + Fraction(1, 2)) for v in exact]
        return [(Fraction(1), tuple(r * (scale if v > 0 else -scale) for r, v in zip(rounded, exact, strict=True)))]
