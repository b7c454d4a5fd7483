"""Quantised all-reduces, whose ranks are run in lockstep, beside their programs elsewhere, which send real bytes."""

from __future__ import annotations

from typing import Any

from commbounds.verify.experiments.flashcomm.definitions import DEFINITIONS
from commbounds.verify.pairing import Pairing, RankResult, on_definition

_NAMES = ("twostep", "ring", "oneshot", "hierarchical")


def _of_ranks(result: Any, P: int) -> list[RankResult]:
    return [{"values": result.values[rank], "sent": result.moves[:, rank]} for rank in range(P)]


PAIRINGS: tuple[Pairing, ...] = tuple(
    on_definition(name, DEFINITIONS[name], _of_ranks, lambda result: dict(vars(result)))
    for name in (f"{kind}_quantised_allreduce" for kind in _NAMES)
)
