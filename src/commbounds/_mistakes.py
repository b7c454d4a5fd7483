"""Which known mistake explains a wrong all-reduce: `Suspect`, `explanations`.

A mistake is named where it predicts every entry of the result that rounding does not explain, within the rounding of
the mistaken computation itself.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from commbounds._sums import RankSums
from commbounds.array_types import Array, Floats

Entries = NDArray[np.intp]
Test = Callable[[Entries], bool]
"""Whether a mistake explains these entries."""

_U = 2.0**-53
_SAMPLE = 16  # entries at which a mistake is tried before it is tried at all
_PAIRS = 256  # ranks up to which one rank in place of another is looked for
_NAMED = 3  # mistakes in a message
_CHANCE = 0.01  # of a mistake that fits by chance, above which none is named


@dataclass(frozen=True)
class Suspect:
    """A result with entries that rounding does not explain.

    Parameters
    ----------
    stack : (P, n) array
        The inputs.
    sums : RankSums
        Their sums.
    y : (n,) array
        The result.
    times : int
        P where the result is a mean, else 1: ``times * y`` stands for the sum.
    allowed : (n,) float64
        What rounding explains, of ``times * y``.
    wrong : (m,) int
        The entries that it does not explain, ascending; m >= 1.
    unit : float
        Unit roundoff of the result's format.
    previous : (n,) array or None
        An earlier result, which a buffer may still hold.
    """

    stack: Array
    sums: RankSums
    y: Array
    times: int
    allowed: Floats
    wrong: Entries
    unit: float
    previous: Array | None = None

    @cached_property
    def distance(self) -> Floats:
        """``times * y`` less the sum."""
        return self.sums.distance(self.y, self.times)

    @cached_property
    def scaled(self) -> Floats:
        """``times * y``."""
        wide: Floats = self.y.astype(np.float64)
        return self.times * wide

    @cached_property
    def few(self) -> Entries:
        """The wrong entries where most is added up."""
        return self.wrong[np.argsort(-self.sums.sizes[self.wrong], kind="stable")[:_SAMPLE]]

    def holds(self, fits: Test) -> bool:
        """Whether a mistake explains all wrong entries."""
        return fits(self.few) and fits(self.wrong)

    def inputs(self, rank: int, entries: Entries) -> Floats:
        """What a rank brought."""
        brought: Floats = self.stack[rank, entries].astype(np.float64)
        return brought

    def off_by(self, added: Floats, entries: Entries) -> bool:
        """Whether the result is the sum and `added`, to the rounding of a sum that is larger by as much."""
        size, sizes = np.abs(added), self.sums.sizes[entries]
        distance, allowed = self.distance[entries], self.allowed[entries]
        share = np.divide(allowed, sizes, out=np.zeros_like(size), where=sizes > 0.0)
        allowance = allowed + share * size + 4.0 * _U * (np.abs(distance) + size)
        return bool((np.abs(distance - added) <= allowance).all())

    def is_multiple(self, factor: float, entries: Entries) -> bool:
        """Whether the result is `factor` times what it should be: that to rounding, scaled and rounded again."""
        with np.errstate(over="ignore", invalid="ignore"):
            y = self.scaled[entries] / factor
            allowance = self.allowed[entries] + 4.0 * self.unit * np.abs(y) + self.sums.slack[entries]
            return bool((np.abs(y - self.sums.wide()[entries]) <= allowance * (1.0 + 8.0 * _U)).all())

    def is_elsewhere(self, shift: int, entries: Entries) -> bool:
        """Whether entry i of the result is the sum of entry i + shift, modulo n."""
        there = (entries + shift) % len(self.y)
        allowance = self.allowed[there] + 4.0 * _U * self.sums.sizes[there]
        return bool((np.abs(self.sums.wide()[there] - self.scaled[entries]) <= allowance).all())


def explanations(suspect: Suspect, coarser: Mapping[str, Floats]) -> list[str]:
    """The mistakes that explain all wrong entries, in words: at most three, none where none does.

    Parameters
    ----------
    suspect : Suspect
        The result in question.
    coarser : dict
        Words -> (n,) float64, what rounding explains, of ``times * y``, where fewer digits are kept than promised. The
        first that fits is named, where nothing sharper fits.
    """
    found = list(islice((words for words, fits in _buffers(suspect) if suspect.holds(fits)), _NAMED))
    size = np.abs(suspect.distance[suspect.wrong])
    if not found and np.isfinite(size).all():
        mistakes = [*_ranks(suspect), *_factors(suspect), *_places(suspect)]
        # a prediction that has nothing to do with an entry, and is off by at most as much, fits it with this chance
        with np.errstate(divide="ignore"):
            chance = float(np.log(suspect.allowed[suspect.wrong] / size).sum())
        if chance + math.log(len(mistakes)) <= math.log(_CHANCE):
            found = list(islice((words for words, fits in mistakes if suspect.holds(fits)), _NAMED))
    first, last = int(suspect.wrong[0]), int(suspect.wrong[-1])
    if not found and _SAMPLE <= last + 1 - first <= 4 * len(suspect.wrong):  # lost digits are lost everywhere
        found = [words for words, allowed in coarser.items() if (size <= allowed[suspect.wrong]).all()][:1]
    if first > 0 or last < len(suspect.y) - 1:
        where = f"entries {first} to {last}" if last > first else f"entry {first}"
        found = [f"{words}, in {where}" for words in found]
    return found


def _buffers(suspect: Suspect) -> Iterator[tuple[str, Test]]:
    """Buffers that hold something else."""
    y, previous = suspect.y, suspect.previous
    finite = np.isfinite(y.astype(np.float64))
    yield "overflow, or memory that was never written", lambda entries: not finite[entries].any()
    yield "the result was left at zero", lambda entries: not y[entries].astype(bool).any()
    if previous is not None:
        yield "the result is the previous one", lambda entries: bool((y[entries] == previous[entries]).all())
    for rank in range(suspect.sums.ranks):

        def is_input(entries: Entries, rank: int = rank) -> bool:
            return bool((suspect.stack[rank, entries].astype(y.dtype) == y[entries]).all())

        yield f"the result is the input of rank {rank}, not reduced", is_input


def _ranks(suspect: Suspect) -> Iterator[tuple[str, Test]]:
    """Ranks that are missing, counted twice, or have the wrong sign."""
    for factor, words in ((-1, "is missing"), (1, "is counted twice"), (-2, "has the wrong sign")):
        for rank in range(suspect.sums.ranks):

            def fits(entries: Entries, rank: int = rank, factor: int = factor) -> bool:
                return suspect.off_by(factor * suspect.inputs(rank, entries), entries)

            yield f"rank {rank} {words}", fits
    if suspect.sums.ranks <= _PAIRS:
        for twice, missing in _pairs(suspect):

            def exchanged(entries: Entries, twice: int = twice, missing: int = missing) -> bool:
                return suspect.off_by(suspect.inputs(twice, entries) - suspect.inputs(missing, entries), entries)

            yield f"rank {twice} is counted in place of rank {missing}", exchanged


def _pairs(suspect: Suspect) -> Iterator[tuple[int, int]]:
    """Pairs of ranks by whose difference one wrong entry is off."""
    entry = suspect.few[0]
    x, distance = suspect.stack[:, entry].astype(np.float64), suspect.distance[entry]
    allowance = 3.0 * suspect.allowed[entry] + 8.0 * _U * (np.abs(distance) + suspect.sums.sizes[entry])
    for twice, missing in np.argwhere(np.abs(x[:, None] - x[None, :] - distance) <= allowance):
        yield int(twice), int(missing)


def _factors(suspect: Suspect) -> Iterator[tuple[str, Test]]:
    """All entries scaled."""
    P = suspect.sums.ranks
    named: list[tuple[str, float]] = [("all signs are inverted", -1.0)]
    if suspect.times > 1:
        named += [
            (f"not divided by P = {P}: the sum, where the mean is due", float(P)),
            (f"divided by P = {P} twice", 1.0 / P),
            (f"divided by P - 1 = {P - 1}", P / (P - 1.0)),
            (f"divided by P + 1 = {P + 1}", P / (P + 1.0)),
        ]
    elif P > 1:
        named += [
            (f"divided by P = {P}: the mean, where the sum is due", 1.0 / P),
            (f"multiplied by P = {P}", float(P)),
        ]
    largest = suspect.wrong[np.argmax(np.abs(suspect.sums.high[suspect.wrong]))]
    if len(suspect.wrong) >= 3 and suspect.sums.high[largest] != 0.0:  # fitted to one entry: two more bear it out
        factor = float(suspect.scaled[largest] / suspect.sums.high[largest])
        if factor != 0.0 and not any(abs(factor / known - 1.0) < 1e-2 for _, known in named):
            named.append((f"all is {factor:.6g} times what it should be", factor))
    for words, factor in named:
        yield words, partial(suspect.is_multiple, factor)


def _places(suspect: Suspect) -> Iterator[tuple[str, Test]]:
    """Entries in the wrong place: of the result, or of what one rank brought."""
    n, wrong, y = len(suspect.y), suspect.wrong, suspect.scaled
    entry = wrong[np.argmax(np.abs(y[wrong]))]
    allowance = suspect.allowed + 4.0 * _U * suspect.sums.sizes
    with np.errstate(invalid="ignore"):
        places = np.flatnonzero(np.abs(suspect.sums.wide() - y[entry]) <= allowance)
    nearest = places[np.argsort(np.abs(places - entry), kind="stable")][:_SAMPLE]
    for shift in (int(place - entry) for place in nearest if len(wrong) > 1 and place != entry):
        words = f"entry i holds the sum of entry i {'-' if shift < 0 else '+'} {abs(shift)}"
        yield words, partial(suspect.is_elsewhere, shift)
    block = n // suspect.sums.ranks
    for shift in {step % n: step for step in (1, -1, block, -block) if step % n}.values():
        for rank in range(suspect.sums.ranks):

            def moved(entries: Entries, rank: int = rank, shift: int = shift) -> bool:
                there = (entries + shift) % n
                return suspect.off_by(suspect.inputs(rank, there) - suspect.inputs(rank, entries), entries)

            yield f"rank {rank} is read {abs(shift)} {'before' if shift < 0 else 'after'} its place", moved
