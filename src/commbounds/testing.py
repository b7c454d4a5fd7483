"""For tests of all-reduces: inputs with determined sums, and a tolerance that is derived and not guessed."""

from functools import lru_cache
from typing import Any

import numpy as np

from commbounds._along import along
from commbounds._arrays import FLOATS, SAME_SIZE, Rows, format_of, named, place, rows_of, stacked
from commbounds._asked import Asked
from commbounds._exact import assert_exact as assert_exact
from commbounds._exact import exact_inputs as exact_inputs
from commbounds._judged import nothing_said, require_close
from commbounds._mistakes import Suspect
from commbounds._orders import Order as Order
from commbounds._orders import replayed as replayed
from commbounds._orders import schedule_order as schedule_order
from commbounds._parallel import Accumulate as Accumulate
from commbounds._parallel import Adam as Adam
from commbounds._parallel import CrossEntropy as CrossEntropy
from commbounds._parallel import Matmul as Matmul
from commbounds._parallel import Norm as Norm
from commbounds._parallel import assert_parallel_close as assert_parallel_close
from commbounds._quantised import assert_quantised_close as assert_quantised_close
from commbounds._replayed import assert_replayed as assert_replayed
from commbounds._reveal import Revealed as Revealed
from commbounds._reveal import reveal as reveal
from commbounds._sums import RankSums, rank_sums
from commbounds.array_types import Array, Floats
from commbounds.theory.precision.formats import FORMATS, Format
from commbounds.theory.precision.tolerance import Tolerance, rounded_up, tolerance

_tolerance = lru_cache(maxsize=4096)(tolerance)


