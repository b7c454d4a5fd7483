"""Claims about what an output is made of, and how many bits it takes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from commbounds.verify.conformance.aims import sized
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.case import CheckCase, first_place
from commbounds.verify.conformance.claim import NotHere, Number, Sure, checked


@dataclass(frozen=True)
class Support(Sure):
    """At most k entries of the output are not zero, for every input and seed.

    Parameters
    ----------
    k : number, or callable of n (vectors) or of m, n (matrices)
        NaN counts as an entry that is not zero.
    """

    k: Number

    about: ClassVar[tuple[str, ...]] = ("compressor",)
    in_book: ClassVar[tuple[str, ...]] = ("sparsifiers.topk.support",)

    def __post_init__(self) -> None:
        checked("k", self.k)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        most = sized("k", self.k, bench.subject, case.x)
        count = int(np.count_nonzero(bench.output(case)))
        if count <= most:
            return None
        return f"{count} of {case.x.size} entries are not zero, claimed at most {most:g}"


@dataclass(frozen=True)
class Codebook(Sure):
    """Every entry of the output is one of the given values; of an all-gather all that every rank has of the others.

    An all-gather of what ranks have coded shows the codes on the wire.

    Parameters
    ----------
    values : array, or callable (x) -> array
        (L,), the same for all entries; or, from a callable, the shape of x with L behind it: (n, L), L values an entry.
    operations : int
        Roundings that may lie between a value and the entry: each moves it by half an eps, relative to the value, and
        by half of the smallest subnormal number. With 0 entries have to be the values, rounded to the dtype.
    """

    values: Any
    operations: int = 4

    about: ClassVar[tuple[str, ...]] = ("compressor", "all-gather")
    in_book: ClassVar[tuple[str, ...]] = ("quantizers.qsgd.level",)

    def __post_init__(self) -> None:
        if isinstance(self.operations, bool) or not isinstance(self.operations, int) or self.operations < 0:
            raise ValueError(f"operations must be a nonnegative integer, got {self.operations!r}")

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        given = self.values(case.x.copy()) if callable(self.values) else self.values
        book = np.asarray(given).astype(np.float64)
        if book.shape[:-1] not in ((), case.x.shape) or book.ndim == 0 or book.shape[-1] == 0:
            raise NotHere(f"the values have shape {book.shape} for an input of shape {case.x.shape}")
        y = bench.output(case).astype(np.float64)
        rounded = book.astype(case.x.dtype).astype(np.float64)  # what the dtype makes of a value is always admissible
        allowance = self.operations / 2.0 * (bench.eps * np.abs(book) + bench.tiny)
        near = (np.abs(y[..., None] - book) <= allowance) | (y[..., None] == rounded)
        if (at := first_place(~near.any(axis=-1))) is None:
            return None
        own = book if book.ndim == 1 else book[at[-case.x.ndim :]]
        nearest = own[np.argmin(np.abs(own - y[at]))] if np.isfinite(y[at]) else own[0]
        return f"entry {at} is {float(y[at])!r}, none of the {own.size} values; next to it is {float(nearest)!r}"


@dataclass(frozen=True)
class Bits(Sure):
    """The payload takes at most so many bits, as the subject's ``bits`` counts them.

    Parameters
    ----------
    at_most : number, or callable of n (vectors) or of m, n (matrices)
        For every input and seed.

    Notes
    -----
    A count is an integer and not negative. Whether the payload really has that size is not seen from outside.
    """

    at_most: Number

    about: ClassVar[tuple[str, ...]] = ("compressor",)
    in_book: ClassVar[tuple[str, ...]] = ("sparsifiers.topk.wire",)

    def __post_init__(self) -> None:
        checked("at_most", self.at_most)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        count = getattr(bench.subject, "bits", None)
        if count is None:
            raise NotHere("the subject does not tell its bits: give it bits=...")
        found = bench.call(count, case.x.copy(), case.seed)
        if isinstance(found, bool) or not isinstance(found, int | np.integer) or found < 0:
            return f"bits are {found!r}, not a nonnegative integer"
        most = sized("at_most", self.at_most, bench.subject, case.x)
        return None if int(found) <= most else f"{int(found)} bits, claimed at most {most:g}"
