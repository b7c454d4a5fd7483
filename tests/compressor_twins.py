"""Compressors written with numpy alone, right ones and broken ones, for the tests of claims."""

import numpy as np


def seeded(c):
    """A compressor of ours as a function of input and seed."""

    def roundtrip(x, seed):
        return c(x, np.random.default_rng(seed))

    return roundtrip


def injected(c):
    """The same, which also takes uniforms."""

    def roundtrip(x, seed, uniforms=None):
        if uniforms is None:
            return c(x, np.random.default_rng(seed))
        return c.decompress(c.compress_with(x, uniforms))

    return roundtrip


def uniforms_of(x, seed, uniforms):
    return np.random.default_rng(seed).random(x.shape, dtype=np.float32) if uniforms is None else uniforms


def rand_k(share, scaled=True):
    """At random, one entry of every `share`, times `share` if scaled; at least one."""

    def roundtrip(x, seed):
        k = max(1, x.size // share)
        chosen = np.random.default_rng(seed).choice(x.size, k, replace=False)
        y = np.zeros_like(x)
        y[chosen] = x[chosen] * ((x.size / k) if scaled else 1.0)
        return y

    return roundtrip


def kept(q):
    """Every entry with probability q, over q."""

    def roundtrip(x, seed):
        return np.where(np.random.default_rng(seed).random(x.size) < q, x / q, 0.0).astype(x.dtype)

    return roundtrip


def all_or_nothing(q):
    def roundtrip(x, seed):
        return (x / q if np.random.default_rng(seed).random() < q else 0.0 * x).astype(x.dtype)

    return roundtrip


def ternary(x, seed, uniforms=None):
    """TernGrad."""
    top = np.abs(x).max()
    u = uniforms_of(x, seed, uniforms)
    return (np.sign(x) * np.where(u * top < np.abs(x), top, 0)).astype(x.dtype)


def stochastic_sign(x, seed, uniforms=None):
    top = np.abs(x).max()
    if top == 0:
        return x.copy()
    u = uniforms_of(x, seed, uniforms)
    return np.where(u < (1 + x.astype(np.float64) / top) / 2, top, -top).astype(x.dtype)


def exponential(x, seed, uniforms=None):
    """Dithering between 0 and 1, 1/2, 1/4 of the largest magnitude."""
    top = np.abs(x).max()
    if top == 0:
        return x.copy()
    levels = np.array([0.0, 0.25, 0.5, 1.0])
    a = np.abs(x.astype(np.float64)) / top
    low = np.minimum(np.searchsorted(levels, a, side="right") - 1, 2)
    p = (a - levels[low]) / (levels[low + 1] - levels[low])
    u = uniforms_of(x, seed, uniforms)
    return (np.sign(x) * top * np.where(u < p, levels[low + 1], levels[low])).astype(x.dtype)


def sketch(x, seed):
    """x G G^T / 4 for a Gaussian G: unbounded."""
    g = np.random.default_rng(seed).standard_normal((x.size, 4))
    return (g @ (g.T @ x.astype(np.float64)) / 4).astype(x.dtype)


def scaled(f, factor):
    def roundtrip(x, seed):
        return (f(x, seed) * np.float32(factor)).astype(x.dtype)

    return roundtrip


def shifted(f, share):
    """Everything moved by a share of the largest magnitude."""

    def roundtrip(x, seed):
        return (f(x, seed) + np.float32(share) * np.abs(x).max()).astype(x.dtype)

    return roundtrip


def losing(f, place=3):
    def roundtrip(x, seed):
        y = f(x, seed).copy()
        y[min(place, x.size - 1)] = 0
        return y

    return roundtrip


def turning(f):
    """The largest magnitudes come with the wrong sign."""

    def roundtrip(x, seed):
        y = f(x, seed)
        return np.where(np.abs(y) == np.abs(y).max(), -y, y)

    return roundtrip


def half_up(x, seed, uniforms=None):
    """TernGrad that rounds instead of drawing."""
    top = np.abs(x).max()
    return (np.sign(x) * np.where(2 * np.abs(x) >= top, top, 0)).astype(x.dtype)
