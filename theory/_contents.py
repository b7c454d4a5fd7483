"""The book, read when it is first asked for: who wants a cost or a symbol does not wait for every column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from commbounds.theory.claim import Claim

if TYPE_CHECKING:
    from commbounds.theory.precision.tolerance import Tolerance


def claims() -> Mapping[str, Claim]:
    """Every claim of the book under its name, in the order of the columns; read-only."""
    from commbounds.theory import book

    return book.claims()


def tolerance(op: str = "allreduce", **options: Any) -> Tolerance:
    """How far the result of a correct all-reduce may be off the exact sum, or mean, of its inputs.

    Options, errors and what is returned are those of `commbounds.theory.precision.tolerance.tolerance`.

    Examples
    --------
    >>> tolerance(P=8, dtype="bfloat16", accumulate="float32", schedule="direct").relative_to_sum_abs["sure"]
    0.0038914694396188646
    """
    from commbounds.theory.precision import tolerance as derived

    return derived.tolerance(op, **options)
