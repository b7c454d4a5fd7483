"""The steps of all-reduces whose sums are rounded on the way: those of `dense`, a tree, and rings in nodes."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from commbounds.array_types import Integers
from commbounds.collectives.dense.message_by_message import ALLREDUCE, Part
from commbounds.collectives.dense.messages import Messages, Rows, backwards, of_rank, ring_scatter
from commbounds.theory.precision.roundings import one_name

Step = tuple[Rows, Rows]
"""What is sent in a step, and what is received."""


class StepPlan(NamedTuple):
    """What all ranks do, one part after another.

    Parameters
    ----------
    parts : tuple of Part
        Those that add come first.
    steps : tuple of list
        Of every part, by rank and step: what it sends and what it receives.
    together : tuple of list
        The same of all ranks at once, by step.
    blocks : int
        Of equal length that a vector is cut in.
    speakers : (steps + 1, P) int64
        Of whole vectors, before every step that adds and behind the last: the lowest rank that has the same sum as this
        rank; this rank itself where a vector is cut in blocks, whose sums no two ranks add.
    """

    parts: tuple[Part, ...]
    steps: tuple[list[list[Step]], ...]
    together: tuple[list[Step], ...]
    blocks: int
    speakers: Integers

    @property
    def additions(self) -> int:
        """Steps that add."""
        return len(self.speakers) - 1


def tree_parts(P: int) -> list[Part]:
    """In step t = 0, 1, ... odd multiples of 2^t send to the multiple of 2^(t + 1) before them; then all back."""
    rows = [
        [step, rank, rank - 2**step, 0, 1]
        for step in range((P - 1).bit_length())
        for rank in range(2**step, P, 2 ** (step + 1))
    ]
    reduce = np.array(rows, np.int64).reshape(-1, 5)
    return [Part("reduce", reduce, True), Part("broadcast", backwards(reduce), False)]


def hierarchical_parts(P: int, nodes: int) -> list[Part]:
    """Reduce-scatter round every node of P/nodes neighbours, then round the nodes, and all-gathers back."""
    members = P // nodes
    node, member = np.arange(nodes), np.arange(members)
    within = [ring_scatter(members) + np.array([0, m, m, 0, 0]) for m in node * members]
    for rows in within:
        rows[:, 3:] *= nodes
    between = [ring_scatter(nodes) for _ in member]
    for m, rows in zip(member.tolist(), between, strict=True):
        rows[:, 1:3] = rows[:, 1:3] * members + m
        rows[:, 3] += m * nodes
    near, far = _by_step(within), _by_step(between)
    return [
        Part("reduce-scatter within nodes", near, True),
        Part("reduce-scatter between nodes", far, True),
        Part("all-gather between nodes", backwards(far), False),
        Part("all-gather within nodes", backwards(near), False),
    ]


def _by_step(messages: list[Messages]) -> Messages:
    joined = np.concatenate(messages)
    return joined[np.argsort(joined[:, 0], kind="stable")]


_PARTS: dict[str, tuple[Callable[[int], list[Part]], Callable[[int], int]]] = {
    "ring": ALLREDUCE["ring"],
    "recursive_doubling": ALLREDUCE["recursive-doubling"],
    "rabenseifner": ALLREDUCE["rabenseifner"],
    "direct": ALLREDUCE["butterfly"],
    "binomial": (tree_parts, lambda P: 1),
}
SCHEDULES = (*_PARTS, "hierarchical")
"""Names of what is carried out."""


@lru_cache(maxsize=256)
def plan_of(schedule: str, P: int, nodes: int | None) -> StepPlan:
    """The plan of a schedule; made once: not to be changed.

    Raises
    ------
    ValueError
        There is no such schedule; nodes are missing, do not divide P, or are given to another schedule.
    """
    schedule = one_name(schedule)
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
    if schedule != "hierarchical":
        if nodes is not None:
            raise ValueError(f"nodes must be None unless the schedule is hierarchical, got {nodes}")
        parts, blocks = _PARTS[schedule][0](P), _PARTS[schedule][1](P)
    else:
        if nodes is None or nodes < 1 or P % nodes:
            raise ValueError(f"nodes must divide the {P} ranks, got {nodes}")
        parts, blocks = hierarchical_parts(P, nodes), P
    steps = tuple([of_rank(part.messages, rank) for rank in range(P)] for part in parts)
    together = tuple([_of_step(part.messages, step) for step in range(part.steps)] for part in parts)
    return StepPlan(tuple(parts), steps, together, blocks, _speakers(parts, blocks, P))


def _of_step(messages: Messages, step: int) -> Step:
    rows = messages[messages[:, 0] == step].tolist()
    return rows, rows


def _speakers(parts: list[Part], blocks: int, P: int) -> Integers:
    rows = [np.arange(P)]
    for part in parts:
        for step in range(part.steps if part.adds else 0):
            messages = part.messages[part.messages[:, 0] == step]
            now = rows[-1].copy()
            if blocks == 1:  # who exchange sums have the same one; who only receives speaks for itself
                sources, targets = messages[:, 1], messages[:, 2]
                mutual = np.isin(targets, sources)
                now[targets[mutual]] = np.minimum(rows[-1][targets[mutual]], rows[-1][sources[mutual]])
            rows.append(now)
    return np.stack(rows)
