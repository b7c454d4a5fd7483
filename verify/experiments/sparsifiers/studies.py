"""The sparsifiers' claims, bound to their implementations."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import Compressor, Law
from commbounds.verify.compressor_run import CompressorRun, exact_array
from commbounds.verify.experiments.binding import bind, ones, table
from commbounds.verify.experiments.workers import (
    STACKS,
    TWO_WORKERS,
    GlobalError,
    LocalError,
    stack_values,
    two_workers,
)
from commbounds.verify.measures import Distortion, symbol_values

# --- variants of set-ups -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShareTopK(Compressor):
    """Top-K with the number of kept entries computed from a density, as implementations do.

    Parameters
    ----------
    topk : class
        The Top-K under test.
    mu : Fraction
        Density asked for, in (0, 1].
    up : bool
        Whether mu n is rounded up; else down, but at least to one.
    """

    topk: Any
    mu: Fraction
    up: bool

    def __str__(self) -> str:
        return f"TopK(k={'ceil(mu n)' if self.up else 'max(1, floor(mu n))'}), mu={self.mu}"

    def kept(self, n: int) -> int:
        """How many of n entries are kept."""
        return ceil(self.mu * n) if self.up else max(1, floor(self.mu * n))

    def _at(self, n: int) -> Any:
        return self.topk(self.kept(n))

    def compress(self, x: Any, rng: np.random.Generator | None = None) -> Any:
        return self._at(len(x)).compress(x, rng)

    def decompress(self, message: Any) -> Array:
        result: Array = self._at(message.shape[0]).decompress(message)
        return result

    def law(self, x: Any) -> Law:
        result: Law = self._at(len(x)).law(x)
        return result


_SHARES = (Fraction(1, 5), Fraction(1, 2), Fraction(29, 100), Fraction(1))


def _shares(up: bool) -> Any:
    return {
        "drawn_at": 9,
        "values": lambda run: {**symbol_values(run), "mu": run.c.mu, "k": run.c.kept(len(run.x))},
        "setups": lambda cls, n: [ShareTopK(cls, mu, up) for mu in _SHARES],
        "sweep": lambda cls, n: (
            "mu",
            [
                (float(mu), ShareTopK(cls, mu, up))
                for mu in (Fraction(j, 1000) for j in (50, 100, 150, 200, 250, 333, 500, 600, 700, 800, 900))
            ],
        ),
    }


# --- gains ---------------------------------------------------------------------------------------------------------


def _shrink(c: Any, size: int) -> Fraction:
    """1 / (1 + omega) of scaled Rand-K."""
    return Fraction(min(c.k, size), size)


# --- ranges of single draws -------------------------------------------------------------------------------------------


def _subset_spread(kept: Any, left: float) -> Any:
    """Range over subsets S of k entries of (kept sum_S x_i^2 + left sum over the rest of x_i^2) / ||x||^2."""

    def spread(c: Any, x: Array) -> tuple[float, float]:
        squares = np.sort(x.astype(np.float64) ** 2)
        total = float(squares.sum())
        change = kept(c, x.size) - left
        low, high = float(squares[: c.k].sum()), float(squares[-c.k :].sum())
        ends = sorted((left * total + change * low, left * total + change * high))
        return ends[0] / total, ends[1] / total

    return spread


def _gain(c: Any, n: int) -> float:
    return n / c.k if c.scaled else 1.0


_ERROR = _subset_spread(lambda c, n: (_gain(c, n) - 1.0) ** 2, 1.0)
_SECOND = _subset_spread(lambda c, n: _gain(c, n) ** 2, 0.0)
_SHRUNK = _subset_spread(lambda c, n: 0.0, 1.0)


def _one_entry_spread(_c: Any, x: Array) -> tuple[float, float]:
    squares = x.astype(np.float64) ** 2
    total = float(squares.sum())
    return 1.0 - float(squares.max()) / total, 1.0 - float(squares.min()) / total


# --- extremal inputs --------------------------------------------------------------------------------------------------


def _equal_blocks(c: Any, n: int) -> Array | None:
    """All block norms equal, the short last block included."""
    if c.k > -(-n // c.block):
        return None
    lengths = np.full(n, c.block)
    lengths[n - n % c.block :] = n % c.block or c.block
    x: Array = (1.0 / np.sqrt(lengths)).astype(np.float32)
    return x


def _one_full_chunk(c: Any, n: int) -> Array | None:
    if n < c.chunk or c.k == c.chunk:
        return None
    x = np.zeros(n, dtype=np.float32)
    x[: c.chunk] = 1.0
    return x


def _equal_integer_share(c: Any, n: int) -> Array | None:
    return np.ones(n, dtype=np.float32) if (c.mu * n).denominator == 1 and c.mu < 1 else None


def _all_below(c: Any, n: int) -> Array:
    return np.full(n, np.nextafter(np.float32(float(c.threshold)), np.float32(0.0)), dtype=np.float32)


def _below_top(c: Any, n: int) -> Array | None:
    return np.ones(n, dtype=np.float32) if c.k < n else None


def _equal_stack(c: Any, n: int) -> Array | None:
    return np.ones((2, n), dtype=np.float32) if c.k < n else None


def _cancelling(c: Any, n: int) -> Array | None:
    return np.array(two_workers(2.0**-6)) if n == 2 and c.k == 1 else None


# --- values -----------------------------------------------------------------------------------------------------------


def with_alpha(run: CompressorRun) -> dict[str, Any]:
    """Alpha = 1/1000 besides: refuting that refutes every larger one."""
    return {**run.once(symbol_values), "alpha": Fraction(1, 1000)}


def _with_entries(run: CompressorRun) -> dict[str, Any]:
    """The number of values that the message carries besides."""
    array = exact_array(run.x, np.float32) if run.exact else run.x
    return {**run.once(symbol_values), "entries": int(run.c.compress(array).values.size)}


_COUNTED: dict[str, Any] = {"values": _with_entries}
_STACKED: dict[str, Any] = {"values": stack_values, "domain": STACKS, "injectable": False}
_TWO: dict[str, Any] = {**_STACKED, "domain": TWO_WORKERS, "setups": lambda cls, n: [cls(1)], "sweep": None}

_T, _R, _B, _C = "sparsifiers.topk.", "sparsifiers.randk.", "sparsifiers.blocktopk.", "sparsifiers.chunktopk."
_H, _A, _I = "sparsifiers.hardthreshold.", "sparsifiers.adaptivesparsification.", "sparsifiers.identity."

EXPERIMENTS = table(
    bind(_T + "contraction", "TopK", worst=_below_top),
    bind(_T + "support", "TopK", worst=ones),
    bind(_T + "ceil_k", "TopK", worst=_equal_integer_share, **_shares(True)),
    bind(_T + "floor_k", "TopK", worst=ones, **_shares(False)),
    bind(_T + "local_contraction", "TopK", measure=LocalError(), worst=_equal_stack, **_STACKED),
    bind(_T + "global_error", "TopK", measure=GlobalError(), worst=_equal_stack, **_STACKED),
    bind(_T + "global_contraction", "TopK", measure=GlobalError(), worst=_cancelling, **_STACKED),
    bind(_T + "two_workers", "TopK", measure=GlobalError(), **_TWO),
    *(bind(_T + s, "TopK") for s in ("unbiased", "wire", "sign_symmetry", "scale_equivariance", "idempotence")),
    bind(_R + "contraction", "RandK", "unscaled", tested="equal", spread=_ERROR),
    bind(_R + "bias", "RandK", "unscaled"),
    bind(_R + "unbiased", "RandK", tested="projection"),
    bind(_R + "variance", "RandK", tested="equal", spread=_ERROR),
    bind(_R + "second_moment", "RandK", tested="equal", spread=_SECOND),
    bind(_R + "shrunk_contraction", "RandK", measure=Distortion(gain=_shrink), tested="equal", spread=_SHRUNK),
    bind(_R + "support", "RandK", worst=ones),
    *(
        bind(_R + s, "RandK", "unscaled", measure=GlobalError(shared), **_STACKED)
        for s, shared in (("global_contraction_shared", True), ("global_error_independent", False))
    ),
    bind(_R + "global_contraction", "RandK", "unscaled", measure=GlobalError(), worst=_cancelling, **_STACKED),
    bind(_R + "global_error_scaled", "RandK", measure=GlobalError(), **_STACKED),
    bind(_R + "wire", "RandK"),
    bind(_R + "sign_symmetry", "RandK"),
    bind(_R + "scale_equivariance", "RandK"),
    bind(_R + "idempotence", "RandK"),
    bind(_R + "idempotence_defect", "RandK", "unscaled"),
    bind(_B + "contraction", "BlockTopK", worst=_equal_blocks),
    bind(_B + "kept_share", "BlockTopK"),
    bind(_B + "wire", "BlockTopK", **_COUNTED),
    *(bind(_B + s, "BlockTopK") for s in ("unbiased", "sign_symmetry", "scale_equivariance", "idempotence")),
    bind(_C + "contraction", "ChunkTopK", worst=_one_full_chunk),
    *(bind(_C + s, "ChunkTopK") for s in ("unbiased", "wire", "sign_symmetry", "scale_equivariance", "idempotence")),
    bind(_H + "absolute_error", "HardThreshold", worst=_all_below),
    bind(_H + "nonexpansive", "HardThreshold", worst=_all_below),
    bind(_H + "contraction", "HardThreshold", values=with_alpha, worst=_all_below),
    bind(_H + "wire", "HardThreshold", **_COUNTED),
    *(bind(_H + s, "HardThreshold") for s in ("unbiased", "sign_symmetry", "scale_equivariance", "idempotence")),
    bind(_A + "error", "AdaptiveSparsification", tested="equal", spread=_one_entry_spread),
    bind(_A + "contraction", "AdaptiveSparsification", worst=ones),
    bind(_A + "support", "AdaptiveSparsification", worst=ones),
    *(
        bind(_A + s, "AdaptiveSparsification")
        for s in ("unbiased", "wire", "sign_symmetry", "scale_equivariance", "idempotence")
    ),
    *(
        bind(_I + s, "Identity")
        for s in ("contraction", "unbiased", "wire", "sign_symmetry", "scale_equivariance", "idempotence")
    ),
)
