"""Distributed training under packet loss: the claims.

Workers own a shard each. Contributions to a shard's gradient may get lost on the way to its owner, and so may the new
values on the way back: then a receiver keeps its stale copy, and replicas drift apart.
"""

from __future__ import annotations

from commbounds.theory import (
    _packetloss_bounds,
    _packetloss_drift,
    _packetloss_estimators,
    _packetloss_training,
    _packetloss_variants,
)
from commbounds.theory.claim import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (
    *_packetloss_estimators.CLAIMS,
    *_packetloss_drift.CLAIMS,
    *_packetloss_variants.CLAIMS,
    *_packetloss_bounds.CLAIMS,
    *_packetloss_training.CLAIMS,
)
