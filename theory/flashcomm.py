"""Flash Communication: quantised all-reduce: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = ()
