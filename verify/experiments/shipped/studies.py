"""The column's claims about compressors, bound to their implementations; those about several workers beside them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Array, Floats
from commbounds.compressors import Compressor, Law, RandK
from commbounds.compressors._surds import root
from commbounds.compressors.base import Exact, merged_law
from commbounds.verify.compressor_run import CompressorRun, exact_array
from commbounds.verify.compressor_study import VECTORS, Domain
from commbounds.verify.defects import IdempotenceDefect
from commbounds.verify.experiments.binding import bind, ones, table
from commbounds.verify.experiments.rounding_inputs import one_entry
from commbounds.verify.experiments.shipped.mechanisms import MECHANISMS
from commbounds.verify.experiments.shipped.workers import WORKERS
from commbounds.verify.experiments.sparsifiers.studies import with_alpha
from commbounds.verify.marginals import Marginals
from commbounds.verify.measures import Distortion, Measure, Reading, symbol_values

# --- measures ---------------------------------------------------------------------------------------------------------


def _whole(values: Floats) -> list[int]:
    """Integers that are to each other as the values are, which must be finite."""
    parts, exponents = np.frexp(values)
    mantissas = np.ldexp(parts, 53).astype(np.int64)
    lowest = int(exponents.min(where=mantissas != 0, initial=2000))
    return [m << (e - lowest) if m else 0 for m, e in zip(mantissas.tolist(), exponents.tolist(), strict=True)]


class Moved(Measure):
    """A statistic of the only output, and of the input, which no common factor changes: exact, or of floats."""

    def of(self, run: CompressorRun, x: Sequence[Any], y: Sequence[Any]) -> Any:
        """The value, exact where both are."""
        raise NotImplementedError

    def roundings(self, run: CompressorRun) -> float:
        """How many units of the dtype's precision the value may be off."""
        return 4.0

    def exact(self, run: CompressorRun) -> Exact:
        ((_, y),) = run.law()
        return self.of(run, run.x, y)

    def read(self, run: CompressorRun) -> Reading | None:
        law = run.kernel()
        if law is None or isinstance(law, Marginals):
            return None
        whole = _whole(np.concatenate([run.x.astype(np.float64), law.y[0]]))
        value = float(self.of(run, whole[: run.x.size], whole[run.x.size :]))
        # a subnormal output may be off by half of the smallest one
        kind, top = np.finfo(run.x.dtype), float(np.abs(run.x).max()) or 1.0
        slack = self.roundings(run) * (float(kind.eps) + float(kind.smallest_subnormal) / top)
        return Reading(value, slack)


class SumShift(Moved):
    """|sum y - sum x| over the sum of |x_i|."""

    def of(self, run: CompressorRun, x: Sequence[Any], y: Sequence[Any]) -> Any:
        total = sum(abs(v) for v in x)
        return abs(sum(y) - sum(x)) / total if total else Fraction(0)

    def roundings(self, run: CompressorRun) -> float:
        # every output is off by half a unit of its own; a subnormal one by one of the smallest, n of them
        return 4.0 + 2.0 * len(run.x)


class EntryError(Moved):
    """The largest |y_i - x_i| over the largest |x_i|."""

    def of(self, run: CompressorRun, x: Sequence[Any], y: Sequence[Any]) -> Any:
        return max(abs(w - v) for v, w in zip(x, y, strict=True)) / max(abs(v) for v in x)


class WidthsOff(Moved):
    """The largest |y_i - x_i| over the width of a bucket."""

    def of(self, run: CompressorRun, x: Sequence[Any], y: Sequence[Any]) -> Any:
        # n times the sum of the squared deviations
        n, spread = len(x), len(x) * sum(v * v for v in x) - sum(x) ** 2
        off = max(abs(w - v) for v, w in zip(x, y, strict=True))
        ratio = Fraction(off**2 * n * (n - 1)) / (spread * Fraction(run.c.sigmas**2, run.c.buckets**2))
        return sp.sqrt(sp.Rational(ratio.numerator, ratio.denominator))

    def roundings(self, run: CompressorRun) -> float:
        return 16.0 * float(run.c.buckets) * math.sqrt(len(run.x))


