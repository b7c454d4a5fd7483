"""Compressors that packages ship: the claims confronted with their implementations."""
