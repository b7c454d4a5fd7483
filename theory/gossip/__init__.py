"""Gossip averaging, push-sum and all-reduce with restarts: what is claimed."""
