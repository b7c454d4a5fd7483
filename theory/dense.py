"""Classical all-reduce, reduce-scatter and all-gather: the claims."""

from __future__ import annotations

from commbounds.theory._dense_allreduce import ALLREDUCE
from commbounds.theory._dense_gather import GATHER
from commbounds.theory.claim import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (*ALLREDUCE, *GATHER)
