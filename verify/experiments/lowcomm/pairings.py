"""Rounds of the column, whose ranks are run in lockstep, beside their programs elsewhere."""

from commbounds.verify.experiments.lowcomm.definitions import DEFINITIONS
from commbounds.verify.pairing import on_definition

_NAMES = (
    "demo_round",
    "diloco_round",
    "loco_round",
    "noloco_round",
    "quantised_reduce_scatter",
    "quorum_merge",
    "sparseloco_round",
)
PAIRINGS = tuple(on_definition(name, DEFINITIONS[name]) for name in _NAMES)
