"""Ok-Topk: sparse all-reduce in less than 6k words: the claims.

What is said of the paper is second-hand, from a summary and from the published code; the proofs are ours.
"""

from __future__ import annotations

from commbounds.theory._oktopk_balance import BALANCE
from commbounds.theory._oktopk_descent import DESCENT
from commbounds.theory._oktopk_parts import BOUNDARIES, REEVALUATIONS, SPLITTING
from commbounds.theory._oktopk_received import LOWER, RECEIVED
from commbounds.theory._oktopk_selection import THRESHOLDS, UPDATE
from commbounds.theory._oktopk_sent import BOTH, PATH, SENT
from commbounds.theory.claim import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (
    *SENT,
    *RECEIVED,
    *PATH,
    *BOTH,
    *SPLITTING,
    *BOUNDARIES,
    *BALANCE,
    *LOWER,
    *REEVALUATIONS,
    *THRESHOLDS,
    *UPDATE,
    *DESCENT,
)
