"""The book: every claim of every column under its name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from commbounds.theory.arctopk import claims as arctopk
from commbounds.theory.claim import Claim
from commbounds.theory.dense import claims as dense
from commbounds.theory.dropcompute import claims as dropcompute
from commbounds.theory.feedback import claims as feedback
from commbounds.theory.flashcomm import claims as flashcomm
from commbounds.theory.gossip import claims as gossip
from commbounds.theory.lowrank import claims as lowrank
from commbounds.theory.moshpit import claims as moshpit
from commbounds.theory.oktopk import claims as oktopk
from commbounds.theory.packetloss import claims as packetloss
from commbounds.theory.quantizers import claims as quantizers
from commbounds.theory.sparse import claims as sparse
from commbounds.theory.sparsifiers import claims as sparsifiers

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
