"""Models of the column quantizers against its kernels and their exact laws."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from goal_values import check_goals
from switching import exact_fraction, marginals

from commbounds.compressors import (
    QSGD,
    MaxDithering,
    NaturalCompression,
    NaturalDithering,
    NearestPower,
    ScaledSign,
    Sign,
    StochasticPower,
    TernGrad,
)

# Norms are rational, so that laws are; n both above and below 4 s^2.
VECTORS = [(1,), (1,) * 9, (3, -4), (1, 2, -2), (0, 2, 3, 6), (1, 1, -1, 1), (1, 1, 1, 1, 0, 4, 4, 0), (1, 1, 3, 5)]
POWERS = [Fraction(v) for v in ("1", "5/4", "4/3", "3/2", "7/4", "2", "3", "-5", "100", "1/3", "-1/7")]


def root(square):
    return exact_fraction(sp.sqrt(square))


@pytest.mark.models(
    "quantizers.scaledsign.contraction",
    "quantizers.scaledsign.error",
    "quantizers.scaledsign.one_sparse",
    "quantizers.sign.error",
)
@pytest.mark.parametrize("x", VECTORS)
@pytest.mark.parametrize("zero", [0, 1])
def test_sign_conditions(x, zero):
    n, norm1, square = len(x), sum(map(abs, x)), sum(v * v for v in x)
    floats = np.array(x, np.float64)
    if zero:
        off = Sign(1)(floats) - floats
        assert int(off @ off) == square - 2 * norm1 + n
    ((_, output),) = ScaledSign(zero).law(x)
    error = sum((v - o) ** 2 for v, o in zip(x, output, strict=True))
    zeros = x.count(0) * (1 - zero)
    scale = Fraction(norm1, n)
    assert error == square - 2 * scale * norm1 + scale**2 * (n - zeros)
    values = {"n": n, "norm1": norm1, "norm2": sp.sqrt(square), "zeros": zeros}
    values["products"] = norm1**2 - square
    (slack,) = check_goals("quantizers.scaledsign.contraction", ["error"], values)
    assert slack == sp.Rational(square * (n - 1), n) - sp.Rational(error.numerator, error.denominator)


def entries(compressor, x):
    """For every entry what it may become, in magnitude, with probabilities; from the exact law."""
    return marginals(compressor.law(x), len(x))


def check_entry(claim, case, pairs, value, more):
    """That the model's level, fraction and variance are those of a law's marginal, in steps, and the goal there."""
    level, f = divmod(value, 1)
    assert [(p, v) for p, v in pairs if p] == [(p, v) for p, v in ((1 - f, level), (f, level + 1)) if p]
    where = "level 0" if level == 0 else "level >= 1"
    check_goals(claim, [f"{case}{where}"], {**more, "f": f, "level": level - (level > 0)})


@pytest.mark.models(
    "quantizers.qsgd.elias",
    "quantizers.qsgd.second_moment",
    "quantizers.qsgd.support",
    "quantizers.qsgd.support_printed",
    "quantizers.qsgd.unbiased",
    "quantizers.qsgd.variance",
    "quantizers.qsgd.variance_printed",
)
@pytest.mark.parametrize("x", [x for x in VECTORS if sp.sqrt(sum(v * v for v in x)).is_Rational])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_level_conditions(x, levels):
    n, norm = len(x), root(sum(v * v for v in x))
    more = {"w": sp.sqrt(n), "s": levels}
    case = "n >= 4 s^2" if n >= 4 * levels**2 else "n < 4 s^2"
    for v, pairs in zip(x, entries(QSGD(levels), x), strict=True):
        a, steps = levels * abs(v) / norm, [(p, o * levels / norm) for p, o in pairs]
        check_entry("quantizers.qsgd.variance", f"{case}, ", steps, a, more)
        for branch in ("n/s**2", "sqrt(n)/s"):
            check_entry("quantizers.qsgd.variance_printed", f"{branch}, ", steps, a, more)
        values = {**more, "value": a, "up": sum(p for p, o in pairs if o)}
        check_goals("quantizers.qsgd.support", ["n", "sqrt(n)*s"], values)
        check_goals("quantizers.qsgd.support_printed", ["s*(sqrt(n) + s)"], values)
        bits = sum(p * (2 * (int(o) + 1).bit_length()) for p, o in steps)  # a sign, and a gamma code of level + 1
        mean = 1 + levels / math.sqrt(n)
        tangent = 2 + 2 * math.log2(mean) + 2 * (1 + float(a) - mean) / (mean * math.log(2))
        assert bits <= tangent * (1 + 1e-12)


@pytest.mark.models(
    "quantizers.maxdithering.unbiased",
    "quantizers.maxdithering.variance",
    "quantizers.terngrad.error",
    "quantizers.terngrad.unbiased",
    "quantizers.terngrad.variance",
)
@pytest.mark.parametrize("x", VECTORS[1:])
@pytest.mark.parametrize(
    ("compressor", "claim", "levels"),
    [(MaxDithering(s), "maxdithering", s) for s in (1, 2, 3)] + [(TernGrad(), "terngrad", 1)],
    ids=str,
)
def test_levels_relative_to_the_largest(x, compressor, claim, levels):
    n, top = len(x), max(map(abs, x))
    more = {"ratio": sp.sqrt(1 + sp.Rational(n - 1, levels**2)), "s": levels}
    for v, pairs in zip(x, entries(compressor, x), strict=True):
        steps = [(p, o * levels / top) for p, o in pairs if p]
        if abs(v) < top:
            check_entry(f"quantizers.{claim}.variance", "", steps, Fraction(levels * abs(v), top), more)
        else:
            assert steps == [(1, levels)]


@pytest.mark.models(
    "quantizers.naturalcompression.unbiased",
    "quantizers.naturalcompression.variance",
    "quantizers.nearestpower.contraction",
    "quantizers.stochasticpower.unbiased",
    "quantizers.stochasticpower.variance",
)
@pytest.mark.parametrize("value", POWERS)
@pytest.mark.parametrize("base", [Fraction(2), Fraction(3), Fraction(5, 4)])
def test_power_conditions(value, base):
    compressors = [StochasticPower(base)] + ([NaturalCompression(), NearestPower()] if base == 2 else [])
    for compressor in compressors:
        (pairs,) = entries(compressor, [value])
        low = min(v for _, v in pairs)
        low = low if abs(value) >= low else low / base
        t = abs(value) / low
        assert 1 <= t <= base
        mean = sum(p * v for p, v in pairs)
        variance = sum(p * (v - abs(value)) ** 2 for p, v in pairs) / low**2
        if isinstance(compressor, NearestPower):
            where = "down" if t <= Fraction(3, 2) else "up"
            assert variance == ((t - 1) if where == "down" else (2 - t)) ** 2
            check_goals("quantizers.nearestpower.contraction", [where], {"t": t})
        else:
            assert (mean, variance) == (abs(value), (t - 1) * (base - t))
            name = "naturalcompression" if isinstance(compressor, NaturalCompression) else "stochasticpower"
            check_goals(f"quantizers.{name}.variance", ["entry"], {"t": t, "b": base})


@pytest.mark.models(
    "quantizers.naturaldithering.unbiased",
    "quantizers.naturaldithering.variance",
    "quantizers.naturaldithering.variance_printed",
)
@pytest.mark.parametrize("x", [x for x in VECTORS if sp.sqrt(sum(v * v for v in x)).is_Rational])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_dithering_conditions(x, levels):
    n, norm, least = len(x), root(sum(v * v for v in x)), Fraction(2) ** (1 - levels)
    case = "64 n >= 81 4^s" if 64 * n >= 81 * 4**levels else "64 n < 81 4^s"
    for v, pairs in zip(x, entries(NaturalDithering(levels), x), strict=True):
        y, steps = abs(v) / norm, [(p, o / norm) for p, o in pairs]
        variance = sum(p * (o - y) ** 2 for p, o in steps)
        values = {"w": sp.sqrt(n), "U": 2**levels, "y": y}
        if y < least:
            assert variance == y * (least - y)
            where = "below"
        else:
            low = min(o for _, o in steps)
            values |= {"v": low, "t": y / low}
            assert variance == low**2 * (y / low - 1) * (2 - y / low)
            where = "above"
        check_goals("quantizers.naturaldithering.variance", [f"{case}, {where}"], values)
        printed = [f"branch {i}, {where}" for i in (1, 2)]
        check_goals("quantizers.naturaldithering.variance_printed", printed, values)
