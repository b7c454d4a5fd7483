"""What certificates about block-scaled formats prove."""

from __future__ import annotations

from commbounds.theory.blockformats.models_blocks import BLOCKS
from commbounds.theory.blockformats.models_ends import ENDS
from commbounds.theory.blockformats.models_hops import HOPS
from commbounds.theory.blockformats.models_sums import SUMS
from commbounds.theory.model import by_claim

MODELS = by_claim(*BLOCKS, *ENDS, *SUMS, *HOPS)
