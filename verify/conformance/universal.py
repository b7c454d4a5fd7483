"""What every subject is held to, unless it is waived with a reason."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance import generators
from commbounds.verify.conformance.bench import Bench, Unusable, usable
from commbounds.verify.conformance.calls import Died, TimedOut, Unanswered, raised_at
from commbounds.verify.conformance.case import CheckCase, first_place
from commbounds.verify.conformance.claim import COLLECTIVES, NotHere, SubjectClaim, Sure
from commbounds.verify.conformance.layouts import LAYOUTS
from commbounds.verify.conformance.memory import MemorySteady
from commbounds.verify.conformance.subject import AllReduce, Stateful

_SEEN_AS_VIEWS = 4_200
_ALL = ("compressor", "stateful compressor", *COLLECTIVES)


class _Universal(Sure):
    """A check of every subject, printed by its label."""

    about: ClassVar[tuple[str, ...]] = _ALL
    universal: ClassVar[bool] = True
    label: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class _Answers(_Universal):
    """Every input that the subject takes is answered: no exception, no hanging, no death."""

    label: ClassVar[str] = "answers"

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        try:
            bench.raw(case)
        except Unanswered as error:
            return f"{error}{raised_at(error)}"
        return None


@dataclass(frozen=True)
class _ShapeAndDtype(_Universal):
    """The answer is an array of the input's shape and dtype."""

    label: ClassVar[str] = "shape and dtype kept"

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        try:
            bench.output(case)
        except Unusable as error:
            return str(error)
        return None


@dataclass(frozen=True)
class _Finite(_Universal):
    """Finite in gives finite out."""

    label: ClassVar[str] = "finite in, finite out"

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        if isinstance(bench.subject, AllReduce | Stateful) and not _sum_fits(case.x):
            raise NotHere("the sum, or what would be remembered, is beyond the dtype")
        y = bench.output(case).astype(np.float64)
        wrong = ~np.isfinite(y)
        if (at := first_place(wrong)) is None:
            return None
        return f"entry {at} of the output is {y[at]}, and {np.count_nonzero(wrong)} of {y.size} are not finite"


def _sum_fits(x: Array) -> bool:
    total = np.abs(x.astype(np.float64)).sum(axis=0)
    with np.errstate(over="ignore"):
        return bool(np.isfinite((2.0 * total).astype(x.dtype).astype(np.float64)).all())


@dataclass(frozen=True)
class _InputKept(_Universal):
    """The input is not mutated."""

    label: ClassVar[str] = "input not mutated"

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        if bench.foreign:
            raise NotHere("another process cannot reach the caller's array")
        x = case.x.copy()
        bench.raw_on(x, case.seed)
        if x.tobytes() == case.x.tobytes():
            return None
        before, after = case.x.ravel().astype(np.float64), x.ravel().astype(np.float64)
        changed = np.flatnonzero((before != after) | (np.signbit(before) != np.signbit(after)))
        i = int(changed[0])
        return f"entry {i} of the input was {float(before[i])!r} before the call and is {float(after[i])!r} behind it"


@dataclass(frozen=True)
class _Layout(_Universal):
    """A view with the same entries, strided, reversed, shifted or transposed, gives the same output, or is refused.

    Up to the rounding of sums over the array, whose order may go by the layout. Next to a tie that may make a step: so
    it has to differ at the input and at two inputs next to it.
    """

    label: ClassVar[str] = "layout in memory does not matter"

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        if case.x.size > _SEEN_AS_VIEWS:
            raise NotHere("the input is long")
        remote = bench.subject.outside
        if remote is not None and (bench.foreign or not hasattr(remote, "layout")):
            raise NotHere("another process gets messages, no views")
        for name in LAYOUTS if case.x.ndim > 1 else tuple(LAYOUTS)[:-1]:
            message = self._differs(bench, case, name)
            rng = np.random.default_rng([case.seed, case.x.size])
            for _ in range(2 if message else 0):
                moved = (case.x * rng.uniform(0.99, 1.01, case.x.shape)).astype(case.x.dtype)
                if not bench.subject.takes(moved) or self._differs(bench, CheckCase(moved, case.seed), name) is None:
                    message = None
                    break
            if message is not None:
                return message
        return None

    @staticmethod
    def _differs(bench: Bench, case: CheckCase, name: str) -> str | None:
        """How the output for that layout is another one than rounding explains."""
        wanted, remote = bench.output(case).copy(), bench.subject.outside
        try:
            if remote is None:
                got = bench.output(case, view=LAYOUTS[name])
            else:
                remote.layout = name
                got = bench.output(case)
        except (Died, TimedOut) as error:
            return f"given {name}: {error}"
        except Unanswered:
            return None  # a view may be refused
        finally:
            if remote is not None:
                remote.layout = ""
        off = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
        size = float(np.abs(wanted.astype(np.float64)).max())
        if np.isfinite(size) and (off <= 2.0 * (case.x.size + 4) * bench.eps * size + 2.0 * bench.tiny).all():
            return None
        return _compared(wanted, got, f"an array and {name}")


