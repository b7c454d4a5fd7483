"""Every collective's schedule, by name: as printed in `SCHEDULES`, exact for all sizes in `EXACT`."""

from functools import partial
from types import ModuleType
from typing import Any

from commbounds.columns import Registry
from commbounds.theory.cost import Cost, Schedule, cost
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


def evaluated(schedule: Schedule, sizes: dict[str, int]) -> tuple[Cost | None, str]:
    """The cost at the sizes given, and what a reader must know of it."""
    exact = EXACT.get(schedule.name) if sizes["nodes"] == 1 else None
    unmet = schedule.unmet(**sizes)
    if unmet and exact is not None and len(exact.unmet(**sizes)) < len(unmet):
        schedule, unmet = exact, exact.unmet(**sizes)
    elif not unmet:
        return cost(schedule).at(**sizes), ""
    conditions = " ".join(h.statement for h in unmet)
    if not unmet:
        return cost(schedule).at(**sizes), f"valued as {schedule.title}"
    in_teams = any(s.name == "teams" for s in cost(schedule).latency.free_symbols)
    if schedule.end and not (in_teams and sizes["P"] % sizes["teams"]):
        return cost(schedule).at(**sizes), f"idealised, as if this held: {conditions}"
    return None, f"no value, because it requires: {conditions}"
