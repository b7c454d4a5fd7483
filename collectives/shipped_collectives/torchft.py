"""torchft: rows of a tensor, in float8 or in integers."""

from typing import Any

import numpy as np
from ml_dtypes import float8_e4m3fn
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Bytes
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.shipped_collectives.exchange import (
    FP8_MAX,
    checked_finite,
    owned_places,
    padded,
    two_shot,
)
from commbounds.compressors.base import checked_count, checked_flag

INT8_MAX = np.float32(127)


def torchft_code(rows: Array, native: bool, divisor: float = 1.0) -> Bytes:
    """Rows of float32 over `divisor`, each a scale and codes of a byte, filled to whole words of four."""
    top, share = FP8_MAX if native else INT8_MAX, np.float32(divisor)
    with np.errstate(all="ignore"):
        scales = top / (np.abs(rows).max(axis=-1) / share)
        scales = np.where(np.isinf(scales), np.float32(1), scales)[..., np.newaxis]
        scaled = rows * scales / share
        codes = (scaled.astype(float8_e4m3fn) if native else np.trunc(scaled).astype(np.int8)).view(np.uint8)
    *several, columns = rows.shape
    words = np.zeros((*several, 4 + columns + -columns % 4), np.uint8)
    words[..., :4], words[..., 4 : 4 + columns] = scales.view(np.uint8), codes
    return words.reshape(*several[:-1], -1)


def torchft_read(sent: Bytes, columns: int, native: bool) -> Array:
    """The numbers, row after row, that `torchft_code` made `sent` of."""
    words = sent.reshape(*sent.shape[:-1], -1, 4 + columns + -columns % 4)
    codes = words[..., 4 : 4 + columns].copy().view(float8_e4m3fn if native else np.int8).astype(np.float32)
    with np.errstate(all="ignore"):
        numbers: Array = codes / words[..., :4].copy().view(np.float32)
    return numbers.reshape(*sent.shape[:-1], -1)


@one_program(np.stack)
def torchft_allreduce(
    comm: Communicator, vector: ArrayLike, columns: int = 1, *, native: bool = True, mean: bool = False
) -> Array:
    """The sum or the mean of the ranks' tensors as torchft's `allreduce_quantized` computes it: two steps, row by row.

    A row has a scale, 448 (or 127) over its largest magnitude, in float32, and codes in float8, or in integers of eight
    bits that are rounded towards zero. Owners of consecutive rows add what they read, their own first and the ranks
    after them in turn, and code the result; everyone reads the same bytes.

    Parameters
    ----------
    stack : (P, rows columns) float32 or float64
        The ranks' tensors, row by row; finite. Float64 is rounded to float32.
    columns : int
        Of a tensor; it divides the number of entries. The source makes one column of a vector.
    native : bool
        Whether codes are of float8, as where the processor has it; else integers.
    mean : bool
        Whether the sum is divided by P.

    Returns
    -------
    sums : (P, n) dtype of stack
        The same on every rank.
    traffic : Traffic
        In bytes; an all-to-all and an all-gather, a step each, none for P = 1.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; columns that do not divide; sums that float32 does not hold.

    Examples
    --------
    >>> sums, traffic = torchft_allreduce([[4.0, 1.0], [4.0, 1.0]], 2, native=False)
    >>> sums[0].round(3).tolist(), traffic.sent.tolist()
    ([8.0, 1.953], [16, 16])
    """

    def settings(row: Array) -> dict[str, Any]:
        if row.size % checked_count("columns", columns):
            raise ValueError(f"columns must divide the {row.size} entries of a tensor, got {columns}")
        checked_flag("native", native)
        checked_flag("mean", mean)
        return {"columns": columns, "native": native, "mean": mean}

    (x,) = agreed_row(comm, vector, settings)
    with np.errstate(over="ignore"):
        own = padded(x.astype(np.float32), columns * comm.size)

    def code(values: Array, divisor: float = 1.0) -> Bytes:
        return torchft_code(values.reshape(*values.shape[:-1], -1, columns), native, divisor)

    def added(terms: list[Array]) -> tuple[Array, Bytes]:
        total = np.zeros_like(terms[0])
        with np.errstate(all="ignore"):
            for hop in range(comm.size):
                total = total + terms[(comm.rank + hop) % comm.size]
        return comm.agreed(lambda: checked_finite(total)), code(total, comm.size if mean else 1.0)

    owned = owned_places(own.size, own.size // comm.size, comm.size)
    result, _ = two_shot(comm, own, owned, code, lambda sent, _n: torchft_read(sent, columns, native), added)
    return result[: x.size].astype(x.dtype)
