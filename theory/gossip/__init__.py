"""Gossip: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "gossip",
    "Gossip: averaging with neighbours",
    "Peers average with their neighbours on a graph, or push shares of what they have; beside them stands the "
    "all-reduce that starts again when a peer fails.",
)
