"""What certificates about dense all-reduces, all-gathers and reduce-scatters prove."""

from __future__ import annotations

from commbounds.theory.dense.models_gather import GATHERED
from commbounds.theory.dense.models_sums import SUMS
from commbounds.theory.dense.models_words import WORDS
from commbounds.theory.model import by_claim

MODELS = by_claim(*WORDS, *SUMS, *GATHERED)
