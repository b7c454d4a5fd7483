"""What the kit has from the book: every claim says which of the book's it is, and bounds are the book's."""

import inspect
from dataclasses import fields

import numpy as np
import pytest

from commbounds.theory import Standing, claims
from commbounds.verify import conformance as cf
from commbounds.verify.conformance.aims import square_error
from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.measures import Distortion

CLAIMS = [c for c in vars(cf).values() if inspect.isclass(c) and issubclass(c, SubjectClaim)]
BY_REFERENCE = {cf.Matches, cf.SameLaw}
"""Claims to be what a reference is: what it says is in its code and its exact law, not in a bound."""
NOT_IN_BOOK = {cf.Bounded, cf.Monotone, cf.Independent, cf.Propagates}
"""Claims of the kit alone: they follow from what the book says, or are about what it leaves out, and need no bound."""


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_every_claim_of_the_kit_names_the_books(claim):
    if claim in BY_REFERENCE:
        assert not claim.in_book
        assert "reference" in {field.name for field in fields(claim)}
        return
    assert bool(claim.in_book) == (claim not in NOT_IN_BOOK)
    for name in claim.in_book:
        assert claims()[name].stands is Standing.HOLDS
    kinds = {"compressor": ("sparsifiers", "quantizers", "flashcomm"), "stateful compressor": ("feedback",)}
    columns = {name.partition(".")[0] for name in claim.in_book}
    spoken = {
        column for about in claim.about for column in kinds.get(about, ("dense", "sparse", "moshpit", "flashcomm"))
    }
    assert columns <= spoken


def test_there_is_no_claim_of_the_kit_that_this_misses():
    assert len(CLAIMS) == 26


def test_bounds_are_the_books():
    bound = cf.book_bound("quantizers.qsgd.variance", s=4)
    assert bound.__name__ == "quantizers.qsgd.variance"
    for n in (1, 7, 300):
        assert bound(n) == float(claims()["quantizers.qsgd.variance"].bound(n=n, s=4))


def test_what_is_missing_of_a_bound_is_said():
    with pytest.raises(TypeError, match=r"bound of sparsifiers\.randk\.variance needs values for k"):
        cf.book_bound("sparsifiers.randk.variance")
    with pytest.raises(KeyError):
        cf.book_bound("sparsifiers.randk.no_such_claim")


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_relative_error_is_the_books_measure(scale):
    x, subject = np.array([3.0, -4.0, 0.0]) * scale, cf.Codec(lambda x, seed: x)
    assert square_error(subject, x, 0.5 * x)[0] == pytest.approx(Distortion().of(None, x, [0.5 * x])[0], rel=1e-15)
    assert np.isnan(square_error(subject, x, np.full(3, np.nan))[0])
