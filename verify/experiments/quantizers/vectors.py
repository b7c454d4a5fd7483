"""Test vectors: quantisers."""

from fractions import Fraction
from functools import partial

from commbounds.compressors.quantizers import (
    COMPRESSORS,
    QSGD,
    MaxDithering,
    NaturalCompression,
    NaturalDithering,
    NearestPower,
    ScaledSign,
    Sign,
    StochasticPower,
    TernGrad,
)
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.compressor_cases import BAD, MOST, WIDE, Setting, Switch, compressor, vector_cases

SETTINGS: tuple[Setting, ...] = (
    (Sign(), "float32", (*MOST, "one entry"), BAD),
    (Sign(zero=0), "float32", ("negative zeros", "one nonzero", "subnormals"), ()),
    (Sign(), "float64", WIDE, ()),
    (ScaledSign(), "float32", (*MOST, "one entry"), BAD),
    (ScaledSign(zero=0), "float32", ("negative zeros", "one nonzero"), ()),
    (ScaledSign(), "float64", WIDE, ()),
    (QSGD(4), "float32", tuple(n for n in (*MOST, "one entry") if n != "largest"), (*BAD, "largest")),
    (QSGD(200), "float32", ("ordinary",), ()),
    (QSGD(4), "float64", ("ordinary", "subnormals"), ("largest",)),
    (MaxDithering(3), "float32", (*MOST, "one entry"), BAD),
    (MaxDithering(3), "float64", WIDE, ()),
    (TernGrad(), "float32", (*MOST, "one entry"), BAD),
    (TernGrad(), "float64", WIDE, ()),
    (NaturalCompression(), "float32", (*MOST, "one entry"), BAD),
    (NaturalCompression(), "float64", WIDE, ()),
    (NaturalDithering(3), "float32", tuple(n for n in (*MOST, "one entry") if n != "largest"), (*BAD, "largest")),
    (NaturalDithering(3), "float64", ("ordinary", "subnormals"), ("largest",)),
    (StochasticPower(Fraction(3, 2)), "float32", (*MOST, "one entry"), BAD),
    (StochasticPower(3), "float64", WIDE, ()),
    (NearestPower(), "float32", (*MOST, "one entry"), BAD),
    (NearestPower(), "float64", WIDE, ()),
)

SWITCHES: tuple[Switch, ...] = (
    (QSGD(4), (3.0, 0.0, -4.0), (Fraction(2, 5), Fraction(0), Fraction(1, 5))),
    (MaxDithering(4), (4.0, 1.5, -2.25, 0.125), (Fraction(0), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8))),
    (TernGrad(), (4.0, 1.0, -3.0, 0.0), (Fraction(0), Fraction(1, 4), Fraction(3, 4), Fraction(0))),
    (NaturalCompression(), (1.25, -1.5, 7.0, 2.0), (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(0))),
    (NaturalDithering(3), (0.75, -1.0, 0.0, 0.0), (Fraction(1, 5), Fraction(3, 5), Fraction(0), Fraction(0))),
    (StochasticPower(3), (1.5, -2.5, 6.0, 9.0), (Fraction(1, 4), Fraction(3, 4), Fraction(1, 2), Fraction(0))),
)

LAWS = (Sign(), ScaledSign(), NearestPower())
"""Those whose output has its law beside it."""


def cases(name: str) -> list[VectorCase]:
    """Those of the compressor of this name."""
    return vector_cases(name, SETTINGS, SWITCHES, LAWS)


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return [compressor(name, partial(cases, name)) for name in COMPRESSORS]
