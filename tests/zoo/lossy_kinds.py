"""Broken collectives of further kinds: packing, layouts, duplicates, dither, short cuts; right ones in odd styles."""

import struct
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial

import ml_dtypes
import numpy as np

from commbounds.verify import conformance as cf
from zoo.lossy_ranks import BLOCK, BLOCKS, GATHERED, NORMAL, blocks, gathered
from zoo.lossy_sums import LEVELS, NEAREST, RANDOM, at_random, coded, decoded, everywhere, step_of, steps, to_nearest
from zoo.record import broken

FEW = 7
"""Levels of four bits, on either side."""


def wide(row):
    return row.astype(np.float64)


def half_steps(levels):
    """Half a step of every rank, of so many levels."""
    return cf.AbsoluteError(lambda stack: sum(LEVELS * step_of(row) for row in stack if row.any()) / levels / 2)


# --- packing and layouts ---------------------------------------------------------------------------------------------


def through_bytes(row, packed, unpacked):
    """A row in four bits, two codes a byte."""
    step = LEVELS * step_of(row) / FEW
    codes = np.rint(wide(row) / step).astype(np.int64) & 15
    found = unpacked(packed(codes), row.size)
    return np.where(found < 8, found, found - 16) * step


def pairs(codes):
    padded = np.pad(codes, (0, codes.size % 2)).astype(np.uint8)
    return padded[::2] | padded[1::2] << np.uint8(4)


def both(packed, n):
    return np.stack([packed & 15, packed >> 4], axis=1).ravel()[:n].astype(np.int64)


def nibbles_in_pairs(stack, seed):
    """Two codes of four bits share a byte."""
    return everywhere(sum(through_bytes(row, pairs, both) for row in stack), stack)


