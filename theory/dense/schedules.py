"""Schedules of the dense collectives: as printed, and exact for every number of ranks and words."""

from typing import Any

import sympy as sp

from commbounds.theory.cost import Cost, Phase, Schedule, log2, power_below, t
from commbounds.theory.dense.node_schedules import IN_NODES as IN_NODES
from commbounds.theory.dense.terms import (
    BLOCKS_DIVIDE,
    BRUCK_1997,
    PATARASUK_2009,
    POWER_OF_TWO_RANKS,
    RABENSEIFNER_2004,
    THAKUR_2005,
    ceil_log2,
    floor_log2,
)
from commbounds.theory.quantities import P, index_bits, n
from commbounds.theory.sources import derived

doublings = sp.Symbol("doublings", integer=True, nonnegative=True)
"""Steps of a doubling: log2 P, or as a schedule says."""
_extra = sp.Symbol("extra", integer=True, nonnegative=True)
_long = sp.Symbol("long", integer=True, nonnegative=True)
_whole = sp.Symbol("whole", integer=True, nonnegative=True)
_rest = sp.Symbol("rest", integer=True, nonnegative=True)

_LOG = ((doublings, log2(P)),)
_POWERS = (POWER_OF_TWO_RANKS,)
_EVEN_POWERS = (POWER_OF_TWO_RANKS, BLOCKS_DIVIDE)
_BLOCK = n / P

_RING_SCATTER = Phase("reduce-scatter", P - 1, _BLOCK, _BLOCK)
_RING_GATHER = Phase("all-gather", P - 1, _BLOCK)
# recursive halving: n/2, n/4, ..., n/P; recursive doubling: n/P, 2n/P, ..., n/2
_HALVING = Phase("reduce-scatter", doublings, n / 2 ** (t + 1), n / 2 ** (t + 1))
_DOUBLING = Phase("all-gather", doublings, 2**t * _BLOCK)
# Bruck: 1, 2, 4, ... blocks, and in the last step the P - 2^(doublings - 1) that are left
_BRUCK = (Phase("doubling", doublings - 1, 2**t * _BLOCK), Phase("rest", 1, (P - 2 ** (doublings - 1)) * _BLOCK))

PRINTED = (
    Schedule(
        "ring",
        "ring all-reduce",
        (_RING_SCATTER, _RING_GATHER),
        PATARASUK_2009.recalled("cost of the ring"),
        (BLOCKS_DIVIDE,),
        printed=Cost(2 * (P - 1), 2 * n * (P - 1) / P),
    ),
    Schedule(
        "recursive_doubling",
        "recursive doubling all-reduce",
        (Phase("exchange", doublings, n, n),),
        THAKUR_2005.second_hand("cost of recursive doubling, for powers of two"),
        _POWERS,
        _LOG,
        Cost(log2(P), n * log2(P)),
    ),
    Schedule(
        "rabenseifner",
        "Rabenseifner's all-reduce: recursive halving, then recursive doubling",
        (_HALVING, _DOUBLING),
        RABENSEIFNER_2004.second_hand("cost for powers of two"),
        _EVEN_POWERS,
        _LOG,
        Cost(2 * log2(P), 2 * n * (P - 1) / P),
    ),
    Schedule(
        "butterfly",
        "direct reduce-scatter, then direct all-gather, a peer a step",
        (_RING_SCATTER, _RING_GATHER),
        derived("In step s every rank sends one block of n/P words to the s-th rank after it, in both halves."),
        (BLOCKS_DIVIDE,),
        printed=Cost(2 * (P - 1), 2 * n * (P - 1) / P),
    ),
    Schedule(
        "reduce_scatter",
        "ring reduce-scatter of n words",
        (_RING_SCATTER,),
        PATARASUK_2009.recalled("first half of the ring"),
        (BLOCKS_DIVIDE,),
        printed=Cost(P - 1, n * (P - 1) / P),
        kind="part",
    ),
    Schedule(
        "allgather_ring",
        "ring all-gather to n words",
        (_RING_GATHER,),
        THAKUR_2005.second_hand("cost of the ring all-gather"),
        (BLOCKS_DIVIDE,),
        printed=Cost(P - 1, n * (P - 1) / P),
        kind="part",
    ),
    Schedule(
        "allgather_doubling",
        "recursive doubling all-gather to n words",
        (_DOUBLING,),
        THAKUR_2005.second_hand("cost of the recursive doubling all-gather, for powers of two"),
        _EVEN_POWERS,
        _LOG,
        Cost(log2(P), n * (P - 1) / P),
        "part",
    ),
    Schedule(
        "allgather_bruck",
        "Bruck's all-gather to n words",
        _BRUCK,
        BRUCK_1997.second_hand("cost of the concatenation for equal blocks, as in MPICH's source"),
        (BLOCKS_DIVIDE,),
        ((doublings, ceil_log2),),
        Cost(ceil_log2, n * (P - 1) / P),
        "part",
    ),
)
"""As the literature idealises them; exact where `assumes` holds."""

