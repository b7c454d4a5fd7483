"""ARC-Top-K: all-reduce-compatible Top-K: the claims bound to their implementations."""

from __future__ import annotations

from commbounds.verify.study import Study, studies

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Study] = studies()
