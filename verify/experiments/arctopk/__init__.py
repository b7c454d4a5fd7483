"""ARC-Top-K: all-reduce-compatible Top-K: the claims confronted with their implementations."""
