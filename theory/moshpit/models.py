"""What certificates about Moshpit prove."""

from __future__ import annotations

from commbounds.theory.moshpit.models_grid import GRID_MODELS
from commbounds.theory.moshpit.models_groups import GROUP_MODELS
from commbounds.theory.moshpit.models_sgd import SGD_MODELS

MODELS = {**GRID_MODELS, **GROUP_MODELS, **SGD_MODELS}
