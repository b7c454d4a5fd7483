"""Kernels run on every bit pattern of a float format, against their exact definitions in integers.

A goal that a `Run` shows says that a kernel is its definition. The run goes through all patterns once, when the
certificate is made (``commbounds certify --exhaustive``), and leaves a record; to check the record is to go through a
fixed share of them, and to compare what was run then with what would be run now.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from commbounds.compressors import NaturalCompression, NearestPower, Sign
from commbounds.compressors.quantizers import message, powers, signs
from commbounds.verify.certify.certificate import CertificateError

Patterns = NDArray[np.uint32]

SHARE = 1021
"""A check runs every 1021st pattern of 2^32, a prime, so that all positions of the bits are met."""
_BLOCK = 1 << 15
_INFINITE = np.uint32(0x7F800000)
_SIGN = np.uint32(0x80000000)


@dataclass(frozen=True)
class Run:
    """A kernel, its definition, and the patterns that they are compared on.

    Parameters
    ----------
    words : str
        What is compared, for which patterns.
    patterns : int
        How many there are; they are numbered from 0.
    differences : function
        Of pattern numbers: at how many of them the kernel is not its definition.
    kernel, definition : tuple of function
        Whose sources the record holds digests of.
    """

    words: str
    patterns: int
    differences: Callable[[Patterns], int]
    kernel: tuple[Any, ...]
    definition: tuple[Any, ...]

    def record(self) -> dict[str, Any]:
        """What a certificate says of the run."""
        return {"patterns": self.patterns, "kernel": digest(self.kernel), "definition": digest(self.definition)}

    def share(self) -> int:
        """Every which pattern a check runs."""
        return SHARE if self.patterns > 1 << 24 else 1

    def count(self, every: int = 1, progress: Callable[[float], None] = lambda _: None) -> int:
        """At how many of every `every`th pattern the kernel is not its definition."""
        found = 0
        numbers = range(0, self.patterns, every)
        for start in range(0, len(numbers), _BLOCK):
            part = numbers[start : start + _BLOCK]
            found += self.differences((part.start + np.arange(len(part)) * every).astype(np.uint32))
            progress((start + len(part)) / len(numbers))
        return found


def digest(functions: tuple[Any, ...]) -> str:
    """SHA-256 of the functions' sources."""
    sources = [inspect.getsource(getattr(f, "py_func", getattr(f, "__wrapped__", f))) for f in functions]
    return sha256("\n".join(sources).encode()).hexdigest()


def ran(name: str, progress: Callable[[float], None] = lambda _: None) -> dict[str, Any]:
    """The record of a run over all patterns.

    Raises
    ------
    CertificateError
        The kernel is not its definition.
    """
    run = RUNS[name]
    if different := run.count(1, progress):
        raise CertificateError(f"{name}: the kernel is not its definition at {different} of {run.patterns} patterns")
    return run.record()


def check_record(name: str, record: Any) -> None:
    """Check the record of a run, by its digests and a share of the patterns.

    Raises
    ------
    CertificateError
        There is no such run, what was run is not what would be run now, or the kernel is not its definition.
    """
    if name not in RUNS:
        raise CertificateError(f"there is no run {name!r}")
    expected = RUNS[name].record()
    if not isinstance(record, Mapping) or set(record) != set(expected):
        raise CertificateError(f"the record of a run says {', '.join(expected)}")
    for key, value in expected.items():
        if type(record[key]) is not type(value) or record[key] != value:
            raise CertificateError(f"another {key} than when {name} was run: run `commbounds certify --exhaustive`")
    if different := _counted(name):
        raise CertificateError(f"{name}: the kernel is not its definition at {different} patterns")


@cache
def _counted(name: str) -> int:
    run = RUNS[name]
    return run.count(run.share())


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
        (powers.NaturalCompression._encoded, powers._stochastic_codes, powers._powers_of_two, *_QUANTISER),
        (_natural_compression, _not_neighbouring_power),
    ),
    "nearestpower.float32": Run(
        "NearestPower()(x) for every finite float32 x",
        2**32,
        _nearest_power,
        (powers.NearestPower.compress, powers._nearest_codes, powers._powers_of_two, *_QUANTISER[1:]),
        (_nearest_power, _not_nearest_power),
    ),
    "sign.float32": Run(
        "Sign(zero)(x) for every finite float32 x and both signs of zero",
        2**32,
        _sign,
        (signs.Sign.compress, signs._Signed.decompress, signs._signs_of, signs._signs, signs._scaled),
        (_sign, _not_sign),
    ),
}
"""Runs by name."""
