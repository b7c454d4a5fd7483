"""All-reduce of integer codes that share their scales: sums of codes are the codes of sums."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers
from commbounds.collectives._peers import checked_rng
from commbounds.collectives.blockformats.wire import packed_form, packed_numbers, unpacked_numbers
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import checked_choice, checked_count, index_bits

ROUNDINGS = ("nearest", "independent", "correlated")
"""To the nearest code; up with the fraction as its probability; the same, the ranks' uniforms spread evenly."""
Draws = tuple[Array, Array]
"""Uniforms and orders."""


@one_program(np.stack)
def homomorphic_allreduce(
    comm: Communicator,
    vector: ArrayLike,
    width: int = 4,
    block: int = 32,
    rounding: str = "nearest",
    rng: np.random.Generator | None = None,
    *,
    sum_width: int | None = None,
    uniforms: ArrayLike | None = None,
    orders: ArrayLike | None = None,
) -> Array:
    """The sum of the ranks' vectors, added as integer codes of a scale that all ranks share.

    The scale of a block is 2^e, e the least for which no rank's largest magnitude exceeds L 2^e, L = 2^(width - 1) - 1.
    Codes round(v / 2^e) are added where they arrive, and the sums go round, as in THC (Li et al. 2024,
    arXiv:2302.08545), which shares a range of its own making.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    width : int
        Bits of a code; in [2, 16].
    block : int
        Entries that share a scale.
    rounding : {"nearest", "independent", "correlated"}
        nearest: halves to even. independent: up where a uniform is below the fraction. correlated: the same, with the
        uniforms (order + uniform) / P, the ranks in an order of their own for every entry (Suresh et al. 2022,
        arXiv:2203.04925).
    rng : numpy.random.Generator or None
        Required unless rounding is to nearest or everything is given; in the same state on all ranks.
    sum_width : int or None
        Bits of a sum; None takes those that P codes cannot overflow, ceil(log2(2 P L + 1)). With fewer, sums wrap
        around.
    uniforms : (P, n) float64 or None
        In place of `rng`, in [0, 1).
    orders : (P, n) int or None
        In place of `rng`, for "correlated": in every column a permutation of 0 .. P - 1.

    Returns
    -------
    sums : (P, n) dtype of stack
        The same on every rank.
    traffic : Traffic
        In bytes. Phases exponents: two bytes a block, round the ring; codes: `width` bits an entry to the owners of the
        P parts; sums: `sum_width` bits an entry, round the ring. For P = 1 nothing is sent.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; an unknown rounding; numbers out of range; no generator where one is needed; draws of
        another shape.

    Notes
    -----
    Exponents have no limits here. The result is exact but for its rounding to the dtype: the sum of what each rank's
    codes stand for.

    Examples
    --------
    >>> sums, traffic = homomorphic_allreduce([[7.0, 2.4], [1.0, 2.4]])
    >>> sums[0].tolist(), traffic.sent.tolist()
    ([8.0, 4.0], [4, 4])
    """

    def settings(row: Array) -> Mapping[str, Any]:
        checked_count("width", width, 2, 16)
        checked_count("block", block, 1, 2**31 - 1)
        if sum_width is not None:
            checked_count("sum_width", sum_width, 2, 48)
        checked_choice("rounding", rounding, ROUNDINGS)
        return {"width": width, "block": block, "rounding": rounding, "sum_width": sum_width}

    (x,) = agreed_row(comm, vector, settings)
    drawn = comm.common(lambda: _draws(comm.size, x.size, rounding, rng, uniforms, orders))
    if drawn is not None and not comm.one_caller:
        agreed_alike(comm, {"the checksum of the draws": checksum(*drawn)})
    top = 2 ** (width - 1) - 1
    bits = index_bits(2 * comm.size * top + 1) if sum_width is None else sum_width
    comm.phase("exponents")
    own = _exponents(x, block, top)
    shared = gathered(comm, (own,), "ring", _two_bytes, lambda _: [own])
    exponents = comm.shared(lambda: np.repeat(np.max([e for (e,) in shared], axis=0), block)[: x.size])
    # one last bit of the dtype is 2^-1074 at least: scaled up to codes, entries are exact or far below a half
    levels = np.ldexp(x.astype(np.float64), -exponents)
    codes = _codes(levels, None if drawn is None else (drawn[0][comm.rank], drawn[1][comm.rank]), comm.size, rounding)
    ends = [x.size // comm.size * j + min(j, x.size % comm.size) for j in range(comm.size + 1)]
    parts = [slice(*span) for span in pairwise(ends)]
    sizes = [part.stop - part.start for part in parts]
    comm.phase("codes")
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    outgoing = {rank: parcel(packed_numbers(codes[parts[rank]] + top, width)) for rank in others}
    arrived = comm.step(outgoing, others) if others else {}
    total = codes[parts[comm.rank]]
    for rank, part in arrived.items():
        (code,) = comm.fitting(rank, part, packed_form(width, total.size))
        total = total + unpacked_numbers(code, width, total.size) - top
    comm.phase("sums")
    sent = packed_numbers(total % 2**bits, bits)
    rounds = gathered(comm, (sent,), forms=lambda rank: [packed_form(bits, sizes[rank])])

    def read() -> Array:
        sums = np.concatenate([unpacked_numbers(code, bits, size) for (code,), size in zip(rounds, sizes, strict=True)])
        sums = np.where(sums >= 2 ** (bits - 1), sums - 2**bits, sums)
        with np.errstate(over="ignore"):
            largest = float(np.finfo(x.dtype).max)
            found: Array = np.clip(np.ldexp(sums.astype(np.float64), exponents), -largest, largest).astype(x.dtype)
            return found

    return comm.shared(read)


def _two_bytes(part: tuple[Array, ...]) -> int:
    return 2 * part[0].size


def _exponents(x: Array, block: int, top: int) -> Array:
    """The least exponent of every block for which its largest magnitude is at most top 2^e; -1100 for zeros."""
    starts = np.arange(0, x.size, block)
    largest = np.maximum.reduceat(np.abs(x.astype(np.float64)), starts)
    fraction, power = np.frexp(largest)
    digits = top.bit_length()
    # top is 2^digits - 1, in (1/2, 1) of 2^digits
    exponents = power - digits + (fraction > top / 2.0**digits)
    return np.where(largest > 0, exponents, -1100).astype(np.int64)


def _codes(levels: Array, drawn: Draws | None, P: int, rounding: str) -> Integers:
    if drawn is None:
        return np.rint(levels).astype(np.int64)
    uniforms, orders = drawn
    u = (orders + uniforms) / P if rounding == "correlated" else uniforms
    below = np.floor(levels)
    return (below + (u < levels - below)).astype(np.int64)


def _draws(
    P: int, n: int, rounding: str, rng: np.random.Generator | None, uniforms: ArrayLike | None, orders: ArrayLike | None
) -> Draws | None:
    for name, given, wanted in (("uniforms", uniforms, rounding != "nearest"), ("orders", orders, rounding[0] == "c")):
        if given is not None and not wanted:
            raise ValueError(f"{name} must be None where rounding is {rounding}")
    if rounding == "nearest":
        return None
    u = checked_rng(rng, "stochastic rounding").random((P, n)) if uniforms is None else np.asarray(uniforms)
    if u.dtype.kind != "f" or u.shape != (P, n) or not ((u >= 0) & (u < 1)).all():
        raise ValueError(f"uniforms must be floats in [0, 1) of shape {(P, n)}, got {u.dtype} of {u.shape}")
    if rounding == "independent":
        return u.astype(np.float64), np.zeros((P, n), np.int64)
    if orders is None:
        found = checked_rng(rng, "correlated rounding").permuted(np.tile(np.arange(P)[:, None], n), axis=0)
        return u.astype(np.float64), found
    given = np.asarray(orders)
    if given.dtype.kind not in "iu" or given.shape != (P, n) or (np.arange(P) != np.sort(given, axis=0).T).any():
        raise ValueError(f"orders must be permutations of 0 .. {P - 1}, one a column of ({P}, {n}), got others")
    return u.astype(np.float64), given.astype(np.int64)
