"""Sparsifiers: the claims confronted with their implementations."""
