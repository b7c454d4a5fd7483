"""Quantisers: what is claimed."""
