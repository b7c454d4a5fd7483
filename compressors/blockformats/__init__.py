"""Block-scaled formats of four to eight bits: what one worker does."""

from commbounds.compressors.blockformats.elements import ELEMENTS, Element
from commbounds.compressors.blockformats.fouroversix import FourOverSix, StochasticFourOverSix
from commbounds.compressors.blockformats.message import Blocks, ScaledBlocks
from commbounds.compressors.blockformats.microexponents import SharedMicroexponents, ShiftedBlocks
from commbounds.compressors.blockformats.microscaling import Microscaling, StochasticMicroscaling
from commbounds.compressors.blockformats.mseden import MSEden, RotatedBlocks
from commbounds.compressors.blockformats.nvfp4 import NVFP4, StochasticNVFP4

__all__ = [
    "ELEMENTS",
    "MECHANISMS",
    "NVFP4",
    "Blocks",
    "Element",
    "FourOverSix",
    "MSEden",
    "Microscaling",
    "RotatedBlocks",
    "ScaledBlocks",
    "SharedMicroexponents",
    "ShiftedBlocks",
    "StochasticFourOverSix",
    "StochasticMicroscaling",
    "StochasticNVFP4",
]

MECHANISMS = {
    "Microscaling": Microscaling,
    "StochasticMicroscaling": StochasticMicroscaling,
    "NVFP4": NVFP4,
    "StochasticNVFP4": StochasticNVFP4,
    "MSEden": MSEden,
    "FourOverSix": FourOverSix,
    "StochasticFourOverSix": StochasticFourOverSix,
    "SharedMicroexponents": SharedMicroexponents,
}
"""What a worker does here, by name."""
