"""Error feedback: the claims confronted with their implementations."""

__all__ = ["BENCHES", "REPLAYS"]

BENCHES = {"feedback": ("bench",)}
"""Part of ``commbounds bench`` -> the module whose `cases` it times, and at most how many entries they take."""

REPLAYS = {"feedback-tight": "replay"}
"""Published experiment -> the module whose `replay` runs it again."""
