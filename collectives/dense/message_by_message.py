"""Collectives carried out literally: every message of a step is taken out, then every one is delivered.

A collective is a row of parts, and a part is messages (see `_messages`) that add to what their targets hold, or
replace it. What the parts move is counted word by word as it is moved.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from commbounds.array_types import Array, Integers
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.messages import (
    backwards,
    core_size,
    direct,
    doubling,
    first_of_core,
    ring,
    ring_scatter,
)
from commbounds.collectives.traffic import Traffic, unwritable

_FEW = 1 << 10
"""Counts whose traffic is kept."""


class Part(NamedTuple):
    """Steps of one kind.

    Parameters
    ----------
    name : str
        Of the phase.
    messages : (M, 5) int64
        Who sends which blocks to whom in which step.
    adds : bool
        Whether targets add what arrives, or take it in place of what they hold.
    """

    name: str
    messages: Integers
    adds: bool

    @property
    def steps(self) -> int:
        """How many steps it takes."""
        return int(self.messages[-1, 0]) + 1 if len(self.messages) else 0


def ring_parts(P: int) -> list[Part]:
    """Every block goes once round adding up, and once round as the sum; it ends at its own rank in between."""
    return [Part("reduce-scatter", ring_scatter(P), True), Part("all-gather", ring(P), False)]


def butterfly_parts(P: int) -> list[Part]:
    """Every rank sends every block to its rank, which adds in the order r, r - 1, ..., and sends the sum to all."""
    return [Part("reduce-scatter", backwards(direct(P)), True), Part("all-gather", direct(P), False)]


def _folded(P: int, blocks: int, parts: list[Part]) -> list[Part]:
    """`parts`, which only the core takes part in, between the folding in of the other ranks and the sums for them."""
    odd = np.arange(1, 2 * (P - core_size(P)), 2)
    if odd.size == 0:
        return parts
    first, step, every = np.zeros_like(odd), np.zeros_like(odd), np.full_like(odd, blocks)
    fold = np.stack([step, odd, odd - 1, first, every], axis=1)
    return [Part("fold", fold, True), *parts, Part("unfold", fold[:, [0, 2, 1, 3, 4]].copy(), False)]


def recursive_doubling_parts(P: int) -> list[Part]:
    """Whole vectors, as one block."""
    core, first = core_size(P), first_of_core(P)
    member = np.arange(core)
    zero, one = np.zeros_like(member), np.ones_like(member)
    rows = [
        np.stack([np.full_like(member, j), first[member], first[member ^ 2**j], zero, one], axis=1)
        for j in range(core.bit_length() - 1)
    ]
    exchange = np.concatenate([np.empty((0, 5), np.int64), *rows])
    return _folded(P, 1, [Part("exchange", exchange, True)])


def rabenseifner_parts(P: int) -> list[Part]:
    """Recursive halving among the core, then recursive doubling, one block for every member of the core."""
    core = core_size(P)
    gather = doubling(core)
    gather[:, 1:3] = first_of_core(P)[gather[:, 1:3]]
    parts = [Part("reduce-scatter", backwards(gather), True), Part("all-gather", gather, False)]
    return _folded(P, core, parts)


ALLREDUCE: dict[str, tuple[Callable[[int], list[Part]], Callable[[int], int]]] = {
    "ring": (lru_cache(ring_parts), lambda P: P),
    "recursive-doubling": (lru_cache(recursive_doubling_parts), lambda P: 1),
    "rabenseifner": (lru_cache(rabenseifner_parts), core_size),
    "butterfly": (lru_cache(butterfly_parts), lambda P: P),
}
"""Name -> its parts and the number of blocks, both for P ranks; parts are made once, and not to be changed."""


def allreduced(stack: Array, algorithm: str) -> tuple[Array, Traffic]:
    """What every rank holds after the all-reduce of that name, and the traffic; `stack` is (P, n), checked."""
    parts, blocks = ALLREDUCE[algorithm]
    P, n = stack.shape
    held = stack.copy()
    return held, carried_out(held, even_cuts(n, blocks(P)), parts(P))


def carried_out(held: Array, edges: Integers, parts: Sequence[Part]) -> Traffic:
    """The traffic of `parts`, one after another, which change `held` (P, n); block b is edges[b] to edges[b + 1]."""
    return phased(counted(held, edges, parts), parts)


def counted(held: Array, edges: Integers, parts: Sequence[Part]) -> Integers:
    """As `carried_out`: words sent, words received and messages, (3, steps, P)."""
    counts = np.zeros((3, sum(part.steps for part in parts), len(held)), np.int64)
    mail = np.empty_like(held)
    begin = 0
    for part in parts:
        sent, received, count = counts[:, begin : begin + part.steps]
        with np.errstate(over="ignore", invalid="ignore"):  # without the JIT, numpy warns of sums out of range
            _move(held, edges, part.messages, part.adds, mail, sent, received, count)
        begin += part.steps
    return counts


def phased(counts: Integers, parts: Sequence[Part]) -> Traffic:
    """`counts` (sent, received and messages; steps; ranks) as a traffic whose phases are `parts`."""
    made = _phased if counts.size <= _FEW else _phased.__wrapped__
    return made(counts.tobytes(), counts.shape[2], tuple((part.name, part.steps) for part in parts))


@lru_cache(maxsize=1 << 10)
def _phased(counts: bytes, P: int, steps: tuple[tuple[str, int], ...]) -> Traffic:
    """What was counted comes again and again; not to be changed."""
    whole, found, begin = np.frombuffer(counts, np.int64).reshape(3, -1, P), {}, 0
    for name, count in steps:
        found[name], begin = Traffic.of_steps(*whole[:, begin : begin + count]), begin + count
    return unwritable(Traffic.of_phases(found))


def by_part(counts: Integers, parts: Sequence[Part]) -> list[tuple[str, Integers]]:
    """Every part's name, and its steps of `counts`."""
    found, begin = [], 0
    for part in parts:
        found.append((part.name, counts[:, begin : begin + part.steps]))
        begin += part.steps
    return found


@njit(cache=True, nogil=True)
def _move(held, edges, messages, adds, mail, sent, received, count):  # type: ignore[no-untyped-def]
    # mail[r] is what rank r sends in this step, every word at its place in the vector
    blocks = edges.size - 1
    start = 0
    while start < messages.shape[0]:
        step = messages[start, 0]
        stop = start
        while stop < messages.shape[0] and messages[stop, 0] == step:
            source = messages[stop, 1]
            for i in range(messages[stop, 4]):
                block = (messages[stop, 3] + i) % blocks
                inside = held[source, edges[block] : edges[block + 1]]
                letter = mail[source, edges[block] : edges[block + 1]]
                for w in range(inside.size):
                    letter[w] = inside[w]
                sent[step, source] += inside.size
            count[step, source] += 1
            stop += 1
        for m in range(start, stop):
            source, target = messages[m, 1], messages[m, 2]
            for i in range(messages[m, 4]):
                block = (messages[m, 3] + i) % blocks
                arrived = mail[source, edges[block] : edges[block + 1]]
                place = held[target, edges[block] : edges[block + 1]]
                for w in range(arrived.size):
                    place[w] = place[w] + arrived[w] if adds else arrived[w]
                received[step, target] += arrived.size
        start = stop
