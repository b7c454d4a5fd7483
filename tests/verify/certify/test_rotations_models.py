"""What the models of rotations take as given, and what they say is measured, against exact laws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from goal_values import bound_of, failing, goals

from commbounds.compressors.rotations import DRIVE, RotatedDithering, dithered_hadamard, from_kashin, kashin, ldlq
from commbounds.verify.experiments.rotations.further import frame_constant


def rotated(x):
    """The rotated vectors of all signs, by the definition of Sylvester's matrix."""
    d = 1 << (len(x) - 1).bit_length()
    for signs in itertools.product((1, -1), repeat=len(x)):
        yield [sum((-1) ** (i & j).bit_count() * s * v for j, (s, v) in enumerate(zip(signs, x, strict=True)))
               for i in range(d)]  # fmt: skip


@pytest.mark.models(
    "rotations.drive.two_sparse_bias", "rotations.drive.two_sparse_error", "rotations.drive.two_sparse_error_biased"
)
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


@pytest.mark.models(
    "rotations.drive.contraction",
    "rotations.drive.one_sparse",
    "rotations.drive.projection",
    "rotations.drive.worst_draw",
    "rotations.drive.worst_draw_biased",
    "rotations.eden.contraction",
    "rotations.eden.one_sparse",
    "rotations.eden.projection",
)
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


@pytest.mark.models("rotations.rotateddithering.unbiased", "rotations.rotateddithering.variance")
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


@pytest.mark.models(
    "rotations.dithered_hadamard.entry",
    "rotations.dithered_hadamard.one_offset_bound",
    "rotations.dithered_hadamard.unbiased",
    "rotations.dithered_hadamard.variance",
)
@pytest.mark.parametrize("entry", [Fraction(0), Fraction(3, 8), Fraction(-5, 16), Fraction(9, 4)])
def test_errors_of_a_dithered_number(entry):
    """One entry is its own rotation: what it is off by, for offsets about the place where the code changes."""
    place = entry - math.floor(entry)
    for offset in (Fraction(k, 16) for k in range(-8, 8)):
        _, read = dithered_hadamard(np.array([float(entry)]), [1], float(offset), 1.0)
        below = offset < Fraction(1, 2) - place
        assert Fraction(float(read[0])) - entry == (0 if below else 1) - offset - place


@pytest.mark.models("rotations.kashin.finite", "rotations.kashin.residual")
@pytest.mark.parametrize("x", [(1.0, 1.0, 1.0), (3.0, -1.0, 0.5), (0.0, 0.0, 2.0)])
def test_rounds_of_kashin(x):
    """What is left after every round, in a frame of 16 with an uncertainty principle of six: root 5/2, above that."""
    rate, root, x = Fraction(19, 20), Fraction(5, 2), np.array(x)
    assert frame_constant(3, 16, 6) < rate
    left, shown = Fraction(1), goals("rotations.kashin.finite")
    for t in range(4):
        share = float(root**2 / 16)
        found = from_kashin(kashin(x, [1, 1, 1], t + 1, float(rate), share, length=16, exact=False), [1, 1, 1])
        after = Fraction(float(np.linalg.norm(x - found) / np.linalg.norm(x)))
        if rate * left > rate**t / root:  # something may be clipped
            given = {"before": left, "after": max(after - 64 * Fraction(2) ** -52, 0), "clip_rate": rate}
            assert failing(shown["one more"], **given, clip_rounds=t, root=root) == []
        else:
            assert after <= 64 * 2.0**-52
        if t == 0 and set(x) == {1.0}:
            assert after > Fraction(1, 20)
        left = after


@pytest.mark.models("rotations.ldlq.nearest_pair", "rotations.ldlq.worst")
def test_feedback_of_two_weights():
    """The last error is that of rounding to nearest, the first the least of all whole numbers."""
    L, pivots = np.array([[1.0, 0.0], [0.75, 1.0]]), (16, 1)
    for w in ((0.25, 0.375), (0.5, -0.125), (0.0, 0.4375)):
        q = ldlq(np.array(w), L @ np.diag(pivots) @ L.T)
        fed, last = L.T @ (q - np.array(w))
        nearest = L.T @ (np.floor(np.array(w) + 0.5) - np.array(w))
        assert last == nearest[1]
        given = {"fed": float(fed), "rounded": float(nearest[0]), "last": float(last), "pivot": 16, "other": 1}
        assert failing(goals("rotations.ldlq.nearest_pair")["the first weight"], **given) == []
        worst = goals("rotations.ldlq.worst")["one more pivot"]
        assert failing(worst, before=1, loss=float(last**2), pivot=16, rounded=float(fed)) == []
