"""The distribution of an implementation's output, read off its kernel by injecting randomness."""

import inspect
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.columns import Registry
from commbounds.compressors import Compressor
from commbounds.compressors.base import own
from commbounds.verify.marginals import Marginals, kernel_marginals

_ENUMERABLE = 6
_BISECTABLE = 8
_NEAR = 8
"""Cells on either side of where the law changes that are tried first: more than partial sums of so few are off."""
_ANGLES, _MOST_ANGLES = 64, 1024


@dataclass(frozen=True)
class Outcomes:
    """A finite law: probabilities (t,) and outputs (t, size), both float64; how far a probability may be off."""

    p: Floats
    y: Floats
    resolution: float = 2.0**-50

    @property
    def mean(self) -> Floats:
        """Expected output."""
        result: Floats = self.p @ self.y
        return result


LawReader = Callable[[Any, Array], "Marginals | Outcomes | None"]
"""How a law is read off a kernel: of a compressor and an input, as `kernel_law`."""


def injection(compressor: Compressor) -> str:
    """What `compressor.compress_with` takes: uniforms, draws, u, sketch, or a column's own; or the empty string."""
    method = getattr(compressor, "compress_with", None)
    return "" if method is None else _parameter(method)


def _parameter(method: Any) -> str:
    """The name of the second parameter; of a bound method looked up once for its class."""
    function = getattr(method, "__func__", None)
    return list(inspect.signature(method).parameters)[1] if function is None else _parameter_of(function)


@lru_cache(maxsize=1 << 8)
def _parameter_of(function: Any) -> str:
    return list(inspect.signature(function).parameters)[2]


def kernel_law(compressor: Compressor, x: Array) -> Marginals | Outcomes | None:
    """The law of ``compressor(x, rng)`` over `rng`, without sampling noise.

    Parameters
    ----------
    compressor : Compressor
        Any.
    x : (n,) or (m, n) float32 or float64
        Admissible input.

    Returns
    -------
    Marginals, Outcomes or None
        Marginals for elementwise kernels; Outcomes for deterministic ones (a single outcome), for Rand-K up to six
        entries (all draws of Floyd's algorithm), for one uniform up to 8 entries (bisection), for a one-column sketch
        in the plane (quadrature over its angle, converged to rounding) and for a sketch of the smaller side's rank (one
        outcome, with probability one); for what only one column's compressors take, what its ``INJECTIONS`` in
        ``verify/experiments/NAME/injections.py`` reads; None where the law cannot be read off.
    """
    if not compressor.randomised:
        return Outcomes(np.ones(1), compressor(x).astype(np.float64).reshape(1, -1))
    taken = injection(compressor)
    reader = _SHARED.get(taken) or _OWN.get(taken)
    return None if reader is None else reader(compressor, x)


_OWN: Registry[LawReader] = Registry("INJECTIONS", "verify.experiments", "injections")
"""How the law is read by what `compress_with` takes, where only one column's compressors take it."""


def restored(compressor: Any, message: Any) -> Floats:
    """What `message`, just made, stands for, as one vector of float64."""
    y: Floats = compressor.decompress(own(message)).astype(np.float64).ravel()
    return y


def _all_draws(compressor: Any, x: Array) -> Outcomes | None:
    n, k = x.size, min(compressor.k, x.size)
    if n > _ENUMERABLE:
        return None
    # Floyd's draw j is uniform on 0 .. n - k + j
    draws = itertools.product(*(range(n - k + j + 1) for j in range(k)))
    y = np.array([restored(compressor, compressor.compress_with(x, np.array(d, dtype=np.int64))) for d in draws])
    return Outcomes(np.full(len(y), 1.0 / len(y)), y)


def _one_uniform(compressor: Any, x: Array) -> Outcomes | None:
    """Outcomes of a kernel that takes one uniform and changes finitely often: recursive bisection on 2^-53.

    The first cuts are made around where the exact law changes; whether the kernel changes there, it says itself.
    """
    if x.size > _BISECTABLE:
        return None
    cells = 1 << 53
    seen: dict[int, Floats] = {}

    def output(place: int) -> Floats:
        if place not in seen:
            seen[place] = restored(compressor, compressor.compress_with(x, place / cells))
        return seen[place]

    changes = itertools.accumulate(probability for probability, _ in compressor.law(x.tolist()))
    near = (int(at * cells) + step for at in changes for step in (-_NEAR, _NEAR))
    edges = [0]
    stack = list(itertools.pairwise(sorted({0, cells - 1, *(min(max(place, 0), cells - 1) for place in near)})))
    while stack:
        low, high = stack.pop()
        if high - low <= 1:
            if high > low and not np.array_equal(output(low), output(high)):
                edges.append(high)
            continue
        if np.array_equal(output(low), output(high)):
            continue  # outputs are ordered along u, so equal ends mean nothing changes between
        middle = (low + high) // 2
        stack += [(low, middle), (middle, high)]
    starts = np.array(sorted(edges), dtype=np.int64)
    p = np.diff(np.append(starts, cells)) / cells
    return Outcomes(p, np.array([output(int(e)) for e in starts]))


def _all_angles(compressor: Any, x: Array) -> Outcomes | None:
    """A Gaussian column in the plane matters only by its angle, uniform on the half circle: equidistant angles.

    Of a smooth periodic function they give the mean as exactly as any; twice as many contain those before.
    As many columns as the smaller side of the matrix catch all of it, whichever they are.
    """
    if compressor.rank >= min(x.shape):
        sketch = np.random.default_rng(0).standard_normal((x.shape[1], compressor.rank))
        return Outcomes(np.ones(1), restored(compressor, compressor.compress_with(x, sketch.astype(x.dtype)))[None])
    if x.shape[1] != 2 or compressor.rank != 1:
        return None
    wide = x.astype(np.float64).ravel()
    top = float(np.abs(wide).max()) or 1.0
    norm = float(np.linalg.norm(wide / top))

    def outputs(angles: Floats) -> Floats:
        sketches = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(x.dtype)
        return np.array([restored(compressor, compressor.compress_with(x, sketch[:, None])) for sketch in sketches])

    theta = np.pi * (np.arange(_ANGLES) + 1.0 / 3.0) / _ANGLES  # never on an axis, now or when they are halved
    y, previous = outputs(theta), math.inf
    while True:
        error = float(np.sqrt((((y - wide) / top) ** 2).sum(axis=1).mean()))
        # a narrow peak that all angles miss moves the error by a factor from count to count, so compare relatively
        if abs(error - previous) <= 1e-7 * error + 4.0 * float(np.finfo(x.dtype).eps) * norm:
            return Outcomes(np.full(len(y), 1.0 / len(y)), y)
        if len(y) == _MOST_ANGLES:
            return None
        between = theta + 0.5 * np.pi / len(theta)
        theta, y, previous = np.concatenate([theta, between]), np.concatenate([y, outputs(between)]), error


_SHARED: Mapping[str, LawReader] = MappingProxyType(
    {"uniforms": kernel_marginals, "draws": _all_draws, "u": _one_uniform, "sketch": _all_angles}
)
"""How the law is read by what `compress_with` takes, where several columns' compressors take it."""
