"""How far rounding may move the entries of a sum whose order of additions is known, by its partial sums: `along`."""

import math

import numpy as np
from numba import njit

from commbounds._arrays import FLOATS, format_of, named
from commbounds._orders import Order, programs, tiles
from commbounds.array_types import Array, Floats
from commbounds.theory.precision.formats import Format, innocuous


def along(
    inputs: Array, order: Order, *, rounding: str = "nearest", probability: float | None = None, flushed: bool = False
) -> Floats:
    """A bound of |result - exact| for every entry, of the sum over the ranks, or of their mean times P.

    Parameters
    ----------
    inputs : (P, n) array
        Finite; of a format that is rounded to the order's first where it does not hold them.
    order : Order
        Which additions make an entry, and in which formats.
    rounding : {"nearest", "stochastic", "either neighbour"}
        How all roundings go.
    probability : float or None
        None for what holds surely; else the chance that some entry is beyond, where roundings have mean zero, given
        those before: a fact of stochastic rounding, an assumption of nearest, no option of either neighbour.
    flushed : bool
        Whether numbers below the normal range may be taken for zero.

    Notes
    -----
    The error of a sum is that of its two operands and of its own rounding, which is by half a gap at most, at a
    magnitude of at most the exact partial sum and the operands' errors: so the bound is propagated up the tree. To
    nearest it is by no more than either operand. Sums below the normal range are multiples of the smallest number, and
    not rounded.

    With V the sum of the squares of these bounds over the additions below an addition, its error exceeds sqrt(2 L V)
    with probability at most 2 exp(-L), by the inequality of Azuma and Hoeffding: the errors of roundings are a
    martingale along the tree (the idea of Hallman and Ipsen, arXiv 2203.15928). L = ln(2 n (P - 1)/probability), of all
    additions of all entries together: stopped at the first addition that is beyond, every bound of a rounding goes by
    what is below it, so that no terms of higher order are left out.
    """
    P, n = inputs.shape
    wire, wide = named(order.dtype), named(order.accumulate)
    gaps = 1.0 if rounding == "nearest" else 2.0
    first = not wire.holds(format_of(inputs, "inputs"))
    inside = (order.average or "").endswith("in accumulator")
    share, uncertain = _share(order.average, P, wide if inside else wire, gaps)
    before = order.average is not None and order.average.endswith("before")
    flush = float(wire.normal) if flushed else 0.0
    reserve = 4.0 * flush  # a term, what it is scaled to, its addition and the rounding behind may be flushed
    deviations = 0.0 if probability is None else math.sqrt(2.0 * math.log(2.0 * n * max(1, P - 1) / probability))
    # to nearest an error lies between -d and d, stochastically in an interval of length d
    ours = np.array([1.0 + P * 2.0**-50, rounding == "nearest", deviations / gaps, P * reserve])
    once = innocuous(wide, wire) and rounding == "nearest"
    out = np.empty(n)
    for begin, end, pieces in tiles(order, copies=2 if probability is None else 3):
        terms = inputs[:, begin:end].astype(np.float64)
        off = _rounding(np.abs(terms), wire, gaps) if first else np.zeros(terms.shape)
        if before:
            terms, off = terms * share, off * share
            off += uncertain * (np.abs(terms) + off)
            off += _rounding(np.abs(terms) + off, wire, gaps)
        off += reserve
        squares = off[:, : (end - begin) * (probability is not None)] ** 2
        slack = P * 2.0**-50 * np.abs(terms).sum(axis=0)
        pairs, sent, lasts, cuts = programs(order, pieces)
        total, beyond = np.empty(end - begin), np.empty(end - begin)
        fused = sent.all(axis=1) & once
        bounded(
            (terms, off, squares), cuts, pairs, sent, fused, lasts, _gap(wide, gaps), _gap(wire, gaps), slack, ours,
            (total, beyond),
        )  # fmt: skip
        exact = np.abs(total) + slack
        if order.average is not None and not before:
            beyond = beyond * share
            beyond += uncertain * (exact * share + beyond)
            if inside:  # besides, the sum is rounded above as if it were sent, which it is not
                beyond += _rounding(exact * share + beyond, wide, gaps)
            beyond += _rounding(exact * share + beyond, wire, gaps) + flush
        if order.average is not None:
            exact = exact / share if before else exact
            beyond = P * beyond + (abs(P * share - 1.0) + 2.0**-53) * exact
        out[begin:end] = beyond * (1.0 + P * 2.0**-50)
    return out


def _share(average: str | None, P: int, wire: Format, gaps: float) -> tuple[float, float]:
    """By what is multiplied, and what that may be off, relatively."""
    if average is None or not average.startswith("times"):
        return (1.0 if average is None else 1.0 / P), 0.0
    if gaps == 1.0:
        return float(FLOATS[wire.name].type(1.0 / P)), 0.0
    return 1.0 / P, gaps * float(wire.unit) * max(1.0, P * float(wire.normal))


def _gap(form: Format, gaps: float) -> Floats:
    """Half a gap of numbers in [1, 2), or a whole one, and the smallest normal number."""
    return np.array([gaps * float(form.unit), float(form.normal)])


def _rounding(size: Floats, form: Format, gaps: float) -> Floats:
    """What rounding a number of at most that size is off, below the normal range as well."""
    power = np.exp2(np.frexp(np.maximum(size * (1.0 + 2.0**-50), float(form.normal)))[1] - 1.0)
    half: Floats = gaps * float(form.unit) * power
    return half


@njit(cache=True, nogil=True, inline="always")
def _half_gap(size, unit, normal):  # type: ignore[no-untyped-def]
    power = np.int64(np.float64(size).view(np.int64) & np.int64(0x7FF0000000000000)).view(np.float64)
    return unit * power if size >= normal else 0.0


@njit(cache=True, nogil=True)
def bounded(state, cuts, pairs, sent, fused, lasts, add, hop, slack, ours, out):  # type: ignore[no-untyped-def]
    """Partial sums and what they may be off, up the trees of all pieces."""
    terms, off, squares = state
    room, nearest, deviations, reserve = ours
    for piece in range(lasts.size):
        start, stop = cuts[piece], cuts[piece + 1]
        unit, normal = (hop[0], hop[1]) if fused[piece] else (add[0], add[1])
        for k in range(pairs.shape[1]):
            a, b = pairs[piece, k, 0], pairs[piece, k, 1]
            twice = sent[piece, k] and not fused[piece] and hop[0] != add[0]
            for i in range(start, stop):
                total, inherited = terms[a, i] + terms[b, i], off[a, i] + off[b, i]
                size = (abs(total) + inherited) * room + slack[i]
                own = _half_gap(size, unit, normal)
                if nearest > 0.0:
                    own = min(own, min(abs(terms[a, i]) + off[a, i], abs(terms[b, i]) + off[b, i]) * room + slack[i])
                again = _half_gap(size + own, hop[0], hop[1]) if twice else 0.0
                error = inherited + own + again
                if deviations > 0.0:
                    squares[a, i] += squares[b, i] + own * own + again * again
                    error = min(error, deviations * math.sqrt(squares[a, i]) * room + reserve)
                terms[a, i] = total
                off[a, i] = error
        for i in range(start, stop):
            out[0][i] = terms[lasts[piece], i]
            out[1][i] = off[lasts[piece], i]
