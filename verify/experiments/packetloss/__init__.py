"""Distributed training under packet loss: the claims confronted with their implementations."""

__all__ = ["BENCHES"]

BENCHES = {"packet-loss": ("bench",)}
"""Part of ``commbounds bench`` -> the module whose `cases` it times, and at most how many entries they take."""
