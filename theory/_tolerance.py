"""The tolerance of an all-reduce, whose derivation is read when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commbounds.theory.precision.tolerance import Tolerance


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
