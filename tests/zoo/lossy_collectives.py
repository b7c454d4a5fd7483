"""Broken all-reduces that leave something out: sums that wrap, words that are not counted, lost mass."""

import numpy as np
import sympy as sp

from commbounds.verify import conformance as cf
from zoo.collectives import ROOM, blocks, in_rank_order, to_all
from zoo.record import broken
from zoo.selection import topk

K = 3

# --- fixed point -------------------------------------------------------------------------------------------------


def fixed_point(stack, room, bits):
    """Sums of integers of so many bits, scaled by the largest entry of all; `room` is what they are made smaller by."""
    P, top = len(stack), float(np.abs(stack).max())
    scale = ((2 ** (bits - 1) - 1) // room) / (top or 1.0)
    codes = np.rint(stack.astype(np.float64) * scale).astype(f"int{bits}")
    total = codes.sum(axis=0, dtype=codes.dtype)
    kept = stack.astype(np.float64) - codes / scale
    return cf.AllReduceResult(to_all((total / scale).astype(stack.dtype), P), None, None, kept)


def in_eight_bits(stack, seed):
    """Integers small enough for their sum."""
    return fixed_point(stack, len(stack), 8)


def in_eight_bits_that_wrap(stack, seed):
    """Uses the whole range of int8 for every rank: the sum wraps."""
    return fixed_point(stack, 1, 8)


def in_thirty_two_bits_that_wrap(stack, seed):
    """Uses the whole range of int32 for every rank, as a switch that adds integers is given: the sum wraps."""
    return fixed_point(stack, 1, 32)


FIXED = [cf.Conserves(), cf.RanksAgree()]

# --- sparse ------------------------------------------------------------------------------------------------------


def gathered(stack, seed):
    """Everyone sends k values and indices to everyone, and keeps the rest back."""
    P = len(stack)
    sent = np.stack([topk(row, seed) for row in stack])
    words = np.full(P, 2 * min(K, stack.shape[1]) * (P - 1))
    return cf.AllReduceResult(in_rank_order(sent, seed), words, words, stack - sent)


def gathered_sold_as_okay(stack, seed):
    """Sends to everyone, and promises the volume of Ok-Topk: 6k (P - 1)/P."""
    return gathered(stack, seed)


def gathered_without_indices(stack, seed):
    """Promises k (P - 1) words: the indices are words, too."""
    return gathered(stack, seed)


def globally_largest(stack, put_back):
    """The k largest entries of the sum of the ranks' k largest; what of a rank's was not taken is put back, or not."""
    P = len(stack)
    sent = np.stack([topk(row, 0) for row in stack])
    total = in_rank_order(sent, 0)[0]
    result = topk(total, 0)
    taken = result != 0
    kept = np.where(taken[None] | (not put_back), stack - sent, stack)
    words = np.full(P, 2 * min(K, stack.shape[1]) * (P - 1))
    return cf.AllReduceResult(to_all(result, P), words, words, kept)


def global_topk(stack, seed):
    """What was chosen by a rank, but not by all, is put back."""
    return globally_largest(stack, True)


def global_topk_without_putting_back(stack, seed):
    """Forgets what a rank has sent and all have dropped."""
    return globally_largest(stack, False)


def own_choice_of_the_sum(stack, seed):
    """Every rank takes from the sum what it has chosen itself: the ranks end apart."""
    total = in_rank_order(stack, seed)[0]
    return np.stack([np.where(topk(row, seed) != 0, total, 0).astype(stack.dtype) for row in stack])


def one_choice_of_the_sum(stack, seed):
    """Every rank takes from the sum what rank 0 has chosen."""
    total = in_rank_order(stack, seed)[0]
    return to_all(np.where(topk(stack[0], seed) != 0, total, 0).astype(stack.dtype), len(stack))


P, k = sp.symbols("P k", positive=True)


def k_of(P, n):
    """How many entries a rank chooses."""
    return min(K, n)


WORDS = cf.WordsAtMost(2 * k * (P - 1), k=k_of)
GATHERED = [cf.Conserves(), cf.RanksAgree(), WORDS]
OKAY = [cf.Conserves(), cf.RanksAgree(), cf.WordsAtMost(6 * k * (P - 1) / P, k=k_of)]
VALUES = [cf.Conserves(), cf.RanksAgree(), cf.WordsAtMost(k * (P - 1), k=k_of)]

# --- quantised ---------------------------------------------------------------------------------------------------


def eight_bits(x):
    """The nearest multiples of max/127."""
    top = float(np.abs(x).max()) if x.size else 0.0
    return (top * (np.rint(127 * x.astype(np.float64) / (top or 1.0)) / 127)).astype(x.dtype)


def in_two_steps(stack, owner_keeps_its_sum):
    """Every rank owns a block, adds what the others send of it in eight bits, and sends the sum in eight bits."""
    P, n = stack.shape
    ends, rows = blocks(n, P), np.empty_like(stack)
    for owner in range(P):
        block = slice(ends[owner], ends[owner + 1])
        total = in_rank_order(np.stack([eight_bits(row[block]) for row in stack]), 0)[0]
        rows[:, block] = eight_bits(total)
        if owner_keeps_its_sum:
            rows[owner, block] = total
    return rows


def two_steps(stack, seed):
    """Owners read their own message."""
    return in_two_steps(stack, False)


def two_steps_of_unequal_ends(stack, seed):
    """Owners keep the sum that they have sent in eight bits to the others: the ranks end apart."""
    return in_two_steps(stack, True)


NORMAL = {"kind": cf.AllReduce, "magnitudes": (1e-30, 1e30)}

LOSSY = (
    broken(in_eight_bits_that_wrap, in_eight_bits, FIXED, "Conserves", **NORMAL),
    broken(in_thirty_two_bits_that_wrap, in_eight_bits, FIXED, "Conserves", **NORMAL),
    broken(gathered_sold_as_okay, None, OKAY, "WordsAtMost", **ROOM),
    broken(gathered_without_indices, None, VALUES, "WordsAtMost", **ROOM),
    broken(global_topk_without_putting_back, global_topk, GATHERED, "Conserves", **ROOM),
    broken(own_choice_of_the_sum, one_choice_of_the_sum, [cf.RanksAgree()], "RanksAgree", **ROOM),
    broken(two_steps_of_unequal_ends, two_steps, [cf.RanksAgree()], "RanksAgree", **ROOM),
)
"""Broken lossy all-reduces, by what kills them."""
