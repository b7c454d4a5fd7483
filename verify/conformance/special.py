"""Inputs on which errors hide: next to powers of two, where levels begin, constant and sparse ones, noisy ones."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Floats
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import NotHere
from commbounds.verify.conformance.injected import GivenOutputs, reading
from commbounds.verify.conformance.inputs import fitted, generic
from commbounds.verify.conformance.subject import Subject

Array = NDArray[np.generic]

_EXPONENTS = (0, 1, -3, 7)
_BELOW = (24, 13, 12, 11, 9, 8, 5)
"""Distances from a power of two, as powers of 1/2 relative to it."""
_CLIMBS, _SEEDS = 12, 5


def near_powers(subject: Subject) -> list[CheckCase]:
    """Entries just below and just above powers of two; the largest entry is a power of two, and is not."""
    cases = []
    for side, label in ((-1.0, "below"), (1.0, "above")):
        for top in (0.0, 2.0**10):
            rows = [[2.0**e * (1.0 + side * 0.5**b) * (-1) ** b for b in _BELOW] for e in _EXPONENTS]
            x = fitted(subject, np.concatenate([*rows, [top] if top else []]))
            if x is not None:
                cases.append(CheckCase(x, 0, f"just {label} powers of two" + (", beside a large one" if top else "")))
    return cases


def structured(n: int) -> Iterator[tuple[str, NDArray[np.floating]]]:
    """Inputs of n entries whose statistics are unlike those of a random one."""
    place = np.arange(n)
    yield "constant", np.ones(n)
    yield "one entry", np.where(place == n // 3, 1.0, 0.0)
    yield "two entries", np.where(place == 1, 1.0, np.where(place == n - 1, -0.3, 0.0))
    yield "signs alone", (-1.0) ** (place // 2)
    yield "one large entry", np.where(place == n // 2, -3.0, 0.3)
    yield "a large half", np.where(place < n // 2, 2.0, 0.5)
    powers = np.ldexp(1.0, place % 4)
    yield "just below powers of two", powers * (1.0 - np.ldexp(1.0, -8 - place % 5)) * (-1.0) ** place


def at_levels(bench: Bench) -> list[CheckCase]:
    """Entries next to where their levels begin, found by bisection on the input with every uniform at zero.

    With a uniform of zero all that lies above a level is rounded to the next one: there the output switches.
    """
    base = generic(bench.subject, bench.rng("levels"), 12)
    if base is None:
        return []
    flat = base.astype(np.float64).ravel()
    largest = int(np.abs(flat).argmax())
    try:
        with reading(bench, CheckCase(base)) as read:
            switches = _switches(read, flat, largest, base)
    except (NotHere, Unanswered):
        return []
    cases = []
    for label, factor in (("at", 1.0), ("below", 1.0 - 2.0**-12), ("above", 1.0 + 2.0**-12), ("above", 1.0 + 2.0**-9)):
        x = fitted(bench.subject, np.where(np.arange(flat.size) == largest, flat, switches * factor))
        if x is not None and x.shape == base.shape:
            cases.append(CheckCase(x, 0, f"{label} a level that bisection found"))
    return cases


def _switches(read: GivenOutputs, flat: Floats, largest: int, base: NDArray[np.generic]) -> Floats:
    """Of every entry but the largest the smallest input, between it and 3/5 of it, with its output."""

    def output(values: Floats) -> Floats:
        values = np.where(np.arange(values.size) == largest, flat, values)
        return read.output(values.astype(base.dtype).reshape(base.shape), np.zeros(values.size, np.int64))

    high, low = flat.copy(), 0.6 * flat
    wanted = output(high)
    for _ in range(26):
        middle = (low + high) / 2.0
        same = output(middle) == wanted
        high, low = np.where(same, middle, high), np.where(same, low, middle)
    return high


def stirred(bench: Bench, x: NDArray[np.generic], rng: np.random.Generator) -> tuple[str, NDArray[np.floating]]:
    """The input that seeds change most, relative to its size, of a few that a climb from `x` comes by."""

    def change(values: Floats) -> float:
        case = values.astype(x.dtype).reshape(x.shape)
        if not values.any() or not bench.subject.takes(case):
            return -1.0
        try:
            outputs = [bench.output(CheckCase(case, seed)).astype(np.float64).ravel() for seed in range(_SEEDS)]
        except Unanswered:
            return -1.0
        spread = float(np.var(outputs, axis=0).sum() / (values @ values))
        return spread if np.isfinite(spread) else -1.0

    best = x.astype(np.float64).ravel()
    largest = change(best)
    for climb in range(_CLIMBS):
        some = rng.random(best.size) < 0.5
        values = np.where(some, best * (0.5, 2.0, 0.0, 0.7)[climb % 4], best)
        if (spread := change(values)) > largest:
            best, largest = values, spread
    return "the input that seeds change most, of some", best
