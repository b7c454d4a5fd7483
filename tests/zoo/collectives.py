"""Broken all-reduces of whole vectors: lost blocks, doubled ranks, ranks that end apart, means over something else."""

import numpy as np

from commbounds.verify import conformance as cf
from zoo.record import broken


def to_all(vector, P):
    """One row a rank."""
    return np.repeat(vector[None], P, axis=0)


# --- sums --------------------------------------------------------------------------------------------------------


def blocks(n, P):
    """Ends of P blocks that differ by at most one entry."""
    return [n * p // P for p in range(P + 1)]


def ring(stack, seed):
    """Reduce-scatter and all-gather around a ring."""
    return ringed(stack, blocks(stack.shape[1], len(stack)))


def ringed(stack, ends, shift=1):
    """A ring all-reduce over blocks with these ends; block b is complete on rank b - shift."""
    P = len(stack)
    rows = stack.copy()
    cuts = [slice(ends[b], ends[b + 1]) for b in range(P)]
    for step in range(P - 1):
        moving = [(rank, (rank - step) % P, rows[rank, cuts[(rank - step) % P]].copy()) for rank in range(P)]
        for rank, block, values in moving:
            rows[(rank + 1) % P, cuts[block]] += values
    for step in range(P - 1):
        moving = [(rank, (rank + shift - step) % P) for rank in range(P)]
        copies = [(rank, block, rows[rank, cuts[block]].copy()) for rank, block in moving]
        for rank, block, values in copies:
            rows[(rank + 1) % P, cuts[block]] = values
    return rows


def ring_one_block_off(stack, seed):
    """Begins the all-gather with the block of its own number: the complete one is the next."""
    return ringed(stack, blocks(stack.shape[1], len(stack)), shift=0)


def ring_of_whole_blocks(stack, seed):
    """Cuts n // P entries a block: the rest, or everything if n < P, is not added."""
    P, n = stack.shape
    return ringed(stack, [n // P * p for p in range(P + 1)])


def doubling(stack, seed):
    """Recursive doubling; ranks beyond a power of two hand theirs over first."""
    P = len(stack)
    whole = 1 << (P.bit_length() - 1)
    rows = stack[:whole].copy()
    rows[: P - whole] += stack[whole:]
    distance = 1
    while distance < whole:
        rows = rows + rows[np.arange(whole) ^ distance]
        distance *= 2
    return np.concatenate([rows, rows[: P - whole]])


def doubling_counts_twice(stack, seed):
    """Takes the partner modulo P: between powers of two some are added twice."""
    P, rows, distance = len(stack), stack.copy(), 1
    while distance < P:
        rows = rows + rows[(np.arange(P) + distance) % P]
        distance *= 2
    return rows


def doubling_leaves_some_out(stack, seed):
    """Skips partners that do not exist: between powers of two some are left out."""
    P, rows, distance = len(stack), stack.copy(), 1
    while distance < P:
        partner = np.arange(P) ^ distance
        rows = rows + np.where((partner < P)[:, None], rows[np.minimum(partner, P - 1)], 0)
        distance *= 2
    return rows.astype(stack.dtype)


def in_half_precision(stack, seed):
    """Adds in float16."""
    with np.errstate(all="ignore"):
        return to_all(stack.astype(np.float16).sum(axis=0).astype(stack.dtype), len(stack))


def in_rank_order(stack, seed):
    """Adds the rows in the order of the ranks."""
    total = stack[0].copy()
    for row in stack[1:]:
        total += row
    return to_all(total, len(stack))


def own_row_first(stack, seed):
    """Adds its own row first, then the others as they come: the ranks round differently."""
    P = len(stack)
    return np.stack([in_rank_order(np.roll(stack, -rank, axis=0), seed)[0] for rank in range(P)])


def only_on_the_root(stack, seed):
    """Forgets to broadcast: only rank 0 has the sum."""
    rows = stack.copy()
    rows[0] = in_rank_order(stack, seed)[0]
    return rows


def into_the_first_row(stack, seed):
    """Adds into the caller's first row."""
    for row in stack[1:]:
        stack[0] += row
    return to_all(stack[0].copy(), len(stack))


def for_pairs_only(stack, seed):
    """Waits for a partner that never comes if the number of ranks is odd."""
    waiting = list(stack)
    while len(waiting) > 1:
        pairs = [a + b for a, b in zip(waiting[::2], waiting[1::2], strict=False)]
        waiting = pairs if len(waiting) % 2 == 0 else waiting
    return to_all(waiting[0], len(stack))


SUM = [cf.Sums(), cf.RanksAgree()]

# --- means -------------------------------------------------------------------------------------------------------


def mean(stack, seed):
    """The sum over P."""
    return in_rank_order(stack / stack.dtype.type(len(stack)), seed)


def mean_of_the_others(stack, seed):
    """Divides by P - 1: the root does not count itself."""
    return in_rank_order(stack / stack.dtype.type(max(1, len(stack) - 1)), seed)


def mean_of_means(stack, seed):
    """Takes the mean of the means of two groups, of whatever sizes."""
    half = (len(stack) + 1) // 2
    parts = [part.mean(axis=0) for part in (stack[:half], stack[half:]) if len(part)]
    return to_all(np.mean(parts, axis=0).astype(stack.dtype), len(stack))


MEAN = [cf.Averages(), cf.RanksAgree()]

# ranks end with what is up to P times as large
ROOM = {"kind": cf.AllReduce, "magnitudes": (0.0, 1e30)}

COLLECTIVES = (
    broken(ring_one_block_off, ring, SUM, "Sums", **ROOM),
    broken(ring_of_whole_blocks, ring, SUM, "Sums", **ROOM),
    broken(doubling_counts_twice, doubling, [cf.Sums()], "Sums", **ROOM),
    broken(doubling_leaves_some_out, doubling, [cf.Sums()], "Sums", **ROOM),
    broken(in_half_precision, in_rank_order, SUM, "Sums", **ROOM),
    broken(own_row_first, in_rank_order, SUM, "RanksAgree", **ROOM),
    broken(only_on_the_root, in_rank_order, SUM, "Sums", "RanksAgree", **ROOM),
    broken(into_the_first_row, in_rank_order, SUM, "input not mutated", **ROOM),
    broken(for_pairs_only, in_rank_order, SUM, "answers", time_limit=0.2, **ROOM),
    broken(mean_of_the_others, mean, MEAN, "Averages", **ROOM),
    broken(mean_of_means, mean, MEAN, "Averages", **ROOM),
)
"""Broken all-reduces, by what kills them."""
