"""What certificates about Flash Communication prove."""

from __future__ import annotations

from commbounds.theory.flashcomm.models_kernels import KERNELS
from commbounds.theory.model import by_claim

MODELS = by_claim(*KERNELS)
