"""What certificates about DropCompute prove."""

from collections.abc import Mapping

from commbounds.theory.dropcompute import models_moments, models_sgd, models_steps
from commbounds.theory.model import Step, by_claim, extents

MODELS = by_claim(*models_steps.MODELS.values(), *models_moments.MODELS.values(), *models_sgd.MODELS.values())
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

EXTENTS = extents(
    "dropcompute",
    {
        (): "step.between_at_least step.between_at_most step.monotone step.subadditive localsgd.subadditive "
        "backup.dominated time.ceiling time.increasing time.variance time.dependent time.dependent_within "
        "threshold.optimal completed.work completed.at_least completed.new_better completed.at_the_mean "
        "completed.one_sided gain.with_means gain.calibrated gain.at_the_mean gain.new_better gain.bounded gain.single "
        "sgd.nonconvex sgd.convex sgd.nonconvex_tuned sgd.convex_tuned",
        (Step.LIMIT,): "time.universal completed.new_worse completed.exponential",
        (Step.INDEPENDENCE, Step.LIMIT): "time.concave",
        (Step.EXPECTATION, Step.CLAIM): "gain.degenerate",
    },
    by_definition="step.overshoot completed.accounting",
)
