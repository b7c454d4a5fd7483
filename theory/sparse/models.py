"""What certificates about sparse all-reduces before Ok-Topk, and SparDL, prove."""

from __future__ import annotations

from commbounds.theory.model import by_claim
from commbounds.theory.sparse.models_quantiles import QUANTILES
from commbounds.theory.sparse.models_regions import REGIONS
from commbounds.theory.sparse.models_words import WORDS

MODELS = by_claim(*WORDS, *QUANTILES, *REGIONS)
