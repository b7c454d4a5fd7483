"""Distributed training under packet loss: the claims confronted with their implementations."""
