"""Sketches: the claims confronted with their implementations."""
