"""How each quantity of the book is measured: exactly from a law, without noise from a kernel, or one draw at a time."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, ClassVar

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.compressors import Compressor
from commbounds.compressors.base import Exact
from commbounds.verify.compressor_run import CompressorRun, exact_array
from commbounds.verify.encoding import bit_count
from commbounds.verify.experiment import decimal
from commbounds.verify.marginals import Marginals

_RELATIVE_TO_ZERO = "nothing is relative to a zero input: the claim has to assume that x is not zero"
_SYMBOLS = {"levels": "s", "base": "b", "rank": "r"}


@dataclass(frozen=True)
class Reading:
    """A measured value and the rounding that its computation may have suffered, both in the quantity's unit."""

    value: float
    slack: float = 0.0


def flat(x: Any) -> tuple[Fraction, ...]:
    """An exact vector or matrix as a flat tuple."""
    return tuple(v for row in x for v in row) if isinstance(x[0], tuple) else tuple(x)


def counts(c: Compressor, shape: tuple[int, ...]) -> dict[str, Any]:
    """Hyper-parameters and the shape of the input, by the book's symbols."""
    return {**_hyper_parameters(c), **({"m": shape[0], "n": shape[1]} if len(shape) == 2 else {"n": shape[0]})}


@cache
def _symbols(cls: Any) -> tuple[tuple[str, str], ...]:
    """The name of every hyper-parameter, and its symbol's."""
    return tuple((f.name, _SYMBOLS.get(f.name, f.name)) for f in fields(cls))


def _hyper_parameters(c: Compressor) -> dict[str, Any]:
    named = ((symbol, getattr(c, name)) for name, symbol in _symbols(type(c)))
    return {symbol: value for symbol, value in named if not isinstance(value, bool)}


def exact_values(c: Compressor, x: Any) -> dict[str, Any]:
    """The values of the book's symbols for an exact input: Fractions, and exact roots for the norms.

    Parameters
    ----------
    c : Compressor
        Gives k, s, b, r, block, chunk, threshold.
    x : tuple of Fraction, or tuple of rows
        Gives n (and m) and the norms; float32 is assumed for sizes on the wire.
    """
    import sympy as sp

    entries = [abs(v) for v in flat(x)]
    squares, cubes = sum(v * v for v in entries), sum(v**3 for v in entries)
    shape = {"m": len(x), "n": len(x[0])} if isinstance(x[0], tuple) else {"n": len(x)}
    norms = {
        "norm1": Fraction(sum(entries)),
        "norm2": sp.sqrt(sp.Rational(squares.numerator, squares.denominator)),
        "norm3": sp.cbrt(sp.Rational(cubes.numerator, cubes.denominator)),
        "norminf": max(entries),
    }
    parameters = {k: Fraction(v) if isinstance(v, float) else v for k, v in _hyper_parameters(c).items()}
    return {**parameters, **shape, **norms, "itembits": 32}


def float_values(c: Compressor, x: Array) -> dict[str, Any]:
    """The values of the book's symbols for an array, norms in float64 without overflow."""
    entries = np.abs(x.astype(np.float64)).ravel()
    top = float(entries.max()) or 1.0
    scaled = entries / top
    norms = {
        "norm1": top * float(scaled.sum()),
        "norm2": top * float(np.sqrt((scaled**2).sum())),
        "norm3": top * float(np.cbrt((scaled**3).sum())),
        "norminf": float(entries.max()),
    }
    shape = {"m": x.shape[0], "n": x.shape[1]} if x.ndim == 2 else {"n": x.size}
    parameters = {k: float(v) if isinstance(v, Fraction) else v for k, v in _hyper_parameters(c).items()}
    return {**parameters, **shape, **norms, "itembits": 8 * x.dtype.itemsize}


def symbol_values(run: CompressorRun) -> dict[str, Any]:
    """The values of the book's symbols for the run's input, exact or float as it is."""
    return exact_values(run.c, run.x) if run.exact else float_values(run.c, run.x)


