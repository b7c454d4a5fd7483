"""Distributed training under packet loss: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.implementations import rank_by_rank
from commbounds.theory.packetloss import bounds, drift, estimators, training, variants

_RANKS = rank_by_rank(
    "packetloss",
    "lossy_reduce_scatter",
    "lossy_broadcast",
    "lossy_step",
    "lossy_training",
    "drift_trials",
    "staleness_trials",
)

CLAIMS: tuple[Claim, ...] = (
    *estimators.CLAIMS,
    *drift.CLAIMS,
    *variants.CLAIMS,
    *bounds.CLAIMS,
    *training.CLAIMS,
    *_RANKS,
)
