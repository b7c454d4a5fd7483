"""torchcomms' quantised reduce-scatter, bit by bit on a CPU: float32 is rounded to bfloat16 by 16 random bits.

Written from meta-pytorch/torchcomms at 59426ba4: `philox_rng.cuh` and `stochastic_rounding.cuh` in comms/utils/kernels,
`QuantCopyOp.cuh` in comms/prims/core, `ReduceScatterDirectIb.cu` in comms/prims/collectives. One channel; the rounding
in software, as before Blackwell, whose instruction is not modelled.
"""

import numpy as np

from commbounds.verify import conformance as cf

KEYS, FACTORS, ROUNDS = (0x9E3779B9, 0xBB67AE85), (0xD2511F53, 0xCD9E8D57), 7
LOW = np.uint64(0xFFFFFFFF)


def philox(seed, counters):
    """(n, 4) uint32: Philox 4x32 of 7 rounds, of a seed of 64 bits and n counters of 64 bits."""
    counters = np.asarray(counters, np.uint64)
    c = [counters & LOW, counters >> np.uint64(32), np.zeros_like(counters), np.zeros_like(counters)]
    keys = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(ROUNDS):
        first, second = (np.uint64(factor) * word for factor, word in zip(FACTORS, (c[0], c[2]), strict=True))
        high = second >> np.uint64(32) ^ c[1] ^ np.uint64(keys[0]), first >> np.uint64(32) ^ c[3] ^ np.uint64(keys[1])
        c = [high[0], second & LOW, high[1], first & LOW]
        keys = [(key + more) & 0xFFFFFFFF for key, more in zip(keys, KEYS, strict=True)]
    return np.stack(c, axis=-1).astype(np.uint32)


def rounded(x, words):
    """Float32 numbers to bfloat16, by a word of 16 bits each that is added below; what is not finite to nearest."""
    bits = x.view(np.uint32)
    up = (bits + (words & np.uint32(0xFFFF))) & np.uint32(0xFFFF0000)
    return np.where(np.isfinite(x), up, bits & np.uint32(0xFFFF0000)).view(np.float32)


def words_of(seed, first, count):
    """The words of `count` elements from number `first` on, of which eight share a counter."""
    elements = np.arange(first, first + count, dtype=np.uint64)
    drawn = philox(seed, elements // np.uint64(8)).view(np.uint16)
    return drawn[np.arange(count), (elements % np.uint64(8)).astype(int)].astype(np.uint32)


def reduce_scatter(stack, seed):
    """Every rank adds to its own part, which is not rounded, those of the ranks behind it in turn, in float32."""
    P, n = stack.shape
    part, sums = n // P, []
    for rank in range(P):
        own = slice(rank * part, (rank + 1) * part)
        total = stack[rank, own].copy()
        for hop in range(1, P):
            peer = (rank + hop) % P
            total = rounded(stack[peer, own], words_of(seed, peer * n + rank * part, part)) + total
        sums.append(total)
    return sums


def step(stack):
    """What entries may be off by: less than 2^-7 of what other ranks than the owner bring."""
    P, n = stack.shape
    others = np.abs(stack.astype(np.float64))
    others[np.arange(n) // (n // P), np.arange(n)] = 0.0
    return others.sum(axis=0) * 2.0**-7


subject = cf.ReduceScatter(
    reduce_scatter,
    [cf.AbsoluteError(step), cf.Unbiased(), cf.Variance(2.0**-16)],
    name="torchcomms, quantised",
    magnitudes=(1e-30, 1e30),
    effort=0.2,
)
