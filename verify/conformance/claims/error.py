"""Claims about how far the output lies from the input."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.base import as_array, as_numbers, shown
from commbounds.verify.conformance.aims import (
    aim,
    aimed_share,
    brought_out,
    farthest,
    magnitudes,
    require_room,
    roundings,
    sized,
)
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Died, TimedOut, Unanswered
from commbounds.verify.conformance.case import CheckCase, first_place, place
from commbounds.verify.conformance.claim import COLLECTIVES, NotHere, Number, Sure, checked
from commbounds.verify.conformance.claims.mean_error import MeanError
from commbounds.verify.conformance.subject import AllGather, AllReduce, Subject

_RAISED = 3
"""Entries that are raised at an input."""


@dataclass(frozen=True)
class Contraction(MeanError):
    """||C(x) - x||^2 <= (1 - alpha) ||x||^2; in expectation over seeds if the output depends on the seed.

    Of an all-reduce: ||y_r - t||^2 <= (1 - alpha) ||t||^2 for every rank r, with t the exact sum, or mean.

    Parameters
    ----------
    alpha : float, or callable of n (vectors) or of m, n (matrices); of an all-reduce also of P
        In [0, 1].

    Notes
    -----
    Zeros become zeros, in every draw. Deterministic subjects are held to it surely, by hostile inputs and search. Of
    those that take ``uniforms`` the expectation is read off, without sampling, over the same inputs. Others are
    sampled: a few draws each to find inputs with large errors, then bets against the mean there, which need no
    assumption as errors are not negative; a failure comes with a false-alarm rate.
    """

    alpha: Number

    in_book: ClassVar[tuple[str, ...]] = ("sparsifiers.topk.contraction", "quantizers.scaledsign.contraction")

    def __post_init__(self) -> None:
        checked("alpha", self.alpha, high=1.0)

    def share(self, subject: Subject, x: Array) -> float:
        return aimed_share(subject, x) * (1.0 - sized("alpha", self.alpha, subject, x, high=1.0))


@dataclass(frozen=True)
class AbsoluteError(Sure):
    """|C(x)_i - x_i| <= bound for every entry, surely; of an all-reduce for every rank, against the exact sum or mean.

    With memory: what came out up to any step is within the bound of what went in: so much may be held back.

    Parameters
    ----------
    bound : float, array, or callable of x
        One number for all entries, or one each. Of an all-reduce `x` is the stack, a row a rank, and what it gives is
        for one rank's entries; with memory a row a step.

    Notes
    -----
    Rounding: four operations on numbers of the size of the largest; of an all-reduce 2 (P - 1) more, and the largest
    is that of the sum of the magnitudes.
    """

    bound: Any

    def __post_init__(self) -> None:
        if not isinstance(self.bound, list | tuple | np.ndarray) or np.ndim(as_array(self.bound, "bound")) == 0:
            checked("bound", self.bound)
        elif not (as_numbers(self.bound, "bound") >= 0.0).all():
            raise ValueError(f"bound must hold nonnegative numbers, got {shown(self.bound)}")

    about: ClassVar[tuple[str, ...]] = ("compressor", "stateful compressor", *COLLECTIVES)
    in_book: ClassVar[tuple[str, ...]] = ("flashcomm.groupquant.error", "flashcomm.twostep.error")

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        sizes = magnitudes(bench.subject, case.x)
        return _off(bench, case, self.limit(case.x, sizes), float(sizes.max()))

    def limit(self, x: Array, like: Array) -> Array:
        """What every entry of an output like this one may be off by.

        Raises
        ------
        NotHere
            The bound is not finite.
        """
        given = self.bound(x.copy()) if callable(self.bound) else self.bound
        limit = np.broadcast_to(np.asarray(given, dtype=np.float64), like.shape)
        if not np.isfinite(limit).all():
            raise NotHere("the bound is not finite")
        return limit


@dataclass(frozen=True)
class RelativeError(Sure):
    """|C(x)_i - x_i| <= bound |x_i| for every entry, surely.

    Of an all-reduce: |y_r,i - t_i| <= bound sum of |x_p,i| for every rank r, with t the exact sum; for a mean over P.
    With memory: of sums over the steps up to each, with the sum of |x_s,i| in place of |x_i|.

    Parameters
    ----------
    bound : float, or callable of n (vectors) or of m, n (matrices); of an all-reduce also of P
        Nonnegative.

    Notes
    -----
    Rounding: as for `AbsoluteError`, with the entry's own size in place of the largest.
    """

    bound: Number

    about: ClassVar[tuple[str, ...]] = ("compressor", "stateful compressor", *COLLECTIVES)
    in_book: ClassVar[tuple[str, ...]] = ("dense.ring.rounding",)

    def __post_init__(self) -> None:
        checked("bound", self.bound)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        sizes = magnitudes(bench.subject, case.x)
        return _off(bench, case, sized("bound", self.bound, bench.subject, case.x) * sizes, sizes)


def _off(bench: Bench, case: CheckCase, limit: Array, sizes: Array | float) -> str | None:
    """Where the output is farther off than `limit`, and than what operations on numbers of these sizes round by."""
    require_room(bench.subject, case.x)
    wanted, got = aim(bench.subject, case.x), brought_out(bench.subject, bench.output(case))
    error = np.abs(got - wanted)
    allowance = (4.0 + roundings(bench.subject, case.x)) * (bench.eps * (sizes + limit) + bench.tiny)
    if (at := first_place(~(error <= limit + allowance))) is None:
        return None
    return f"entry {at}: |{float(wanted[at])!r} - y| = {error[at]:.6g}, claimed at most {limit[at]:.6g}"


@dataclass(frozen=True)
class Bounded(Sure):
    """No entry of the output is larger than the largest of the input, times a factor: nothing wraps or overflows.

    max |C(x)| <= factor max |x|; of an all-reduce <= factor sum of max |x_p| over the ranks, for a mean over P. With
    memory: of what came out up to any step, and the sum of max |x_s| over the steps.

    Parameters
    ----------
    factor : float, or callable of n (vectors) or of m, n (matrices); of an all-reduce also of P
        Nonnegative.
    """

    factor: Number = 1.0

    about: ClassVar[tuple[str, ...]] = ("compressor", "stateful compressor", *COLLECTIVES)

    def __post_init__(self) -> None:
        checked("factor", self.factor)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        require_room(bench.subject, case.x)
        limit = sized("factor", self.factor, bench.subject, case.x) * farthest(bench.subject, case.x)
        got = np.abs(brought_out(bench.subject, bench.output(case)))
        allowance = (4.0 + roundings(bench.subject, case.x)) * (bench.eps * limit + bench.tiny)
        if (at := first_place(~(got <= limit + allowance))) is None:
            return None
        return f"entry {at} has magnitude {got[at]:.6g}, claimed at most {limit[at]:.6g}"


@dataclass(frozen=True)
class Monotone(Sure):
    """Raising one entry, of one rank, does not lower that entry of the output; with the same seed.

    Notes
    -----
    Entries are raised to the next number, by a tenth and by the largest of the input, a few of them at every input.
    """

    about: ClassVar[tuple[str, ...]] = ("compressor", *COLLECTIVES)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        x, tried = case.x, 0
        before = bench.output(case).astype(np.float64)
        rng = np.random.default_rng([case.seed, x.size])
        top = np.abs(x).max()
        for index in rng.permutation(x.size)[:_RAISED]:
            at = place(index, x.shape)
            for raised in (np.nextafter(x[at], x.dtype.type(np.inf)), x[at] + abs(x[at]) / 10, x[at] + top):
                higher = x.copy()
                higher[at] = raised
                if not (higher[at] > x[at] and np.isfinite(np.float64(higher[at])) and bench.subject.takes(higher)):
                    continue
                tried += 1
                after = bench.output(CheckCase(higher, case.seed)).astype(np.float64)
                shown = _in_output(bench.subject, at)
                if (after[shown] < before[shown]).any():
                    return (
                        f"entry {at} is raised from {float(x[at])!r} to {float(higher[at])!r}, and becomes "
                        f"{np.min(after[shown]):.9g} in place of {np.max(before[shown]):.9g}"
                    )
        if not tried:
            raise NotHere("no entry can be raised")
        return None


def _in_output(subject: Subject, at: tuple[int, ...]) -> Any:
    """Where the entry at a place of the input is in the output: of a collective on every rank."""
    if not isinstance(subject, AllReduce):
        return at
    return slice(None), *at[not isinstance(subject, AllGather) :]


@dataclass(frozen=True)
class Propagates(Sure):
    """An entry that is NaN or infinite, on any rank, is not finite in the output, on every rank; or it is refused.

    Notes
    -----
    One entry of every input is made so. What shares a scale with it may become anything.
    """

    about: ClassVar[tuple[str, ...]] = ("compressor", "stateful compressor", *COLLECTIVES)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        at = place(np.random.default_rng([case.seed, case.x.size]).integers(case.x.size), case.x.shape)
        for value in (np.nan, np.inf, -np.inf):
            x = case.x.copy()
            x[at] = value
            try:
                found = bench.output(CheckCase(x, case.seed)).astype(np.float64)[_in_output(bench.subject, at)]
            except (Died, TimedOut):
                raise
            except Unanswered:
                continue  # refused
            if np.isfinite(found).any():
                return f"entry {at} is {value}, and becomes {np.atleast_1d(found)[np.isfinite(found).argmax()]:.9g}"
        return None
