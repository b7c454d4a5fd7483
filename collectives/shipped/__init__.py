"""Compressors that packages ship: what the workers do together."""

from commbounds.collectives.shipped.dgc import DGCRun, dgc_steps
from commbounds.collectives.shipped.permutation import permk_mean
from commbounds.collectives.shipped.shared import shared_randk_mean

__all__ = ["COLLECTIVES", "DGCRun", "dgc_steps", "permk_mean", "shared_randk_mean"]

COLLECTIVES = {"permk_mean": permk_mean, "shared_randk_mean": shared_randk_mean, "dgc_steps": dgc_steps}
"""What is run and counted here, by name."""
