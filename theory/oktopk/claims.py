"""Ok-Topk: sparse all-reduce in less than 6k words: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.implementations import rank_by_rank
from commbounds.theory.oktopk.balance import BALANCE
from commbounds.theory.oktopk.descent import DESCENT
from commbounds.theory.oktopk.parts import BOUNDARIES, REEVALUATIONS, SPLITTING
from commbounds.theory.oktopk.received import LOWER, RECEIVED
from commbounds.theory.oktopk.selection import THRESHOLDS, UPDATE
from commbounds.theory.oktopk.sent import BOTH, PATH, SENT

_RANKS = rank_by_rank("oktopk", "oktopk_boundaries", "oktopk_allreduce", "OkTopkSGD")

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
    *_RANKS,
)