class Kept(Measure):
    """E of the number of nonzero entries."""

    def exact(self, run: CompressorRun) -> Exact:
        return sum(p * sum(1 for v in y if v != 0) for p, y in run.law())

    def read(self, run: CompressorRun) -> Reading | None:
        law = run.kernel()
        if law is None:
            return None
        if isinstance(law, Marginals):
            expected = float((law.p * (law.upper != 0) + (1.0 - law.p) * (law.lower != 0)).sum())
            # each probability is rounded up to the uniforms' grid, and its level was rounded in float64
            return Reading(expected, run.x.size * (law.resolution + 4.0 * float(np.finfo(np.float64).eps)))
        return Reading(float(law.p @ (law.y != 0).sum(axis=1)), 1e-12 * run.x.size)


# --- stand-ins --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LazyAfterRandK(Compressor):
    """The lazy compressor of what Rand-K leaves.

    Parameters
    ----------
    lazy : class
        The lazy compressor under test.
    keep : Fraction
        Its probability.
    k : int
        Entries that Rand-K keeps.
    """

    lazy: Any
    keep: Fraction
    k: int
    randomised = True

    def __str__(self) -> str:
        return f"Lazy({self.keep}) after RandK({self.k})"

    def compress(self, x: Any, rng: np.random.Generator | None = None) -> Any:
        return self.lazy(self.keep).compress(RandK(self.k)(x, rng), rng)

    def decompress(self, message: Any) -> Array:
        result: Array = self.lazy(self.keep).decompress(message)
        return result

    def law(self, x: Any) -> Law:
        outer = self.lazy(self.keep)
        return merged_law([(p * q, z) for p, y in RandK(self.k).law(x) for q, z in outer.law(y)])


