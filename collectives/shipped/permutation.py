"""Perm-K: every entry is sent by one worker, which a random permutation chooses."""

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers
from commbounds.collectives._peers import checked_rng
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import as_array


@one_program(np.stack)
def permk_mean(
    comm: Communicator, vector: ArrayLike, rng: np.random.Generator | None = None, *, owners: ArrayLike | None = None
) -> Array:
    """The workers' mean by Perm-K: entry j is that of one worker, drawn for all of them together.

    Worker i sends P x_ij for the entries j that it owns (Szlendak, Tyurin, Richtárik 2021, arXiv:2110.03300); the mean
    of what is sent has x_ij there, whose owner is i.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    rng : numpy.random.Generator or None
        Permutes the entries, cuts them into P blocks of which the first n mod P are one longer, and turns the blocks
        by a random number of ranks: every rank owns an entry with probability 1/P, whatever n. Required where `owners`
        are not given; the same on all ranks.
    owners : (n,) int or None
        In place of `rng`: the rank that owns each entry, in [0, P).

    Returns
    -------
    mean : (P, n) dtype of stack
        The same on every rank, unbiased; for P = 1 the vector itself.
    traffic : Traffic
        In words: a rank sends the blocks of all but the next rank, by a ring all-gather. Who owns what is not sent: all
        ranks draw it alike.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; no generator where one is needed; owners of another shape, no integers, or no ranks.

    Examples
    --------
    >>> mean, traffic = permk_mean([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], owners=[1, 0, 1])
    >>> mean[0].tolist(), traffic.sent.tolist()
    ([10.0, 2.0, 30.0], [1, 2])
    """
    (x,) = agreed_row(comm, vector, lambda row: {})
    chosen = comm.common(lambda: _owners(comm.size, x.size, rng, owners))
    if not comm.one_caller:
        agreed_alike(comm, {"the checksum of the owners": checksum(chosen)})
    comm.phase("values")
    blocks = gathered(comm, (x[chosen == comm.rank],), forms=lambda r: [x[chosen == r]])

    def assembled() -> Array:
        mean: Array = np.empty_like(x)
        for rank, (values,) in enumerate(blocks):
            mean[chosen == rank] = values
        return mean

    return comm.shared(assembled)


def _owners(P: int, n: int, rng: np.random.Generator | None, owners: ArrayLike | None) -> Integers:
    if owners is not None:
        given = as_array(owners, "owners")
        if given.dtype.kind not in "iu":
            raise TypeError(f"owners must be integers, got {given.dtype}")
        if given.shape != (n,):
            raise ValueError(f"owners must have shape ({n},), got {given.shape}")
        if given.min() < 0 or given.max() >= P:
            raise ValueError(f"owners must be in [0, {P - 1}], got [{given.min()}, {given.max()}]")
        named: Integers = given.astype(np.int64)
        return named
    generator = checked_rng(rng, "permuting entries")
    order, turn = generator.permutation(n), int(generator.integers(P))
    drawn = np.empty(n, np.int64)
    for block, places in enumerate(np.array_split(order, P)):
        drawn[places] = (block + turn) % P
    return drawn
