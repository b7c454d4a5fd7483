"""Which hyper-parameters to try on an input of n entries, and each compressor's natural parameter."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from commbounds.verify.compressor_study import Setups, Sweep
from commbounds.verify.experiments.sweeps import counts, densities, values


def _randk(scaled: bool) -> Setups:
    return lambda cls, n: [cls(k, scaled=scaled) for k in counts(n)]


def _blocks(cls: Any, n: int) -> list[Any]:
    sizes = sorted({1, 2, 3, max(1, n // 3)})
    pairs = [(k, block) for block in sizes for k in sorted({1, -(-n // block) // 2 or 1}) if k <= -(-n // block)]
    return [cls(k, block) for k, block in pairs]


def _chunks(cls: Any, n: int) -> list[Any]:
    return [cls(k, chunk) for chunk in (1, 2, 5) for k in sorted({1, (chunk + 1) // 2})]


SETUPS: Mapping[str, Setups] = {
    "TopK": lambda cls, n: [cls(k) for k in counts(n)],
    "RandK": _randk(True),
    "RandK unscaled": _randk(False),
    "BlockTopK": _blocks,
    "ChunkTopK": _chunks,
    "HardThreshold": lambda cls, n: [cls(Fraction(1, 2)), cls(2)],
    "AdaptiveSparsification": lambda cls, n: [cls()],
    "Identity": lambda cls, n: [cls()],
}
"""Instances by compressor; a second word names a variant of it."""

SWEEPS: Mapping[str, Sweep] = {
    "TopK": densities(lambda cls, k: cls(k)),
    "RandK": densities(lambda cls, k: cls(k)),
    "RandK unscaled": densities(lambda cls, k: cls(k, scaled=False)),
    "BlockTopK": values("k (blocks of 200)", (1, 2, 4, 6, 8, 10, 12, 13), lambda cls, k: cls(k, 200)),
    "ChunkTopK": values("k (chunks of 32)", (1, 2, 4, 8, 16, 32), lambda cls, k: cls(k, 32)),
    "HardThreshold": values("threshold", (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)),
}
"""Natural parameter by compressor (and variant); the others are drawn over the number of entries."""
