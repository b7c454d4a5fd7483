"""The ranks of the collectives beside the collectives in one process."""

from __future__ import annotations

from typing import Any

from commbounds.verify.experiments.rotations.definitions import DEFINITIONS
from commbounds.verify.pairing import Pairing, RankResult, on_definition
from commbounds.verify.space import LeftOut

_REFUSED = LeftOut(
    "What overflows is refused.", lambda data, dtype: data == "over" or (data == "huge" and dtype == "float32")
)


def _of_all(rows: Any, _P: int) -> list[RankResult]:
    return [{"result": row} for row in rows]


def _paired(name: str) -> Pairing:
    return on_definition(name, DEFINITIONS[name], _of_all, lambda row: {"result": row}, _REFUSED)


PAIRINGS = (_paired("rotated_mean"), _paired("rotated_sum"))
