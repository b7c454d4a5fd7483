"""All-reduce that adds in one number format and sends in another, by six schedules, every byte counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats
from commbounds.collectives._peers import checked_rng
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.messages import Rows
from commbounds.collectives.precision.rounding import added_in, rounded_to
from commbounds.collectives.precision.steps import SCHEDULES as SCHEDULES
from commbounds.collectives.precision.steps import Step, StepPlan, plan_of
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator, Counted, Parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import check_uniforms, checked_count, checked_flag

if TYPE_CHECKING:
    from commbounds.theory.precision.formats import Format

Uniforms = Floats
Place = tuple[int, slice]
"""A row, and what of it."""
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
        if nodes is not None:
            checked_count("nodes", nodes)
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
            "per_hop": checked_flag("per_hop", per_hop),
            "nodes": nodes,
            "average": average,
            "rounds_own": checked_flag("rounds_own", rounds_own),
        }

    x = agreed_row(comm, vector, settings)
    plan = plan_of(schedule, comm.size, nodes)
    chosen = comm.common(lambda: _uniforms(uniforms_shape(schedule, comm.size, x.size, nodes), rng, uniforms))
    if chosen is not None and not comm.one_caller:
        agreed_alike(comm, {"the checksum of the uniforms": checksum(chosen)})
    held, how = x.astype(np.float64), (*_formats(wire, accumulate), per_hop or schedule == "direct", rounds_own, chosen)

    def of_all(rows: list[Array]) -> tuple[Array, list[Counted]]:
        ranks = _Ranks(plan, *how)
        return ranks.end_with(np.concatenate(rows), average), ranks.counted(x.size)

    result: Array = comm.fused(held, of_all) if comm.one_caller else _Ranks(plan, *how, comm).end_with(held, average)[0]
    return result.astype(x.dtype)


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

    return format_named(wire), format_named(wire if accumulate is None else accumulate)


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
    check_uniforms("uniforms", array)
    return array


class _Ranks:
    """What ranks do, all of them at once, or one with its communicator: their formats, and their uniform numbers."""

    def __init__(
        self,
        plan: StepPlan,
        wire: Format,
        accumulate: Format,
        per_hop: bool,
        rounds_own: bool,
        uniforms: Uniforms | None,
        comm: Communicator | None = None,
    ) -> None:
        self._plan, self._wire, self._accumulate, self._comm = plan, wire, accumulate, comm
        self._per_hop, self._rounds_own, self._uniforms = per_hop, rounds_own, uniforms
        self._first = 0 if comm is None else comm.rank

    def end_with(self, held: Array, average: str | None) -> Array:
        """The results of the ranks, which begin with the rows of `held`."""
        P, at = self._plan.speakers.shape[1], 0
        ranks = range(self._first, self._first + len(held))
        held = rounded_to(held, self._wire, None if self._uniforms is None else self._uniforms[-2, ranks])
        if average == "before":
            held = rounded_to(held / P, self._wire)
        edges = even_cuts(held.shape[1], self._plan.blocks).tolist()
        for part in self._begun(adds=True):
            for step in part:
                self._adding_step(held, edges, at, *step)
                at += 1
        last = None if self._uniforms is None else self._uniforms[-1, self._plan.speakers[at, ranks]]
        result = rounded_to(held, self._wire, last)
        if average == "after":
            result = rounded_to(result / P, self._wire)
        sent = result
        if not self._rounds_own:
            result = held / P if average == "after" else held
        for part in self._begun(adds=False):
            for step in part:
                self._copying_step(result, sent, edges, *step)
        return result

    def _begun(self, *, adds: bool) -> Iterator[list[Step]]:
        """The steps of one part after another, whose phase has begun."""
        for part, steps, together in zip(self._plan.parts, self._plan.steps, self._plan.together, strict=True):
            if part.adds is not adds:
                continue
            if self._comm is None:
                yield together
            else:
                self._comm.phase(part.name)
                yield steps[self._first]

    def _adding_step(self, held: Array, edges: list[int], at: int, sends: Rows, receives: Rows) -> None:
        sources, targets = self._places(edges, sends, 1), self._places(edges, receives, 2)
        message = _joined(held, sources)
        if self._per_hop:
            message = rounded_to(message, self._wire, self._numbers(2 * at, at, sources))
            if self._rounds_own:
                _spread(message, held, sources)
        arrived = self._arrived(message, sends, receives, targets, adds=True)
        numbers = self._numbers(2 * at + 1, at + 1, targets)
        _spread(added_in(_joined(held, targets), arrived, self._accumulate, numbers), held, targets)

    def _copying_step(self, held: Array, sent: Array, edges: list[int], sends: Rows, receives: Rows) -> None:
        """What arrives is held, and passed on later, as it is."""
        targets = self._places(edges, receives, 2)
        message = _joined(sent, self._places(edges, sends, 1))
        arrived = self._arrived(message, sends, receives, targets, adds=False)
        _spread(arrived, held, targets)
        if sent is not held:
            _spread(arrived, sent, targets)

    def _places(self, edges: list[int], messages: Rows, end: int) -> list[Place]:
        """Where messages lie: the row of their source (end 1) or target (2); none goes round the end of a vector."""
        return [(row[end] - self._first, slice(edges[row[3]], edges[row[3] + row[4]])) for row in messages]

    def _numbers(self, row: int, step: int, places: list[Place]) -> Uniforms | None:
        """The numbers of that row, of who speaks for these ranks before that step."""
        if self._uniforms is None:
            return None
        speakers = self._plan.speakers[step, self._first :].tolist()
        return _joined(self._uniforms[row], [(speakers[rank], cut) for rank, cut in places])

    def _width(self, *, adds: bool) -> int:
        """Bytes of a number in messages that are added, or copied."""
        return (self._accumulate if adds and not self._per_hop else self._wire).bytes

    def _arrived(self, message: Array, sends: Rows, receives: Rows, places: list[Place], *, adds: bool) -> Array:
        """What the ranks receive of what they send in a step; a rank sends one message at most."""
        if self._comm is None:
            return message
        parcel = Parcel((message,), message.size * self._width(adds=adds))
        arrived = self._comm.step({row[2]: parcel for row in sends}, [row[1] for row in receives])
        forms = [(np.dtype(np.float64), (cut.stop - cut.start,)) for _, cut in places]
        found = (self._comm.fitting(s, arrived[s], form)[0] for s, form in zip(arrived, forms, strict=True))
        return np.concatenate([_NOTHING, *found])

    def counted(self, n: int) -> list[Counted]:
        """The traffic of vectors of `n` entries: no rank has two messages to send, or to receive, in a step."""
        edges, found = even_cuts(n, self._plan.blocks), list[Counted]()
        for part in self._plan.parts:
            counts = np.zeros((3, part.steps, self._plan.speakers.shape[1]), np.int64)
            step, source, target, first, count = part.messages.T
            words = (edges[first + count] - edges[first]) * self._width(adds=part.adds)
            counts[0, step, source], counts[1, step, target], counts[2, step, source] = words, words, 1
            found.append((part.name, counts))
        return found


_NOTHING = np.empty(0)


def _joined(rows: Array, places: list[Place]) -> Array:
    """What the rows hold at these places, one behind the other."""
    return np.concatenate([_NOTHING, *(rows[place] for place in places)])


def _spread(values: Array, rows: Array, places: list[Place]) -> None:
    """Puts what `_joined` has back into the rows."""
    begin = 0
    for row, cut in places:
        end = begin + cut.stop - cut.start
        rows[row, cut] = values[begin:end]
        begin = end
