"""Distributed training under packet loss: the claims."""

from commbounds.theory.claim import Claim
from commbounds.theory.implementations import defined, rank_by_rank
from commbounds.theory.packetloss import bounds, drift, estimators, training, variants

_RANKS = rank_by_rank(
    "packetloss",
    "lossy_reduce_scatter",
    "lossy_broadcast",
    "lossy_step",
    "lossy_training",
    "drift_trials",
    "staleness_trials",
)

_DRAWS = "with splitmix64; only our documentation says where its numbers are used."
_DEFINITIONS = defined(
    "packetloss",
    {
        "lossy_reduce_scatter": "Written from the model as it was reported of arXiv:2507.07114, packet by packet: "
        "owners average what arrives. Estimators, order of additions and steps are as documented here.",
        "lossy_broadcast": "Written from the same model, packet by packet: receivers without it keep the old copy.",
        "lossy_step": "Written from the same model, both halves one after another, one coordinate at a time.",
        "lossy_training": "Written from the same model, step by step, and from Gilbert's and Elliott's chain, "
        + _DRAWS,
        "drift_trials": "Written from the same model, copy by copy, in integers, " + _DRAWS,
        "staleness_trials": "Written from the same model, forwards from the first step, " + _DRAWS,
    },
)

CLAIMS: tuple[Claim, ...] = (
    *estimators.CLAIMS,
    *drift.CLAIMS,
    *variants.CLAIMS,
    *bounds.CLAIMS,
    *training.CLAIMS,
    *_RANKS,
    *_DEFINITIONS,
)
