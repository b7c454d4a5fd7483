"""Classical all-reduce, reduce-scatter and all-gather: the claims bound to their implementations."""

from __future__ import annotations

from commbounds.verify.experiments.binding import table

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = table()
