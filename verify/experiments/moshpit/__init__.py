"""Moshpit all-reduce and Moshpit SGD: the claims confronted with their implementations."""

__all__ = ["BENCHES", "REPLAYS"]

BENCHES = {"moshpit": ("bench",)}
"""Part of ``commbounds bench`` -> the module whose `cases` it times, and at most how many entries they take."""

REPLAYS = {"moshpit-averaging": "replay"}
"""Published experiment -> the module whose `replay` runs it again."""
