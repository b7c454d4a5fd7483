"""NoLoCo: workers in random pairs average their slow weights in part, without any all-reduce."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives.lowcomm._parts import checked_between, of_rows, own_rows
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import as_numbers, shown


def partner_of(rank: int, order: list[int]) -> int:
    """Whom `rank` meets when workers of this order go in pairs; itself where it is left over.

    Examples
    --------
    >>> [partner_of(rank, [2, 0, 1]) for rank in range(3)]
    [2, 1, 0]
    """
    place = order.index(rank)
    other = place ^ 1
    return order[other] if other < len(order) else rank


def _mean(a: Array, b: Array) -> Array:
    """(a + b) / 2, rounded once, whether or not a + b is a float."""
    with np.errstate(over="ignore"):
        mean = (a + b) / 2
    return np.where(np.isfinite(mean), mean, a / 2 + b / 2)


@one_program(np.stack, stack="workers", checked=of_rows(3))
def noloco_round(
    comm: Communicator,
    worker: ArrayLike,
    order: ArrayLike,
    momentum: float = 0.5,
    outer_lr: float = 0.7,
    pull: float = 1.0,
) -> Array:
    """The workers' slow weights and momenta after a round in which pairs average.

    With the means over a pair of the slow weights, w, and of the pseudo-gradients, g:
    v <- momentum v - outer_lr g - pull (own - w), own <- own + v.

    Parameters
    ----------
    workers : (P, 3, n) float32 or float64
        Of every worker its slow weights, its momentum, and its pseudo-gradient (slow weights less what its inner steps
        made of them); finite.
    order : (P,) int
        All ranks in some order: neighbours at places 0 and 1, 2 and 3, ... are pairs; of an odd number the last is left
        over, and a pair by itself.
    momentum : float
        In [0, 1].
    outer_lr : float
        In [0, 100].
    pull : float
        How much of the way to the mean of a pair its workers go, in [0, 100].

    Returns
    -------
    (P, 2, n) array, Traffic
        Slow weights and momenta; 2 n words in one message to the partner.

    Raises
    ------
    TypeError, ValueError
        As `checked_workers` says; `order` is no order of all ranks; something is out of its range.

    Notes
    -----
    The sum of the slow weights moves as if all had averaged. Their distances from their mean do not shrink for
    every pull: see the claims `lowcomm.noloco.*`.

    References
    ----------
    J. Kolehmainen et al., 2025, NoLoCo, arXiv:2506.10911; of the paper the abstract was read, the update in the
    authors' code, gensyn-ai/noloco, sparse_optimizer_c.py, where pull is outer_lr, and pairs are groups of any size.

    Examples
    --------
    >>> workers = [[[0.0], [0.0], [0.0]], [[2.0], [0.0], [0.0]]]
    >>> after, traffic = noloco_round(workers, [0, 1])
    >>> after[:, 0].ravel().tolist(), traffic.sent.tolist()
    ([1.0, 1.0], [2, 2])
    """

    def settings(_n: int) -> Mapping[str, Any]:
        ranks = as_numbers(order, "order", kinds="iu")
        if ranks.ndim != 1 or sorted(ranks.tolist()) != list(range(comm.size)):
            raise ValueError(f"order must hold every rank below {comm.size} once, got {shown(order)}")
        return {
            "order": ranks.tolist(),
            "momentum": checked_between("momentum", momentum, 0.0, 1.0),
            "outer_lr": checked_between("outer_lr", outer_lr, 0.0, 100.0),
            "pull": checked_between("pull", pull, 0.0, 100.0),
        }

    own, velocity, change = own_rows(comm, worker, 3, settings)
    partner = partner_of(comm.rank, as_numbers(order, "order", kinds="iu").tolist())
    mean_own, mean_change = own, change
    if comm.size > 1:
        alone = partner == comm.rank
        outgoing = {} if alone else {partner: parcel(own, change)}
        arrived = comm.step(outgoing, [] if alone else [partner])
        if not alone:
            other, other_change = comm.fitting(partner, arrived[partner], own, change)
            mean_own, mean_change = _mean(own, other), _mean(change, other_change)
    kind = own.dtype.type
    new = kind(momentum) * velocity - kind(outer_lr) * mean_change - kind(pull) * (own - mean_own)
    return np.stack([own + new, new])
