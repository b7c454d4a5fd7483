"""Bounds of quantised all-reduces against the ranks' groups, and the conditions about the order of sums."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from commbounds.theory import claims
from commbounds.theory.precision import ordering_terms as terms
from commbounds.theory.precision.quantised import QUANTISED, quantised_error


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_quantised_errors_are_those_of_flashcomm(bits):
    """Over the ranges, by the claims of the column flashcomm with all ranks' ranges one."""
    book, step = claims(), Fraction(1, 2**bits - 1)
    for P in (1, 2, 5):
        mixed = book["flashcomm.twostep.error_mixed"].bound(ranges=P, first_width=bits, second_width=8)
        assert quantised_error("twostep", bits, second_bits=8) * P == sp.Rational(mixed)
        assert quantised_error("oneshot", bits) * P == sp.Rational(
            book["flashcomm.oneshot.error"].bound(scales=P * step)
        )
        # the ring's is by where the block begins: all of the range at the first rank is the worst
        first = book["flashcomm.ring.error"].bound(ring_scales=P * step)
        assert quantised_error("ring", bits, P) == sp.Rational(first)


@pytest.mark.parametrize("schedule", QUANTISED)
def test_a_range_is_twice_the_largest_magnitude_at_most(schedule):
    assert quantised_error(schedule, 4, 6, of="magnitudes") == 2 * quantised_error(schedule, 4, 6)
    claim = claims()[f"precision.quantised.{schedule}"]
    stated = claim.bound(P=6, width=4, first_width=4, second_width=4)
    assert sp.Rational(stated) == quantised_error(schedule, 4, 6, of="magnitudes")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schedule": "tree", "bits": 4}, "schedule must be one of twostep"),
        ({"schedule": "ring", "bits": 4, "of": "entries"}, "of must be ranges or magnitudes"),
        ({"schedule": "ring", "bits": 4, "second_bits": 8}, "second_bits is the two-step's"),
        ({"schedule": "ring", "bits": 0}, "bits must be at least 1, got 0"),
        ({"schedule": "twostep", "bits": 4, "second_bits": 0}, "second_bits must be at least 1, got 0"),
        ({"schedule": "ring", "bits": 4, "ranks": 0}, "ranks must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_bounded_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        quantised_error(**options)


def test_ranges_are_left_by_one_smallest_number():
    """Every condition about room admits the stack at its limit, and not beyond it, nor what is no number."""
    largest = 2.0**127 * (2 - 2.0**-7)
    room = float((1 - Fraction(2 * 2, 256)) * Fraction(largest))
    full = {"P": 2, "wire": "bfloat16"}
    assert terms.SUM_HAS_ROOM.admits(x=np.array([[room], [0.0]]), **full)
    assert not terms.SUM_HAS_ROOM.admits(x=np.array([[room], [1e-3 * room]]), **full)
    assert not terms.SUM_HAS_ROOM.admits(x=np.array([[np.nan], [0.0]]), **full)
    assert terms.EXACT_SUM_FITS.admits(x=np.array([[largest], [largest], [-largest]]), wire="bfloat16")
    assert not terms.EXACT_SUM_FITS.admits(x=np.array([[largest], [largest]]), wire="bfloat16")
    s = 2.0**-24  # float16's smallest
    assert terms.WHOLE_SHARES.admits(x=np.array([[3 * s], [6 * s], [0.0]]), P=3, wire="float16")
    assert not terms.WHOLE_SHARES.admits(x=np.array([[3 * s], [4 * s], [0.0]]), P=3, wire="float16")
    assert terms.SUMS_BELOW_NORMAL.admits(x=np.array([[2.0**-14], [2.0**-14]]), wire="float16")
    assert not terms.SUMS_BELOW_NORMAL.admits(x=np.array([[2.0**-14], [2.0**-14 + s]]), wire="float16")
