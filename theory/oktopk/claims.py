"""Ok-Topk: sparse all-reduce in less than 6k words: the claims."""

from commbounds.theory.claim import Claim
from commbounds.theory.implementations import defined, rank_by_rank
from commbounds.theory.oktopk.balance import BALANCE
from commbounds.theory.oktopk.descent import DESCENT
from commbounds.theory.oktopk.parts import BOUNDARIES, REEVALUATIONS, SPLITTING
from commbounds.theory.oktopk.received import LOWER, RECEIVED
from commbounds.theory.oktopk.selection import THRESHOLDS, UPDATE
from commbounds.theory.oktopk.sent import BOTH, PATH, SENT

_RANKS = rank_by_rank("oktopk", "oktopk_boundaries", "oktopk_allreduce", "OkTopkSGD")

_DEFINITIONS = defined(
    "oktopk",
    {
        "oktopk_allreduce": "Written from Algorithm 1 of arXiv:2201.07598, message by message, and from the documented "
        "options: how regions are cut, winners balanced and gathered, thresholds compared and controlled as in the "
        "official code; sums in rank order; everything that is returned, the state and the traffic of every phase.",
        "OkTopkSGD": "Written from Algorithm 2 of arXiv:2201.07598, entry by entry in the dtype of the vectors, and "
        "from the documented accumulation of the official code; weights, residuals and the state of the all-reduce.",
        "oktopk_boundaries": "Written from the documented rules, of which the official code has the mean of quantiles: "
        "boundaries, and the traffic of agreeing on them, message by message.",
    },
)

CLAIMS: tuple[Claim, ...] = (
    *SENT,
    *RECEIVED,
    *PATH,
    *BOTH,
    *SPLITTING,
    *BOUNDARIES,
    *BALANCE,
    *LOWER,
    *REEVALUATIONS,
    *THRESHOLDS,
    *UPDATE,
    *DESCENT,
    *_DEFINITIONS,
    *_RANKS,
)
