"""Classical all-reduce, reduce-scatter and all-gather: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.dense.allreduce import ALLREDUCE
from commbounds.theory.dense.gather import GATHER

CLAIMS: tuple[Claim, ...] = (*ALLREDUCE, *GATHER)
