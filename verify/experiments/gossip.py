"""Gossip averaging and push-sum: the claims bound to their implementations."""

from __future__ import annotations

from commbounds.verify.experiments.binding import table

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = table()
