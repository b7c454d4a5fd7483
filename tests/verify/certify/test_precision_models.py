"""What the models of sums in narrow formats take as given, against the arithmetic that all-reduces run on."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from commbounds.collectives.precision.rounding import added_in, rounded_to
from commbounds.theory.precision import terms
from commbounds.theory.precision.formats import FORMATS, Format

NARROW = [name for name in FORMATS if name not in ("float64", "float32")]


def numbers(known: Format, count: int) -> list[Fraction]:
    """Numbers of a format: the smallest, the normal ones' ends, neighbours of powers of two, and random ones."""
    rng = np.random.default_rng(known.digits)
    lowest, highest = float(np.log2(float(known.smallest))), float(np.log2(float(known.largest))) - 2
    drawn = rng.choice([-1.0, 1.0], count) * np.exp2(rng.uniform(lowest, highest, count))
    near = [Fraction(2) ** e for e in range(-3, 4)]
    edges = [Fraction(0), known.smallest, known.normal, known.normal - known.smallest, known.largest / 4]
    edges += [power + step * known.gap(power) for power in near for step in (-1, 0, 1)]
    return [known.rounded(Fraction(value)) for value in [*edges, *map(Fraction, drawn.tolist())]]


def sums(known: Format, uniform: float | None = None) -> list[tuple[Fraction, Fraction, float]]:
    """Pairs of numbers of a format, and their sum in the format, where that is finite."""
    pairs = list(itertools.product(numbers(known, 40), repeat=2))
    left, right = (np.array([float(pair[side]) for pair in pairs]) for side in (0, 1))
    found = added_in(left, right, known, None if uniform is None else np.full(len(pairs), uniform))
    return [(a, b, s) for (a, b), s in zip(pairs, found.tolist(), strict=True) if np.isfinite(s)]


def off(known: Format, uniform: float | None = None) -> list[tuple[Fraction, Fraction, Fraction]]:
    """The same pairs, and what their sum in the format is off by."""
    return [(a, b, abs(Fraction(s) - (a + b))) for a, b, s in sums(known, uniform)]


@pytest.mark.models(
    "precision.any.sure",
    "precision.average.error",
    "precision.hierarchical.sure",
    "precision.once.sure",
    "precision.running.sure",
    "precision.tree.sure",
)
@pytest.mark.parametrize("name", NARROW)
def test_an_addition_is_off_by_no_more(name):
    known = FORMATS[name]
    loss = known.unit / (1 + known.unit)
    found = off(known)
    assert all(error <= min(loss * abs(a + b), abs(a), abs(b)) for a, b, error in found)
    assert any(error == loss * abs(a + b) > 0 for a, b, error in found)  # 1 + u
    assert any(error == abs(b) > 0 for _, b, error in found)  # a term that is lost


@pytest.mark.models("precision.stochastic.running_sure")
@pytest.mark.parametrize("name", NARROW)
def test_an_addition_to_either_neighbour(name):
    known = FORMATS[name]
    for uniform in (0.0, 1.0 - 2.0**-53):
        found = off(known, uniform)
        assert all(error <= 2 * known.unit * abs(a + b) for a, b, error in found)
        # rounded up next to a power of two, nearly a gap
        assert max(error / abs(a + b) for a, b, error in found if a + b) > known.unit


@pytest.mark.models("precision.stochastic.few_bits")
@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("bits", [1, 3, 8])
def test_an_addition_by_few_bits(name, bits):
    """Its mean is above the exact sum, by less than a word's share of the gap, and nearly so next to a number."""
    known, words = FORMATS[name], 2**bits
    ways = zip(*(sums(known, word / words) for word in range(words)), strict=True)
    shares = []
    for way in ways:
        (a, b, _), total = way[0], sum((Fraction(s) for *_, s in way), Fraction(0))
        excess = total / words - (a + b)
        assert 0 <= excess <= 2 * known.unit * abs(a + b) / words
        shares += [excess * words / (2 * known.unit * abs(a + b))] if a + b else []
    assert max(shares) > Fraction(1, 2)


def test_sums_that_are_rounded_up_overflow_where_a_quarter_is_left():
    kind = "float8_e5m2"
    known = FORMATS[kind]
    x = np.array([[12288.0], *[[float(known.smallest)]] * 10])
    totals = [x[0]]
    for term in x[1:]:
        totals.append(added_in(totals[-1], term, known, np.zeros(1)))
    assert np.isfinite(totals[-2]).all()
    assert np.isinf(totals[-1]).all()
    assert terms._quarter(x, kind)
    assert not terms._grown(x, kind)
    assert terms._grown(x[:-4], kind)


@pytest.mark.models("precision.average.underflow_before", "precision.underflow.wider_input")
@pytest.mark.parametrize("name", NARROW)
def test_a_cast_is_off_by_no_more(name):
    known = FORMATS[name]
    loss, half = known.unit / (1 + known.unit), known.smallest / 2
    values = [float(a + b / 3) for a, b in itertools.pairwise(numbers(known, 400))]
    values += [float(known.normal) * i / 37 for i in range(1, 37)]  # below the normal range
    casts = [abs(Fraction(v) - Fraction(r)) for v, r in zip(values, rounded_to(values, known).tolist(), strict=True)]
    assert all(off <= max(loss * abs(Fraction(v)), half) for v, off in zip(values, casts, strict=True))
    small = [off for v, off in zip(values, casts, strict=True) if abs(Fraction(v)) < known.normal]
    assert 0 < max(small) <= half
