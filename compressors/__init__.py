"""What one worker does to its vector: reference compressors, kernels in Numba, laws in exact arithmetic."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from commbounds.columns import entries, extended
from commbounds.compressors.base import Compressor, Law, Message
from commbounds.compressors.feedback import (
    EF14,
    EF21,
    EF21M,
    EControl,
    Feedback,
    FeedbackState,
    Plain,
)
from commbounds.compressors.flashcomm import (
    GroupCodes,
    GroupQuantizer,
    StochasticGroupQuantizer,
    message_from_bytes,
    packed,
    packed_bytes,
    unpacked,
    wire_bytes,
)
from commbounds.compressors.lowrank import (
    Factors,
    LowRank,
    PowerSGD,
)
from commbounds.compressors.quantizers import (
    QSGD,
    Coded,
    MaxDithering,
    NaturalCompression,
    NaturalDithering,
    NearestPower,
    ScaledSign,
    Sign,
    Signs,
    StochasticPower,
    TernGrad,
)
from commbounds.compressors.shipped import (
    Atomic,
    BernoulliLazy,
    ClippedTernGrad,
    QuantileBuckets,
    ReplacementRandK,
    ThreeLC,
    TwoMeans,
    UniformBuckets,
)
from commbounds.compressors.sparsifiers import (
    AdaptiveSparsification,
    BlockTopK,
    ChunkTopK,
    Dense,
    HardThreshold,
    Identity,
    RandK,
    Sparse,
    TopK,
)

__path__ = extended(__path__, "compressors")

__all__ = [
    "COMPRESSORS",
    "EF14",
    "EF21",
    "EF21M",
    "MECHANISMS",
    "QSGD",
    "AdaptiveSparsification",
    "Atomic",
    "BernoulliLazy",
    "BlockTopK",
    "ChunkTopK",
    "ClippedTernGrad",
    "Coded",
    "Compressor",
    "Dense",
    "EControl",
    "Factors",
    "Feedback",
    "FeedbackState",
    "GroupCodes",
    "GroupQuantizer",
    "HardThreshold",
    "Identity",
    "Law",
    "LowRank",
    "MaxDithering",
    "Message",
    "NaturalCompression",
    "NaturalDithering",
    "NearestPower",
    "Plain",
    "PowerSGD",
    "QuantileBuckets",
    "RandK",
    "ReplacementRandK",
    "ScaledSign",
    "Sign",
    "Signs",
    "Sparse",
    "StochasticGroupQuantizer",
    "StochasticPower",
    "TernGrad",
    "ThreeLC",
    "TopK",
    "TwoMeans",
    "UniformBuckets",
    "message_from_bytes",
    "packed",
    "packed_bytes",
    "unpacked",
    "wire_bytes",
]

COMPRESSORS: dict[str, type[Compressor]] = entries("COMPRESSORS", "compressors")
"""Every compressor under its class name, family by family: what tests, command line and figures iterate."""

MECHANISMS: Mapping[str, Any] = MappingProxyType(entries("MECHANISMS", "compressors"))
"""What else one worker does, under its name: error feedback, quantisers of groups."""
