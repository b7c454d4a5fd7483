"""What certificates about sparse all-reduces before Ok-Topk, and SparDL, prove."""

from commbounds.theory.model import Step, by_claim, extents
from commbounds.theory.sparse.models_quantiles import QUANTILES
from commbounds.theory.sparse.models_regions import REGIONS
from commbounds.theory.sparse.models_words import WORDS

MODELS = by_claim(*WORDS, *QUANTILES, *REGIONS)

EXTENTS = extents(
    "sparse",
    {
        (): (
            "gtopk.steps spardl.steps gtopk.mass spardl.mass gaussiank.any_input lower_bound.mean lower_bound.most "
            "topka.critical_path topka.above_oktopk topka.below_oktopk topka.below_dense gtopk.below_topka "
            "gtopk.above_oktopk spardl.below_even_split topkdsa.upper_even topkdsa.upper topkdsa.identical "
            "topkdsa.code_switch spardl.most spardl.least spardl.entries spardl.r_sag_most spardl.r_sag_least "
            "spardl.b_sag gtopk.received gtopk.sent topkdsa.lower_with_switch"
        ),
        (Step.NORMS,): "gaussiank.laplace_least",
        (Step.NORMS, Step.LEMMA): "gaussiank.normal_least",
        (Step.NORMS, Step.LIMIT): "gaussiank.student_least",
    },
    by_definition="topka.received gtopk.critical_path gaussiank.normal_most gaussiank.laplace_most",
)
