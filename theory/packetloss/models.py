"""What certificates about packet loss prove."""

from __future__ import annotations

from collections.abc import Mapping

from commbounds.theory.model import by_claim
from commbounds.theory.packetloss import models_bounds, models_drift, models_estimators, models_training

MODELS = by_claim(
    *models_estimators.MODELS.values(),
    *models_drift.MODELS.values(),
    *models_bounds.MODELS.values(),
    *models_training.MODELS.values(),
)
"""Of all claims of the column that have one."""

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "packetloss.versions.as_reviewed": {"before": "first"},
    "packetloss.versions.mean_gap": {"before": "first"},
    "packetloss.versions.mean_square_gap": {"before": "first"},
    "packetloss.drift.autocovariance": {"lags before": "no lag"},
    "packetloss.drift.sure_norm": {"before": "first"},
    "packetloss.drift.mean_norm": {"before": "first"},
    "packetloss.training.replica_gap": {"held": "the first vector"},
    "packetloss.training.stale_gradients": {"held": "the first vector"},
    "packetloss.training.descent": {"before": "no step"},
    "packetloss.training.convergence": {"before": "no step"},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""
