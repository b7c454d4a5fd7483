"""What certificates about Ok-Topk prove."""

from __future__ import annotations

from commbounds.theory.model import by_claim
from commbounds.theory.oktopk.models_balance import BALANCE, ROUNDS
from commbounds.theory.oktopk.models_descent import DESCENT
from commbounds.theory.oktopk.models_selection import SELECTION
from commbounds.theory.oktopk.models_words import WORDS

MODELS = by_claim(*WORDS, *BALANCE, *ROUNDS, *SELECTION, *DESCENT)
