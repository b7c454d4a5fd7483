"""Broken group quantisers and quantised all-reduces, each by one defect."""

from dataclasses import replace

import numpy as np
from zoo.right import quantised

from commbounds.collectives import (
    QuantisedSum,
    Traffic,
    hierarchical_quantised_allreduce,
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    twostep_quantised_allreduce,
)
from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer, packed
from commbounds.verify import Method
from mutants.record import Mutant


class Floor(GroupQuantizer):
    """Rounds down to the level below."""

    def _encode(self, x, about, groups, uniforms, codes):
        super()._encode(x, about, groups, uniforms, codes)
        low, scale = (
            np.repeat(about.low[groups], self.group)[: x.size],
            np.repeat(about.scale[groups], self.group)[: x.size],
        )
        codes -= (codes * scale + low > x) & (codes > 0)


class OneLevelFewer(GroupQuantizer):
    """Divides the range by 2^b - 2 where there are more than two levels."""

    @property
    def top(self):
        return max(1, 2**self.width - 2)


class GroupsShifted(GroupQuantizer):
    """Takes the ranges of the groups one entry further on."""

    def _ranges(self, x):
        return super()._ranges(np.roll(x, -1))


class LastGroupLost(GroupQuantizer):
    """Reads zeros in a last group that is not full."""

    def decompress(self, message):
        y = super().decompress(message)
        if y.size % self.group and y.size > self.group:
            y[y.size // self.group * self.group :] = 0
        return y


class NoClamp(GroupQuantizer):
    """Lets a code beyond the last level wrap around."""

    def _encode(self, x, about, groups, uniforms, codes):
        low, scale = (
            np.repeat(about.low[groups], self.group)[: x.size],
            np.repeat(about.scale[groups], self.group)[: x.size],
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            level = np.where(scale > 0, np.rint((x - low) / scale), 0)
        codes[:] = np.mod(level, 2**self.width)


class RepairForgotten(GroupQuantizer):
    """Rounds metadata to the nearest although the repair is asked for."""

    def _ranges(self, x):
        return GroupQuantizer._ranges(replace(self, repaired=False), x)


class AlwaysClamped(GroupQuantizer):
    """Clamps integer zero points although it should not."""

    def _ranges(self, x):
        return GroupQuantizer._ranges(replace(self, zero="clamped") if self.zero == "integer" else self, x)


class SubnormalScalesLost(GroupQuantizer):
    """Stores zero for a scale that is no normal number of float16."""

    def _ranges(self, x):
        about = super()._ranges(x)
        lost = (self.metadata == "float16") & (about.scale < 2.0**-14)
        return replace(about, scale=np.where(lost, 0, about.scale).astype(about.scale.dtype))


class ReadInTwelveBits(GroupQuantizer):
    """Reads in twelve significant bits."""

    def decompress(self, message):
        y = super().decompress(message)
        mantissas, exponents = np.frexp(y)
        return np.ldexp(np.rint(mantissas * 2.0**12) / 2.0**12, exponents).astype(y.dtype)


class RepairedInHalf(GroupQuantizer):
    """Reads in half precision where metadata are repaired."""

    def decompress(self, message):
        y = super().decompress(message)
        return y.astype(np.float16).astype(y.dtype) if self.repaired and np.abs(y).max() < 6e4 else y


class SaturatesEarly(GroupQuantizer):
    """Keeps log2 scales at 2^(-100/theta) or above."""

    def _ranges(self, x):
        about = super()._ranges(x)
        if self.scale != "log2":
            return about
        least = about.scale.dtype.type(2.0 ** (-100 / self.theta))
        return replace(about, scale=np.where(about.scale > 0, np.maximum(about.scale, least), about.scale))


class SpikesInVain(GroupQuantizer):
    """Codes what lies between the spikes in the range of the spikes."""

    def _ranges(self, x):
        about = super()._ranges(x)
        if not self.spikes:
            return about
        plain = GroupQuantizer._ranges(replace(self, spikes=False), x)
        return replace(about, low=plain.low, scale=plain.scale)


class Log2Doubled(GroupQuantizer):
    """Rounds a log2 scale up one step too far."""

    def _ranges(self, x):
        about = super()._ranges(x)
        return replace(about, scale=about.scale * 2 ** (1 / self.theta)) if self.scale == "log2" else about


class MetadataUncounted(GroupQuantizer):
    """Counts the codes alone."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        bits = 8 * sum(plane.nbytes for plane in message.planes)
        return type("Uncounted", (type(message),), {"bits": bits})(**vars(message))


class SpikesForgotten(GroupQuantizer):
    """Does not write the spikes back."""

    def decompress(self, message):
        return super().decompress(replace(message, ranges=replace(message.ranges, positions=None, spikes=None)))


class SpikeRangeKept(GroupQuantizer):
    """Reserves spikes but keeps the range of the whole group."""

    def _ranges(self, x):
        about = super()._ranges(x)
        if not self.spikes:
            return about
        plain = GroupQuantizer._ranges(replace(self, spikes=False), x)
        return replace(about, low=plain.low, scale=2 * plain.scale, exact_scale=2 * plain.exact_scale)


class NearestInstead(StochasticGroupQuantizer):
    """Rounds to the nearest level instead of at random."""

    def compress(self, x, rng=None):
        return GroupQuantizer(self.width, self.group).compress(x)


class OneUniformForAll(StochasticGroupQuantizer):
    """Rounds up with probability one half, whatever the fraction."""

    def law(self, x):
        law = super().law(x)
        return [(type(p)(1, len(law)), y) for p, y in law]


class KernelFavoursUp(StochasticGroupQuantizer):
    """Rounds up with a probability that is a hundredth too large."""

    def _encode(self, x, about, groups, uniforms, codes):
        super()._encode(x, about, groups, np.maximum(uniforms - x.dtype.type(0.01), 0), codes)


class DrawsFavourUp(StochasticGroupQuantizer):
    """Draws uniforms that are a hundredth too small; what is injected it takes as it is."""

    def compress(self, x, rng=None):
        uniforms = rng.random(np.size(x)).astype(np.asarray(x).dtype)
        return self.compress_with(x, np.clip(uniforms - 0.01, 0, 1 - 2.0**-24).astype(np.asarray(x).dtype))


def first_plane_last(codes, bits):
    """Puts the lowest bits into the first plane."""
    low = 2**bits - 1
    turned = sum(((codes >> i) & 1) << (bits - 1 - i) for i in range(bits)).astype(np.uint8)
    return packed(turned & low, bits)


def last_byte_lost(codes, bits):
    """Leaves a last byte that is not full at zero."""
    planes = packed(codes, bits)
    return tuple(np.concatenate([plane[:-1], plane[-1:] * (codes.size % 8 == 0)]).astype(np.uint8) for plane in planes)


def owner_keeps_its_sum(stack, quantiser, *more, **options):
    """Owners do not read their own bytes."""
    return twostep_quantised_allreduce(stack, quantiser, *more, **{**options, "owner_reads_its_code": False})


def sum_not_recoded(stack, quantiser, second=None, rng=None, **options):
    """Sends sums as they are, and counts them as if they had been quantised."""
    result, traffic = oneshot_quantised_allreduce(stack, quantiser, rng)
    _, counted = twostep_quantised_allreduce(stack, quantiser, second, rng, **options)
    return QuantisedSum(2 * result.values - np.sum(stack, axis=0), result.moves), counted if traffic else traffic


def mean_in_place_of_sum(stack, quantiser, *more, **options):
    """Divides by the number of ranks."""
    result, traffic = twostep_quantised_allreduce(stack, quantiser, *more, **options)
    return QuantisedSum(result.values / len(stack), result.moves), traffic


def owners_round_to_nearest(stack, quantiser, *more, **options):
    """Owners quantise their sums without randomness."""
    nearest = GroupQuantizer(quantiser.width, quantiser.group, quantiser.metadata)
    return twostep_quantised_allreduce(stack, quantiser, nearest, **options)


def owners_draw_as_ranks_do(stack, quantiser, *more, draw=None, **options):
    """An owner's uniforms are those of the first rank."""
    again = None if draw is None else lambda stage, rank: draw(0, 0 if stage else rank)
    return twostep_quantised_allreduce(stack, quantiser, *more, draw=again, **options)


def second_stage_uncounted(stack, quantiser, *more, **options):
    """Counts the all-to-all alone."""
    result, traffic = twostep_quantised_allreduce(stack, quantiser, *more, **options)
    moves = result.moves[:1]
    ones = np.ones((len(moves), len(stack)), np.int64)
    return QuantisedSum(result.values, moves), Traffic.of_steps(moves.sum(2), moves.sum(1), ones) if len(
        moves
    ) else traffic


def ring_counts_floats(stack, quantiser, *more):
    """Counts the reduce-scatter at 32 bits an entry."""
    result, traffic = ring_quantised_allreduce(stack, quantiser, *more)
    moves = result.moves.copy()
    moves[: len(moves) // 2] *= 32 // quantiser.width
    ones = np.ones(moves.shape[:2], np.int64)
    return QuantisedSum(result.values, moves), Traffic.of_steps(moves.sum(2), moves.sum(1), ones) if len(
        moves
    ) else traffic


def ring_quantises_twice(stack, quantiser, *more):
    """Adds the last rank's vector twice."""
    result, traffic = ring_quantised_allreduce(stack, quantiser, *more)
    return QuantisedSum(result.values + stack[-1], result.moves), traffic


def ring_codes_finer(stack, quantiser, *more):
    """Codes at two bits more than it was given."""
    finer = replace(quantiser, width=min(8, quantiser.width + 2))
    result, _ = ring_quantised_allreduce(stack, finer, *more)
    return result, ring_quantised_allreduce(stack, quantiser, *more)[1]


def oneshot_own_exact(stack, quantiser, *more):
    """Every rank adds a coarser code of its own vector."""
    result, traffic = oneshot_quantised_allreduce(stack, quantiser, *more)
    off = 2 * (quantiser(np.asarray(stack)[0]) - np.asarray(stack)[0])
    return QuantisedSum(result.values + off, result.moves), traffic


def sides_keep_their_sums(stack, quantiser, node, *more, **options):
    """A side keeps its own half as it is."""
    return hierarchical_quantised_allreduce(stack, quantiser, node, *more, **{**options, "both_read_both": False})


def bridge_crossed_twice(stack, quantiser, node, *more, **options):
    """Sends both halves over the bridge."""
    result, traffic = hierarchical_quantised_allreduce(stack, quantiser, node, *more, **options)
    return QuantisedSum(result.values, np.concatenate([result.moves, result.moves])), traffic


_G, _T, _R = "flashcomm.groupquant.", "flashcomm.twostep.", "flashcomm.ring."
_TWO, _RING, _ONE = "twostep_quantised_allreduce", "ring_quantised_allreduce", "oneshot_quantised_allreduce"
_NODES = "hierarchical_quantised_allreduce"
EXACT, SEARCH, SAMPLE = Method.EXACT, Method.SEARCH, Method.SAMPLE

MUTANTS = (
    Mutant(Floor, "GroupQuantizer", _G + "error", SEARCH),
    Mutant(OneLevelFewer, "GroupQuantizer", _G + "error", EXACT),
    Mutant(GroupsShifted, "GroupQuantizer", _G + "ends", SEARCH),
    Mutant(LastGroupLost, "GroupQuantizer", _G + "error", SEARCH),
    Mutant(NoClamp, "GroupQuantizer", _G + "stored", SEARCH),
    Mutant(RepairForgotten, "GroupQuantizer", _G + "repaired", SEARCH),
    Mutant(AlwaysClamped, "GroupQuantizer", _G + "integer_point", SEARCH),
    Mutant(Log2Doubled, "GroupQuantizer", _G + "log2_inflation", SEARCH),
    Mutant(SubnormalScalesLost, "GroupQuantizer", _G + "stored", SEARCH),
    Mutant(SaturatesEarly, "GroupQuantizer", _G + "log2_inflation", SEARCH),
    Mutant(ReadInTwelveBits, "GroupQuantizer", _G + "ends_rounded", SEARCH),
    Mutant(RepairedInHalf, "GroupQuantizer", _G + "repaired_rounded", SEARCH),
    Mutant(SpikesInVain, "GroupQuantizer", "flashcomm.spikes.pays_isolated", SEARCH),
    Mutant(MetadataUncounted, "GroupQuantizer", _G + "wire", EXACT),
    Mutant(SpikesForgotten, "GroupQuantizer", "flashcomm.spikes.kept", SEARCH),
    Mutant(SpikeRangeKept, "GroupQuantizer", "flashcomm.spikes.range", SEARCH),
    Mutant(NearestInstead, "StochasticGroupQuantizer", "flashcomm.stochastic.unbiased", SAMPLE),
    Mutant(OneUniformForAll, "StochasticGroupQuantizer", "flashcomm.stochastic.unbiased", EXACT),
    Mutant(KernelFavoursUp, "StochasticGroupQuantizer", "flashcomm.stochastic.unbiased", SEARCH),
    Mutant(DrawsFavourUp, "StochasticGroupQuantizer", "flashcomm.stochastic.unbiased", SAMPLE),
    Mutant(first_plane_last, "packed", "flashcomm.bitplanes.lossless", EXACT),
    Mutant(last_byte_lost, "packed", "flashcomm.bitplanes.lossless", EXACT),
    Mutant(owner_keeps_its_sum, _TWO, _T + "agreement", SEARCH),
    Mutant(sum_not_recoded, _TWO, _T + "error", SEARCH),
    Mutant(mean_in_place_of_sum, _TWO, _T + "error_by_scales", SEARCH),
    Mutant(second_stage_uncounted, _TWO, _T + "bytes", EXACT),
    Mutant(owners_round_to_nearest, _TWO, _T + "unbiased", EXACT),
    Mutant(owners_draw_as_ranks_do, _TWO, _T + "unbiased", EXACT),
    Mutant(ring_counts_floats, _RING, _R + "bytes", EXACT),
    Mutant(ring_quantises_twice, _RING, _R + "error", SEARCH),
    Mutant(ring_codes_finer, _RING, _R + "never_better_own_kept", SEARCH),
    Mutant(oneshot_own_exact, _ONE, "flashcomm.oneshot.error", SEARCH),
    Mutant(sides_keep_their_sums, _NODES, "flashcomm.hierarchical.agreement", SEARCH),
    Mutant(bridge_crossed_twice, _NODES, "flashcomm.hierarchical.bridge", EXACT),
)

CONTROLS = (
    quantised(twostep_quantised_allreduce),
    quantised(ring_quantised_allreduce),
    quantised(oneshot_quantised_allreduce),
)
"""Right ones, with what the book says of them, for the conformance kit."""
