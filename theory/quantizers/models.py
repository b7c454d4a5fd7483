"""What certificates about quantisers prove."""

from __future__ import annotations

from commbounds.theory.model import by_claim
from commbounds.theory.quantizers.models_dithering import DITHERING
from commbounds.theory.quantizers.models_powers import POWERS
from commbounds.theory.quantizers.models_signs import SIGNS

MODELS = by_claim(*SIGNS, *DITHERING, *POWERS)
