"""Rational bounds of roots, logarithms, powers of e and pi: narrow, with the number between; others are refused."""

from fractions import Fraction

import pytest
import sympy as sp

from commbounds.theory.cost import log2
from commbounds.verify.certify.enclosures import NotEnclosedError, enclosure, sign

NUMBERS = [Fraction(1, 10**6), Fraction(1, 3), Fraction(2, 3), Fraction(999, 1000), Fraction(4, 3), 2, 3, 16, 10**12]


@pytest.mark.parametrize("bits", [4, 64, 300])
@pytest.mark.parametrize("function", [sp.sqrt, sp.log, log2])
def test_bounds_hold_the_number_and_are_narrow(function, bits):
    for number in NUMBERS:
        value = function(sp.Rational(number.numerator, number.denominator))
        low, high = enclosure(value, bits)
        exact = sp.N(value, 200)
        assert sp.Rational(low.numerator, low.denominator) <= exact + sp.Float(10, 200) ** -150
        assert exact <= sp.Rational(high.numerator, high.denominator) + sp.Float(10, 200) ** -150
        assert high - low <= Fraction(200, 2**bits)


@pytest.mark.parametrize("bits", [4, 64, 300])
def test_bounds_of_pi_and_of_powers_of_e_hold_the_number_and_are_narrow(bits):
    powers = [0, Fraction(1, 10**6), Fraction(-1, 3), Fraction(1, 2), Fraction(-7, 10), 1, -1, 5, -40]
    for value in (sp.pi, *(sp.exp(sp.Rational(v)) for v in powers)):
        low, high = enclosure(value, bits)
        near, room = sp.N(value, 200), sp.Float(10, 200) ** -150
        assert sp.Rational(low.numerator, low.denominator) - room <= near
        assert near <= sp.Rational(high.numerator, high.denominator) + room
        assert high - low <= Fraction(200, 2**bits)


def test_rational_operations_keep_the_number_between_the_bounds():
    two, three = sp.sqrt(2), sp.log(3)
    for number in (
        two - three,
        two * three,
        (two - three) ** 3,
        (1 - two) ** 2,
        1 / (two - three),
        (three - 2) ** -3,
        sp.Abs(two - three, evaluate=False),
        sp.pi / 2 - sp.exp(-two),
        sp.Max(two, three, evaluate=False) - sp.Min(two, three, evaluate=False),
    ):
        low, high = enclosure(number, 80)
        assert float(low) == pytest.approx(float(number), rel=2**-50)
        assert low < sp.N(number, 60) < high
        assert high - low < Fraction(1, 2**60)


def test_signs_are_those_of_the_numbers():
    near = sp.sqrt(2) + sp.sqrt(3) - sp.sqrt(5 + 2 * sp.sqrt(6))  # zero, and no enclosure shows it
    assert sign(near + sp.Rational(1, 10**60)) == 1
    assert sign(near - sp.Rational(1, 10**60)) == -1
    assert sign(sp.Integer(0)) == 0
    with pytest.raises(NotEnclosedError, match="1024 bits"):
        sign(near)


@pytest.mark.parametrize("number", [sp.sin(1), sp.EulerGamma, sp.sqrt(sp.log(2) - 1), 2 ** sp.Rational(1, 3)])
def test_what_has_no_bounds_here_is_said(number):
    with pytest.raises(NotEnclosedError):
        enclosure(number, 64)


def test_a_divisor_that_may_be_zero_is_refused():
    zero = sp.sqrt(2) + sp.sqrt(3) - sp.sqrt(5 + 2 * sp.sqrt(6))
    with pytest.raises(NotEnclosedError, match="may be zero"):
        enclosure(1 / zero, 64)
