"""Distributed training under packet loss: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.packetloss import bounds, drift, estimators, training, variants

CLAIMS: tuple[Claim, ...] = (
    *estimators.CLAIMS,
    *drift.CLAIMS,
    *variants.CLAIMS,
    *bounds.CLAIMS,
    *training.CLAIMS,
)
