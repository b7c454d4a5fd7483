"""NCCL's sums of float8: every partial sum is rounded."""

from typing import Any

import numpy as np
from ml_dtypes import float8_e4m3fn, float8_e5m2
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.ranks import Communicator, parcel
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.shipped_collectives.quickreduce import halves
from commbounds.compressors.base import checked_choice

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
