"""DropCompute: stragglers: the claims bound to their implementations."""

from commbounds.theory.dropcompute import claims as dropcompute
from commbounds.verify.experiments.dropcompute.exact import EXACT_STUDIES
from commbounds.verify.experiments.dropcompute.maps import MAP_STUDIES
from commbounds.verify.experiments.dropcompute.sgd import SGD_STUDIES
from commbounds.verify.experiments.dropcompute.small import SMALL_STUDIES
from commbounds.verify.experiments.dropcompute.steps import STEP_STUDIES
from commbounds.verify.experiments.dropcompute.trials import TRIAL_STUDIES
from commbounds.verify.study import studies

_BOUND = studies(*STEP_STUDIES, *SMALL_STUDIES, *EXACT_STUDIES, *TRIAL_STUDIES, *MAP_STUDIES, *SGD_STUDIES)

EXPERIMENTS = {claim.name: _BOUND[claim.name] for claim in dropcompute.CLAIMS if claim.name in _BOUND}
