"""The command ``fingerprint``: in which orders an all-reduce adds, by size and format."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commbounds._count import WHOLE, Count
from commbounds._terminal import RegularFile, plain
from commbounds.folders import written

if TYPE_CHECKING:
    from commbounds._reveal import Revealed


@click.command()
@click.argument("target", required=False, metavar="[MODULE:FUNCTION]")
@click.option("--P", "-P", "ranks", type=WHOLE, default=None, help="Ranks, of a function.")
@click.option("--sizes", default="1,8,100,1000", show_default=True, help="Entries, with commas between them.")
@click.option(
    "--dtypes", default=None, help="float32, float64, float16, bfloat16, fp8 ..., with commas; default: what there is."
)
@click.option(
    "--offset",
    type=Count(0),
    default=0,
    help="Numbers by which buffers begin behind an aligned address. With --against: does that change the order?",
)
@click.option("--mpi", is_flag=True, help="MPI's Allreduce, under mpirun.")
@click.option(
    "--torch", "backend", default=None, metavar="BACKEND", help="torch.distributed's, under torchrun: gloo ..."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--out", type=RegularFile(), help="Write what was found, as JSON.")
@click.option("--against", type=RegularFile(exists=True), help="Compare with an earlier file.")
def fingerprint(
    target: str | None,
    ranks: int | None,
    sizes: str,
    dtypes: str | None,
    offset: int,
    mpi: bool,
    backend: str | None,
    as_json: bool,
    out: Path | None,
    against: Path | None,
) -> None:
    """Find out in which order an all-reduce adds. Formats are found, too, and where order or format changes.

    FUNCTION of a module or file (path/to/file.py:function) takes the stacked inputs, (P, n), and returns the result of
    one rank or of all. Or: mpirun -n 4 commbounds fingerprint --mpi; torchrun ... -m commbounds fingerprint --torch
    gloo. Exits with 1 if --against differs or all ranks do not have the same bits, 2 for wrong usage.
    """
    if (target is not None) + mpi + (backend is not None) != 1:
        raise click.UsageError("give MODULE:FUNCTION, --mpi or --torch BACKEND")
    try:
        numbers = [int(size) for size in sizes.split(",")]
    except ValueError:
        raise click.UsageError(f"--sizes are numbers with commas between them, got {sizes!r}") from None
    first = True
    if target is not None:
        if ranks is None:
            raise click.UsageError("a function needs --P")
        f: Callable[[Any], Any] = partial(_of_placed, _loaded(target), offset)
        P, known = ranks, "float32,bfloat16"
    else:
        f, P, first, known = _of_mpi(offset) if mpi else _of_torch(str(backend), offset)
    try:
        found = _found(f, P, numbers, (dtypes or known).split(","))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if first:
        data = json.dumps([json.loads(one.to_json()) for one in found])
        click.echo(data if as_json else _table(found))
        if out is not None:
            written(out, f"{data}\n".encode())
        changes = [] if against is None else _changes(found, against)
        if against is not None:
            said = [f"against {plain(against.name)}:", *(f"    {c}" for c in changes or ["the same"])]
            click.echo("\n".join(said), err=as_json)
        sys.exit(1 if changes or any(one.same_bits is False for one in found) else 0)


def _found(f: Callable[[Any], Any], P: int, sizes: list[int], dtypes: list[str]) -> list[Revealed]:
    from commbounds._reveal import reveal

    return [reveal(f, P, n, dtype) for dtype in dtypes for n in sizes]


def _of_placed(function: Callable[[Any], Any], offset: int, x: Any) -> Any:
    return function(_placed(x, offset))


def _placed(x: Any, offset: int) -> Any:
    """A copy that begins so many numbers behind an address that 64 divides."""
    import numpy as np

    size = x.dtype.itemsize
    room = np.empty((x.size + offset) * size + 64, np.uint8)
    start = -room.ctypes.data % 64 + offset * size
    placed = room[start : start + x.size * size].view(x.dtype).reshape(x.shape)
    placed[...] = x
    return placed


def _table(found: list[Revealed]) -> str:
    """A row for every size and format; where the order changes with the size."""
    lines = [f"{'format':13} {'entries':>8}  {'accumulator':13} {'rounded':10} {'ranks':9} order"]
    for one in found:
        order = one.order
        same = {True: "same bits", False: "differ", None: "one seen"}[one.same_bits]
        said = f"not found out: {'; '.join(one.unknown)}" if order is None else order.name
        accumulator, rounds = ("-", "-") if order is None else (order.accumulate, order.rounds)
        lines.append(f"{one.dtype:13} {one.n:>8}  {accumulator:13} {rounds:10} {same:9} {said}")
    for before, after in pairwise(found):
        if before.dtype == after.dtype and before.order and after.order:
            kinds = [
                (order.name, order.accumulate, order.rounds, tuple(tree.pairs for tree in order.trees))
                for order in (before.order, after.order)
            ]
            if kinds[0] != kinds[1]:
                lines.append(f"{before.dtype}: sums are made otherwise from {before.n} to {after.n} entries")
    return "\n".join(lines)


def _changes(found: list[Revealed], against: Path) -> list[str]:
    from commbounds._reveal import Revealed
    from commbounds.verify.reading import parsed

    try:
        earlier = [Revealed.from_json(json.dumps(one)) for one in parsed(against.read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError) as error:
        raise click.UsageError(f"{against} is no fingerprint: {error}") from error
    known = {(one.dtype, one.n): one for one in earlier}
    changes = []
    for one in found:
        before = known.pop((one.dtype, one.n), None)
        said = ["is not there"] if before is None else one.differences(before)
        changes += [f"{one.dtype}, {one.n} entries: {words}" for words in said]
    return changes + [f"{dtype}, {n} entries: is not here" for dtype, n in known]


def _loaded(target: str) -> Callable[[Any], Any]:
    """A function by the name of its module, or the path of its file."""
    where, colon, name = target.rpartition(":")
    if not colon:
        raise click.UsageError(f"a function is MODULE:FUNCTION, got {target!r}")
    try:
        if where.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(where).stem, where)
            if spec is None or spec.loader is None:
                raise click.UsageError(f"{where} is no module")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            sys.path.insert(0, "")
            module = importlib.import_module(where)
        found = getattr(module, name)
    except (ImportError, OSError, AttributeError) as error:
        raise click.UsageError(f"{target} cannot be loaded: {error}") from error
    if not callable(found):
        raise click.UsageError(f"{target} is no function")
    return found  # type: ignore[no-any-return]


def _of_mpi(offset: int) -> tuple[Callable[[Any], Any], int, bool, str]:
    """MPI's Allreduce of this job: every process asks the same, and sees what all hold."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise click.UsageError(f"--mpi needs mpi4py: {error}") from error
    import numpy as np

    world = MPI.COMM_WORLD

    def allreduce(x: Any) -> Any:
        mine = _placed(x[world.rank], offset)
        total, rows = np.empty_like(mine), np.empty_like(x)
        world.Allreduce(mine, total)
        world.Allgather(total, rows)
        return rows

    return allreduce, world.size, world.rank == 0, "float32,float64"


def _of_torch(backend: str, offset: int) -> tuple[Callable[[Any], Any], int, bool, str]:
    """torch.distributed's of this job, whose variables torchrun sets."""
    try:
        import torch
        import torch.distributed as dist
    except ImportError as error:
        raise click.UsageError(f"--torch needs torch: {error}") from error
    import numpy as np

    dist.init_process_group(backend)
    rank, P = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", rank % torch.cuda.device_count()) if backend == "nccl" else torch.device("cpu")

    def allreduce(x: Any) -> Any:
        bits = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}[x.dtype.itemsize]
        mine = torch.from_numpy(_placed(x[rank], offset).view(bits)).view(getattr(torch, x.dtype.name)).to(device)
        dist.all_reduce(mine)
        rows = [torch.empty_like(mine) for _ in range(P)]
        dist.all_gather(rows, mine)
        return [row.cpu() for row in rows]

    return allreduce, P, rank == 0, "float32,bfloat16"
