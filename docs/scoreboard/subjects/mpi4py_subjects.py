"""All-reduces of MPI through mpi4py: judged under mpirun."""

import numpy as np
from mpi4py import MPI

from commbounds.verify import conformance as cf


def allreduce(comm, x, seed):
    """One call."""
    result = np.empty_like(x)
    comm.Allreduce(x, result, op=MPI.SUM)
    return result


def scattered(comm, x, seed):
    """Reduce-scatter, then all-gather."""
    counts = [(r + 1) * x.size // comm.size - r * x.size // comm.size for r in range(comm.size)]
    own, result = np.empty(counts[comm.rank], dtype=x.dtype), np.empty_like(x)
    comm.Reduce_scatter(x, own, counts, op=MPI.SUM)
    comm.Allgatherv(own, [result, counts])
    return result


CLAIMS = [cf.Sums(), cf.RanksAgree()]
subjects = [
    cf.mpi_allreduce(allreduce, CLAIMS, name="Allreduce"),
    cf.mpi_allreduce(scattered, CLAIMS, name="Reduce_scatter and Allgatherv"),
    cf.mpi_allreduce(allreduce, CLAIMS, name="Allreduce, float64", dtype="float64"),
]
