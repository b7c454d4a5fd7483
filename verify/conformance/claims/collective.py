"""Claims about what ranks end with: the sum, the mean, the same bits, and nothing lost."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import ClassVar

import numpy as np

from commbounds.array_types import Floats
from commbounds.compressors.base import checked_flag
from commbounds.theory import tolerance
from commbounds.theory.precision.bounds import any_tree
from commbounds.theory.precision.tolerance import Tolerance, rounded_up
from commbounds.verify.conformance.aims import UNIT, float_sums
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.case import CheckCase, first_place
from commbounds.verify.conformance.claim import NotHere, Sure
from commbounds.verify.conformance.claims.walk import norm, require_range


@cache
def _rounded(roundings: int, eps: float) -> float:
    """What k roundings, one after another, change a number by, relatively."""
    if roundings * eps / 2.0 >= 1.0:
        raise NotHere("so many roundings may leave nothing of the sum")
    return rounded_up(Fraction(any_tree(roundings, Fraction(eps) / 2)))


@cache
def _any_order(P: int, dtype: str) -> Tolerance:
    """How far P numbers, added in any order, may be off their sum."""
    return tolerance(P=P, dtype=dtype, schedule="any")


def _farthest(result: Floats, wanted: Floats, allowance: Floats, what: str) -> str | None:
    """Where ranks are farther off what is wanted than rounding explains: the first such entry of the first rank."""
    error = np.abs(result - wanted)
    wrong = ~(error <= allowance)
    if (at := first_place(wrong)) is None:
        return None
    rank, *entry = at
    ranks = np.count_nonzero(wrong.reshape(len(wrong), -1).any(axis=1))
    return (
        f"rank {rank}, entry {tuple(entry)}: {float(result[at])!r}, the {what} is {float(wanted[*entry])!r}; rounding "
        f"explains {float(allowance[*entry]):.3g}; {ranks} of {len(result)} ranks are wrong somewhere"
    )


@dataclass(frozen=True)
class Sums(Sure):
    """Every rank ends with the sum, entry by entry, up to `commbounds.theory.tolerance` for any order of additions.

    That is (P - 1) u/(1 + u) sum of |x_p| with u = eps/2, and less where the sum is small, as its last rounding is. So
    do additions in a wider dtype, rounded in the end. Additions do not underflow. A single rank keeps its vector as
    it is. Nothing is claimed where the sum of the magnitudes is beyond the dtype: a partial sum might be.
    """

    about: ClassVar[tuple[str, ...]] = ("all-reduce", "reduce-scatter")
    in_book: ClassVar[tuple[str, ...]] = ("dense.ring.sum", "dense.ring.rounding")

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        exact, off, sizes = float_sums(case.x)
        require_range(bench, float(sizes.max()))
        P = len(case.x)
        if (P - 1) * bench.eps / 2.0 >= 1.0:
            raise NotHere("so many roundings may leave nothing of the sum")
        bound = _any_order(P, bench.subject.numpy_dtype.name)
        whole = rounded_up(bound.sure) * sizes
        by_last = rounded_up(bound.last) * (np.abs(exact) + off) + rounded_up(bound.rest) * sizes
        # sizes are sums of P numbers in float64, and three more operations round below
        allowance = np.minimum(whole, by_last) * (1.0 + (P + 3) * 2.0 * UNIT) + off
        return _farthest(bench.outcome(case).result.astype(np.float64), exact, allowance, "sum")


@dataclass(frozen=True)
class Averages(Sure):
    """Every rank ends with the mean, divided before, between or after the additions.

    |result - mean| <= ((1 + v)^{3(P-1)} - 1) sum of |x_p| / P + P s, v = u/(1 + u): P - 1 additions, and at each at
    most one scaling, whose factor is rounded as well; scaled numbers may be subnormal, and round by half the smallest
    one s each, before the additions or in the end.
    """

    about: ClassVar[tuple[str, ...]] = ("all-reduce", "reduce-scatter")
    in_book: ClassVar[tuple[str, ...]] = ("moshpit.grid.exact",)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        exact, off, sizes = float_sums(case.x)
        require_range(bench, float(sizes.max()))
        P = len(case.x)
        allowance = (_rounded(3 * (P - 1), bench.eps) * sizes + off) / P
        if P > 1:  # below: the quotient rounds once
            allowance = allowance + UNIT * np.abs(exact) / P + P * bench.tiny
        return _farthest(bench.outcome(case).result.astype(np.float64), exact / P, allowance, "mean")


@dataclass(frozen=True)
class RanksAgree(Sure):
    """All ranks end with the same bits; a NaN is a NaN, whatever its payload."""

    about: ClassVar[tuple[str, ...]] = ("all-reduce", "all-gather")
    in_book: ClassVar[tuple[str, ...]] = ("dense.ring.agreement",)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        if len(case.x) == 1:
            raise NotHere("there is one rank")
        result = np.ascontiguousarray(bench.outcome(case).result)
        bits, wide = result.view(f"u{result.itemsize}"), result.astype(np.float64)
        nan = np.isnan(wide)
        if (at := first_place((bits != bits[0]) & ~(nan & nan[0]))) is None:
            return None
        rank, *entry = at
        return f"entry {tuple(entry)} is {float(wide[0, *entry])!r} on rank 0 and {float(wide[at])!r} on rank {rank}"


@dataclass(frozen=True)
class Conserves(Sure):
    """What was applied and what the ranks keep back make up what they brought: nothing is lost, nothing counted twice.

    sum of x_p = r + sum of e_p, entry by entry, with r the result of rank 0 and e_p the residuals, which the subject
    has to show.

    Parameters
    ----------
    averages : bool
        The result is a mean: P r takes the place of r.
    mixes : bool
        Messages are decoded together by products that mix entries (low rank, rotations): rounding then goes by norms.

    Notes
    -----
    A rank's message is x_p - e_p, of a size of at most |x_p| + |e_p|. It passes at most P - 1 additions on the wire, as
    many where it is put back, and two roundings each where it is coded, decoded and subtracted: with A the sum of
    |x_p| + |e_p|, ((1 + v)^{2P+4} - 1) A + P s, v = u/(1 + u), with s the smallest subnormal number. A mean adds
    3 (P - 1) roundings, and its P s count P times. Where entries mix, 2 N more roundings, and norms in place of sizes.
    """

    averages: bool = False
    mixes: bool = False

    def __post_init__(self) -> None:
        checked_flag("averages", self.averages)
        checked_flag("mixes", self.mixes)

    about: ClassVar[tuple[str, ...]] = ("all-reduce", "reduce-scatter")
    in_book: ClassVar[tuple[str, ...]] = ("sparse.topka.mass",)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        outcome = bench.outcome(case)
        if outcome.residual is None:
            raise NotHere("the subject shows no residuals")
        P, N = len(case.x), case.x[0].size
        factor = float(P) if self.averages else 1.0
        x, kept = case.x.astype(np.float64), outcome.residual.astype(np.float64)
        applied = factor * outcome.result[0].astype(np.float64)
        sizes = np.abs(x).sum(axis=0) + np.abs(kept).sum(axis=0)
        # what is infinite or NaN came out of finite inputs: only where these add up beyond the dtype is that no fault
        require_range(bench, 2.0 * float(np.abs(x).sum(axis=0).max()))
        roundings = 2 * P + 4 + 3 * (P - 1) * self.averages + 2 * N * self.mixes
        if self.mixes:
            sizes = np.full_like(sizes, sum(norm(row) for row in x) + sum(norm(row) for row in kept))
        # the line below: 2 P + 1 additions in float64
        allowance = (_rounded(roundings, bench.eps) + (2 * P + 1) * UNIT) * sizes + factor * P * bench.tiny
        lost = (x - kept).sum(axis=0) - applied
        if (entry := first_place(~(np.abs(lost) <= allowance))) is None:
            return None
        return (
            f"entry {entry}: {float(x.sum(axis=0)[entry]):.9g} was brought, {float(applied[entry]):.9g} applied and "
            f"{float(kept.sum(axis=0)[entry]):.9g} kept: {float(lost[entry]):.6g} is missing, rounding explains "
            f"{float(allowance[entry]):.3g}"
        )
