"""Claims about memories: that nothing is lost, and that they stay bounded."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.theory import claims
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import CheckCase, first_place, place
from commbounds.verify.conformance.claim import NotHere, Number, Sure, checked, number
from commbounds.verify.conformance.claims.walk import Walk, norm, require_range

_UNIT = 2.0**-53
"""What one operation of this module rounds by, relatively."""


@dataclass(frozen=True)
class Telescopes(Sure):
    """Error feedback loses nothing: after every step, what came out and what is held back make up what went in.

    sum of y_s + e_t = sum of x_s over s <= t, entry by entry, where the subject shows its residual e_t. Where it does
    not, zeros are fed until everything came out: a compressor that holds small entries back for ever has to show them.

    Notes
    -----
    A right step does p = e + x, y = C(p), e = p - y, or the same in another order: two additions, each of which rounds
    by eps/2 times what is added. Twice that is allowed: eps (|e_before| + |x| + |y| + |e|) a step, which adds up.
    Additions do not underflow. No other operation may touch the memory: decay, or a narrower dtype, lose something.

    Flushing: adding a zero rounds nothing, so the zero steps round by eps/2 |e_t| each. If
    ||C(p) - p||^2 <= (1 - alpha) ||p||^2 with alpha >= 1/N, N entries, these norms add up to at most
    ||e|| / (1 - sqrt(1 - 1/N)) <= 2 N ||e||. And 40 N zero steps bring ||e||^2 down to exp(-40) of it, surely or in
    expectation: that they do not even halve it has a probability below 1e-16 if C is randomised. So zeros are fed as
    long as 40 N of them halve what is missing. Entries whose squares underflow may stay: with s the smallest subnormal
    number, norms of N sqrt(s).

    Estimates that follow the gradient (EF21) are not what this is about.
    """

    about: ClassVar[tuple[str, ...]] = ("stateful compressor",)
    in_book: ClassVar[tuple[str, ...]] = ("feedback.ef14.telescoping",)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        x = case.x.astype(np.float64)
        require_range(bench, 2.0 * sum(norm(row) for row in x))
        walk = Walk(bench, case.seed)
        outputs, residuals = [], []
        for row in case.x:
            outputs.append(walk(row))
            residuals.append(walk.residual(row))
        y = np.stack(outputs)
        shown = [e for e in residuals if e is not None]
        if len(shown) == len(residuals):
            return _lost(x, y, np.stack(shown), bench.eps)
        return _stuck(bench, walk, x, y)


def _lost(x: Floats, y: Floats, e: Floats, eps: float) -> str | None:
    """Where outputs and residuals do not make up the inputs."""
    before = np.concatenate([np.zeros_like(e[:1]), e[:-1]])
    defect = np.cumsum((x - y) - (e - before), axis=0)
    # this very line: four roundings of the step's numbers, and one of every partial sum
    size = np.cumsum(np.abs(before) + np.abs(x) + np.abs(y) + np.abs(e), axis=0)
    allowance = (eps + 4.0 * _UNIT) * size + _UNIT * np.cumsum(np.abs(defect), axis=0)
    if (at := first_place(~(np.abs(defect) <= allowance))) is None:
        return None
    t, *entry = at
    went, came = (float(rows[: t + 1].sum(axis=0)[tuple(entry)]) for rows in (x, y))
    return (
        f"after step {t}, entry {tuple(entry)}: {went:.9g} went in, {came:.9g} came out and {float(e[at]):.9g} is held "
        f"back: {float(defect[at]):.6g} is lost, rounding explains {float(allowance[at]):.3g}"
    )


def _stuck(bench: Bench, walk: Walk, x: Floats, y: Floats) -> str | None:
    """What is still missing when zeros bring nothing more out."""
    N, eps = x[0].size, bench.eps
    if 4.0 * eps * len(x) > 1.0:
        raise NotHere("the residual is not shown, and over so many steps rounding may hide anything")
    if N > 256:
        raise NotHere("the residual is not shown, and too long to be flushed out")
    zero = np.zeros(x.shape[1:], bench.subject.numpy_dtype)
    if not bench.subject.takes(zero[None]):
        raise NotHere("the residual is not shown, and zeros to flush it out are not taken")
    partial = np.cumsum(x - y, axis=0)
    missing = partial[-1]
    # the residuals are what is missing, up to the rounding d that is to be bounded: d <= eps (sum of sizes + 2 T d)
    # with 2 T eps <= 1/2
    before = np.concatenate([np.zeros_like(partial[:1]), partial[:-1]])
    sizes = (np.abs(x) + np.abs(y) + np.abs(partial) + np.abs(before)).sum(axis=0)
    rounded = 2.0 * eps * sizes + _UNIT * np.abs(partial).sum(axis=0)
    # twice: half for what was rounded, half to come down to
    allowance = 2.0 * (rounded + eps * N * (norm(missing) + norm(rounded)) + N * np.sqrt(bench.tiny))
    steps, left = 0, norm(missing)
    while not (np.abs(missing) <= allowance).all():
        missing = missing - walk(zero.copy())
        steps += 1
        if not np.isfinite(missing).all():
            return f"the output of zero step {steps} behind {len(x)} steps is not finite"
        if steps % (40 * N) == 0:
            if not norm(missing) <= left / np.sqrt(2.0):
                break
            left = norm(missing)
    else:
        return None
    entry = place(np.abs(missing).argmax(), missing.shape)
    went = float(x.sum(axis=0)[entry])
    return (
        f"entry {entry}: {went:.9g} went in within {len(x)} steps, and after {steps} zero steps more "
        f"{float(missing[entry]):.6g} is still missing, rounding explains {float(allowance[entry]):.3g}"
    )


@dataclass(frozen=True)
class MemoryBounded(Sure):
    """What is held back stays bounded while gradients are: ||e_t|| <= bound, at every step of long runs.

    Where the subject does not show its residual, ||sum of x_s - sum of y_s|| takes its place.

    Parameters
    ----------
    bound : float, callable of (n, G) (vectors) or (m, n, G) (matrices), or None
        G is the largest norm of a gradient of the run. For error feedback with a contraction alpha
        sqrt(1 - alpha)/(1 - sqrt(1 - alpha)) G. None stands for that with alpha = 1/(2 N), N entries: weaker than any
        compressor that sends at least one entry, one sign with a scale, or one rank, and at most 4 N G. Of a
        randomised subject, whose contraction holds in expectation, 64 N G: that an entry is left out for so many steps
        has a probability of exp(-32). Thresholds that do not go by the gradients need a bound of their own.

    Notes
    -----
    The steps of a case are repeated until there are 8 N of them, 128 N for a randomised subject: a memory that grows
    by half of G a step gets beyond what None stands for. At most 1024 at quick, else 2048: what takes longer is not
    judged.

    Rounding: with q = sqrt(1 - alpha), memories obey e <= q (e + G), and two additions that round turn q into q (1 + 2
    eps): relative 2 eps/(1 - q) <= 8 N eps more. Gradients whose squares underflow may be held back until they are
    sqrt(s), s the smallest subnormal number, so that G counts as no less.
    """

    bound: Number | None = None

    about: ClassVar[tuple[str, ...]] = ("stateful compressor",)
    in_book: ClassVar[tuple[str, ...]] = ("feedback.ef14.residual",)

    def __post_init__(self) -> None:
        if self.bound is not None:
            checked("bound", self.bound)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        N = case.x[0].size
        largest = max(norm(row) for row in case.x)
        factor = 64.0 * N if bench.randomised else _levels_at(N)
        limit = factor * largest if self.bound is None else number("bound", self.bound, *case.x.shape[1:], largest)
        wanted = max(len(case.x), (128 if bench.randomised else 8) * N)
        if wanted > max(bench.budget.longest, len(case.x)):
            raise NotHere("it would take too many steps until the memory of so long a vector levels off")
        require_range(bench, 2.0 * (limit + largest))
        x = case.x[np.arange(wanted) % len(case.x)]
        y, shown, refused = _answers(bench, case.seed, x)
        held, allowance = _held(x[: len(y)].astype(np.float64), y, shown, bench.eps)
        allowance += 8.0 * N * bench.eps * (limit + largest) + factor * np.sqrt(bench.tiny)
        if (wrong := first_place(~(held <= limit + allowance))) is None:
            if refused is not None:
                raise refused
            return None
        (t,) = wrong
        what = "the residual" if len(shown) == len(y) else "what went in less what came out"
        named = "claimed" if self.bound is not None else f"a contraction of 1/{2 * N} keeps it"
        return (
            f"after step {t} (the given {len(case.x)} over and over) {what} has norm {held[t]:.6g}, {named} at most "
            f"{limit:.6g}; the gradients have norms up to {largest:.6g}"
        )


def _answers(bench: Bench, seed: int, x: Array) -> tuple[Floats, list[Floats], Unanswered | None]:
    """Outputs, residuals where they are shown, and why they are fewer than the inputs, if they are.

    A memory that grows may get too large for the subject itself; that it grew shows before.
    """
    outputs: list[Floats] = []
    shown: list[Floats] = []
    refused = None
    walk = Walk(bench, seed)
    for row in x:
        try:
            y, e = walk(row), walk.residual(row)
        except Unanswered as error:
            if not outputs:
                raise
            refused = error
            break
        outputs.append(y)
        if e is not None:
            shown.append(e)
    return np.stack(outputs), shown, refused


def _held(x: Floats, y: Floats, shown: list[Floats], eps: float) -> tuple[Floats, Floats]:
    """The norm of what is held back after every step, and what of it may be rounding that is not remembered."""
    if len(shown) == len(y):
        return _norms(np.stack(shown)), np.zeros(len(y))
    missing = np.cumsum(x - y, axis=0)
    sizes = np.abs(x) + np.abs(y) + np.abs(missing)
    sizes[1:] += np.abs(missing[:-1])
    return _norms(missing), (eps + 4.0 * _UNIT) * _norms(np.cumsum(sizes, axis=0))


def _norms(rows: Floats) -> Floats:
    """The norm of every row; NaN or infinite where it is not finite."""
    flat = np.abs(rows.reshape(len(rows), -1))
    top = flat.max(axis=1)
    scale = np.where((top > 0.0) & np.isfinite(top), top, 1.0)
    norms: Floats = scale * np.sqrt(np.square(flat / scale[:, None]).sum(axis=1))
    return norms


def _levels_at(N: int) -> float:
    """The book's bound on the norm of a residual for alpha = 1/(2 N) and gradients of norm 1."""
    return math.sqrt(claims()["feedback.ef14.residual"].bound(alpha=0.5 / N, reach=1.0))
