"""Which hyper-parameters to try on an input of n entries, and each compressor's natural parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from commbounds.verify.compressor_study import Setups, Sweep

__all__ = ["SETUPS", "SWEEPS"]


def _counts(n: int) -> list[int]:
    """A few numbers of kept entries, among them 1 and n."""
    return sorted({1, -(-n // 10), -(-n // 2), n})


def _randk(scaled: bool) -> Setups:
    return lambda cls, n: [cls(k, scaled=scaled) for k in _counts(n)]


def _blocks(cls: Any, n: int) -> list[Any]:
    sizes = sorted({1, 2, 3, max(1, n // 3)})
    pairs = [(k, block) for block in sizes for k in sorted({1, -(-n // block) // 2 or 1}) if k <= -(-n // block)]
    return [cls(k, block) for k, block in pairs]


def _chunks(cls: Any, n: int) -> list[Any]:
    return [cls(k, chunk) for chunk in (1, 2, 5) for k in sorted({1, (chunk + 1) // 2}) if chunk <= max(n, 2)]


SETUPS: Mapping[str, Setups] = MappingProxyType(
    {
        "TopK": lambda cls, n: [cls(k) for k in _counts(n)],
        "RandK": _randk(True),
        "RandK unscaled": _randk(False),
        "BlockTopK": _blocks,
        "ChunkTopK": _chunks,
        "HardThreshold": lambda cls, n: [cls(Fraction(1, 2)), cls(2)],
        "AdaptiveSparsification": lambda cls, n: [cls()],
        "Identity": lambda cls, n: [cls()],
        "Sign": lambda cls, n: [cls()],
        "Sign zero": lambda cls, n: [cls(zero=0)],
        "ScaledSign": lambda cls, n: [cls()],
        "ScaledSign zero": lambda cls, n: [cls(zero=0)],
        "QSGD": lambda cls, n: [cls(levels) for levels in (1, 2, 4, 127)],
        "MaxDithering": lambda cls, n: [cls(levels) for levels in (1, 3, 8)],
        "TernGrad": lambda cls, n: [cls()],
        "NaturalCompression": lambda cls, n: [cls()],
        "NaturalDithering": lambda cls, n: [cls(levels) for levels in (1, 3, 8)],
        "StochasticPower": lambda cls, n: [cls(base) for base in (2, Fraction(3, 2), 3)],
        "NearestPower": lambda cls, n: [cls()],
        "PowerSGD": lambda cls, n: [cls(rank) for rank in (1, 2) if rank <= n],
        "LowRank": lambda cls, n: [cls(rank) for rank in (1, 2) if rank <= n],
    }
)
"""Instances by compressor; a second word names a variant of it."""


def _densities(make: Callable[[Any, int], Any]) -> Sweep:
    def sweep(cls: Any, n: int) -> tuple[str, list[tuple[float, Any]]]:
        counts = sorted({max(1, round(n * share)) for share in (0.001, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0)})
        return "k/n", [(k / n, make(cls, k)) for k in counts]

    return sweep


def _values(axis: str, values: Sequence[Any], make: Callable[[Any, Any], Any] | None = None) -> Sweep:
    return lambda cls, n: (axis, [(float(v), (make or (lambda c, v: c(v)))(cls, v)) for v in values])


SWEEPS: Mapping[str, Sweep] = MappingProxyType(
    {
        "TopK": _densities(lambda cls, k: cls(k)),
        "RandK": _densities(lambda cls, k: cls(k)),
        "RandK unscaled": _densities(lambda cls, k: cls(k, scaled=False)),
        "BlockTopK": _values("k (blocks of 200)", (1, 2, 4, 6, 8, 10, 12, 13), lambda cls, k: cls(k, 200)),
        "ChunkTopK": _values("k (chunks of 32)", (1, 2, 4, 8, 16, 32), lambda cls, k: cls(k, 32)),
        "HardThreshold": _values("threshold", (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)),
        "QSGD": _values("levels", (1, 2, 4, 8, 16, 24, 32, 64, 127)),
        "MaxDithering": _values("levels", (1, 2, 4, 8, 16, 32, 64, 127)),
        "NaturalDithering": _values("levels", (1, 2, 3, 4, 6, 8, 12)),
        "StochasticPower": _values("base", (Fraction(9, 8), Fraction(5, 4), Fraction(3, 2), 2, 3, 4, 8)),
        "PowerSGD": _values("rank", (1, 2, 4, 8, 16, 32)),
        "LowRank": _values("rank", (1, 2, 4, 8, 16, 32)),
    }
)
"""Natural parameter by compressor (and variant); the others are drawn over the number of entries."""