_FOLD = (Phase("fold", _extra, n, n), Phase("unfold", _extra, n))
_POWER_BELOW = ((doublings, floor_log2), (_extra, ceil_log2 - floor_log2))
_COUNTED = derived(
    "Blocks are one word longer for the first n mod P ranks, so the first q of them hold q floor(n/P) + "
    "min(q, n mod P) words, as many as any q in a row, and every step has a rank that moves those."
)


def _blocks(name: str, adds: bool) -> tuple[Phase, Phase]:
    """Phases that move 2^t blocks, t = 0, 1, ..., `doublings` - 1; only `long` of them by blocks that are all long."""
    early, late = 2**t * (_whole + 1), 2 ** (t + _long) * _whole + _rest
    return (
        Phase(f"{name}, long blocks", _long, early, early if adds else 0),
        Phase(f"{name}, all blocks", doublings - _long, late, late if adds else 0),
    )


def _block_sizes(ranks: Any, steps: Any = sp.oo) -> tuple[tuple[Any, Any], ...]:
    """What the symbols of `_blocks` stand for; where `ranks` is a power of two, all of its doublings are steps."""
    rest = sp.Mod(n, ranks)
    return ((_whole, sp.floor(n / ranks)), (_rest, rest), (_long, sp.Min(index_bits(rest + 1), steps)))


def _exact_rings() -> tuple[Schedule, ...]:
    longest = sp.ceiling(n / P)
    scatter, gather = Phase("reduce-scatter", P - 1, longest, longest), Phase("all-gather", P - 1, longest)
    source = derived("Every block is sent in every step, so the longest, ceil(n/P) words, is too.")
    return tuple(
        Schedule(name, title, phases, source, kind=kind)
        for name, title, phases, kind in (
            ("ring", "ring all-reduce of blocks that differ by a word", (scatter, gather), "dense"),
            ("butterfly", "direct all-reduce of blocks that differ by a word", (scatter, gather), "dense"),
            ("reduce_scatter", "ring reduce-scatter to blocks that differ by a word", (scatter,), "part"),
            ("allgather_ring", "ring all-gather of blocks that differ by a word", (gather,), "part"),
        )
    )


EXACT = (
    *_exact_rings(),
    Schedule(
        "recursive_doubling",
        "recursive doubling all-reduce; ranks beyond a power of two fold theirs in first",
        (_FOLD[0], Phase("exchange", doublings, n, n), _FOLD[1]),
        derived("Ranks beyond 2^floor(log2 P) send n words to a partner before, and get n words after."),
        where=_POWER_BELOW,
    ),
    Schedule(
        "rabenseifner",
        "Rabenseifner's all-reduce; ranks beyond a power of two fold theirs in first",
        (_FOLD[0], *_blocks("reduce-scatter", True), *_blocks("all-gather", False), _FOLD[1]),
        _COUNTED,
        where=(*_POWER_BELOW, *_block_sizes(power_below(P))),
    ),
    Schedule(
        "allgather_doubling",
        "recursive doubling all-gather of blocks that differ by a word",
        _blocks("all-gather", False),
        _COUNTED,
        _POWERS,
        ((doublings, ceil_log2), *_block_sizes(P)),
        kind="part",
    ),
    Schedule(
        "allgather_bruck",
        "Bruck's all-gather of blocks that differ by a word",
        (
            *_blocks("all-gather", False),
            Phase("rest", _extra, (P - 2**doublings) * _whole + sp.Min(P - 2**doublings, _rest)),
        ),
        _COUNTED,
        where=(
            (doublings, sp.Max(ceil_log2 - 1, 0)),
            (_extra, ceil_log2 - sp.Max(ceil_log2 - 1, 0)),
            *_block_sizes(P, sp.Max(ceil_log2 - 1, 0)),
        ),
        kind="part",
    ),
)
"""Exact for every P and n (or as `assumes` says), where blocks differ by one word."""
