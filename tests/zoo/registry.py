"""The registry of broken subjects."""

from zoo.collectives import COLLECTIVES
from zoo.feedback import FEEDBACK
from zoo.levels import LEVELS
from zoo.lossy_collectives import LOSSY
from zoo.lossy_kinds import LOSSY_KINDS
from zoo.lossy_ranks import LOSSY_RANKS
from zoo.lossy_sums import LOSSY_SUMS
from zoo.lossy_unseen import LOSSY_UNSEEN
from zoo.manners import MANNERS
from zoo.processes import PROCESSES
from zoo.record import Broken
from zoo.rounding import ROUNDING
from zoo.selection import SELECTION

ZOO: tuple[Broken, ...] = (
    *SELECTION,
    *ROUNDING,
    *LEVELS,
    *MANNERS,
    *FEEDBACK,
    *COLLECTIVES,
    *LOSSY,
    *LOSSY_SUMS,
    *LOSSY_RANKS,
    *LOSSY_UNSEEN,
    *LOSSY_KINDS,
    *PROCESSES,
)
"""Every broken subject."""


def twins():
    """Every right twin once, with the names of what kills the broken ones that were made from it."""
    found = {}
    for broken in ZOO:
        if broken.twin is not None:
            key = broken.twin.name, tuple(map(str, broken.twin.claims))
            _, killers = found.setdefault(key, (broken.twin, []))
            killers += [name for name in broken.killed_by if name not in killers]
    return [(twin, tuple(killers)) for twin, killers in found.values()]
