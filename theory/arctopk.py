"""ARC-Top-K: all-reduce-compatible Top-K: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = ()
