"""Sketches, all ranks in one process beside every rank by itself."""

from functools import partial

from commbounds.verify.experiments.sketched.definitions import DEFINITIONS
from commbounds.verify.pairing import by_rank, on_definition, shared

_OF_ALL = partial(by_rank, momentum=shared, error=shared)
_NAMES = ("sketched_sum", "sketched_topk", "fetchsgd_step")
PAIRINGS = tuple(on_definition(name, DEFINITIONS[name], of_all=_OF_ALL) for name in _NAMES)
