"""Distributed training under packet loss: what is claimed."""
