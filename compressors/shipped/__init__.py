"""Compressors that packages ship: what one worker does."""

from commbounds.compressors.shipped.atomic import Atomic
from commbounds.compressors.shipped.buckets import QuantileBuckets, UniformBuckets
from commbounds.compressors.shipped.clipped import ClippedTernGrad
from commbounds.compressors.shipped.lazy import Lazy
from commbounds.compressors.shipped.message import Maybe, Quartic, Tabled
from commbounds.compressors.shipped.onebit import OneBit
from commbounds.compressors.shipped.replacement import ReplacementRandK
from commbounds.compressors.shipped.threelc import ThreeLC

__all__ = [
    "COMPRESSORS",
    "Atomic",
    "ClippedTernGrad",
    "Lazy",
    "Maybe",
    "OneBit",
    "QuantileBuckets",
    "Quartic",
    "ReplacementRandK",
    "Tabled",
    "ThreeLC",
    "UniformBuckets",
]

COMPRESSORS = {
    "ReplacementRandK": ReplacementRandK,
    "Lazy": Lazy,
    "Atomic": Atomic,
    "ClippedTernGrad": ClippedTernGrad,
    "OneBit": OneBit,
    "ThreeLC": ThreeLC,
    "UniformBuckets": UniformBuckets,
    "QuantileBuckets": QuantileBuckets,
}
"""The compressors of this family, by class name."""
