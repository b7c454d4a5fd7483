"""Compression with memory: the claims."""

from commbounds.theory.implementations import defined
from commbounds.theory.variance_reduced.estimates import ESTIMATE_CLAIMS
from commbounds.theory.variance_reduced.lamb import LAMB_CLAIMS
from commbounds.theory.variance_reduced.lazy import LAZY_CLAIMS
from commbounds.theory.variance_reduced.onebit import ONEBIT_CLAIMS
from commbounds.theory.variance_reduced.shifts import DIANA_CLAIMS
from commbounds.theory.variance_reduced.zeroone import ZEROONE_CLAIMS

_DEFINITIONS = defined(
    "variance_reduced",
    {
        "diana_step": "Written from the update of arXiv:1901.09269: differences from the shifts are compressed, and "
        "move them.",
        "marina_step": "Written from the update of arXiv:2102.07845: whole gradients, or compressed changes, by a "
        "shared coin.",
        "dasha_step": "Written from the update of arXiv:2202.01268 without noise.",
        "lazy_step": "Written from the trigger of LAG and the update of arXiv:2202.00998; norms are sums in float64.",
        "primal_step": "Written from the update of arXiv:2209.15218: the server's weights, and the workers' model.",
        "onebit_momentum": "Written from arXiv:2102.02888: signs with error feedback on both ways, block by block at "
        "their owners; the sign of zero is +1, as documented.",
        "zeroone_gradient": "Written from arXiv:2202.06009 with the rule of refreshes of the authors' code: the "
        "interval doubles after every kappa refreshes.",
        "zeroone_local": "Written from arXiv:2202.06009: local steps, and a compressed average of what was moved.",
        "lamb_warmup": "Written from arXiv:2104.06069: LAMB's layers, and averages of coefficients that are not one.",
        "onebit_lamb": "Written from arXiv:2104.06069: fused and padded momentum at one scale, factors within bounds "
        "and within a threshold of the last ones.",
    },
)

CLAIMS = (*DIANA_CLAIMS, *ESTIMATE_CLAIMS, *LAZY_CLAIMS, *ONEBIT_CLAIMS, *ZEROONE_CLAIMS, *LAMB_CLAIMS, *_DEFINITIONS)
