"""All-reduce whose messages are in a block format: a ring that rounds every hop, or two steps that round twice."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._peers import checked_rng
from commbounds.collectives.blockformats.wire import bytes_of, message_of
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import check_uniforms, checked_choice, shown
from commbounds.compressors.blockformats import NVFP4, Microscaling

SCHEDULES = ("ring", "direct")
"""Round the ring, every partial sum rounded; or every rank's blocks to their owners, which add what they read."""


def rounding_stages(schedule: str, P: int) -> int:
    """How often what a rank holds is rounded: rows of the uniforms that `requantised_allreduce` takes."""
    return P if schedule == "ring" else 2


@one_program(np.stack)
def requantised_allreduce(
    comm: Communicator,
    vector: ArrayLike,
    quantiser: Microscaling | NVFP4,
    schedule: str = "ring",
    rng: np.random.Generator | None = None,
    *,
    uniforms: ArrayLike | None = None,
) -> Array:
    """The sum of the ranks' vectors, sent in a block format.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite. Sums are taken in its dtype; they must stay finite.
    quantiser : Microscaling or NVFP4
        Stochastic ones too. Every part of a vector has blocks of its own.
    schedule : {"ring", "direct"}
        ring: in the reduce-scatter a part is quantised, sent, read and added to the next rank's own P - 1 times; its
        sum is quantised once more, and goes round as it is. direct: every rank quantises the P parts of its vector and
        sends each to its owner, which adds what it reads in the order of the ranks, its own part as it would be read
        too; the sum is quantised, and goes round.
    rng : numpy.random.Generator or None
        Required by stochastic quantisers, where `uniforms` are not given.
    uniforms : (stages, P, n) dtype of stack, or None
        In place of `rng`: in [0, 1). In row (h, p) those of what rank p rounds at stage h, at the places of the
        entries. The ring has P stages, direct two.

    Returns
    -------
    sums : (P, n) dtype of stack
        The same on every rank. For P = 1 the vector, quantised once (ring) or twice (direct).
    traffic : Traffic
        In bytes: of every message those of its elements, rounded up, and those of its scales. Phases reduce-scatter
        and all-gather. Empty parts send messages without bytes. For P = 1 nothing is sent.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; another quantiser or schedule; no generator where one is needed; uniforms of another
        shape, or where nothing is drawn; sums that overflow.

    Examples
    --------
    >>> sums, traffic = requantised_allreduce([[4.0, 1.0], [0.9, 1.0]], Microscaling(block=1))
    >>> sums[0].tolist(), traffic.sent.tolist()
    ([4.0, 2.0], [4, 4])
    """

    def settings(row: Array) -> Mapping[str, Any]:
        checked_choice("schedule", schedule, SCHEDULES)
        if not isinstance(quantiser, Microscaling | NVFP4):
            raise TypeError(f"quantiser must be a Microscaling or an NVFP4, got {shown(quantiser)}")
        return {"quantiser": quantiser, "schedule": schedule}

    (x,) = agreed_row(comm, vector, settings)
    drawn = comm.common(lambda: _uniforms(rounding_stages(schedule, comm.size), comm.size, x, quantiser, rng, uniforms))
    if drawn is not None and not comm.one_caller:
        agreed_alike(comm, {"the checksum of the uniforms": checksum(drawn)})
    ends = [x.size // comm.size * j + min(j, x.size % comm.size) for j in range(comm.size + 1)]
    parts = [slice(*span) for span in pairwise(ends)]

    def code(values: Array, stage: int, part: int) -> Array:
        given = None if drawn is None else drawn[stage, comm.rank][parts[part]]
        return comm.agreed(lambda: _bytes(quantiser, values, given))

    def read(sent: Array, part: int) -> Array:
        size = parts[part].stop - parts[part].start
        return quantiser.decompress(message_of(sent, quantiser, size, x.dtype)) if size else x[:0]  # type: ignore[arg-type]

    comm.phase("reduce-scatter")
    mine, total = (_by_ring if schedule == "ring" else _directly)(comm, x, parts, code, read)
    comm.phase("all-gather")
    sent = code(total, rounding_stages(schedule, comm.size) - 1, mine)
    arrived = gathered(comm, (sent,), forms=lambda _: [(np.uint8, (None,))])
    shift = mine - comm.rank
    return comm.shared(lambda: np.concatenate([read(arrived[(j - shift) % comm.size][0], j) for j in range(comm.size)]))


Code = Callable[[Array, int, int], Array]
Read = Callable[[Array, int], Array]


def _by_ring(comm: Communicator, x: Array, parts: list[slice], code: Code, read: Read) -> tuple[int, Array]:
    """The part that this rank ends with, and its sum."""
    P, own = comm.size, comm.rank
    partial = x[parts[own]]
    for hop in range(P - 1):
        part, following = (own - hop) % P, (own - hop - 1) % P
        sent = code(partial, hop, part)
        before = (own - 1) % P
        (arrived,) = comm.fitting(
            before, comm.step({(own + 1) % P: parcel(sent)}, [before])[before], (np.uint8, (None,))
        )
        partial = _summed([read(arrived, following), x[parts[following]]])
    return (own + 1) % P, partial


def _directly(comm: Communicator, x: Array, parts: list[slice], code: Code, read: Read) -> tuple[int, Array]:
    own, others = comm.rank, [rank for rank in range(comm.size) if rank != comm.rank]
    codes = [code(x[part], 0, j) for j, part in enumerate(parts)]
    arrived = comm.step({rank: parcel(codes[rank]) for rank in others}, others) if others else {}
    held = {
        own: codes[own],
        **{rank: comm.fitting(rank, part, (np.uint8, (None,)))[0] for rank, part in arrived.items()},
    }
    return own, _summed([read(held[rank], own) for rank in range(comm.size)])


def _summed(terms: list[Array]) -> Array:
    total = np.zeros_like(terms[0])
    with np.errstate(over="ignore"):
        for term in terms:
            total += term
    return total


def _bytes(quantiser: Any, values: Array, uniforms: Array | None) -> Array:
    if values.size == 0:
        return np.zeros(0, np.uint8)
    if not np.isfinite(values).all():
        raise ValueError("stack must have finite sums, got more than its dtype holds")
    return bytes_of(quantiser.compress(values) if uniforms is None else quantiser.compress_with(values, uniforms))


def _uniforms(
    stages: int, P: int, x: Array, quantiser: Any, rng: np.random.Generator | None, uniforms: ArrayLike | None
) -> Array | None:
    shape = (stages, P, x.size)
    if not quantiser.randomised:
        if uniforms is not None:
            raise ValueError(f"uniforms must be None where nothing is drawn, got those for {quantiser}")
        return None
    if uniforms is None:
        return checked_rng(rng, "stochastic rounding").random(shape, x.dtype.type)
    given = np.asarray(uniforms)
    if given.dtype != x.dtype or given.shape != shape:
        raise ValueError(f"uniforms must be {x.dtype} of shape {shape}, got {given.dtype} of {given.shape}")
    check_uniforms("uniforms", given)
    return given
