"""Distributed training under packet loss: what the workers do together."""

from commbounds.collectives.packetloss.drift_trials import Drift, drift_trials, staleness_trials
from commbounds.collectives.packetloss.links import Reduced, layout, lossy_broadcast, lossy_reduce_scatter
from commbounds.collectives.packetloss.loss_processes import Bernoulli, GilbertElliott
from commbounds.collectives.packetloss.training import Replicas, fresh_replicas, lossy_step, lossy_training

__all__ = [
    "Bernoulli",
    "Drift",
    "GilbertElliott",
    "Reduced",
    "Replicas",
    "drift_trials",
    "fresh_replicas",
    "layout",
    "lossy_broadcast",
    "lossy_reduce_scatter",
    "lossy_step",
    "lossy_training",
    "staleness_trials",
]
