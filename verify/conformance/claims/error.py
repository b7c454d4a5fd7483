"""Claims about how far the output lies from the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.case import Case
from commbounds.verify.conformance.claim import NotHere, Number, Sure, number

__all__ = ["AbsoluteError", "Contraction", "relative_error", "rounding"]

Array = NDArray[Any]


def rounding(bench: Bench, size: int) -> float:
    """Relative error that a right implementation may make: a naive sum over the array, and four roundings more."""
    return (size + 4) * bench.eps / 2.0


def relative_error(x: Array, y: Array) -> float:
    """||y - x||^2 / ||x||^2 in float64, whatever their magnitudes; NaN where y is not finite; x must not be zero."""
    wide = x.astype(np.float64).ravel()
    top = float(np.abs(wide).max())
    scaled = wide / top
    difference = y.astype(np.float64).ravel() / top - scaled
    return float(difference @ difference / (scaled @ scaled))


def shape_numbers(x: Array) -> tuple[int, ...]:
    """What numbers that are functions get: n of a vector, (m, n) of a matrix."""
    return x.shape


@dataclass(frozen=True)
class Contraction(Sure):
    """||C(x) - x||^2 <= (1 - alpha) ||x||^2; in expectation if the output depends on the seed.

    Parameters
    ----------
    alpha : float, or callable of n (vectors) or of m, n (matrices)
        In (0, 1].
    """

    alpha: Number

    about: ClassVar[tuple[str, ...]] = ("compressor",)
    statistical: ClassVar[bool] = True

    def violation(self, bench: Bench, case: Case) -> str | None:
        if not case.x.any():
            y = bench.output(case)
            return None if not y.any() else f"zero became {y.ravel()[:4].tolist()}"
        bound = 1.0 - number(self.alpha, *shape_numbers(case.x))
        error = relative_error(case.x, bench.output(case))
        # the norm of the error may carry `rounding` times the norm of x, and every entry of it a subnormal number
        least = bench.tiny * np.sqrt(case.x.size) / float(np.linalg.norm(case.x.astype(np.float64)))
        allowed = (np.sqrt(max(bound, 0.0)) + rounding(bench, case.x.size) + least) ** 2
        if error <= allowed:
            return None
        return f"|C(x) - x|^2 / |x|^2 = {error:.6g}, claimed at most {bound:.6g}"


@dataclass(frozen=True)
class AbsoluteError(Sure):
    """|C(x)_i - x_i| <= bound for every entry, surely.

    Parameters
    ----------
    bound : float, array, or callable of x
        One number for all entries, or one each.
    """

    bound: Any

    about: ClassVar[tuple[str, ...]] = ("compressor",)

    def violation(self, bench: Bench, case: Case) -> str | None:
        given = self.bound(case.x.copy()) if callable(self.bound) else self.bound
        limit = np.broadcast_to(np.asarray(given, dtype=np.float64), case.x.shape)
        if not np.isfinite(limit).all():
            raise NotHere("the bound is not finite")
        wide = case.x.astype(np.float64)
        error = np.abs(bench.output(case).astype(np.float64) - wide)
        # four operations on numbers of the size of the largest, each of which rounds to the dtype
        room = 4.0 * (bench.eps * (np.abs(wide).max() + limit) + bench.tiny)
        wrong = np.flatnonzero(~(error <= limit + room))
        if wrong.size == 0:
            return None
        at = tuple(int(i) for i in np.unravel_index(wrong[0], wide.shape))
        return f"entry {at}: |{float(wide[at])!r} - y| = {error[at]:.6g}, claimed at most {limit[at]:.6g}"
