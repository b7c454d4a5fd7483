"""Compressors that packages ship: what one worker does."""

from commbounds.compressors.shipped.atomic import Atomic
from commbounds.compressors.shipped.bernoullilazy import BernoulliLazy
from commbounds.compressors.shipped.buckets import QuantileBuckets, UniformBuckets
from commbounds.compressors.shipped.clipped import ClippedTernGrad
from commbounds.compressors.shipped.message import Maybe, Quartic, Tabled
from commbounds.compressors.shipped.replacement import ReplacementRandK
from commbounds.compressors.shipped.threelc import ThreeLC
from commbounds.compressors.shipped.twomeans import TwoMeans

__all__ = [
    "COMPRESSORS",
    "Atomic",
    "BernoulliLazy",
    "ClippedTernGrad",
    "Maybe",
    "QuantileBuckets",
    "Quartic",
    "ReplacementRandK",
    "Tabled",
    "ThreeLC",
    "TwoMeans",
    "UniformBuckets",
]

COMPRESSORS = {
    "ReplacementRandK": ReplacementRandK,
    "BernoulliLazy": BernoulliLazy,
    "Atomic": Atomic,
    "ClippedTernGrad": ClippedTernGrad,
    "TwoMeans": TwoMeans,
    "ThreeLC": ThreeLC,
    "UniformBuckets": UniformBuckets,
    "QuantileBuckets": QuantileBuckets,
}
"""The compressors of this family, by class name."""
