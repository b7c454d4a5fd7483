"""All-reduces of quantised messages: two-step (Flash Communication), ring, one-shot, hierarchical; bytes counted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from commbounds.collectives._stack import checked_stack
from commbounds.collectives.flashcomm import on_rank
from commbounds.collectives.flashcomm.wire import Draw, QuantisedSum, checked_quantiser
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.lockstep import in_one_process
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.flashcomm.groupquant import GroupQuantizer

__all__ = [
    "QuantisedSum",
    "hierarchical_quantised_allreduce",
    "oneshot_quantised_allreduce",
    "ring_quantised_allreduce",
    "twostep_quantised_allreduce",
]


def twostep_quantised_allreduce(
    stack: ArrayLike,
    quantiser: GroupQuantizer,
    second: GroupQuantizer | None = None,
    rng: np.random.Generator | None = None,
    *,
    owner_reads_its_code: bool = True,
    draw: Draw = None,
) -> tuple[QuantisedSum, Traffic]:
    """The sum of the ranks' vectors by a quantised all-to-all and a quantised all-gather.

    Rank j owns block j. Every rank quantises all blocks of its vector; the blocks go to their owners, which add what
    they read in rank order; every owner quantises its sum, sends it to all, and everyone reads the same bytes
    (Flash Communication, arXiv 2412.04964; its own text was not read, the steps are reconstructed).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors. Sums are taken in its dtype.
    quantiser, second : GroupQuantizer
        For the all-to-all and for the all-gather; None uses `quantiser` for both.
    rng : numpy.random.Generator
        Required by stochastic quantisers; every block of every rank draws from a generator of its own.
    owner_reads_its_code : bool
        False lets owners keep their sums as they are: the ranks then disagree.
    draw : callable (stage, rank) -> (n,) array, or None
        Injected uniforms in place of `rng`, stage 0 for inputs and 1 for sums.

    Returns
    -------
    QuantisedSum
        Values of every rank, and who sent what to whom.
    Traffic
        In bytes; 2 steps, in each of which a rank sends to all others; none for P = 1.

    Raises
    ------
    TypeError, ValueError
        As `GroupQuantizer`, or `stack` is no (P, n) stack of finite floats.

    Notes
    -----
    With s_i the scale of rank i's group and s' that of the sum's, |error| <= (s_1 + ... + s_P + s')/2 in exact
    arithmetic. For P = 1 the vector is quantised twice all the same, and nothing is sent.

    Examples
    --------
    >>> import numpy as np
    >>> total, traffic = twostep_quantised_allreduce(np.ones((2, 4), np.float32), GroupQuantizer(8, 4))
    >>> total.values.tolist(), traffic.sent.tolist()
    ([[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]], [20, 20])
    """
    array = checked_stack(stack)
    checked_quantiser(quantiser, "quantiser")
    if second is not None:
        checked_quantiser(second, "second")
    return _of_all_ranks(
        lambda comm: on_rank.twostep_quantised_allreduce(
            comm,
            array[comm.rank],
            quantiser,
            second,
            rng,
            owner_reads_its_code=owner_reads_its_code,
            draw=draw,
        ),
        len(array),
    )


def ring_quantised_allreduce(
    stack: ArrayLike, quantiser: GroupQuantizer, rng: np.random.Generator | None = None
) -> tuple[QuantisedSum, Traffic]:
    """The sum of the ranks' vectors by a ring whose every hop is quantised.

    In the reduce-scatter a block is quantised, sent, read and added to the next rank's own P - 1 times; its sum is then
    quantised once, and the all-gather forwards those bytes. Everyone reads them, the owner too.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors.
    quantiser : GroupQuantizer
        For all hops.
    rng : numpy.random.Generator
        Required by stochastic quantisers.

    Returns
    -------
    QuantisedSum, Traffic
        As `twostep_quantised_allreduce`, in 2 (P - 1) steps. Block j starts at rank j and ends at rank j - 1.

    Raises
    ------
    TypeError, ValueError
        As `twostep_quantised_allreduce`.

    Notes
    -----
    |error| <= (1/2) sum over h = 1 .. P of the scale of the h-th quantised sum, itself at most the sum of the scales of
    its terms: P quantisations against two.
    """
    array = checked_stack(stack)
    checked_quantiser(quantiser, "quantiser")
    return _of_all_ranks(
        lambda comm: on_rank.ring_quantised_allreduce(comm, array[comm.rank], quantiser, rng), len(array)
    )


def oneshot_quantised_allreduce(
    stack: ArrayLike, quantiser: GroupQuantizer, rng: np.random.Generator | None = None
) -> tuple[QuantisedSum, Traffic]:
    """The sum of the ranks' vectors by an all-gather of the quantised vectors: everyone reads and adds all of them.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors.
    quantiser : GroupQuantizer
        For all vectors, a rank's own included, so that the ranks agree.
    rng : numpy.random.Generator
        Required by stochastic quantisers.

    Returns
    -------
    QuantisedSum, Traffic
        As `twostep_quantised_allreduce`, in one step.

    Raises
    ------
    TypeError, ValueError
        As `twostep_quantised_allreduce`.

    Notes
    -----
    |error| <= (s_1 + ... + s_P)/2.
    """
    array = checked_stack(stack)
    checked_quantiser(quantiser, "quantiser")
    return _of_all_ranks(
        lambda comm: on_rank.oneshot_quantised_allreduce(comm, array[comm.rank], quantiser, rng), len(array)
    )


def hierarchical_quantised_allreduce(
    stack: ArrayLike,
    quantiser: GroupQuantizer,
    node: int,
    rng: np.random.Generator | None = None,
    *,
    both_read_both: bool = True,
) -> tuple[QuantisedSum, Traffic]:
    """The sum over nodes of `node` ranks each: reduce-scatter within, exchange across, all-gather within.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; consecutive ranks share a node.
    quantiser : GroupQuantizer
        For all three stages.
    node : int
        Ranks of a node; divides P.
    rng : numpy.random.Generator
        Required by stochastic quantisers.
    both_read_both : bool
        In the exchange every side adds all nodes' sums as they were coded, its own too. False lets a side keep its own
        sum as it is: the nodes then disagree.

    Returns
    -------
    QuantisedSum, Traffic
        As `twostep_quantised_allreduce`, in three steps (fewer where nodes have one rank, or there is one node).

    Raises
    ------
    TypeError, ValueError
        As `twostep_quantised_allreduce`, or `node` does not divide P.
    """
    array = checked_stack(stack)
    checked_quantiser(quantiser, "quantiser")
    return _of_all_ranks(
        lambda comm: on_rank.hierarchical_quantised_allreduce(
            comm, array[comm.rank], quantiser, node, rng, both_read_both=both_read_both
        ),
        len(array),
    )


def _of_all_ranks(program: Callable[[Communicator], on_rank.RankSum], P: int) -> tuple[QuantisedSum, Traffic]:
    """What `P` ranks end with."""
    results, traffic = in_one_process(program, P)
    return QuantisedSum(
        np.stack([own.values for own in results]), np.stack([own.sent for own in results], axis=1)
    ), traffic
