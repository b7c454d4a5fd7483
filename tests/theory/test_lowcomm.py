"""Formulas of the column lowcomm against numbers that were computed otherwise."""

from fractions import Fraction
from math import comb, log2

import pytest
import sympy as sp

from commbounds.theory import Standing, claims


def bound(name, **values):
    return claims()[f"lowcomm.{name}"].bound(**values)


def test_the_defaults_of_diloco():
    default = {"outerlr": Fraction(7, 10), "outermu": Fraction(9, 10)}
    assert bound("diloco.progress", **default) == Fraction(133, 100)
    assert bound("diloco.first_round", **default) == Fraction(33, 100) ** 2
    assert float(bound("diloco.effective_step", **default, outerrounds=1000)) == pytest.approx(7.0, rel=1e-12)
    stable = {c: bound("diloco.stable", **default, innershare=Fraction(c, 100)) for c in (100, 193, 194, 195)}
    assert stable == {100: 1, 193: 1, 194: 0, 195: 0}
    assert Fraction(38, 28) / Fraction(7, 10) == Fraction(95, 49)


def test_a_local_solution_each_round():
    """With c = 1 and the defaults the eigenvalues are complex, of modulus sqrt(0.9 * 0.3)."""
    found = bound("diloco.radius", outerlr=Fraction(7, 10), outermu=Fraction(9, 10), innershare=1)
    assert float(found) == pytest.approx(0.27**0.5, rel=1e-15)


@pytest.mark.parametrize(("P", "left"), [(2, 0), (4, Fraction(1, 3)), (6, Fraction(2, 5)), (100, Fraction(49, 99))])
def test_what_pairs_leave(P, left):
    assert bound("noloco.even", P=P) == left
    assert bound("noloco.pull", P=P, pairpull=1) == left


def test_indices_of_64_of_4096():
    bits = bound("sparseloco.set_bits", n=4096, chunk=4096, k=64, valuebits=2)
    assert bits == 600 == len(bin(comb(4096, 64) - 1)) - 2 + 128
    assert bound("sparseloco.bits", n=4096, chunk=4096, k=64, valuebits=2) == 64 * 14
    assert log2(comb(4096, 64)) / 64 == pytest.approx(7.37, abs=0.01)


def test_deepspeeds_weight_owes_two_and_a_half_steps():
    assert float(bound("loco.late", fresh=Fraction(1, 5), outerrounds=1000)) == pytest.approx(2.5, rel=1e-12)


def test_refuted_statements_measure_what_their_corrections_do():
    for name, claim in claims().items():
        if name.startswith("lowcomm.") and claim.stands is Standing.HOLDS_AS_CORRECTED:
            assert claim.corrected_by.startswith("lowcomm.")


def test_shares_that_are_stable_alone_diverge_by_turns():
    """DiLoCo's defaults, 0.7 and 0.9: six rounds that take 1/50 of the way and one that takes all of it."""
    eta, mu = Fraction(7, 10), Fraction(9, 10)

    def a_round(c):
        return sp.Matrix([[1 - eta * c * (1 + mu), -eta * mu**2], [c, mu]])

    def radius(matrix):
        return max(abs(complex(v)) for v in matrix.eigenvals())

    slow, fast = a_round(Fraction(1, 50)), a_round(Fraction(1))
    limit = 2 * (1 + mu) / (1 + 2 * mu)
    assert eta * Fraction(1) < limit
    assert max(map(radius, (slow, fast))) < 1
    assert radius(fast * slow**6) ** (1 / 7) == pytest.approx(1.12, abs=5e-3)
