"""Every collective's schedule, by name: as printed in `SCHEDULES`, exact for all sizes in `EXACT`."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

from commbounds.columns import Registry
from commbounds.theory.cost import Schedule
from commbounds.theory.quantities import P, k, n


def _by_name(table: str, _column: str, found: ModuleType) -> dict[str, Schedule]:
    return {schedule.name: schedule for schedule in getattr(found, table, ())}


def _named(table: str) -> Registry[Schedule]:
    """The schedules that columns list under this name in ``theory/NAME/schedules.py``, by their own names."""
    return Registry(table, "theory", "schedules", partial(_by_name, table), written=False)


SCHEDULES = _named("PRINTED")
"""As the literature prints them, where P is a power of two, P divides n, and so on."""
EXACT = _named("EXACT")
"""What is moved whatever P and n are, where that does not depend on the data."""
IN_NODES = _named("IN_NODES")
"""Where ranks sit in nodes, with two kinds of links."""

DENSE_LOWER_BOUND: Any = 2 * n * (P - 1) / P
"""Words that some rank sends, and some rank receives, in any all-reduce that moves sums of entries."""
SPARSE_LOWER_BOUND: Any = 2 * k * (P - 1) / P
"""Words that a rank receives on average, so that some rank receives, in any all-reduce to k generic entries."""
