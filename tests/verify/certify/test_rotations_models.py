"""What the models of rotations take as given, and what they say is measured, against exact laws."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from goal_values import bound_of, failing, goals

from commbounds.compressors.rotations import DRIVE, RotatedDithering


def rotated(x):
    """The rotated vectors of all signs, by the definition of Sylvester's matrix."""
    d = 1 << (len(x) - 1).bit_length()
    for signs in itertools.product((1, -1), repeat=len(x)):
        yield [sum((-1) ** (i & j).bit_count() * s * v for j, (s, v) in enumerate(zip(signs, x, strict=True)))
               for i in range(d)]  # fmt: skip


@pytest.mark.parametrize("x", [(3, 1), (0, 5, -2), (1, 0, 0, 4)])
def test_two_entries(x):
    """The sum of the rotated magnitudes, and the only estimate of either scale."""
    b, a = sorted(abs(v) for v in x if v)
    d = 1 << (len(x) - 1).bit_length()
    assert {sum(map(abs, y)) for y in rotated(x)} == {d * a}
    for scale, estimate, claim in (
        ("unbiased", Fraction(a * a + b * b, a), "two_sparse_error"),
        ("biased", Fraction(a), "two_sparse_error_biased"),
    ):
        for _, y in DRIVE(scale).law(tuple(map(Fraction, x))):
            assert [abs(v) for v in y] == [estimate if abs(v) == a else 0 for v in x]
        assert failing(goals(f"rotations.drive.{claim}")["error"], a=a, b=b, length=d) == []
    for goal in ("the smaller entry", "the larger entry"):
        assert failing(goals("rotations.drive.two_sparse_bias")[goal], a=a, b=b, length=d) == []


@pytest.mark.parametrize("x", [(1, 1, 1, 1), (2, -1, 1), (0, 0, 5, 0), (4, -3, 2, 1)])
def test_fitted_scales(x):
    """Errors of either scale by the sum of the rotated magnitudes; the mean square of that is Szarek's."""
    d, q, totals = 1 << (len(x) - 1).bit_length(), sum(v * v for v in x), [sum(map(abs, y)) for y in rotated(x)]
    exact = tuple(map(Fraction, x))
    for scale in ("unbiased", "biased"):
        for _, y in DRIVE(scale).law(exact):
            error, inner = (sum((a - b) ** 2 for a, b in zip(y, x, strict=True)),
                            sum(a * b for a, b in zip(y, x, strict=True)))  # fmt: skip
            square = sum(v * v for v in y)
            if scale == "unbiased":
                assert inner == q
                total = next(t for t in set(totals) if square <= d**2 * Fraction(q, t) ** 2)
                padding = d**2 * Fraction(q, total) ** 2 - q - error
                assert failing(goals("rotations.drive.worst_draw")["error"],
                               length=d, q=q, total=total, padding=padding, n=len(x)) == []  # fmt: skip
            else:
                total = next(t for t in set(totals) if Fraction(t * t, d * d) == inner)
                padding = q - Fraction(total**2, d**2) - error
                assert failing(goals("rotations.drive.worst_draw_biased")["error"],
                               length=d, q=q, total=total, padding=padding, n=len(x)) == []  # fmt: skip
    mean_square = Fraction(sum(t * t for t in totals), len(totals))
    given = {"length": d, "q": q, "mean_square": mean_square, "padding": 0}
    assert failing(goals("rotations.drive.contraction")["mean error"], **given) == []
    assert failing(goals("rotations.eden.contraction")["mean error"], **given, centroid_ratio=1) == []


@pytest.mark.parametrize("x", [(0, 1, 0, 1), (2, 1, 1), (3, 1)])
@pytest.mark.parametrize("s", [1, 2])
def test_levels(x, s):
    """The least and the largest rotated entry, and the error of levels between them."""
    d, q, mean = 1 << (len(x) - 1).bit_length(), sum(v * v for v in x), Fraction(0)
    patterns = list(rotated(x))
    for y in patterns:
        low, high = min(y), max(y)
        goal = goals("rotations.rotateddithering.variance")["two and more"]
        assert failing(goal, length=d, q=q, low=low, high=high, width=high - low, s=s, n=len(x)) == []
        for v in y:
            share = Fraction(s * (v - low), (high - low) or 1) % 1
            mean += share * (1 - share) * Fraction(high - low, s) ** 2 / d / len(patterns)
    law = RotatedDithering(s).law(tuple(map(Fraction, x)))
    error = sum(p * sum((a - b) ** 2 for a, b in zip(y, x, strict=True)) for p, y in law)
    assert error <= mean <= bound_of("rotations.rotateddithering.variance", n=len(x), s=s) * q
    assert len(x) < d or error == mean
