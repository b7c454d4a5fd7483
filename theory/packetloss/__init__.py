"""Packet loss: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "packetloss",
    "Packet loss: training when messages vanish",
    "Workers own a shard each. Contributions to a shard's gradient may get lost on the way to its owner, and so "
    "may the new values on the way back: then a receiver keeps its stale copy, and replicas drift apart.",
    synopsis=Synopsis(
        found=(
            "The published drift constant is too small by the factor 1 - p for fresh updates; it is exactly the "
            "probability that two replicas hold different versions. Drift stays bounded for ever, with the "
            "constant corrected."
        ),
        promise=(
            "Training goes on when messages are lost: averages over what arrives stay unbiased, and the replicas’ "
            "drift stays below 2p/(1 + p) of an update’s square."
        ),
        holds=(
            "Averages over what arrives are unbiased given how many arrive (`packetloss.arrivals.unbiased`). The "
            "drift is bounded for ever by 2p/(1 - p^2) (`packetloss.drift.pair_limit`), and training converges as "
            "without loss, up to terms that vanish with the step size (`packetloss.training.convergence`)."
        ),
        fails=(
            "The published constant, under our reading that updates are fresh (`packetloss.drift.published`); "
            "that always having the owner’s value is unbiased for given gradients "
            "(`packetloss.owner.unbiased_for_given_gradients`); that bursts drift no more than independent losses "
            "(`packetloss.bursts.as_if_independent`)."
        ),
        tight=(
            "The corrected constant is approached in the long run; the published one is passed by 1/(1 - p), and "
            "attained by updates with a certain negative correlation "
            "(`packetloss.drift.published_with_correlated_updates`)."
        ),
        lesson=(
            "Budget 2p/(1 - p^2), and more where losses come in bursts (`packetloss.bursts.pair_limit`). The "
            "stalest of many receivers falls behind like the logarithm of their number "
            "(`packetloss.workers.log_upper`)."
        ),
        picture="packetloss.drift_by_loss",
        system="Training under packet loss",
    ),
)
