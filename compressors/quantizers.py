"""The column of the quantisers: one module per object, gathered here."""

from commbounds.compressors.coded_message import Coded
from commbounds.compressors.dithering import QSGD, MaxDithering, TernGrad
from commbounds.compressors.natural_dithering import NaturalDithering
from commbounds.compressors.powers import NaturalCompression, NearestPower
from commbounds.compressors.signs import ScaledSign, Sign, Signs
from commbounds.compressors.stochastic_power import StochasticPower

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
