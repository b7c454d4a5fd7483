"""Flash Communication: quantised all-reduce: the claims confronted with their implementations."""
