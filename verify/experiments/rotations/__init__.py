"""Rotation-based compressors: the claims confronted with their implementation."""
