"""Error feedback: the claims bound to their implementations."""

from __future__ import annotations

from commbounds.verify.study import Study, studies

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Study] = studies()