def assert_allreduce_close(
    actual: Any,
    inputs: Any,
    *,
    op: str = "sum",
    dtype: str | None = None,
    accumulate: str | None = None,
    schedule: str = "any",
    order: Order | str | None = None,
    nodes: int | None = None,
    average: str | None = None,
    per_hop: bool = True,
    rounding: str = "nearest",
    subnormals: str = "kept",
    probability: float | None = None,
    same_bits: bool = False,
    previous: Any = None,
    allow_vacuous: bool = False,
) -> None:
    """Raise an AssertionError unless `actual` is the all-reduce of `inputs`, up to what rounding can do.

    Entry by entry |actual - exact| <= a sum_p |x_p| + b, with exact sums, and a and b from
    `commbounds.theory.tolerance`: no correct implementation is beyond. An all-reduce itself, a function, is asked
    besides, and held to bits.

    Parameters
    ----------
    actual : array, tensor, sequence of them, or callable
        The result of one rank, of the shape of an input; or of all ranks, stacked or as a sequence. Or the all-reduce:
        it is given the stacked inputs, others of their shape and format as well, and returns a result.
    inputs : array, tensor, or sequence of them
        What the ranks brought, stacked along the first axis, or as a sequence of P arrays of one shape. numpy arrays
        (those of ``ml_dtypes`` too), torch tensors, and whatever speaks DLPack or converts to an array.
    op : {"sum", "mean"}
        What is asked for.
    dtype : str or None
        Format in which is sent, a name in `theory.precision.formats.FORMATS`; None for that of the result. Inputs that
        it does not hold are taken to be rounded to it first.
    accumulate : str or None
        Format of the additions; None for `dtype`.
    schedule, nodes, per_hop, rounding, subnormals
        As for `commbounds.theory.tolerance`; any order of additions without.
    order : Order, str or None
        In which order is added, entry by entry: as `reveal` found it, with its own formats and average, or a schedule
        as for `assert_replayed`, with the options here. The bound then goes along the partial sums of these inputs,
        which is much less than what holds for all inputs.
    average : {None, "before", "after", "any"}
        Where a mean is divided; None and any: before or after the additions, by P or times a rounded 1/P. With an
        `order` None is after them, by P.
    probability : float or None
        None for the sure bound; else the probable one, with at most this probability of a false alarm where roundings
        have mean zero, all entries of all ranks together. So they have if they are stochastic. To nearest that is an
        assumption, asks for an `order`, and is wrong for data that repeat from rank to rank.
    same_bits : bool
        Whether all ranks must hold the same bits, too; all NaNs are the same.
    previous : array, tensor or None
        An earlier result of the same shape as one rank's, for the message: whether a stale buffer explains the error.
    allow_vacuous : bool
        Whether a bound that exceeds most sums may accept a result: it would accept zeros, too.

    Raises
    ------
    AssertionError
        An entry is off by more than the bound, or ranks differ. The message says which entry, by how many times the
        bound, and which known mistakes explain all wrong entries.
    ValueError
        Shapes do not fit, an input is not finite, sums may overflow, or no bound is derived for what was asked. Or the
        bound refuses nothing, and is larger than |exact| at most entries: it says nothing, and the message what would.
    TypeError
        Something holds no floating-point numbers.

    Notes
    -----
    Exact sums take about ten float64 operations for every number: a second for 64 ranks of a million entries.

    A function is asked, first, with inputs of which every order of additions gives the same bits, and every rank brings
    something to every entry: P/2^(digits - 1) times, 32 of 4096 ranks in bfloat16 (of a mean where P is a power of
    two). Where `order`, `schedule`, `accumulate` or `per_hop` promise how sums are made, its bits for `inputs` must be
    those of the promised order, or those that the promised formats give by the order that `reveal` finds; and where the
    bound says nothing, those of the order that is revealed. With stochastic rounding, either neighbour, flushed numbers
    and results of another format than the inputs', bits are compared for the first inputs alone.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [3.0, 0.5]], dtype=np.float32)
    >>> assert_allreduce_close(x.sum(axis=0), x)
    >>> assert_allreduce_close(x[0], x)
    Traceback (most recent call last):
    AssertionError: all-reduce of 2 ranks: 2 of 2 entries are beyond what rounding explains
        worst: entry (0,) is 1.0, the sum is 4.0: off by 3, where 2.38e-07 is explained: 1.26e+07 times
        any order of additions, float32: On its longest way a term passes 1 addition, rounded to float32 (u = 2^-24).
        what fits: the result is the input of rank 0, not reduced
    """
    if op == "sum" and average is not None:
        raise ValueError(f"average is of op='mean', got {average!r}")
    stack = stacked(inputs, "inputs")
    reduce = actual if callable(actual) else None
    flat, rows, shape, of_all = rows_of(actual if reduce is None else reduce(stack.copy()), stack, op)
    if same_bits and not of_all:
        raise ValueError("same_bits asks for the results of all ranks")
    P, n = flat.shape
    if probability is not None and order is None and rounding == "nearest":
        raise ValueError(
            "probability takes roundings to nearest to have mean zero, which the same number on every rank breaks: "
            "give order=, along whose partial sums they are assumed to, or rounding='stochastic'"
        )
    if n == 0:
        return
    held, brought = format_of(rows, "actual"), format_of(stack, "inputs")
    wire = held if dtype is None else named(dtype)
    if not held.holds(wire):
        raise ValueError(
            f"the result, of {held.name}, does not hold what is sent in {wire.name}: give dtype={held.name!r}, and "
            f"accumulate where sums are wider"
        )
    asked = None
    if reduce is not None:
        Asked(reduce, stack, rows[0], op).require_exact(wire)
        if rounding == "nearest" and subnormals == "kept" and held == brought == wire:
            asked = Asked(reduce, stack, rows[0], op)
    options: dict[str, Any] = {
        "P": P,
        "n": n * len(rows),
        "schedule": schedule,
        "nodes": nodes,
        "average": (average or "any") if op == "mean" else None,
        "per_hop": per_hop,
        "rounding": rounding,
        "subnormals": subnormals,
    }
    if probability is not None:
        options["probability"] = probability
    if order is not None:
        order = _ordered(order, P, n, wire.name, accumulate, schedule, nodes, per_hop, average, op)
        if asked is not None:
            assert_replayed(rows[0], flat, order)
        accumulate = order.accumulate
        options |= {
            "schedule": "any",
            "nodes": None,
            "average": None if op == "sum" else "any",
            "per_hop": order.rounds == "every hop",
        }
    bound = _tolerance(dtype=wire.name, accumulate=accumulate, wider_input=not wire.holds(brought), **options)
    judged = asked is not None and order is not None
    if asked is not None and order is None and (schedule != "any" or accumulate is not None or not per_hop):
        judged = asked.has_promised(schedule, accumulate, nodes, average, per_hop)
    sums, times = rank_sums(flat), P if op == "mean" else 1
    _require_range(bound, sums, shape)
    if order is None:
        allowed = _allowed(bound, sums, times, probability is not None)
    else:
        # the ranks' copies are one and the same sum, or as many: all count
        share = None if probability is None else float(probability) / len(rows)
        how = rounding.replace("_", " ").replace("-", " ")
        allowed = along(flat, order, rounding=how, probability=share, flushed=subnormals == "flushed") + sums.slack
    earlier = None if previous is None else stacked(previous, "previous").reshape(-1)
    if earlier is not None and earlier.shape != (n,):
        raise ValueError(f"previous must have the shape of one input, {shape}")
    require_close(
        Rows(flat, rows, shape, of_all),
        sums,
        times,
        allowed,
        float(wire.unit),
        _how(bound, order, probability is not None and rounding == "nearest"),
        lambda suspect: _coarser(suspect, bound, wire, brought, options),
        earlier,
    )
    if same_bits:
        _require_same_bits(rows, shape)
    if not allow_vacuous and not judged:
        _require_a_verdict(allowed, sums, bound, order, asked)


