"""Speed of the dense all-reduces, all words counted: beside the literal ones, numpy, and processes that talk."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import recursive_doubling_allreduce, ring_allreduce
from commbounds.collectives.dense.message_by_message import allreduced
from commbounds.verify.stopwatch import Benchmark, Stopwatch, timed

_ALLREDUCES: dict[str, tuple[str, Callable[[Array], object]]] = {
    "ring": ("ring", ring_allreduce),
    "recursive doubling": ("recursive-doubling", recursive_doubling_allreduce),
}

_MPI_RANK = """
import sys, time
import numpy as np
from mpi4py import MPI
world, n = MPI.COMM_WORLD, int(sys.argv[1])
given = np.random.default_rng(world.rank).standard_normal(n, np.float32)
for turn in range(2):
    world.Barrier()
    start = time.perf_counter()
    result = np.empty_like(given)
    world.Allreduce(given, result)
    spent = time.perf_counter() - start
slowest = world.reduce(spent, MPI.MAX)
if world.rank == 0:
    print(slowest)
"""
_GLOO_RANK = """
import sys, time
import numpy as np
import torch
import torch.distributed as dist
n, P, rank, meeting = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=P)
given = torch.from_numpy(np.random.default_rng(rank).standard_normal(n, np.float32))
for turn in range(2):
    dist.barrier()
    start = time.perf_counter()
    result = given.clone()
    dist.all_reduce(result)
    spent = torch.tensor([time.perf_counter() - start], dtype=torch.float64)
dist.all_reduce(spent, dist.ReduceOp.MAX)
if rank == 0:
    print(spent.item())
dist.destroy_process_group()
"""


def _stack(P: int, n: int) -> Array:
    return np.random.default_rng([7, P, n]).standard_normal((P, n), np.float32)


def _sum_and_copies(stack: Array) -> Array:
    return np.tile(stack.sum(axis=0), (len(stack), 1))


def _in_process_cases(n: int) -> Iterator[Benchmark]:
    for P in (32, 64):
        stack = _stack(P, n)
        for name, (algorithm, ours) in _ALLREDUCES.items():
            peers = {
                "message by message": timed(partial(allreduced, stack, algorithm)),
                "numpy sum and copies": timed(partial(_sum_and_copies, stack)),
            }
            targets = dict(zip(peers, ((2.0, 3.5), (2.0, 3.0)), strict=True))
            title = f"all-reduce, {name}, P = {P}"
            yield Benchmark(title, "ns/word of a rank", 1e9 / stack.size, timed(partial(ours, stack)), peers, targets)
        # every word is read once and written once, whoever adds them up
        copy = {"a copy of the vectors": timed(stack.copy)}
        ring = timed(partial(ring_allreduce, stack))
        yield Benchmark(f"all-reduce, ring, P = {P}", "ns/word of a rank", 1e9 / stack.size, ring, copy)


def _mpi(mpirun: str, n: int, P: int) -> float:
    """Seconds of one all-reduce by `P` processes under `mpirun`, the slowest one's; the second of two counts."""
    # Open MPI refuses what it was not told of; others do not read these
    allowed = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    command = [mpirun, "-n", str(P), sys.executable, "-c", _MPI_RANK, str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **allowed})
    return float(done.stdout)


def _gloo(n: int, P: int) -> float:
    """As `_mpi`, by torch.distributed with gloo."""
    with tempfile.TemporaryDirectory() as folder:
        meeting = str(Path(folder) / "meeting")
        ranks = [
            subprocess.Popen(
                [sys.executable, "-c", _GLOO_RANK, str(n), str(P), str(rank), meeting],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(P)
        ]
        said = [rank.communicate() for rank in ranks]
    for rank, (_, errors) in zip(ranks, said, strict=True):
        if rank.returncode:
            raise RuntimeError(f"gloo ended with {rank.returncode}: {errors.strip()}")
    return float(said[0][0])


def _process_cases(n: int) -> Iterator[Benchmark]:
    mpirun = shutil.which("mpirun") if importlib.util.find_spec("mpi4py") else None
    torch = importlib.util.find_spec("torch") is not None
    for P in (2, 4):
        peers: dict[str, Stopwatch] = {}
        if mpirun is not None:
            peers["MPI"] = partial(_mpi, mpirun, n, P)
        if torch:
            peers["gloo"] = partial(_gloo, n, P)
        if not peers:
            continue
        stack = _stack(P, n)
        targets = {"MPI": (2.0, 4.0), "gloo": (5.0, 10.0)}
        ours = timed(partial(ring_allreduce, stack))
        yield Benchmark(f"all-reduce in process, P = {P}", "ns/word of a rank", 1e9 / stack.size, ours, peers, targets)


def cases(n: int = 1_000_000, n_processes: int = 10_000_000) -> Iterator[Benchmark]:
    """Every case, one by one: `n` words a rank in one process, `n_processes` beside several.

    Peers that are not installed are left out: mpi4py with ``mpirun``, torch with gloo.
    """
    yield from _in_process_cases(n)
    yield from _process_cases(n_processes)
