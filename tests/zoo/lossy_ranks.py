"""Broken collectives that send codes: wrong scales, draws, ranks, sizes, parts and memories."""

import ml_dtypes
import numpy as np

from commbounds.verify import conformance as cf
from zoo.lossy_sums import LEVELS, NEAREST, RANDOM, at_random, coded, decoded, everywhere, step_of, steps, to_nearest
from zoo.record import broken

BLOCK = 16


def in_blocks(row, scaled=lambda tops: tops):
    """A row in blocks of 16, coded by their largest entries, or by what `scaled` makes of these."""
    rows = np.pad(row.astype(np.float64), (0, -row.size % BLOCK)).reshape(-1, BLOCK)
    tops = np.abs(rows).max(axis=1, keepdims=True)
    step = np.where(tops > 0.0, scaled(tops) / LEVELS, 1.0)
    return (np.clip(np.rint(rows / step), -LEVELS, LEVELS) * step).ravel()[: row.size]


def half_steps_of_blocks(stack):
    """What every entry may be off by, in blocks."""
    rows = np.pad(stack.astype(np.float64), ((0, 0), (0, -stack.shape[1] % BLOCK))).reshape(len(stack), -1, BLOCK)
    return np.repeat(np.abs(rows).max(axis=2).sum(axis=0) / LEVELS / 2, BLOCK)[: stack.shape[1]]


def top(stack):
    return max(float(np.abs(row.astype(np.float64)).max()) for row in stack)


def blocks(stack, seed):
    """Blocks with scales of their own."""
    return everywhere(sum(in_blocks(row) for row in stack), stack)


# --- scales ----------------------------------------------------------------------------------------------------------


def tail_by_the_block_before(stack, seed):
    """Codes the last block, where it is not whole, by the scale of the block before."""

    def scaled(tops, whole=stack.shape[1] % BLOCK == 0):
        return tops if whole or len(tops) < 2 else np.concatenate([tops[:-1], tops[-2:-1]])

    return everywhere(sum(in_blocks(row, scaled) for row in stack), stack)


def read_by_the_next_scale(stack, seed):
    """Reads the codes of every rank by the scale of the rank behind it."""
    scales = [step_of(row) for row in stack]
    turned = scales[1:] + scales[:1]
    return everywhere(sum(coded(row) * scale for row, scale in zip(stack, turned, strict=True)), stack)


def scale_one_power_low(stack, seed):
    """Takes the power of two below the scale, and cuts off what does not fit."""
    low = [2.0 ** np.floor(np.log2(step_of(row))) for row in stack]
    codes = [np.clip(coded(row, step=step), -LEVELS, LEVELS) * step for row, step in zip(stack, low, strict=True)]
    return everywhere(sum(codes), stack)


def scale_a_power_of_two(stack, seed):
    """Takes the power of two above the scale."""
    high = [2.0 ** np.ceil(np.log2(step_of(row))) for row in stack]
    return everywhere(sum(coded(row, step=step) * step for row, step in zip(stack, high, strict=True)), stack)


def reciprocal_in_float16(stack, seed):
    """Multiplies by the scale's reciprocal, rounded to float16."""
    total = 0.0
    for row in stack:
        with np.errstate(over="ignore"):
            up = np.float64(np.float16(1.0 / step_of(row)))
        total = total + np.clip(np.rint(row.astype(np.float64) * min(up, 65504.0)), -LEVELS, LEVELS) * step_of(row)
    return everywhere(total, stack)


def zeros_over_zero(stack, seed):
    """Divides a rank's zeros by their scale, which is zero."""
    with np.errstate(invalid="ignore"):
        scales = [np.float64(np.abs(row).max()) / LEVELS for row in stack]
        return everywhere(sum(np.rint(row / scale) * scale for row, scale in zip(stack, scales, strict=True)), stack)


def smallest(row):
    return float(row.astype(np.float64).min())


def spread(row):
    return float(np.ptp(row.astype(np.float64)))


