"""Distributed training under packet loss: what the workers do together."""

from commbounds.collectives.packetloss.drift_trials import Drift, drift_trials, staleness_trials
from commbounds.collectives.packetloss.links import Reduced, layout, lossy_broadcast, lossy_reduce_scatter
from commbounds.collectives.packetloss.loss_processes import Bernoulli, GilbertElliott
from commbounds.collectives.packetloss.training import Replicas, fresh_replicas, lossy_step, lossy_training

__all__ = [
    "COLLECTIVES",
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

COLLECTIVES = {
    "drift_trials": drift_trials,
    "lossy_broadcast": lossy_broadcast,
    "lossy_reduce_scatter": lossy_reduce_scatter,
    "lossy_step": lossy_step,
    "lossy_training": lossy_training,
    "staleness_trials": staleness_trials,
}
"""What is run and counted here, by name."""
