"""Entries become the mean of their bucket: buckets of one width, or of equally many entries."""

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array, Floats, Integers
from commbounds.compressors._magnitude import finite_largest
from commbounds.compressors.base import (
    MAX_ENTRIES,
    Compressor,
    Law,
    checked_array,
    checked_count,
    checked_exact,
    checked_message,
)
from commbounds.compressors.shipped.message import Tabled, looked_up

MOST_BUCKETS = 2**15 - 1
"""Codes are int16."""
SPARE = 64
"""Powers of two that a sum of 2^31 entries stays below, and more."""


@njit(cache=True, nogil=True)
def _add_up(x, codes, sums, lost, counts):  # type: ignore[no-untyped-def]
    # Neumaier's sums, one a code: what an addition loses is added up beside
    for i in range(x.size):
        code, value = codes[i], np.float64(x[i])
        total = sums[code] + value
        if abs(sums[code]) >= abs(value):
            lost[code] += (sums[code] - total) + value
        else:
            lost[code] += (value - total) + sums[code]
        sums[code] = total
        counts[code] += 1


def bucket_means(x: Array, codes: NDArray[np.int16], count: int) -> Array:
    """The mean of the entries of every code, 0 where there are none.

    Parameters
    ----------
    x : (n,) float32 or float64
        Finite.
    codes : (n,) int16
        In [0, count).
    count : int
        How many codes there are.

    Returns
    -------
    (count,) dtype of x
        Compensated sums in float64 over counts, rounded to the dtype: off by two units of 2^-53, n^2 2^-106 of the mean
        of the bucket's magnitudes, and one rounding to the dtype.
    """
    means = _means(x, codes, count)
    if not np.isfinite(means).all():  # sums that overflow are taken of smaller entries; theirs are large
        smaller = np.ldexp(_means(np.ldexp(x, -SPARE), codes, count), SPARE)
        means = np.where(np.isfinite(means), means, smaller)
    top = float(np.finfo(x.dtype).max)
    return np.clip(means, -top, top).astype(x.dtype)


def _means(x: Array, codes: NDArray[np.int16], count: int) -> Floats:
    sums, lost, counts = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        _add_up(x, codes, sums, lost, counts)
        means: Floats = (sums + lost) / np.maximum(counts, 1)
    return means


def exact_means(x: Sequence[Fraction], codes: Sequence[int]) -> tuple[Fraction, ...]:
    """Every entry's bucket mean."""
    sums: dict[int, Fraction] = {}
    for value, code in zip(x, codes, strict=True):
        sums[code] = sums.get(code, Fraction(0)) + value
    return tuple(sums[code] / codes.count(code) for code in codes)


class _Buckets(Compressor):
    """What both share: all but which entry goes where."""

    @property
    @abstractmethod
    def _count(self) -> int: ...

    @abstractmethod
    def _codes(self, x: Array) -> NDArray[np.int16]: ...

    @abstractmethod
    def _exact_codes(self, x: Sequence[Fraction]) -> list[int]: ...

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Tabled:
        """The message for `x`; see `Compressor.compress`."""
        array = checked_array(x)
        codes = self._codes(array)
        return Tabled(array.shape, array.dtype, codes, bucket_means(array, codes, self._count))

    def decompress(self, message: Tabled) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Tabled)
        return looked_up(message)

    def law(self, x: Sequence[Any]) -> Law:
        """The one outcome, with probability 1."""
        exact = checked_exact(x)
        return [(Fraction(1), exact_means(exact, self._exact_codes(exact)))]


@njit(cache=True, nogil=True)
def _uniform_codes(x, mean, width, count, codes):  # type: ignore[no-untyped-def]
    # the nearest multiple of the width, halves to even; those beyond the ends go to the outermost buckets
    offset = count // 2
    for i in range(x.size):
        place = np.rint((x[i] - mean) / width) + offset
        codes[i] = np.int16(min(max(place, 0.0), count - 1.0))


