"""Confronts claims with implementations."""
