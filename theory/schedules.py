"""Every collective's schedule, by name: as printed in `SCHEDULES`, exact for all sizes in `EXACT`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from commbounds.theory.cost import Schedule
from commbounds.theory.dense.node_schedules import NODES
from commbounds.theory.dense.schedules import DENSE, DENSE_EXACT
from commbounds.theory.quantities import P, k, n
from commbounds.theory.sparse.schedules import SPARSE, SPARSE_EXACT

__all__ = ["DENSE_LOWER_BOUND", "EXACT", "IN_NODES", "SCHEDULES", "SPARSE_LOWER_BOUND"]

SCHEDULES: Mapping[str, Schedule] = MappingProxyType({s.name: s for s in (*DENSE, *SPARSE)})
"""As the literature prints them, where P is a power of two, P divides n, and so on."""
EXACT: Mapping[str, Schedule] = MappingProxyType({s.name: s for s in (*DENSE_EXACT, *SPARSE_EXACT)})
"""What is moved whatever P and n are, where that does not depend on the data."""
IN_NODES: Mapping[str, Schedule] = MappingProxyType({s.name: s for s in NODES})
"""Where ranks sit in nodes, with two kinds of links."""

DENSE_LOWER_BOUND = 2 * n * (P - 1) / P
"""Words that some rank sends, and some rank receives, in any all-reduce that moves sums of entries."""
SPARSE_LOWER_BOUND = 2 * k * (P - 1) / P
"""Words that a rank receives on average, so that some rank receives, in any all-reduce to k generic entries."""
