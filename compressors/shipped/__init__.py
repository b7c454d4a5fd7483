"""Compressors that packages ship: what one worker does."""

from commbounds.compressors.shipped.atomic import Atomic
from commbounds.compressors.shipped.bernoullilazy import BernoulliLazy
from commbounds.compressors.shipped.buckets import QuantileBuckets, UniformBuckets
from commbounds.compressors.shipped.clipped import ClippedTernGrad
from commbounds.compressors.shipped.dynamictree import DYNAMIC_TREE, Mapped, dynamic_tree
from commbounds.compressors.shipped.inceptionn import Truncated, inceptionn, truncation_binades
from commbounds.compressors.shipped.message import Maybe, Quartic, Tabled
from commbounds.compressors.shipped.replacement import ReplacementRandK
from commbounds.compressors.shipped.signed import SignedRun, ef_signs, ridge_descent, signum_signs
from commbounds.compressors.shipped.spectral import SpectralAtoms, spectral_atoms
from commbounds.compressors.shipped.switching import switched
from commbounds.compressors.shipped.threelc import ThreeLC
from commbounds.compressors.shipped.twomeans import TwoMeans

__all__ = [
    "COMPRESSORS",
    "DYNAMIC_TREE",
    "MECHANISMS",
    "Atomic",
    "BernoulliLazy",
    "ClippedTernGrad",
    "Mapped",
    "Maybe",
    "QuantileBuckets",
    "Quartic",
    "ReplacementRandK",
    "SignedRun",
    "SpectralAtoms",
    "Tabled",
    "ThreeLC",
    "Truncated",
    "TwoMeans",
    "UniformBuckets",
    "dynamic_tree",
    "ef_signs",
    "inceptionn",
    "ridge_descent",
    "signum_signs",
    "spectral_atoms",
    "switched",
    "truncation_binades",
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

MECHANISMS = {
    "dynamic_tree": dynamic_tree,
    "inceptionn": inceptionn,
    "spectral_atoms": spectral_atoms,
    "signum_signs": signum_signs,
    "ef_signs": ef_signs,
    "ridge_descent": ridge_descent,
    "switched": switched,
}
"""What else one worker does here, by name."""
