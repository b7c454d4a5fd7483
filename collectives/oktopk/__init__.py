"""Ok-Topk: sparse all-reduce in less than 6k words: what the workers do together."""

from commbounds.collectives.oktopk.allreduce import oktopk_allreduce
from commbounds.collectives.oktopk.regions import oktopk_boundaries
from commbounds.collectives.oktopk.sgd import OkTopkSGD, OkTopkSGDState
from commbounds.collectives.oktopk.state import CONTROLLERS, Controller, OkTopkResult, OkTopkState

__all__ = [
    "COLLECTIVES",
    "CONTROLLERS",
    "Controller",
    "OkTopkResult",
    "OkTopkSGD",
    "OkTopkSGDState",
    "OkTopkState",
    "oktopk_allreduce",
    "oktopk_boundaries",
]

COLLECTIVES = {"OkTopkSGD": OkTopkSGD, "oktopk_allreduce": oktopk_allreduce, "oktopk_boundaries": oktopk_boundaries}
"""What is run and counted here, by name."""
