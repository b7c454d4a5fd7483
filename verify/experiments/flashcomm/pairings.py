"""Quantised all-reduces, whose ranks are run in lockstep, beside their programs elsewhere, which send real bytes."""

from __future__ import annotations

from typing import Any

from commbounds.verify.experiments.flashcomm.definitions import DEFINITIONS
from commbounds.verify.pairing import Pairing, RankResult, on_definition


def _of_ranks(result: Any, P: int) -> list[RankResult]:
    return [{"values": result.values[rank], "sent": result.moves[:, rank]} for rank in range(P)]


def _paired(name: str) -> Pairing:
    return on_definition(name, DEFINITIONS[name], _of_ranks, lambda result: dict(vars(result)))


PAIRINGS: tuple[Pairing, ...] = (
    _paired("twostep_quantised_allreduce"),
    _paired("ring_quantised_allreduce"),
    _paired("oneshot_quantised_allreduce"),
    _paired("hierarchical_quantised_allreduce"),
)
