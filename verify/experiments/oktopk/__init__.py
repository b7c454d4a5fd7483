"""Ok-Topk: sparse all-reduce in less than 6k words: the claims confronted with their implementations."""

__all__ = ["BENCHES", "REPLAYS"]

BENCHES = {"ok-topk": ("bench", 1_000_000), "ok-topk-sweep": ("bench_sweep",)}
"""Part of ``commbounds bench`` -> the module whose `cases` it times, and at most how many entries they take."""

REPLAYS = {"oktopk-volume": "replay"}
"""Published experiment -> the module whose `replay` runs it again."""
