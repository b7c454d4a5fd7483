"""What certificates about block-scaled formats prove."""

from collections.abc import Mapping

from commbounds.theory.blockformats.models_blocks import BLOCKS
from commbounds.theory.blockformats.models_ends import ENDS
from commbounds.theory.blockformats.models_hops import HOPS
from commbounds.theory.blockformats.models_sums import SUMS
from commbounds.theory.model import STAND_IN, by_claim, extents

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
    "blockformats.multihop.mxfp4_ring": {
        "up to here": "no rank",
        "a rounding": "a rounding",
        "its variance": ("between 3 and 4", "between 4 and 6"),
    },
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "blockformats",
    {
        (): (
            "microscaling.maximum microscaling.maximum_unclipped stochastic.unbiased stochastic.bias nvfp4.maximum "
            "stochastic_nvfp4.unbiased microexponents.maximum correlated.unbiased correlated.pair table.sums "
            "table.at_a_number microscaling.contraction_even microscaling.contraction_rceil "
            "microscaling.contraction_wide fouroversix.contraction requantised.direct_error table.unbiased "
            "multihop.nearest_error correlated.independent table.variance table.two_stages_nested multihop.ring_law "
            "multihop.butterfly_law microscaling.maximum_of_nearest multihop.butterfly_bounded mseden.projection "
            "table.beyond nvfp4.contraction correlated.equal correlated.never_worse multihop.mxfp4_ring"
        )
    },
    by_definition="microscaling.wire requantised.bytes requantised.bits_an_entry_of_whole_blocks "
    "homomorphic.sums homomorphic.bytes table.index_sums_of_even multihop.bytes",
)
