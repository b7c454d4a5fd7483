"""The ranks of a majority vote beside the vote in one process."""

from commbounds.verify.experiments.majority.definitions import DEFINITIONS
from commbounds.verify.pairing import on_definition

PAIRINGS = (on_definition("majority_vote", DEFINITIONS["majority_vote"]),)
