"""ARC-Top-K, all ranks at once, beside its rank program."""

from __future__ import annotations

from dataclasses import replace

from commbounds import collectives
from commbounds.verify.experiments.arctopk.definitions import DEFINITIONS, UNDECIDED
from commbounds.verify.pairing import Pairing, RankResult, on_definition
from commbounds.verify.space import LeftOut


def _parts(result: collectives.ArcResult, P: int) -> list[RankResult]:
    parts = zip(result.mean, result.rows, result.scores, strict=True)
    return [{"mean": mean, "rows": rows, "scores": scores} for mean, rows, scores in parts]


PAIRINGS: tuple[Pairing, ...] = (
    on_definition(
        "arctopk_allreduce",
        replace(DEFINITIONS["arctopk_allreduce"], space=UNDECIDED),
        _parts,
        vars,
        LeftOut("gradients that are refused", lambda data: data in ("NaN", "overflow")),
    ),
)
