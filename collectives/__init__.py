"""What P workers do together, and a count of every word, message and step."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from commbounds.collectives._latency_laws import Exponential, Gamma, LatencyLaw, Lognormal, Normal, Uniform
from commbounds.collectives._sparse import SparseResult
from commbounds.collectives._step_law import StepLaw, gaussian_maximum
from commbounds.collectives._weighted_latencies import Histogram, Lattice, bernoulli, released_noise
from commbounds.collectives.arctopk import ArcResult, arctopk_allreduce, row_count
from commbounds.collectives.arctopk_law import kept_of_orthogonal_rows, kept_of_planar_rows
from commbounds.collectives.averaging import mean_of_compressed
from commbounds.collectives.dense import (
    allgather,
    allgatherv,
    butterfly_allreduce,
    rabenseifner_allreduce,
    recursive_doubling_allreduce,
    reduce_scatter,
    ring_allreduce,
)
from commbounds.collectives.drift_trials import Drift, drift_trials, staleness_trials
from commbounds.collectives.drop_thresholds import Threshold, best_threshold, released_threshold
from commbounds.collectives.dropcompute import DropStep, Trials, drop_step, drop_trials, trial_latencies
from commbounds.collectives.feedback_aggregators import Aggregated, ArcRows, GatheredTopK, OkTopK
from commbounds.collectives.feedback_sgd import FeedbackSGD, FeedbackSGDState
from commbounds.collectives.flashcomm import (
    QuantisedSum,
    hierarchical_quantised_allreduce,
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    twostep_quantised_allreduce,
)
from commbounds.collectives.gathering import gather_blocks
from commbounds.collectives.gaussiank import GaussiankResult, gaussiank_allreduce
from commbounds.collectives.gossip import gossip, push_sum
from commbounds.collectives.group_average import distortion, group_average
from commbounds.collectives.group_trials import group_trials
from commbounds.collectives.gtopk import gtopk_allreduce
from commbounds.collectives.loss_processes import Bernoulli, GilbertElliott
from commbounds.collectives.lossy_training import Replicas, fresh_replicas, lossy_step, lossy_training
from commbounds.collectives.moshpit import grid_average, initial_keys, moshpit
from commbounds.collectives.moshpit_sgd import moshpit_sgd
from commbounds.collectives.oktopk import (
    CONTROLLERS,
    Controller,
    OkTopkResult,
    OkTopkState,
    oktopk_allreduce,
    oktopk_boundaries,
)
from commbounds.collectives.oktopk_sgd import OkTopkSGD, OkTopkSGDState
from commbounds.collectives.packetloss import Reduced, layout, lossy_broadcast, lossy_reduce_scatter
from commbounds.collectives.random_batches import drop_gradient, random_batch_sgd
from commbounds.collectives.random_groups import random_groups, regrouping
from commbounds.collectives.restarts import allreduce_with_restarts
from commbounds.collectives.spardl import spardl_allreduce
from commbounds.collectives.straggler_baselines import backup_step, local_sgd_period
from commbounds.collectives.topk_allgather import topk_allgather
from commbounds.collectives.topk_dsa import topk_dsa
from commbounds.collectives.traffic import Traffic

__all__ = [
    "COLLECTIVES",
    "CONTROLLERS",
    "Aggregated",
    "ArcResult",
    "ArcRows",
    "Bernoulli",
    "Controller",
    "Drift",
    "DropStep",
    "Exponential",
    "FeedbackSGD",
    "FeedbackSGDState",
    "Gamma",
    "GatheredTopK",
    "GaussiankResult",
    "GilbertElliott",
    "Histogram",
    "LatencyLaw",
    "Lattice",
    "Lognormal",
    "Normal",
    "OkTopK",
    "OkTopkResult",
    "OkTopkSGD",
    "OkTopkSGDState",
    "OkTopkState",
    "QuantisedSum",
    "Reduced",
    "Replicas",
    "SparseResult",
    "StepLaw",
    "Threshold",
    "Traffic",
    "Trials",
    "Uniform",
    "allgather",
    "allgatherv",
    "allreduce_with_restarts",
    "arctopk_allreduce",
    "backup_step",
    "bernoulli",
    "best_threshold",
    "butterfly_allreduce",
    "distortion",
    "drift_trials",
    "drop_gradient",
    "drop_step",
    "drop_trials",
    "fresh_replicas",
    "gather_blocks",
    "gaussian_maximum",
    "gaussiank_allreduce",
    "gossip",
    "grid_average",
    "group_average",
    "group_trials",
    "gtopk_allreduce",
    "hierarchical_quantised_allreduce",
    "initial_keys",
    "kept_of_orthogonal_rows",
    "kept_of_planar_rows",
    "layout",
    "local_sgd_period",
    "lossy_broadcast",
    "lossy_reduce_scatter",
    "lossy_step",
    "lossy_training",
    "mean_of_compressed",
    "moshpit",
    "moshpit_sgd",
    "oktopk_allreduce",
    "oktopk_boundaries",
    "oneshot_quantised_allreduce",
    "push_sum",
    "rabenseifner_allreduce",
    "random_batch_sgd",
    "random_groups",
    "recursive_doubling_allreduce",
    "reduce_scatter",
    "regrouping",
    "released_noise",
    "released_threshold",
    "ring_allreduce",
    "ring_quantised_allreduce",
    "row_count",
    "spardl_allreduce",
    "staleness_trials",
    "topk_allgather",
    "topk_dsa",
    "trial_latencies",
    "twostep_quantised_allreduce",
]

COLLECTIVES: Mapping[str, Any] = MappingProxyType(
    {
        "arctopk_allreduce": arctopk_allreduce,
        "row_count": row_count,
        "FeedbackSGD": FeedbackSGD,
        "OkTopkSGD": OkTopkSGD,
        "StepLaw": StepLaw,
        "allgather": allgather,
        "allgatherv": allgatherv,
        "allreduce_with_restarts": allreduce_with_restarts,
        "backup_step": backup_step,
        "best_threshold": best_threshold,
        "butterfly_allreduce": butterfly_allreduce,
        "drift_trials": drift_trials,
        "drop_gradient": drop_gradient,
        "drop_step": drop_step,
        "drop_trials": drop_trials,
        "gaussian_maximum": gaussian_maximum,
        "gaussiank_allreduce": gaussiank_allreduce,
        "gather_blocks": gather_blocks,
        "gossip": gossip,
        "grid_average": grid_average,
        "group_average": group_average,
        "group_trials": group_trials,
        "gtopk_allreduce": gtopk_allreduce,
        "hierarchical_quantised_allreduce": hierarchical_quantised_allreduce,
        "local_sgd_period": local_sgd_period,
        "lossy_broadcast": lossy_broadcast,
        "lossy_reduce_scatter": lossy_reduce_scatter,
        "lossy_step": lossy_step,
        "lossy_training": lossy_training,
        "moshpit": moshpit,
        "moshpit_sgd": moshpit_sgd,
        "oktopk_allreduce": oktopk_allreduce,
        "oktopk_boundaries": oktopk_boundaries,
        "oneshot_quantised_allreduce": oneshot_quantised_allreduce,
        "push_sum": push_sum,
        "rabenseifner_allreduce": rabenseifner_allreduce,
        "random_batch_sgd": random_batch_sgd,
        "random_groups": random_groups,
        "recursive_doubling_allreduce": recursive_doubling_allreduce,
        "reduce_scatter": reduce_scatter,
        "regrouping": regrouping,
        "released_threshold": released_threshold,
        "ring_allreduce": ring_allreduce,
        "ring_quantised_allreduce": ring_quantised_allreduce,
        "spardl_allreduce": spardl_allreduce,
        "staleness_trials": staleness_trials,
        "topk_allgather": topk_allgather,
        "topk_dsa": topk_dsa,
        "twostep_quantised_allreduce": twostep_quantised_allreduce,
    }
)
"""Every collective under its name."""
