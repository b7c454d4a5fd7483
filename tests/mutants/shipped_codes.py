"""Broken twins of compressors that packages ship, each by one defect."""

import math
from dataclasses import dataclass, replace

import numpy as np

from commbounds.compressors import TernGrad
from commbounds.compressors.base import index_bits
from commbounds.compressors.shipped import (
    Atomic,
    BernoulliLazy,
    ClippedTernGrad,
    Maybe,
    QuantileBuckets,
    Quartic,
    ReplacementRandK,
    Tabled,
    ThreeLC,
    TwoMeans,
    UniformBuckets,
)
from commbounds.compressors.shipped.buckets import bucket_means
from mutants.record import native

# --- Rand-K with replacement ---------------------------------------------------------------------------------------


class _Picking(ReplacementRandK):
    """Draws places from the generator, and hands them to `compress_with`."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        return self.compress_with(x, rng.integers(0, len(x), self.k))


class ReplacementAdds(_Picking):
    """Adds draws of one place up, whatever was asked for."""

    def compress_with(self, x, picks):
        return ReplacementRandK(self.k, added=True).compress_with(x, picks)


class ReplacementOverwrites(_Picking):
    """Writes draws of one place over, whatever was asked for."""

    def compress_with(self, x, picks):
        return ReplacementRandK(self.k).compress_with(x, picks)


class ReplacementUnscaled(_Picking):
    """The factor n/k is missing."""

    def compress_with(self, x, picks):
        message = super().compress_with(x, picks)
        return replace(message, values=(message.values * (self.k / len(x))).astype(message.dtype))


class ReplacementNeverLast(_Picking):
    """A draw of the last place is one of the first."""

    def compress_with(self, x, picks):
        picks = np.asarray(picks)
        return super().compress_with(x, np.where(picks == len(x) - 1, 0, picks))


class ReplacementPaysDraws(ReplacementRandK):
    """Counts an index for every draw."""

    def _message(self, x, scale, times, found):
        message = super()._message(x, scale, times, found)
        return replace(message, position_bits=index_bits(x.size + 1) + self.k * index_bits(x.size))


class ReplacementOnePlace(ReplacementRandK):
    """All draws are the first one."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        return self.compress_with(x, np.full(self.k, rng.integers(0, len(x))))


# --- lazy ----------------------------------------------------------------------------------------------------------


class LazyUnscaled(BernoulliLazy):
    """Sends the vector as it is."""

    def _sent(self, x, u):
        message = super()._sent(x, u)
        return replace(message, values=x.copy() if message.values.size else message.values)


class LazyAtOrAbove(BernoulliLazy):
    """Sends with probability one minus what was asked for."""

    def _sent(self, x, u):
        if self.keep == 1:
            return super()._sent(x, u)
        return super()._sent(x, 0.0 if u >= self.keep else 1 - 2.0**-53)


class LazyRoot(BernoulliLazy):
    """Divides by the root of the probability."""

    def _sent(self, x, u):
        message = super()._sent(x, u)
        return replace(message, values=(message.values * math.sqrt(self.keep)).astype(x.dtype))


@dataclass(frozen=True, eq=False)
class _FreeFlag(Maybe):
    @property
    def bits(self):
        return super().bits - 1


class LazyFreeFlag(BernoulliLazy):
    """Does not count the bit that says whether anything follows."""

    def _sent(self, x, u):
        message = super()._sent(x, u)
        return _FreeFlag(message.shape, message.dtype, message.values)


