"""The book: every claim of every column under its name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from commbounds.theory import (
    arctopk,
    dense,
    dropcompute,
    feedback,
    flashcomm,
    gossip,
    lowrank,
    moshpit,
    oktopk,
    packetloss,
    quantizers,
    sparse,
    sparsifiers,
)
from commbounds.theory.claim import Claim

__all__ = ["claims"]

COLUMNS = (
    sparsifiers,
    quantizers,
    lowrank,
    dense,
    sparse,
    oktopk,
    arctopk,
    feedback,
    moshpit,
    gossip,
    packetloss,
    dropcompute,
    flashcomm,
)
"""The table of contents: one module per column, each with its tuple ``CLAIMS``."""


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
    for column in COLUMNS:
        for claim in column.CLAIMS:
            if claim.name in book:
                raise ValueError(f"two claims are called {claim.name}")
            book[claim.name] = claim
    for claim in book.values():
        if claim.corrected_by and claim.corrected_by not in book:
            raise ValueError(f"{claim.name} is corrected by {claim.corrected_by}, which is not in the book")
    return MappingProxyType(book)
