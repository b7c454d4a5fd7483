"""Moshpit all-reduce and Moshpit SGD: what the workers do together."""

from commbounds.collectives.moshpit.allreduce import grid_average, initial_keys, moshpit
from commbounds.collectives.moshpit.group_average import distortion, group_average
from commbounds.collectives.moshpit.group_trials import group_trials
from commbounds.collectives.moshpit.random_groups import random_groups, regrouping
from commbounds.collectives.moshpit.sgd import moshpit_sgd

__all__ = [
    "distortion",
    "grid_average",
    "group_average",
    "group_trials",
    "initial_keys",
    "moshpit",
    "moshpit_sgd",
    "random_groups",
    "regrouping",
]
