"""In which order and formats a sum over the ranks is made, entry by entry, as data: `Order`; its bits: `replayed`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from commbounds._arrays import FLOATS, named
from commbounds.array_types import Array, Floats, Integers, Mask
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.message_by_message import ALLREDUCE, Part
from commbounds.collectives.dense.messages import backwards
from commbounds.collectives.precision.steps import hierarchical_parts, tree_parts
from commbounds.theory.precision.formats import Format, innocuous
from commbounds.theory.precision.roundings import one_name

Numbers = Integers
AVERAGES = (None, "after", "before", "times after", "times before", "in accumulator", "times in accumulator")
"""How a mean is made of sums: divided by P, or multiplied by 1/P rounded; the sum, or every term before, or the sum in
its accumulator, so that the mean is rounded to the format that is sent, and the sum is not."""
_TILE = 1 << 17  # numbers at a time: a megabyte


@dataclass(frozen=True)
class Tree:
    """The additions of one sum, in a canonical form: equal trees give equal bits.

    Parameters
    ----------
    pairs : bytes
        Of P terms, P - 1 pairs of int32 that are added: terms are 0 .. P - 1, the sum of pair k is P + k. Sums of fewer
        terms come first, of as many those with the lower rank.
    flags : bytes
        For every pair, whether its sum is rounded to the format that is sent, before it is added to; 1 of the last.
    """

    pairs: bytes
    flags: bytes

    @property
    def additions(self) -> Numbers:
        """(P - 1, 2): what is added."""
        return np.frombuffer(self.pairs, np.int32).reshape(-1, 2).astype(np.int64)

    @property
    def sent(self) -> Mask:
        """(P - 1,): whether a sum is rounded to the format that is sent."""
        return np.frombuffer(self.flags, np.bool_)

    @property
    def ranks(self) -> int:
        """Terms of the sum."""
        return len(self.flags) + 1

    def all_sent(self, sent: bool = True) -> Tree:
        """The same additions, with all sums rounded on the way, or none."""
        return Tree(self.pairs, bytes([sent]) * (self.ranks - 2) + self.flags[-1:])

    @property
    def chain(self) -> list[int] | None:
        """The ranks in the order in which they are added, where a running sum takes up one after another."""
        P, pairs = self.ranks, self.additions
        if P == 1:
            return [0]
        inner = pairs[1:]
        if (inner.max(axis=1) != P + np.arange(P - 2)).any() or (inner.min(axis=1) >= P).any():
            return None
        return [*pairs[0].tolist(), *inner.min(axis=1).tolist()]

    def depths(self) -> Numbers:
        """Additions that every term passes."""
        P = self.ranks
        depth = np.zeros(2 * P - 1, np.int64)
        for k, pair in reversed(list(enumerate(self.additions.tolist()))):
            depth[pair] = depth[P + k] + 1
        return depth[:P]

    def __str__(self) -> str:
        chain = self.chain
        if chain is not None:
            return "one after another: " + " ".join(_runs(chain))
        if self.ranks > 64:
            return f"a tree in which a term passes at most {int(self.depths().max())} additions"
        words = [str(rank) for rank in range(self.ranks)]
        for a, b in self.additions.tolist():
            words.append(f"({words[a]} + {words[b]})")
        return words[-1][1:-1]


def _runs(ranks: Sequence[int]) -> list[str]:
    """Numbers in their order, runs of neighbours abbreviated."""
    found: list[list[int]] = []
    for rank in ranks:
        step = rank - found[-1][-1] if found else 0
        if found and (step == found[-1][1] - found[-1][0] if len(found[-1]) > 1 else abs(step) == 1):
            found[-1].append(rank)
        else:
            found.append([rank])
    return [w for run in found for w in ([f"{run[0]} .. {run[-1]}"] if len(run) > 2 else map(str, run))]


@dataclass(frozen=True)
class Order:
    """How an all-reduce adds: which additions make an entry, and what is rounded to which format.

    Parameters
    ----------
    P, n : int
        Ranks and entries.
    dtype, accumulate : str
        Formats of what is sent, and of the result; and of the additions.
    trees : tuple of Tree
        Different ones, in the order in which entries have them first.
    stretches : tuple of (int, int, int)
        Start and stop of entries, and which tree they have; together all entries.
    average : str or None
        One of `AVERAGES`.
    """

    P: int
    n: int
    dtype: str
    accumulate: str
    trees: tuple[Tree, ...]
    stretches: tuple[tuple[int, int, int], ...]
    average: str | None = None

    def tree_of(self, entry: int) -> Tree:
        """The additions that make an entry."""
        starts = [start for start, _, _ in self.stretches]
        return self.trees[self.stretches[int(np.searchsorted(starts, entry, "right")) - 1][2]]

    @property
    def rounds(self) -> str:
        """When sums are rounded to the format that is sent: at every hop, once, or mixed."""
        flags = {bool(flag) for tree in self.trees for flag in tree.flags[:-1]}
        if self.accumulate == self.dtype or flags <= {True}:
            return "every hop"
        return "mixed" if len(flags) > 1 else "once"

    @property
    def name(self) -> str:
        """The schedule that has these trees, where it is known."""
        return _named_as(self.trees, self.P)

    def __str__(self) -> str:
        formats = self.dtype if self.accumulate == self.dtype else f"{self.accumulate}, sent as {self.dtype}"
        when = {
            "every hop": "rounded at every hop",
            "once": "rounded once, at the end",
            "mixed": "rounded at some hops",
        }
        lines = [
            f"{self.P} ranks, {self.n} entries: {self.name}; {formats}, {when[self.rounds]}"
            + (f"; mean, divided {self.average}" if self.average else "")
        ]
        shown = self.stretches[:8]
        lines += [f"    entries {start} to {stop - 1}: {self.trees[at]}" for start, stop, at in shown]
        if len(self.stretches) > len(shown):
            lines.append(f"    and {len(self.stretches) - len(shown)} more stretches, {len(self.trees)} orders in all")
        return "\n".join(lines)

    def to_json(self) -> str:
        """As text, from which `from_json` makes it again."""
        trees = []
        for tree in self.trees:
            flags = tree.flags[:-1]
            sent: Any = all(flags) if len(set(flags)) < 2 else list(tree.flags)
            chain = tree.chain
            trees.append(
                {"one_after_another": chain, "sent": sent}
                if chain is not None
                else {"additions": tree.additions.tolist(), "sent": sent}
            )
        data = {"P": self.P, "n": self.n, "dtype": self.dtype, "accumulate": self.accumulate, "average": self.average}
        return json.dumps({**data, "name": self.name, "stretches": self.stretches, "trees": trees})

    @classmethod
    def from_json(cls, text: str) -> Order:
        """What `to_json` wrote."""
        data = json.loads(text)
        P = data["P"]
        trees = []
        for tree in data["trees"]:
            sent = tree["sent"]
            flags = np.full(P - 1, sent) if isinstance(sent, bool) else np.asarray(sent, bool)
            pairs = tree.get("additions") or _in_a_row(np.asarray(tree["one_after_another"]))
            trees.append(canonical(np.asarray(pairs, np.int64).reshape(-1, 2), flags))
        stretches = tuple((a, b, c) for a, b, c in data["stretches"])
        return cls(P, data["n"], data["dtype"], data["accumulate"], tuple(trees), stretches, data["average"])


def _in_a_row(ranks: Numbers) -> Numbers:
    P = len(ranks)
    return np.stack([np.append(ranks[:1], np.arange(P, 2 * P - 1))[: P - 1], ranks[1:]], axis=1)


def canonical(additions: Numbers, sent: Mask) -> Tree:
    """The tree of these additions, where a pair comes behind those whose sums it adds."""
    out, order = np.empty_like(additions), np.empty(len(additions), np.int64)
    _canonical(np.ascontiguousarray(additions, np.int64), out, order)
    flags = np.asarray(sent, bool)[order]
    flags[-1:] = True
    return Tree(out.astype(np.int32).tobytes(), flags.tobytes())


@njit(cache=True)
def _canonical(additions, out, order):  # type: ignore[no-untyped-def]
    P = additions.shape[0] + 1
    size, lowest = np.ones(2 * P - 1, np.int64), np.arange(2 * P - 1)
    for k in range(P - 1):
        a, b = additions[k]
        size[P + k] = size[a] + size[b]
        lowest[P + k] = min(lowest[a], lowest[b])
    order[:] = np.argsort(size[P:] * P + lowest[P:])
    name = np.arange(2 * P - 1)
    for k in range(P - 1):
        name[P + order[k]] = P + k
    for k in range(P - 1):
        a, b = additions[order[k]]
        if lowest[a] > lowest[b]:
            a, b = b, a
        out[k, 0] = name[a]
        out[k, 1] = name[b]


def order_of_entries(tree_of: Sequence[Tree], P: int, dtype: str, accumulate: str, average: str | None = None) -> Order:
    """The order in which every entry has its tree."""
    known: dict[Tree, int] = {}
    which = [known.setdefault(tree, len(known)) for tree in tree_of]
    cuts = [0, *(i for i in range(1, len(which)) if which[i] != which[i - 1]), len(which)]
    stretches = tuple((a, b, which[a]) for a, b in pairwise(cuts))
    return Order(P, len(which), dtype, accumulate, tuple(known), stretches, average)


# --- orders of known schedules, from their messages -----------------------------------------------------------------


def schedule_order(
    schedule: str,
    P: int,
    n: int,
    dtype: str = "float32",
    *,
    accumulate: str | None = None,
    per_hop: bool = True,
    nodes: int | None = None,
    average: str | None = None,
    rank: int = 0,
    blocks: int | None = None,
) -> Order:
    """The order of additions of a schedule, for the copy that a rank ends with.

    Parameters
    ----------
    schedule : str
        One of `SCHEDULES`.
    P, n : int
        Ranks and entries, at least 1.
    dtype, accumulate : str
        Formats of what is sent, and of the additions; one and the same where the second is None.
    per_hop : bool
        Whether sums are rounded to `dtype` when they are sent, or the result alone.
    nodes : int or None
        Of the hierarchical schedule, and of the double binary tree, where every node is a chain; divides P.
    average : str or None
        How the mean is made; None for the sum.
    rank : int
        Whose copy.
    blocks : int or None
        The first blocks alone, and their entries; None for all.

    Raises
    ------
    ValueError
        There is no such schedule, format or rank, or nodes do not divide P.

    Examples
    --------
    >>> print(schedule_order("ring", 3, 6))
    3 ranks, 6 entries: ring; float32, rounded at every hop
        entries 0 to 1: one after another: 1 2 0
        entries 2 to 3: one after another: 0 2 1
        entries 4 to 5: one after another: 0 .. 2
    """
    schedule = one_name(schedule)
    wire = named(dtype)
    wide = wire if accumulate is None else named(accumulate)
    if not wide.holds(wire):
        raise ValueError(f"accumulate must hold all numbers of {wire.name}, got {wide.name}")
    if average not in AVERAGES:
        raise ValueError(f"average must be one of {', '.join(map(str, AVERAGES))}, got {average!r}")
    at = even_cuts(n, _blocks(schedule, P, nodes, rank)).tolist()
    held = tuple(block for block, (start, stop) in enumerate(pairwise(at)) if stop > start)[:blocks]
    trees = _trees(schedule, P, nodes, per_hop, rank, held if len(held) + 1 < len(at) else None)
    if wide == wire:  # every sum is a number of the format, sent or not
        trees = [tree.all_sent() for tree in trees]
    known: dict[Tree, int] = {}
    stretches: list[tuple[int, int, int]] = []
    for tree, block in zip(trees, held, strict=True):
        start, which = at[block], known.setdefault(tree, len(known))
        if stretches and stretches[-1][2] == which:
            start = stretches.pop()[0]
        stretches.append((start, at[block + 1], which))
    return Order(
        P, n if blocks is None else stretches[-1][1], wire.name, wide.name, tuple(known), tuple(stretches), average
    )


def double_binary_tree(P: int, chain: int = 1) -> list[list[tuple[int, int]]]:
    """For either half of the entries, the messages (source, target) that add, in the order in which they are added.

    The trees of NCCL (`src/graph/trees.cc`), which are read there: inner ranks of one are leaves of the other, mirrored
    for an even number of nodes, shifted by one for an odd. A node of `chain` ranks adds from its last to its first,
    which then takes up the tree's children, the lower first; that is recalled, as is the order of a rank's children.
    """
    nodes = P // chain
    heads = [list(range(nodes)), [(q + 1) % nodes if nodes % 2 else nodes - 1 - q for q in range(nodes)]]
    within = [(q * chain + m, q * chain + m - 1) for q in range(nodes) for m in range(chain - 1, 0, -1)]
    found = []
    for head in heads:
        messages = list(within)
        bit = 1
        while bit < nodes:
            senders = range(bit, nodes, 2 * bit)
            above = [(q, up if (up := (q ^ bit) | (2 * bit)) < nodes else q ^ bit) for q in senders]
            messages += [(head[q] * chain, head[up] * chain) for q, up in above]
            bit *= 2
        found.append(messages)
    return found


def _chain_parts(P: int) -> list[Part]:
    up = [[step, rank, rank - 1, 0, 1] for step, rank in enumerate(range(P - 1, 0, -1))]
    rows = np.array(up, np.int64).reshape(-1, 5)
    return [Part("reduce", rows, True), Part("broadcast", backwards(rows), False)]


def _double_parts(P: int, nodes: int | None) -> list[Part]:
    rows = [
        [step, source, target, half, 1]
        for half, messages in enumerate(double_binary_tree(P, P // (nodes or P)))
        for step, (source, target) in enumerate(messages)
    ]
    found = np.array(rows, np.int64).reshape(-1, 5)
    found = found[np.argsort(found[:, 0], kind="stable")]
    return [Part("reduce", found, True), Part("broadcast", backwards(found), False)]


def _pat_parts(P: int) -> list[Part]:
    """Every block up a binomial tree to its owner, as in `tree_parts` with the owner for rank 0; then all back."""
    (up, _), owner = tree_parts(P), np.arange(P)[:, None]
    step, source, target = (up.messages[:, i] for i in range(3))
    each = [step + 0 * owner, (source + owner) % P, (target + owner) % P, owner + 0 * step, 1 + 0 * step + 0 * owner]
    rows = np.stack(np.broadcast_arrays(*each), axis=2).reshape(-1, 5)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    return [Part("reduce-scatter", rows, True), Part("all-gather", backwards(rows), False)]


def _in_rank_order(P: int) -> list[Part]:
    rows = np.array([[r - 1, r, 0, 0, 1] for r in range(1, P)], np.int64).reshape(-1, 5)
    return [Part("reduce", rows, True), Part("broadcast", rows[:, [0, 2, 1, 3, 4]], False)]


_PARTS: dict[str, tuple[Callable[[int, int | None], Sequence[Part]], Callable[[int], int]]] = {
    **{
        name: (lambda P, nodes, make=make: make(P), blocks)  # type: ignore[misc]
        for name, (make, blocks) in {
            "ring": ALLREDUCE["ring"],
            "direct": ALLREDUCE["butterfly"],
            "recursive_doubling": ALLREDUCE["recursive-doubling"],
            "rabenseifner": ALLREDUCE["rabenseifner"],
        }.items()
    },
    "binomial": (lambda P, nodes: tree_parts(P), lambda P: 1),
    "hierarchical": (lambda P, nodes: hierarchical_parts(P, nodes or 1), lambda P: P),
    "pat": (lambda P, nodes: _pat_parts(P), lambda P: P),
    "chain": (lambda P, nodes: _chain_parts(P), lambda P: 1),
    "double_binary_tree": (_double_parts, lambda P: 2),
    "in_rank_order": (lambda P, nodes: _in_rank_order(P), lambda P: 1),
}
SCHEDULES = tuple(_PARTS)
"""Schedules whose orders are known. direct: the owner of a block adds what the ranks before it hold, nearest first;
pat: every block up a binomial tree to its owner; chain: from the last rank to rank 0; in_rank_order: rank 0 adds the
others one after another."""
_CHAINS: dict[str, tuple[bool, Callable[[int, int], Numbers]]] = {
    "ring": (True, lambda P, block: (block + 1 + np.arange(P)) % P),
    "direct": (False, lambda P, block: (block - np.arange(P)) % P),
}
"""What the P^2 messages of two schedules amount to: whether sums travel, and the order of the ranks."""
_IN_NODES = ("hierarchical", "double_binary_tree")
_FEW = 512  # ranks, up to which as many trees as ranks are made in a second


def quick_to_make(P: int) -> tuple[str, ...]:
    """Schedules that an order of so many ranks is compared with: of many ranks those of few blocks."""
    return tuple(name for name, (_, blocks) in _PARTS.items() if P <= _FEW or blocks(P) <= 2)


def _blocks(schedule: str, P: int, nodes: int | None, rank: int) -> int:
    """In how many blocks a schedule cuts a vector."""
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
    if nodes is not None and (schedule not in _IN_NODES or nodes < 1 or P % nodes):
        raise ValueError(f"nodes are of {' and '.join(_IN_NODES)}, and must divide P = {P}, got {nodes}")
    if not 0 <= rank < P:
        raise ValueError(f"rank must be in [0, {P - 1}], got {rank}")
    return _PARTS[schedule][1](P)


@lru_cache(maxsize=64)
def _trees(
    schedule: str, P: int, nodes: int | None, per_hop: bool, rank: int, wanted: tuple[int, ...] | None = None
) -> list[Tree]:
    """The trees of these blocks, or of all, in their order."""
    blocks = _blocks(schedule, P, nodes, rank)
    wanted = tuple(range(blocks)) if wanted is None else wanted
    if schedule in _CHAINS:
        sent, chain = _CHAINS[schedule]
        return [canonical(_in_a_row(chain(P, block)), np.full(P - 1, sent and per_hop)) for block in wanted]
    return by_messages(_PARTS[schedule][0](P, nodes), blocks, P, per_hop, rank, wanted)


def by_messages(
    parts: Sequence[Part], blocks: int, P: int, per_hop: bool, rank: int, wanted: Sequence[int]
) -> list[Tree]:
    """The trees of a rank's blocks after these messages were delivered, every step's at once."""
    holds = np.broadcast_to(np.arange(P)[:, None], (P, blocks)).copy()  # which sum: below P the ranks' terms
    left, right, last = [np.arange(P)], [np.arange(P)], P
    marks: list[Numbers] = []
    for part in parts:
        for rows in np.split(part.messages, np.flatnonzero(np.diff(part.messages[:, 0])) + 1):
            each = np.repeat(np.arange(len(rows)), rows[:, 4])
            offset = np.arange(len(each)) - np.repeat(np.cumsum(rows[:, 4]) - rows[:, 4], rows[:, 4])
            source, target, block = rows[each, 1], rows[each, 2], (rows[each, 3] + offset) % blocks
            arriving = holds[source, block]
            if not part.adds:
                holds[target, block] = arriving
                continue
            marks.append(arriving)
            left.append(holds[target, block])
            right.append(arriving)
            holds[target, block] = np.arange(last, last + len(each))
            last += len(each)
    lefts, rights = np.concatenate(left), np.concatenate(right)
    sent_ids = np.zeros(last, bool)
    for mark in marks:
        sent_ids[mark] = per_hop
    found = []
    for block in wanted:
        out, ids = np.empty((P - 1, 2), np.int64), np.empty(P - 1, np.int64)
        if not _extracted(lefts, rights, int(holds[rank, block]), P, out, ids):
            raise ValueError(f"these messages do not add every rank once in block {block}")
        found.append(canonical(out, sent_ids[ids]))
    return found


@njit(cache=True)
def _extracted(left, right, root, P, out, ids):  # type: ignore[no-untyped-def]
    # the sums that `root` is made of, in their order; whether they are P - 1
    count, seen = 0, 0
    stack = np.empty(2 * P, np.int64)
    stack[0], height = root, 1
    while height > 0:
        height -= 1
        at = stack[height]
        if at < P:
            seen += 1
            continue
        if count == P - 1:
            return False
        ids[count] = at
        count += 1
        stack[height], stack[height + 1] = left[at], right[at]
        height += 2
    if count != P - 1 or seen != P:
        return False
    ids.sort()
    for k in range(P - 1):
        for side in range(2):
            child = left[ids[k]] if side == 0 else right[ids[k]]
            out[k, side] = child if child < P else P + np.searchsorted(ids, child)
    return True


@lru_cache(maxsize=16)
def _known(P: int) -> dict[tuple[bytes, ...], str]:
    """The additions of known schedules -> their names, the simpler first."""
    found: dict[tuple[bytes, ...], str] = {}
    nodes = [None, *(q for q in range(2, P) if P % q == 0)] if P <= 128 else [None]
    for schedule in ("in_rank_order", "chain", "ring", "direct", *quick_to_make(P)):
        if schedule not in quick_to_make(P):
            continue
        for q in nodes if schedule in _IN_NODES else [None]:
            if schedule == "hierarchical" and q is None:
                continue
            trees = _trees(schedule, P, q, True, 0)
            additions = tuple(dict.fromkeys(tree.pairs for tree in trees))
            found.setdefault(additions, schedule if q is None else f"{schedule}, {q} nodes")
    return found


def _named_as(trees: tuple[Tree, ...], P: int) -> str:
    if P == 1:
        return "one rank"
    if P == 2:
        return "two terms"
    additions = tuple(dict.fromkeys(tree.pairs for tree in trees))
    if (name := _known(P).get(additions)) is not None:
        return name
    chains = [tree.chain for tree in trees]
    if all(chain is not None for chain in chains):
        first = chains[0]
        assert first is not None
        follower = dict(zip(first, first[1:] + first[:1], strict=True))
        around = all(_in_turn(c, follower) or _in_turn([*c[1::-1], *c[2:]], follower) for c in chains if c)
        if around and len(chains) > 1:
            return f"rings in an order of their own, {len(chains)} blocks"
        return "one after another, in an order of its own" if len(chains) == 1 else f"{len(chains)} running sums"
    return "a tree of its own" if len(trees) == 1 else f"{len(trees)} trees of their own"


def _in_turn(chain: list[int], follower: dict[int, int]) -> bool:
    return all(follower[a] == b for a, b in pairwise(chain))


# --- the bits that an order gives -----------------------------------------------------------------------------------


def replayed(inputs: Array, order: Order) -> Array:
    """The bits that the order gives for (P, n) inputs of its format: (n,), in the same dtype.

    Raises
    ------
    ValueError
        The inputs have another shape or format than the order.
    """
    if inputs.shape != (order.P, order.n) or inputs.dtype.name != order.dtype:
        raise ValueError(
            f"inputs must be ({order.P}, {order.n}) of {order.dtype}, as the order is; got {inputs.shape} of "
            f"{inputs.dtype.name}"
        )
    wire, wide = named(order.dtype), named(order.accumulate)
    out = np.empty(order.n, inputs.dtype)
    plain = wire == wide and wire.name in ("float32", "float64")
    in_accumulator = (order.average or "").endswith("in accumulator")
    once = innocuous(wide, wire)  # rounding to the accumulator first changes no bit of what is sent
    for begin, end, pieces in tiles(order):
        terms = inputs[:, begin:end].astype(wire.name if plain else np.float64)
        pairs, sent, lasts, cuts = programs(order, pieces)
        if in_accumulator:
            sent[:, -1:] = False
        with np.errstate(all="ignore"):
            terms = _scaled(terms, order.average, "before", order.P, wire, plain)
            total = np.empty(end - begin, terms.dtype)
            if plain:
                _added(terms, cuts, pairs, lasts, total)
            else:
                fused = sent.all(axis=1) & once
                _rounded_sums(terms, cuts, pairs, sent, fused, lasts, _form(wide), _form(wire), total)
            total = _scaled(total, order.average, "after", order.P, wire, plain)
            total = _scaled(total, order.average, "in accumulator", order.P, wide, plain)
            if in_accumulator and not plain:
                _round_all(total, _form(wire))
            out[begin:end] = total.astype(inputs.dtype)
    return out


def tiles(order: Order, copies: int = 1) -> Iterator[tuple[int, int, list[tuple[int, int, int]]]]:
    """So many entries that their terms are a megabyte: start, stop, and the pieces of stretches there."""
    most = max(64, min(4096, _TILE // (copies * order.P)))
    pieces: list[tuple[int, int, int]] = []
    for start, stop, which in order.stretches:
        while start < stop:
            begin = pieces[0][0] if pieces else start
            end = min(stop, begin + most)
            pieces.append((start, end, which))
            start = end
            if end == begin + most:
                yield begin, end, pieces
                pieces = []
    if pieces:
        yield pieces[0][0], pieces[-1][1], pieces


def programs(order: Order, pieces: list[tuple[int, int, int]]) -> tuple[Numbers, Mask, Numbers, Numbers]:
    """Of all pieces, stacked: `_program`; and where they begin and end."""
    found = [_program(order.trees[which]) for _, _, which in pieces]
    begin = pieces[0][0]
    cuts = np.array([begin, *(stop for _, stop, _ in pieces)]) - begin
    return (
        np.stack([pairs for pairs, _, _ in found]),
        np.stack([sent for _, sent, _ in found]),
        np.array([last for _, _, last in found]),
        cuts,
    )


def _form(form: Format) -> Floats:
    """1.5 2^52 gaps of numbers in [1, 2), or zero for none; normal, largest, what is beyond."""
    magic = 0.0 if form.digits == 53 else 1.5 * 2.0 ** (53 - form.digits)
    beyond = math.inf if form.overflow == "infinity" else math.nan
    return np.array([magic, float(form.normal), float(form.largest), beyond])


@lru_cache(maxsize=4096)
def _program(tree: Tree) -> tuple[Numbers, Mask, int]:
    """Pairs of rows, of which the first takes up the second; which sums are sent; and the row of the last sum."""
    row, pairs = np.arange(2 * tree.ranks - 1), tree.additions
    _in_place(pairs, row)
    return pairs, tree.sent, int(row[-1])


@njit(cache=True)
def _in_place(pairs, row):  # type: ignore[no-untyped-def]
    P = pairs.shape[0] + 1
    for k in range(P - 1):
        for side in range(2):
            pairs[k, side] = row[pairs[k, side]]
        row[P + k] = pairs[k, 0]


def _scaled(terms: Array, average: str | None, when: str, P: int, wire: Format, plain: bool) -> Array:
    """Divided by P, or times a rounded 1/P, where that is done before the additions, or after."""
    if average is None or not average.endswith(when):
        return terms
    share = np.ones(1, FLOATS[wire.name]) / FLOATS[wire.name].type(P)
    scaled: Array = terms * share.astype(terms.dtype) if average.startswith("times") else terms / terms.dtype.type(P)
    if not plain:
        flat = np.ascontiguousarray(scaled).reshape(-1)
        _round_all(flat, _form(wire))
        scaled = flat.reshape(terms.shape)
    return scaled


@njit(cache=True, nogil=True)
def _added(terms, cuts, pairs, lasts, out):  # type: ignore[no-untyped-def]
    for piece in range(lasts.size):
        start, stop = cuts[piece], cuts[piece + 1]
        for k in range(pairs.shape[1]):
            total, other = terms[pairs[piece, k, 0]], terms[pairs[piece, k, 1]]
            for i in range(start, stop):
                total[i] += other[i]
        for i in range(start, stop):
            out[i] = terms[lasts[piece], i]


@njit(cache=True, nogil=True, inline="always")
def _round(value, magic, normal, largest, beyond):  # type: ignore[no-untyped-def]
    size = abs(value)
    if magic == 0.0 or not size < np.inf:
        return value
    # the power of two at or below, and 1.5 2^52 gaps there
    power = np.int64(np.float64(size).view(np.int64) & np.int64(0x7FF0000000000000)).view(np.float64)
    scale = magic * max(power, normal)
    size = (size + scale) - scale
    if size > largest:
        size = beyond
    return math.copysign(size, value)


@njit(cache=True, nogil=True)
def _round_all(x, form):  # type: ignore[no-untyped-def]
    for i in range(x.size):
        x[i] = _round(x[i], form[0], form[1], form[2], form[3])


@njit(cache=True, nogil=True)
def _rounded_sums(terms, cuts, pairs, sent, fused, lasts, add, hop, out):  # type: ignore[no-untyped-def]
    for piece in range(lasts.size):
        start, stop = cuts[piece], cuts[piece + 1]
        first = hop if fused[piece] else add
        for k in range(pairs.shape[1]):
            total, other = terms[pairs[piece, k, 0]], terms[pairs[piece, k, 1]]
            for i in range(start, stop):
                total[i] = _round(total[i] + other[i], first[0], first[1], first[2], first[3])
            if sent[piece, k] and not fused[piece]:
                for i in range(start, stop):
                    total[i] = _round(total[i], hop[0], hop[1], hop[2], hop[3])
        for i in range(start, stop):
            out[i] = terms[lasts[piece], i]


def in_one_format(order: Order, dtype: str, accumulate: str | None = None, sent: bool | None = None) -> Order:
    """The same additions in other formats; all sums rounded on the way, or none."""
    trees = order.trees
    if sent is not None:
        trees = tuple(tree.all_sent(sent) for tree in trees)
    return replace(order, dtype=dtype, accumulate=accumulate or dtype, trees=trees)
