"""`Cases`: what a sure claim is confronted with, hostile inputs first, then generated ones."""

import zlib
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property

from commbounds.verify import search
from commbounds.verify.conformance.budgets import CheckBudget
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.inputs import corpus, generated
from commbounds.verify.conformance.subject import Subject

_KEPT = 1 << 17
"""Largest input, and most cases, that are kept from one claim to the next."""


class Cases:
    """The cases of a subject, the same for every claim.

    Parameters
    ----------
    subject : Subject
        Whose inputs they are; of less than full effort a share of them.
    budget : CheckBudget
        How many.
    seed : int
        Of the search.
    """

    def __init__(self, subject: Subject, budget: CheckBudget, seed: int) -> None:
        self._subject, self._budget, self._seed = subject, budget, seed
        self._examples = max(5, int(budget.examples * subject.effort))
        self._hostile: list[CheckCase] | None = None

    def hostile(self) -> Iterator[CheckCase]:
        """Hostile inputs, in the order of the corpus."""
        if self._hostile is None and max(self._budget.long) <= _KEPT:
            self._hostile = list(self._chosen())
            for case in self._hostile:
                case.x.setflags(write=False)  # the next claim gets the same
        yield from self._chosen() if self._hostile is None else self._hostile

    def _chosen(self) -> Iterator[CheckCase]:
        """The share that effort leaves: the first of every shape and of every kind, of the others by their names."""
        firsts: set[Hashable] = {""}

        def wanted(label: str, shape: tuple[int, ...], kind: str) -> bool:
            return not {shape, kind} <= firsts or zlib.crc32(label.encode()) < self._subject.effort * 2**32

        for case in corpus(self._subject, self._budget, wanted):
            firsts |= {case.x.shape, case.kind}
            yield case

    @cached_property
    def generated(self) -> list[CheckCase]:
        """What the search comes up with as long as nothing fails: none if these are too many to keep."""
        if not self.kept:
            return []
        found = search.generated(generated(self._subject), self._examples, self._seed)
        return [case for case in found if case is not None]

    @property
    def kept(self) -> bool:
        """Whether `generated` is all of what the search comes up with."""
        return self._examples <= 1000

    def searched(self, confront: Callable[[CheckCase], None]) -> bool:
        """Call `confront` on generated cases; where it raises a `Violation`, on smaller ones: whether it does."""

        def confronted(case: CheckCase | None) -> None:
            if case is not None:
                confront(case)

        return search.falsified(confronted, generated(self._subject), self._examples, self._seed)