class Measure(ABC):
    """One quantity, measured on a compressor and an input.

    Attributes
    ----------
    sampled : bool
        Whether `draws` gives unbiased observations.
    """

    sampled: ClassVar[bool] = False

    @abstractmethod
    def exact(self, run: CompressorRun) -> Exact:
        """The value in exact arithmetic, from the law for an exact input."""

    @abstractmethod
    def read(self, run: CompressorRun) -> Reading | None:
        """The implementation's value on an array without sampling noise; None where it can only be sampled."""

    def draws(self, run: CompressorRun, count: int, first: int = 0) -> Floats:
        """(count - first,) unbiased observations of the value, from the run's own draws but its `first` ones."""
        raise TypeError(f"{type(self).__name__} cannot be sampled")


def _moments(run: CompressorRun) -> tuple[Fraction, Exact, Exact]:
    """||x||^2, E ||y||^2 and E <x, y>."""
    entries = flat(run.x)
    second: Exact = Fraction(0)
    cross: Exact = Fraction(0)
    for p, y in run.law():
        second += p * sum(v * v for v in y)
        cross += p * sum(v * w for v, w in zip(y, entries, strict=True))
    return Fraction(sum(v * v for v in entries)), simplified(second), simplified(cross)


@dataclass(frozen=True)
class Distortion(Measure):
    """E ||gain C(x) - center x||^2, over ||x||^2 if `relative`.

    Parameters
    ----------
    gain : callable of (compressor, size) or None
        Factor on the output; 1 by default.
    center : int
        1 for an error, 0 for a second moment.
    relative : bool
        Whether to divide by the squared norm of the input, which is then not zero.
    """

    gain: Callable[[Compressor, int], Exact] | None = None
    center: int = 1
    relative: bool = True
    sampled = True

    def _gain(self, c: Compressor, size: int) -> Exact:
        return Fraction(1) if self.gain is None else self.gain(c, size)

    def exact(self, run: CompressorRun) -> Exact:
        gain = self._gain(run.c, len(flat(run.x)))
        squares, second, cross = run.once(_moments)
        if self.relative and not squares:
            raise ValueError(_RELATIVE_TO_ZERO)
        # ||gain y - center x||^2, expanded, so that an irrational gain meets rational sums
        total = gain * gain * second - 2 * gain * self.center * cross + self.center * squares
        return total / squares if self.relative else total

    def of(self, c: Any, x: Array, outputs: Sequence[Array]) -> Floats:
        """The value for each output, of x's size; where there is no gain, whatever the compressor."""
        flat_x = x.astype(np.float64).ravel()
        top = float(np.abs(flat_x).max()) or 1.0
        scaled = flat_x / top
        ys = np.array(outputs, dtype=np.float64).reshape(len(outputs), -1)
        errors = decimal(self._gain(c, x.size)) * (ys / top) - self.center * scaled
        totals: Floats = np.square(errors).sum(axis=1)
        return totals / float(scaled @ scaled) if self.relative and flat_x.any() else totals * top**2

    def read(self, run: CompressorRun) -> Reading | None:
        c, x = run.c, run.x
        if self.relative and not x.any():
            raise ValueError(_RELATIVE_TO_ZERO)
        law = run.kernel()
        if law is None:
            return None
        # everything relative to the largest entry, so that no square over- or underflows
        wide = x.astype(np.float64).ravel()
        top = float(np.abs(wide).max()) or 1.0
        wide /= top
        gain, goal = decimal(self._gain(c, x.size)), self.center * wide
        if isinstance(law, Marginals):
            scaled = Marginals(gain * law.upper / top, gain * law.lower / top, law.p, law.resolution)
            value = float(scaled.expected_square(goal).sum())
            square = float(scaled.expected_square(0.0).sum())
            apart = float(((scaled.upper - scaled.lower) ** 2).sum()) * law.resolution
        else:
            outputs = gain * law.y / top
            value = float(law.p @ ((outputs - goal) ** 2).sum(axis=1))
            square = float(law.p @ (outputs**2).sum(axis=1))
            apart = 0.0
        # At most eight roundings to the dtype in scale, ratio, probability and decoded value, each relative to the
        # output; one unit of the uniforms' grid in each probability; half a subnormal step in each decoded entry;
        # and float64 summation of n terms.
        kind = np.finfo(x.dtype)
        step = float(kind.smallest_subnormal) / top
        slack = 8.0 * float(kind.eps) * (square + value) + apart
        slack += 2.0 * step * np.sqrt(x.size * value) + x.size * step**2
        slack += x.size * float(np.finfo(np.float64).eps) * (square + value)
        unit = 1.0 / float(wide @ wide) if self.relative else top**2
        return Reading(value * unit, slack * unit)

    def draws(self, run: CompressorRun, count: int, first: int = 0) -> Floats:
        return self.of(run.c, run.x, run.drawn(count)[first:])


