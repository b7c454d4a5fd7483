"""Distributed training under packet loss: the claims.

Workers own a shard each. Contributions to a shard's gradient may get lost on the way to its owner, and so may the new
values on the way back: then a receiver keeps its stale copy, and replicas drift apart.
"""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.packetloss import bounds, drift, estimators, training, variants

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (
    *estimators.CLAIMS,
    *drift.CLAIMS,
    *variants.CLAIMS,
    *bounds.CLAIMS,
    *training.CLAIMS,
)