@dataclass(frozen=True)
class UniformBuckets(_Buckets):
    """Buckets of one width, `sigmas` standard deviations wide together, about the mean (hivemind's uniform 8 bit).

    Entry x_i goes to bucket round((x_i - mean) / width) + floor(buckets / 2), where width = sigmas std / buckets and
    std^2 = sum (x_i - mean)^2 / (n - 1); those out of range go to the outermost bucket. All that is sent of an entry is
    its bucket, whose mean it becomes.

    Parameters
    ----------
    buckets : int
        In [2, 2^15 - 1]; 256 as hivemind has it.
    sigmas : int
        Width of all buckets together, in [1, 2^31 - 1]. Six as hivemind has it: three on either side.

    Notes
    -----
    ||C(x) - x||^2 = ||x||^2 - ||C(x)||^2, and the sum of the entries is kept. An entry within the range is off by less
    than a width, one beyond it by any multiple. Equal entries, and one entry alone, are reproduced; there hivemind
    divides by zero. All this in float64, of the entries over the largest; sums are rounded once, halves to even.

    Examples
    --------
    >>> import numpy as np
    >>> UniformBuckets(4)(np.array([0.0, 0.5, 4.0, 5.0]))
    array([0.25, 0.25, 4.  , 5.  ])
    """

    buckets: int = 256
    sigmas: int = 6
    claims = (
        "shipped.uniformbuckets.error",
        "shipped.uniformbuckets.sum",
        "shipped.uniformbuckets.nonexpansive",
        "shipped.uniformbuckets.wire",
        "shipped.uniformbuckets.scale_equivariance",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "buckets", checked_count("buckets", self.buckets, 2, MOST_BUCKETS))
        object.__setattr__(self, "sigmas", checked_count("sigmas", self.sigmas, 1, MAX_ENTRIES))

    @property
    def _count(self) -> int:
        return self.buckets

    def _codes(self, x: Array) -> NDArray[np.int16]:
        codes = np.full(x.size, self.buckets // 2, np.int16)
        top = float(finite_largest(x))
        if top == 0.0 or x.size == 1:
            return codes
        wide = x.astype(np.float64) / top
        mean = math.fsum(wide) / x.size
        width = self.sigmas * math.sqrt(math.fsum((wide - mean) ** 2) / (x.size - 1)) / self.buckets
        if x.min() < x.max():
            _uniform_codes(wide, mean, width, self.buckets, codes)
        return codes

    def _exact_codes(self, x: Sequence[Fraction]) -> list[int]:
        n, mean = len(x), sum(x, Fraction(0)) / len(x)
        offset = self.buckets // 2
        if min(x) == max(x):
            return [offset] * n
        square = Fraction(self.sigmas**2, self.buckets**2) * sum((v - mean) ** 2 for v in x) / (n - 1)
        codes = []
        for v in x:
            # round(|v - mean| / width), halves to even, by squares
            ratio = (v - mean) ** 2 / square
            low = math.isqrt(math.floor(ratio))
            half = Fraction((2 * low + 1) ** 2, 4)
            place = low + 1 if ratio > half or (ratio == half and low % 2) else low
            codes.append(min(max(offset + (place if v > mean else -place), 0), self.buckets - 1))
        return codes


@dataclass(frozen=True)
class QuantileBuckets(_Buckets):
    """Buckets between the quantiles j / buckets of the entries (hivemind's quantile 8 bit; SketchML's buckets).

    Entry x_i goes to the bucket j for which b_j < x_i <= b_(j+1), where b_j is the quantile j / buckets, interpolated
    linearly; those not above b_1 go to bucket 0. It becomes the mean of its bucket.

    Parameters
    ----------
    buckets : int
        In [2, 2^15 - 1]; 256 as hivemind has it.

    Notes
    -----
    ||C(x) - x||^2 = ||x||^2 - ||C(x)||^2, and the sum of the entries is kept. Up to `buckets` entries are reproduced.
    The quantiles are those of all entries: hivemind takes quantiles of quantiles of pieces beyond 100,000 entries.
    An entry is compared with its border by its place among the sorted entries, which is exact.

    Examples
    --------
    >>> import numpy as np
    >>> QuantileBuckets(2)(np.array([1.0, 7.0, 3.0, 5.0]))
    array([2., 6., 2., 6.])
    """

    buckets: int = 256
    claims = (
        "shipped.quantilebuckets.error",
        "shipped.quantilebuckets.sum",
        "shipped.quantilebuckets.nonexpansive",
        "shipped.quantilebuckets.lossless",
        "shipped.quantilebuckets.wire",
        "shipped.quantilebuckets.scale_equivariance",
        "shipped.quantilebuckets.idempotence",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "buckets", checked_count("buckets", self.buckets, 2, MOST_BUCKETS))

    @property
    def _count(self) -> int:
        return self.buckets

    def _codes(self, x: Array) -> NDArray[np.int16]:
        values = np.sort(x)
        # below its first place among the sorted entries, v = values[first], lie exactly the borders of the quantiles
        # j / buckets with (n - 1) j / buckets < first, or between equal entries: those are not below v
        first = np.searchsorted(values, values, side="left").astype(np.int64)
        below = _borders_below(first, x.size, self.buckets)
        codes = np.empty(x.size, np.int16)
        codes[:] = below[np.searchsorted(values, x, side="left")]
        return codes

    def _exact_codes(self, x: Sequence[Fraction]) -> list[int]:
        values, n = sorted(x), len(x)

        def border(j: int) -> Fraction:
            low, rest = divmod((n - 1) * j, self.buckets)
            return values[low] + Fraction(rest, self.buckets) * (values[min(low + 1, n - 1)] - values[low])

        return [bisect_left(range(1, self.buckets), v, key=border) for v in x]


def _borders_below(first: Integers, n: int, buckets: int) -> Integers:
    """How many of the quantiles 1 / buckets, ... are below the entry whose first place among n sorted ones is given."""
    if n == 1:
        return np.zeros_like(first)
    # j with 1 <= j < buckets and (n - 1) j / buckets < first: the largest is ceil(first buckets / (n - 1)) - 1
    below: Integers = np.clip(-(-first * buckets // (n - 1)) - 1, 0, buckets - 1)
    return below
