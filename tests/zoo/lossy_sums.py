"""Broken all-reduces of codes: sums that wrap, scales that underflow, a number of ranks or a size that is forgotten."""

from typing import Any

import numpy as np

from commbounds.verify import conformance as cf
from zoo.record import broken

LEVELS = 127


def step_of(row: Any) -> float:
    """The distance of two codes of eight bits."""
    top = float(np.abs(row.astype(np.float64)).max())
    return top / LEVELS if top > 0.0 else 1.0


def coded(row: Any, rng: Any = None, step: float = 0.0) -> Any:
    """Codes of a row: to nearest, or by uniforms."""
    wide = row.astype(np.float64) / (step or step_of(row))
    return np.rint(wide) if rng is None else np.floor(wide + rng.random(wide.shape))


def decoded(row: Any, rng: Any = None) -> Any:
    return coded(row, rng) * step_of(row)


def everywhere(total: Any, stack: Any) -> Any:
    return np.repeat(np.asarray(total)[None], len(stack), axis=0).astype(stack.dtype)


def to_nearest(stack, seed):
    """Every rank's codes are rounded to nearest, and their values added."""
    return everywhere(sum(decoded(row) for row in stack), stack)


def at_random(stack, seed):
    """Every rank's codes are rounded by uniforms of their own, and their values added."""
    rng = np.random.default_rng(seed)
    return everywhere(sum(decoded(row, rng) for row in stack), stack)


def steps(stack: Any) -> float:
    return sum(step_of(row) for row in stack)


NEAREST = (cf.AbsoluteError(lambda stack: steps(stack) / 2), cf.Bounded(), cf.Monotone(), cf.RanksAgree())
RANDOM = (
    cf.AbsoluteError(steps),
    cf.Unbiased(),
    cf.Variance(lambda n, P: n / LEVELS**2 / 4),
    cf.Independent(),
    cf.RanksAgree(),
)


# --- broken ones ------------------------------------------------------------------------------------------------------


def sum_wraps(stack, seed):
    """Adds codes of eight bits in eight bits, and uses the whole range for every rank."""
    step = max(step_of(row) for row in stack)
    with np.errstate(over="ignore"):
        codes = sum(coded(row, step=step).astype(np.int8) for row in stack)
    return everywhere(np.asarray(codes).astype(np.int8) * step, stack)


def scale_in_float16(stack, seed):
    """Rounds the scales to float16, where small ones become zero and large ones infinite."""
    with np.errstate(over="ignore"):
        scales = [np.float64(np.float16(step_of(row))) for row in stack]
    return everywhere(
        sum(coded(row, step=scale) * scale for row, scale in zip(stack, scales, strict=True) if scale), stack
    )


def wrong_at_four_ranks(stack, seed):
    """Leaves the last rank out where there are four."""
    total = sum(decoded(row) for row in stack)
    return everywhere(total - (decoded(stack[3]) if len(stack) == 4 else 0.0), stack)


def wrong_where_256_divides(stack, seed):
    """Loses the last entry where 256 divides the size."""
    total = sum(decoded(row) for row in stack)
    if stack.shape[1] % 256 == 0:
        total[-1] = 0.0
    return everywhere(total, stack)


def reads_memory_in_order(stack, seed):
    """Reads the memory behind a view in its order."""
    base = stack if stack.base is None else stack.base
    flat = np.asarray(base).ravel(order="K")
    start = 0 if stack.base is None else (stack.ctypes.data - base.ctypes.data) // stack.itemsize
    start = max(0, min(start, flat.size - stack.size))
    return to_nearest(flat[start : start + stack.size].reshape(stack.shape), seed)


def one_uniform(stack, seed):
    """Rounds all entries of all ranks by one uniform number."""
    u = np.random.default_rng(seed).random()
    return everywhere(sum(np.floor(row.astype(np.float64) / step_of(row) + u) * step_of(row) for row in stack), stack)


def sixteen_bits_never_up(stack, seed):
    """Rounds by random integers of 15 bits, taken for 16."""
    rng = np.random.default_rng(seed)
    total = 0.0
    for row in stack:
        draws = rng.integers(0, 2**15, size=row.shape, dtype=np.uint16) / 2**16  # of 2^16 words half
        total = total + np.floor(row.astype(np.float64) / step_of(row) + draws) * step_of(row)
    return everywhere(total, stack)


