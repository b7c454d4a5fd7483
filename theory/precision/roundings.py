"""How often a term of the sum is rounded on its way through an all-reduce: counted in the schedules' phases."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import sympy as sp

from commbounds.theory.cost import Phase, Schedule, critical_steps
from commbounds.theory.dense.node_schedules import nodes
from commbounds.theory.dense.schedules import EXACT, IN_NODES
from commbounds.theory.quantities import P, index_bits, n
from commbounds.theory.sources import derived

_BINOMIAL = Schedule(
    "binomial",
    "binomial tree to a root, then back",
    (Phase("reduce", index_bits(P), n, n), Phase("broadcast", index_bits(P), n)),
    derived("In step t ranks whose number has t zeros at its end, after a one, send to the rank without that one."),
)
# some are there in nodes, too: then it is the one without
_KNOWN = {schedule.name: schedule for schedule in (*IN_NODES, *EXACT, _BINOMIAL)}

_NCCL_TREE = sp.Max(0, 2 * index_bits(nodes) - 1) + P / nodes - 1
_OTHERS = {
    "chain": P - 1,
    "in_rank_order": P - 1,
    # a rank takes up two children, and the sum of the second passes one addition more than the level of its rank
    "double_binary_tree": _NCCL_TREE,
    # every block goes up a binomial tree to its owner (arXiv 2506.20252)
    "pat": index_bits(P),
    "nvls": P - 1,
    "collnet": P / nodes + nodes - 2,
}
"""Additions of schedules without a cost model here."""
_ONE_BY_ONE = ("ring", "butterfly", "direct", "chain", "in_rank_order")
"""Where a running sum takes up one term after another."""
_AT_ONE_PLACE = ("butterfly", "direct", "in_rank_order", "nvls")
"""Where all additions are made at one rank or in a switch, and the sum is sent when it is whole."""
HALVED = ("recursive_doubling", "rabenseifner", "binomial")
"""Where sums of as many ranks are added, of a power of two of ranks."""
_EVERY_SUM = ("ring", "recursive_doubling", "chain", "any")
"""Where every partial sum is sent, and so rounded to the wire's format, before anything is added to it; "any" is meant
so. Elsewhere some sums stay at a rank, in the accumulator's format, until the next term arrives."""
IN_A_SWITCH = ("nvls", "collnet")
"""Where a switch adds the terms of all ranks, or of all nodes, in an order that is not known."""

OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {"tree": "binomial", "sharp": "collnet", "nccl_tree": "double_binary_tree", "nccl": "any"}
)
"""Spellings of schedules that are understood, besides hyphens: nccl chooses an order by size and topology."""


def one_name(name: str) -> str:
    """The name of a schedule in one spelling: with underscores, and as it is called now."""
    if not isinstance(name, str):
        raise TypeError(f"a schedule must be a string, got {type(name).__name__}")
    name = name.replace("-", "_").replace(" ", "_")
    return OTHER_NAMES.get(name, name)


SCHEDULE_NAMES = (
    *("ring", "recursive_doubling", "rabenseifner", "butterfly", "direct", "binomial", "hierarchical", "chain"),
    *("in_rank_order", "double_binary_tree", "pat", "nvls", "collnet", "any"),
)
"""Schedules whose roundings are known; "any" is any order of additions, by any tree."""
AVERAGES = ("before", "after", "halving")
"""When an average is divided: every term before it is added, the sum, or both operands of every addition by two."""


@dataclass(frozen=True)
class Roundings:
    """How often a term of the sum is rounded on its longest way from its rank to the result.

    Parameters
    ----------
    schedule : str
        Of which all-reduce; in `SCHEDULE_NAMES`.
    additions : sympy expression in P and nodes
        Additions that a term passes through, each rounded to the accumulator's format.
    hops : sympy expression in P and nodes
        Roundings to the wire's format of sums that it is part of, the last included.
    scalings : int
        Divisions by P, rounded to the wire's format: 0 of a sum, 1 of an average.
    casts : sympy expression in P
        Roundings to the wire's format, of all terms together, that may underflow: of what is not a sum of numbers of
        the wire. Sums of such numbers are multiples of its smallest number, and below its normal range exact.
    one_by_one : bool
        Whether a running sum takes up one term after another.
    first : int
        Roundings of every term to the wire's format before anything is added: 1 where ranks hold wider numbers.
    every_sum : bool
        Whether every partial sum is rounded to the wire's format before anything is added to it.
    """

    schedule: str
    additions: Any
    hops: Any
    scalings: int
    casts: Any
    one_by_one: bool
    first: int
    every_sum: bool


def roundings(
    schedule: str, *, per_hop: bool = True, average: str | None = None, wider_input: bool = False
) -> Roundings:
    """The roundings of an all-reduce.

    Parameters
    ----------
    schedule : str
        One of `SCHEDULE_NAMES`.
    per_hop : bool
        Whether every partial sum that is sent is rounded to the wire's format; else sums travel as they were added,
        and the result alone is rounded to it.
    average : {"before", "after", "halving"} or None
        When P divides, in the wire's format; halving: both operands of every addition are halved; None for a sum.
    wider_input : bool
        Whether the ranks' vectors are wider than the wire's format, and rounded to it first.

    Raises
    ------
    ValueError
        There is no such schedule, or no such way to average.

    Notes
    -----
    Who receives a term adds it in that step, so a term passes through at most as many additions as the phases that
    reduce have steps; `tests/theory/test_precision.py` counts them in the collectives that are run.

    Examples
    --------
    >>> roundings("ring").additions, roundings("direct").hops, roundings("binomial").additions
    (P - 1, 1, index_bits(P))
    """
    if average is not None and average not in AVERAGES:
        raise ValueError(f"average must be None, {', '.join(AVERAGES[:-1])} or {AVERAGES[-1]}, got {average!r}")
    schedule = one_name(schedule)
    additions = _additions(schedule)
    once = schedule in _AT_ONE_PLACE or not per_hop
    # the sums of a node's chain are sent, the last to the switch
    hops = P / nodes if schedule == "collnet" else additions
    # rounded before anything is added: every term; divided behind: the result
    first, behind = int(wider_input), int(average == "after")
    before = int(average == "before")
    return Roundings(
        schedule,
        additions,
        sp.Integer(1) if once else hops,
        before + behind,
        # to halve is exact except for underflow
        P * (first + before) + behind + (2 * (P - 1) if average == "halving" else 0),
        schedule in _ONE_BY_ONE,
        first,
        per_hop and schedule in _EVERY_SUM,
    )


def schedule_of(name: str) -> Schedule:
    """The schedule of that name, exact for every P and n except for nodes, which P/nodes and n must come out even in.

    Raises
    ------
    ValueError
        There is none.
    """
    name = one_name(name)
    if name not in SCHEDULE_NAMES or name in _OTHERS or name == "any":
        known = ", ".join(known for known in SCHEDULE_NAMES if known not in _OTHERS and known != "any")
        raise ValueError(f"schedule must be one of {known}, got {name!r}")
    return _KNOWN["butterfly" if name == "direct" else name]


def _additions(name: str) -> Any:
    if name not in SCHEDULE_NAMES:
        raise ValueError(f"schedule must be one of {', '.join(SCHEDULE_NAMES)}, got {name!r}")
    if name == "any":
        return P - 1
    if name in _OTHERS:
        return _OTHERS[name]
    found = schedule_of(name)
    return critical_steps(replace(found, phases=tuple(phase for phase in found.phases if phase.reduced != 0)))
