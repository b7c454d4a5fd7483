"""Classical all-reduce, reduce-scatter and all-gather: the claims confronted with their implementations."""

__all__ = ["BENCHES"]

BENCHES = {"all-reduce": ("bench", 1_000_000, 10_000_000)}
"""Part of ``commbounds bench`` -> the module whose `cases` it times, and at most how many entries they take."""
