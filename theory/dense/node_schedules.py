"""Schedules on a machine whose ranks sit in nodes, with fast links within and slow links between them.

Every rank has its own link of either kind; ranks of one node do not share theirs.
"""

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis
from commbounds.theory.cost import Phase, Schedule, log2, t
from commbounds.theory.dense.terms import BLOCKS_DIVIDE, POWER_OF_TWO_RANKS
from commbounds.theory.quantities import P, n
from commbounds.theory.sources import derived
from commbounds.theory.symbols import Symbol

nodes = Symbol("nodes", "N", 1, integer=True, positive=True)
"""Nodes, of P/nodes ranks each."""
_inner = sp.Symbol("inner", integer=True, nonnegative=True)
_outer = sp.Symbol("outer_step", integer=True, nonnegative=True)

_MEMBERS = P / nodes
# in a tuple: a condition of schedules, not of claims
_EVEN = (
    Hypothesis(
        "nodes_divide", "There are at least two nodes, all of one size.", Ge(nodes, 2) & Eq(sp.Mod(P, nodes), 0)
    ),
)
_POWERS = (*_EVEN, POWER_OF_TWO_RANKS)
_LOGS = ((_inner, log2(_MEMBERS)), (_outer, log2(nodes)))
_NEAR = 2**_inner
_FAR = 2**_outer
_ALL = 2 ** (_inner + _outer)
_NEIGHBOURS_FIRST = derived("Exchanges begin with the nearest rank, so that the first log2(P/nodes) stay in the node.")

IN_NODES = (
    Schedule(
        "ring",
        "ring all-reduce, node after node",
        (Phase("reduce-scatter", P - 1, n / P, n / P), Phase("all-gather", P - 1, n / P)),
        derived("In every step some rank sends to the next node, and the step waits for it."),
        (*_EVEN, BLOCKS_DIVIDE),
    ),
    Schedule(
        "recursive_doubling",
        "recursive doubling all-reduce, neighbours first",
        (Phase("within nodes", _inner, n, n, "intra"), Phase("between nodes", _outer, n, n)),
        _NEIGHBOURS_FIRST,
        _POWERS,
        _LOGS,
    ),
    Schedule(
        "rabenseifner_near",
        "Rabenseifner's all-reduce, neighbours first",
        (
            Phase("halving within nodes", _inner, n / 2 ** (t + 1), n / 2 ** (t + 1), "intra"),
            Phase("halving between nodes", _outer, n / _NEAR / 2 ** (t + 1), n / _NEAR / 2 ** (t + 1)),
            Phase("doubling between nodes", _outer, 2**t * n / _ALL),
            Phase("doubling within nodes", _inner, 2**t * n / _NEAR, link="intra"),
        ),
        _NEIGHBOURS_FIRST,
        (*_POWERS, BLOCKS_DIVIDE),
        _LOGS,
    ),
    Schedule(
        "rabenseifner",
        "Rabenseifner's all-reduce, farthest ranks first",
        (
            Phase("halving between nodes", _outer, n / 2 ** (t + 1), n / 2 ** (t + 1)),
            Phase("halving within nodes", _inner, n / _FAR / 2 ** (t + 1), n / _FAR / 2 ** (t + 1), "intra"),
            Phase("doubling within nodes", _inner, 2**t * n / _ALL, link="intra"),
            Phase("doubling between nodes", _outer, 2**t * n / _FAR),
        ),
        derived("Exchanges begin with the farthest rank, so that the longest messages go between nodes."),
        (*_POWERS, BLOCKS_DIVIDE),
        _LOGS,
        note="The usual order, in which neighbouring ranks end with neighbouring blocks; so does `collectives.dense`.",
    ),
    Schedule(
        "hierarchical",
        "reduce-scatter within nodes, ring all-reduce between them, all-gather within nodes",
        (
            Phase("reduce-scatter within nodes", _MEMBERS - 1, n / _MEMBERS, n / _MEMBERS, "intra"),
            Phase("reduce-scatter between nodes", nodes - 1, n / P, n / P),
            Phase("all-gather between nodes", nodes - 1, n / P),
            Phase("all-gather within nodes", _MEMBERS - 1, n / _MEMBERS, link="intra"),
        ),
        derived("P/nodes rings, one for every place in a node, reduce n nodes/P words each at the same time."),
        (*_EVEN, BLOCKS_DIVIDE),
    ),
)
"""Dense all-reduces in nodes."""
