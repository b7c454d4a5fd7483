"""Ok-Topk: sparse all-reduce in less than 6k words: what the workers do together."""

from commbounds.collectives.oktopk.allreduce import (
    CONTROLLERS,
    Controller,
    OkTopkResult,
    OkTopkState,
    oktopk_allreduce,
    oktopk_boundaries,
)
from commbounds.collectives.oktopk.sgd import OkTopkSGD, OkTopkSGDState

__all__ = [
    "CONTROLLERS",
    "Controller",
    "OkTopkResult",
    "OkTopkSGD",
    "OkTopkSGDState",
    "OkTopkState",
    "oktopk_allreduce",
    "oktopk_boundaries",
]
