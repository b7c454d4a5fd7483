"""Gossip averaging, push-sum and all-reduce with restarts: the claims confronted with their implementations."""
