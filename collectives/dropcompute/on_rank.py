"""What a worker does in a step that drops work: it sums what it has computed, and all add up their sums."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Floats
from commbounds.collectives.dropcompute.random_batches import (
    Normalisation,
    checked_batches,
    in_rank_order,
    share_of_worker,
)
from commbounds.collectives.moshpit.group_average import combined_in_groups
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator


def drop_gradient(
    comm: Communicator, gradients: ArrayLike, completed: int, normalisation: Normalisation = "fixed"
) -> Floats:
    """The gradient of a step, of which this rank computed a part; the twin of `commbounds.collectives.drop_gradient`.

    Parameters
    ----------
    comm : Communicator
        This rank's end. No phase is named. In two steps every rank sends chunk c of its sum to rank c, and gets it back
        added up; under "computed" the number of its micro-batches is the sum's last word.
    gradients : (M, d) array
        Of this rank's micro-batches; finite. M and d are the same on all ranks.
    completed : int
        In [0, M]: how many this rank computed.
    normalisation : str
        As for the twin; the same on all ranks.

    Returns
    -------
    (d,) float64
        The same bits on all ranks.

    Raises
    ------
    TypeError, ValueError
        As the twin; something differs between ranks. On all ranks.
    """

    def checked() -> tuple[Floats, int]:
        mine, counts = checked_batches(np.asarray(gradients)[np.newaxis], np.asarray([completed]), normalisation)
        return mine[0], int(counts[0])

    mine, count = comm.agreed(checked)
    share = share_of_worker(mine, count, normalisation)
    settings: dict[str, Any] = {"the number of micro-batches": len(mine), "normalisation": normalisation}
    message = np.append(share, float(count)) if normalisation == "computed" else share
    (own,) = agreed_row(comm, message, lambda _: settings, "the sum of gradients", finite=False)
    P = comm.size
    everybody, all_get = np.zeros(P, np.int64), np.ones(P, np.bool_)
    total: Floats = combined_in_groups(comm, own, everybody, all_get, lambda rows: in_rank_order(list(rows)))
    if normalisation == "computed":
        return np.asarray(total[:-1] / max(total[-1], 1.0))
    return np.asarray(total / (P if normalisation == "worker" else P * len(mine)))
