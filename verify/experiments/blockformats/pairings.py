"""The ranks of the block formats' all-reduces beside their sums in one process."""

from __future__ import annotations

from typing import Any

from commbounds.verify.experiments.blockformats.definitions import DEFINITIONS
from commbounds.verify.pairing import Pairing, RankResult, on_definition
from commbounds.verify.space import LeftOut

_REFUSED = LeftOut(
    "A butterfly of other than a power of two of ranks is refused.",
    lambda P, topology: topology != "ring" and P & (P - 1) != 0,
)


def _of_all(rows: Any, _P: int) -> list[RankResult]:
    return [{"sums": row} for row in rows]


def _paired(name: str, *left_out: LeftOut) -> Pairing:
    return on_definition(name, DEFINITIONS[name], _of_all, lambda row: {"sums": row}, *left_out)


PAIRINGS = (
    _paired("requantised_allreduce"),
    _paired("homomorphic_allreduce"),
    _paired("table_allreduce"),
    _paired("multihop_allreduce", _REFUSED),
)
