"""Sketches added up by all ranks: as they are, with a second round of exact entries, and with error feedback."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives.dense.allreduce import ring_allreduce
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import as_array, checked_choice, checked_count, checked_real, shown
from commbounds.compressors.sketched import (
    MIDDLES,
    Hashes,
    checked_hashes,
    count_sketch,
    largest,
    sketch_estimates,
    unsketch,
)

FORGETS = ("zero", "subtract")
"""How an update leaves the error's sketch: its cells are set to zero, or its sketch is subtracted."""


class SketchState(NamedTuple):
    """After a step of `fetchsgd_step`.

    Parameters
    ----------
    update : (P, n)
        What is taken from the weights; the same on every rank.
    momentum : (r, cells)
        Sketch of the momentum, which every rank knows.
    error : (r, cells)
        Sketch of what was not sent, likewise.
    """

    update: Array
    momentum: Array
    error: Array


def _row(comm: Communicator, vector: ArrayLike, settings: Mapping[str, Any]) -> Array:
    (row,) = agreed_row(comm, vector, lambda _: settings)
    return np.asarray(row)


def _hashes(comm: Communicator, n: int, buckets: ArrayLike, signs: ArrayLike, cells: int) -> tuple[Hashes, int]:
    """The hashes that all ranks have, and the cells of a row."""

    def checked() -> tuple[Hashes, int]:
        width = checked_count("cells", cells, 1, 2**31 - 1)
        return checked_hashes(buckets, signs, n, width), width

    hashes, width = comm.common(checked)
    agreed_alike(comm, {"the checksum of buckets and signs": checksum(*hashes)})
    return hashes, width


def _summed(comm: Communicator, array: Array) -> Array:
    total = ring_allreduce.on_rank(comm, np.ascontiguousarray(array).reshape(-1))
    return np.asarray(total.reshape(array.shape))


def _finite(table: Array) -> Array:
    if not np.isfinite(table).all():
        raise ValueError(f"stack must be small enough for its sketch to fit in {table.dtype}: scale it down")
    return table


def _sketched(comm: Communicator, x: Array, hashes: Hashes, cells: int) -> Array:
    """The sum of the ranks' sketches."""
    with np.errstate(over="ignore", invalid="ignore"), comm.within("sketch"):
        own = comm.agreed(lambda: _finite(count_sketch(x, *hashes, cells)))
        total = _summed(comm, own)
    return comm.common(lambda: _finite(total))


@one_program(np.stack)
def sketched_sum(
    comm: Communicator,
    vector: ArrayLike,
    buckets: ArrayLike,
    signs: ArrayLike,
    cells: int,
    k: int,
    middle: str = "mean",
) -> Array:
    """The k largest estimates of the ranks' sum, from one all-reduce of their count sketches.

    S(x_1 + ... + x_P) = S(x_1) + ... + S(x_P) (Rothchild et al. 2020, arXiv:2007.07682).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    buckets, signs : (r, n) integers
        The same on all ranks, from a seed that they share; buckets in [0, cells), signs 1 or -1.
    cells : int
        Counters of a row.
    k : int
        Entries to recover, in [1, n]; ties go to the lowest index.
    middle : {"mean", "lower"}
        The median of an even number of rows.

    Returns
    -------
    total : (P, n) dtype of stack
        The same on every rank; zero but for k entries.
    traffic : Traffic
        In words: a ring all-reduce of r cells words, whatever n and k are; phase sketch. Hashes are not sent.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; hashes of another shape or out of range; k, cells or middle out of range; a sketch
        beyond the dtype.

    Examples
    --------
    >>> total, traffic = sketched_sum([[1.0, 0.0], [2.0, 1.0]], [[0, 1]], [[1, -1]], 2, 1)
    >>> total[0].tolist(), traffic.sent.tolist()
    ([3.0, 0.0], [2, 2])
    """
    x = _row(comm, vector, {"cells": cells, "k": k, "middle": middle})
    hashes, width = _hashes(comm, x.size, buckets, signs, cells)
    count, which = comm.common(lambda: (checked_count("k", k, 1, x.size), checked_choice("middle", middle, MIDDLES)))
    table = _sketched(comm, x, hashes, width)
    return np.asarray(comm.shared(lambda: unsketch(table, *hashes, count, which)))


@one_program(np.stack)
def sketched_topk(
    comm: Communicator, vector: ArrayLike, buckets: ArrayLike, signs: ArrayLike, cells: int, k: int, candidates: int
) -> Array:
    """The k largest entries of the ranks' sum among the candidates that its count sketch names, with exact values.

    Two rounds, of sketches and of the candidates' entries, as Sketched-SGD has them (Ivkin et al. 2019,
    arXiv:1903.04488), through rings in place of its server.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    buckets, signs, cells
        As for `sketched_sum`.
    k : int
        Entries to keep, in [1, candidates].
    candidates : int
        Largest estimates whose entries are asked for, in [k, n]; ties go to the lowest index.

    Returns
    -------
    total : (P, n) dtype of stack
        The same on every rank; kept entries are those of the sum.
    traffic : Traffic
        In words: ring all-reduces of r cells and of `candidates` words; phases sketch and entries.

    Raises
    ------
    TypeError, ValueError
        As for `sketched_sum`.

    Examples
    --------
    >>> total, traffic = sketched_topk([[3.0, 1.0], [1.0, 1.0]], [[0, 0]], [[1, 1]], 2, 1, 2)
    >>> total[0].tolist(), traffic.sent.tolist()
    ([4.0, 0.0], [4, 4])
    """
    x = _row(comm, vector, {"cells": cells, "k": k, "candidates": candidates})
    hashes, width = _hashes(comm, x.size, buckets, signs, cells)

    def checked() -> tuple[int, int]:
        asked = checked_count("candidates", candidates, 1, x.size)
        return checked_count("k", k, 1, asked), asked

    count, asked = comm.common(checked)
    table = _sketched(comm, x, hashes, width)
    named = comm.shared(lambda: largest(sketch_estimates(table, *hashes), asked))
    with np.errstate(over="ignore", invalid="ignore"), comm.within("entries"):
        exact = _summed(comm, x[named])
    comm.common(lambda: _finite(exact))
    kept = comm.shared(lambda: largest(exact, count))
    total = np.zeros_like(x)
    total[named[kept]] = exact[kept]
    return total


