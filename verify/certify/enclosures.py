"""Rational bounds of real numbers: roots, logarithms, powers of e, pi, and what rational operations make of them.

A number that is not rational is enclosed between two rational numbers, in integer arithmetic. Two numbers that differ
are told apart when their enclosures are: what is said of them then is exact.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import floor, isqrt

import sympy as sp

from commbounds.theory.cost import log2

Enclosure = tuple[Fraction, Fraction]
"""Two rational numbers; the one meant is no smaller than the first and no larger than the second."""


class NotEnclosedError(ValueError):
    """An expression of which no bounds are known here, or that may divide by zero or leave its domain."""


def enclosure(number: sp.Expr, bits: int) -> Enclosure:
    """Rational bounds of a number.

    Parameters
    ----------
    number : sympy expression
        Without symbols: sums, products, whole powers, square roots, logarithms, powers of e, absolute values, minima
        and maxima of rational numbers and of pi.
    bits : int
        After the point, of roots, logarithms, powers of e and pi, which are rounded outwards; at least 1.

    Returns
    -------
    pair of Fraction
        Equal where every root is rational and nothing else is rounded.

    Raises
    ------
    NotEnclosedError
        It is made of something else, or the bounds of a divisor, of a root's or a logarithm's argument do not exclude
        what is forbidden there.

    Examples
    --------
    >>> low, high = enclosure(sp.sqrt(2) + sp.log(3), 20)
    >>> low < Fraction(25128258, 10**7) < high, float(high - low) < 1e-5
    (True, True)
    """
    if number.is_Rational:
        value = Fraction(int(number.p), int(number.q))
        return value, value
    if number is sp.pi:
        return _pi(bits)
    if number is sp.E or isinstance(number, sp.exp):
        return _monotone(enclosure(number.args[0] if number.args else sp.Integer(1), bits), _exp, bits)
    parts = [enclosure(part, bits) for part in number.args] if not number.is_Pow else []
    if number.is_Add:
        return sum((low for low, _ in parts), Fraction(0)), sum((high for _, high in parts), Fraction(0))
    if number.is_Mul:
        total: Enclosure = (Fraction(1), Fraction(1))
        for part in parts:
            total = _times(total, part)
        return total
    if number.is_Pow and number.exp.is_Rational and number.exp.q in (1, 2):
        base = enclosure(number.base, bits)
        return _whole_power(base if number.exp.q == 1 else _monotone(base, _root, bits), int(number.exp.p))
    if isinstance(number, sp.log | log2) and len(parts) == 1:
        natural = _monotone(parts[0], _log, bits)
        if isinstance(number, sp.log):
            return natural
        return _times(natural, _whole_power(_log(Fraction(2), bits), -1))
    if isinstance(number, sp.Abs):
        ((low, high),) = parts
        return max(low, -high, Fraction(0)), max(high, -low)
    if isinstance(number, sp.Min | sp.Max):
        pick = min if isinstance(number, sp.Min) else max
        return pick(low for low, _ in parts), pick(high for _, high in parts)
    raise NotEnclosedError(f"no bounds of {number} are known")


def sign(number: sp.Expr, most_bits: int = 1024) -> int:
    """-1, 0 or 1: whether a number is negative, zero or positive.

    Raises
    ------
    NotEnclosedError
        Its enclosures at up to `most_bits` bits hold zero and another number, or it has none.
    """
    bits = 64
    while True:
        low, high = enclosure(number, bits)
        if low > 0 or high < 0 or low == high:
            return (low > 0) - (high < 0)
        if bits >= most_bits:
            raise NotEnclosedError(f"{number} is not told from zero with {bits} bits")
        bits *= 4


def _below(value: Fraction, bits: int) -> Fraction:
    return Fraction(floor(value * 2**bits), 2**bits)


def _times(one: Enclosure, other: Enclosure) -> Enclosure:
    products = [a * b for a in one for b in other]
    return min(products), max(products)


def _whole_power(base: Enclosure, exponent: int) -> Enclosure:
    low, high = base
    if exponent < 0:
        if low <= 0 <= high:
            raise NotEnclosedError(f"a divisor between {low} and {high} may be zero")
        return _whole_power((1 / high, 1 / low), -exponent)
    if exponent % 2 == 0 and low < 0:
        low, high = max(low, -high, Fraction(0)), max(high, -low)
    return low**exponent, high**exponent


def _monotone(argument: Enclosure, bounds: Callable[[Fraction, int], Enclosure], bits: int) -> Enclosure:
    """What an increasing function makes of an enclosure."""
    return bounds(argument[0], bits)[0], bounds(argument[1], bits)[1]


def _root(value: Fraction, bits: int) -> Enclosure:
    if value < 0:
        raise NotEnclosedError(f"a root of {value}")
    scaled = value.numerator * 4**bits // value.denominator
    root = isqrt(scaled)
    exact = root * root * value.denominator == value.numerator * 4**bits
    return Fraction(root, 2**bits), Fraction(root + (not exact), 2**bits)


def _log(value: Fraction, bits: int) -> Enclosure:
    # value = m 2^e with m in [2/3, 4/3]; log m = 2 artanh((m - 1)/(m + 1)), log 2 = 2 artanh(1/3)
    if value <= 0:
        raise NotEnclosedError(f"a logarithm of {value}")
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    while (rest := value / Fraction(2) ** exponent) > Fraction(4, 3):
        exponent += 1
    while rest < Fraction(2, 3):
        exponent, rest = exponent - 1, 2 * rest
    low, high = _twice_artanh((rest - 1) / (rest + 1), bits)
    twos = _times((Fraction(exponent), Fraction(exponent)), _twice_artanh(Fraction(1, 3), bits))
    return low + twos[0], high + twos[1]


@cache
def _twice_artanh(z: Fraction, bits: int) -> Enclosure:
    # 2 (z + z^3/3 + z^5/5 + ...), |z| <= 1/3: what is left after z^(2 j - 1) is at most 9/8 |z|^(2 j + 1)/(2 j + 1)
    if z < 0:
        low, high = _twice_artanh(-z, bits)
        return -high, -low
    total, power, odd = Fraction(0), z, 1
    while power > Fraction(1, 2 ** (bits + 2)):
        total, power, odd = total + power / odd, -_below(-power * z * z, 4 * bits), odd + 2
    left = Fraction(9, 8) * power / odd
    return _below(2 * (total - Fraction(odd, 2 ** (4 * bits))), bits), -_below(-2 * (total + left), bits)


@cache
def _pi(bits: int) -> Enclosure:
    # Machin: pi = 16 arctan(1/5) - 4 arctan(1/239)
    (low, high), (least, most) = _arctan(5, bits + 5), _arctan(239, bits + 5)
    return 16 * low - 4 * most, 16 * high - 4 * least


def _arctan(inverse: int, bits: int) -> Enclosure:
    # 1/m - 1/(3 m^3) + 1/(5 m^5) - ...: sums that end with a term taken away are below, others above
    total, odd, sign = Fraction(0), 1, 1
    while True:
        term = Fraction(1, odd * inverse**odd)
        if sign > 0 and term < Fraction(1, 2**bits):
            return total, total + term
        total, odd, sign = total + sign * term, odd + 2, -sign


def _exp(value: Fraction, bits: int) -> Enclosure:
    # exp(value) = exp(z)^(2^h) with |z| <= 1/2: what is left out of 1 + z + z^2/2 + ... is at most twice its first term
    halvings = max(0, abs(value.numerator // value.denominator).bit_length() + 1)
    z, kept = value / 2**halvings, bits + 4 * halvings + 4
    total, term, number = Fraction(0), Fraction(1), 0
    while abs(term) > Fraction(1, 2**kept):
        total, number = total + term, number + 1
        term = term * z / number
    low, high = _below(total - 2 * abs(term), kept), -_below(-total - 2 * abs(term), kept)
    for _ in range(halvings):
        low, high = _below(low * low, kept), -_below(-high * high, kept)
    return low, high
