"""Broken collectives that the kit had not seen when they were written: of 26 it caught 20, and catches all since."""

import functools

import ml_dtypes
import numpy as np

from commbounds.verify import conformance as cf
from zoo.lossy_ranks import BLOCK, BLOCKS, GATHERED, HALF, NORMAL, PARTS, blocks, gathered, in_blocks, scattered, top
from zoo.lossy_sums import LEVELS, NEAREST, RANDOM, at_random, coded, decoded, everywhere, step_of, to_nearest
from zoo.record import broken


def tops(stack):
    """The largest magnitude of every rank."""
    return [float(np.abs(row.astype(np.float64)).max()) for row in stack]


# --- parts, and what all have sent -----------------------------------------------------------------------------------


def last_of_an_uneven_part(stack, seed):
    """Loses the last entry of the last part that is one longer than the others."""
    row, (P, n) = to_nearest(stack, seed)[0].copy(), stack.shape
    parts = np.array_split(row, P)
    if n % P:
        parts[n % P - 1][-1] = 0
    return parts


def turned_parts_of_three_and_five(stack, seed):
    """Gives every rank the next one's part where there are three or five ranks."""
    parts = scattered(stack, seed)
    return parts[1:] + parts[:1] if len(stack) in (3, 5) else parts


def codes_of_two_ranks_swapped(stack, seed):
    """Has the codes of ranks 1 and 2 in each other's place."""
    order = np.arange(len(stack))
    if len(stack) > 2:
        order[[1, 2]] = 2, 1
    return gathered(stack[order], seed)


def read_by_the_readers_scale(stack, seed):
    """Reads all codes by the scale of the rank that reads."""
    rows = [[coded(row) * step_of(own) for row in stack] for own in stack]
    return np.array(rows).astype(stack.dtype)


def codes(stack, seed):
    """The codes of all ranks, as they lie on the wire."""
    return np.repeat(np.stack([coded(row) for row in stack])[None], len(stack), 0).astype(stack.dtype)


def code_beyond_the_wire(stack, seed):
    """Sends the code -128, which readers take for no number, for what rounds to -127."""
    found = codes(stack, seed)
    return np.where(found == -LEVELS, found.dtype.type(-LEVELS - 1), found)


# --- memories --------------------------------------------------------------------------------------------------------


def feedback(lost):
    """Error feedback that is lost after steps of which `lost` says so."""

    def factory(seed):
        step_number, held = 0, 0.0

        def step(x):
            nonlocal step_number, held
            step_number += 1
            due = x.astype(np.float64) + held
            sent = decoded(due).astype(x.dtype)
            held = 0.0 if lost(step_number, x) else due - sent
            return sent

        return step

    return factory


def kept_back(seed):
    """Remembers what every step loses."""
    return feedback(lambda number, x: False)(seed)


def forgotten_after_the_third_step(seed):
    """Forgets what it has kept back after the third step."""
    return feedback(lambda number, x: number == 3)(seed)


def forgotten_at_zeros(seed):
    """Forgets what it has kept back after a gradient of zeros."""
    return feedback(lambda number, x: not x.any())(seed)


def held_back(x):
    """Half a step of every step's largest entry, with what may be held back already."""
    held, found = 0.0, []
    for row in x:
        held = (float(np.abs(row.astype(np.float64)).max()) + held) / 2 / LEVELS
        found.append(np.full(row.shape, held))
    return np.array(found)


def rounds(remembered):
    def factory(seed):
        held = 0.0

        def step(stack):
            nonlocal held
            due = stack.astype(np.float64) + held
            sent = np.stack([decoded(row) for row in due])
            held = remembered(due - sent)
            return everywhere(sent.sum(axis=0), stack)

        return step

    return factory


def rounds_of_own_memories(stack, seed):
    """Every rank keeps back what it has lost itself."""
    return cf.in_rounds(rounds(lambda lost: lost)).run(stack, seed)


def rounds_of_one_memory(stack, seed):
    """Gives all ranks what rank 0 has lost."""
    return cf.in_rounds(rounds(lambda lost: lost[:1])).run(stack, seed)


# --- draws -----------------------------------------------------------------------------------------------------------


def drawn(stack, seed, uniforms):
    """Codes of every rank, cut off after `uniforms` of a generator of its own and of a row was added."""
    rngs = [np.random.default_rng([seed, p]) for p in range(len(stack))]
    rows = zip(stack, rngs, strict=True)
    return everywhere(
        sum(np.floor(row.astype(np.float64) / step_of(row) + uniforms(rng, row)) * step_of(row) for row, rng in rows),
        stack,
    )


