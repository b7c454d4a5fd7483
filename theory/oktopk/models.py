"""What certificates about Ok-Topk prove."""

from __future__ import annotations

from commbounds.theory.model import Step, by_claim, extents
from commbounds.theory.oktopk.models_balance import BALANCE, ROUNDS
from commbounds.theory.oktopk.models_descent import DESCENT
from commbounds.theory.oktopk.models_selection import SELECTION
from commbounds.theory.oktopk.models_words import WORDS

MODELS = by_claim(*WORDS, *BALANCE, *ROUNDS, *SELECTION, *DESCENT)

EXTENTS = extents(
    "oktopk",
    {
        (): "sent.even_split sent.any_split sent.general both.even_split sizes.counted boundaries.global_count "
        "balance.always balance.moves_out lower.mean reevaluation.mean threshold.inclusive threshold.strict "
        "update.mass sgd.iterate sgd.stall sent.ring received.even_split received.any_split "
        "received.limited_inbound received.worst path.even_split both.perfect split.rotation split.unrotated "
        "balance.quarter balance.quarter_ring balance.never balance.moves_in balance.equal_blocks",
        (Step.SUM,): "lower.most",
        (Step.CLAIM,): "reevaluation.mean_worst received.global_count",
        (Step.COUNTING,): "reevaluation.most",
        (Step.NORMS, Step.CLAIM): "sgd.residual sgd.residual_missed",
        (Step.SUM, Step.FUNCTIONS, Step.CLAIM): "sgd.gradient",
    },
    by_definition="split.steps",
)
