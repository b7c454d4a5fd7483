"""Quantised all-reduces, whose ranks are run in lockstep, beside their programs elsewhere, which send real bytes."""

from typing import Any

from commbounds.verify.experiments.flashcomm.definitions import DEFINITIONS
from commbounds.verify.pairing import RankResult, on_definition


def _of_ranks(result: Any, P: int) -> list[RankResult]:
    return [{"values": result.values[rank], "sent": result.moves[:, rank]} for rank in range(P)]


_NAMES = (
    "twostep_quantised_allreduce",
    "ring_quantised_allreduce",
    "oneshot_quantised_allreduce",
    "hierarchical_quantised_allreduce",
)
PAIRINGS = tuple(on_definition(name, DEFINITIONS[name], of_all=_of_ranks) for name in _NAMES)