def seed_of_the_rank_before(stack, seed):
    """Gives rank 1 the generator of rank 0."""
    rngs = [np.random.default_rng([seed, 0 if p == 1 else p]) for p in range(len(stack))]
    return everywhere(sum(decoded(row, rng) for row, rng in zip(stack, rngs, strict=True)), stack)


def neighbours_draw_alike(stack, seed):
    """Rounds two neighbours by one uniform."""
    return drawn(stack, seed, lambda rng, row: np.repeat(rng.random(-(-row.size // 2)), 2)[: row.size])


def up_too_seldom(stack, seed):
    """Rounds up with 0.99 of the probability that it should."""
    rng, total = np.random.default_rng(seed), 0.0
    for row in stack:
        levels = row.astype(np.float64) / step_of(row)
        up = rng.random(row.shape) < 0.99 * (levels - np.floor(levels)).astype(np.float16)
        total = total + (np.floor(levels) + up) * step_of(row)
    return everywhere(total, stack)


def last_rank_to_nearest(stack, seed):
    """Rounds the last rank to nearest, the others at random."""
    rng = np.random.default_rng(seed)
    return everywhere(sum(decoded(row, rng) for row in stack[:-1]) + decoded(stack[-1]), stack)


# --- scales and codes ------------------------------------------------------------------------------------------------


def by_a_common_scale(stack, seed):
    """Codes all ranks by the largest entry of all."""
    step = max(map(step_of, stack))
    return everywhere(sum(coded(row, step=step) * step for row in stack), stack)


def scale_of_all_but_the_last(stack, seed):
    """Takes the common scale of all ranks but the last."""
    step = max(map(step_of, stack[:-1] if len(stack) > 1 else stack))
    return everywhere(sum(np.clip(coded(row, step=step), -LEVELS, LEVELS) * step for row in stack), stack)


def scale_of_the_last_whole_node(stack, seed):
    """Codes ranks beyond whole nodes of four by the scale of the node before them."""
    total, step = 0.0, 0.0
    for first in range(0, len(stack), 4):
        node = stack[first : first + 4]
        if len(node) == 4 or not step:
            step = max(map(step_of, node))
        total = total + sum(np.clip(coded(row, step=step), -LEVELS, LEVELS) * step for row in node)
    return everywhere(total, stack)


def in_small_integers(stack, levels, dtype):
    step = top(stack) / levels or 1.0
    parts = [np.rint(row.astype(np.float64) / step).astype(dtype) for row in stack]
    with np.errstate(over="ignore"):
        return everywhere(np.add.reduce(parts, dtype=dtype) * step, stack)


def sixteen_bits_for_six_ranks(stack, seed):
    """Leaves room for six ranks in sixteen bits: seven wrap."""
    return in_small_integers(stack, 32767 // 6, np.int16)


def thirty_two_bits_for_all(stack, seed):
    """As many levels, added in thirty-two bits."""
    return in_small_integers(stack, 32767 // 6, np.int32)


def levels_rounded_up(stack, seed):
    """Rounds the levels of a rank, 127/P, up: the sum of the largest wraps."""
    return in_small_integers(stack, -(-LEVELS // len(stack)), np.int8)


def levels_rounded_down(stack, seed):
    """Rounds the levels of a rank, 127/P, down."""
    return in_small_integers(stack, LEVELS // len(stack), np.int8)


def float8(row, step, beyond):
    """In float8 by that step, and what `beyond` makes of numbers that are too large."""
    scaled = beyond(row.astype(np.float64) / step)
    return scaled.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float64) * step


def cut(scaled):
    return np.clip(scaled, -448.0, 448.0)


def in_two_steps(stack, room, beyond):
    total = sum(float8(row, largest / 448 or 1.0, cut) for row, largest in zip(stack, tops(stack), strict=True))
    return everywhere(float8(total, sum(tops(stack)) / room or 1.0, beyond), stack)


def float8_in_two_steps(stack, seed):
    """Codes what ranks have and their sum in float8."""
    return in_two_steps(stack, 448, cut)


def float8_without_saturation(stack, seed):
    """Takes sums for zero that are beyond the largest number of float8, by a scale that is too small."""
    return in_two_steps(stack, 448 * 1.05, lambda scaled: np.where(np.abs(scaled) > 448, 0.0, scaled))


def code_of_minus_128(stack, seed):
    """Takes 127.5 steps for the largest entry, whose code 128 wraps to -128."""
    steps = [largest / (LEVELS + 0.5) or 1.0 for largest in tops(stack)]
    rows = [np.rint(row.astype(np.float64) / step).astype(np.int64) for row, step in zip(stack, steps, strict=True)]
    return everywhere(sum(row.astype(np.int8) * step for row, step in zip(rows, steps, strict=True)), stack)


def short_block_scaled_down(stack, seed):
    """Scales the last block, where it is short, by the share of a block that it is."""

    def scaled(largest, rest=stack.shape[1] % BLOCK):
        return largest if not rest else np.concatenate([largest[:-1], largest[-1:] * rest / BLOCK])

    return everywhere(sum(in_blocks(row, scaled) for row in stack), stack)


def of_two_levels(stack, small):
    """Scales of blocks in float8, relative to the largest; of blocks whose scale is zero what `small` makes."""
    total = 0.0
    for row in stack:
        rows = np.pad(row.astype(np.float64), (0, -row.size % BLOCK)).reshape(-1, BLOCK)
        whole = float(np.abs(rows).max()) / (448 * 6) or 1.0
        scales = float8(np.abs(rows).max(axis=1, keepdims=True) / 6, whole, cut)
        read = np.clip(np.rint(rows / np.where(scales > 0.0, scales, 1.0)), -6, 6) * scales
        total = total + np.where(scales > 0.0, read, small(rows)).ravel()[: row.size]
    return everywhere(total, stack)


def small_blocks_kept(stack, seed):
    """Sends blocks as they are whose scale is zero."""
    return of_two_levels(stack, lambda rows: rows)


def small_blocks_vanish(stack, seed):
    """Loses blocks whose scale, relative to the largest, is zero in float8."""
    return of_two_levels(stack, np.zeros_like)


def of_blocks(stack):
    """Half a step of the blocks, and what a scale in float8 may be off by."""
    rows = np.pad(stack.astype(np.float64), ((0, 0), (0, -stack.shape[1] % BLOCK))).reshape(len(stack), -1, BLOCK)
    return np.repeat(np.abs(rows).max(axis=2).sum(axis=0) / 6 * (0.5 / 0.9 + 0.45), BLOCK)[: stack.shape[1]]


# --- rounding, signs, what is not finite -----------------------------------------------------------------------------


def ties_away_from_zero(stack, seed):
    """Rounds ties away from zero, where they go to even codes."""
    total = 0.0
    for row in stack:
        levels = row.astype(np.float64) / step_of(row)
        total = total + np.sign(levels) * np.floor(np.abs(levels) + 0.5) * step_of(row)
    return everywhere(total, stack)


def mean_of_codes(stack, seed):
    """Rounds the mean of the codes."""
    step = max(map(step_of, stack))
    return everywhere(np.rint(sum(coded(row, step=step) for row in stack) / len(stack)) * step, stack)


def mean_of_codes_cut_off(stack, seed):
    """Divides the sum of the codes by the number of ranks as integers are divided: downwards."""
    step = max(map(step_of, stack))
    return everywhere(sum(coded(row, step=step) for row in stack) // len(stack) * step, stack)


def tile_of_ninety_six(stack, seed):
    """Turns the last tile around where 96 divides the size."""
    total = sum(decoded(row) for row in stack)
    if total.size % 96 == 0:
        total[-96:] = total[-96:][::-1]
    return everywhere(total, stack)


def one_unit_off_at_eight(stack, seed):
    """Leaves the last of eight ranks one unit in the last place off."""
    out = to_nearest(stack, seed)
    if len(stack) == 8:
        out[7, -1] = np.nextafter(out[7, -1], np.inf, dtype=out.dtype)
    return out


def added_up(stack, seed):
    """Adds the ranks up, one after another."""
    return everywhere(functools.reduce(np.add, stack), stack)


def negative_zeros_lost(stack, seed):
    """Adds to zeros first, so that sums of negative zeros are positive."""
    return everywhere(functools.reduce(np.add, stack, np.zeros_like(stack[0])), stack)


def not_finite_refused(stack, seed):
    """Refuses what is not finite."""
    if not np.isfinite(stack.astype(np.float64)).all():
        raise ValueError("stack must be finite")
    return to_nearest(stack, seed)


def not_a_number_swallowed(stack, seed):
    """Takes NaN for zero, on any rank."""
    return to_nearest(np.nan_to_num(stack), seed)


def largest_half(stack, order):
    total = stack.astype(np.float64).sum(axis=0)
    out, kept = np.zeros_like(total), np.argsort(-order(total), kind="stable")[: -(-total.size // 2)]
    out[kept] = total[kept]
    return everywhere(out, stack)


def largest_by_magnitude(stack, seed):
    """Keeps the larger half of the sum."""
    return largest_half(stack, np.abs)


def largest_by_value(stack, seed):
    """Keeps the half of the sum that is larger with its sign."""
    return largest_half(stack, lambda total: total)


def largest_step(stack):
    return max(map(step_of, stack))


COMMON = (
    cf.AbsoluteError(lambda stack: len(stack) * largest_step(stack) / 2),
    cf.Bounded(lambda P: 1 + P / 254),
    cf.RanksAgree(),
)
LEAST = [cf.AbsoluteError(lambda stack: len(stack) * top(stack) / (LEVELS // len(stack)) / 2)]
FLOAT8 = [cf.AbsoluteError(lambda stack: 2.2 * sum(tops(stack)) / 28), cf.RanksAgree()]
ROUNDED = [cf.Matches(lambda stack: sum(decoded(row) for row in stack)), cf.RanksAgree()]
OF_CODES = [cf.AbsoluteError(lambda stack: largest_step(stack) * (1.0 if len(stack) > 1 else 0.5))]
ONCE = [cf.AbsoluteError(lambda stack: sum(1.01 * step_of(row) / 2 for row in stack) / 2)]
SIGNS = [cf.Matches(lambda stack: functools.reduce(np.add, stack), signed_zeros=True)]
SCATTER, GATHER, MEMORY = {"kind": cf.ReduceScatter}, {"kind": cf.AllGather}, {"kind": cf.Stateful}

LOSSY_UNSEEN = tuple(
    broken(wrong, right, claims, killer, **{"kind": cf.AllReduce, **options})
    for wrong, right, claims, killer, options in (
        (last_of_an_uneven_part, scattered, PARTS, "AbsoluteError", {**SCATTER, "even": False}),
        (turned_parts_of_three_and_five, scattered, PARTS, "AbsoluteError", SCATTER),
        (codes_of_two_ranks_swapped, gathered, GATHERED, "AbsoluteError", GATHER),
        (read_by_the_readers_scale, gathered, GATHERED, "RanksAgree", GATHER),
        (code_beyond_the_wire, codes, [cf.Codebook(np.arange(-LEVELS, LEVELS + 1))], "Codebook", GATHER),
        (forgotten_after_the_third_step, kept_back, [cf.AbsoluteError(held_back)], "AbsoluteError", MEMORY),
        (forgotten_at_zeros, kept_back, [cf.Telescopes()], "Telescopes", MEMORY),
        (rounds_of_one_memory, rounds_of_own_memories, ONCE, "AbsoluteError", NORMAL),
        (seed_of_the_rank_before, at_random, RANDOM, "Variance", {}),
        (neighbours_draw_alike, at_random, RANDOM, "Independent", {}),
        (up_too_seldom, at_random, RANDOM, "Unbiased", {}),
        (last_rank_to_nearest, at_random, RANDOM, "Unbiased", {}),
        (scale_of_all_but_the_last, by_a_common_scale, COMMON, "AbsoluteError", {}),
        (scale_of_the_last_whole_node, by_a_common_scale, COMMON, "AbsoluteError", {}),
        (sixteen_bits_for_six_ranks, thirty_two_bits_for_all, [HALF(32767 // 6)], "AbsoluteError", {}),
        (levels_rounded_up, levels_rounded_down, LEAST, "AbsoluteError", {}),
        (float8_without_saturation, float8_in_two_steps, FLOAT8, "AbsoluteError", NORMAL),
        (code_of_minus_128, to_nearest, NEAREST, "AbsoluteError", {}),
        (short_block_scaled_down, blocks, BLOCKS, "AbsoluteError", {}),
        (small_blocks_vanish, small_blocks_kept, [cf.AbsoluteError(of_blocks)], "AbsoluteError", NORMAL),
        (ties_away_from_zero, to_nearest, ROUNDED, "Matches", {}),
        (mean_of_codes_cut_off, mean_of_codes, OF_CODES, "AbsoluteError", {"op": "mean"}),
        (tile_of_ninety_six, to_nearest, NEAREST, "AbsoluteError", {}),
        (one_unit_off_at_eight, to_nearest, NEAREST, "RanksAgree", {}),
        (negative_zeros_lost, added_up, SIGNS, "Matches", {}),
        (not_a_number_swallowed, not_finite_refused, (*NEAREST, cf.Propagates()), "Propagates", {}),
        (largest_by_value, largest_by_magnitude, [cf.Contraction(lambda n: -(-n // 2) / n)], "Contraction", {}),
    )
)
"""Those of them that are in no other list; one, a code that no reader takes, was added to them."""