def _stepped(results: list[SketchState]) -> SketchState:
    return SketchState(np.stack([result.update for result in results]), results[0].momentum, results[0].error)


@one_program(_stepped)
def fetchsgd_step(
    comm: Communicator,
    vector: ArrayLike,
    momentum: ArrayLike,
    error: ArrayLike,
    buckets: ArrayLike,
    signs: ArrayLike,
    k: int,
    rho: float = 0.9,
    forget: str = "zero",
) -> SketchState:
    """FetchSGD's step: momentum and error feedback within the sketch, and an update of k entries.

    M <- rho M + mean S(x_p); E <- E + M; update = the k largest estimates of E; then what was sent is forgotten
    (Rothchild et al. 2020, arXiv:2007.07682).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients; finite.
    momentum, error : (r, cells) dtype of stack
        Those of the step before; the same on all ranks.
    buckets, signs : (r, n) integers
        As for `sketched_sum`.
    k : int
        Entries of the update, in [1, n].
    rho : float
        Momentum, in [0, 1].
    forget : {"zero", "subtract"}
        zero: cells of E and M where the update's sketch is not zero become zero, as in the authors' code. subtract: E
        is less the sketch of the update, and M stays.

    Returns
    -------
    state : SketchState
        Step sizes are the caller's.
    traffic : Traffic
        In words: a ring all-reduce of r cells words; phase sketch.

    Raises
    ------
    TypeError, ValueError
        As for `sketched_sum`; a state of another shape or dtype, or not finite; rho outside [0, 1].

    Examples
    --------
    >>> zero = np.zeros((1, 2))
    >>> state, _ = fetchsgd_step([[3.0, 1.0]], zero, zero, [[0, 1]], [[1, -1]], 1, 0.5)
    >>> state.update[0].tolist(), state.error.tolist(), state.momentum.tolist()
    ([3.0, 0.0], [[0.0, -1.0]], [[0.0, -1.0]])
    """
    x = _row(comm, vector, {"k": k, "rho": rho, "forget": forget})

    def checked() -> tuple[Array, Array, int, Any, bool]:
        held = _checked(momentum, "momentum", None, x.dtype)
        return (
            held,
            _checked(error, "error", held.shape, x.dtype),
            checked_count("k", k, 1, x.size),
            x.dtype.type(_checked_rho(rho)),
            checked_choice("forget", forget, FORGETS) == "zero",
        )

    held, kept, count, part, zeroed = comm.common(checked)
    hashes, width = _hashes(comm, x.size, buckets, signs, held.shape[1])
    comm.common(lambda: _same_rows(held, hashes))
    agreed_alike(comm, {"the checksum of momentum and error": checksum(held, kept)})
    table = _sketched(comm, x, hashes, width) / x.dtype.type(comm.size)

    def stepped() -> SketchState:
        with np.errstate(over="ignore", invalid="ignore"):
            moved = part * held + table
            whole = _finite(kept + moved)
            update = unsketch(whole, *hashes, count)
            sent = count_sketch(update, *hashes, width)
            if not zeroed:
                return SketchState(update, moved, _finite(whole - sent))
            return SketchState(update, np.where(sent != 0, 0, moved), np.where(sent != 0, 0, whole))

    state = comm.common(stepped)
    return SketchState(state.update, state.momentum.astype(x.dtype), state.error.astype(x.dtype))


def _checked(value: ArrayLike, name: str, shape: tuple[int, ...] | None, dtype: np.dtype[Any]) -> Array:
    array = as_array(value, name)
    if array.dtype.newbyteorder("=") != dtype:
        raise TypeError(f"{name} must be {dtype}, as the stack, got {array.dtype}")
    if array.ndim != 2 or 0 in array.shape or (shape is not None and array.shape != shape):
        raise ValueError(f"{name} must be {'(r, cells)' if shape is None else shape}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return np.ascontiguousarray(array, dtype)


def _same_rows(table: Array, hashes: Hashes) -> None:
    if len(table) != len(hashes.buckets):
        raise ValueError(f"buckets must have {len(table)} rows, as momentum, got {len(hashes.buckets)}")


def _checked_rho(rho: float) -> float:
    value = checked_real("rho", rho)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"rho must be in [0, 1], got {shown(rho)}")
    return value


COLLECTIVES: dict[str, Any] = {
    "sketched_sum": sketched_sum,
    "sketched_topk": sketched_topk,
    "fetchsgd_step": fetchsgd_step,
}
"""What is run and counted here, by name."""
