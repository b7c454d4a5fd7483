"""Orthogonalised updates: the claims confronted with their implementations."""
