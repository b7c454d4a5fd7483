"""Compression with memory: what P workers do in one step of it."""

from typing import Any

from commbounds.collectives.variance_reduced.differences import dasha_step, diana_step, lazy_step, marina_step
from commbounds.collectives.variance_reduced.onebit import SCALES, onebit_momentum
from commbounds.collectives.variance_reduced.primal import primal_step
from commbounds.collectives.variance_reduced.state import KEEP, Lagged, OneBitMomentum, Primal, Shifted, Tracked
from commbounds.collectives.variance_reduced.zeroone import LocalStep, Refreshed, zeroone_gradient, zeroone_local

__all__ = [
    "COLLECTIVES",
    "KEEP",
    "SCALES",
    "Lagged",
    "LocalStep",
    "OneBitMomentum",
    "Primal",
    "Refreshed",
    "Shifted",
    "Tracked",
    "dasha_step",
    "diana_step",
    "lazy_step",
    "marina_step",
    "onebit_momentum",
    "primal_step",
    "zeroone_gradient",
    "zeroone_local",
]

COLLECTIVES: dict[str, Any] = {
    "diana_step": diana_step,
    "marina_step": marina_step,
    "dasha_step": dasha_step,
    "lazy_step": lazy_step,
    "onebit_momentum": onebit_momentum,
    "primal_step": primal_step,
    "zeroone_gradient": zeroone_gradient,
    "zeroone_local": zeroone_local,
}
"""What is run and counted here, by name."""
