"""Packet loss: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "packetloss",
    "Packet loss: training when messages vanish",
    "Workers own a shard each. Contributions to a shard's gradient may get lost on the way to its owner, and so "
    "may the new values on the way back: then a receiver keeps its stale copy, and replicas drift apart.",
)
