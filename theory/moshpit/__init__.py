"""Moshpit all-reduce and Moshpit SGD: what is claimed."""
