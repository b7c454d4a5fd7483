"""What the shipped all-reduces have in common: who owns which entries, and how codes go to their owners and back."""

from collections.abc import Callable, Sequence

import numpy as np

from commbounds.array_types import Array, Bytes
from commbounds.collectives.ranks import Communicator, parcel

FP8_MAX = np.float32(448)


def owned_places(n: int, width: int, P: int) -> list[Array]:
    """The places of the entries that each rank owns: `width` in turn."""
    turns = np.arange(n) // width % P
    return [np.flatnonzero(turns == rank) for rank in range(P)]


def checked_finite(values: Array) -> Array:
    """`values`, if they are finite."""
    if not np.isfinite(values).all():
        raise ValueError("stack must have sums and ranges that float32 holds")
    return values


def padded(x: Array, multiple: int) -> Array:
    """`x` and zeros behind it along the last axis, up to a multiple of a number."""
    return np.concatenate([x, np.zeros((*x.shape[:-1], -x.shape[-1] % multiple), x.dtype)], axis=-1)


def exchanged(comm: Communicator, codes: Sequence[Bytes], sizes: Sequence[int]) -> list[Bytes]:
    """What every rank has for this one, which sends ``codes[rank]`` to each: ``sizes[rank]`` bytes of that one."""
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    arrived = comm.step({rank: parcel(codes[rank]) for rank in others}, others) if others else {}
    fitting = {r: comm.fitting(r, part, (np.uint8, (sizes[r],)))[0] for r, part in arrived.items()}
    return [codes[rank] if rank == comm.rank else fitting[rank] for rank in range(comm.size)]


def two_shot(
    comm: Communicator,
    x: Array,
    owned: list[Array],
    code: Callable[[Array], Bytes],
    read: Callable[[Bytes, int], Array],
    added: Callable[[list[Array]], tuple[Array, Bytes]],
) -> tuple[Array, Array]:
    """What is read of all sums, and this rank's own sum as it is; `code` and `read` take several of one length, too."""
    mine = owned[comm.rank]
    codes = _each(code, [x[part] for part in owned])
    arrived = exchanged(comm, codes, [codes[comm.rank].size] * comm.size)
    total, sent = added(_each(lambda rows: read(rows, mine.size), arrived))
    result, sums = np.empty_like(total, shape=x.shape), exchanged(comm, [sent] * comm.size, [c.size for c in codes])
    read_of = comm.shared(lambda: [read(own, part.size) for own, part in zip(sums, owned, strict=True)])
    for part, values in zip(owned, read_of, strict=True):
        result[part] = values
    return result, total


def _each(work: Callable[[Array], Array], parts: Sequence[Array]) -> list[Array]:
    """What is made of each part: at once, where they are of one length."""
    alike = len({part.size for part in parts}) == 1
    return list(work(np.stack(parts))) if alike else [work(part) for part in parts]
