"""DropCompute: stragglers: the claims."""

from __future__ import annotations

from commbounds.theory._dropcompute_completed import COMPLETIONS
from commbounds.theory._dropcompute_formulas import FORMULAS
from commbounds.theory._dropcompute_gains import GAINS
from commbounds.theory._dropcompute_sgd import CONVERGENCE
from commbounds.theory._dropcompute_steps import STEPS
from commbounds.theory._dropcompute_times import TIMES
from commbounds.theory.claim import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (*STEPS, *COMPLETIONS, *TIMES, *FORMULAS, *GAINS, *CONVERGENCE)