@dataclass(frozen=True)
class Bias(Measure):
    """Largest |E C(x)_i - x_i| over the largest |x_i|."""

    def exact(self, run: CompressorRun) -> Exact:
        entries, law = flat(run.x), run.law()
        worst: Exact = Fraction(0)
        for i, v in enumerate(entries):
            gap = simplified(sum(p * y[i] for p, y in law) - v)
            worst = max(worst, abs(gap), key=float)
        return worst / (max(abs(v) for v in entries) or 1)

    def read(self, run: CompressorRun) -> Reading | None:
        x, law = run.x, run.kernel()
        if law is None:
            return None
        wide = x.astype(np.float64).ravel()
        top = float(np.abs(wide).max()) or 1.0
        kind = np.finfo(x.dtype)
        gap = np.abs(law.mean / top - wide / top)
        if isinstance(law, Marginals):
            size = np.maximum(np.abs(law.upper), np.abs(law.lower)) / top
            allowance = law.resolution * np.abs(law.upper - law.lower) / top + 4.0 * float(kind.eps) * size
        else:
            # rounding of the outputs to the dtype, and of their weighted sum in float64
            relative = 4.0 * float(kind.eps) + len(law.p) * float(np.finfo(np.float64).eps)
            allowance = relative * np.abs(law.y).max(axis=0) / top
        allowance += float(kind.smallest_subnormal) / top
        worst = int(np.argmax(gap - allowance))
        return Reading(float(gap[worst]), float(allowance[worst]))


def simplified(value: Exact) -> Exact:
    """`value` as a Fraction where it is rational, else with its roots collected."""
    if type(value) is Fraction:
        return value
    return Fraction(value) if isinstance(value, Fraction | int) else _collected(value)


@lru_cache(maxsize=1 << 12)
def _collected(value: Any) -> Exact:
    import sympy as sp

    value = sp.radsimp(sp.expand(value))
    return Fraction(int(value.p), int(value.q)) if value.is_Rational else value


@dataclass(frozen=True)
class MessageBits(Measure):
    """Size of the message: the length of its encoding, see `encoding.bit_count`.

    -1, which is the size of nothing, where the message counts itself as another size, or a receiver cannot read it.
    """

    dtype: type = np.float32

    def exact(self, run: CompressorRun) -> Exact:
        return self._bits(run.c, exact_array(run.x, self.dtype))

    def read(self, run: CompressorRun) -> Reading | None:
        return Reading(float(self._bits(run.c, run.x)))

    @staticmethod
    def _bits(c: Compressor, x: Array) -> int:
        message = c.compress(x, np.random.default_rng(0) if c.randomised else None)
        try:
            size = bit_count(c, message)
        except ValueError:
            return -1
        return size if size == message.bits else -1


@dataclass(frozen=True)
class Largest(Measure):
    """Largest value of `statistic` over everything that the compressor can put out: for sure claims."""

    statistic: Callable[[Compressor, Any], int]

    def exact(self, run: CompressorRun) -> Exact:
        return max(self.statistic(run.c, y) for _, y in run.law())

    def read(self, run: CompressorRun) -> Reading | None:
        law = run.kernel()
        if law is None:
            return None
        outputs = [law.upper, law.lower] if isinstance(law, Marginals) else list(law.y)
        return Reading(float(max(self.statistic(run.c, y) for y in outputs)))
