"""Claims about how far the output lies from the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from commbounds.compressors.base import as_array, as_numbers, shown
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import NotHere, Number, Sure, checked, number
from commbounds.verify.conformance.claims.mean_error import MeanError, shape_numbers

Array = NDArray[Any]


@dataclass(frozen=True)
class Contraction(MeanError):
    """||C(x) - x||^2 <= (1 - alpha) ||x||^2; in expectation over seeds if the output depends on the seed.

    Parameters
    ----------
    alpha : float, or callable of n (vectors) or of m, n (matrices)
        In [0, 1].

    Notes
    -----
    Zeros become zeros, in every draw. Deterministic subjects are held to it surely, by hostile inputs and search. Of
    those that take ``uniforms`` the expectation is read off, without sampling, over the same inputs. Others are
    sampled: a few draws each to find inputs with large errors, then bets against the mean there, which need no
    assumption as errors are not negative; a failure comes with a false-alarm rate.
    """

    alpha: Number

    in_book: ClassVar[tuple[str, ...]] = (
        "sparsifiers.topk.contraction",
        "quantizers.scaledsign.contraction",
    )

    def __post_init__(self) -> None:
        checked("alpha", self.alpha, high=1.0)

    def share(self, x: Array) -> float:
        return 1.0 - number("alpha", self.alpha, *shape_numbers(x), high=1.0)


@dataclass(frozen=True)
class AbsoluteError(Sure):
    """|C(x)_i - x_i| <= bound for every entry, surely.

    Parameters
    ----------
    bound : float, array, or callable of x
        One number for all entries, or one each.
    """

    bound: Any

    def __post_init__(self) -> None:
        if not isinstance(self.bound, list | tuple | np.ndarray) or np.ndim(as_array(self.bound, "bound")) == 0:
            checked("bound", self.bound)
        elif not (as_numbers(self.bound, "bound") >= 0.0).all():
            raise ValueError(f"bound must hold nonnegative numbers, got {shown(self.bound)}")

    about: ClassVar[tuple[str, ...]] = ("compressor",)
    in_book: ClassVar[tuple[str, ...]] = ("flashcomm.groupquant.error",)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        given = self.bound(case.x.copy()) if callable(self.bound) else self.bound
        limit = np.broadcast_to(np.asarray(given, dtype=np.float64), case.x.shape)
        if not np.isfinite(limit).all():
            raise NotHere("the bound is not finite")
        wide = case.x.astype(np.float64)
        error = np.abs(bench.output(case).astype(np.float64) - wide)
        # four operations on numbers of the size of the largest, each of which rounds to the dtype
        allowance = 4.0 * (bench.eps * (np.abs(wide).max() + limit) + bench.tiny)
        wrong = np.flatnonzero(~(error <= limit + allowance))
        if wrong.size == 0:
            return None
        at = tuple(int(i) for i in np.unravel_index(wrong[0], wide.shape))
        return f"entry {at}: |{float(wide[at])!r} - y| = {error[at]:.6g}, claimed at most {limit[at]:.6g}"