def last_rank_lost(stack, seed):
    """Leaves out the last rank, of codes."""
    return to_nearest(stack, seed) if len(stack) < 2 else everywhere(sum(decoded(row) for row in stack[:-1]), stack)


def owner_keeps_more(stack, seed):
    """Rank 0 keeps the sum as it was before it was coded."""
    out = to_nearest(stack, seed)
    out[0] = stack.astype(np.float64).sum(axis=0).astype(stack.dtype)
    return out


def mean_in_place_of_sum(stack, seed):
    """Divides the sum of codes by the number of ranks."""
    return (to_nearest(stack, seed).astype(np.float64) / len(stack)).astype(stack.dtype)


def scale_of_rank_zero(stack, seed):
    """Codes all ranks by the scale of rank 0, and cuts off what is larger."""
    step = step_of(stack[0])
    return everywhere(sum(np.clip(coded(row, step=step), -LEVELS, LEVELS) * step for row in stack), stack)


def rounds_toward_zero(stack, seed):
    """Rounds toward zero, and promises half a step."""
    return everywhere(sum(np.trunc(row.astype(np.float64) / step_of(row)) * step_of(row) for row in stack), stack)


def biased_by_a_thousandth(stack, seed):
    """Multiplies an unbiased sum by 1.003."""
    rng = np.random.default_rng(seed)
    return everywhere(1.003 * sum(decoded(row, rng) for row in stack), stack)


def noisier_than_claimed(stack, seed):
    """Takes steps eight times as large as the variance that it promises has room for."""
    rng = np.random.default_rng(seed)
    total = sum(np.floor(row / (8 * step_of(row)) + rng.random(row.shape)) * 8 * step_of(row) for row in stack)
    return everywhere(total, stack)


def rounded(stack, seed):
    """The exact sum, rounded to bfloat16."""
    bits = stack.astype(np.float64).sum(axis=0).astype(np.float32).view(np.uint32)
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return everywhere(nearest.view(np.float32), stack)


def cut_off(stack, seed):
    """The exact sum, cut off to bfloat16, with the error of rounding claimed."""
    bits = stack.astype(np.float64).sum(axis=0).astype(np.float32).view(np.uint32)
    return everywhere((bits & np.uint32(0xFFFF0000)).view(np.float32), stack)


def falls_where_it_rises(stack, seed):
    """Drops the largest code of a rank, as if it were one too many."""
    total = 0.0
    for row in stack:
        codes = coded(row)
        total = total + np.where(codes == LEVELS, 0.0, codes) * step_of(row)
    return everywhere(total, stack)


LOSSY_SUMS = tuple(
    broken(wrong, right, claims, *killed_by, kind=cf.AllReduce, **options)
    for wrong, right, claims, killed_by, options in (
        (sum_wraps, to_nearest, NEAREST, ("Bounded", "AbsoluteError", "Monotone"), {}),
        (scale_in_float16, to_nearest, NEAREST, ("AbsoluteError",), {}),
        (wrong_at_four_ranks, to_nearest, NEAREST, ("AbsoluteError",), {}),
        (wrong_where_256_divides, to_nearest, NEAREST, ("AbsoluteError",), {}),
        (reads_memory_in_order, to_nearest, NEAREST, ("layout in memory does not matter",), {}),
        (one_uniform, at_random, RANDOM, ("Independent",), {}),
        (sixteen_bits_never_up, at_random, RANDOM, ("Unbiased",), {}),
        (last_rank_lost, to_nearest, NEAREST, ("AbsoluteError",), {}),
        (owner_keeps_more, to_nearest, NEAREST, ("RanksAgree",), {}),
        (mean_in_place_of_sum, to_nearest, NEAREST, ("AbsoluteError",), {}),
        (scale_of_rank_zero, to_nearest, NEAREST, ("AbsoluteError",), {}),
        (rounds_toward_zero, to_nearest, NEAREST, ("AbsoluteError",), {}),
        (biased_by_a_thousandth, at_random, RANDOM, ("Unbiased",), {}),
        (noisier_than_claimed, at_random, RANDOM, ("Variance",), {}),
        (falls_where_it_rises, to_nearest, [cf.Monotone()], ("Monotone",), {}),
        (cut_off, rounded, [cf.RelativeError(2.0**-8)], ("RelativeError",), {"magnitudes": (1e-30, 1e30)}),
    )
)
