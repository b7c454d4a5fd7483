"""Precision and the order of sums: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.precision import ordering, quantised

CLAIMS: tuple[Claim, ...] = (*ordering.CLAIMS, *quantised.CLAIMS)
