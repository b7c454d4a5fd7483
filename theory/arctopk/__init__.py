"""ARC-Top-K: all-reduce-compatible Top-K: what is claimed."""
