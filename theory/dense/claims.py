"""Classical all-reduce, reduce-scatter and all-gather: the claims."""

from commbounds.theory.claim import Claim
from commbounds.theory.dense.allreduce import ALLREDUCE
from commbounds.theory.dense.gather import GATHER
from commbounds.theory.implementations import defined, rank_by_rank

_RANKS = rank_by_rank(
    "dense",
    "ring_allreduce",
    "recursive_doubling_allreduce",
    "rabenseifner_allreduce",
    "butterfly_allreduce",
    "reduce_scatter",
    "allgather",
    "allgatherv",
    "gather_blocks",
)

_ORDER = (
    " from its textbook description, one message at a time: which rank adds which block in which step, so every sum's "
    "bits; words and messages of every rank, steps, critical path and phases."
)
_DEFINITIONS = defined(
    "dense",
    {
        "ring_allreduce": f"Written{_ORDER}",
        "recursive_doubling_allreduce": f"Written{_ORDER} Odd ranks of the first fold into their neighbours.",
        "rabenseifner_allreduce": f"Written{_ORDER} Odd ranks of the first fold into their neighbours.",
        "butterfly_allreduce": f"Written{_ORDER} Every block goes directly to its owner and directly back.",
        "reduce_scatter": f"Written{_ORDER} Bruck's and halving run the all-gather of that name backwards.",
        "allgather": f"Written{_ORDER}",
        "allgatherv": f"Written{_ORDER} Blocks may differ in length or be empty.",
        "gather_blocks": f"Written{_ORDER} Sizes beyond 32 bits are counted.",
    },
)

CLAIMS: tuple[Claim, ...] = (*ALLREDUCE, *GATHER, *_RANKS, *_DEFINITIONS)
