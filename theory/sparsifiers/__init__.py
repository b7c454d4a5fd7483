"""Sparsifiers: what is claimed."""
