"""The search for counterexamples: generated cases, and smaller ones that fail too.

There is one, for the claims of the book and for those of the conformance kit.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import hypothesis
import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array, Floats, Integers

T = TypeVar("T")


class Violation(AssertionError):
    """Raised inside a search where what is searched for is found."""


# --- by Hypothesis ----------------------------------------------------------------------------------------------------


SEARCH = (hypothesis.Phase.generate, hypothesis.Phase.target, hypothesis.Phase.shrink)
"""Generate, climb, shrink: nothing is stored or explained."""


def settings(examples: int, phases: Sequence[hypothesis.Phase] = SEARCH) -> hypothesis.settings:
    """How Hypothesis is to go about `examples` examples."""
    return hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        # what is slow is the whole collective that runs in an example, or somebody's process; not generation
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=phases,
        print_blob=False,
        report_multiple_bugs=False,
    )


def generated(cases: st.SearchStrategy[T], examples: int, seed: int) -> Iterator[T]:
    """The cases that Hypothesis comes up with as long as none fails: the same for everything that is measured on them.

    Parameters
    ----------
    cases : strategy
        Of cases.
    examples : int
        How many, at most.
    seed : int
        Of the generation.
    """
    made: deque[T] = deque()

    @hypothesis.seed(seed)
    @settings(examples)
    @hypothesis.given(case=cases)
    def collect(case: T) -> None:
        made.append(case)

    collect()
    while made:  # what was computed of a case goes with it
        yield made.popleft()


def falsified(confront: Callable[[T], float | None], cases: st.SearchStrategy[T], examples: int, seed: int) -> bool:
    """Whether a generated case fails; the last one that fails is then the smallest that was found.

    Parameters
    ----------
    confront : callable (case) -> float or None
        Raises `Violation` where the case fails. What it returns is climbed on; None is nothing to climb to.
    cases, examples, seed
        As for `generated`.
    """

    @hypothesis.seed(seed)
    @settings(examples)
    @hypothesis.given(case=cases)
    def run(case: T) -> None:
        height = confront(case)
        # differences of rounding are not worth a step
        if height is not None and np.isfinite(height):
            hypothesis.target(round(height, 6))

    try:
        run()
    except Violation:
        return True
    return False


# --- by hand ----------------------------------------------------------------------------------------------------------


def simplest(
    x: Array, fails: Callable[[Array], bool], admits: Callable[[Array], bool], tries: int = 400, fixed: int = 0
) -> Array:
    """A smaller array that fails too: shorter, with more zeros, with simpler numbers; greedy.

    Parameters
    ----------
    x : array
        One that fails.
    fails : callable (array) -> bool
        Whether an array fails.
    admits : callable (array) -> bool
        Which arrays may be tried.
    tries : int
        Most calls of `fails`; long arrays count for one more every 4096 entries.
    fixed : int
        Axes at the end whose length must not change.
    """
    best, left = x, tries
    improved = admits(x)  # else nothing may be tried
    while improved and left > 0:
        improved = False
        for simpler in _simpler(best, fixed):
            if left <= 0:
                break
            if simpler.size == 0 or not np.isfinite(simpler.astype(np.float64)).all() or not admits(simpler):
                continue
            left -= 1 + simpler.size // 4096
            if fails(simpler):
                best, improved = simpler, True
                break
    return best


def _simpler(x: Array, fixed: int) -> Iterator[Array]:
    """Arrays that are simpler than `x`, the boldest steps first."""
    for axis in range(x.ndim - 1 - fixed, -1, -1):
        n = x.shape[axis]
        if axis < x.ndim - 1:  # few rows at once: leaving some out does not lead there where not every number will do
            for few in (k for k in (1, 2, 3, 4, 5, 6, 8) if k < n):
                for part_of in (range(few), range(n - few, n)):
                    yield np.ascontiguousarray(np.take(x, part_of, axis))
        for part in (2, 4, 8, 16, 64, 256):
            size = n // part
            for start in range(0, n if size else 0, max(size, 1)):
                kept = np.r_[0:start, min(start + size, n) : n]
                if kept.size:
                    yield np.ascontiguousarray(np.take(x, kept, axis))
        if n <= 64:
            for i in range(n):
                if n > 1:
                    yield np.ascontiguousarray(np.delete(x, i, axis))
    flat = x.ravel()
    places = np.flatnonzero(flat)
    for zeroed in np.array_split(places, min(16, places.size)) if places.size else ():
        yield _with(x, zeroed, 0.0)
    wide = flat.astype(np.float64)
    largest = float(np.abs(wide).max())
    whole = largest < 2.0**53 and bool((wide == np.rint(wide)).all())
    for divisor in (largest, float(np.gcd.reduce(wide.astype(np.int64))) if whole else 1.0):
        if divisor in (0.0, 1.0) or not np.isfinite(divisor):
            continue
        scaled = (x.astype(np.float64) / divisor).astype(x.dtype)
        # of long arrays, of which single numbers are not looked at, in any case
        if places.size > 64 or _complexities(scaled.ravel()[places].astype(np.float64)) < _complexities(wide[places]):
            yield scaled
    rounded = np.rint(wide).astype(x.dtype)
    if (rounded != flat).any():
        yield rounded.reshape(x.shape)
    for place in places[:64] if places.size <= 64 else ():
        value = float(wide[place])
        for simple in _simpler_numbers(value):
            if _complexity(simple) < _complexity(value):
                yield _with(x, np.array([place]), simple)


def _simpler_numbers(value: float) -> Iterator[float]:
    """Zero and ones, its magnitude, integers, and few of its leading bits: as an integer, and where they were."""
    yield from (0.0, 1.0, -1.0, abs(value), float(np.rint(value)))
    mantissa, exponent = np.frexp(value)
    for bits in (2, 3, 4):
        cut = float(np.trunc(np.ldexp(mantissa, bits)))
        yield from (cut, float(np.ldexp(cut, exponent - bits)))
    with np.errstate(over="ignore"):
        yield float(np.float16(value))


def _complexity(value: float) -> tuple[int, int, int]:
    """Significant digits, characters and sign; zero and ones are simplest."""
    if value in (0.0, 1.0, -1.0):
        return int(abs(value)), 0, int(value < 0)
    if not np.isfinite(value):
        return 99, 0, 0
    shown = repr(abs(value))
    return len(shown.partition("e")[0].replace(".", "").strip("0")), len(shown), int(value < 0)


def _complexities(numbers: Floats) -> tuple[int, ...]:
    return tuple(np.sum([_complexity(value) for value in numbers.tolist()], axis=0).tolist())


def _with(x: Array, places: Integers, value: float) -> Array:
    changed = x.copy()
    changed.reshape(-1)[places] = value
    return changed
