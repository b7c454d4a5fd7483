"""Quantisers: the claims confronted with their implementations."""
