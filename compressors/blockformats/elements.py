"""Number formats of single elements, as exact numbers: four, six and eight bits, floating and fixed point."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from commbounds.array_types import Floats


@dataclass(frozen=True)
class Element:
    """A sign and a magnitude out of a short table.

    Parameters
    ----------
    name : str
        As the book calls it.
    width : int
        Bits of a stored element, its sign among them.
    digits : int
        Bits of the significand in the binade of the largest number, the leading one included.
    smallest : Fraction
        Smallest positive number.
    largest : Fraction
        Largest number.
    floating : bool
        Whether numbers become denser below a power of two, down to the smallest normal one; else they are equidistant.
    """

    name: str
    width: int
    digits: int
    smallest: Fraction
    largest: Fraction
    floating: bool = True

    @cached_property
    def magnitudes(self) -> tuple[Fraction, ...]:
        """The numbers that are not negative, ascending: number c has the magnitude bits c."""
        found, step = [Fraction(0)], self.smallest
        while found[-1] < self.largest:
            found.append(found[-1] + step)
            # at twice the digits' count the numbers are 2^digits steps from zero: from there on they are sparser
            if self.floating and found[-1] == step * 2**self.digits:
                step *= 2
        return tuple(found)

    @cached_property
    def emax(self) -> int:
        """Exponent of the largest power of two among the numbers."""
        return self.largest.numerator.bit_length() - self.largest.denominator.bit_length()

    @cached_property
    def unit(self) -> Fraction:
        """Unit roundoff, 2^-digits: half the gap above a power of two, relative to it."""
        return Fraction(1, 2**self.digits)

    @cached_property
    def reach(self) -> Fraction:
        """The largest number over the largest power of two; in [1, 2)."""
        return self.largest / Fraction(2) ** self.emax

    @cached_property
    def table(self) -> Floats:
        """`magnitudes`, exactly; read-only."""
        values = np.array([float(value) for value in self.magnitudes])
        values.setflags(write=False)
        return values

    def __reduce__(self) -> Any:
        return ELEMENTS.__getitem__, (self.name,)


_HALF = Fraction(1, 2)
_LISTED = (
    Element("e2m1", 4, 2, _HALF, Fraction(6)),
    Element("e2m3", 6, 4, _HALF**3, Fraction(15, 2)),
    Element("e3m2", 6, 3, _HALF**4, Fraction(28)),
    # 480 would be NaN's code
    Element("e4m3", 8, 4, _HALF**9, Fraction(448)),
    Element("e5m2", 8, 3, _HALF**16, Fraction(57344)),
    Element("int8", 8, 7, _HALF**6, Fraction(127, 64), floating=False),
    Element("int4", 4, 3, _HALF**2, Fraction(7, 4), floating=False),
)

ELEMENTS: Mapping[str, Element] = MappingProxyType({element.name: element for element in _LISTED})
"""The formats by name. The integers are fixed-point numbers below two, as MXINT8 has them; -2 is not used."""
