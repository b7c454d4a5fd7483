"""Subjects of three ranks, right ones and wrong ones; this file is what ``commbounds check --mpi`` loads."""

import time

import numpy as np

from commbounds.collectives.ranks import parcel
from commbounds.verify import conformance as cf

_CALLS = []
_KEPT = {}

# --- programs of MPI --------------------------------------------------------------------------------------------------


def library(comm, x, seed):
    """mpi4py's own, between two buffers."""
    y = np.empty_like(x)
    comm.Allreduce(x, y)
    return y


def in_place(comm, x, seed):
    """mpi4py's own, in one buffer; on a copy, as the input belongs to the caller."""
    from mpi4py import MPI

    y = x.copy()
    comm.Allreduce(MPI.IN_PLACE, y)
    return y


def overwrites(comm, x, seed):
    """The same without the copy."""
    from mpi4py import MPI

    comm.Allreduce(MPI.IN_PLACE, x)
    return x.copy()


def as_they_come(comm, x, seed):
    """Adds its own first, then the others' from the next one on: ranks differ in bits."""
    rows = comm.allgather(x)
    y = rows[comm.rank].copy()
    for step in range(1, comm.size):
        y += rows[(comm.rank + step) % comm.size]
    return y, (comm.size - 1) * x.size, (comm.size - 1) * x.size


def refuses(comm, x, seed):
    """Rank 1 raises before it takes part; with two ranks all do."""
    if comm.size == 2:
        raise ValueError("two are a company")
    if comm.rank == 1:
        raise KeyError("lost the key")
    return x


def draws_on_rank_one(comm, x, seed):
    y = np.empty_like(x)
    comm.Allreduce(x, y)
    if comm.rank == 1:
        np.random.random()  # noqa: NPY002 - that it draws from the global generator is the defect
        print("a line that is not part of the report")
    return y


def waits(comm, x, seed):
    """In its two hundredth call rank 1 raises where it should send, and the others wait for it."""
    _CALLS.append(seed)
    if len(_CALLS) == 200:
        if comm.rank == 1:
            raise ConnectionError("no route")
        comm.recv(source=1)
    return x


def sleeps(comm, x, seed):
    """Rank 1 never comes back; rank 0 has answered by then."""
    if comm.rank == 1:
        time.sleep(3600)
    return x


def widens_on_rank_one(comm, x, seed):
    return x.astype(np.float64) if comm.rank == 1 else x


def counts_on_rank_one(comm, x, seed):
    return cf.AllReduceResult(x, 0, 0) if comm.rank == 1 else x


def uses_its_array_again(comm, x, seed):
    """Returns the same array in every call with one length."""
    y = _KEPT.setdefault((comm.size, x.size), np.empty_like(x))
    comm.Allreduce(x, y)
    return y


# --- programs of a Communicator ---------------------------------------------------------------------------------------


def passed_round(comm, x, seed):
    """Every rank's vector goes round; all add in the order of the ranks."""
    rows = {comm.rank: x}
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    held = x
    for step in range(1, comm.size):
        (held,) = comm.step({right: parcel(held)}, [left])[left].arrays
        rows[(comm.rank - step) % comm.size] = held
    y = np.zeros_like(x)
    for rank in range(comm.size):
        y += rows[rank]
    return y


def raises_on_one(comm, x, seed):
    if comm.rank == comm.size - 1:
        raise KeyError("lost the key")
    comm.step()
    return x


SUM = (cf.Sums(), cf.RanksAgree())


def _all_gathered(P, n):
    return (P - 1) * n


def _ring(P, n):
    return 2 * (P - 1) * -(-n // P)


NO_RANKS = cf.AllReduce(lambda stack, seed: stack, name="no ranks")
RIGHT_IN_THREADS = cf.rank_program(passed_round, [*SUM, cf.WordsAtMost(_all_gathered)], ranks=(1, 2, 3, 8), effort=0.05)
WRONG_IN_THREADS = [
    cf.rank_program(passed_round, [cf.WordsAtMost(_ring)], ranks=(1, 2, 3), effort=0.05, name="talkative"),
    cf.rank_program(raises_on_one, effort=0.05, ranks=(1, 2, 3)),
]


def __getattr__(name):
    """Subjects of MPI, made when they are asked for: there may be none."""
    few = {"effort": 0.02, "time_limit": 60.0}
    made = {
        "right": lambda: [
            cf.mpi_allreduce(library, SUM, **few),
            cf.mpi_allreduce(in_place, SUM, dtype="float64", **few),
            RIGHT_IN_THREADS,
        ],
        "wrong": lambda: [
            cf.mpi_allreduce(overwrites, SUM, **few),
            cf.mpi_allreduce(as_they_come, [*SUM, cf.WordsAtMost(_ring)], ranks=(3,), **few),
            cf.mpi_allreduce(refuses, SUM, ranks=(2,), **few),
            cf.mpi_allreduce(draws_on_rank_one, **few),
            cf.mpi_allreduce(widens_on_rank_one, ranks=(3,), **few),
            cf.mpi_allreduce(counts_on_rank_one, ranks=(3,), **few),
            cf.mpi_allreduce(uses_its_array_again, **few),
            *WRONG_IN_THREADS,
        ],
        "waiting": lambda: [cf.mpi_allreduce(waits, SUM, ranks=(3,), effort=0.05, time_limit=8.0), RIGHT_IN_THREADS],
        "sleeping": lambda: cf.mpi_allreduce(sleeps, time_limit=2.0),
        "three": lambda: cf.mpi_allreduce(library, SUM, ranks=(3,)),
    }
    if name not in made:
        raise AttributeError(name)
    return made[name]()
