"""Worst cases of sums in formats of eight bits, over all inputs: dynamic programming over the values of partial sums.

The error of a sum is the sum of its roundings' errors. For a ratio p/q let V(s) be the largest q error - p sum |x| of
all inputs whose computed sum is s: of a sum of two sums the largest V(a) + V(b) + q (s - a - b) with a + b rounded to
s. The ratio is exceeded where some V(s) is positive; the input that shows it has a larger ratio, which is tried next,
until none is (Dinkelbach 1967). Everything is counted in whole multiples of the smallest number.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Integers, Mask
from commbounds.theory.precision.formats import format_named

Whole = Integers
Order = int | tuple["Order", "Order"]
"""Who is added to whom: a rank, or the sum of two orders."""
_NEVER = -(1 << 61)


@lru_cache(maxsize=512)
def order_of(schedule: str, P: int) -> Order:
    """In which order an entry's terms are added, by ranks; of a ring the first entry's, which rank 1 begins."""
    ranks = [rank % P for rank in range(1, P + 1)] if schedule == "ring" else [-rank % P for rank in range(P)]
    if schedule in ("ring", "direct"):
        order: Order = ranks[0]
        for rank in ranks[1:]:
            order = (order, rank)
        return order
    if schedule == "binomial":
        return _binomial(0, 1 << (P - 1).bit_length(), P)
    core = 1 << (P.bit_length() - 1)
    doubled = P - core
    members: list[Order] = [(2 * m, 2 * m + 1) if m < doubled else m + doubled for m in range(core)]
    while len(members) > 1:  # neighbours first; in Rabenseifner's the farthest
        half = len(members) // 2
        near = schedule == "recursive_doubling"
        members = [
            (members[2 * m], members[2 * m + 1]) if near else (members[m], members[m + half]) for m in range(half)
        ]
    return members[0]


def _binomial(first: int, size: int, P: int) -> Order:
    """The sum that the multiple `first` of `size` collects from the `size` ranks behind it."""
    order: Order = first
    part = 1
    while part < size:
        if first + part < P:
            order = (order, _binomial(first + part, part, P))
        part *= 2
    return order


@dataclass(frozen=True)
class SumTable:
    """All sums of two numbers of a format, as an all-reduce of two ranks gives them.

    Parameters
    ----------
    numbers : (N,) int64
        All finite ones, ascending, in units of the smallest.
    sums : (N, N) int64
        Places of the sums in `numbers`.
    errors : (N, N) int64
        Sums minus exact sums.
    inside : (N, N) bool
        Where sums do not overflow.
    unit : Fraction
        The smallest number.
    """

    numbers: Whole
    sums: Whole
    errors: Whole
    inside: Mask
    unit: Fraction

    @cached_property
    def by_sum(self) -> tuple[Whole, Whole]:
        """Pairs in the order of their sums, and where every sum's begin."""
        ranked = np.argsort(self.sums.ravel(), kind="stable")
        return ranked, np.flatnonzero(np.diff(self.sums.ravel()[ranked], prepend=-1))


@lru_cache(maxsize=32)
def table_of(implementation: Any, schedule: str, wire: str) -> SumTable:
    """The sums of an implementation."""
    known = format_named(wire)
    patterns = np.arange(1 << known.bits)
    digits, exponents = patterns % (1 << (known.digits - 1)), patterns >> (known.digits - 1)
    half = exponents < (1 << (known.bits - known.digits))
    magnitudes = np.where(exponents == 0, digits, (digits + (1 << (known.digits - 1))) << np.maximum(exponents - 1, 0))
    magnitudes = np.unique(magnitudes[half & (magnitudes <= int(known.largest / known.smallest))])
    numbers = np.unique(np.concatenate([-magnitudes, magnitudes]))
    pairs = np.stack([np.repeat(numbers, numbers.size), np.tile(numbers, numbers.size)])
    result, _ = implementation(pairs * float(known.smallest), schedule, wire)
    found = result[0] / float(known.smallest)
    inside = np.isfinite(found).reshape(numbers.size, numbers.size)
    whole = np.where(inside, found.reshape(inside.shape), 0).astype(np.int64)
    errors = whole - (numbers[:, None] + numbers)
    return SumTable(numbers, np.searchsorted(numbers, whole), errors, inside, known.smallest)


@dataclass(frozen=True)
class _Best:
    """For every sum of an order the largest value, its error and magnitudes, and the sums that it is the sum of."""

    value: Whole
    error: Whole
    magnitude: Whole
    left: Whole
    right: Whole


def worst_input(table: SumTable, order: Order) -> tuple[Fraction, dict[int, Fraction]]:
    """The largest error over the sum of the magnitudes, and every rank's term of an input that has it."""
    ratio, terms = Fraction(0), dict[int, Fraction]()
    while True:
        known: dict[Any, _Best] = {}
        best = _best(table, order, ratio, known)
        top = int(best.value.argmax())
        if best.value[top] <= 0:
            return ratio, terms
        ratio = Fraction(int(best.error[top]), int(best.magnitude[top]))
        terms = {}
        _walked(table, order, top, known, terms)


def _shape(order: Order) -> Any:
    return 0 if isinstance(order, int) else (_shape(order[0]), _shape(order[1]))


def _best(table: SumTable, order: Order, ratio: Fraction, known: dict[Any, _Best]) -> _Best:
    """Orders of one shape are worked out once."""
    return _of_shape(table, _shape(order), ratio, known)


def _of_shape(table: SumTable, shape: Any, ratio: Fraction, known: dict[Any, _Best]) -> _Best:
    if shape in known:
        return known[shape]
    size = np.abs(table.numbers)
    none = np.zeros_like(size)
    if shape == 0:
        known[shape] = _Best(-ratio.numerator * size, none, size, none, none)
        return known[shape]
    a, b = (_of_shape(table, part, ratio, known) for part in shape)
    reached = table.inside & (a.value[:, None] > _NEVER) & (b.value > _NEVER)
    values = np.where(reached, a.value[:, None] + b.value + ratio.denominator * table.errors, _NEVER).ravel()
    sums = table.sums.ravel()
    ranked, begins = table.by_sum
    largest = np.maximum.reduceat(values[ranked], begins)
    group = np.repeat(np.arange(begins.size), np.diff(np.append(begins, ranked.size)))
    first = np.flatnonzero(values[ranked] == largest[group])
    last = ranked[first[np.unique(group[first], return_index=True)[1]]]
    left, right = np.divmod(last, size.size)
    best = _Best(np.full_like(size, _NEVER), none.copy(), none.copy(), none.copy(), none.copy())
    at = sums[last]
    best.value[at], best.left[at], best.right[at] = values[last], left, right
    best.error[at] = a.error[left] + b.error[right] + table.errors.ravel()[last]
    best.magnitude[at] = a.magnitude[left] + b.magnitude[right]
    known[shape] = best
    return best


def _walked(table: SumTable, order: Order, at: int, known: dict[Any, _Best], terms: dict[int, Fraction]) -> None:
    if isinstance(order, int):
        terms[order] = int(table.numbers[at]) * table.unit
        return
    best = known[_shape(order)]
    for part, place in zip(order, (best.left[at], best.right[at]), strict=True):
        _walked(table, part, int(place), known, terms)
