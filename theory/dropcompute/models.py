"""What certificates about DropCompute prove."""

from __future__ import annotations

from commbounds.theory.dropcompute import models_moments, models_steps
from commbounds.theory.model import by_claim

MODELS = by_claim(*models_steps.MODELS.values(), *models_moments.MODELS.values())
"""Of all claims of the column that have one."""
