"""What certificates about compressors that packages ship prove."""

from collections.abc import Mapping

from commbounds.theory.model import PART, Step, by_claim, extents
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

EXTENTS = extents(
    "shipped",
    {
        (): (
            "atomic.sign_symmetry atomic.scale_equivariance clippedterngrad.bias clippedterngrad.one_sparse "
            "threelc.entry_error dgc_steps.conserved dgc_steps.dense_unmasked dgc_steps.delayed "
            "dynamic_tree.entry_error dynamic_tree.decay inceptionn.entry_error inceptionn.enlarged ef_signs.excess "
            "replacementrandk.error bernoullilazy.variance twomeans.contraction twomeans.contraction_halves "
            "threelc.contraction uniformbuckets.nonexpansive quantilebuckets.nonexpansive permk_mean.error "
            "dynamic_tree.contraction shared_randk_mean.error replacementrandk.variance "
            "replacementrandk.shrunk_contraction bernoullilazy.composed atomic.variance twomeans.below_scaledsign "
            "spectral_atoms.bias spectral_atoms.kept atomic.variance_balanced atomic.shrunk_contraction atomic.support"
        ),
        (Step.SUM, Step.FUNCTIONS, Step.CLAIM): "ridge_descent.feedback",
    },
    by_definition="dynamic_tree.smallest "
    "replacementrandk.wire bernoullilazy.wire atomic.wire clippedterngrad.equal_entries "
    "uniformbuckets.wire quantilebuckets.wire permk_mean.unbiased permk_mean.identical permk_mean.words "
    "shared_randk_mean.words dgc_steps.dense_plain dgc_steps.words switched.variance_whole",
)
