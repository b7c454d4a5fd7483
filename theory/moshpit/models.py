"""What certificates about Moshpit prove."""

from __future__ import annotations

from collections.abc import Mapping

from commbounds.theory.moshpit.models_grid import GRID_MODELS
from commbounds.theory.moshpit.models_groups import GROUP_MODELS
from commbounds.theory.moshpit.models_sgd import SGD_MODELS

MODELS = {**GRID_MODELS, **GROUP_MODELS, **SGD_MODELS}

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "moshpit.random_groups.upper": {"the bound of these rounds": "first"},
    "moshpit.sgd.averaging_quality": {"up to here, times (1 - rho) N": "at the start"},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""
