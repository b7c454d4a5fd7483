"""All claims of the column blockformats, in the book's order."""

from commbounds.theory.blockformats.adaptive import FOUR_OVER_SIX, MICROEXPONENTS, STOCHASTIC_FOUR
from commbounds.theory.blockformats.hops import MULTIHOP, TABLE
from commbounds.theory.blockformats.microscaling import MICROSCALING
from commbounds.theory.blockformats.microscaling import STOCHASTIC as STOCHASTIC_MICROSCALING
from commbounds.theory.blockformats.nvfp4 import MSEDEN, NVFP4
from commbounds.theory.blockformats.nvfp4 import STOCHASTIC as STOCHASTIC_NVFP4
from commbounds.theory.blockformats.sums import CORRELATED, HOMOMORPHIC, REQUANTISED
from commbounds.theory.implementations import defined

_DEFINITIONS = defined(
    "blockformats",
    {
        "Microscaling": "Written from the tables of exponents and mantissas of the OCP Microscaling Formats 1.0, in "
        "rational numbers; how a scale is chosen is as documented here. Half-way goes to the even code.",
        "StochasticMicroscaling": "Written from the same tables: entries go up if the uniform is below the share of "
        "the gap.",
        "NVFP4": "Written from the documented rule (a float32, E4M3 scales, E2M1 elements), in rational numbers. It "
        "fixes ties, and what is cut off or lost at the ends of a scale.",
        "StochasticNVFP4": "Written from the same rule: an entry goes up if the uniform is below the share of the gap.",
        "FourOverSix": "Written from arXiv:2512.02010: every block twice, and the one with the smaller error is kept, "
        "the first if errors are equal. Errors are added up in float64, in the order of the entries.",
        "StochasticFourOverSix": "Written from the same, with separate uniforms for each scale.",
        "MSEden": "Written from the formula of arXiv:2601.22813. That sums of a rotation are those of the two halves, "
        "in float64, and that scales are not rounded to E4M3, is as documented here.",
        "SharedMicroexponents": "Written from arXiv:2302.08007, in rational numbers; exponents are clamped as "
        "documented.",
        "requantised_allreduce": "Written from the documented schedules, part by part, with every message's bytes.",
        "homomorphic_allreduce": "Written from the documented rule, entry by entry, in rational numbers; sums that "
        "wrap around are those of two's complement.",
        "table_allreduce": "Written from THC's algorithm (arXiv:2302.08545), entry by entry in float64. Where norms or "
        "a rotation are added up, sums agree within the roundings of these.",
        "multihop_allreduce": "Written from the documented hops, part by part, with the bytes of every message.",
    },
)

CLAIMS = (
    *MICROSCALING,
    *STOCHASTIC_MICROSCALING,
    *NVFP4,
    *STOCHASTIC_NVFP4,
    *MSEDEN,
    *FOUR_OVER_SIX,
    *STOCHASTIC_FOUR,
    *MICROEXPONENTS,
    *REQUANTISED,
    *HOMOMORPHIC,
    *CORRELATED,
    *TABLE,
    *MULTIHOP,
    *_DEFINITIONS,
)
