"""The quantisers' claims, bound to their implementations."""

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import Compressor
from commbounds.compressors.base import Exact
from commbounds.theory import claims
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.compressor_study import RATIONAL_NORMS, CompressorStudy
from commbounds.verify.defects import IdempotenceDefect, ScaleDefect
from commbounds.verify.encoding import elias_gamma, read_gamma
from commbounds.verify.experiment import bound_at
from commbounds.verify.experiments.binding import bind, ones, table
from commbounds.verify.experiments.rounding_inputs import (
    between_levels,
    equal_far_below,
    four_thirds,
    half_levels,
    one_and_equal,
    one_dominant,
    one_entry,
    three_halves,
)
from commbounds.verify.experiments.sparsifiers.studies import with_alpha
from commbounds.verify.kernel_law import kernel_law
from commbounds.verify.marginals import Marginals
from commbounds.verify.measures import Distortion, Measure, Reading, exact_values, symbol_values

# --- measures ---------------------------------------------------------------------------------------------------------


class Level(Measure):
    """Largest level among the codes, with every entry rounded up."""

    def exact(self, run: CompressorRun) -> Exact:
        raise TypeError("levels are read off messages, not off laws")

    def read(self, run: CompressorRun) -> Reading | None:
        codes = run.c.compress_with(run.x, np.zeros_like(run.x)).codes
        return Reading(float(np.abs(codes.astype(np.int64)).max()))


class EliasBits(Measure):
    """E of the bits of an Elias-coded message: of real codes, which are read back, of the levels of every entry."""

    def exact(self, run: CompressorRun) -> Exact:
        raise TypeError("levels are read off messages, not off laws")

    def read(self, run: CompressorRun) -> Reading | None:
        x, law = run.x, run.kernel()
        if not isinstance(law, Marginals):
            return None
        kind = np.finfo(x.dtype)
        upper, lower = (run.c.compress_with(x, np.full_like(x, u)).codes for u in (0, 1 - kind.epsneg))
        up, down = _elias_lengths(upper), _elias_lengths(lower)
        # each probability is rounded up to the uniforms' grid, and its ratio was rounded three times
        slack = float(np.abs(up - down).sum()) * (law.resolution + 4.0 * float(kind.eps) * run.c.levels)
        return Reading(8 * x.itemsize + float((law.p * up + (1.0 - law.p) * down).sum()), slack)


def _elias_lengths(codes: Array) -> Array:
    """Bits of every entry: its sign, and its level plus one by `elias_gamma`."""
    levels = np.abs(codes.astype(np.int64))
    kept, back = np.unique(levels, return_inverse=True)
    words = [elias_gamma([int(level) + 1]) for level in kept]
    if read_gamma("".join(words)) != (kept + 1).tolist():
        raise ValueError("Elias codes do not read as the levels that they were made of")
    return 1 + np.array([len(word) for word in words])[back]


class CodeEntropy(Measure):
    """Entropy of the output in bits, of independent entries with two values each."""

    def exact(self, run: CompressorRun) -> Exact:
        raise TypeError("entropies are no rational numbers")

    def read(self, run: CompressorRun) -> Reading | None:
        law = run.kernel()
        if not isinstance(law, Marginals):
            return None
        kind = np.finfo(run.x.dtype)
        entropies = _binary_entropy(np.where(law.upper == law.lower, 0.0, law.p))
        # each probability is rounded up to the uniforms' grid, and its ratio was rounded three times; that moves an
        # entropy by at most the entropy of as much, and its own rounding is that of a few operations
        moved = law.resolution + 4.0 * float(kind.eps) * run.c.levels
        slack = float(_binary_entropy(np.array([min(moved, 0.5)]))[0]) + 8.0 * float(np.finfo(np.float64).eps)
        return Reading(math.fsum(entropies), law.p.size * slack)


def _binary_entropy(p: Array) -> Array:
    """-p log2 p - (1 - p) log2(1 - p), zero at both ends."""
    inside = np.clip(p, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).epsneg)
    return np.where((p > 0) & (p < 1), -inside * np.log2(inside) - (1 - inside) * np.log2(1 - inside), 0.0)


