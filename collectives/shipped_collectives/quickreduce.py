"""QuickReduce: codes of 3 to 8 bits, all arithmetic in float16."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Bytes
from commbounds.collectives.blockformats.wire import packed_numbers, unpacked_numbers
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.shipped_collectives.exchange import owned_places, padded, two_shot
from commbounds.compressors.base import checked_count, checked_flag

ATOMS = 8
"""Registers of eight numbers that a thread of QuickReduce holds; every rank owns as many of them."""
WIDTHS = (3, 4, 6, 8)
"""Bits of its codes."""
PAIRS = 32
"""Pairs of numbers of QuickReduce of which the first ones share a scale, and the second ones another."""


def halves(exact: ArrayLike, saturates: bool = True) -> Array:
    """Numbers rounded to float16; finite ones that overflow become its largest where `saturates`, else infinite."""
    values = np.asarray(exact, np.float64)
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float16)
    if saturates:
        rounded = np.where(np.isinf(rounded) & np.isfinite(values), np.copysign(np.float16(65504), rounded), rounded)
    return rounded


def quick_code(x: Array, width: int, saturates: bool = True) -> Bytes:
    """Codes of `width` bits of float16 numbers, whole groups of 64, and the scales."""
    groups, top = x.reshape(*x.shape[:-1], -1, PAIRS, 2), 2.0 ** (width - 1)
    with np.errstate(all="ignore"):
        high, low = np.fmax.reduce(groups, axis=-2), np.fmin.reduce(groups, axis=-2)
        # of zeros the negative one is the smaller
        low = np.where(low == 0, np.where((np.signbit(groups) & (groups == 0)).any(axis=-2), -0.0, 0.0), low)
        largest = np.where(np.abs(high) > np.abs(low), high, low).astype(np.float64)
        scale = halves(-largest / top, saturates)
        step = halves(scale.astype(np.float64) + 2.0**-24, saturates).astype(np.float64)
        up = halves(1 / step, saturates).astype(np.float64)
        scaled = halves(groups.astype(np.float64) * up[..., np.newaxis, :], saturates)
    codes = np.rint(np.fmin(np.fmax(scaled, -top), top - 1).astype(np.float64)) + top
    parts = packed_numbers(codes.ravel(), width), scale.view(np.uint8)
    return np.concatenate([part.reshape(*x.shape[:-1], -1) for part in parts], axis=-1)


def quick_read(sent: Bytes, n: int, width: int, saturates: bool = True) -> Array:
    """The float16 numbers that `quick_code` made `sent` of."""
    several, size = sent.shape[:-1], n * width // 8
    numbers = unpacked_numbers(sent[..., :size].ravel(), width, math.prod(several) * n)
    codes = numbers.reshape(*several, -1, PAIRS, 2) - 2.0 ** (width - 1)
    scale = sent[..., size:].copy().view(np.float16).reshape(*several, -1, 1, 2)
    with np.errstate(all="ignore"):
        return halves(codes * scale.astype(np.float64), saturates).reshape(*several, -1)


@one_program(np.stack)
def quickreduce(
    comm: Communicator, vector: ArrayLike, width: int = 8, *, tile: int = 16384, saturates: bool = True
) -> Array:
    """The sum of the ranks' vectors by QuickReduce: two steps, codes of 3 to 8 bits, all arithmetic in float16.

    Every second number of 64 neighbours shares a scale, -m/2^(width - 1), where m is the number of largest magnitude
    with its sign. A number times the scale's reciprocal is clipped to [-2^(width - 1), 2^(width - 1) - 1] and rounded
    to an integer. Owners add what they read in the order of the ranks, and code their sums; everyone reads the same
    bytes.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite. They are rounded to float16 first, as the source does with bfloat16.
    width : {3, 4, 6, 8}
        Bits of a code; 3 are aiter's, between two ranks alone, where the scales lie beside the codes as in the others.
    tile : int
        Numbers that a workgroup takes, a multiple of 512; vectors are filled with zeros to whole tiles.
    saturates : bool
        Whether finite results that overflow become 65504 (the mode FP16_OVFL of the processor) or infinite.

    Returns
    -------
    sums : (P, n) dtype of stack
        Numbers of float16, the same on every rank; NaN and infinities where what is not finite met.
    traffic : Traffic
        In bytes; an all-to-all and an all-gather, a step each, none for P = 1.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; another width; a number of ranks that does not divide 8; no such tile.

    Examples
    --------
    >>> sums, traffic = quickreduce([[1.0, -1.0], [1.0, 1.0]], 4, tile=512)
    >>> sums[0].tolist(), traffic.sent.tolist()
    ([2.0, -0.0], [288, 288])
    """

    def settings(row: Array) -> dict[str, Any]:
        if checked_count("width", width) not in WIDTHS:
            raise ValueError(f"width must be 3, 4, 6 or 8, got {width}")
        if checked_count("tile", tile) % (2 * PAIRS * ATOMS):
            raise ValueError(f"tile must be a multiple of {2 * PAIRS * ATOMS}, got {tile}")
        if ATOMS % comm.size:
            raise ValueError(f"stack must have 1, 2, 4 or 8 ranks, got {comm.size}")
        checked_flag("saturates", saturates)
        return {"width": width, "tile": tile, "saturates": saturates}

    (x,) = agreed_row(comm, vector, settings)
    own = padded(halves(x, saturates), tile)

    def code(values: Array) -> Bytes:
        return quick_code(values, width, saturates)

    def added(terms: list[Array]) -> tuple[Array, Bytes]:
        total = quick_sum(terms, saturates)
        return total, code(total)

    result, _ = two_shot(
        comm,
        own,
        owned_places(own.size, tile // comm.size, comm.size),
        code,
        lambda sent, n: quick_read(sent, n, width, saturates),
        added,
    )
    sums: Array = result[: x.size].astype(x.dtype)
    return sums


def quick_sum(terms: Sequence[Array], saturates: bool = True) -> Array:
    """Their sum in float16, one after another."""
    total = np.zeros_like(terms[0])
    with np.errstate(invalid="ignore"):
        for term in terms:
            total = halves(total.astype(np.float64) + term, saturates)
    return total
