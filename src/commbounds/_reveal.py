"""The order of additions of somebody's all-reduce, found out by asking it: `reveal`, `Revealed`.

A mask M at one rank and -M at another swallow every one that is added below where the two meet: what is left counts the
ranks outside (the idea of FPRev, arXiv:2411.00442). Entries whose sums are made alike are asked different questions in
one call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from commbounds._arrays import FLOATS, SAME_SIZE, named, same_bits, stacked
from commbounds._orders import (
    AVERAGES,
    SCHEDULES,
    Numbers,
    Order,
    Tree,
    canonical,
    order_of_entries,
    replayed,
    schedule_order,
)
from commbounds.array_types import Array, Mask

_ONES = 200
"""At a time, and no more than have counts that are numbers of the format."""
_ALIKE = 48  # questions by which entries are told apart
_PAIRS = 8  # whose sums are asked for digits that the format has not, before all are
_DRAWS = 3  # of random data, whose bits are predicted
_MANY = 32  # ranks, from which on known schedules are tried first
_TURNS = 4  # of asking entries that were taken for alike
_MORE = 24  # further draws that the order predicts
ASKABLE = {
    **{"float64": (1000, 0), "float32": (120, 0), "bfloat16": (120, 0), "float16": (14, -18)},
    **{"float8_e4m3fn": (8, -4), "float8_e5m2": (14, -14)},
}
"""Format -> exponents of the mask and of a one: all ones are less than half a unit of the mask, in float32 too."""


@dataclass(frozen=True)
class Revealed:
    """What was found out about an all-reduce.

    Parameters
    ----------
    P, n, dtype
        Ranks, entries and format that it was asked with.
    order : Order or None
        The additions and formats of rank 0's copy, which predict all bits that were compared; None where none does.
    same_bits : bool or None
        Whether all ranks held the same bits in every call; None where the result of one rank was given.
    deterministic : bool
        Whether the same inputs gave the same bits twice.
    subnormals : {"kept", "flushed"}
        What becomes of the smallest number of the format.
    calls : int
        How often it was asked.
    unknown : tuple of str
        What could not be found out, and why, in sentences.
    """

    P: int
    n: int
    dtype: str
    order: Order | None
    same_bits: bool | None
    deterministic: bool
    subnormals: str
    calls: int
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        ranks = {True: "all ranks have the same bits", False: "ranks have different bits", None: "one rank was seen"}
        first = f"{self.P} ranks, {self.n} entries, {self.dtype}: no order found"
        return "\n".join(
            [
                first if self.order is None else str(self.order),
                f"    {ranks[self.same_bits]}; subnormal numbers are {self.subnormals}; {self.calls} calls",
                *(f"    not found out: {words}" for words in self.unknown),
            ]
        )

    def to_json(self) -> str:
        """As text, from which `from_json` makes it again."""
        data = {key: value for key, value in self.__dict__.items() if key != "order"}
        return json.dumps({**data, "order": None if self.order is None else json.loads(self.order.to_json())})

    @classmethod
    def from_json(cls, text: str) -> Revealed:
        """What `to_json` wrote."""
        data = json.loads(text)
        order = None if data["order"] is None else Order.from_json(json.dumps(data["order"]))
        return cls(**{**data, "order": order, "unknown": tuple(data["unknown"])})

    def differences(self, other: Revealed) -> list[str]:
        """In which the other differs, in words; the number of calls does not count."""
        found = []
        for name in ("P", "n", "dtype", "same_bits", "deterministic", "subnormals"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                found.append(f"{name} is {ours} here and {theirs} there")
        if self.order != other.order:
            names = [
                "unknown"
                if o is None
                else f"{o.name} in {o.accumulate}, rounded at {o.rounds}"
                + (f", {len(o.trees)} orders" if len(o.trees) > 1 else "")
                for o in (self.order, other.order)
            ]
            said = (
                "sums are made otherwise"
                if names[0] == names[1]
                else f"the order is {names[0]} here and {names[1]} there"
            )
            found.append(said)
        return found


class _NoTree(Exception):
    """The answers are those of no tree of additions of two."""


def reveal(f: Callable[[Array], Any], P: int, n: int, dtype: str = "float32", *, seed: int = 0) -> Revealed:
    """Find out in which order and formats an all-reduce adds, by calling it.

    Parameters
    ----------
    f : callable
        Takes the stacked inputs, (P, n) of `dtype`, and returns the result of one rank, (n,), or of all, (P, n), or as
        a sequence.
    P, n : int
        Ranks, and entries: with more of them fewer calls are needed.
    dtype : {"float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"}
        In which is asked.
    seed : int
        Of what is drawn: which ranks are asked about first, and the data whose bits are predicted in the end.

    Returns
    -------
    Revealed
        The order is given only if it predicts all bits of random data.

    Raises
    ------
    ValueError
        A number is out of range, there is no such format, or f returns another shape or format, or something that is
        neither a sum nor a mean.

    Notes
    -----
    Found are trees of additions of two, another for every entry if need be, with sums rounded to the format at some
    hops or once. Sums that depend on time, that are exact in effect (in fixed point, or in a switch), of three or more
    terms that are rounded once, or that are rounded otherwise than to nearest, have no such tree, and it says so.

    Examples
    --------
    >>> print(reveal(lambda x: (x[2] + x[0]) + (x[1] + x[3]), 4, 10))
    4 ranks, 10 entries: rabenseifner; float32, rounded at every hop
        entries 0 to 9: (0 + 2) + (1 + 3)
        one rank was seen; subnormal numbers are kept; 82 calls
    """
    for name, value in (("P", P), ("n", n)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    dtype = named(dtype).name
    asking = _Asking(f, int(P), int(n), dtype)
    rng = np.random.default_rng(seed)
    asking.require_a_sum()
    unknown: list[str] = []
    # of few digits many orders have the same sums
    data = list(_random(rng, P, n, dtype, _DRAWS if named(dtype).digits >= 8 else _MORE))
    results = [asking.result(x) for x in data]
    deterministic = same_bits(asking.result(data[0]), results[0]).all()
    order = None
    if not deterministic:
        unknown.append("the order: the same inputs gave other bits the second time")
    elif P > 3 and asking.masks_nothing(rng):
        unknown.append("the order: no one is lost beside a mask; sums are exact in effect, or wider than float64")
    else:
        try:
            order = _predicting(asking, data, results, rng)
            if order is None:
                unknown.append("the order: the additions that were found do not predict the bits of random data")
        except _NoTree:
            unknown.append(
                "the order: the answers are those of no tree of additions of two; three or more terms may be rounded "
                "once, or ones are not lost beside a mask"
            )
    flushed = asking.flushes()
    return Revealed(
        int(P),
        int(n),
        dtype,
        order,
        asking.same_bits,
        bool(deterministic),
        "flushed" if flushed else "kept",
        asking.calls,
        tuple(unknown),
    )


def _random(rng: np.random.Generator, P: int, n: int, dtype: str, draws: int) -> Iterator[Array]:
    """Normal numbers of some sizes. Of every other draw large ones cancel, but for one or two that are small: their sum
    has the digits that a wider accumulator loses on its way, so that formats and orders show.
    """
    form = named(dtype)
    large = min(20, int(form.largest).bit_length() - 5 - P.bit_length() // 2)
    small = -min(20, int(form.normal.denominator).bit_length() - 4)
    for draw in range(draws):
        x = rng.standard_normal((P, n)) * np.exp2(rng.integers(-3, min(4, max(large, 0) + 1), (P, n)))
        if draw % 2 and P > 2:
            turned = rng.permutation(P)[(np.arange(P)[:, None] + rng.integers(0, P, n)) % P]
            first, second, rest = np.split(turned, [(P - 1) // 2, (P - 1) // 2 * 2])
            x[first, np.arange(n)] *= 2.0**large
            x[second, np.arange(n)] = -x[first, np.arange(n)]
            x[rest, np.arange(n)] *= 2.0**small
        yield x.astype(FLOATS[dtype])


@dataclass
class _Asking:
    """The all-reduce that is asked, and what is noticed on the way."""

    f: Callable[[Array], Any]
    P: int
    n: int
    dtype: str
    calls: int = 0
    same_bits: bool | None = None
    share: float = 1.0
    words: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        mask, one = ASKABLE[self.dtype]
        numbers = np.array([2.0**one, 2.0**mask, -(2.0**mask)]).astype(FLOATS[self.dtype])
        self.words = numbers.view(SAME_SIZE[numbers.dtype.itemsize])
        digits = named(self.dtype).digits
        self.one, self.most = 2.0**one, self.P if digits >= 24 else min(self.P, _ONES, 2**digits - 2)

    def result(self, x: Array) -> Array:
        """What rank 0 holds for these inputs."""
        self.calls += 1
        found = stacked(self.f(x.copy()), "the result")
        if found.shape not in ((self.n,), (self.P, self.n)) or found.dtype != x.dtype:
            raise ValueError(
                f"the result must be ({self.n},) or ({self.P}, {self.n}) of {self.dtype}, got {found.shape} of "
                f"{found.dtype.name}"
            )
        if found.ndim == 1:
            return found
        same = all(same_bits(row, found[0]).all() for row in found[1:])
        self.same_bits = same and self.same_bits is not False
        row: Array = found[0]
        return row

    def require_a_sum(self) -> None:
        """That a term alone comes out as it is, or divided by P."""
        x = np.zeros((self.P, self.n), FLOATS[self.dtype])
        x[np.arange(self.n) % self.P, np.arange(self.n)] = 1.0
        shares = self.result(x).astype(np.float64)
        self.share = 1.0 if (shares == 1.0).all() else 1.0 / self.P
        unit = float(named(self.dtype).unit)
        if not (np.abs(shares - self.share) <= 4.0 * unit * self.share).all():
            raise ValueError(f"neither a sum nor a mean: a one of one rank becomes {shares.min()} to {shares.max()}")
        if self.share != 1.0:  # a share is rounded, and so is a count of them
            self.most = max(1, min(self.most, int(0.2 / unit)))

    def counts(self, i: Numbers, j: Numbers, which: Numbers, starts: Numbers, ranks: Numbers) -> Numbers:
        """How many ones are left, entry by entry: M at i and -M at j, ones at ranks[starts[w] : starts[w + 1]]."""
        bits = np.zeros((self.P, self.n), self.words.dtype)
        _filled(bits, i, j, which, starts, ranks, self.words)
        left = self.result(bits.view(FLOATS[self.dtype])).astype(np.float64) / (self.one * self.share)
        if not np.isfinite(left).all():
            raise _NoTree
        whole = np.rint(left)
        if (np.abs(left - whole) > (0.0 if self.share == 1.0 else 0.49)).any() or (whole < 0).any():
            raise _NoTree
        return whole.astype(np.int64)

    def masks_nothing(self, rng: np.random.Generator) -> bool:
        """Whether all ones are counted, wherever the masks are."""
        for _ in range(max(4, 64 // self.n)):
            i = rng.integers(0, self.P, self.n)
            j = (i + rng.integers(1, self.P, self.n)) % self.P
            ranks = np.sort(rng.permutation(self.P)[: self.most])
            try:
                left = self.counts(i, j, np.zeros(self.n, np.int64), np.array([0, len(ranks)]), ranks)
            except _NoTree:
                return False
            if (left != len(ranks) - np.isin(i, ranks) - np.isin(j, ranks)).any():
                return False
        return True

    def flushes(self) -> bool:
        """Whether the smallest number of the format is lost, which it is of a mean by rounding."""
        if self.share != 1.0:
            return False
        x = np.zeros((self.P, self.n), FLOATS[self.dtype])
        x[0] = float(named(self.dtype).smallest)
        return not self.result(x).astype(bool).any()


@njit(cache=True)
def _filled(bits, i, j, which, starts, ranks, words):  # type: ignore[no-untyped-def]
    for e in range(i.size):
        w = which[e]
        if w < 0:
            continue
        for k in range(starts[w], starts[w + 1]):
            bits[ranks[k], e] = words[0]
        bits[i[e], e] = words[1]
        bits[j[e], e] = words[2]


# --- trees ------------------------------------------------------------------------------------------------------------


@dataclass
class _Part:
    """Ranks whose sum is a subtree: a pivot, and rings of ranks that meet it at one addition, the first deepest."""

    members: Numbers
    pivot: int = -1
    pairs: tuple[Numbers, Numbers] | None = None
    buckets: list[tuple[Numbers, Numbers, bool]] = field(default_factory=list)
    rings: list[int | _Part] = field(default_factory=list)


class _Search:
    """The tree of a group of entries: questions that come next, and what follows from the answers."""

    def __init__(self, P: int, most: int, rng: np.random.Generator) -> None:
        self.P, self.most, self.rng = P, most, rng
        self.root = _Part(np.arange(P))
        self.parts, self.open = [self.root], [self.root] if P > 1 else []
        self.asked: list[tuple[_Part, int, Numbers, Numbers]] = []

    def questions(self) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Batches of pivots, others, and the ranks of ones."""
        self.asked = []
        for part in self.open:
            size = len(part.members)
            if part.pivot < 0 and size >= 32 and part.pairs is None:
                # a pivot that is deep down leaves less behind: of some pairs the one that meets lowest
                few = min(256, size // 8)
                left, right = (self.rng.permutation(part.members)[:few] for _ in range(2))
                part.pairs = left[left != right], right[left != right]
                ones = self._sample(part.members)
                self.asked.append((part, -1, part.pairs[1], ones))
                yield part.pairs[0], part.pairs[1], ones
                continue
            if part.pivot < 0:
                part.pivot = int(part.members[self.rng.integers(size)])
            if not part.buckets:
                others = part.members[part.members != part.pivot]
                part.buckets = [(others, others, len(others) == 1)]
            for at, (ranks, uncovered, final) in enumerate(part.buckets):
                if not final:
                    ones = self._sample(uncovered)
                    self.asked.append((part, at, ranks, ones))
                    yield np.full(len(ranks), part.pivot), ranks, ones

    def _sample(self, ranks: Numbers) -> Numbers:
        if len(ranks) <= self.most:
            return ranks
        return self.rng.permutation(ranks)[: self.most]

    def answered(self, answers: list[Numbers]) -> None:
        """Split rings by how many ones were left."""
        split: dict[int, dict[int, list[tuple[Numbers, Numbers, bool]]]] = {}
        for (part, at, ranks, ones), left in zip(self.asked, answers, strict=True):
            if at < 0:
                assert part.pairs is not None
                part.pivot = int(part.pairs[0][np.argmax(left)])
                continue
            uncovered = part.buckets[at][1]
            found: list[tuple[Numbers, Numbers, bool]] = []
            by = np.argsort(-left, kind="stable")
            values, begins = np.unique(-left[by], return_index=True)
            if values[-1] != 0:
                raise _NoTree
            # of all ones those are left that meet the pivot behind: as many as ranks with a smaller answer
            whole = len(ones) == len(ranks)
            if whole and (len(left) - np.append(begins[1:], len(left)) != -values).any():
                raise _NoTree
            for ring in np.split(ranks[by], begins[1:]):
                rest = np.setdiff1d(uncovered, ones) if len(values) == 1 else ring
                done = whole or len(ring) == 1 or not len(rest)
                found.append((ring, rest, done))
            split.setdefault(id(part), {})[at] = found
        still = []
        for part in self.open:
            changed = split.get(id(part), {})
            part.buckets = [b for at, old in enumerate(part.buckets) for b in changed.get(at, [old])]
            if not part.buckets or not all(final for _, _, final in part.buckets):
                still.append(part)
                continue
            for ring, _, _ in part.buckets:
                if len(ring) == 1:
                    part.rings.append(int(ring[0]))
                else:
                    inner = _Part(np.sort(ring))
                    part.rings.append(inner)
                    self.parts.append(inner)
                    still.append(inner)
        self.open = still

    def tree(self) -> Tree:
        """The tree, when nothing is open."""
        pairs: list[tuple[int, int]] = []
        ends: dict[int, int] = {}
        for part in reversed(self.parts):  # inner ones come behind those that they are in
            at = part.pivot if part.pivot >= 0 else int(part.members[0])
            for ring in part.rings:
                pairs.append((at, ring if isinstance(ring, int) else ends[id(ring)]))
                at = self.P + len(pairs) - 1
            ends[id(part)] = at
        return canonical(np.asarray(pairs, np.int64).reshape(-1, 2), np.ones(len(pairs), bool))


def _groups(asking: _Asking, rng: np.random.Generator) -> list[Numbers]:
    """Entries that answered alike to random questions."""
    P, n = asking.P, asking.n
    if P < 3:
        return [np.arange(n)]
    answers = []
    for _ in range(_ALIKE):
        i, j = rng.choice(P, 2, replace=False)
        ones = rng.permutation(P)[: min(asking.most, max(1, (P + 1) // 2))]
        zeros = np.zeros(n, np.int64)
        answers.append(asking.counts(zeros + i, zeros + j, zeros, np.array([0, len(ones)]), ones))
    _, which = np.unique(np.stack(answers), axis=1, return_inverse=True)
    which = which.ravel()
    by = np.argsort(which, kind="stable")
    return np.split(by, np.flatnonzero(np.diff(which[by])) + 1)


def _trees_of(asking: _Asking, groups: list[Numbers], rng: np.random.Generator) -> list[Tree]:
    """The tree of every group of entries; all are asked at once."""
    searches = [_Search(asking.P, asking.most, rng) for _ in groups]
    group_of, turn, size = (np.empty(asking.n, np.int64) for _ in range(3))
    group_of[:] = -1
    for g, entries in enumerate(groups):
        group_of[entries], turn[entries], size[entries] = g, np.arange(len(entries)), len(entries)
    asked = group_of >= 0
    while any(search.open for search in searches):
        batches = [list(search.questions()) for search in searches]
        flat = [batch for of_one in batches for batch in of_one]
        none = np.empty(0, np.int64)
        first = np.concatenate([none, *(batch[0] for batch in flat)])
        second = np.concatenate([none, *(batch[1] for batch in flat)])
        lengths = np.array([len(batch[1]) for batch in flat], np.int64)
        which = np.repeat(np.arange(len(flat)), lengths)
        starts = np.cumsum([0, *(len(batch[2]) for batch in flat)])
        ranks = np.concatenate([none, *(batch[2] for batch in flat)])
        ends = np.cumsum([sum(len(batch[1]) for batch in of_one) for of_one in batches])
        begins = np.concatenate([[0], ends[:-1]])
        left = np.zeros(len(first), np.int64)
        for call in range(int(max(-(-(e - b) // len(g)) for b, e, g in zip(begins, ends, groups, strict=True)))):
            q = np.where(asked, begins[group_of] + call * size + turn, 0)
            asks = asked & (q < ends[group_of])
            q = np.where(asks, q, 0)
            answer = asking.counts(first[q], second[q], np.where(asks, which[q], -1), starts, ranks)
            left[q[asks]] = answer[asks]
        answers = iter(np.split(left, np.cumsum(lengths)[:-1]))
        for search, of_one in zip(searches, batches, strict=True):
            search.answered([next(answers) for _ in of_one])
    return [search.tree() for search in searches]


def _predicting(asking: _Asking, data: list[Array], results: list[Array], rng: np.random.Generator) -> Order | None:
    """The order that predicts these results; None where what was found does not."""
    if asking.P >= _MANY and (order := _known(asking, data, results, rng)) is not None:
        return order
    groups = alike = _groups(asking, rng)
    trees = _trees_of(asking, groups, rng)
    tree_of: list[Tree] = [trees[0]] * asking.n
    for again in range(_TURNS):
        for entries, tree in zip(groups, trees, strict=True):
            for entry in entries.tolist():
                tree_of[entry] = tree
        order = order_of_entries(tree_of, asking.P, asking.dtype, asking.dtype)
        best = np.ones(asking.n, bool)
        for candidate in _formats(asking, order, rng):
            wrong = _wrong(candidate, data, results)
            if not wrong.any():  # by chance, perhaps
                more = list(_random(rng, asking.P, asking.n, asking.dtype, _MORE))
                data, results = [*data, *more], [*results, *map(asking.result, more)]
                wrong = _wrong(candidate, data, results)
            if not wrong.any():
                return candidate
            if wrong.sum() < best.sum():
                best = wrong
        if again == _TURNS - 1 or best.all():
            return None
        # entries that were taken for alike and are not: ask them again, without the others
        groups = [part for entries in alike if len(part := entries[best[entries]])]
        alike = [*(part for entries in alike if len(part := entries[~best[entries]])), *groups]
        trees = _trees_of(asking, groups, rng)
    return None


def _wrong(order: Order, data: list[Array], results: list[Array]) -> Mask:
    """The entries at which an order does not predict some result."""
    wrong = np.zeros(order.n, bool)
    for x, result in zip(data, results, strict=True):
        wrong |= ~same_bits(replayed(x, order), result)
    return wrong


def _known(asking: _Asking, data: list[Array], results: list[Array], rng: np.random.Generator) -> Order | None:
    """The order of a known schedule that predicts these results, and those of more random data."""
    form = named(asking.dtype)
    wider = [
        name for name in ("bfloat16", "float16", "float32", "float64") if name != form.name and named(name).holds(form)
    ]
    ways = [(form.name, True), *product(wider, (True, False))]
    averages = [None] if asking.share == 1.0 else [a for a in AVERAGES if a]
    for schedule, (wide, per_hop), average in product(SCHEDULES, ways, averages):
        if schedule == "hierarchical":
            continue
        options: dict[str, Any] = {"accumulate": wide, "per_hop": per_hop, "average": average}
        for blocks in (1, None):  # the first block alone, before the trees of all are made
            order = schedule_order(schedule, asking.P, asking.n, form.name, **options, blocks=blocks)
            seen = slice(order.n)
            if any(
                not same_bits(replayed(x[:, seen], order), y[seen]).all() for x, y in zip(data, results, strict=True)
            ):
                break
        else:
            more = _random(rng, asking.P, asking.n, form.name, _MORE)
            return order if all(same_bits(replayed(x, order), asking.result(x)).all() for x in more) else None
    return None


def _formats(asking: _Asking, order: Order, rng: np.random.Generator) -> Iterator[Order]:
    """The order with the formats that questions tell, and every way to divide a mean; what is asked with few first."""
    averages = [None] if asking.share == 1.0 else [a for a in AVERAGES if a]
    # terms that are divided first are asked in multiples of P, others in powers of two: either keeps digits as they are
    scales = [1] if asking.share == 1.0 else [asking.P, 1 << (asking.P - 1).bit_length()]
    inner = max(0, asking.P - 2)
    for pairs in [rng.permutation(inner)[:_PAIRS], np.arange(inner)] if inner > _PAIRS else [np.arange(inner)]:
        for scale, average in product(scales, averages):
            wide, kept = _accumulator(asking, order, pairs, scale)
            if not kept.any():
                trees, wide = order.trees, order.dtype
                yield Order(order.P, order.n, order.dtype, wide, trees, order.stretches, average)
            elif kept.all():
                trees = tuple(tree.all_sent(False) for tree in order.trees)
                yield Order(order.P, order.n, order.dtype, wide, trees, order.stretches, average)
            elif len(pairs) == inner:
                flags = np.concatenate([~kept, np.ones((1, order.n), bool)]).T
                tree_of = [Tree(order.tree_of(e).pairs, flags[e].tobytes()) for e in range(order.n)]
                yield order_of_entries(tree_of, order.P, order.dtype, wide, average)


def _accumulator(asking: _Asking, order: Order, pairs: Numbers, scale: int) -> tuple[str, Mask]:
    """The format of sums that are not rounded at once, and of which pairs and entries they are."""
    digits = named(asking.dtype).digits
    kept = np.zeros((len(pairs), asking.n), bool)
    for at, k in enumerate(pairs.tolist()):
        kept[at] = _keeps(asking, order, k, digits, scale)
    for name in ("bfloat16", "float16", "float32"):
        more = named(name).digits
        if more > digits and kept.any():
            at, entry = np.argwhere(kept)[0].tolist()
            if not _keeps(asking, order, int(pairs[at]), more, scale)[entry]:
                return name, kept
    return "float64", kept


def _keeps(asking: _Asking, order: Order, k: int, digits: int, scale: int) -> Mask:
    """Of every entry, whether the sum of pair k, not the last, has a digit more than so many at the next addition."""
    x = np.zeros((asking.P, asking.n), FLOATS[asking.dtype])
    places = {which: _around(tree, k) for which, tree in enumerate(order.trees)}
    for start, stop, which in order.stretches:
        for rank, value in zip(places[which], (1.0, 2.0**-digits, -1.0), strict=True):
            x[rank, start:stop] = value * scale
    return asking.result(x).astype(bool)


def _around(tree: Tree, k: int) -> tuple[int, int, int]:
    """A rank on either side of pair k, and one that is added to its sum next."""
    pairs, P = tree.additions, tree.ranks

    def leaf(node: int) -> int:
        while node >= P:
            node = int(pairs[node - P, 0])
        return node

    above = int(np.flatnonzero((pairs == P + k).any(axis=1))[0])
    other = int(pairs[above].sum()) - (P + k)
    return leaf(int(pairs[k, 0])), leaf(int(pairs[k, 1])), leaf(other)
