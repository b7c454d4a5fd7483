"""The low-rank compressors' claims, bound to their implementations."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.base import Exact
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.compressor_study import MATRICES, CompressorStudy
from commbounds.verify.defects import IdempotenceDefect, ScaleDefect, SignDefect
from commbounds.verify.experiments.binding import bind, table
from commbounds.verify.experiments.lowrank.feedback import FEEDBACK
from commbounds.verify.measures import Distortion, Measure, Reading, symbol_values
from commbounds.verify.study import AnyStudy, studies

# Products of m x n matrices in float64, rounded to the dtype: some 2 (m + n) units for the shapes searched.
_ROUNDING = 512.0


@dataclass(frozen=True)
class WarmStarted(Measure):
    """Relative error of PowerSGD from the sketch that suits the matrix least: along its last right singular vectors."""

    def exact(self, run: CompressorRun) -> Exact:
        raise TypeError("the worst sketch is computed in floating point")

    def read(self, run: CompressorRun) -> Reading | None:
        c, x = run.c, run.x
        # all n right singular vectors, those of the null space last
        vt = np.linalg.svd(x.astype(np.float64) / float(np.abs(x).max()))[2]
        sketch = vt[-c.rank :].T
        y = c.decompress(c.compress_with(x, sketch))
        return Reading(float(Distortion().of(c, x, [y])[0]), 8.0 * x.size * float(np.finfo(x.dtype).eps))


@dataclass(frozen=True)
class Reprojected(Measure):
    """Share of pairs of fresh sketches whose second compression changes the output of the first."""

    pairs: int = 8

    def exact(self, run: CompressorRun) -> Exact:
        raise TypeError("a Gaussian sketch has no finite law")

    def read(self, run: CompressorRun) -> Reading | None:
        c, x = run.c, run.x
        rng = np.random.default_rng(self.pairs)
        changed = 0
        for _ in range(self.pairs):
            first, second = rng.standard_normal((2, x.shape[1], c.rank))
            y = c.decompress(c.compress_with(x, first))
            z = c.decompress(c.compress_with(y, second))
            _, sigma, vt = np.linalg.svd(y.astype(np.float64))
            kept = int((sigma > _ROUNDING * np.finfo(x.dtype).eps * sigma[0]).sum())
            # y has its rank up to rounding, and that is amplified by the angle between row space and sketch
            seen = np.linalg.svd(vt[:kept] @ second, compute_uv=False)
            cosine = float(seen[kept - 1]) / float(np.linalg.norm(second)) if kept else 1.0
            condition = float(sigma[0] / sigma[kept - 1]) if kept else 1.0
            allowance = (
                _ROUNDING
                * float(np.finfo(x.dtype).eps)
                * float(np.linalg.norm(y.astype(np.float64)))
                * condition
                / cosine
            )
            changed += bool(np.linalg.norm(z.astype(np.float64) - y) > allowance)
        return Reading(changed / self.pairs)


def _singular_values(x: Array) -> Array:
    top = float(np.abs(x).max()) or 1.0
    sigma: Array = np.linalg.svd(x.astype(np.float64) / top, compute_uv=False)
    return top * sigma


def _with_determinant(run: CompressorRun) -> dict[str, Any]:
    return {**run.once(symbol_values), "absdet": float(np.prod(_singular_values(run.x)))}


def _one_direction_left(_c: Any, x: Array) -> tuple[float, float]:
    """A projection on one direction leaves between the smaller and the larger squared singular value."""
    sigma = _singular_values(x)
    return float(sigma[1] ** 2), float(sigma[0] ** 2)


def _identity(_c: Any, n: int) -> Array | None:
    return np.eye(n) if n > 1 else None


def _single_entry(c: Any, n: int) -> Array | None:
    """A matrix whose row space leaves room for a sketch of the rank that misses it."""
    x = np.zeros((n, n))
    x[0, 0] = 1.0
    return x if c.rank < n else None


_P, _L = "lowrank.powersgd.", "lowrank.lowrank."
_MATRIX: dict[str, Any] = {"domain": MATRICES}
# A sketch has no finite law, and of equal singular values law and kernel may keep different ones.
_NO_LAW: dict[str, Any] = {"domain": MATRICES, "enumerable": False}
_TIES: dict[str, Any] = {"domain": MATRICES, "injectable": False}

_POWERSGD: tuple[CompressorStudy, ...] = (
    bind(_P + "contraction", "PowerSGD", tested="bound", worst=_identity, **_NO_LAW),
    bind(_P + "warm_start_contraction", "PowerSGD", measure=WarmStarted(), worst=_single_entry, **_NO_LAW),
    bind(_P + "nonexpansive", "PowerSGD", measure=WarmStarted(), worst=_single_entry, **_NO_LAW),
    bind(
        _P + "determinant", "PowerSGD", tested="equal", spread=_one_direction_left, values=_with_determinant, **_NO_LAW
    ),
    bind(_P + "unbiased", "PowerSGD", **_NO_LAW),
    bind(_P + "wire", "PowerSGD", **_NO_LAW),
    bind(_P + "sign_symmetry", "PowerSGD", measure=SignDefect(rounding=_ROUNDING), **_NO_LAW),
    bind(_P + "scale_equivariance", "PowerSGD", measure=ScaleDefect(rounding=_ROUNDING), **_NO_LAW),
    bind(_P + "idempotence", "PowerSGD", measure=Reprojected(), **_NO_LAW),
)

_LOWRANK: tuple[CompressorStudy, ...] = (
    bind(_L + "contraction", "LowRank", worst=_identity, **_TIES),
    bind(_L + "unbiased", "LowRank", **_TIES),
    bind(_L + "wire", "LowRank", **_TIES),
    bind(_L + "sign_symmetry", "LowRank", measure=SignDefect(rounding=_ROUNDING), **_MATRIX),
    bind(_L + "scale_equivariance", "LowRank", measure=ScaleDefect(rounding=_ROUNDING), **_MATRIX),
    bind(_L + "idempotence", "LowRank", measure=IdempotenceDefect(rounding=_ROUNDING), **_NO_LAW),
)

EXPERIMENTS: dict[str, AnyStudy] = {**table(*_POWERSGD, *_LOWRANK), **studies(*FEEDBACK)}
