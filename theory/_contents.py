"""The book, read when it is first asked for: who wants a cost or a symbol does not wait for it."""

from __future__ import annotations

from commbounds.columns import Registry
from commbounds.theory.claim import Claim


def claims() -> Registry[Claim]:
    """Every claim of the book under its name, in the order of the columns; a column is read when it is asked for."""
    from commbounds.theory import book

    return book.claims()
