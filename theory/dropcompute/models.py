"""What certificates about DropCompute prove."""

from __future__ import annotations

from collections.abc import Mapping

from commbounds.theory.dropcompute import models_moments, models_steps
from commbounds.theory.model import by_claim

MODELS = by_claim(*models_steps.MODELS.values(), *models_moments.MODELS.values())
"""Of all claims of the column that have one."""

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "dropcompute.step.between_at_least": {"before": "none"},
    "dropcompute.step.between_at_most": {"before": "none"},
    "dropcompute.step.monotone": {"before": "none"},
    "dropcompute.step.subadditive": {"before": "none"},
    "dropcompute.time.ceiling": {"before": "none"},
    "dropcompute.localsgd.subadditive": {"before": "no local step"},
    "dropcompute.time.variance": {"before": "nothing"},
    "dropcompute.time.increasing": {"before": "nothing"},
    "dropcompute.time.concave": {"before": "nothing"},
    "dropcompute.sgd.nonconvex": {"before": "no sample"},
    "dropcompute.sgd.convex": {"before": "no sample"},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""
