"""All-reduces of quantised messages: two-step (Flash Communication), ring, one-shot, hierarchical; bytes counted.

A message is the bytes of its codes, scales, zero points and spikes (`wire_bytes`), and counts as many words. Everyone
reads bytes, those of its own messages too. Between ranks that have one caller what is read goes in their place; it
counts alike. Stochastic quantisers take the seeds of all parts of all ranks from a generator that must be in the same
state on all ranks.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers
from commbounds.collectives.dense.on_rank import Block, gathered
from commbounds.collectives.flashcomm.wire import Coder, Draw, QuantisedSum, blocks_of, checked_quantiser, code_size
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row
from commbounds.collectives.ranks.communicator import Communicator, Parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors import GroupQuantizer
from commbounds.compressors.base import checked_count, checked_flag, shown


@dataclass(frozen=True, eq=False)
class RankSum:
    """What one rank ends with, and which way its bytes went.

    Parameters
    ----------
    values : (n,) dtype of the vector
        The sum as this rank holds it.
    sent : (steps, P) int64
        Bytes that it sent to every rank in every step.
    """

    values: Array
    sent: Integers


class _Wire:
    """One rank's end, and the bytes that it sent."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self._rows: list[dict[int, int]] = []

    def exchanged(self, outgoing: Mapping[int, Array]) -> dict[int, Array]:
        """What all these ranks, this one among them, have for this one; no step where it is the only one."""
        own = self._comm.rank
        codes = {own: outgoing[own]}
        peers = [rank for rank in outgoing if rank != own]
        if peers:
            parcels = {id(code): _parcel(code) for code in outgoing.values()}
            sent = {rank: parcels[id(outgoing[rank])] for rank in peers}
            self._rows.append({rank: parcel.words for rank, parcel in sent.items()})
            arrived = self._comm.step(sent, peers)
            codes |= {rank: self._comm.fitting(rank, part, (np.uint8, (None,)))[0] for rank, part in arrived.items()}
        return {rank: codes[rank] for rank in outgoing}

    def passed_on(self, code: Array) -> Array:
        """What the rank before has, when every rank sends to the next."""
        after, before = (self._comm.rank + 1) % self._comm.size, (self._comm.rank - 1) % self._comm.size
        parcel = _parcel(code)
        self._rows.append({after: parcel.words})
        sent = self._comm.step({after: parcel}, [before])[before]
        return self._comm.fitting(before, sent, (np.uint8, (None,)))[0]

    def gathered(self, code: Array) -> list[Array]:
        """What all ranks have, when it goes round the ring."""
        rank, P = self._comm.rank, self._comm.size
        blocks = gathered(self._comm, (code,), "ring", _block_size, forms=lambda _: [(np.uint8, (None,))])
        codes = [own for (own,) in blocks]
        self._rows += [{(rank + 1) % P: code_size(codes[(rank - hop) % P])} for hop in range(P - 1)]
        return codes

    def result(self, values: Array) -> RankSum:
        """`values`, with the bytes that were sent until now."""
        sent = np.zeros((len(self._rows), self._comm.size), np.int64)
        for row, sizes in zip(sent, self._rows, strict=True):
            row[list(sizes)] = list(sizes.values())
        return RankSum(values, sent)


def _of_all_ranks(results: Sequence[RankSum]) -> QuantisedSum:
    values, sent = [own.values for own in results], [own.sent for own in results]
    return QuantisedSum(np.stack(values), np.stack(sent, axis=1))


def _parcel(code: Array) -> Parcel:
    return Parcel((code,), code_size(code))


def _block_size(block: Block) -> int:
    return code_size(block[0])


