"""Moshpit all-reduce and Moshpit SGD: the claims."""

from __future__ import annotations

from commbounds.theory._moshpit_grid import GRID_CLAIMS
from commbounds.theory._moshpit_random import RANDOM_CLAIMS
from commbounds.theory._moshpit_sgd import SGD_CLAIMS
from commbounds.theory.claim import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (*GRID_CLAIMS, *RANDOM_CLAIMS, *SGD_CLAIMS)
