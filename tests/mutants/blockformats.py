"""Broken block formats and sums in them, each by one defect; and right ones."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from zoo.right import SMALL

from commbounds.collectives.blockformats import (
    UNEVEN_TABLE,
    Thinned,
    homomorphic_allreduce,
    multihop_allreduce,
    requantised_allreduce,
    table_allreduce,
)
from commbounds.compressors.blockformats import (
    NVFP4,
    Blocks,
    FourOverSix,
    Microscaling,
    MSEden,
    ScaledBlocks,
    SharedMicroexponents,
    ShiftedBlocks,
    StochasticFourOverSix,
    StochasticMicroscaling,
    StochasticNVFP4,
)
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from mutants.record import Mutant, native


def _towards_zero(c, x, message):
    """`message` with the codes that are read as more than the entry brought down by one."""
    above = np.abs(c.decompress(message)) > np.abs(native(x))
    return replace(message, codes=(message.codes - np.sign(message.codes) * above).astype(np.int8))


class ElementsTruncated(Microscaling):
    """Rounds towards zero."""

    def compress(self, x, rng=None):
        return _towards_zero(self, x, super().compress(x))


class NeverClips(Microscaling):
    """Takes the next larger scale where the specification clips."""

    @property
    def limit(self):
        return self.format.reach if self.scale == "floor" else super().limit


class ClipsAnyway(Microscaling):
    """Takes the specification's scale whatever is asked for."""

    @property
    def limit(self):
        return Fraction(2)


class NearestIsLower(Microscaling):
    """Takes the lower power of two where the nearest is asked for."""

    @property
    def limit(self):
        return Fraction(2) if self.scale == "nearest" else super().limit


class AlwaysDoubled(Microscaling):
    """Takes twice the scale that is asked for where that clips nothing."""

    @property
    def limit(self):
        return Fraction(0) if self.scale in ("rceil", "ceil") else super().limit


class BlockScalesShifted(Microscaling):
    """Takes the scales of the blocks one entry further on."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        shifted = super().compress(np.roll(native(x), -1))
        return replace(message, exponents=shifted.exponents)


class ElementsUnsigned(Microscaling):
    """Drops the signs."""

    def decompress(self, message):
        return np.abs(super().decompress(message))


class SmallestLost(Microscaling):
    """Has no number below the smallest normal one."""

    def decompress(self, message):
        smallest = 2 ** (self.format.digits - 1) if self.format.floating else 1
        return super().decompress(
            replace(message, codes=np.where(np.abs(message.codes) < smallest, 0, message.codes).astype(np.int8))
        )


class FinerOfLarge(Microscaling):
    """Multiplies with one and a quarter what is larger than one, and divides by it when reading."""

    def __call__(self, x, rng=None):
        gain = np.where(np.abs(native(x)) > 1, 1.25, 1.0)
        return super().__call__(native(x) * gain) / gain


@dataclass(frozen=True, eq=False)
class _BlockScalesFree(Blocks):
    @property
    def bits(self):
        return int(self.codes.size * self.width)


class BlockScalesFree(Microscaling):
    """Does not count the scales."""

    def compress(self, x, rng=None):
        return _BlockScalesFree(**vars(super().compress(x)))


class NearestElementInstead(StochasticMicroscaling):
    """Rounds to nearest."""

    def compress_with(self, x, uniforms):
        return super().compress_with(x, np.full_like(uniforms, 0.5))


class ElementsFloored(StochasticMicroscaling):
    """Rounds towards zero."""

    def compress_with(self, x, uniforms):
        return super().compress_with(x, np.full_like(uniforms, 1 - np.finfo(uniforms.dtype).epsneg))


class ElementUniformsSquared(StochasticMicroscaling):
    """Squares its uniforms."""

    def compress_with(self, x, uniforms):
        return super().compress_with(x, uniforms * uniforms)


class ClippedThreeQuarters(StochasticMicroscaling):
    """Reads with 4/3 what went in as it was."""

    def compress_with(self, x, uniforms):
        if self.scale != "rceil":
            return super().compress_with(x, uniforms)
        return StochasticMicroscaling(self.element, self.block, "floor").compress_with(x, uniforms)


class BlockScalesCoarse(NVFP4):
    """Takes scales that are powers of two alone."""

    def _message(self, x, draw):
        message = super()._message(x, draw)
        rounded = replace(message, scales=message.scales // 8 * 8)
        again = replace(self)
        codes = super(BlockScalesCoarse, again)._message(x, draw).codes
        return replace(rounded, codes=codes)


class BlockScalesUp(NVFP4):
    """Always rounds scales up."""

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "scale", "up")


class SmallScalesFlushed(NVFP4):
    """Has no scales below the smallest normal one."""

    def decompress(self, message):
        return super().decompress(replace(message, scales=np.where(message.scales < 8, 0, message.scales).astype("u1")))


class LastFourBitBlockLost(NVFP4):
    """Reads zeros in a last block that is not full."""

    def decompress(self, message):
        y = super().decompress(message)
        if y.size % self.block and y.size > self.block:
            y[y.size // self.block * self.block :] = 0
        return y


@dataclass(frozen=True, eq=False)
class _TensorScaleFree(ScaledBlocks):
    @property
    def bits(self):
        return int(4 * self.codes.size + 8 * self.scales.size)


class TensorScaleFree(NVFP4):
    """Does not count the tensor's scale."""

    def compress(self, x, rng=None):
        return _TensorScaleFree(**vars(super().compress(x)))


