"""Checks on what workers bring who have a state: a vector and what they remember, as rows of one array."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._stack import checked_stack, of_one_kind
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.compressors.base import as_array, checked_real, shown


def checked_workers(workers: ArrayLike, rows: int) -> Array:
    """`workers` as a contiguous native (P, rows, n) float array of finite numbers.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; not three-dimensional; another number of rows.
    """
    array = of_one_kind(workers, "workers")
    if array.ndim != 3 or array.shape[1] != rows or 0 in array.shape:
        raise ValueError(f"workers must be (P, {rows}, n), {rows} rows for every worker, got shape {array.shape}")
    return checked_stack(array.reshape(array.shape[0], -1), "workers").reshape(array.shape)


def of_rows(rows: int) -> Callable[[Any], Array]:
    """`checked_workers` for so many rows."""
    return partial(checked_workers, rows=rows)


def own_rows(comm: Communicator, worker: ArrayLike, rows: int, settings: Callable[[int], Mapping[str, Any]]) -> Array:
    """The (rows, n) array of this rank, where all ranks have good ones of one length and dtype and equal settings.

    Parameters
    ----------
    comm : Communicator
        All ranks call this.
    worker : (rows, n) array_like
        This rank's.
    rows : int
        How many rows it must have.
    settings : callable (n) -> mapping
        What must be the same on all ranks; raises where something is wrong.
    """

    def checked() -> Array:
        array = as_array(worker, "worker")
        if array.ndim != 2 or array.shape[0] != rows or array.shape[1] == 0:
            raise ValueError(f"worker must be ({rows}, n), got shape {array.shape}")
        return array.reshape(-1)

    flat = comm.agreed(checked)
    row = agreed_row(comm, flat, lambda given: settings(given.size // rows), "worker")
    return row.reshape(rows, -1)


def checked_between(name: str, value: Any, low: float, high: float) -> float:
    """`value` as a float in [low, high].

    Raises
    ------
    TypeError, ValueError
        It is no number, or none in the range.
    """
    number = checked_real(name, value)
    if not low <= number <= high:
        raise ValueError(f"{name} must be in [{low:g}, {high:g}], got {shown(value)}")
    return number
