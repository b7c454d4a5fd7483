"""Moshpit all-reduce and Moshpit SGD: the claims bound to their implementations."""

from commbounds.verify.experiments.moshpit.flow import FLOW_STUDIES
from commbounds.verify.experiments.moshpit.grid import GRID_STUDIES
from commbounds.verify.experiments.moshpit.group_trials import TRIAL_STUDIES
from commbounds.verify.experiments.moshpit.random_groups import RANDOM_STUDIES
from commbounds.verify.experiments.moshpit.sgd import SGD_STUDIES
from commbounds.verify.study import studies

EXPERIMENTS = studies(*GRID_STUDIES, *FLOW_STUDIES, *RANDOM_STUDIES, *TRIAL_STUDIES, *SGD_STUDIES)
