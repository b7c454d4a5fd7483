"""Binary number formats that all-reduces add and send in, as exact numbers: `Format`, `FORMATS`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType


@dataclass(frozen=True)
class Format:
    """A binary floating-point format with gradual underflow.

    Its numbers are zero and plus or minus m 2^e, 0 < m < 2^digits whole, that are multiples of `smallest` and at most
    `largest`.

    Parameters
    ----------
    name : str
        As numpy or ml_dtypes call the dtype.
    digits : int
        Of the significand, the leading one included.
    smallest : Fraction
        Smallest positive number, below the normal ones.
    normal : Fraction
        Smallest normal number.
    largest : Fraction
        Largest finite number.
    overflow : {"infinity", "nan"}
        What a number that rounds beyond the largest becomes.
    bits : int
        Of a stored number.

    Raises
    ------
    ValueError
        The numbers do not fit together.
    """

    name: str
    digits: int
    smallest: Fraction
    normal: Fraction
    largest: Fraction
    overflow: str
    bits: int

    def __post_init__(self) -> None:
        if self.digits < 1:
            raise ValueError(f"digits of {self.name} must be at least 1, got {self.digits}")
        if self.normal != self.smallest * 2 ** (self.digits - 1):
            raise ValueError(f"normal of {self.name} must be smallest 2^(digits - 1), got {self.normal}")
        if self.largest < self.normal or self.largest % self.smallest:
            raise ValueError(f"largest of {self.name} must be a multiple of smallest, got {self.largest}")
        if self.overflow not in ("infinity", "nan"):
            raise ValueError(f"overflow of {self.name} must be infinity or nan, got {self.overflow!r}")

    @property
    def unit(self) -> Fraction:
        """Unit roundoff, 2^-digits: half the gap above 1."""
        return Fraction(1, 2**self.digits)

    @property
    def bytes(self) -> int:
        """Of a stored number."""
        return self.bits // 8

    def holds(self, other: Format) -> bool:
        """Whether every finite number of `other` is one of this format."""
        return self.digits >= other.digits and self.smallest <= other.smallest and self.largest >= other.largest

    def gap(self, value: Fraction) -> Fraction:
        """Distance between neighbours at the magnitude of `value`, as if there were no largest number."""
        magnitude = abs(value)
        if magnitude < self.normal:
            return self.smallest
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if Fraction(2) ** exponent > magnitude:
            exponent -= 1
        return Fraction(2) ** (exponent - self.digits + 1)

    def around(self, value: Fraction) -> tuple[Fraction, Fraction]:
        """The neighbours below and above `value`, equal where it is a number of the format; no largest number."""
        gap = self.gap(value)
        below = (value // gap) * gap
        return below, below if below == value else below + gap

    def rounded(self, value: Fraction) -> Fraction:
        """`value` rounded to nearest, ties to even.

        Raises
        ------
        OverflowError
            The result is beyond the largest number.
        """
        gap = self.gap(value)
        result = round(value / gap) * gap  # Python rounds fractions to even
        if abs(result) > self.largest:
            raise OverflowError(f"{value} is rounded beyond the largest number of {self.name}, {self.largest}")
        return result


def _ieee(name: str, digits: int, exponent_bits: int) -> Format:
    bias = 2 ** (exponent_bits - 1) - 1
    normal = Fraction(1, 2 ** (bias - 1))
    largest = (2 - Fraction(1, 2 ** (digits - 1))) * 2**bias
    return Format(name, digits, normal / 2 ** (digits - 1), normal, largest, "infinity", digits + exponent_bits)


_LISTED = (
    _ieee("float64", 53, 11),
    _ieee("float32", 24, 8),
    _ieee("float16", 11, 5),
    _ieee("bfloat16", 8, 8),
    # no infinities; of the largest exponent all significands but one are numbers
    Format("float8_e4m3fn", 4, Fraction(1, 2**9), Fraction(1, 2**6), Fraction(448), "nan", 8),
    _ieee("float8_e5m2", 3, 5),
)

FORMATS: Mapping[str, Format] = MappingProxyType({listed.name: listed for listed in _LISTED})
"""The formats by name, widest significand first."""


_OTHER_NAMES = {
    **{"fp64": "float64", "double": "float64", "fp32": "float32", "fp16": "float16", "half": "float16"},
    **{"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "fp8": "float8_e4m3fn", "e5m2": "float8_e5m2"},
}
"""Spellings that are understood: fp8 without more is e4m3."""


def format_named(name: str) -> Format:
    """The format of that name; short names such as bf16 and fp8 are understood.

    Raises
    ------
    ValueError
        There is none.
    """
    name = _OTHER_NAMES.get(name, name)
    if name not in FORMATS:
        raise ValueError(f"the format must be one of {', '.join(FORMATS)}, got {name!r}")
    return FORMATS[name]


def innocuous(accumulate: Format, wire: Format) -> bool:
    """Whether adding two numbers of `wire` in `accumulate` and rounding to `wire` is the same as rounding once.

    So it is where the accumulator has twice the digits and two more (Figueroa 1995), and holds the wire's numbers. The
    same format rounds once anyway.
    """
    return accumulate == wire or (accumulate.digits >= 2 * wire.digits + 2 and accumulate.holds(wire))
