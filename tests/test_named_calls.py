"""Calls that ended in other exceptions, in infinities or not at all: each is a clear refusal or the right number."""

import math
import sys
import time
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from commbounds.collectives.arctopk.law import kept_of_planar_rows
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dropcompute.weighted_latencies import Histogram
from commbounds.collectives.moshpit import distortion, group_average
from commbounds.compressors import QSGD
from commbounds.compressors.blockformats.mseden import MSEden
from commbounds.compressors.rotations.hadamard import padded_size
from commbounds.compressors.rotations.ldlq import ldl
from commbounds.theory.precision.bounds import any_tree
from commbounds.theory.precision.tolerance import rounded_up
from commbounds.verify.conformance import book_bound

REFUSED = {
    "a fraction of 5000 digits": (
        lambda: QSGD(4).law([1, 10**5000]),
        ValueError,
        "x must hold fractions of at most 4096 bits",
    ),
    "a time beyond 64 bits": (
        lambda: Histogram(0.0, 1.0, [1, 2]).cdf(2**64),
        TypeError,
        "x must be an array of numbers",
    ),
    "half an entry": (lambda: padded_size(1.5), TypeError, "n must be an integer, got 1.5"),
    "cuts of nothing": (lambda: even_cuts(math.nan, 2), TypeError, "n must be an integer, got nan"),
    "cuts into nothing": (lambda: even_cuts(4, 0), ValueError, "blocks must be in"),
    "a claim that is none": (lambda: book_bound("B"), KeyError, "the book has no claim 'B'"),
    "a hessian that is not square": (
        lambda: ldl(np.zeros((6, 0))),
        ValueError,
        r"hessian must be square, got shape \(6, 0\)",
    ),
}

ROUNDINGS = 8 * 2.0**-53  # of two or three numbers: squares, sums, a quotient


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_clearly(name):
    call, kind, said = REFUSED[name]
    with pytest.raises(kind, match=said):
        call()


def test_a_mean_that_fits_is_found_where_the_sum_does_not():
    large = 1.7e308
    result, _ = group_average([[large, -large, 1.0], [large, -large, 3.0], [large, large, 5.0]], [0, 0, 0])
    assert result[0].tolist() == pytest.approx([large, -large / 3, 3.0], rel=ROUNDINGS)
    assert (result == result[0]).all()


def test_a_distortion_beyond_all_floats_is_infinite_without_a_warning():
    assert distortion([[1e160], [-1e160]]) == math.inf
    assert distortion([[1e160], [-1e160]], about=[0.0]) == math.inf
    assert distortion([[1e150], [-1e150]]) == pytest.approx(1e300, rel=ROUNDINGS)


@pytest.mark.parametrize("exponent", [-900, -450, 450, 511])
@pytest.mark.parametrize("rank", [1, 3])
def test_rows_of_another_unit_are_kept_alike(exponent, rank):
    rows = np.array([[1.0, 2.0], [3.0, 1.0], [0.5, -2.0]]) / 4
    kept, error = kept_of_planar_rows(rows, 2, rank)
    scaled, off = kept_of_planar_rows(np.ldexp(rows, exponent), 2, rank)
    assert scaled == np.ldexp(kept, 2 * exponent) or abs(scaled - np.ldexp(kept, 2 * exponent)) <= off
    assert off < math.inf
    assert error >= 0.0


def test_a_power_of_too_many_digits_stays_unwritten():
    begun = time.process_time()
    made = any_tree(2**63, sp.Rational(1, 2**24))
    assert isinstance(made, sp.Function)
    assert any_tree(3, sp.Rational(1, 4)) == Fraction(91, 125)
    assert time.process_time() - begun < 5.0


def test_a_law_of_few_entries_takes_few_patterns():
    begun = time.process_time()
    law = MSEden(16).law([1, Fraction(1, 2), -3])
    assert sum(probability for probability, _ in law) == 1
    assert len(law) <= 8
    assert time.process_time() - begun < 5.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [(10**5000, math.inf), (-(10**5000), -sys.float_info.max), (Fraction(1, 10**5000), 5e-324), (Fraction(1, 2), 0.5)],
    ids=range(4),
)
def test_numbers_beyond_all_floats_are_rounded_up(value, expected):
    assert rounded_up(value) == expected
