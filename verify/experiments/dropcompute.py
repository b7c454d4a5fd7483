"""DropCompute: stragglers: the claims bound to their implementations."""

from __future__ import annotations

from commbounds.theory import dropcompute
from commbounds.verify.experiments._dropcompute_exact import EXACT_STUDIES
from commbounds.verify.experiments._dropcompute_maps import MAP_STUDIES
from commbounds.verify.experiments._dropcompute_sgd import SGD_STUDIES
from commbounds.verify.experiments._dropcompute_small import SMALL_STUDIES
from commbounds.verify.experiments._dropcompute_steps import STEP_STUDIES
from commbounds.verify.experiments._dropcompute_trials import TRIAL_STUDIES
from commbounds.verify.study import studies

__all__ = ["EXPERIMENTS"]

_BOUND = studies(*STEP_STUDIES, *SMALL_STUDIES, *EXACT_STUDIES, *TRIAL_STUDIES, *MAP_STUDIES, *SGD_STUDIES)

EXPERIMENTS = {claim.name: _BOUND[claim.name] for claim in dropcompute.CLAIMS}
