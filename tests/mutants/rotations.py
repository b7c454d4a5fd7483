"""Broken twins of rotation-based compressors, and what kills them."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from zoo.right import SCALED, control

from commbounds.collectives.rotations import rotated_mean, rotated_sum
from commbounds.compressors.rotations import (
    DRIVE,
    EDEN,
    HadamardSketch,
    LloydMax,
    RotatedDithering,
    dithered_hadamard,
    kashin,
    ldlq,
    lloyd_max,
    randomised_hadamard,
    rotated_signs,
)
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from mutants.record import Mutant

# --- DRIVE -----------------------------------------------------------------------------------------------------------


def _times(message, factor):
    return replace(message, numbers=(message.numbers * factor).astype(message.dtype))


class DRIVEScalesSwapped(DRIVE):
    """The two scales are exchanged."""

    def _encoded(self, array, signs):
        return DRIVE("biased" if self.scale == "unbiased" else "unbiased")._encoded(array, signs)


class DRIVEMeanMagnitude(DRIVE):
    """The scale is the mean magnitude of x, not of the rotated vector."""

    def _encoded(self, array, signs):
        message = super()._encoded(array, signs)
        scale = np.abs(array.astype(np.float64)).mean() / np.sqrt(message.codes.size)
        return replace(message, numbers=np.array([scale], message.dtype))


class DRIVENotRotated(DRIVE):
    """The signs of the rotation are all +1."""

    def _encoded(self, array, signs):
        return super()._encoded(array, np.ones_like(signs))


class DRIVENotNormalised(DRIVE):
    """The scale of the least error is that of the transform over its root once more."""

    def _encoded(self, array, signs):
        message = super()._encoded(array, signs)
        return _times(message, message.codes.size**-0.5) if self.scale == "biased" else message


class DRIVESignsOfTheReceiver(DRIVE):
    """The receiver takes the signs in the opposite order."""

    def decompress(self, message):
        return super().decompress(replace(message, signs=message.signs[::-1].copy()))


class DRIVECountsPaddingFree(DRIVE):
    """Counts a bit for every entry, not for every rotated one."""

    def compress(self, x, rng=None):
        message = super().compress(x, rng)
        return _Recounted(**{name: getattr(message, name) for name in message.__dataclass_fields__})


class _Recounted(type(DRIVE().compress(np.ones(3), np.random.default_rng(0)))):
    @property
    def bits(self):
        return self.signs.size + 8 * self.dtype.itemsize


class DRIVEOneSeed(DRIVE):
    """Rotates by the same signs whatever the generator."""

    def compress(self, x, rng=None):
        if not isinstance(rng, np.random.Generator):
            raise TypeError("rng must be a numpy.random.Generator")
        return super().compress(x, np.random.default_rng(0))


# --- EDEN ------------------------------------------------------------------------------------------------------------


class EDENScaleOfTheNorm(EDEN):
    """The scale is that of the norm, whatever was asked for."""

    def _encoded(self, array, signs):
        return EDEN(self.width, "norm")._encoded(array, signs)


class EDENLevels(EDEN):
    """Equidistant levels in place of the centroids, at the receiver alone."""

    def decompress(self, message):
        top = lloyd_max(self.width).centroids[-1]
        codes = 2.0 * message.codes / (2**self.width - 1) - 1.0
        nearest = np.searchsorted(lloyd_max(8).boundaries, codes * top).astype(np.int16)
        return EDEN(8).decompress(replace(message, codes=nearest, count=256))


class EDENNormNotPadded(EDEN):
    """The scale of the norm is over the number of entries, not of rotated ones."""

    def _encoded(self, array, signs):
        message = super()._encoded(array, signs)
        return _times(message, message.codes.size / array.size)


class EDENOneBitLess(EDEN):
    """Quantises by half as many centroids."""

    def _encoded(self, array, signs):
        if self.width == 1:
            return super()._encoded(array, signs)
        return EDEN(self.width - 1, self.scale)._encoded(array, signs)

    def decompress(self, message):
        return (
            EDEN(max(1, self.width - 1), self.scale).decompress(message)
            if self.width > 1
            else super().decompress(message)
        )


class EDENShifted(EDEN):
    """The first code is one too high."""

    def _encoded(self, array, signs):
        message = super()._encoded(array, signs)
        codes = message.codes.copy()
        codes[0] = min(codes[0] + 1, message.count - 1)
        return replace(message, codes=codes)


# --- stochastic rotated quantisation ---------------------------------------------------------------------------------


class DitheringNearest(RotatedDithering):
    """Rounds to the nearest level."""

    def _encoded(self, array, signs, uniforms):
        return super()._encoded(array, signs, np.full_like(uniforms, 0.5))


class DitheringFloor(RotatedDithering):
    """Rounds down."""

    def _encoded(self, array, signs, uniforms):
        return super()._encoded(array, signs, np.full_like(uniforms, 1.0 - 2.0**-53))


class DitheringOneUniform(RotatedDithering):
    """All entries are rounded by one uniform."""

    def _encoded(self, array, signs, uniforms):
        return super()._encoded(array, signs, np.full_like(uniforms, uniforms[0]))


class DitheringSquared(RotatedDithering):
    """Moves up with the square root of the probability."""

    def _encoded(self, array, signs, uniforms):
        return super()._encoded(array, signs, np.square(uniforms))


class DitheringFreeNumber(RotatedDithering):
    """Sends the least rotated entry twice, and not the largest."""

    def _encoded(self, array, signs, uniforms):
        message = super()._encoded(array, signs, uniforms)
        return replace(message, numbers=message.numbers[[0, 0]])


class DitheringAlmostOneMore(RotatedDithering):
    """Has a level more than it counts."""

    def _encoded(self, array, signs, uniforms):
        message = RotatedDithering(self.levels + 1)._encoded(array, signs, uniforms)
        return replace(message, count=self.levels + 1)

    def decompress(self, message):
        return RotatedDithering(self.levels + 1).decompress(message)


class DitheringReadsHigh(RotatedDithering):
    """Reads positive entries a sixteenth too large."""

    def decompress(self, message):
        y = super().decompress(message)
        return np.where(y > 0, y * 1.0625, y).astype(y.dtype)

    def law(self, x):
        return [(p, tuple(v * Fraction(17, 16) if v > 0 else v for v in y)) for p, y in super().law(x)]


class DitheringInQuarters(RotatedDithering):
    """Reads multiples of a quarter."""

    def decompress(self, message):
        y = super().decompress(message)
        return (np.rint(4 * y) / 4).astype(y.dtype)

    def law(self, x):
        return [(p, tuple(Fraction(round(4 * v), 4) for v in y)) for p, y in super().law(x)]


# --- the Hadamard sketch ---------------------------------------------------------------------------------------------


class SketchOfEntries(HadamardSketch):
    """Multiplies by n/k, not by d/k."""

    def _encoded(self, array, signs, kept):
        message = super()._encoded(array, signs, kept)
        d = 1 << (array.size - 1).bit_length()
        return _times(message, array.size / d)


class SketchFirst(HadamardSketch):
    """Sends the first k rotated entries."""

    def _encoded(self, array, signs, kept):
        return super()._encoded(array, signs, np.arange(kept.size, dtype=np.int32))


class SketchUnscaled(HadamardSketch):
    """Does not multiply what is kept."""

    def _encoded(self, array, signs, kept):
        d = 1 << (array.size - 1).bit_length()
        return _times(super()._encoded(array, signs, kept), self.k / d)


class SketchWithoutSigns(HadamardSketch):
    """Transforms without random signs."""

    def _encoded(self, array, signs, kept):
        return super()._encoded(array, np.ones_like(signs), kept)


class SketchSendsPlaces(HadamardSketch):
    """Counts two bytes for the place of every value."""

    def compress(self, x, rng=None):
        message = super().compress(x, rng)
        return _WithPlaces(**{name: getattr(message, name) for name in message.__dataclass_fields__})


class _WithPlaces(type(HadamardSketch(1).compress(np.ones(3), np.random.default_rng(0)))):
    @property
    def bits(self):
        return super().bits + 16 * self.kept.size


class SketchNeighbour(HadamardSketch):
    """The receiver puts the values one place further."""

    def decompress(self, message):
        d = 1 << (message.signs.size - 1).bit_length()
        return super().decompress(replace(message, kept=(message.kept + 1) % d))


# --- the transform and the quantiser ---------------------------------------------------------------------------------


def transform_without_signs(x, signs, *, inverse=False):
    """No signs."""
    return randomised_hadamard(x, np.ones(len(x), np.int64), inverse=inverse)


def transform_last_step_missing(x, signs, *, inverse=False):
    """The last step, of the two halves, is left out where there are two."""
    y = randomised_hadamard(x, signs, inverse=inverse)
    half = len(y) // 2
    if not half:
        return y
    if inverse:
        return y
    return np.concatenate([y[:half] + y[half:], y[:half] - y[half:]]) // 2


def transform_signs_after(x, signs, *, inverse=False):
    """The signs come after the transform."""
    y = randomised_hadamard(x, np.ones(len(x), np.int64), inverse=inverse)
    padded = np.concatenate([np.asarray(signs), np.ones(len(y) - len(x), np.int64)]).astype(np.int64)
    return y * padded


def transform_first_sign_fixed(x, signs, *, inverse=False):
    """The first two signs are one."""
    given = np.array(signs, np.int64)
    given[1:2] = given[:1] if len(given) > 1 else given[1:2]
    return randomised_hadamard(x, given, inverse=inverse)


def quantiser_of_equal_masses(bits):
    """Cells of equal probability."""
    size = 2**bits
    cuts = tuple(NormalDist().inv_cdf(i / size) for i in range(1, size))
    ends = [-12.0, *cuts, 12.0]
    means = [size * (NormalDist().pdf(a) - NormalDist().pdf(b)) for a, b in pairwise(ends)]
    return LloydMax(tuple(means), cuts, lloyd_max(bits).distortion)


def quantiser_equidistant(bits):
    """Equidistant centroids up to the same outermost one."""
    found = lloyd_max(bits)
    c = np.linspace(found.centroids[0], found.centroids[-1], 2**bits)
    return LloydMax(tuple(c), tuple((c[1:] + c[:-1]) / 2), found.distortion)


def quantiser_shrunk(bits):
    """Centroids a thousandth too small."""
    found = lloyd_max(bits)
    return LloydMax(tuple(0.999 * v for v in found.centroids), found.boundaries, found.distortion)


def quantiser_one_bit_more(bits):
    """A quantiser of one bit more."""
    return lloyd_max(bits + 1) if bits < 12 else lloyd_max(bits)


# --- representations, dithering and feedback -------------------------------------------------------------------------


def kashin_clips_always(x, signs, rounds=3, eta=0.9, delta=1.0, *, length=None, exact=True):
    """The last round clips too."""
    return kashin(x, signs, rounds, eta, delta, length=length, exact=False)


def kashin_never_clips(x, signs, rounds=3, eta=0.9, delta=1.0, *, length=None, exact=True):
    """The plain transform."""
    return kashin(x, signs, 1, eta, delta, length=length, exact=True)


def kashin_level_of_entries(x, signs, rounds=3, eta=0.9, delta=1.0, *, length=None, exact=True):
    """The first level is ||x|| over the root of delta n, not of delta N."""
    size = length or 1 << (len(x) - 1).bit_length()
    return kashin(x, signs, rounds, eta, delta * len(x) / size, length=length, exact=exact)


def kashin_level_stays(x, signs, rounds=3, eta=0.9, delta=1.0, *, length=None, exact=True):
    """The level stays as it is."""
    return kashin(x, signs, rounds, 1 - 2**-40, delta, length=length, exact=exact)


def kashin_one_round_less(x, signs, rounds=3, eta=0.9, delta=1.0, *, length=None, exact=True):
    """A round is left out where there are several."""
    return kashin(x, signs, max(1, rounds - 1), eta, delta, length=length, exact=exact)


def kashin_other_signs(x, signs, rounds=3, eta=0.9, delta=1.0, *, length=None, exact=True):
    """The first sign is turned."""
    given = np.array(signs)
    given[0] = -given[0]
    return kashin(x, given, rounds, eta, delta, length=length, exact=exact)


def dithered_without_taking_off(x, signs, offsets, step, reach=None):
    """The receiver does not take the offsets off."""
    codes, read = dithered_hadamard(x, signs, offsets, step, reach)
    added = np.broadcast_to(np.asarray(offsets, float), codes.shape).copy()
    d = codes.size
    back = randomised_hadamard(added, np.ones(d, int))[: len(x)] * np.asarray(signs) / np.sqrt(d)
    return codes, read + step * back


def dithered_with_one_offset(x, signs, offsets, step, reach=None):
    """The first offset for all entries."""
    return dithered_hadamard(x, signs, np.ravel(offsets)[0], step, reach)


def dithered_with_half(x, signs, offsets, step, reach=None):
    """Offsets of half the width."""
    return dithered_hadamard(x, signs, np.asarray(offsets) / 2, step, reach)


def dithered_coarser(x, signs, offsets, step, reach=None):
    """Steps a tenth wider."""
    return dithered_hadamard(x, signs, offsets, 1.1 * step, reach)


def dithered_clipped_at_three(x, signs, offsets, step, reach=None):
    """Codes are clipped to -1 .. 1 whatever was asked for."""
    return dithered_hadamard(x, signs, offsets, step, 1)


def signs_of_the_vector(x, rotation, scale="unbiased"):
    """Signs of x itself."""
    return rotated_signs(x, np.eye(len(x)), scale)


def signs_with_the_other_scale(x, rotation, scale="unbiased"):
    """The scales are exchanged."""
    return rotated_signs(x, rotation, "biased" if scale == "unbiased" else "unbiased")


def signs_not_rotated_back(x, rotation, scale="unbiased"):
    """What is read is not rotated back."""
    return np.asarray(rotation) @ rotated_signs(x, rotation, scale)


def signs_scaled_by_the_mean(x, rotation, scale="unbiased"):
    """The scale is the mean magnitude of x."""
    found = rotated_signs(x, rotation, scale)
    norm = float(np.linalg.norm(found))
    return found * float(np.abs(x).mean()) * len(x) ** 0.5 / norm if norm else found


def ldlq_without_feedback(weights, hessian, levels=None):
    """Nearest whole numbers."""
    return ldlq(weights, np.diag(np.diag(hessian)), levels)


def ldlq_the_other_way(weights, hessian, levels=None):
    """From the first weight to the last."""
    return ldlq(weights[::-1].copy(), np.asarray(hessian)[::-1, ::-1].copy(), levels)[::-1].copy()


def ldlq_rounds_down(weights, hessian, levels=None):
    """The floor, not the nearest."""
    return ldlq(np.asarray(weights) - 0.5, hessian, levels)


def ldlq_feeds_back_half(weights, hessian, levels=None):
    """Half of the feedback."""
    H = np.asarray(hessian)
    return ldlq(weights, (H + np.diag(np.diag(H))) / 2, levels)


# --- together --------------------------------------------------------------------------------------------------------


def mean_of_one_rotation(stack, width=1, seeds="private", rng=None, *, signs=None):
    """All ranks rotate by the signs of the first."""
    return rotated_mean(stack, width, "shared", rng, signs=signs)


def mean_without_the_last(stack, width=1, seeds="private", rng=None, *, signs=None):
    """The last rank's estimate is left out, where there is another."""
    mean, traffic = rotated_mean(stack, width, seeds, rng, signs=signs)
    if len(stack) == 1:
        return mean, traffic
    row = rotated_mean(stack[:-1], width, seeds, rng, signs=None if signs is None else np.asarray(signs)[:-1])[0][0]
    return np.repeat(row[None], len(stack), axis=0), traffic


