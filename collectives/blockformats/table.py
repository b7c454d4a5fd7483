"""All-reduce of indices into a table of whole numbers, which are looked up and added: THC."""

from collections.abc import Mapping, Sequence
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
from commbounds.compressors.base import checked_count, checked_flag, checked_real, index_bits, shown
from commbounds.compressors.rotations.hadamard import checked_signs, padded_size, randomised_hadamard

EVEN_TABLE = tuple(range(0, 31, 2))
"""Sixteen numbers at equal distances up to 30, as the authors have them for a sixteenth beyond the range."""
UNEVEN_TABLE = (0, 4, 6, 8, 10, 12, 13, 14, 16, 17, 18, 20, 22, 24, 26, 30)
"""The authors' sixteen numbers up to 30 for 1/128 beyond the range."""


@one_program(np.stack)
def table_allreduce(
    comm: Communicator,
    vector: ArrayLike,
    table: Sequence[int] = UNEVEN_TABLE,
    top: float = 2.0,
    rng: np.random.Generator | None = None,
    *,
    rotated: bool = True,
    reach: float | None = None,
    fine: int | None = None,
    sum_bits: int | None = None,
    signs: ArrayLike | None = None,
    uniforms: ArrayLike | None = None,
) -> Array:
    """The sum of the ranks' vectors, added as numbers of a table that few bits point into.

    Vectors are rotated, y = H D x / sqrt(d), with common signs D. With T = top * (largest norm of a rank) / sqrt(d) and
    g the last number of the table, an entry is the level g (y + T) / (2 T), cut off at 0 and g, which is rounded
    stochastically to one of the two numbers of the table about it. Its index is sent; where indices arrive, they are
    looked up, and the numbers are added: sums S of them go round and are read as (2 S - P g) T / g (Li et al. 2024,
    THC, arXiv:2302.08545, and its authors' code).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    table : sequence of int
        Ascending, from 0 to g, at least two numbers, at most 2^16; g < 2^31.
    top : float
        Half the range in root mean squares of the largest vector; positive, finite.
    rng : numpy.random.Generator or None
        In the same state on all ranks; required where signs or uniforms are drawn.
    rotated : bool
        Whether vectors are rotated, padded with zeros to a power of two; else d = n and y = x.
    reach : float or None
        T itself; positive. Then no norms are sent.
    fine : int or None
        As the authors' code has it, in two stages: levels are first rounded stochastically to multiples of g / fine.
    sum_bits : int or None
        Bits of a sum; None takes those that P numbers cannot overflow. With fewer, sums wrap around.
    signs : (n,) int or None
        In place of `rng`, -1 or 1; None where vectors are not rotated.
    uniforms : (stages, P, d) float64 or None
        In place of `rng`, in [0, 1); one stage, or two with `fine`, whose first is that of the multiples.

    Returns
    -------
    sums : (P, n) dtype of stack
        The same on every rank.
    traffic : Traffic
        In bytes. Phases norms: eight from every rank, round the ring; indices: ceil(log2(numbers in the table)) bits
        an entry to the owners of the P parts; sums, round the ring. For P = 1 nothing is sent.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; another table; numbers out of range; a range that overflows; no generator where one is
        needed; draws of another shape.

    Notes
    -----
    Unbiased where no entry is cut off. The code's residuals, which take in what is cut off, are left out here, and so
    is the average.

    Examples
    --------
    >>> sums, traffic = table_allreduce([[1.0, -1.0], [0.0, 1.0]], (0, 1, 2, 4), reach=1.0, rotated=False,
    ...                                 uniforms=[[[0.5, 0.5], [0.5, 0.5]]])
    >>> sums[0].tolist(), traffic.sent.tolist()
    ([1.0, 0.0], [2, 2])
    """

    def settings(row: Array) -> Mapping[str, Any]:
        half = checked_real("top", top)
        if not (np.isfinite(half) and half > 0):
            raise ValueError(f"top must be positive and finite, got {shown(top)}")
        given = None if reach is None else checked_real("reach", reach)
        if given is not None and not (np.isfinite(given) and given > 0):
            raise ValueError(f"reach must be positive and finite, got {shown(reach)}")
        if fine is not None:
            checked_count("fine", fine, 1, 2**20)
        if sum_bits is not None:
            checked_count("sum_bits", sum_bits, 1, 48)
        checked_flag("rotated", rotated)
        return {"table": _checked_table(table), "top": half, "reach": given, "fine": fine,
                "rotated": rotated, "sum_bits": sum_bits}  # fmt: skip

    (x,) = agreed_row(comm, vector, settings)
    numbers = np.array(_checked_table(table), np.int64)
    P, g = comm.size, int(numbers[-1])
    drawn_signs, drawn = comm.common(lambda: _draws(P, x.size, rotated, fine is not None, rng, signs, uniforms))
    if not comm.one_caller:
        agreed_alike(comm, {"the checksum of the draws": checksum(drawn_signs, drawn)})
    y = comm.agreed(lambda: _turned(x, drawn_signs))
    comm.phase("norms")
    limit = _limit(comm, y, top) if reach is None else float(reach)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        levels = np.clip((y / limit + 1.0) * (0.5 * g), 0.0, g) if limit > 0 else np.full(y.size, 0.5 * g)
    indices = _indices(levels, numbers, fine, drawn[:, comm.rank])
    ends = [y.size // P * j + min(j, y.size % P) for j in range(P + 1)]
    parts = [slice(*span) for span in pairwise(ends)]
    width = index_bits(numbers.size)
    comm.phase("indices")
    others = [rank for rank in range(P) if rank != comm.rank]
    outgoing = {rank: parcel(packed_numbers(indices[parts[rank]], width)) for rank in others}
    arrived = comm.step(outgoing, others) if others else {}
    total = numbers[indices[parts[comm.rank]]]
    for rank, part in arrived.items():
        (code,) = comm.fitting(rank, part, packed_form(width, total.size))
        total = total + numbers[unpacked_numbers(code, width, total.size)]
    comm.phase("sums")
    bits = index_bits(P * g + 1) if sum_bits is None else sum_bits
    sizes = [part.stop - part.start for part in parts]
    rounds = gathered(comm, (packed_numbers(total % 2**bits, bits),), forms=lambda j: [packed_form(bits, sizes[j])])

    def read() -> Array:
        sums = np.concatenate([unpacked_numbers(code, bits, size) for (code,), size in zip(rounds, sizes, strict=True)])
        with np.errstate(over="ignore"):
            found = (2.0 * sums - P * g) * limit / g
            if drawn_signs is not None:
                found = randomised_hadamard(found / np.sqrt(found.size), _filled(drawn_signs, found.size), inverse=True)
            largest = float(np.finfo(x.dtype).max)
            result: Array = np.clip(found[: x.size], -largest, largest).astype(x.dtype)
        return result

    return comm.shared(read)


def _checked_table(table: Any) -> tuple[int, ...]:
    """The table as whole numbers, or an error that names the rule."""
    array = np.asarray(table)
    if array.ndim != 1 or not 2 <= array.size <= 2**16:
        raise ValueError(f"table must be 2 to 2**16 whole numbers, got shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"table must be whole numbers, got {array.dtype}")
    numbers = tuple(int(v) for v in array)
    if numbers[0] != 0 or numbers[-1] >= 2**31 or any(a >= b for a, b in pairwise(numbers)):
        raise ValueError(f"table must ascend from 0 to less than 2**31, got {shown(table)}")
    return numbers


def _filled(signs: Array, d: int) -> Array:
    """Signs of the padding, too."""
    return np.concatenate([signs, np.ones(d - signs.size, signs.dtype)])


def _turned(x: Array, signs: Array | None) -> Array:
    wide = x.astype(np.float64)
    if signs is None:
        return wide
    largest = float(np.abs(wide).max()) or 1.0
    # as shares of the largest entry nothing overflows
    power = 2.0 ** np.floor(np.log2(largest))
    turned: Array = randomised_hadamard(wide / power, signs)
    with np.errstate(over="ignore"):
        turned = turned / np.sqrt(turned.size) * power
    if not np.isfinite(turned).all():
        raise ValueError("stack must have entries that stay finite when rotated, got more than float64 holds")
    return turned


def _limit(comm: Communicator, y: Array, top: float) -> float:
    """`top` root mean squares of the vector that is largest."""
    largest = float(np.abs(y).max())
    own = largest * float(np.sqrt(np.mean((y / largest) ** 2))) if largest > 0 else 0.0
    shares = gathered(comm, (np.array([own]),), "ring", lambda part: 8 * part[0].size, lambda _: [(np.float64, (1,))])
    limit = float(top) * max(float(share[0]) for (share,) in shares)

    def finite() -> float:
        if not np.isfinite(limit):
            raise ValueError("stack must have a range that float64 holds, got more")
        return limit

    return comm.agreed(finite)


def _indices(levels: Array, numbers: Integers, fine: int | None, uniforms: Array) -> Integers:
    """Stochastic rounding to the table, at once or by way of multiples of g / fine."""
    g = int(numbers[-1])
    places, scaled = levels, numbers
    if fine is not None:
        # in units of g / fine levels, and of 1 / fine both: whole numbers
        steps = levels * (fine / g) if fine % g == 0 else levels * fine / g
        below = np.floor(steps)
        places, scaled = (below + (uniforms[0] < steps - below)) * g, numbers * fine
    cells = np.clip(np.searchsorted(scaled, places, "right") - 1, 0, numbers.size - 2)
    low, high = scaled[cells], scaled[cells + 1]
    found: Integers = cells + (uniforms[-1] < (places - low) / (high - low))
    return found


def _draws(
    P: int, n: int, rotated: bool, fine: bool, rng: np.random.Generator | None, signs: ArrayLike | None, given: Any
) -> tuple[Array | None, Array]:
    if signs is not None and not rotated:
        raise ValueError("signs must be None where vectors are not rotated")
    turn = None
    if rotated:
        if signs is None:
            turn = (2 * checked_rng(rng, "a rotation").integers(0, 2, n) - 1).astype(np.int8)
        else:
            turn = checked_signs(signs, n)
    shape = (1 + fine, P, padded_size(n) if rotated else n)
    if given is None:
        return turn, checked_rng(rng, "stochastic rounding").random(shape)
    u = np.asarray(given)
    if u.dtype.kind != "f" or u.shape != shape or not ((u >= 0) & (u < 1)).all():
        raise ValueError(f"uniforms must be floats in [0, 1) of shape {shape}, got {u.dtype} of {u.shape}")
    return turn, u.astype(np.float64)
