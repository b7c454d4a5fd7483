"""The ranks of an all-reduce in two formats beside all of them in one process."""

from commbounds.verify.experiments.precision.definitions import DEFINITIONS
from commbounds.verify.pairing import on_definition

_NAME = "mixed_precision_allreduce"
PAIRINGS = (on_definition(_NAME, DEFINITIONS[_NAME]),)
