"""DropCompute: stragglers: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.dropcompute.completed import COMPLETIONS
from commbounds.theory.dropcompute.formulas import FORMULAS
from commbounds.theory.dropcompute.gains import GAINS
from commbounds.theory.dropcompute.sgd import CONVERGENCE
from commbounds.theory.dropcompute.steps import STEPS
from commbounds.theory.dropcompute.times import TIMES
from commbounds.theory.implementations import rank_by_rank

_RANKS = rank_by_rank("dropcompute", "drop_gradient")

CLAIMS: tuple[Claim, ...] = (*STEPS, *COMPLETIONS, *TIMES, *FORMULAS, *GAINS, *CONVERGENCE, *_RANKS)
