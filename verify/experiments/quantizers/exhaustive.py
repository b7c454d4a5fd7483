"""Runs of the quantisers' kernels on every float32."""

from fractions import Fraction
from functools import cache

import numpy as np
from numba import njit

from commbounds.array_types import Integers
from commbounds.compressors import NaturalCompression, NearestPower, Sign, StochasticPower
from commbounds.compressors.quantizers import message, powers, signs, stochastic_power
from commbounds.verify.certify.run import Patterns, Run

_INFINITE = np.uint32(0x7F800000)


def _finite(patterns: Patterns) -> Patterns:
    finite: Patterns = patterns[(patterns & _INFINITE) != _INFINITE]
    return finite


@njit(cache=True, nogil=True)
def _not_neighbouring_power(patterns, counts, got):  # type: ignore[no-untyped-def]
    # x = +-2^(e - 127) (1 + m/2^23), a subnormal one (e = 0) m/2^23 of the way from 0 to 2^-126; the uniform is
    # counts/2^24: up to the next power iff it is below m/2^23; no power is above 2^127 (e = 254); no zero is negative
    wrong = 0
    for i in range(patterns.size):
        word = np.int64(patterns[i])
        exponent, mantissa = (word >> 23) & 255, word & 0x7FFFFF
        if np.int64(counts[i]) < 2 * mantissa and exponent < 254:
            exponent += 1
        expected = exponent << 23
        if exponent > 0:
            expected |= word & 0x80000000
        wrong += np.int64(got[i]) != expected
    return wrong


def _natural_compression(patterns: Patterns) -> int:
    x = _finite(patterns)
    if not x.size:
        return 0
    at = 2 * (x & np.uint32(0x7FFFFF))  # the uniform at which it begins to stay down, in units of 2^-24
    compressor, floats = NaturalCompression(), x.view(np.float32)

    def wrong(counts: Patterns) -> int:
        uniforms = counts.astype(np.float32) * np.float32(2**-24)
        out = compressor.decompress(compressor.compress_with(floats, uniforms))
        return int(_not_neighbouring_power(x, counts, out.view(np.uint32)))

    return wrong(np.maximum(at, np.uint32(1)) - np.uint32(1)) + wrong(at)


@cache
def _powers_of_three() -> Integers:
    """The bits of the powers of three that are normal float32 numbers, each rounded to 24 bits, halves to even."""
    bits = []
    for exponent in range(-79, 81):
        power = Fraction(3) ** exponent
        leading = max(e for e in range(-126, 128) if Fraction(2) ** e <= power)
        bits.append(round(power / Fraction(2) ** (leading - 23)) - 2**23 + ((leading + 127) << 23))
    return np.array(bits, np.int64)


@njit(cache=True, nogil=True)
def _between_levels(patterns, levels, codes, above, apart):  # type: ignore[no-untyped-def]
    # |x| lies above[i]/apart[i] of the way from level code to the next, in whole units of the last place of the lower
    # one: S 2^(E - 150) with S < 2^24, E >= 1. Level 0 is zero; there is nothing above the last.
    for i in range(patterns.size):
        magnitude = np.int64(patterns[i]) & 0x7FFFFFFF
        code = np.searchsorted(levels, magnitude, side="right")
        low = levels[code - 1] if code > 0 else 0
        high = levels[code] if code < levels.size else low
        unit, exponent, top = low >> 23, magnitude >> 23, high >> 23
        unit += unit == 0
        at = ((magnitude & 0x7FFFFF) | ((exponent > 0) << 23)) << (exponent + (exponent == 0) - unit)
        upper = ((high & 0x7FFFFF) | 0x800000) << (top + (top == 0) - unit)
        lower = (low & 0x7FFFFF) | ((code > 0) << 23)
        last = code == levels.size
        codes[i], above[i], apart[i] = code, 0 if last else at - lower, 1 if last else upper - lower


@njit(cache=True, nogil=True)
def _not_stochastic_power(patterns, levels, codes, above, apart, counts, got):  # type: ignore[no-untyped-def]
    # the uniform is counts/2^24: up iff it is below above/apart
    wrong = 0
    for i in range(patterns.size):
        code, negative = codes[i] + (counts[i] * apart[i] < above[i] << 24), np.int64(patterns[i]) & 0x80000000
        wrong += np.int64(got[i]) != (levels[code - 1] | negative if code > 0 else 0)
    return wrong


