"""ARC-Top-K, all ranks at once, beside its rank program."""

from dataclasses import replace

from commbounds.verify.experiments.arctopk.definitions import DEFINITIONS, UNDECIDED
from commbounds.verify.pairing import on_definition
from commbounds.verify.space import LeftOut

PAIRINGS = (
    on_definition(
        "arctopk_allreduce",
        replace(DEFINITIONS["arctopk_allreduce"], space=UNDECIDED),
        LeftOut("gradients that are refused", lambda data: data in ("NaN", "overflow")),
    ),
)
