"""What certificates about rotation-based compressors prove."""

from __future__ import annotations

from commbounds.theory.model import by_claim
from commbounds.theory.rotations.models_estimates import DRAWN, FITTED
from commbounds.theory.rotations.models_further import FURTHER
from commbounds.theory.rotations.models_transform import SIZES, TOGETHER, TRANSFORM

MODELS = by_claim(*TRANSFORM, *SIZES, *TOGETHER, *FITTED, *DRAWN, *FURTHER)
