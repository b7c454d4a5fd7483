"""Packet loss: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "packetloss",
    "Packet loss: training when messages vanish",
    "Every worker owns a shard. Contributions to a shard's gradient may get lost on the way to its owner, and the new "
    "values on the way back: then a receiver keeps its stale copy, and replicas drift apart.",
    synopsis=Synopsis(
        found=(
            "A review reports a drift of 2p/(1 + p) sigma^2; what sigma^2 is was not read. If it is the variance of "
            "fresh updates, the drift is 2p/(1 - p^2) sigma^2; under other readings the reported constant is right. "
            "Drift stays bounded at all times."
        ),
        promise=(
            "Training continues when messages are lost: averages over the arrivals stay unbiased, and the replicas’ "
            "drift stays below a constant, 2p/(1 + p) sigma^2 as a review reports it."
        ),
        holds=(
            "Averages over the arrivals are unbiased given their number (`packetloss.arrivals.unbiased`). The drift is "
            "bounded at all times by 2p/(1 - p^2) (`packetloss.drift.pair_limit`); the reported constant is right if "
            "sigma^2 is the squared gap when one of two receives (`packetloss.drift.one_step`). Training converges as "
            "without loss, up to terms that vanish with the step size (`packetloss.training.convergence`)."
        ),
        fails=(
            "The reported constant is too small if sigma^2 is the variance of fresh updates "
            "(`packetloss.drift.as_reviewed`), which is our reading. Estimates that always have the owner’s value are "
            "biased for given gradients (`packetloss.owner.unbiased_for_given_gradients`). Bursts drift more than "
            "independent losses (`packetloss.bursts.as_if_independent`)."
        ),
        tight=(
            "The constant for fresh updates is approached in the long run; it exceeds the reported one by 1/(1 - p), "
            "which updates with a certain negative correlation attain "
            "(`packetloss.drift.as_reviewed_with_correlated_updates`)."
        ),
        lesson=(
            "Budget 2p/(1 - p^2), and more where losses come in bursts (`packetloss.bursts.pair_limit`). The staleness "
            "of the stalest receiver grows like the logarithm of their number (`packetloss.workers.log_upper`)."
        ),
        picture="packetloss.drift_by_loss",
        system="Training under packet loss",
    ),
    renamed={
        "packetloss.versions.published": "packetloss.versions.as_reviewed",
        "packetloss.drift.published_with_correlated_updates": "packetloss.drift.as_reviewed_with_correlated_updates",
        "packetloss.drift.published": "packetloss.drift.as_reviewed",
    },
)
