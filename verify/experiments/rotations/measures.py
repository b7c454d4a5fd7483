"""How the quantities of rotation-based compressors are measured."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.base import Exact
from commbounds.compressors.rotations import DRIVE, lloyd_max
from commbounds.theory import claims
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.defects import ScaleDefect, SignDefect
from commbounds.verify.experiment import bound_at
from commbounds.verify.kernel_law import Outcomes, kernel_law
from commbounds.verify.measures import Distortion, Measure, Reading, exact_values, simplified, symbol_values


def _scaled(run: CompressorRun) -> tuple[Array, Outcomes] | None:
    """The input and the kernel's outcomes, both over the largest entry; None where the law cannot be read off."""
    law = run.kernel()
    if not isinstance(law, Outcomes):
        return None
    wide = run.x.astype(np.float64)
    top = float(np.abs(wide).max()) or 1.0
    return wide / top, Outcomes(law.p, law.y / top)


def _allowance(run: CompressorRun, x: Array, y: Array) -> float:
    """What eight roundings to the dtype, and half of its smallest step, can change in a sum of squares or products."""
    kind = np.finfo(run.x.dtype)
    top = float(np.abs(run.x.astype(np.float64)).max()) or 1.0
    step = float(kind.smallest_subnormal) / top
    size = float(np.abs(x).max() + np.abs(y).max())
    return x.size * (8.0 * float(kind.eps) * size * size + 4.0 * step * size + step * step) / float(x @ x)


@dataclass(frozen=True)
class OverOutcomes(Measure):
    """The largest value, over all outcomes, of a function of x and the outcome, both exact or both arrays."""

    value: Callable[[Any, Any], Any]

    def exact(self, run: CompressorRun) -> Exact:
        return max((self.value(run.x, y) for _, y in run.law()), key=float)

    def read(self, run: CompressorRun) -> Reading | None:
        scaled = _scaled(run)
        if scaled is None:
            return None
        x, law = scaled
        return Reading(max(float(self.value(x, y)) for y in law.y), max(_allowance(run, x, y) for y in law.y))


def _inner(x: Any, y: Any) -> Any:
    return simplified(sum(a * b for a, b in zip(x, y, strict=True))) if isinstance(x, tuple) else float(x @ y)


def projection_gap(x: Any, y: Any) -> Any:
    """|<y, x>/||x||^2 - 1|."""
    return abs(_inner(x, y) / _inner(x, x) - 1)


def relative_error(x: Any, y: Any) -> Any:
    """||y - x||^2/||x||^2."""
    gap = tuple(b - a for a, b in zip(x, y, strict=True)) if isinstance(x, tuple) else y - x
    return _inner(gap, gap) / _inner(x, x)


class EntryVariance(Measure):
    """Largest expected squared error of an entry, over ||x||^2."""

    def exact(self, run: CompressorRun) -> Exact:
        square = sum(v * v for v in run.x)
        return max(sum(p * (y[i] - v) ** 2 for p, y in run.law()) for i, v in enumerate(run.x)) / square

    def read(self, run: CompressorRun) -> Reading | None:
        scaled = _scaled(run)
        if scaled is None:
            return None
        x, law = scaled
        value = float((law.p @ np.square(law.y - x)).max()) / float(x @ x)
        return Reading(value, max(_allowance(run, x, y) for y in law.y))


class DistanceToDRIVE(Measure):
    """Total variation distance between the law of the output and that of `DRIVE` with the same scale."""

    def exact(self, run: CompressorRun) -> Exact:
        masses: dict[Any, Fraction] = {}
        for law, sign in ((run.law(), 1), (DRIVE(run.c.scale).law(run.x), -1)):
            for p, y in law:
                masses[y] = masses.get(y, Fraction(0)) + sign * p
        return sum((abs(v) for v in masses.values()), Fraction(0)) / 2

    def read(self, run: CompressorRun) -> Reading | None:
        mine, other = run.kernel(), kernel_law(DRIVE(run.c.scale), run.x)
        if not isinstance(mine, Outcomes) or not isinstance(other, Outcomes):
            return None
        # outcomes that differ by the rounding of the scale alone are one
        allowance = 8.0 * float(np.finfo(run.x.dtype).eps) * float(np.abs(other.y).max())
        allowance += 2.0 * float(np.finfo(run.x.dtype).smallest_subnormal)
        both, signed = np.concatenate([mine.y, other.y]), np.concatenate([mine.p, -other.p])
        near = np.abs(both[:, None, :] - both[None, :, :]).max(axis=2) <= allowance
        first = near.argmax(axis=1)  # the first outcome that is the same stands for all of them
        masses = np.bincount(first, weights=signed, minlength=len(both))
        return Reading(float(np.abs(masses).sum()) / 2, 2.0 * len(both) * float(np.finfo(np.float64).eps))


