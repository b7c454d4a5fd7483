"""Rotation-based compressors: what one worker does."""

from commbounds.compressors.rotations.centroids import EDEN
from commbounds.compressors.rotations.dithered import dithered_hadamard
from commbounds.compressors.rotations.hadamard import padded_size, randomised_hadamard
from commbounds.compressors.rotations.kashin import from_kashin, kashin
from commbounds.compressors.rotations.ldlq import ldl, ldlq
from commbounds.compressors.rotations.levels import RotatedDithering
from commbounds.compressors.rotations.lloyd_max import LloydMax, lloyd_max
from commbounds.compressors.rotations.message import Rotated
from commbounds.compressors.rotations.signs import DRIVE
from commbounds.compressors.rotations.sketch import HadamardSketch
from commbounds.compressors.rotations.uniform import rotated_signs

__all__ = [
    "COMPRESSORS",
    "DRIVE",
    "EDEN",
    "MECHANISMS",
    "HadamardSketch",
    "LloydMax",
    "Rotated",
    "RotatedDithering",
    "dithered_hadamard",
    "from_kashin",
    "kashin",
    "ldl",
    "ldlq",
    "lloyd_max",
    "padded_size",
    "randomised_hadamard",
    "rotated_signs",
]

COMPRESSORS = {"DRIVE": DRIVE, "EDEN": EDEN, "RotatedDithering": RotatedDithering, "HadamardSketch": HadamardSketch}
"""The compressors of this family, by class name."""

MECHANISMS = {
    "randomised_hadamard": randomised_hadamard,
    "lloyd_max": lloyd_max,
    "kashin": kashin,
    "dithered_hadamard": dithered_hadamard,
    "rotated_signs": rotated_signs,
    "ldlq": ldlq,
}
"""What else one worker does, by name: the rotation, and the quantiser of a normal number; representations of small
range, subtractive dithering, signs after any rotation, and rounding with feedback."""
