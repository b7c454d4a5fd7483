"""What P workers do together, and a count of every word, message and step."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from commbounds.collectives._sparse import SparseResult
from commbounds.collectives.averaging import mean_of_compressed
from commbounds.collectives.drift_trials import Drift, drift_trials, staleness_trials
from commbounds.collectives.gaussiank import GaussiankResult, gaussiank_allreduce
from commbounds.collectives.gossip import gossip, push_sum
from commbounds.collectives.group_average import distortion, group_average
from commbounds.collectives.group_trials import group_trials
from commbounds.collectives.gtopk import gtopk_allreduce
from commbounds.collectives.loss_processes import Bernoulli, GilbertElliott
from commbounds.collectives.lossy_training import Replicas, fresh_replicas, lossy_step, lossy_training
from commbounds.collectives.moshpit import grid_average, initial_keys, moshpit
from commbounds.collectives.moshpit_sgd import moshpit_sgd
from commbounds.collectives.packetloss import Reduced, layout, lossy_broadcast, lossy_reduce_scatter
from commbounds.collectives.random_groups import random_groups, regrouping
from commbounds.collectives.restarts import allreduce_with_restarts
from commbounds.collectives.spardl import spardl_allreduce
from commbounds.collectives.topk_allgather import topk_allgather
from commbounds.collectives.topk_dsa import topk_dsa
from commbounds.collectives.traffic import Traffic

__all__ = [
    "COLLECTIVES",
    "Bernoulli",
    "Drift",
    "GaussiankResult",
    "GilbertElliott",
    "Reduced",
    "Replicas",
    "SparseResult",
    "Traffic",
    "allreduce_with_restarts",
    "distortion",
    "drift_trials",
    "fresh_replicas",
    "gaussiank_allreduce",
    "gossip",
    "grid_average",
    "group_average",
    "group_trials",
    "gtopk_allreduce",
    "initial_keys",
    "layout",
    "lossy_broadcast",
    "lossy_reduce_scatter",
    "lossy_step",
    "lossy_training",
    "mean_of_compressed",
    "moshpit",
    "moshpit_sgd",
    "push_sum",
    "random_groups",
    "regrouping",
    "spardl_allreduce",
    "staleness_trials",
    "topk_allgather",
    "topk_dsa",
]

COLLECTIVES: Mapping[str, Any] = MappingProxyType(
    {
        "allreduce_with_restarts": allreduce_with_restarts,
        "drift_trials": drift_trials,
        "gaussiank_allreduce": gaussiank_allreduce,
        "gossip": gossip,
        "grid_average": grid_average,
        "group_average": group_average,
        "group_trials": group_trials,
        "gtopk_allreduce": gtopk_allreduce,
        "lossy_broadcast": lossy_broadcast,
        "lossy_reduce_scatter": lossy_reduce_scatter,
        "lossy_step": lossy_step,
        "lossy_training": lossy_training,
        "moshpit": moshpit,
        "moshpit_sgd": moshpit_sgd,
        "push_sum": push_sum,
        "random_groups": random_groups,
        "regrouping": regrouping,
        "spardl_allreduce": spardl_allreduce,
        "staleness_trials": staleness_trials,
        "topk_allgather": topk_allgather,
        "topk_dsa": topk_dsa,
    }
)
"""Every collective under its name."""
