"""`Traffic`: what a collective moved, counted where it moved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from commbounds._notebook import Cell, NotebookTable
from commbounds.array_types import Integers

Counts = Integers


@dataclass(frozen=True, eq=False)
class Traffic(NotebookTable):
    """Words and messages of every rank, and what the slowest of every step adds up to.

    A word is one value, one index or one count, whatever its width; a sparse entry is two words, its index and its
    value. A step is a round in which every rank sends at most once and receives at most once (or as the collective
    says); its cost is that of its busiest rank. A message without words is a message: somebody waits for it.

    Parameters
    ----------
    sent, received : (P,) int64
        Words that each rank sent and received.
    messages : (P,) int64
        Messages that each rank sent.
    steps : int
        Rounds, one after another.
    critical_path : int
        Sum over the steps of the largest max(sent, received) of any rank in that step, in words.
    phases : dict of str to Traffic
        The parts that this is the sum of, in their order; empty where a collective has a single phase.
    """

    sent: Counts
    received: Counts
    messages: Counts
    steps: int
    critical_path: int
    phases: dict[str, Traffic] = field(default_factory=dict)

    def __repr__(self) -> str:
        most = f"at most {self.sent.max(initial=0)} words sent and {self.received.max(initial=0)} received by a rank"
        phases = f", phases {', '.join(self.phases)}" if self.phases else ""
        return f"<Traffic P={self.sent.size}: {most}, {self._path}{phases}>"

    @property
    def _path(self) -> str:
        return f"{self.steps} steps, critical path of {self.critical_path} words"

    def _heading(self) -> str:
        return f"traffic of {self.sent.size} ranks: {self._path}"

    def _rows(self) -> list[tuple[Cell, ...]]:
        counts = zip(self.sent, self.received, self.messages, strict=True)
        ranks = [(f"rank {rank}", *map(str, of_rank)) for rank, of_rank in enumerate(counts)]
        return [("", "words sent", "words received", "messages"), *ranks]

    @classmethod
    def of_steps(cls, sent: Counts, received: Counts, messages: Counts, lost: Counts | None = None) -> Traffic:
        """The traffic of consecutive steps.

        Parameters
        ----------
        sent, received, messages : (steps, P) int64
            What every rank moved in every step, as the kernels counted it.
        lost : (steps, P) int64 or None
            Words of those sent that got lost on their way; None where none can.

        Raises
        ------
        ValueError
            The shapes differ, a count is negative, or words that were sent were neither received nor lost.
        """
        given = (sent, received, messages) if lost is None else (sent, received, messages, lost)
        if not (sent.ndim == 2 and all(count.shape == sent.shape for count in given)):
            raise ValueError(f"counts must share a shape (steps, P), got {sent.shape}, {received.shape}")
        totals, critical_path, least, missing = _added_up(np.array(given, dtype=np.int64))
        if least < 0:
            raise ValueError("counts must not be negative")
        if missing:
            raise ValueError("in every step as many words must be received as are sent, less those lost")
        return cls(totals[0], totals[1], totals[2], len(sent), int(critical_path))

    @classmethod
    def none(cls, P: int) -> Traffic:
        """Of `P` ranks that say nothing."""
        nothing = np.zeros((3, P), np.int64)
        return cls(nothing[0], nothing[1], nothing[2], 0, 0)

    @classmethod
    def of_phases(cls, phases: dict[str, Traffic]) -> Traffic:
        """The sum of phases, one after another; it remembers them."""
        whole = summed(phases.values())
        return cls(whole.sent, whole.received, whole.messages, whole.steps, whole.critical_path, dict(phases))

    def only(self, *names: str) -> Traffic:
        """The sum of the phases of these names; those that did not take place add nothing."""
        chosen = [self.phases[name] for name in names if name in self.phases]
        return summed(chosen) if chosen else Traffic.none(self.sent.size)

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and integers, phases included, for JSON."""
        plain: dict[str, Any] = {
            "sent": self.sent.tolist(),
            "received": self.received.tolist(),
            "messages": self.messages.tolist(),
            "steps": self.steps,
            "critical_path": self.critical_path,
        }
        if self.phases:
            plain["phases"] = {name: phase.as_dict() for name, phase in self.phases.items()}
        return plain


@njit(cache=True, nogil=True)
def _added_up(counts):  # type: ignore[no-untyped-def]
    """Totals of every rank, the busiest ranks' words, the least count, and whether words are missing in any step."""
    kinds, steps, P = counts.shape
    totals = np.zeros((3, P), np.int64)
    critical_path, least, missing = 0, 0, False
    for step in range(steps):
        busiest, left = 0, 0
        for r in range(P):
            sent, received = counts[0, step, r], counts[1, step, r]
            busiest = max(busiest, sent, received)
            left += sent - received
            for kind in range(kinds):
                count = counts[kind, step, r]
                least = min(least, count)
                if kind < 3:
                    totals[kind, r] += count
                else:
                    left -= count
        critical_path += busiest
        missing |= left != 0
    return totals, critical_path, least, missing


def unwritable(traffic: Traffic) -> Traffic:
    """The traffic itself, whose counts, and those of its phases, cannot be written to from now on."""
    for part in (traffic, *traffic.phases.values()):
        for counts in (part.sent, part.received, part.messages):
            counts.flags.writeable = False
    return traffic


def summed(parts: Iterable[Traffic]) -> Traffic:
    """One traffic after another, without their names; at least one."""
    listed = list(parts)
    if not listed:
        raise ValueError("parts must not be empty")
    first, *rest = listed
    sent, received, messages = first.sent.copy(), first.received.copy(), first.messages.copy()
    for part in rest:
        sent += part.sent
        received += part.received
        messages += part.messages
    return Traffic(sent, received, messages, sum(t.steps for t in listed), sum(t.critical_path for t in listed))