def by_ranges(stack, seed):
    """Codes between the smallest and the largest entry."""
    total = 0.0
    for row in stack:
        step = spread(row) / 255 or 1.0
        total = total + np.rint((row.astype(np.float64) - smallest(row)) / step) * step + smallest(row)
    return everywhere(total, stack)


def by_ranges_without_a_positive_offset(stack, seed):
    """Forgets the smallest entry of a rank where it is positive."""
    return everywhere(
        by_ranges(stack, seed).astype(np.float64)[0] - sum(max(smallest(row), 0.0) for row in stack), stack
    )


def constant_ranks_lost(stack, seed):
    """Leaves out a rank whose entries are all equal."""
    return everywhere(sum((by_ranges(row[None], seed)[0] for row in stack if spread(row)), np.zeros(1)), stack)


def one_scale_beyond_256(stack, seed):
    """Takes one scale for all blocks of vectors longer than 256."""
    return blocks(stack, seed) if stack.shape[1] <= 256 else to_nearest(stack, seed)


# --- accumulators ----------------------------------------------------------------------------------------------------


def in_integers(stack, levels, dtype):
    step = top(stack) / levels or 1.0
    codes = [np.rint(row.astype(np.float64) / step).astype(dtype) for row in stack]
    with np.errstate(over="ignore"):
        return everywhere(np.add.reduce(codes, dtype=dtype) * step, stack)


def wraps_in_sixteen_bits(stack, seed):
    """Adds codes of sixteen bits in sixteen bits."""
    return in_integers(stack, 2**15 - 1, np.int16)


def wraps_from_five_ranks_on(stack, seed):
    """Adds codes of thirty bits in thirty-two bits, which five ranks do not fit."""
    return in_integers(stack, 2**29 - 1, np.int32)


def in_sixty_four_bits(stack, seed):
    """Adds codes of thirty bits in sixty-four bits."""
    return in_integers(stack, 2**29 - 1, np.int64)


def added_in_bfloat16(stack, seed):
    """Adds what it has read in bfloat16, and promises the error of the codes."""
    total = np.zeros(stack.shape[1], ml_dtypes.bfloat16)
    for row in stack:
        total = (total.astype(np.float32) + decoded(row).astype(np.float32)).astype(ml_dtypes.bfloat16)
    return everywhere(total, stack)


def coded_again_on_every_hop(stack, seed):
    """Codes the partial sum anew on every hop, and promises the error of one coding."""
    total = stack[0].astype(np.float64)
    for row in stack[1:]:
        total = decoded(decoded(total) + row.astype(np.float64))
    return everywhere(decoded(total), stack)


# --- ranks and sizes -------------------------------------------------------------------------------------------------


def turned_at_seven_ranks(stack, seed):
    """Puts the shards of seven ranks one entry too far where there are more entries than ranks."""
    total = sum(decoded(row) for row in stack)
    return everywhere(np.roll(total, 1) if len(stack) == 7 < total.size else total, stack)


