"""Moshpit all-reduce and Moshpit SGD: the claims confronted with their implementations."""
