"""What `commbounds.single_file` has in place of compiled kernels, of ml_dtypes, and of what would make it long."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from commbounds._along import along
from commbounds._arrays import format_of, rows_of
from commbounds._judged import nothing_said, require_close
from commbounds._orders import Order, _chain_parts, _in_rank_order, in_one_format, replayed, schedule_order
from commbounds._sums import RankSums, rank_sums
from commbounds.array_types import Array
from commbounds.collectives.dense.message_by_message import rabenseifner_parts, recursive_doubling_parts
from commbounds.collectives.dense.messages import core_size
from commbounds.collectives.precision.steps import tree_parts
from commbounds.theory.precision.bounds import any_order, followed, one_rounding
from commbounds.theory.precision.formats import FORMATS

_PARTS: dict[str, Any] = {
    "ring": (None, lambda P: P),  # a chain, as the next
    "direct": (None, lambda P: P),
    "recursive_doubling": (lambda P, nodes: recursive_doubling_parts(P), lambda P: 1),
    "rabenseifner": (lambda P, nodes: rabenseifner_parts(P), core_size),
    "binomial": (lambda P, nodes: tree_parts(P), lambda P: 1),
    "chain": (lambda P, nodes: _chain_parts(P), lambda P: 1),
    "in_rank_order": (lambda P, nodes: _in_rank_order(P), lambda P: 1),
}


@dataclass(frozen=True)
class Suspect:
    stack: Array
    sums: RankSums
    y: Array
    times: int
    allowed: Array
    wrong: Array
    unit: float

    @property
    def distance(self) -> Array:
        return self.sums.distance(self.y, self.times)


def explanations(suspect: Suspect, coarser: Any) -> list[str]:
    at, found = suspect.wrong, []
    off, room = suspect.distance[at], suspect.allowed[at]
    for rank, row in enumerate(suspect.stack):
        brought = row[at].astype(np.float64)
        for factor, words in ((-1.0, "is missing"), (1.0, "is counted twice"), (-2.0, "has the wrong sign")):
            if (np.abs(off - factor * brought) <= room + 8.0 * suspect.unit * np.abs(brought)).all():
                found.append(f"rank {rank} {words}")
        if (suspect.y[at] == row[at]).all():
            found.append(f"the result is the input of rank {rank}, not reduced")
    return found[:3]


def _fits(flat: Array, order: Order, row: Array, wrong: Array) -> Iterator[str]:
    sums, unit = rank_sums(flat), float(FORMATS[order.dtype].unit)
    yield from explanations(Suspect(flat, sums, row, 1, order.P * unit * sums.sizes, wrong, unit), None)
    for sent in (True, False):
        if (replayed(flat, in_one_format(order, order.dtype, order.accumulate, sent)) == row).all():
            yield f"sums are rounded {'at every hop' if sent else 'once'}"


def known_floats() -> dict[str, Any]:
    """Name of a format -> its dtype: of numpy's own, and of those of ml_dtypes, where it is installed."""
    try:
        import ml_dtypes
    except ImportError:
        return {name: np.dtype(name) for name in ("float64", "float32", "float16")}
    return {name: np.dtype(getattr(ml_dtypes, name, name)) for name in FORMATS}


FLOATS = known_floats()


