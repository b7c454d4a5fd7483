"""What certificates about rotation-based compressors prove."""

from __future__ import annotations

from collections.abc import Mapping

from commbounds.theory.model import by_claim
from commbounds.theory.rotations.models_estimates import DRAWN, FITTED
from commbounds.theory.rotations.models_further import FURTHER
from commbounds.theory.rotations.models_transform import SIZES, TOGETHER, TRANSFORM

MODELS = by_claim(*TRANSFORM, *SIZES, *TOGETHER, *FITTED, *DRAWN, *FURTHER)

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "rotations.kashin.residual": {"up to here": "no round"},
    "rotations.kashin.finite": {"up to here": "no round"},
    "rotations.ldlq.worst": {"up to here": "no pivot"},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""
