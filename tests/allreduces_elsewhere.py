"""All-reduces of other libraries, held to derived tolerances by all their ranks; runs of them, as a program.

``python allreduces_elsewhere.py gloo FILE RANK P ROUNDS`` is a rank of gloo's, and
``mpirun -n P python -m mpi4py allreduces_elsewhere.py mpi ROUNDS`` runs those of MPI. The first rank prints how many
runs were held to their bounds, in how many of them all ranks hold the same bits, and of how many sizes and formats the
order of additions was revealed and replayed.
"""

import sys

import ml_dtypes
import numpy as np

from commbounds.testing import assert_allreduce_close, assert_replayed, reveal

FAMILIES = ("normal", "wide", "cancelling", "tiny", "ones")


def vectors(rng, P, n, dtype, family):
    """Finite inputs of P ranks whose magnitudes add up to less than the largest number of the dtype."""
    info = ml_dtypes.finfo(dtype)
    x = rng.standard_normal((P, n))
    if family == "wide":
        low, high = np.log2(float(info.smallest_subnormal)), min(np.log2(float(info.max)), 996.0) - np.log2(P) - 6.0
        x = np.sign(x) * np.exp2(rng.uniform(low, high, (P, n)))
    elif family == "cancelling" and P > 1:
        x[P // 2 :] = -x[: P - P // 2] * (1.0 + 2.0**-6 * rng.standard_normal((P - P // 2, n)))
    elif family == "tiny":
        x = np.rint(6.0 * x) * float(info.smallest_subnormal)
    elif family == "ones":
        x = np.ones((P, n)) + (rng.random((P, n)) < 0.5) * float(info.eps) / 2.0
    if family in ("normal", "cancelling", "ones"):
        x = x * min(1.0, float(info.max) / (16.0 * P))
    return x.astype(dtype)


def rounds(many, P):
    """Inputs of as many runs, with what is asked of them: the same on every rank."""
    for run in range(many):
        rng = np.random.default_rng([P, run])
        dtype = (np.float32, np.float64)[run % 2]
        n = int(rng.integers(1, 300)) if run % 10 else 40_000
        yield vectors(rng, P, n, dtype, FAMILIES[run // 2 % len(FAMILIES)])


def held(P, many, reduced, gathered, rank):
    """Runs, of which all ranks' results are within the bounds; prints on the first rank."""
    runs, agreeing = 0, 0
    for x in rounds(many, P):
        results = gathered(reduced(x[rank].copy()))
        if rank == 0:
            assert_allreduce_close(results, x, allow_vacuous=True)
            rows = [np.asarray(row) for row in results]
            agreeing += all(row.tobytes() == rows[0].tobytes() for row in rows)
            runs += 1
    if rank == 0:
        print(runs, agreeing, end=" ")


def replayed(P, reduced, gathered, rank, dtypes):
    """Sizes and formats whose order of additions, once revealed, gives the bits for other data, on all ranks."""

    def allreduce(x):
        return gathered(reduced(x[rank].copy()))

    done = 0
    for dtype in dtypes:
        for n in (30, 3000):
            found = reveal(allreduce, P, n, dtype)
            assert found.order is not None, found
            assert found.same_bits, found
            x = vectors(np.random.default_rng([P, n]), P, n, np.dtype(getattr(ml_dtypes, dtype, dtype)), "normal")
            assert_replayed(allreduce(x), x, found.order)
            assert_allreduce_close(allreduce, x, order=found.order)
            assert_allreduce_close(allreduce, x, same_bits=True)
            done += 1
    if rank == 0:
        print(done)


def by_gloo(file, rank, P, many):
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=P)

    def reduced(x):
        narrow = x.dtype.name == "bfloat16"
        tensor = torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if narrow else torch.from_numpy(x)
        dist.all_reduce(tensor)
        return tensor

    def gathered(tensor):
        rows = [torch.empty_like(tensor) for _ in range(P)]
        dist.all_gather(rows, tensor)
        return rows

    held(P, many, reduced, gathered, rank)
    replayed(P, reduced, gathered, rank, ("float32", "float16", "bfloat16"))
    dist.destroy_process_group()


def by_mpi(many):
    from mpi4py import MPI

    world = MPI.COMM_WORLD

    def reduced(x):
        total = np.empty_like(x)
        world.Allreduce(x, total)
        return total

    def gathered(x):
        return world.allgather(x)

    held(world.size, many, reduced, gathered, world.rank)
    replayed(world.size, reduced, gathered, world.rank, ("float32", "float64"))


if __name__ == "__main__":
    if sys.argv[1] == "gloo":
        by_gloo(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        by_mpi(int(sys.argv[2]))
