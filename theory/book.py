"""The book: its columns, and every claim under its name."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType, ModuleType

from commbounds.columns import Registry, parts
from commbounds.theory.claim import Claim
from commbounds.theory.column import Column


@cache
def columns() -> Mapping[str, Column]:
    """Every column under its name, in the book's order: `commbounds.columns` lists them.

    Returns
    -------
    Mapping[str, Column]
        Read-only.
    """
    return MappingProxyType({name: found.COLUMN for name, found in parts("theory")})


def _chapter(_column: str, found: ModuleType) -> dict[str, Claim]:
    """The claims of a column by name."""
    chapter: dict[str, Claim] = {}
    for claim in found.COLUMN.claims:
        if claim.name in chapter:
            raise ValueError(f"two claims are called {claim.name}")
        chapter[claim.name] = claim
    return chapter


class _Book(Registry[Claim]):
    """The claims of all columns."""

    def joined(self) -> dict[str, Claim]:
        book = super().joined()
        for claim in book.values():
            if claim.corrected_by and claim.corrected_by not in book:
                raise ValueError(f"{claim.name} is corrected by {claim.corrected_by}, which is not in the book")
        return book


_BOOK = _Book("CLAIMS", "theory", read=_chapter)


def claims() -> Registry[Claim]:
    """Every claim under its name, in the order of the columns, of which each is read when a claim of it is asked for.

    Returns
    -------
    Registry
        Read-only.

    Raises
    ------
    ValueError
        Two claims of a column share a name; or, where all are asked for, a correction names a claim that is not there.
    """
    return _BOOK