def checked_count(name: str, value: int, low: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")
    return int(value)


def _filled(bits: Array, i: Array, j: Array, which: Array, starts: Array, ranks: Array, words: Array) -> None:
    for w in np.unique(which[which >= 0]):
        bits[np.ix_(ranks[starts[w] : starts[w + 1]], np.flatnonzero(which == w))] = words[0]
    asked = np.flatnonzero(which >= 0)
    bits[i[asked], asked], bits[j[asked], asked] = words[1], words[2]


def _added(terms: Array, cuts: Array, pairs: Array, lasts: Array, out: Array) -> None:
    for piece, last in enumerate(lasts):
        at = slice(cuts[piece], cuts[piece + 1])
        for a, b in pairs[piece]:
            terms[a, at] += terms[b, at]
        out[at] = terms[last, at]


def _round(value: Array, magic: float, normal: float, largest: float, beyond: float) -> Array:
    if magic == 0.0:
        return value
    size = np.abs(value)
    power = (size.view(np.int64) & np.int64(0x7FF0000000000000)).view(np.float64)
    scale = magic * np.maximum(power, normal)
    rounded = (size + scale) - scale
    rounded[rounded > largest] = beyond
    return np.where(size < np.inf, np.copysign(rounded, value), value)


def _round_all(x: Array, form: Array) -> None:
    x[:] = _round(x, *form)


def _rounded_sums(
    terms: Array, cuts: Array, pairs: Array, sent: Array, fused: Array, lasts: Array, add: Array, hop: Array, out: Array
) -> None:
    for piece, last in enumerate(lasts):
        at = slice(cuts[piece], cuts[piece + 1])
        for k, (a, b) in enumerate(pairs[piece]):
            terms[a, at] = _round(terms[a, at] + terms[b, at], *(hop if fused[piece] else add))
            if sent[piece, k] and not fused[piece]:
                terms[a, at] = _round(terms[a, at], *hop)
        out[at] = terms[last, at]


def _half_gap(size: Array, unit: float, normal: float) -> Array:
    power = (size.view(np.int64) & np.int64(0x7FF0000000000000)).view(np.float64)
    return np.where(size >= normal, unit * power, 0.0)


def bounded(
    state: Any, cuts: Array, pairs: Array, sent: Array, fused: Array, lasts: Array, add: Array, hop: Array,
    slack: Array, ours: Array, out: Any,
) -> None:  # fmt: skip
    terms, off, squares = state
    room, nearest, deviations, reserve = ours
    for piece, last in enumerate(lasts):
        at = slice(cuts[piece], cuts[piece + 1])
        unit, normal = hop if fused[piece] else add
        for k, (a, b) in enumerate(pairs[piece]):
            total, inherited = terms[a, at] + terms[b, at], off[a, at] + off[b, at]
            size = (np.abs(total) + inherited) * room + slack[at]
            own = _half_gap(size, unit, normal)
            if nearest > 0.0:
                least = np.minimum(np.abs(terms[a, at]) + off[a, at], np.abs(terms[b, at]) + off[b, at])
                own = np.minimum(own, least * room + slack[at])
            twice = sent[piece, k] and not fused[piece] and hop[0] != add[0]
            again = _half_gap(size + own, hop[0], hop[1]) if twice else 0.0
            error = inherited + own + again
            if deviations > 0.0:
                squares[a, at] += squares[b, at] + own * own + again * again
                error = np.minimum(error, deviations * np.sqrt(squares[a, at]) * room + reserve)
            terms[a, at], off[a, at] = total, error
        out[0][at], out[1][at] = terms[last, at], off[last, at]


def assert_allreduce_close(
    actual: Any,
    inputs: Any,
    order: Order | str | None = None,
    *,
    op: str = "sum",
    rounding: str = "nearest",
    probability: float | None = None,
    allow_vacuous: bool = False,
    **options: Any,
) -> None:
    """Raise an AssertionError unless `actual` is the sum, or mean, of `inputs` over the ranks, up to rounding.

    Parameters
    ----------
    actual : array, tensor, or sequence of them
        The result of one rank, of the shape of an input; or of all ranks.
    inputs : array, tensor, or sequence of them
        What the ranks brought.
    order : Order, str or None
        As `reveal` found it, or a schedule, with the options of `schedule_order`: the bound goes along the partial sums
        of these inputs. None for any order of additions in the inputs' format, the mean divided before or behind.
    op : {"sum", "mean"}
        What is asked for.
    rounding : {"nearest", "stochastic", "either neighbour"}
        How additions round; with an order.
    probability : float or None
        With an order: None for what holds surely, else the chance of a false alarm where roundings have mean zero. To
        nearest that is an assumption, which data that repeat from rank to rank break.
    allow_vacuous : bool
        Whether a bound that exceeds most sums may accept a result: it would accept zeros, too.

    Raises
    ------
    AssertionError
        An entry is off by more than the bound: which, by how many times, and which known mistakes explain all.
    ValueError, TypeError
        Something does not fit, is not finite, may overflow, or the bound says nothing.
    """
    given = rows_of(actual, inputs, op)
    flat, rows = given.inputs, given.results
    if rows.dtype != flat.dtype:
        raise TypeError(f"actual must be of the inputs' format {flat.dtype}, got {rows.dtype}")
    (P, n), form, times, sums = flat.shape, format_of(flat, "inputs"), len(flat) if op == "mean" else 1, rank_sums(flat)
    if order is None:
        if rounding != "nearest" or probability is not None or options:
            raise ValueError("rounding, probability and options are of an order of additions: give order=")
        u, relative = form.unit, any_order(P, form.unit)
        for _ in range(2 if times > 1 else 0):  # 1/P is rounded, and the product with it
            relative = followed(relative, one_rounding(u))
        allowed = float(relative) * (1 + 2.0**-50) * sums.sizes + 2.0 * P * times * float(form.smallest) * (times > 1)
        how = f"any order of additions, {form.name}"
    else:
        if isinstance(order, str):
            options.setdefault("average", "after" if times > 1 else None)
            order = schedule_order(order, P, n, form.name, **options)
        elif options:
            raise TypeError(f"options are of a schedule, an order has its own: got {', '.join(options)}")
        if (order.P, order.n, order.dtype, order.average is None) != (P, n, form.name, times == 1):
            raise ValueError(f"order must be of the {op} over {P} ranks of {n} entries in {form.name}")
        allowed = along(flat, order, rounding=rounding, probability=probability)
        how = f"{order.name}: along the partial sums of these inputs"
    allowed = allowed + sums.slack
    if n and not (sums.sizes + allowed).max() <= float(form.largest):
        raise ValueError(f"magnitudes must add up to less than {float(form.largest):.4g}, or sums may overflow")
    require_close(given, sums, times, allowed, float(form.unit), how, lambda suspect: {})
    vacuous, brought = nothing_said(allowed, sums)
    if 2 * vacuous > brought and not allow_vacuous:
        raise ValueError("the bound says nothing: give exact_inputs, or order=, or compare with assert_replayed")
