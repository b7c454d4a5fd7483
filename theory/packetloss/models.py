"""What certificates about packet loss prove."""

from __future__ import annotations

from commbounds.theory.model import by_claim
from commbounds.theory.packetloss import models_bounds, models_drift, models_estimators, models_training

MODELS = by_claim(
    *models_estimators.MODELS.values(),
    *models_drift.MODELS.values(),
    *models_bounds.MODELS.values(),
    *models_training.MODELS.values(),
)
"""Of all claims of the column that have one."""
