"""Which hyper-parameters to try on an input of n entries, and each compressor's natural parameter."""

from collections.abc import Mapping

from commbounds.verify.compressor_study import Setups, Sweep
from commbounds.verify.experiments.sweeps import values

_WIDTHS = (1, 2, 4)

SETUPS: Mapping[str, Setups] = {
    "DRIVE": lambda cls, n: [cls(), cls("biased")],
    "DRIVE biased": lambda cls, n: [cls("biased")],
    "EDEN": lambda cls, n: [cls(1), cls(2), cls(3, "biased"), cls(2, "norm")],
    "EDEN unbiased": lambda cls, n: [cls(width) for width in _WIDTHS],
    "EDEN biased": lambda cls, n: [cls(width, "biased") for width in (1, 3)],
    "EDEN two": lambda cls, n: [cls(2), cls(2, "biased")],
    "EDEN norm": lambda cls, n: [cls(width, "norm") for width in (2, 3)],
    "EDEN one": lambda cls, n: [cls(1), cls(1, "biased")],
    "RotatedDithering": lambda cls, n: [cls(levels) for levels in (1, 2, 3)],
    "HadamardSketch": lambda cls, n: [cls(k) for k in sorted({1, max(1, padded(n) // 2), padded(n)})],
}
"""Instances by compressor; a second word names a variant of it."""

SWEEPS: Mapping[str, Sweep] = {
    "EDEN": values("width", (1, 2, 4, 6)),
    "RotatedDithering": values("levels", (1, 3, 7, 31)),
}
"""Natural parameter by compressor; the others are drawn over the number of entries."""


def padded(n: int) -> int:
    """The length of the rotated vector."""
    return 1 << (n - 1).bit_length()
