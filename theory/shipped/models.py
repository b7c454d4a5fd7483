"""What certificates about compressors that packages ship prove."""

from __future__ import annotations

from collections.abc import Mapping

from commbounds.theory.model import PART, by_claim
from commbounds.theory.shipped.models_codes import GROUPS, THREE_VALUES
from commbounds.theory.shipped.models_draws import DRAWS
from commbounds.theory.shipped.models_eightbits import EIGHT_BITS
from commbounds.theory.shipped.models_memories import MEMORIES
from commbounds.theory.shipped.models_symmetries import SYMMETRIES
from commbounds.theory.shipped.models_workers import WORKERS

MODELS = by_claim(*DRAWS, *GROUPS, *THREE_VALUES, *WORKERS, *MEMORIES, *EIGHT_BITS, *SYMMETRIES)

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "shipped.dynamic_tree.contraction": {"denominator": PART, "a": PART, "off": PART, "concave between": PART},
    "shipped.ef_signs.excess": {"up to here": "one step"},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""
