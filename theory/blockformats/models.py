"""What certificates about block-scaled formats prove."""

from __future__ import annotations

from collections.abc import Mapping

from commbounds.theory.blockformats.models_blocks import BLOCKS
from commbounds.theory.blockformats.models_ends import ENDS
from commbounds.theory.blockformats.models_hops import HOPS
from commbounds.theory.blockformats.models_sums import SUMS
from commbounds.theory.model import STAND_IN, by_claim

MODELS = by_claim(*BLOCKS, *ENDS, *SUMS, *HOPS)

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "blockformats.microscaling.contraction_even": {"share >= part 0": STAND_IN, "share >= part 1": STAND_IN},
    "blockformats.microscaling.contraction_rceil": {
        "share >= part 0": STAND_IN,
        "share >= part 1": STAND_IN,
        "share >= part 2": STAND_IN,
    },
    "blockformats.microscaling.contraction_wide": {"share >= part 0": STAND_IN, "share >= part 1": STAND_IN},
    "blockformats.nvfp4.contraction": {"share": STAND_IN},
    "blockformats.multihop.mxfp4_ring": {"up to here": "no rank", "a rounding": ("between 3 and 4", "between 4 and 6")},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""
