"""The book: its columns, and every claim under its name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from commbounds.columns import parts
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


@cache
def claims() -> Mapping[str, Claim]:
    """Every claim under its name, in the order of the columns.

    Returns
    -------
    Mapping[str, Claim]
        Read-only.

    Raises
    ------
    ValueError
        Two claims share a name, or a correction names a claim that is not in the book.
    """
    book: dict[str, Claim] = {}
    for column in columns().values():
        for claim in column.claims:
            if claim.name in book:
                raise ValueError(f"two claims are called {claim.name}")
            book[claim.name] = claim
    for claim in book.values():
        if claim.corrected_by and claim.corrected_by not in book:
            raise ValueError(f"{claim.name} is corrected by {claim.corrected_by}, which is not in the book")
    return MappingProxyType(book)