class NearestOfFour(StochasticNVFP4):
    """Rounds to nearest."""

    def compress_with(self, x, uniforms):
        return super().compress_with(x, np.full_like(uniforms, 0.5))

    def law(self, x):
        return NVFP4(self.block, self.scale).law(x)


class ClipsAtFive(StochasticNVFP4):
    """Rounds down what lies beyond 4."""

    def _elements_exact(self, level):
        return [(Fraction(1), Fraction(4))] if level > 4 else super()._elements_exact(level)


class EdenNotRescaled(MSEden):
    """Reads with the scale of the largest entry."""

    def _message(self, x, signs):
        message = super()._message(x, signs)
        top = np.abs(np.repeat(message.scales, self.dim)).max()
        return replace(message, scales=np.where(message.scales > 0, np.asarray(top, x.dtype), message.scales))

    def exact_output(self, entries, signs):
        return tuple(v * Fraction(9, 10) for v in super().exact_output(entries, signs))


class EdenSignsForgotten(MSEden):
    """Does not undo the signs."""

    def exact_output(self, entries, signs):
        found = super().exact_output(entries, signs)
        turned = [s for _ in range(-(-len(found) // self.dim)) for s in signs]
        return tuple(v * s for v, s in zip(found, turned, strict=False))


# --- sums --------------------------------------------------------------------------------------------------------


def last_block_sender_ignored(stack, quantiser, schedule="ring", rng=None, *, uniforms=None):
    """The last of several ranks adds zeros."""
    given = np.array(stack)
    if len(given) > 1:
        given[-1] = 0
    return requantised_allreduce(given, quantiser, schedule, rng, uniforms=uniforms)


def elements_counted_as_bytes(stack, quantiser, schedule="ring", rng=None, *, uniforms=None):
    """Every element is counted as a byte."""
    sums, traffic = requantised_allreduce(stack, quantiser, schedule, rng, uniforms=uniforms)
    return sums, replace(traffic, sent=2 * traffic.sent)


def one_scale_a_vector(stack, quantiser, schedule="ring", rng=None, *, uniforms=None):
    """A byte less is counted where a part has blocks of its own."""
    sums, traffic = requantised_allreduce(stack, quantiser, schedule, rng, uniforms=uniforms)
    return sums, replace(traffic, sent=np.maximum(traffic.sent - 1, 0))


def direct_rounds_the_ring(stack, quantiser, schedule="ring", rng=None, *, uniforms=None):
    """Two steps are taken round the ring."""
    return requantised_allreduce(stack, quantiser, "ring", rng, uniforms=uniforms)


def ring_rounds_down(stack, quantiser, schedule="ring", rng=None, *, uniforms=None):
    """Uniforms are a quarter larger than they are."""
    more = None if uniforms is None else np.minimum(1.25 * uniforms, 1 - 2.0**-30)
    return requantised_allreduce(stack, quantiser, schedule, rng, uniforms=more)


def fifth_direct_sender_ignored(stack, quantiser, schedule="ring", rng=None, *, uniforms=None):
    """In two steps the fifth rank adds zeros."""
    given = np.array(stack)
    if schedule == "direct":
        given[4:5] = 0
    return requantised_allreduce(given, quantiser, schedule, rng, uniforms=uniforms)


def clips_a_quarter(stack, *more, **given):
    """Clips what lies beyond three quarters of the largest entry."""
    x = np.asarray(stack)
    top = 0.75 * np.abs(x).max() or np.inf
    return homomorphic_allreduce(np.clip(x, -top, top), *more, **given)


def sums_in_the_bits_of_codes(stack, width=4, block=32, rounding="nearest", rng=None, *, sum_width=None, **drawn):
    """Sums have one bit more than codes."""
    return homomorphic_allreduce(stack, width, block, rounding, rng, sum_width=sum_width or width + 1, **drawn)


def one_bit_spare(stack, width=4, block=32, rounding="nearest", rng=None, *, sum_width=None, **drawn):
    """One of the bits of a sum is not used."""
    less = None if sum_width is None else max(2, sum_width - 1)
    return homomorphic_allreduce(stack, width, block, rounding, rng, sum_width=less, **drawn)


def shared_exponents_free(stack, *more, **given):
    """Exponents are not counted."""
    sums, traffic = homomorphic_allreduce(stack, *more, **given)
    return sums, replace(traffic, sent=traffic.sent - traffic.phases["exponents"].sent)


def orders_ignored(stack, width=4, block=32, rounding="nearest", rng=None, *, orders=None, uniforms=None, **given):
    """Correlated rounding is independent."""
    how = "independent" if rounding == "correlated" else rounding
    return homomorphic_allreduce(stack, width, block, how, rng, uniforms=uniforms, **given)


def orders_shared(stack, width=4, block=32, rounding="nearest", rng=None, *, orders=None, uniforms=None, **given):
    """All ranks take the uniforms of the first."""
    if rounding != "nearest" and uniforms is not None:
        uniforms = np.repeat(np.asarray(uniforms)[:1], len(stack), axis=0)
    more = {"uniforms": uniforms} | ({} if orders is None else {"orders": orders})
    return homomorphic_allreduce(stack, width, block, rounding, rng, **more, **given)


def orders_of_four_alone(stack, width=4, block=32, rounding="nearest", rng=None, *, orders=None, **given):
    """From five ranks on the order is that of the ranks."""
    if orders is not None and len(stack) > 4:
        orders = np.repeat(np.arange(len(stack))[:, None], np.shape(orders)[1], axis=1)
    return homomorphic_allreduce(stack, width, block, rounding, rng, orders=orders, **given)


def nearest_rounds_up(stack, width=4, block=32, rounding="nearest", rng=None, **given):
    """Nearest takes the code above."""
    if rounding != "nearest":
        return homomorphic_allreduce(stack, width, block, rounding, rng, **given)
    zeros = np.zeros(np.shape(stack))
    return homomorphic_allreduce(stack, width, block, "independent", uniforms=zeros, **given)


# --- blocks that adapt -------------------------------------------------------------------------------------------


class AlwaysEndsAtFour(FourOverSix):
    """Ends every block at 4."""

    def _block_errors(self, values, tensor, scales, codes):
        self.__dict__["turn"] = not self.__dict__.get("turn", False)
        return np.zeros(scales.size) + self.__dict__["turn"]


class WorseOfBothEnds(FourOverSix):
    """Keeps the one that errs more."""

    def _block_errors(self, values, tensor, scales, codes):
        return -super()._block_errors(values, tensor, scales, codes)


class FourEndsLostBelow(FourOverSix):
    """Has no scales below twice the smallest one."""

    def decompress(self, message):
        return super().decompress(replace(message, scales=np.where(message.scales < 2, 0, message.scales).astype("u1")))


class ElementsOfFourTruncated(FourOverSix):
    """Reads the last element of a block one lower."""

    def decompress(self, message):
        codes = message.codes.copy()
        codes[-1] -= np.sign(codes[-1])
        return super().decompress(replace(message, codes=codes))


class DrawsOfSixForFour(StochasticFourOverSix):
    """Takes the same uniforms for both, and chooses after drawing."""

    def compress_with(self, x, pairs):
        after = StochasticFourOverSix(self.block, self.scale, "drawn")
        return after.compress_with(x, np.stack([pairs[0], pairs[0]]))


class ChoosesAfterAll(StochasticFourOverSix):
    """Chooses after drawing."""

    def compress_with(self, x, pairs):
        return StochasticFourOverSix(self.block, self.scale, "drawn").compress_with(x, pairs)


class BothDrawsHalved(StochasticFourOverSix):
    """Halves its uniforms."""

    def compress_with(self, x, pairs):
        return super().compress_with(x, pairs / 2)


class BothToNearest(StochasticFourOverSix):
    """Rounds to nearest."""

    def compress_with(self, x, pairs):
        return super().compress_with(x, np.full_like(pairs, 0.5))


class PairsNeverShifted(SharedMicroexponents):
    """Has one step for a block."""

    def decompress(self, message):
        codes = np.empty_like(message.codes)
        halves = np.repeat(message.shifts, 2)[: codes.size] if self.block % 2 == 0 else np.ones(codes.size)
        codes[:] = np.where(halves == 1, np.rint(message.codes / 2) * 2, message.codes)
        return super().decompress(replace(message, codes=codes))


class ShiftsLostInReading(SharedMicroexponents):
    """Reads every pair with the block's step."""

    def decompress(self, message):
        return super().decompress(replace(message, shifts=np.zeros_like(message.shifts)))


class MicroCutOffEarly(SharedMicroexponents):
    """Cuts off at one step less."""

    def decompress(self, message):
        last = 2**self.digits - 2
        return super().decompress(replace(message, codes=np.clip(message.codes, -last, last).astype(np.int16)))


@dataclass(frozen=True, eq=False)
class _ShiftsFree(ShiftedBlocks):
    @property
    def bits(self):
        return int(self.codes.size * (self.digits + 1) + 8 * self.exponents.size)


class ShiftsFree(SharedMicroexponents):
    """Does not count the shifts."""

    def compress(self, x, rng=None):
        return _ShiftsFree(**vars(super().compress(x)))


class ShrinksAgain(SharedMicroexponents):
    """Reads fifteen sixteenths."""

    def decompress(self, message):
        return super().decompress(message) * 0.9375


# --- tables and hops ---------------------------------------------------------------------------------------------


def indices_added(stack, table=UNEVEN_TABLE, *more, **given):
    """Looks up as if the table were even."""
    even = tuple(range(len(table)))
    sums, traffic = table_allreduce(stack, even, *more, **given)
    return sums, traffic


def last_index_sender_ignored(stack, *more, **given):
    """The last of several ranks sends zeros."""
    x = np.array(stack)
    if len(x) > 1:
        x[-1] = 0
    return table_allreduce(x, *more, **given)


def fine_step_ignored(stack, table=UNEVEN_TABLE, *more, fine=None, uniforms=None, **given):
    """Rounds at once."""
    own = uniforms if fine is None else np.asarray(uniforms)[-1:]
    return table_allreduce(stack, table, *more, uniforms=own, **given)


def table_draws_shared(stack, *more, uniforms=None, **given):
    """All ranks take the uniforms of the first."""
    if uniforms is not None:
        u = np.asarray(uniforms)
        uniforms = np.repeat(u[:, :1], u.shape[1], axis=1)
    return table_allreduce(stack, *more, uniforms=uniforms, **given)


def nearest_number(stack, *more, uniforms=None, **given):
    """Rounds to the nearest number."""
    half = None if uniforms is None else np.full_like(uniforms, 0.5)
    return table_allreduce(stack, *more, uniforms=half, **given)


def one_table_bit_spare(stack, *more, sum_bits=None, **given):
    """One of the bits of a sum is not used."""
    return table_allreduce(stack, *more, sum_bits=None if sum_bits is None else max(1, sum_bits - 1), **given)


def norms_free(stack, *more, **given):
    """Norms are not counted."""
    sums, traffic = table_allreduce(stack, *more, **given)
    return sums, replace(traffic, sent=traffic.sent - traffic.phases["norms"].sent)


def range_too_narrow(stack, table=UNEVEN_TABLE, top=2.0, *more, **given):
    """Takes three quarters of the range."""
    return table_allreduce(stack, table, 0.75 * top, *more, **given)


def halves_swapped_twice(stack, quantiser, topology="butterfly", rng=None, *, uniforms=None):
    """Is a ring whatever is asked for."""
    own = uniforms
    if uniforms is not None and topology == "butterfly":
        u = np.asarray(uniforms)
        own = np.concatenate([u, u[:1].repeat(max(0, len(stack) - len(u)), axis=0)])[: len(stack)]
    return multihop_allreduce(stack, quantiser, "ring", rng, uniforms=own)


def hops_not_rounded(stack, quantiser, topology="butterfly", rng=None, *, uniforms=None):
    """Draws of the first stage keep everything."""
    if uniforms is not None:
        uniforms = np.array(uniforms)
        uniforms[0] = 0
    return multihop_allreduce(stack, quantiser, topology, rng, uniforms=uniforms)


def kept_as_they_are(stack, quantiser, topology="butterfly", rng=None, *, uniforms=None):
    """Does not divide by the share that is kept."""
    if isinstance(quantiser, Thinned):
        quantiser = _Undivided(quantiser.keep)
    return multihop_allreduce(stack, quantiser, topology, rng, uniforms=uniforms)


class _Undivided(Thinned):
    def read(self, sent, n, dtype):
        return super().read(sent, n, dtype) * np.dtype(dtype).type(self.keep)


def scales_of_hops_free(stack, quantiser, topology="butterfly", rng=None, *, uniforms=None):
    """A byte less is counted of every rank that sends."""
    sums, traffic = multihop_allreduce(stack, quantiser, topology, rng, uniforms=uniforms)
    return sums, replace(traffic, sent=np.maximum(traffic.sent - 1, 0))


def last_half_doubled(stack, quantiser, topology="butterfly", rng=None, *, uniforms=None):
    """The last rank's vector is added twice."""
    x = np.array(stack)
    x[-1] *= 2
    return multihop_allreduce(x, quantiser, topology, rng, uniforms=uniforms)


def middle_part_not_rounded(stack, quantiser, topology="butterfly", rng=None, *, uniforms=None):
    """Of the part of the second of several ranks, every draw but the last keeps everything."""
    x, P = np.asarray(stack), len(stack)
    if uniforms is not None and P > 2:
        uniforms, size = np.array(uniforms), x.shape[1] // P
        start = size + min(1, x.shape[1] % P)
        uniforms[:-1, :, start : start + size] = 0
    return multihop_allreduce(stack, quantiser, topology, rng, uniforms=uniforms)


_M, _S, _N = "blockformats.microscaling.", "blockformats.stochastic.", "blockformats.nvfp4."
_R, _H, _C = "blockformats.requantised.", "blockformats.homomorphic.", "blockformats.correlated."
_SUM, _CODES = "requantised_allreduce", "homomorphic_allreduce"
_F, _G, _U = "blockformats.fouroversix.", "blockformats.stochastic_fouroversix.", "blockformats.microexponents."
_T, _P = "blockformats.table.", "blockformats.multihop."
_FOUR, _BOTH, _MICRO = "FourOverSix", "StochasticFourOverSix", "SharedMicroexponents"
_TABLE, _HOPS = "table_allreduce", "multihop_allreduce"
EXACT, SEARCH = Method.EXACT, Method.SEARCH

MUTANTS = (
    Mutant(ElementsTruncated, "Microscaling", _M + "contraction", EXACT),
    Mutant(NeverClips, "Microscaling", _M + "contraction", SEARCH),
    Mutant(ClipsAnyway, "Microscaling", _M + "maximum_unclipped", EXACT),
    Mutant(NearestIsLower, "Microscaling", _M + "maximum_of_nearest", EXACT),
    Mutant(AlwaysDoubled, "Microscaling", _M + "idempotence", EXACT),
    Mutant(BlockScalesShifted, "Microscaling", _M + "maximum", EXACT),
    Mutant(ElementsUnsigned, "Microscaling", _M + "sign_symmetry", EXACT),
    Mutant(SmallestLost, "Microscaling", _M + "drift_uniform", EXACT),
    Mutant(FinerOfLarge, "Microscaling", _M + "scale_equivariance", EXACT),
    Mutant(BlockScalesFree, "Microscaling", _M + "wire", EXACT),
    Mutant(NearestElementInstead, "StochasticMicroscaling", _S + "unbiased", EXACT),
    Mutant(ElementsFloored, "StochasticMicroscaling", _S + "unbiased", EXACT),
    Mutant(ElementUniformsSquared, "StochasticMicroscaling", _S + "variance", EXACT),
    Mutant(ClippedThreeQuarters, "StochasticMicroscaling", _S + "unbiased", EXACT),
    Mutant(BlockScalesCoarse, "NVFP4", _N + "maximum", EXACT),
    Mutant(BlockScalesUp, "NVFP4", _N + "maximum", EXACT),
    Mutant(SmallScalesFlushed, "NVFP4", _N + "lost_blocks", SEARCH),
    Mutant(LastFourBitBlockLost, "NVFP4", _N + "maximum", EXACT),
    Mutant(TensorScaleFree, "NVFP4", _N + "wire", SEARCH),
    Mutant(NearestOfFour, "StochasticNVFP4", "blockformats.stochastic_nvfp4.unbiased", EXACT),
    Mutant(ClipsAtFive, "StochasticNVFP4", "blockformats.stochastic_nvfp4.bias", EXACT),
    Mutant(EdenNotRescaled, "MSEden", "blockformats.mseden.projection", EXACT),
    Mutant(EdenSignsForgotten, "MSEden", "blockformats.mseden.projection", EXACT),
    Mutant(last_block_sender_ignored, _SUM, _R + "unbiased", EXACT),
    Mutant(elements_counted_as_bytes, _SUM, _R + "bytes", EXACT),
    Mutant(one_scale_a_vector, _SUM, _R + "bits_an_entry_of_whole_blocks", EXACT),
    Mutant(fifth_direct_sender_ignored, _SUM, _R + "unbiased", EXACT),
    Mutant(direct_rounds_the_ring, _SUM, _R + "direct_error", SEARCH),
    Mutant(ring_rounds_down, _SUM, _R + "unbiased", EXACT),
    Mutant(clips_a_quarter, _CODES, _H + "sums", EXACT),
    Mutant(sums_in_the_bits_of_codes, _CODES, _H + "sums", EXACT),
    Mutant(one_bit_spare, _CODES, _H + "sum_bits", EXACT),
    Mutant(shared_exponents_free, _CODES, _H + "bytes", EXACT),
    Mutant(nearest_rounds_up, _CODES, _H + "error", EXACT),
    Mutant(orders_ignored, _CODES, _C + "equal", EXACT),
    Mutant(orders_of_four_alone, _CODES, _C + "unbiased", EXACT),
    Mutant(orders_shared, _CODES, _C + "independent", EXACT),
    Mutant(AlwaysEndsAtFour, _FOUR, _F + "no_worse", EXACT),
    Mutant(WorseOfBothEnds, _FOUR, _F + "contraction", EXACT),
    Mutant(FourEndsLostBelow, _FOUR, _F + "lost_blocks", SEARCH),
    Mutant(ElementsOfFourTruncated, _FOUR, _F + "contraction", EXACT),
    Mutant(DrawsOfSixForFour, _BOTH, _G + "unbiased", EXACT),
    Mutant(ChoosesAfterAll, _BOTH, _G + "unbiased", EXACT),
    Mutant(BothDrawsHalved, _BOTH, _G + "unbiased", EXACT),
    Mutant(BothToNearest, _BOTH, _G + "unbiased", EXACT),
    Mutant(PairsNeverShifted, _MICRO, _U + "contraction", EXACT),
    Mutant(ShiftsLostInReading, _MICRO, _U + "contraction", EXACT),
    Mutant(MicroCutOffEarly, _MICRO, _U + "maximum", EXACT),
    Mutant(ShiftsFree, _MICRO, _U + "wire", EXACT),
    Mutant(ShrinksAgain, _MICRO, _U + "idempotence", EXACT),
    Mutant(indices_added, _TABLE, _T + "variance", EXACT),
    Mutant(last_index_sender_ignored, _TABLE, _T + "sums", EXACT),
    Mutant(fine_step_ignored, _TABLE, _T + "at_a_number", EXACT),
    Mutant(table_draws_shared, _TABLE, _T + "variance", EXACT),
    Mutant(nearest_number, _TABLE, _T + "unbiased", EXACT),
    Mutant(one_table_bit_spare, _TABLE, _T + "sum_bits", EXACT),
    Mutant(norms_free, _TABLE, _T + "bytes", EXACT),
    Mutant(range_too_narrow, _TABLE, _T + "beyond", EXACT),
    Mutant(halves_swapped_twice, _HOPS, _P + "butterfly_law", EXACT),
    Mutant(middle_part_not_rounded, _HOPS, _P + "ring_law", EXACT),
    Mutant(hops_not_rounded, _HOPS, _P + "ring_law", EXACT),
    Mutant(kept_as_they_are, _HOPS, _P + "unbiased", EXACT),
    Mutant(scales_of_hops_free, _HOPS, _P + "bytes", EXACT),
    Mutant(last_half_doubled, _HOPS, _P + "nearest_error", EXACT),
)


def _agreeing(function, **given):
    def run(stack, seed):
        return np.array(function(stack, **given)[0])

    return cf.AllReduce(run, [cf.RanksAgree()], name=f"{function.__name__}({given})", **SMALL)


CONTROLS = (
    _agreeing(requantised_allreduce, quantiser=Microscaling(scale="rceil"), schedule="ring"),
    _agreeing(requantised_allreduce, quantiser=NVFP4(), schedule="direct"),
    _agreeing(homomorphic_allreduce, width=6),
)
"""Right ones for the conformance kit."""