def rest_lost_at_six_ranks(stack, seed):
    """Loses the rest of a division by six ranks."""
    total = sum(decoded(row) for row in stack)
    return everywhere(
        np.where(np.arange(total.size) >= total.size // 6 * 6, 0.0, total) if len(stack) == 6 else total, stack
    )


def two_nodes_of_four(stack, seed):
    """Takes the sum of the first node twice where there are eight ranks."""
    return everywhere(
        sum(decoded(row) for row in (stack if len(stack) != 8 else np.concatenate([stack[:4]] * 2))), stack
    )


def fewer_entries_than_ranks(stack, seed):
    """Gives rank 0's entries where there are fewer entries than ranks."""
    return to_nearest(stack if stack.shape[1] >= len(stack) else np.repeat(stack[:1], len(stack), 0) / len(stack), seed)


def twice_behind_a_tile(stack, seed):
    """Adds everything twice where there is one entry behind a tile of 1024."""
    total = sum(decoded(row) for row in stack)
    return everywhere(total * (2.0 if total.size % 1024 == 1 else 1.0), stack)


def index_of_sixteen_bits(stack, seed):
    """Begins again behind 32768 entries."""
    total = sum(decoded(row) for row in stack)
    return everywhere(np.resize(total[:32768], total.size), stack)


def mean_over_a_power_of_two(stack, seed):
    """Divides by the next power of two in place of the number of ranks."""
    return everywhere(sum(decoded(row) for row in stack) / 2 ** int(np.ceil(np.log2(len(stack)))), stack)


def mean(stack, seed):
    """Divides by the number of ranks."""
    return everywhere(sum(decoded(row) for row in stack) / len(stack), stack)


# --- draws -----------------------------------------------------------------------------------------------------------


def drawn(stack, draws):
    """Codes are cut off after what is drawn of a rank was added."""
    rows = [
        np.floor(row.astype(np.float64) / step_of(row) + draws(p, row)) * step_of(row) for p, row in enumerate(stack)
    ]
    return everywhere(sum(rows), stack)


def eight_bits_never_up(stack, seed):
    """Rounds by eight random bits, which never make up for what is below 1/256."""
    rng = np.random.default_rng(seed)
    return drawn(stack, lambda p, row: rng.integers(0, 256, size=row.shape) / 256)


def uniforms_that_reach_one(stack, seed):
    """Rounds uniforms to float16, in which some become one."""
    rng = np.random.default_rng(seed)
    return drawn(stack, lambda p, row: rng.random(row.shape).astype(np.float16).astype(np.float64))


def rank_three_draws_low(stack, seed):
    """Draws uniforms below 0.9 on rank 3."""
    rng = np.random.default_rng(seed)
    return drawn(stack, lambda p, row: rng.random(row.shape) * (0.9 if p == 3 else 1.0))


def ranks_draw_alike(stack, seed):
    """Gives every rank a generator of the same seed, and promises the variance of independent ones."""
    return drawn(stack, lambda p, row: np.random.default_rng(seed).random(row.shape))


def seed_of_its_own(stack, seed):
    """Draws from a generator of a seed of its own, the same in every call."""
    rng = np.random.default_rng(7)
    return drawn(stack, lambda p, row: rng.random(row.shape))


# --- memories --------------------------------------------------------------------------------------------------------


def fed_back(stack, held, keep=lambda lost: lost):
    terms = [row.astype(np.float64) + kept for row, kept in zip(stack, held, strict=True)]
    sent = [decoded(term) for term in terms]
    return cf.AllReduceResult(
        everywhere(sum(sent), stack), residual=np.stack([keep(t - s) for t, s in zip(terms, sent, strict=True)])
    )


def feedback(keep=lambda lost: lost, lost=lambda kept: kept):
    def factory(seed):
        state = {}

        def step(stack):
            answer = fed_back(stack, state.get("held", np.zeros(stack.shape)), keep)
            state["held"] = lost(answer.residual)
            return answer

        return step

    return factory


def rounds_that_remember(stack, seed):
    """Brings in the next round what was lost in one."""
    return cf.in_rounds(feedback()).run(stack, seed)


def rounds_that_forget(stack, seed):
    """Shows what was lost in a round, and does not bring it in the next one."""
    return cf.in_rounds(feedback(lost=np.zeros_like)).run(stack, seed)


def memory_in_float16(stack, seed):
    """Keeps what was lost in float16."""
    return cf.in_rounds(feedback(keep=lambda lost: lost.astype(np.float16).astype(np.float64))).run(stack, seed)


# --- parts -----------------------------------------------------------------------------------------------------------


def scattered(stack, seed):
    """Every rank ends with its part."""
    return np.array_split(to_nearest(stack, seed)[0], len(stack))


def scattered_to_the_next(stack, seed):
    """Every rank ends with the part of the rank behind it."""
    parts = scattered(stack, seed)
    return parts[1:] + parts[:1]


def gathered(stack, seed):
    """Every rank ends with what all have sent."""
    return np.repeat(np.stack([decoded(row) for row in stack])[None], len(stack), 0).astype(stack.dtype)


def gathered_with_its_own(stack, seed):
    """Every rank keeps its own as it was: the ranks end apart."""
    rows = gathered(stack, seed)
    rows[np.arange(len(stack)), np.arange(len(stack))] = stack
    return rows


HALF = lambda levels: cf.AbsoluteError(lambda stack: len(stack) * top(stack) / levels / 2)  # noqa: E731
RANGES = [cf.AbsoluteError(lambda stack: sum(map(spread, stack)) / 255)]
ROUNDS = [cf.AbsoluteError(lambda stack: sum(1.01 * step_of(row) / 2 for row in stack) / 2), cf.Conserves()]
MEAN = [cf.AbsoluteError(lambda stack: steps(stack) / len(stack) / 2)]
PARTS = [cf.AbsoluteError(lambda stack: steps(stack) / 2)]
GATHERED = [cf.AbsoluteError(lambda stack: np.array([[step_of(row) / 2] for row in stack])), cf.RanksAgree()]
BLOCKS = [cf.AbsoluteError(half_steps_of_blocks)]
POWERS = [cf.AbsoluteError(lambda stack: steps(stack))]
IN_RANGE = {"magnitudes": (1e-3, 1e3)}
NORMAL = {"magnitudes": (1e-30, 1e30)}

LOSSY_RANKS = tuple(
    broken(wrong, right, claims, killer, **{"kind": cf.AllReduce, **options})
    for wrong, right, claims, killer, options in (
        (tail_by_the_block_before, blocks, BLOCKS, "AbsoluteError", {}),
        (read_by_the_next_scale, to_nearest, NEAREST, "AbsoluteError", {}),
        (scale_one_power_low, scale_a_power_of_two, POWERS, "AbsoluteError", NORMAL),
        (reciprocal_in_float16, to_nearest, NEAREST, "AbsoluteError", IN_RANGE),
        (zeros_over_zero, to_nearest, NEAREST, "finite in, finite out", {}),
        (by_ranges_without_a_positive_offset, by_ranges, RANGES, "AbsoluteError", {}),
        (constant_ranks_lost, by_ranges, RANGES, "AbsoluteError", {}),
        (one_scale_beyond_256, blocks, BLOCKS, "AbsoluteError", {}),
        (wraps_in_sixteen_bits, in_sixty_four_bits, [HALF(2**15 - 1)], "AbsoluteError", {}),
        (wraps_from_five_ranks_on, in_sixty_four_bits, [HALF(2**29 - 1)], "AbsoluteError", {}),
        (added_in_bfloat16, to_nearest, NEAREST, "AbsoluteError", NORMAL),
        (coded_again_on_every_hop, to_nearest, NEAREST, "AbsoluteError", {}),
        (turned_at_seven_ranks, to_nearest, NEAREST, "AbsoluteError", {}),
        (rest_lost_at_six_ranks, to_nearest, NEAREST, "AbsoluteError", {}),
        (two_nodes_of_four, to_nearest, NEAREST, "AbsoluteError", {}),
        (fewer_entries_than_ranks, to_nearest, NEAREST, "AbsoluteError", {}),
        (twice_behind_a_tile, to_nearest, NEAREST, "AbsoluteError", {}),
        (index_of_sixteen_bits, to_nearest, NEAREST, "AbsoluteError", {}),
        (mean_over_a_power_of_two, mean, MEAN, "AbsoluteError", {"op": "mean"}),
        (eight_bits_never_up, at_random, RANDOM, "Unbiased", {}),
        (uniforms_that_reach_one, at_random, RANDOM, "Unbiased", {}),
        (rank_three_draws_low, at_random, RANDOM, "Unbiased", {}),
        (ranks_draw_alike, at_random, RANDOM, "Variance", {}),
        (seed_of_its_own, at_random, RANDOM, "Unbiased", {}),
        (rounds_that_forget, rounds_that_remember, ROUNDS, "AbsoluteError", NORMAL),
        (memory_in_float16, rounds_that_remember, ROUNDS, "Conserves", IN_RANGE),
        (scattered_to_the_next, scattered, PARTS, "AbsoluteError", {"kind": cf.ReduceScatter}),
        (gathered_with_its_own, gathered, GATHERED, "RanksAgree", {"kind": cf.AllGather}),
    )
)
