"""The claims about rotation-based compressors, bound to their implementations."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify import inputs
from commbounds.verify.compressor_study import VECTORS, CompressorStudy
from commbounds.verify.experiments.binding import bind
from commbounds.verify.experiments.rotations.further import FURTHER
from commbounds.verify.experiments.rotations.measures import (
    DistanceToDRIVE,
    EntryVariance,
    OverOutcomes,
    ReadSignDefect,
    SeedScaleDefect,
    projection_gap,
    relative_error,
    shrinking,
    with_cells,
    with_distortion,
    with_minor,
    with_one_bit,
    with_ratio,
    with_smallest,
)
from commbounds.verify.experiments.rotations.roundings import ROUNDINGS
from commbounds.verify.experiments.rotations.together import TOGETHER
from commbounds.verify.experiments.rotations.transforms import QUANTISER, TRANSFORM
from commbounds.verify.measures import MessageBits


def _grid(level: int) -> Iterator[Any]:
    """Small integers; and of four and five entries those that are flat, sparse or uneven."""
    for n, top in ((1, 2), (2, 3), (3, 1 + (level > 0)), *(((4, 1),) if level else ())):
        yield from inputs.grid(n, top)
        yield (Fraction(0),) * n
    for x in ((1, 1, 1, 1), (0, 1, 0, 1), (3, 1, 0, 0), (2, -1, 1, 0), (0, 0, 5, 0), (4, -3, 2, 1), (1, -1, 1, 2, 1)):
        yield tuple(Fraction(v) for v in x)


_SMALL = replace(VECTORS, grid=_grid, shapes=((2,), (3,), (4,)))


def _uneven(_level: int) -> Iterator[Any]:
    """One large entry, and one or two that are small."""
    for x in ((1, 1), (3, 1), (20, 1), (50, 1), (50, -1, 1), (1, 1, 1, 1)):
        yield tuple(Fraction(v) for v in x)


_UNEVEN = replace(_SMALL, grid=_uneven)
_LEAST: dict[str, Any] = {"domain": _SMALL}


def _flat(_c: Any, n: int) -> Array | None:
    """Equal entries, where all patterns of signs are enumerated: two or more, a power of two."""
    return np.ones(n) if n in (2, 4) else np.ones(4) if n == 8 else None


def _two_equal(_c: Any, n: int) -> Array | None:
    """Two equal entries among zeros."""
    return np.array([0.0, 1.0, 0.0, -1.0][: max(2, min(n, 4))]) if n in (8,) else np.ones(2) if n == 2 else None


def _two_equal_one_bit(c: Any, n: int) -> Array | None:
    """Two equal entries, for one bit."""
    return _two_equal(c, n) if c.width == 1 else None


def _one_more(_c: Any, n: int) -> Array | None:
    """One entry more than a power of two."""
    return np.ones(n) if n in (2, 3, 33) else None


_ERROR, _PROJECTION = OverOutcomes(relative_error), OverOutcomes(projection_gap)
# the scale is a quotient of two sums of up to d terms, rounded to the dtype; a factor 3 rounds other bits
_SIGN = ReadSignDefect(rounding=4.0)
_SCALE = SeedScaleDefect(lambda c: (Fraction(1, 4),), lambda c: (Fraction(3),), rounding=4.0)
_BITS: dict[str, Any] = {"measure": MessageBits(), "enumerable": False, "injectable": False}


def _drive() -> list[CompressorStudy]:
    p, name = "rotations.drive.", "DRIVE"
    return [
        bind(p + "unbiased", name, **_LEAST),
        bind(p + "two_sparse_bias", name, values=with_minor, **_LEAST),
        bind(p + "two_sparse_error", name, values=with_minor, **_LEAST),
        bind(p + "two_sparse_error_biased", name, values=with_minor, **_LEAST),
        bind(p + "projection", name, measure=_PROJECTION, **_LEAST),
        bind(p + "error_uniform", name, **_LEAST),
        bind(p + "contraction", name, "biased", worst=_two_equal, **_LEAST),
        bind(p + "contraction_uniform", name, "biased", worst=_two_equal, **_LEAST),
        bind(p + "one_sparse", name, **_LEAST),
        bind(p + "worst_draw", name, measure=_ERROR, worst=_flat, **_LEAST),
        bind(p + "worst_draw_biased", name, measure=_ERROR, worst=_flat, **_LEAST),
        bind(p + "wire", name, **_BITS),
        bind(p + "wire_one", name, worst=_one_more, **_BITS),
        bind(p + "wire_padded", name, worst=_one_more, **_BITS),
        bind(p + "sign_symmetry", name, measure=_SIGN, **_LEAST),
        bind(p + "scale_equivariance", name, measure=_SCALE, **_LEAST),
        bind(p + "idempotence", name, **_LEAST),
    ]


def _eden() -> list[CompressorStudy]:
    p, name = "rotations.eden.", "EDEN"
    return [
        bind(p + "unbiased", name, "unbiased", **_LEAST),
        bind(p + "projection", name, "unbiased", measure=_PROJECTION, **_LEAST),
        bind(p + "one_bit", name, "one", measure=DistanceToDRIVE(), **_LEAST),
        bind(p + "contraction", name, "biased", values=with_ratio, worst=_two_equal_one_bit, **_LEAST),
        bind(p + "more_bits", name, "two", values=with_one_bit, domain=_UNEVEN),
        bind(p + "one_sparse", name, **_LEAST),
        bind(p + "error_uniform", name, "unbiased", values=with_distortion, **_LEAST),
        bind(p + "norm_uniform", name, "norm", values=with_cells, **_LEAST),
        bind(p + "wire", name, **_BITS),
        bind(p + "sign_symmetry", name, measure=_SIGN, **_LEAST),
        bind(p + "scale_equivariance", name, measure=_SCALE, **_LEAST),
        bind(p + "idempotence", name, **_LEAST),
    ]


def _dithering() -> list[CompressorStudy]:
    p, name = "rotations.rotateddithering.", "RotatedDithering"
    return [
        bind(p + "unbiased", name, **_LEAST),
        bind(p + "variance", name, tested="bound", **_LEAST),
        bind(p + "one_sparse", name, **_LEAST),
        # of 16 codes a ninth more takes another bit
        bind(p + "wire", name, setups=lambda cls, n: [cls(levels) for levels in (1, 3, 15)], **_BITS),
        bind(p + "shrunk_contraction", name, measure=shrinking(p + "variance"), **_LEAST),
        bind(p + "sign_symmetry", name, measure=_SIGN, **_LEAST),
        bind(p + "idempotence", name, **_LEAST),
        bind(p + "scale_equivariance", name, measure=_SCALE, **_LEAST),
    ]


def _sketch() -> list[CompressorStudy]:
    p, name = "rotations.hadamardsketch.", "HadamardSketch"
    return [
        bind(p + "unbiased", name, **_LEAST),
        bind(p + "variance", name, **_LEAST),
        bind(p + "shrunk_contraction", name, measure=shrinking(p + "variance"), **_LEAST),
        bind(p + "variance_unpadded", name, **_LEAST),
        bind(p + "entry_variance", name, measure=EntryVariance(), values=with_smallest, **_LEAST),
        bind(p + "wire", name, **_BITS),
        bind(p + "sign_symmetry", name, measure=_SIGN, **_LEAST),
        bind(p + "idempotence", name, **_LEAST),
        bind(p + "scale_equivariance", name, measure=_SCALE, **_LEAST),
    ]


_STUDIES = (*TRANSFORM, *QUANTISER, *_drive(), *_eden(), *_dithering(), *_sketch(), *FURTHER, *ROUNDINGS, *TOGETHER)
EXPERIMENTS: dict[str, Any] = {study.claim: study for study in _STUDIES}
