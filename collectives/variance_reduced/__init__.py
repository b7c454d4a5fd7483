"""Compression with memory: what P workers do in one step of it."""

from typing import Any

from commbounds.collectives.variance_reduced.differences import dasha_step, diana_step, lazy_step, marina_step
from commbounds.collectives.variance_reduced.lamb import (
    OneBitLamb,
    WarmLamb,
    fused_scales,
    lamb_warmup,
    onebit_lamb,
    padded_size,
)
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
    "OneBitLamb",
    "OneBitMomentum",
    "Primal",
    "Refreshed",
    "Shifted",
    "Tracked",
    "WarmLamb",
    "dasha_step",
    "diana_step",
    "fused_scales",
    "lamb_warmup",
    "lazy_step",
    "marina_step",
    "onebit_lamb",
    "onebit_momentum",
    "padded_size",
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
    "lamb_warmup": lamb_warmup,
    "onebit_lamb": onebit_lamb,
}
"""What is run and counted here, by name."""
