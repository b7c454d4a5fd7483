"""All-reduce that adds in one number format and sends in another, by six schedules, every byte counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats, Integers
from commbounds.collectives._peers import checked_rng
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.precision.rounding import added_in, rounded_to
from commbounds.collectives.precision.steps import SCHEDULES as SCHEDULES
from commbounds.collectives.precision.steps import StepPlan, plan_of
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator, Parcel
from commbounds.collectives.ranks.one_program import one_program

if TYPE_CHECKING:
    from commbounds.theory.precision.formats import Format

Uniforms = Floats
AVERAGES = (None, "before", "after")
"""A sum; an average whose terms are divided by P before they are added; one whose sum is."""


@one_program(np.stack)
def mixed_precision_allreduce(
    comm: Communicator,
    vector: ArrayLike,
    schedule: str = "ring",
    wire: str = "bfloat16",
    accumulate: str | None = None,
    *,
    per_hop: bool = True,
    nodes: int | None = None,
    average: str | None = None,
    rounds_own: bool = True,
    rng: np.random.Generator | None = None,
    uniforms: ArrayLike | None = None,
) -> Array:
    """The sum of the ranks' vectors, added in one number format and sent in another.

    Vectors are rounded to the wire's format first, and the result is in it. Additions are rounded to the accumulator's
    format; a partial sum that is sent on is rounded to the wire's.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    schedule : {"ring", "recursive_doubling", "rabenseifner", "direct", "binomial", "hierarchical"}
        direct: every rank gets all terms of its block and adds them up (`butterfly_allreduce`). binomial: a tree to
        rank 0, and back ("tree" until 0.2). hierarchical: rings within nodes, then between them, and every message
        back as it came.
    wire, accumulate : str
        Formats by name, as in `commbounds.theory.precision.formats.FORMATS`; None accumulates in the wire's. The
        accumulator holds the wire's numbers.
    per_hop : bool
        False sends partial sums in the accumulator's format; the result alone is rounded to the wire's. In "direct" no
        partial sum is sent, and nothing changes.
    nodes : int or None
        Of "hierarchical": divides P.
    average : {"before", "after"} or None
        Divides every term, or the sum, by P, and rounds to the wire's format.
    rounds_own : bool
        False: a rank that sends a rounded sum keeps its own copy as it was, and the owner of a result does too.
    rng : numpy.random.Generator or None
        Where given, roundings are stochastic: to either neighbour, with the exact value as their mean.
    uniforms : (2 steps + 2, P, n) float64 or None
        In place of `rng`, numbers in [0, 1): see `uniforms_shape`.

    Returns
    -------
    result : (P, n) dtype of stack
        Numbers of the wire's format, or of the accumulator's where owners keep theirs; infinite or NaN beyond the
        largest. Rows are equal unless `rounds_own` is false. For P = 1 the vector, rounded.
    traffic : Traffic
        In bytes. Phases as in the dense collective of that schedule; of a tree reduce and broadcast; of rings in nodes
        four. For P = 1 nothing is sent.

    Raises
    ------
    TypeError, ValueError
        `stack` is ragged, empty, not finite, or of another dtype; an unknown schedule, format or average; nodes that do
        not fit; an accumulator that does not hold the wire's numbers; a dtype of stack that does not hold them;
        uniforms of another shape, or an average with stochastic rounding.

    Examples
    --------
    >>> stack = [[256.0], [1.0], [1.0]]
    >>> result, traffic = mixed_precision_allreduce(stack, "direct", "bfloat16")
    >>> result.ravel().tolist(), mixed_precision_allreduce(stack, "direct", "bfloat16", "float32")[0][0]
    ([256.0, 256.0, 256.0], array([258.]))
    >>> traffic.sent.tolist()
    [4, 2, 2]
    """

    def settings(row: Array) -> dict[str, Any]:
        plan_of(schedule, comm.size, nodes)
        _checked_formats(wire, accumulate, row.dtype)
        if average not in AVERAGES:
            raise ValueError(f"average must be None, before or after, got {average!r}")
        if average is not None and (rng is not None or uniforms is not None):
            raise ValueError(f"average must be None where roundings are stochastic, got {average!r}")
        return {
            "schedule": schedule,
            "wire": wire,
            "accumulate": accumulate,
            "per_hop": per_hop,
            "nodes": nodes,
            "average": average,
            "rounds_own": rounds_own,
        }

    (x,) = agreed_row(comm, vector, settings)
    plan = plan_of(schedule, comm.size, nodes)
    chosen = comm.common(lambda: _uniforms(uniforms_shape(schedule, comm.size, x.size, nodes), rng, uniforms))
    if chosen is not None and not comm.one_caller:
        agreed_alike(comm, {"the checksum of the uniforms": checksum(chosen)})
    formats = _formats(wire, accumulate)
    rank = _Rank(comm, plan, *formats, per_hop or schedule == "direct", rounds_own, chosen)
    return rank.ends_with(x.astype(np.float64), average).astype(x.dtype)


def uniforms_shape(schedule: str, P: int, n: int, nodes: int | None = None) -> tuple[int, int, int]:
    """The shape of the uniform numbers of stochastic roundings, (2 steps + 2, P, n), over the steps that add.

    Rows 2 s and 2 s + 1 are for what is rounded to the wire when it is sent in step s, and for what is added there; the
    last two for the ranks' vectors, and for the result. Column p is rank p's, and in recursive doubling of all that
    have the same sum as it.
    """
    return 2 * plan_of(schedule, P, nodes).additions + 2, P, n


def _formats(wire: str, accumulate: str | None) -> tuple[Format, Format]:
    """Of the wire and of the accumulator."""
    from commbounds.theory.precision.formats import format_named  # with it comes sympy, most of a second

    return format_named(wire), format_named(accumulate or wire)


def _checked_formats(wire: str, accumulate: str | None, dtype: np.dtype[Any]) -> None:
    narrow, wide = _formats(wire, accumulate)
    if not wide.holds(narrow):
        raise ValueError(f"accumulate must hold all numbers of the wire's format {wire}, got {accumulate}")
    if not _formats(dtype.name, None)[0].holds(narrow):
        raise TypeError(f"stack must be of a dtype that holds all numbers of {wire}, got {dtype}")


def _uniforms(
    shape: tuple[int, int, int], rng: np.random.Generator | None, uniforms: ArrayLike | None
) -> Uniforms | None:
    if uniforms is None:
        return None if rng is None else checked_rng(rng, "stochastic rounding").random(shape)
    array = np.asarray(uniforms, np.float64)
    if array.shape != shape:
        raise ValueError(f"uniforms must have shape {shape}, got {array.shape}")
    if not ((array >= 0) & (array < 1)).all():
        raise ValueError("uniforms must be in [0, 1)")
    return array


class _Rank:
    """What one rank does: its formats, and its uniform numbers."""

    def __init__(
        self,
        comm: Communicator,
        plan: StepPlan,
        wire: Format,
        accumulate: Format,
        per_hop: bool,
        rounds_own: bool,
        uniforms: Uniforms | None,
    ) -> None:
        self._comm, self._plan, self._wire, self._accumulate = comm, plan, wire, accumulate
        self._per_hop, self._rounds_own, self._uniforms = per_hop, rounds_own, uniforms

    def ends_with(self, held: Array, average: str | None) -> Array:
        """The result of this rank, which begins with `held`."""
        P, rank = self._comm.size, self._comm.rank
        held = rounded_to(held, self._wire, self._numbers(-2, rank))
        if average == "before":
            held = rounded_to(held / P, self._wire)
        edges = even_cuts(held.size, self._plan.blocks)
        at = 0
        for part, steps in zip(self._plan.parts, self._plan.steps, strict=True):
            if not part.adds:
                break
            self._comm.phase(part.name)
            for sends, receives in steps[rank]:
                self._adding_step(held, edges, at, sends, receives)
                at += 1
        result = rounded_to(held, self._wire, self._numbers(-1, int(self._plan.speakers[at, rank])))
        if average == "after":
            result = rounded_to(result / P, self._wire)
        sent = result
        if not self._rounds_own:
            result = held / P if average == "after" else held
        for part, steps in zip(self._plan.parts, self._plan.steps, strict=True):
            if part.adds:
                continue
            self._comm.phase(part.name)
            for sends, receives in steps[rank]:
                _copying_step(self._comm, result, sent, edges, sends, receives, self._wire.bytes)
        return result

    def _numbers(self, row: int, rank: int) -> Uniforms | None:
        return None if self._uniforms is None else self._uniforms[row, rank]

    def _adding_step(self, held: Array, edges: Integers, at: int, sends: Any, receives: Any) -> None:
        wire = self._wire if self._per_hop else self._accumulate
        speaks, spoke = (int(self._plan.speakers[at + i, self._comm.rank]) for i in (1, 0))
        rounding, adding = self._numbers(2 * at, spoke), self._numbers(2 * at + 1, speaks)
        outgoing = {}
        for _, _, target, first, count in sends:
            place = places(edges, first, count)
            message = held[place]
            if self._per_hop:
                message = rounded_to(message, self._wire, None if rounding is None else rounding[place])
                if self._rounds_own:
                    held[place] = message
            outgoing[target] = Parcel((message,), message.size * wire.bytes)
        arrived = self._comm.step(outgoing, [source for _, source, *_ in receives])
        for _, source, _, first, count in receives:
            place = places(edges, first, count)
            numbers = None if adding is None else adding[place]
            held[place] = added_in(
                held[place], self._comm.fitting(source, arrived[source], held[place])[0], self._accumulate, numbers
            )


def places(edges: Integers, first: int, count: int) -> Integers:
    """Where the entries of `count` blocks from the first on lie; no schedule here goes round the end of a vector."""
    return np.arange(edges[first], edges[first + count])


def _copying_step(
    comm: Communicator, held: Array, sent: Array, edges: Integers, sends: Any, receives: Any, width: int
) -> None:
    """What arrives is held, and passed on later, as it is."""
    outgoing = {}
    for _, _, target, first, count in sends:
        message = sent[places(edges, first, count)]
        outgoing[target] = Parcel((message,), message.size * width)
    arrived = comm.step(outgoing, [source for _, source, *_ in receives])
    for _, source, _, first, count in receives:
        place = places(edges, first, count)
        (held[place],) = comm.fitting(source, arrived[source], held[place])
        sent[place] = held[place]