class LazyHalf(BernoulliLazy):
    """Sends the first half of the entries whatever is drawn."""

    def _sent(self, x, u):
        message = super()._sent(x, u)
        if message.values.size:
            return message
        half = np.where(np.arange(x.size) < x.size // 2, x, 0).astype(x.dtype)
        return replace(message, values=half) if x.size > 1 else message


# --- ATOMO ---------------------------------------------------------------------------------------------------------


class AtomicUncapped(Atomic):
    """Probabilities above one are taken for one, and the level stays that of the balanced formula."""

    def _level(self, x):
        level = super()._level(x)
        total = float(np.abs(x.astype(np.float64)).sum()) / float(self.budget)
        return max(min(total, float(np.abs(x).max())), level) if x.any() else level


class AtomicNorm2(Atomic):
    """The level is the Euclidean norm over the budget, as in QSGD."""

    def _level(self, x):
        level = super()._level(x)
        return max(float(np.linalg.norm(x.astype(np.float64))) / float(self.budget), 1e-300) if x.any() else level


class AtomicUnscaled(Atomic):
    """What is kept is sent as it is."""

    def _unscaled(self, x, message):
        return replace(message, values=native(x)[message.indices])

    def compress(self, x, rng=None):
        return self._unscaled(x, super().compress(x, rng))

    def compress_with(self, x, uniforms):
        return self._unscaled(x, super().compress_with(x, uniforms))


class AtomicUnsigned(AtomicUnscaled):
    """Drops the signs."""

    def _unscaled(self, x, message):
        return replace(message, values=np.abs(message.values))


class AtomicFreeCount(AtomicUnscaled):
    """Does not count how many entries follow."""

    def _unscaled(self, x, message):
        return replace(message, position_bits=message.position_bits - index_bits(len(x) + 1))


# --- TernGrad with clipping ----------------------------------------------------------------------------------------


class ClippedNever(ClippedTernGrad):
    """Does not clip."""

    def _encoded(self, x, draw):
        return TernGrad()._encoded(x, draw)


class ClippedAtRMS(ClippedTernGrad):
    """Clips to the root mean square, not to the deviation from the mean."""

    def _encoded(self, x, draw):
        top = float(np.abs(x).max()) if np.isfinite(x).all() else 0.0
        if top:
            bound = float(self.clip) * math.sqrt(math.fsum((x.astype(np.float64) / top) ** 2) / x.size)
            x = np.clip(x, -x.dtype.type(min(bound, 1.0) * top), x.dtype.type(min(bound, 1.0) * top))
        return TernGrad()._encoded(x, draw)


class ClippedSample(ClippedTernGrad):
    """Divides the squares by n - 1."""

    def _encoded(self, x, draw):
        larger = math.sqrt(x.size / (x.size - 1)) if x.size > 1 else 1.0
        return ClippedTernGrad(float(self.clip) * larger)._encoded(x, draw)


class ClippedAtHalf(ClippedTernGrad):
    """Clips at half of what was asked for."""

    def _encoded(self, x, draw):
        return ClippedTernGrad(float(self.clip) / 2)._encoded(x, draw)


class ClippedKeepsScale(ClippedTernGrad):
    """The scale is that of the vector before it was clipped."""

    def _encoded(self, x, draw):
        message = super()._encoded(x, draw)
        return replace(message, norm=TernGrad()._encoded(x, draw).norm)


@dataclass(frozen=True, eq=False)
class _OneBitEach(type(TernGrad().compress(np.ones(1), np.random.default_rng(0)))):
    @property
    def bits(self):
        return self.codes.size + 8 * self.dtype.itemsize


class ClippedOneBit(ClippedTernGrad):
    """Counts one bit an entry."""

    def _encoded(self, x, draw):
        message = super()._encoded(x, draw)
        return _OneBitEach(message.shape, message.dtype, message.codes, message.levels, message.norm)


# --- codes with a table --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _FreeTable(Tabled):
    @property
    def bits(self):
        return self.codes.size * index_bits(self.table.size)


def _freely(message):
    return _FreeTable(message.shape, message.dtype, message.codes, message.table)


class OneBitFreeMeans(TwoMeans):
    """Does not count the means."""

    def compress(self, x, rng=None):
        return _freely(super().compress(x))


class OneBitOneMagnitude(TwoMeans):
    """Both groups get the mean magnitude of all entries, with their sign."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        array = native(x)
        top = float(np.abs(array).max()) or 1.0
        mean = np.mean(np.abs(array.astype(np.float64)) / top) * top
        return replace(message, table=np.array([-mean, mean]).astype(array.dtype))


class OneBitMedians(TwoMeans):
    """Groups get their median."""

    def compress(self, x, rng=None):
        message, array = super().compress(x), native(x)
        groups = [array[message.codes == code] for code in (0, 1)]
        with np.errstate(over="ignore"):
            values = [np.sort(group)[group.size // 2] if group.size else 0.0 for group in groups]
        return replace(message, table=np.array(values, array.dtype))


class OneBitSwapped(TwoMeans):
    """The means have changed places."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, table=message.table[::-1].copy())


class OneBitZerosBelow(TwoMeans):
    """Zeros go with the negative entries."""

    def compress(self, x, rng=None):
        message, array = super().compress(x), native(x)
        codes = (array > 0).astype(np.int16)
        return replace(message, codes=codes, table=bucket_means(array, codes, 2))


class UniformFreeTable(UniformBuckets):
    """Does not count the table."""

    def compress(self, x, rng=None):
        return _freely(super().compress(x))


def _centred(message, x):
    """The message whose table holds the middle of every bucket's range."""
    table = message.table.copy()
    for code in np.unique(message.codes):
        inside = x[message.codes == code]
        table[code] = inside.min() / 2 + inside.max() / 2
    return replace(message, table=table)


class UniformCentres(UniformBuckets):
    """Entries become the centre of their bucket, where it has entries of two values."""

    def compress(self, x, rng=None):
        return _centred(super().compress(x), native(x))


class UniformPopulation(UniformBuckets):
    """Divides the squares by n."""

    def _codes(self, x):
        codes = super()._codes(x)
        wide = x.astype(np.float64) / (float(np.abs(x).max()) or 1.0)
        width = self.sigmas * float(np.std(wide)) / self.buckets
        if width == 0 or x.min() == x.max():
            return codes
        places = np.rint((wide - wide.mean()) / width) + self.buckets // 2
        return np.clip(places, 0, self.buckets - 1).astype(np.int16)


class UniformNotCentred(UniformBuckets):
    """Widths are counted from zero, not from the mean."""

    def _codes(self, x):
        codes = super()._codes(x)
        wide = x.astype(np.float64) / (float(np.abs(x).max()) or 1.0)
        width = self.sigmas * float(np.std(wide, ddof=min(1, x.size - 1))) / self.buckets
        if width == 0 or x.min() == x.max():
            return codes
        return np.clip(np.rint(wide / width) + self.buckets // 2, 0, self.buckets - 1).astype(np.int16)


class UniformDropsOutliers(UniformBuckets):
    """The outermost buckets hold zero."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        table = message.table.copy()
        table[[0, -1]] = 0
        return replace(message, table=table)


class QuantileFreeTable(QuantileBuckets):
    """Does not count the table."""

    def compress(self, x, rng=None):
        return _freely(super().compress(x))


class QuantileTiesUp(QuantileBuckets):
    """An entry at a border goes above it."""

    def _codes(self, x):
        codes = super()._codes(x)
        borders = np.quantile(x.astype(np.float64), np.arange(1, self.buckets) / self.buckets)
        return np.searchsorted(borders, x.astype(np.float64), side="right").astype(codes.dtype)


class QuantileMidpoints(QuantileBuckets):
    """Entries become the middle of the range of their bucket."""

    def compress(self, x, rng=None):
        return _centred(super().compress(x), native(x))


class QuantileTwice(QuantileBuckets):
    """Takes every second border."""

    def _codes(self, x):
        return (super()._codes(x) // 2 * 2).astype(np.int16)


class QuantileFirst(QuantileBuckets):
    """Buckets send the first of their entries."""

    def compress(self, x, rng=None):
        message, array = super().compress(x), native(x)
        table = message.table.copy()
        for code in np.unique(message.codes):
            table[code] = array[message.codes == code][0]
        return replace(message, table=table)


# --- 3LC -----------------------------------------------------------------------------------------------------------


class _Digits(ThreeLC):
    """Packs digits of its own."""

    def _digit(self, x, scale):
        raise NotImplementedError

    def compress(self, x, rng=None):
        message = super().compress(x)
        array = native(x)
        digits = np.ones(-(-array.size // 5) * 5, np.int64)
        digits[: array.size] = 1 + self._digit(array.astype(np.float64), float(message.scale))
        plain = digits.reshape(-1, 5) @ np.array([81, 27, 9, 3, 1])
        return replace(message, packed=plain.astype(np.uint8)) if not self.zero_run else self._shortened(message, plain)

    def _shortened(self, message, plain):
        out, run = [], 0
        for byte in [*plain.tolist(), -1]:
            if byte == 121 and run < 14:
                run += 1
                continue
            if run:
                out.append(121 if run == 1 else 241 + run)
            run = int(byte == 121)
            if byte >= 0 and not run:
                out.append(byte)
        return replace(message, packed=np.array(out, np.uint8))


class ThreeLCTiesDown(_Digits):
    """Halves round to zero."""

    def _digit(self, x, scale):
        return np.sign(x) * (np.abs(x) > scale - np.abs(x))


class ThreeLCThreshold(_Digits):
    """Half of the largest entry decides, whatever the multiplier."""

    def _digit(self, x, scale):
        return np.sign(x) * (2 * np.abs(x) / (np.abs(x).max() or 1) >= 1)


class ThreeLCUnsigned(_Digits):
    """Drops the signs."""

    def _digit(self, x, scale):
        return 1 * (np.abs(x) >= scale - np.abs(x)) * (x != 0)


class ThreeLCPlainScale(ThreeLC):
    """The scale is the largest entry, without the multiplier."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, scale=message.dtype.type(np.abs(native(x)).max()))


@dataclass(frozen=True, eq=False)
class _TwoBits(Quartic):
    @property
    def bits(self):
        return 2 * self.shape[0] + 8 * self.dtype.itemsize


class ThreeLCTwoBits(ThreeLC):
    """Counts two bits an entry."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return _TwoBits(message.shape, message.dtype, message.packed, message.scale)


class ThreeLCNoRuns(ThreeLC):
    """Never encodes runs."""

    def compress(self, x, rng=None):
        return ThreeLC(self.sparsity, zero_run=False).compress(x)