class ReadSignDefect(SignDefect):
    """As `SignDefect`, where the law can be read off: with equal draws, rotated zeros have one sign for x and -x."""

    def read(self, run: CompressorRun) -> Reading | None:
        return None if run.kernel() is None else super().read(run)


@dataclass(frozen=True)
class SeedScaleDefect(ScaleDefect):
    """As `ScaleDefect`; where the law cannot be read off, whether one seed gives c C(x) for c x, for every factor."""

    def read(self, run: CompressorRun) -> Reading | None:
        if run.kernel() is not None:
            return super().read(run)
        c, x, differing = run.c, run.x, 0.0
        allowance = self.rounding * float(np.finfo(x.dtype).eps)
        here = c(x, np.random.default_rng(0)).astype(np.float64)
        for factor in map(float, self.factors(c)):
            there = c((x * x.dtype.type(factor)).astype(x.dtype), np.random.default_rng(0)).astype(np.float64)
            gap = float(np.abs(factor * here - there).max())
            differing = max(differing, float(gap > allowance * factor * float(np.abs(here).max())))
        return Reading(differing)


def shrinking(variance: str) -> Distortion:
    """Relative error of the compressor over 1 + omega, omega from the book."""

    def gain(c: Any, size: int) -> Exact:
        return 1 / (1 + bound_at(claims()[variance], {**exact_values(c, (Fraction(1),)), "n": size}))

    return Distortion(gain=gain)


# --- values of the symbols --------------------------------------------------------------------------------------------


def with_minor(run: CompressorRun) -> dict[str, Any]:
    """With the smaller of two magnitudes over the larger one."""
    entries = [abs(v) for v in (run.x if run.exact else run.x.astype(np.float64).tolist()) if v]
    ratio = min(entries) / max(entries) if entries else Fraction(1)
    return {**run.once(symbol_values), "minor": ratio}


def with_smallest(run: CompressorRun) -> dict[str, Any]:
    """With the least magnitude."""
    entries = run.x if run.exact else run.x.astype(np.float64).tolist()
    return {**run.once(symbol_values), "smallest_entry": min(abs(v) for v in entries)}


def with_distortion(run: CompressorRun) -> dict[str, Any]:
    """With the distortion of the quantiser."""
    value = lloyd_max(run.c.width).distortion
    return {**run.once(symbol_values), "normal_distortion": Fraction(value) if run.exact else value}


def with_ratio(run: CompressorRun) -> dict[str, Any]:
    """With the outermost centroid over the innermost positive one."""
    c = lloyd_max(run.c.width).centroids
    value = Fraction(c[-1]) / Fraction(c[len(c) // 2])
    return {**run.once(symbol_values), "centroid_ratio": value if run.exact else float(value)}


def with_one_bit(run: CompressorRun) -> dict[str, Any]:
    """With the error of one bit on the same input."""
    other = CompressorRun(replace(run.c, width=1), run.x)
    if run.exact:
        return {**run.once(symbol_values), "one_bit_error": Distortion().exact(other) if any(run.x) else Fraction(0)}
    if not run.x.any():
        return {**run.once(symbol_values), "one_bit_error": 0.0}
    reading = Distortion().read(other)
    value = float(Distortion().draws(other, 100).mean()) if reading is None else reading.value + reading.slack
    return {**run.once(symbol_values), "one_bit_error": value}


def with_cells(run: CompressorRun) -> dict[str, Any]:
    """With the number of cells of the quantiser."""
    return {**run.once(symbol_values), "cells": 2**run.c.width}
