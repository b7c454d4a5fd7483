"""Compression with memory: the claims bound to their implementations."""

from commbounds.verify.experiments.variance_reduced.descents import DESCENTS
from commbounds.verify.experiments.variance_reduced.lamb import LAMB
from commbounds.verify.experiments.variance_reduced.one_step import ONE_STEP
from commbounds.verify.experiments.variance_reduced.signs import SIGNS
from commbounds.verify.experiments.variance_reduced.zeroone import ZEROONE
from commbounds.verify.study import studies

EXPERIMENTS = studies(*ONE_STEP, *DESCENTS, *SIGNS, *ZEROONE, *LAMB)