@dataclass(frozen=True)
class _Repeats(_Universal):
    """The same seed gives the same output."""

    label: ClassVar[str] = "same seed, same output"

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        return _compared(bench.output(case).copy(), bench.output(case), "two calls with one seed")


@dataclass(frozen=True)
class _Globals(_Universal):
    """The global generators of Python, numpy and torch are neither used nor changed."""

    label: ClassVar[str] = "global generators untouched"

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        if bench.foreign:
            raise NotHere("the subject runs in a process that does not tell of its generators")
        (first, used), (second, more) = (_under(bench, case, number) for number in (1, 2))
        if touched := used | more:
            return f"the global generator of {' and '.join(sorted(touched))} was used"
        return _compared(first, second, "calls under two states of the global generators")


def _under(bench: Bench, case: CheckCase, number: int) -> tuple[Array, set[str]]:
    """The output under a state of the global generators, and the names of those that were used."""
    if (remote := bench.subject.outside) is not None:  # they are those of its process, a Python server
        remote.watch = number
        try:
            return bench.output(case).copy(), set(remote.touched)
        finally:
            remote.watch = 0
    kept = generators.states()
    try:
        generators.put(number)
        before = generators.fingerprints(generators.states())
        output, after = bench.output(case).copy(), generators.fingerprints(generators.states())
        return output, {name for name in before if before[name] != after.get(name)}
    finally:
        generators.restored(kept)


@dataclass(frozen=True)
class _Order(_Universal):
    """What is answered does not depend on other calls, and stays as it was."""

    label: ClassVar[str] = "order of calls does not matter"

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        other = CheckCase(_unlike(bench, case.x), case.seed + 1)
        if isinstance(bench.subject, Stateful):
            step, answers = bench.call(bench.subject.factory, case.seed), []
            for row in case.x.copy():
                y = usable(bench.call(step, row), row)
                answers.append((y, y.copy()))
            for t, (y, then) in enumerate(answers):
                if y.tobytes() != then.tobytes():
                    return f"the array that step {t} returned changed in a later step"
            kept = np.stack([then for _, then in answers])
        else:
            first = bench.output(case)
            kept = first.copy()
            bench.output(other)
            if first.tobytes() != kept.tobytes():
                return "the array that was returned changed during a later call"
        bench.output(other)
        return _compared(kept, bench.output(case), "calls before and behind others")


def _unlike(bench: Bench, x: Array) -> Array:
    """An input of another order, sign and magnitude; of the same where the subject or the dtype does not take that."""
    turned = np.ascontiguousarray(-x[..., ::-1])
    larger = (turned * x.dtype.type(4)).astype(x.dtype)
    fits = np.isfinite(np.linalg.norm(larger.astype(x.dtype).astype(np.float64).ravel()).astype(x.dtype))
    for other in (larger, turned) if fits else (turned,):
        if bench.subject.takes(other):
            return other
    return x


def _compared(a: Array, b: Array, what: str) -> str | None:
    if a.tobytes() == b.tobytes():
        return None
    wide = a.astype(np.float64), b.astype(np.float64)
    if (at := first_place((wide[0] != wide[1]) & ~(np.isnan(wide[0]) & np.isnan(wide[1])))) is None:
        return None  # signs of zeros, payloads of NaN
    return f"{what} gave {float(wide[0][at])!r} and {float(wide[1][at])!r} at {at}"


UNIVERSAL: tuple[SubjectClaim, ...] = (
    _Answers(),
    _ShapeAndDtype(),
    _Finite(),
    _InputKept(),
    _Layout(),
    _Repeats(),
    _Globals(),
    _Order(),
    MemorySteady(),
)
"""Every universal check."""
