"""What certificates about Ok-Topk prove."""

from collections.abc import Mapping

from commbounds.theory.model import by_claim, extents
from commbounds.theory.oktopk.models_balance import BALANCE, ROUNDS
from commbounds.theory.oktopk.models_descent import DESCENT
from commbounds.theory.oktopk.models_selection import SELECTION
from commbounds.theory.oktopk.models_words import WORDS

MODELS = by_claim(*WORDS, *BALANCE, *ROUNDS, *SELECTION, *DESCENT)

SHOWN_BY: Mapping[str, Mapping[str, str]] = {
    "oktopk.sgd.gradient": {
        "steps: those before": "steps: none",
        "steps: this one": "a step",
        "the steps": "steps: none",
    }
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "oktopk",
    {
        (): "sent.even_split sent.any_split sent.general both.even_split sizes.counted boundaries.global_count "
        "balance.always balance.moves_out lower.mean reevaluation.mean threshold.inclusive threshold.strict "
        "update.mass sgd.iterate sgd.stall sent.ring received.even_split received.any_split "
        "received.limited_inbound received.worst path.even_split both.perfect split.rotation split.unrotated "
        "balance.quarter balance.quarter_ring balance.never balance.moves_in balance.equal_blocks lower.most "
        "reevaluation.mean_worst reevaluation.most received.global_count sgd.residual sgd.residual_missed sgd.gradient"
    },
    by_definition="split.steps",
)