def _many_equal(_c: Any, n: int) -> Array:
    """Equal entries, 16 times as many as asked for."""
    return np.ones(16 * n)


def _root_levels(cls: Any, n: int) -> list[Any]:
    """Few and many levels, and sqrt(n) where that is one."""
    root = math.isqrt(n)
    return [cls(levels) for levels in dict.fromkeys((1, 4, 127, *((root,) if root**2 == n else ())))]


def _one_below_a_power(c: Any, n: int) -> Array | None:
    """Equal magnitudes, where all levels are 2^j - 1."""
    level = math.isqrt(c.levels**2 // n)
    return np.ones(n) if n * level**2 == c.levels**2 and (level + 1).bit_count() == 1 else None


class ExpectedSupport(Measure):
    """E of the number of nonzero entries."""

    def exact(self, run: CompressorRun) -> Exact:
        return sum(p * sum(1 for v in y if v != 0) for p, y in run.law())

    def read(self, run: CompressorRun) -> Reading | None:
        x, law = run.x, run.kernel()
        if not isinstance(law, Marginals):
            return None
        expected = float((law.p * (law.upper != 0) + (1.0 - law.p) * (law.lower != 0)).sum())
        # each probability is rounded up to the uniforms' grid, and its ratio was rounded three times
        return Reading(expected, x.size * (law.resolution + 4.0 * float(np.finfo(x.dtype).eps)))


def _shrinking(variance: str) -> Distortion:
    """Relative error of C / (1 + omega), with omega from the book."""

    def gain(c: Compressor, size: int) -> Exact:
        claim = claims()[variance]
        return 1 / (1 + bound_at(claim, {**exact_values(c, (Fraction(1),)), "n": size}))

    return Distortion(gain=gain)


# --- ranges of single draws -------------------------------------------------------------------------------------------


def _marginal_spread(c: Any, x: Array) -> tuple[float, float]:
    """Range of the relative error: every entry at its better and at its worse level."""
    law = kernel_law(c, x)
    assert isinstance(law, Marginals)
    wide = x.astype(np.float64)
    ends = np.sort([(law.upper - wide) ** 2, (law.lower - wide) ** 2], axis=0).sum(axis=1) / float(wide @ wide)
    return float(ends[0]), float(ends[1])


# --- values -----------------------------------------------------------------------------------------------------------


@cache
def _table_size(base: Fraction, itembits: int) -> int:
    """Powers of `base` among the normal numbers of the dtype, counted in exact arithmetic."""
    kind = np.finfo(np.float32 if itembits == 32 else np.float64)
    smallest, largest = Fraction(float(kind.tiny)), Fraction(float(kind.max))
    count, power = 0, Fraction(1)
    while power <= largest:
        count, power = count + 1, power * base
    power = 1 / base
    while power >= smallest:
        count, power = count + 1, power / base
    return count


def _with_table(run: CompressorRun) -> dict[str, Any]:
    values = run.once(symbol_values)
    return {**values, "levels": _table_size(Fraction(run.c.base), values["itembits"])}


def _factor(value: Fraction) -> ScaleDefect:
    return ScaleDefect(factors=lambda c: (value,), exact_factors=lambda c: (value,))


_POWERS = ScaleDefect(exact_factors=lambda c: (Fraction(2), Fraction(1, 8)))
_BASES = ScaleDefect(
    factors=lambda c: (Fraction(c.base),), exact_factors=lambda c: (Fraction(c.base), 1 / Fraction(c.base))
)
_ALPHA: dict[str, Any] = {"values": with_alpha}
# of 31 codes a ninth more, of 255 one more takes another bit; so it is with tables of 127 and of 128 powers
_WIRE_LEVELS: dict[str, Any] = {"setups": lambda cls, n: [cls(levels) for levels in (1, 3, 15, 127)]}
_WIRE_BASES = (2, Fraction(3, 2), 3, 4, Fraction(63, 16))
_TABLE: dict[str, Any] = {"values": _with_table, "setups": lambda cls, n: [cls(base) for base in _WIRE_BASES]}
_NORM: dict[str, Any] = {"domain": RATIONAL_NORMS}
_ELIAS: dict[str, Any] = {"measure": EliasBits(), "setups": _root_levels, "enumerable": False, "injectable": False}
_ENTROPY: dict[str, Any] = {
    "measure": CodeEntropy(),
    "setups": lambda cls, n: [cls(levels) for levels in (1, 2, 5, 16)],
    "worst": _many_equal,
    "enumerable": False,
    "injectable": False,
}
_LEVEL: dict[str, Any] = {"measure": Level(), "enumerable": False, "injectable": False, "worst": one_entry}


def _signs() -> list[CompressorStudy]:
    p = "quantizers.sign."
    return [
        bind(p + "error", "Sign"),
        bind(p + "contraction", "Sign", **_ALPHA),
        bind(p + "unbiased", "Sign"),
        bind(p + "wire", "Sign"),
        bind(p + "wire_ternary", "Sign", "zero"),
        bind(p + "sign_symmetry", "Sign"),
        bind(p + "sign_symmetry_ternary", "Sign", "zero"),
        bind(p + "sign_symmetry_zeros", "Sign"),
        bind(p + "scale_equivariance", "Sign"),
        bind(p + "idempotence", "Sign"),
    ]


def _scaled_signs() -> list[CompressorStudy]:
    p, name = "quantizers.scaledsign.", "ScaledSign"
    return [
        bind(p + "error", name),
        bind(p + "contraction", name, setups=lambda cls, n: [cls(), cls(zero=0)], worst=one_dominant),
        bind(p + "one_sparse", name, "zero"),
        bind(p + "attained", name, "zero"),
        bind(p + "unbiased", name),
        bind(p + "wire", name),
        bind(p + "wire_ternary", name, "zero"),
        bind(p + "sign_symmetry", name),
        bind(p + "sign_symmetry_ternary", name, "zero"),
        bind(p + "sign_symmetry_zeros", name),
        bind(p + "scale_equivariance", name),
        # the mean of n equal magnitudes is summed in float64 and rounded once
        bind(p + "idempotence", name, measure=IdempotenceDefect(rounding=2.0)),
        bind(p + "idempotence_zeros", name, "zero"),
    ]


def _dithering(subject: str, name: str, extremal: Any, **options: Any) -> list[CompressorStudy]:
    """What the stochastic quantisers with a norm have in common."""
    p = f"quantizers.{subject}."
    return [
        bind(p + "unbiased", name, tested="entries", **options),
        bind(p + "variance", name, tested="bound", worst=extremal, **options),
        bind(p + "shrunk_contraction", name, measure=_shrinking(p + "variance"), worst=extremal, **options),
        bind(p + "wire", name, **({} if name == "TernGrad" else _WIRE_LEVELS)),
        bind(p + "sign_symmetry", name, **options),
        bind(p + "scale_equivariance", name, **options),
    ]


EXPERIMENTS = table(
    *_signs(),
    *_scaled_signs(),
    *_dithering("qsgd", "QSGD", half_levels, **_NORM),
    bind("quantizers.qsgd.variance_printed", "QSGD", worst=half_levels, **_NORM),
    bind("quantizers.qsgd.second_moment", "QSGD", tested="bound", worst=half_levels, **_NORM),
    bind("quantizers.qsgd.second_moment_common", "QSGD", **_NORM),
    bind("quantizers.qsgd.level", "QSGD", **_LEVEL),
    bind("quantizers.qsgd.support", "QSGD", measure=ExpectedSupport(), worst=ones, **_NORM),
    bind("quantizers.qsgd.support_printed", "QSGD", measure=ExpectedSupport(), worst=ones, **_NORM),
    bind("quantizers.qsgd.elias", "QSGD", worst=_one_below_a_power, **_ELIAS),
    bind("quantizers.qsgd.elias_any_n", "QSGD", worst=_one_below_a_power, **_ELIAS),
    bind("quantizers.qsgd.entropy", "QSGD", **_ENTROPY),
    bind("quantizers.qsgd.sparse_bits", "QSGD", **_ENTROPY),
    bind("quantizers.qsgd.sparse_bits_of_fewer", "QSGD", **_ENTROPY),
    bind("quantizers.qsgd.idempotence", "QSGD", **_NORM),
    *_dithering("maxdithering", "MaxDithering", one_and_equal),
    bind("quantizers.maxdithering.level", "MaxDithering", **_LEVEL),
    # a decoded level and its ratio to the norm are rounded twice each
    bind("quantizers.maxdithering.idempotence", "MaxDithering", measure=IdempotenceDefect(rounding=4.0)),
    *_dithering("terngrad", "TernGrad", one_and_equal),
    bind("quantizers.terngrad.error", "TernGrad", tested="equal", spread=_marginal_spread),
    bind("quantizers.terngrad.idempotence", "TernGrad"),
    bind("quantizers.naturalcompression.unbiased", "NaturalCompression", tested="entries"),
    bind("quantizers.naturalcompression.variance", "NaturalCompression", tested="bound", worst=four_thirds),
    bind("quantizers.naturalcompression.variance_every_float", "NaturalCompression"),
    bind("quantizers.naturalcompression.fixed_points", "NaturalCompression"),
    bind("quantizers.naturalcompression.unbiased_every_float", "NaturalCompression"),
    bind(
        "quantizers.naturalcompression.shrunk_contraction",
        "NaturalCompression",
        measure=_shrinking("quantizers.naturalcompression.variance"),
        worst=four_thirds,
    ),
    bind("quantizers.naturalcompression.wire", "NaturalCompression"),
    # exact laws are those of binary32
    bind(
        "quantizers.naturalcompression.ratio_of_doubles",
        "NaturalCompression",
        worst=lambda _c, n: np.ones(n),
        enumerable=False,
    ),
    bind("quantizers.naturalcompression.sign_symmetry", "NaturalCompression"),
    bind("quantizers.naturalcompression.scale_equivariance", "NaturalCompression", measure=_POWERS),
    bind("quantizers.naturalcompression.scale_equivariance_any", "NaturalCompression", measure=_factor(Fraction(3, 2))),
    bind("quantizers.naturalcompression.idempotence", "NaturalCompression"),
    *_dithering("naturaldithering", "NaturalDithering", equal_far_below, **_NORM),
    bind("quantizers.naturaldithering.variance_printed", "NaturalDithering", worst=equal_far_below, **_NORM),
    bind("quantizers.naturaldithering.idempotence", "NaturalDithering", **_NORM),
    bind("quantizers.stochasticpower.unbiased", "StochasticPower", tested="entries"),
    bind("quantizers.stochasticpower.variance", "StochasticPower", tested="bound", worst=between_levels),
    bind(
        "quantizers.stochasticpower.shrunk_contraction",
        "StochasticPower",
        measure=_shrinking("quantizers.stochasticpower.variance"),
        worst=between_levels,
    ),
    bind("quantizers.stochasticpower.wire", "StochasticPower", **_TABLE),
    bind("quantizers.stochasticpower.sign_symmetry", "StochasticPower"),
    bind(
        "quantizers.stochasticpower.scale_equivariance",
        "StochasticPower",
        measure=_BASES,
        setups=lambda cls, n: [cls(base) for base in (2, 4, Fraction(3, 2), 3)],
        sweep=None,
    ),
    bind("quantizers.stochasticpower.scale_equivariance_any", "StochasticPower", measure=_factor(Fraction(7, 4))),
    bind("quantizers.stochasticpower.idempotence", "StochasticPower"),
    bind("quantizers.nearestpower.contraction", "NearestPower", worst=three_halves),
    bind("quantizers.nearestpower.unbiased", "NearestPower"),
    bind("quantizers.nearestpower.wire", "NearestPower"),
    bind("quantizers.nearestpower.sign_symmetry", "NearestPower"),
    bind("quantizers.nearestpower.scale_equivariance", "NearestPower", measure=_POWERS),
    bind("quantizers.nearestpower.scale_equivariance_any", "NearestPower", measure=_factor(Fraction(3, 2))),
    bind("quantizers.nearestpower.idempotence", "NearestPower"),
)
