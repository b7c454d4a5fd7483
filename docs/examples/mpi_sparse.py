"""A sparse all-reduce of MPI, judged: ``mpirun -n 3 commbounds check --mpi mpi_sparse.py:right``, and ``:wrong``."""

import numpy as np

from commbounds.verify import conformance as cf


def largest(x):
    """Indices of a quarter of the entries, the largest in magnitude, ascending."""
    return np.sort(np.argsort(-np.abs(x), kind="stable")[: -(-x.size // 4)])


def by_regions(comm, x, edges):
    """Every rank adds up one region, in the order of the ranks, and tells the others its sum."""
    P, rank, own = comm.size, comm.rank, largest(x)
    cuts = np.searchsorted(own, edges)
    mine = np.diff(cuts)
    theirs = np.empty_like(mine)
    comm.Alltoall(mine, theirs)
    indices, values = np.empty(theirs.sum(), own.dtype), np.empty(theirs.sum(), x.dtype)
    comm.Alltoallv([own, mine], [indices, theirs])
    comm.Alltoallv([x[own], mine], [values, theirs])

    total = np.zeros_like(x)
    np.add.at(total, indices, values)
    region = np.unique(indices)
    sizes = np.array(comm.allgather(region.size))
    everywhere, sums = np.empty(sizes.sum(), region.dtype), np.empty(sizes.sum(), x.dtype)
    comm.Allgatherv(region, [everywhere, sizes])
    comm.Allgatherv(total[region], [sums, sizes])

    result, residual = np.zeros_like(x), x.copy()
    result[everywhere] = sums
    residual[own] = 0
    # an index and a value for every entry that goes to another rank; and to each of those two sizes
    sent = 2 * (mine.sum() - mine[rank]) + 2 * (P - 1) * region.size + 2 * (P - 1)
    received = 2 * (theirs.sum() - theirs[rank]) + 2 * (sizes.sum() - region.size) + 2 * (P - 1)
    return cf.AllReduceResult(result, sent, received, residual)


def even(comm, x, seed):
    """Regions that differ by an entry at most."""
    return by_regions(comm, x, np.arange(comm.size + 1) * x.size // comm.size)


def truncated(comm, x, seed):
    """Regions of n // P entries."""
    return by_regions(comm, x, np.arange(comm.size + 1) * (x.size // comm.size))


def own_first(comm, x, seed):
    """No regions: everybody sends to everybody, and adds what arrives to its own."""
    P, own = comm.size, largest(x)
    messages = comm.allgather((own, x[own]))
    result, residual = np.zeros_like(x), x.copy()
    residual[own] = 0
    for step in range(P):
        indices, values = messages[(comm.rank + step) % P]
        result[indices] += values
    return cf.AllReduceResult(result, 2 * (P - 1) * own.size, 2 * (P - 1) * own.size, residual)


def words(P, n):
    """At most a region of k entries from each rank, and as many sums as it has entries; two sizes."""
    k, region = -(-n // 4), -(-n // P)
    return 2 * (P - 1) * (min(k, region) + min(P * k, region) + 1)


CLAIMS = [cf.RanksAgree(), cf.Conserves(), cf.WordsAtMost(words)]

right = cf.mpi_allreduce(even, CLAIMS, effort=0.1)
wrong = [cf.mpi_allreduce(truncated, CLAIMS, effort=0.1), cf.mpi_allreduce(own_first, CLAIMS, effort=0.1)]
