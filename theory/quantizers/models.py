"""What certificates about quantisers prove."""

from __future__ import annotations

from commbounds.theory.model import Step, by_claim, extents
from commbounds.theory.quantizers.models_dithering import DITHERING
from commbounds.theory.quantizers.models_powers import POWERS
from commbounds.theory.quantizers.models_signs import SIGNS

MODELS = by_claim(*SIGNS, *DITHERING, *POWERS)

EXTENTS = extents(
    "quantizers",
    {
        (): "sign.error sign.sign_symmetry sign.sign_symmetry_ternary sign.idempotence qsgd.unbiased "
        "maxdithering.unbiased terngrad.unbiased naturalcompression.unbiased naturalcompression.fixed_points "
        "naturalcompression.sign_symmetry naturalcompression.scale_equivariance naturalcompression.idempotence "
        "naturaldithering.unbiased stochasticpower.unbiased stochasticpower.sign_symmetry "
        "stochasticpower.idempotence nearestpower.sign_symmetry nearestpower.scale_equivariance "
        "nearestpower.idempotence",
        (Step.EXPECTATION,): "terngrad.error",
        (Step.SUM,): "scaledsign.error scaledsign.contraction naturalcompression.variance stochasticpower.variance "
        "nearestpower.contraction",
        (Step.CLAIM,): "qsgd.shrunk_contraction maxdithering.shrunk_contraction terngrad.shrunk_contraction "
        "naturaldithering.shrunk_contraction stochasticpower.shrunk_contraction",
        (Step.EXPECTATION, Step.SUM): "qsgd.variance qsgd.variance_printed qsgd.second_moment qsgd.support "
        "qsgd.support_printed maxdithering.variance terngrad.variance naturaldithering.variance "
        "naturaldithering.variance_printed",
        (Step.EXPECTATION, Step.SUM, Step.NORMS): "qsgd.elias",
    },
    by_definition="scaledsign.one_sparse",
)
