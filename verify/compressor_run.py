"""`CompressorRun`: one compressor on one input, every part of the answer worked out once for all claims that ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import Law
from commbounds.theory import Hypothesis
from commbounds.verify.experiment import decimal
from commbounds.verify.kernel_law import Outcomes, kernel_law
from commbounds.verify.marginals import Marginals


def exact_array(x: Any, dtype: Any = np.float64) -> Array:
    """An exact input as an array."""
    return np.array([[float(v) for v in row] for row in x] if isinstance(x[0], tuple) else [float(v) for v in x], dtype)


class CompressorRun:
    """What a compressor does with an input.

    Parameters
    ----------
    c : Compressor
        The compressor.
    x : array, or tuple of Fraction, or of rows
        The input, in floats or in exact arithmetic.
    seed : int or sequence of int
        Seeds what is drawn.
    """

    def __init__(self, c: Any, x: Any, seed: Any = 0) -> None:
        self.c, self.x, self.seed = c, x, seed
        self._laws: dict[Any, Law] = {}
        self._kernels: dict[tuple[bytes, str, tuple[int, ...]], Marginals | Outcomes | None] = {}
        self._computed: dict[Callable[[CompressorRun], Any], Any] = {}
        self._drawn: dict[Any, tuple[list[Array], np.random.Generator]] = {}
        self._met: dict[str, bool] = {}

    @property
    def exact(self) -> bool:
        """Whether the input is one of exact arithmetic."""
        return isinstance(self.x, tuple)

    def law(self, x: Any = None) -> Law:
        """The exact law of the output for the input, or for another exact one."""
        x = self.x if x is None else x
        if x not in self._laws:
            self._laws[x] = self.c.law(x)
        return self._laws[x]

    def kernel(self, x: Array | None = None) -> Marginals | Outcomes | None:
        """The implementation's law for the input, or for another array: see `kernel_law`."""
        array = self.x if x is None else x
        key = (array.tobytes(), array.dtype.char, array.shape)
        if key not in self._kernels:
            self._kernels[key] = kernel_law(self.c, array)
        return self._kernels[key]

    def once(self, function: Callable[[CompressorRun], Any]) -> Any:
        """``function(run)``, computed the first time."""
        if function not in self._computed:
            self._computed[function] = function(self)
        return self._computed[function]

    def meets(self, hypothesis: Hypothesis, facts: Mapping[str, Any]) -> bool:
        """Whether the run meets a hypothesis about it, found out the first time; `facts` holds all that it asks."""
        if hypothesis.name not in self._met:
            self._met[hypothesis.name] = hypothesis.admits(**{name: facts[name] for name in hypothesis.needs})
        return self._met[hypothesis.name]

    def drawn(
        self, count: int, draw: Callable[[CompressorRun, np.random.Generator], Array] | None = None
    ) -> list[Array]:
        """`count` outputs, or results of `draw`; later calls get the first ones of them, and draw on."""
        if draw not in self._drawn:
            self._drawn[draw] = [], np.random.default_rng(self.seed)
        results, rng = self._drawn[draw]
        while len(results) < count:
            results.append(self.c(self.x, rng) if draw is None else draw(self, rng))
        return results[:count]


def law_gap(run: CompressorRun) -> tuple[float, float] | None:
    """Largest difference of a probability between the kernel and the law on an exact input, and the room for rounding.

    The kernel is fed random inputs at and around every edge, in float32; outputs are matched up to rounding. None where
    its law cannot be read off.
    """
    kernel = run.kernel(exact_array(run.x, np.float32))
    if kernel is None:
        return None
    law = run.law()
    outputs = np.array([[decimal(v) for v in y] for _, y in law])
    p = np.array([decimal(q) for q, _ in law])
    top = float(np.abs(outputs).max()) or 1.0
    eps = float(np.finfo(np.float32).eps)
    near = 8.0 * eps * top
    if isinstance(kernel, Marginals):
        # an entry whose two levels agree up to rounding is deterministic
        same = np.abs(kernel.upper - kernel.lower) <= near
        gaps = [
            np.where(q > 0.0, np.abs(p @ (np.abs(outputs - value) <= near) - q), 0.0)
            for value, q in (
                (kernel.upper, np.where(same, 1.0, kernel.p)),
                (kernel.lower, np.where(same, 1.0, 1.0 - kernel.p)),
            )
        ]
        # the probability is the fractional part of levels * |x| / norm: three roundings of a number <= levels
        levels = float(getattr(run.c, "levels", getattr(run.c, "top", 1)))
        return float(np.max(gaps)), kernel.resolution + 4.0 * eps * max(levels, 1.0)
    matched = np.abs(outputs[:, None, :] - kernel.y[None, :, :]).max(axis=2) <= near
    return float(np.abs(p - matched @ kernel.p).max()), kernel.resolution


EXACT = tuple(
    tuple(Fraction(v, 8) for v in x)
    for x in ((24,), (8, -32), (0, 40, -21), (16, 16, -56, 5), (-1, 0, 0, 64), (0,), (8, 8), (40, 32, -56, -24, 8))
)
"""Inputs of a law: one entry, both signs, zeros, ties, entries far apart, a zero alone, roots of a number of steps,
and entries that lie halfway between buckets of a third to a fifteenth of six deviations."""


def law_lines(compressor: Any, inputs: Iterable[tuple[Fraction, ...]]) -> Iterator[str]:
    """Where the law of a compressor is not what its kernel does with those of the exact inputs that it takes."""
    for x in inputs:
        try:
            compressor(exact_array(x, np.float32), np.random.default_rng(0))
        except ValueError:  # too few entries for these hyper-parameters, or a result beyond the dtype
            continue
        compared = law_gap(run := CompressorRun(compressor, x))
        if compared is None and len(x) > 1:  # of a kernel whose law cannot be read off there may be too many outcomes
            continue
        off, room = compared or (0.0, 0.0)
        chances = [q for q, _ in run.law()]
        if off > room or any(q <= 0 for q in chances) or sum(chances) != 1:
            shown = ", ".join(map(str, x))
            yield f"the law of {shown}: a probability is {off:g} off or not positive, or their sum is not one"
