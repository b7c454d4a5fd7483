"""Moshpit all-reduce and Moshpit SGD: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.moshpit.grid import GRID_CLAIMS
from commbounds.theory.moshpit.random_groups import RANDOM_CLAIMS
from commbounds.theory.moshpit.sgd import SGD_CLAIMS

CLAIMS: tuple[Claim, ...] = (*GRID_CLAIMS, *RANDOM_CLAIMS, *SGD_CLAIMS)