def _composed(cls: Any, n: int) -> list[Any]:
    pairs = product((Fraction(1, 2), Fraction(1, 3)), sorted({1, -(-n // 2), n}))
    return [LazyAfterRandK(cls, keep, k) for keep, k in pairs]


def _composed_sweep(cls: Any, n: int) -> tuple[str, list[tuple[float, Any]]]:
    keeps = [Fraction(1, d) for d in (5, 4, 3, 2, 1)]
    return "keep", [(float(keep), LazyAfterRandK(cls, keep, max(1, n // 10))) for keep in keeps]


def _composed_spread(c: Any, x: Array) -> tuple[float, float]:
    # nothing is sent, or some entries times the gain; wider, as all draws may be alike
    gain = x.size / c.k / float(c.keep)
    return -0.5, max(1.0, (gain - 1.0) ** 2) + 0.5


def _all_or_nothing(c: Any, _x: Array) -> tuple[float, float]:
    sent = (1.0 / float(c.keep) - 1.0) ** 2
    return (sent, sent) if c.keep == 1 else (min(1.0, sent), max(1.0, sent))


# --- values -----------------------------------------------------------------------------------------------------------


def _float32(run: CompressorRun) -> Array:
    return exact_array(run.x, np.float32) if run.exact else run.x


def _with_entries(run: CompressorRun) -> dict[str, Any]:
    """The number of values in the message that is measured."""
    message = run.c.compress(_float32(run), np.random.default_rng(0))
    return {**run.once(symbol_values), "entries": int(message.values.size)}


def _with_captured(run: CompressorRun) -> dict[str, Any]:
    """The squared norm of the output."""
    if run.exact:
        ((_, y),) = run.law()
        return {**run.once(symbol_values), "captured": sum(v * v for v in y)}
    y = run.c(run.x).astype(np.float64)
    top = float(np.abs(run.x).max()) or 1.0
    return {**run.once(symbol_values), "captured": top**2 * float((y / top) @ (y / top))}


def _with_larger(run: CompressorRun) -> dict[str, Any]:
    negative = sum(1 for v in run.x if v < 0)
    return {**run.once(symbol_values), "larger": max(negative, len(run.x) - negative)}


def _with_deviation(run: CompressorRun) -> dict[str, Any]:
    n = len(run.x)
    if run.exact:
        mean = sum(run.x) / n
        square = sum((v - mean) ** 2 for v in run.x) / n
        return {**run.once(symbol_values), "deviation": sp.sqrt(sp.Rational(square.numerator, square.denominator))}
    top = float(np.abs(run.x).max()) or 1.0
    wide = run.x.astype(np.float64) / top
    mean = math.fsum(wide) / n
    return {**run.once(symbol_values), "deviation": top * math.sqrt(math.fsum((wide - mean) ** 2) / n)}


def _fewer_than_entries(cls: Any, n: int) -> tuple[str, list[tuple[float, Any]]]:
    """At k = n the bound is zero."""
    return "k/n", [(share, cls(round(share * n))) for share in (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)]


def _gain(omega: Callable[[Any, int], Fraction]) -> Distortion:
    return Distortion(gain=lambda c, n: 1 / (1 + omega(c, n)))


# --- extremal inputs --------------------------------------------------------------------------------------------------


def _one_positive(_c: Any, n: int) -> Array | None:
    return one_entry(_c, n) if n > 1 else None


def _budget_fits(c: Any, n: int) -> Array | None:
    return ones(c, n) if c.budget < n else None


def _budget_met(c: Any, n: int) -> Array | None:
    return ones(c, n) if c.budget <= n else None


def _halves(c: Any, n: int) -> Array | None:
    """One largest entry, all others half of the scale."""
    if n == 1 and c.sparsity == 1:
        return None
    x = np.full(n, float(c.sparsity) / 2, np.float32)
    x[0] = 1.0
    return x


def _half_entry(c: Any, n: int) -> Array | None:
    return _halves(c, n) if n > 1 else None


def _no_zeros(_c: Any, n: int) -> Array:
    return ones(_c, n)


def _outliers(c: Any, n: int) -> Array | None:
    """Two different entries that both are beyond the range."""
    if n < 100 or (c.buckets, c.sigmas) != (256, 6):
        return None
    x = np.zeros(n, np.float32)
    x[:2] = 1.0, 3.0
    return x


def _cancelling(c: Any, n: int) -> Array | None:
    return np.array([1.0, -1.0], np.float32) if n == 2 and c.buckets == 2 else None


def _median_at_the_top(c: Any, n: int) -> Array | None:
    return np.array([1.0, 1.0, -2.0], np.float32) if n == 3 and c.buckets == 2 else None


def _equal_means(_c: Any, n: int) -> Array | None:
    return np.tile(np.array([1.0, 3.0, -1.0, -3.0], np.float32), n // 4) if n % 4 == 0 else None


# --- inputs for sizes -------------------------------------------------------------------------------------------------

_COUNTS = (*range(1, 9), 15, 16, 29, 33, 60, 70, 71, 75, 76, 140, 141)
"""Numbers of entries at which a byte, an index or a run of zeros takes one more, among others."""


def _of_all_sizes(entries: tuple[int, ...], name: str) -> Domain:
    """Vectors of all these sizes that repeat the entries."""

    def exact(_level: int) -> Iterator[Any]:
        for n in _COUNTS:
            yield tuple(Fraction(entries[i % len(entries)]) for i in range(n))

    def corpus(_sizes: tuple[int, ...], dtype: type) -> Iterator[tuple[str, Array]]:
        for n in _COUNTS:
            yield f"{name}, n = {n}", np.resize(np.array(entries, dtype), n)

    return Domain(exact, corpus, VECTORS.cases, VECTORS.random, VECTORS.shapes)


def _rational_deviations(level: int) -> Iterator[Any]:
    """What is compressed once more is exact only where the scale is: roots are not compressed."""
    for x in VECTORS.grid(level):
        n, total = len(x), sum(x)
        if isinstance(root(n * sum(v * v for v in x) - total * total), Fraction):  # n deviations
            yield x


_DEVIATIONS = replace(VECTORS, grid=_rational_deviations)
_SIZES, _ZEROS = _of_all_sizes((1, -2, 1, 1, 0, 3), "repeated"), _of_all_sizes((0,), "zeros")


_WIRE: dict[str, Any] = {"domain": _SIZES, "injectable": False}
_SHIPPED: dict[str, Any] = {"setups": lambda cls, n: [cls()], "sweep": None}
_TABLES: dict[str, Any] = {**_WIRE, "setups": lambda cls, n: [cls(b) for b in (2, 3, 4, 5, 9, 16, 256)], "sweep": None}
_ALPHA: dict[str, Any] = {"values": with_alpha}
_COUNTED: dict[str, Any] = {**_WIRE, "values": _with_entries}
_CAPTURED: dict[str, Any] = {"values": _with_captured}
_MEAN_OF_EQUALS = IdempotenceDefect(rounding=2.0)
_R, _L, _A, _C = "shipped.replacementrandk.", "shipped.bernoullilazy.", "shipped.atomic.", "shipped.clippedterngrad."
_O, _T, _U, _Q = "shipped.twomeans.", "shipped.threelc.", "shipped.uniformbuckets.", "shipped.quantilebuckets."

_COMPRESSORS = table(
    *(bind(_R + s, "ReplacementRandK") for s in ("unbiased", "bias", "error")),
    bind(_R + "variance_randk", "ReplacementRandK", sweep=_fewer_than_entries),
    bind(_R + "unbiased_added", "ReplacementRandK", "added"),
    bind(_R + "variance", "ReplacementRandK", "added"),
    bind(_R + "shrunk_contraction", "ReplacementRandK", "added", measure=_gain(lambda c, n: Fraction(n - 1, c.k))),
    bind(_R + "support", "ReplacementRandK", measure=Kept()),
    bind(_R + "wire", "ReplacementRandK", **_COUNTED),
    *(bind(_R + s, "ReplacementRandK") for s in ("sign_symmetry", "scale_equivariance", "idempotence")),
    bind(_L + "unbiased", "BernoulliLazy"),
    bind(_L + "variance", "BernoulliLazy", tested="equal", spread=_all_or_nothing),
    bind(_L + "second_moment", "BernoulliLazy"),
    bind(
        _L + "composed",
        "BernoulliLazy",
        setups=_composed,
        sweep=_composed_sweep,
        injectable=False,
        tested="equal",
        spread=_composed_spread,
    ),
    bind(_L + "shrunk_contraction", "BernoulliLazy", measure=_gain(lambda c, n: 1 / Fraction(c.keep) - 1)),
    bind(_L + "wire", "BernoulliLazy", **_COUNTED),
    *(bind(_L + s, "BernoulliLazy") for s in ("sign_symmetry", "scale_equivariance", "idempotence")),
    bind(_A + "unbiased", "Atomic", tested="entries"),
    *(bind(_A + s, "Atomic") for s in ("variance_balanced", "variance_any")),
    bind(_A + "variance", "Atomic", worst=_budget_fits),
    bind(
        _A + "shrunk_contraction", "Atomic", measure=_gain(lambda c, n: n / Fraction(c.budget) - 1), worst=_budget_fits
    ),
    bind(_A + "support", "Atomic", measure=Kept(), worst=_budget_met),
    bind(_A + "wire", "Atomic", **_COUNTED),
    *(bind(_A + s, "Atomic") for s in ("sign_symmetry", "scale_equivariance", "idempotence")),
    bind(_C + "unbiased", "ClippedTernGrad"),
    bind(_C + "bias", "ClippedTernGrad", values=_with_deviation),
    bind(_C + "unbiased_unclipped", "ClippedTernGrad", tested="entries"),
    *(bind(_C + s, "ClippedTernGrad") for s in ("equal_entries", "one_sparse")),
    bind(_C + "contraction", "ClippedTernGrad", **_ALPHA),
    *(bind(_C + s, "ClippedTernGrad") for s in ("sign_symmetry", "scale_equivariance")),
    bind(_C + "idempotence", "ClippedTernGrad", domain=_DEVIATIONS),
    bind(_C + "wire", "ClippedTernGrad", **_WIRE),
    bind(_O + "error", "TwoMeans", **_CAPTURED),
    bind(_O + "contraction", "TwoMeans", worst=_one_positive),
    bind(_O + "contraction_halves", "TwoMeans", values=_with_larger, worst=_one_positive),
    bind(_O + "contraction_two", "TwoMeans"),
    bind(_O + "below_scaledsign", "TwoMeans", worst=_equal_means),
    bind(_O + "sum", "TwoMeans", measure=SumShift()),
    *(bind(_O + s, "TwoMeans") for s in ("unbiased", "sign_symmetry", "sign_symmetry_zeros", "scale_equivariance")),
    bind(_O + "wire", "TwoMeans", **_WIRE),
    bind(_O + "idempotence", "TwoMeans", measure=_MEAN_OF_EQUALS),
    bind(_T + "entry_error", "ThreeLC", measure=EntryError(), worst=_half_entry),
    bind(_T + "contraction", "ThreeLC", worst=_halves),
    bind(_T + "contraction_any", "ThreeLC", worst=_halves),
    bind(_T + "quartic", "ThreeLC", "plain", **_WIRE),
    bind(_T + "zeros", "ThreeLC", domain=_ZEROS, injectable=False),
    bind(_T + "wire", "ThreeLC", worst=_no_zeros, **_WIRE),
    *(bind(_T + s, "ThreeLC") for s in ("unbiased", "sign_symmetry", "scale_equivariance")),
    *(bind(_T + s, "ThreeLC") for s in ("idempotence_one", "idempotence")),
    bind(_U + "error", "UniformBuckets", **_CAPTURED),
    bind(_U + "sum", "UniformBuckets", measure=SumShift()),
    bind(_U + "nonexpansive", "UniformBuckets", worst=_cancelling),
    bind(_U + "contraction", "UniformBuckets", **_ALPHA),
    bind(_U + "range", "UniformBuckets", measure=WidthsOff(), worst=_outliers, **_SHIPPED),
    bind(_U + "unbiased", "UniformBuckets"),
    bind(_U + "wire", "UniformBuckets", **_TABLES),
    bind(_U + "ratio", "UniformBuckets", **_WIRE, **_SHIPPED),
    *(bind(_U + s, "UniformBuckets") for s in ("sign_symmetry", "scale_equivariance", "idempotence")),
    bind(_Q + "error", "QuantileBuckets", **_CAPTURED),
    bind(_Q + "sum", "QuantileBuckets", measure=SumShift()),
    bind(_Q + "nonexpansive", "QuantileBuckets", worst=_median_at_the_top),
    bind(_Q + "lossless", "QuantileBuckets"),
    bind(_Q + "contraction", "QuantileBuckets", **_ALPHA),
    bind(_Q + "unbiased", "QuantileBuckets"),
    bind(_Q + "wire", "QuantileBuckets", **_TABLES),
    bind(_Q + "ratio", "QuantileBuckets", **_WIRE, **_SHIPPED),
    *(bind(_Q + s, "QuantileBuckets") for s in ("sign_symmetry", "scale_equivariance")),
    bind(_Q + "idempotence", "QuantileBuckets", measure=_MEAN_OF_EQUALS),
    bind("shipped.terngrad.variance_zero", "TernGrad"),
    bind("shipped.terngrad.code_bits", "TernGrad", **_WIRE),
    bind("shipped.qsgd.code_bits", "QSGD", **_WIRE),
    bind("shipped.topk.code_bits", "TopK", **_WIRE),
)

EXPERIMENTS: dict[str, Any] = {**_COMPRESSORS, **WORKERS, **MECHANISMS}
