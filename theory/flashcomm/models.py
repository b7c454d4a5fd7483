"""What certificates about Flash Communication prove."""

from commbounds.theory.flashcomm.models_kernels import KERNELS
from commbounds.theory.flashcomm.models_quantiser import QUANTISER
from commbounds.theory.flashcomm.models_sums import COSTS, SPIKES, SUMS
from commbounds.theory.model import by_claim, extents

MODELS = by_claim(*QUANTISER, *SUMS, *COSTS, *SPIKES, *KERNELS)

EXTENTS = extents(
    "flashcomm",
    {
        (): (
            "groupquant.error groupquant.order groupquant.error_rounded groupquant.ends_rounded groupquant.stored "
            "groupquant.repaired groupquant.repaired_rounded groupquant.integer_point "
            "stochastic.unbiased stochastic.variance spikes.error twostep.error twostep.error_by_scales "
            "twostep.error_mixed ring.error oneshot.error twostep.unbiased bitplanes.lossless"
        )
    },
    by_definition="groupquant.value_bits groupquant.log2_inflation spikes.range spikes.pays_isolated twostep.bytes "
    "ring.bytes oneshot.bytes twostep.bridge ring.bridge",
    every_case="bitplanes.lossless",
)