@one_program(_of_all_ranks)
def twostep_quantised_allreduce(
    comm: Communicator,
    vector: ArrayLike,
    quantiser: GroupQuantizer,
    second: GroupQuantizer | None = None,
    rng: np.random.Generator | None = None,
    *,
    owner_reads_its_code: bool = True,
    draw: Draw = None,
) -> RankSum:
    """The sum of the ranks' vectors by a quantised all-to-all and a quantised all-gather.

    Rank j owns block j. Every rank quantises all blocks of its vector; the blocks go to their owners, which add what
    they read in rank order; every owner quantises its sum, sends it to all, and everyone reads the same bytes
    (Flash Communication, arXiv 2412.04964; its own text was not read, the steps are reconstructed).

    Sums that leave the range of the dtype become infinite, or NaN.

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
    again = quantiser if second is None else second
    settings = {"quantiser": quantiser, "second": again, "owner_reads_its_code": owner_reads_its_code}
    x, (coder, recoder) = _started(comm, vector, settings, (quantiser, again), rng, draw)
    (P, own), blocks, wire = (comm.size, comm.rank), blocks_of(x.size, comm.size), _Wire(comm)
    codes = comm.agreed(
        lambda: [coder.code(x[block], own, j, block, not comm.one_caller) for j, block in enumerate(blocks)]
    )
    mine = blocks[own]
    total = _added(coder, wire.exchanged(dict(enumerate(codes))).values(), x[mine])
    code = _agreed_code(comm, recoder, total, own, mine)
    values = np.empty_like(x)
    arrived = wire.exchanged(dict.fromkeys(range(P), code))
    for block, read in zip(blocks, comm.shared(lambda: _read(recoder, arrived, blocks, x)), strict=True):
        values[block] = read
    if not owner_reads_its_code:
        values[mine] = total
    return wire.result(values)


@one_program(_of_all_ranks)
def ring_quantised_allreduce(
    comm: Communicator, vector: ArrayLike, quantiser: GroupQuantizer, rng: np.random.Generator | None = None
) -> RankSum:
    """The sum of the ranks' vectors by a ring whose every hop is quantised.

    In the reduce-scatter a block is quantised, sent, read and added to the next rank's own P - 1 times; its sum is then
    quantised once, and the all-gather forwards those bytes. Everyone reads them, the owner too.

    Sums that leave the range of the dtype become infinite, or NaN.

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
    P, own = comm.size, comm.rank
    x, coders = _started(comm, vector, {"quantiser": quantiser}, (quantiser,) * P, rng)
    blocks, wire = blocks_of(x.size, P), _Wire(comm)
    partial = x[blocks[own]]
    for hop, coder in enumerate(coders[:-1]):
        part, following = (own - hop) % P, blocks[(own - hop - 1) % P]
        code = _agreed_code(comm, coder, partial, part, blocks[part])
        partial = coder.read_code(wire.passed_on(code), x[following]) + x[following]
    part = (own + 1) % P
    codes = wire.gathered(_agreed_code(comm, coders[-1], partial, part, blocks[part]))
    arrived = {(rank + 1) % P: code for rank, code in enumerate(codes)}
    values = np.empty_like(x)
    for block, read in zip(blocks, comm.shared(lambda: _read(coders[-1], arrived, blocks, x)), strict=True):
        values[block] = read
    return wire.result(values)


