"""What certificates about Flash Communication prove."""

from __future__ import annotations

from commbounds.theory.flashcomm.models_kernels import KERNELS
from commbounds.theory.flashcomm.models_quantiser import QUANTISER
from commbounds.theory.flashcomm.models_sums import COSTS, SPIKES, SUMS
from commbounds.theory.model import by_claim

MODELS = by_claim(*QUANTISER, *SUMS, *COSTS, *SPIKES, *KERNELS)
