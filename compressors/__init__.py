"""What one worker does to its vector: reference compressors, kernels in Numba, laws in exact arithmetic.

The names below are the ground's: what other columns build on. A column has all of its own in
``commbounds.compressors.COLUMN``; what it registers is found here too, by its name in `COMPRESSORS` or `MECHANISMS`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from commbounds import _kernel_cache as _kernel_cache  # first: it is for the kernels that are defined after it
from commbounds.columns import Face, Registry, extended

if TYPE_CHECKING:
    from commbounds.compressors.base import Compressor, Law, Message
    from commbounds.compressors.feedback import EF14, EF21, EF21M, EControl, Feedback, FeedbackState, Plain
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
    from commbounds.compressors.lowrank import Factors, LowRank, PowerSGD
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
    "BlockTopK",
    "ChunkTopK",
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
    "RandK",
    "ScaledSign",
    "Sign",
    "Signs",
    "Sparse",
    "StochasticGroupQuantizer",
    "StochasticPower",
    "TernGrad",
    "TopK",
    "message_from_bytes",
    "packed",
    "packed_bytes",
    "unpacked",
    "wire_bytes",
]

COMPRESSORS: Registry[type[Compressor]] = Registry("COMPRESSORS", "compressors")
"""Every compressor under its class name, family by family: what tests, command line and figures iterate."""

MECHANISMS: Registry[Any] = Registry("MECHANISMS", "compressors")
"""What else one worker does, under its name: error feedback, quantisers of groups."""

sys.modules[__name__].__class__ = Face
