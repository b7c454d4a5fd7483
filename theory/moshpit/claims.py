"""Moshpit all-reduce and Moshpit SGD: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.implementations import rank_by_rank
from commbounds.theory.moshpit.grid import GRID_CLAIMS
from commbounds.theory.moshpit.random_groups import RANDOM_CLAIMS
from commbounds.theory.moshpit.sgd import SGD_CLAIMS

_RANKS = rank_by_rank(
    "moshpit",
    "group_average",
    "grid_average",
    "moshpit",
    "random_groups",
    "regrouping",
    "moshpit_sgd",
    "allreduce_with_restarts",
    "group_trials",
)

CLAIMS: tuple[Claim, ...] = (*GRID_CLAIMS, *RANDOM_CLAIMS, *SGD_CLAIMS, *_RANKS)
