"""What all ranks must agree on before a word moves: their vectors are good, and of one length, dtype and request."""

from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.ranks.communicator import Communicator

Settings = Mapping[str, Any]


def checksum(*arrays: ArrayLike | None) -> int:
    """A number that differs where arrays of one shape do."""
    return crc32(b"".join(b"-" if array is None else np.ascontiguousarray(array).tobytes() for array in arrays))


def agreed_alike(comm: Communicator, settings: Settings) -> None:
    """Nothing, if `settings` are the same on all ranks; they are not compared where the ranks have one caller.

    Raises
    ------
    ValueError
        They differ: on all ranks.
    """
    if comm.one_caller:
        return
    gathered = comm.allgather_object(dict(settings))
    for name in gathered[0]:
        values = [own[name] for own in gathered]
        if any(value != values[0] for value in values):
            raise ValueError(f"{name} must be the same on all ranks, got {', '.join(map(repr, values))}")


def agreed_row(
    comm: Communicator,
    vector: ArrayLike,
    settings: Callable[[Array], Settings],
    name: str = "vector",
    *,
    finite: bool = True,
) -> Array:
    """`vector` as a contiguous native (1, n) array, where all ranks have a good one of the same length and dtype.

    Where the ranks have one caller, it is taken as it is, and `settings` is called once.

    Parameters
    ----------
    comm : Communicator
        All ranks call this.
    vector : (n,) float32 or float64
        This rank's.
    settings : callable ((1, n) array) -> mapping
        What must be the same on all ranks; raises where something else is wrong.
    name : str
        What errors call the vector.
    finite : bool
        Whether NaN and infinity are refused.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` raises, for the lowest rank whose vector is bad; as `settings` raises; something differs. All
        ranks raise the same.
    """
    array = np.asarray(vector)
    if comm.one_caller:
        row = array[np.newaxis]
        comm.shared(lambda: settings(row))
        return row

    def checked() -> tuple[Array, Settings]:
        if array.ndim != 1:
            raise ValueError(f"{name} must be (n,), the entries of one rank, got shape {array.shape}")
        row = checked_stack(array[np.newaxis], name, finite=finite)
        return row, settings(row)

    row, mine = comm.agreed(checked)
    kinds = comm.allgather_object(f"{row.shape[1:]} {row.dtype}")
    if len(set(kinds)) > 1:
        raise TypeError(f"{name} must have one length and dtype on all ranks, got {', '.join(kinds)}")
    agreed_alike(comm, mine)
    return row
