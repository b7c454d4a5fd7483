"""Sparse all-reduces, whose ranks are run in lockstep, beside their programs elsewhere."""

from typing import Any

from commbounds.verify.experiments.sparse.definitions import DEFINITIONS
from commbounds.verify.pairing import RankResult, by_rank, on_definition, shared


def _of_all(result: Any, P: int) -> list[RankResult]:
    """What every rank would have of it, named as in `SparseRankResult`."""
    rows = by_rank(result, P, update=shared)
    return [{"threshold" if name == "thresholds" else name: part for name, part in row.items()} for row in rows]


_NAMES = ("topk_allgather", "topk_dsa", "gtopk_allreduce", "gaussiank_allreduce", "spardl_allreduce")
PAIRINGS = tuple(on_definition(name, DEFINITIONS[name], of_all=_of_all) for name in _NAMES)