def _ordered(
    order: Order | str,
    P: int,
    n: int,
    wire: str,
    accumulate: str | None,
    schedule: str,
    nodes: int | None,
    per_hop: bool,
    average: str | None,
    op: str,
) -> Order:
    """The order that is meant, of this many ranks and entries."""
    if schedule != "any":
        raise ValueError(
            f"give schedule= or order=, got {schedule!r} and {order if isinstance(order, str) else 'both'}"
        )
    if isinstance(order, str):
        if average == "any":
            raise ValueError("average must be before or after, or times before or times after, with an order")
        divided = (average or "after") if op == "mean" else None
        return schedule_order(order, P, n, wire, accumulate=accumulate, per_hop=per_hop, nodes=nodes, average=divided)
    if (order.P, order.n, order.dtype) != (P, n, wire):
        raise ValueError(
            f"order must be of {P} ranks and {n} entries in {wire}, got {order.P} and {order.n} in {order.dtype}"
        )
    if (accumulate, nodes, per_hop, average) != (None, None, True, None):
        raise ValueError("accumulate, nodes, per_hop and average are of a schedule: an order has its own")
    if (order.average is None) != (op == "sum"):
        raise ValueError(f"op must be {'sum' if order.average is None else 'mean'}, as the order is, got {op!r}")
    return order


def _how(bound: Tolerance, order: Order | None, assumed: bool) -> str:
    """What the message says of the bound."""
    formats = bound.dtype if bound.accumulate == bound.dtype else f"{bound.accumulate}, sent in {bound.dtype}"
    if order is None:
        name = "any order of additions" if bound.schedule == "any" else bound.schedule
        return f"{name}, {formats}: {bound.reason[0]}"
    mean = "; roundings are assumed to have mean zero, which data that repeat from rank to rank break"
    return f"{order.name}, {formats}: along the partial sums of these inputs{mean if assumed else ''}"


# --- bounds ------------------------------------------------------------------------------------------------------


def _require_range(bound: Tolerance, sums: RankSums, shape: tuple[int, ...]) -> None:
    """Bounds are of sums that do not overflow."""
    assert bound.largest is not None
    over = np.flatnonzero(sums.sizes > float(bound.largest))
    if over.size:
        raise ValueError(
            f"magnitudes must add up to at most {float(bound.largest):.4g}, beyond which sums in {bound.accumulate} "
            f"sent in {bound.dtype} may overflow; they add up to {sums.sizes[over[0]]:.4g} in entry "
            f"{place(over[0], shape)}"
        )


