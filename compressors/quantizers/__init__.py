"""Quantisers: what one worker does."""

from commbounds.compressors.quantizers.dithering import QSGD, MaxDithering, TernGrad
from commbounds.compressors.quantizers.message import Coded
from commbounds.compressors.quantizers.natural_dithering import NaturalDithering
from commbounds.compressors.quantizers.powers import NaturalCompression, NearestPower
from commbounds.compressors.quantizers.signs import ScaledSign, Sign, Signs
from commbounds.compressors.quantizers.stochastic_power import StochasticPower

__all__ = [
    "QSGD",
    "Coded",
    "MaxDithering",
    "NaturalCompression",
    "NaturalDithering",
    "NearestPower",
    "ScaledSign",
    "Sign",
    "Signs",
    "StochasticPower",
    "TernGrad",
]
