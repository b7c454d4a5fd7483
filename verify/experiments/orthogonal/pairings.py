"""Orthogonalised updates, all ranks in one process beside every rank by itself."""

from functools import partial

from commbounds.verify.experiments.orthogonal.definitions import DEFINITIONS
from commbounds.verify.pairing import by_rank, on_definition, shared

_OF_ALL = partial(by_rank, basis=shared)
_NAMES = ("muon_update", "ef21_muon", "dion_update")
PAIRINGS = tuple(on_definition(name, DEFINITIONS[name], of_all=_OF_ALL) for name in _NAMES)
