"""What a rank sends and adds in Ok-Topk: the split, the sums of its region, and the balancing of the winners."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Integers
from commbounds.collectives.oktopk.split import summed_regions
from commbounds.collectives.oktopk.threshold_filter import Passing
from commbounds.collectives.oktopk.winners import equal_shares, moved_part
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.sparse.entries import Entries, entries_from


def joined(parts: Sequence[Entries]) -> Entries:
    """Entries of consecutive ranges as one list."""
    return Entries(np.concatenate([i for i, _ in parts]), np.concatenate([v for _, v in parts]))


def split_on_rank(comm: Communicator, pieces: Sequence[Entries], rotation: bool, bucket: int, n: int) -> list[Entries]:
    """What all ranks selected in this rank's region, in the order of the ranks; the twin of `split_traffic`.

    Parameters
    ----------
    comm : Communicator
        This rank's end.
    pieces : sequence of P Entries
        What this rank selected in every region.
    rotation, bucket
        As in `split_traffic`.
    n : int
        Entries of a vector.
    """
    dtype = pieces[comm.rank].values.dtype
    rank, P = comm.rank, comm.size
    others = [p for p in range(P) if p != rank]
    have = {rank: pieces[rank]}
    rounds = range(0 if P == 1 else P - 1 if rotation else P)
    for first in rounds[::bucket]:
        outgoing, sources = {}, list[int]()
        for round_ in rounds[first : first + bucket]:
            target = (rank + round_ + 1) % P if rotation else round_
            if target == rank:
                sources += others
                continue
            outgoing[target] = parcel(*pieces[target])
            sources += [(rank - round_ - 1) % P] if rotation else []
        arrived = comm.step(outgoing, sources)
        have |= {p: entries_from(comm, p, part, n, dtype) for p, part in arrived.items()}
    return [have[p] for p in range(P)]


def summed_region(parts: Sequence[Entries], start: int, stop: int) -> tuple[NDArray[np.generic], int]:
    """The sums of ``range(start, stop)``, added in the order of `parts`, and how many are not zero.

    Raises
    ------
    ValueError
        A sum overflows.
    """
    counts = np.array([part.indices.size for part in parts], np.int64)
    indices = np.zeros((len(parts), int(counts.max())), np.int32)
    values = np.zeros(indices.shape, parts[0].values.dtype)
    for p, part in enumerate(parts):
        indices[p, : counts[p]], values[p, : counts[p]] = part.indices - start, part.values
    sums, _, nonzero = summed_regions(Passing(indices, values, counts, True), np.array([0, stop - start], np.int64))
    return sums, int(nonzero[0])


def balanced_on_rank(comm: Communicator, own: Entries, winners: Integers, n: int) -> Entries:
    """A rank's equal share of the winners; the twin of `balanced`.

    Parameters
    ----------
    comm : Communicator
        This rank's end.
    own : Entries
        Those of this rank's region, ``winners[rank]`` of them.
    winners : (P,) int64
        How many every rank has.
    n : int
        Entries of a vector.
    """
    rank, P = comm.rank, comm.size
    if winners.shape != (P,):  # they come from the others
        raise ValueError(f"winners must be of {P} ranks, got {winners.shape}")
    _, held, targets = equal_shares(winners)

    def part(target: int) -> Entries:
        of_all = moved_part(held, targets, rank, target)
        mine = slice(of_all.start - int(held[rank]), of_all.stop - int(held[rank]))
        return Entries(own.indices[mine], own.values[mine])

    have = {rank: part(rank)}
    for shift in range(1, P):
        if not any(moved_part(held, targets, p, (p + shift) % P) for p in range(P)):
            continue  # no step: all ranks know that nobody has anything to send
        target, source = (rank + shift) % P, (rank - shift) % P
        outgoing = {target: parcel(*part(target))} if moved_part(held, targets, rank, target) else {}
        arrived = comm.step(outgoing, [source] if moved_part(held, targets, source, rank) else [])
        have |= {p: entries_from(comm, p, part, n, own.values.dtype) for p, part in arrived.items()}
    return joined([have[p] for p in sorted(have)])
