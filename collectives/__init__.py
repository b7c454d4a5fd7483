"""What P workers do together, and a count of every word, message and step."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from commbounds.collectives.averaging import mean_of_compressed
from commbounds.collectives.gossip import gossip, push_sum
from commbounds.collectives.group_average import distortion, group_average
from commbounds.collectives.group_trials import group_trials
from commbounds.collectives.moshpit import grid_average, initial_keys, moshpit
from commbounds.collectives.moshpit_sgd import moshpit_sgd
from commbounds.collectives.random_groups import random_groups, regrouping
from commbounds.collectives.restarts import allreduce_with_restarts
from commbounds.collectives.traffic import Traffic

__all__ = [
    "COLLECTIVES",
    "Traffic",
    "allreduce_with_restarts",
    "distortion",
    "gossip",
    "grid_average",
    "group_average",
    "group_trials",
    "initial_keys",
    "mean_of_compressed",
    "moshpit",
    "moshpit_sgd",
    "push_sum",
    "random_groups",
    "regrouping",
]

COLLECTIVES: Mapping[str, Any] = MappingProxyType(
    {
        "allreduce_with_restarts": allreduce_with_restarts,
        "gossip": gossip,
        "grid_average": grid_average,
        "group_average": group_average,
        "group_trials": group_trials,
        "moshpit": moshpit,
        "moshpit_sgd": moshpit_sgd,
        "push_sum": push_sum,
        "random_groups": random_groups,
        "regrouping": regrouping,
    }
)
"""Every collective under its name."""
