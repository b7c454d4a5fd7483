"""All-reduces of many ranks in rounded arithmetic, carried out sum by sum: no message is sent, none is counted.

Entry by entry, the additions of a schedule are made in its order, each rounded to the accumulator's format, and every
partial sum that would travel is rounded to the wire's. float64 carries all narrower formats: a sum or a quotient of
two numbers of p digits that is rounded to 53 digits and then to p is rounded as at once, for 53 >= 2p + 2. A number
is rounded to q's multiples by adding and taking away 1.5 2^52 q.

NaN is one value here: which payload arrives is left open. Zeros keep their signs.

A stochastic rounding of a magnitude m of gaps is floor(m + u). The u of place j of entry i is a multiple of 2^-53, from
the top bits of splitmix64 at key + (i + 1) 0x9E3779B97F4A7C15 + (j + 1) 0xD1B54A32D192ED03; the key is the generator's
first 64 bits. Place 1 divides before, 2 rounds what is sent to all, and 3 divides after, i then being the entry's place
among all rows. The h-th addition one after another has 8 + 2 h for what hops, and 9 + 2 h for the sum; in node q
4 P (q + 1) more, and what a node gives on 7 + 4 P (q + 1). In pairs a member v has 5 v + s where it halves, one more
where it sends, and two more for its sum; s is 8, and grows by 5 P at every level of the tree; of a core of c members
it is 8 where ranks are folded, v + c being the folded one, then 8 + 10 c, and grows by 5 c every step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Floats, Integers, Mask
from commbounds.collectives.dense.messages import core_size
from commbounds.compressors._blocks import quiet
from commbounds.compressors.base import as_numbers, checked_count, checked_flag, checked_rng
from commbounds.theory.precision.roundings import one_name

if TYPE_CHECKING:
    from commbounds.theory.precision.formats import Format


SIMULATED = ("ring", "direct", "in_rank_order", "recursive_doubling", "rabenseifner", "binomial", "hierarchical")
"""The schedules whose sums are simulated."""
_WIDEST = 53
_BETWEEN = {"as sent": True, "unrounded": False}


def simulated_allreduce(
    stack: ArrayLike,
    schedule: str = "ring",
    accumulate: str = "float32",
    wire: str | None = None,
    *,
    per_hop: bool = True,
    own: str = "as sent",
    kept: str = "as sent",
    rounding: str = "nearest",
    average: str | None = None,
    nodes: int = 1,
    rng: np.random.Generator | None = None,
) -> Floats:
    """What every rank holds after an all-reduce in these formats.

    A rank adds in the accumulator's format what arrives, which was rounded to the wire's; the sum is rounded to the
    wire's format once more when it is sent to all.

    Parameters
    ----------
    stack : (P, n) array_like of numbers
        The ranks' vectors, P >= 1, n >= 1; they are rounded to the wire's format at first. NaN and infinities are
        allowed.
    schedule : str
        One of `SIMULATED`. ring: block b from rank b + 1 once round to rank b. direct: the owner of a block adds
        its own term, then those of the ranks before it. in_rank_order: it adds all terms in the order of the ranks.
        recursive_doubling, rabenseifner: as `collectives.dense`, neighbours first and farthest ranks first. binomial:
        a tree to rank 0 ("tree" until 0.2). hierarchical: a ring within every node, then one through the nodes.
    accumulate, wire : str
        Names of formats; the wire's is the accumulator's where it is None. Every number of the wire's format is one of
        the accumulator's.
    per_hop : bool
        Whether partial sums are rounded to the wire's format when they are sent; else they travel as they are.
    own : {"as sent", "unrounded"}
        A rank that adds its partial sum to another that arrives: whether it takes its own rounded to the wire's format,
        as its partner would see it, or as it is.
    kept : {"as sent", "unrounded"}
        Whether whoever has a sum first keeps it as all others receive it, or as it is.
    rounding : {"nearest", "stochastic"}
        To nearest, ties to even; or up with the probability that makes the mean right.
    average : {None, "before", "after", "halving"}
        Divide by P and round to the wire's format: every entry before, or the sum, which was rounded to it, after. Or
        halve partial sums before each addition, where P is a power of two and the schedule adds two halves.
    nodes : int
        Of the hierarchical schedule; divides P.
    rng : numpy.random.Generator
        Required for stochastic rounding. Every rounding of every rank draws its own number.

    Returns
    -------
    (P, n) float64
        Read-only. Where all ranks hold the same by construction, the rows are one.

    Raises
    ------
    ValueError
        An unknown name, formats of which one does not hold the other, nodes that do not divide P, halving in another
        schedule or P; a stack that is not (P, n).
    TypeError
        No generator where one is needed.

    Examples
    --------
    >>> ones = [[1.0]] * 300
    >>> simulated_allreduce(ones, "ring", "bfloat16")[0], simulated_allreduce(ones, "binomial", "bfloat16")[0]
    (array([256.]), array([300.]))
    """
    schedule = one_name(schedule)
    x, acc, narrow = _checked(stack, schedule, accumulate, wire, {"own": own, "kept": kept}, rounding, average, nodes)
    if rng is not None or rounding == "stochastic":
        checked_rng(rng)
    key = np.uint64(0) if rng is None else np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
    to_acc, to_wire = _row(acc.name, rounding), _row(narrow.name, rounding)
    to_hop = to_wire if checked_flag("per_hop", per_hop) else np.zeros_like(to_wire)
    # without the JIT, numpy warns where the generator means to wrap around, and of numbers that are none
    with quiet():
        P, n = x.shape
        x = _all_rounded(x, _row(narrow.name, "nearest"), np.uint64(0), 0)
        if average == "before":
            x = _divided(x, P, to_wire, key, 1)
        columns, total = np.ascontiguousarray(x.T), np.empty((1, n))
        flags = np.array([_BETWEEN[own], average == "halving"])
        if schedule in ("ring", "direct", "in_rank_order"):
            holders = _blocks(n, P)
            first = {"ring": (holders + 1) % P, "direct": holders, "in_rank_order": np.zeros_like(holders)}[schedule]
            step = -1 if schedule == "direct" else 1
            _chained(columns, first, step, schedule == "ring", to_acc, to_hop, key, total[0])
        elif schedule == "hierarchical":
            holders = _owners_in_nodes(n, P, nodes)
            _nested(columns, holders, nodes, flags[0], to_acc, to_hop, key, total[0])
        elif schedule == "binomial":
            holders = np.zeros(n, np.int64)
            _binomial(columns, flags, to_acc, to_hop, key, total[0])
        else:
            total, holders = _by_exchange(columns, schedule, flags, to_acc, to_hop, key)
        sent = _all_rounded(total, to_wire, key, 2)
        if average == "after":
            sent, total = _divided(sent, P, to_wire, key, 3), total / P
    return _held(total, sent, holders, P, _BETWEEN[kept])


def rounded(x: ArrayLike, name: str) -> Floats:
    """The numbers rounded to nearest in the format of that name, ties to even, as float64.

    Parameters
    ----------
    x : array_like of numbers
        Of any shape.
    name : str
        As in `theory.precision.formats`.

    Returns
    -------
    float64, shape of x
        What is beyond the largest number is infinite, or NaN where the format has no infinity; so are infinities.

    Examples
    --------
    >>> rounded([1.0625, 464.0, 465.0], "float8_e4m3fn")
    array([  1., 448.,  nan])
    """
    return _all_rounded(as_numbers(x, "x", np.float64), _row(name, "nearest"), np.uint64(0), 0)


def _named(name: str) -> Format:
    from commbounds.theory.precision.formats import format_named  # with it comes sympy, most of a second

    return format_named(name)


def _checked(
    stack: ArrayLike,
    schedule: str,
    accumulate: str,
    wire: str | None,
    between: Mapping[str, str],
    rounding: str,
    average: str | None,
    nodes: int,
) -> tuple[Floats, Format, Format]:
    x = as_numbers(stack, "stack", np.float64)
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"stack must be (P, n) with at least one rank and one entry, got shape {x.shape}")
    known = {
        "schedule": (schedule, SIMULATED),
        "rounding": (rounding, ("nearest", "stochastic")),
        "average": (average, (None, "before", "after", "halving")),
        **{name: (value, tuple(_BETWEEN)) for name, value in between.items()},
    }
    for name, (value, choices) in known.items():
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}, got {value!r}")
    acc, sent = _named(accumulate), _named(accumulate if wire is None else wire)
    if not acc.holds(sent):
        raise ValueError(f"wire must be a format whose numbers {acc.name} has, got {sent.name}")
    P = len(x)
    if P % checked_count("nodes", nodes):
        raise ValueError(f"nodes must divide the {P} ranks, got {nodes}")
    if average == "halving" and (
        core_size(P) < P or schedule not in ("recursive_doubling", "rabenseifner", "binomial")
    ):
        raise ValueError(f"average by halving needs a power of two of ranks and halves, got P={P} and {schedule}")
    return np.ascontiguousarray(x), acc, sent


@lru_cache(maxsize=64)
def _row(name: str, rounding: str) -> Floats:
    """A format as the kernels take it: 2^52 gaps of numbers in [1, 2), normal, largest, what is beyond, and whether to
    draw; the first is zero where there is nothing to round. Not to be changed.
    """
    form = _named(name)
    magic = 0.0 if form.digits == _WIDEST else 1.5 * 2.0 ** (_WIDEST - form.digits)
    beyond = np.inf if form.overflow == "infinity" else np.nan
    return np.array([magic, float(form.normal), float(form.largest), beyond, float(rounding == "stochastic")])


def _blocks(n: int, P: int) -> Integers:
    """The block that every entry falls into."""
    ranks = np.arange(P)
    return np.repeat(ranks, n // P + (ranks < n % P))


def _owners_in_nodes(n: int, P: int, nodes: int) -> Integers:
    """The rank that owns an entry: a member of every node has a block for each node, and one of them is its own."""
    member, node = np.divmod(_blocks(n, P), nodes)
    return np.asarray(node * (P // nodes) + member)


def _all_rounded(x: Floats, form: Floats, key: np.uint64, where: int) -> Floats:
    flat = np.ascontiguousarray(x).reshape(-1)
    out = np.empty_like(flat)
    _rounded_all(flat, form, key, where, out)
    return out.reshape(x.shape)


def _divided(x: Floats, P: int, form: Floats, key: np.uint64, where: int) -> Floats:
    """The entries over P, rounded once."""
    with np.errstate(all="ignore"):
        return _all_rounded(x / P, form, key, where)


def _by_exchange(
    columns: Floats, schedule: str, flags: Mask, to_acc: Floats, to_hop: Floats, key: np.uint64
) -> tuple[Floats, Integers]:
    """The sums of recursive doubling, one row for every member of the core if they may differ, or Rabenseifner's; and
    who holds an entry, -1 where every member has a sum of its own.
    """
    n, P = columns.shape
    core = core_size(P)
    own = _blocks(n, core)
    lanes = own[None, :]
    if schedule == "recursive_doubling":
        # partners add the same two numbers, unless they draw, or one of them takes its own as it is
        alike = (flags[0] or to_hop[0] in (0.0, to_acc[0])) and not to_acc[4]
        lanes = np.zeros((1, n), np.int64) if alike else np.repeat(np.arange(core)[:, None], n, axis=1)
    total = np.empty(lanes.shape)
    for lane, out in zip(lanes, total, strict=True):
        _exchanged(columns, core, lane, schedule == "rabenseifner", flags, to_acc, to_hop, key, out)
    if schedule == "rabenseifner":
        return total, own + np.minimum(own, P - core)
    return total, np.full(n, -1)


def _held(total: Floats, sent: Floats, holders: Integers, P: int, as_sent: bool) -> Floats:
    """What the ranks hold: what was sent to all, and whoever keeps it as it is, the total."""
    if len(sent) == 1 and (as_sent or np.array_equal(sent, total, equal_nan=True)):
        return np.broadcast_to(sent[0], (P, sent.shape[1]))
    core = core_size(P)
    if (holders < 0).all():  # recursive doubling: the ranks that were folded get what is sent
        member = np.arange(core) + np.minimum(np.arange(core), P - core)
        speaker = np.searchsorted(member, np.arange(P), side="right") - 1
        rows = np.minimum(speaker, len(total) - 1)
        held = sent[rows]
        if not as_sent:
            held[member] = total[rows[member]]
    else:
        held = np.repeat(sent, P, axis=0)
        held[holders, np.arange(held.shape[1])] = total[0]
    held.flags.writeable = False
    return held


# --- kernels: a format is (magic, normal, largest, beyond, draws), see `_row`; `columns` is (n, P) -----------------

_COUNTER, _FORWARD, _HOPS = np.int64(8), np.int64(1), np.bool_(True)
"""What kernels give to others, typed: for a literal, Numba compiles the one that takes it once more."""


@njit(cache=True, nogil=True)
def _uniform(key, i, j):  # type: ignore[no-untyped-def]
    # splitmix64 at a counter made of both
    z = key + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j + 1) * np.uint64(0xD1B54A32D192ED03)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def _round(value, form, key, i, j):  # type: ignore[no-untyped-def]
    size = abs(value)
    if form[0] == 0.0 or size == 0.0 or size != size:
        return value
    if size == np.inf:
        return math.copysign(form[3], value)
    # the power of two at or below, and 1.5 2^52 gaps there
    power = np.int64(np.float64(size).view(np.int64) & np.int64(0x7FF0000000000000)).view(np.float64)
    magic = form[0] * max(power, form[1])
    if form[4] == 0.0:
        size = (size + magic) - magic
    else:
        gap = magic * (2.0**-52 / 1.5)
        size = math.floor(size / gap + _uniform(key, i, j)) * gap
    if size > form[2]:
        size = form[3]
    return math.copysign(size, value)


@njit(cache=True, nogil=True)
def _rounded_all(x, form, key, where, out):  # type: ignore[no-untyped-def]
    for i in range(x.size):
        out[i] = _round(x[i], form, key, i, where)


@njit(cache=True, nogil=True)
def _around(terms, first, step, hops, to_acc, to_wire, key, i, where):  # type: ignore[no-untyped-def]
    # the terms one after another, from `first` on; where the sum hops from rank to rank, it is rounded to the wire's
    P = terms.size
    rank, total = first, terms[first]
    for h in range(1, P):
        rank += step
        if rank == P:  # below zero an index counts from the end
            rank = 0
        if hops:
            total = _round(total, to_wire, key, i, where + 2 * h)
        total = _round(total + terms[rank], to_acc, key, i, where + 2 * h + 1)
    return total


@njit(cache=True, nogil=True)
def _chained(columns, first, step, hops, to_acc, to_wire, key, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = _around(columns[i], first[i], step, hops, to_acc, to_wire, key, i, _COUNTER)


@njit(cache=True, nogil=True)
def _nested(columns, owner, nodes, as_sent, to_acc, to_wire, key, out):  # type: ignore[no-untyped-def]
    P = columns.shape[1]
    members = P // nodes
    sums = np.empty(nodes)
    for i in range(out.size):
        node, member = owner[i] // members, owner[i] % members
        for q in range(nodes):
            terms = columns[i, q * members : (q + 1) * members]
            sums[q] = _around(
                terms, (member + 1) % members, _FORWARD, _HOPS, to_acc, to_wire, key, i, 8 + 4 * P * (q + 1)
            )
            if as_sent:
                sums[q] = _round(sums[q], to_wire, key, i, 8 + 4 * P * (q + 1) - 1)
        out[i] = _around(sums, (node + 1) % nodes, _FORWARD, _HOPS, to_acc, to_wire, key, i, _COUNTER)


@njit(cache=True, nogil=True)
def _sum(own, other, at, there, flags, to_acc, to_wire, key, i, step):  # type: ignore[no-untyped-def]
    # what the rank at `at` has when it adds what comes from `there`; flags: own as sent, halve first
    if flags[1]:
        own = _round(0.5 * own, to_acc, key, i, 5 * at + 0 + step)
        other = _round(0.5 * other, to_acc, key, i, 5 * there + 0 + step)
    if flags[0]:
        own = _round(own, to_wire, key, i, 5 * at + 1 + step)
    other = _round(other, to_wire, key, i, 5 * there + 1 + step)
    return _round(own + other, to_acc, key, i, 5 * at + 2 + step)


@njit(cache=True, nogil=True)
def _binomial(columns, flags, to_acc, to_wire, key, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        sums = columns[i].copy()
        left, step = sums.size, _COUNTER
        while left > 1:
            for u in range(left // 2):
                a, b = 2 * u, 2 * u + 1
                sums[u] = _sum(sums[a], sums[b], a, b, flags, to_acc, to_wire, key, i, step)
            if left % 2:
                sums[left // 2] = sums[left - 1]
            left = (left + 1) // 2
            step += 5 * sums.size
        out[i] = sums[0]


@njit(cache=True, nogil=True)
def _exchanged(columns, core, lanes, farthest, flags, to_acc, to_wire, key, out):  # type: ignore[no-untyped-def]
    # the sum that member lanes[i] of the core ends with; of the others only what it is made of
    extra = columns.shape[1] - core
    for i in range(out.size):
        sums, lane = np.empty(core), lanes[i]
        for v in range(core):
            rank = v + min(v, extra)
            sums[v] = columns[i, rank]
            if v < extra:
                sums[v] = _sum(sums[v], columns[i, rank + 1], v, v + core, flags, to_acc, to_wire, key, i, _COUNTER)
        left, bit, step = core, 0, _COUNTER + 10 * core
        while left > 1:
            half = left // 2
            side = lane // half % 2 if farthest else lane >> bit & 1
            for u in range(half):
                if farthest:
                    a, b = u + side * half, u + (1 - side) * half
                    at, there = lane - lane % left + a, lane - lane % left + b
                else:
                    a, b = 2 * u + side, 2 * u + 1 - side
                    at, there = (a << bit) + lane % (1 << bit), (b << bit) + lane % (1 << bit)
                sums[u] = _sum(sums[a], sums[b], at, there, flags, to_acc, to_wire, key, i, step)
            left, bit = half, bit + 1
            step += 5 * core
        out[i] = sums[0]
