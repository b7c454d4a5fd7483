"""Precision and the order of sums: the claims confronted with their implementations."""