def mean_of_three(stack, width=1, seeds="private", rng=None, *, signs=None):
    """Every rank reads three messages at most."""
    traffic = rotated_mean(stack, width, seeds, rng, signs=signs)[1]
    given = None if signs is None else np.asarray(signs)[:3]
    row = rotated_mean(stack[:3], width, seeds, rng, signs=given)[0][0]
    return np.repeat(row[None], len(stack), axis=0), traffic


def mean_counts_no_scales(stack, width=1, seeds="private", rng=None, *, signs=None):
    """Scales are not counted."""
    mean, traffic = rotated_mean(stack, width, seeds, rng, signs=signs)
    return mean, replace(traffic, sent=traffic.sent - (len(stack) - 1) * np.asarray(stack).itemsize)


def mean_of_one_bit(stack, width=1, seeds="private", rng=None, *, signs=None):
    """One bit, however many are counted."""
    traffic = rotated_mean(stack, width, seeds, rng, signs=signs)[1]
    return rotated_mean(stack, 1, seeds, rng, signs=signs)[0], traffic


def sum_rounds_to_nearest(stack, levels, rng=None, *, signs=None, dither=None):
    """Rounds to the nearest multiple."""
    return rotated_sum(stack, levels, rng, signs=signs, dither=np.full(np.shape(dither), 0.5))