def _stochastic_power(patterns: Patterns) -> int:
    x, levels = _finite(patterns), _powers_of_three()
    if not x.size:
        return 0
    codes, above, apart = (np.empty(x.size, np.int64) for _ in range(3))
    _between_levels(x, levels, codes, above, apart)
    at = np.minimum(-(-(above << 24) // apart), 2**24 - 1)  # the first uniform that is not below, in units of 2^-24
    compressor, floats = StochasticPower(3), x.view(np.float32)

    def wrong(counts: Integers) -> int:
        uniforms = counts.astype(np.float32) * np.float32(2**-24)
        out = compressor.decompress(compressor.compress_with(floats, uniforms))
        return int(_not_stochastic_power(x, levels, codes, above, apart, counts, out.view(np.uint32)))

    return wrong(np.maximum(at, 1) - 1) + wrong(at)


@njit(cache=True, nogil=True)
def _not_nearest_power(patterns, got):  # type: ignore[no-untyped-def]
    # as above; up iff m/2^23 > 1/2, so that halfway stays down
    wrong = 0
    for i in range(patterns.size):
        word = np.int64(patterns[i])
        exponent, mantissa = (word >> 23) & 255, word & 0x7FFFFF
        if mantissa > 0x400000 and exponent < 254:
            exponent += 1
        expected = exponent << 23
        if exponent > 0:
            expected |= word & 0x80000000
        wrong += np.int64(got[i]) != expected
    return wrong


def _nearest_power(patterns: Patterns) -> int:
    x = _finite(patterns)
    return int(_not_nearest_power(x, NearestPower()(x.view(np.float32)).view(np.uint32))) if x.size else 0


@njit(cache=True, nogil=True)
def _not_sign(patterns, zero, got):  # type: ignore[no-untyped-def]
    # 1 or -1 by the sign bit; for 0 and -0, `zero`
    wrong = 0
    for i in range(patterns.size):
        word = np.int64(patterns[i])
        is_zero = word & 0x7FFFFFFF == 0
        expected = 0x3F800000 * zero if is_zero else 0x3F800000 | (word & 0x80000000)
        wrong += np.int64(got[i]) != expected
    return wrong


def _sign(patterns: Patterns) -> int:
    x = _finite(patterns)
    if not x.size:
        return 0
    outcomes = {zero: Sign(zero)(x.view(np.float32)).view(np.uint32) for zero in (0, 1)}
    return sum(int(_not_sign(x, zero, out)) for zero, out in outcomes.items())


_QUANTISER = (message.RandomisedQuantiser.compress_with, message.looked_up, message._look_up, message.value_table)

RUNS: dict[str, Run] = {
    "naturalcompression.float32": Run(
        "NaturalCompression().decompress(compress_with(x, u)) for every finite float32 x and the two uniforms u "
        "between which the definition stops rounding up",
        2**32,
        _natural_compression,
        (
            powers.NaturalCompression._encoded,
            powers._stochastic_codes,
            powers._format,
            powers._powers_of_two,
            *_QUANTISER,
        ),
        (_finite, _natural_compression, _not_neighbouring_power),
    ),
    "stochasticpower.float32": Run(
        "StochasticPower(3).decompress(compress_with(x, u)) for every finite float32 x and the two uniforms u between "
        "which the definition stops rounding up",
        2**32,
        _stochastic_power,
        (
            stochastic_power.StochasticPower._encoded,
            stochastic_power.StochasticPower.decompress,
            stochastic_power._round_to_table,
            stochastic_power._tables,
            stochastic_power.power_table,
            stochastic_power._powers,
            *_QUANTISER,
        ),
        (_finite, _powers_of_three, _between_levels, _stochastic_power, _not_stochastic_power),
    ),
    "nearestpower.float32": Run(
        "NearestPower()(x) for every finite float32 x",
        2**32,
        _nearest_power,
        (powers.NearestPower.compress, powers._nearest_codes, powers._format, powers._powers_of_two, *_QUANTISER[1:]),
        (_finite, _nearest_power, _not_nearest_power),
    ),
    "sign.float32": Run(
        "Sign(zero)(x) for every finite float32 x and both signs of zero",
        2**32,
        _sign,
        (signs.Sign.compress, signs._Signed.decompress, signs._signs_of, signs._signs, signs._scaled),
        (_finite, _sign, _not_sign),
    ),
}
"""Runs by name."""
