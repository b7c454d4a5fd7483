"""Results held to the bits that an order of additions gives: `assert_replayed`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds._arrays import FLOATS, SAME_SIZE, format_of, place, rows_of, same_bits, stacked
from commbounds._orders import AVERAGES, Order, Tree, in_one_format, quick_to_make, replayed, schedule_order
from commbounds.array_types import Array
from commbounds.theory.precision.formats import FORMATS

_SAMPLE = 24
"""Wrong entries at which a mistake is tried."""
_NAMED = 3
_WORK = 2**26  # numbers that are added to try ranks, beyond which none is named


def assert_replayed(actual: Any, inputs: Any, order: Order | str, **options: Any) -> None:
    """Raise an AssertionError unless `actual` has the bits that the order of additions gives.

    Parameters
    ----------
    actual : array, tensor, sequence of them, or callable
        The result of one rank, of the shape of an input; or of all ranks. A callable is given the stacked inputs.
    inputs : array, tensor, or sequence of them
        What the ranks brought.
    order : Order or str
        As `reveal` found it, or a schedule that is known: ring, direct, recursive_doubling, rabenseifner, binomial,
        hierarchical, pat, chain, double_binary_tree, in_rank_order.
    **options
        Of a schedule: ``accumulate``, ``per_hop``, ``nodes``, ``average``. Sums are made in the inputs' format without.

    Raises
    ------
    AssertionError
        An entry of some rank has other bits: the message names the first, the way of its sum, and the mistakes that
        explain all entries that were tried: a rank lost, counted twice or with the wrong sign, and at which addition it
        is due; another order; another format.
    ValueError, TypeError
        Shapes, formats or options do not fit.

    Notes
    -----
    Bits of NaNs and signs of zeros are not compared. 64 ranks of a million entries take half a second.

    Examples
    --------
    >>> x = (1 + np.arange(60, dtype=np.float32).reshape(3, 20) % 7) / 10
    >>> assert_replayed((x[0] + x[1]) + x[2], x, "in_rank_order")
    >>> assert_replayed(x[0] + (x[1] + x[2]), x, "in_rank_order")
    Traceback (most recent call last):
    AssertionError: all-reduce of 3 ranks: 6 of 20 entries have other bits than in_rank_order, float32, gives
        first: entry (0,) is 1.399999976158142, the order gives 1.4000000953674316, 1 unit in the last place off
        its sum is made one after another: 0 .. 2
        what fits: the order of additions is chain, in entries 0 to 17
    """
    stack = stacked(inputs, "inputs")
    flat, rows, shape, of_all = rows_of(actual(stack) if callable(actual) else actual, stack)
    form = format_of(stack, "inputs")
    if rows.dtype != stack.dtype:
        raise TypeError(f"actual must be of the inputs' format {stack.dtype.name}, got {rows.dtype.name}")
    if isinstance(order, str):
        order = schedule_order(order, len(flat), flat.shape[1], form.name, **options)
    elif options:
        raise TypeError(f"options are of a schedule, an order has its own: got {', '.join(options)}")
    wanted = replayed(flat, order)
    for rank, row in enumerate(rows):
        wrong = np.flatnonzero(~same_bits(row, wanted))
        if wrong.size:
            on = f" on rank {rank}" if of_all else ""
            raise AssertionError(_message(flat, order, row, wanted, wrong, shape, on))


def _message(
    flat: Array, order: Order, row: Array, wanted: Array, wrong: NDArray[np.intp], shape: tuple[int, ...], on: str
) -> str:
    first = int(wrong[0])
    where, has, given = place(first, shape), float(row[first]), float(wanted[first])
    formats = order.dtype if order.accumulate == order.dtype else f"{order.accumulate}, sent as {order.dtype}"
    units = _units(row[first : first + 1], wanted[first : first + 1])
    off = f", {units} unit{'s' * (units != 1)} in the last place off" if units is not None else ""
    fits = _unique(_fits(flat, order, row, wrong))
    return (
        f"all-reduce of {order.P} ranks: {wrong.size} of {order.n} entries{on} have other bits than {order.name}, "
        f"{formats}, gives\n    first: entry {where}{on} is {has!r}, the order gives {given!r}{off}\n    its sum is "
        f"made {order.tree_of(first)}\n    what fits: {'; '.join(fits) or 'none of the mistakes that are known here'}"
    )


def _units(row: Array, wanted: Array) -> int | None:
    """How many numbers of the format lie between, the last included; None where one is not finite."""
    if not (np.isfinite(row.astype(np.float64)) & np.isfinite(wanted.astype(np.float64))).all():
        return None
    size = row.dtype.itemsize
    places = []
    for value in (row, wanted):
        bits = int(np.ascontiguousarray(value).view(SAME_SIZE[size])[0])
        magnitude = bits & (2 ** (8 * size - 1) - 1)
        places.append(-magnitude if bits >> (8 * size - 1) else magnitude)
    return int(abs(places[0] - places[1]))


def _unique(fits: Iterator[str]) -> list[str]:
    found: list[str] = []
    for words in fits:
        if words not in found:
            found.append(words)
        if len(found) == _NAMED:
            break
    return found


def _fits(flat: Array, order: Order, row: Array, wrong: NDArray[np.intp]) -> Iterator[str]:
    """The mistakes that give the bits of the wrong entries that are tried."""
    tried = wrong[np.unique(np.linspace(0, wrong.size - 1, _SAMPLE).astype(int))]
    got, terms = row[tried], flat[:, tried]
    trees = [order.tree_of(int(entry)) for entry in tried]
    first, last = int(wrong[0]), int(wrong[-1])
    where = "" if (first, last) == (0, order.n - 1) else f", in entries {first} to {last}"
    if first == last:
        where = f", in entry {first}"
    if not got.astype(bool).any():
        yield f"the result was left at zero{where}"
    for rank in range(order.P):
        if order.P > 1 and same_bits(got, terms[rank]).all():
            yield f"the result is the input of rank {rank}, not reduced{where}"
    yield from (words + where for words in _ranks(terms, got, trees, order))
    for words, other in _others(order):
        if same_bits(got, _of_columns(terms, other, tried)).all():
            yield words + where
            return


def _of_columns(terms: Array, order: Order, entries: NDArray[np.intp]) -> Array:
    """What the order gives for these columns of the inputs."""
    out = np.empty(len(entries), terms.dtype)
    by_tree: dict[Tree, list[int]] = {}
    for at, entry in enumerate(entries):
        by_tree.setdefault(order.tree_of(int(entry)), []).append(at)
    for tree, places in by_tree.items():
        out[places] = _by(tree, terms[:, places].astype(FLOATS[order.dtype]), order)
    return out


def _by(tree: Tree, terms: Array, order: Order) -> Array:
    """What one tree gives for all these columns, in the formats of the order."""
    n = terms.shape[1]
    return replayed(terms, Order(order.P, n, order.dtype, order.accumulate, (tree,), ((0, n, 0),), order.average))


def _ranks(terms: Array, got: Array, trees: list[Tree], order: Order) -> Iterator[str]:
    """Ranks that are lost, counted twice or negative, in all sums that were tried; one stretch of ranks, too."""
    P, dtype = order.P, terms.dtype
    if P == 1:
        return
    kinds = (("is missing", 0.0), ("is counted twice", 2.0), ("has the wrong sign", -1.0))
    left = [set(range(P)) for _ in kinds]
    work, seen = 0, set()
    for column, value, tree in zip(terms.T, got, trees, strict=True):
        if (key := (column.tobytes(), value.tobytes(), tree)) in seen:
            continue
        seen.add(key)
        work += P * sum(map(len, left))
        if work > _WORK:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            for alive, (_, factor) in zip(left, kinds, strict=True):
                ranks = np.fromiter(alive, int)
                if ranks.size:
                    variants = np.repeat(column[:, None], len(ranks), axis=1)
                    changed = (factor * column[ranks].astype(np.float64)).astype(dtype)
                    variants[ranks, np.arange(len(ranks))] = changed
                    fits = same_bits(_by(tree, variants, order), np.full(len(ranks), value, dtype))
                    alive.intersection_update(ranks[fits].tolist())
    depth = trees[0].depths()
    for alive, (words, _) in zip(left, kinds, strict=True):
        for rank in sorted(alive) if len(alive) <= max(1, P // 4) else ():
            yield f"rank {rank} {words}, which passes {int(depth[rank])} of at most {int(depth.max())} additions"


def _others(order: Order) -> Iterator[tuple[str, Order]]:
    """Orders that are taken for this one: other formats, then other schedules, and both."""
    formats = FORMATS[order.dtype]
    wider = [f.name for f in FORMATS.values() if f.holds(formats)]
    for accumulate in reversed(wider):
        for sent in (True, False):
            if (accumulate, sent) != (order.accumulate, order.rounds == "every hop"):
                when = "rounded at every hop" if sent else "rounded once"
                words = f"sums are accumulated in {accumulate}, {when}"
                yield words, in_one_format(order, order.dtype, accumulate, sent)
    for average in AVERAGES:
        if order.average != average:
            words = f"the mean is divided {average}" if average else "the sum is not divided"
            yield words, Order(order.P, order.n, order.dtype, order.accumulate, order.trees, order.stretches, average)
    per_hop = order.rounds != "once"
    for name in quick_to_make(order.P):
        nodes = [None] if name != "hierarchical" else [q for q in range(2, order.P) if order.P % q == 0][:8]
        for q in nodes:
            other = schedule_order(
                name,
                order.P,
                order.n,
                order.dtype,
                accumulate=order.accumulate,
                per_hop=per_hop,
                nodes=q,
                average=order.average,
            )
            if other.name != order.name:
                yield f"the order of additions is {other.name}", other