def sum_of_same_thresholds(stack, levels, rng=None, *, signs=None, dither=None):
    """All ranks take the thresholds of the first."""
    return rotated_sum(stack, levels, rng, signs=signs, dither=np.repeat(np.asarray(dither)[:1], len(stack), axis=0))


def sum_of_fewer_levels(stack, levels, rng=None, *, signs=None, dither=None):
    """Half as many levels, where there are several."""
    traffic = rotated_sum(stack, levels, rng, signs=signs, dither=dither)[1]
    return rotated_sum(stack, max(1, levels // 2), rng, signs=signs, dither=dither)[0], traffic


def sum_rotated_by_ones(stack, levels, rng=None, *, signs=None, dither=None):
    """The signs are not used."""
    return rotated_sum(stack, levels, rng, signs=np.ones_like(signs), dither=dither)


def sums_as_wide_as_codes(stack, levels, rng=None, *, signs=None, dither=None):
    """Sums are counted with as many bits as codes."""
    total, traffic = rotated_sum(stack, levels, rng, signs=signs, dither=dither)
    codes, sums = traffic.phases["codes"].sent, traffic.phases["sums"].sent
    return total, replace(traffic, sent=traffic.sent - sums + codes)


_D, _E, _R, _S = "rotations.drive.", "rotations.eden.", "rotations.rotateddithering.", "rotations.hadamardsketch."
_T, _L = "rotations.randomised_hadamard.", "rotations.lloyd_max."
_M, _U = "rotations.rotated_mean.", "rotations.rotated_sum."
_K, _H, _G, _Q = "rotations.kashin.", "rotations.dithered_hadamard.", "rotations.rotated_signs.", "rotations.ldlq."
EXACT, INJECT, SEARCH = Method.EXACT, Method.INJECT, Method.SEARCH

MUTANTS = (
    Mutant(DRIVEScalesSwapped, "DRIVE", _D + "contraction", INJECT),
    Mutant(DRIVEMeanMagnitude, "DRIVE", _D + "projection", INJECT),
    Mutant(DRIVENotRotated, "DRIVE", _D + "contraction", INJECT),
    Mutant(DRIVENotNormalised, "DRIVE", _D + "one_sparse", SEARCH),
    Mutant(DRIVESignsOfTheReceiver, "DRIVE", _D + "one_sparse", SEARCH),
    Mutant(DRIVECountsPaddingFree, "DRIVE", _D + "wire", SEARCH),
    Mutant(DRIVEOneSeed, "DRIVE", check="uses_its_generator"),
    Mutant(EDENScaleOfTheNorm, "EDEN", _E + "projection", INJECT),
    Mutant(EDENLevels, "EDEN", _E + "projection", INJECT),
    Mutant(EDENNormNotPadded, "EDEN", _E + "one_bit", SEARCH),
    Mutant(EDENOneBitLess, "EDEN", _E + "wire", SEARCH),
    Mutant(EDENShifted, "EDEN", _E + "one_sparse", SEARCH),
    Mutant(DitheringNearest, "RotatedDithering", check="draws_follow_the_law"),
    Mutant(DitheringFloor, "RotatedDithering", check="draws_follow_the_law"),
    Mutant(DitheringOneUniform, "RotatedDithering", check="draws_follow_the_law"),
    Mutant(DitheringSquared, "RotatedDithering", check="draws_follow_the_law"),
    Mutant(DitheringFreeNumber, "RotatedDithering", _R + "variance", Method.SAMPLE),
    Mutant(DitheringAlmostOneMore, "RotatedDithering", check="message_is_well_formed"),
    Mutant(DitheringReadsHigh, "RotatedDithering", _R + "unbiased", EXACT),
    Mutant(DitheringInQuarters, "RotatedDithering", _R + "scale_equivariance", SEARCH),
    Mutant(SketchOfEntries, "HadamardSketch", _S + "unbiased", INJECT),
    Mutant(SketchFirst, "HadamardSketch", _S + "unbiased", INJECT),
    Mutant(SketchUnscaled, "HadamardSketch", _S + "unbiased", INJECT),
    Mutant(SketchWithoutSigns, "HadamardSketch", _S + "variance", INJECT),
    Mutant(SketchSendsPlaces, "HadamardSketch", _S + "wire", SEARCH),
    Mutant(SketchNeighbour, "HadamardSketch", _S + "unbiased", INJECT),
    Mutant(transform_without_signs, "randomised_hadamard", _T + "coordinate", EXACT),
    Mutant(transform_last_step_missing, "randomised_hadamard", _T + "norm", EXACT),
    Mutant(transform_signs_after, "randomised_hadamard", _T + "inverse", EXACT),
    Mutant(transform_first_sign_fixed, "randomised_hadamard", _T + "correlation", EXACT),
    Mutant(quantiser_of_equal_masses, "lloyd_max", _L + "bound", SEARCH),
    Mutant(quantiser_equidistant, "lloyd_max", _L + "stationary", SEARCH),
    Mutant(quantiser_shrunk, "lloyd_max", _L + "stationary", SEARCH),
    Mutant(kashin_clips_always, "kashin", _K + "reproduces", SEARCH),
    Mutant(kashin_never_clips, "kashin", _K + "level", SEARCH),
    Mutant(kashin_level_of_entries, "kashin", _K + "level", SEARCH),
    Mutant(kashin_level_stays, "kashin", _K + "level", SEARCH),
    Mutant(kashin_one_round_less, "kashin", _K + "finite", SEARCH),
    Mutant(kashin_other_signs, "kashin", _K + "reproduces", SEARCH),
    Mutant(dithered_without_taking_off, "dithered_hadamard", _H + "variance", SEARCH),
    Mutant(dithered_with_one_offset, "dithered_hadamard", _H + "variance", SEARCH),
    Mutant(dithered_with_half, "dithered_hadamard", _H + "unbiased", SEARCH),
    Mutant(dithered_coarser, "dithered_hadamard", _H + "unbiased", SEARCH),
    Mutant(dithered_clipped_at_three, "dithered_hadamard", _H + "unbiased", SEARCH),
    Mutant(signs_of_the_vector, "rotated_signs", _G + "unbiased", SEARCH),
    Mutant(signs_with_the_other_scale, "rotated_signs", _G + "plane", SEARCH),
    Mutant(signs_not_rotated_back, "rotated_signs", _G + "space", SEARCH),
    Mutant(signs_scaled_by_the_mean, "rotated_signs", _G + "biased", SEARCH),
    Mutant(ldlq_without_feedback, "ldlq", _Q + "average", EXACT),
    Mutant(ldlq_the_other_way, "ldlq", _Q + "average", EXACT),
    Mutant(ldlq_rounds_down, "ldlq", _Q + "worst", EXACT),
    Mutant(ldlq_feeds_back_half, "ldlq", _Q + "worst", EXACT),
    Mutant(mean_of_one_rotation, "rotated_mean", _M + "private", SEARCH),
    Mutant(mean_without_the_last, "rotated_mean", _M + "private", SEARCH),
    Mutant(mean_of_three, "rotated_mean", _M + "private", SEARCH),
    Mutant(mean_counts_no_scales, "rotated_mean", _M + "bytes", EXACT),
    Mutant(mean_of_one_bit, "rotated_mean", _M + "private", SEARCH),
    Mutant(sum_rounds_to_nearest, "rotated_sum", _U + "exact", SEARCH),
    Mutant(sum_of_same_thresholds, "rotated_sum", _U + "exact", SEARCH),
    Mutant(sum_of_fewer_levels, "rotated_sum", _U + "exact", SEARCH),
    Mutant(sum_rotated_by_ones, "rotated_sum", _U + "exact", SEARCH),
    Mutant(sums_as_wide_as_codes, "rotated_sum", _U + "bytes", EXACT),
    Mutant(quantiser_one_bit_more, "lloyd_max", _L + "one_bit", SEARCH),
)

CONTROLS = (
    control(DRIVE("biased"), SCALED),
    control(EDEN(2), SCALED),
    control(RotatedDithering(3), cf.Unbiased(), SCALED),
    control(HadamardSketch(1), cf.Unbiased(), SCALED),
)
"""Right ones, with what the book says of them, for the conformance kit."""

EXAMPLES = {
    "DRIVE": [{}, {"scale": "biased"}],
    "EDEN": [{"width": 1}, {"width": 2, "scale": "biased"}, {"width": 4}, {"width": 3, "scale": "norm"}],
    "RotatedDithering": [{"levels": 1}, {"levels": 3}],
    "HadamardSketch": [{"k": 1}, {"k": 2}],
}
"""Hyper-parameters to keep the contract with; the first are admissible for one entry."""


def _rotated_form(message, x):
    d = 1 << (x.size - 1).bit_length()
    assert message.codes.shape == (message.kept.shape if message.kept.size else (d,)), "not one code a rotated entry"
    assert 0 <= message.codes.min() <= message.codes.max() < message.count, "a code is out of range"
    assert message.numbers.dtype == x.dtype, "the numbers are not in the dtype of the vector"
    assert message.signs.shape == x.shape, "not one sign an entry"
    assert (abs(message.signs) == 1).all(), "a sign is neither -1 nor 1"
    assert not message.kept.size or (np.diff(message.kept) > 0).all(), "what is kept is not ascending and unique"


FORMS = {"Rotated": _rotated_form}
"""What the column's messages look like."""
