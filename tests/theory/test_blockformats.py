"""The factors of block formats solve their optimisation problems, worked out from the twin's tables."""

import itertools
from fractions import Fraction

import pytest

from commbounds.theory import claims
from commbounds.verify.definitions.blockformats import ELEMENTS

_M, _S = "blockformats.microscaling.", "blockformats.stochastic."
LENGTHS = (1, 2, 3, 8, 9, 10, 12, 13, 16, 17, 18, 20, 29, 30, 32, 33, 34, 64, 100)


def worst(numbers, low, high, q):
    """Supremum of error^2 - q a^2 over a in [low, high], rounded to nearest.

    Between half-way points the error is |a - c| for an element c, and the function, for q < 1, convex: its supremum is
    at an end of such a stretch.
    """
    halves = [(a + b) / 2 for a, b in itertools.pairwise(numbers)]
    ends = [low, high, *(h for h in halves if low <= h <= high)]
    return max(min(abs(a - c) for c in numbers) ** 2 - q * a * a for a in ends)


def ranges(element, scale):
    """Where a block's largest entry lies, in units of the scale: the closure."""
    numbers, emax, stored = ELEMENTS[element]
    power, top = Fraction(2) ** emax, numbers[-1]
    carry = power * (2 - Fraction(1, 2 ** (stored + 1)))
    return {
        "floor": (power, 2 * power),
        "even": (carry / 2, carry),
        "rceil": (top / 2, top),
        "ceil": (power / 2, power),
    }[scale]


def values(element, n):
    numbers, emax, stored = ELEMENTS[element]
    power = Fraction(2) ** emax
    return {
        "n": n,
        "block": n,
        "peak": int(2 * power / numbers[1]),
        "element_unit": Fraction(1, 2 ** (stored + 1)),
        "overshoot": 2 - numbers[-1] / power,
    }


@pytest.mark.parametrize(
    ("name", "element", "scale"),
    [
        *(("contraction", element, "floor") for element in ELEMENTS),
        ("contraction_even", "e2m1", "even"),
        ("contraction_rceil", "e2m1", "rceil"),
        ("contraction_wide", "e2m1", "ceil"),
    ],
)
def test_contraction_factors_are_where_the_excess_vanishes(name, element, scale):
    numbers, (low, high) = ELEMENTS[element][0], ranges(element, scale)
    for n in LENGTHS:
        q = claims()[_M + name].bound(**values(element, n))
        excess = worst(numbers, low, high, q) + (n - 1) * worst(numbers, Fraction(0), high, q)
        assert excess == 0, (n, q)


def test_the_factor_of_nvfp4_is_where_the_excess_vanishes():
    numbers = ELEMENTS["e2m1"][0]
    # the largest entry over 6 scales is between 17/18 and 17/16: normal scales are rounded by no more
    low, high = Fraction(17, 3), Fraction(51, 8)
    for n in (1, 2, 5, 16, 19, 20):
        q = claims()["blockformats.nvfp4.contraction"].bound(n=n, block=n)
        excess = worst(numbers, low, high, q) + (n - 1) * worst(numbers, Fraction(0), high, q)
        assert (excess == 0) == (n <= 19)


def test_the_printed_numbers_are_those_of_blocks_of_32_and_16():
    book = claims()
    assert book[_M + "contraction"].bound(**values("e2m1", 32)) == Fraction(47, 431)
    assert book[_M + "contraction_even"].bound(n=32, block=32) == Fraction(35, 227)
    assert book[_M + "contraction_rceil"].bound(n=32, block=32) == Fraction(31, 175)
    assert book[_M + "contraction_wide"].bound(n=32, block=32) == Fraction(31, 95)
    assert book["blockformats.nvfp4.contraction"].bound(n=160, block=16) == Fraction(17, 458)
    assert abs(float(book[_S + "variance"].bound(n=32, block=32)) - (67**0.5 - 6) / 12) < 1e-15


def noisiest(numbers, low, high, q):
    """Supremum of the variance (a - c)(d - a) - q a^2 over a in [low, high], c and d the elements about a."""
    found = []
    for c, d in itertools.pairwise(numbers):
        a = min(max((c + d) / (2 * (1 + q)), max(c, low)), min(d, high))
        if max(c, low) <= min(d, high):
            found.append((a - c) * (d - a) - q * a * a)
    return max(found)


@pytest.mark.parametrize("name", ["variance", "variance_three_quarters"])
def test_variance_factors_are_where_the_excess_vanishes(name):
    numbers = [float(v) for v in ELEMENTS["e2m1"][0]]
    for n in LENGTHS:
        q = float(claims()[_S + name].bound(n=n, block=n))
        excess = noisiest(numbers, 3.0, 6.0, q) + (n - 1) * noisiest(numbers, 0.0, 6.0, q)
        # a dozen operations with numbers up to 36, and (n - 1) times as many up to 1/16
        assert abs(excess) <= (16 * 36 + n) * 2.0**-52, (n, q, excess)


def test_the_weights_of_four_over_six_leave_no_excess():
    """Every entry's weighted excess is at most q/15: at half-way points of either grid, between which it is convex."""
    numbers = ELEMENTS["e2m1"][0]
    six, four = Fraction(4119, 6823), Fraction(2704, 6823)

    def error(a, last):
        return min(abs(last * a - c) for c in numbers) / last

    q = Fraction(claims()["blockformats.fouroversix.contraction"].bound())
    halves = {(a + b) / 2 / last for a, b in itertools.pairwise(numbers) for last in (4, 6)}
    ends = {Fraction(0), Fraction(1), *(h for h in halves if h <= 1), *(c / 6 for c in numbers)}
    excess = {a: six * error(a, 6) ** 2 + four * error(a, 4) ** 2 - q * a * a for a in ends}
    assert max(excess.values()) == q / 15
    assert {a for a, e in excess.items() if e == q / 15} == {Fraction(5, 6), Fraction(1, 16)}


@pytest.mark.parametrize("P", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("noise", [Fraction(1, 24), Fraction(1), Fraction(3)])
def test_the_laws_of_hops_are_their_recursions(P, noise):
    book, total = claims(), Fraction(0)
    for k in range(1, P):
        total = (1 + noise) * total + noise * k * k
    total = (1 + noise) * total + noise * P * P
    assert book["blockformats.multihop.ring_law"].bound(P=P, hopnoise=noise) == total
    halved, h = Fraction(0), 1
    while 2 * h <= P:
        halved, h = (2 + noise) * halved + noise * h * h, 2 * h
    halved = (1 + noise) * halved + noise * h * h
    law = book["blockformats.multihop.butterfly_law"].bound(halvings=h.bit_length() - 1, hopnoise=noise)
    assert law == halved
