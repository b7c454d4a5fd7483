"""What certificates about packet loss prove."""

from collections.abc import Mapping

from commbounds.theory.model import by_claim, extents
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

EXTENTS = extents(
    "packetloss",
    {
        (): "arrivals.empty staleness.law staleness.never_updated versions.differ versions.gap drift.two_updates "
        "packets.all_lost versions.as_reviewed training.replica_gap training.stale_gradients expected.variance "
        "drift.pair drift.owner drift.given_updates drift.relaxation drift.whole_vector drift.consensus "
        "drift.any_losses bursts.pair bursts.owner shared.owner packets.drift versions.mean_gap "
        "versions.mean_square_gap drift.sure_norm drift.owner_sure_norm drift.mean_norm bursts.average average.pair "
        "average.owner average.differ bursts.pair_limit drift.pair_limit drift.as_reviewed_with_correlated_updates "
        "drift.autoregressive drift.owner_limit drift.consensus_limit drift.whole_vector_limit drift.autocovariance "
        "arrivals.unbiased arrivals.conditional_variance arrivals.zero_fill arrivals.variance arrivals.mean_inverse "
        "arrivals.mean_inverse_recurrence owner.bias owner.variance_iid owner.inflation volume.received "
        "training.descent training.convergence workers.range"
    },
    by_definition="volume.sent drift.one_step corners.owner_at_certain_loss",
)
