"""What a step without any gradient may do to a memory: nothing that lasts."""

from dataclasses import dataclass
from typing import ClassVar

import ml_dtypes
import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import NotHere, Sure
from commbounds.verify.conformance.claims.walk import Walk, norm, require_range


@dataclass(frozen=True)
class RecoversAfterZero(Sure):
    """Steps without any gradient break nothing: afterwards it does as well as a fresh one.

    Cases are runs with a zero step, first or between others. Behind it both this instance and a fresh one get the
    step g of largest norm, again and again. With Y and Y' their mean outputs, the instance has recovered once

    - ||Y - Y'|| <= d ||Y'||: it does the same; or
    - ||Y - g|| <= 2 ||Y' - g|| + d ||g||, and Y captures at least half of what Y' does, where that is
      1 - ||Y - g||^2/||g||^2 and must be positive: it does as well, in another way (low rank, with equal singular
      values).

    d = 1/4, or 1/2 if the subject is randomised. Outputs that are all zero, or not finite, never do. It is asked after
    N, 2 N, 4 N, ... steps, N entries, and fails if it has not recovered after 32 N steps (512 N if randomised) and
    1024.

    Notes
    -----
    Right implementations recover in that time. As g is the largest step, the memories have norms of at most 2 N ||g||
    where ||C(x) - x||^2 <= (1 - 1/N) ||x||^2, with error feedback; so Y is g up to twice that over 32 N steps, and Y'
    up to once: ||Y - Y'|| <= 6/32 ||g||, ||Y'|| >= 30/32 ||g||. Estimates as of EF21 are off by at most 2 ||g|| at
    first and by (1 - 1/N)^(t/2) of it then, in sum as much. Momentum of 1/(1 - beta) <= 100 steps is forgotten. Without
    memory both do the same. Randomised and unbiased with variance at most N ||x||^2, worst for a single entry that is
    one of N sent: it is sent a binomial number of times with mean 512, and 1/2 of that away from it with a probability
    below 2 exp(-512/12), 1e-18.
    """

    about: ClassVar[tuple[str, ...]] = ("stateful compressor",)
    in_book: ClassVar[tuple[str, ...]] = ("feedback.ef14.residual",)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        norms = [norm(row) for row in case.x]
        zeros, g = norms.count(0.0), case.x[int(np.argmax(norms))]
        if zeros in (0, len(norms)):
            raise NotHere("there is no zero step, or nothing else")
        N, top = g.size, max(norms)
        if N > 400:
            raise NotHere("for so long a vector it may take too many steps to recover")
        if not bench.subject.takes(g[None]):
            raise NotHere("the largest step is not taken alone")
        require_range(bench, (4.0 * N + 128.0) * top)
        normal = float(ml_dtypes.finfo(bench.subject.numpy_dtype).smallest_normal)  # type: ignore[no-untyped-call]
        if not top * bench.eps >= N * normal:
            raise NotHere("what is left of so small numbers may round to zero")
        return _compared(bench, case, g)


def _led(bench: Bench, case: CheckCase, g: Array, counts: int, behind: bool) -> Floats | str:
    """The sum of outputs for `g` that often, in units of its norm, behind the case's steps or of a fresh instance."""
    walk, sums, scale = Walk(bench, case.seed), np.zeros(g.shape), norm(g)
    for t, row in enumerate(case.x if behind else ()):
        if not np.isfinite(walk(row)).all():
            return f"the output of step {t} is not finite"
    for t in range(counts):
        sums += walk(g) / scale
        if not np.isfinite(sums).all():
            return f"with {_named(g)} as every step after that, output {t} is not finite"
    return sums


def _compared(bench: Bench, case: CheckCase, g: Array) -> str | None:
    """What is wrong with the outputs behind the case's steps, beside those of a fresh instance, for `g` over and over.

    One instance after the other, as a process may hold one at a time; begun again for every longer run.
    """
    wide, N = g.astype(np.float64) / norm(g), g.size
    allowance = 0.5 if bench.randomised else 0.25
    last = max(1024, (512 if bench.randomised else 32) * N)
    m = min(N, last)
    while True:
        reference = _led(bench, case, g, m, behind=False)
        if isinstance(reference, str):
            raise NotHere("the output of a fresh instance is not finite")
        sums = _led(bench, case, g, m, behind=True)
        if isinstance(sums, str):
            return sums
        if _as_good(sums / m, reference / m, wide, allowance):
            return None
        if m == last:
            break
        m = min(2 * m, last)
    if not reference.any():
        raise NotHere("a fresh instance gives nothing either")
    error, usual = norm(sums / last - wide), norm(reference / last - wide)
    seen = "all outputs are zero" if not sums.any() else f"the mean output is off by {error:.4g} of its norm"
    return f"with {_named(g)} as every step after that, for {last} steps, {seen}; that of a fresh one by {usual:.4g}"


def _as_good(mean: Floats, reference: Floats, g: Floats, allowance: float) -> bool:
    """Whether a mean output is as good as that of a fresh instance; `g` has norm 1."""
    if reference.any() and norm(mean - reference) <= allowance * norm(reference):
        return True
    error, usual = norm(mean - g), norm(reference - g)
    return error <= 2.0 * usual + allowance and 1.0 - error**2 >= (1.0 - usual**2) / 2.0 > 0.0


def _named(g: Array) -> str:
    return str(g.astype(np.float64).tolist()) if g.size <= 6 else "its largest step"