def _require_a_verdict(
    allowed: Floats, sums: RankSums, bound: Tolerance, order: Order | None, asked: Asked | None
) -> None:
    """That zeros in place of the result would be refused at half of the entries, at least, or bits were compared."""
    vacuous, brought = nothing_said(allowed, sums)
    if 2 * vacuous > brought and (asked is None or asked.order is None):
        helps = [
            "the all-reduce itself in place of its result" if asked is None else "an order that can be revealed",
            "inputs with exact sums (exact_inputs, assert_exact)",
            "the order of additions (reveal, assert_replayed)",
        ]
        if order is None and bound.schedule == "any":
            helps.append("order=, along whose partial sums the bound goes, or schedule=, with fewer roundings")
        if bound.accumulate == bound.dtype:
            helps.append("accumulate=, where sums are made in a wider format, with per_hop=False")
        raise ValueError(
            f"the bound says nothing: it exceeds the sum at {vacuous} of {brought} entries, so that "
            f"zeros would pass there. What helps: {'; '.join(helps)}. allow_vacuous=True accepts it as it is"
        )


def _allowed(bound: Tolerance, sums: RankSums, times: int, probably: bool) -> Floats:
    """What rounding explains of ``times * y``, and what the comparison itself rounds."""
    sizes, exact = sums.sizes, np.abs(sums.wide()) + sums.slack
    relative = bound.probable if probably else bound.sure
    whole = rounded_up(times * relative) * sizes
    # the last rounding goes by the sum, and not by the magnitudes: of a mean, by the mean
    split = rounded_up(bound.last) * exact + rounded_up(times * bound.rest) * sizes
    allowance: Floats = np.minimum(whole, split) + rounded_up(times * bound.absolute)
    return allowance * (1.0 + 2.0**-50) + sums.slack


def _coarser(
    suspect: Suspect, bound: Tolerance, wire: Format, brought: Format, options: dict[str, Any]
) -> dict[str, Floats]:
    """Words -> what rounding explains where sums are made in fewer digits than promised, the likelier first."""
    y = suspect.y[suspect.wrong]
    after = {**options, "average": "after" if suspect.times > 1 else None}
    added, rounded = {}, {}
    for form in FORMATS.values():
        if form.holds(wire) and form.digits < FORMATS[bound.accumulate].digits and (form == wire or wire.digits >= 8):
            words = f"sums are accumulated in {form.name}"
            added[words] = _tolerance(
                dtype=wire.name, accumulate=form.name, wider_input=not wire.holds(brought), **after
            )
        elif 8 <= form.digits < wire.digits and (y.astype(FLOATS[form.name]).astype(y.dtype) == y).all():
            words = f"what is wrong are numbers of {form.name}: sums are rounded to it"
            rounded[words] = _tolerance(dtype=form.name, wider_input=not form.holds(brought), **after)
    found = {**added, **dict(reversed(rounded.items()))}
    return {
        words: _allowed(looser, suspect.sums, suspect.times, probably=False)
        for words, looser in found.items()
        # beyond that it would explain anything
        if suspect.times * looser.sure < 1 and (suspect.sums.sizes <= float(looser.largest or 0)).all()
    }


def _require_same_bits(rows: Array, shape: tuple[int, ...]) -> None:
    bits = np.ascontiguousarray(rows).view(SAME_SIZE[rows.dtype.itemsize])
    for rank in range(1, len(rows)):
        # NaNs compare unequal to themselves; a NaN is a NaN, whatever its payload
        differ = np.flatnonzero((bits[rank] != bits[0]) & ((rows[rank] == rows[rank]) | (rows[0] == rows[0])))
        if differ.size:
            entry = int(differ[0])
            raise AssertionError(
                f"ranks must hold the same bits: entry {place(entry, shape)} is {float(rows[0, entry])!r} on rank 0 "
                f"and {float(rows[rank, entry])!r} on rank {rank}; {differ.size} of {rows.shape[1]} entries "
                f"differ there"
            )
