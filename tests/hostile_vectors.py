"""Small vectors that quantisers get wrong: extreme scales, exact levels and their neighbours, ties, zeros."""

import numpy as np


def hostile_vectors(dtype):
    """Name -> vector of `dtype`; every l2 norm is finite in it."""
    info = np.finfo(dtype)
    huge, least, normal = info.max, info.smallest_subnormal, info.tiny
    powers = np.ldexp(1.0, [-3, 0, 1, 7, info.minexp, info.minexp + 1, 60, -60])
    random = np.random.default_rng(7)
    vectors = {
        "zeros": [0.0, 0.0, 0.0],
        "negative zero": [-0.0, 0.0, -0.0, 1.0],
        "one entry": [-3.25],
        "one sparse": [0.0, 0.0, -0.7, 0.0],
        "one sparse, largest": [0.0, -huge, 0.0],
        "one sparse, least": [0.0, least, 0.0],
        "largest, then small": [huge, 1.0, least, -normal],
        "equal": [1.7] * 9,
        "equal, tiny": [least] * 5,
        "equal, large": [huge / 8] * 16,
        "all negative": [-1.0, -2.0, -2.0, -0.1],
        "pythagorean": [3.0, -4.0, 12.0, 0.0],
        "powers of two": powers,
        "just above powers": np.nextafter(powers.astype(dtype), dtype(np.inf)),
        "just below powers": np.nextafter(powers.astype(dtype), dtype(0)),
        "subnormal": [least, 3 * float(least), float(normal) / 2, -0.75 * float(normal)],
        "at the format's ends": [normal, -float(normal) * 1.5, 2.0 ** (info.maxexp - 2)],
        "many scales": (-1.0) ** np.arange(40) * 10.0 ** np.arange(-20, 20),
        "halfway": [1.5, 3.0, 0.75, -6.0],
        "random": random.standard_normal(67),
        "random, heavy": random.standard_t(1.5, 65) ** 3,
    }
    return {name: np.array(vector, dtype) for name, vector in vectors.items()}


def hostile_uniforms(dtype, n):
    """Name -> n uniforms of `dtype` on its grid: the ends, the middle, and random ones."""
    bits = 24 if dtype == np.float32 else 53
    grid = 2.0**-bits
    return {
        "0": np.zeros(n, dtype),
        "least": np.full(n, grid, dtype),
        "half": np.full(n, 0.5, dtype),
        "largest": np.full(n, 1.0 - grid, dtype),
        "random": (np.random.default_rng(n).integers(0, 2**bits, n) * grid).astype(dtype),
    }