def nibbles_of_whole_bytes(stack, seed):
    """Packs whole pairs of codes: the last of an odd number is lost."""

    def packed(codes):
        return pairs(codes[: codes.size // 2 * 2])

    def unpacked(sent, n):
        return np.append(both(sent, n), 0)[:n]

    return everywhere(sum(through_bytes(row, packed, unpacked) for row in stack), stack)


def in_a_table(stack, order):
    """Blocks of all ranks, read by a table of scales that was laid out in an order."""
    rows = in_rows_of_blocks(stack)
    table = np.abs(rows).max(axis=2) / LEVELS
    codes = np.rint(rows / np.where(table > 0.0, table, 1.0)[:, :, None])
    read = table.ravel(order=order).reshape(table.shape)
    return everywhere((codes * read[:, :, None]).sum(axis=0).ravel()[: stack.shape[1]], stack)


def table_by_columns(stack, seed):
    """Reads the table of scales, ranks by blocks, as if it were one of blocks by ranks."""
    return in_a_table(stack, "F")


def interleaved_ranks(stack, seed):
    """Gathers entry by entry: the ranks' first ones, then their second ones."""
    rows = gathered(stack, seed)
    return np.ascontiguousarray(rows.transpose(0, 2, 1)).reshape(rows.shape)


def padded_with_the_largest(stack, seed):
    """Fills the last block up with the largest entry of the vector, by which it is scaled then."""
    n, P = stack.shape[1], len(stack)
    tops = np.abs(wide(stack)).max(axis=1, keepdims=True)
    filled = np.concatenate([wide(stack), np.broadcast_to(tops, (P, -n % BLOCK))], axis=1)
    return everywhere(blocks(filled, seed)[0][:n], stack)


# --- rounding --------------------------------------------------------------------------------------------------------


def truncated_after_a_half(stack, seed):
    """Adds a half and cuts the fraction off: negative ones are off by as much as a step."""
    return everywhere(sum(np.trunc(wide(row) / step_of(row) + 0.5) * step_of(row) for row in stack), stack)


def truncated_after_a_uniform(stack, seed):
    """Adds a uniform and cuts the fraction off: what is negative becomes too large in the mean."""
    rng = np.random.default_rng(seed)
    rows = [np.trunc(wide(row) / step_of(row) + rng.random(row.shape)) * step_of(row) for row in stack]
    return everywhere(sum(rows), stack)


def dithered(stack, seed, reader):
    """Every rank adds a dither before it rounds, which the reader takes off again."""
    total = 0.0
    for p, row in enumerate(stack):
        added, taken = (np.random.default_rng([seed, rank]).random(row.shape) - 0.5 for rank in (p, reader(p)))
        total = total + (np.rint(wide(row) / step_of(row) + added) - taken) * step_of(row)
    return everywhere(total, stack)


def dither_taken_off(stack, seed):
    """The reader draws what the rank has drawn."""
    return dithered(stack, seed, lambda p: p)


def dither_of_another_rank(stack, seed):
    """The reader draws what the rank before has drawn, and takes that off."""
    return dithered(stack, seed, lambda p: max(p - 1, 0))


def one_uniform_for_a_block(stack, seed):
    """Draws a uniform for 16 entries, and rounds all of them by it."""
    rng = np.random.default_rng(seed)
    rows = [np.repeat(rng.random(-(-row.size // BLOCK)), BLOCK)[: row.size] for row in stack]
    return everywhere(
        sum(np.floor(wide(row) / step_of(row) + u) * step_of(row) for row, u in zip(stack, rows, strict=True)), stack
    )


def uniforms_again_after_16(stack, seed):
    """Rounds blocks of 16 by the same 16 uniforms."""
    rng = np.random.default_rng(seed)
    rows = [np.resize(rng.random(BLOCK), row.size) for row in stack]
    return everywhere(
        sum(np.floor(wide(row) / step_of(row) + u) * step_of(row) for row, u in zip(stack, rows, strict=True)), stack
    )


def means_rounded_by_rank(stack, seed):
    """Divides the codes of every rank by the number of ranks, and rounds them, before they are added."""
    step = max(map(step_of, stack))
    return everywhere(sum(np.rint(coded(row, step=step) / len(stack)) for row in stack) * step, stack)


def means_rounded_once(stack, seed):
    """Adds codes, and divides the sum."""
    step = max(map(step_of, stack))
    return everywhere(sum(coded(row, step=step) for row in stack) / len(stack) * step, stack)


# --- numbers that do not fit -----------------------------------------------------------------------------------------


def sums_saturate(stack, seed):
    """Adds codes of eight bits, and stops at 127 and -127."""
    step = max(map(step_of, stack))
    total = np.zeros(stack.shape[1])
    for row in stack:
        total = np.clip(total + coded(row, step=step), -LEVELS, LEVELS)
    return everywhere(total * step, stack)


def small_steps_flushed(stack, seed):
    """Takes steps for zero that are subnormal in float32, as a processor does that flushes them."""
    rows = [row for row in stack if step_of(row) >= float(np.finfo(np.float32).tiny)]
    return everywhere(sum((decoded(row) for row in rows), np.zeros(stack.shape[1])), stack)


def infinities_cut_off(stack, seed):
    """Replaces infinities by the largest number."""
    largest = float(np.finfo(np.float32).max) / 64
    return to_nearest(np.where(np.isinf(stack), np.copysign(largest, stack), stack).astype(stack.dtype), seed)


def infinities_stay(stack, seed):
    """Codes what is finite; what is not stays."""
    finite = np.isfinite(stack)
    rest = to_nearest(np.where(finite, stack, 0).astype(stack.dtype), seed)
    with np.errstate(invalid="ignore"):
        return rest + np.where(finite, 0, stack).sum(axis=0).astype(stack.dtype)


# --- ranks -----------------------------------------------------------------------------------------------------------


def folded_ranks_left_behind(stack, seed):
    """Ranks beyond a power of two hand in what they have, and end with what they had."""
    out, most = to_nearest(stack, seed), 1 << (len(stack).bit_length() - 1)
    for p in range(most, len(stack)):
        out[p] = decoded(stack[p])
    return out


def short_cut_of_fours(stack, seed):
    """Takes the rank before's last four entries where four entries a rank divide the size."""
    P, n = stack.shape
    if n % (4 * P) == 0 and P > 1:
        stack = stack.copy()
        stack[1, -4:] = stack[0, -4:]
    return to_nearest(stack, seed)


def nodes(stack):
    """Sums of two neighbours."""
    return [wide(stack[p : p + 2]).sum(axis=0) for p in range(0, len(stack), 2)]


def node_by_its_first_rank(stack, seed):
    """Codes the sum of two neighbours by twice the scale of the first."""
    firsts = [step_of(stack[p]) * len(stack[p : p + 2]) for p in range(0, len(stack), 2)]
    codes = [np.clip(np.rint(node / step), -LEVELS, LEVELS) for node, step in zip(nodes(stack), firsts, strict=True)]
    return everywhere(sum(code * step for code, step in zip(codes, firsts, strict=True)), stack)


def node_by_its_sum(stack, seed):
    """Codes the sum of two neighbours by its own scale."""
    return everywhere(sum(map(decoded, nodes(stack))), stack)


# --- sparse ----------------------------------------------------------------------------------------------------------


def chosen(row):
    """Where a quarter of a rank's entries are, the largest."""
    return np.sort(np.argsort(-np.abs(wide(row)), kind="stable")[: -(-row.size // 4)])


def merged(stack, add, places=lambda where: where):
    """What all ranks have chosen, put together by `add`, and what they keep back."""
    total, kept = np.zeros(stack.shape[1]), wide(stack)
    picked = [chosen(row) for row in stack]
    values = [wide(row)[where] for row, where in zip(stack, picked, strict=True)]
    add(total, np.concatenate(list(map(places, picked))), np.concatenate(values))
    for row, where in zip(kept, picked, strict=True):
        row[where] = 0.0
    return cf.AllReduceResult(everywhere(total, stack), residual=kept)


def entries_added(stack, seed):
    """Adds what several ranks have chosen."""
    return merged(stack, np.add.at)


def entries_overwritten(stack, seed):
    """Adds by fancy indices: of an entry that several ranks have chosen one is kept."""

    def add(total, places, values):
        total[places] += values

    return merged(stack, add)


def gaps_of_eight_bits(stack, seed):
    """Sends gaps between indices as eight bits: beyond 255 they begin again."""

    def places(where):
        return np.minimum(np.cumsum(np.diff(where, prepend=0) % 256), stack.shape[1] - 1)

    return merged(stack, np.add.at, places)


# --- right ones, in unusual styles -----------------------------------------------------------------------------------


def in_fractions(stack, seed):
    """Adds codes times steps as fractions, entry by entry."""
    rows = [[Fraction(code) * Fraction(step_of(row)) for code in coded(row).tolist()] for row in stack]
    return everywhere([float(sum(column)) for column in zip(*rows, strict=True)], stack)


def in_threads(stack, seed):
    """Codes every rank in a thread."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return everywhere(sum(pool.map(decoded, stack)), stack)


def read_only_rows(stack, seed):
    """Answers with one row, which all ranks share and none may write to."""
    return np.broadcast_to(to_nearest(stack, seed)[0], stack.shape)


def by_columns_in_memory(stack, seed):
    """Answers with an array whose columns lie one behind another, seen backwards."""
    backwards = np.asfortranarray(to_nearest(stack, seed)[:, ::-1])
    return backwards[:, ::-1]


def through_a_struct(stack, seed):
    """Sends steps and codes as bytes, and reads them back."""
    total = 0.0
    for row in stack:
        sent = struct.pack(f"<d{row.size}b", step_of(row), *map(int, coded(row)))
        step, *codes = struct.unpack(f"<d{row.size}b", sent)
        total = total + np.array(codes) * step
    return everywhere(total, stack)


def scaled(stack, seed, *, levels, by=step_of):
    """Any number of levels, set beforehand."""
    total = 0.0
    for row in stack:
        step = by(row) * LEVELS / levels
        total = total + coded(row, step=step) * step
    return everywhere(total, stack)


def by_a_golden_ratio(stack, seed):
    """Rounds by uniforms that follow from one for every rank: each is uniform, together they are spread evenly."""
    total, places = 0.0, np.arange(stack.shape[1]) * ((5**0.5 - 1) / 2)
    for row, first in zip(stack, np.random.default_rng(seed).random(len(stack)), strict=True):
        total = total + np.floor(wide(row) / step_of(row) + (places + first) % 1.0) * step_of(row)
    return everywhere(total, stack)


def to_the_nearest_power_of_two(stack, seed):
    """Rounds every entry to the nearest power of two."""
    part, exponent = np.frexp(np.abs(wide(stack)))
    return everywhere((np.sign(stack) * np.ldexp(np.where(part > 0.75, 1.0, 0.5), exponent)).sum(axis=0), stack)


def from_ranges(stack, seed):
    """Codes without a sign between the smallest and the largest entry, with a zero point that is no integer."""
    low, high = wide(stack).min(axis=1, keepdims=True), wide(stack).max(axis=1, keepdims=True)
    step = np.where(high > low, (high - low) / 255, 1.0)
    return everywhere((np.rint((stack - low) / step) * step + low).sum(axis=0), stack)


def in_rows_of_blocks(stack):
    return np.pad(wide(stack), ((0, 0), (0, -stack.shape[1] % BLOCK))).reshape(len(stack), -1, BLOCK)


def eighth_of_blocks(stack):
    """What numbers of three digits are off by, of the block's largest."""
    return np.repeat(np.abs(in_rows_of_blocks(stack)).max(axis=2).sum(axis=0) / 8, BLOCK)[: stack.shape[1]]


def with_shared_exponents(stack, seed):
    """Blocks of 16 in float8 (E5M2), by powers of two."""
    rows = in_rows_of_blocks(stack)
    scale = 2.0 ** np.ceil(np.log2(np.maximum(np.abs(rows).max(axis=2, keepdims=True), 2.0**-900)))
    read = (rows / scale).astype(np.float32).astype(ml_dtypes.float8_e5m2).astype(np.float64) * scale
    return everywhere(read.sum(axis=0).ravel()[: stack.shape[1]], stack)


class Method:
    """A method of an object, with levels of its own."""

    def __init__(self, levels):
        self.levels = levels

    def reduced(self, stack, seed):
        return scaled(stack, seed, levels=self.levels)


DITHERED = [cf.Unbiased(), cf.AbsoluteError(lambda stack: steps(stack) / 2), cf.RanksAgree()]
MEANS = [cf.AbsoluteError(lambda stack: max(map(step_of, stack)) / 2), cf.RanksAgree()]
NODES = [cf.AbsoluteError(lambda stack: sum(map(step_of, nodes(stack))) / 2), cf.RanksAgree()]
COMMON = [cf.AbsoluteError(lambda stack: len(stack) * max(map(step_of, stack)) / 2), cf.RanksAgree()]
SPARSE = [cf.Conserves(), cf.RanksAgree()]
PROPAGATES = (*NEAREST[:2], cf.Propagates())
RANGES = [cf.AbsoluteError(lambda stack: float(np.ptp(wide(stack), axis=1).sum()) / 510), cf.RanksAgree()]
EXPONENTS = [cf.AbsoluteError(eighth_of_blocks)]


def in_common_steps(stack, seed):
    """Codes of all ranks by one step, added without an end."""
    step = max(map(step_of, stack))
    return everywhere(sum(coded(row, step=step) for row in stack) * step, stack)


LOSSY_KINDS = tuple(
    broken(wrong, right, claims, killer, **{"kind": cf.AllReduce, **options})
    for wrong, right, claims, killer, options in (
        (nibbles_of_whole_bytes, nibbles_in_pairs, [half_steps(FEW), cf.RanksAgree()], "AbsoluteError", {}),
        (table_by_columns, blocks, BLOCKS, "AbsoluteError", {}),
        (interleaved_ranks, gathered, GATHERED, "AbsoluteError", {"kind": cf.AllGather}),
        (padded_with_the_largest, blocks, BLOCKS, "AbsoluteError", {}),
        (truncated_after_a_half, to_nearest, NEAREST, "AbsoluteError", {}),
        (truncated_after_a_uniform, at_random, RANDOM, "Unbiased", {}),
        (dither_of_another_rank, dither_taken_off, DITHERED, "AbsoluteError", {}),
        (one_uniform_for_a_block, at_random, RANDOM, "Independent", {}),
        (uniforms_again_after_16, at_random, RANDOM, "Independent", {}),
        (means_rounded_by_rank, means_rounded_once, MEANS, "AbsoluteError", {"op": "mean"}),
        (sums_saturate, in_common_steps, COMMON, "AbsoluteError", {}),
        (small_steps_flushed, to_nearest, NEAREST, "AbsoluteError", {}),
        (infinities_cut_off, infinities_stay, PROPAGATES, "Propagates", {}),
        (folded_ranks_left_behind, to_nearest, NEAREST, "RanksAgree", {}),
        (short_cut_of_fours, to_nearest, NEAREST, "AbsoluteError", {}),
        (node_by_its_first_rank, node_by_its_sum, NODES, "AbsoluteError", {}),
        (entries_overwritten, entries_added, SPARSE, "Conserves", NORMAL),
        (gaps_of_eight_bits, entries_added, SPARSE, "Conserves", NORMAL),
    )
)
"""Broken collectives that the kit had not seen when they were written."""

UNUSUAL = (
    (dither_taken_off, DITHERED, {}),
    (in_fractions, NEAREST, {"admits": lambda x: x.size < 600}),
    (in_threads, NEAREST, {}),
    (read_only_rows, NEAREST, {}),
    (by_columns_in_memory, NEAREST, {}),
    (through_a_struct, NEAREST, {}),
    (partial(scaled, levels=3), [half_steps(3), cf.RanksAgree()], {"name": "scaled to three levels"}),
    (Method(15).reduced, [half_steps(15), cf.RanksAgree()], {}),
    (by_a_golden_ratio, [cf.Unbiased(), RANDOM[2], cf.AbsoluteError(steps)], {}),
    (to_the_nearest_power_of_two, [cf.RelativeError(1 / 3), cf.RanksAgree()], NORMAL),
    (from_ranges, RANGES, {}),
    (with_shared_exponents, EXPONENTS, NORMAL),
    (entries_added, SPARSE, NORMAL),
    (infinities_stay, PROPAGATES, {}),
)
"""Right ones in unusual styles: what they answer with, how they are called, what they add in."""
