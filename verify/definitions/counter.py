"""The counter-based generator as its docstring has it: splitmix64 (Steele, Lea, Flood 2014) evaluated at a counter."""

import numpy as np

WORD = 2**64


def key_of(seed):
    """One 64-bit key, the first draw of numpy's generator."""
    return int(np.random.default_rng(seed).integers(0, WORD, dtype=np.uint64))


def word(key, i):
    """Draw i of a key."""
    z = (key + (i + 1) * 0x9E3779B97F4A7C15) % WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


def uniforms(key, n, dtype):
    """Multiples of 2^-53 from the top bits of a draw; in float32 two of 2^-24, from its top and its bottom."""
    if dtype == np.float64:
        return np.array([(word(key, i) >> 11) * 2.0**-53 for i in range(n)])
    halves = [half for i in range((n + 1) // 2) for half in (word(key, i) >> 40, word(key, i) % 2**24)]
    return np.array([half * 2.0**-24 for half in halves[:n]], np.float32)


def bounded(key, sizes):
    """Integers, each uniform below its size: Lemire 2019, with another word 2^32 counters on after a rejection."""
    found = []
    for counter, size in enumerate(sizes):
        product = (word(key, counter) >> 32) * size
        while product % 2**32 < 2**32 % size:
            counter += 2**32
            product = (word(key, counter) >> 32) * size
        found.append(product >> 32)
    return found
