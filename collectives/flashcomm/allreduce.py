"""All-reduces of quantised messages: two-step (Flash Communication), ring, one-shot, hierarchical; bytes counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from commbounds.collectives._stack import checked_stack
from commbounds.collectives.flashcomm.wire import Coder, Draw, QuantisedSum, Wire, blocks_of, checked_quantiser
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import checked_count
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
    (P, n), first = array.shape, checked_quantiser(quantiser, "quantiser")
    again = first if second is None else checked_quantiser(second, "second")
    coder, recoder = Coder(first, 0, P, rng, draw), Coder(again, 1, P, rng, draw)
    blocks, wire = blocks_of(n, P), Wire(P)
    if P > 1:
        wire.step()
    sums = []
    for j, block in enumerate(blocks):
        total = np.zeros(block.stop - block.start, array.dtype)
        for i in range(P):
            message = coder.coded(array[i, block], i, j, block)
            total += coder.read(message if i == j else wire.send(i, j, message), array[i])
        sums.append(total)
    if P > 1:
        wire.step()
    values = np.empty_like(array)
    for j, block in enumerate(blocks):
        message = recoder.coded(sums[j], j, j, block)
        for i in range(P):
            arrived = message if i == j else wire.send(j, i, message)
            values[i, block] = sums[j] if i == j and not owner_reads_its_code else recoder.read(arrived, array[i])
    return QuantisedSum(values, wire.moves), wire.traffic()


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
    (P, n), checked = array.shape, checked_quantiser(quantiser, "quantiser")
    blocks, wire = blocks_of(n, P), Wire(P)
    coders = [Coder(checked, hop, P, rng, None) for hop in range(P)]
    partial = [array[j, block].copy() for j, block in enumerate(blocks)]
    for hop in range(P - 1):
        wire.step()
        for j, block in enumerate(blocks):
            source, target = (j + hop) % P, (j + hop + 1) % P
            message = coders[hop].coded(partial[j], source, j, block)
            partial[j] = coders[hop].read(wire.send(source, target, message), array[j]) + array[target, block]
    codes = [coders[-1].coded(partial[j], (j - 1) % P, j, block) for j, block in enumerate(blocks)]
    for hop in range(P - 1):
        wire.step()
        for j in range(P):
            wire.send((j - 1 + hop) % P, (j + hop) % P, codes[j])
    values = np.empty_like(array)
    for j, block in enumerate(blocks):
        values[:, block] = coders[-1].read(codes[j], array[j])
    return QuantisedSum(values, wire.moves), wire.traffic()


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
    (P, n), checked = array.shape, checked_quantiser(quantiser, "quantiser")
    coder, wire = Coder(checked, 0, P, rng, None), Wire(P)
    if P > 1:
        wire.step()
    total = np.zeros(n, array.dtype)
    for i in range(P):
        message = coder.coded(array[i], i, 0, slice(0, n))
        for target in range(P):
            if target != i:
                wire.send(i, target, message)
        total += coder.read(message, array[i])
    return QuantisedSum(np.repeat(total[None], P, axis=0), wire.moves), wire.traffic()


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
    (P, n), checked = array.shape, checked_quantiser(quantiser, "quantiser")
    if P % checked_count("node", node, 1, P):
        raise ValueError(f"node must divide the number of ranks, {P}, got {node}")
    blocks, wire, nodes = blocks_of(n, node), Wire(P), range(P // node)
    within, across, last = (Coder(checked, stage, P, rng, None) for stage in range(3))
    sums = np.empty((len(nodes), n), array.dtype)
    if node > 1:
        wire.step()
    for g in nodes:
        for j, block in enumerate(blocks):
            total = np.zeros(block.stop - block.start, array.dtype)
            for i in range(node):
                message = within.coded(array[g * node + i, block], g * node + i, j, block)
                total += within.read(message if i == j else wire.send(g * node + i, g * node + j, message), total)
            sums[g, block] = total
    whole = sums.copy()
    if len(nodes) > 1:
        wire.step()
    for j, block in enumerate(blocks if len(nodes) > 1 else ()):
        codes = [across.coded(sums[g, block], g * node + j, j, block) for g in nodes]
        for g in nodes:
            total = np.zeros(block.stop - block.start, array.dtype)
            for h in nodes:
                arrived = codes[h] if h == g else wire.send(h * node + j, g * node + j, codes[h])
                total += sums[g, block] if h == g and not both_read_both else across.read(arrived, total)
            whole[g, block] = total
    if node > 1:
        wire.step()
    values = np.empty_like(array)
    for g in nodes:
        for j, block in enumerate(blocks):
            message = last.coded(whole[g, block], g * node + j, j, block)
            for i in range(node):
                arrived = message if i == j else wire.send(g * node + j, g * node + i, message)
                values[g * node + i, block] = last.read(arrived, whole[g])
    return QuantisedSum(values, wire.moves), wire.traffic()
