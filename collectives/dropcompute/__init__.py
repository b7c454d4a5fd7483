"""DropCompute: stragglers: what the workers do together."""

from commbounds.collectives.dropcompute.baselines import backup_step, local_sgd_period
from commbounds.collectives.dropcompute.latency_laws import Exponential, Gamma, LatencyLaw, Lognormal, Normal, Uniform
from commbounds.collectives.dropcompute.random_batches import drop_gradient, random_batch_sgd
from commbounds.collectives.dropcompute.step_law import StepLaw, gaussian_maximum
from commbounds.collectives.dropcompute.steps import DropStep, Trials, drop_step, drop_trials, trial_latencies
from commbounds.collectives.dropcompute.thresholds import Threshold, best_threshold, released_threshold
from commbounds.collectives.dropcompute.weighted_latencies import Histogram, Lattice, bernoulli, released_noise

__all__ = [
    "DropStep",
    "Exponential",
    "Gamma",
    "Histogram",
    "LatencyLaw",
    "Lattice",
    "Lognormal",
    "Normal",
    "StepLaw",
    "Threshold",
    "Trials",
    "Uniform",
    "backup_step",
    "bernoulli",
    "best_threshold",
    "drop_gradient",
    "drop_step",
    "drop_trials",
    "gaussian_maximum",
    "local_sgd_period",
    "random_batch_sgd",
    "released_noise",
    "released_threshold",
    "trial_latencies",
]