@one_program(_of_all_ranks)
def oneshot_quantised_allreduce(
    comm: Communicator, vector: ArrayLike, quantiser: GroupQuantizer, rng: np.random.Generator | None = None
) -> RankSum:
    """The sum of the ranks' vectors by an all-gather of the quantised vectors: everyone reads and adds all of them.

    Sums that leave the range of the dtype become infinite, or NaN.

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
    x, (coder,) = _started(comm, vector, {"quantiser": quantiser}, (quantiser,), rng)
    wire = _Wire(comm)
    code = _agreed_code(comm, coder, x, 0, slice(0, x.size))
    arrived = wire.exchanged(dict.fromkeys(range(comm.size), code))
    return wire.result(comm.shared(lambda: _added(coder, arrived.values(), x)))


@one_program(_of_all_ranks)
def hierarchical_quantised_allreduce(
    comm: Communicator,
    vector: ArrayLike,
    quantiser: GroupQuantizer,
    node: int,
    rng: np.random.Generator | None = None,
    *,
    both_read_both: bool = True,
) -> RankSum:
    """The sum over nodes of `node` ranks each: reduce-scatter within, exchange across, all-gather within.

    Sums that leave the range of the dtype become infinite, or NaN.

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

    def checked() -> int:
        if comm.size % checked_count("node", node, 1, comm.size):
            raise ValueError(f"node must divide the number of ranks, {comm.size}, got {node}")
        return int(node)

    width = comm.agreed(checked)
    settings = {"quantiser": quantiser, "node": width, "both_read_both": both_read_both}
    x, (within, across, last) = _started(comm, vector, settings, (quantiser,) * 3, rng)
    wire, blocks = _Wire(comm), blocks_of(x.size, width)
    first, j = comm.rank - comm.rank % width, comm.rank % width
    mine, team = blocks[j], range(first, first + width)
    codes = comm.agreed(
        lambda: [within.code(x[block], comm.rank, k, block, not comm.one_caller) for k, block in enumerate(blocks)]
    )
    total = _added(within, wire.exchanged(dict(zip(team, codes, strict=True))).values(), x[mine])
    whole = total
    if comm.size > width:
        code = _agreed_code(comm, across, total, j, mine)
        arrived = wire.exchanged(dict.fromkeys(range(j, comm.size, width), code))
        whole = np.zeros_like(total)
        for rank, sent in arrived.items():
            kept = rank == comm.rank and not both_read_both
            whole += total if kept else across.read_code(sent, x[mine])
    code = _agreed_code(comm, last, whole, j, mine)
    values = np.empty_like(x)
    for rank, sent in wire.exchanged(dict.fromkeys(team, code)).items():
        values[blocks[rank - first]] = last.read_code(sent, x[blocks[rank - first]])
    return wire.result(values)


def _started(
    comm: Communicator,
    vector: ArrayLike,
    settings: Mapping[str, Any],
    quantisers: tuple[GroupQuantizer, ...],
    rng: np.random.Generator | None,
    draw: Draw = None,
) -> tuple[Array, list[Coder]]:
    """A rank's vector and a coder for every quantiser, where all ranks have good and equal ones."""

    def check(_row: Array) -> Mapping[str, Any]:
        for name in ("quantiser", "second"):
            checked_quantiser(settings.get(name, settings["quantiser"]), name)
        for name in ("owner_reads_its_code", "both_read_both"):
            checked_flag(name, settings.get(name, True))
        if draw is not None and not callable(draw):
            raise TypeError(f"draw must be callable, or None, got {shown(draw)}")
        return settings

    x = agreed_row(comm, vector, check)[0]
    coders = comm.common(lambda: [Coder(own, stage, comm.size, rng, draw) for stage, own in enumerate(quantisers)])
    seeds = [coder.seeds.tobytes() for coder in coders if coder.seeds is not None]
    agreed_alike(comm, {"the checksum of the seeds": zlib.crc32(b"".join(seeds))})
    return x, coders


def _agreed_code(comm: Communicator, coder: Coder, x: Array, part: int, where: slice) -> Array:
    """The code of this rank's part, where no rank's overflows its formats."""
    return comm.agreed(lambda: coder.code(x, comm.rank, part, where, not comm.one_caller))


def _read(coder: Coder, codes: Mapping[int, Array], blocks: Sequence[slice], like: Array) -> list[Array]:
    """What the codes of all blocks, by their numbers, stand for."""
    return [coder.read_code(codes[j], like[block]) for j, block in enumerate(blocks)]


def _added(coder: Coder, codes: Iterable[Array], like: Array) -> Array:
    """The sum of what was sent, in the order of the ranks."""
    total = np.zeros_like(like)
    for sent in codes:
        total += coder.read_code(sent, like)
    return total
