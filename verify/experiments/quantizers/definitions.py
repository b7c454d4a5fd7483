"""Quantisers beside their definitions: the spaces of their cases."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from commbounds.verify.data import vector_of
from commbounds.verify.definition import Given, givens
from commbounds.verify.definitions import quantizers
from commbounds.verify.experiments.quantizers.vectors import cases
from commbounds.verify.experiments.sparsifiers.definitions import defined, given, vectors
from commbounds.verify.vectors.compressors import keyed

DRAWN = ("seed", "uniforms", "least", "largest", "halves")
"""Uniforms from a seed, injected, all at an end of their range, and next to the middle."""


def uniforms_of(drawn: str, n: int, dtype: str, seed: int) -> dict[str, Any]:
    """What is drawn for a vector: multiples of 2^-24 or 2^-53."""
    unit = 2.0**-24 if dtype == "float32" else 2.0**-53
    made = {
        "uniforms": np.floor(np.random.default_rng(seed).random(n) / unit) * unit,
        "least": np.zeros(n),
        "largest": np.full(n, 1 - unit),
        "halves": 0.5 + unit * (np.arange(n) % 3 - 1),
    }
    return {"seed": seed} if drawn == "seed" else {"uniforms": made[drawn].astype(dtype)}


def _random(n: int, data: str, dtype: str, drawn: str, seed: int, **options: Any) -> Given:
    return Given({"x": vector_of(data, n, dtype, seed)}, options, uniforms_of(drawn, n, dtype, seed))


LAST = (Fraction(2) ** 128 - 2**100, Fraction(2) ** 128 - 2**104 + 2**80)
"""Powers that float32 rounds to infinity, and to its largest number."""
LEVELS = (1, 2, 3, 4, 127, 128, 200, 32_767)
BETWEEN = (5, 6, 7, 8, 15, 16, 63, 255)
"""Numbers of levels, and some between that are beside all other options alone."""
SPACES = {
    "Sign": vectors(given({}, "zero"), zero=("default", 1, 0)),
    "ScaledSign": vectors(given({}, "zero"), zero=("default", 1, 0)),
    "QSGD": vectors(_random, levels=LEVELS, drawn=DRAWN)
    .without("a norm beyond float32 or float64.", lambda data: data in ("huge", "over"))
    .hidden_by(levels=BETWEEN),
    "MaxDithering": vectors(_random, levels=LEVELS, drawn=DRAWN).hidden_by(levels=BETWEEN),
    "TernGrad": vectors(_random, drawn=DRAWN),
    "NaturalCompression": vectors(_random, drawn=DRAWN),
    "NaturalDithering": vectors(_random, levels=(1, 2, 3, 8, 127, 128, 1023), drawn=DRAWN)
    .without("a norm beyond float32 or float64.", lambda data: data in ("huge", "over"))
    .hidden_by(levels=(4, 5, 6, 7, 9, 16)),
    "StochasticPower": vectors(_random, base=(2, 3, Fraction(3, 2), 1.25, 10, 2.0**40, *LAST), drawn=DRAWN).hidden_by(
        base=(4, 5, 8, 2.5)
    ),
    "NearestPower": vectors(given({})),
}
BAD: dict[str, tuple[Mapping[str, Any], ...]] = {
    "QSGD": ({"levels": 0}, {"levels": 2**15}),
    "MaxDithering": ({"levels": 0}, {"levels": 2**15}),
    "NaturalDithering": ({"levels": 0}, {"levels": 1024}),
    "StochasticPower": ({"base": 1}, {"base": 1 + 2.0**-11}),
}
"""Hyper-parameters that are refused."""
_LONG = (("normal", 1025, "float32"), ("ties", 2050, "float32"), ("eighths", 1024, "float64"))
_REFUSED = (("ties", 4, "float16"), ("ties", 0, "float32"), ("NaN", 300, "float64"), ("over", 3, "float32"))


@cache
def _examples(name: str) -> list[Given]:
    held = cases(name)
    drawn = {"seed": 11} if any(case.randomness for case in held) else {}
    parameters = held[0].parameters
    found = [Given({"x": vector_of(*shape)}, parameters, drawn) for shape in (*_LONG, *_REFUSED)]
    found += [Given({"x": 3 * np.eye(5)[place]}, parameters, drawn) for place in (0, 4)]
    found += [Given({"x": np.ones(3)}, bad, drawn) for bad in BAD.get(name, ())]
    if drawn:
        beyond = [{"uniforms": np.array([0.0, 0.5, last])} for last in (1.0, -(2.0**-60), np.nan)]
        found += [Given({"x": np.ones(3)}, parameters, uniforms) for uniforms in beyond]
    if name in ("NearestPower", "StochasticPower"):
        for dtype, tiny in (("float32", -126), ("float64", -1022)):
            near = np.nextafter(np.full(3, 1.5, dtype), np.array([1, 1.5, 2], dtype))
            least = np.ldexp(np.array([1, 1.25, 1.5, 0.25, 0.5, 0.5 + 2.0**-20, 0.75, 1 - 2.0**-20], dtype), tiny)
            found += [
                Given({"x": x}, parameters, {"uniforms": np.full(x.size, 0.6, dtype)} if drawn else {})
                for x in (near, least)
            ]
    if name == "ScaledSign":  # sums of equal entries that are rounded up, and so are their means
        found += [Given({"x": np.full(n, value)}) for n in (3, 6, 9, 37) for value in (0.1, -0.3)]
    if name == "MaxDithering":
        found += [Given({"x": _at_uniforms(dtype)}, {"levels": 1}, {"seed": 11}) for dtype in ("float32", "float64")]
        # as far below a level as the uniform number is below one; above a level, but below where float64 divides
        found += [Given({"x": np.array([1.0, 0.5 - 2.0**-54])}, {"levels": 2}, {"uniforms": np.full(2, 1 - 2.0**-53)})]
        above = np.array([1.281836698799297, 0.99698409906612])
        found += [Given({"x": above}, {"levels": 9}, {"uniforms": np.zeros(2)})]
        far = np.array([2.0**1000, 2.0**-75])  # half the smallest number, beside a power of two next to the norm
        found += [Given({"x": far}, {"levels": 9}, {"uniforms": np.zeros(2)})]
    if name == "StochasticPower":  # 5^23 has one binary digit more than float64
        found += [Given({"x": np.array([1.25**23])}, {"base": 1.25}, {"uniforms": np.array([u])}) for u in (0.0, 0.5)]
        close = np.array([1, 1 + 2.0**-11, -1 - 2.0**-10, -1 + 2.0**-12, 2], np.float32)  # the smallest base
        found += [
            Given({"x": close}, {"base": 1 + 2.0**-10}, {"uniforms": np.full(5, u, np.float32)}) for u in (0.25, 0.75)
        ]
        ends, full = np.array([-1, 1], np.float32) * np.finfo(np.float32).max, Fraction(502753, 500059)
        found += [Given({"x": ends}, {"base": full}, {"uniforms": np.zeros(2, np.float32)})]  # of 2^15 levels the last
    return [*givens(held), *found]


def _at_uniforms(dtype: str) -> Any:
    """Entries that are the uniforms themselves, relative to the largest: one bit more of either decides."""
    x = keyed(np.zeros(64, dtype), 11)["uniforms"]
    x[0] = 1.0
    return x


DEFINITIONS = defined(SPACES, quantizers, _examples)
