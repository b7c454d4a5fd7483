"""Flash Communication: quantised all-reduce: the claims confronted with their implementations."""

__all__ = ["BENCHES"]

BENCHES = {"group-quantiser": ("bench", 25_000_000)}
"""Part of ``commbounds bench`` -> the module whose `cases` it times, and at most how many entries they take."""
