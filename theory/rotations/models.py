"""What certificates about rotation-based compressors prove."""

from collections.abc import Mapping

from commbounds.theory.model import Step, by_claim, extents
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

EXTENTS = extents(
    "rotations",
    {
        (): (
            "randomised_hadamard.inverse randomised_hadamard.additions kashin.residual kashin.finite ldlq.worst "
            "ldlq.nearest_pair randomised_hadamard.norm randomised_hadamard.coordinate rotated_mean.private "
            "kashin.level randomised_hadamard.correlation ldlq.average drive.two_sparse_bias drive.two_sparse_error "
            "drive.two_sparse_error_biased drive.one_sparse eden.one_sparse drive.projection eden.projection "
            "rotateddithering.unbiased drive.worst_draw drive.worst_draw_biased rotateddithering.variance "
            "rotated_sum.error rotateddithering.shrunk_contraction hadamardsketch.shrunk_contraction "
            "hadamardsketch.entry_variance hadamardsketch.variance"
        ),
        (Step.INDEPENDENCE, Step.LIMIT): "dithered_hadamard.variance",
        (Step.EXPECTATION, Step.LIMIT): "dithered_hadamard.unbiased",
        (Step.EXPECTATION, Step.LEMMA, Step.SPECTRUM): "drive.contraction eden.contraction",
    },
    by_definition="eden.wire rotateddithering.wire hadamardsketch.wire rotated_mean.bytes rotated_sum.bytes",
)
