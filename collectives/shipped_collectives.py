"""All-reduces in few bits as they are shipped: QuickReduce, FlashInfer, torchft, torch's DDP hooks, NCCL's float8.

Numbers are rounded where the sources round them, and to the formats that they say. Divisions and reciprocals are
rounded correctly; instructions that a GPU has for them may be off by a unit in the last place. Messages hold the bytes
of the sources; their order within a message is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Bytes
from commbounds.collectives.blockformats.wire import packed_numbers, unpacked_numbers
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.ranks import Communicator, parcel
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.one_program import Collective, one_program
from commbounds.compressors.base import checked_choice, checked_count, checked_flag

ATOMS = 8
"""Registers of eight numbers that a thread of QuickReduce holds; every rank owns as many of them."""
WIDTHS = (3, 4, 6, 8)
"""Bits of its codes."""
PAIRS = 32
"""Pairs of numbers of QuickReduce of which the first ones share a scale, and the second ones another."""
FP8_MAX = np.float32(448)
INT8_MAX = np.float32(127)
LEAST_SCALE = np.finfo(np.float32).eps
"""Of torch's observers, whose argument eps it is."""


def _owned(n: int, width: int, P: int) -> list[Array]:
    """The places of the entries that each rank owns: `width` in turn."""
    turns = np.arange(n) // width % P
    return [np.flatnonzero(turns == rank) for rank in range(P)]


def _finite(values: Array) -> Array:
    """`values`, if they are finite."""
    if not np.isfinite(values).all():
        raise ValueError("stack must have sums and ranges that float32 holds")
    return values


def _padded(x: Array, multiple: int) -> Array:
    return np.concatenate([x, np.zeros(-x.size % multiple, x.dtype)])


def _exchanged(comm: Communicator, codes: Sequence[Bytes], sizes: Sequence[int]) -> list[Bytes]:
    """What every rank has for this one, which sends ``codes[rank]`` to each: ``sizes[rank]`` bytes of that one."""
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    arrived = comm.step({rank: parcel(codes[rank]) for rank in others}, others) if others else {}
    fitting = {r: comm.fitting(r, part, (np.uint8, (sizes[r],)))[0] for r, part in arrived.items()}
    return [codes[rank] if rank == comm.rank else fitting[rank] for rank in range(comm.size)]


def _two_shot(
    comm: Communicator,
    x: Array,
    owned: list[Array],
    code: Callable[[Array], Bytes],
    read: Callable[[Bytes, int], Array],
    added: Callable[[list[Array]], tuple[Array, Bytes]],
) -> tuple[Array, Array]:
    """What is read of all sums, and this rank's own sum as it is."""
    mine = owned[comm.rank]
    codes = [code(x[part]) for part in owned]
    terms = [read(sent, mine.size) for sent in _exchanged(comm, codes, [codes[comm.rank].size] * comm.size)]
    total, sent = added(terms)
    result = np.empty_like(total, shape=x.shape)
    for part, arrived in zip(owned, _exchanged(comm, [sent] * comm.size, [c.size for c in codes]), strict=True):
        result[part] = read(arrived, part.size)
    return result, total


# --- QuickReduce ------------------------------------------------------------------------------------------------------


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
    groups, top = x.reshape(-1, PAIRS, 2), 2.0 ** (width - 1)
    with np.errstate(all="ignore"):
        high, low = np.fmax.reduce(groups, axis=1), np.fmin.reduce(groups, axis=1)
        # of zeros the negative one is the smaller
        low = np.where(low == 0, np.where((np.signbit(groups) & (groups == 0)).any(axis=1), -0.0, 0.0), low)
        largest = np.where(np.abs(high) > np.abs(low), high, low).astype(np.float64)
        scale = halves(-largest / top, saturates)
        step = halves(scale.astype(np.float64) + 2.0**-24, saturates).astype(np.float64)
        up = halves(1 / step, saturates).astype(np.float64)
        scaled = halves(groups.astype(np.float64) * up[:, np.newaxis], saturates)
    codes = np.rint(np.fmin(np.fmax(scaled, -top), top - 1).astype(np.float64)) + top
    return np.concatenate([packed_numbers(codes.ravel(), width), scale.view(np.uint8).ravel()])


