"""The book, read when it is first asked for: who wants a cost or a symbol does not wait for every column."""

from __future__ import annotations

from collections.abc import Mapping

from commbounds.theory.claim import Claim


def claims() -> Mapping[str, Claim]:
    """Every claim of the book under its name, in the order of the columns; read-only."""
    from commbounds.theory import book

    return book.claims()
