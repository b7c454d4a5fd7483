"""Means of what ranks end with, read off: an entry is a sum of step functions, each of one number that a rank draws."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from commbounds.array_types import Floats, Integers, Mask
from commbounds.verify.conformance.aims import ROUNDINGS, aim, generic_case, magnitudes, roundings
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.injected import NotElementwise, with_words
from commbounds.verify.conformance.inputs import fitted
from commbounds.verify.conformance.random_words import intercepted
from commbounds.verify.marginals import StepLaws, step_laws

_CELLS = 1 << 24
"""Uniforms that are given are multiples of one over it."""
_MOST_WORDS, _LONGEST, _HOSTILE = 400, 40, 12
_PROBES = 12
_HALVES = (0.5, -0.5, 0.5, 0.5, -0.5, 0.5, -0.5)


@dataclass(frozen=True)
class SummedLaws:
    """Of what rank 0 ends with at a stack, entry by entry.

    Parameters
    ----------
    off : (n,) float64
        Mean minus the exact sum, or mean.
    variance : (n,) float64
        Numbers that are drawn are independent of one another.
    allowance : (n,) float64
        How far rounding, and the grid of the uniforms, may move the mean.
    """

    off: Floats
    variance: Floats
    allowance: Floats


def summed_laws(bench: Bench, case: CheckCase) -> SummedLaws:
    """The mean and the variance of every entry, from words that are given to whatever a rank draws from.

    Raises
    ------
    NotElementwise
        Nothing, too much or something else is drawn; a number moves several entries, or an entry is no sum of step
        functions of such numbers, as after a second rounding.
    Unanswered
        The subject did not answer.
    """
    rng = np.random.default_rng([case.seed, 3])
    with intercepted() if bench.subject.outside is None else contextlib.nullcontext():
        _, first = with_words(bench, case, np.empty(0), rng)
        if first.refused or not 0 < first.drawn <= _MOST_WORDS:
            raise NotElementwise(
                f"it draws by {first.refused}" if first.refused else f"{first.drawn} numbers are drawn"
            )

        def output(words: Floats) -> Floats:
            answer, drawn = with_words(bench, case, words, rng)
            if drawn != first:
                raise NotElementwise("what is drawn differs from call to call")
            row: Floats = answer[0].ravel()
            return row

        words = rng.random(first.drawn)
        base = output(words)
        if not np.isfinite(base).all():
            raise NotElementwise("an output is not finite")
        moved = np.array([_moved(output, words, word, base) for word in range(words.size)])
        if (moved.sum(axis=1) > 1).any():
            raise NotElementwise("a number that is drawn moves several entries")
        movers = [np.flatnonzero(column) for column in moved.T]
        laws, steps = [], np.zeros(base.size)
        for turn in range(max(map(len, movers))):
            own = {entry: words_of[turn] for entry, words_of in enumerate(movers) if turn < len(words_of)}
            law = _law(output, words, own, base)
            laws.append((own, law))
            steps += law.values.max(axis=0) - law.values.min(axis=0)
        sizes = magnitudes(bench.subject, case.x)[0].ravel() + steps
        once = (ROUNDINGS + roundings(bench.subject, case.x)) / 2.0 * (bench.eps * sizes + bench.tiny)
        allowance = (1 + 2 * len(laws)) * once + 2.0 * steps / _CELLS
        for probe in range(_PROBES):
            other = rng.random(first.drawn)  # in the bits behind the grid, too, by which a permutation may be drawn
            if probe % 2:
                other = np.where(rng.random(first.drawn) < 0.5, rng.integers(2, size=first.drawn) * (1 - 2**-30), other)
            said = base.copy()
            for own, law in laws:
                places = np.zeros(base.size, np.int64)
                places[[*own]] = np.floor(other[[*own.values()]] * _CELLS)
                said += law.at(places) - base
            if not (np.abs(said - output(other)) <= allowance + once).all():
                raise NotElementwise("an entry is no sum of step functions of numbers that are drawn")
    off = base - aim(bench.subject, case.x)[0].ravel()
    variance = np.zeros(base.size)
    for _, law in laws:
        shift = law.expected_difference(base)
        off, variance = off + shift, variance + law.expected_square(base + shift)
    return SummedLaws(off, variance, allowance)


def _moved(output, words: Floats, word: int, base: Floats) -> Mask:  # type: ignore[no-untyped-def]
    """Which entries change where that word is the least or the largest."""
    changed = np.zeros(base.size, np.bool_)
    for place in (0, _CELLS - 1):
        other = words.copy()
        other[word] = _placed(place, words[word])
        changed |= output(other) != base
    return changed


def _placed(place: Any, word: Any) -> Any:
    """The uniform of that place on the grid with the bits of a word behind it."""
    return (place + word * _CELLS % 1.0) / _CELLS


def _law(output, words: Floats, own: dict[int, int], base: Floats) -> StepLaws:  # type: ignore[no-untyped-def]
    """The law of entries in which one word each is drawn, and all others are these."""

    def read(places: Integers) -> Floats:
        other = words.copy()
        other[[*own.values()]] = _placed(places[[*own]], words[[*own.values()]])
        answer: Floats = output(other)
        return answer

    law = step_laws(read, base, _CELLS)
    if law is None:
        raise NotElementwise("an entry takes more than six values")
    return law


def stacks_to_read(bench: Bench, halves: bool) -> Iterator[CheckCase]:
    """Short stacks for all numbers of ranks, and some of the hostile ones.

    The former are generic; or all ranks bring half steps of four and eight bits below one large entry, if `halves`:
    there variances are what they can be at most.
    """
    rng = bench.rng("stacks to read")
    for P in getattr(bench.subject, "ranks", ()):
        rows = [fitted(bench.subject, np.array([steps, *_HALVES])) for steps in (127.0, 7.0) if halves]
        stacks = [row if row is None else np.repeat(row[None], P, axis=0) for row in rows]
        for x in stacks or [generic_case(bench.subject, rng, 6, P)]:
            if x is not None and x.size <= _MOST_WORDS and bench.subject.takes(x):
                yield CheckCase(x, P, f"{'half steps' if halves else 'random magnitudes'}, P={P}")
    short = [case for case in bench.hostile() if case.x.size <= _LONGEST and case.x.any()]
    yield from (short[i] for i in np.unique(np.linspace(0, len(short) - 1, _HOSTILE).astype(int)) if short)