def quick_read(sent: Bytes, n: int, width: int, saturates: bool = True) -> Array:
    """The float16 numbers that `quick_code` made `sent` of."""
    codes = unpacked_numbers(sent[: n * width // 8], width, n).reshape(-1, PAIRS, 2) - 2.0 ** (width - 1)
    scale = sent[n * width // 8 :].copy().view(np.float16).reshape(-1, 1, 2)
    with np.errstate(all="ignore"):
        return halves(codes * scale.astype(np.float64), saturates).ravel()


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
    own = _padded(halves(x, saturates), tile)

    def code(values: Array) -> Bytes:
        return quick_code(values, width, saturates)

    def added(terms: list[Array]) -> tuple[Array, Bytes]:
        total = quick_sum(terms, saturates)
        return total, code(total)

    result, _ = _two_shot(
        comm,
        own,
        _owned(own.size, tile // comm.size, comm.size),
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


# --- FlashInfer -------------------------------------------------------------------------------------------------------


def flashinfer_code(x: Array, group: int) -> Bytes:
    """Codes in float8 of float32 numbers, and the factor of every group to read them by."""
    groups = _padded(x, group).reshape(-1, group)
    with np.errstate(all="ignore"):
        largest = np.maximum(np.abs(groups).max(axis=1, initial=0), np.float32(1e-12))
        codes = np.clip(groups * (FP8_MAX / largest)[:, np.newaxis], -FP8_MAX, FP8_MAX).astype(float8_e4m3fn)
        factors = largest / FP8_MAX
    return np.concatenate([codes.view(np.uint8).ravel()[: x.size], factors.view(np.uint8)])


def flashinfer_read(sent: Bytes, n: int, group: int) -> Array:
    """The float32 numbers that `flashinfer_code` made `sent` of."""
    factors = np.repeat(sent[n:].copy().view(np.float32), group)[:n]
    with np.errstate(all="ignore"):
        numbers: Array = sent[:n].view(float8_e4m3fn).astype(np.float32) * factors
    return numbers


@one_program(np.stack)
def flashinfer_allreduce(comm: Communicator, vector: ArrayLike, group: int = 256, block: int = 4096) -> Array:
    """The sum of the ranks' vectors as FlashInfer's `quantized_all_reduce` computes it: two steps, float8 codes.

    Groups of neighbours share a factor, their largest magnitude over 448, in float32. Owners of `block` numbers in turn
    add what they read in float32, in the order of the ranks, and code the sums. An owner keeps its own sums as they
    are, rounded to bfloat16; the others read the codes.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite. They are rounded to bfloat16 first, which is what the source takes.
    group : int
        Numbers that share a factor, >= 1.
    block : int
        Numbers that an owner has in turn; a multiple of `group` and of P.

    Returns
    -------
    sums : (P, n) dtype of stack
        Numbers of bfloat16. The ranks need not have the same.
    traffic : Traffic
        In bytes; an all-to-all and an all-gather, a step each, none for P = 1.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; counts that are none; a block that is no multiple; sums that
        float32 does not hold.

    Examples
    --------
    >>> sums, traffic = flashinfer_allreduce([[4.0, 1.0], [3.0, 0.875]], 2, 2)
    >>> sums.tolist(), traffic.sent.tolist()
    ([[7.0, 1.859375], [7.0, 1.875]], [6, 6])
    """

    def settings(row: Array) -> dict[str, Any]:
        checked_count("group", group)
        if checked_count("block", block) % group or block % comm.size:
            raise ValueError(f"block must be a multiple of {group} and of {comm.size}, got {block}")
        return {"group": group, "block": block}

    (x,) = agreed_row(comm, vector, settings)
    with np.errstate(over="ignore"):
        own = x.astype(bfloat16).astype(np.float32)

    def added(terms: list[Array]) -> tuple[Array, Bytes]:
        total = np.zeros_like(terms[0])
        with np.errstate(all="ignore"):
            for term in terms:
                total = total + term
        return comm.agreed(lambda: _finite(total)), flashinfer_code(total, group)

    owned = _owned(x.size, block, comm.size)
    result, total = _two_shot(
        comm,
        own,
        owned,
        lambda values: flashinfer_code(values, group),
        lambda sent, n: flashinfer_read(sent, n, group),
        added,
    )
    result[owned[comm.rank]] = total
    with np.errstate(over="ignore"):
        return result.astype(bfloat16).astype(x.dtype)


# --- torchft ----------------------------------------------------------------------------------------------------------


def torchft_code(rows: Array, native: bool, divisor: float = 1.0) -> Bytes:
    """Rows of float32 over `divisor`, each a scale and codes of a byte, filled to whole words of four."""
    top, share = FP8_MAX if native else INT8_MAX, np.float32(divisor)
    with np.errstate(all="ignore"):
        scales = top / (np.abs(rows).max(axis=1) / share)
        scales = np.where(np.isinf(scales), np.float32(1), scales)
        scaled = rows * scales[:, np.newaxis] / share
        codes = (scaled.astype(float8_e4m3fn) if native else np.trunc(scaled).astype(np.int8)).view(np.uint8)
    filled = np.pad(codes, ((0, 0), (0, -rows.shape[1] % 4)))
    return np.concatenate([scales[:, np.newaxis].view(np.uint8), filled], axis=1).ravel()


def torchft_read(sent: Bytes, columns: int, native: bool) -> Array:
    """The numbers, row after row, that `torchft_code` made `sent` of."""
    words = sent.reshape(-1, 4 + columns + -columns % 4)
    codes = words[:, 4 : 4 + columns].copy().view(float8_e4m3fn if native else np.int8).astype(np.float32)
    with np.errstate(all="ignore"):
        return (codes / words[:, :4].copy().view(np.float32)).ravel()


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
        own = _padded(x.astype(np.float32), columns * comm.size)

    def code(values: Array, divisor: float = 1.0) -> Bytes:
        return torchft_code(values.reshape(-1, columns), native, divisor)

    def added(terms: list[Array]) -> tuple[Array, Bytes]:
        total = np.zeros_like(terms[0])
        with np.errstate(all="ignore"):
            for hop in range(comm.size):
                total = total + terms[(comm.rank + hop) % comm.size]
        return comm.agreed(lambda: _finite(total)), code(total, comm.size if mean else 1.0)

    owned = _owned(own.size, own.size // comm.size, comm.size)
    result, _ = _two_shot(comm, own, owned, code, lambda sent, _n: torchft_read(sent, columns, native), added)
    return result[: x.size].astype(x.dtype)


# --- torch's hooks ----------------------------------------------------------------------------------------------------


@one_program(np.stack)
def quantization_hook(comm: Communicator, vector: ArrayLike, channel: int | None = None) -> Array:
    """The mean of the ranks' vectors as torch's `quantization_pertensor_hook` and `..._perchannel_hook` compute it.

    A channel has a scale s, its range with zero over 255 but at least 2^-23, and a zero point z; codes are
    round(x/s) + z, clipped to [0, 255]. Everyone gathers the scales and the codes, and adds up what it reads in
    float32.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite. Float64 is rounded to float32.
    channel : int or None
        Numbers of a channel; all are one if not given. The source's default is 512. Vectors are filled with
        channel - n mod channel zeros, which is a whole channel where it divides n.

    Returns
    -------
    means : (P, n) dtype of stack
        The same on every rank.
    traffic : Traffic
        In bytes, everyone's sent to all others: scales, then codes, a step each, none for P = 1.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; a channel that is no count; a range that float32 does not hold.

    Examples
    --------
    >>> means, traffic = quantization_hook([[0.0, 1.0, 255.0], [0.0, 1.0, 255.0]])
    >>> means[0].tolist(), traffic.sent.tolist()
    ([0.0, 1.0, 255.0], [11, 11])
    """

    def settings(row: Array) -> dict[str, Any]:
        if channel is not None:
            checked_count("channel", channel)
        return {"channel": channel}

    (x,) = agreed_row(comm, vector, settings)
    with np.errstate(all="ignore"):
        own = x.astype(np.float32)
        if channel is not None:
            own = np.concatenate([own, np.zeros(channel - own.size % channel, np.float32)])
        rows = own.reshape(-1, own.size if channel is None else channel)
        low, high = np.minimum(rows.min(axis=1), 0), np.maximum(rows.max(axis=1), 0)
        scales = np.maximum(comm.agreed(lambda: _finite(high - low)) / np.float32(255), LEAST_SCALE)
        points = np.clip(-np.rint(low / scales), 0, 255).astype(np.float32)
        codes = np.clip(np.rint(rows / scales[:, np.newaxis]) + points[:, np.newaxis], 0, 255).astype(np.uint8)
    own = np.stack([scales, points]).view(np.uint8).ravel()
    params = _exchanged(comm, [own] * comm.size, [own.size] * comm.size)
    total = np.zeros_like(rows)
    for sent, arrived in zip(
        params, _exchanged(comm, [codes.ravel()] * comm.size, [codes.size] * comm.size), strict=True
    ):
        scale, point = sent.copy().view(np.float32).reshape(2, -1, 1)
        with np.errstate(all="ignore"):
            total = total + scale * (arrived.reshape(rows.shape).astype(np.float32) - point)
    means: Array = (total / np.float32(comm.size)).ravel()[: x.size].astype(x.dtype)
    return means


# --- NCCL -------------------------------------------------------------------------------------------------------------

FLOAT8: dict[str, tuple[Any, float]] = {"e4m3": (float8_e4m3fn, 448.0), "e5m2": (float8_e5m2, 57344.0)}
"""The formats, and the largest number of each, at which conversions end."""


def float8(exact: Array, element: str) -> Array:
    """The nearest numbers of the format; beyond the largest that."""
    kind, most = FLOAT8[element]
    rounded: Array = np.clip(exact, -most, most).astype(kind)
    return rounded


@one_program(np.stack)
def nccl_sum(comm: Communicator, vector: ArrayLike, element: str = "e4m3") -> Array:
    """The sum of the ranks' vectors of float8 as NCCL's ring has it: every partial sum is rounded to float8.

    Of P parts the one of rank r starts at the rank behind r and ends at r; every hop adds in float16 and converts the
    sum to float8, where it ends at the largest number. Then the sums go round.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite. They are rounded to float8 first.
    element : {"e4m3", "e5m2"}
        The format.

    Returns
    -------
    sums : (P, n) dtype of stack
        Numbers of float8, the same on every rank.
    traffic : Traffic
        In bytes; 2 (P - 1) steps of one part each, which differ by one entry where P does not divide n. NCCL's own
        parts are multiples of its units, and go round in slices.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; another format.

    Examples
    --------
    >>> nccl_sum([[16.0, 300.0], [1.0, 300.0]])[0].tolist()
    [[16.0, 448.0], [16.0, 448.0]]
    """

    def settings(row: Array) -> dict[str, Any]:
        return {"element": checked_choice("element", element, tuple(FLOAT8))}

    (x,) = agreed_row(comm, vector, settings)
    P, cuts = comm.size, even_cuts(x.size, comm.size)
    own = float8(x.astype(np.float64), element)

    parts = [slice(cuts[part], cuts[part + 1]) for part in range(P)]
    before, sums = (comm.rank - 1) % P, own.copy()
    for hop in range(1, 2 * P - 1):
        at = parts[(comm.rank - hop - 1) % P]
        came = comm.step({(comm.rank + 1) % P: parcel(sums[parts[(comm.rank - hop) % P]].view(np.uint8))}, [before])
        (codes,) = comm.fitting(before, came[before], sums[at].view(np.uint8))
        sums[at] = codes.view(own.dtype)
        if hop < P:
            sums[at] = float8(halves(sums[at].astype(np.float64) + own[at].astype(np.float64)), element)
    return sums.astype(x.dtype)


COLLECTIVES: dict[str, Collective[..., Any, Any]] = {
    "quickreduce": quickreduce,
    "flashinfer_allreduce": flashinfer_allreduce,
    "torchft_allreduce": torchft_allreduce,
    "quantization_hook": quantization_hook,
    "nccl_sum": nccl_sum,
}
