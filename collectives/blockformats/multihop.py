"""All-reduce over many hops, every partial sum rounded again: round a ring, or by halves (a butterfly)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from commbounds.array_types import Array
from commbounds.collectives.blockformats.requantised import _by_ring, _bytes, _summed, _uniforms
from commbounds.collectives.blockformats.wire import message_of
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import checked_choice, checked_count, checked_real, shown
from commbounds.compressors.blockformats import NVFP4, Microscaling

TOPOLOGIES = ("ring", "butterfly")
"""Partial sums go round; or, at every stage, partners swap the halves that they do not keep."""


@dataclass(frozen=True)
class Thinned:
    """A message of some of the entries, each kept with one probability, and then over it: E[(C(x) - x)^2] = w x^2.

    w is 1/keep - 1, the same for every entry whatever its size: the growth of variance over hops can be told exactly.

    Parameters
    ----------
    keep : float
        In (0, 1].
    """

    keep: float = 0.5
    randomised = True

    def __post_init__(self) -> None:
        share = checked_real("keep", self.keep)
        if not 0.0 < share <= 1.0:
            raise ValueError(f"keep must be in (0, 1], got {shown(self.keep)}")
        object.__setattr__(self, "keep", share)

    def sent(self, x: Array, uniforms: Array) -> Array:
        """Bytes: a bit an entry, and the entries that are kept, as they are; kept where the uniform is below `keep`."""
        kept = uniforms < self.keep
        return np.concatenate([np.packbits(kept), np.ascontiguousarray(x[kept]).view(np.uint8)])

    def read(self, sent: Array, n: int, dtype: DTypeLike) -> Array:
        """The vector that they stand for."""
        first = -(-n // 8)
        kept = np.unpackbits(sent[:first], count=n).astype(bool)
        out: Array = np.zeros(n, dtype)
        size = first + int(kept.sum()) * out.itemsize
        if sent.size != size:
            raise ValueError(f"the message must have {size} bytes, {kept.sum()} entries with it, got {sent.size}")
        with np.errstate(over="ignore"):
            out[kept] = sent[first:].copy().view(dtype) / np.asarray(self.keep, dtype)
        return out


def hop_stages(topology: str, P: int) -> int:
    """How often a part is rounded on its longest way: rows of the uniforms that `multihop_allreduce` takes."""
    ranks = checked_count("P", P)
    return ranks if topology == "ring" else ranks.bit_length()


@one_program(np.stack)
def multihop_allreduce(
    comm: Communicator,
    vector: ArrayLike,
    quantiser: Microscaling | NVFP4 | Thinned,
    topology: str = "butterfly",
    rng: np.random.Generator | None = None,
    *,
    uniforms: ArrayLike | None = None,
) -> Array:
    """The sum of the ranks' vectors, whose partial sums are quantised at every hop of a ring or a butterfly.

    In a butterfly of P = 2^L ranks, rank p swaps halves of what it holds with ranks p xor P/2, p xor P/4, ..., 1, each
    time adding what it reads to the half that it keeps: L hops in place of the ring's P - 1, after which it has part p.
    Either way sums are quantised once more, and go round as they are. Han et al. 2026 (DynamiQ, arXiv:2602.08923)
    compare both; their format has super-groups with widths of their own, which are left out here.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite. Sums are taken in its dtype; they must stay finite.
    quantiser : Microscaling, NVFP4 or Thinned
        Stochastic ones too. Every message has blocks of its own.
    topology : {"ring", "butterfly"}
        The butterfly wants P a power of two. The ring is that of `requantised_allreduce`.
    rng : numpy.random.Generator or None
        Required by quantisers that draw, where `uniforms` are not given.
    uniforms : (stages, P, n) dtype of stack, or None
        In place of `rng`: in [0, 1). In row (h, p) those of what rank p rounds at stage h, at the places of the
        entries; `hop_stages` stages.

    Returns
    -------
    sums : (P, n) dtype of stack
        The same on every rank. For P = 1 the vector, quantised once.
    traffic : Traffic
        In bytes. Phases reduce-scatter and all-gather.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; another quantiser or topology; P is no power of two for a butterfly; no generator where
        one is needed; uniforms of another shape, or where nothing is drawn; sums that overflow.

    Examples
    --------
    >>> sums, traffic = multihop_allreduce([[4.0, 1.0], [0.9, 1.0], [0.9, 1.0], [0.9, 1.0]], Microscaling(block=1))
    >>> sums[0].tolist(), traffic.sent.tolist()
    ([6.0, 4.0], [4, 6, 7, 5])
    """

    def settings(_row: Array) -> Mapping[str, Any]:
        checked_choice("topology", topology, TOPOLOGIES)
        if not isinstance(quantiser, Microscaling | NVFP4 | Thinned):
            raise TypeError(f"quantiser must be a Microscaling, an NVFP4 or a Thinned, got {shown(quantiser)}")
        if topology == "butterfly" and comm.size & (comm.size - 1):
            raise ValueError(f"a butterfly must have a power of two of ranks, got {comm.size}")
        return {"quantiser": quantiser, "topology": topology}

    (x,) = agreed_row(comm, vector, settings)
    drawn = comm.common(lambda: _uniforms(hop_stages(topology, comm.size), comm.size, x, quantiser, rng, uniforms))
    if drawn is not None and not comm.one_caller:
        agreed_alike(comm, {"the checksum of the uniforms": checksum(drawn)})
    ends = [x.size // comm.size * j + min(j, x.size % comm.size) for j in range(comm.size + 1)]
    parts = [slice(*span) for span in pairwise(ends)]

    def code_of(values: Array, stage: int, span: slice) -> Array:
        given = None if drawn is None else drawn[stage, comm.rank][span]
        return comm.agreed(lambda: _coded(quantiser, values, given))

    def read_of(sent: Array, size: int) -> Array:
        if size == 0:
            return np.zeros(0, x.dtype)
        if isinstance(quantiser, Thinned):
            return quantiser.read(sent, size, x.dtype)
        found: Array = quantiser.decompress(message_of(sent, quantiser, size, x.dtype))  # type: ignore[arg-type]
        return found

    def code(values: Array, stage: int, part: int) -> Array:
        return code_of(values, stage, parts[part])

    def read(sent: Array, part: int) -> Array:
        return read_of(sent, parts[part].stop - parts[part].start)

    comm.phase("reduce-scatter")
    if topology == "ring":
        mine, total = _by_ring(comm, x, parts, code, read)
    else:
        mine, total = comm.rank, _by_halves(comm, x, ends, code_of, read_of)
    comm.phase("all-gather")
    sent = code(total, hop_stages(topology, comm.size) - 1, mine)
    arrived = gathered(comm, (sent,), forms=lambda _: [(np.uint8, (None,))])
    shift = mine - comm.rank
    return comm.shared(lambda: np.concatenate([read(arrived[(j - shift) % comm.size][0], j) for j in range(comm.size)]))


def _by_halves(comm: Communicator, x: Array, ends: list[int], code: Any, read: Any) -> Array:
    """The sum of this rank's part."""
    held, first, count, stage = x, 0, comm.size, 0
    while count > 1:
        half = count // 2
        upper = comm.rank - first >= half
        partner = comm.rank - half if upper else comm.rank + half
        low, middle, high = ends[first], ends[first + half], ends[first + count]
        kept, away = (slice(middle, high), slice(low, middle)) if upper else (slice(low, middle), slice(middle, high))
        sent = code(held[away.start - low : away.stop - low], stage, away)
        (arrived,) = comm.fitting(partner, comm.step({partner: parcel(sent)}, [partner])[partner], (np.uint8, (None,)))
        held = _summed([read(arrived, kept.stop - kept.start), held[kept.start - low : kept.stop - low]])
        first, count, stage = first + half * upper, half, stage + 1
    return held


def _coded(quantiser: Any, values: Array, uniforms: Array | None) -> Array:
    if not isinstance(quantiser, Thinned):
        return _bytes(quantiser, values, uniforms)
    if not np.isfinite(values).all():
        raise ValueError("stack must have finite sums, got more than its dtype holds")
    if uniforms is None:
        raise ValueError("uniforms must be given where entries are thinned")
    return quantiser.sent(values, uniforms)
