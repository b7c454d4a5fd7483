"""Precision and the order of sums: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.precision import ordering, quantised
from commbounds.theory.precision.sums import SUMS

CLAIMS: tuple[Claim, ...] = (*SUMS, *ordering.CLAIMS, *quantised.CLAIMS)
