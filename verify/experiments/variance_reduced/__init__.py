"""Compression with memory: the claims confronted with their implementations."""
