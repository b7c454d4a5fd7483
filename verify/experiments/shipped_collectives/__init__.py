"""Shipped collectives: the claims confronted with their implementations."""
