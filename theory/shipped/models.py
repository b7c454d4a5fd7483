"""What certificates about compressors that packages ship prove."""

from __future__ import annotations

from commbounds.theory.model import by_claim
from commbounds.theory.shipped.models_codes import GROUPS, THREE_VALUES
from commbounds.theory.shipped.models_draws import DRAWS
from commbounds.theory.shipped.models_eightbits import EIGHT_BITS
from commbounds.theory.shipped.models_memories import MEMORIES
from commbounds.theory.shipped.models_symmetries import SYMMETRIES
from commbounds.theory.shipped.models_workers import WORKERS

MODELS = by_claim(*DRAWS, *GROUPS, *THREE_VALUES, *WORKERS, *MEMORIES, *EIGHT_BITS, *SYMMETRIES)
